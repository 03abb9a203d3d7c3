"""Drivers of `recurrent_a2c`: they call your agent and your function on plain data and report plain facts. They judge nothing.

You may read them to see how your code is used. `train_on_rollout` trains a fake here, which takes the place of `agent`, so
that a mistake in one of them costs no points in the other; only whether its values are `[B]` or `[B, 1]` is as in your agent.
In `one_update` alone, it trains your own agent.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import types
from collections.abc import Callable, Generator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

import trained_agent
import utils
from env_pool import EnvPool
from grader.sandbox.facts import call_beforehand, describe_kind, find_input, float32, loss_of, to_number, to_plain


class Unused(torch.optim.Optimizer):
    """What files make for `opt` when they are loaded. It steps only in place of another, which stands for it.

    It is an Optimizer by name only: running `Optimizer.__init__` for the first time costs a second of imports.

    Attributes:
        made: Those made when the file was loaded, under whatever name; one that is made while
            `train_on_rollout` runs is not the one that it is to use.
        training: Whether `train_on_rollout` runs.
        kept: Whether one that the file calls `opt` has stepped, although another one is called `opt` now.
    """

    made: ClassVar[list[Unused]] = []
    training = False
    kept = False

    def __init__(self, params, *options, **named) -> None:
        self.param_groups = [{"params": list(params), "lr": 0.0}]
        self.other: Any = None
        self.is_opt = False
        if not Unused.training:
            Unused.made.append(self)

    def zero_grad(self, set_to_none: bool = True) -> None:
        if self.other is not None:
            self.other.zero_grad(set_to_none)
            return
        for parameter in self.param_groups[0]["params"]:
            parameter.grad = None

    def step(self, closure=None):
        if self.other is None:
            return None
        Unused.kept |= self.is_opt
        return self.other.step(closure)


for _name in ("Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD"):
    setattr(torch.optim, _name, Unused)

UNITS = 128
LAYERS = ("conv0", "conv1", "conv2", "hid", "rnn", "logits", "state_value")
STEEPEST = 5.0  # of an activation function
PIXELS = (1, 4, 4)
RETURNED = "new_state, (logits, state_value)"
RETURNED_H = "the returned h"
NO_GRADIENT = "none: no gradient reaches this output of agent"


# The network


class Watch:
    """Notes what goes into the layers of an agent and what comes out; the same once more is not a further use.

    An agent that applies its layers to one game after another uses each of them once, on all games: see `join_games`.
    """

    def __init__(self, agent: nn.Module) -> None:
        self.inputs: dict[str, Tensor] = {}
        self.outputs: dict[str, Tensor] = {}
        self.calls: list[str] = []
        self.given: dict[str, list[list[Tensor]]] = {name: [] for name in LAYERS}
        self.games: dict[str, list[tuple[Tensor, Tensor | None]]] = {name: [] for name in LAYERS}
        for name in LAYERS:
            layer = getattr(agent, name)
            layer.forward = functools.partial(self.pass_on, name, layer.forward)  # not a hook: that misses layer.forward(...)

    def pass_on(self, name: str, forward: Callable[..., Any], *given: Any, **named: Any) -> Any:
        # Copies, because an activation may work in place. A cell is given and returns more; its input is what counts.
        taken = [value.detach().clone() for value in flat([*given, *named.values()]) if isinstance(value, Tensor)]
        further = not any(len(taken) == len(other) and all(map(torch.equal, taken, other)) for other in self.given[name])
        self.inputs[name] = (given[0] if given else named["input"]).detach().clone()
        made = forward(*given, **named)
        if isinstance(made, Tensor):
            self.outputs[name] = made.detach().clone()
        if further:
            self.calls.append(name)
            self.given[name].append(taken)
            self.games[name].append((self.inputs[name], self.outputs.get(name)))
        return made

    def join_games(self, batch: int) -> None:
        """Take uses of a layer with a single game each for one use with all of them, if there are as many as games."""
        for name, uses in self.games.items():
            rank = 4 if name.startswith("conv") else 2
            rows = [[None if value is None else as_row(value, rank) for value in use] for use in uses]
            if (
                len(rows) < 2
                or len(rows) != batch
                or any(len(value) != 1 for use in rows for value in use if value is not None)
            ):
                continue
            self.calls = [*(call for call in self.calls if call != name), name]
            self.inputs[name] = torch.cat([came for came, _ in rows])  # type: ignore[misc]  # all of them are there
            if name in self.outputs:
                self.outputs[name] = torch.cat([made for _, made in rows])  # type: ignore[misc]

    def add_convolutions(self, found: list[tuple[str, Tensor, Tensor]]) -> None:
        """Note the convolutions of which only the weights were used."""
        for name, came, made in found:
            if name not in self.calls:
                self.calls.append(name)
                self.inputs[name], self.outputs[name] = came, made

    def add_uncalled(self, name: str, weight: Tensor | None, bias: Tensor | None, result: Tensor) -> None:
        """Note what went into a layer of which only the weights were used, if that was so; see `facts.find_input`."""
        if name in self.calls or weight is None or bias is None:
            return
        if (came := find_input(weight, bias, result)) is not None:
            self.calls.append(name)
            self.inputs[name], self.outputs[name] = came, nn.functional.linear(came, weight, bias).detach()

    def between(self, one: str, other: str) -> str:
        """Return what happens to the output of one layer before it goes into the other."""
        x, y = (values.double().flatten() for values in (self.outputs[one], self.inputs[other]))
        if x.shape != y.shape:
            return f"{one} returned shape {list(self.outputs[one].shape)}, {other} received {list(self.inputs[other].shape)}"
        order = x.argsort()
        x, y = x[order], y[order]
        if torch.equal(x, y):
            return "nothing"
        if leaps(x, y):
            kept = y != 0
            dropped = bool((~kept & (x > x[kept].min())).any()) and not leaps(x[kept], y[kept]) if kept.any() else False
            return "some numbers are set to 0, as by dropout" if dropped else "a function that is not elementwise"
        line = torch.stack([x, torch.ones_like(x)], dim=1)
        residual = line @ torch.linalg.lstsq(line, y[:, None]).solution - y[:, None]
        return "a linear function" if residual.abs().max() < 1e-5 else "an activation function"


class Convolutions(TorchFunctionMode):
    """Notes what goes into convolutions and comes out: `F.conv2d(x, agent.conv0.weight, ...)` does not call the layer."""

    def __init__(self, agent: nn.Module) -> None:
        super().__init__()
        self.names = {id(getattr(getattr(agent, name), "weight", None)): name for name in LAYERS[:3]}
        self.found: list[tuple[str, Tensor, Tensor]] = []

    def __torch_function__(self, func: Callable, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given, named = args, kwargs or {}
        made = func(*given, **named)
        if func is torch.conv2d:
            taken = {**dict(zip(("input", "weight"), given, strict=False)), **named}
            if name := self.names.get(id(taken["weight"])):
                self.found.append((name, taken["input"].detach().clone(), made.detach().clone()))
        return made


def as_row(values: Tensor, rank: int) -> Tensor:
    """Return what a layer took or gave with an axis for games: layers may also be applied without it."""
    return values.unsqueeze(0) if values.ndim < rank else values


def leaps(x: Tensor, y: Tensor) -> bool:
    """Return whether y changes more with x, which is sorted, than any activation function does."""
    return bool(((y.diff().abs() - STEEPEST * x.diff()) > 1e-5).any())


def network(submitted, n_actions: int, batch: int, seed: int, empty: bool = False) -> dict:
    """Call a `SimpleRecurrentAgent` whose parameters have known numbers, on random frames and memories.

    Args:
        empty: Whether the memory before the step is all zeros, as in a new game; another game has been there before.
    """
    agent = submitted.SimpleRecurrentAgent((1, 42, 42), n_actions)
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for _, parameter in sorted(agent.named_parameters()):  # by name: the order in which layers are made does not matter
            fan_in = int(np.prod(parameter.shape[1:])) if parameter.ndim > 1 else 4
            parameter.copy_(float32(rng.normal(size=tuple(parameter.shape)) * (2 / fan_in) ** 0.5))
    observations = float32(rng.uniform(size=(batch, 1, 42, 42)))
    state: Any = tuple(float32(rng.normal(size=(batch, UNITS)) * (not empty)).requires_grad_() for _ in range(2))
    given = [value.detach().clone() for value in (observations, *state)]
    call_beforehand(lambda: agent((state[1].detach() + 1, state[0].detach() - 1), 1 - observations))
    watch = Watch(agent)
    with Convolutions(agent) as noted:
        result = agent(state, observations)
    found = four(result, batch)
    if found is None:
        return {"returned": describe_kind(result)}
    watch.join_games(batch)
    watch.add_convolutions(noted.found)
    h, c, logits, values = found
    # A head may also be written with its weights, `h @ logits.weight.T + logits.bias`, and so may hid and the cell.
    for name, end in (("hid", ""), ("rnn", "_ih")):
        layer = getattr(agent, name)
        watch.add_uncalled(name, getattr(layer, f"weight{end}", None), getattr(layer, f"bias{end}", None), h)
    heads = [name for name in LAYERS[5:] if name not in watch.calls and name in reached(agent, state, sum_of(found))]
    calls = [*watch.calls, *heads]
    facts: dict[str, Any] = {
        "result of forward": RETURNED if is_result(result) else describe_kind(result),
        "dtypes of h, c, logits and state_value": [str(value.dtype).removeprefix("torch.") for value in flat(result)],
        "number of uses of each layer": {f"uses of {name}": calls.count(name) for name in LAYERS},
    }
    facts["shapes of h, c, logits and state_value"] = [list(value.shape) for value in flat(result)]
    if set(calls) != set(LAYERS):
        return facts | repeated(agent, state, observations, found)
    for one, other in itertools.pairwise(LAYERS[:5]):
        facts[f"between {one} and {other}"] = watch.between(one, other)
    facts["conv0 receives obs_t unchanged"] = torch.equal(watch.inputs["conv0"], observations)
    facts |= origins(agent, watch.inputs["rnn"], state, (h, c), logits, values)
    for name, output in (("the new h", h), ("the new c", c), ("logits", logits), ("state_value", values)):
        facts[f"layers and inputs that get a gradient from {name}"] = reached(agent, state, output)
    now = [observations, *state]
    facts["inputs that forward changed"] = [
        name
        for name, one, other in zip(("obs_t", "h of prev_state", "c of prev_state"), now, given, strict=True)
        if not torch.equal(one, other)
    ]
    # Last, because the layers are watched in these calls, too.
    return facts | repeated(agent, state, observations, found)


def playing(submitted, batch: int, seed: int) -> dict:
    """Call the functions that the stub gives to play with: they may have been edited. Their network is not called."""
    agent = submitted.SimpleRecurrentAgent((1, 42, 42), 14)
    memories = [*flat(agent.get_initial_state(batch)), *flat(agent.get_initial_state(batch - 1))]
    # Many equal rows, so that the shares of the actions come close to their probabilities.
    chances = np.full(14, 0.2 / 12)
    chances[[2, 9]] = 0.5, 0.3
    outputs = float32(np.log(chances)).expand(2000, 14), torch.zeros(2000)
    samples = []
    for seeded in (True, False, True):
        if seeded:
            torch.manual_seed(5)
        samples.append(agent.sample_actions(outputs))
    first, second, repeated = (np.asarray(actions).reshape(-1) for actions in samples)
    shares = [float((first == action).mean()) for action in (2, 9)]
    # Nothing needs these two, so they may be gone.
    numbers = torch.tensor([3, 0, 1, 3])
    one_hot = getattr(submitted, "to_one_hot", lambda y, n_dims=4: torch.eye(n_dims)[y.reshape(-1)])
    rows, default = one_hot(numbers.reshape(2, 2), 5), one_hot(numbers)
    flattened = getattr(submitted, "Flatten", nn.Flatten)()(torch.zeros(batch, 4, 16, 16))
    return {
        "get_initial_state returns": [f"{dtype_of(value)} {list(value.shape)}" for value in memories],
        "get_initial_state is all zeros": not any(value.any() for value in memories),
        "sample_actions returns": f"{dtype_of(samples[0])} {type(samples[0]).__name__} {list(np.shape(samples[0]))}",
        "shares of actions with the probabilities 0.5, 0.3 and 0.2": [*shares, 1 - sum(shares)],
        "two samples differ": bool((first != second).any()),
        "the same seed of torch gives the same sample": bool((first == repeated).all()),
        "to_one_hot([[3, 0], [1, 3]], 5)": rows,
        "to_one_hot([3, 0, 1, 3])": default,
        "dtype of to_one_hot": dtype_of(rows),
        "Flatten()([3, 4, 16, 16])": list(flattened.shape),
    }


def playing_a_step(submitted, batch: int, seed: int) -> dict:
    """Call `step` of the submission's own agent, with an array of float64 and a memory that is not empty."""
    agent = submitted.SimpleRecurrentAgent((1, 42, 42), 14)
    with torch.no_grad():
        for parameter in agent.parameters():
            parameter.mul_(1.5)  # the file's own `agent`, made after the same seed, must not be mistaken for this one
    rng = np.random.default_rng(seed)
    games = rng.uniform(size=(batch, 1, 42, 42)).astype(np.float32)
    memory = float32(rng.normal(size=(batch, 128))), float32(rng.normal(size=(batch, 128)))
    stepped = flat(agent.step(memory, games.astype(np.float64)))
    with torch.no_grad():
        forward = flat(agent(memory, float32(games)))
    named = zip(("h", "c", "logits", "state_value"), stepped, strict=False)
    return {
        "results of step that keep a graph": [name for name, value in named if value.requires_grad],
        "step returns what forward returns": len(stepped) == len(forward) and all(map(close, stepped, forward)),
    }


