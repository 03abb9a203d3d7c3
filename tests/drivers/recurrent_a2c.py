"""Drivers of `recurrent_a2c`: they call your agent and your function on plain data and report plain facts. They judge nothing.

You may read them to see how your code is used. `train_on_rollout` trains a fake here, which takes the place of `agent`, so
that a mistake in one of them costs no points in the other; only whether its values are `[B]` or `[B, 1]` is as in your agent.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import types
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import trained_agent
import utils
from env_pool import EnvPool
from grader.sandbox.facts import call_beforehand, describe_kind, float32, to_number, to_plain


class Unused(torch.optim.Optimizer):
    """What files make for `opt` when they are loaded. It never steps: another takes its place before anything is called.

    It is an Optimizer by name only: running `Optimizer.__init__` for the first time costs a second of imports.
    """

    def __init__(self, params, *options, **named) -> None:
        self.param_groups = [{"params": list(params), "lr": 0.0}]

    def zero_grad(self, set_to_none: bool = True) -> None:
        for parameter in self.param_groups[0]["params"]:
            parameter.grad = None

    def step(self, closure=None):
        pass


for _name in ("Adam", "AdamW", "RMSprop", "SGD"):
    setattr(torch.optim, _name, Unused)

UNITS = 128
LAYERS = ("conv0", "conv1", "conv2", "hid", "rnn", "logits", "state_value")
GAMES, COLUMNS = 16, 17  # of a rollout in the learning checks
STEEPEST = 5.0  # of an activation function
PIXELS = (1, 4, 4)
RETURNED = "new_state, (logits, state_value)"
NO_GRADIENT = "none: the loss is not connected to it"


# The network


class Watch:
    """Notes what goes into the layers of an agent and what comes out."""

    def __init__(self, agent: nn.Module) -> None:
        self.inputs: dict[str, Tensor] = {}
        self.outputs: dict[str, Tensor] = {}
        self.calls: list[str] = []
        for name in LAYERS:
            layer = getattr(agent, name)
            layer.forward = functools.partial(self.pass_on, name, layer.forward)  # not a hook: that misses layer.forward(...)

    def pass_on(self, name: str, forward: Callable[..., Any], *given: Any, **named: Any) -> Any:
        # Copies, because an activation may work in place. A cell is given and returns more; its input is what counts.
        self.calls.append(name)
        self.inputs[name] = (given[0] if given else named["input"]).detach().clone()
        made = forward(*given, **named)
        if isinstance(made, Tensor):
            self.outputs[name] = made.detach().clone()
        return made

    def between(self, one: str, other: str) -> str:
        """Return what happens to the output of one layer before it goes into the other."""
        x, y = (values.double().flatten() for values in (self.outputs[one], self.inputs[other]))
        if x.shape != y.shape:
            return f"{list(self.outputs[one].shape)} came out, {list(self.inputs[other].shape)} went in"
        order = x.argsort()
        x, y = x[order], y[order]
        if torch.equal(x, y):
            return "nothing"
        steps = (y.diff().abs() - STEEPEST * x.diff()).max()
        if steps > 1e-5:
            return "something that is not done to each number by itself"
        line = torch.stack([x, torch.ones_like(x)], dim=1)
        residual = line @ torch.linalg.lstsq(line, y[:, None]).solution - y[:, None]
        return "a linear function" if residual.abs().max() < 1e-5 else "an activation function"


def network(submitted, n_actions: int, batch: int, seed: int) -> dict:
    """Call a `SimpleRecurrentAgent` whose parameters have known numbers, on random frames and memories."""
    agent = submitted.SimpleRecurrentAgent((1, 42, 42), n_actions)
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for _, parameter in sorted(agent.named_parameters()):  # by name: the order in which layers are made does not matter
            fan_in = int(np.prod(parameter.shape[1:])) if parameter.ndim > 1 else 4
            parameter.copy_(float32(rng.normal(size=tuple(parameter.shape)) * (2 / fan_in) ** 0.5))
    observations = float32(rng.uniform(size=(batch, 1, 42, 42)))
    state: Any = tuple(float32(rng.normal(size=(batch, UNITS))).requires_grad_() for _ in range(2))
    given = [value.detach().clone() for value in (observations, *state)]
    call_beforehand(lambda: agent((state[1].detach() + 1, state[0].detach() - 1), 1 - observations))
    watch = Watch(agent)
    result = agent(state, observations)
    calls = list(watch.calls)
    if not is_result(result):
        return {"returned": describe_kind(result)}
    (h, c), (logits, values) = result
    facts: dict[str, Any] = {
        "returned": RETURNED,
        "times that each layer is used": {name: calls.count(name) for name in LAYERS},
    }
    facts["shapes of h, c, logits and state_value"] = [list(value.shape) for value in (h, c, logits, values)]
    if set(calls) != set(LAYERS):
        return facts | repeated(agent, state, observations, result)
    for one, other in itertools.pairwise(LAYERS[:5]):
        facts[f"between {one} and {other}"] = watch.between(one, other)
    facts["conv0 is given obs_t as it is"] = torch.equal(watch.inputs["conv0"], observations)
    facts |= origins(agent, watch.inputs["rnn"], state, (h, c), logits, values)
    for name, output in (("new h", h), ("new c", c), ("logits", logits), ("state_value", values)):
        facts[f"a gradient goes from {name} to"] = reached(agent, state, output)
    now = [observations, *state]
    facts["changed by the call"] = [
        name for name, one, other in zip(("obs_t", "h", "c"), now, given, strict=True) if not torch.equal(one, other)
    ]
    # Last, because the layers are watched in these calls, too.
    return facts | repeated(agent, state, observations, result)


def origins(agent: Any, hidden: Tensor, state: tuple[Tensor, Tensor], new: tuple, logits: Tensor, values: Tensor) -> dict:
    """Return what the new memory, the logits and the state values were made of: the first guess that fits."""
    if len(hidden) != len(state[0]):
        return {"rnn is given": f"{len(hidden)} rows"}
    with torch.no_grad():
        h, c = agent.rnn(hidden, state)
        zeros = tuple(torch.zeros_like(value) for value in state)
        memory = {
            "what rnn makes of its input and prev_state": (h, c),
            "what rnn makes of its input and an empty memory": agent.rnn(hidden, zeros),
            "what rnn makes of its input and (c, h) of prev_state": agent.rnn(hidden, state[::-1]),
            "(c, h) instead of (h, c)": (c, h),
            "prev_state": state,
            "h twice": (h, h),
        }
        inputs = {
            "the new h": h,
            "the new c": c,
            "the output of hid": hidden,
            "the old h": state[0],
            "relu of the new h": h.relu(),
        }
        heads = {}
        for name, value in inputs.items():
            made = agent.logits(value)
            # Logits are the same policy whatever is added to all of them.
            heads[name] = made.log_softmax(dim=-1)
            heads |= {f"softmax, of {name}": made.softmax(-1).log_softmax(-1), f"relu, of {name}": made.relu().log_softmax(-1)}
        critics: dict[str, Tensor] = {}
        for name, value in inputs.items():
            made = agent.state_value(value).reshape(-1)
            critics |= {name: made, f"relu, of {name}": made.relu(), f"tanh, of {name}": made.tanh()}
        return {
            "the new memory is": named(new, memory),
            "logits are made of": named((logits.log_softmax(dim=-1),), {name: (value,) for name, value in heads.items()}),
            "state_value is made of": named((values.reshape(-1),), {name: (value,) for name, value in critics.items()}),
        }


def named(found: tuple, guesses: dict[str, tuple]) -> str:
    """Return the name of the first guess that is what was found."""
    for name, guess in guesses.items():
        if all(close(one, other) for one, other in zip(found, guess, strict=True)):
            return name
    # With a number of it, because things that are nothing known are not the same thing.
    return f"something else, such as {found[0].flatten()[0]:.3f}"


def reached(agent: nn.Module, state: tuple[Tensor, Tensor], output: Tensor) -> list[str]:
    """Return the layers to which a gradient goes from an output, and to what of the memory given it goes."""
    if not output.requires_grad:
        return []
    given = ("h of prev_state", "c of prev_state")
    places = [*agent.named_parameters(), *zip(given, state, strict=True)]
    gradients = torch.autograd.grad(output.sum(), [value for _, value in places], retain_graph=True, allow_unused=True)
    found = {name.partition(".")[0] for (name, _), gradient in zip(places, gradients, strict=True) if gradient is not None}
    return [name for name in (*LAYERS, *given) if name in found]


def repeated(agent: nn.Module, state: tuple[Tensor, Tensor], observations: Tensor, result: Any) -> dict[str, bool]:
    """Return whether the agent says the same when it is asked once more, and when it is asked about one game alone."""
    with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
        again = agent(state, observations)
        alone = agent(tuple(value[:1] for value in state), observations[:1])
    return {
        "a second call says the same": all(map(close, flat(again), flat(result))),
        "a game alone gets the same as among others": all(
            close(one.reshape(-1), other.reshape(len(observations), -1)[0])
            for one, other in zip(flat(alone), flat(result), strict=True)
            if len(other) == len(observations)
        ),
    }


def flat(result: Any) -> list[Tensor]:
    return [value for pair in result for value in pair]


def is_result(result: Any) -> bool:
    """Return whether a result has the form (memory of two, (logits, state values)), all of them tensors."""
    pairs = (tuple, list)
    return (
        isinstance(result, pairs)
        and len(result) == 2
        and all(isinstance(pair, pairs) and len(pair) == 2 for pair in result)
        and all(isinstance(value, Tensor) for pair in result for value in pair)
    )


def close(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, rtol=1e-4, atol=1e-5)


# train_on_rollout


class TableAgent(nn.Module):
    """A fake agent: logits and values stand in a table, by game and column, and are what is trained.

    Args:
        logits: `[B, T, n_actions]`.
        values: `[B, T]`, returned as `[B, 1]` if `column`.

    The observation of game b in column t is full of the number b · T + t. The memory tells which
    observations went into it, newer ones more.

    Attributes:
        heard: The memory before each observation, h and c, `[B, T, 2]`.
        connected: Whether a gradient can go into it, `[B, T, 2]`.
    """

    def __init__(self, logits: np.ndarray, values: np.ndarray, column: bool = False) -> None:
        super().__init__()
        self.table = nn.Parameter(float32(logits))
        self.values = nn.Parameter(float32(values))
        self.column = column
        self.logits = types.SimpleNamespace(out_features=self.table.shape[-1])  # what some ask an agent for
        self.heard = np.full((*values.shape, 2), np.nan)
        self.connected = np.zeros((*values.shape, 2), bool)
        self.gradients: dict[str, Tensor] = {}
        self.returned: list[tuple[Tensor, Tensor]] = []
        # Noted when it comes, so that it does not matter what is done to it afterwards.
        for name in ("table", "values"):
            getattr(self, name).register_hook(lambda gradient, name=name: self.note(name, gradient))

    def note(self, name: str, gradient: Tensor) -> None:
        self.gradients[name] = self.gradients.get(name, 0) + gradient.detach().clone()

    def gradient(self, name: str) -> Any:
        """Return the gradient that came to a table, or a text where none came."""
        return to_plain(self.gradients[name]) if name in self.gradients else NO_GRADIENT

    def altered(self) -> bool:
        """Return whether the memory that was returned has been changed in place: then an LSTM could not go back."""
        return not all(torch.equal(value, copy) for value, copy in self.returned)

    def observations(self) -> np.ndarray:
        """Return the observations of a rollout, float32 `[B, T, 1, 4, 4]`."""
        numbers = np.arange(self.values.numel(), dtype=np.float32).reshape(self.values.shape)
        return np.broadcast_to(numbers[:, :, None, None, None], (*numbers.shape, *PIXELS)).copy()

    def get_initial_state(self, batch_size: int) -> tuple[Tensor, Tensor]:
        return torch.zeros((batch_size, UNITS)), torch.zeros((batch_size, UNITS))

    def forward(self, prev_state, obs_t) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        h, c = prev_state
        code = torch.as_tensor(obs_t).reshape(len(obs_t), -1)[:, 0]
        rows = code.long()
        if not torch.equal(rows.float(), code) or tuple(np.shape(obs_t)[1:]) != PIXELS:
            raise ValueError("the agent must be called with a column of the observations as they are, states[:, t]")
        if h.shape != (len(rows), UNITS) or c.shape != h.shape:
            raise ValueError(
                f"the agent's memory must be (h, c), each {[len(rows), UNITS]}; found {list(h.shape)}, {list(c.shape)}"
            )
        games, columns = rows // self.values.shape[1], rows % self.values.shape[1]
        at = (games.numpy(), columns.numpy())
        self.heard[at] = torch.stack([h[:, 0], c[:, 0]], dim=1).detach().numpy()
        self.connected[at] = (h.requires_grad, c.requires_grad)
        # What is remembered depends on the tables, so that a gradient can go there; the numbers do not.
        linked = 0 * self.table[games, columns].sum(dim=1, keepdim=True)
        state = (h / 2 + (rows + 1)[:, None] + linked, c / 4 - (rows + 1)[:, None] + linked)
        self.returned += [(value, value.detach().clone()) for value in state]
        values = self.values[games, columns]
        return state, (self.table[games, columns], values[:, None] if self.column else values)

    def sample_actions(self, agent_outputs) -> np.ndarray:
        return np.zeros(len(agent_outputs[0]), np.int64)

    def step(self, prev_state, obs_t):
        with torch.no_grad():
            return self.forward(prev_state, torch.as_tensor(np.asarray(obs_t), dtype=torch.float32))


class CountingSGD(torch.optim.Optimizer):
    """A fake optimizer that keeps the gradient of every step. It is an Optimizer by name only."""

    def __init__(self, agent: nn.Module, lr: float = 0.1) -> None:
        self.parameters = dict(agent.named_parameters())
        self.param_groups = [{"params": list(self.parameters.values()), "lr": lr}]
        self.steps: list[dict[str, Any]] = []

    def zero_grad(self, set_to_none: bool = True) -> None:
        for parameter in self.parameters.values():
            parameter.grad = None

    def step(self, closure=None):
        if closure is not None:
            with torch.enable_grad():
                closure()
        self.steps.append(
            {name: NO_GRADIENT if value.grad is None else to_plain(value.grad) for name, value in self.parameters.items()}
        )
        with torch.no_grad():
            for parameter in self.parameters.values():
                if parameter.grad is not None:
                    parameter -= self.param_groups[0]["lr"] * parameter.grad


def returns_columns(submitted) -> bool:
    """Return whether the submission's own agent returns values as `[B, 1]`."""
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
        agent = submitted.SimpleRecurrentAgent((1, 42, 42), 3)
        state = (torch.zeros(2, UNITS), torch.zeros(2, UNITS))
        _, (_, values) = agent(state, torch.zeros(2, 1, 42, 42))
        return tuple(values.shape) == (2, 1)
    return False


