"""Drivers of `policy_gradient`: they call your functions on plain data and report plain facts. They judge nothing.

You may read them to see how your functions are called. Whatever a question needs from other questions is replaced by
recorded data or fakes here, so that a mistake in one function costs no points in another.
"""

from __future__ import annotations

import contextlib
import io
from itertools import islice, pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import utils
from grader.sandbox.facts import describe_kind, tensor

PAIR = "a finalized RolloutBuffer and a number"
UNCONNECTED = "none: the loss is not connected to this parameter"
FOUR_LISTS = "four lists: actor losses, critic losses, final rewards, learning rates"
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

    def changed(self) -> list[str]:
        """Return the names of all that is not as it was."""
        changed = [name for name, value in self.tensors.items() if not torch.equal(value, self.before[name])]
        parameters = list(self.net.parameters()) if self.net else []
        if not all(torch.equal(now, then) for now, then in zip(parameters, self.weights, strict=True)):
            changed.append("weights of the network")
        if not all(parameter.requires_grad for parameter in parameters):
            changed.append("requires_grad of the network")
        if not torch.is_grad_enabled():
            changed.append("torch's gradient mode, which was left off")
        torch.set_grad_enabled(True)
        return changed


def copied(result: Any) -> Any:
    """Return a result that nothing can change any more, if it is a tensor."""
    return result.clone() if type(result) is Tensor else result


def again(result: Any, call) -> list[str]:
    """Return, as a list of what changed, whether a second call gives another result because the first one left something."""
    # What it prints was printed by the first call already.
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
        second = call()
        if type(result) is Tensor and type(second) is Tensor and torch.equal(result, second):
            return []
    return ["the result of a second call"]


def loss_facts(loss: Any, net: nn.Module, watch: Watch, call) -> dict[str, Any]:
    """Return the loss, a scalar or one number in a larger shape, and the gradient it gives to each parameter of `net`."""
    changed = watch.changed() + again(loss, call)
    if type(loss) is Tensor and loss.numel() == 1:
        loss = loss.reshape(())
        if loss.requires_grad:
            loss.backward()
    gradient = {
        f"gradient of {name}": UNCONNECTED if parameter.grad is None else parameter.grad
        for name, parameter in net.named_parameters()
    }
    return {"loss": loss, "gradient of the network": gradient, "changed by the call": changed}


# Returns, losses, advantages


def returns(submitted, rewards: np.ndarray, terminateds: np.ndarray, discount_factor: float | None = None) -> dict:
    """Call `get_returns` on a buffer with these rewards, integers if they are; without a discount factor, use the default."""
    buffer = utils.RolloutBuffer()
    nothing = torch.zeros(1, 1)
    for reward, terminated in zip(rewards.tolist(), terminateds.tolist(), strict=True):
        buffer.add(action=nothing, logits=nothing, observation=nothing, terminated=terminated, reward=reward)
    buffer.finalize()
    options = {} if discount_factor is None else {"discount_factor": discount_factor}
    watch = Watch(rewards=buffer.rewards, terminateds=buffer.terminateds)
    result = copied(submitted.get_returns(buffer, **options))
    changed = watch.changed()
    return {"returns": result, "changed by the call": changed + again(result, lambda: submitted.get_returns(buffer, **options))}


def advantages(submitted, weights: list[np.ndarray], observations: np.ndarray, returns: np.ndarray) -> dict:
    """Call `get_advantages` with a value network of these weights."""
    value_net, given = network(weights), {"observations": tensor(observations), "returns": tensor(returns)}
    watch = Watch(value_net, **given)
    result = copied(submitted.get_advantages(value_net, given["observations"], given["returns"]))
    changed = watch.changed()
    return {
        "advantages": result,
        "carries a gradient": bool(getattr(result, "requires_grad", False)),
        "changed by the call": changed
        + again(result, lambda: submitted.get_advantages(value_net, given["observations"], given["returns"])),
    }


