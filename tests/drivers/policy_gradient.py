"""Drivers of `policy_gradient`: they call your functions on plain data and report plain facts. They judge nothing.

You may read them to see how your functions are called. Whatever a question needs from other questions is replaced by
recorded data or fakes here, so that a mistake in one function costs no points in another.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from itertools import islice, pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import utils
from grader.sandbox.facts import call_beforehand, describe_kind, fake_names, float32, loss_of, tensor, with_numbers

PAIR = "a finalized RolloutBuffer and a number"
UNCONNECTED = "none: the loss is not connected to this parameter"
MAX_CURVE = 5_000  # numbers of a learning curve: more would make the answer too large, and cost the check


def network(weights: list[np.ndarray], log_softmax: bool = False) -> utils.SimpleReLuNetwork:
    """Return a network with the given weights and biases, layer by layer: a policy with `log_softmax`, else a value network."""
    hidden = [len(bias) for bias in weights[3:-1:2]]
    net = utils.SimpleReLuNetwork(weights[0].shape[1], len(weights[-1]), out_logsoftmax=log_softmax, hidden_dims=hidden)
    with torch.no_grad():
        for parameter, value in zip(net.parameters(), weights, strict=True):
            parameter.copy_(tensor(value))
    return net


class Watch:
    """Notes what a call changed that it was only given to read: tensors, networks, torch's gradient mode."""

    def __init__(self, net: nn.Module | None = None, **tensors: Tensor) -> None:
        self.net = net
        self.tensors = tensors
        self.before = {name: value.clone() for name, value in tensors.items()}
        self.weights = [parameter.detach().clone() for parameter in net.parameters()] if net else []
        self.modes = [module.training for module in net.modules()] if net else []

    def changed(self) -> list[str]:
        """Return the names of all that is not as it was."""
        changed = [name for name, value in self.tensors.items() if not torch.equal(value, self.before[name])]
        parameters = list(self.net.parameters()) if self.net else []
        if not all(torch.equal(now, then) for now, then in zip(parameters, self.weights, strict=True)):
            changed.append("weights of the network")
        if not all(parameter.requires_grad for parameter in parameters):
            changed.append("requires_grad of the network")
        if self.net and [module.training for module in self.net.modules()] != self.modes:
            changed.append("training or evaluation mode of the network")
        if not torch.is_grad_enabled():
            changed.append("torch.is_grad_enabled(), which is now False")
        torch.set_grad_enabled(True)
        return changed


# Numbers and their form, which checks look at apart from each other


def values_of(result: Any, *shape: int) -> Any:
    """Return the numbers of a result as a tensor of this shape, whatever holds them there; what it is if it has none.

    Their form (a list, another precision, another axis) is a fact of its own: see `form_of`.
    """
    if result is None:
        return None
    try:
        values = torch.from_numpy(flat(result))
    except (TypeError, ValueError, RuntimeError):
        return describe_kind(result)
    return values.reshape(shape) if len(values) == np.prod([abs(size) for size in shape]) or -1 in shape else values


def flat(value: Any) -> np.ndarray:
    """Return the numbers of a tensor, an array, a number, or lists of these, one after another."""
    if isinstance(value, Tensor):
        return value.detach().double().reshape(-1).numpy().copy()
    if isinstance(value, (list, tuple)):
        return np.concatenate([np.empty(0), *(flat(item) for item in value)])
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{describe_kind(value)} holds no numbers")
    return array.astype(np.float64).reshape(-1)


def form_of(result: Any) -> dict[str, Any]:
    """Return what holds the numbers of a result, and how."""
    if isinstance(result, Tensor):
        return {
            "type": "torch.Tensor",
            "dtype": str(result.dtype).removeprefix("torch."),
            "shape": list(result.shape),
            "requires_grad": result.requires_grad,
        }
    if isinstance(result, (np.ndarray, np.generic)):
        return {"type": "a NumPy array", "dtype": str(result.dtype), "shape": list(result.shape), "requires_grad": False}
    return {"type": describe_kind(result)}


def form_of_loss(result: Any) -> dict[str, Any]:
    """Return what a loss is. Whether it leads to the parameters is seen in their gradients."""
    if not isinstance(result, Tensor):
        return {"type": describe_kind(result)}
    return {
        "type": "torch.Tensor",
        "the dtype is floating-point": result.is_floating_point(),
        "number of elements": result.numel(),
    }


def loss_facts(call: Callable[..., Any], net: nn.Module, given: dict[str, Tensor]) -> dict[str, Any]:
    """Return the loss of the second call, and the gradient it gives to each parameter of `net`.

    The first call gets the same rows in another order, in tensors of its own: nothing of it may be kept.
    """
    call_beforehand(lambda: call(**{name: value.flip(0) for name, value in given.items()}))
    torch.set_grad_enabled(True)
    net.zero_grad()
    watch = Watch(net, **given)
    result = call(**given)
    changed = watch.changed()
    loss = result[0] if isinstance(result, (list, tuple)) and len(result) == 1 else result
    if isinstance(loss, Tensor) and loss.numel() == 1 and loss.requires_grad:
        loss.reshape(()).backward()
    gradient = {
        f"gradient of {name}": UNCONNECTED if parameter.grad is None else parameter.grad
        for name, parameter in net.named_parameters()
    }
    return {
        "loss": values_of(loss, *(() if not isinstance(loss, Tensor) or loss.numel() == 1 else loss.shape)),
        "gradient of the network": gradient,
        "form": form_of_loss(result),
        "changed by the call": changed,
    }


# Returns, losses, advantages


