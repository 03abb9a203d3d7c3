"""Drivers of `ppo_agent`: they call your functions and classes on plain data and report plain facts. They judge nothing.

You may read them to see how your code is used. Whatever a question needs from other questions is replaced by fakes here,
so that a mistake in one costs no points in another: the networks are tables or have a few units, samples are known in advance,
and methods of the agent that are not asked about only note how they were called.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

import training
import utils
from grader.sandbox.facts import (
    LinearLayers,
    call_beforehand,
    describe_kind,
    fake_names,
    float32,
    largest_correlation,
    loss_of,
    quietly,
    seeded_rng,
    share_parameters,
    to_number,
    to_plain,
    with_numbers,
    with_own_methods,
)

UNCONNECTED = "none: the result is not connected to it"
NOT_STARTED = "test_advantages:"  # how the error of the stub begins
SAMPLES = 4000
RATE = 0.5  # of an optimizer that moves nothing
KEYS = ("state", "action", "log_prob", "advantage", "value_target")
AWAY = 0.5  # the initial weight of a learning check: it pushes the point away from the origin
STARTS = (np.arange(9) - 4) / 4.5  # the positions on each axis from which a trained actor plays


class _Plain(utils.PlainAdam):
    """What files make for an optimizer; it is an Adam, whatever its name. The first real one costs a second of imports."""

    def __init__(self, params: Iterable, lr: float = 1e-3, *others: Any, **named: Any) -> None:
        groups = [group if isinstance(group, dict) else {"params": [group]} for group in params]
        super().__init__([value for group in groups for value in group["params"]], lr=float(lr))


for _name in ("Adam", "AdamW", "RMSprop", "SGD"):
    setattr(torch.optim, _name, type(_name, (_Plain,), {}))


# What a submission makes of chance is the same in each call with the same seed.
np.random.default_rng = seeded_rng


def numbers(value: Any) -> np.ndarray:
    """Return a tensor, array or list of numbers as float64; raises what NumPy raises for anything else."""
    if isinstance(value, (list, tuple)):
        value = [to_plain(item) for item in value]
    return np.array(to_plain(value), np.float64)


def has_gradient(value: Any) -> bool:
    """Return whether any tensor of a result would let a gradient through."""
    if isinstance(value, (list, tuple)):
        return any(map(has_gradient, value))
    return isinstance(value, Tensor) and value.requires_grad


def changed(given: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Return the names of what is not as it was."""
    return [name for name, value in given.items() if value is not None and not np.array_equal(to_plain(value), before[name])]


# Repair


class LinearCritic(nn.Module):
    """A critic whose values are a weighted sum of all numbers of a state."""

    def __init__(self, weights: np.ndarray) -> None:
        super().__init__()
        self.weights = nn.Parameter(float32(weights))

    def forward(self, state: Tensor) -> Tensor:
        return (state.flatten(start_dim=1) * self.weights).sum(dim=1, keepdim=True)

    def predict_on_batch(self, state: Any) -> np.ndarray:
        """Return values as Keras does, for submissions made for the notebook of drafts for *keras-rl*."""
        return to_plain(self(torch.as_tensor(state)))


def estimate(
    submitted,
    weights: np.ndarray,
    state: np.ndarray,
    reward: np.ndarray,
    gamma: float,
    lamb: float,
    next_state: np.ndarray | None = None,
    terminated: np.ndarray | None = None,
    truncated: np.ndarray | None = None,
) -> dict:
    """Estimate advantages, with only those arguments that are given here."""
    given: dict[str, Any] = {"state": float32(state), "reward": np.array(reward, np.float64)}
    given["next_state"] = None if next_state is None else float32(next_state)
    given["terminated"] = None if terminated is None else np.array(terminated)
    given["truncated"] = None if truncated is None else np.array(truncated)
    before = {name: to_plain(value) for name, value in given.items()}
    options = {name: given[name] for name in ("next_state", "terminated", "truncated") if given[name] is not None}
    critic = LinearCritic(weights)
    other = LinearCritic(weights[::-1] + 1), given["state"] + 1, given["reward"] + 1, 0.5, 0.5
    call_beforehand(lambda: submitted.GeneralizedAdvantageEstimator(*other))

    def estimated(state: Tensor, reward: np.ndarray, **others: Tensor) -> Any:
        rewards = np.array(reward, np.float64)  # whatever the call before has made of them
        return submitted.GeneralizedAdvantageEstimator(critic, state, rewards, gamma, lamb, **(options | others))

    found = submitted.GeneralizedAdvantageEstimator(critic, given["state"], given["reward"], gamma, lamb, **options)
    if not isinstance(found, (list, tuple, np.ndarray, Tensor)):
        return {"returned": describe_kind(found)}
    advantage, after = numbers(found).ravel(), changed(given, before)
    more = np.eye(len(reward))
    with np.errstate(all="ignore"):
        growth = [numbers(estimated(float32(state), reward + one)).ravel() - advantage for one in more]
    places = [place_of(step, one) for step, one in enumerate(growth)]
    by_step = [LOST if place is None else float(advantage[place]) for place in places]
    ends = [flags for flags in (terminated, truncated) if flags is not None]
    over = np.flatnonzero(np.any(ends, axis=0)) if ends else np.zeros(0, int)
    by_time = [] if truncated is None else np.flatnonzero(truncated).tolist()
    by_next_row = [step for step in by_time if depends_on_next_row(estimated, state, reward, step, places[step])]
    by_next_state = [
        step for step in by_time if depends_on_next_state(estimated, state, reward, next_state, step, places[step])
    ]
    return {
        "returned": "an array of advantages",
        "shape": list(numbers(found).shape),
        "advantages are floating-point numbers": np.array(given_as_plain(found)).dtype.kind == "f",
        "requires_grad of the advantages": has_gradient(found),
        "changed by the call": after,
        "number of advantages": len(advantage),
        "growth of each advantage when its reward grows by 1": [
            float(one[step]) if step < len(one) else LOST for step, one in enumerate(growth)
        ],
        "advantages": advantage,
        "advantages up to the last end of an episode": by_step[: over[-1] + 1] if len(over) else [],
        "advantage of the last step": by_step[-1],
        "truncated steps whose advantage depends on the next row": by_next_row,
        "all truncated steps use next_state, or none of them does": by_next_state in ([], by_time),
    }


LOST = "none: no advantage grows by 1 with the reward of this step"


def place_of(step: int, growth: np.ndarray) -> int | None:
    """Return where the advantage of a step stands: its own place, or the place that grows as much as its reward."""
    places = np.flatnonzero(np.abs(growth - 1) < 1e-3)
    if step in places or not len(growth):
        return step if len(growth) else None
    if not np.isfinite(growth).all() and step < len(growth):
        return step  # nothing can be found out
    return int(places[-1]) if len(places) else None


def depends_on_next_row(estimated: Callable, state: np.ndarray, reward: np.ndarray, step: int, place: int | None) -> bool:
    """Return whether the advantage of a truncated step changes with the next row of `state`, which is another episode's."""
    if step + 1 == len(state) or place is None:
        return False
    other = float32(state)
    other[step + 1] += 3.0
    one, two = (numbers(estimated(some, reward)).ravel() for some in (float32(state), other))
    return bool(abs(two[place] - one[place]) > 1e-3)


def depends_on_next_state(
    estimated: Callable, state: np.ndarray, reward: np.ndarray, next_state: np.ndarray | None, step: int, place: int | None
) -> bool:
    """Return whether the advantage of a truncated step changes with the state that followed it."""
    if next_state is None or place is None:
        return False
    other = float32(next_state)
    other[step] += 3.0
    rows = float32(state)
    one, two = (numbers(estimated(rows, reward, next_state=some)).ravel() for some in (float32(next_state), other))
    return bool(abs(two[place] - one[place]) > 1e-3)


def given_as_plain(found: Any) -> Any:
    """Return a list of tensors as a list of arrays, and anything else as it is, but for a tensor."""
    return [to_plain(item) for item in found] if isinstance(found, (list, tuple)) else to_plain(found)


def the_draft(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None):
    """Return what the draft in the stub returns."""
    value = critic(state).detach().flatten().numpy()
    delta = reward + gamma * np.roll(value, -1) - value
    backwards = [0.0]
    for step in range(1, len(reward)):
        backwards.append(delta[len(reward) - 1 - step] + gamma * lamb * backwards[-1])
    return np.array(backwards[:0:-1])


def drafts_of(own: Callable) -> dict[str, Callable]:
    """Return estimators that have one fault each and are otherwise like `own`."""

    def complete(state, next_state, terminated, truncated):
        """Return the arguments as they are meant when some are left out."""
        rows = len(state)
        if next_state is None:  # one episode, up to its end
            next_state = torch.cat((state[1:], state[:1]))
            terminated = np.arange(rows) == rows - 1 if terminated is None else terminated
        no = np.zeros(rows, bool)
        given = [no if flags is None else np.array(flags, bool) for flags in (terminated, truncated)]
        return next_state, *given

    def missing(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None):
        return numbers(own(critic, state, reward, gamma, lamb, next_state, terminated, truncated))[:-1]

    def rolled(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None):
        after, *ends = complete(state, next_state, terminated, truncated)
        after = torch.cat((after[:-1], state[:1]))
        for flags in ends:
            flags[-1] = False
        return own(critic, state, reward, gamma, lamb, after, *ends)

    def endless(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None):
        after, *ends = complete(state, next_state, terminated, truncated)
        for flags in ends:
            flags[:-1] = False
        return own(critic, state, reward, gamma, lamb, after, *ends)

    def timeless(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None):
        after, dead, clock = complete(state, next_state, terminated, truncated)
        return own(critic, state, reward, gamma, lamb, after, dead, clock & False)

    def deadly(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None):
        after, dead, clock = complete(state, next_state, terminated, truncated)
        return own(critic, state, reward, gamma, lamb, after, dead | clock, clock & False)

    return {
        "verdict on your estimator without the last advantage": missing,
        "verdict on your estimator with V(s_0) after the last step": rolled,
        "verdict on your estimator without ends before the last row": endless,
        "verdict on your estimator if it ignores truncations": timeless,
        "verdict on your estimator if truncation means termination": deadly,
    }