def value_loss(submitted, weights: list[np.ndarray], observation: np.ndarray, returns: np.ndarray) -> dict:
    """Call `get_value_net_loss` as the training loop does: with the keywords of every loss."""
    value_net, given = network(weights), {"observation": tensor(observation), "returns": tensor(returns)}
    watch = Watch(value_net, **given)
    # What the other losses get is there as well, and not what this one needs.
    others = {"return_or_advantage": 1 - tensor(returns), "policy": None, "old_logits": None, "action": None, "ppo_clip": 0.2}

    def call() -> Any:
        return submitted.get_value_net_loss(value_net=value_net, **given, **others)

    return loss_facts(call(), value_net, watch, call)


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
    given = {
        "observation": tensor(observation),
        "action": tensor(action),
        "return_or_advantage": tensor(return_or_advantage),
    }
    watch = Watch(policy, **given)

    def call() -> Any:
        return submitted.get_vanilla_policy_gradient_loss(policy=policy, **given, **(rest if as_in_training else {}))

    return loss_facts(call(), policy, watch, call)


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
    given = {
        "observation": tensor(observation),
        "old_logits": tensor(old_logits),
        "action": tensor(action),
        "return_or_advantage": tensor(return_or_advantage),
    }
    watch = Watch(policy, **given)

    def call() -> Any:
        return submitted.get_PPO_policy_gradient_loss(policy=policy, **given, **rest, **options)

    return loss_facts(call(), policy, watch, call)


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
            raise RuntimeError("step() was called outside an episode: call reset() first, and stop at terminated")
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
    """Call `collect_rollouts` on recorded episodes, as many as there are."""
    env, policy, ring = Replay(observations, rewards), network(weights, log_softmax=True), np.array(seed)
    watch = Watch(policy)
    progress = {"base_rollout": base_rollout, "num_total_rollouts": num_total_rollouts}
    facts = rollout_facts(submitted.collect_rollouts(env, policy, len(rewards), seed=ring, **progress))
    changed = watch.changed()

    def final_reward() -> Tensor:
        other = Replay(observations, rewards)
        found = rollout_facts(submitted.collect_rollouts(other, policy, len(rewards), seed=np.array(seed), **progress))
        return torch.tensor(found["mean final reward"])

    if isinstance(facts.get("mean final reward"), float):
        changed += again(torch.tensor(facts["mean final reward"]), final_reward)
    return facts | {
        "actions that were played": env.actions,
        "episodes begun": env.episode + 1,
        "reset was called with a seed": any(seed is not None for seed in env.seeds),
        "seed array afterwards": ring,
        "changed by the call": changed,
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
        "the second rollout repeats the actions of the first": played[0] == played[1],
        "every action is played": len(set(played[0])) == num_actions,
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
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[0], utils.RolloutBuffer):
        return {"returned": describe_kind(result)}
    buffer, final_reward = result
    if buffer.final_size is None:
        return {"returned": "a RolloutBuffer that is not finalized, and a number"}
    fields = ("observations", "old_logits", "rewards", "terminateds", "actions")
    facts = {name: getattr(buffer, name) for name in fields}
    return {"returned": PAIR, **facts, "mean final reward": plain_number(final_reward)}


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
    """A fake `torch.optim.SGD` that keeps the gradient of every step.

    It is an Optimizer by name only: running `Optimizer.__init__` for the first time costs a second of imports.
    """

    def __init__(self, networks: dict[str, Any], lr: float) -> None:
        self.networks = networks
        self.param_groups = [{"params": [p for net in networks.values() for p in net.parameters()], "lr": lr}]
        self.steps: list[dict[str, Any]] = []
        self.cleared_unused = 0
        self._unused = False
        for parameter in self.param_groups[0]["params"]:
            parameter.register_post_accumulate_grad_hook(self._arrived)

    def _arrived(self, _: Tensor) -> None:
        self._unused = True

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.cleared_unused += self._unused
        self._unused = False
        for parameter in self.param_groups[0]["params"]:
            parameter.grad = None

    def step(self, closure=None):
        run_closure(closure)
        self._unused = False
        self.steps.append(
            {name: None if net.rows.grad is None else net.rows.grad.clone().numpy() for name, net in self.networks.items()}
        )
        with torch.no_grad():
            for parameter in self.param_groups[0]["params"]:
                if parameter.grad is not None:
                    parameter -= self.param_groups[0]["lr"] * parameter.grad


def run_closure(closure) -> None:
    """Do what `torch.optim` does first when `step` is given a closure."""
    if closure is not None:
        with torch.enable_grad():
            closure()


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