def place(submitted, agent: nn.Module, optimizer: Any, n_actions: int) -> None:
    """Let the names that `train_on_rollout` uses stand for these."""
    submitted.agent, submitted.opt, submitted.n_actions = agent, optimizer, n_actions
    for name, value in list(vars(submitted).items()):
        if isinstance(value, torch.optim.Optimizer):
            setattr(submitted, name, optimizer)


def memories(games: int) -> tuple[Tensor, Tensor]:
    """Return what a pool may have remembered before a rollout: h and c, with the history of a gradient."""
    numbers = torch.arange(1.0, games + 1).unsqueeze(1).expand(games, UNITS)
    return (numbers / 8).requires_grad_() * 1, (-numbers / 4).requires_grad_() * 1


def call_on(
    submitted, agent: TableAgent, rollout: dict[str, np.ndarray], gamma: float | None = None, state: tuple | None = None
) -> Any:
    """Return what `train_on_rollout` returns for this agent and an optimizer of its own."""
    place(submitted, agent, CountingSGD(agent), agent.table.shape[-1])
    options = {} if gamma is None else {"gamma": gamma}
    arrays = (agent.observations(), *(np.array(rollout[name]) for name in ("actions", "rewards", "is_not_done")))
    return submitted.train_on_rollout(*arrays, state or memories(len(agent.values)), **options)