def dtype_of(value: Any) -> str:
    """Return the dtype of an array or tensor without the name of its library."""
    return str(getattr(value, "dtype", type(value).__name__)).removeprefix("torch.")


def origins(agent: Any, hidden: Tensor, state: tuple[Tensor, Tensor], new: tuple, logits: Tensor, values: Tensor) -> dict:
    """Return what the new memory, the logits and the state values were made of: the first guess that fits."""
    if len(hidden) != len(state[0]):
        return {"input of rnn": f"{len(hidden)} rows"}
    with torch.no_grad():
        h, c = agent.rnn(hidden, state)
        zeros = tuple(torch.zeros_like(value) for value in state)
        memory = {
            "the output of rnn, given prev_state": (h, c),
            "the output of rnn, given an empty memory": agent.rnn(hidden, zeros),
            "the output of rnn, given prev_state as (c, h)": agent.rnn(hidden, state[::-1]),
            "the output of rnn as (c, h)": (c, h),
            "prev_state, unchanged": state,
            "(h, h)": (h, h),
        }
        inputs = {
            "the new h": h,
            "the new c": c,
            "the input of rnn": hidden,
            "h of prev_state": state[0],
            "relu(new h)": h.relu(),
        }
        if new[0].shape == h.shape:
            inputs[RETURNED_H] = new[0]  # of another cell than rnn, which is another question
        heads = {}
        for name, value in inputs.items():
            made = agent.logits(value)
            # Logits are the same policy whatever is added to all of them.
            heads[name] = made.log_softmax(dim=-1)
            heads |= {
                f"{name}, with a final softmax": made.softmax(-1).log_softmax(-1),
                f"{name}, with a final ReLU": made.relu().log_softmax(-1),
            }
        critics: dict[str, Tensor] = {}
        for name, value in inputs.items():
            made = agent.state_value(value).reshape(-1)
            critics |= {name: made, f"{name}, with a final ReLU": made.relu(), f"{name}, with a final tanh": made.tanh()}
        made_of = {
            "logits are computed from": named((logits.log_softmax(dim=-1),), {name: (value,) for name, value in heads.items()}),
            "state_value is computed from": named((values.reshape(-1),), {name: (value,) for name, value in critics.items()}),
        }
        heads_of = {fact: name.replace(RETURNED_H, "the new h") for fact, name in made_of.items()}
        return {"new_state": named(new, memory)} | heads_of