def forms_of(own: Callable) -> dict[str, Callable]:
    """Return `own`, which returns an array in double precision, in the forms that a right estimator may have."""

    def as_list(*arguments, **named):
        return [float(one) for one in own(*arguments, **named)]

    def as_tensor(*arguments, **named):
        return torch.tensor(own(*arguments, **named), dtype=torch.float32)

    def in_single_precision(*arguments, **named):
        return own(*arguments, **named).astype(np.float32)

    return {
        "verdict on your estimator, returning a list": as_list,
        "verdict on your estimator, returning a tensor": as_tensor,
        "verdict on your estimator, returning float32": in_single_precision,
    }


OTHER_THAN_ITS_ARGUMENT = "depends on your GeneralizedAdvantageEstimator, not only on the argument `estimator`"


def verdict(submitted, estimator: Callable) -> tuple[str, str]:
    """Return whether your test passes or fails an estimator, and with what it fails.

    It runs twice; the second time, the estimator has the name of yours as well. That decides nothing in a test of its argument.
    """
    found, said = outcome(submitted, estimator)
    with fake_names(submitted, {"GeneralizedAdvantageEstimator": estimator}):
        again, _ = outcome(submitted, estimator)
    return (found, said) if found == again else (OTHER_THAN_ITS_ARGUMENT, said)


