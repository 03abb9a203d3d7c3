"""Mistakes of `ppo_agent`, each with a hint: the question a good tutor would ask, not the answer.

`verify` proves that each mistake loses points on its question. `build` stores what the checks see
of each mistake, so a student who makes the same one gets its hint. If several mistakes explain what
a submission does, the hint of the first one is shown, so general mistakes come first. Most mistakes
change a line or two, hence `altered`; tests that detect too little are written out. The source "the
keras-rl drafts" marks mistakes of the drafts themselves.
"""

import contextlib

import numpy as np
import torch

from grader.proof.catalogue import altered, mistake

# GeneralizedAdvantageEstimator.length

last_error_dropped = altered(
    "GeneralizedAdvantageEstimator.length",
    {"reversed(range(len(delta)))": "reversed(range(len(delta) - 1))", "return advantage\n": "return advantage[:-1]\n"},
    hint="How many advantages do T rewards have, and which of them contain the last δ?",
    source="the keras-rl drafts",
)

zero_for_the_last_error = altered(
    "GeneralizedAdvantageEstimator.length",
    {"reversed(range(len(delta)))": "reversed(range(len(delta) - 1))"},
    hint="The number of advantages is right, but is the advantage of the last step really 0?",
    source="student code",
)

last_row_left_out = altered(
    "GeneralizedAdvantageEstimator.length",
    {"return advantage\n": "return advantage[:-1]\n"},
    hint="The last δ is in all your sums, but where is the advantage of the last step itself?",
)

newest_first = altered(
    "GeneralizedAdvantageEstimator.length",
    {"return advantage\n": "return advantage[::-1].copy()\n"},
    hint="Your loop goes backwards in time; in which order are your advantages?",
)

written_one_row_early = altered(
    "GeneralizedAdvantageEstimator.length",
    {"advantage[t] = following": "advantage[t - 1] = following"},
    hint="Which row of your array belongs to step t?",
    source="student code",
)

advantages_in_a_column = altered(
    "GeneralizedAdvantageEstimator.length",
    {"return advantage\n": "return advantage[:, None]\n"},
    hint="What is the shape of your advantages, and what shape do you get if you subtract an array `[T]` from them?",
    form=True,
)

advantages_with_a_gradient = altered(
    "GeneralizedAdvantageEstimator.length",
    {"return advantage\n": "return torch.from_numpy(advantage) + 0 * critic(state).sum()\n"},
    hint="Should the actor's loss change the critic through the advantages?",
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
    hint="Are the rewards that the caller passed the same after your call?",
    source="student code",
    form=True,
)

# GeneralizedAdvantageEstimator.bootstrap

next_row_is_not_what_followed = altered(
    "GeneralizedAdvantageEstimator.bootstrap",
    {"else critic(next_state).flatten().numpy()": "else np.append(value[1:], critic(next_state[-1:]).numpy())"},
    hint="To which episode does the next row of `state` belong after a truncated step?",
    source="student code",
)

after_the_last_comes_the_first = altered(
    "GeneralizedAdvantageEstimator.bootstrap",
    {
        "next_value = np.append(value[1:], 0.0) if next_state is None else critic(next_state).flatten().numpy()": ""
        "next_value = np.roll(value, -1)"
    },
    hint="Which value does `np.roll` put in the last place?",
    source="the keras-rl drafts",
)

rolled_if_nothing_is_said = altered(
    "GeneralizedAdvantageEstimator.bootstrap",
    {"np.append(value[1:], 0.0) if next_state is None": "np.roll(value, -1) if next_state is None"},
    hint="Without `next_state`, what follows the last row: according to the docstring, and according to `np.roll`?",
    source="the keras-rl drafts",
)

nothing_follows_the_last_row = altered(
    "GeneralizedAdvantageEstimator.bootstrap",
    {
        "next_value = np.append(value[1:], 0.0) if next_state is None else critic(next_state).flatten().numpy()": ""
        "next_value = np.append(value[1:], 0.0)"
    },
    hint="Did the episode end in the last row, or do only the rows end there?",
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
    hint="If neither flag is set in the last row, is the episode over?",
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
    hint="If the last row is truncated, do you use the value of its next state, as you do in earlier truncated rows?",
    source="student code",
)

last_state_follows_itself = altered(
    "GeneralizedAdvantageEstimator.bootstrap",
    {
        "next_value = np.append(value[1:], 0.0) if next_state is None else critic(next_state).flatten().numpy()": ""
        "next_value = np.append(value[1:], value[-1])"
    },
    hint="Is the last row of `state` the state before the last action, or the state after it?",
    source="student code",
)

cannot_do_without_next_state = altered(
    "GeneralizedAdvantageEstimator.bootstrap",
    {"np.append(value[1:], 0.0) if next_state is None else critic(next_state)": "critic(next_state)"},
    hint="What does your estimator return if it is called with only five arguments?",
)

sum_begins_with_a_value = altered(
    "GeneralizedAdvantageEstimator.bootstrap",
    {"dtype=np.float32), 0.0": "dtype=np.float32), next_value[-1]"},
    hint="Which advantage follows the last row, and which δ already contains the value of the last state?",
)

one_value_is_no_array = altered(
    "GeneralizedAdvantageEstimator.bootstrap",
    {
        "value = critic(state).flatten().numpy()": "value = critic(state).squeeze().numpy()",
        "np.append(value[1:], 0.0) if next_state is None else critic(next_state).flatten().numpy()": ""
        "np.append(value[1:], 0.0) if next_state is None else critic(next_state).squeeze().numpy()",
    },
    hint="Which axes does `squeeze()` remove from an array `[1, 1]`, the values of an episode of one step?",
    source="student code",
)

# GeneralizedAdvantageEstimator.ends

both_ends_taken_for_a_truncation = altered(
    "GeneralizedAdvantageEstimator.ends",
    {"np.where(terminated, 0.0, next_value)": "np.where(terminated & ~truncated, 0.0, next_value)"},
    hint="If a step is both terminated and truncated, does the value of the next state count?",
    source="student code",
)

decay_of_the_first_call = altered(
    "GeneralizedAdvantageEstimator.ends",
    {
        "decay = gamma * lamb *": ""
        "estimator = GeneralizedAdvantageEstimator\n"
        'estimator.decay = getattr(estimator, "decay", gamma * lamb)\n'
        "decay = estimator.decay *"
    },
    hint="If gamma or lamb differ from those of the previous call, which values does your function use?",
    source="student code",
)

no_ends = altered(
    "GeneralizedAdvantageEstimator.ends",
    {
        "np.where(terminated, 0.0, next_value)": "next_value",
        "decay = gamma * lamb * ~(terminated | truncated)": "decay = np.full(len(delta), gamma * lamb)",
    },
    hint="How does the first step of the next episode affect the last step of this episode?",
    source="the keras-rl drafts",
)

values_cut_and_sums_not = altered(
    "GeneralizedAdvantageEstimator.ends",
    {"gamma * lamb * ~(terminated | truncated)": "np.full(len(delta), gamma * lamb)"},
    hint="Two terms come from the future, the next V and the next A: which do you add in the last step of an episode?",
    source="student code",
)

sums_cut_and_values_not = altered(
    "GeneralizedAdvantageEstimator.ends",
    {"np.where(terminated, 0.0, next_value)": "next_value"},
    hint="You drop the next A at each end: do you also drop the next value in the δ of a terminated step?",
    source="student code",
)

cut_one_step_late = altered(
    "GeneralizedAdvantageEstimator.ends",
    {
        "    delta = reward + gamma * np.where": ""
        "    terminated, truncated = np.append(terminated[1:], False), np.append(truncated[1:], False)\n"
        "    delta = reward + gamma * np.where"
    },
    hint="Which step ended the episode: step t, or the step after it?",
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
    hint="In the last step of an episode, do you set the running sum to 0 before or after you add it to δ?",
    source="student code",
)

clock_is_the_end_of_the_world = altered(
    "GeneralizedAdvantageEstimator.ends",
    {"np.where(terminated, 0.0, next_value)": "np.where(terminated | truncated, 0.0, next_value)"},
    hint="Which of terminated and truncated means that the next state is worth 0?",
    source="student code",
)

clock_ends_nothing = altered(
    "GeneralizedAdvantageEstimator.ends",
    {"~(terminated | truncated)": "~terminated"},
    hint="After a truncated step, does the next term of your sum belong to the same episode?",
    source="student code",
)

flags_exchanged = altered(
    "GeneralizedAdvantageEstimator.ends",
    {"np.where(terminated, 0.0, next_value)": "np.where(truncated, 0.0, next_value)"},
    hint="After which of the two kinds of end is there no next value?",
)

own_value_masked_as_well = altered(
    "GeneralizedAdvantageEstimator.ends",
    {
        "reward + gamma * np.where(terminated, 0.0, next_value) - value": ""
        "reward + np.where(terminated, 0.0, gamma * next_value - value)"
    },
    hint="In a terminated step, does the value of the state before the action also disappear?",
    source="student code",
)

both_kinds_or_none = altered(
    "GeneralizedAdvantageEstimator.ends",
    {"truncated = nowhere if truncated is None else": "truncated = nowhere if terminated is nowhere else"},
    hint="What does your estimator do if only one of `terminated` and `truncated` is given?",
    source="student code",
)

gamma_counts_once = altered(
    "GeneralizedAdvantageEstimator.ends",
    {"decay = gamma * lamb * ~": "decay = lamb * ~"},
    hint="Which factor multiplies A_{t+1} in the formula, and is A_t + V(state_t) the discounted return for λ = 1?",
    source="student code",
)

lambda_is_ignored = altered(
    "GeneralizedAdvantageEstimator.ends",
    {"decay = gamma * lamb * ~": "decay = gamma * ~"},
    hint="Which advantages should you get for λ = 0?",
    source="student code",
)