def named(found: tuple, guesses: dict[str, tuple]) -> str:
    """Return the name of the first guess that is what was found."""
    for name, guess in guesses.items():
        if all(close(one, other) for one, other in zip(found, guess, strict=True)):
            return name
    # With a number of it, because things that are nothing known are not the same thing.
    return f"something else, with numbers such as {found[0].flatten()[0]:.3f}"


def reached(agent: nn.Module, state: tuple[Tensor, Tensor], output: Tensor) -> list[str]:
    """Return the layers to which a gradient other than 0 goes from an output, and to what of the memory given it goes."""
    if not output.requires_grad:
        return []
    given = ("h of prev_state", "c of prev_state")
    places = [*agent.named_parameters(), *zip(given, state, strict=True)]
    # Weights, because a plain sum of a softmax is 1, whatever goes into it.
    weighted = (output.flatten() * torch.arange(1.0, output.numel() + 1)).sum()
    gradients = torch.autograd.grad(weighted, [value for _, value in places], retain_graph=True, allow_unused=True)
    found = {
        name.partition(".")[0]
        for (name, _), gradient in zip(places, gradients, strict=True)
        if gradient is not None and gradient.any()
    }
    return [name for name in (*LAYERS, *given) if name in found]


def sum_of(found: Sequence[Tensor]) -> Tensor:
    """Return a sum on which all of an agent's layers have an effect."""
    return torch.stack([(value**2).sum() for value in found]).sum()


def repeated(agent: nn.Module, state: tuple[Tensor, Tensor], observations: Tensor, found: Sequence[Tensor]) -> dict[str, bool]:
    """Return whether the agent says the same when it is asked once more, and when it is asked about one game alone."""
    with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
        again = four(agent(state, observations), len(observations))
        alone = four(agent(tuple(value[:1] for value in state), observations[:1]), 1)
    return {
        "a second call returns the same": again is not None and all(map(close, again, found)),
        "a game alone gets the same outputs as in a batch": alone is not None
        and all(
            close(one.reshape(-1), other.reshape(len(observations), -1)[0])
            for one, other in zip(alone, found, strict=True)
            if len(other) == len(observations)
        ),
    }


def flat(result: Any) -> list[Any]:
    """Return what a result consists of, whatever it is packed in."""
    if isinstance(result, (tuple, list)):
        return [value for part in result for value in flat(part)]
    return [result]