def going_through(submitted, actions: np.ndarray, rewards: np.ndarray, is_not_done: np.ndarray) -> dict:
    """Call `train_on_rollout` and report what the agent remembered when it was asked about each column."""
    agent = TableAgent(np.zeros((*rewards.shape, 4)), np.zeros(rewards.shape), returns_columns(submitted))
    rollout = {"actions": actions, "rewards": rewards, "is_not_done": is_not_done}
    state = memories(len(rewards))
    other = TableAgent(np.ones((*rewards.shape, 4)), np.ones(rewards.shape), agent.column)
    call_beforehand(lambda: call_on(submitted, other, rollout, None, tuple(value + 1 for value in state)))
    try:
        call_on(submitted, agent, rollout, None, state)
    except Exception:
        # What comes after going through the rollout is other questions.
        if np.isnan(agent.heard).any():
            raise
    return {
        "the agent is asked about each column": (~np.isnan(agent.heard[..., 0])).all(axis=0).tolist(),
        "h before each column, by game": agent.heard[..., 0],
        "c before each column, by game": agent.heard[..., 1],
        "a gradient can go into h and c before each column": agent.connected.all(axis=0),
        "memory was changed in place": agent.altered() or not torch.equal(state[0], memories(len(rewards))[0]),
    }


def losses(
    submitted,
    logits: np.ndarray,
    values: np.ndarray,
    actions: np.ndarray,
    rewards: np.ndarray,
    is_not_done: np.ndarray,
    gamma: float | None = None,
) -> dict:
    """Call `train_on_rollout` three times, so that each part of the loss can be seen by itself; without gamma, its default.

    Once with everything. Once without rewards and values, where all advantages and errors are 0, so
    only the entropy is left. Once with a policy that is certain of its actions, where
    log-probability and entropy are 0, so only the value loss is left.
    """
    n_actions, column = logits.shape[-1], returns_columns(submitted)
    certain = np.where(np.arange(n_actions) == actions[..., None], 60.0, 0.0)
    rollout = {"actions": actions, "rewards": rewards, "is_not_done": is_not_done}
    nothing = rollout | {"rewards": np.zeros_like(rewards)}

    def one(logits: np.ndarray, values: np.ndarray, rollout: dict[str, np.ndarray]) -> tuple[TableAgent, Any]:
        agent = TableAgent(logits, values, column)
        return agent, call_on(submitted, agent, rollout, gamma)

    other = {
        "actions": n_actions - 1 - actions,
        "rewards": 1 - rewards,
        "is_not_done": np.roll(is_not_done[:, ::-1], 1, axis=0),
    }
    call_beforehand(lambda: one(1 - logits, 1 - values, other))
    everything, loss = one(logits, values, rollout)
    entropy, entropy_loss = one(logits, np.zeros_like(values), nothing)
    value, value_loss = one(certain, values, rollout)
    facts = {"entropy loss": to_number(entropy_loss), "gradient of the entropy loss, for the logits": entropy.gradient("table")}
    facts |= {"value loss": to_number(value_loss), "gradient of the value loss, for the values": value.gradient("values")}
    facts["policy loss"] = subtracted(to_number(loss), to_number(entropy_loss), to_number(value_loss))
    for name, by, agent in (("logits", "table", entropy), ("values", "values", value)):
        facts[f"gradient of the policy loss, for the {name}"] = subtracted(everything.gradient(by), agent.gradient(by))
    return facts


