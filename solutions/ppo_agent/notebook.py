# Source of assignments/ppo_agent/notebook.ipynb; `python -m grader build` makes the notebook from it.
# Results of whole training runs come from benchmarks/results. The tests execute the notebook
# (tests/kit/test_notebook.py) and read two variables of the last cell: `curves` and `probes`.

# %% title [markdown]
# # PPO in an agent: repair, derive, assemble
#
# In this assignment you put proximal policy optimization (PPO) into an agent that a library can
# drive: an object with a `forward` method that returns an action, and a `backward` method that
# receives the result of the action. At the end, it swings up a pendulum.
#
# The assignment follows a notebook of drafts for a PPO agent in *keras-rl* (November 2017), called
# **the keras-rl drafts** below. They contain an estimator that their author suspects is wrong, some
# derivations, and a plan. Your work has the same three parts:
#
# | | what you get | what you do |
# | --- | --- | --- |
# | **repair** | a draft that runs but is wrong | find and fix its faults, and write a test that detects them |
# | **derive** | the normal density in one dimension | a stochastic policy in many dimensions: samples, log-density, entropy |
# | **assemble** | a plan in words | networks, a memory, an agent, an update |
#
# You write in **`submitted.py`**, in the order of this notebook. The notebook only calls your
# code. `training.py` and `utils.py` are provided. Read `training.py`, which is short: its loops
# call your agent. Many sections contain a small **question**. Answer it before you run the cell; the
# answer follows below the cell.
#
# > **How to work**
# >
# > - Save `submitted.py` and run the cell again. You need not restart the kernel: once `%load_ext
# >   grader` has run, each cell uses the saved file. If the file cannot be loaded, for example
# >   because of a syntax error, a message says so, and the cells use the previous version. If you
# >   do restart the kernel, run the cells above again (Run > Run All Above Selected Cell): a new
# >   kernel knows nothing of them.
# > - Run `python grade.py --watch` in a terminal next to this notebook. It grades every save. For
# >   many wrong answers it prints a hint about the likely mistake. The cells here show what your
# >   code does; `grade.py` checks whether it is correct.
# > - `%grade QUESTION` in a cell grades `submitted.py` as you saved it, and shows the result below
# >   the cell. `%grade` alone grades all questions. QUESTION is a name from the report, such as
# >   `GeneralizedAdvantageEstimator`.
# > - You can also write your function (for a method, its whole class) in a cell that begins with
# >   `%%grade QUESTION`, together with its imports. The cell is run, and its function is graded.
# >   From then on, `%grade` grades the version that you changed last: the one in the cell after you
# >   run the cell, the one in `submitted.py` after you save the file. To return to the file without
# >   changing it, delete the cell's version with `del NAME`, or use `%grade QUESTION --file` for a
# >   single call.
# > - The first cell that calls something you have not written yet stops with a
# >   `NotImplementedError` that says what to write.
# > - You may also define everything in a notebook and submit that notebook: `python grade.py
# >   --submission notebook.ipynb` grades the definitions in it. In that case, remove `submitted.`
# >   from the cells below.
#
# The pendulum is drawn by pygame (`pip install "gymnasium[classic-control]"`). The whole notebook
# runs in two or three minutes. Scores and curves differ from machine to machine.

# %% setup
# %load_ext grader

import io
import os
import sys

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import torch
from IPython.display import Image, display
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator
from PIL import Image as Picture
from tqdm import tqdm

import submitted
import training
import utils

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pygame draws into arrays; no screen needed
torch.set_num_threads(1)  # the networks are tiny; more threads would only wait
BLUE, ORANGE, GREEN, GRAY = "#0072b2", "#d55e00", "#009e73", "#9a9a9a"


def rounded(numbers, digits=3):
    """Return the numbers as a list, rounded."""
    return [round(number, digits) + 0.0 for number in torch.as_tensor(numbers).tolist()]


# %% settings
PENDULUM, PENDULUM_SEEDS = 100_000, 2
POINT, POINT_SEEDS = 9600, 3
WRONG = 2400
PROBE = 1600

if os.environ.get("NOTEBOOK_BUDGET") == "short":  # for automatic tests: a few seconds per run
    PENDULUM, PENDULUM_SEEDS = 6400, 1
    POINT, POINT_SEEDS = 3600, 1

# %% draft-text [markdown]
# # Part 1: repair
#
# ## 1 · A draft in action
#
# An **advantage** says how much better than expected an action turned out. With a critic $V$, the
# one-step error of its prediction (the TD error) is
#
# $$\delta_t = r_t + \gamma V(s_{t+1}) - V(s_t).$$
#
# *Generalized advantage estimation* (GAE, Schulman et al. 2016, arXiv 1506.02438) sums these
# errors. The error $l$ steps later has the weight $(\gamma \lambda)^l$:
#
# $$A_t = \sum_{l \ge 0} (\gamma \lambda)^l\, \delta_{t+l} = \delta_t + \gamma \lambda\, A_{t+1}$$
#
# Below is a copy of the draft in `submitted.py`, named `draft`, so that you still have it after
# you have repaired yours. The cell below computes the advantages of 1 to 5 rewards with a critic
# that is 0 everywhere and $\gamma = \lambda = 1$. Then each advantage should be the sum of all
# rewards from that step on.
#
# **Question.** An agent has taken $T$ actions. How many advantages does it need? And which reward
# will be missing from all advantages of the draft?

# %% draft


def draft(critic, state, reward, gamma, lamb, *_ignored, **_also_ignored):
    """Return the advantages that the draft of part 1 computes, before the repair."""
    assert len(state) == len(reward)
    value = critic(state).detach().flatten().numpy()
    following_value = np.roll(value, -1)
    delta = reward + gamma * following_value - value
    backwards = [0.0]
    for step in range(1, len(reward)):
        backwards.append(delta[len(reward) - 1 - step] + gamma * lamb * backwards[-1])
    return np.array(backwards[:0:-1])


def identity_critic(state):
    """Return the states as their own values: a critic for these experiments."""
    return state


for n in range(1, 6):
    reward = 10.0 ** np.arange(n)
    found = draft(identity_critic, torch.zeros(n, 1), reward, 1.0, 1.0)
    right = np.cumsum(reward[::-1])[::-1]
    for name, numbers in (("rewards ", reward), ("draft   ", found), ("expected", right)):
        print(f"{name:10}", numbers.astype(int).tolist())

# %% draft-seen [markdown]
# The agent needs $T$ advantages and gets $T - 1$; from an episode of one step it learns nothing.
# The last reward is in none of them, because the loop leaves out the last $\delta$. But the last
# step is often the one in which a game is won or lost.

# %% hidden-text [markdown]
# ## 2 · A fault that hides another
#
# The draft gets the value of the next state from `np.roll(value, -1)`, which shifts every value one
# position to the left.
#
# **Question.** Which value does `np.roll` put in the last place? And why does the draft's output
# not show it?
#
# $\delta$ and $A$ are linear in the values. So we can set one $V(s_k)$ to 1 and all others to 0,
# and see where it appears. Each $k$ gives one column of a picture. Left: the weights of the values
# in the draft's $\delta$. Middle: their weights in its advantages. Right: their weights in the
# advantages if *only* the length has been repaired.

# %% hidden
n, gamma, lamb = 8, 0.9, 0.9
ones = np.eye(n, dtype=np.float32)
into_delta = np.array([gamma * np.roll(one, -1) - one for one in ones]).T
into_draft = np.array(
    [draft(identity_critic, torch.tensor(one)[:, None], np.zeros(n), gamma, lamb) for one in ones]
).T
away = np.arange(n) - np.arange(n)[:, None]
into_longer = np.where(away >= 0, (gamma * lamb) ** np.maximum(away, 0), 0) @ into_delta

figure, row = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
for axes, matrix, title, letter in (
    (row[0], into_delta, "from V to the draft's δ", "δ"),
    (row[1], into_draft, "from V to the draft's A", "A"),
    (row[2], into_longer, "from V to A, length repaired", "A"),
):
    image = axes.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1)
    for (t, k), number in np.ndenumerate(matrix):
        if abs(number) > 0.005:
            axes.text(
                k,
                t,
                f"{number:.2f}",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if abs(number) > 0.6 else "black",
            )
    axes.set_xticks(range(n), labels=[f"V{k}" for k in range(n)])
    axes.set_yticks(range(n), labels=[f"{letter}{t}" for t in range(n)])
    axes.set(title=title, ylim=(n - 0.5, -0.5))
    axes.tick_params(length=0)
row[0].add_patch(
    plt.Rectangle((-0.46, n - 1.46), 0.92, 0.92, fill=False, edgecolor="black", linewidth=2.5)
)
row[1].add_patch(
    plt.Rectangle((-0.5, n - 1.5), n, 1, facecolor="white", edgecolor=GRAY, hatch="///")
)
row[2].add_patch(
    plt.Rectangle((-0.46, -0.46), 0.92, n - 0.08, fill=False, edgecolor="black", linewidth=2.5)
)
figure.colorbar(image, ax=row, label="weight", shrink=0.85)
plt.show()

# %% hidden-seen [markdown]
# The last $\delta$ uses the value of the *first* state: $V(s_0)$ is in the lower left corner. But
# the loop leaves out the last $\delta$, so this value never reaches the advantages, and the middle
# picture has only 7 rows. Once the length is right, every advantage contains a part of $V(s_0)$
# (the framed column). So the first repair makes the second fault *visible*. One fault often hides
# another, so a test that fails after a repair does not prove that the repair was wrong.
#
# The correct value in the last place depends on what followed the last action: the value of the
# next state, or 0 if nothing followed.

# %% flow-text [markdown]
# ## 3 · Several episodes in one batch
#
# The draft treats all rows as a single episode. But an agent collects several episodes, one after
# another, and they end in two ways:
#
# | | what it means | $V(\text{next state})$ | $A_{t+1}$ |
# | --- | --- | --- | --- |
# | **terminated** | the task is over: fallen, won, lost | counts as 0 | counts as 0 |
# | **truncated** | a time limit stopped the episode; the task would have gone on | counts | counts as 0 |
# | neither | the episode goes on | counts | counts (0 after the last row) |
#
# Two terms come from the future, $V$ and $A$, and they do not become 0 at the same places. Also
# check *which* value counts: after a truncation, the next row of `state` is the start of another
# episode. So the estimator takes `next_state`.
#
# The cell shows which $\delta$ contributes to which advantage, for three episodes of four steps:
# the first one terminates, the second one is truncated, the third one goes on. On the left is the
# draft. On the right is the correct result, one triangle per episode. (The notebook computes it
# with the sum above, separately for each episode.)

# %% flow


def one_episode(rewards, values, gamma, lamb):
    """Return the advantages of one episode by the sum; `values` also holds the final value."""
    errors = [
        r + gamma * after - before
        for r, before, after in zip(rewards, values, values[1:], strict=False)
    ]
    return [
        sum((gamma * lamb) ** (k - t) * errors[k] for k in range(t, len(errors)))
        for t in range(len(errors))
    ]