def returns(submitted, rewards: np.ndarray, terminateds: np.ndarray, discount_factor: float | None = None) -> dict:
    """Call `get_returns` on a buffer with these rewards, integers if they are; without a discount factor, use the default.

    The same buffer has been there before with another discount factor, and another buffer: nothing of these calls may be kept.
    """
    options = {} if discount_factor is None else {"discount_factor": discount_factor}
    other, buffer = buffer_of(rewards[::-1], ~terminateds), buffer_of(rewards, terminateds)
    call_beforehand(lambda: submitted.get_returns(buffer, discount_factor=0.37))
    vars(buffer).update(vars(buffer_of(rewards, terminateds)))  # whatever that call has changed
    call_beforehand(lambda: submitted.get_returns(other, **options))
    watch = Watch(rewards=buffer.rewards, terminateds=buffer.terminateds)
    result = submitted.get_returns(buffer, **options)
    return {"returns": values_of(result, -1, 1), "form": form_of(result), "changed by the call": watch.changed()}


def buffer_of(rewards: np.ndarray, terminateds: np.ndarray) -> utils.RolloutBuffer:
    """Return a finalized buffer with these rewards and ends."""
    buffer = utils.RolloutBuffer()
    nothing = torch.zeros(1, 1)
    for reward, terminated in zip(rewards.tolist(), terminateds.tolist(), strict=True):
        buffer.add(action=nothing, logits=nothing, observation=nothing, terminated=terminated, reward=reward)
    buffer.finalize()
    return buffer


def advantages(submitted, weights: list[np.ndarray], observations: np.ndarray, returns: np.ndarray) -> dict:
    """Call `get_advantages` with a value network of these weights, after a call with other returns."""
    value_net, given = network(weights), {"observations": tensor(observations), "returns": tensor(returns)}
    call_beforehand(lambda: submitted.get_advantages(value_net, given["observations"].flip(0), 2 - given["returns"]))
    torch.set_grad_enabled(True)
    watch = Watch(value_net, **given)
    result = submitted.get_advantages(value_net, given["observations"], given["returns"])
    return {"advantages": values_of(result, -1, 1), "form": form_of(result), "changed by the call": watch.changed()}


def value_loss(submitted, weights: list[np.ndarray], observation: np.ndarray, returns: np.ndarray) -> dict:
    """Call `get_value_net_loss` as the training loop does: with the keywords of every loss."""
    value_net = network(weights)
    # The arguments of the other losses are passed, too; this loss must ignore them.
    others = {"return_or_advantage": 1 - tensor(returns), "policy": None, "old_logits": None, "action": None, "ppo_clip": 0.2}
    call = functools.partial(submitted.get_value_net_loss, value_net=value_net, **others)
    return loss_facts(call, value_net, {"observation": tensor(observation), "returns": tensor(returns)})


def vanilla_loss(
    submitted,
    weights: list[np.ndarray],
    observation: np.ndarray,
    action: np.ndarray,
    return_or_advantage: np.ndarray,
    as_in_training: bool = True,
) -> dict:
    """Call `get_vanilla_policy_gradient_loss`, with the keywords of every loss if `as_in_training`."""
    policy = network(weights, log_softmax=True)
    rest = {"returns": 1 - tensor(return_or_advantage), "value_net": None, "old_logits": None, "ppo_clip": 0.2}
    call = functools.partial(submitted.get_vanilla_policy_gradient_loss, policy=policy, **(rest if as_in_training else {}))
    given = {
        "observation": tensor(observation),
        "action": tensor(action),
        "return_or_advantage": tensor(return_or_advantage),
    }
    return loss_facts(call, policy, given)


def ppo_loss(
    submitted,
    weights: list[np.ndarray],
    observation: np.ndarray,
    old_logits: np.ndarray,
    action: np.ndarray,
    return_or_advantage: np.ndarray,
    ppo_clip: float | None = None,
) -> dict:
    """Call `get_PPO_policy_gradient_loss`; without a clip range, use the default."""
    policy = network(weights, log_softmax=True)
    options = {} if ppo_clip is None else {"ppo_clip": ppo_clip}
    rest = {"returns": 1 - tensor(return_or_advantage), "value_net": None}
    call = functools.partial(submitted.get_PPO_policy_gradient_loss, policy=policy, **rest, **options)
    given = {
        "observation": tensor(observation),
        "old_logits": tensor(old_logits),
        "action": tensor(action),
        "return_or_advantage": tensor(return_or_advantage),
    }
    return loss_facts(call, policy, given)


# Rollouts


class Replay(utils.EnvInterface):
    """An environment that plays recorded episodes, one after another, whatever the actions are, and notes what it is given.

    Args:
        observations: One array `[length + 1, obs_dim]` an episode.
        rewards: One array `[length]` an episode.
    """

    def __init__(self, observations: list[np.ndarray], rewards: list[np.ndarray]) -> None:
        self.observations = observations
        self.rewards = rewards
        self.episode = -1
        self.time = 0
        self.actions: list[float] = []
        self.seeds: list[Any] = []

    def reset(self, seed=None) -> Tensor:
        self.seeds.append(seed)
        self.episode += 1
        self.time = 0
        if self.episode == len(self.rewards):
            raise RuntimeError(f"{self.episode} rollouts were asked for, and reset() was called once more")
        return self._observe()

    def step(self, action) -> tuple[Tensor, bool, float]:
        if self.episode < 0 or self.time == len(self.rewards[self.episode]):
            raise RuntimeError("step() was called before reset(), or after the episode had terminated")
        self.actions.append(float(action))
        reward = self.rewards[self.episode][self.time]
        self.time += 1
        return self._observe(), self.time == len(self.rewards[self.episode]), np.float64(reward)

    def _observe(self) -> Tensor:
        return tensor(self.observations[self.episode][self.time]).unsqueeze(0)