def four(result: Any, batch: int) -> tuple[Tensor, ...] | None:
    """Return h, c, logits `[B, n_actions]` and state values in float32; None if they cannot be found in a result.

    How they are packed is another question, as is c if it is missing: then it holds NaN.
    """
    parts = flat(result)
    if len(parts) == 3 and isinstance(parts[0], Tensor) and tuple(parts[0].shape) == (batch, UNITS):
        parts.insert(1, torch.full((batch, UNITS), float("nan")))
    if len(parts) != 4 or not all(isinstance(value, Tensor) for value in parts):
        return None
    return tuple(
        value.float().reshape(batch, -1) if value.ndim > 1 and value.numel() % batch == 0 else value.float().reshape(-1)
        for value in parts
    )


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
        remembers: Whether what it is given as its memory, and how it is called, is what is looked
            at. If not, any memory will do, and `step` has a gradient too: that is another question.

    The observation of game b in column t is full of the number b · T + t. The memory shows which
    observations went into it; newer ones have more weight.

    Attributes:
        heard: The memory before each observation, h and c, `[B, T, 2]`.
        connected: Whether a gradient can go into it, `[B, T, 2]`.
    """

    def __init__(self, logits: np.ndarray, values: np.ndarray, column: bool = False, remembers: bool = False) -> None:
        super().__init__()
        self.table = nn.Parameter(float32(logits))
        self.values = nn.Parameter(float32(values))
        self.column, self.remembers = column, remembers
        self.logits = types.SimpleNamespace(out_features=self.table.shape[-1])  # what some ask an agent for
        self.heard = np.full((*values.shape, 2), np.nan)
        self.connected = np.zeros((*values.shape, 2), bool)
        self.gradients: dict[str, list[Tensor]] = {"table": [], "values": []}
        self.returned: list[tuple[Tensor, Tensor]] = []
        # Noted when it comes, so that it does not matter what is done to it afterwards.
        for name in ("table", "values"):
            getattr(self, name).register_hook(lambda gradient, name=name: self.note(name, gradient))

    def note(self, name: str, gradient: Tensor) -> None:
        self.gradients[name].append(gradient.detach().clone())

    def gradient(self, name: str) -> Any:
        """Return the gradient that came to a table, or a text where none came; the same one once more is another question."""
        came = self.gradients[name]
        different = [one for place, one in enumerate(came) if not any(torch.equal(one, other) for other in came[:place])]
        return to_plain(torch.stack(different).sum(dim=0)) if came else NO_GRADIENT

    def gradient_in_all(self, name: str) -> Any:
        """Return the sum of all gradients that came to a table, or a text where none came."""
        return to_plain(torch.stack(self.gradients[name]).sum(dim=0)) if self.gradients[name] else NO_GRADIENT

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
        if self.remembers and (h.shape != (len(rows), UNITS) or c.shape != h.shape):
            raise ValueError(
                f"the agent's memory must be (h, c), each {[len(rows), UNITS]}; found {list(h.shape)}, {list(c.shape)}"
            )
        games, columns = rows // self.values.shape[1], rows % self.values.shape[1]
        at = (games.numpy(), columns.numpy())
        values = self.values[games, columns]
        outputs = self.table[games, columns], values[:, None] if self.column else values
        if not self.remembers:
            return memories(len(rows)), outputs
        self.heard[at] = torch.stack([h[:, 0], c[:, 0]], dim=1).detach().numpy()
        self.connected[at] = (h.requires_grad, c.requires_grad)
        # What is remembered depends on the tables, so that a gradient can go there; the numbers do not.
        linked = 0 * self.table[games, columns].sum(dim=1, keepdim=True)
        state = (h / 2 + (rows + 1)[:, None] + linked, c / 4 - (rows + 1)[:, None] + linked)
        self.returned += [(value, value.detach().clone()) for value in state]
        return state, outputs

    def sample_actions(self, agent_outputs) -> np.ndarray:
        return np.zeros(len(agent_outputs[0]), np.int64)

    def step(self, prev_state, obs_t):
        with torch.set_grad_enabled(not self.remembers):
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
        loss = loss_of(closure)
        self.steps.append(
            {name: NO_GRADIENT if value.grad is None else to_plain(value.grad) for name, value in self.parameters.items()}
        )
        with torch.no_grad():
            for parameter in self.parameters.values():
                if parameter.grad is not None:
                    parameter -= self.param_groups[0]["lr"] * parameter.grad
        return loss


def own_agent(submitted) -> nn.Module:
    """Return the submission's own agent: the one that its `agent` stands for, or else a new one.

    Raises:
        TypeError: If there is neither, in words for a student.
    """
    with contextlib.suppress(AttributeError):
        if isinstance(submitted.agent, nn.Module) and not isinstance(submitted.agent, TableAgent):
            return submitted.agent
    try:
        return submitted.SimpleRecurrentAgent((1, 42, 42), 14)
    except Exception as error:
        raise TypeError(
            "no agent of yours was found, by which to know whether state values are [B] or [B, 1]: your file has no `agent`, "
            f"and SimpleRecurrentAgent((1, 42, 42), 14) raises {type(error).__name__}: {error}"
        ) from error


def returns_columns(submitted) -> bool:
    """Return whether the submission's own agent returns state values as `[B, 1]`.

    An agent that does not work is another question: then they are `[B]`, which needs nothing of
    `train_on_rollout`.
    """
    agent = own_agent(submitted)
    try:
        with contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
            result = agent((torch.zeros(2, UNITS), torch.zeros(2, UNITS)), torch.zeros(2, 1, 42, 42))
    except Exception as error:
        print(f"[your agent raises {type(error).__name__}, so train_on_rollout is tried with state values of shape [B]]")
        return False
    values = flat(result)[-1]
    return isinstance(values, Tensor) and tuple(values.shape) == (2, 1)


def place(submitted, agent: nn.Module, optimizer: Any, n_actions: int) -> None:
    """Let the names that `train_on_rollout` uses stand for these; an optimizer may have another name than `opt`."""
    if isinstance(first := getattr(submitted, "opt", None), Unused):
        first.is_opt = True
    submitted.agent, submitted.opt, submitted.n_actions = agent, optimizer, n_actions
    for made in Unused.made:
        made.other, made.param_groups = optimizer, optimizer.param_groups


def train(submitted, *given: Any, **named: Any) -> Any:
    """Return what `train_on_rollout` returns."""
    Unused.training = True
    try:
        return submitted.train_on_rollout(*given, **named)
    finally:
        Unused.training = False


def memories(games: int) -> tuple[Tensor, Tensor]:
    """Return what a pool may have remembered before a rollout: h and c, with the history of a gradient."""
    numbers = torch.arange(1.0, games + 1).unsqueeze(1).expand(games, UNITS)
    return (numbers / 8).requires_grad_() * 1, (-numbers / 4).requires_grad_() * 1


def call_on(
    submitted, agent: TableAgent, rollout: dict[str, np.ndarray], gamma: float | None = None, state: tuple | None = None
) -> Any:
    """Return what `train_on_rollout` returns for this agent and an optimizer of its own.

    What it raises after a gradient has come to the agent is another question: then that, as a text.
    """
    place(submitted, agent, CountingSGD(agent), agent.table.shape[-1])
    options = {} if gamma is None else {"gamma": gamma}
    arrays = (agent.observations(), *(np.array(rollout[name]) for name in ("actions", "rewards", "is_not_done")))
    try:
        return train(submitted, *arrays, state or memories(len(agent.values)), **options)
    except Exception as error:
        if not any(agent.gradients.values()):
            raise
        return f"{type(error).__name__}: {error}"


def going_through(submitted, actions: np.ndarray, rewards: np.ndarray, is_not_done: np.ndarray) -> dict:
    """Call `train_on_rollout` and report what the agent remembered when it was asked about each column."""
    agent = TableAgent(np.zeros((*rewards.shape, 4)), np.zeros(rewards.shape), returns_columns(submitted), remembers=True)
    rollout = {"actions": actions, "rewards": rewards, "is_not_done": is_not_done}
    state = memories(len(rewards))
    other = TableAgent(np.ones((*rewards.shape, 4)), np.ones(rewards.shape), agent.column, remembers=True)
    call_beforehand(lambda: call_on(submitted, other, rollout, None, tuple(value + 1 for value in state)))
    try:
        call_on(submitted, agent, rollout, None, state)
    except Exception:
        # What comes after going through the rollout is other questions.
        if np.isnan(agent.heard).any():
            raise
    return {
        "agent is called on column": (~np.isnan(agent.heard[..., 0])).all(axis=0).tolist(),
        "h passed to agent, by game and column": agent.heard[..., 0],
        "c passed to agent, by game and column": agent.heard[..., 1],
        "requires_grad of h and c passed to agent, by column": agent.connected.all(axis=0),
        "the memory returned by agent is changed in place": agent.altered(),
        "prev_memory_states are changed in place": "not known: agent is not called on any column"
        if np.isnan(agent.heard).all()
        else not all(map(torch.equal, state, memories(len(rewards)))),
    }


Tables = dict[str, np.ndarray]


class Trainer:
    """Calls `train_on_rollout` on tables, and takes the gradient apart by what it depends on.

    The policy loss is as large as rewards and values together are: it changes its sign with them.
    The value loss is quadratic in them, and the entropy does not depend on them. So each part's
    gradient is known from rewards and values, from minus these, and from none.

    Args:
        column: See `returns_columns`.
        sign: -1 if steps go uphill on the loss that is returned: that is another question.
    """

    def __init__(self, submitted: Any, gamma: float | None) -> None:
        self.submitted, self.gamma = submitted, gamma
        self.column = returns_columns(submitted)
        self.sign = 1.0

    def run(self, tables: Tables, rollout: Tables, scale: float = 1.0) -> tuple[TableAgent, Any]:
        """Return an agent that has been trained, and the loss, where rewards and values are this many times as large."""
        agent = TableAgent(tables["logits"], scale * tables["values"], self.column)
        return agent, call_on(self.submitted, agent, rollout | {"rewards": scale * rollout["rewards"]}, self.gamma)

    def look_uphill(self, tables: Tables, rollout: Tables) -> None:
        """Find out which way the steps go."""
        gradient = self.run(tables, rollout)[0].gradient("table")
        factor = slope(self, tables, rollout, gradient)
        self.sign = -1.0 if not isinstance(factor, str) and -1.05 < factor < -0.95 else 1.0

    def gradients(self, tables: Tables, rollout: Tables) -> dict[str, Any]:
        """Return the gradients of policy loss and value loss; a text for one that no gradient comes from at all."""
        plus, minus = (self.run(tables, rollout, scale)[0] for scale in (1.0, -1.0))
        return {
            "policy": self.signed(half(plus.gradient("table"), minus.gradient("table"))),
            "value": self.signed(half(plus.gradient("values"), minus.gradient("values"))),
        }

    def all_gradients(self, tables: Tables, rollout: Tables) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradients of the whole loss, for logits and for values; 0 where none came."""
        agent, _ = self.run(tables, rollout)
        pairs = (("table", "logits"), ("values", "values"))
        logits, values = (as_numbers(agent.gradient(name)) + np.zeros_like(tables[given]) for name, given in pairs)
        return logits, values

    def entropy_gradient(self, tables: Tables, rollout: Tables) -> Any:
        """Return the gradient of the entropy loss; a text if none comes from it."""
        return self.signed(self.run(tables, rollout, 0.0)[0].gradient("table"))

    def signed(self, gradient: Any) -> Any:
        return gradient if isinstance(gradient, str) else self.sign * gradient