def outcome(submitted, estimator: Callable) -> tuple[str, str]:
    """Run your test on an estimator."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
            submitted.test_advantages(estimator)
    except NotImplementedError as error:
        if str(error).startswith(NOT_STARTED):
            raise
        return "rejected", described_error(error)
    except Exception as error:
        return "rejected", described_error(error)
    return "accepted", "none"


def described_error(error: Exception) -> str:
    """Return an exception in one line."""
    return f"{type(error).__name__}: {error}"[:300]


def other_estimators(submitted, sources: list[str]) -> dict:
    """Run your test on estimators.

    Args:
        sources: Python, which defines `estimator`.
    """
    verdicts = []
    for source in sources:
        names: dict[str, Any] = {"np": np, "torch": torch}
        exec(compile(source, __file__, "exec"), names)
        verdicts.append(verdict(submitted, names["estimator"])[0])
    return {"verdicts": verdicts}


def own_test(submitted) -> dict:
    """Run your test on your own estimator, also in other forms, on the draft of the stub, and on yours with one fault each."""
    written = submitted.GeneralizedAdvantageEstimator

    def own(*arguments, **named):  # in what form it returns its numbers matters in `forms_of` alone
        return numbers(written(*arguments, **named)).ravel()

    tried = {"verdict on your estimator": own, "verdict on the draft": the_draft} | drafts_of(own) | forms_of(own)
    verdicts = {name: verdict(submitted, estimator) for name, estimator in tried.items()}
    _, said = next(iter(verdicts.values()))
    return {name: found for name, (found, _) in verdicts.items()} | {
        "exception raised by test_advantages on your estimator": said
    }


# Derive


def density(submitted, mu: np.ndarray, log_sigma: np.ndarray, y: np.ndarray) -> dict:
    """Compute a log-density and its gradients."""
    given = {"mu": float32(mu), "log_sigma": float32(log_sigma), "y": float32(y)}
    for name in ("mu", "log_sigma"):
        given[name].requires_grad_()
    before = {name: to_plain(value) for name, value in given.items()}
    others = tuple(value.detach() + 1 for value in given.values())
    call_beforehand(lambda: submitted.IndependentGaussianProcess(mu.shape[1]).get_dist(others))
    log_density = submitted.IndependentGaussianProcess(mu.shape[1]).get_dist(tuple(given.values()))
    return of_rows("log-density", log_density, given, before)


def entropy(submitted, mu: np.ndarray, log_sigma: np.ndarray) -> dict:
    """Compute an entropy and its gradient."""
    given = {"mu": float32(mu).requires_grad_(), "log_sigma": float32(log_sigma).requires_grad_()}
    before = {name: to_plain(value) for name, value in given.items()}
    others = tuple(value.detach() + 1 for value in given.values())
    call_beforehand(lambda: submitted.IndependentGaussianProcess(mu.shape[1]).entropy(others))
    found = submitted.IndependentGaussianProcess(mu.shape[1]).entropy(tuple(given.values()))
    return of_rows("entropy", found, given, before)


def of_rows(name: str, found: Any, given: dict[str, Tensor], before: dict[str, Any]) -> dict[str, Any]:
    """Return what a result `[B, 1]` is, and the gradients of a weighted sum of its rows."""
    if not isinstance(found, Tensor):
        return {"returned": describe_kind(found)}
    facts = {
        "returned": "a tensor",
        "shape": list(found.shape),
        "dtype": str(found.dtype).removeprefix("torch."),
        name: to_plain(found).astype(np.float64).ravel(),
        "changed by the call": changed(given, before),
    }
    if found.requires_grad:
        weight = torch.arange(1.0, found.numel() + 1, dtype=found.dtype).reshape(found.shape)
        (found * weight).sum().backward()
    for of in ("mu", "log_sigma"):
        gradient = given[of].grad
        facts[f"gradient for {of}"] = UNCONNECTED if gradient is None else to_plain(gradient).astype(np.float64)
    return facts


def samples(submitted, mu: np.ndarray, log_sigma: np.ndarray) -> dict:
    """Sample many rows of distributions around `mu` and `log_sigma`, `[n]`; report how they scatter, and in what form."""
    process = submitted.IndependentGaussianProcess(len(mu), np.random.default_rng(11))
    every = np.arange(SAMPLES)[:, None] % 3  # rows are not the same
    means, logs = mu + every, log_sigma - 0.3 * every
    rows = [float32(values) for values in (means, logs)]
    call_beforehand(lambda: process.sample((rows[0] + 1, rows[1] - 0.9)))
    drawn = process.sample((rows[0], rows[1]))
    if not isinstance(drawn, (list, tuple, np.ndarray, Tensor)):
        return {"returned": describe_kind(drawn)}
    actions = numbers(drawn)
    form = {"shape of the actions": list(actions.shape)} | form_of_samples(submitted, rows, drawn)
    if actions.size != means.size:
        return {"number of sampled values": actions.size} | form
    actions = actions.reshape(means.shape)
    standard = (actions - means) / np.exp(logs)
    again = numbers(process.sample((rows[0], rows[1]))).reshape(means.shape)
    return form | {
        "number of sampled values": actions.size,
        "a second call returns new samples": not np.array_equal(again, actions),
        # Their standard errors are at most 0.016 for a mean, 0.022 for a variance, 0.016 for a correlation.
        "means, in deviations from those of the policy": standard.mean(axis=0),
        "variances, as multiples of those of the policy": standard.var(axis=0),
        "largest correlation of two dimensions": largest_correlation(standard),
        # Six standard errors.
        "rows are independent": all(
            abs(np.corrcoef(standard[:-lag, 0], standard[lag:, 0])[0, 1]) < 0.1 for lag in (1, 2, 3, SAMPLES // 2)
        ),
        "largest action, in deviations": float(np.abs(standard).max()),
        "share of the numbers within one deviation": float((np.abs(standard) < 1).mean()),
    }


def form_of_samples(submitted, rows: list[Tensor], drawn: Any) -> dict[str, Any]:
    """Return what kind of thing samples are, also of one row with and without its axis, and where their chance comes from."""
    count = rows[0].shape[1]
    one_row: Any = "an exception"
    one: Any = "an exception"
    with_gradient = None
    with quietly():
        one_row = list(numbers(submitted.IndependentGaussianProcess(count, 3).sample((rows[0][:1], rows[1][:1]))).shape)
    with quietly():
        one = list(numbers(submitted.IndependentGaussianProcess(count, 3).sample((rows[0][0], rows[1][0]))).shape)
    with quietly():  # NumPy cannot take what has a gradient, and an agent has none when it acts
        needing = tuple(values.clone().requires_grad_() for values in rows)
        with_gradient = submitted.IndependentGaussianProcess(count, 3).sample(needing)
    first, second = (
        numbers(submitted.IndependentGaussianProcess(count, np.random.default_rng(5)).sample(tuple(rows))) for _ in range(2)
    )
    return {
        "type of the samples": f"a tensor, {str(drawn.dtype).removeprefix('torch.')}"
        if isinstance(drawn, Tensor)
        else describe_kind(drawn),
        "shape of the samples for B = 1": one_row,
        "shape of the sample if mu has the shape [n]": one,
        "requires_grad of the samples": has_gradient(with_gradient),
        "the argument rng determines the samples": np.array_equal(first, second),
    }


# The networks


# Bound here, before any submission is there.
FUNCTIONS = {"none": lambda x: x, "ReLU": torch.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid}
_alike = torch.allclose


def between(out: Tensor, into: Tensor, first: str = "ReLU") -> str:
    """Return what happens between two layers.

    Args:
        first: The name it is given where several things would do.
    """
    if out.shape != into.shape:
        return f"a function from shape {list(out.shape)} to shape {list(into.shape)}"
    for name in (first, *FUNCTIONS):
        if _alike(FUNCTIONS[name](out), into, atol=1e-5):
            return name
    return "another function"


def shown_layers(network: nn.Module, watch: LinearLayers, state: Tensor, result: Tensor) -> dict[str, Any]:
    """Return what the layers of a network are, and what is between them."""
    watch.add_uncalled(result)
    layers = [layer for layer, _, _ in watch.passed]
    happens = [between(one[2], other[1]) for one, other in itertools.pairwise(watch.passed)]
    first = watch.passed[0][1] if watch.passed else torch.zeros(0)
    last = watch.passed[-1][2] if watch.passed else torch.zeros(0)
    flat = result.detach().reshape(last.shape) if result.numel() == last.numel() else torch.full_like(last, torch.nan)
    begins = state.flatten(1)
    whole = first.shape == begins.shape and _alike(first.sort(dim=1)[0], begins.sort(dim=1)[0], atol=1e-5)
    if result.requires_grad:
        (result * torch.arange(1.0, result.numel() + 1).reshape(result.shape)).sum().backward()
    return {
        "number of linear layers": len(layers),
        "each linear layer is used once": len({id(layer) for layer in layers}) == len(layers),
        "layers without a bias": sum(layer.bias is None for layer in layers),
        "input of the first layer": "the whole state" if whole else f"something else of shape {list(first.shape)}",
        "units of the hidden layers": sorted({layer.out_features for layer in layers[:-1]}),
        "activations between the layers": sorted(set(happens)),
        "activation after the last layer": between(last, flat, first="none"),
        "hidden layers with repeated initial weights": sum(
            len(torch.unique(layer.weight)) < layer.weight.numel() for layer in layers[:-1]
        ),
        "dtype": str(result.dtype).removeprefix("torch."),
        "weights and biases without a gradient": sum(
            value.grad is None for layer in layers for value in (layer.weight, layer.bias) if value is not None
        ),
    }


def actor(submitted, obs_dim: int, n: int, states: np.ndarray, log_sigma: np.ndarray) -> dict:
    """Make an actor and call it, also with another log σ.

    Args:
        states: `[B, w, obs_dim]`.
        log_sigma: `[n]`.
    """
    window = states.shape[1]
    network = submitted.Actor(obs_dim, n, *([window] if window > 1 else []))
    given = float32(states)
    watch = LinearLayers(network)
    result = network(given)
    if not (isinstance(result, (tuple, list)) and len(result) == 2 and all(isinstance(one, Tensor) for one in result)):
        return {"returned": describe_kind(result)}
    mu, logs = result
    facts: dict[str, Any] = {"shape of mu": list(mu.shape), "shape of log_sigma": list(logs.shape)}
    facts["dtypes of mu and log_sigma"] = sorted({str(one.dtype).removeprefix("torch.") for one in result})
    facts["initial log_sigma"] = in_rows(logs, mu)
    facts |= shown_layers(network, watch, given, mu)
    other = submitted.Actor(obs_dim, n, *([window] if window > 1 else []))
    facts["a second actor has different initial weights"] = not same_weights(network, other)
    facts["shapes of mu and log_sigma for B = 1"] = [list(one.shape) for one in network(given[:1])]
    parameter: Any = getattr(network, "log_sigma", None)
    facts["log_sigma is an nn.Parameter of the actor"] = any(parameter is one for one in network.parameters())
    facts["two actors share no parameter"] = not share_parameters(network, other)
    if facts["log_sigma is an nn.Parameter of the actor"]:
        facts["shape of the parameter log_sigma"] = list(parameter.shape)
        if parameter.numel() == len(log_sigma):
            parameter.data = float32(log_sigma).reshape(parameter.shape)
            parameter.grad = None
            again, logs = network(given)
            facts["returned log_sigma after the parameter was changed"] = in_rows(logs, mu)
            facts["mu changes with the parameter log_sigma"] = not torch.allclose(again, mu)
            if logs.requires_grad:
                every = logs.expand_as(mu) if logs.numel() == mu.shape[-1] else logs
                (every * torch.arange(1.0, every.numel() + 1).reshape(every.shape)).sum().backward()
            facts["gradient for the parameter log_sigma"] = (
                UNCONNECTED if parameter.grad is None else to_plain(parameter.grad).ravel()
            )
    return facts | {"changed by the call": [] if torch.equal(given, float32(states)) else ["state"]}


def in_rows(logs: Tensor, mu: Tensor) -> np.ndarray:
    """Return log σ with a row for each of the means, where there are as many numbers as a row has; else as it is."""
    return to_plain(logs.expand_as(mu) if logs.numel() == mu.shape[-1] else logs)


def critic(submitted, obs_dim: int, states: np.ndarray) -> dict:
    """Make a critic and call it.

    Args:
        states: `[B, w, obs_dim]`.
    """
    window, actor_made = states.shape[1], None
    with quietly():  # beside which there may be something that both use
        actor_made = submitted.Actor(obs_dim, 2, *([window] if window > 1 else []))
    network = submitted.Critic(obs_dim, *([window] if window > 1 else []))
    given = float32(states)
    watch = LinearLayers(network)
    result = network(given)
    if not isinstance(result, Tensor):
        return {"returned": describe_kind(result)}
    facts = {"shape": list(result.shape)} | shown_layers(network, watch, given, result)
    other = submitted.Critic(obs_dim, *([window] if window > 1 else []))
    facts["a second critic has different initial weights"] = not same_weights(network, other)
    facts["two critics share no parameter"] = not share_parameters(network, other)
    facts["shape for B = 1"] = list(network(given[:1]).shape)
    facts["the critic shares parameters with an actor"] = False
    with quietly():
        facts["the critic shares parameters with an actor"] = any(share_parameters(actor_made, one) for one in (network, other))
    return facts | {"changed by the call": [] if torch.equal(given, float32(states)) else ["state"]}


def same_weights(network: nn.Module, other: nn.Module) -> bool:
    """Return whether all parameters of two networks are equal."""
    return all(map(torch.equal, network.parameters(), other.parameters()))


# Fakes for what an agent is made of


class SmallActor(nn.Module):
    """A fake `Actor`, with a few units; it notes in which states it was asked.

    It is mixed with the submission's class, whose methods and properties must not have the names of these attributes.
    """

    def __init__(self, obs_dim: int, n: int, window_length: int = 1, *others: Any, **named: Any) -> None:
        nn.Module.__init__(self)
        self.small_sizes = [obs_dim, n, window_length]
        self.small_hidden, self.small_out = nn.Linear(window_length * obs_dim, 3), nn.Linear(3, n)
        self.log_sigma = nn.Parameter(torch.zeros(n))
        self.small_asked: list[np.ndarray] = []

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        self.small_asked.append(to_plain(state))
        mu = self.small_out(torch.tanh(self.small_hidden(state.flatten(start_dim=1))))
        return mu, self.log_sigma.expand_as(mu)  # a view: under no_grad, it still requires a gradient


class SmallCritic(nn.Module):
    """A fake `Critic`, with a few units."""

    def __init__(self, obs_dim: int, window_length: int = 1, *others: Any, **named: Any) -> None:
        nn.Module.__init__(self)
        self.small_sizes = [obs_dim, window_length]
        self.small_hidden, self.small_out = nn.Linear(window_length * obs_dim, 4), nn.Linear(4, 1)

    def forward(self, state: Tensor) -> Tensor:
        return self.small_out(torch.tanh(self.small_hidden(state.flatten(start_dim=1))))


class ActorTable(nn.Module):
    """A fake `Actor` that looks its answer up: the first number of a state is the number of a row."""

    def __init__(self, mu: np.ndarray, log_sigma: np.ndarray) -> None:
        super().__init__()
        self.mu, self.log_sigma = nn.Parameter(float32(mu)), nn.Parameter(float32(log_sigma))

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        mu = self.mu[rows_of(state)]
        return mu, self.log_sigma + torch.zeros_like(mu)


class CriticTable(nn.Module):
    """A fake `Critic` that looks its answer up: the first number of a state is the number of a row."""

    def __init__(self, value: np.ndarray) -> None:
        super().__init__()
        self.value = nn.Parameter(float32(value).reshape(-1, 1))

    def forward(self, state: Tensor) -> Tensor:
        return self.value[rows_of(state)]


def rows_of(state: Tensor) -> Tensor:
    """Return which row of a table each state is."""
    return state.detach().reshape(len(state), -1)[:, 0].round().long()


def numbered_states(count: int, window: int, obs_dim: int) -> Tensor:
    """Return states `[count, window, obs_dim]` whose first number says which row they are."""
    states = torch.zeros(count, window, obs_dim)
    states[:, 0, 0] = torch.arange(float(count))
    return states


class KnownProcess:
    """A fake `IndependentGaussianProcess`: samples are known in advance, and torch computes the rest."""

    def __init__(self, n: int, *others: Any, **named: Any) -> None:
        self.n, self.rng, self.drawn = n, np.random.default_rng(0), 0

    def sample(self, x: tuple[Any, Any]) -> Any:
        shape = np.shape(x[0])
        place = self.drawn + np.arange(int(np.prod(shape)))
        self.drawn += len(place)
        # Most are outside of [-1, 1] and of any other range that an environment may have, on both sides.
        noise = 4.0 * np.sin(1.3 * place + 0.5).reshape(shape)
        known = (to_plain(x[0]) + np.exp(to_plain(x[1])) * noise).astype(np.float32)
        return torch.from_numpy(known) if isinstance(x[0], Tensor) else known

    def of(self, mu: Any, log_sigma: Any) -> torch.distributions.Distribution:
        # Not MultivariateNormal, which imports for half a second.
        one = torch.distributions.Normal(torch.as_tensor(mu), torch.as_tensor(log_sigma).exp(), validate_args=False)
        return torch.distributions.Independent(one, 1, validate_args=False)

    def get_dist(self, x: tuple[Any, Any, Any]) -> Tensor:
        return self.of(x[0], x[1]).log_prob(torch.as_tensor(x[2]))[..., None]

    def entropy(self, x: tuple[Any, Any]) -> Tensor:
        return self.of(x[0], x[1]).entropy()[..., None]


class KnownWindows:
    """What stands in for `get_recent_state` of your memory: states that are known in advance, by what is observed."""

    known: dict[bytes, list[np.ndarray]]
    window_length: int  # your memory's

    def get_recent_state(self, observation: Any) -> list[np.ndarray]:
        seen = np.array(to_plain(observation), np.float32).ravel()
        return [np.array(one) for one in self.known.get(seen.tobytes(), [seen] * self.window_length)]


class RecordingSGD(torch.optim.Optimizer):
    """A fake optimizer that keeps the gradients of every step. It is an Optimizer by name only."""

    def __init__(self, tables: dict[str, nn.Parameter], others: list[nn.Parameter]) -> None:
        self.tables, self.others = tables, others
        self.param_groups = [{"params": [*tables.values(), *others], "lr": RATE}]
        self.steps: list[dict[str, np.ndarray | None]] = []
        self.unused, self.cleared_at = False, -1

    def zero_grad(self, set_to_none: bool = True) -> None:
        there = any(value.grad is not None for value in self.param_groups[0]["params"])
        self.unused |= there and self.cleared_at == len(self.steps)
        self.cleared_at = len(self.steps)
        for value in self.param_groups[0]["params"]:
            value.grad = None

    @torch.no_grad()
    def step(self, closure=None):
        loss = loss_of(closure)
        self.steps.append({name: None if value.grad is None else to_plain(value.grad) for name, value in self.tables.items()})
        return loss


def stand_ins(submitted) -> dict[str, type]:
    """Return what stands in for the classes that an agent is made of, by name."""
    classes = {"Actor": SmallActor, "Critic": SmallCritic, "IndependentGaussianProcess": KnownProcess}
    return {name: with_own_methods(submitted, name, stand_in) for name, stand_in in classes.items()}


def new_agent(submitted, obs_dim: int, n: int, num_envs: int = 1, window_length: int = 1, **options: Any) -> Any:
    """Return an agent of fakes, whether or not its own `__init__` comes to an end.

    Args:
        options: As of `PPOAgent`.
    """
    classes: dict[str, Any] = stand_ins(submitted)
    agent = object.__new__(submitted.PPOAgent)
    with fake_names(submitted, classes), quietly():
        agent.__init__(obs_dim, n, num_envs=num_envs, window_length=window_length, **options)
    for name, value in options.items():
        setattr(agent, name, value)
    for number_of, (name, kind, sizes) in enumerate(
        (("actor", "Actor", [obs_dim, n, window_length]), ("critic", "Critic", [obs_dim, window_length])), start=1
    ):
        network: Any = getattr(agent, name, None)
        # The agent's own may be noted elsewhere, too.
        if type(network) is not classes[kind] or network.small_sizes != sizes:
            network = classes[kind](*sizes)
        setattr(agent, name, with_numbers(network, number_of))
    if type(getattr(agent, "process", None)) is not classes["IndependentGaussianProcess"]:
        agent.process = classes["IndependentGaussianProcess"](n)
    made = getattr(agent, "memories", None)
    memory_class = type(made[0]) if isinstance(made, list) and made else submitted.EpisodeMemory
    agent.memories = [new_memory(memory_class, window_length) for _ in range(num_envs)]
    agent.episodes, agent.training = [], True
    return agent


def new_memory(kind: type, window_length: int) -> Any:
    """Return a memory of this class, but for its states, which are known in advance, also if the class is asked for them."""
    own = getattr(kind, "get_recent_state", None)
    if own is not None and not hasattr(own, "of_every_memory"):
        kind.get_recent_state = of_every_memory(own)  # type: ignore[attr-defined]  # a student's class
    memory = type("EpisodeMemory", (KnownWindows, kind), {})(window_length)
    memory.known = {}
    return memory


def of_every_memory(own: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that is a memory's own, but for memories whose states are known in advance."""

    @functools.wraps(own)
    def get_recent_state(memory: Any, /, *given: Any, **named: Any) -> Any:
        of = KnownWindows.get_recent_state if isinstance(memory, KnownWindows) else own
        return of(memory, *given, **named)

    get_recent_state.of_every_memory = True  # type: ignore[attr-defined]  # it is wrapped once
    return get_recent_state