def rollouts(
    submitted,
    weights: list[np.ndarray],
    observations: list[np.ndarray],
    rewards: list[np.ndarray],
    seed: np.ndarray,
    base_rollout: int = 0,
    num_total_rollouts: int | None = None,
) -> dict:
    """Call `collect_rollouts` on recorded episodes, as many as there are, after a collection of others."""
    env, policy, ring = Replay(observations, rewards), network(weights, log_softmax=True), np.array(seed)
    progress = {"base_rollout": base_rollout, "num_total_rollouts": num_total_rollouts}
    others = [1 - array[::-1] for array in observations], [2 - array for array in rewards]
    call_beforehand(lambda: submitted.collect_rollouts(Replay(*others), network(weights, True), len(rewards), seed=ring + 1))
    torch.set_grad_enabled(True)
    watch = Watch(policy)
    facts = rollout_facts(submitted.collect_rollouts(env, policy, len(rewards), seed=ring, **progress))
    return facts | {
        "actions passed to env.step": env.actions,
        "number of calls of env.reset": env.episode + 1,
        "number of calls of env.step": len(env.actions),
        "env.reset is called with a seed": any(seed is not None for seed in env.seeds),
        "seed array after the call": ring,
        "changed by the call": watch.changed(),
    }


def long_rollout(submitted, lengths: list[int]) -> dict:
    """Call `collect_rollouts` on episodes of these lengths, and count. The policy always takes the same action."""
    env = Replay([np.zeros((length + 1, 1)) for length in lengths], [np.ones(length) for length in lengths])
    policy = utils.SimpleReLuNetwork(1, 2, out_logsoftmax=True, fixed_init=[0.0, 0.0])
    facts = rollout_facts(submitted.collect_rollouts(env, policy, len(lengths), seed=np.arange(5)))
    counts = {"number of calls of env.reset": env.episode + 1, "number of calls of env.step": len(env.actions)}
    if "returned" in facts and facts["returned"] != PAIR:
        return counts | {"returned": facts["returned"]}
    return counts | {
        "number of rows in the buffer": len(facts["rewards"]),
        "number of terminated rows": int(facts["terminateds"].sum()),
    }


def unseeded_rollouts(submitted, num_actions: int, length: int) -> dict:
    """Call `collect_rollouts` twice without a seed, with a policy that likes all actions equally well."""
    policy = utils.SimpleReLuNetwork(1, num_actions, out_logsoftmax=True, fixed_init=[0.0, 0.0])
    played = []
    for _ in range(2):
        env = Replay([np.zeros((length + 1, 1))], [np.ones(length)])
        submitted.collect_rollouts(env, policy, 1)
        played.append(env.actions)
    return {
        "two rollouts without a seed have different actions": played[0] != played[1],
        "every action is sampled at least once": len(set(played[0])) == num_actions,
    }


def world_rollouts(submitted, weights: list[np.ndarray], world: str, num_rollouts: int, seed: np.ndarray) -> dict:
    """Call `collect_rollouts` in a real environment: "plane" or "cartpole"."""
    worlds: dict[str, Any] = {
        "plane": lambda: utils.GridWorldPointTargetEnv(6, 4, 2, set_target=[4, 0], set_state=[1, 3]),
        "cartpole": utils.OpenAIGymEnv,
    }
    env = worlds[world]()
    env.reset(seed=3)
    policy = network(weights, log_softmax=True)
    return rollout_facts(submitted.collect_rollouts(env, policy, num_rollouts, seed=np.array(seed)))


def rollout_facts(result: Any) -> dict[str, Any]:
    """Return the fields of the buffer that `collect_rollouts` returned, and its number."""
    if not isinstance(result, (tuple, list)) or len(result) != 2 or not isinstance(result[0], utils.RolloutBuffer):
        return {"returned": describe_kind(result)}
    buffer, final_reward = result
    if buffer.final_size is None:
        return {"returned": "a RolloutBuffer that is not finalized, and a number"}
    fields = ("observations", "old_logits", "rewards", "terminateds", "actions")
    facts = {name: values_of(getattr(buffer, name), *getattr(buffer, name).shape) for name in fields}
    facts["actions"] = values_of(buffer.actions, -1, 1)
    form = {name: form_of(getattr(buffer, name)) for name in fields}
    for entry in form.values():
        entry["shape"][:1] = ["T"]
    form = {name: {f"{part} of {name}": value for part, value in entry.items()} for name, entry in form.items()}
    number = isinstance(final_reward, (float, int, np.floating, np.integer))
    form["mean final reward"] = {"type of mean final reward": "a number" if number else form_of(final_reward)["type"]}
    return {"returned": PAIR, **facts, "mean final reward": plain_number(final_reward), "form": form}


def plain_number(value: Any) -> Any:
    """Return a number in whatever form it comes (tensor, NumPy scalar, ...) as a float; other things unchanged."""
    with contextlib.suppress(TypeError, ValueError, RuntimeError):
        return float(value)
    return value


# The training loop


class Table(nn.Module):
    """A fake network: row i of its table is its output for the observation whose first number is i."""

    def __init__(self, rows: np.ndarray) -> None:
        super().__init__()
        self.rows = nn.Parameter(tensor(rows))

    def forward(self, observation: Tensor) -> Tensor:
        return self.rows[observation[:, 0].long()]


class RecordingSGD(torch.optim.Optimizer):
    """A fake `torch.optim.SGD` that notes how the gradient of every step compares to that of the losses since the last one.

    It is an Optimizer by name only: running `Optimizer.__init__` for the first time costs a second of imports.

    Attributes:
        due: By network, the gradients of the losses that were computed since the last step.
        steps: One dict a step, network -> what it found there.
        moves: By network, what all steps together have added to it.
    """

    def __init__(self, networks: dict[str, Any], lr: float) -> None:
        self.networks = networks
        self.param_groups = [{"params": [p for net in networks.values() for p in net.parameters()], "lr": lr}]
        self.due = {name: torch.zeros_like(net.rows) for name, net in networks.items()}
        self.moves = {name: torch.zeros_like(net.rows) for name, net in networks.items()}
        self.steps: list[dict[str, Any]] = []

    def zero_grad(self, set_to_none: bool = True) -> None:
        for parameter in self.param_groups[0]["params"]:
            parameter.grad = None

    def step(self, closure=None):
        loss = loss_of(closure)
        lr = self.param_groups[0]["lr"]
        self.steps.append({name: compare_gradients(net.rows.grad, self.due[name]) for name, net in self.networks.items()})
        with torch.no_grad():
            for name, net in self.networks.items():
                self.due[name] = torch.zeros_like(net.rows)
                if net.rows.grad is not None:
                    net.rows -= lr * net.rows.grad
                    self.moves[name] -= lr * net.rows.grad
        return loss