LENGTH, ENDS = 4, ("terminated", "truncated", "goes on")
T = LENGTH * len(ENDS)
units = np.eye(T)
drafted = np.array([draft(identity_critic, torch.zeros(T, 1), unit, 0.9, 0.9) for unit in units]).T
drafted = np.vstack([drafted, np.full(T, np.nan)])
right = np.zeros((T, T))
for begin in range(0, T, LENGTH):
    part = slice(begin, begin + LENGTH)
    right[part, part] = np.array(
        [one_episode(unit, [0] * (LENGTH + 1), 0.9, 0.9) for unit in units[part, part]]
    ).T

figure, both = plt.subplots(1, 2, figsize=(12.5, 5.4), layout="constrained")
for axes, matrix, title in ((both[0], drafted, "the draft"), (both[1], right, "correct")):
    image = axes.imshow(matrix, cmap="Blues", vmin=0, vmax=1)
    for (t, k), number in np.ndenumerate(matrix):
        if number > 0.005:
            axes.text(
                k,
                t,
                f"{number:.2f}",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if number > 0.6 else "black",
            )
    for end in range(LENGTH, T, LENGTH):
        axes.axhline(end - 0.5, color=ORANGE, linewidth=1.5)
        axes.axvline(end - 0.5, color=ORANGE, linewidth=1.5)
    for number, how in enumerate(ENDS):
        axes.text(LENGTH * number + 1.5, -0.75, how, ha="center", color=ORANGE)
    axes.set_xticks(range(T), labels=[f"δ{k}" for k in range(T)])
    axes.set_yticks(range(T), labels=[f"A{t}" for t in range(T)])
    axes.tick_params(length=0)
    axes.set_title(title, pad=22)
both[0].add_patch(
    plt.Rectangle((-0.5, T - 1.5), T, 1, facecolor="white", edgecolor=GRAY, hatch="///")
)
figure.colorbar(image, ax=both, label="weight", shrink=0.85)
plt.show()

# %% leak-text [markdown]
# Here is what this means for an agent. Of 60 steps, the first 25 are an episode that terminates,
# the next 20 are an episode that is truncated, and the last 15 belong to an episode that goes on.
# There is a reward of 1 in step 12, and a reward of -1 in step 33, in the second episode. The
# values of the critic are a sine wave.
#
# **Question.** Which steps of the first episode does the draft punish for the reward in the second
# episode?

# %% leak
LENGTHS = (25, 20, 15)
rewards = np.zeros(60)
rewards[12], rewards[33] = 1.0, -1.0
wave = 0.3 * np.sin(np.arange(63) / 5)  # one value per state, final states included
parts, episodes, shift = [], [], 0
for number, length in enumerate(LENGTHS):
    begin = sum(LENGTHS[:number])
    parts.append(
        (
            rewards[begin : begin + length],
            wave[begin + number : begin + number + length + 1],
            ENDS[number],
        )
    )
state, next_state = (
    torch.tensor(np.concatenate(part), dtype=torch.float32)[:, None]
    for part in (
        [values[:-1] for _, values, _ in parts],
        [values[1:] for _, values, _ in parts],
    )
)
ends = np.cumsum(LENGTHS) - 1
terminated, truncated = np.arange(60) == ends[0], np.arange(60) == ends[1]


def expected(gamma, lamb):
    """Return the 60 advantages, episode by episode."""
    advantages = []
    for paid, values, how in parts:
        values = [*values[:-1], 0.0 if how == "terminated" else values[-1]]
        advantages += one_episode(paid, values, gamma, lamb)
    return np.array(advantages)


def draw_episodes(axes):
    """Mark the end of each episode and its kind."""
    for end, how in zip(ends, ENDS, strict=True):
        if how != "goes on":
            axes.axvline(end + 0.5, color="black", linewidth=0.8)
            axes.annotate(
                how, (end + 0.5, 1.12), (-5, 0), textcoords="offset points", ha="right", fontsize=9
            )
    axes.axhline(0, color="black", linewidth=0.5)
    axes.set(xlabel="step", ylabel="advantage", xlim=(0, 59), ylim=(-1.45, 1.3))
    utils.tidy(axes)


_, axes = plt.subplots(figsize=(10, 3.8), layout="constrained")
wrong = draft(identity_critic, state, rewards, 0.99, 0.95, next_state, terminated, truncated)
axes.plot(expected(0.99, 0.95), color="black", linestyle=":", linewidth=2, label="correct")
axes.plot(wrong, color=ORANGE, linewidth=2, label="the draft")
draw_episodes(axes)
plt.show()

# %% leak-seen [markdown]
# The draft punishes all steps of the first episode, and the last steps most. Their advantages
# contain the -1 of an episode that had not yet begun.

# %% repair-text [markdown]
# ## 4 · Your repair
#
# **Repair `GeneralizedAdvantageEstimator`**, preferably one fault at a time:
#
# 1. Return as many advantages as rewards.
# 2. Use the right value after the last row. With `next_state`, it is the value of its last row.
#    Without `next_state`, it is 0, because the rows are one episode that terminated.
# 3. Use `terminated` and `truncated`. For each of the two, decide whether the next $V$ and the next
#    $A$ count.
#
# The cell computes small cases, then the picture above with your advantages, for three values of
# $\lambda$. With $\lambda = 0$ the advantages are the $\delta$; with $\lambda = 1$ they are the
# return minus $V$. Your lines should lie on the dotted lines, which are computed with the sum, and
# nothing may leak across an end.

# %% repair
small = torch.tensor([[1.0], [2.0], [3.0]])  # the values are 1, 2, 3; γ = λ = 0.5
after = torch.tensor([[2.0], [3.0], [4.0]])
paid = np.array([2.0, 0.0, 4.0])
none, last, middle = (
    np.array(where) for where in ([False] * 3, [False, False, True], [False, True, False])
)
other = torch.tensor([[2.0], [8.0], [4.0]])
right = one_episode(paid, [1, 2, 3, 0], 0.5, 0.5)
yours = submitted.GeneralizedAdvantageEstimator(identity_critic, small, paid, 0.5, 0.5)
print(
    f"{len(paid)} rewards, {len(yours)} advantages: {rounded(yours)}, expected "
    f"{len(right)}: {rounded(right)}"
)
if len(yours) != len(paid):
    raise NotImplementedError(
        "GeneralizedAdvantageEstimator.length: return as many advantages as rewards, "
        "including the last δ"
    )
for name, values, arguments in (
    ("goes on", [[1, 2, 3, 4]], (after, none, none)),
    ("truncated in the last row", [[1, 2, 3, 4]], (after, none, last)),
    ("terminated in the last row", [[1, 2, 3, 0]], (after, last, none)),
    ("terminated in the middle", [[1, 2, 0], [3, 4]], (after, middle, none)),
    ("truncated there, V = 8", [[1, 2, 8], [3, 4]], (other, none, middle)),
    ("terminated there, V = 8", [[1, 2, 0], [3, 4]], (other, middle, none)),
):
    yours = submitted.GeneralizedAdvantageEstimator(
        identity_critic, small, paid, 0.5, 0.5, *arguments
    )
    begins = np.cumsum([0] + [len(part) - 1 for part in values])
    right = [
        A
        for begin, part in zip(begins, values, strict=False)
        for A in one_episode(paid[begin:][: len(part) - 1], part, 0.5, 0.5)
    ]
    print(f"{name:28} found {rounded(yours)!s:24} expected {rounded(right)}")

_, axes = plt.subplots(figsize=(10, 3.8), layout="constrained")
for lamb, color in ((0.0, GRAY), (0.95, BLUE), (1.0, GREEN)):
    yours = submitted.GeneralizedAdvantageEstimator(
        identity_critic, state, rewards, 0.99, lamb, next_state, terminated, truncated
    )
    axes.plot(yours, color=color, linewidth=2.5, label=f"yours, λ = {lamb:g}")
    axes.plot(
        expected(0.99, lamb), color="black", linestyle=":", label="correct" if lamb == 1 else None
    )
draw_episodes(axes)
axes.legend(frameon=False, loc="lower right", fontsize=9)
plt.show()

# %% test-text [markdown]
# ## 5 · A test that detects the faults
#
# The keras-rl drafts try their estimator once, on random numbers, and look at the output. With
# random inputs, nobody knows the right advantages, so wrong advantages look just as good.
#
# **Write `test_advantages(estimator)`**: small episodes whose advantages *you* have computed by
# hand. Keep them small enough to check every number, and choose the numbers so that every fault
# changes the result. A $V$ of 0 hides a wrong value after the last row, $\gamma = 1$ hides a
# missing discount, and $V(s_0) = V(s_T)$ hides the wrap-around of `np.roll`.
#
# The cell runs your test on the draft, on estimators with one fault each, and on three correct
# estimators. It prints *fails* if your test raised an AssertionError or any other error, and *passes*
# if not. (Most of the faulty estimators call yours with wrong arguments.) `grade.py` tries only the
# faults that the docstring lists. A test that rejects every estimator is as useless as one that
# accepts every estimator.

# %% test


def faulty(change):
    """Return your estimator; `change` replaces its arguments, a dictionary, before each call."""

    def estimator(
        critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None
    ):
        no = np.zeros(len(reward), dtype=bool)
        if next_state is None:
            next_state, terminated = (
                torch.cat((state[1:], state[-1:])),
                np.arange(len(reward)) == len(reward) - 1,
            )
        told = {
            "terminated": no if terminated is None else terminated,
            "truncated": no if truncated is None else truncated,
        }
        told |= {
            "state": state,
            "reward": reward,
            "gamma": gamma,
            "lamb": lamb,
            "next_state": next_state,
        }
        return submitted.GeneralizedAdvantageEstimator(critic, **(told | change(told)))

    return estimator


def first_value_last(critic, state, reward, gamma, lamb, next_state=None, *ends, **named_ends):
    """Return your advantages with V(s_0) after the last row, as in the draft."""
    following = torch.cat((state[1:] if next_state is None else next_state[:-1], state[:1]))
    return submitted.GeneralizedAdvantageEstimator(
        critic, state, reward, gamma, lamb, following, *ends, **named_ends
    )


no_ends = {"terminated": None, "truncated": None}
ESTIMATORS = {
    "the draft": draft,
    "the last δ is missing": lambda *a, **k: submitted.GeneralizedAdvantageEstimator(*a, **k)[:-1],
    "V(s_0) after the last row": first_value_last,
    "ends are ignored": faulty(lambda _: no_ends),
    "ends are one row late": faulty(lambda x: {key: np.roll(x[key], 1) for key in no_ends}),
    "truncated counts as terminated": faulty(
        lambda x: {"terminated": x["terminated"] | x["truncated"]}
    ),
    "terminated counts as truncated": faulty(
        lambda x: {"terminated": None, "truncated": x["terminated"] | x["truncated"]}
    ),
    "the last row is always an end": faulty(
        lambda x: {
            "terminated": x["terminated"] | (np.arange(len(x["reward"])) + 1 == len(x["reward"]))
        }
    ),
    "the next row as the next state": faulty(
        lambda x: {"next_state": torch.cat((x["state"][1:], x["next_state"][-1:]))}
    ),
    "λ is ignored": faulty(lambda _: {"lamb": 1.0}),
    "yours": submitted.GeneralizedAdvantageEstimator,
    "yours, as a list": lambda *a, **k: [
        float(A) for A in submitted.GeneralizedAdvantageEstimator(*a, **k)
    ],
    "yours, as a tensor": lambda *a, **k: torch.as_tensor(
        np.array(submitted.GeneralizedAdvantageEstimator(*a, **k))
    ),
}
for name, estimator in ESTIMATORS.items():
    try:
        submitted.test_advantages(estimator)
        verdict, words = "passes", ""
    except NotImplementedError:
        raise
    except Exception as error:
        said = [str(error).partition("\n")[0]]
        if not isinstance(error, AssertionError):
            said.insert(0, type(error).__name__)
        verdict, words = "fails", ": ".join(said)[:60]
    wanted = "passes" if name.startswith("yours") else "fails"
    print(f"{name:33}{verdict:7}{'' if verdict == wanted else '(unexpected)':18} {words}")