# States that are windows


def windows(submitted, window_length: int, episodes: list[np.ndarray]) -> dict:
    """Play episodes, `[T, obs_dim]` each, into a memory; report the states, and what asking for them has changed.

    The last observation of an episode is that of the extra call: the step before it has ended the episode.
    """
    memory, other = (submitted.EpisodeMemory(window_length) for _ in range(2))
    facts: dict[str, Any] = {"get_recent_state has no side effects": True, "window_length": int(memory.window_length)}
    forms: set[str] = set()
    for number_of, observations in enumerate(episodes, start=1):
        memory.reset()
        states = []
        for place, observation in enumerate(np.array(observations, np.float32)):
            before, seen = len(memory.observations), observation.copy()
            state = memory.get_recent_state(observation)
            if not isinstance(state, Iterable):
                return {"returned": describe_kind(state)}
            seen_as, state = kind_of_container(state), list(state)
            forms |= {f"{seen_as} of {kind}" for kind in map(kind_of_observation, state)}
            again = numbers(list(memory.get_recent_state(observation)))
            states.append(numbers(state))
            facts["get_recent_state has no side effects"] &= (
                len(memory.observations) == before and np.array_equal(observation, seen) and np.array_equal(again, states[-1])
            )
            over = place == len(observations) - 2
            ended = (over and number_of % 2 == 1, over and number_of % 2 == 0)
            step = (torch.zeros(window_length, observations.shape[1]), torch.zeros(1), torch.zeros(1), 0.0, *ended)
            memory.append(observation, *step)
            with quietly():  # another environment, of which this one must not know
                other.get_recent_state(observation - 5)
                other.append(observation - 5, *step)
        facts[f"states of episode {number_of}"] = states
    return facts | {"type of the states": sorted(forms)}


def kind_of_container(state: Any) -> str:
    """Return what a state is: lists, arrays and the like are the same to `process_state_batch`."""
    return "a sequence" if hasattr(state, "__len__") and not isinstance(state, (dict, set)) else describe_kind(state)


def kind_of_observation(one: Any) -> str:
    """Return what one observation of a state is."""
    return f"{type(one).__name__}, {str(getattr(one, 'dtype', 'no dtype')).removeprefix('torch.')}, {list(np.shape(one))}"


# The agent: forward


def tell_windows(agent: Any, observations: np.ndarray, states: np.ndarray | None) -> None:
    """Tell each memory of an agent which states belong to the observations of its own environment, if any are given."""
    if states is None:
        return
    count, (window, obs_dim) = len(agent.memories), states.shape[-2:]
    seen, known = observations.reshape(-1, count, obs_dim), states.reshape(-1, count, window, obs_dim)
    for place, memory in enumerate(agent.memories):
        pairs = zip(seen[:, place], known[:, place], strict=True)
        memory.known = {np.array(one, np.float32).tobytes(): list(state) for one, state in pairs}


def forward(
    submitted,
    observations: np.ndarray,
    n: int,
    exploring: list[bool],
    states: np.ndarray | None = None,
    over: bool = False,
) -> dict:
    """Call `forward` a few times, while the actor learns; report actions, and what is kept for `backward`.

    Args:
        observations: `[calls, obs_dim]` in one environment, `[calls, num_envs, obs_dim]` in
            several.
        exploring: In each call, whether the agent is in training.
        states: Those that the memories return, `[..., w, obs_dim]`; where there are none, one
            observation is a state.
        over: Whether the episodes have just ended.
    """
    single, obs_dim = observations.ndim == 2, observations.shape[-1]
    num_envs = 1 if single else observations.shape[1]
    window = 1 if states is None else states.shape[-2]
    agent = new_agent(submitted, obs_dim, n, num_envs, window)
    tell_windows(agent, observations, states)
    for memory in agent.memories:
        memory.truncated = over
    facts: dict[str, Any] = {}
    weights: list[np.ndarray] = []
    room = np.zeros(observations.shape[1:], np.float32)  # one array for all observations, as environments may have
    stored: list[tuple[Any, np.ndarray]] = []
    memories = running_copies(agent)
    for call, observation in enumerate(observations):
        room[...] = observation
        agent.training = exploring[call]
        with_numbers(agent.actor, call + 1)
        weights = [to_plain(value) for value in agent.actor.parameters()]
        agent.actor.small_asked.clear()
        action = agent.forward(room)
        when = f"in call {call}"
        if not isinstance(action, (np.ndarray, Tensor, list, tuple)):
            return facts | {"returned": describe_kind(action)}
        dtype = str(getattr(action, "dtype", "no dtype")).removeprefix("torch.")
        facts[f"type, dtype and shape of the action {when}"] = (
            f"{type(action).__name__}, {dtype}, {list(numbers(action).shape)}"
        )
        facts[f"action {when}"] = numbers(action).ravel()
        asked = [state for state in agent.actor.small_asked if state.ndim == 3]
        facts[f"states passed to the actor {when}"] = np.concatenate(asked) if asked else "none"
        room[...] = -7.0  # the environment writes something else there
        facts |= {f"{name} {when}": value for name, value in kept(agent, num_envs).items()}
        store_step(agent, memories)
        with quietly():
            stored += [(items[-1], numbers(items[-1])) for memory in memories for items in lists_of(memory)[:4] if items]
    facts["a later call changes the stored data"] = any(not np.array_equal(numbers(part), was) for part, was in stored)
    facts["forward changes the actor"] = not all(map(np.array_equal, weights, map(to_plain, agent.actor.parameters())))
    facts["forward changes the memories"] = any(map(any, map(lists_of, agent.memories)))
    return facts