def compare_gradients(found: Tensor | None, due: Tensor) -> dict[str, Any]:
    """Return whether there is a gradient, which multiple of the one that is due comes nearest to it, and what is left of it.

    What is left is measured in the largest entry of the gradient that is due.
    """
    gradient = torch.zeros_like(due) if found is None else found.detach()
    size = float(due.abs().max())
    if not size:
        return {"arrived": found is not None, "multiple": 0.0, "rest": float(gradient.abs().max())}
    multiple = float((gradient.double() * due).sum() / due.double().square().sum())
    rest = float((gradient - multiple * due).abs().max()) / size
    return {"arrived": found is not None, "multiple": round(multiple, 4), "rest": round(rest, 4)}


class CountingScheduler:
    """A fake scheduler, as of `torch.optim.lr_scheduler`: the learning rate falls by a tenth at each step."""

    def __init__(self, optimizer: RecordingSGD) -> None:
        self.optimizer = optimizer
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        self.optimizer.param_groups[0]["lr"] *= 0.9

    def get_last_lr(self) -> list[float]:
        return [self.optimizer.param_groups[0]["lr"]]


def train(submitted, value_rows: np.ndarray | None = None, **recorded: Any) -> dict:
    """Call `train_policy_gradient` on recorded episodes with fakes for everything else, and note all it does with them.

    With a value network, also report the same training without it: what is wrong there as well has nothing to do with the
    value network. Another training has been there before: nothing of it may be kept.

    Args:
        recorded: See `recorded_training`.
    """
    others = {name: recorded[name] + 1 for name in ("rewards", "returns", "advantages")}
    call_beforehand(lambda: recorded_training(submitted, value_rows=value_rows, **(recorded | others)))
    facts = recorded_training(submitted, value_rows=value_rows, **recorded)
    if value_rows is None:
        return facts
    with contextlib.suppress(Exception):
        alone = recorded_training(submitted, **recorded)
        names = ("steps", "losses of the minibatches", "actor losses")
        facts["without a value network"] = {name: alone[name] for name in names if name in alone}
    return facts


def recorded_training(
    submitted, scheduler: bool = False, value_rows: np.ndarray | None = None, gives_advantages: bool = False, **given: Any
) -> dict:
    """Return what one training does with recorded episodes, networks and losses.

    Args:
        gives_advantages: Whether it is given `get_advantages` without a value network as well.
        given: The arrays and lengths of `Recording`, and arguments of `train_policy_gradient`. Those
            that are missing have their defaults.

    Both losses are linear in the networks, so the gradient of a row is the same in every epoch, and
    they depend on the observations alone, so that nothing else that a loss is given can change it.
    The policy prefers the recorded actions so much that sampling, for those who do it here, gives
    them again.
    """
    recording = Recording(value_rows=value_rows, **{name: given.pop(name) for name in RECORDED})
    optimizer = recording.optimizer
    lr_sched = CountingScheduler(optimizer) if scheduler else None
    before = {name: net.rows.detach().clone() for name, net in optimizer.networks.items()}
    if lr_sched:
        given["lr_sched"] = lr_sched
    if value_rows is not None or gives_advantages:
        given["get_advantages"] = recording.get_advantages
    if value_rows is not None:
        given["value_net"] = recording.value_net
        given["get_value_net_loss"] = recording.critic_loss
    with fake_names(submitted, recording.fakes()):
        result = submitted.train_policy_gradient(
            env=recording.env,
            policy=recording.policy,
            optimizer=optimizer,
            get_policy_gradient_loss=recording.actor_loss,
            get_returns=recording.get_returns,
            rollout_seed=recording.ring,
            **given,
        )
    if not recording.collections and not recording.minibatches["batches"]:
        raise RuntimeError("train_policy_gradient ended before it called collect_rollouts and a loss")
    facts = recording.facts() | {
        "steps": optimizer.steps,
        "moved by more than the steps": {
            name: not torch.allclose(net.rows.detach() - before[name], optimizer.moves[name], rtol=1e-3, atol=2e-5)
            for name, net in optimizer.networks.items()
        },
        "scheduler steps": lr_sched.steps if lr_sched else 0,
    }
    if not isinstance(result, (tuple, list)) or len(result) != 4:
        return facts | {"returned": describe_kind(result)}
    names = ("actor losses", "critic losses", "final rewards", "learning rates")
    lists = dict(zip(names, result, strict=True))
    return facts | {
        **{name: numbers(value) for name, value in lists.items()},
        "form of the lists": {name: form_of_list(value) for name, value in lists.items()},
    }


LOSS = "the loop calls the loss passed to it"
RETURNS = "the loop calls the get_returns passed to it"
FUNCTIONS_OF_THE_VALUE_NETWORK = "the loop calls the value network functions passed to it"
AGAIN = "advantages computed again after an update of the value network"
NOT_OF_RETURNS = "advantages computed from other numbers than the returns"
RECORDED = ("lengths", "actions", "rewards", "returns", "advantages", "policy_rows")