# %% sample-text [markdown]
# # Part 2: derive
#
# ## 6 · A stochastic policy: samples
#
# For each of the $n$ dimensions of an action, the actor outputs a mean $\mu_i$. The standard
# deviation $\sigma_i$ is also learned. It must be positive, so the network stores its logarithm,
# $s_i = \log \sigma_i$, which may be any number. A sample is
#
# $$a_i = \mu_i + \sigma_i \varepsilon_i, \qquad \varepsilon_i \sim N(0, 1), \quad \sigma_i = e^{s_i}.$$
#
# **Write `IndependentGaussianProcess.sample`**; the noise comes from `self.rng`.
#
# **Question.** In the keras-rl drafts, this class *samples* with $s$ as the standard deviation,
# `np.random.normal(mu, s)`, but its density uses $e^s$. So the agent acts with one policy and
# learns about another. Suppose $s$ starts at 0, as in your actor. Which actions would the
# agent take then? And what happens later, when $\sigma < 1$?
#
# The cell draws 20,000 actions in both ways, for three values of $\sigma$. Your samples should
# have the mean 0.5 and the $\sigma$ in the title.

# %% sample
_, row = plt.subplots(1, 3, figsize=(13, 3.4), layout="constrained")
for axes, sigma in zip(row, (1.0, 1.5, 4.0), strict=True):
    mu, log_sigma = torch.full((20_000, 1), 0.5), torch.full((20_000, 1), float(np.log(sigma)))
    process = submitted.IndependentGaussianProcess(1, rng=0)
    yours = process.sample((mu, log_sigma))
    confused = np.random.default_rng(0).normal(mu, log_sigma)
    print(
        f"σ = {sigma}: yours {list(yours.shape)}, mean {yours.mean():.2f}, standard "
        f"deviation {yours.std():.2f};",
        end=" ",
    )
    print(f"with log σ as σ: {confused.std():.2f}")
    bins = np.linspace(0.5 - 3.2 * sigma, 0.5 + 3.2 * sigma, 66)
    axes.hist(confused.ravel(), bins=bins, color=ORANGE, alpha=0.55, label="log σ as σ")
    axes.hist(yours.numpy().ravel(), bins=bins, color=BLUE, alpha=0.65, label="yours")
    axes.set(title=f"σ = {sigma:g}, log σ = {np.log(sigma):.2f}", xlabel="action", ylim=(0, 4200))
    axes.legend(frameon=False, loc="upper right", fontsize=9)
row[0].set_ylabel("number of actions (of 20,000)")
row[0].annotate(
    "all 20,000",
    (0.5, 3700),
    (0.1, 3700),
    ha="right",
    va="center",
    arrowprops={"arrowstyle": "->"},
    fontsize=9,
)
utils.tidy(*row, legend=False)
plt.show()
try:
    np.random.default_rng(0).normal(0.5, np.log(0.5))
except ValueError as error:
    print("σ = 0.5, with log σ as σ: ValueError:", error)

process = submitted.IndependentGaussianProcess(2, rng=0)
two = process.sample((torch.zeros(20_000, 2), torch.tensor([[0.0, 1.0]]).expand(20_000, 2)))
print(f"two dimensions: correlation found {np.corrcoef(two.numpy().T)[0, 1]:.2f}, expected 0 ± 0.1")

# %% sample-grade
# %grade IndependentGaussianProcess.sample

# %% sample-seen [markdown]
# As long as $s = 0$, the agent does not explore at all: every sample is the mean. The mean is not
# updated either: at $a = \mu$, the gradient of the log-density with respect to $\mu$ is 0, or NaN
# with the drafts' own formula (section 8). With $\sigma < 1$, $s$ is negative and
# `np.random.normal` raises an error, which at least is easy to notice. The two standard deviations
# never agree, because $\log \sigma < \sigma$ for every $\sigma$. Use a name that says which
# quantity a variable holds (`log_sigma`), and you will not confuse the two.

# %% density-text [markdown]
# ## 7 · The log-density, step by step
#
# How likely is an action? In one dimension, the density of the normal distribution is
#
# $$p(y) = \frac{1}{\sqrt{2 \pi}\, \sigma} \exp\left(-\frac{(y - \mu)^2}{2 \sigma^2}\right).$$
#
# **The logarithm** turns the product into a sum and removes the exponential:
#
# $$\log p(y) = -\tfrac{1}{2} \log 2 \pi - \log \sigma - \frac{(y - \mu)^2}{2 \sigma^2}$$
#
# **Many dimensions.** The dimensions are independent, so the densities are multiplied and the
# log-densities are added. The constant appears $n$ times:
#
# $$\log p(y) = -\tfrac{n}{2} \log 2 \pi - \sum_i \log \sigma_i - \sum_i \frac{(y_i - \mu_i)^2}{2 \sigma_i^2}$$
#
# **In terms of the network's output** $s_i = \log \sigma_i$, with $1 / \sigma_i = e^{-s_i}$:
#
# $$\log p(y) = -\tfrac{n}{2} \log 2 \pi - \sum_i s_i - \tfrac{1}{2} \sum_i \left((y_i - \mu_i)\, e^{-s_i}\right)^2$$
#
# The keras-rl drafts go one step further: they also take the logarithm of the square and undo it,
# $\exp(2 \log |y_i - \mu_i| - \log 2 - 2 s_i)$. This has the same value; section 8 shows what is
# wrong with the formula.
#
# **Write `get_dist`**, `[B, 1]`. Except for one standard deviation, the example has the numbers of
# the keras-rl drafts: means $(0, 1)$, $(1, 0)$, $(-1, 2)$, standard deviations $(2, 3)$, $(4, 5)$,
# $(6, 1)$, and actions $(2, -5)$, $(1, -2.5)$, $(8, 2)$. In the first row, the action is one
# $\sigma$ and two $\sigma$ away from the mean:
# $-\log 2\pi - \log 2 - \log 3 - \frac{1 + 4}{2} = -1.8379 - 0.6931 - 1.0986 - 2.5 = -6.1296$. The
# second row gives $-4.9586$. **Compute the third row by hand before you run the cell.**
#
# **Question.** In the third row, the keras-rl drafts have $\sigma_2 = 0$, and $y_2 = \mu_2$. What
# does their formula return?
#
# The first picture draws $\exp(\log p)$ over a histogram of your samples. The area under this curve
# must be 1. The second picture shows lines of equal density over samples for the second row of the
# example.

# %% density
mu = torch.tensor([[0.0, 1.0], [1.0, 0.0], [-1.0, 2.0]])
log_sigma = torch.log(torch.tensor([[2.0, 3.0], [4.0, 5.0], [6.0, 1.0]]))
y = torch.tensor([[2.0, -5.0], [1.0, -2.5], [8.0, 2.0]])
process = submitted.IndependentGaussianProcess(2, rng=0)
found = process.get_dist((mu, log_sigma, y))
print("found   ", list(found.shape), rounded(found.flatten(), 4))
print("expected", [3, 1], [-6.1296, -4.9586, "and your own result"])

_, both = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
line = torch.linspace(-9, 11, 401)[:, None]
one = submitted.IndependentGaussianProcess(1, rng=0)
sampled = one.sample((torch.ones(20_000, 1), torch.full((20_000, 1), np.log(2.0))))
height = one.get_dist((torch.ones(401, 1), torch.full((401, 1), np.log(2.0)), line)).exp().flatten()
both[0].hist(
    sampled.numpy().ravel(), bins=80, density=True, color=BLUE, alpha=0.45, label="your samples"
)
both[0].plot(line.flatten(), height, color="black", linewidth=2, label="exp(your log-density)")
both[0].set(title="μ = 1, σ = 2", xlabel="action", ylabel="density", xlim=(-9, 11), ylim=(0, 0.26))
print(
    f"area under the curve: found {float(torch.trapezoid(height, line.flatten())):.4f}, "
    "expected 1.0000"
)

wide = torch.stack(
    torch.meshgrid(torch.linspace(-12, 14, 80), torch.linspace(-16, 16, 80), indexing="xy"), dim=-1
)
rows = wide.reshape(-1, 2)
logs = process.get_dist((mu[1].expand_as(rows), log_sigma[1].expand_as(rows), rows)).reshape(80, 80)
dots = process.sample((mu[1].expand(1500, 2), log_sigma[1].expand(1500, 2)))
both[1].plot(*dots.numpy().T, ".", color=BLUE, markersize=3, alpha=0.5)
both[1].contour(
    wide[..., 0],
    wide[..., 1],
    logs,
    levels=[-10, -8, -6.5, -5.5, -4.9586],
    colors="black",
    linewidths=1,
)
both[1].plot(1, -2.5, "o", color=ORANGE, markersize=8, label="the action (1, -2.5)")
both[1].set(
    title="μ = (1, 0), σ = (4, 5)",
    xlabel="first number",
    ylabel="second number",
    xlim=(-12, 14),
    ylim=(-16, 16),
)
utils.tidy(*both)
both[0].legend(frameon=False, loc="upper right")
both[1].legend(frameon=True, framealpha=0.9, loc="upper right")
plt.show()

impossible = torch.tensor([0.0, -torch.inf])  # |y - μ| and log σ in the third row of the drafts
print(
    "σ = 0, as in the keras-rl drafts:",
    float(torch.exp(2 * impossible[0].log() - np.log(2) - 2 * impossible[1])),
)

# %% density-grade
# %grade IndependentGaussianProcess.get_dist

# %% density-seen [markdown]
# The formula of the drafts returns NaN: $2 \log |y - \mu|$ is $-\infty$, $-2 s$ is $+\infty$, and
# their sum is not defined. With $\sigma = 0$ there is no density. (We changed that row to
# $\sigma_2 = 1$.) The first picture tests the constants: without $\log 2\pi$, or with $\sigma^2$ in
# place of $\sigma$ in one of the two terms, the area is not 1.

# %% gradient-text [markdown]
# ## 8 · The same value, a different gradient
#
# **Question.** $(y - \mu)^2$ and $\exp(2 \log |y - \mu|)$ are equal for every $y \ne \mu$. At
# $y = \mu$ both are 0 (the logarithm is $-\infty$, and its exponential is 0). What is the gradient
# of the second expression there, by the chain rule?
#
# The cell computes the log-density and its derivative with respect to $\mu$ in both ways, for one
# action at a time. Then it takes a batch of 64 actions, one of which is exactly the mean (like
# every action that the agent takes without noise).