def half(plus: Any, minus: Any) -> Any:
    """Return half the difference of two gradients; a text where neither is one."""
    if isinstance(plus, str) and isinstance(minus, str):
        return plus
    return (as_numbers(plus) - as_numbers(minus)) / 2


def as_numbers(gradient: Any) -> Any:
    """Return a gradient; 0 where none came."""
    return 0.0 if isinstance(gradient, str) else gradient


def losses(
    submitted,
    logits: np.ndarray,
    values: np.ndarray,
    actions: np.ndarray,
    rewards: np.ndarray,
    is_not_done: np.ndarray,
    gamma: float | None = None,
) -> dict:
    """Call `train_on_rollout` several times and report the gradient of each part of the loss; without gamma, its default."""
    trainer = Trainer(submitted, gamma)
    tables = {"logits": logits, "values": values}
    rollout = {"actions": actions, "rewards": rewards, "is_not_done": is_not_done}
    other = {
        "actions": logits.shape[-1] - 1 - actions,
        "rewards": 1 - rewards,
        "is_not_done": np.roll(is_not_done[:, ::-1], 1, axis=0),
    }
    others = {"logits": 1 - logits, "values": 1 - values}
    # Another discount factor, then another rollout with the same one: nothing of them may be kept.
    call_beforehand(lambda: Trainer(submitted, 0.37).run(others, other))
    call_beforehand(lambda: trainer.run(others, other))
    trainer.look_uphill(tables, rollout)
    parts = trainer.gradients(tables, rollout)
    # With a policy that is certain of its actions, the policy loss is 0: what it adds to the values' gradient is gone.
    certain = np.where(np.arange(logits.shape[-1]) == actions[..., None], 60.0, 0.0)
    by_all = as_numbers(trainer.run(tables, rollout)[0].gradient("values"))
    by_value_loss = as_numbers(trainer.run(tables | {"logits": certain}, rollout)[0].gradient("values"))
    return {
        "gradient of -0.01 * entropy with respect to the logits": trainer.entropy_gradient(tables, rollout),
        "gradient of the value loss with respect to the values": parts["value"],
        "gradient of the policy loss -J with respect to the logits": parts["policy"],
        "gradient of the policy loss -J with respect to the values": parts["policy"]
        if isinstance(parts["policy"], str)
        else by_all - by_value_loss + np.zeros_like(values, np.float32),
    }


def far_apart(submitted, logits: np.ndarray, values: np.ndarray, actions: np.ndarray, rewards: np.ndarray) -> dict:
    """Report the results for an almost deterministic policy: the softmax of some logits is 0 in float32.

    In the last column this matters only for the entropy, so a mistake there is not reported for
    the policy loss, too.
    """
    trainer = Trainer(submitted, None)
    rollout = {"actions": actions, "rewards": rewards, "is_not_done": np.ones(rewards.shape, bool)}
    near = logits.copy()
    near[:, :-1] = np.clip(near[:, :-1], -2, 2)
    trainer.look_uphill({"logits": np.clip(logits, -2, 2), "values": values}, rollout)
    loss = to_number(trainer.run({"logits": near, "values": values}, rollout)[1])
    finite = isinstance(loss, str) or bool(np.isfinite(loss))
    gradient = trainer.gradients({"logits": logits, "values": values}, rollout)["policy"]
    return {
        "the loss is finite": "not known: the entropy has no gradient"
        if isinstance(trainer.entropy_gradient({"logits": near, "values": values}, rollout), str)
        else finite,
        "gradient of the policy loss -J with respect to the logits": gradient
        if finite
        else "not known: the entropy is not finite",
    }


def ends(
    submitted,
    logits: np.ndarray,
    values: np.ndarray,
    actions: np.ndarray,
    rewards: np.ndarray,
    is_not_done: np.ndarray,
    gamma: float | None = None,
) -> dict:
    """Compare what is learned from a rollout with ends with what your function learns from other rollouts.

    So it does not matter here whether policy and value loss are right otherwise.
    """
    trainer = Trainer(submitted, gamma)
    tables = {"logits": logits, "values": values}
    rollout = {"actions": actions, "rewards": rewards, "is_not_done": is_not_done}
    alive = is_not_done.astype(bool)
    columns = np.arange(values.shape[1])
    facts: dict[str, Any] = {f"{name} loss: {what}": [] for name in ("policy", "value") for what in ENDS}
    found = trainer.all_gradients(tables, rollout)
    for game, end in np.argwhere(~alive):
        others = np.arange(len(values)) != game
        in_last_column = end == columns[-1]
        # In the first column of a game after an end, something of that end's tick may be learned, which is another question.
        first = max((column + 2 for column in np.flatnonzero(~alive[game, :end])), default=0)
        endless = with_mask(rollout, game, columns >= 0)
        # Nothing but, possibly, the value of the last frame: other mistakes make something of it that none would make of 0.
        nothing_after = trainer.all_gradients(*cut(tables, endless, game, end))
        but_a_value = trainer.all_gradients(*cut(tables, endless, game, end + 1, last_reward=end))
        for part, name in enumerate(("policy", "value")):
            until = end - 1 if in_last_column and name == "policy" else end
            if first < until:
                # The policy may use that value wrongly, as a baseline; as the target of another value it has not been cut.
                known = (nothing_after,) if in_last_column or name == "value" else (nothing_after, but_a_value)
                pairs = [(found[part], then[part]) for then in known]
                sides = [(a[:, first:until], b[:, first:until]) for a, b in pairs]
                # A mean over what is played is another question: it moves all games alike.
                scaled = [(a[game], b[game] * common_factor(a[others], b[others])) for a, b in sides]
                facts[f"{name} loss: {BEFORE}"].append(any(itertools.starmap(same, scaled)))
                facts[f"{name} loss: {OTHERS}"].append(any(same(a[others], b[others]) for a, b in sides))
        if in_last_column:
            continue
        played_on = trainer.all_gradients(tables, with_mask(rollout, game, columns == end))
        nothing_next = trainer.all_gradients(*cut(tables, rollout, game, end + 1, last_reward=end))
        rewarded = trainer.all_gradients(tables, with_reward(rollout, game, end))
        following = alive[game] & (columns > end + 1)
        for part, name in enumerate(("policy", "value")):
            facts[f"{name} loss: {AFTER}"].append(same(found[part][game, following], played_on[part][game, following]))
            same_tick = [same(found[part][game, end], then[part][game, end]) for then in (nothing_next, rewarded)]
            facts[f"{name} loss: {NOT_PLAYED}"].append(all(same_tick))
        counted, of_all = found[0][others, end], played_on[0][others, end]
        factor = common_factor(counted, of_all)
        facts[f"policy loss: {MEAN}"].append(
            f"no, the other games count {factor:.3g} times" if factor != 1 else same(counted, of_all)
        )
    # A mask that is 1 where a game has ended would let this be learned, and nothing else.
    never_played = rollout | {"is_not_done": np.zeros_like(is_not_done), "rewards": np.zeros_like(rewards)}
    unplayed = trainer.all_gradients(tables, never_played)
    # The value of a frame that is not played may itself be trained to be 0.
    higher = {"policy": values + 1 + (columns == columns[-1]), "value": values + (columns == columns[-1])}
    for part, (name, raised) in enumerate(higher.items()):
        moved = trainer.all_gradients(tables | {"values": raised}, never_played)
        facts[f"{name} loss: {NOT_PLAYED}"].append(same(unplayed[part][:, :-1], moved[part][:, :-1]))
    # A small reward in place of none changes little.
    quiet = alive & (rewards == 0) & (columns < columns[-1])
    almost = trainer.all_gradients(tables, rollout | {"rewards": rewards + np.float32(1e-3) * quiet})
    facts[f"policy loss: {QUIET}"] = bool(np.allclose(found[0], almost[0], atol=3e-3))
    # Where nothing is learned from rewards, nothing says what an end changes.
    by_other_rewards = trainer.all_gradients(tables, rollout | {"rewards": rollout["rewards"] + 1})
    if all(map(same, found, by_other_rewards)):
        return dict.fromkeys(facts, "not known: the gradient does not depend on the rewards")
    return {name: value for name, value in facts.items() if value != []}