KEPT = {"observations": "observations", "states": "states", "actions": "actions", "log-probabilities": "log_probs"}


def kept(agent: Any, num_envs: int) -> dict[str, Any]:
    """Return what `forward` has kept for `backward`: from `recent`, or, if that has a form of its own, from the memories."""
    recent = agent.recent
    found: dict[str, Any] = {}
    if proper(recent, num_envs):
        found = dict(zip(KEPT, recent, strict=True))
    else:
        memories = running_copies(agent)
        store_step(agent, memories)
        with quietly():
            found = {name: [getattr(memory, items)[-1] for memory in memories] for name, items in KEPT.items()}
    nothing = f"nothing: after the call, `recent` is a {describe_kind(recent)}"
    facts: dict[str, Any] = {f"stored {name}": numbers(found[name]).ravel() if name in found else nothing for name in KEPT}
    facts["types of the stored data"] = {
        f"type of the stored {name}": (
            f"{'tensors' if all(isinstance(one, Tensor) for one in value) else 'arrays'}, {list(numbers(value).shape)}"
        )
        for name, value in found.items()
    }
    facts["requires_grad of the stored data"] = has_gradient(list(found.values()))
    return facts


def store_step(agent: Any, memories: list[Any]) -> None:
    """Let `backward` store the latest step in these memories, and leave it to be stored in the agent's own."""
    recent, own, agent.memories = agent.recent, agent.memories, memories
    with quietly():
        agent.backward(0.0)
    agent.recent, agent.memories = recent, own


def running_copies(agent: Any) -> list[Any]:
    """Return copies of an agent's memories, whose episodes have not ended."""
    memories = [copy_of(memory) for memory in agent.memories]
    for memory in memories:
        memory.terminated = memory.truncated = False
    return memories


def proper(recent: Any, num_envs: int) -> bool:
    """Return whether `recent` is of the form that the stub describes."""
    with contextlib.suppress(Exception):
        return len(recent) == 4 and all(numbers(part).shape[0] == num_envs for part in recent)
    return False


def lists_of(memory: Any) -> list[list]:
    """Return what a memory has of the steps so far."""
    return [memory.observations, memory.states, memory.actions, memory.log_probs, memory.rewards]


def copy_of(memory: Any) -> Any:
    """Return a memory with the same content."""
    other = object.__new__(type(memory))
    other.__dict__ = {name: list(value) if isinstance(value, list) else value for name, value in memory.__dict__.items()}
    return other


# The agent: backward


def backward(
    submitted,
    observations: np.ndarray,
    rewards: np.ndarray,
    terminals: np.ndarray,
    truncateds: np.ndarray,
    episodes_per_update: int,
    testing: list[int] | None = None,
    states: np.ndarray | None = None,
    by_numpy: bool = False,
) -> dict:
    """Call `forward` and `backward` in turns; `finish_episode` and `update` only note how they were called.

    Args:
        observations: `[calls, obs_dim]` in one environment, `[calls, num_envs, obs_dim]` in
            several.
        rewards, terminals, truncateds: `[calls]` in one environment, `[calls, num_envs]` in
            several.
        testing: Calls in which the agent is not in training.
        states: Those that the memories return, `[..., w, obs_dim]`; where there are none, one
            observation is a state.
        by_numpy: Whether numbers and bools are NumPy's own, as environments return them.

    In the call after an end `forward` is given what was observed last.
    """
    single, obs_dim = observations.ndim == 2, observations.shape[-1]
    num_envs = 1 if single else observations.shape[1]
    window = 1 if states is None else states.shape[-2]
    agent = new_agent(submitted, obs_dim, 2, num_envs, window, episodes_per_update=episodes_per_update)
    tell_windows(agent, observations, states)
    clears = update_clears(submitted)
    finished: list[dict] = []
    numbered: list[bool] = []
    updates: list[dict] = []
    now = 0

    def finish_episode(memory, final_state) -> dict[str, Tensor]:
        observed = [float(numbers(one).ravel()[0]) for one in memory.observations]
        finished.append(
            {
                "index of the backward call": now,
                "rewards of the finished episode": [float(reward) for reward in memory.rewards],
                "observations of the finished episode": observed,
                "terminated and truncated of the finished memory": [bool(memory.terminated), bool(memory.truncated)],
                "final_state passed to finish_episode": numbers(final_state).ravel(),
                "number of states, actions and log_probs": [
                    len(part) for part in (memory.states, memory.actions, memory.log_probs)
                ],
            }
        )
        count = max(len(memory.rewards), 1)
        # Outside training, an episode may be finished too, if it is not kept: it takes no number.
        numbered.append(agent.training)
        number = sum(numbered) if agent.training else 0
        marked, states = torch.full((count,), float(number)), torch.zeros(count, window, obs_dim)
        return dict(zip(KEYS, (states, torch.zeros(count, 2), marked[:, None], marked, marked), strict=True))

    def update() -> dict[str, float]:
        held = [int(episode["advantage"][0]) for episode in agent.episodes]
        updates.append({"index of the backward call": now, "numbers of the episodes in the update": held})
        if clears:
            agent.episodes = []
        return {"policy_loss": float(len(updates)), "value_loss": 0.5}

    agent.finish_episode, agent.update = finish_episode, update
    lengths, returned, waiting, aligned = [], [], [], True
    forms: set[str] = set()
    for now, observation in enumerate(observations):
        given = float32(observation).reshape(num_envs, -1)
        seen = given[:, None, :] if states is None else float32(states[now]).reshape(num_envs, window, obs_dim)
        agent.training = now not in (testing or [])
        before = [copy_of(memory).__dict__ for memory in agent.memories]
        with quietly():
            agent.forward(np.array(observation, np.float32))
        for memory, content in zip(agent.memories, before, strict=True):
            if not own_form(agent, num_envs):  # to change it is the business of `backward`
                memory.__dict__ = content
        if not own_form(agent, num_envs):
            # forward is another question: here is what it should have left.
            actions = float32(np.arange(2 * num_envs).reshape(num_envs, 2) + now)
            agent.recent = (to_plain(given), seen, actions, float32(np.full((num_envs, 1), -now - 1.0)))
        reward = float(rewards[now]) if single else np.array(rewards[now], np.float64)
        told = ends_told(terminals[now], truncateds[now])
        if by_numpy:
            reward, told = np.asarray(reward)[()], [np.asarray(flags)[()] for flags in told]
        result = agent.backward(reward, *told)
        forms |= {describe_kind(result)} | set(itertools.chain(*map(forms_in_memory, agent.memories)))
        lengths.append([len(memory.rewards) for memory in agent.memories])
        waiting.append(len(agent.episodes))
        returned.append(dict(result) if isinstance(result, dict) and result else {} if not result else describe_kind(result))
        for memory, row, state in zip(agent.memories, given, seen, strict=True):
            if memory.rewards:
                latest = [numbers(items[-1]).ravel() for items in (memory.observations, memory.states)]
                aligned &= all(map(np.array_equal, latest, (numbers(row).ravel(), numbers(state).ravel())))
    return {
        "steps in each memory, after each call": lengths,
        "each step has its own observation and state": bool(aligned),
        "finished episodes": sorted(
            finished, key=lambda one: (one["index of the backward call"], one["rewards of the finished episode"])
        ),
        "updates": updates,
        "values returned by backward": returned,
        "length of `episodes` after each call": waiting,
        "types of the result and of the stored step": sorted(forms),
    }


def forms_in_memory(memory: Any) -> Iterator[str]:
    """Yield what each part of the latest step in a memory is."""
    if not memory.rewards:
        return
    for name in ("observations", "states", "actions", "log_probs"):
        one = getattr(memory, name)[-1] if getattr(memory, name) else None
        yield f"{name}: {'tensors' if isinstance(one, Tensor) else describe_kind(one)}, {list(np.shape(to_plain(one)))}"
    plain = {type(one).__name__ for one in (memory.terminated, memory.truncated)}
    kind = "numbers" if np.ndim(memory.rewards[-1]) == 0 else "arrays"
    yield f"rewards: {kind}; terminated, truncated: {', '.join(sorted(plain))}"


def ends_told(terminal: Any, truncated: Any) -> list:
    """Return the arguments about ends: none if there are no ends, one bool if all environments are alike."""
    if not (np.any(terminal) or np.any(truncated)):
        return []
    return [bool(np.all(flags)) if np.all(flags) == np.any(flags) else np.array(flags) for flags in (terminal, truncated)]


def update_clears(submitted) -> bool:
    """Return whether your `update` discards the episodes, so that `backward` need not."""
    with quietly():
        rows = np.ones(4)
        facts = updating(submitted, [[2, 2]], np.ones((4, 2)), rows, np.arange(4.0), rows, 1, 2)
        return bool(facts["steps"]) and not facts["episodes are left"]
    return False


def own_form(agent: Any, num_envs: int) -> bool:
    """Return whether `forward` has worked and left something of a form of its own."""
    recent = getattr(agent, "recent", None)
    nothing = recent is None or (isinstance(recent, (tuple, list, dict)) and not recent)
    return not nothing and not proper(recent, num_envs)