class Recording:
    """Recorded episodes, and fakes of all that a training is given, which note what it does with them.

    Args:
        lengths: Steps of each recorded episode. All other arrays have one row a step, and the first
            number of a step's observation is its row.
        value_rows: None for a training without a value network.
    """

    def __init__(
        self,
        lengths: list[int],
        actions: np.ndarray,
        rewards: np.ndarray,
        returns: np.ndarray,
        advantages: np.ndarray,
        policy_rows: np.ndarray,
        value_rows: np.ndarray | None,
    ) -> None:
        self.lengths, self.actions, self.rewards, self.policy_rows = lengths, actions, rewards, policy_rows
        self.returns, self.advantages = tensor(returns), tensor(advantages)
        self.starts = np.cumsum([0, *lengths])
        self.observed = np.stack([np.arange(len(rewards), dtype=np.float64), rewards], axis=1)
        spans = [slice(start, end) for start, end in pairwise(self.starts)]
        observations = [np.append(self.observed[span], [[-1, 0]], axis=0) for span in spans]
        self.env = Replay(observations, [rewards[span] for span in spans])
        self.policy = Table(policy_rows)
        self.value_net = None if value_rows is None else Table(value_rows)
        networks = {"policy": self.policy} | ({"value": self.value_net} if self.value_net is not None else {})
        self.optimizer = RecordingSGD(networks, lr=0.05)
        # Strong ones, so that a clipped gradient is another one.
        self.pull = {"policy": 9.0 * pulls(*policy_rows.shape), "value": pulls(len(rewards), 1) + 3.0}
        self.ring = np.array([5, 7, 11])
        self.rollouts = 0
        self.collections: list[list[int]] = []
        self.final_rewards: list[float] = []
        self.clips: set[str] = set()
        self.forms: dict[str, set[str]] = {}
        self.of_the_moment: list[bool] = []
        self.passed_on = {
            "collect_rollouts receives env and policy": True,
            "collect_rollouts receives rollout_seed": True,
            "get_returns is called with the default discount_factor": True,
            LOSS: True,
            RETURNS: True,
            FUNCTIONS_OF_THE_VALUE_NETWORK: True,
            "get_advantages receives the value network": True,
        }
        self.owners: dict[str, dict[float, int]] = {}
        self.minibatches: dict[str, list[dict[str, Any]]] = {"batches": [], "critic batches": []}
        for name, values in (
            ("returns", self.returns),
            ("rewards", tensor(rewards)),
            ("old_logits", tensor(policy_rows[:, 0])),
        ):
            self.know(name, list(range(len(rewards))), values)

    def fakes(self) -> dict[str, Callable[..., Any]]:
        """Return what the functions of the file are while it trains.

        Whoever calls these in place of those that are given has that noted, and everything else judged.
        """
        given: dict[str, tuple[Callable[..., Any], str]] = {
            "get_vanilla_policy_gradient_loss": (self.actor_loss, LOSS),
            "get_PPO_policy_gradient_loss": (self.actor_loss, LOSS),
            "get_returns": (self.get_returns, RETURNS),
            "get_value_net_loss": (self.critic_loss, FUNCTIONS_OF_THE_VALUE_NETWORK),
            "get_advantages": (self.get_advantages, FUNCTIONS_OF_THE_VALUE_NETWORK),
        }
        return {name: self.of_the_module(*fake) for name, fake in given.items()} | {"collect_rollouts": self.collect_rollouts}

    def of_the_module(self, function: Callable[..., Any], fact: str) -> Callable[..., Any]:
        def instead(*given: Any, **named: Any) -> Any:
            self.passed_on[fact] = False
            return function(*given, **named)

        return instead

    def collect_rollouts(self, env, policy, num_rollouts, base_rollout=0, num_total_rollouts=None, seed=None):
        """Return the next recorded episodes, after the last one the first again, and the mean of their last rewards."""
        alike = hasattr(env, "step") and acts_alike(policy, self.policy, tensor(self.observed))
        self.passed_on["collect_rollouts receives env and policy"] &= alike
        self.passed_on["collect_rollouts receives rollout_seed"] &= seed is self.ring
        first, self.rollouts = self.rollouts, self.rollouts + int(num_rollouts)
        if self.rollouts > 20 * len(self.lengths):
            raise RuntimeError(f"{len(self.lengths)} rollouts are enough for this training, but it goes on to collect")
        episodes = [number % len(self.lengths) for number in range(first, self.rollouts)]
        rows = np.concatenate([np.arange(self.starts[number], self.starts[number + 1]) for number in episodes])
        self.collections.append(rows.tolist())
        if self.value_net is not None:
            self.value_rows = self.value_net.rows.detach().clone()
        self.final_rewards.append(float(np.mean([self.rewards[self.starts[number + 1] - 1] for number in episodes])))
        buffer = utils.RolloutBuffer()
        buffer.load(
            {
                "observations": tensor(self.observed[rows]),
                "actions": tensor(self.actions[rows]).unsqueeze(1),
                "old_logits": tensor(self.policy_rows[rows]),
                "rewards": tensor(self.rewards[rows]),
                "terminateds": np.isin(rows, self.starts[1:] - 1),
            }
        )
        return buffer, self.final_rewards[-1]

    def get_returns(self, rollout_buffer, discount_factor: float = 0.95) -> Tensor:
        self.passed_on["get_returns is called with the default discount_factor"] &= float(discount_factor) == 0.95
        return self.returns[self.rows_of(rollout_buffer.observations)].unsqueeze(1)

    def get_advantages(self, value_net, observations: Tensor, returns: Tensor) -> Tensor:
        """Return numbers that depend on how many rows it is given, and on whether the value network has learned from them."""
        self.passed_on["get_advantages receives the value network"] &= value_net is self.value_net
        rows = self.rows_of(observations)
        found = self.advantages[rows].unsqueeze(1) * len(rows) + returns.reshape(-1, 1)
        whole = sorted(rows) == sorted(self.collections[-1])
        numbers = torch.as_tensor(returns).detach().reshape(-1).float()
        if len(numbers) != len(rows) or not torch.allclose(numbers, self.returns[rows]):
            self.know(NOT_OF_RETURNS, rows, found)
        elif whole and self.value_net is not None and not torch.equal(self.value_rows, self.value_net.rows):
            found += 0.5
            # Together with those of the first epoch.
            self.owners[AGAIN] = self.owners.get(AGAIN, {}) | self.owners.get("advantages", {})
            self.know(AGAIN, rows, found)
        else:
            self.know("advantages" if whole else "advantages computed on a subset of the rows", rows, found)
        return found

    def actor_loss(self, policy=None, observation=None, ppo_clip: Any = "not passed", **others: Any) -> Tensor:
        self.clips.add(str(plain_number(ppo_clip)))
        loss = self.loss("policy", policy, observation, others)
        with torch.no_grad():
            self.of_the_moment.append(acts_like(policy(observation), others.get("old_logits")))
        return loss

    def critic_loss(self, value_net=None, observation=None, **others: Any) -> Tensor:
        return self.loss("value", value_net, observation, others)

    def loss(self, name: str, net: Any, observation: Any, others: dict[str, Any]) -> Tensor:
        """Return the fake loss of some rows, and note what it was given."""
        if net is None:
            raise TypeError(f"the {name} loss was called without {'policy' if name == 'policy' else 'value_net'}")
        rows = self.rows_of(observation)
        pulled = self.pull[name][rows]
        if name in self.optimizer.due:
            self.optimizer.due[name].detach().index_add_(0, torch.tensor(rows), pulled / len(rows))
        loss = (net(observation) * pulled).sum(dim=1).mean()
        noted = {name: others.get(name) for name in ("action", "old_logits", "return_or_advantage", "returns")}
        for argument, value in (noted | {"observation": observation}).items():
            form = "not passed" if value is None else short_form(value, len(rows))
            self.forms.setdefault(f"{argument} in the {name} loss, dtypes and shapes", set()).add(form)
        self.minibatches["batches" if name == "policy" else "critic batches"].append(
            {
                "collection": len(self.collections) - 1,
                "row": rows,
                "given": {name: first_column(value) for name, value in noted.items()},
                "loss": float(loss.detach()),
            }
        )
        return loss

    def rows_of(self, observation: Any) -> list[int]:
        """Return which recorded rows these observations are."""
        if not isinstance(observation, Tensor) or observation.ndim != 2 or not len(observation):
            raise TypeError(f"expected observations float32 [B, 2], got {short_form(observation, -1)}")
        return observation[:, 0].long().tolist()

    def know(self, name: str, rows: list[int], values: Tensor) -> None:
        """Note which row each of these numbers belongs to."""
        self.owners.setdefault(name, {}).update(zip(values.reshape(-1).tolist(), rows, strict=True))

    def facts(self) -> dict[str, Any]:
        """Return all that was noted, as plain data."""
        return {
            "rollouts": self.rollouts,
            "rows of the collections": self.collections,
            "final rewards of the collections": self.final_rewards,
            "clip ranges": sorted(self.clips),
            # Before the first update, both are the same, because the policy has not moved.
            "old logits are those of the moment": len(self.of_the_moment) > 1 and all(self.of_the_moment),
            "forms": {name: sorted(forms) for name, forms in self.forms.items()},
            "passed on": self.passed_on,
            "recorded actions": self.actions,
            "known numbers": {
                name: {"numbers": np.array(list(owners)), "rows": np.array(list(owners.values()))}
                for name, owners in self.owners.items()
            },
            **self.minibatches,
            "losses of the minibatches": {
                name: [batch["loss"] for batch in self.minibatches[kind]]
                for name, kind in (("actor losses", "batches"), ("critic losses", "critic batches"))
            },
        }