# %% gradient


def as_in_the_text(mu, _log_sigma, y):
    """Return the log-density as in the keras-rl drafts, for one dimension and σ = 1."""
    return -0.5 * np.log(2 * np.pi) - torch.exp(2 * (y - mu).abs().log() - np.log(2))


def slope(score, ys, mean=False):
    """Return log-densities and their derivatives at μ = 0, or with `mean` that of their mean."""
    ys = torch.as_tensor(ys, dtype=torch.float32)[:, None]
    mu = torch.zeros(1, 1) if mean else torch.zeros_like(ys)
    mu.requires_grad_()
    score = score(mu.expand_as(ys), torch.zeros_like(ys), ys)
    (gradient,) = torch.autograd.grad(score.mean() if mean else score.sum(), mu)
    return score.detach().flatten().numpy(), gradient.flatten().numpy()


def yours(mu, log_sigma, y):
    return submitted.IndependentGaussianProcess(1).get_dist((mu, log_sigma, y))


ys = np.linspace(-1, 1, 21).round(1)
_, both = plt.subplots(1, 2, figsize=(12, 3.4), layout="constrained")
for name, score, color, style in (
    ("exp(2 log|y - μ|)", as_in_the_text, ORANGE, "o-"),
    ("yours", yours, BLUE, "x:"),
):
    numbers, slopes = slope(score, ys)
    both[0].plot(ys, numbers, style, color=color, label=name)
    both[1].plot(ys, slopes, style, color=color, label=name)
    batch = np.append(np.random.default_rng(0).normal(size=63), 0.0)
    print(f"{name:18} at y = μ: log-density {numbers[10]:.4f}, gradient {slopes[10]:.4f};", end=" ")
    print(f"mean of 64 actions, one of them μ: gradient {slope(score, batch, mean=True)[1][0]:.4f}")
both[0].set(title="log-density", xlabel="y - μ")
both[1].set(title="derivative with respect to μ", xlabel="y - μ", ylim=(-1.3, 1.3))
if not np.isfinite(slope(as_in_the_text, ys)[1][10]):
    both[1].annotate(
        "NaN here",
        (0, 0.06),
        (-0.62, 0.8),
        arrowprops={"arrowstyle": "->"},
        ha="center",
        fontsize=9,
    )
utils.tidy(*both)
plt.show()

# %% gradient-seen [markdown]
# The inner derivative is $1 / 0$ and the outer derivative is 0, so the product is NaN. One such row
# is enough: the gradient of the mean over the batch is NaN. After the next optimizer step, many
# weights of the actor are NaN, and so is every later action. The gradient of the square is defined
# everywhere. A sampled action is rarely exactly the mean, so the program fails only now and then,
# and such faults are hard to find. With the drafts' faulty sampling (section 6) and $s = 0$,
# however, every action is exactly the mean.

# %% entropy-text [markdown]
# ## 9 · The entropy
#
# How random is a policy? The **entropy** is the mean of $-\log p(a)$ over the actions of the
# policy. To derive it, insert the log-density: the mean of $(a_i - \mu_i)^2$ is $\sigma_i^2$ by
# definition, so the mean of the last term is a constant in each dimension.
#
# **Write `entropy`**, `[B, 1]`. Use the formula that you have derived; no sample is needed.
#
# **Question.** Can an entropy be negative?
#
# The cell compares your formula with the mean of $-\log p$ over your samples.

# %% entropy
logs, formula, measured = np.linspace(-2.5, 1.5, 9), {1: [], 2: [], 6: []}, {1: [], 2: [], 6: []}
for n in formula:
    for log_sigma in logs:
        process = submitted.IndependentGaussianProcess(n, rng=0)
        rows = torch.zeros(5000, n), torch.full((5000, n), float(log_sigma))
        measured[n].append(-process.get_dist((*rows, process.sample(rows))).mean().item())
        formula[n].append(process.entropy((rows[0][:1], rows[1][:1])).item())
mixed = (torch.zeros(1, 3), torch.log(torch.tensor([[0.5, 1.0, 2.0]])))
print("shape found", list(process.entropy(mixed).shape), "expected [1, 1]")
print(
    "σ = (0.5, 1, 2): found "
    f"{submitted.IndependentGaussianProcess(3).entropy(mixed).item():.4f}, expected 4.2568"
)

_, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
for n, color in ((1, GREEN), (2, BLUE), (6, ORANGE)):
    axes.plot(logs, formula[n], color=color, linewidth=2, label=f"your formula, n = {n}")
    axes.plot(logs, measured[n], "o", color=color, label="mean of -log p" if n == 6 else None)
    print(
        f"n = {n}: largest difference "
        f"{np.abs(np.subtract(formula[n], measured[n])).max():.2f}, expected less than 0.1"
    )
axes.axhline(0, color="black", linewidth=0.8)
axes.set(xlabel="log σ (the same in all dimensions)", ylabel="entropy")
axes.grid(alpha=0.3)
utils.tidy(axes)
plt.show()

# %% entropy-grade
# %grade IndependentGaussianProcess.entropy

# %% entropy-seen [markdown]
# Yes, this entropy can be negative: a density can be larger than 1, and then $-\log p$ is negative.
# In one dimension, the entropy is negative for $\sigma < 0.242$. The entropy of a choice among finitely many actions, in
# contrast, is never below 0. The entropy is linear in the log standard deviations: if all of them
# grow by 1, it grows by $n$. It does not depend on $\mu$.

# %% networks-text [markdown]
# # Part 3: assemble
#
# ## 10 · Two networks
#
# Both networks take a state `[B, w, obs_dim]`, the latest $w$ observations, and flatten it. Then
# come three hidden layers of 16 units with ReLU, as in the keras-rl drafts, and a linear layer.
# The actor has one more parameter, $\log \sigma$, which belongs to no layer: it is the same in
# every state. (The keras-rl drafts use a layer without bias, with a constant input of 1. An
# `nn.Parameter` does the same.)
#
# **Write `Actor` and `Critic`.** They share no layers: the value loss can be thousands of times
# larger than the policy loss, so its gradient would dominate in a shared layer.
#
# For the pendulum (3 values in an observation, 1 action dimension, $w = 1$), the critic has
# $(3 \cdot 16 + 16) + 2\, (16 \cdot 16 + 16) + (16 + 1) = 625$ parameters, and the actor has one
# more.

# %% networks
for window in (1, 3):
    torch.manual_seed(0)
    actor, critic = submitted.Actor(3, 1, window), submitted.Critic(3, window)
    sizes = [
        sum(parameter.numel() for parameter in network.parameters()) for network in (actor, critic)
    ]
    print(
        f"w = {window}: parameters found {sizes}, expected {[578 + 48 * window, 577 + 48 * window]}"
    )
actor, critic = submitted.Actor(3, 2, 4), submitted.Critic(3, 4)
states = torch.randn(5, 4, 3)
mu, log_sigma = actor(states)
print(
    "shapes found",
    *(list(x.shape) for x in (mu, log_sigma, critic(states))),
    "expected [5, 2] [5, 2] [5, 1]",
)
(mu.sum() + log_sigma.sum()).backward()
print(
    "log σ: found",
    rounded(log_sigma[3]),
    "expected [0.0, 0.0]; its gradient",
    rounded(actor.log_sigma.grad),
    "expected [5.0, 5.0]",
)
changed = states.clone()
changed[:, 0] += 1
print("the oldest observation matters:", not torch.equal(mu, actor(changed)[0]), "(expected True)")

# %% windows-text [markdown]
# ## 11 · States are windows of observations
#
# A single observation may not contain everything the agent needs. A single photograph of a pendulum
# does not show its velocity; two photographs do. So a **state** is the window of the latest $w$
# observations. At the beginning of an episode, there are fewer than $w$. Then zeros replace the
# missing observations; observations of the previous episode are never used.
#
# **Write `EpisodeMemory.get_recent_state`.** It only reads the memory: the observation is appended
# later, in `backward`, together with the result of the action.
#
# The cell shows the states of an episode with $w = 3$ whose observations are 1, 2, 3, ..., then
# those of the next episode, which starts with 11. Each column is a state.

# %% windows
memory = submitted.EpisodeMemory(window_length=3)
states, names = [], []
for begin, length in ((1, 6), (11, 4)):
    memory.reset()
    for step in range(length):
        observation = np.array([begin + step], dtype=np.float32)
        memory.get_recent_state(observation)  # asking twice must not change anything
        window = memory.get_recent_state(observation)
        states.append([float(seen[0]) for seen in window])
        names.append(f"step {step}")
        memory.append(
            observation, torch.zeros(3, 1), torch.zeros(1), torch.zeros(1), 0.0, False, False
        )
print("found    first episode", states[:4], "second", states[6:8])
print(
    "expected first episode",
    [[0.0, 0.0, 1.0], [0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 4.0]],
    "second",
    [[0.0, 0.0, 11.0], [0.0, 11.0, 12.0]],
)

_, both = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", width_ratios=(6, 4))
for axes, part, title in (
    (both[0], slice(0, 6), "the first episode"),
    (both[1], slice(6, 10), "the next one"),
):
    for column, window in enumerate(states[part]):
        for place, number in enumerate(window):
            color = "#eeeeee" if number == 0 else "#f3c5a5" if place == 2 else "#dcebf5"
            axes.add_patch(
                plt.Rectangle(
                    (column - 0.4, place - 0.45), 0.8, 0.9, facecolor=color, edgecolor="#bbbbbb"
                )
            )
            axes.text(
                column,
                place,
                f"{number:g}",
                ha="center",
                va="center",
                color=GRAY if number == 0 else "black",
            )
    axes.set(title=title, xlim=(-0.6, len(states[part]) - 0.4), ylim=(-0.6, 2.6))
    axes.set_xticks(range(len(states[part])), labels=names[part])
    axes.set_yticks(range(3), labels=["oldest", "", "newest"])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
both[1].set_yticks([])
plt.show()

# %% forward-text [markdown]
# ## 12 · forward
#
# The library asks for an action with `agent.forward(observation)`, takes it, and then calls
# `agent.backward(reward, ...)`. `forward` must store in `recent` what `backward` needs and does
# not receive: the observation, the state, the action, and its **log-probability under the policy
# that chose it**. Store it now, because the next optimizer step changes the policy.
#
# **Write `forward`.** For an observation `[obs_dim]` it returns an action `[n]`; for a batch
# `[num_envs, obs_dim]` it returns `[num_envs, n]`, even if `num_envs` is 1. Each environment has
# its own memory.
#
# The cell asks two agents for actions and looks into `recent`. The first agent plays in two
# environments; one step has already been taken in the second environment.