# The agent: what is learned from an episode


def fallback(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None) -> np.ndarray:
    """Return something that depends on all arguments: discounted rewards and the last value, minus values."""
    count = len(reward)
    powers = float(gamma) ** np.arange(count + 1)
    with torch.no_grad():
        last = 0.0 if next_state is None else float(critic(torch.as_tensor(next_state))[-1])
        value = to_plain(critic(torch.as_tensor(state))).ravel()
    if terminated is not None and bool(to_plain(terminated)[-1]):
        last = 0.0
    rest = [float(powers[: count - t] @ numbers(reward)[t:] + powers[count - t] * last) for t in range(count)]
    early = sum(bool(flag) for flags in (terminated, truncated) if flags is not None for flag in to_plain(flags)[:-1])
    return np.array(rest - value - 100.0 * (2.0 - float(lamb)) - 1000.0 * early, np.float32)


def known_estimator(right: dict[str, Any], advantage: np.ndarray) -> Callable:
    """Return a fake estimator that knows the advantages of one episode, and returns others for anything else.

    Args:
        right: The values of the steps and of what follows the last one (0 where nothing does),
            rewards, γ and λ.
    """

    def estimator(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None) -> np.ndarray:
        arguments = (critic, state, reward, gamma, lamb, next_state, terminated, truncated)
        with torch.no_grad():
            value = to_plain(critic(torch.as_tensor(state))).ravel()
            after = np.append(value[1:], 0.0) if next_state is None else to_plain(critic(torch.as_tensor(next_state))).ravel()
        ends = [np.array(to_plain(flags), bool) for flags in (terminated, truncated) if flags is not None]
        over = bool(terminated is not None and to_plain(terminated)[-1])
        found = {
            "value": value,
            "after": np.append(value[1:], 0.0 if over else after[-1])
            if np.allclose(after[:-1], value[1:], atol=1e-5)
            else after,
            "reward": numbers(reward).ravel(),
            "gamma and lamb": [float(gamma), float(lamb)],
        }
        same = not any(flags[:-1].any() for flags in ends) and all(
            np.shape(found[name]) == np.shape(right[name]) and np.allclose(found[name], right[name], atol=1e-5)
            for name in right
        )
        return np.array(advantage, np.float32) if same else fallback(*arguments)

    return estimator


def finishing(
    submitted,
    states: np.ndarray,
    final_state: np.ndarray,
    actions: np.ndarray,
    log_probs: np.ndarray,
    rewards: np.ndarray,
    terminated: bool,
    truncated: bool,
    gamma: float,
    lamb: float,
    weights: np.ndarray,
    advantage: np.ndarray,
) -> dict:
    """Call `finish_episode`, with a critic of these weights and a fake estimator that knows the advantages."""
    agent = new_agent(submitted, states.shape[2], actions.shape[1], 1, states.shape[1], gamma=gamma, lamb=lamb)
    agent.critic = LinearCritic(weights)
    with torch.no_grad():
        value, last = (to_plain(agent.critic(float32(some))).ravel() for some in (states, final_state[None]))
    right = {"value": value, "after": np.append(value[1:], 0.0 if terminated else last[0]), "reward": rewards}
    estimator = known_estimator(right | {"gamma and lamb": [gamma, lamb]}, advantage)
    memory = type(agent.memories[0])(states.shape[1])
    for t, state in enumerate(float32(states)):
        at_end = t == len(states) - 1
        memory.append(
            to_plain(state[-1]),
            state,
            float32(actions[t]),
            float32(log_probs[t]).reshape(1),
            float(rewards[t]),
            terminated and at_end,
            truncated and at_end,
        )
    given = float32(final_state)
    other = copy_of(memory)
    other.states, other.rewards = [state + 1 for state in memory.states], [reward + 1 for reward in memory.rewards]
    other.actions, other.log_probs = ([value + 1 for value in values] for values in (memory.actions, memory.log_probs))
    with fake_names(submitted, {"GeneralizedAdvantageEstimator": estimator}):
        found = agent.finish_episode(memory, given)
        call_beforehand(lambda: agent.finish_episode(other, given + 1))  # before the result is read: it must not change with it
    if not isinstance(found, dict):
        return {"returned": describe_kind(found)}
    facts: dict[str, Any] = {"keys of the result": sorted(found, key=str)}
    for name in KEYS:
        if name in found:
            value = found[name]
            dtype = str(value.dtype).removeprefix("torch.") if isinstance(value, Tensor) else describe_kind(value)
            facts[f"dtype and shape of {name}"] = f"{dtype}, {list(numbers(value).shape)}"
            facts[name] = numbers(value).ravel()
    if all(name in facts and facts[name].size == len(rewards) for name in ("value_target", "advantage")):
        facts["value_target minus advantage"] = facts["value_target"] - facts["advantage"]
    else:
        sizes = [f"{name} has {facts[name].size}" for name in ("value_target", "advantage") if name in facts]
        facts["value_target minus advantage"] = f"{' and '.join(sizes)} numbers for {len(rewards)} rows"
    facts["tensors with requires_grad"] = [name for name in KEYS if has_gradient(found.get(name))]
    facts["the memory and final_state are unchanged"] = (
        [*map(len, lists_of(memory))] == [len(rewards)] * 5
        and [memory.terminated, memory.truncated] == [terminated, truncated]
        and torch.equal(given, float32(final_state))
    )
    return facts


# The agent: losses


def policy_loss(
    submitted,
    mu: np.ndarray,
    log_sigma: np.ndarray,
    action: np.ndarray,
    log_prob: np.ndarray,
    advantage: np.ndarray,
    clip: float,
    entropy_coef: float,
) -> dict:
    """Compute the actor's loss of a batch, and its gradient for what the actor returns for each row."""
    agent = new_agent(submitted, 3, mu.shape[1], clip=clip, entropy_coef=entropy_coef)
    agent.actor, agent.critic = ActorTable(mu, log_sigma), CriticTable(np.zeros(len(mu)))
    batch = batch_of(len(mu), action, log_prob, advantage, np.zeros(len(mu)))
    return losses(agent, agent.policy_loss, batch, {"mu": agent.actor.mu, "log_sigma": agent.actor.log_sigma})


def value_loss(submitted, value: np.ndarray, value_target: np.ndarray) -> dict:
    """Compute the critic's loss of a batch, and its gradient for the value of each row."""
    count = len(value)
    agent = new_agent(submitted, 3, 2)
    agent.actor, agent.critic = ActorTable(np.zeros((count, 2)), np.zeros(2)), CriticTable(value)
    batch = batch_of(count, np.zeros((count, 2)), np.zeros(count), np.ones(count), value_target)
    return losses(agent, agent.value_loss, batch, {"the values": agent.critic.value})


def batch_of(count: int, action: Any, log_prob: Any, advantage: Any, value_target: Any) -> dict[str, Tensor]:
    """Return a batch whose states say which row they are."""
    values = (action, np.reshape(log_prob, (count, 1)), advantage, value_target)
    return dict(zip(KEYS, (numbered_states(count, 1, 3), *map(float32, values)), strict=True))


def losses(agent: Any, method: Callable, batch: dict[str, Tensor], wanted: dict[str, nn.Parameter]) -> dict[str, Any]:
    """Return a loss, its gradients for what is wanted, and what else has got one."""
    before = {name: to_plain(value) for name, value in batch.items()}
    given = [agent.clip, agent.entropy_coef]
    other = {name: values.flip(0) - (0 if name == "state" else 0.5) for name, values in batch.items()}
    call_beforehand(lambda: method(other))
    for value in (*agent.actor.parameters(), *agent.critic.parameters()):
        value.grad = None
    loss = method(batch)
    if not isinstance(loss, Tensor):
        return {"returned": describe_kind(loss)}
    facts: dict[str, Any] = {"shape": list(loss.shape), "dtype": str(loss.dtype).removeprefix("torch.")}
    facts["loss"] = float(loss.detach()) if loss.numel() == 1 else numbers(loss)
    facts["changed by the call"] = changed(batch, before) + ([] if [agent.clip, agent.entropy_coef] == given else ["agent"])
    touched = any(value.grad is not None for value in (*agent.actor.parameters(), *agent.critic.parameters()))
    facts["the method changes `.grad` of a parameter"] = touched
    if loss.requires_grad:
        loss.sum().backward()
    for name, value in wanted.items():
        facts[f"gradient for {name}"] = UNCONNECTED if value.grad is None else to_plain(value.grad).astype(np.float64)
    others = [
        value
        for value in (*agent.actor.parameters(), *agent.critic.parameters())
        if all(value is not w for w in wanted.values())
    ]
    facts["other parameters have a gradient"] = any(value.grad is not None and bool(value.grad.any()) for value in others)
    return facts


# The agent: to learn