def subtracted(first: Any, *others: Any) -> Any:
    """Return the first number or array minus the others; where one of them is a text, that."""
    for value in (first, *others):
        if isinstance(value, str):
            return value
    return first - sum(others)


def updates(
    submitted, logits: np.ndarray, values: np.ndarray, actions: np.ndarray, rewards: np.ndarray, is_not_done: np.ndarray
) -> dict:
    """Call `train_on_rollout` twice with the same agent and optimizer; report what each call did to the agent."""
    column = returns_columns(submitted)
    agent = TableAgent(logits, values, column)
    optimizer = CountingSGD(agent)
    arrays = {"actions": actions, "rewards": rewards, "is_not_done": is_not_done}
    facts: dict[str, Any] = {"steps of opt, by call": [], "what is returned": [], "the agent is changed by opt alone": []}
    noted, measured = [], []
    for _ in range(2):
        place(submitted, agent, optimizer, logits.shape[-1])
        before, steps = {name: to_plain(value) for name, value in agent.named_parameters()}, len(optimizer.steps)
        agent.gradients.clear()
        given = {name: np.array(value) for name, value in arrays.items()}
        loss = submitted.train_on_rollout(agent.observations(), *given.values(), memories(len(values)))
        after = {name: to_plain(value) for name, value in agent.named_parameters()}
        made = len(optimizer.steps) - steps
        step = optimizer.steps[-1] if made else {name: np.zeros_like(value) for name, value in before.items()}
        facts["steps of opt, by call"].append(made)
        facts["what is returned"].append(kind(loss))
        facts["arrays that were changed"] = [name for name, value in arrays.items() if not np.array_equal(value, given[name])]
        facts["the agent is changed by opt alone"].append(
            made > 1
            or all(
                isinstance(step[name], str) or np.allclose(value - 0.1 * step[name], after[name], atol=1e-6)
                for name, value in before.items()
            )
        )
        ratios = [ratio(step[name], agent.gradient(name)) for name in before]
        noted.append(ratios[0] if np.allclose(ratios, ratios[0], rtol=1e-3) else 0.0)
        measured.append(slope(submitted, before, step["table"], arrays, column))
    facts["the step's gradient, as a multiple of what came to the agent, by call"] = noted
    facts["the step's gradient, as a multiple of the slope of the loss, by call"] = measured
    return facts