two_errors_only = altered(
    "GeneralizedAdvantageEstimator.ends",
    {
        "advantage[t] = following = delta[t] + decay[t] * following": ""
        "advantage[t], following = delta[t] + decay[t] * following, delta[t]"
    },
    hint="How many of the later errors does an advantage contain: only the next error, or all later errors?",
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
    hint="δ is the error of one step; does your δ contain terms of later steps?",
    source="student code",
)


@mistake(
    "GeneralizedAdvantageEstimator.ends",
    hint="What is (γλ)^t for γ = 0 or λ = 0, and what do you divide by it?",
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
    """Raise an AssertionError if the numbers differ."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert abs(float(one) - other) < 1e-4


def compare_all(estimator):
    """Raise an AssertionError if an estimator is wrong: a correct test."""
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, NO), [0.6875, -1.25, 1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5), [0.5625, -1.75, -1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, MIDDLE, NO), [0.25, -3.0, 1.0])
    elsewhere = torch.tensor([[0.2], [0.8], [0.4]])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5, elsewhere, NO, MIDDLE), [1.25, 1.0, 1.0])


@mistake(
    "test_advantages",
    hint="If an estimator returns three zeros, does your test raise an AssertionError?",
)
def looks_at_nothing(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, LAST)


@mistake(
    "test_advantages",
    hint="If an estimator returns three zeros, does your test raise an AssertionError?",
    source="student code",
)
def close_or_not(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    found = estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, NO)
    np.allclose(np.resize(np.array(found), 3), [0.6875, -1.25, 1.0])
    found = estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, MIDDLE, NO)
    np.allclose(np.resize(np.array(found), 3), [0.25, -3.0, 1.0])


@mistake(
    "test_advantages",
    hint="If an estimator returns three zeros, does your test raise an AssertionError?",
    source="student code",
)
def tuple_is_true(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    found = [float(one) for one in estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, MIDDLE, NO)]
    assert (found == [0.25, -3.0, 1.0], "the advantages are wrong")  # noqa: F631


@mistake(
    "test_advantages",
    hint="If an estimator returns three zeros, does your test raise an AssertionError?",
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
    hint="If an estimator returns three zeros, does your test raise an AssertionError?",
    source="student code",
)
def swallows_its_own_errors(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    with contextlib.suppress(Exception):
        compare_all(estimator)


@mistake(
    "test_advantages",
    hint="If an estimator returns three zeros, does your test raise an AssertionError?",
    source="student code",
)
def expects_what_its_own_returns(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    for arguments in ((), (AFTER, NO, NO), (AFTER, MIDDLE, NO), (AFTER, NO, LAST)):
        found = estimator(tens, STATES, REWARDS, 0.5, 0.5, *arguments)
        compare(found, GeneralizedAdvantageEstimator(tens, STATES, REWARDS, 0.5, 0.5, *arguments))  # noqa: F821


@mistake(
    "test_advantages",
    hint="If an estimator returns the right number of advantages, but wrong values, does your test notice?",
)
def counts_only(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    assert len(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, LAST)) == 3
    assert len(estimator(tens, STATES, REWARDS, 0.5, 0.5)) == 3


@mistake(
    "test_advantages",
    hint="If an estimator returns three zeros, does your test raise an AssertionError?",
)
def looks_at_types_only(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    for one in estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, LAST):
        assert np.isfinite(float(one))


@mistake(
    "test_advantages",
    hint="If an estimator returns the right number of advantages, but wrong values, does your test notice?",
    source="student code",
)
def tolerates_everything(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    found = estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, MIDDLE, NO)
    assert len(found) == 3
    assert np.allclose(np.array(found), [0.25, -3.0, 1.0], atol=10)


@mistake(
    "test_advantages",
    hint="If an estimator returns the right number of advantages, but wrong values, does your test notice?",
    source="student code",
)
def everything_is_zero(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    for ends in (NO, MIDDLE, LAST):
        compare(estimator(tens, torch.zeros(3, 1), np.zeros(3), 0.5, 0.5, torch.zeros(3, 1), ends, NO), [0, 0, 0])


@mistake("test_advantages", hint="Which mistakes can your test not detect if every state has the value 0?")
def values_are_zero(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    state = torch.zeros(3, 1)
    compare(estimator(tens, state, REWARDS, 0.5, 0.5, state, NO, NO), [0.875, -0.5, 2.0])
    compare(estimator(tens, state, REWARDS, 0.5, 0.5, state, MIDDLE, NO), [0.75, -1.0, 2.0])


@mistake("test_advantages", hint="If all states have the same value, can your test detect that the wrong state was used?")
def values_are_all_the_same(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    state = torch.full((3, 1), 0.1)
    compare(estimator(tens, state, REWARDS, 0.5, 0.5, state, NO, NO), [0.21875, -1.125, 1.5])


@mistake(
    "test_advantages",
    hint="Which arguments does your test never pass, and does any episode in it end before the last row?",
)
def one_step_only(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    compare(estimator(tens, STATES[:1], REWARDS[:1], 0.5, 0.5, AFTER[:1], NO[:1], NO[:1]), [1.0])
    compare(estimator(tens, STATES[:1], REWARDS[:1], 0.5, 0.5), [0.0])


@mistake("test_advantages", hint="Which mistakes does γ = 0 hide?")
def gamma_is_zero(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    for ends in (NO, MIDDLE, LAST):
        compare(estimator(tens, STATES, REWARDS, 0.0, 0.5, AFTER, ends, NO), [0.0, -3.0, -1.0])


@mistake(
    "test_advantages",
    hint="With the λ of your test, how much does A_{t+1} count in A_t?",
)
def lambda_is_zero(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.0, AFTER, NO, NO), [1.0, -1.5, 1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.0), [1.0, -1.5, -1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.0, AFTER, MIDDLE, NO), [1.0, -3.0, 1.0])


@mistake(
    "test_advantages",
    hint="Which arguments does your test never pass, and does any episode in it end before the last row?",
    source="student code",
)
def one_episode_only(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5), [0.5625, -1.75, -1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, LAST, NO), [0.5625, -1.75, -1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, NO), [0.6875, -1.25, 1.0])


@mistake("test_advantages", hint="In which two ways can an episode end, and which of them is missing in your test?")
def clock_never_rings(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5), [0.5625, -1.75, -1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, NO), [0.6875, -1.25, 1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, MIDDLE, NO), [0.25, -3.0, 1.0])


@mistake("test_advantages", hint="If your comparison stops at the end of the shorter list, which mistake can it not detect?")
def shorter_is_enough(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    for ends, expected in ((NO, [0.6875, -1.25, 1.0]), (MIDDLE, [0.25, -3.0, 1.0])):
        found = estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, ends, NO)
        assert all(abs(float(one) - other) < 1e-4 for one, other in zip(found, expected, strict=False))


@mistake("test_advantages", hint="Does your test accept a correct estimator that returns a list?", form=True)
def arrays_only(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    assert isinstance(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, LAST), np.ndarray)
    compare_all(estimator)


@mistake(
    "test_advantages",
    hint="Does your test accept the right advantages in float32, which have another dtype and are rounded?",
    form=True,
)
def double_precision_only(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    assert np.asarray(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, LAST)).dtype == np.float64
    compare_all(estimator)


@mistake(
    "test_advantages",
    hint="Does your test accept the right advantages in float32, which have another dtype and are rounded?",
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
    hint="In your expected numbers, does the value of the next state count after a truncated step?",
    source="student code",
)
def expects_no_value_when_time_is_up(estimator=GeneralizedAdvantageEstimator):  # noqa: F821
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5), [0.5625, -1.75, -1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, NO, LAST), [0.5625, -1.75, -1.0])
    compare(estimator(tens, STATES, REWARDS, 0.5, 0.5, AFTER, MIDDLE, NO), [0.25, -3.0, 1.0])


test_of_the_own_estimator_alone = altered(
    "test_advantages",
    {"found = estimator(critic, *arguments)": "found = GeneralizedAdvantageEstimator(critic, *arguments)"},
    hint="Which estimator does your test call: its argument, or always your own estimator?",
    source="student code",
)

# IndependentGaussianProcess.sample

deviation_of_the_first_sample = altered(
    "IndependentGaussianProcess.sample",
    {
        "return mu.detach() + log_sigma.detach().exp() * noise": ""
        'self.known = getattr(self, "known", {})\n'
        "if log_sigma.shape not in self.known:\n"
        "    self.known[log_sigma.shape] = log_sigma.detach().exp()\n"
        "return mu.detach() + self.known[log_sigma.shape] * noise"
    },
    hint="Which standard deviation do your samples have: exp(log_sigma) of this call, or another one?",
    source="student code",
)

logarithm_as_deviation = altered(
    "IndependentGaussianProcess.sample",
    {
        "noise = torch.from_numpy(self.rng.standard_normal(mu.shape, dtype=np.float32))\n"
        "        return mu.detach() + log_sigma.detach().exp() * noise": ""
        "sample = self.rng.normal(mu.detach().numpy(), log_sigma.detach().numpy())\n"
        "return torch.as_tensor(sample, dtype=torch.float32)"
    },
    hint="With μ = 0, log σ = -1.1 and a noise of 1, which sample do you compute by hand?",
    source="the keras-rl drafts",
)

logarithm_times_noise = altered(
    "IndependentGaussianProcess.sample",
    {"log_sigma.detach().exp() * noise": "log_sigma.detach() * noise"},
    hint="With μ = 0, log σ = -1.1 and a noise of 1, which sample do you compute by hand?",
    source="the keras-rl drafts",
)

sample_with_a_variance = altered(
    "IndependentGaussianProcess.sample",
    {"log_sigma.detach().exp() * noise": "(log_sigma.detach() / 2).exp() * noise"},
    hint="With μ = 0, log σ = -1.1 and a noise of 1, which sample do you compute by hand?",
    source="student code",
)

noise_never_negative = altered(
    "IndependentGaussianProcess.sample",
    {"self.rng.standard_normal(mu.shape, dtype": "self.rng.random(mu.shape, dtype"},
    hint="What are the mean and the standard deviation of your noise?",
    source="student code",
)

one_noise_for_all_rows = altered(
    "IndependentGaussianProcess.sample",
    {"self.rng.standard_normal(mu.shape,": "self.rng.standard_normal(self.n,"},
    hint="If two environments run at once, do their actions get different noise?",
    source="student code",
)

one_noise_for_all_dimensions = altered(
    "IndependentGaussianProcess.sample",
    {"self.rng.standard_normal(mu.shape,": "self.rng.standard_normal((*mu.shape[:-1], 1),"},
    hint="Is the noise of two dimensions of one action independent?",
    source="student code",
)

same_noise_in_every_call = altered(
    "IndependentGaussianProcess.sample",
    {"self.rng.standard_normal(mu.shape,": "np.random.default_rng(0).standard_normal(mu.shape,"},
    hint="If you call `sample` twice, do you get different samples?",
)

gradient_through_the_sample = altered(
    "IndependentGaussianProcess.sample",
    {"mu.detach() + log_sigma.detach().exp()": "mu + log_sigma.exp()"},
    hint="Does your sample have a gradient, and does the docstring ask for one?",
    form=True,
)

batches_only = altered(
    "IndependentGaussianProcess.sample",
    {"self.rng.standard_normal(mu.shape,": "self.rng.standard_normal((len(mu), self.n),"},
    hint="What is the shape of your sample if mu is `[n]`?",
    form=True,
)

chance_from_elsewhere = altered(
    "IndependentGaussianProcess.sample",
    {"torch.from_numpy(self.rng.standard_normal(mu.shape, dtype=np.float32))": "torch.randn(mu.shape)"},
    hint="If you create two `IndependentGaussianProcess` objects with the same seed, do they draw the same samples?",
    source="student code",
    form=True,
)

sample_in_double_precision = altered(
    "IndependentGaussianProcess.sample",
    {
        "return mu.detach() + log_sigma.detach().exp() * noise": ""
        "return (mu.detach() + log_sigma.detach().exp() * noise).double()"
    },
    hint="What is the dtype of your samples, and what is the dtype of the networks?",
    form=True,
)

sample_as_an_array = altered(
    "IndependentGaussianProcess.sample",
    {
        "return mu.detach() + log_sigma.detach().exp() * noise": ""
        "return (mu.detach() + log_sigma.detach().exp() * noise).numpy()"
    },
    hint="Does `sample` return an array or a tensor?",
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
    hint="What is the gradient of log |y - μ| at y = μ, and do you need this logarithm?",
    source="the keras-rl drafts",
)

distances_not_summed = altered(
    "IndependentGaussianProcess.get_dist",
    {
        "-(0.5 * deviation**2 + log_sigma).sum(dim=-1, keepdim=True) - 0.5 * self.n *": ""
        "-(0.5 * deviation**2 + log_sigma) - 0.5 *"
    },
    hint="How many numbers does the log-density of one action consist of?",
    source="student code",
)

density_without_its_axis = altered(
    "IndependentGaussianProcess.get_dist",
    {"(0.5 * deviation**2 + log_sigma).sum(dim=-1, keepdim=True)": "(0.5 * deviation**2 + log_sigma).sum(dim=-1)"},
    hint="What is the shape of your log-density, and what is the shape of its product with a tensor `[B, 1]`?",
    source="student code",
    form=True,
)

sigma_as_a_variance = altered(
    "IndependentGaussianProcess.get_dist",
    {
        "(0.5 * deviation**2 + log_sigma)": "0.5 * (deviation**2 + log_sigma)",
        "torch.exp(-log_sigma)": "torch.exp(-log_sigma / 2)",
    },
    hint="If `log_sigma` is log 2, is σ = 2 or σ² = 2?",
    source="student code",
)

sigma_does_not_normalize = altered(
    "IndependentGaussianProcess.get_dist",
    {"(0.5 * deviation**2 + log_sigma)": "(0.5 * deviation**2)"},
    hint="The integral of a density is 1; is the peak of your density equally high for a large and a small σ?",
    source="student code",
)

far_is_likely = altered(
    "IndependentGaussianProcess.get_dist",
    {"(0.5 * deviation**2 + log_sigma)": "(log_sigma - 0.5 * deviation**2)"},
    hint="Is an action far from the mean more likely or less likely?",
)

square_not_halved = altered(
    "IndependentGaussianProcess.get_dist",
    {"(0.5 * deviation**2 + log_sigma)": "(deviation**2 + log_sigma)"},
    hint="What is (y - μ)² divided by in the formula?",
)

constant_of_one_dimension = altered(
    "IndependentGaussianProcess.get_dist",
    {"- 0.5 * self.n * np.log(2 * np.pi)\n": "- 0.5 * np.log(2 * np.pi)\n"},
    hint="How many times does the constant log 2π appear in a sum over n dimensions?",
)

density_without_a_gradient = altered(
    "IndependentGaussianProcess.get_dist",
    {"mu, log_sigma, y = x\n": "mu, log_sigma, y = (value.detach() for value in x)\n"},
    hint="Which parameters should get a gradient through this log-density?",
    learns=False,
)

density_takes_sigma_for_its_logarithm = altered(
    "IndependentGaussianProcess.get_dist",
    {
        "torch.exp(-log_sigma)": "torch.exp(-torch.exp(log_sigma))",
        "(0.5 * deviation**2 + log_sigma)": "(0.5 * deviation**2 + torch.exp(log_sigma))",
    },
    hint="The formula contains both log σ and σ: for σ = 2 and n = 1, which number do you use for each?",
    source="the keras-rl drafts",
)

density_changes_the_actions = altered(
    "IndependentGaussianProcess.get_dist",
    {"deviation = (y - mu) * torch.exp(-log_sigma)": "deviation = y.sub_(mu) * torch.exp(-log_sigma)"},
    hint="What does `y` contain after your call?",
    source="student code",
    form=True,
)

density_without_the_circle = altered(
    "IndependentGaussianProcess.get_dist",
    {" - 0.5 * self.n * np.log(2 * np.pi)": ""},
    hint="Which factor with π does the density need so that it integrates to 1?",
    source="student code",
)

density_as_a_mean = altered(
    "IndependentGaussianProcess.get_dist",
    {"log_sigma).sum(dim=-1, keepdim=True) - 0.5 * self.n": "log_sigma).mean(dim=-1, keepdim=True) - 0.5"},
    hint="How do you combine the probabilities of independent events, and how their logarithms?",
    source="student code",
)

sigma_of_all_rows = altered(
    "IndependentGaussianProcess.get_dist",
    {
        "-(0.5 * deviation**2 + log_sigma).sum(dim=-1, keepdim=True) -": ""
        "-(0.5 * deviation**2).sum(dim=-1, keepdim=True) - log_sigma.sum() -"
    },
    hint="Over which axes do you sum log σ: over the dimensions of one action, or over the whole batch?",
    source="student code",
)

sigma_adds_to_the_density = altered(
    "IndependentGaussianProcess.get_dist",
    {"(0.5 * deviation**2 + log_sigma)": "(0.5 * deviation**2 - log_sigma)"},
    hint="If σ becomes larger, does the peak of the density become higher or lower?",
    source="student code",
)

density_and_not_its_logarithm = altered(
    "IndependentGaussianProcess.get_dist",
    {
        "return -(0.5 * deviation**2 + log_sigma).sum(dim=-1, keepdim=True) - 0.5 * self.n * np.log(2 * np.pi)": ""
        "log_p = -(0.5 * deviation**2 + log_sigma).sum(dim=-1, keepdim=True) - 0.5 * self.n * np.log(2 * np.pi)\n"
        "return torch.exp(log_p)"
    },
    hint="Can a log-density be negative, and can your result be negative?",
)

logarithm_of_what_is_zero = altered(
    "IndependentGaussianProcess.get_dist",
    {
        "return -(0.5 * deviation**2 + log_sigma).sum(dim=-1, keepdim=True) - 0.5 * self.n * np.log(2 * np.pi)": ""
        "log_p = -(0.5 * deviation**2 + log_sigma).sum(dim=-1, keepdim=True) - 0.5 * self.n * np.log(2 * np.pi)\n"
        "return torch.log(torch.exp(log_p))"
    },
    hint="What is the density 60 standard deviations from the mean as a float, and what is its logarithm?",
    source="student code",
)

density_in_double_precision = altered(
    "IndependentGaussianProcess.get_dist",
    {"mu, log_sigma, y = x\n": "mu, log_sigma, y = (value.double() for value in x)\n"},
    hint="What is the dtype of your log-density?",
    form=True,
)

# IndependentGaussianProcess.entropy

entropy_of_one_dimension = altered(
    "IndependentGaussianProcess.entropy",
    {"0.5 * self.n * (np.log(2 * np.pi) + 1)": "0.5 * (np.log(2 * np.pi) + 1)"},
    hint="The entropies of independent dimensions add up; how many dimensions are there?",
    source="student code",
)

entropy_of_the_most_likely = altered(
    "IndependentGaussianProcess.entropy",
    {"self.n * (np.log(2 * np.pi) + 1)": "self.n * np.log(2 * np.pi)"},
    hint="Did you take the mean of -log p over all actions, or its value at the mean action?",
)

entropy_upside_down = altered(
    "IndependentGaussianProcess.entropy",
    {
        "return log_sigma.sum(dim=-1, keepdim=True) + 0.5 * self.n * (np.log(2 * np.pi) + 1)": ""
        "return -log_sigma.sum(dim=-1, keepdim=True) - 0.5 * self.n * (np.log(2 * np.pi) + 1)"
    },
    hint="Does a wide distribution have more or less entropy than a narrow distribution?",
)

entropy_not_halved = altered(
    "IndependentGaussianProcess.entropy",
    {"0.5 * self.n * (np.log(2 * np.pi) + 1)": "self.n * (np.log(2 * np.pi) + 1)"},
    hint="The mean of (y - μ)² is σ²; what is the mean of (y - μ)²/(2σ²)?",
    source="student code",
)

entropy_of_a_sample = altered(
    "IndependentGaussianProcess.entropy",
    {
        "        _, log_sigma = x\n"
        "        return log_sigma.sum(dim=-1, keepdim=True) + 0.5 * self.n * (np.log(2 * np.pi) + 1)": ""
        "        return -self.get_dist((*x, self.sample(x)))"
    },
    hint="If you call `entropy` twice with the same arguments, do you get the same result?",
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
    hint="How does the entropy bonus reach log σ in the backward pass?",
)

entropy_as_a_mean = altered(
    "IndependentGaussianProcess.entropy",
    {"log_sigma.sum(dim=-1, keepdim=True) + 0.5 * self.n": "log_sigma.mean(dim=-1, keepdim=True) + 0.5"},
    hint="What is the entropy of two independent dimensions: the sum or the mean of their entropies?",
    source="student code",
)

entropy_of_sigma_and_not_its_logarithm = altered(
    "IndependentGaussianProcess.entropy",
    {"return log_sigma.sum(": "return torch.exp(log_sigma).sum("},
    hint="By how much does the entropy increase when σ is doubled?",
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
    hint="Which activation is between the last two linear layers of your actor?",
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
    hint="Which activation does the docstring ask for between the layers?",
)

means_are_squashed = altered(
    "Actor",
    {"nn.Linear(16, n),": "nn.Linear(16, n),\nnn.Tanh(),"},
    hint="What is the largest mean that your actor can return?",
    source="student code",
)

actor_of_the_newest_observation = altered(
    "Actor",
    {
        "nn.Linear(window_length * obs_dim, 16),": "nn.Linear(obs_dim, 16),",
        "mu = self.mu(state)": "mu = self.mu(state[:, -1:])",
    },
    hint="How many numbers does a state of w observations have, and how many of them does your first layer get?",
    source="student code",
)

sigma_from_the_state = altered(
    "Actor",
    {
        "self.log_sigma = nn.Parameter(torch.zeros(n))": "self.log_sigma = nn.Parameter(torch.zeros(n))\n"
        "self.sigma_of_state = nn.Linear(window_length * obs_dim, n)",
        "return mu, self.log_sigma.expand_as(mu)": "return mu, self.log_sigma + self.sigma_of_state(state.flatten(1))",
    },
    hint="Should σ depend on the state?",
    source="student code",
)

sigma_cannot_be_learned = altered(
    "Actor",
    {"nn.Parameter(torch.zeros(n))": "torch.zeros(n)"},
    hint="Is `log_sigma` among the `parameters()` of your actor?",
    source="student code",
)

sigma_begins_elsewhere = altered(
    "Actor",
    {"nn.Parameter(torch.zeros(n))": "nn.Parameter(torch.ones(n))"},
    hint="What is σ at the start, and what is log σ then?",
)

sigma_shared_by_dimensions = altered(
    "Actor",
    {"nn.Parameter(torch.zeros(n))": "nn.Parameter(torch.zeros(1))"},
    hint="How many numbers does your `log_sigma` have?",
)

sigma_of_no_row = altered(
    "Actor",
    {"self.log_sigma.expand_as(mu)": "self.log_sigma"},
    hint="What is the shape of the log_sigma that you return, and how many rows does mu have?",
    source="student code",
    form=True,
)

sigma_returned_for_its_logarithm = altered(
    "Actor",
    {"return mu, self.log_sigma.expand_as(mu)": "return mu, self.log_sigma.exp().expand_as(mu)"},
    hint="What is the initial value of the returned log_sigma, and what does the docstring ask for?",
    source="student code",
)

log_sigma_detached = altered(
    "Actor",
    {"self.log_sigma.expand_as(mu)": "self.log_sigma.detach().expand_as(mu)"},
    hint="Does a gradient flow from the log_sigma that you return to the parameter?",
    source="student code",
)

one_state_loses_its_axis = altered(
    "Actor",
    {"return mu, self.log_sigma.expand_as(mu)": "return mu.squeeze(0), self.log_sigma.expand_as(mu)"},
    hint="What is the shape of mu for a batch of one state?",
    source="student code",
    form=True,
)

one_hidden_layer_twice = altered(
    "Actor",
    {
        "            nn.Linear(16, 16),\n"
        "            nn.ReLU(),\n"
        "            nn.Linear(16, 16),\n"
        "            nn.ReLU(),\n"
        "            nn.Linear(16, n),": ""
        "            (same := nn.Linear(16, 16)),\n"
        "            nn.ReLU(),\n"
        "            same,\n"
        "            nn.ReLU(),\n"
        "            nn.Linear(16, n),"
    },
    hint="How often does your actor use each of its layers?",
    source="student code",
)

actor_layers_in_a_list = altered(
    "Actor",
    {
        "            nn.Linear(window_length * obs_dim, 16),\n"
        "            nn.ReLU(),\n"
        "            nn.Linear(16, 16),\n"
        "            nn.ReLU(),\n"
        "            nn.Linear(16, 16),\n"
        "            nn.ReLU(),\n"
        "            nn.Linear(16, n),\n"
        "        )\n": ""
        "            nn.Linear(16, n),\n"
        "        )\n"
        "        self.layers = [nn.Linear(window_length * obs_dim, 16), nn.Linear(16, 16), nn.Linear(16, 16)]\n",
        "        mu = self.mu(state)\n": ""
        "        x = state.flatten(1)\n"
        "        for layer in self.layers:\n"
        "            x = layer(x).relu()\n"
        "        mu = self.mu(x)\n",
    },
    hint="Which of your layers are in `parameters()`, and does a Python list register the modules in it?",
    source="student code",
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
    hint="Which activation is between the last two linear layers of your critic?",
)

critic_of_the_newest_observation = altered(
    "Critic",
    {
        "nn.Linear(window_length * obs_dim, 16),": "nn.Linear(obs_dim, 16),",
        "return self.value(state)": "return self.value(state[:, -1:])",
    },
    hint="How many numbers does a state of w observations have, and how many of them does your first layer get?",
    source="student code",
)

values_are_never_negative = altered(
    "Critic",
    {"nn.Linear(16, 1),": "nn.Linear(16, 1),\nnn.ReLU(),"},
    hint="What is the value of a state with only negative rewards ahead, and can your critic return it?",
    source="student code",
)

values_in_a_row = altered(
    "Critic",
    {"return self.value(state)": "return self.value(state).squeeze(1)"},
    hint="What is the shape of your values?",
    form=True,
)

# EpisodeMemory.get_recent_state

window_emptied_at_the_end = altered(
    "EpisodeMemory.get_recent_state",
    {
        "recent = [*self.observations, observation]": ""
        "seen = [] if self.terminated or self.truncated else self.observations\n"
        "recent = [*seen, observation]"
    },
    hint="`forward` is called once more after the end: which observations does this final state contain?",
    source="student code",
)

zeros_at_the_end = altered(
    "EpisodeMemory.get_recent_state",
    {
        "[np.zeros_like(observation) for _ in range(missing)] + recent": ""
        "recent + [np.zeros_like(observation) for _ in range(missing)]"
    },
    hint="Where in the window is the current observation, and where are the zeros?",
    source="student code",
)

first_observation_repeated = altered(
    "EpisodeMemory.get_recent_state",
    {"[np.zeros_like(observation) for _ in range(missing)]": "[recent[0] for _ in range(missing)]"},
    hint="What does the docstring put in place of missing observations?",
    source="student code",
)

window_of_the_newest_first = altered(
    "EpisodeMemory.get_recent_state",
    {
        "[np.zeros_like(observation) for _ in range(missing)] + recent": ""
        "recent[::-1] + [np.zeros_like(observation) for _ in range(missing)]"
    },
    hint="Which observation is the last in your window?",
)

newest_kept_observation_skipped = altered(
    "EpisodeMemory.get_recent_state",
    {"[*self.observations, observation]": "[*self.observations[:-1], observation]"},
    hint="Which observation comes just before the current observation in your window?",
)

window_too_short = altered(
    "EpisodeMemory.get_recent_state",
    {"[np.zeros_like(observation) for _ in range(missing)] + recent": "recent"},
    hint="How many observations does the first state of an episode contain?",
)

window_of_the_past_only = altered(
    "EpisodeMemory.get_recent_state",
    {"[*self.observations, observation][-self.window_length :]": "self.observations[-self.window_length :]"},
    hint="Where in your window is the current observation?",
    source="student code",
)

window_one_too_long = altered(
    "EpisodeMemory.get_recent_state",
    {
        "recent = [*self.observations, observation][-self.window_length :]": ""
        "recent = [*self.observations[-self.window_length :], observation]"
    },
    hint="The window has w observations; how many of them are from earlier steps?",
    source="student code",
)

window_of_everything = altered(
    "EpisodeMemory.get_recent_state",
    {
        "recent = [*self.observations, observation][-self.window_length :]": ""
        "recent = [*self.observations[-(self.window_length - 1) :], observation]"
    },
    hint="For `window_length` = 1, at which index does your slice start, and how many observations do you return?",
    source="student code",
)

zeros_in_double_precision = altered(
    "EpisodeMemory.get_recent_state",
    {"[np.zeros_like(observation) for _ in range(missing)]": "[np.zeros(len(observation)) for _ in range(missing)]"},
    hint="What is the dtype of your zeros, and what is the dtype of the observations?",
    source="student code",
    form=True,
)

looking_is_remembering = altered(
    "EpisodeMemory.get_recent_state",
    {
        "recent = [*self.observations, observation][-self.window_length :]": "self.observations.append(observation)\n"
        "recent = self.observations[-self.window_length :]"
    },
    hint="How many observations does the memory contain after one call of `get_recent_state` and one call of `append`?",
    source="student code",
)

zeros_put_into_the_memory = altered(
    "EpisodeMemory.get_recent_state",
    {
        "return [np.zeros_like(observation) for _ in range(missing)] + recent": ""
        "self.observations[:0] = [np.zeros_like(observation) for _ in range(missing)]\n"
        "return [*self.observations, observation][-self.window_length :]"
    },
    hint="How many observations does the memory have after it was asked for a state?",
    source="student code",
)

# PPOAgent.forward

observations_in_one_array = altered(
    "PPOAgent.forward",
    {
        "self.recent = (observations, states, action, log_prob)": ""
        'self.room = getattr(self, "room", np.zeros_like(observations))\n'
        "self.room[...] = observations\n"
        "self.recent = (self.room, states, action, log_prob)"
    },
    hint="Into which array does the second call write its observations, and who still uses the array of the first call?",
    source="student code",
    form=True,
)

nothing_new_is_tried = altered(
    "PPOAgent.forward",
    {"self.process.sample((mu, log_sigma)) if self.training else mu": "mu"},
    hint="Which line of `forward` makes the action random in training?",
    learns=False,
)

explores_in_a_test = altered(
    "PPOAgent.forward",
    {"self.process.sample((mu, log_sigma)) if self.training else mu": "self.process.sample((mu, log_sigma))"},
    hint="Which action should the agent take if it is not in training?",
    source="student code",
)

observation_not_copied = altered(
    "PPOAgent.forward",
    {"np.array(observation, dtype=np.float32).reshape": "np.asarray(observation, dtype=np.float32).reshape"},
    hint="What happens to a stored observation if the environment writes the next observation into the same array?",
    source="student code",
)

density_of_the_mean = altered(
    "PPOAgent.forward",
    {
        "            log_prob = self.process.get_dist((mu, log_sigma, action))\n        self.recent = (": ""
        "            log_prob = self.process.get_dist((mu, log_sigma, mu))\n"
        "        self.recent = ("
    },
    hint="Do you store the log-probability of the sample, or that of the mean?",
)

density_of_what_is_clipped = altered(
    "PPOAgent.forward",
    {"if self.training else mu": "if self.training else mu\naction = action.clamp(-1.0, 1.0)"},
    hint="If you clip a sample, does the log-density of the normal distribution still belong to the clipped action?",
    source="student code",
)

sample_is_clipped = altered(
    "PPOAgent.forward",
    {
        "self.process.sample((mu, log_sigma)) if self.training else mu": ""
        "self.process.sample((mu, log_sigma)).clamp(-1, 1) if self.training else mu"
    },
    hint="If you clip a sample, does the log-density of the normal distribution still belong to the clipped action?",
    source="student code",
)

mean_is_clipped = altered(
    "PPOAgent.forward",
    {
        "self.process.sample((mu, log_sigma)) if self.training else mu": ""
        "self.process.sample((mu, log_sigma)) if self.training else mu.clamp(-1, 1)"
    },
    hint="Who clips an action if the agent is not in training: the agent, or the loop in `training.py`?",
)

density_of_another_action = altered(
    "PPOAgent.forward",
    {
        "            log_prob = self.process.get_dist((mu, log_sigma, action))\n        self.recent = (": ""
        "            log_prob = self.process.get_dist((mu, log_sigma, action.clamp(-1, 1)))\n"
        "        self.recent = ("
    },
    hint="Does the stored log-probability belong to the stored action?",
    source="student code",
)

sample_of_another_deviation = altered(
    "PPOAgent.forward",
    {"self.process.sample((mu, log_sigma)) if": "self.process.sample((mu, log_sigma.exp())) if"},
    hint="Does `sample` take σ or log σ as the second item of its tuple?",
    source="student code",
)

another_action_is_returned = altered(
    "PPOAgent.forward",
    {
        "return action.numpy().copy() if np.ndim(observation) > 1 else action[0].numpy().copy()": ""
        "action = torch.tanh(action)\n"
        "return action.numpy().copy() if np.ndim(observation) > 1 else action[0].numpy().copy()"
    },
    hint="Do you store the log-probability of the action that you return?",
    source="student code",
)

gradient_kept = altered(
    "PPOAgent.forward",
    {
        "with torch.no_grad():\n            mu, log_sigma = ": "if True:\n    mu, log_sigma = ",
        "if self.training else mu": "if self.training else mu.detach()",
    },
    hint="Should the stored log-probability have a gradient?",
    source="student code",
    form=True,
)

windows_of_the_first_environment = altered(
    "PPOAgent.forward",
    {"[memory.get_recent_state(one) for memory, one in": "[self.memories[0].get_recent_state(one) for _memory, one in"},
    hint="Whose earlier observations are in the state of the second environment?",
    source="student code",
)

one_action_for_all = altered(
    "PPOAgent.forward",
    {
        "self.process.sample((mu, log_sigma)) if self.training else mu": ""
        "(self.process.sample((mu, log_sigma)) if self.training else mu)[:1].expand_as(mu)"
    },
    hint="If two environments have different observations, do they get different actions?",
)

always_a_row_for_each_environment = altered(
    "PPOAgent.forward",
    {"return action.numpy().copy() if np.ndim(observation) > 1 else action[0].numpy().copy()": "return action.numpy().copy()"},
    hint="What is the shape of the action for a single observation `[obs_dim]`, and what shape do you return?",
    form=True,
)

no_row_for_a_single_environment = altered(
    "PPOAgent.forward",
    {"if np.ndim(observation) > 1 else": "if len(self.memories) > 1 else"},
    hint="What is the shape of the action for observations `[1, obs_dim]`, and what shape do you return?",
    source="student code",
    form=True,
)

log_probability_without_its_axis = altered(
    "PPOAgent.forward",
    {
        "            log_prob = self.process.get_dist((mu, log_sigma, action))\n        self.recent = (": ""
        "            log_prob = self.process.get_dist((mu, log_sigma, action)).squeeze(1)\n"
        "        self.recent = ("
    },
    hint="What shape does the docstring give for an item of `log_probs`, and what shape do your log-probabilities have?",
    form=True,
)

action_as_a_tensor = altered(
    "PPOAgent.forward",
    {
        "return action.numpy().copy() if np.ndim(observation) > 1 else action[0].numpy().copy()": ""
        "return action.clone() if np.ndim(observation) > 1 else action[0].clone()"
    },
    hint="Does an environment take an array or a tensor?",
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
    hint="What dtype does the docstring give for an action?",
    form=True,
)

kept_as_arrays = altered(
    "PPOAgent.forward",
    {
        "self.recent = (observations, states, action, log_prob)": ""
        "self.recent = (observations, states, action.numpy(), log_prob.numpy())"
    },
    hint="Are the actions and log-probabilities in `recent` arrays or tensors?",
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
    hint="How many steps did the environment take, and how many rewards does your episode have?",
    source="student code",
)

extra_call_begins_an_episode = altered(
    "PPOAgent.backward",
    {
        "                memory.reset()\n            else:\n                memory.append(*step)": ""
        "                memory.reset()\n"
        "            memory.append(*step)"
    },
    hint="Is the action of the extra call ever taken?",
    source="student code",
)

step_without_a_reward_is_the_extra_call = altered(
    "PPOAgent.backward",
    {
        "        for index, step in enumerate(": ""
        "        ended = np.logical_or(terminals, truncateds)\n"
        "        for index, step in enumerate(",
        "if memory.terminated or memory.truncated:": "if rewards[index] == 0 and not ended[index] and memory.rewards:",
    },
    hint="May a step inside an episode have a reward of 0, and how does your agent treat such a step?",
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
    hint="When the last reward arrives, has `forward` already seen the final state?",
    source="student code",
)

final_state_of_the_first_environment = altered(
    "PPOAgent.backward",
    {"_, final_state, *_ = step": "final_state = self.recent[1][0]"},
    hint="If the second environment's episode is over, whose state do you pass on as its final state?",
)

later_environments_lose_a_step = altered(
    "PPOAgent.backward",
    {
        "memory.reset()": "memory.reset()\n"
        "if len(self.episodes) >= self.episodes_per_update:\n"
        "    metrics = self.update()\n"
        "    self.episodes = []\n"
        "    return metrics"
    },
    hint="If an update is due in the middle of your loop, what happens to the environments after this one?",
)

final_state_is_the_one_before = altered(
    "PPOAgent.backward",
    {"self.finish_episode(memory, final_state)": "self.finish_episode(memory, memory.states[-1])"},
    hint="Which state has `forward` just seen in the extra call?",
    source="student code",
)

time_limit_is_no_end = altered(
    "PPOAgent.backward",
    {"if memory.terminated or memory.truncated:": "if memory.terminated:"},
    hint="In which two ways can an episode be over, and which of them do you check?",
    source="student code",
)

both_ends_are_no_end = altered(
    "PPOAgent.backward",
    {"if memory.terminated or memory.truncated:": "if memory.terminated != memory.truncated:"},
    hint="What does your condition say about a step that is both terminated and truncated?",
    source="student code",
)

every_end_stored_as_termination = altered(
    "PPOAgent.backward",
    {"memory.append(*step)": "memory.append(*step[:-2], step[-2] or step[-1], step[-1])"},
    hint="What does the memory say after a truncated step: terminated, or truncated?",
    source="student code",
)

memory_never_reset = altered(
    "PPOAgent.backward",
    {"                memory.reset()\n            else": "            else"},
    hint="What does the memory contain when a new episode begins?",
    source="student code",
)

reward_of_the_extra_call_kept = altered(
    "PPOAgent.backward",
    {
        "                _, final_state, *_ = step\n": ""
        "                _, final_state, *_ = step\n"
        "                memory.rewards[-1] = float(step[4])\n"
    },
    hint="Which call of `backward` receives the last reward of the episode?",
)

first_environment_only = altered(
    "PPOAgent.backward",
    {
        "            memory = self.memories[index]\n": ""
        "            if index > 0:\n"
        "                break\n"
        "            memory = self.memories[index]\n"
    },
    hint="What does the memory of the second environment contain?",
)

all_end_with_one = altered(
    "PPOAgent.backward",
    {
        "        for index, step in enumerate(": ""
        "        over = any(memory.terminated or memory.truncated for memory in self.memories)\n"
        "        for index, step in enumerate(",
        "if memory.terminated or memory.truncated:": "if over:",
    },
    hint="If one of three episodes is over, what happens to the other two?",
    source="student code",
)

tests_are_learned_from = altered(
    "PPOAgent.backward",
    {
        "                if self.training:\n                    self.episodes": ""
        "                if True:\n"
        "                    self.episodes"
    },
    hint="What is added to `episodes` while the agent is not in training?",
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
    hint="A state may contain several observations; where do they come from if the agent is not in training?",
    source="student code",
)

update_after_every_episode = altered(
    "PPOAgent.backward",
    {"if len(self.episodes) < self.episodes_per_update:": "if not self.episodes:"},
    hint="How many episodes are there when your agent makes an update?",
)

update_after_so_many_steps = altered(
    "PPOAgent.backward",
    {
        "if len(self.episodes) < self.episodes_per_update:": ""
        'if sum(len(one["advantage"]) for one in self.episodes) < self.episodes_per_update:'
    },
    hint="What do you compare with `episodes_per_update`: a number of steps, or a number of episodes?",
)

update_missed_if_there_are_more = altered(
    "PPOAgent.backward",
    {"if len(self.episodes) < self.episodes_per_update:": "if len(self.episodes) != self.episodes_per_update:"},
    hint="Two episodes may end at once: what does your agent do with more than `episodes_per_update` episodes?",
    source="student code",
)

update_one_episode_late = altered(
    "PPOAgent.backward",
    {"if len(self.episodes) < self.episodes_per_update:": "if len(self.episodes) <= self.episodes_per_update:"},
    hint="How many episodes are waiting when your update begins, and how many should there be?",
    source="student code",
)

ends_exchanged = altered(
    "PPOAgent.backward",
    {"rewards, terminals, truncateds, strict=True": "rewards, truncateds, terminals, strict=True"},
    hint="In which order does `append` take the two flags?",
    source="student code",
)

update_never = altered(
    "PPOAgent.backward",
    {"metrics = self.update()": "metrics = {}"},
    hint="Which line calls `update`?",
    learns=False,
)

episodes_kept = altered(
    "PPOAgent.backward",
    {"        self.episodes = []\n        return metrics": "        return metrics"},
    hint="Which policy played the episodes in your second update?",
    source="student code",
)

more_than_enough_are_kept = altered(
    "PPOAgent.backward",
    {
        "        self.episodes = []\n        return metrics": ""
        "        self.episodes = self.episodes[self.episodes_per_update :]\n"
        "        return metrics"
    },
    hint="Which episodes did `update` use, and which policy played those that you keep?",
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
    hint="How can a training loop know that there was an update?",
)

ends_never_looked_at = altered(
    "PPOAgent.backward",
    {"if memory.terminated or memory.truncated:": "if False:"},
    hint="Which attributes say that the episode in a memory is over, and where do you check them?",
    source="student code",
)

ends_of_this_call_looked_at = altered(
    "PPOAgent.backward",
    {
        "if memory.terminated or memory.truncated:": "if step[-1] or step[-2]:",
        "self.episodes.append(self.finish_episode(memory, final_state))": ""
        "memory.append(*step)\nself.episodes.append(self.finish_episode(memory, final_state))",
    },
    hint="The flags come with the last step, the final state with the call after it; in which call do you finish the episode?",
    source="student code",
)

nothing_is_not_a_dictionary = altered(
    "PPOAgent.backward",
    {"            return {}\n": "            return None\n"},
    hint="What should `backward` return if there was no update?",
    source="student code",
    form=True,
)

# PPOAgent.finish_episode

states_in_one_tensor = altered(
    "PPOAgent.finish_episode",
    {
        "return {\n": ""
        'self.room = getattr(self, "room", torch.zeros(10_000, *state.shape[1:]))\n'
        "self.room[: len(state)] = state\n"
        "return {\n",
        '"state": state,': '"state": self.room[: len(state)],',
    },
    hint="What do the states of the first episode contain after you have finished the second episode?",
    source="student code",
)

last_step_dropped = altered(
    "PPOAgent.finish_episode",
    {
        '            "state": state,\n': '            "state": state[:-1],\n',
        "torch.stack(memory.actions)": "torch.stack(memory.actions)[:-1]",
        "torch.stack(memory.log_probs)": "torch.stack(memory.log_probs)[:-1]",
        '"advantage": advantage,': '"advantage": advantage[:-1],',
        '"value_target": value_target,': '"value_target": value_target[:-1],',
    },
    hint="How many steps does the episode have, and how many rows do you return?",
)

followed_by_itself = altered(
    "PPOAgent.finish_episode",
    {"next_state = torch.cat((state[1:], final_state.unsqueeze(0)))": "next_state = state"},
    hint="In which state is the agent after each action?",
)

final_state_unused = altered(
    "PPOAgent.finish_episode",
    {"next_state = torch.cat((state[1:], final_state.unsqueeze(0)))": "next_state = torch.cat((state[1:], state[-1:]))"},
    hint="Which state follows the last action, and which argument contains it?",
    source="student code",
)

final_state_of_zeros = altered(
    "PPOAgent.finish_episode",
    {
        "next_state = torch.cat((state[1:], final_state.unsqueeze(0)))": ""
        "next_state = torch.cat((state[1:], torch.zeros_like(state[:1])))"
    },
    hint="Which value follows the last action: none, or the value of the last state that the agent has seen?",
)

ends_not_told = altered(
    "PPOAgent.finish_episode",
    {"            at_end & memory.terminated,\n            at_end & memory.truncated,\n": ""},
    hint="Which arguments tell the estimator that the episode terminated, and in which row?",
    source="student code",
)

time_limit_told_as_the_end = altered(
    "PPOAgent.finish_episode",
    {"at_end & memory.terminated,": "at_end,"},
    hint="After a truncated episode, which flag does the estimator get for the last row?",
    source="student code",
)

termination_not_told = altered(
    "PPOAgent.finish_episode",
    {"at_end & memory.terminated,": "at_end & False,"},
    hint="After a terminated episode, does the estimator still count the value of the final state?",
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
    hint="How many times does the last advantage contain the value of the final state?",
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
    hint="What should the critic predict: the advantage, or the return?",
    source="student code",
)

target_is_the_reward = altered(
    "PPOAgent.finish_episode",
    {"value_target = advantage + self.critic(state).flatten()": "value_target = torch.tensor(memory.rewards)"},
    hint="Does the value of a state contain only the next reward?",
)

target_without_a_sign = altered(
    "PPOAgent.finish_episode",
    {"value_target = advantage + self.critic(state).flatten()": "value_target = advantage - self.critic(state).flatten()"},
    hint="An advantage is a return minus a value; how do you get the return from the two?",
)

target_of_the_next_state = altered(
    "PPOAgent.finish_episode",
    {"value_target = advantage + self.critic(state).flatten()": "value_target = advantage + self.critic(next_state).flatten()"},
    hint="Which state's value was subtracted in the advantage?",
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
    hint="Does A + V(s) equal the discounted sum of the rewards for every λ, also in a truncated episode?",
    source="student code",
)

target_of_every_row_with_every_other = altered(
    "PPOAgent.finish_episode",
    {"value_target = advantage + self.critic(state).flatten()": "value_target = advantage + self.critic(state)"},
    hint="What shapes do the advantages and your values have, and what shape does their sum have?",
    source="student code",
)

target_with_a_gradient = altered(
    "PPOAgent.finish_episode",
    {"        with torch.no_grad():\n            value_target": "        if True:\n            value_target"},
    hint="Should the value target change when the critic learns?",
    source="student code",
    form=True,
)

rows_in_double_precision = altered(
    "PPOAgent.finish_episode",
    {'"value_target": value_target,': '"value_target": value_target.double(),'},
    hint="What is the dtype of your value targets, and what is the dtype of the values that the critic returns?",
    form=True,
)

advantages_in_a_list = altered(
    "PPOAgent.finish_episode",
    {'"advantage": advantage,': '"advantage": advantage.tolist(),'},
    hint="`update` concatenates tensors; what type do your advantages have?",
    source="student code",
    form=True,
)

targets_in_a_column = altered(
    "PPOAgent.finish_episode",
    {'"value_target": value_target,': '"value_target": value_target.unsqueeze(1),'},
    hint="What is the shape of your value targets, and what is the shape of values `[T]` minus them?",
    source="student code",
    form=True,
)

states_of_the_steps_after = altered(
    "PPOAgent.finish_episode",
    {'"state": state,': '"state": next_state,'},
    hint="In which state was the action of row t chosen?",
    source="student code",
)

log_probabilities_of_now = altered(
    "PPOAgent.finish_episode",
    {
        '"log_prob": torch.stack(memory.log_probs),': ""
        '"log_prob": self.process.get_dist((*self.actor(state), torch.stack(memory.actions))).detach(),'
    },
    hint="When was the old log-probability in the ratio computed: in `forward`, or now?",
    source="student code",
)

every_step_is_an_end = altered(
    "PPOAgent.finish_episode",
    {"at_end = np.arange(len(state)) == len(state) - 1": "at_end = np.ones(len(state), dtype=bool)"},
    hint="In which row of an episode is `terminated` or `truncated` True?",
    source="student code",
)

# PPOAgent.policy_loss

objective_not_negated = altered(
    "PPOAgent.policy_loss",
    {"return -(surrogate + self.entropy_coef * entropy)": "return surrogate + self.entropy_coef * entropy"},
    hint="Does the optimizer make a loss larger or smaller, and what should happen to the objective?",
    source="student code",
    learns=False,
)

negated_twice = altered(
    "PPOAgent.policy_loss",
    {"surrogate = torch.min(": "surrogate = -torch.min("},
    hint="How many times do you negate the objective?",
    learns=False,
)

more_optimiztic_of_the_two = altered(
    "PPOAgent.policy_loss",
    {"torch.min(ratio * batch": "torch.max(ratio * batch"},
    hint="Which of the two terms does the formula take: the smaller, or the larger?",
    source="student code",
)

never_clipped = altered(
    "PPOAgent.policy_loss",
    {"ratio.clamp(1 - self.clip, 1 + self.clip)": "ratio"},
    hint="If the ratio is 3 and A > 0, does your loss still decrease when the ratio becomes 4?",
)

own_clip_range = altered(
    "PPOAgent.policy_loss",
    {"ratio.clamp(1 - self.clip, 1 + self.clip)": "ratio.clamp(0.8, 1.2)"},
    hint="Does your loss change if the agent is created with a different `clip`?",
    source="student code",
)

clipped_above_only = altered(
    "PPOAgent.policy_loss",
    {"ratio.clamp(1 - self.clip, 1 + self.clip)": "ratio.clamp(max=1 + self.clip)"},
    hint="If the advantage is negative, down to which ratio does your loss still decrease?",
)

product_clipped = altered(
    "PPOAgent.policy_loss",
    {'clipped_ratio * batch["advantage"])': '(ratio * batch["advantage"]).clamp(1 - self.clip, 1 + self.clip))'},
    hint="What is clipped in the formula: the ratio, or the product with the advantage?",
    source="student code",
)

ratio_upside_down = altered(
    "PPOAgent.policy_loss",
    {'torch.exp(log_prob - batch["log_prob"])': 'torch.exp(batch["log_prob"] - log_prob)'},
    hint="If the action has become more likely, is your ratio larger than 1?",
    learns=False,
)

difference_for_a_ratio = altered(
    "PPOAgent.policy_loss",
    {'torch.exp(log_prob - batch["log_prob"])': '(log_prob - batch["log_prob"])'},
    hint="How do you compute a ratio from two logarithms, and what is it before the first optimizer step?",
    source="student code",
)

every_ratio_with_every_advantage = altered(
    "PPOAgent.policy_loss",
    {'torch.exp(log_prob - batch["log_prob"]).squeeze(1)': 'torch.exp(log_prob - batch["log_prob"])'},
    hint="What shapes do your ratio and the advantages have, and what shape does their product have?",
    source="student code",
)

compared_with_itself = altered(
    "PPOAgent.policy_loss",
    {'torch.exp(log_prob - batch["log_prob"])': "torch.exp(log_prob - log_prob.detach())"},
    hint="If the weights change, does your ratio change?",
    source="student code",
)

ratio_does_not_reach_the_actor = altered(
    "PPOAgent.policy_loss",
    {'torch.exp(log_prob - batch["log_prob"])': 'torch.exp(log_prob.detach() - batch["log_prob"])'},
    hint="What is the gradient of your actor after `backward`?",
    source="student code",
    learns=False,
)

clipped_branch_detached = altered(
    "PPOAgent.policy_loss",
    {"ratio.clamp(1 - self.clip, 1 + self.clip)": "ratio.detach().clamp(1 - self.clip, 1 + self.clip)"},
    hint="Inside the clip range both terms are equal; does a gradient flow through both of them?",
    source="student code",
)

unclipped_branch_detached = altered(
    "PPOAgent.policy_loss",
    {'torch.min(ratio * batch["advantage"], clipped': 'torch.min(ratio.detach() * batch["advantage"], clipped'},
    hint="If the ratio is 3 and the advantage is negative, through which term does the gradient push it back?",
    source="student code",
)

ratio_of_densities = altered(
    "PPOAgent.policy_loss",
    {'torch.exp(log_prob - batch["log_prob"])': '(torch.exp(log_prob) / torch.exp(batch["log_prob"]))'},
    hint="If both log-probabilities are -200, what is each density as a float, and what is their ratio?",
    source="student code",
)

actions_drawn_anew = altered(
    "PPOAgent.policy_loss",
    {'get_dist((mu, log_sigma, batch["action"]))': "get_dist((mu, log_sigma, self.process.sample((mu, log_sigma))))"},
    hint="Which action does the old log-probability belong to?",
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
    hint="Does your loss change if you change `entropy_coef`?",
)

sum_over_rows = altered(
    "PPOAgent.policy_loss",
    {'clipped_ratio * batch["advantage"]).mean()': 'clipped_ratio * batch["advantage"]).sum()'},
    hint="Does your loss depend on the number of rows?",
)

entropy_summed = altered(
    "PPOAgent.policy_loss",
    {"self.process.entropy((mu, log_sigma)).mean()": "self.process.entropy((mu, log_sigma)).sum()"},
    hint="Does the entropy term of your loss depend on the number of rows?",
    source="student code",
)

policy_loss_in_an_axis = altered(
    "PPOAgent.policy_loss",
    {"return -(surrogate + self.entropy_coef * entropy)": "return -(surrogate + self.entropy_coef * entropy).reshape(1)"},
    hint="What shape does the policy loss that you return have, and what is the shape of a scalar?",
    form=True,
)

batch_changed = altered(
    "PPOAgent.policy_loss",
    {
        'ratio = torch.exp(log_prob - batch["log_prob"]).squeeze(1)': ""
        'batch["log_prob"] = batch["log_prob"].squeeze(1)\n'
        'ratio = torch.exp(log_prob.squeeze(1) - batch["log_prob"])'
    },
    hint="Is the batch the same after your call?",
    source="student code",
    form=True,
)

pessimistic_on_average = altered(
    "PPOAgent.policy_loss",
    {
        'torch.min(ratio * batch["advantage"], clipped_ratio * batch["advantage"]).mean()': ""
        'torch.min((ratio * batch["advantage"]).mean(), (clipped_ratio * batch["advantage"]).mean())'
    },
    hint="Which comes first in the formula: the minimum of each row, or the mean over all rows?",
    source="student code",
)

clipped_ratio_alone = altered(
    "PPOAgent.policy_loss",
    {
        'surrogate = torch.min(ratio * batch["advantage"], clipped_ratio * batch["advantage"]).mean()': ""
        'surrogate = (clipped_ratio * batch["advantage"]).mean()'
    },
    hint="If the ratio is far out of range on the wrong side, which gradient brings it back?",
    source="student code",
)

quotient_of_logarithms = altered(
    "PPOAgent.policy_loss",
    {'torch.exp(log_prob - batch["log_prob"])': '(log_prob / batch["log_prob"])'},
    hint="How do you compute a ratio of two densities from their logarithms?",
    source="student code",
)

advantages_normalized_once_more = altered(
    "PPOAgent.policy_loss",
    {
        "ratio = torch.exp(": 'a = batch["advantage"]\n'
        'batch = batch | {"advantage": (a - a.mean()) / (a.std() + 1e-8)}\n'
        "ratio = torch.exp("
    },
    hint="Which method normalizes the advantages, and over which rows?",
    source="student code",
)

log_ratio_clipped = altered(
    "PPOAgent.policy_loss",
    {"ratio.clamp(1 - self.clip, 1 + self.clip)": "ratio.log().clamp(-self.clip, self.clip).exp()"},
    hint="At which ratio does your clipping start: at 1 + clip, or at exp(clip)?",
    source="student code",
)

# PPOAgent.value_loss

value_loss_of_huber_beyond_ten = altered(
    "PPOAgent.value_loss",
    {
        '(self.critic(batch["state"]).squeeze(1) - batch["value_target"]).square().mean()': ""
        '2 * nn.functional.huber_loss(self.critic(batch["state"]).squeeze(1), batch["value_target"], delta=10.0)'
    },
    hint="For a single row with an error of 40, is your loss 1,600?",
    source="student code",
)

every_value_with_every_target = altered(
    "PPOAgent.value_loss",
    {'self.critic(batch["state"]).squeeze(1) - batch': 'self.critic(batch["state"]) - batch'},
    hint="What shapes do your values and the value targets have, and what shape does their difference have?",
    source="student code",
)

value_error_halved = altered(
    "PPOAgent.value_loss",
    {'batch["value_target"]).square().mean()': 'batch["value_target"]).square().mean() / 2'},
    hint="By which factor does your loss differ from the mean of (V(s) - value target)²?",
)

value_error_summed = altered(
    "PPOAgent.value_loss",
    {'batch["value_target"]).square().mean()': 'batch["value_target"]).square().sum()'},
    hint="Does your loss depend on the number of rows?",
)

value_error_of_huber = altered(
    "PPOAgent.value_loss",
    {
        'return (self.critic(batch["state"]).squeeze(1) - batch["value_target"]).square().mean()': ""
        'return nn.functional.smooth_l1_loss(self.critic(batch["state"]).squeeze(1), batch["value_target"])'
    },
    hint="By which factor does your loss grow when an error doubles from 2 to 4?",
    source="student code",
)

value_learns_advantages = altered(
    "PPOAgent.value_loss",
    {'batch["value_target"]).square()': 'batch["advantage"]).square()'},
    hint="What should the critic predict from a state: how good the action was, or the return?",
)

value_loss_teaches_nobody = altered(
    "PPOAgent.value_loss",
    {'self.critic(batch["state"]).squeeze(1)': 'self.critic(batch["state"]).detach().squeeze(1)'},
    hint="How does the gradient of this loss reach the critic?",
    source="student code",
)

value_loss_in_an_axis = altered(
    "PPOAgent.value_loss",
    {'batch["value_target"]).square().mean()': 'batch["value_target"]).square().mean().reshape(1)'},
    hint="What shape does the value loss that you return have, and what is the shape of a scalar?",
    form=True,
)

square_of_the_mean_error = altered(
    "PPOAgent.value_loss",
    {
        'batch["value_target"]).square().mean()': 'batch["value_target"]).mean().square()',
    },
    hint="Do you square each error and then take the mean, or do you square the mean of the errors?",
    source="student code",
)

# PPOAgent.update

not_normalized = altered(
    "PPOAgent.update",
    {'data["advantage"] = (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-8)': "pass"},
    hint="What are the mean and the standard deviation of the advantages in your losses?",
)

advantages_only_scaled = altered(
    "PPOAgent.update",
    {"(advantage - advantage.mean())": "advantage"},
    hint="What mean should the normalized advantages have?",
    source="student code",
)

divided_by_nothing = altered(
    "PPOAgent.update",
    {"/ (advantage.std(correction=0) + 1e-8)": "/ advantage.std(correction=0)"},
    hint="If all advantages are the same, what do you divide by?",
    source="student code",
)

gradient_clipped = altered(
    "PPOAgent.update",
    {
        "self.optimizer.step()": ""
        "nn.utils.clip_grad_norm_([*self.actor.parameters(), *self.critic.parameters()], 0.5)\nself.optimizer.step()"
    },
    hint="What changes the size of a gradient between backward() and the optimizer's step?",
    source="student code",
)

normalized_in_the_minibatch = altered(
    "PPOAgent.update",
    {
        'data["advantage"] = (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-8)': "pass",
        "batch = {name: values[rows] for name, values in data.items()}": ""
        "batch = {name: values[rows] for name, values in data.items()}\n"
        'part = batch["advantage"]\n'
        'batch["advantage"] = (part - part.mean()) / (part.std() + 1e-8)',
    },
    hint="Over which rows do you normalize the advantages: all rows, or those of one minibatch?",
    source="student code",
)

episodes_normalized_apart = altered(
    "PPOAgent.update",
    {
        'data["advantage"] = (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-8)': ""
        'parts = [episode["advantage"] for episode in self.episodes]\n'
        'data["advantage"] = torch.cat([(one - one.mean()) / (one.std(correction=0) + 1e-8) for one in parts])',
    },
    hint="Over which steps do you take the mean: the steps of all episodes together, or of each episode separately?",
    source="student code",
)

targets_normalized_as_well = altered(
    "PPOAgent.update",
    {
        "        losses = []\n": '        target = data["value_target"]\n'
        '        data["value_target"] = (target - target.mean()) / (target.std() + 1e-8)\n'
        "        losses = []\n"
    },
    hint="In which units are the values, and are your targets in the same units?",
)

advantages_over_their_variance = altered(
    "PPOAgent.update",
    {"(advantage.std(correction=0) + 1e-8)": "(advantage.var(correction=0) + 1e-8)"},
    hint="Do you divide by the variance, or by the standard deviation?",
    source="student code",
)

never_shuffled = altered(
    "PPOAgent.update",
    {"self.rng.permutation(len(advantage))": "np.arange(len(advantage))"},
    hint="Which rows are together in a minibatch, and are they always the same rows?",
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
    hint="Does the second epoch have the same minibatches as the first?",
    source="student code",
)

reseeded_before_every_shuffle = altered(
    "PPOAgent.update",
    {"self.rng.permutation(len(advantage))": "np.random.default_rng(0).permutation(len(advantage))"},
    hint="In which state does your generator start each epoch, and which order does it draw then?",
    source="student code",
)

reseeded_in_every_update = altered(
    "PPOAgent.update",
    {
        "        losses = []\n": "        rng = np.random.default_rng(0)\n        losses = []\n",
        "self.rng.permutation": "rng.permutation",
    },
    hint="In which state does your generator start each update, and which order does it draw then?",
    source="student code",
)

drawn_with_replacement = altered(
    "PPOAgent.update",
    {"self.rng.permutation(len(advantage))": "self.rng.integers(len(advantage), size=len(advantage))"},
    hint="How many times is each row used in one epoch?",
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

advantages_not_shuffled = altered(
    "PPOAgent.update",
    {
        "for rows in shuffled.split(self.batch_size):": "begin = 0\nfor rows in shuffled.split(self.batch_size):",
        "batch = {name: values[rows] for name, values in data.items()}": ""
        "batch = {name: values[rows] for name, values in data.items()}\n"
        'batch["advantage"] = data["advantage"][begin : begin + len(rows)]\n'
        "begin += len(rows)",
    },
    hint="Do row 3 of the states and row 3 of the advantages come from the same step?",
    placements={
        "the first rows": {
            "batch = {name: values[rows] for name, values in data.items()}": ""
            "batch = {name: values[rows] for name, values in data.items()}\n"
            'batch["advantage"] = data["advantage"][: len(rows)]'
        }
    },
    source="student code",
)

each_column_in_its_own_order = altered(
    "PPOAgent.update",
    {
        "batch = {name: values[rows] for name, values in data.items()}": ""
        "orders = {name: torch.from_numpy(self.rng.permutation(len(advantage)))[: len(rows)] for name in data}\n"
        "batch = {name: values[orders[name]] for name, values in data.items()}"
    },
    hint="Do the action and the advantage in one row of a minibatch belong to the same step?",
    source="student code",
)

optimizer_of_its_own = altered(
    "PPOAgent.update",
    {
        "        losses = []\n": ""
        "        losses = []\n"
        "        networks = [*self.actor.parameters(), *self.critic.parameters()]\n"
        "        self.optimizer = optim.Adam(networks, lr=self.learning_rate)\n"
    },
    hint="What does an optimizer remember, and how many times do you create a new optimizer?",
    source="student code",
)

first_minibatch_only = altered(
    "PPOAgent.update",
    {"for rows in shuffled.split(self.batch_size):": "for rows in shuffled.split(self.batch_size)[:1]:"},
    hint="How many rows have been used after one epoch?",
)

smaller_minibatch_dropped = altered(
    "PPOAgent.update",
    {
        "            for rows in shuffled.split(self.batch_size):\n": ""
        "            for rows in shuffled.split(self.batch_size):\n"
        "                if len(rows) < self.batch_size:\n"
        "                    continue\n"
    },
    hint="With ten rows in minibatches of four, which rows do you not use?",
    source="student code",
)

one_epoch_only = altered(
    "PPOAgent.update",
    {"for _ in range(self.epochs):": "for _ in range(1):"},
    hint="How many times is each row used in one update?",
)

gradients_pile_up = altered(
    "PPOAgent.update",
    {"                self.optimizer.zero_grad()\n": ""},
    hint="Which gradients does the optimizer use in its second step?",
    source="student code",
)

gradient_cleared_before_the_step = altered(
    "PPOAgent.update",
    {
        "                self.optimizer.zero_grad()\n                (policy_loss + value_loss).backward()\n": ""
        "                (policy_loss + value_loss).backward()\n                self.optimizer.zero_grad()\n"
    },
    hint="What is left of the gradient when the optimizer takes its step?",
    learns=False,
)

actor_only = altered(
    "PPOAgent.update",
    {"(policy_loss + value_loss).backward()": "policy_loss.backward()"},
    hint="Which loss updates the critic?",
)

two_steps_for_a_minibatch = altered(
    "PPOAgent.update",
    {"(policy_loss + value_loss).backward()": "policy_loss.backward()\nself.optimizer.step()\nvalue_loss.backward()"},
    hint="How many steps does the optimizer take per minibatch, and which gradient does the actor have in each?",
    source="student code",
)

losses_of_the_last_minibatch = altered(
    "PPOAgent.update",
    {"policy_loss, value_loss = np.mean(losses, axis=0)": "policy_loss, value_loss = losses[-1]"},
    hint="Over which minibatches do you take the returned means?",
)

losses_with_their_graph = altered(
    "PPOAgent.update",
    {
        '{"policy_loss": float(policy_loss), "value_loss": float(value_loss)}': ""
        '{"policy_loss": batch_policy, "value_loss": batch_value}',
        "losses.append([policy_loss.item(), value_loss.item()])": "losses.append([policy_loss.item(), value_loss.item()])\n"
        "batch_policy, batch_value = policy_loss, value_loss",
    },
    hint="Do the returned losses still have a gradient, and are they means over all minibatches?",
)

losses_as_tensors = altered(
    "PPOAgent.update",
    {
        '{"policy_loss": float(policy_loss), "value_loss": float(value_loss)}': ""
        '{"policy_loss": torch.tensor(policy_loss), "value_loss": torch.tensor(value_loss)}'
    },
    hint="Are the returned losses floats or tensors?",
    form=True,
)