def pulls(rows: int, columns: int) -> Tensor:
    """Return how strongly a fake loss pulls at each number of a network, between -1 and 1."""
    return float32(np.sin(1.7 * np.arange(1, rows * columns + 1)).reshape(rows, columns))


def short_form(value: Any, rows: int) -> str:
    """Return dtype and shape of what a loss was given, with B for the number of its rows."""
    if not isinstance(value, Tensor):
        return describe_kind(value)
    shape = ["B" if place == 0 and size == rows else str(size) for place, size in enumerate(value.shape)]
    return f"{str(value.dtype).removeprefix('torch.')} [{', '.join(shape)}]"


def acts_like(answers: Tensor, others: Any) -> bool:
    """Return whether other answers of a policy are these."""
    return isinstance(others, Tensor) and torch.equal(answers, others)


def acts_alike(policy: Any, other: nn.Module, observations: Tensor) -> bool:
    """Return whether two policies answer alike: a copy, or one wrapped in something, is as good as the policy itself.

    One that cannot answer to the observations of this training is another one.
    """
    with contextlib.suppress(Exception), torch.no_grad():
        return torch.equal(policy(observations), other(observations))
    return False


def first_column(rows: Any) -> list:
    """Return the first number of each row of what a loss was given; nothing when there are no rows."""
    return rows.detach().reshape(len(rows), -1)[:, 0].tolist() if isinstance(rows, Tensor) and rows.ndim and len(rows) else []


def numbers(values: Any) -> Any:
    """Return a list, array or tensor of numbers, or of one-element lists of them, as a list of floats."""
    with contextlib.suppress(TypeError, ValueError, RuntimeError):
        return [float(value[0] if isinstance(value, (list, tuple)) else value) for value in values]
    return describe_kind(values)