def slope(submitted, tables: dict[str, np.ndarray], gradient: Any, arrays: dict[str, np.ndarray], column: bool) -> Any:
    """Return the length of a gradient, for the logits, divided by how fast the loss that is returned grows that way."""
    if isinstance(gradient, str) or not np.abs(gradient).max() > 0:
        return 0.0
    length = float(np.sqrt((gradient**2).sum()))
    losses = []
    for side in (1, -1):
        moved = tables["table"] + side * 0.05 * gradient / length
        losses.append(to_number(call_on(submitted, TableAgent(moved, tables["values"], column), arrays)))
    difference = subtracted(*losses)
    return difference if isinstance(difference, str) else 0.1 * length / difference if difference else 0.0


def ratio(used: Any, came: Any) -> float:
    """Return the factor by which a gradient was multiplied before it was used; 0 if the two do not point the same way."""
    if isinstance(used, str) or isinstance(came, str) or not np.abs(came).max() > 0:
        return 0.0
    factor = float((used * came).sum() / (came * came).sum())
    return factor if np.allclose(used, factor * came, rtol=1e-3, atol=1e-7) else 0.0


def kind(loss: Any) -> str:
    """Return what kind of number a loss is."""
    if isinstance(loss, (float, np.generic)) or (isinstance(loss, np.ndarray) and loss.size == 1):
        return "a number" if np.isfinite(loss).all() else "a number that is not finite"
    if isinstance(loss, Tensor):
        return "a tensor with all that it was made of" if loss.requires_grad else "a tensor"
    return describe_kind(loss)


