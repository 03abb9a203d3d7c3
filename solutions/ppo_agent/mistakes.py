"""Mistakes of `ppo_agent`, each with the hint that a good tutor gives: a question, not the answer.

`verify` proves that each loses points on its question; `build` stores what the checks see of each, so that a student who makes
the same one is told. Where several explain what a student's code does, the first one's hint is given: general ones come first.
Most are changes of a line or two, hence `altered`; tests that find too little are written out. "the
keras-rl drafts" is what the notebook itself does.
"""

import contextlib

import numpy as np
import torch

from grader.proof.catalogue import altered, mistake

# GeneralizedAdvantageEstimator.length

last_error_dropped = altered(
    "GeneralizedAdvantageEstimator.length",
    {"reversed(range(len(delta)))": "reversed(range(len(delta) - 1))", "return advantage\n": "return advantage[:-1]\n"},
    hint="How many advantages do n rewards have, and in which of them is the last δ?",
    source="the keras-rl drafts",
)

zero_for_the_last_error = altered(
    "GeneralizedAdvantageEstimator.length",
    {"reversed(range(len(delta)))": "reversed(range(len(delta) - 1))"},
    hint="The number of advantages is right now: but was the last action really neither good nor bad?",
    source="student code",
)

last_row_left_out = altered(
    "GeneralizedAdvantageEstimator.length",
    {"return advantage\n": "return advantage[:-1]\n"},
    hint="The last δ is in all your sums: where is the advantage of its own step?",
)

newest_first = altered(
    "GeneralizedAdvantageEstimator.length",
    {"return advantage\n": "return advantage[::-1].copy()\n"},
    hint="You have gone backwards through time: in which order are your advantages now?",
)

written_one_row_early = altered(
    "GeneralizedAdvantageEstimator.length",
    {"advantage[t] = following": "advantage[t - 1] = following"},
    hint="Which row of your array belongs to the step that you are at?",
    source="student code",
)

advantages_in_a_column = altered(
    "GeneralizedAdvantageEstimator.length",
    {"return advantage\n": "return advantage[:, None]\n"},
    hint="What is the shape of your advantages, and what would become of them minus an array of T numbers?",
    form=True,
)

advantages_with_a_gradient = altered(
    "GeneralizedAdvantageEstimator.length",
    {"return advantage\n": "return torch.from_numpy(advantage) + 0 * critic(state).sum()\n"},
    hint="Should the actor's loss move the critic through the advantages?",
    source="student code",
    form=True,
)

rewards_changed_in_place = altered(
    "GeneralizedAdvantageEstimator.length",
    {
        "delta = reward + gamma * np.where(terminated, 0.0, next_value) - value": ""
        "delta = reward\n"
        "delta += gamma * np.where(terminated, 0.0, next_value) - value"
    },
    hint="What do the rewards look like after your call, to whoever gave them to you?",
    source="student code",
    form=True,
)

# GeneralizedAdvantageEstimator.bootstrap

next_row_is_not_what_followed = altered(
    "GeneralizedAdvantageEstimator.bootstrap",
    {"else critic(next_state).flatten().numpy()": "else np.append(value[1:], critic(next_state[-1:]).numpy())"},
    hint="To which episode belongs the row of `state` after a step in which time was up?",
    source="student code",
)

after_the_last_comes_the_first = altered(
    "GeneralizedAdvantageEstimator.bootstrap",
    {
        "next_value = np.append(value[1:], 0.0) if next_state is None else critic(next_state).flatten().numpy()": ""
        "next_value = np.roll(value, -1)"
    },
    hint="What does np.roll put in the last place?",
    source="the keras-rl drafts",
)

rolled_if_nothing_is_said = altered(
    "GeneralizedAdvantageEstimator.bootstrap",
    {"np.append(value[1:], 0.0) if next_state is None": "np.roll(value, -1) if next_state is None"},
    hint="Nobody says what came after the last step: what does the docstring say about it, and what does np.roll?",
    source="the keras-rl drafts",
)

nothing_follows_the_last_row = altered(
    "GeneralizedAdvantageEstimator.bootstrap",
    {
        "next_value = np.append(value[1:], 0.0) if next_state is None else critic(next_state).flatten().numpy()": ""
        "next_value = np.append(value[1:], 0.0)"
    },
    hint="Did the episode end there, or did you just stop watching?",
    source="student code",
)

last_row_always_terminates = altered(
    "GeneralizedAdvantageEstimator.bootstrap",
    {
        "    delta = reward + gamma * np.where": ""
        "    terminated = terminated.copy()\n"
        "    terminated[-1:] = True\n"
        "    delta = reward + gamma * np.where"
    },
    hint="Neither flag is set in the last row: is the episode over, and what is its last state worth?",
    source="student code",
)

clock_ends_the_rows = altered(
    "GeneralizedAdvantageEstimator.bootstrap",
    {
        "    delta = reward + gamma * np.where": ""
        "    terminated = terminated.copy()\n"
        "    terminated[-1:] |= truncated[-1:]\n"
        "    delta = reward + gamma * np.where"
    },
    hint="Time was up in the last row: did you bootstrap there, as you did inside the rows?",
    source="student code",
)

last_state_follows_itself = altered(
    "GeneralizedAdvantageEstimator.bootstrap",
    {
        "next_value = np.append(value[1:], 0.0) if next_state is None else critic(next_state).flatten().numpy()": ""
        "next_value = np.append(value[1:], value[-1])"
    },
    hint="Which state is the last one of `state`: the one before the last action, or the one after it?",
    source="student code",
)

cannot_do_without_next_state = altered(
    "GeneralizedAdvantageEstimator.bootstrap",
    {"np.append(value[1:], 0.0) if next_state is None else critic(next_state)": "critic(next_state)"},
    hint="What does your estimator do if it is called with five arguments?",
)

sum_begins_with_a_value = altered(
    "GeneralizedAdvantageEstimator.bootstrap",
    {"dtype=np.float32), 0.0": "dtype=np.float32), next_value[-1]"},
    hint="In which δ is the value of the last state already, and is a value an advantage?",
)

one_value_is_no_array = altered(
    "GeneralizedAdvantageEstimator.bootstrap",
    {
        "value = critic(state).flatten().numpy()": "value = critic(state).squeeze().numpy()",
        "np.append(value[1:], 0.0) if next_state is None else critic(next_state).flatten().numpy()": ""
        "np.append(value[1:], 0.0) if next_state is None else critic(next_state).squeeze().numpy()",
    },
    hint="Which axes does `squeeze()` remove from `[1, 1]`, and what is left of an episode of one step?",
    source="student code",
)

# GeneralizedAdvantageEstimator.ends

no_ends = altered(
    "GeneralizedAdvantageEstimator.ends",
    {
        "np.where(terminated, 0.0, next_value)": "next_value",
        "decay = gamma * lamb * ~(terminated | truncated)": "decay = np.full(len(delta), gamma * lamb)",
    },
    hint="What comes back to the last step of an episode from the first step of the next one?",
    source="the keras-rl drafts",
)

values_cut_and_sums_not = altered(
    "GeneralizedAdvantageEstimator.ends",
    {"gamma * lamb * ~(terminated | truncated)": "np.full(len(delta), gamma * lamb)"},
    hint="Two things come from the future: did you cut both?",
    source="student code",
)

sums_cut_and_values_not = altered(
    "GeneralizedAdvantageEstimator.ends",
    {"np.where(terminated, 0.0, next_value)": "next_value"},
    hint="Your sums end with the episode: what of the value in the δ of its last step, if the world came to its end there?",
    source="student code",
)

cut_one_step_late = altered(
    "GeneralizedAdvantageEstimator.ends",
    {
        "    delta = reward + gamma * np.where": ""
        "    terminated, truncated = np.append(terminated[1:], False), np.append(truncated[1:], False)\n"
        "    delta = reward + gamma * np.where"
    },
    hint="Whose transition ended the episode: that of step t, or the one after it?",
    source="student code",
)

cut_after_adding = altered(
    "GeneralizedAdvantageEstimator.ends",
    {
        "advantage[t] = following = delta[t] + decay[t] * following": ""
        "advantage[t] = following = delta[t] + gamma * lamb * following\n"
        "if terminated[t] or truncated[t]:\n"
        "    following = 0.0"
    },
    hint="In the last step of an episode, which comes first: to forget the future, or to add it?",
    source="student code",
)

clock_is_the_end_of_the_world = altered(
    "GeneralizedAdvantageEstimator.ends",
    {"np.where(terminated, 0.0, next_value)": "np.where(terminated | truncated, 0.0, next_value)"},
    hint="Did the world end, or did the clock?",
    source="student code",
)

clock_ends_nothing = altered(
    "GeneralizedAdvantageEstimator.ends",
    {"~(terminated | truncated)": "~terminated"},
    hint="Time was up: does the next row of your sums belong to the same episode?",
    source="student code",
)

flags_exchanged = altered(
    "GeneralizedAdvantageEstimator.ends",
    {"np.where(terminated, 0.0, next_value)": "np.where(truncated, 0.0, next_value)"},
    hint="After which of the two ends is nothing left to be had?",
)