def form_of_list(values: Any) -> list[str]:
    """Return of what kinds the entries of a list of numbers are, the kinds that are fine all under one name."""
    if not isinstance(values, (list, tuple)):
        return (
            []
            if isinstance(values, (np.ndarray, Tensor)) and not getattr(values, "requires_grad", False)
            else [describe_kind(values)]
        )
    kinds = set()
    for value in values:
        if isinstance(value, Tensor):
            graph = " with requires_grad=True" if value.requires_grad else ""
            kinds.add("a number" if value.numel() == 1 and not graph else f"a tensor {list(value.shape)}{graph}")
        elif isinstance(value, (float, int, np.floating, np.integer)) or (isinstance(value, np.ndarray) and value.size == 1):
            kinds.add("a number")
        elif isinstance(value, (list, tuple)) and len(value) == 1 and isinstance(value[0], float):
            kinds.add("a number")  # as get_last_lr() returns it
        else:
            kinds.add(describe_kind(value))
    return sorted(kinds - {"a number"})


# One update with all functions together


class Pieces:
    """The functions of the submission, each of which says so when it breaks.

    Attributes:
        results: By name, what each returned last.
        remarks: What they returned that others cannot use.
    """

    def __init__(self, submitted: Any) -> None:
        self.submitted = submitted
        self.results: dict[str, Any] = {}
        self.remarks: list[str] = []
        self._blamed: set[int] = set()

    def piece(self, name: str, fault: Callable[[Any, list[Any]], str | None]) -> Callable[..., Any]:
        """Return the submission's function of this name.

        Args:
            fault: What is wrong with a result, if something is; it is given the result and the arguments, however these
                were passed.
        """
        function = getattr(self.submitted, name)

        def piece(*given: Any, **named: Any) -> Any:
            result = self.results[name] = self.blaming(name, functools.partial(function, *given, **named))
            if found := fault(result, [*given, *named.values()]):
                self.remarks.append(f"your {name} returned {found}")
            if not torch.is_grad_enabled():
                self.remarks.append(f"your {name} left gradients disabled (torch.is_grad_enabled() is False)")
            return result

        return piece

    def blaming(self, name: str, call: Callable[[], Any]) -> Any:
        """Return the result of a call. An exception says in which function it was raised, and what was returned before."""
        try:
            return call()
        except Exception as error:
            if id(error) not in self._blamed:
                self._blamed.add(id(error))
                before = f"{self.remarks[0]}; then, " if self.remarks else ""
                error.args = (f"{before}in your {name}: {error}",)
            raise


def rows_of_numbers(result: Any, given: list[Any]) -> str | None:
    """Return what is wrong with numbers that should be float32 [rows, 1] without a gradient; None if nothing is.

    Args:
        given: Among which is a buffer, or tensors, with so many rows.
    """
    sizes = [value.final_size if isinstance(value, utils.RolloutBuffer) else len(value) for value in given if has_rows(value)]
    rows = sizes[0] if sizes else 0
    wanted = f"expected float32 [{rows}, 1]"
    if not isinstance(result, Tensor) or result.dtype != torch.float32 or result.shape != (rows, 1):
        return f"{short_form(result, -1)}, {wanted}"
    if result.requires_grad:
        return f"a tensor with requires_grad=True, {wanted} without a gradient"
    return None if result.isfinite().all() else f"numbers that are nan or infinite, {wanted}"


def has_rows(value: Any) -> bool:
    """Return whether a value is a buffer, or a tensor with rows."""
    return isinstance(value, utils.RolloutBuffer) or (isinstance(value, Tensor) and value.ndim > 0)


def no_rollouts(result: Any, _: list[Any]) -> str | None:
    """Return what is wrong with the result of `collect_rollouts`, if it is of another kind."""
    kind = rollout_facts(result)["returned"]
    return None if kind == PAIR else f"{kind}, expected {PAIR}"


def one_loss(result: Any, _: list[Any]) -> str | None:
    """Return what is wrong with a loss, if something is."""
    if not isinstance(result, Tensor) or result.numel() != 1:
        return f"{short_form(result, -1)}, expected a scalar"
    if not result.requires_grad:
        return "a loss without a gradient"
    return None if result.isfinite().all() else f"the loss {float(result)}"


def small_world() -> utils.GridWorldPointTargetEnv:
    """Return a line of five cells, ten steps."""
    return utils.GridWorldPointTargetEnv(grid_size=5, episode_length=10, dimensions=1)