# %% forward
torch.manual_seed(0)
agent = submitted.PPOAgent(obs_dim=2, n=1, num_envs=2, window_length=3, seed=0)
past = np.array([5.0, 6.0], dtype=np.float32)
agent.memories[1].append(past, torch.zeros(3, 2), torch.zeros(1), torch.zeros(1), 0.0, False, False)
now = np.array([[1.0, 2.0], [7.0, 8.0]])
action = agent.forward(now)
observations, states, actions, log_probs = agent.recent
print(
    "action found",
    type(action).__name__,
    action.dtype,
    list(action.shape),
    "expected ndarray float32 [2, 1]",
)
print("states   found", list(states.shape), states.tolist())
print(
    "      expected",
    [2, 3, 2],
    [[[0.0, 0.0], [0.0, 0.0], [1.0, 2.0]], [[0.0, 0.0], [5.0, 6.0], [7.0, 8.0]]],
)
print(
    "log-probabilities",
    list(log_probs.shape),
    rounded(log_probs.flatten()),
    "expected [2, 1]",
    end=" ",
)
print(
    rounded(
        agent.process.get_dist((*agent.actor(states), torch.as_tensor(action).reshape(2, 1)))
        .detach()
        .flatten()
    )
)
print("the log-probabilities carry a gradient:", log_probs.requires_grad, "(expected False)")

agent = submitted.PPOAgent(obs_dim=2, n=1, seed=0)
noisy = [agent.forward(now[0])[0] for _ in range(2000)]
agent.training = False
means = [agent.forward(now[0])[0] for _ in range(3)]
print("one environment: action found", list(agent.forward(now[0]).shape), "expected [1]")
print(
    f"in training, standard deviation {np.std(noisy):.2f} (expected about 1); otherwise "
    f"{np.std(means):.2f} (expected 0.00)"
)

# %% forward-grade
# %grade PPOAgent.forward

# %% backward-text [markdown]
# ## 13 · backward, and the extra call
#
# If an episode is truncated, $A_t$ of its last step needs the value of the final state. But
# `forward` is only called to get actions, and after the end there is no action to take. So how
# does the agent see the final state? The library shows it (this is in the plan of the keras-rl
# drafts): after the end of an episode, it calls `forward` **once more** with the last observation,
# and then `backward(0.0)`. These two calls are not a step. The action is not taken, and the 0 is
# not a reward of the episode.
#
# | state of the memory | this call of `backward` is | what to do |
# | --- | --- | --- |
# | the episode is not over | a step | append it |
# | the episode **was** already over | the extra call | append nothing; `finish_episode(memory, current state)`; reset |
#
# **Several environments.** A vector environment of gymnasium runs many environments at once. When
# an episode ends in one of them, the others go on, so the loop cannot make a separate extra call.
# But in the step after the end, this environment ignores the action, resets, and returns a reward
# of 0 (`AutoresetMode.NEXT_STEP`). Before this step, `forward` gets the last observation of the
# episode. So for this environment, that step *is* the extra call. The same rule works in both
# cases if you apply it **to each environment separately**.
#
# **Write `backward`.** When there are `episodes_per_update` episodes or more, it calls `update`
# and then clears the episodes.
#
# In the cell, both loops of `training.py` drive your agent. Each observation is a number: 21 is
# the observation after one step of the third episode (which starts with 20). `finish_episode` and
# `update` are replaced by fakes. Steps in the memory are blue; extra calls are orange with a
# dashed edge. There is an update every 2 episodes.

# %% backward


class Script(gym.Env):
    """Episodes of given lengths; observations 0, 1, ..., then 10, 11, ...; rewards of 1."""

    observation_space = gym.spaces.Box(-100, 100, (1,), np.float32)
    action_space = gym.spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self, *lengths):
        self.lengths, self.episode = lengths, -1

    def reset(self, *, seed=None, **_options):
        super().reset(seed=seed)
        self.episode, self.step_number = self.episode + 1, 0
        return self.observe(), {}

    def step(self, _action):
        self.step_number += 1
        over = self.step_number == self.lengths[self.episode % len(self.lengths)]
        clock = self.episode % 2 == 1  # terminated, truncated, terminated, ...
        return self.observe(), 1.0, over and not clock, over and clock, {}

    def observe(self):
        return np.array([10 * self.episode + self.step_number], dtype=np.float32)


class Watched(submitted.PPOAgent):
    """Your agent, with fakes for unwritten methods and a record of its calls."""

    def __init__(self, num_envs):
        super().__init__(1, 1, num_envs, episodes_per_update=2, seed=0)
        self.calls, self.finished, self.updates = [], [], []

    def forward(self, observation):
        self.shown = np.ravel(observation)
        return super().forward(observation)

    def backward(self, *told, **also_told):
        before = [len(memory.rewards) for memory in self.memories]
        metrics = super().backward(*told, **also_told)
        for index, memory in enumerate(self.memories):
            stored = len(memory.rewards) == before[index] + 1
            kind = (
                "extra"
                if not stored
                else "last"
                if memory.terminated or memory.truncated
                else "step"
            )
            self.calls.append((len(self.updates), index, int(self.shown[index]), kind))
        self.updates.append(bool(metrics))
        return metrics

    def finish_episode(self, memory, final_state):
        self.finished.append((len(memory.rewards), int(final_state[-1, 0])))
        return {}

    def update(self):
        return {"policy_loss": 0.0, "value_loss": 0.0}


single, several = Watched(1), Watched(2)
training.fit(single, Script(3, 2, 4, 2), 11)
training.fit_vector(
    several, gym.vector.SyncVectorEnv([lambda: Script(3, 2, 4, 2), lambda: Script(5, 3, 3)]), 22
)
print("(steps, last observation) of each episode")
print(
    "one environment  found",
    single.finished,
    "\n              expected",
    [(3, 3), (2, 12), (4, 24), (2, 32)],
)
print(
    "two environments found",
    several.finished,
    "\n              expected",
    [(3, 3), (5, 5), (2, 12), (3, 13), (4, 24), (3, 23)],
)

_, both = plt.subplots(
    2, 1, figsize=(13, 4), layout="constrained", height_ratios=(1, 1.7), sharex=True
)
STYLES = {"step": ("#dcebf5", "-"), "last": ("#8fbfe0", "-"), "extra": ("#f3c5a5", "--")}
for axes, agent, title in (
    (both[0], single, "training.fit: one environment"),
    (both[1], several, "training.fit_vector: two"),
):
    for call, index, number, kind in agent.calls:
        color, edge = STYLES[kind]
        axes.add_patch(
            plt.Rectangle(
                (call - 0.42, index - 0.36),
                0.84,
                0.72,
                facecolor=color,
                edgecolor="#555555",
                linestyle=edge,
                linewidth=1.2,
            )
        )
        axes.text(call, index, number, ha="center", va="center")
    rows = len(agent.memories)
    for call in np.flatnonzero(agent.updates):
        axes.plot(call, rows - 0.42, "v", color=GREEN, markersize=9)
    axes.set(title=title, ylim=(rows - 0.25, -0.55), xlim=(-0.7, 15.7))
    axes.set_yticks(
        range(rows), labels=["env"] if rows == 1 else [f"env {index}" for index in range(rows)]
    )
    axes.set_xticks(range(15))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
both[1].set_xlabel("call of forward and backward")
names = {
    "step": "stored",
    "last": "stored, last step of its episode",
    "extra": "extra call: not stored",
}
keys = [
    Patch(
        facecolor=STYLES[kind][0], edgecolor="#555555", linestyle=STYLES[kind][1], label=names[kind]
    )
    for kind in names
]
keys.append(plt.Line2D([], [], color=GREEN, marker="v", linestyle="", markersize=9, label="update"))
both[0].figure.legend(handles=keys, frameon=False, ncols=4, loc="outside lower center")
plt.show()

# %% backward-grade
# %grade PPOAgent.backward

# %% finish-text [markdown]
# ## 14 · From an episode to training data; time limits
#
# **Write `finish_episode`**: from the memory of a finished episode and its final state, make the
# rows for the update. The advantages come from your estimator of part 1. The **value target** is
# $A_t + V(s_t)$.
#
# The pendulum never terminates. All its episodes are **truncated** after 200 steps, and those of
# the point mass in section 18 after 30. The observations do not contain the time.
#
# **Question.** Suppose every step costs 1, forever, and $\gamma = 0.9$. Then
# $V = -1 / (1 - 0.9) = -10$ in every state. Suppose the critic already knows this. What are the
# value targets of the last steps if the time limit is treated as termination? What would the
# critic learn from them?
#
# The cell calls your `finish_episode`, once with `truncated` and once with `terminated`.

# %% finish


def cost_one(terminated):
    """Return the rows of `finish_episode` for 40 steps that cost 1 each, with a critic of -10."""
    torch.manual_seed(0)
    agent = submitted.PPOAgent(obs_dim=1, n=1, gamma=0.9, lamb=0.95, seed=0)
    agent.critic = lambda states: torch.full((len(states), 1), -10.0, requires_grad=True)
    memory, step = (
        agent.memories[0],
        (np.zeros(1, np.float32), torch.zeros(1, 1), torch.zeros(1), torch.zeros(1)),
    )
    for number in range(40):
        over = number == 39
        memory.append(*step, -1.0, over and terminated, over and not terminated)
    return agent.finish_episode(memory, torch.zeros(1, 1))


data = {"truncated": cost_one(False), "treated as terminated": cost_one(True)}
print("shapes found   ", {name: list(rows.shape) for name, rows in data["truncated"].items()})
print(
    "       expected",
    {
        "state": [40, 1, 1],
        "action": [40, 1],
        "log_prob": [40, 1],
        "advantage": [40],
        "value_target": [40],
    },
)
print(
    "gradient:", any(rows.requires_grad for rows in data["truncated"].values()), "(expected False)"
)
_, axes = plt.subplots(figsize=(9, 3.4), layout="constrained")
for (name, rows), end, color in zip(data.items(), (-10.0, 0.0), (BLUE, ORANGE), strict=True):
    right = np.array(one_episode([-1.0] * 40, [-10.0] * 40 + [end], 0.9, 0.95)) - 10.0
    axes.plot(rows["value_target"], ".-", color=color, label=name)
    axes.plot(right, color="black", linestyle=":", label="expected" if end == 0 else None)
    print(
        f"{name:21} last three targets found {rounded(rows['value_target'][-3:])}, expected "
        f"{rounded(right[-3:])}"
    )
axes.set(xlabel="step", ylabel="value target", ylim=(-11, 0))
axes.grid(alpha=0.3)
utils.tidy(axes)
plt.show()

# %% finish-grade
# %grade PPOAgent.finish_episode

# %% finish-seen [markdown]
# The target of the last step is -1, and the target of the step before it is -2.3. So the end of an
# episode looks cheap, and every action there gets a large advantage, however bad it is. In the
# states near the end, the critic learns values that are too high. Here the observations do not
# distinguish these states from others, so all values become too high.