BEFORE = "columns before an end are as in a rollout that ends there"
OTHERS = "an end of one game does not affect other games"
NOT_PLAYED = "a dead tick adds nothing"
AFTER = "the game after an end is trained on as usual"
MEAN = "the mean also counts games in a dead tick"
QUIET = "columns with reward 0 are trained on"
ENDS = (BEFORE, OTHERS, NOT_PLAYED, AFTER, MEAN)


def with_mask(rollout: Tables, game: int, columns: np.ndarray) -> Tables:
    """Return a rollout in which a game does not end in these columns, bool `[T]`."""
    mask = rollout["is_not_done"].copy()
    mask[game, columns] = 1
    return rollout | {"is_not_done": mask}


def cut(tables: Tables, rollout: Tables, game: int, column: int, last_reward: int | None = None) -> tuple[Tables, Tables]:
    """Return tables and a rollout in which a game has no values from a column on, and no rewards, by default likewise."""
    values, rewards = tables["values"].copy(), rollout["rewards"].copy()
    values[game, column:] = 0
    rewards[game, column if last_reward is None else last_reward :] = 0
    return tables | {"values": values}, rollout | {"rewards": rewards}


def with_reward(rollout: Tables, game: int, column: int) -> Tables:
    """Return a rollout in which a column of a game, in which it is not played, has a reward all the same."""
    rewards = rollout["rewards"].copy()
    rewards[game, column] += 1
    return rollout | {"rewards": rewards}


def common_factor(one: np.ndarray, other: np.ndarray) -> float:
    """Return the factor between two arrays of numbers; 1 if there is none."""
    factor = float((one * other).sum() / max(float((other * other).sum()), 1e-12))
    return factor if not same(one, other) and same(one, factor * other) else 1.0


def same(one: np.ndarray, other: np.ndarray) -> bool:
    # As an entropy that leaves out what is not played would move them: a hundredth of what an end that is missed does.
    # NaN, as of a mean over nothing that is played, is what it is in both.
    return bool(np.allclose(one, other, rtol=1e-3, atol=3e-5, equal_nan=True))


def masks(
    submitted,
    logits: np.ndarray,
    values: np.ndarray,
    actions: np.ndarray,
    rewards: np.ndarray,
    is_not_done: np.ndarray,
) -> dict:
    """Call `train_on_rollout` with a mask of booleans, and with the same as integers; report whether it learns the same."""
    trainer = Trainer(submitted, None)
    tables = {"logits": logits, "values": values}
    rollout = {"actions": actions, "rewards": rewards, "is_not_done": is_not_done.astype(bool)}
    by_booleans = trainer.gradients(tables, rollout)
    by_integers = trainer.gradients(tables, rollout | {"is_not_done": is_not_done.astype(np.int64)})
    pairs = [(as_numbers(by_booleans[name]), as_numbers(by_integers[name])) for name in by_booleans]
    if not any(np.abs(one).max() > 0 for one, _ in pairs):
        return {"a mask of integers gives the same gradients as booleans": "not known: all gradients are 0"}
    return {
        "a mask of integers gives the same gradients as booleans": all(
            same(np.asarray(one), np.asarray(other)) for one, other in pairs
        )
    }


def updates(
    submitted, logits: np.ndarray, values: np.ndarray, actions: np.ndarray, rewards: np.ndarray, is_not_done: np.ndarray
) -> dict:
    """Call `train_on_rollout` twice with the same agent and optimizer; report what each call did to the agent."""
    trainer = Trainer(submitted, None)
    agent = TableAgent(logits, values, trainer.column)
    optimizer = CountingSGD(agent)
    arrays = {"actions": actions, "rewards": rewards, "is_not_done": is_not_done}
    nothing = arrays | {"rewards": np.zeros_like(rewards)}
    facts: dict[str, Any] = {
        "steps of opt, by call": [],
        "result of train_on_rollout, by call": [],
        "only opt changes agent, by call": [],
    }
    noted, measured, by_entropy = [], [], []
    for _ in range(2):
        place(submitted, agent, optimizer, logits.shape[-1])
        before, steps = {name: to_plain(value) for name, value in agent.named_parameters()}, len(optimizer.steps)
        for gradients in agent.gradients.values():
            gradients.clear()
        given = {name: np.array(value) for name, value in arrays.items()}
        observations = agent.observations()
        try:
            loss = kind(train(submitted, observations, *given.values(), memories(len(values))))
        except Exception as error:
            if len(optimizer.steps) == steps:
                raise
            loss = f"{type(error).__name__}: {error}"
        after = {name: to_plain(value) for name, value in agent.named_parameters()}
        made = len(optimizer.steps) - steps
        step = optimizer.steps[-1] if made else {name: np.zeros_like(value) for name, value in before.items()}
        facts["steps of opt, by call"].append(made)
        facts["result of train_on_rollout, by call"].append(loss)
        facts["arguments that train_on_rollout changed"] = [
            name for name, value in arrays.items() if not np.array_equal(value, given[name])
        ]
        if not np.array_equal(observations, agent.observations()):
            facts["arguments that train_on_rollout changed"].append("states")
        facts["only opt changes agent, by call"].append(
            made > 1
            or all(np.allclose(value - 0.1 * as_numbers(step[name]), after[name], atol=1e-6) for name, value in before.items())
        )
        # A table that no gradient comes to, and none is used of, is another question.
        pairs = [(step[name], agent.gradient_in_all(name)) for name in before]
        ratios = [ratio(used, came) for used, came in pairs if not (isinstance(used, str) and isinstance(came, str))] or [0.0]
        noted.append(ratios[0] if np.allclose(ratios, ratios[0], rtol=1e-3) else 0.0)
        tables = {"logits": before["table"], "values": before["values"]}
        measured.append(slope(trainer, tables, arrays, step["table"]))
        # Where the policy loss has no gradient, that of the entropy says which way the steps go.
        tables = tables | {"values": np.zeros_like(values)}
        by_entropy.append(slope(trainer, tables, nothing, used_by(trainer, tables, nothing)))
    tables, others = {"logits": logits, "values": values}, arrays | {"rewards": arrays["rewards"] + 1}
    again = [to_number(trainer.run(tables, rollout)[1]) for rollout in (arrays, others, arrays)]
    facts["the loss does not depend on earlier calls"] = any(isinstance(loss, str) for loss in again) or bool(
        np.isclose(again[0], again[2], equal_nan=True)
    )
    if not optimizer.steps and not any(agent.gradients.values()):
        facts["arguments that train_on_rollout changed"] = ["not known: there is no gradient and no step of opt"]
    facts["the function steps the optimizer that opt is when it is called"] = not Unused.kept
    facts["opt's gradient over this call's gradient, by call"] = noted
    facts["opt's gradient over the loss gradient, by call"] = measured
    facts["the latter without rewards and values, by call"] = by_entropy
    return facts