def one_update(submitted, loss: str, rollouts: int, epochs: int, critic_loss_multiplier: float, seed: np.ndarray) -> dict:
    """Put your functions together as a training does: collect rollouts once, and update both networks on all rows at a time.

    Args:
        loss: The name of the policy's loss function.
        epochs: How many updates.
    """
    env = small_world()
    env.reset(seed=11)
    policy = with_numbers(utils.SimpleReLuNetwork(2, 3, out_logsoftmax=True), 1)
    value_net = with_numbers(utils.SimpleReLuNetwork(2, 1), 2)
    networks = {"policy": policy, "value network": value_net}
    before = {
        f"{name} of the {kind}": value.detach().clone()
        for kind, net in networks.items()
        for name, value in net.named_parameters()
    }
    everywhere = tensor(np.stack(np.meshgrid(np.linspace(-1, 1, 6), np.linspace(-1, 1, 6)), axis=-1).reshape(-1, 2))
    with torch.no_grad():
        answers = [policy(everywhere), value_net(everywhere)]
    pieces = Pieces(submitted)
    collect = pieces.piece("collect_rollouts", no_rollouts)
    with fake_names(submitted, {"collect_rollouts": collect}):
        training = functools.partial(
            submitted.train_policy_gradient,
            env=env,
            policy=policy,
            optimizer=utils.PlainAdam([*policy.parameters(), *value_net.parameters()], lr=1e-3),
            get_policy_gradient_loss=pieces.piece(loss, one_loss),
            get_returns=pieces.piece("get_returns", rows_of_numbers),
            rollouts=rollouts,
            rollouts_before_training=rollouts,
            training_epochs_per_rollout=epochs,
            minibatch_size=1000,
            critic_loss_multiplier=critic_loss_multiplier,
            value_net=value_net,
            get_advantages=pieces.piece("get_advantages", rows_of_numbers),
            get_value_net_loss=pieces.piece("get_value_net_loss", one_loss),
            rollout_seed=np.array(seed),
        )
        pieces.blaming("train_policy_gradient", training)
    after = {
        f"{name} of the {kind}": value.detach() for kind, net in networks.items() for name, value in net.named_parameters()
    }
    if not pieces.results and all(torch.equal(value, before[name]) for name, value in after.items()):
        raise RuntimeError("your train_policy_gradient ended before it called any of your other functions")
    torch.set_grad_enabled(True)
    with torch.no_grad():
        answers += [policy(everywhere), value_net(everywhere)]
    rows = {} if "collect_rollouts" not in pieces.results else rollout_facts(pieces.results["collect_rollouts"])
    return {
        "remarks": pieces.remarks[:3],
        **{
            f"unchanged parameters of the {kind}": [
                name
                for name, _ in net.named_parameters()
                if torch.equal(after[f"{name} of the {kind}"], before[f"{name} of the {kind}"])
            ]
            for kind, net in networks.items()
        },
        "not finite": [name for name, value in after.items() if not value.isfinite().all()],
        "observations everywhere": everywhere,
        **dict(
            zip(("log-probabilities before", "values before", "log-probabilities after", "values after"), answers, strict=True)
        ),
        "observations": rows.get("observations"),
        "actions": rows.get("actions"),
        "returns": values_of(pieces.results.get("get_returns"), -1, 1),
        "advantages": values_of(pieces.results.get("get_advantages"), -1, 1),
    }


# Learning


CELLS = 3  # of the line of the learning checks; a point can step beyond the last one
TOGETHER = 16  # rollouts of a collection
SURE = 0.85  # training stops when the right action of a state has this probability in the mean


def line_world() -> utils.GridWorldPointTargetEnv:
    """Return the world of the learning checks: a line of three cells, three steps."""
    return utils.GridWorldPointTargetEnv(grid_size=CELLS, episode_length=3, dimensions=1)


class PerState(nn.Module):
    """A policy or a value network that has a row of numbers of its own for each target and position; at first all are 0.

    Args:
        columns: The number of actions of a policy, or 1.
        log_softmax: Whether it returns log-probabilities.
    """

    def __init__(self, columns: int, log_softmax: bool) -> None:
        super().__init__()
        self.rows = nn.Parameter(torch.zeros((CELLS + 1) ** 2, columns))
        self.log_softmax = log_softmax

    def forward(self, observation: Tensor) -> Tensor:
        cells = ((observation + 1) * (CELLS / 2)).round().long()
        rows = self.rows[cells[:, 0] * (CELLS + 1) + cells[:, 1]]
        return rows.log_softmax(dim=-1) if self.log_softmax else rows

    def chance_of_right_action(self) -> float:
        """Return the probability of a step toward the target, or of staying there: the mean over all starts."""
        target, position = (places.ravel() for places in np.mgrid[:CELLS, :CELLS])
        with torch.no_grad():
            probabilities = self.rows.softmax(dim=-1)[target * (CELLS + 1) + position]
        return float(probabilities[np.arange(CELLS**2), np.sign(target - position) + 1].mean())


def learn(submitted, loss: str, rollouts: int, epochs: int, seed: int) -> dict:
    """Train a policy with your functions alone; return its weights, and the final rewards, which decide nothing.

    Args:
        loss: The name of the policy's loss function.
        rollouts: At most so many. Your loop is called for two collections at a time, until the policy does well.
    """
    torch.manual_seed(seed)
    env = line_world()
    env.reset(seed=seed)
    policy, value_net = PerState(3, log_softmax=True), PerState(1, log_softmax=False)
    optimizer = utils.PlainAdam([*policy.parameters(), *value_net.parameters()], lr=0.4)
    final_rewards: list[float] = []
    for _ in range(0, rollouts, 2 * TOGETHER):
        result = submitted.train_policy_gradient(
            env=env,
            policy=policy,
            optimizer=optimizer,
            get_policy_gradient_loss=getattr(submitted, loss),
            get_returns=submitted.get_returns,
            rollouts=2 * TOGETHER,
            rollouts_before_training=TOGETHER,
            training_epochs_per_rollout=epochs,
            minibatch_size=24,
            critic_loss_multiplier=0.5,
            value_net=value_net,
            get_advantages=submitted.get_advantages,
            get_value_net_loss=submitted.get_value_net_loss,
        )
        final_rewards += learning_curve(result)
        if policy.chance_of_right_action() >= SURE:
            break
    return {"weights": [policy.rows.detach().numpy()], "final rewards": final_rewards[:MAX_CURVE]}


def learning_curve(result: Any) -> list[float]:
    """Return the third list that training returned, as floats; nothing when it is something else: it is for a picture."""
    with contextlib.suppress(Exception):
        return [float(reward) for reward in islice(result[2], MAX_CURVE)]
    return []


def play(submitted, weights: list[np.ndarray], seed: int, rollouts: int = 60) -> dict:
    """Return how often a policy with these weights ends on its target. Run without any submission."""
    torch.manual_seed(seed)
    env = line_world()
    env.reset(seed=seed)
    policy = PerState(3, log_softmax=True)
    successes = 0
    with torch.no_grad():
        policy.rows.copy_(tensor(weights[0]))
        for _ in range(rollouts):
            observation, terminated = env.reset(), False
            while not terminated:
                # The last observation that a buffer would hold, hence before the last action, decides.
                successful = bool(observation[0, 0] == observation[0, 1])
                observation, terminated, _ = env.step(utils.distribution_sample(policy(observation)))
            successes += successful
    return {"success rate": successes / rollouts}