def updating(
    submitted,
    lengths: list[list[int]],
    action: np.ndarray,
    log_prob: np.ndarray,
    advantage: np.ndarray,
    value_target: np.ndarray,
    epochs: int,
    batch_size: int,
) -> dict:
    """Call `update` once for each list of lengths, on episodes as long; the losses only note what they are given."""
    count = sum(map(sum, lengths))
    # More episodes may have finished at once than an update waits for.
    agent = new_agent(submitted, 3, 2, epochs=epochs, batch_size=batch_size, episodes_per_update=2)
    agent.rng = np.random.default_rng(1)
    agent.actor, agent.critic = ActorTable(np.ones((count, 2)), np.zeros(2)), CriticTable(np.ones(count))
    tables = {"actor": agent.actor.mu, "critic": agent.critic.value}
    agent.optimizer = RecordingSGD(tables, [agent.actor.log_sigma])
    everything = batch_of(count, action, log_prob, advantage, value_target)
    batches: dict[str, list[dict]] = {"policy": [], "value": []}

    def noted(name: str, batch: dict[str, Tensor], loss: Tensor) -> Tensor:
        found = {key: numbers(batch[key]).reshape(len(batch["state"]), -1).tolist() for key in KEYS[1:]}
        rows = rows_of(batch["state"]).tolist()
        batches[name].append({"row": rows, "loss": float(loss.detach())} | found)
        return loss

    def of_policy(batch: dict[str, Tensor]) -> Tensor:
        mu, _ = agent.actor(batch["state"])
        weight = 1.0 + rows_of(batch["state"])[:, None]
        return noted("policy", batch, (mu * weight).mean(dim=1).mean() - 0.25)

    def of_value(batch: dict[str, Tensor]) -> Tensor:
        weight = 2.0 + rows_of(batch["state"])[:, None]
        return noted("value", batch, (agent.critic(batch["state"]) * weight).mean() + 0.5)

    agent.policy_loss, agent.value_loss = of_policy, of_value
    metrics, kinds, means, begin = [], [], [], 0
    for collection in lengths:
        ends = begin + np.cumsum([0, *collection])
        agent.episodes = [
            {name: values[first:end].clone() for name, values in everything.items()} for first, end in itertools.pairwise(ends)
        ]
        before = {name: len(told) for name, told in batches.items()}
        result = agent.update()
        metrics.append(losses_told(result))
        kinds.append(kinds_told(result))
        new = {name: [batch["loss"] for batch in told[before[name] :]] for name, told in batches.items()}
        means.append({f"{name}_loss": float(np.mean(values)) if values else 0.0 for name, values in new.items()})
        begin = int(ends[-1])
    return {
        "batches": batches["policy"],
        "policy_loss and value_loss get the same minibatches": [batch["row"] for batch in batches["policy"]]
        == [batch["row"] for batch in batches["value"]],
        "steps": agent.optimizer.steps,
        "gradients cleared unused": agent.optimizer.unused,
        "episodes are left": bool(agent.episodes),
        "metrics": metrics,
        "types of the returned losses": kinds,
        "means of the losses": means,
        "update leaves the learning rate unchanged": agent.optimizer.param_groups[0]["lr"] == RATE,
    }


def losses_told(result: Any) -> Any:
    """Return what an update returned: losses by name, as floats, or what else it is."""
    if not isinstance(result, dict):
        return describe_kind(result)
    return {name: to_number(result.get(name)) for name in ("policy_loss", "value_loss")}


def kinds_told(result: Any) -> Any:
    """Return what an update returned, without its numbers."""
    if not isinstance(result, dict):
        return describe_kind(result)
    plain_numbers = (int, float, np.floating)
    return {
        f"type of {name}": "a float" if isinstance(value, plain_numbers) else describe_kind(value)
        for name, value in result.items()
    }


# The agent as it is made


def making(submitted, num_envs: int, window_length: int, options: dict) -> dict:
    """Make an agent of fakes with these options; report what it is made of."""
    with fake_names(submitted, stand_ins(submitted)):
        agent = submitted.PPOAgent(3, 2, num_envs=num_envs, window_length=window_length, **options)
        other = submitted.PPOAgent(3, 2, num_envs=num_envs, window_length=window_length, **options)
    groups = agent.optimizer.param_groups
    moved = {id(value) for group in groups for value in group["params"]}
    return {
        "sizes of the actor, the critic and the process": [
            list(agent.actor.small_sizes),
            list(agent.critic.small_sizes),
            int(agent.process.n),
        ],
        "networks whose parameters are in the optimizer": [
            name for name in ("actor", "critic") if {id(value) for value in getattr(agent, name).parameters()} <= moved
        ],
        "learning rates of the optimizer": sorted({float(group["lr"]) for group in groups}),
        "number of memories": len(agent.memories),
        "window_length of the memories": sorted({int(memory.window_length) for memory in agent.memories}),
        "number of repeated memories": len(agent.memories) - len(set(map(id, agent.memories))),
        "attributes that two agents share": [
            name for name in ("actor", "critic", "memories", "episodes") if getattr(agent, name) is getattr(other, name)
        ],
        "attributes": {name: float(getattr(agent, name)) for name in options if name not in ("learning_rate", "seed")},
    }


# One update with all that you wrote