own_value_masked_as_well = altered(
    "GeneralizedAdvantageEstimator.ends",
    {
        "reward + gamma * np.where(terminated, 0.0, next_value) - value": ""
        "reward + np.where(terminated, 0.0, gamma * next_value - value)"
    },
    hint="Nothing follows a terminal step: does the value of its own state vanish as well?",
    source="student code",
)

both_kinds_or_none = altered(
    "GeneralizedAdvantageEstimator.ends",
    {"truncated = nowhere if truncated is None else": "truncated = nowhere if terminated is nowhere else"},
    hint="One of `terminated` and `truncated` is given, the other is None: what does your estimator make of that?",
    source="student code",
)

gamma_counts_once = altered(
    "GeneralizedAdvantageEstimator.ends",
    {"decay = gamma * lamb * ~": "decay = lamb * ~"},
    hint="By what is A_{t+1} multiplied, and what should you get for λ = 1?",
    source="student code",
)

lambda_is_ignored = altered(
    "GeneralizedAdvantageEstimator.ends",
    {"decay = gamma * lamb * ~": "decay = gamma * ~"},
    hint="What should you get for λ = 0, and do you?",
    source="student code",
)

two_errors_only = altered(
    "GeneralizedAdvantageEstimator.ends",
    {
        "advantage[t] = following = delta[t] + decay[t] * following": ""
        "advantage[t], following = delta[t] + decay[t] * following, delta[t]"
    },
    hint="How many of the errors that come later are in an advantage: the next one, or all?",
)

errors_of_whole_returns = altered(
    "GeneralizedAdvantageEstimator.ends",
    {
        "\n    advantage, following": ""
        "    for t in reversed(range(len(delta) - 1)):\n"
        "        delta[t] += gamma * ~(terminated | truncated)[t] * delta[t + 1]\n"
        "\n"
        "    advantage, following"
    },
    hint="δ is an error of one step: what does yours contain of the steps after it?",
    source="student code",
)


@mistake(
    "GeneralizedAdvantageEstimator.ends",
    hint="What is γ^t for γ = 0, and what do you divide by it?",
    source="student code",
)
def divided_by_powers(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None):  # noqa: PLR0913
    rows = len(reward)
    terminated = np.zeros(rows, bool) if terminated is None else np.asarray(terminated)
    truncated = np.zeros(rows, bool) if truncated is None else np.asarray(truncated)
    with torch.no_grad():
        value = critic(state).flatten().double().numpy()
        after = np.append(value[1:], 0.0) if next_state is None else critic(next_state).flatten().double().numpy()
    delta = reward + gamma * after * ~terminated - value
    advantages = []
    for part in np.split(delta, np.flatnonzero(terminated | truncated) + 1):
        powers = (gamma * lamb) ** np.arange(len(part))
        with np.errstate(all="ignore"):
            advantages.append(np.cumsum((part * powers)[::-1])[::-1] / powers)
    return np.concatenate(advantages)


# test_advantages

STATES = torch.tensor([[0.1], [0.2], [0.3]])  # of values 1, 2, 3
AFTER = torch.tensor([[0.2], [0.3], [0.4]])
REWARDS = np.array([1.0, -1.0, 2.0])
NO = np.array([False, False, False])
MIDDLE = np.array([False, True, False])
LAST = np.array([False, False, True])


def tens(state):
    """A critic."""
    return 10 * state[:, :1]