def used_by(trainer: Trainer, tables: Tables, rollout: Tables) -> Any:
    """Return the gradient, for the logits, of the step that is made on tables."""
    agent = TableAgent(tables["logits"], tables["values"], trainer.column)
    call_on(trainer.submitted, agent, rollout)
    steps = trainer.submitted.opt.steps
    return steps[-1]["table"] if steps else NO_GRADIENT


def slope(trainer: Trainer, tables: Tables, rollout: Tables, gradient: Any) -> Any:
    """Return the length of a gradient, for the logits, divided by how fast the loss that is returned grows that way."""
    if isinstance(gradient, str) or not np.abs(gradient).max() > 0:
        return 0.0
    length = float(np.sqrt((gradient**2).sum()))
    losses = []
    for side in (1, -1):
        moved = tables["logits"] + side * 0.05 * gradient / length
        losses.append(to_number(trainer.run(tables | {"logits": moved}, rollout)[1]))
    for loss in losses:
        if isinstance(loss, str):
            return loss
    difference = losses[0] - losses[1]
    return 0.1 * length / difference if difference else 0.0


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
        return "a tensor with requires_grad=True" if loss.requires_grad else "a tensor"
    return describe_kind(loss)


# One update of your own agent


class Broken(Exception):
    """A part of a submission did something with which the other parts cannot go on; the text is for students."""


@contextlib.contextmanager
def piece(name: str) -> Generator[None, None, None]:
    """Let what fails in a piece of a submission be named by that piece."""
    try:
        yield
    except Broken:
        raise
    except Exception as error:
        raise Broken(f"in your {name}: {type(error).__name__}: {error}") from error


def recorded_rollout(n_actions: int) -> tuple[np.ndarray, ...]:
    """Return a rollout as `EnvPool.interact(6)` returns it: of three games, of which one ends in it, and one at its end."""
    rng = np.random.default_rng(27)
    # Bright and dark games, so that their values differ.
    brightness = np.array([0.1, 0.5, 1], np.float32)[:, None, None, None, None]
    observations = rng.uniform(size=(3, 6, 1, 42, 42)).astype(np.float32) * brightness
    is_not_done = np.ones((3, 6), bool)
    is_not_done[1, 2] = is_not_done[2, 5] = False
    actions = rng.integers(n_actions, size=(3, 6))
    rewards = (rng.uniform(2, 4, size=(3, 6)) * is_not_done).astype(np.float32)
    actions[:, -1] = rewards[:, -1] = 0
    return observations, actions, rewards, is_not_done


def outputs_on(agent: nn.Module, observations: np.ndarray, is_not_done: np.ndarray, memory: Any) -> tuple[Tensor, Tensor]:
    """Return what an agent says on a rollout: logits `[B, T, n_actions]` and values `[B, T]`.

    Raises:
        Broken: If `train_on_rollout` could not use it.
    """
    all_logits, all_values = [], []
    alive = torch.as_tensor(is_not_done, dtype=torch.float32)
    games = len(observations)
    for t in range(observations.shape[1]):
        with piece("SimpleRecurrentAgent.forward"), torch.no_grad():
            result = agent(memory, torch.as_tensor(observations[:, t]))
            if not is_result(result):
                raise Broken(
                    f"in your SimpleRecurrentAgent.forward: expected {RETURNED}, all tensors; got {describe_kind(result)}"
                )
        memory, (logits, values) = result
        shapes = [list(value.shape) for value in (*memory, logits, values)]
        if shapes[:2] != [[games, UNITS]] * 2 or shapes[2][:-1] != [games] or shapes[3] not in ([games], [games, 1]):
            raise Broken(
                f"in your SimpleRecurrentAgent.forward: for {games} games, h, c, logits and state_value have the shapes "
                f"{', '.join(map(str, shapes))}; expected [B, {UNITS}], [B, {UNITS}], [B, n_actions] and [B]"
            )
        all_logits.append(logits)
        all_values.append(values.reshape(-1))
        memory = tuple(value * alive[:, t, None] for value in memory)
    return torch.stack(all_logits, dim=1).double(), torch.stack(all_values, dim=1).double()


class FixedLoss:
    """The loss of a rollout, with advantages and targets that stay what they were when it was made.

    Its forms are all that the stub allows: the value loss of one step or of the whole return, with
    or without the last frames of games, and the entropy with or without the last column, or ticks
    in which nothing is played.
    """

    def __init__(self, logits: Tensor, values: Tensor, rollout: Sequence[np.ndarray], gamma: float = 0.99) -> None:
        _, actions, rewards, is_not_done = (torch.as_tensor(value) for value in rollout)
        self.actions, self.played = actions, is_not_done.double()
        returns, following = torch.zeros_like(values), values[:, -1] * self.played[:, -1]
        one_step = rewards + gamma * torch.roll(values * self.played, -1, dims=1)
        for t in reversed(range(values.shape[1] - 1)):
            returns[:, t] = rewards[:, t] + gamma * following
            following = self.played[:, t] * returns[:, t]
        self.targets, self.advantages = (one_step, returns), returns - values

    def forms(self, logits: Tensor, values: Tensor) -> list[float]:
        log_probs = logits.log_softmax(dim=-1)
        chosen = log_probs.gather(2, self.actions[..., None])[..., 0]
        policy = -(chosen * self.advantages * self.played)[:, :-1].mean()
        entropies = -(log_probs.exp() * log_probs).sum(dim=-1)
        found = []
        kinds = itertools.product(self.targets, (0.0, 1.0), (None, -1), (torch.ones_like(self.played), self.played))
        for target, of_last_frames, columns, counted in kinds:
            errors = (self.played * (target - values) ** 2 + of_last_frames * (1 - self.played) * values**2)[:, :-1]
            found.append(float(policy + errors.mean() - 0.01 * (counted * entropies)[:, :columns].mean()))
        return found


def one_update(submitted) -> dict:
    """Let your `train_on_rollout` train your own agent once, on a rollout as EnvPool returns it; report what has changed."""
    try:
        return updated(submitted)
    except Broken as error:
        return {"what broke": str(error)}