def train(
    submitted,
    lengths: list[int],
    actions: np.ndarray,
    rewards: np.ndarray,
    returns: np.ndarray,
    advantages: np.ndarray,
    policy_rows: np.ndarray,
    rollouts: int,
    rollouts_before_training: int,
    epochs: int,
    minibatch_size: int,
    ppo_clip: float = 0.2,
    value_rows: np.ndarray | None = None,
    critic_loss_multiplier: float = 0.0,
    scheduler: bool = False,
) -> dict:
    """Call `train_policy_gradient` on recorded episodes with fakes for everything else, and note all it does with them.

    Args:
        lengths: Steps of each recorded episode.

    All other arrays have one row a step, and the first number of a step's observation is its row.
    Both losses are linear in the networks, so the gradient of a row is the same in every epoch. The
    policy prefers the recorded actions so much that sampling, for those who do it here, gives them
    again.
    """
    ids = np.arange(len(rewards), dtype=np.float64)
    observed = np.stack([ids, rewards], axis=1)
    starts = np.cumsum([0, *lengths])
    spans = [slice(start, end) for start, end in pairwise(starts)]
    env = Replay([np.append(observed[span], [[-1, 0]], axis=0) for span in spans], [rewards[span] for span in spans])
    policy = Table(policy_rows)
    value_net = given_value_net = None if value_rows is None else Table(value_rows)
    optimizer = RecordingSGD({"policy": policy} | ({"value": value_net} if value_net is not None else {}), lr=0.05)
    lr_sched = CountingScheduler(optimizer) if scheduler else None
    before = {name: net.rows.detach().clone() for name, net in optimizer.networks.items()}
    batches: list[dict[str, Any]] = []
    critic_batches: list[dict[str, Any]] = []
    ring = np.array([5, 7, 11])
    rings: list[bool] = []
    discounts: set[float] = set()
    value_nets: list[bool] = []
    given: list[bool] = []
    of_the_moment: list[bool] = []
    world, actor = env, policy

    def next_rollouts(env, policy, num_rollouts, base_rollout=0, num_total_rollouts=None, seed=None):
        rings.append(seed is ring)
        given.append(hasattr(env, "step") and acts_alike(policy, actor, tensor(observed)))
        first, world.episode = world.episode + 1, world.episode + int(num_rollouts)
        if world.episode >= len(lengths):
            asked = f"call {len(rings)} of collect_rollouts asked for {num_rollouts} more"
            raise RuntimeError(f"{len(lengths)} rollouts are enough for this training, but {asked}")
        rows = slice(starts[first], starts[world.episode + 1])
        buffer = utils.RolloutBuffer()
        buffer.load(
            {
                "observations": tensor(observed[rows]),
                "actions": tensor(actions[rows]).unsqueeze(1),
                "old_logits": tensor(policy_rows[rows]),
                "rewards": tensor(rewards[rows]),
                "terminateds": np.isin(np.arange(len(rewards))[rows], starts[1:] - 1),
            }
        )
        return buffer, float(np.mean([rewards[starts[index + 1] - 1] for index in range(first, world.episode + 1)]))

    def row_numbers(observation: Tensor) -> list[int]:
        return observation[:, 0].long().tolist()

    def recorded_returns(rollout_buffer, discount_factor: float = 0.95) -> Tensor:
        discounts.add(float(discount_factor))
        return tensor(returns)[row_numbers(rollout_buffer.observations)].unsqueeze(1)

    # Depends on how many rows it is given, as a mean and a standard deviation would.
    def recorded_advantages(value_net, observations: Tensor, returns: Tensor) -> Tensor:
        value_nets.append(value_net is given_value_net)
        return tensor(advantages)[row_numbers(observations)].unsqueeze(1) * len(observations) + returns

    def actor_loss(policy, observation, action, return_or_advantage, **others) -> Tensor:
        old_logits, outputs = others.get("old_logits"), policy(observation)
        loss = (outputs.gather(1, action) * return_or_advantage).mean()
        of_the_moment.append(isinstance(old_logits, Tensor) and torch.equal(old_logits, outputs))
        batches.append(
            {
                "row": row_numbers(observation),
                "action": action.ravel().tolist(),
                "return_or_advantage": return_or_advantage.ravel().tolist(),
                "old_logits": first_column(old_logits, len(observation)),
                "returns": first_column(others.get("returns"), len(observation)),
                "ppo_clip": plain_number(others.get("ppo_clip", "not passed")),
                "loss": loss.item(),
            }
        )
        return loss

    def critic_loss(value_net, observation, returns, **others) -> Tensor:
        loss = (value_net(observation) * returns).mean()
        critic_batches.append({"row": row_numbers(observation), "returns": returns.ravel().tolist(), "loss": loss.item()})
        return loss

    submitted.collect_rollouts = next_rollouts
    result = submitted.train_policy_gradient(
        env=env,
        policy=policy,
        optimizer=optimizer,
        get_policy_gradient_loss=actor_loss,
        get_returns=recorded_returns,
        lr_sched=lr_sched,
        rollouts=rollouts,
        rollouts_before_training=rollouts_before_training,
        training_epochs_per_rollout=epochs,
        minibatch_size=minibatch_size,
        ppo_clip=ppo_clip,
        critic_loss_multiplier=critic_loss_multiplier,
        rollout_seed=ring,
        **(
            {}
            if value_net is None
            else {
                "value_net": value_net,
                "get_advantages": recorded_advantages,
                "get_value_net_loss": critic_loss,
            }
        ),
    )
    facts = {
        "episodes begun": env.episode + 1,
        "environment and policy were passed on": all(given),
        "rollout_seed was passed on": all(rings),
        "discount factors given to get_returns": sorted(discounts),
        "get_advantages was given the value network": all(value_nets),
        "old logits of the moment": all(of_the_moment) and not torch.equal(policy.rows, before["policy"]),
        "steps": optimizer.steps,
        "gradients cleared unused": optimizer.cleared_unused,
        "batches": batches,
        "critic batches": critic_batches,
        "change of the weights": {name: net.rows.detach() - before[name] for name, net in optimizer.networks.items()},
        "scheduler steps": lr_sched.steps if lr_sched else 0,
    }
    if not isinstance(result, (tuple, list)) or len(result) != 4:
        return facts | {"returned": describe_kind(result)}
    names = ("actor losses", "critic losses", "final rewards", "learning rates")
    return facts | {"returned": FOUR_LISTS} | {name: numbers(value) for name, value in zip(names, result, strict=True)}