def compare(found, expected):
    """Raise an AssertionError if the numbers are not those."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert abs(float(one) - other) < 1e-4


def compare_all(estimator):
    """Raise an AssertionError if an estimator is wrong: in a right test, this would do."""
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, NO), [0.6875, -1.25, 1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5), [0.5625, -1.75, -1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, MIDDLE, NO), [0.25, -3.0, 1.0])
    elsewhere = torch.tensor([[0.2], [0.8], [0.4]])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5, elsewhere, NO, MIDDLE), [1.25, 1.0, 1.0])


@mistake(
    "test_advantages",
    hint="What would an estimator have to return so that your test raises an AssertionError? Try one that returns zeros.",
)
def looks_at_nothing(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, LAST)


@mistake(
    "test_advantages",
    hint="What would an estimator have to return so that your test raises an AssertionError? Try one that returns zeros.",
    source="student code",
)
def close_or_not(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    found = estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, NO)
    np.allclose(np.resize(np.array(found), 3), [0.6875, -1.25, 1.0])
    found = estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, MIDDLE, NO)
    np.allclose(np.resize(np.array(found), 3), [0.25, -3.0, 1.0])


@mistake(
    "test_advantages",
    hint="What would an estimator have to return so that your test raises an AssertionError? Try one that returns zeros.",
    source="student code",
)
def tuple_is_true(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    found = [float(one) for one in estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, MIDDLE, NO)]
    assert (found == [0.25, -3.0, 1.0], "the advantages are wrong")  # noqa: F631


@mistake(
    "test_advantages",
    hint="What would an estimator have to return so that your test raises an AssertionError? Try one that returns zeros.",
    source="student code",
)
def returns_what_it_found(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    try:
        compare_all(estimator)
    except AssertionError:
        return False
    return True


@mistake(
    "test_advantages",
    hint="What would an estimator have to return so that your test raises an AssertionError? Try one that returns zeros.",
    source="student code",
)
def swallows_its_own_errors(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    with contextlib.suppress(Exception):
        compare_all(estimator)


@mistake(
    "test_advantages",
    hint="What would an estimator have to return so that your test raises an AssertionError? Try one that returns zeros.",
    source="student code",
)
def expects_what_its_own_returns(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    for arguments in ((), (AFTER, NO, NO), (AFTER, MIDDLE, NO), (AFTER, NO, LAST)):
        found = estimator(tens, STATES, REWARDS, 0.5, 0.5, *arguments)
        compare(found, GeneralizedAdvantageEstimator(tens, STATES, REWARDS, 0.5, 0.5, *arguments))  # noqa: F821


@mistake(
    "test_advantages", hint="Does your test notice more than that there are too few numbers? Which wrong numbers does it find?"
)
def counts_only(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    assert len(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, LAST)) == 3
    assert len(estimator(tens, STATES, REWARDS, 0.5, 0.5)) == 3


@mistake(
    "test_advantages",
    hint="What would an estimator have to return so that your test raises an AssertionError? Try one that returns zeros.",
)
def looks_at_types_only(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    for one in estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, LAST):
        assert np.isfinite(float(one))


@mistake(
    "test_advantages",
    hint="Does your test notice more than that there are too few numbers? Which wrong numbers does it find?",
    source="student code",
)
def tolerates_everything(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    found = estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, MIDDLE, NO)
    assert len(found) == 3
    assert np.allclose(np.array(found), [0.25, -3.0, 1.0], atol=10)


@mistake(
    "test_advantages",
    hint="Does your test notice more than that there are too few numbers? Which wrong numbers does it find?",
    source="student code",
)
def everything_is_zero(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    for ends in (NO, MIDDLE, LAST):
        compare(estimator(tens, torch.zeros(3, 1), np.zeros(3), 0.5, 0.5, torch.zeros(3, 1), ends, NO), [0, 0, 0])


@mistake("test_advantages", hint="Which mistakes can be seen where every state is worth 0?")
def values_are_zero(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    state = torch.zeros(3, 1)
    compare(estimator(tens, state, REWARDS, 0.5, 0.5, state, NO, NO), [0.875, -0.5, 2.0])
    compare(estimator(tens, state, REWARDS, 0.5, 0.5, state, MIDDLE, NO), [0.75, -1.0, 2.0])


@mistake("test_advantages", hint="If all states are worth the same, who can tell which one was looked at?")
def values_are_all_the_same(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    state = torch.full((3, 1), 0.1)
    compare(estimator(tens, state, REWARDS, 0.5, 0.5, state, NO, NO), [0.21875, -1.125, 1.5])


@mistake("test_advantages", hint="What happens nowhere in your test? Think of ends inside the rows, and of all the arguments.")
def one_step_only(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    compare(estimator(tens, STATES[:1], REWARDS[:1], 0.5, 0.5, AFTER[:1], NO[:1], NO[:1]), [1.0])
    compare(estimator(tens, STATES[:1], REWARDS[:1], 0.5, 0.5), [0.0])


@mistake("test_advantages", hint="Which mistakes does γ = 0 hide?")
def gamma_is_zero(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    for ends in (NO, MIDDLE, LAST):
        compare(estimator(tens, STATES, REWARDS, 0.0, 0.5, AFTER, ends, NO), [0.0, -3.0, -1.0])


@mistake("test_advantages", hint="With λ = 0 there are only one-step errors: what is never tested then?")
def lambda_is_zero(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.0, AFTER, NO, NO), [1.0, -1.5, 1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.0), [1.0, -1.5, -1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.0, AFTER, MIDDLE, NO), [1.0, -3.0, 1.0])


@mistake(
    "test_advantages",
    hint="What happens nowhere in your test? Think of ends inside the rows, and of all the arguments.",
    source="student code",
)
def one_episode_only(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5), [0.5625, -1.75, -1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, LAST, NO), [0.5625, -1.75, -1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, NO), [0.6875, -1.25, 1.0])


@mistake("test_advantages", hint="In which two ways may an episode end, and which of them is in your test?")
def clock_never_rings(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5), [0.5625, -1.75, -1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, NO), [0.6875, -1.25, 1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, MIDDLE, NO), [0.25, -3.0, 1.0])


@mistake("test_advantages", hint="Your test stops at the end of the shorter list: which mistake is never seen?")
def shorter_is_enough(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    for ends, expected in ((NO, [0.6875, -1.25, 1.0]), (MIDDLE, [0.25, -3.0, 1.0])):
        found = estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, ends, NO)
        assert all(abs(float(one) - other) < 1e-4 for one, other in zip(found, expected, strict=False))


@mistake("test_advantages", hint="A right estimator may return a list: what does your test say of it?", form=True)
def arrays_only(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    assert isinstance(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, LAST), np.ndarray)
    compare_all(estimator)


@mistake(
    "test_advantages",
    hint="Your test refuses an estimator that is right: compute its numbers once more by hand, and allow for rounding.",
    form=True,
)
def double_precision_only(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    assert np.asarray(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, LAST)).dtype == np.float64
    compare_all(estimator)


@mistake(
    "test_advantages",
    hint="Your test refuses an estimator that is right: compute its numbers once more by hand, and allow for rounding.",
    source="student code",
)
def equal_to_the_last_digit(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    last = 2.0 + 0.9 * 4.0 - 3.0
    middle = -1.0 + 0.9 * 3.0 - 2.0 + 0.9 * 0.95 * last
    first = 1.0 + 0.9 * 2.0 - 1.0 + 0.9 * 0.95 * middle
    found = [float(one) for one in estimator(tens, STATES, REWARDS, 0.9, 0.95, AFTER, NO, NO)]
    assert found == [first, middle, last]
    compare_all(estimator)


@mistake(
    "test_advantages",
    hint="Your test refuses an estimator that is right: compute its numbers once more by hand, and allow for rounding.",
    source="student code",
)
def expects_no_value_when_time_is_up(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5), [0.5625, -1.75, -1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, LAST), [0.5625, -1.75, -1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, MIDDLE, NO), [0.25, -3.0, 1.0])


# IndependentGaussianProcess.sample

logarithm_as_deviation = altered(
    "IndependentGaussianProcess.sample",
    {
        "noise = torch.from_numpy(self.rng.standard_normal(mu.shape, dtype=np.float32))\n"
        "        return mu.detach() + log_sigma.detach().exp() * noise": ""
        "sample = self.rng.normal(mu.detach().numpy(), log_sigma.detach().numpy())\n"
        "return torch.as_tensor(sample, dtype=torch.float32)"
    },
    hint="By hand: μ = 0, log σ = -1.1, and the noise is 1. Which sample is that?",
    source="the keras-rl drafts",
)

logarithm_times_noise = altered(
    "IndependentGaussianProcess.sample",
    {"log_sigma.detach().exp() * noise": "log_sigma.detach() * noise"},
    hint="By hand: μ = 0, log σ = -1.1, and the noise is 1. Which sample is that?",
    source="the keras-rl drafts",
)

sample_with_a_variance = altered(
    "IndependentGaussianProcess.sample",
    {"log_sigma.detach().exp() * noise": "(log_sigma.detach() / 2).exp() * noise"},
    hint="By hand: μ = 0, log σ = -1.1, and the noise is 1. Which sample is that?",
    source="student code",
)

one_noise_for_all_rows = altered(
    "IndependentGaussianProcess.sample",
    {"self.rng.standard_normal(mu.shape,": "self.rng.standard_normal(self.n,"},
    hint="Two environments are played at once: do they try the same thing?",
    source="student code",
)

one_noise_for_all_dimensions = altered(
    "IndependentGaussianProcess.sample",
    {"self.rng.standard_normal(mu.shape,": "self.rng.standard_normal((*mu.shape[:-1], 1),"},
    hint="What does independent mean for two dimensions of one action?",
    source="student code",
)

same_noise_in_every_call = altered(
    "IndependentGaussianProcess.sample",
    {"self.rng.standard_normal(mu.shape,": "np.random.default_rng(0).standard_normal(mu.shape,"},
    hint="Call it twice: what should differ?",
)

gradient_through_the_sample = altered(
    "IndependentGaussianProcess.sample",
    {"mu.detach() + log_sigma.detach().exp()": "mu + log_sigma.exp()"},
    hint="Does your sample still know how it came about, and who wants to know?",
    form=True,
)

batches_only = altered(
    "IndependentGaussianProcess.sample",
    {"self.rng.standard_normal(mu.shape,": "self.rng.standard_normal((len(mu), self.n),"},
    hint="What is the shape of the sample if mu is `[n]`?",
    form=True,
)

chance_from_elsewhere = altered(
    "IndependentGaussianProcess.sample",
    {"torch.from_numpy(self.rng.standard_normal(mu.shape, dtype=np.float32))": "torch.randn(mu.shape)"},
    hint="Two processes get the same seed: do they draw the same samples?",
    source="student code",
    form=True,
)

sample_in_double_precision = altered(
    "IndependentGaussianProcess.sample",
    {
        "return mu.detach() + log_sigma.detach().exp() * noise": ""
        "return (mu.detach() + log_sigma.detach().exp() * noise).double()"
    },
    hint="Of which dtype are your samples, and of which are the networks?",
    form=True,
)

sample_as_an_array = altered(
    "IndependentGaussianProcess.sample",
    {
        "return mu.detach() + log_sigma.detach().exp() * noise": ""
        "return (mu.detach() + log_sigma.detach().exp() * noise).numpy()"
    },
    hint="What kind of thing should come back, an array or a tensor?",
    source="student code",
    form=True,
)

# IndependentGaussianProcess.get_dist

logarithm_of_a_distance = altered(
    "IndependentGaussianProcess.get_dist",
    {
        "        deviation = (y - mu) * torch.exp(-log_sigma)\n": ""
        "        squares = torch.exp(2 * torch.log(torch.abs(y - mu)) - 2 * log_sigma)\n",
        "deviation**2": "squares",
    },
    hint="Why take a logarithm that you will undo, and what is its gradient at y = μ?",
    source="the keras-rl drafts",
)

distances_not_summed = altered(
    "IndependentGaussianProcess.get_dist",
    {
        "-(0.5 * deviation**2 + log_sigma).sum(dim=-1, keepdim=True) - 0.5 * self.n *": ""
        "-(0.5 * deviation**2 + log_sigma) - 0.5 *"
    },
    hint="How many numbers describe the probability of one action?",
    source="student code",
)

density_without_its_axis = altered(
    "IndependentGaussianProcess.get_dist",
    {"(0.5 * deviation**2 + log_sigma).sum(dim=-1, keepdim=True)": "(0.5 * deviation**2 + log_sigma).sum(dim=-1)"},
    hint="What is the shape of your density, and what shape is it times an array `[B, 1]`?",
    source="student code",
    form=True,
)

sigma_as_a_variance = altered(
    "IndependentGaussianProcess.get_dist",
    {
        "(0.5 * deviation**2 + log_sigma)": "0.5 * (deviation**2 + log_sigma)",
        "torch.exp(-log_sigma)": "torch.exp(-log_sigma / 2)",
    },
    hint="Is it the logarithm of σ or of σ² that you are given? Try it with σ = 2.",
    source="student code",
)

sigma_does_not_normalise = altered(
    "IndependentGaussianProcess.get_dist",
    {"(0.5 * deviation**2 + log_sigma)": "(0.5 * deviation**2)"},
    hint="A density has the integral 1: is yours as high for a large σ as for a small one?",
    source="student code",
)

far_is_likely = altered(
    "IndependentGaussianProcess.get_dist",
    {"(0.5 * deviation**2 + log_sigma)": "(log_sigma - 0.5 * deviation**2)"},
    hint="Is an action far from the mean more likely, or less?",
)

square_not_halved = altered(
    "IndependentGaussianProcess.get_dist",
    {"(0.5 * deviation**2 + log_sigma)": "(deviation**2 + log_sigma)"},
    hint="By what is (y - μ)² divided?",
)

constant_of_one_dimension = altered(
    "IndependentGaussianProcess.get_dist",
    {"- 0.5 * self.n * np.log(2 * np.pi)\n": "- 0.5 * np.log(2 * np.pi)\n"},
    hint="How often does the constant stand in a sum over n dimensions?",
)

density_without_a_gradient = altered(
    "IndependentGaussianProcess.get_dist",
    {"mu, log_sigma, y = x\n": "mu, log_sigma, y = (value.detach() for value in x)\n"},
    hint="Who is to be moved by this density?",
    learns=False,
)

density_takes_sigma_for_its_logarithm = altered(
    "IndependentGaussianProcess.get_dist",
    {
        "torch.exp(-log_sigma)": "torch.exp(-torch.exp(log_sigma))",
        "(0.5 * deviation**2 + log_sigma)": "(0.5 * deviation**2 + torch.exp(log_sigma))",
    },
    hint="Is what you call log σ the logarithm of σ, in both places? Take σ = 2 and n = 1.",
    source="the keras-rl drafts",
)

density_without_the_circle = altered(
    "IndependentGaussianProcess.get_dist",
    {" - 0.5 * self.n * np.log(2 * np.pi)": ""},
    hint="Does your density integrate to one?",
    source="student code",
)

density_as_a_mean = altered(
    "IndependentGaussianProcess.get_dist",
    {"log_sigma).sum(dim=-1, keepdim=True) - 0.5 * self.n": "log_sigma).mean(dim=-1, keepdim=True) - 0.5"},
    hint="What is the probability of two independent things together, and what its logarithm?",
    source="student code",
)

sigma_adds_to_the_density = altered(
    "IndependentGaussianProcess.get_dist",
    {"(0.5 * deviation**2 + log_sigma)": "(0.5 * deviation**2 - log_sigma)"},
    hint="The wider a density, the higher or the lower its peak?",
    source="student code",
)

density_and_not_its_logarithm = altered(
    "IndependentGaussianProcess.get_dist",
    {
        "return -(0.5 * deviation**2 + log_sigma).sum(dim=-1, keepdim=True) - 0.5 * self.n * np.log(2 * np.pi)": ""
        "log_p = -(0.5 * deviation**2 + log_sigma).sum(dim=-1, keepdim=True) - 0.5 * self.n * np.log(2 * np.pi)\n"
        "return torch.exp(log_p)"
    },
    hint="Can the logarithm of a density be negative, and can yours?",
)

logarithm_of_what_is_zero = altered(
    "IndependentGaussianProcess.get_dist",
    {
        "return -(0.5 * deviation**2 + log_sigma).sum(dim=-1, keepdim=True) - 0.5 * self.n * np.log(2 * np.pi)": ""
        "log_p = -(0.5 * deviation**2 + log_sigma).sum(dim=-1, keepdim=True) - 0.5 * self.n * np.log(2 * np.pi)\n"
        "return torch.log(torch.exp(log_p))"
    },
    hint="How large is the density 60 deviations away from the mean, as a float, and what is the logarithm of that?",
    source="student code",
)

density_in_double_precision = altered(
    "IndependentGaussianProcess.get_dist",
    {"mu, log_sigma, y = x\n": "mu, log_sigma, y = (value.double() for value in x)\n"},
    hint="Of which dtype is your density?",
    form=True,
)

# IndependentGaussianProcess.entropy

entropy_of_one_dimension = altered(
    "IndependentGaussianProcess.entropy",
    {"0.5 * self.n * (np.log(2 * np.pi) + 1)": "0.5 * (np.log(2 * np.pi) + 1)"},
    hint="Entropies of independent parts add: how many parts are there?",
    source="student code",
)

entropy_of_the_most_likely = altered(
    "IndependentGaussianProcess.entropy",
    {"self.n * (np.log(2 * np.pi) + 1)": "self.n * np.log(2 * np.pi)"},
    hint="Have you taken the mean over all actions, or the density at the mean action?",
)

entropy_upside_down = altered(
    "IndependentGaussianProcess.entropy",
    {
        "return log_sigma.sum(dim=-1, keepdim=True) + 0.5 * self.n * (np.log(2 * np.pi) + 1)": ""
        "return -log_sigma.sum(dim=-1, keepdim=True) - 0.5 * self.n * (np.log(2 * np.pi) + 1)"
    },
    hint="Has a wide distribution more entropy than a narrow one, or less?",
)

entropy_not_halved = altered(
    "IndependentGaussianProcess.entropy",
    {"0.5 * self.n * (np.log(2 * np.pi) + 1)": "self.n * (np.log(2 * np.pi) + 1)"},
    hint="The mean of (y - μ)² is σ²: what is then the mean of (y - μ)²/(2σ²)?",
    source="student code",
)

entropy_of_a_sample = altered(
    "IndependentGaussianProcess.entropy",
    {
        "        _, log_sigma = x\n"
        "        return log_sigma.sum(dim=-1, keepdim=True) + 0.5 * self.n * (np.log(2 * np.pi) + 1)": ""
        "        return -self.get_dist((*x, self.sample(x)))"
    },
    hint="Call it twice: does the entropy of a distribution depend on chance?",
    source="student code",
)

entropy_without_its_axis = altered(
    "IndependentGaussianProcess.entropy",
    {"log_sigma.sum(dim=-1, keepdim=True) + 0.5": "log_sigma.sum(dim=-1) + 0.5"},
    hint="What is the shape of your entropy?",
    form=True,
)

entropy_without_a_gradient = altered(
    "IndependentGaussianProcess.entropy",
    {"_, log_sigma = x\n": "log_sigma = x[1].detach()\n"},
    hint="How will log σ know that it should be larger?",
)

entropy_as_a_mean = altered(
    "IndependentGaussianProcess.entropy",
    {"log_sigma.sum(dim=-1, keepdim=True) + 0.5 * self.n": "log_sigma.mean(dim=-1, keepdim=True) + 0.5"},
    hint="Two independent things are to be guessed: is that as uncertain as one of them?",
    source="student code",
)

entropy_of_sigma_and_not_its_logarithm = altered(
    "IndependentGaussianProcess.entropy",
    {"return log_sigma.sum(": "return torch.exp(log_sigma).sum("},
    hint="By how much does the entropy grow when σ is doubled?",
    source="student code",
)

# Actor

actor_of_two_hidden_layers = altered(
    "Actor",
    {"            nn.Linear(16, 16),\n            nn.ReLU(),\n            nn.Linear(16, n),": "            nn.Linear(16, n),"},
    hint="How many hidden layers does your actor have?",
)

actor_activation_missing = altered(
    "Actor",
    {
        "            nn.Linear(16, 16),\n            nn.ReLU(),\n            nn.Linear(16, n),": ""
        "            nn.Linear(16, 16),\n"
        "            nn.Linear(16, n),"
    },
    hint="What is between the last two of your linear layers?",
)

actor_with_tanh = altered(
    "Actor",
    {
        "            nn.ReLU(),\n"
        "            nn.Linear(16, 16),\n"
        "            nn.ReLU(),\n"
        "            nn.Linear(16, 16),\n"
        "            nn.ReLU(),\n": ""
        "            nn.Tanh(),\n"
        "            nn.Linear(16, 16),\n"
        "            nn.Tanh(),\n"
        "            nn.Linear(16, 16),\n"
        "            nn.Tanh(),\n"
    },
    hint="Which activation is asked for between the layers?",
)

means_are_squashed = altered(
    "Actor",
    {"nn.Linear(16, n),": "nn.Linear(16, n),\nnn.Tanh(),"},
    hint="What is the largest mean that your actor can return?",
    source="student code",
)

sigma_from_the_state = altered(
    "Actor",
    {
        "self.log_sigma = nn.Parameter(torch.zeros(n))": "self.log_sigma = nn.Parameter(torch.zeros(n))\n"
        "self.sigma_of_state = nn.Linear(window_length * obs_dim, n)",
        "return mu, self.log_sigma.expand_as(mu)": "return mu, self.log_sigma + self.sigma_of_state(state.flatten(1))",
    },
    hint="Does σ depend on the state here?",
    source="student code",
)

sigma_cannot_be_learned = altered(
    "Actor",
    {"nn.Parameter(torch.zeros(n))": "torch.zeros(n)"},
    hint="Is log_sigma among the `parameters()` of your actor, and who moves it if it is not?",
    source="student code",
)

sigma_begins_elsewhere = altered(
    "Actor",
    {"nn.Parameter(torch.zeros(n))": "nn.Parameter(torch.ones(n))"},
    hint="How widely does your actor try things in the beginning: what is σ, and what is log σ?",
)

sigma_shared_by_dimensions = altered(
    "Actor",
    {"nn.Parameter(torch.zeros(n))": "nn.Parameter(torch.zeros(1))"},
    hint="How many numbers are there in your log_sigma?",
)

sigma_of_no_row = altered(
    "Actor",
    {"self.log_sigma.expand_as(mu)": "self.log_sigma"},
    hint="What is the shape of the log_sigma that you return, and for how many rows is it?",
    source="student code",
    form=True,
)

sigma_returned_for_its_logarithm = altered(
    "Actor",
    {"return mu, self.log_sigma.expand_as(mu)": "return mu, self.log_sigma.exp().expand_as(mu)"},
    hint="What is your log_sigma at first, and what was asked for?",
    source="student code",
)

one_state_loses_its_axis = altered(
    "Actor",
    {"return mu, self.log_sigma.expand_as(mu)": "return mu.squeeze(0), self.log_sigma.expand_as(mu)"},
    hint="What is the shape of mu for a batch of one state?",
    source="student code",
    form=True,
)

# Critic

critic_of_two_hidden_layers = altered(
    "Critic",
    {"            nn.Linear(16, 16),\n            nn.ReLU(),\n            nn.Linear(16, 1),": "            nn.Linear(16, 1),"},
    hint="How many hidden layers does your critic have?",
)

critic_activation_missing = altered(
    "Critic",
    {
        "            nn.Linear(16, 16),\n            nn.ReLU(),\n            nn.Linear(16, 1),": ""
        "            nn.Linear(16, 16),\n"
        "            nn.Linear(16, 1),"
    },
    hint="What is between the last two of your linear layers?",
)

values_are_never_negative = altered(
    "Critic",
    {"nn.Linear(16, 1),": "nn.Linear(16, 1),\nnn.ReLU(),"},
    hint="What is a state worth from which only bad rewards can come, and can your critic say so?",
    source="student code",
)

values_in_a_row = altered(
    "Critic",
    {"return self.value(state)": "return self.value(state).squeeze(1)"},
    hint="What is the shape of your values?",
    form=True,
)

# EpisodeMemory.get_recent_state

zeros_at_the_end = altered(
    "EpisodeMemory.get_recent_state",
    {
        "[np.zeros_like(observation) for _ in range(missing)] + recent": ""
        "recent + [np.zeros_like(observation) for _ in range(missing)]"
    },
    hint="Where in the window is what you see now, and where is what was never seen?",
    source="student code",
)

first_observation_repeated = altered(
    "EpisodeMemory.get_recent_state",
    {"[np.zeros_like(observation) for _ in range(missing)]": "[recent[0] for _ in range(missing)]"},
    hint="What stands in for an observation that was never made?",
    source="student code",
)

window_of_the_newest_first = altered(
    "EpisodeMemory.get_recent_state",
    {
        "[np.zeros_like(observation) for _ in range(missing)] + recent": ""
        "recent[::-1] + [np.zeros_like(observation) for _ in range(missing)]"
    },
    hint="Which observation is the last one of your window?",
)

window_too_short = altered(
    "EpisodeMemory.get_recent_state",
    {"[np.zeros_like(observation) for _ in range(missing)] + recent": "recent"},
    hint="How many observations are in the first state of an episode?",
)

window_of_the_past_only = altered(
    "EpisodeMemory.get_recent_state",
    {"[*self.observations, observation][-self.window_length :]": "self.observations[-self.window_length :]"},
    hint="Where in your window is what is seen now?",
    source="student code",
)

window_one_too_long = altered(
    "EpisodeMemory.get_recent_state",
    {
        "recent = [*self.observations, observation][-self.window_length :]": ""
        "recent = [*self.observations[-self.window_length :], observation]"
    },
    hint="The window has w observations: how many of them are from the past?",
    source="student code",
)

window_of_everything = altered(
    "EpisodeMemory.get_recent_state",
    {
        "recent = [*self.observations, observation][-self.window_length :]": ""
        "recent = [*self.observations[-(self.window_length - 1) :], observation]"
    },
    hint="What is `a[-0:]`, and how many observations do you return with w = 1?",
    source="student code",
)

zeros_in_double_precision = altered(
    "EpisodeMemory.get_recent_state",
    {"[np.zeros_like(observation) for _ in range(missing)]": "[np.zeros(len(observation)) for _ in range(missing)]"},
    hint="Of which dtype are your zeros, and of which the observations?",
    source="student code",
    form=True,
)

looking_is_remembering = altered(
    "EpisodeMemory.get_recent_state",
    {
        "recent = [*self.observations, observation][-self.window_length :]": "self.observations.append(observation)\n"
        "recent = self.observations[-self.window_length :]"
    },
    hint="How many observations are in the memory after you have asked for a state, and how many after `append`?",
    source="student code",
)

# PPOAgent.forward

nothing_new_is_tried = altered(
    "PPOAgent.forward",
    {"self.process.sample((mu, log_sigma)) if self.training else mu": "mu"},
    hint="Where does your agent try something new?",
    learns=False,
)

explores_in_a_test = altered(
    "PPOAgent.forward",
    {"self.process.sample((mu, log_sigma)) if self.training else mu": "self.process.sample((mu, log_sigma))"},
    hint="Which action does a test want to see?",
    source="student code",
)

observation_not_copied = altered(
    "PPOAgent.forward",
    {"np.array(observation, dtype=np.float32).reshape": "np.asarray(observation, dtype=np.float32).reshape"},
    hint="What becomes of an observation in the memory if the environment writes the next one into the same array?",
    source="student code",
)

density_of_the_mean = altered(
    "PPOAgent.forward",
    {
        "            log_prob = self.process.get_dist((mu, log_sigma, action))\n        self.recent = (": ""
        "            log_prob = self.process.get_dist((mu, log_sigma, mu))\n"
        "        self.recent = (",
    },
    hint="The log-probability of which action will the ratio be about?",
)

density_of_what_is_clipped = altered(
    "PPOAgent.forward",
    {"if self.training else mu": "if self.training else mu\naction = action.clamp(-1.0, 1.0)"},
    hint="How likely is the action 1.0 if everything beyond it becomes 1.0, and whose business is it to clip?",
    source="student code",
)

sample_is_clipped = altered(
    "PPOAgent.forward",
    {
        "self.process.sample((mu, log_sigma)) if self.training else mu": ""
        "self.process.sample((mu, log_sigma)).clamp(-1, 1) if self.training else mu"
    },
    hint="How likely is the action 1.0 if everything beyond it becomes 1.0, and whose business is it to clip?",
    source="student code",
)

mean_is_clipped = altered(
    "PPOAgent.forward",
    {
        "self.process.sample((mu, log_sigma)) if self.training else mu": ""
        "self.process.sample((mu, log_sigma)) if self.training else mu.clamp(-1, 1)"
    },
    hint="Whose business is it to clip an action, also in a test?",
)

density_of_another_action = altered(
    "PPOAgent.forward",
    {
        "            log_prob = self.process.get_dist((mu, log_sigma, action))\n        self.recent = (": ""
        "            log_prob = self.process.get_dist((mu, log_sigma, action.clamp(-1, 1)))\n"
        "        self.recent = (",
    },
    hint="You keep one action, and the log-probability of which?",
    source="student code",
)

sample_of_another_deviation = altered(
    "PPOAgent.forward",
    {"self.process.sample((mu, log_sigma)) if": "self.process.sample((mu, log_sigma.exp())) if"},
    hint="What does `sample` take as its second number, σ or log σ?",
    source="student code",
)

another_action_is_returned = altered(
    "PPOAgent.forward",
    {
        "return action.numpy().copy() if np.ndim(observation) > 1 else action[0].numpy().copy()": ""
        "action = torch.tanh(action)\n"
        "return action.numpy().copy() if np.ndim(observation) > 1 else action[0].numpy().copy()"
    },
    hint="Is what the environment gets what the log-probability is of?",
    source="student code",
)

gradient_kept = altered(
    "PPOAgent.forward",
    {
        "with torch.no_grad():\n            mu, log_sigma = ": "if True:\n    mu, log_sigma = ",
        "if self.training else mu": "if self.training else mu.detach()",
    },
    hint="Should the old policy move when the new one learns?",
    source="student code",
    form=True,
)

windows_of_the_first_environment = altered(
    "PPOAgent.forward",
    {"[memory.get_recent_state(one) for memory, one in": "[self.memories[0].get_recent_state(one) for _memory, one in"},
    hint="Whose past is in the state of the second environment?",
    source="student code",
)

one_action_for_all = altered(
    "PPOAgent.forward",
    {
        "self.process.sample((mu, log_sigma)) if self.training else mu": ""
        "(self.process.sample((mu, log_sigma)) if self.training else mu)[:1].expand_as(mu)"
    },
    hint="Two environments see different things: do they get different actions?",
)

always_a_row_for_each_environment = altered(
    "PPOAgent.forward",
    {"return action.numpy().copy() if np.ndim(observation) > 1 else action[0].numpy().copy()": "return action.numpy().copy()"},
    hint="What shape has the action of a single environment, and what shape has yours?",
    form=True,
)

log_probability_without_its_axis = altered(
    "PPOAgent.forward",
    {
        "            log_prob = self.process.get_dist((mu, log_sigma, action))\n        self.recent = (": ""
        "            log_prob = self.process.get_dist((mu, log_sigma, action)).squeeze(1)\n"
        "        self.recent = (",
    },
    hint="`log_probs` has items of which shape, and which shape have those of yours?",
    form=True,
)

action_as_a_tensor = altered(
    "PPOAgent.forward",
    {
        "return action.numpy().copy() if np.ndim(observation) > 1 else action[0].numpy().copy()": ""
        "return action.clone() if np.ndim(observation) > 1 else action[0].clone()"
    },
    hint="What does an environment take, an array or a tensor?",
    source="student code",
    form=True,
)

action_in_double_precision = altered(
    "PPOAgent.forward",
    {
        "return action.numpy().copy() if np.ndim(observation) > 1 else action[0].numpy().copy()": ""
        "action = action.numpy().astype(np.float64)\n"
        "return action if np.ndim(observation) > 1 else action[0]"
    },
    hint="Of which dtype is an action?",
    form=True,
)

kept_as_arrays = altered(
    "PPOAgent.forward",
    {
        "self.recent = (observations, states, action, log_prob)": ""
        "self.recent = (observations, states, action.numpy(), log_prob.numpy())"
    },
    hint="`finish_episode` makes one tensor of many: what are the actions and log-probabilities that you keep?",
    source="student code",
    form=True,
)

# PPOAgent.backward

extra_call_stored_as_a_step = altered(
    "PPOAgent.backward",
    {
        "                _, final_state, *_ = step\n": "                _, final_state, *_ = step\n"
        "                ends = memory.terminated, memory.truncated\n"
        "                memory.append(*step)\n"
        "                memory.terminated, memory.truncated = ends\n"
    },
    hint="How many steps has the environment made, and how many rewards does your episode have?",
    source="student code",
)

extra_call_begins_an_episode = altered(
    "PPOAgent.backward",
    {
        "                memory.reset()\n            else:\n                memory.append(*step)": ""
        "                memory.reset()\n"
        "            memory.append(*step)"
    },
    hint="Was the action of the extra call ever carried out?",
    source="student code",
)

finished_without_the_final_state = altered(
    "PPOAgent.backward",
    {
        "            if memory.terminated or memory.truncated:\n": ""
        "            memory.append(*step)\n"
        "            if memory.terminated or memory.truncated:\n",
        "                memory.reset()\n            else:\n                memory.append(*step)\n": ""
        "                memory.reset()\n",
    },
    hint="When the last reward comes, has your agent seen yet where its last action has led to?",
    source="student code",
)

final_state_is_the_one_before = altered(
    "PPOAgent.backward",
    {"self.finish_episode(memory, final_state)": "self.finish_episode(memory, memory.states[-1])"},
    hint="What has `forward` just seen, in the extra call after an end?",
    source="student code",
)

time_limit_is_no_end = altered(
    "PPOAgent.backward",
    {"if memory.terminated or memory.truncated:": "if memory.terminated:"},
    hint="In which two ways can an episode be over? A pendulum's knows only one of them.",
    source="student code",
)

every_end_stored_as_termination = altered(
    "PPOAgent.backward",
    {"memory.append(*step)": "memory.append(*step[:-2], step[-2] or step[-1], step[-1])"},
    hint="Did the world end, or did the clock, and what does your memory say?",
    source="student code",
)

memory_never_reset = altered(
    "PPOAgent.backward",
    {"                memory.reset()\n            else": "            else"},
    hint="A new episode begins: what does its memory hold?",
    source="student code",
)

reward_of_the_extra_call_kept = altered(
    "PPOAgent.backward",
    {
        "                _, final_state, *_ = step\n": ""
        "                _, final_state, *_ = step\n"
        "                memory.rewards[-1] = float(step[4])\n"
    },
    hint="Which call brought the last reward of the episode?",
)

first_environment_only = altered(
    "PPOAgent.backward",
    {
        "            memory = self.memories[index]\n": ""
        "            if index > 0:\n"
        "                break\n"
        "            memory = self.memories[index]\n"
    },
    hint="What does the memory of the second environment hold?",
)

all_end_with_one = altered(
    "PPOAgent.backward",
    {
        "        for index, step in enumerate(": ""
        "        over = any(memory.terminated or memory.truncated for memory in self.memories)\n"
        "        for index, step in enumerate(",
        "if memory.terminated or memory.truncated:": "if over:",
    },
    hint="One of three episodes is over: what happens to the other two?",
    source="student code",
)

tests_are_learned_from = altered(
    "PPOAgent.backward",
    {
        "                if self.training:\n                    self.episodes": ""
        "                if True:\n"
        "                    self.episodes"
    },
    hint="What goes to `episodes` while the agent is being tested?",
    source="student code",
)

tests_are_forgotten = altered(
    "PPOAgent.backward",
    {
        "        rewards, terminals, truncateds = (": ""
        "        if not self.training:\n"
        "            return {}\n"
        "        rewards, terminals, truncateds = ("
    },
    hint="A state may be a window of several observations: where do they come from in a test?",
    source="student code",
)

update_after_every_episode = altered(
    "PPOAgent.backward",
    {"if len(self.episodes) < self.episodes_per_update:": "if not self.episodes:"},
    hint="How many episodes are there when your agent learns?",
)

update_after_so_many_steps = altered(
    "PPOAgent.backward",
    {
        "if len(self.episodes) < self.episodes_per_update:": ""
        'if sum(len(one["advantage"]) for one in self.episodes) < self.episodes_per_update:'
    },
    hint="What is N a number of: steps, or episodes?",
)

update_missed_if_there_are_more = altered(
    "PPOAgent.backward",
    {"if len(self.episodes) < self.episodes_per_update:": "if len(self.episodes) != self.episodes_per_update:"},
    hint="Two episodes may end at once: can your agent have more than N of them, and what then?",
    source="student code",
)

update_one_episode_late = altered(
    "PPOAgent.backward",
    {"if len(self.episodes) < self.episodes_per_update:": "if len(self.episodes) <= self.episodes_per_update:"},
    hint="How many episodes are waiting when your update begins, and how many should be?",
    source="student code",
)

ends_exchanged = altered(
    "PPOAgent.backward",
    {"rewards, terminals, truncateds, strict=True": "rewards, truncateds, terminals, strict=True"},
    hint="In which order does `append` take the two ends?",
    source="student code",
)

update_never = altered(
    "PPOAgent.backward",
    {"metrics = self.update()": "metrics = {}"},
    hint="Who calls `update`?",
    learns=False,
)

episodes_kept = altered(
    "PPOAgent.backward",
    {"        self.episodes = []\n        return metrics": "        return metrics"},
    hint="Which policy played the episodes that are in your second update?",
    source="student code",
)

more_than_enough_are_kept = altered(
    "PPOAgent.backward",
    {
        "        self.episodes = []\n        return metrics": ""
        "        self.episodes = self.episodes[self.episodes_per_update :]\n"
        "        return metrics"
    },
    hint="Has `update` left any of the episodes out, and who played those that you keep?",
)

metrics_forgotten = altered(
    "PPOAgent.backward",
    {
        "        return metrics\n        # END SOLUTION\n\n    def finish_episode": ""
        "        return {}\n"
        "        # END SOLUTION\n"
        "\n"
        "    def finish_episode"
    },
    hint="How will a training loop know that there was an update?",
)

ends_never_looked_at = altered(
    "PPOAgent.backward",
    {"if memory.terminated or memory.truncated:": "if False:"},
    hint="How does your memory get to know that an episode is over, and what is different in the call after that?",
    source="student code",
)

ends_of_this_call_looked_at = altered(
    "PPOAgent.backward",
    {
        "if memory.terminated or memory.truncated:": "if step[-1] or step[-2]:",
        "self.episodes.append(self.finish_episode(memory, final_state))": ""
        "memory.append(*step)\nself.episodes.append(self.finish_episode(memory, final_state))",
    },
    hint="The flags come with the last step, the last state comes in the call after it: which one are you in?",
    source="student code",
)

nothing_is_not_a_dictionary = altered(
    "PPOAgent.backward",
    {"            return {}\n": "            return None\n"},
    hint="What should come back when there was no update?",
    source="student code",
    form=True,
)

# PPOAgent.finish_episode

last_step_dropped = altered(
    "PPOAgent.finish_episode",
    {
        '            "state": state,\n': '            "state": state[:-1],\n',
        "torch.stack(memory.actions)": "torch.stack(memory.actions)[:-1]",
        "torch.stack(memory.log_probs)": "torch.stack(memory.log_probs)[:-1]",
        '"advantage": advantage,': '"advantage": advantage[:-1],',
        '"value_target": value_target,': '"value_target": value_target[:-1],',
    },
    hint="How many steps has the episode, and how many rows do you return?",
)

followed_by_itself = altered(
    "PPOAgent.finish_episode",
    {"next_state = torch.cat((state[1:], final_state.unsqueeze(0)))": "next_state = state"},
    hint="Where is the agent after an action?",
)

final_state_unused = altered(
    "PPOAgent.finish_episode",
    {"next_state = torch.cat((state[1:], final_state.unsqueeze(0)))": "next_state = torch.cat((state[1:], state[-1:]))"},
    hint="Where has the last action led to, and who tells you?",
    source="student code",
)

final_state_of_zeros = altered(
    "PPOAgent.finish_episode",
    {
        "next_state = torch.cat((state[1:], final_state.unsqueeze(0)))": ""
        "next_state = torch.cat((state[1:], torch.zeros_like(state[:1])))"
    },
    hint="What is the state after the last action: has the agent not seen it?",
)

ends_not_told = altered(
    "PPOAgent.finish_episode",
    {"            at_end & memory.terminated,\n            at_end & memory.truncated,\n": ""},
    hint="How does the estimator know that the episode terminated, and in which row?",
    source="student code",
)

time_limit_told_as_the_end = altered(
    "PPOAgent.finish_episode",
    {"at_end & memory.terminated,": "at_end,"},
    hint="Did the world end, or did the clock: what does the estimator hear of it?",
    source="student code",
)

termination_not_told = altered(
    "PPOAgent.finish_episode",
    {"at_end & memory.terminated,": "at_end & False,"},
    hint="The world came to its end: what is the state after that worth to the estimator?",
    source="student code",
)

final_value_added_to_the_reward = altered(
    "PPOAgent.finish_episode",
    {
        "        advantage = GeneralizedAdvantageEstimator(\n": ""
        "        rewards = np.array(memory.rewards)\n"
        "        if not memory.terminated:\n"
        "            with torch.no_grad():\n"
        "                rewards[-1] += self.gamma * float(self.critic(final_state.unsqueeze(0)))\n"
        "        advantage = GeneralizedAdvantageEstimator(\n",
        "            np.array(memory.rewards),\n": "            rewards,\n",
    },
    hint="How many times is the value of the last state in your last advantage?",
    source="student code",
)

gamma_and_lambda_exchanged = altered(
    "PPOAgent.finish_episode",
    {"            self.gamma,\n            self.lamb,\n": "            self.lamb,\n            self.gamma,\n"},
    hint="In which order does the estimator take γ and λ?",
)

target_is_the_advantage = altered(
    "PPOAgent.finish_episode",
    {"value_target = advantage + self.critic(state).flatten()": "value_target = advantage.clone()"},
    hint="What is to be expected from a state: the advantage, or something more?",
    source="student code",
)

target_is_the_reward = altered(
    "PPOAgent.finish_episode",
    {"value_target = advantage + self.critic(state).flatten()": "value_target = torch.tensor(memory.rewards)"},
    hint="What comes after the next reward, and is it part of the value?",
)

target_without_a_sign = altered(
    "PPOAgent.finish_episode",
    {"value_target = advantage + self.critic(state).flatten()": "value_target = advantage - self.critic(state).flatten()"},
    hint="An advantage is a return minus a value: which of the two do you get back from it, and how?",
)

target_of_the_next_state = altered(
    "PPOAgent.finish_episode",
    {"value_target = advantage + self.critic(state).flatten()": "value_target = advantage + self.critic(next_state).flatten()"},
    hint="The advantage is measured from the value of which state?",
)

target_is_the_whole_return = altered(
    "PPOAgent.finish_episode",
    {
        "            value_target = advantage + self.critic(state).flatten()\n": ""
        "            value_target = torch.zeros(len(state))\n"
        "            total = 0.0\n"
        "            for t in reversed(range(len(state))):\n"
        "                total = memory.rewards[t] + self.gamma * total\n"
        "                value_target[t] = total\n"
    },
    hint="The advantage plus V(s): is that the sum of rewards for every λ, and what if only the clock ended the episode?",
    source="student code",
)

target_of_every_row_with_every_other = altered(
    "PPOAgent.finish_episode",
    {"value_target = advantage + self.critic(state).flatten()": "value_target = advantage + self.critic(state)"},
    hint="What is `[T]` plus `[T, 1]`? Print the shape.",
    source="student code",
)

target_with_a_gradient = altered(
    "PPOAgent.finish_episode",
    {"        with torch.no_grad():\n            value_target": "        if True:\n            value_target"},
    hint="Should the target move when the critic learns?",
    source="student code",
    form=True,
)

rows_in_double_precision = altered(
    "PPOAgent.finish_episode",
    {'"value_target": value_target,': '"value_target": value_target.double(),'},
    hint="Of which dtype are your value targets, and of which the values?",
    form=True,
)

advantages_in_a_list = altered(
    "PPOAgent.finish_episode",
    {'"advantage": advantage,': '"advantage": advantage.tolist(),'},
    hint="`update` makes one tensor of all episodes: what kind of thing are your advantages?",
    source="student code",
    form=True,
)

targets_in_a_column = altered(
    "PPOAgent.finish_episode",
    {'"value_target": value_target,': '"value_target": value_target.unsqueeze(1),'},
    hint="What is the shape of your value targets, and what would become of values minus these?",
    source="student code",
    form=True,
)

# PPOAgent.policy_loss

objective_not_negated = altered(
    "PPOAgent.policy_loss",
    {"return -(surrogate + self.entropy_coef * entropy)": "return surrogate + self.entropy_coef * entropy"},
    hint="Does the optimizer make a loss larger or smaller, and what of the objective?",
    source="student code",
    learns=False,
)

negated_twice = altered(
    "PPOAgent.policy_loss",
    {"surrogate = torch.min(": "surrogate = -torch.min("},
    hint="How many times do you negate what is to be made large?",
    learns=False,
)

more_optimistic_of_the_two = altered(
    "PPOAgent.policy_loss",
    {"torch.min(ratio * batch": "torch.max(ratio * batch"},
    hint="Which of the two is the more pessimistic?",
    source="student code",
)

never_clipped = altered(
    "PPOAgent.policy_loss",
    {"ratio.clamp(1 - self.clip, 1 + self.clip)": "ratio"},
    hint="The ratio is 3: what does your loss gain from making it 4?",
)

always_clipped = altered(
    "PPOAgent.policy_loss",
    {'torch.min(ratio * batch["advantage"], clipped_ratio * batch["advantage"])': 'clipped_ratio * batch["advantage"]'},
    hint="The ratio is 3 and the advantage negative: does anything push it back?",
    source="student code",
)

clipped_above_only = altered(
    "PPOAgent.policy_loss",
    {"ratio.clamp(1 - self.clip, 1 + self.clip)": "ratio.clamp(max=1 + self.clip)"},
    hint="How small may the ratio become if the advantage is negative?",
)

product_clipped = altered(
    "PPOAgent.policy_loss",
    {'clipped_ratio * batch["advantage"])': '(ratio * batch["advantage"]).clamp(1 - self.clip, 1 + self.clip))'},
    hint="What is limited, the ratio or the product?",
    source="student code",
)

ratio_upside_down = altered(
    "PPOAgent.policy_loss",
    {'torch.exp(log_prob - batch["log_prob"])': 'torch.exp(batch["log_prob"] - log_prob)'},
    hint="The action has become more likely: is your ratio larger than 1?",
    learns=False,
)

difference_for_a_ratio = altered(
    "PPOAgent.policy_loss",
    {'torch.exp(log_prob - batch["log_prob"])': '(log_prob - batch["log_prob"])'},
    hint="How do you get a ratio from two logarithms, and what is it before the first step?",
    source="student code",
)

every_ratio_with_every_advantage = altered(
    "PPOAgent.policy_loss",
    {'torch.exp(log_prob - batch["log_prob"]).squeeze(1)': 'torch.exp(log_prob - batch["log_prob"])'},
    hint="What is `[B, 1]` times `[B]`? Print the shape before you take the mean.",
    source="student code",
)

compared_with_itself = altered(
    "PPOAgent.policy_loss",
    {'torch.exp(log_prob - batch["log_prob"])': "torch.exp(log_prob - log_prob.detach())"},
    hint="Change the weights: does the ratio move?",
    source="student code",
)

ratio_does_not_reach_the_actor = altered(
    "PPOAgent.policy_loss",
    {'torch.exp(log_prob - batch["log_prob"])': 'torch.exp(log_prob.detach() - batch["log_prob"])'},
    hint="After `backward`, what is the gradient of your actor?",
    source="student code",
    learns=False,
)

clipped_branch_detached = altered(
    "PPOAgent.policy_loss",
    {"ratio.clamp(1 - self.clip, 1 + self.clip)": "ratio.detach().clamp(1 - self.clip, 1 + self.clip)"},
    hint="Inside of the clip range both branches are the same: does a gradient go through each?",
    source="student code",
)

unclipped_branch_detached = altered(
    "PPOAgent.policy_loss",
    {'torch.min(ratio * batch["advantage"], clipped': 'torch.min(ratio.detach() * batch["advantage"], clipped'},
    hint="The ratio is 3 and the advantage negative: does a gradient push it back?",
    source="student code",
)

ratio_of_densities = altered(
    "PPOAgent.policy_loss",
    {'torch.exp(log_prob - batch["log_prob"])': '(torch.exp(log_prob) / torch.exp(batch["log_prob"]))'},
    hint="Both log-probabilities are -200: what is each probability as a float, and what is their ratio?",
    source="student code",
)

actions_drawn_anew = altered(
    "PPOAgent.policy_loss",
    {'get_dist((mu, log_sigma, batch["action"]))': "get_dist((mu, log_sigma, self.process.sample((mu, log_sigma))))"},
    hint="Whose action is the old log-probability of?",
    source="student code",
)

entropy_is_punished = altered(
    "PPOAgent.policy_loss",
    {"return -(surrogate + self.entropy_coef * entropy)": "return -surrogate + self.entropy_coef * entropy"},
    hint="Should a larger entropy make the loss smaller or larger?",
    source="student code",
)

entropy_forgotten = altered(
    "PPOAgent.policy_loss",
    {"return -(surrogate + self.entropy_coef * entropy)": "return -surrogate"},
    hint="Change `entropy_coef`: does your loss change?",
)

sum_over_rows = altered(
    "PPOAgent.policy_loss",
    {'clipped_ratio * batch["advantage"]).mean()': 'clipped_ratio * batch["advantage"]).sum()'},
    hint="Does your loss depend on how many rows there are?",
)

entropy_summed = altered(
    "PPOAgent.policy_loss",
    {"self.process.entropy((mu, log_sigma)).mean()": "self.process.entropy((mu, log_sigma)).sum()"},
    hint="Does the entropy in your loss depend on how many rows there are?",
    source="student code",
)

policy_loss_in_an_axis = altered(
    "PPOAgent.policy_loss",
    {"return -(surrogate + self.entropy_coef * entropy)": "return -(surrogate + self.entropy_coef * entropy).reshape(1)"},
    hint="What is the shape of a scalar?",
    form=True,
)

batch_changed = altered(
    "PPOAgent.policy_loss",
    {
        'ratio = torch.exp(log_prob - batch["log_prob"]).squeeze(1)': ""
        'batch["log_prob"] = batch["log_prob"].squeeze(1)\n'
        'ratio = torch.exp(log_prob.squeeze(1) - batch["log_prob"])'
    },
    hint="What does the next one who gets this batch find in it?",
    source="student code",
    form=True,
)

pessimistic_on_average = altered(
    "PPOAgent.policy_loss",
    {
        'torch.min(ratio * batch["advantage"], clipped_ratio * batch["advantage"]).mean()': ""
        'torch.min((ratio * batch["advantage"]).mean(), (clipped_ratio * batch["advantage"]).mean())'
    },
    hint="Which comes first, the smaller of two or the mean over all rows: for whom is one pessimistic?",
    source="student code",
)

clipped_ratio_alone = altered(
    "PPOAgent.policy_loss",
    {
        'surrogate = torch.min(ratio * batch["advantage"], clipped_ratio * batch["advantage"]).mean()': ""
        'surrogate = (clipped_ratio * batch["advantage"]).mean()'
    },
    hint="The ratio is far beyond its range, on the wrong side: which gradient brings it back?",
    source="student code",
)

quotient_of_logarithms = altered(
    "PPOAgent.policy_loss",
    {'torch.exp(log_prob - batch["log_prob"])': '(log_prob / batch["log_prob"])'},
    hint="log p / log q is not log (p / q): what is the ratio of two probabilities when you have their logarithms?",
    source="student code",
)

advantages_normalised_once_more = altered(
    "PPOAgent.policy_loss",
    {
        "ratio = torch.exp(": 'a = batch["advantage"]\n'
        'batch = batch | {"advantage": (a - a.mean()) / (a.std() + 1e-8)}\n'
        "ratio = torch.exp("
    },
    hint="Who normalises the advantages, and over which rows?",
    source="student code",
)

# PPOAgent.value_loss

every_value_with_every_target = altered(
    "PPOAgent.value_loss",
    {'self.critic(batch["state"]).squeeze(1) - batch': 'self.critic(batch["state"]) - batch'},
    hint="What is `[B, 1]` minus `[B]`? Print the shape before you take the mean.",
    source="student code",
)

value_error_halved = altered(
    "PPOAgent.value_loss",
    {'batch["value_target"]).square().mean()': 'batch["value_target"]).square().mean() / 2'},
    hint="By which factor does your loss differ from the one that is asked for?",
)

value_error_summed = altered(
    "PPOAgent.value_loss",
    {'batch["value_target"]).square().mean()': 'batch["value_target"]).square().sum()'},
    hint="Does your loss depend on how many rows there are?",
)

value_learns_advantages = altered(
    "PPOAgent.value_loss",
    {'batch["value_target"]).square()': 'batch["advantage"]).square()'},
    hint="What should the critic be able to tell of a state: how good the action was, or what will come?",
)

value_loss_teaches_nobody = altered(
    "PPOAgent.value_loss",
    {'self.critic(batch["state"]).squeeze(1)': 'self.critic(batch["state"]).detach().squeeze(1)'},
    hint="Through what does the gradient of this loss come to the critic?",
    source="student code",
)

value_loss_in_an_axis = altered(
    "PPOAgent.value_loss",
    {'batch["value_target"]).square().mean()': 'batch["value_target"]).square().mean().reshape(1)'},
    hint="What is the shape of a scalar?",
    form=True,
)

# PPOAgent.update

not_normalised = altered(
    "PPOAgent.update",
    {'data["advantage"] = (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-8)': "pass"},
    hint="What are the mean and the standard deviation of the advantages that your losses see?",
)

divided_by_nothing = altered(
    "PPOAgent.update",
    {"/ (advantage.std(correction=0) + 1e-8)": "/ advantage.std(correction=0)"},
    hint="All advantages are the same: by what do you divide?",
    source="student code",
)

normalised_in_the_minibatch = altered(
    "PPOAgent.update",
    {
        'data["advantage"] = (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-8)': "pass",
        "batch = {name: values[rows] for name, values in data.items()}": ""
        "batch = {name: values[rows] for name, values in data.items()}\n"
        'part = batch["advantage"]\n'
        'batch["advantage"] = (part - part.mean()) / (part.std() + 1e-8)',
    },
    hint="Whose mean did you subtract: that of all rows, or of those that happen to be together?",
    source="student code",
)

targets_normalised_as_well = altered(
    "PPOAgent.update",
    {
        "        losses = []\n": '        target = data["value_target"]\n'
        '        data["value_target"] = (target - target.mean()) / (target.std() + 1e-8)\n'
        "        losses = []\n"
    },
    hint="What are values measured in, and are your targets still?",
)

never_shuffled = altered(
    "PPOAgent.update",
    {"self.rng.permutation(len(advantage))": "np.arange(len(advantage))"},
    hint="Which rows are together in a minibatch, and are they always the same?",
    source="student code",
)

shuffled_once = altered(
    "PPOAgent.update",
    {
        "        for _ in range(self.epochs):\n"
        "            shuffled = torch.from_numpy(self.rng.permutation(len(advantage)))\n": ""
        "        shuffled = torch.from_numpy(self.rng.permutation(len(advantage)))\n"
        "        for _ in range(self.epochs):\n"
    },
    hint="Are the minibatches of the second epoch those of the first?",
    source="student code",
)

reseeded_before_every_shuffle = altered(
    "PPOAgent.update",
    {"self.rng.permutation(len(advantage))": "np.random.default_rng(0).permutation(len(advantage))"},
    hint="Where does your generator begin in every epoch, and which order does it draw then?",
    source="student code",
)

reseeded_in_every_update = altered(
    "PPOAgent.update",
    {
        "        losses = []\n": "        rng = np.random.default_rng(0)\n        losses = []\n",
        "self.rng.permutation": "rng.permutation",
    },
    hint="Where does your generator begin in every update, and which order does it draw then?",
    source="student code",
)

drawn_with_replacement = altered(
    "PPOAgent.update",
    {"self.rng.permutation(len(advantage))": "self.rng.integers(len(advantage), size=len(advantage))"},
    hint="How often is a row learned from in one epoch?",
)

actions_not_shuffled = altered(
    "PPOAgent.update",
    {
        "batch = {name: values[rows] for name, values in data.items()}": ""
        "batch = {name: values[rows] for name, values in data.items()}\n"
        'batch["action"] = data["action"][: len(rows)]'
    },
    hint="Do row 3 of the states and row 3 of the actions come from the same step?",
    source="student code",
)

first_minibatch_only = altered(
    "PPOAgent.update",
    {"for rows in shuffled.split(self.batch_size):": "for rows in shuffled.split(self.batch_size)[:1]:"},
    hint="How many rows have been learned from after one epoch?",
)

smaller_minibatch_dropped = altered(
    "PPOAgent.update",
    {
        "            for rows in shuffled.split(self.batch_size):\n": ""
        "            for rows in shuffled.split(self.batch_size):\n"
        "                if len(rows) < self.batch_size:\n"
        "                    continue\n"
    },
    hint="Ten rows in minibatches of four: which rows are never learned from?",
    source="student code",
)

one_epoch_only = altered(
    "PPOAgent.update",
    {"for _ in range(self.epochs):": "for _ in range(1):"},
    hint="How often is each row learned from?",
)

gradients_pile_up = altered(
    "PPOAgent.update",
    {"                self.optimizer.zero_grad()\n": ""},
    hint="Which gradients does the optimizer see in its second step?",
    source="student code",
)

gradient_cleared_before_the_step = altered(
    "PPOAgent.update",
    {
        "                self.optimizer.zero_grad()\n                (policy_loss + value_loss).backward()\n": ""
        "                (policy_loss + value_loss).backward()\n                self.optimizer.zero_grad()\n"
    },
    hint="What is left of the gradient when the optimizer makes its step?",
    learns=False,
)

actor_only = altered(
    "PPOAgent.update",
    {"(policy_loss + value_loss).backward()": "policy_loss.backward()"},
    hint="Who teaches the critic?",
)

two_steps_for_a_minibatch = altered(
    "PPOAgent.update",
    {"(policy_loss + value_loss).backward()": "policy_loss.backward()\nself.optimizer.step()\nvalue_loss.backward()"},
    hint="How many steps does the optimizer make for each minibatch, and with which gradient does the actor make its second?",
    source="student code",
)

losses_of_the_last_minibatch = altered(
    "PPOAgent.update",
    {"policy_loss, value_loss = np.mean(losses, axis=0)": "policy_loss, value_loss = losses[-1]"},
    hint="Over which minibatches are the means that you return?",
)

losses_with_their_graph = altered(
    "PPOAgent.update",
    {
        '{"policy_loss": float(policy_loss), "value_loss": float(value_loss)}': ""
        '{"policy_loss": batch_policy, "value_loss": batch_value}',
        "losses.append([policy_loss.item(), value_loss.item()])": "losses.append([policy_loss.item(), value_loss.item()])\n"
        "batch_policy, batch_value = policy_loss, value_loss",
    },
    hint="Who still needs a gradient of what you return, and is it a mean?",
)

losses_as_tensors = altered(
    "PPOAgent.update",
    {
        '{"policy_loss": float(policy_loss), "value_loss": float(value_loss)}': ""
        '{"policy_loss": torch.tensor(policy_loss), "value_loss": torch.tensor(value_loss)}'
    },
    hint="What kind of thing are the losses that you return?",
    form=True,
)