# Learning


class AsYours(nn.Module):
    """A small agent in the form of the submission's own: its memory is `[B, 128]`, of which it uses the beginning.

    Args:
        column: Its state values are `[B, 1]`.
    """

    def __init__(self, agent: Any, column: bool) -> None:
        super().__init__()
        self.agent, self.column, self.sample_actions = agent, column, agent.sample_actions
        self.units = agent.get_initial_state(1)[0].shape[1]

    def get_initial_state(self, batch_size: int) -> tuple[Tensor, Tensor]:
        return torch.zeros((batch_size, UNITS)), torch.zeros((batch_size, UNITS))

    def forward(self, prev_state, obs_t):
        h, c = prev_state
        new_state, (logits, values) = self.agent((h[:, : self.units], c[:, : self.units]), obs_t)
        padded = tuple(nn.functional.pad(value, (0, UNITS - self.units)) for value in new_state)
        return padded, (logits, values[:, None] if self.column else values)

    def step(self, prev_state, obs_t):
        with torch.no_grad():
            return self(prev_state, torch.as_tensor(np.asarray(obs_t), dtype=torch.float32))


TASKS: dict[str, Callable[..., Any]] = {"cue": functools.partial(utils.CueVector, length=5), "metronome": utils.MetronomeVector}


def small_agent(task: str) -> nn.Module:
    """Return an agent with a small memory for Cue or Metronome."""
    return utils.SmallRecurrentAgent(TASKS[task](1).single_observation_space.shape[0], 2)