# %% objective-text [markdown]
# ## 15 · The clipped objective
#
# The data come from $\pi_\text{old}$. The probability ratio is
# $\rho = \pi_\theta(a \mid s) / \pi_\text{old}(a \mid s)
# = \exp(\log \pi_\theta - \log \pi_\text{old})$. PPO maximizes the mean of the clipped surrogate
# (Schulman et al. 2017, equation 7)
#
# $$\min\left(\rho A,\ \text{clip}(\rho, 1 - \varepsilon, 1 + \varepsilon)\, A\right).$$
#
# If $A > 0$, the action should become more likely, but a ratio above $1 + \varepsilon$ does not
# increase the objective any further. If $A < 0$, the action should become less likely, but a ratio
# below $1 - \varepsilon$ does not increase the objective any further, either. Where the objective
# is flat, a row adds nothing to the gradient. The **minimum** matters on the other side of the
# range: an action with $A > 0$ that has become *less* likely keeps the gradient of $\rho A$,
# because the minimum selects the product that is not clipped.
#
# **Write `policy_loss`**: gradient *descent* on it should maximize the clipped surrogate plus
# `entropy_coef` times the entropy. Then write **`value_loss`**.
#
# **Question.** For $A < 0$, where is the gradient not 0: left of $1 - \varepsilon$, between the
# two, or right of $1 + \varepsilon$?
#
# The cell varies the stored log-probability, so the ratio goes from 0 to 2. It draws the objective
# (your loss times -1) and the derivative of the objective with respect to the ratio. (The
# derivative is computed from the gradient of your loss with respect to the actor's weights.)

# %% objective
torch.manual_seed(0)
agent = submitted.PPOAgent(obs_dim=2, n=2, clip=0.2, seed=0)
state, action = torch.randn(1, 1, 2), torch.tensor([[0.4, -0.7]])


def batch_of(ratios, advantages):
    """Return rows of one state and action with the given ratios."""
    many = len(ratios)
    mu, log_sigma = agent.actor(state)
    now = agent.process.get_dist((mu, log_sigma, action)).detach()
    rows = {
        "state": state.expand(many, 1, 2),
        "action": action.expand(many, 2),
        "value_target": torch.zeros(many),
    }
    ratios = torch.as_tensor(ratios, dtype=torch.float32)[:, None]
    return rows | {
        "log_prob": now - ratios.log(),
        "advantage": torch.as_tensor(advantages, dtype=torch.float32),
    }


def gradient(scalar):
    """Return the gradient with respect to all weights of the actor, as one vector."""
    return torch.cat(
        [part.flatten() for part in torch.autograd.grad(scalar, list(agent.actor.parameters()))]
    )


print(
    "three rows: found "
    f"{agent.policy_loss(batch_of([0.5, 1.0, 1.5], [1.0, -2.0, 3.0])).item():.4f}, expected -0.7000"
)
print(
    "all ratios 1: found "
    f"{agent.policy_loss(batch_of([1.0] * 4, [1.0, 2.0, 3.0, 10.0])).item():.4f}, expected -4.0000"
)
agent.entropy_coef = 0.1
with_entropy = agent.policy_loss(batch_of([1.0], [0.0])).item()
agent.entropy_coef = 0.0
print(f"only entropy, coefficient 0.1: found {with_entropy:.4f}, expected -0.2838")
three = torch.randn(3, 1, 2)
values = batch_of([1.0] * 3, [0.0] * 3) | {
    "state": three,
    "value_target": agent.critic(three).detach().flatten() + torch.tensor([1.0, -2.0, 0.0]),
}
print(f"value loss: found {agent.value_loss(values).item():.4f}, expected 1.6667")

ratios = np.linspace(0.02, 2, 100)
by_log_prob = gradient(agent.process.get_dist((*agent.actor(state), action)).sum())
_, both = plt.subplots(1, 2, figsize=(12, 4), layout="constrained", sharey=True)
for axes, advantage in zip(both, (1.0, -1.0), strict=True):
    objective, slopes = [], []
    for ratio in ratios:
        gain = -agent.policy_loss(batch_of([ratio], [advantage]))
        objective.append(gain.item())
        slopes.append(float(gradient(gain) @ by_log_prob / by_log_prob.square().sum() / ratio))
    axes.axvspan(0.8, 1.2, color="#eeeeee")
    axes.plot(
        ratios, advantage * ratios, color=GRAY, linestyle=":", linewidth=1.5, label="not clipped"
    )
    axes.plot(ratios, objective, color=BLUE, linewidth=2.5, label="minus your loss")
    axes.plot(ratios, slopes, color=ORANGE, linestyle="--", linewidth=2, label="its derivative")
    axes.plot(1, advantage, "o", color="black", label="before the first step")
    axes.axhline(0, color="black", linewidth=0.5)
    axes.set(title=f"A = {advantage:g}", xlabel="ratio", xlim=(0, 2), ylim=(-2.1, 2.1))
    utils.tidy(axes, legend=False)
both[0].legend(frameon=False, loc="lower left", fontsize=9)
plt.show()

# %% objective-grade
# %grade PPOAgent.policy_loss PPOAgent.value_loss

# %% objective-seen [markdown]
# For $A < 0$, the gradient is not 0 in the middle and on the right; on the left it is 0. An action
# with $A < 0$ that has become *more* likely is pushed back with its full gradient. The gray band is
# the range from $1 - \varepsilon$ to $1 + \varepsilon$.
#
# **The trap.** The ratio is `[B, 1]`, like `log_prob`, and `advantage` is `[B]`. Their product is
# `[B, B]`: it combines every action with the advantage of every row. The mean is still a single
# number. But normalized advantages have the mean 0, so where the ratios are not clipped, the terms
# cancel and the gradient is nearly 0. The agent learns much more slowly (section 20), and no error
# is raised. The first line of the output reveals this fault.

# %% update-text [markdown]
# ## 16 · The update
#
# **Write `update`**: normalize the advantages of *all* steps together. Then, `epochs` times,
# shuffle all rows and split them into minibatches. For each minibatch, take one step of Adam on
# the sum of both losses.
#
# The cell plays 8 episodes of 30 steps on a point mass, so your `backward` calls your `update`
# once. It records the arguments of `policy_loss`. The picture shows the ratios, one column for
# each minibatch. The question `one_update` runs all parts of your agent together, until the first
# update is done.
#
# **Question.** What are the ratios in the first minibatch, whatever the agent has done?

# %% update