def updated(submitted) -> dict:
    with piece("SimpleRecurrentAgent"):
        agent: Any = own_agent(submitted)
    rng = np.random.default_rng(1)
    with torch.no_grad():
        for _, parameter in sorted(agent.named_parameters()):
            fan_in = int(np.prod(parameter.shape[1:])) if parameter.ndim > 1 else 100
            parameter.copy_(float32(rng.normal(size=tuple(parameter.shape)) * (2 / fan_in) ** 0.5))
    with piece("SimpleRecurrentAgent.step"):
        games = np.ones((3, 1, 42, 42), np.float32) * np.array([0.2, 0.5, 0.8], np.float32)[:, None, None, None]
        memory, (logits, _) = agent.step(agent.get_initial_state(3), games)
    n_actions = logits.shape[-1]
    rollout = recorded_rollout(n_actions)
    observations, _, _, is_not_done = rollout
    before = outputs_on(agent, observations, is_not_done, memory)
    fixed = FixedLoss(*before, rollout)
    optimizer = CountingSGD(agent, lr=0.003)
    place(submitted, agent, optimizer, n_actions)
    given, remembered = [value.copy() for value in rollout], [value.detach().clone() for value in memory]
    weights = {name: value.detach().clone() for name, value in agent.named_parameters()}
    with piece("train_on_rollout"):
        loss = train(submitted, *given, memory)
    after = outputs_on(agent, observations, is_not_done, memory)
    names = ("states", "actions", "rewards", "is_not_done", "h of prev_memory_states", "c of prev_memory_states")
    pairs = zip((*rollout, *remembered), (*given, *memory), strict=True)
    return {
        "what broke": "",
        "steps of opt": len(optimizer.steps),
        "parameters that did not change": [
            name for name, value in agent.named_parameters() if torch.equal(value, weights[name])
        ],
        "parameters that are not finite": [name for name, value in agent.named_parameters() if not value.isfinite().all()],
        "arguments that train_on_rollout changed": [
            name
            for name, (one, other) in zip(names, pairs, strict=True)
            if not np.array_equal(np.asarray(one), np.asarray(other.detach() if isinstance(other, Tensor) else other))
        ],
        "loss that was returned": to_number(loss),
        "loss before": fixed.forms(*before),
        "loss after": fixed.forms(*after),
    }


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


class Cue(utils.CueVector):
    """Cue with games of two steps: the first shows the cue, the second asks for it.

    The cue of each game is the opposite of that of the game before: whoever carries the memory over
    an end learns the opposite.
    """

    def __init__(self, num_envs: int) -> None:
        super().__init__(num_envs, length=2)

    def _begin(self) -> None:
        super()._begin()
        self._right = self.np_random.integers(2, size=self.num_envs)

    def _draw(self, begins: np.ndarray) -> None:
        self._right = np.where(begins, 1 - self._right, self._right)


class Metronome(utils.MetronomeVector):
    """Metronome with games of one to three steps. A beat earns 1 in the third, which one in three reaches; others cost 1/2.

    The best mean return is 1/3. Who does not know the step does best to wait, which gets 0.
    """

    def _draw(self, begins: np.ndarray) -> None:
        self._lengths[begins] = self.np_random.integers(1, 4, size=np.count_nonzero(begins))

    def _move(self, actions: Any) -> np.ndarray:
        return np.where(np.asarray(actions) == 1, np.where(self._steps == 2, 1.0, -0.5), 0.0)


class Task(NamedTuple):
    """A task of the learning checks.

    Attributes:
        obs_dim: Numbers in an observation.
        games: Games in parallel. With fewer in Cue, an agent without memory may learn a memory by chance.
        columns: Columns of a rollout. Rollouts begin at every step of a game.
        enough: Training stops once the mean reward of an episode is at least this in two rollouts in a row.
    """

    world: type[utils.CueVector] | type[utils.MetronomeVector]
    obs_dim: int
    games: int
    columns: int
    enough: float


TASKS = {
    "cue": Task(Cue, obs_dim=3, games=256, columns=6, enough=0.8),
    "metronome": Task(Metronome, obs_dim=1, games=128, columns=9, enough=0.2),
}
SMALL = 16  # units of the small agent


def small_agent(task: str) -> nn.Module:
    """Return an agent for Cue or Metronome whose memory tells enough, but which does not use it yet.

    Each unit of the memory adds up something, and none forgets. In Metronome, each grows at a pace
    of its own. In Cue, each takes some of the first observation, after which the first unit closes
    the others.
    """
    agent = utils.SmallRecurrentAgent(TASKS[task].obs_dim, 2, units=SMALL)
    paces = torch.linspace(-1, 1, SMALL)
    with torch.no_grad():
        for parameter in agent.parameters():
            parameter.zero_()
        input_gate, forget_gate, candidate, output_gate = agent.rnn.bias_ih.chunk(4)
        input_gate.fill_(3)
        forget_gate.fill_(5)
        output_gate.fill_(3)
        if task == "metronome":
            candidate.copy_(paces)
        else:
            candidate[0] = 2
            agent.rnn.weight_ih.chunk(4)[2][1:, 0] = paces[1:]
            agent.rnn.weight_hh.chunk(4)[0][1:, 0] = -10
    return agent


def learn(submitted, task: str, seed: int, updates: int) -> dict:
    """Train a small agent on Cue or Metronome with your function; return its weights, and rewards, which decide nothing.

    Args:
        updates: At most so many; training stops once the agent does well.
    """
    torch.manual_seed(seed)
    np.random.seed(seed)
    agent, settings = small_agent(task), TASKS[task]
    trained = AsYours(agent, returns_columns(submitted))
    pool = EnvPool(trained, settings.world(settings.games), seed=seed)
    place(submitted, trained, utils.PlainAdam(list(agent.parameters()), lr=0.05, eps=1e-5), 2)
    rewards: list[float] = []
    while len(rewards) < updates and (len(rewards) < 2 or min(rewards[-2:]) < settings.enough):
        memory = pool.prev_memory_states
        rollout = pool.interact(settings.columns)
        # Before your function, which may change the arrays.
        rewards.append(float(rollout[2].sum() / max((~rollout[3]).sum(), 1)))
        train(submitted, *rollout, memory)
    return {
        "weights": {name: to_plain(value) for name, value in agent.state_dict().items()},
        "mean reward per episode": rewards,
    }


def play(submitted, task: str, weights: dict[str, np.ndarray], seed: int, ticks: int = 12) -> dict:
    """Return the mean return of whole episodes of an agent with these weights. Run without any submission."""
    torch.manual_seed(seed)
    agent = small_agent(task)
    agent.load_state_dict({name: float32(value) for name, value in weights.items()})
    pool = EnvPool(agent, TASKS[task].world(256), seed=seed + 1000)
    _, _, rewards, is_not_done = pool.interact(ticks + 1)
    # Every game has just begun at first; what an unfinished last episode has earned does not count.
    totals = []
    for game_rewards, game_mask in zip(rewards, is_not_done, strict=True):
        ends = np.flatnonzero(~game_mask)
        totals += [float(part.sum()) for part in np.split(game_rewards, ends)[: len(ends)]]
    return {"mean return": float(np.mean(totals))}


# The trained agent: `referee` holds the games, in a process without student code, and receives the actions of `act`.


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
    """Let your agent, with the weights of the submitted file, uint8 `[bytes]`, play these games."""
    agent = trained_agent.load_agent(file.tobytes(), submitted.SimpleRecurrentAgent((1, 42, 42), 14))
    player = trained_agent.player(agent, games, seed)
    actions = next(player)
    while True:
        observations = yield actions
        actions = player.send(observations.astype(np.float32) / np.float32(255))