def learn(submitted, task: str, seed: int, updates: int) -> dict:
    """Train a small agent on Cue or Metronome with your function; return its weights, and rewards, which decide nothing."""
    torch.manual_seed(seed)
    np.random.seed(seed)
    agent = small_agent(task)
    trained = AsYours(agent, returns_columns(submitted))
    pool = EnvPool(trained, TASKS[task](GAMES), seed=seed)
    place(submitted, trained, utils.PlainAdam(list(agent.parameters()), lr=5e-3, eps=1e-5, max_grad_norm=0.5), 2)
    rewards = []
    for _ in range(updates):
        memory = pool.prev_memory_states
        rollout = pool.interact(COLUMNS)
        submitted.train_on_rollout(*rollout, memory)
        rewards.append(float(rollout[2].sum() / max((~rollout[3]).sum(), 1)))
    return {"weights": {name: to_plain(value) for name, value in agent.state_dict().items()}, "reward of an episode": rewards}


def play(submitted, task: str, weights: dict[str, np.ndarray], seed: int, ticks: int = 200) -> dict:
    """Return the mean return of whole episodes of an agent with these weights. Run without any submission."""
    torch.manual_seed(seed)
    agent = small_agent(task)
    agent.load_state_dict({name: float32(value) for name, value in weights.items()})
    pool = EnvPool(agent, TASKS[task](GAMES), seed=seed + 1000)
    _, _, rewards, is_not_done = pool.interact(ticks)
    # Every game has just begun at first; what an unfinished last episode has earned does not count.
    totals = []
    for game_rewards, game_mask in zip(rewards, is_not_done, strict=True):
        ends = np.flatnonzero(~game_mask)
        totals += [float(part.sum()) for part in np.split(game_rewards, ends)[: len(ends)]]
    return {"mean return": float(np.mean(totals))}


# The trained agent: `referee` holds the games, in a process without student code, and is told what `act` wants to do in them.


def referee(submitted, seeds: list[int]) -> Generator[np.ndarray, np.ndarray, dict]:
    """Play a game for each seed by actions that it is sent, int64 `[games]`; return the scores. Run without any submission."""
    try:
        play = trained_agent.games(seeds)
        observations = next(play)
    except ImportError as error:
        return {"missing": error.name}
    try:
        while True:
            actions = yield np.round(observations * 255).astype(np.uint8)  # a quarter of the bytes, and nothing is lost
            observations = play.send(actions)
    except StopIteration as over:
        return {"scores": over.value}
    except ValueError as error:
        return {"refused": str(error)}


def act(submitted, file: np.ndarray, games: int, seed: int) -> Generator[np.ndarray | None, np.ndarray, None]:
    """Let your agent, with the weights of the file that was handed in, uint8 `[bytes]`, play these games."""
    agent = trained_agent.load_agent(file.tobytes(), submitted.SimpleRecurrentAgent((1, 42, 42), 14))
    player = trained_agent.player(agent, games, seed)
    actions = next(player)
    while True:
        observations = yield actions
        actions = player.send(observations.astype(np.float32) / np.float32(255))