class Corridor(gym.Env):
    """A tiny environment, whose episodes have 5, 6 or 7 steps; every second one terminates, the others are truncated.

    As some environments do, it writes all observations into the same array.
    """

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(-10.0, 10.0, (2,), dtype=np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (2,), dtype=np.float32)
        self.seen, self.episode, self.steps, self.over = np.zeros(2, np.float32), 0, 0, 0

    def look(self) -> np.ndarray:
        self.seen[:] = np.sin(0.9 * self.steps + self.episode), np.cos(0.5 * self.steps - 0.7 * self.episode)
        return self.seen

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        self.steps = 0
        return self.look(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        reward = 1.0 - float(np.abs(np.asarray(action, np.float64) - np.array([0.6, -0.4])).sum()) + 0.5 * float(self.seen[0])
        self.steps += 1
        over, terminates = self.steps == 5 + self.episode % 3, self.episode % 2 == 0
        if over:
            self.episode, self.over = self.episode + 1, self.over + self.steps
        return self.look(), reward, over and terminates, over and not terminates, {}


class UpdateMade(BaseException):
    """The first update is over: there is no need to go on. No `except Exception` stops it."""


def one_update(submitted, num_envs: int, learning_rate: float) -> dict:
    """Let all that you wrote work together: play a few episodes of a tiny environment, and learn from them once.

    Nothing is a fake here but the environment and the optimizer, which is an Adam. Where it breaks is noted.
    """
    broken: list[str] = []
    facts: dict[str, Any] = {}
    with watched_pieces(submitted, broken):
        try:
            facts = first_update(submitted, num_envs, learning_rate)
        except Exception as error:
            if not broken:
                broken.append(f"in the training loop (training.py): {described_error(error)}")
    return {"first error": broken[0] if broken else "none"} | ({} if broken else facts)


def first_update(submitted, num_envs: int, learning_rate: float) -> dict:
    """Play until the agent has updated for the first time; return what that has changed."""
    options = {"gamma": 0.9, "lamb": 0.8, "episodes_per_update": 6, "epochs": 8, "batch_size": 16, "entropy_coef": 0.001}
    agent = submitted.PPOAgent(2, 2, num_envs, 2, learning_rate=learning_rate, seed=5, **options)
    networks = {"actor": agent.actor, "critic": agent.critic}
    with torch.no_grad():
        for number_of, network in enumerate(networks.values(), start=1):
            for value in with_numbers(network, number_of).parameters():
                value.mul_(0.5)
    named = [(f"{name}.{of}", value) for name, network in networks.items() for of, value in network.named_parameters()]
    first = {name: to_plain(value) for name, value in named}
    facts: dict[str, Any] = {"an update was made": False}
    learn, single = agent.update, Corridor()

    def update() -> Any:
        facts["parameters that change before the update"] = unlike(first, named)
        rows = {name: torch.cat([episode[name] for episode in agent.episodes]).detach().clone() for name in KEYS}
        facts["number of rows in the update"] = len(rows["advantage"])
        before, error = log_density_of(agent, rows), squared_error(agent, rows)
        result = learn()
        advantage = (rows["advantage"] - rows["advantage"].mean()) / (rows["advantage"].std(correction=0) + 1e-8)
        ratio = torch.exp(log_density_of(agent, rows) - before)
        objective = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        moved = unlike(first, named)
        facts["parameters that the update does not change"] = [name for name, _ in named if name not in moved]
        facts["the update increases the clipped objective"] = bool(objective > advantage.mean() + 1e-3)
        facts["the update decreases the squared error of the values"] = bool(squared_error(agent, rows) < error)
        facts["all parameters are finite"] = all(bool(torch.isfinite(value).all()) for _, value in named)
        return result

    def stop(step: int, metrics: Any) -> None:
        facts["an update was made"] = True
        facts["the returned losses are finite"] = all(
            np.isfinite(float(metrics[name])) for name in ("policy_loss", "value_loss")
        )
        raise UpdateMade

    agent.update = update
    with contextlib.suppress(UpdateMade), contextlib.redirect_stdout(io.StringIO()):
        if num_envs == 1:
            training.fit(agent, single, 100, seed=0, on_update=stop)
        else:
            training.fit_vector(agent, gym.vector.SyncVectorEnv([Corridor] * num_envs), 300, seed=0, on_update=stop)
    return facts


def unlike(first: dict[str, np.ndarray], named: list[tuple[str, nn.Parameter]]) -> list[str]:
    """Return the names of the parameters that are not as they were."""
    return [name for name, value in named if not np.array_equal(first[name], to_plain(value))]


@torch.no_grad()
def log_density_of(agent: Any, rows: dict[str, Tensor]) -> Tensor:
    """Return the logarithm of the density of the actions of all rows, as torch computes it."""
    mu, log_sigma = agent.actor(rows["state"])
    return torch.distributions.Normal(mu, log_sigma.exp(), validate_args=False).log_prob(rows["action"]).sum(dim=1)


@torch.no_grad()
def squared_error(agent: Any, rows: dict[str, Tensor]) -> float:
    """Return the mean squared error of the critic, for the value targets of all rows."""
    return float((agent.critic(rows["state"]).reshape(-1) - rows["value_target"].reshape(-1)).square().mean())


def is_finite(value: Any, count: int) -> bool:
    """Return whether something has so many numbers, all of them finite."""
    found = numbers(value)
    return found.size == count and bool(np.isfinite(found).all())


def rows_in(x: Any) -> int:
    """Return for how many rows a method of the process is called."""
    return 1 if np.ndim(to_plain(x[0])) < 2 else len(x[0])


def proper_episode(found: Any, memory: Any) -> bool:
    """Return whether `finish_episode` returned five tensors with a row for each step, the last three of one number each."""
    count = len(memory.rewards)
    return (
        isinstance(found, dict)
        and all(isinstance(found.get(name), Tensor) and len(found[name]) == count for name in KEYS)
        and all(is_finite(found[name], count) for name in KEYS[2:])
    )


# What each piece must return to be of use to the others, in words, and whether it has; `own` is the object of a method.
PIECES: dict[str, tuple[str, Callable[..., bool]]] = {
    "GeneralizedAdvantageEstimator": (
        "one finite number for each reward, [T]",
        lambda found, critic, state, reward, *others, **named: is_finite(found, len(reward)) and numbers(found).ndim == 1,
    ),
    "IndependentGaussianProcess.sample": (
        "a tensor of finite numbers with the shape of mu",
        lambda found, own, x: is_finite(found, np.size(to_plain(x[0]))),
    ),
    "IndependentGaussianProcess.get_dist": (
        "a tensor [B, 1] of finite numbers",
        lambda found, own, x: isinstance(found, Tensor) and is_finite(found, rows_in(x)),
    ),
    "IndependentGaussianProcess.entropy": (
        "a tensor [B, 1] of finite numbers",
        lambda found, own, x: isinstance(found, Tensor) and is_finite(found, found.numel()),
    ),
    "Actor.__init__": ("nothing", lambda found, *others, **named: True),
    "Actor.forward": (
        "mu and log_sigma, two tensors [B, n]",
        lambda found, own, state: len(found) == 2 and all(isinstance(one, Tensor) for one in found),
    ),
    "Critic.__init__": ("nothing", lambda found, *others, **named: True),
    "Critic.forward": (
        "a tensor [B, 1] of finite numbers",
        lambda found, own, state: isinstance(found, Tensor) and is_finite(found, len(state)),
    ),
    "EpisodeMemory.get_recent_state": (
        "a list of w observations",
        lambda found, own, observation: is_finite(list(found), own.window_length * np.size(observation)),
    ),
    "PPOAgent.forward": (
        "an array of finite numbers: [n], or [num_envs, n] for observations [num_envs, obs_dim]",
        lambda found, own, observation: (
            isinstance(found, np.ndarray) and found.ndim == np.ndim(observation) and is_finite(found, 2 * len(own.memories))
        ),
    ),
    "PPOAgent.backward": ("a dictionary", lambda found, *others, **named: found is None or isinstance(found, dict)),
    "PPOAgent.finish_episode": (
        "a dictionary of five tensors with one row per step; in the last three, a row is one finite number",
        lambda found, own, memory, final_state: proper_episode(found, memory),
    ),
    "PPOAgent.policy_loss": (
        "a tensor with one finite number",
        lambda found, own, batch: isinstance(found, Tensor) and is_finite(found, 1),
    ),
    "PPOAgent.value_loss": (
        "a tensor with one finite number",
        lambda found, own, batch: isinstance(found, Tensor) and is_finite(found, 1),
    ),
    "PPOAgent.update": ("a dictionary of two losses", lambda found, own: isinstance(found, dict)),
}


@contextlib.contextmanager
def watched_pieces(submitted, broken: list[str]) -> Iterator[None]:
    """Note of all pieces of a submission which one raises or returns nothing of use; only the first counts."""
    before: list[tuple[Any, str, Any, bool]] = []
    try:
        for name, (wanted, is_usable) in PIECES.items():
            owner, _, method = name.rpartition(".")
            place = getattr(submitted, owner) if owner else submitted
            function = getattr(place, method, None)
            if callable(function):
                before.append((place, method, function, method in vars(place)))
                setattr(place, method, watched(name.removesuffix(".__init__"), function, wanted, is_usable, broken))
        yield
    finally:
        for place, method, function, was_there in reversed(before):
            if was_there:
                setattr(place, method, function)
            else:
                delattr(place, method)


def watched(name: str, function: Callable, wanted: str, is_usable: Callable[..., bool], broken: list[str]) -> Callable:
    """Return a function that notes whether it raises or returns nothing of use."""

    def call(*given: Any, **named: Any) -> Any:
        try:
            found = function(*given, **named)
        except Exception as error:
            if not broken:
                broken.append(f"in your {name}: {described_error(error)}")
            raise
        usable = False
        with contextlib.suppress(Exception):
            usable = is_usable(found, *given, **named)
        if not usable and not broken:
            form = f" {list(np.shape(to_plain(found)))}" if isinstance(found, (np.ndarray, Tensor)) else ""
            finite = "" if not form or np.isfinite(to_plain(found)).all() else " with NaN or infinity"
            broken.append(f"in your {name}: it returns {describe_kind(found)}{form}{finite}; expected {wanted}")
        if not usable:
            raise ValueError(broken[0])
        return found

    return call


# Learning


class Push(gym.Env):
    """A tiny environment: a point in `d` dimensions that should move to the origin and stay there.

    A step adds the action to the position and clips it to [-2, 2]. The reward is minus the mean over the axes of the squared
    position. An episode starts uniformly in [-1, 1], has LENGTH steps, and is truncated. Zero actions return -1.3 on average.
    """

    LENGTH = 4

    def __init__(self, d: int) -> None:
        self.observation_space = gym.spaces.Box(-2.0, 2.0, (d,), np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (d,), np.float32)
        self.place, self.steps = np.zeros(d), 0

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.place, self.steps = self.np_random.uniform(-1.0, 1.0, self.place.shape), 0
        return self.place.astype(np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.place = moved(self.place, np.asarray(action, np.float64))
        self.steps += 1
        return self.place.astype(np.float32), -float((self.place**2).mean()), False, self.steps >= self.LENGTH, {}


def moved(place: np.ndarray, action: np.ndarray) -> np.ndarray:
    """Return the positions `[..., d]` of points after their actions `[..., d]`."""
    if action.shape != place.shape:
        raise ValueError(f"the environment was given an action of shape {list(action.shape)}, not {list(place.shape)}")
    return np.clip(place + np.clip(action, -1.0, 1.0), -2.0, 2.0)


class LearningActor(nn.Module):
    """A fake `Actor` of one layer, which learns in a few updates. At first, it pushes the point away from the origin."""

    def __init__(self, obs_dim: int, n: int, window_length: int = 1, *others: Any, **named: Any) -> None:
        nn.Module.__init__(self)
        self.mean = nn.Linear(window_length * obs_dim, n)
        self.log_sigma = nn.Parameter(torch.full((n,), -0.5))
        with torch.no_grad():
            self.mean.weight.zero_()
            self.mean.weight[:, -obs_dim:] = AWAY * torch.eye(n, obs_dim)  # of the newest observation
            self.mean.bias.zero_()

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        mu = self.mean(state.flatten(start_dim=1))
        return mu, self.log_sigma + torch.zeros_like(mu)


class LearningCritic(nn.Module):
    """A fake `Critic` of one layer, on the squares of the state."""

    def __init__(self, obs_dim: int, window_length: int = 1, *others: Any, **named: Any) -> None:
        nn.Module.__init__(self)
        self.value = nn.Linear(window_length * obs_dim, 1)

    def forward(self, state: Tensor) -> Tensor:
        return self.value(state.flatten(start_dim=1).square())


def learn(submitted, steps: int, seed: int, num_envs: int, d: int = 1, window_length: int = 1) -> dict:
    """Train your agent with tiny networks on `Push`; return the weights of its actor, and scores, which decide nothing."""
    torch.manual_seed(seed)
    np.random.seed(seed)
    tiny = {"Actor": LearningActor, "Critic": LearningCritic}
    with fake_names(submitted, {name: with_own_methods(submitted, name, stand_in) for name, stand_in in tiny.items()}):
        agent = submitted.PPOAgent(
            d,
            d,
            num_envs=num_envs,
            window_length=window_length,
            gamma=0.5,
            episodes_per_update=16,
            batch_size=64,
            learning_rate=0.1,
            seed=seed,
        )
        with contextlib.redirect_stdout(io.StringIO()):
            if num_envs == 1:
                scores = training.fit(agent, Push(d), steps, seed=seed)
            else:
                envs = gym.vector.SyncVectorEnv([lambda: Push(d)] * num_envs)
                scores = training.fit_vector(agent, envs, steps, seed=seed)
    weights = {"weight": to_plain(agent.actor.mean.weight), "bias": to_plain(agent.actor.mean.bias)}
    return {"weights": weights, "scores": [float(value) for value in scores]}


def play(submitted, weights: dict[str, np.ndarray]) -> dict:
    """Return the mean return on `Push` of an actor with these weights, which does not explore. Run without any submission."""
    weight, bias = (np.asarray(weights[name], np.float64) for name in ("weight", "bias"))
    d = len(bias)
    place = np.stack(np.meshgrid(*[STARTS] * d), axis=-1).reshape(-1, d)
    state = np.zeros((len(place), weight.shape[1]))  # a window, the newest observation last
    total = np.zeros(len(place))
    for _ in range(Push.LENGTH):
        state = np.concatenate((state[:, d:], place), axis=1)
        place = moved(place, state @ weight.T + bias)
        total -= (place**2).mean(axis=1)
    return {"mean return": float(total.mean())}