class Diary(submitted.PPOAgent):
    """Your agent, with a record of its minibatches."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.batches = []

    def policy_loss(self, batch):
        with torch.no_grad():
            now = self.process.get_dist((*self.actor(batch["state"]), batch["action"]))
        self.batches.append(
            (
                batch["state"],
                batch["advantage"],
                torch.exp(now - batch["log_prob"]).flatten().numpy(),
            )
        )
        return super().policy_loss(batch)


training.seed_everything(0)
agent = Diary(
    4, 2, gamma=0.95, episodes_per_update=8, epochs=10, batch_size=64, learning_rate=3e-3, seed=0
)
metrics = []
training.fit(
    agent,
    utils.PointMass(2),
    240,
    seed=0,
    on_update=lambda step, found: metrics.append((step, found)),
)
print(
    "after steps:",
    [step for step, _ in metrics],
    "expected [240]; returned:",
    sorted(metrics[0][1]) if metrics else None,
)
sizes = [len(advantage) for _, advantage, _ in agent.batches]
print(
    f"{len(sizes)} minibatches, sizes in the first epoch: {sizes[:4]}; expected 40 and [64, "
    "64, 64, 48]"
)
epochs = [
    torch.cat([states for states, _, _ in agent.batches[4 * epoch : 4 * epoch + 4]]).flatten(1)
    for epoch in range(2)
]
print(
    f"different states in an epoch: {len(epochs[0].unique(dim=0))}; different order in the "
    f"next: {not torch.equal(*epochs)}",
    end=" ",
)
print("(expected 240, True)")
advantage = torch.cat([advantage for _, advantage, _ in agent.batches[:4]])
print(
    f"advantages: mean {abs(advantage.mean()):.3f}, standard deviation "
    f"{advantage.std(correction=0):.3f}; expected 0.000, 1.000 (NumPy's) or 0.998 (torch's)"
)

_, axes = plt.subplots(figsize=(11, 3.6), layout="constrained")
for number, (_, _, ratios) in enumerate(agent.batches):
    outside = np.abs(ratios - 1) > 0.2
    axes.plot(np.full((~outside).sum(), number), ratios[~outside], ".", color=BLUE, markersize=3)
    axes.plot(np.full(outside.sum(), number), ratios[outside], ".", color=ORANGE, markersize=3)
for epoch in range(11):
    axes.axvline(4 * epoch - 0.5, color="#dddddd", linewidth=0.8)
axes.axhspan(0.8, 1.2, color="#eeeeee", zorder=0)
axes.set(xlabel="minibatch (lines: epochs)", ylabel="ratio", yscale="log", xlim=(-1, 40))
axes.set_yticks([0.5, 0.8, 1, 1.2, 2], labels=["0.5", "0.8", "1", "1.2", "2"])
axes.yaxis.set_minor_locator(NullLocator())
utils.tidy(axes)
plt.show()

# %% update-grade
# %grade PPOAgent.update one_update

# %% update-seen [markdown]
# The ratios in the first minibatch are 1: before the first optimizer step, the policy is still the
# policy that chose the actions. This is a very good test of a PPO implementation. If your ratios
# are different, then states, actions and log-probabilities are not in the same order, or the
# log-probability is that of another action. (With several environments, an episode may have started
# before the previous update. Then the ratios of its first steps need not be 1.) Later the ratios
# spread, and some (orange) leave the gray band. The clipped surrogate no longer pushes such a row
# further out, but the updates of other rows change the same weights and still move it.

# %% probes-text [markdown]
# ## 17 · Before any long training: probes
#
# If an agent does not learn, its learning curve does not say why. So you train it on a ladder of
# tiny environments with known answers. Each rung adds one thing that can go wrong. Your whole
# agent is trained on each rung for about a second, and once more with another seed if the result
# is wrong. The first rung that fails shows where to look. The discount is 0.8 throughout.
#
# | rung | what happens | a correct agent ends with |
# | --- | --- | --- |
# | constant | one step, reward 1 | $V = 1$ |
# | observation | one step, the reward is the sign in the observation | $V(-) = -1$, $V(+) = 1$ |
# | two steps | two steps, reward 1 in the second | $V = 0.8$, one step later $V_2 = 1$ |
# | truncated | reward 1 in every step, an unobserved time limit of 4 steps | $V = 1 / (1 - 0.8) = 5$ |
# | action | one step, reward $-(a - 0.5)^2$ | $\mu = 0.5$ for both signs |
# | combined | two steps, reward $-(a_1 - 0.5\, \text{sign})^2$ for the *first* action | $\mu(-) = -0.5$, $\mu(+) = 0.5$ |
#
# If the first rung that fails is
#
# - **constant**: check the value loss, and that `critic.parameters()` contains the weights of all
#   layers (the optimizer gets them from there).
# - **observation**: values and targets come from different rows, or a `[B]` is combined with a
#   `[B, 1]`.
# - **two steps**: check the discount. With $V$ near 1, it is missing. With $V$ near 0, the reward
#   of the second row does not reach the first.
# - **truncated**: a $V$ of about 2 means that the time limit is treated as termination. A $V$ far
#   above 5 means that the value of the final state counts twice.
# - **action**: the sign of the policy loss is wrong, or ratio times advantage is `[B, B]`, or the
#   log-probability is that of another action.
# - **combined**: rows are mixed up, or a later reward does not reach the advantage of the first
#   step.

# %% probes


RUNGS = [  # name, what it isolates, the probe, the expected values, the tolerance
    (
        "constant",
        "the value loss",
        lambda: utils.Probe(lambda _sign, _action: 1.0, 1),
        {"V(-)": 1.0, "V(+)": 1.0},
        0.05,
    ),
    (
        "observation",
        "observation reaches V?",
        lambda: utils.Probe(lambda sign, _action: sign, 1),
        {"V(-)": -1.0, "V(+)": 1.0},
        0.1,
    ),
    (
        "two steps",
        "the discount",
        lambda: utils.Probe(lambda _sign, _action: 1.0, 2),
        {"V": 0.8, "V2": 1.0},
        0.05,
    ),
    (
        "truncated",
        "the time limit",
        lambda: utils.Probe(lambda _sign, _action: 1.0, 4, True),
        {"V(-)": 5.0, "V(+)": 5.0},
        0.4,
    ),
    (
        "action",
        "policy improves?",
        lambda: utils.Probe(lambda _sign, action: -((action[0] - 0.5) ** 2), 1),
        {"μ(-)": 0.5, "μ(+)": 0.5},
        0.25,
    ),
    (
        "combined",
        "rows match?",
        lambda: utils.Probe(lambda sign, action: -((action[0] - 0.5 * sign) ** 2), 2),
        {"μ(-)": -0.5, "μ(+)": 0.5},
        0.25,
    ),
]
probes = {}


def train_probe(env, seed):
    """Return the agent after training on a probe."""
    training.seed_everything(seed)
    episodes = 32 // env.steps
    agent = submitted.PPOAgent(
        2,
        1,
        gamma=0.8,
        episodes_per_update=episodes,
        epochs=8,
        batch_size=16,
        learning_rate=1e-2,
        seed=seed,
    )
    training.fit(agent, env, PROBE, seed=seed)
    return agent


def look_at(agent):
    """Return mean and value for both signs, and the average value, now and one step later (V2)."""
    with torch.no_grad():
        states = torch.tensor([[[-1.0, 0.0]], [[1.0, 0.0]], [[-1.0, 1.0]], [[1.0, 1.0]]])
        mu, v = agent.actor(states)[0].flatten().tolist(), agent.critic(states).flatten().tolist()
    found = {"V(-)": v[0], "V(+)": v[1], "V": (v[0] + v[1]) / 2, "V2": (v[2] + v[3]) / 2}
    return found | {"μ(-)": mu[0], "μ(+)": mu[1]}


probes["PPO"] = {}  # rung: whether it passed
utils.climb(RUNGS, lambda env, seed: look_at(train_probe(env, seed)), probes["PPO"])

# %% point-text [markdown]
# ## 18 · A point that should go to the origin
#
# Now an environment with motion. In `utils.PointMass(d)`, $d$ forces from -1 to 1 push a point in
# $d$ dimensions. The agent observes position and velocity. Each of the 30 steps costs
# $p^2 + 0.01\, a^2$, averaged over the dimensions. The best possible return is -0.435 on average;
# with zero actions it is -10, and with random actions -29.
#
# Four environments run at once, and there is an update every 8 episodes. The vertical axis is
# linear from -1 to 0 and logarithmic below -1. The dotted line is the best possible return. A
# training run takes about three seconds.

# %% point
curves = {}  # setting: one list of scores per seed


def train_point(make, obs_dim, n, seed, kind=None, steps=None, **options):
    """Return the scores of one training run in four environments at once."""
    training.seed_everything(seed)
    envs = gym.vector.SyncVectorEnv([make] * 4)
    options = {"gamma": 0.95, "episodes_per_update": 8, "learning_rate": 3e-3} | options
    agent = (kind or submitted.PPOAgent)(obs_dim, n, num_envs=4, seed=seed, **options)
    return training.fit_vector(agent, envs, steps or POINT, seed=seed)


def experiment(name, *arguments, **options):
    """Train once per seed, and keep the scores under `name`."""
    with tqdm(range(POINT_SEEDS), desc=name, unit=" seeds", file=sys.stdout) as seeds:
        curves[name] = [train_point(*arguments, seed, **options) for seed in seeds]
    print(
        f"{name}: mean score of the last 40 episodes, by seed:",
        [round(float(np.mean(run[-40:])), 2) for run in curves[name]],
    )


def show(names, title=""):
    """Draw learning curves on PointMass."""
    axes = utils.plot_point_mass_returns(
        {name: curves[name] for name in names}, "score of an episode", lowest=-130
    )
    axes.set_title(title)
    plt.show()


experiment("PointMass(1)", lambda: utils.PointMass(1), 2, 1)
experiment("PointMass(2)", lambda: utils.PointMass(2), 4, 2)
show(["PointMass(1)", "PointMass(2)"])

# %% point-grade
# %grade learning

# %% point-figure [markdown]
# Over 20 seeds, the means of the last 40 episodes were between -0.61 and -0.38 for `PointMass(1)`,
# and between -0.83 and -0.55 for `PointMass(2)`. These episodes were played with exploration. (A
# mean above -0.435 is luck: those 40 starts were closer to the origin than average. The check
# `learning` plays shorter episodes of another task, so its returns cannot be compared with the
# returns here.)

# %% sign-text [markdown]
# ### What a wrong sign costs
#
# Optimizers minimize. So an objective that is to be maximized must be negated, exactly **once**.
# You can forget to negate. You can also negate twice, once in the objective and once in the loss,
# and both lines look right.
#
# **Question.** Negating twice has the same effect as not negating. What does the learning curve
# look like: does it stay flat, or does it fall?

# %% sign


class NotNegated(submitted.PPOAgent):
    """Your agent with the wrong sign of the policy loss."""

    def policy_loss(self, batch):
        return -super().policy_loss(batch)


experiment("the sign is wrong", lambda: utils.PointMass(1), 2, 1, kind=NotNegated, steps=WRONG)
curves["the sign is right"] = [
    run[: len(curves["the sign is wrong"][0])] for run in curves["PointMass(1)"]
]
show(["the sign is right", "the sign is wrong"])

# %% sign-seen [markdown]
# The curve gets worse: the agent learns to maximize the cost. It pushes the point to the border of
# its range and keeps it there. Clipping does not stop this. It removes the gradient of a row only
# when the ratio has moved in the *right* direction; in the wrong direction, the minimum keeps the
# full gradient. If a learning curve *falls* far below its start, check the signs first.

# %% blind-text [markdown]
# ### Why a window helps
#
# Now the agent observes only the position of the point, not its velocity. To brake in time, it
# needs to know the velocity.
#
# **Question.** What do you expect of $w = 1$, $w = 2$ and $w = 3$? (Two positions give a velocity.
# Three also give a change of velocity; does an agent that chooses the force itself need it?)

# %% blind


class Blind(utils.PointMass):
    """A PointMass(1) that shows only the position."""

    def __init__(self):
        super().__init__(1)
        self.observation_space = gym.spaces.Box(-2, 2, (1,), np.float32)

    def reset(self, **options):
        observation, info = super().reset(**options)
        return observation[:1], info

    def step(self, action):
        observation, *others = super().step(action)
        return observation[:1], *others


for window in (1, 2, 3):
    experiment(f"position only, w = {window}", Blind, 1, 1, window_length=window)
show([f"position only, w = {window}" for window in (1, 2, 3)])

# %% blind-seen [markdown]
# With $w = 1$ the agent must move slowly: its scores end near -1, nearly twice the cost with
# $w = 2$. With $w = 2$ it does nearly as well as with position and velocity. The third observation
# hardly helps, because two positions already give the velocity. Only the first steps are different,
# because their windows contain zeros. With $w = 2$, the zero of the first step looks like a fast
# motion from the origin, although the velocity is 0. With $w = 3$, the first window has two zeros,
# which the network can recognize.

# %% pendulum-text [markdown]
# ## 19 · The pendulum
#
# The motor is too weak to lift the pendulum directly. The agent must first swing to the other
# side. That costs something, and pays off only seconds later. The agent observes
# $(\cos \theta, \sin \theta, \dot\theta)$ and chooses a torque from -2 to 2. Each step costs
# $\theta^2 + 0.1\, \dot\theta^2 + 0.001\, a^2$, where $\theta = 0$ is upright. Hanging down for
# all 200 steps costs nearly 2,000; random actions cost about 1,200.
#
# The settings are the agent's defaults: $\gamma = 0.9$, $\lambda = 0.95$, an update every 4
# episodes, 10 epochs, and a learning rate that decreases from $10^{-3}$ to 0. Four pendulums run at
# once. A training run of 100,000 steps (500 episodes) takes about 25 seconds. Expect
#
# - **scores** that start near -1300, rise within 150 to 200 episodes to about -250, and then slowly
#   to about -210. A good episode costs between 0 and 400, depending on its start, so individual
#   scores vary even for a good agent.
# - the **value loss**, on a logarithmic axis: it falls from more than 1,000 to less than 1. The
#   true values are about -60 at first, while the critic starts near 0.
# - the **explained variance**: the share of the value targets' variance that the values before the
#   update explain. It is below 0 in some of the first updates, exceeds 0.9 after about 10,000
#   steps, and then stays near 1. If it stays near 0, the critic learns nothing.
# - the **entropy** of the policy, $1.42 + \log \sigma$: it starts at 1.42 ($\sigma = 1$) and falls
#   slowly to between 0.2 and 0.9 ($\sigma$ from 0.3 to 0.6), because precise actions pay off more
#   and more. If it drops suddenly, the policy has stopped exploring. If it does not change, the
#   advantages do not reach the actor.
# - the **approximate KL**, which says how far an update moves the policy: the mean of
#   $\rho - 1 - \log \rho$ over its rows, where $\rho$ is the ratio after the update. It rises to
#   between 0.01 and 0.02 while the agent learns fastest, and falls with the learning rate.
#   Occasional spikes are harmless. If it is often above 0.05, the steps are too large; if it is 0,
#   the actor does not change.
# - the **clip fraction**, the share of rows whose ratio is outside $1 \pm \varepsilon$ after the
#   update: up to a quarter at first, then mostly below a tenth. Above a half, the steps are too
#   large.

# %% pendulum


class Monitored(submitted.PPOAgent):
    """Your agent; its metrics also say what an update has changed."""

    def update(self):
        names = ("state", "action", "log_prob", "advantage", "value_target")
        rows = {name: torch.cat([episode[name] for episode in self.episodes]) for name in names}
        metrics = super().update()
        with torch.no_grad():
            policy = self.actor(rows["state"])
            change = self.process.get_dist((*policy, rows["action"])) - rows["log_prob"]
            entropy = self.process.entropy(policy).mean()
        ratio = change.exp()  # of the new density to the old one
        # The advantage is the value target minus the value before the update: the part that the
        # critic did not explain.
        unexplained = rows["advantage"].var() / rows["value_target"].var()
        return metrics | {
            "approximate KL": (ratio - 1 - change).mean().item(),
            "clip fraction": ((ratio - 1).abs() > self.clip).float().mean().item(),
            "entropy": entropy.item(),
            "explained variance": 1 - unexplained.item(),
        }


def train_pendulum(seed):
    """Return the trained agent, its scores, and what it measured after every update."""
    training.seed_everything(seed)
    envs = gym.make_vec("Pendulum-v1", num_envs=4, vectorization_mode="sync")
    agent = Monitored(3, 1, num_envs=4, seed=seed)
    history = []
    scores = training.fit_vector(
        agent,
        envs,
        PENDULUM,
        seed=seed,
        on_update=lambda step, metrics: history.append({"step": step} | metrics),
    )
    return agent, scores, history


with tqdm(range(PENDULUM_SEEDS), desc="Pendulum", unit=" seeds", file=sys.stdout) as seeds:
    runs = [train_pendulum(seed) for seed in seeds]
agents, curves["Pendulum"], histories = (list(part) for part in zip(*runs, strict=True))
agent = agents[-1]
print("mean score of the first and the last 40 episodes, by seed:", end=" ")
print(
    [
        (round(float(np.mean(run[:40]))), round(float(np.mean(run[-40:]))))
        for run in curves["Pendulum"]
    ]
)

PANELS = ("value_loss", "explained variance", "entropy", "approximate KL", "clip fraction")
_, grid = plt.subplots(2, 3, figsize=(10, 5.6), layout="constrained")
first, *others = grid.flat
for seed, (scores, history) in enumerate(zip(curves["Pendulum"], histories, strict=True)):
    color = (BLUE, ORANGE)[seed % 2]
    episodes = np.arange(1, len(scores) + 1) * PENDULUM / len(scores)
    means = [np.mean(scores[max(0, end - 20) : end]) for end in range(1, len(scores) + 1)]
    first.plot(episodes, scores, ".", color=color, alpha=0.25, markersize=4)
    first.plot(episodes, means, color=color, linewidth=2, label=f"seed {seed}, last 20")
    for axes, name in zip(others, PANELS, strict=True):
        steps, values = zip(*[(entry["step"], entry[name]) for entry in history], strict=True)
        axes.plot(steps, values, color=color, linewidth=1.5)
first.set(title="scores, and their mean", ylim=(-1900, 100))
for axes, name in zip(others, PANELS, strict=True):
    axes.set_title(name.replace("_", " "))
others[0].set_yscale("log")
others[1].set_ylim(-1, 1.05)
ticks = range(0, PENDULUM + 1, PENDULUM // 2)
for axes in grid.flat:
    axes.set(xlabel="step", xlim=(0, PENDULUM))
    axes.set_xticks(ticks, labels=[f"{tick:,}" for tick in ticks])
    axes.grid(alpha=0.3)
utils.tidy(*grid.flat)
first.legend(frameon=False, loc="lower right")
plt.show()

# %% pendulum-figure [markdown]
# We trained twenty such agents (`benchmarks/results/ppo_agent_training.json` in the repository of
# these assignments). In twenty test episodes without exploration, nineteen of the agents had a mean
# above -250; the worst had -295. The interquartile mean, which leaves out the best and the worst
# quarter of the agents, was -148. In a hundred other, harder episodes, it was -208. The PPO of
# Stable-Baselines3 with the same settings reached -147 and -208, and took 1.7 times as long. If you
# resample the seeds (a statistical bootstrap), our score minus theirs in the twenty test episodes
# is between -7 and 6 in 95 % of the samples. So twenty seeds do not show which implementation is
# better. Always state the number of episodes and seeds with a score.

# %% film-text [markdown]
# ### Watch the agent
#
# The film shows one episode in real time. The pendulum starts near the bottom, and the agent plays
# the mean action. The strip below it shows every tenth frame of the first 60, and two later frames.
# The agent was trained in four environments at once. To play in a single environment, the cell
# creates an agent with one memory and gives it the trained actor.

# %% film
stage = gym.make("Pendulum-v1", render_mode="rgb_array")
player = submitted.PPOAgent(3, 1)
player.actor, player.training = agent.actor, False
observation, _ = stage.reset(seed=2, options={"x_init": np.pi, "y_init": 0.1})
while observation[0] > -0.95:  # until it starts near the bottom
    observation, _ = stage.reset(options={"x_init": np.pi, "y_init": 0.1})
frames, path, torques, over = [], [], [], False
while not over:
    frames.append(stage.render())
    path.append(observation)
    action = training.clipped(player.forward(observation), stage.action_space)
    observation, reward, terminated, truncated, _ = stage.step(action)
    player.backward(reward, terminated, truncated)
    torques.append(float(action[0]))
    over = terminated or truncated
stage.close()

# Keep every other frame; the environment renders 20 per second.
shots = [Picture.fromarray(frame).resize((200, 200)).quantize(32) for frame in frames[::2]]
film = io.BytesIO()
shots[0].save(film, "GIF", save_all=True, append_images=shots[1:], duration=100, loop=0)
display(Image(film.getvalue(), format="gif"))

figure = plt.figure(figsize=(10, 4), layout="constrained")
grid = figure.add_gridspec(2, 8, height_ratios=(1.1, 1.6))
for column, number in enumerate((0, 10, 20, 30, 40, 50, 100, 199)):
    axes = figure.add_subplot(grid[0, column])
    axes.imshow(frames[number])
    axes.set_title(f"step {number}", fontsize=10)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_color("#cccccc")
axes = figure.add_subplot(grid[1, :])
axes.plot(np.array(path)[:, 0], color=BLUE, linewidth=2, label="height, cos θ (1: upright)")
axes.plot(np.array(torques) / 2, color=ORANGE, linewidth=1, label="torque / 2")
axes.axhline(0, color="black", linewidth=0.5)
axes.set(xlabel="step", xlim=(0, 200), ylim=(-1.15, 1.6))
axes.set_yticks([-1, 0, 1])
utils.tidy(axes, legend=False)
axes.legend(frameon=False, ncols=2, loc="upper right")
plt.show()

# %% learned-text [markdown]
# ### What the agent has learned
#
# A state is an angle and a velocity, so two pictures show everything the agent has learned: the
# value $V(s)$ (bright: low cost from that state on), and the mean torque. The line is the episode
# above, which starts at the circle.
#
# Look for a bright spot in the middle (upright and at rest), with a bright band that leads into it
# from the upper left and the lower right, where the pendulum moves up at the right speed. At the
# bottom position (both edges of the picture), the torque points in the direction of the velocity,
# as when you push a swing. Near the top, it acts against both the angle and the velocity.

# %% learned
angles, velocities = np.linspace(-np.pi, np.pi, 121), np.linspace(-8, 8, 121)
angle, velocity = np.meshgrid(angles, velocities)
grid = np.stack([np.cos(angle), np.sin(angle), velocity], axis=-1).reshape(-1, 1, 3)
with torch.no_grad():
    looked_at = torch.as_tensor(grid, dtype=torch.float32)
    means, values = agent.actor(looked_at)[0], agent.critic(looked_at)
path = np.array(path)
path_angle, path_velocity = np.arctan2(path[:, 1], path[:, 0]), path[:, 2].copy()
jumps = np.flatnonzero(np.abs(np.diff(path_angle)) > np.pi) + 1
path_angle, path_velocity = (
    np.insert(path_angle, jumps, np.nan),
    np.insert(path_velocity, jumps, np.nan),
)

_, both = plt.subplots(1, 2, figsize=(13, 4.6), layout="constrained", sharey=True)
for axes, picture, cmap, limits, title in (
    (both[0], values, "viridis", {}, "V(s)"),
    (both[1], means.clamp(-2, 2), "RdBu_r", {"vmin": -2, "vmax": 2}, "mean torque, clipped"),
):
    picture = picture.numpy().reshape(angle.shape)
    shading = axes.pcolormesh(
        angles, velocities, picture, cmap=cmap, shading="auto", rasterized=True, **limits
    )
    plt.colorbar(shading, ax=axes)
    axes.plot(path_angle, path_velocity, color="white", linewidth=3.5)
    axes.plot(path_angle, path_velocity, color="black", linewidth=1.5)
    axes.plot(
        path_angle[0], path_velocity[0], "o", color="white", markeredgecolor="black", markersize=9
    )
    axes.set(
        title=title,
        xlabel="angle (0: upright)",
        ylabel="velocity",
        xlim=(-np.pi, np.pi),
        ylim=(-8, 8),
    )
    axes.set_xticks([-np.pi, 0, np.pi], labels=["-π", "0", "π"])
    axes.label_outer()
plt.show()

# %% faults-text [markdown]
# ## 20 · What the faults cost
#
# Each row changes one thing in a correct agent, on the pendulum, with 100,000 steps and two or
# three seeds. The score is the mean over twenty test episodes. The correct agent scores -157: here,
# we give the plain mean over seeds, not the interquartile mean of section 19. Its twenty seeds are
# between -134 and -295.
#
# | change | score |
# | --- | --- |
# | objective not negated | -1660: the agent learns to maximize the cost |
# | density computed with σ in place of log σ | -1350: σ falls to 0.02, and the agent stops exploring |
# | ratio `[B, 1]` times advantage `[B]` | -540 |
# | samples with abs(log σ) (0 at first) in place of σ | -300 |
# | the draft as it is, without the last step of each episode | -190 |
# | the draft with its length repaired, $V(s_0)$ after the last step | -170 |
# | time limit treated as termination | -144 |
#
# From the average scores you would notice the first four faults, but hardly the last three: in an
# episode of 200 steps, a wrong last value affects only a few steps, and the pendulum tolerates
# that. (The -144 is not an improvement: most seeds of the correct agent score about as much.) A
# single seed says even less: one agent of the fourth row ended at -146. So **a rising learning
# curve proves little**. That is why you need tests.
#
# ## Optional experiments
#
# What do you expect, and why? Write down your answer before you run an experiment.
#
# - **No clipping** (`clip=1e9`) on `PointMass(2)`; then with `epochs=40`, with clipping and
#   without. *(Without clipping and with 10 epochs, some seeds end about as well as with clipping,
#   and some never learn. Without clipping and with 40 epochs, hardly any seed learns. With clipping
#   and 40 epochs, all seeds learn, in fewer episodes than with 10 epochs. So clipping lets you use
#   the same data for more epochs.)*
# - **$\gamma = 0.99$ on the pendulum.** *(The agent takes later costs into account, but the
#   advantages are noisier. It needs about one and a half times as many episodes. With our three
#   seeds the mean was better: -134 instead of -157. In a hundred other episodes, the plain mean was
#   -177 instead of -234.)*
# - **One pendulum at a time** (`training.fit`), or 16. *(One is as good as four, but slower: with
#   four, one call of the actor serves all of them. With 16, all episodes end at the same moment, so
#   an update gets 16 episodes, and there are a quarter as many updates.)*
# - **An entropy bonus**, `entropy_coef=0.05`, on `PointMass(1)`. *(σ falls less, so the scores in
#   training end a little lower. The mean action need not be worse.)*
# - **The pendulum without its velocity**, with $w = 1, 2$ and 3. *(Compare with the point mass
#   above. Here even the first swing depends on the velocity.)*
#
# Then run `python grade.py` one last time and submit `submitted.py`.

# %% end
for name, seeds in curves.items():
    begin, end = (
        np.mean([np.mean(values[part]) for values in seeds])
        for part in (slice(0, 10), slice(-10, None))
    )
    print(f"{name:24} first ten episodes: {begin:9.2f}   last ten: {end:9.2f}")