def acts_alike(policy: Any, other: nn.Module, observations: Tensor) -> bool:
    """Return whether two policies answer alike: a copy, or one wrapped in something, is as good as the policy itself."""
    with contextlib.suppress(Exception), torch.no_grad():
        return torch.equal(policy(observations), other(observations))
    return False


def first_column(rows: Any, size: int) -> list:
    """Return the first number of each row, or None for each of `size` rows when there are no rows at all."""
    return rows.reshape(len(rows), -1)[:, 0].tolist() if isinstance(rows, Tensor) and rows.ndim else [None] * size


def numbers(values: Any) -> Any:
    """Return a list, array or tensor of numbers, or of one-element lists of them, as a list of floats."""
    with contextlib.suppress(TypeError, ValueError, RuntimeError):
        return [float(value[0] if isinstance(value, (list, tuple)) else value) for value in values]
    return describe_kind(values)


# Learning


def small_world() -> utils.GridWorldPointTargetEnv:
    """Return the world of the learning checks: a line of five cells, ten steps."""
    return utils.GridWorldPointTargetEnv(grid_size=5, episode_length=10, dimensions=1)


def learn(submitted, loss: str, rollouts: int, epochs: int, seed: int) -> dict:
    """Train a policy with your functions alone; return its weights, and the final rewards, which decide nothing.

    Args:
        loss: The name of the policy's loss function.
    """
    torch.manual_seed(seed)
    env = small_world()
    env.reset(seed=seed)
    policy = utils.SimpleReLuNetwork(2, 3, out_logsoftmax=True)
    value_net = utils.SimpleReLuNetwork(2, 1)
    result = submitted.train_policy_gradient(
        env=env,
        policy=policy,
        optimizer=utils.PlainAdam([*policy.parameters(), *value_net.parameters()], lr=1e-2),
        get_policy_gradient_loss=getattr(submitted, loss),
        get_returns=submitted.get_returns,
        rollouts=rollouts,
        rollouts_before_training=8,
        training_epochs_per_rollout=epochs,
        minibatch_size=40,
        critic_loss_multiplier=0.5,
        value_net=value_net,
        get_advantages=submitted.get_advantages,
        get_value_net_loss=submitted.get_value_net_loss,
    )
    weights = [parameter.detach().numpy() for parameter in policy.parameters()]
    return {"weights": weights, "final rewards": learning_curve(result)}


def learning_curve(result: Any) -> list[float]:
    """Return the third list that training returned, as floats; nothing when it is something else: it is for a picture."""
    with contextlib.suppress(Exception):
        return [float(reward) for reward in islice(result[2], MAX_CURVE)]
    return []


def play(submitted, weights: list[np.ndarray], seed: int, rollouts: int = 100) -> dict:
    """Return how often a policy with these weights ends on its target. Run without any submission."""
    torch.manual_seed(seed)
    env = small_world()
    env.reset(seed=seed)
    policy = network(weights, log_softmax=True)
    successes = 0
    with torch.no_grad():
        for _ in range(rollouts):
            observation, terminated = env.reset(), False
            while not terminated:
                # The last observation that a buffer would hold, hence before the last action, decides.
                successful = bool(observation[0, 0] == observation[0, 1])
                observation, terminated, _ = env.step(utils.distribution_sample(policy(observation)))
            successes += successful
    return {"success rate": successes / rollouts}
