# Source of assignments/ppo_agent/notebook.ipynb; `python -m grader build` makes the notebook from it.
# Figures of whole trainings are those of benchmarks/results. The tests execute the notebook (tests/kit/test_notebook.py) and
# read what the last cell leaves: `curves` and `probes`.

# %% title [markdown]
# # PPO in an agent: repair, derive, assemble
#
# In this assignment you bring proximal policy optimization (PPO) into an agent that a library can drive: an object with a
# `forward` that says an action, and a `backward` that is told what came of it. In the end it makes a pendulum stand on its
# head.
#
# The text that this assignment follows (drafts for a PPO agent in *keras-rl*) is a notebook of 2017 in which somebody does the
# same, and changes course half way. It holds a draft that he does not trust himself, formulas that he works out on the side,
# and a plan. Your work has the same three parts:
#
# | | what you get | what you do |
# | --- | --- | --- |
# | **repair** | a draft that runs, and is wrong | find its faults, mend them, and write the test that finds them |
# | **derive** | a formula of one dimension | a random policy of many: samples, log-density, entropy |
# | **assemble** | a plan in words | networks, a memory, an agent, an update |
#
# You write into **`submitted.py`**, in the order of this notebook; the notebook only calls it. Given are `training.py` and
# `utils.py`. Read the first one, it is short: its loops are what your agent must get along with. Between the parts there are
# small **questions**. Think before you run the cell; the answer stands below it.
#
# > **How to work**
# >
# > - Save `submitted.py` and run the cell again. The kernel need not restart: `autoreload` takes what you saved.
# > - Run `python grade.py --watch` in a terminal beside this notebook. It grades every save, and a wrong answer often gets a
# >   hint at the mistake that it looks like. Cells here show what your code does; `grade.py` says whether it is right.
# > - The first cell that calls something you have not written stops with a `NotImplementedError` that says what to write.
# > - You may also define everything in a notebook and hand that in: `python grade.py --submission notebook.ipynb` grades what
# >   it defines. The cells below would then have to use your names without `submitted.` before them.
#
# The pendulum is drawn by pygame (`pip install "gymnasium[classic-control]"`). Everything together takes two or three minutes.
# Scores and curves differ from machine to machine.

# %% setup
# %load_ext autoreload
# %autoreload 2

import os

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator
from tqdm import tqdm

import submitted
import training
import utils

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pygame draws into arrays and needs no screen
torch.set_num_threads(1)  # the networks are tiny: more threads would only wait for each other
BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#9a9a9a"


def rounded(numbers, digits=3):
    """Return the numbers as a list that is short to read."""
    return [round(number, digits) + 0.0 for number in torch.as_tensor(numbers).tolist()]


# %% settings
PENDULUM, PENDULUM_SEEDS = 100_000, 2
POINT, POINT_SEEDS = 9600, 3
WRONG = 2400
PROBE = 1600

if os.environ.get("NOTEBOOK_BUDGET") == "short":  # for automatic tests: a few seconds per training
    PENDULUM, PENDULUM_SEEDS = 6400, 1
    POINT, POINT_SEEDS = 3600, 1

# %% draft-text [markdown]
# # Part 1: repair
#
# ## 1 · A draft in action
#
# An **advantage** says how much better than usual an action turned out. With a critic $V$, the error of its forecast over one
# step is
#
# $$\delta_t = r_t + \gamma V(s_{t+1}) - V(s_t),$$
#
# and *generalized advantage estimation* (Schulman et al. 2016, arXiv 1506.02438) sums these errors, each further one weighing
# $\gamma \lambda$ times as much:
#
# $$A_t = \sum_{l \ge 0} (\gamma \lambda)^l\, \delta_{t+l} = \delta_t + \gamma \lambda\, A_{t+1}$$
#
# Below is the draft that you find in `submitted.py`, kept here under the name `draft`, so that it is still there when you have
# repaired yours. The cell asks it for the advantages of 1 to 5 rewards, with a critic that says 0 everywhere and
# $\gamma \lambda = 1$. Then each advantage should be the sum of all rewards from there on.
#
# **Question.** How many advantages does an agent need that has done $n$ actions? And which reward is in none of those below?

# %% draft


def draft(critic, state, reward, gamma, lamb, *_what_follows, **_and_where_it_ends):
    """The draft of part 1, as it is before the repair."""
    assert len(state) == len(reward)
    value = critic(state).detach().flatten().numpy()
    following_value = np.roll(value, -1)
    delta = reward + gamma * following_value - value
    backwards = [0.0]
    for step in range(1, len(reward)):
        backwards.append(delta[len(reward) - 1 - step] + gamma * lamb * backwards[-1])
    return np.array(backwards[:0:-1])


def says(state):
    """A critic for these experiments: a state is the number that it is worth."""
    return state


for n in range(1, 6):
    reward = 10.0 ** np.arange(n)
    found = draft(says, torch.zeros(n, 1), reward, 1.0, 1.0)
    right = np.cumsum(reward[::-1])[::-1]
    for name, numbers in (("rewards ", reward), ("draft   ", found), ("expected", right)):
        print(f"{name:10}", numbers.astype(int).tolist())

# %% draft-seen [markdown]
# It needs $n$ and gets $n - 1$; of one step it learns nothing. All numbers lack the last reward: the loop leaves out the last
# $\delta$, the very step in which a game is won or lost.

# %% hidden-text [markdown]
# ## 2 · A fault that hides another
#
# The draft gets "the value of the next state" from `np.roll(value, -1)`, which moves everything one place to the front.
#
# **Question.** What does it put in the last place, where nothing is left to move there? And why has nobody seen that in the
# draft's output?
#
# Everything here is linear. So we can put a 1 into $V(s_k)$, zeros elsewhere, and look where it comes out; for every $k$ this
# makes a column of a picture. Left: how the values get into the draft's $\delta$. Middle: into its advantages. Right: into the
# advantages of a draft of which somebody has *only* repaired the length.

# %% hidden
n, gamma, lamb = 8, 0.9, 0.9
ones = np.eye(n, dtype=np.float32)
into_delta = np.array([gamma * np.roll(one, -1) - one for one in ones]).T
into_draft = np.array([draft(says, torch.tensor(one)[:, None], np.zeros(n), gamma, lamb) for one in ones]).T
away = np.arange(n) - np.arange(n)[:, None]
into_longer = np.where(away >= 0, (gamma * lamb) ** np.maximum(away, 0), 0) @ into_delta

figure, row = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
for axes, matrix, title, letter in (
    (row[0], into_delta, "from V to the draft's δ", "δ"),
    (row[1], into_draft, "from V to the draft's A", "A"),
    (row[2], into_longer, "from V to A, only the length repaired", "A"),
):
    image = axes.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1)
    for (t, k), number in np.ndenumerate(matrix):
        if abs(number) > 0.005:
            axes.text(
                k, t, f"{number:.2f}", ha="center", va="center", fontsize=8, color="white" if abs(number) > 0.6 else "black"
            )
    axes.set_xticks(range(n), labels=[f"V{k}" for k in range(n)])
    axes.set_yticks(range(n), labels=[f"{letter}{t}" for t in range(n)])
    axes.set(title=title, ylim=(n - 0.5, -0.5))
    axes.tick_params(length=0)
row[0].add_patch(plt.Rectangle((-0.46, n - 1.46), 0.92, 0.92, fill=False, edgecolor="black", linewidth=2.5))
row[1].add_patch(plt.Rectangle((-0.5, n - 1.5), n, 1, facecolor="white", edgecolor=GREY, hatch="///"))
row[2].add_patch(plt.Rectangle((-0.46, -0.46), 0.92, n - 0.08, fill=False, edgecolor="black", linewidth=2.5))
figure.colorbar(image, ax=row, label="weight", shrink=0.85)
plt.show()

# %% hidden-seen [markdown]
# The last $\delta$ gets the value of the *first* state: $V(s_0)$ stands in the corner at the lower left. But the last $\delta$
# is just the one that the loop leaves out, so the corner never comes out, and there are only 7 rows in the middle. Once the
# length is right, all advantages get a bit of $V(s_0)$ (the framed column): the first repair makes the second fault *visible*.
# It is common that one fault hides another; so a test that turns red after a repair need not mean that the repair was wrong.
#
# What belongs in the last place depends on what came after the last action: the value of the state that did come, or 0 if
# nothing did.

# %% flow-text [markdown]
# ## 3 · Ends inside
#
# The draft takes all rows for a single episode. But an agent collects several, one behind the other, and they end in two ways:
#
# | | what it means | $V(\text{next state})$ | $A_{t+1}$ |
# | --- | --- | --- | --- |
# | **terminated** | the world came to its end: fallen, won, lost | counts 0 | counts 0 |
# | **truncated** | only the clock stopped it; the world would have gone on | counts | counts 0 |
# | neither | the episode goes on | counts | counts (0 after the last row) |
#
# Two things come from the future, $V$ and $A$, and they are not cut at the same places. Mind also *which* value counts: after
# a truncation, the next row of `state` is the beginning of another episode. That is why there is a `next_state`.
#
# The cell shows which $\delta$ flows into which advantage, for three episodes of four steps: the first one is terminated, the
# second truncated, the third goes on. On the left is what the draft does, on the right what is right: triangles, one for each
# episode. (In the notebook, each episode is a list of its own, and the sum above is computed as it stands there.)

# %% flow


def one_episode(rewards, values, gamma, lamb):
    """Return the advantages of a single episode by the sum; `values` has one more item, what comes after the last step."""
    errors = [r + gamma * after - before for r, before, after in zip(rewards, values, values[1:], strict=False)]
    return [sum((gamma * lamb) ** (k - t) * errors[k] for k in range(t, len(errors))) for t in range(len(errors))]


LENGTH, ENDS = 4, ("terminated", "truncated", "goes on")
T = LENGTH * len(ENDS)
units = np.eye(T)
drafted = np.array([draft(says, torch.zeros(T, 1), unit, 0.9, 0.9) for unit in units]).T
drafted = np.vstack([drafted, np.full(T, np.nan)])
right = np.zeros((T, T))
for begin in range(0, T, LENGTH):
    part = slice(begin, begin + LENGTH)
    right[part, part] = np.array([one_episode(unit, [0] * (LENGTH + 1), 0.9, 0.9) for unit in units[part, part]]).T

figure, both = plt.subplots(1, 2, figsize=(12.5, 5.4), layout="constrained")
for axes, matrix, title in ((both[0], drafted, "the draft"), (both[1], right, "right")):
    image = axes.imshow(matrix, cmap="Blues", vmin=0, vmax=1)
    for (t, k), number in np.ndenumerate(matrix):
        if number > 0.005:
            axes.text(k, t, f"{number:.2f}", ha="center", va="center", fontsize=8, color="white" if number > 0.6 else "black")
    for end in range(LENGTH, T, LENGTH):
        axes.axhline(end - 0.5, color=ORANGE, linewidth=1.5)
        axes.axvline(end - 0.5, color=ORANGE, linewidth=1.5)
    for number, how in enumerate(ENDS):
        axes.text(LENGTH * number + 1.5, -0.75, how, ha="center", color=ORANGE)
    axes.set_xticks(range(T), labels=[f"δ{k}" for k in range(T)])
    axes.set_yticks(range(T), labels=[f"A{t}" for t in range(T)])
    axes.tick_params(length=0)
    axes.set_title(title, pad=22)
both[0].add_patch(plt.Rectangle((-0.5, T - 1.5), T, 1, facecolor="white", edgecolor=GREY, hatch="///"))
figure.colorbar(image, ax=both, label="weight", shrink=0.85)
plt.show()

# %% leak-text [markdown]
# What it means for an agent: 60 steps, of which the first 25 are an episode that is terminated, the next 20 one that is
# truncated, and the last 15 belong to one that goes on. There is a reward of 1 in step 12, and one of -1 in step 33, in the
# second episode. The critic is wrong in a wavy way.
#
# **Question.** Where in the first episode will the draft look punished for what happened in the second one?

# %% leak
LENGTHS = (25, 20, 15)
rewards = np.zeros(60)
rewards[12], rewards[33] = 1.0, -1.0
wave = 0.3 * np.sin(np.arange(63) / 5)  # one value for each state, also for those in which the episodes ended
parts, episodes, shift = [], [], 0
for number, length in enumerate(LENGTHS):
    begin = sum(LENGTHS[:number])
    parts.append((rewards[begin : begin + length], wave[begin + number : begin + number + length + 1], ENDS[number]))
state = torch.tensor(np.concatenate([values[:-1] for _, values, _ in parts]), dtype=torch.float32)[:, None]
next_state = torch.tensor(np.concatenate([values[1:] for _, values, _ in parts]), dtype=torch.float32)[:, None]
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
    """Mark where the episodes end, and how."""
    for end, how in zip(ends, ENDS, strict=True):
        if how != "goes on":
            axes.axvline(end + 0.5, color="black", linewidth=0.8)
            axes.annotate(how, (end + 0.5, 1.12), (-5, 0), textcoords="offset points", ha="right", fontsize=9)
    axes.axhline(0, color="black", linewidth=0.5)
    axes.set(xlabel="step", ylabel="advantage", xlim=(0, 59), ylim=(-1.45, 1.3))
    utils.tidy(axes)


_, axes = plt.subplots(figsize=(10, 3.8), layout="constrained")
wrong = draft(says, state, rewards, 0.99, 0.95, next_state, terminated, truncated)
axes.plot(expected(0.99, 0.95), color="black", linestyle=":", linewidth=2, label="right")
axes.plot(wrong, color=ORANGE, linewidth=2, label="the draft")
draw_episodes(axes)
plt.show()

# %% leak-seen [markdown]
# Most of all in the last steps before the end, as if the agent had done something wrong there. It is the -1 that leaks over
# the line, from a game that had not begun.

# %% repair-text [markdown]
# ## 4 · Your repair
#
# **Repair `GeneralizedAdvantageEstimator`**, best fault by fault:
#
# 1. as many advantages as rewards,
# 2. the right thing after the last row: with `next_state` its value; without, the rows are one episode that terminated;
# 3. `terminated` and `truncated`: for each of them, say whether $V$ is cut, and whether $A$ is.
#
# The cell computes small cases, then the picture of above with your advantages, for three values of $\lambda$. With
# $\lambda = 0$ they are the $\delta$, with $\lambda = 1$ the return minus $V$. Your lines should lie on the dotted ones, which
# are the sum, and nothing may cross an end.

# %% repair
small = torch.tensor([[1.0], [2.0], [3.0]])  # the values are 1, 2, 3; γ = λ = 0.5
after = torch.tensor([[2.0], [3.0], [4.0]])
paid = np.array([2.0, 0.0, 4.0])
none, last, middle = (np.array(where) for where in ([False] * 3, [False, False, True], [False, True, False]))
other = torch.tensor([[2.0], [8.0], [4.0]])
right = one_episode(paid, [1, 2, 3, 0], 0.5, 0.5)
yours = submitted.GeneralizedAdvantageEstimator(says, small, paid, 0.5, 0.5)
print(f"for {len(paid)} rewards {len(yours)} advantages: {rounded(yours)}, expected {len(right)}: {rounded(right)}")
if len(yours) != len(paid):
    raise NotImplementedError(
        "GeneralizedAdvantageEstimator.length: return as many advantages as there are rewards, the last δ among them"
    )
for name, values, arguments in (
    ("goes on", [[1, 2, 3, 4]], (after, none, none)),
    ("truncated in the last row", [[1, 2, 3, 4]], (after, none, last)),
    ("terminated in the last row", [[1, 2, 3, 0]], (after, last, none)),
    ("terminated in the middle", [[1, 2, 0], [3, 4]], (after, middle, none)),
    ("truncated there, V = 8", [[1, 2, 8], [3, 4]], (other, none, middle)),
    ("terminated there, V = 8", [[1, 2, 0], [3, 4]], (other, middle, none)),
):
    yours = submitted.GeneralizedAdvantageEstimator(says, small, paid, 0.5, 0.5, *arguments)
    begins = np.cumsum([0] + [len(part) - 1 for part in values])
    right = [
        A
        for begin, part in zip(begins, values, strict=False)
        for A in one_episode(paid[begin:][: len(part) - 1], part, 0.5, 0.5)
    ]
    print(f"{name:28} found {rounded(yours)!s:24} expected {rounded(right)}")

_, axes = plt.subplots(figsize=(10, 3.8), layout="constrained")
for lamb, colour in ((0.0, GREY), (0.95, BLUE), (1.0, GREEN)):
    yours = submitted.GeneralizedAdvantageEstimator(says, state, rewards, 0.99, lamb, next_state, terminated, truncated)
    axes.plot(yours, color=colour, linewidth=2.5, label=f"yours, λ = {lamb:g}")
    axes.plot(expected(0.99, lamb), color="black", linestyle=":", label="right" if lamb == 1 else None)
draw_episodes(axes)
axes.legend(frameon=False, loc="lower right", fontsize=9)
plt.show()

# %% test-text [markdown]
# ## 5 · A test that would have found it
#
# The course text tries its draft once, on random numbers, and looks at the output. It looks like advantages. Nobody can tell
# from random numbers that they are wrong.
#
# **Write `test_advantages(estimator)`**: small episodes whose advantages *you* have computed by hand, so small that every
# number can be checked by eye, and so various that no fault gets through. Which numbers would make a fault invisible? A $V$ of
# 0 hides what is bootstrapped, $\gamma = 1$ a forgotten discount, $V(s_0) = V(s_T)$ the wrap-around of the roll.
#
# The cell shows it to the draft, to estimators with one fault each, and to three that are right. (The faulty ones are yours,
# called with something wrong.) A test that refuses everything is as useless as one that refuses nothing.

# %% test


def faulty(change):
    """Return your estimator, whose arguments (a dictionary) are spoiled by `change` before each call."""

    def estimator(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None):
        no = np.zeros(len(reward), dtype=bool)
        if next_state is None:
            next_state, terminated = torch.cat((state[1:], state[-1:])), np.arange(len(reward)) == len(reward) - 1
        told = {"terminated": no if terminated is None else terminated, "truncated": no if truncated is None else truncated}
        told |= {"state": state, "reward": reward, "gamma": gamma, "lamb": lamb, "next_state": next_state}
        return submitted.GeneralizedAdvantageEstimator(critic, **(told | change(told)))

    return estimator


no_ends = {"terminated": None, "truncated": None}
ESTIMATORS = {
    "the draft": draft,
    "the last δ is missing": lambda *a, **k: submitted.GeneralizedAdvantageEstimator(*a, **k)[:-1],
    "V(s_0) after the last row": faulty(lambda x: {"next_state": torch.cat((x["next_state"][:-1], x["state"][:1]))}),
    "ends are not seen at all": faulty(lambda _: no_ends),
    "ends are seen one row late": faulty(lambda x: {key: np.roll(x[key], 1) for key in no_ends}),
    "truncated counts as terminated": faulty(lambda x: {"terminated": x["terminated"] | x["truncated"]}),
    "terminated counts as truncated": faulty(lambda x: {"terminated": None, "truncated": x["terminated"] | x["truncated"]}),
    "the last row is always an end": faulty(
        lambda x: {"terminated": x["terminated"] | (np.arange(len(x["reward"])) + 1 == len(x["reward"]))}
    ),
    "the next row for the next state": faulty(lambda x: {"next_state": torch.cat((x["state"][1:], x["next_state"][-1:]))}),
    "λ is forgotten": faulty(lambda _: {"lamb": 1.0}),
    "yours": submitted.GeneralizedAdvantageEstimator,
    "yours, as a list": lambda *a, **k: [float(A) for A in submitted.GeneralizedAdvantageEstimator(*a, **k)],
    "yours, as a tensor": lambda *a, **k: torch.as_tensor(np.array(submitted.GeneralizedAdvantageEstimator(*a, **k))),
}
for name, estimator in ESTIMATORS.items():
    try:
        submitted.test_advantages(estimator)
        verdict, words = "passes", ""
    except AssertionError as error:
        verdict, words = "fails", str(error).partition("\n")[0][:60]
    wanted = "passes" if name.startswith("yours") else "fails"
    print(f"{name:33}{verdict:7}{'' if verdict == wanted else 'BUT IT SHOULD NOT':18} {words}")

# %% sample-text [markdown]
# # Part 2: derive
#
# ## 6 · A random policy: samples
#
# In a state, the actor says a mean $\mu_i$ for each of the $n$ numbers of an action. How far the policy strays from it, the
# standard deviation $\sigma_i$, is learned as well. As it must be positive, the network holds its logarithm,
# $s_i = \log \sigma_i$, which may be any number. A sample is
#
# $$a_i = \mu_i + \sigma_i \varepsilon_i, \qquad \varepsilon_i \sim N(0, 1), \quad \sigma_i = e^{s_i}.$$
#
# **Write `IndependentGaussianProcess.sample`**; the noise comes from `self.rng`.
#
# **Question.** In the course text, this very class *samples* with the number $s$ as it is, `np.random.normal(mu, s)`, and
# *scores* with $e^s$. The agent then plays one policy and learns about another. What does it play at the beginning, when
# $s = 0$? And later on, when $\sigma < 1$?
#
# The cell draws 20,000 actions of each for three values of $\sigma$. Expect for yours the mean 0.5 and the $\sigma$ in the
# title.

# %% sample
_, row = plt.subplots(1, 3, figsize=(13, 3.4), layout="constrained")
for axes, sigma in zip(row, (1.0, 1.5, 4.0), strict=True):
    mu, log_sigma = torch.full((20_000, 1), 0.5), torch.full((20_000, 1), float(np.log(sigma)))
    process = submitted.IndependentGaussianProcess(1, rng=0)
    yours = process.sample((mu, log_sigma))
    confused = np.random.default_rng(0).normal(mu, log_sigma)
    print(f"σ = {sigma}: yours {list(yours.shape)}, mean {yours.mean():.2f}, standard deviation {yours.std():.2f};", end=" ")
    print(f"with log σ for σ: {confused.std():.2f}")
    bins = np.linspace(0.5 - 3.2 * sigma, 0.5 + 3.2 * sigma, 66)
    axes.hist(confused.ravel(), bins=bins, color=ORANGE, alpha=0.55, label="with log σ for σ")
    axes.hist(yours.numpy().ravel(), bins=bins, color=BLUE, alpha=0.65, label="yours")
    axes.set(title=f"σ = {sigma:g}, log σ = {np.log(sigma):.2f}", xlabel="action", ylim=(0, 4200))
    axes.legend(frameon=False, loc="upper right", fontsize=9)
row[0].set_ylabel("of 20,000")
row[0].annotate("all 20,000", (0.5, 3700), (0.1, 3700), ha="right", va="center", arrowprops={"arrowstyle": "->"}, fontsize=9)
utils.tidy(*row, legend=False)
plt.show()
try:
    np.random.default_rng(0).normal(0.5, np.log(0.5))
except ValueError as error:
    print("σ = 0.5, with log σ for σ: ValueError:", error)

process = submitted.IndependentGaussianProcess(2, rng=0)
two = process.sample((torch.zeros(20_000, 2), torch.tensor([[0.0, 1.0]]).expand(20_000, 2)))
print(f"two dimensions: correlation found {np.corrcoef(two.numpy().T)[0, 1]:.2f}, expected 0.0x")

# %% sample-seen [markdown]
# With $s = 0$ it does not explore at all: every sample is the mean. The mean learns nothing from that, as nothing else is ever
# tried. With $\sigma < 1$ it stops with an error, and that is the best that can be said of it. There is no $\sigma$ at which
# the two agree, as $\log \sigma < \sigma$ always. Name a thing for what it is, `log_sigma`, and you will not take it for
# something else.

# %% density-text [markdown]
# ## 7 · The log-density, step by step
#
# How probable was an action? In one dimension, the density of the normal distribution is
#
# $$p(y) = \frac{1}{\sqrt{2 \pi}\, \sigma} \exp\left(-\frac{(y - \mu)^2}{2 \sigma^2}\right).$$
#
# **The logarithm** turns the product into a sum, and takes away the exponential:
#
# $$\log p(y) = -\tfrac{1}{2} \log 2 \pi - \log \sigma - \frac{(y - \mu)^2}{2 \sigma^2}$$
#
# **Many dimensions.** They are independent, so densities are multiplied, and their logarithms added. The constant comes $n$
# times:
#
# $$\log p(y) = -\tfrac{n}{2} \log 2 \pi - \sum_i \log \sigma_i - \sum_i \frac{(y_i - \mu_i)^2}{2 \sigma_i^2}$$
#
# **By what the network holds**, $s_i = \log \sigma_i$, so $1 / \sigma_i = e^{-s_i}$:
#
# $$\log p(y) = -\tfrac{n}{2} \log 2 \pi - \sum_i s_i - \tfrac{1}{2} \sum_i \left((y_i - \mu_i)\, e^{-s_i}\right)^2$$
#
# The course text goes one step further. It has so many logarithms already that it takes the one of the square as well, and
# undoes it: $\exp(2 \log |y_i - \mu_i| - \log 2 - 2 s_i)$. That is the same number; section 8 shows what is wrong with it.
#
# **Write `get_dist`**, `[B, 1]`. The numbers to try are those of the course text: the means $(0, 1)$, $(1, 0)$, $(-1, 2)$, the
# $\sigma$ $(2, 3)$, $(4, 5)$, $(6, 1)$, and the actions $(2, -5)$, $(1, -2.5)$, $(8, 2)$. The first row, by hand, lies one
# $\sigma$ and two $\sigma$ off: $-\log 2\pi - \log 2 - \log 3 - \frac{1 + 4}{2} = -1.8379 - 0.6931 - 1.0986 - 2.5 = -6.1296$.
# The second one comes to $-4.9586$. **Compute the third one before you run the cell.**
#
# **Question.** In the third row, the course text has $\sigma_2 = 0$, and $y_2 = \mu_2$ there. What does its formula say?
#
# The first picture lays $\exp(\log p)$ on a histogram of your samples; its area must be 1. The second one shows the second row
# of above: lines of equal density over samples.

# %% density
mu = torch.tensor([[0.0, 1.0], [1.0, 0.0], [-1.0, 2.0]])
log_sigma = torch.log(torch.tensor([[2.0, 3.0], [4.0, 5.0], [6.0, 1.0]]))
y = torch.tensor([[2.0, -5.0], [1.0, -2.5], [8.0, 2.0]])
process = submitted.IndependentGaussianProcess(2, rng=0)
found = process.get_dist((mu, log_sigma, y))
print("found   ", list(found.shape), rounded(found.flatten(), 4))
print("expected", [3, 1], [-6.1296, -4.9586, "and what you have computed"])

_, both = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
line = torch.linspace(-9, 11, 401)[:, None]
one = submitted.IndependentGaussianProcess(1, rng=0)
sampled = one.sample((torch.ones(20_000, 1), torch.full((20_000, 1), np.log(2.0))))
height = one.get_dist((torch.ones(401, 1), torch.full((401, 1), np.log(2.0)), line)).exp().flatten()
both[0].hist(sampled.numpy().ravel(), bins=80, density=True, color=BLUE, alpha=0.45, label="your samples")
both[0].plot(line.flatten(), height, color="black", linewidth=2, label="exp(your log-density)")
both[0].set(title="μ = 1, σ = 2", xlabel="action", ylabel="density", xlim=(-9, 11), ylim=(0, 0.26))
print(f"area below the line: found {float(torch.trapezoid(height, line.flatten())):.4f}, expected 1.0000")

wide = torch.stack(torch.meshgrid(torch.linspace(-12, 14, 80), torch.linspace(-16, 16, 80), indexing="xy"), dim=-1)
rows = wide.reshape(-1, 2)
logs = process.get_dist((mu[1].expand_as(rows), log_sigma[1].expand_as(rows), rows)).reshape(80, 80)
dots = process.sample((mu[1].expand(1500, 2), log_sigma[1].expand(1500, 2)))
both[1].plot(*dots.numpy().T, ".", color=BLUE, markersize=3, alpha=0.5)
both[1].contour(wide[..., 0], wide[..., 1], logs, levels=[-10, -8, -6.5, -5.5, -4.9586], colors="black", linewidths=1)
both[1].plot(1, -2.5, "o", color=ORANGE, markersize=8, label="the action (1, -2.5)")
both[1].set(title="μ = (1, 0), σ = (4, 5)", xlabel="first number", ylabel="second number", xlim=(-12, 14), ylim=(-16, 16))
utils.tidy(*both)
both[0].legend(frameon=False, loc="upper right")
both[1].legend(frameon=True, framealpha=0.9, loc="upper right")
plt.show()

impossible = torch.tensor([0.0, -torch.inf])  # |y - μ| and log σ of the course text's third row
print("σ = 0, as in the course text:", float(torch.exp(2 * impossible[0].log() - np.log(2) - 2 * impossible[1])))

# %% density-seen [markdown]
# It says NaN: $\log \sigma = -\infty$ meets $\log 0 = -\infty$, and $\infty - \infty$ is not a number. A $\sigma$ of 0 is no
# density at all. (That row we have changed to $\sigma_2 = 1$.) The first picture tests the constants: without the $\log 2\pi$,
# or with $\sigma^2$ for $\sigma$, the area is not 1.

# %% gradient-text [markdown]
# ## 8 · The same number, another gradient
#
# **Question.** $(y - \mu)^2$ and $\exp(2 \log |y - \mu|)$ are the same for every $y \ne \mu$, and at $y = \mu$ both are 0 (the
# logarithm is $-\infty$, its exponential 0). What is the gradient of the second one there, by the chain rule?
#
# The cell takes the log-density of one action at a time, and its derivative by $\mu$, in both ways. Then it takes a batch of
# 64 actions, one of which is exactly the mean (as all are which the agent plays without noise).

# %% gradient


def as_in_the_text(mu, _log_sigma, y):
    """The course text's log-density, for one dimension and σ = 1."""
    return -0.5 * np.log(2 * np.pi) - torch.exp(2 * (y - mu).abs().log() - np.log(2))


def slope(score, ys, mean=False):
    """Return the log-densities, and their derivatives by μ = 0 (or of their mean by a μ that they all share)."""
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
for name, score, colour, style in (("exp(2 log|y - μ|)", as_in_the_text, ORANGE, "o-"), ("yours", yours, BLUE, "x:")):
    numbers, slopes = slope(score, ys)
    both[0].plot(ys, numbers, style, color=colour, label=name)
    both[1].plot(ys, slopes, style, color=colour, label=name)
    batch = np.append(np.random.default_rng(0).normal(size=63), 0.0)
    print(f"{name:18} at y = μ: log-density {numbers[10]:.4f}, gradient {slopes[10]:.4f};", end=" ")
    print(f"mean of 64 actions, one of them μ: gradient {slope(score, batch, mean=True)[1][0]:.4f}")
both[0].set(title="log-density", xlabel="y - μ")
both[1].set(title="its derivative by μ", xlabel="y - μ", ylim=(-1.3, 1.3))
if not np.isfinite(slope(as_in_the_text, ys)[1][10]):
    both[1].annotate("NaN: no point here", (0, 0.06), (-0.62, 0.8), arrowprops={"arrowstyle": "->"}, ha="center", fontsize=9)
utils.tidy(*both)
plt.show()

# %% gradient-seen [markdown]
# The inner derivative is $1 / 0$, the outer one 0, and the product is NaN. One such row is enough: the mean over the batch
# becomes NaN, then every weight, and from then on every action. The square has no such place. Usually an action is hardly ever
# exactly the mean, and a program that seldom fails is the worst kind. But remember section 6: with $s = 0$, every action of
# the course text is.

# %% entropy-text [markdown]
# ## 9 · The entropy
#
# How random is a policy? The **entropy** is the mean of $-\log p(a)$ over the policy's own actions. Put the log-density in: of
# $(a_i - \mu_i)^2$ the mean is $\sigma_i^2$ by definition, so in each dimension the last term is on average a number that
# depends on nothing.
#
# **Write `entropy`**, `[B, 1]`. It needs no sample.
#
# **Question.** Can an entropy be negative?
#
# The cell compares your formula with the mean of $-\log p$ of your own samples.

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
print(f"σ = (0.5, 1, 2): found {submitted.IndependentGaussianProcess(3).entropy(mixed).item():.4f}, expected 4.2568")

_, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
for n, colour in ((1, GREEN), (2, BLUE), (6, ORANGE)):
    axes.plot(logs, formula[n], color=colour, linewidth=2, label=f"your formula, n = {n}")
    axes.plot(logs, measured[n], "o", color=colour, label="mean of -log p" if n == 6 else None)
    print(f"n = {n}: largest difference {np.abs(np.subtract(formula[n], measured[n])).max():.2f}, expected 0.0x")
axes.axhline(0, color="black", linewidth=0.8)
axes.set(xlabel="log σ (the same in all dimensions)", ylabel="entropy")
axes.grid(alpha=0.3)
utils.tidy(axes)
plt.show()

# %% entropy-seen [markdown]
# It can: a density may be larger than 1, so its logarithm is positive. In one dimension this is so below $\sigma = 0.242$.
# Unlike for a choice among a few actions, 0 is no bound. It is a line with slope $n$, and $\mu$ is not in it at all: wherever
# the mean is, the policy is as random.

# %% networks-text [markdown]
# # Part 3: assemble
#
# ## 10 · Two networks
#
# Both get a state `[B, w, obs_dim]`, the latest $w$ observations, and flatten it. Then come three hidden layers of 16 units
# with ReLU, as in the course text, and a linear layer. The actor has one more parameter, $\log \sigma$, which belongs to no
# layer: it is the same in every state. (The course text has a layer without bias for it, which always gets the constant 1. An
# `nn.Parameter` says the same.)
#
# **Write `Actor` and `Critic`.** They share nothing: the value loss can be thousands of times as large as the policy loss, and
# would rule a common layer.
#
# For the pendulum (3 numbers observed, 1 action, $w = 1$), the critic has
# $(3 \cdot 16 + 16) + 2\, (16 \cdot 16 + 16) + (16 + 1) = 625$ numbers to learn, the actor one more.

# %% networks
for window in (1, 3):
    torch.manual_seed(0)
    actor, critic = submitted.Actor(3, 1, window), submitted.Critic(3, window)
    sizes = [sum(parameter.numel() for parameter in network.parameters()) for network in (actor, critic)]
    print(f"w = {window}: numbers to learn found {sizes}, expected {[578 + 48 * window, 577 + 48 * window]}")
actor, critic = submitted.Actor(3, 2, 4), submitted.Critic(3, 4)
states = torch.randn(5, 4, 3)
mu, log_sigma = actor(states)
print("shapes found", *(list(x.shape) for x in (mu, log_sigma, critic(states))), "expected [5, 2] [5, 2] [5, 1]")
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
# ## 11 · States that are windows
#
# A single observation need not be all one must know. On a photograph of a pendulum you see no velocity; on two, you do. So a
# **state** is the window of the latest $w$ observations. At the beginning of an episode there are not as many, and zeros stand
# in for those that are missing; never the observations of the episode before.
#
# **Write `EpisodeMemory.get_recent_state`.** It looks, and changes nothing: the observation is appended later, in `backward`,
# together with what came of it.
#
# The cell shows the states of an episode with $w = 3$ whose observations are 1, 2, 3, ..., then of the next one, which begins
# with 11. Each column is a state.

# %% windows
memory = submitted.EpisodeMemory(window_length=3)
states, names = [], []
for begin, length in ((1, 6), (11, 4)):
    memory.reset()
    for step in range(length):
        observation = np.array([begin + step], dtype=np.float32)
        memory.get_recent_state(observation)  # to look twice must not change anything
        window = memory.get_recent_state(observation)
        states.append([float(seen[0]) for seen in window])
        names.append(f"step {step}")
        memory.append(observation, torch.zeros(3, 1), torch.zeros(1), torch.zeros(1), 0.0, False, False)
print("found    first episode", states[:3], "second", states[6:8])
print(
    "expected first episode",
    [[0.0, 0.0, 1.0], [0.0, 1.0, 2.0], [1.0, 2.0, 3.0]],
    "second",
    [[0.0, 0.0, 11.0], [0.0, 11.0, 12.0]],
)

_, both = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", width_ratios=(6, 4))
for axes, part, title in ((both[0], slice(0, 6), "the first episode"), (both[1], slice(6, 10), "the next one")):
    for column, window in enumerate(states[part]):
        for place, number in enumerate(window):
            colour = "#eeeeee" if number == 0 else "#f3c5a5" if place == 2 else "#dcebf5"
            axes.add_patch(plt.Rectangle((column - 0.4, place - 0.45), 0.8, 0.9, facecolor=colour, edgecolor="#bbbbbb"))
            axes.text(column, place, f"{number:g}", ha="center", va="center", color=GREY if number == 0 else "black")
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
# The library asks for an action by `agent.forward(observation)`, then does it, then calls `agent.backward(reward, ...)`. What
# `backward` is not told, `forward` must leave behind in `recent`: the observation, the state, the action, and its
# **log-probability by the policy that chose it**. When the agent learns, that policy is no more, and nobody could compute it
# again.
#
# **Write `forward`.** With one environment it gets `[obs_dim]` and returns `[n]`; with several, `[num_envs, obs_dim]` and
# `[num_envs, n]`. Each environment has a memory of its own.
#
# The cell asks two agents for actions, and looks into `recent`. The first one plays in two environments, in the second of
# which a step has been done already.

# %% forward
torch.manual_seed(0)
agent = submitted.PPOAgent(obs_dim=2, n=1, num_envs=2, window_length=3, seed=0)
past = np.array([5.0, 6.0], dtype=np.float32)
agent.memories[1].append(past, torch.zeros(3, 2), torch.zeros(1), torch.zeros(1), 0.0, False, False)
now = np.array([[1.0, 2.0], [7.0, 8.0]])
action = agent.forward(now)
observations, states, actions, log_probs = agent.recent
print("action found", type(action).__name__, action.dtype, list(action.shape), "expected ndarray float32 [2, 1]")
print("states   found", list(states.shape), states.tolist())
print("      expected", [2, 3, 2], [[[0.0, 0.0], [0.0, 0.0], [1.0, 2.0]], [[0.0, 0.0], [5.0, 6.0], [7.0, 8.0]]])
print("log-probabilities", list(log_probs.shape), rounded(log_probs.flatten()), "expected [2, 1]", end=" ")
print(rounded(agent.process.get_dist((*agent.actor(states), torch.as_tensor(action))).detach().flatten()))
print("a gradient in them:", log_probs.requires_grad, "(expected False)")

agent = submitted.PPOAgent(obs_dim=2, n=1, seed=0)
noisy = [agent.forward(now[0])[0] for _ in range(2000)]
agent.training = False
means = [agent.forward(now[0])[0] for _ in range(3)]
print("one environment: action found", list(agent.forward(now[0]).shape), "expected [1]")
print(f"in training, standard deviation {np.std(noisy):.2f} (expected about 1); otherwise {np.std(means):.2f} (expected 0.00)")

# %% backward-text [markdown]
# ## 13 · backward, and the extra call
#
# $A_t$ of the last step needs the value of the state that the episode ended in. But `forward` is asked for actions only, and
# after the end there is nothing to do: who would show that state to the agent? The library does (the drafts have it in their
# plan): after an end it calls `forward` **once more** with the last observation, and `backward(0.0)`. These two calls are no
# step. The action goes nowhere, the reward is none.
#
# | what the memory says | what this call of `backward` is | what to do |
# | --- | --- | --- |
# | the episode is not over | a step | append it |
# | the episode **was** over already | the extra call | append nothing; `finish_episode(memory, state of now)`; reset |
#
# **Several environments.** gymnasium plays many at once in a vector environment. When one of them ends, the others go on, so
# there is no moment for an extra call. But in the step after an end, such an environment ignores the action, begins anew, and
# pays 0 (`AutoresetMode.NEXT_STEP`). And the observation that `forward` is shown before it is the last one of the episode: for
# this environment, that step *is* the extra one. So the same rule does for both, if it is applied **to each environment by
# itself**.
#
# **Write `backward`.** When there are `episodes_per_update` episodes, or more, it calls `update`, and the episodes are gone.
#
# In the cell, both loops of `training.py` drive your agent. An observation is a number: $20 + 1$ is the observation after one
# step of the third episode. `finish_episode` and `update` are fakes. Blue is what is in the memory after the call, orange
# with a dashed edge are extra calls. Every 2 episodes there is an update.

# %% backward


class Script(gym.Env):
    """Plays episodes of given lengths; observations count 0, 1, 2, ..., 10, 11, ...; each step pays 1."""

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
    """Your agent with fakes for what is not written yet, and a diary of its calls."""

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
            kind = "extra" if not stored else "last" if memory.terminated or memory.truncated else "step"
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
training.fit_vector(several, gym.vector.SyncVectorEnv([lambda: Script(3, 2, 4, 2), lambda: Script(5, 3, 3)]), 22)
print("(steps, observation in the end) of each episode")
print("one environment  found", single.finished, "\n              expected", [(3, 3), (2, 12), (4, 24), (2, 32)])
print(
    "two environments found", several.finished, "\n              expected", [(3, 3), (5, 5), (2, 12), (3, 13), (4, 24), (3, 23)]
)

_, both = plt.subplots(2, 1, figsize=(13, 4), layout="constrained", height_ratios=(1, 1.7), sharex=True)
STYLES = {"step": ("#dcebf5", "-"), "last": ("#8fbfe0", "-"), "extra": ("#f3c5a5", "--")}
for axes, agent, title in ((both[0], single, "training.fit: one environment"), (both[1], several, "training.fit_vector: two")):
    for call, index, number, kind in agent.calls:
        colour, edge = STYLES[kind]
        axes.add_patch(
            plt.Rectangle(
                (call - 0.42, index - 0.36), 0.84, 0.72, facecolor=colour, edgecolor="#555555", linestyle=edge, linewidth=1.2
            )
        )
        axes.text(call, index, number, ha="center", va="center")
    rows = len(agent.memories)
    for call in np.flatnonzero(agent.updates):
        axes.plot(call, rows - 0.42, "v", color=GREEN, markersize=9)
    axes.set(title=title, ylim=(rows - 0.25, -0.55), xlim=(-0.7, 15.7))
    axes.set_yticks(range(rows), labels=["env"] if rows == 1 else [f"env {index}" for index in range(rows)])
    axes.set_xticks(range(15))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
both[1].set_xlabel("call of forward and backward")
names = {"step": "stored", "last": "stored, the last of its episode", "extra": "the extra call: not stored"}
keys = [Patch(facecolor=STYLES[kind][0], edgecolor="#555555", linestyle=STYLES[kind][1], label=names[kind]) for kind in names]
keys.append(plt.Line2D([], [], color=GREEN, marker="v", linestyle="", markersize=9, label="update"))
both[0].figure.legend(handles=keys, frameon=False, ncols=4, loc="outside lower center")
plt.show()

# %% finish-text [markdown]
# ## 14 · An episode becomes data, and whether the clock is an end
#
# **Write `finish_episode`**: from the memory of an episode that is over, and the state that it ended in, make the rows that
# are learned from. The advantages come from your part 1. The **value target** is $A_t + V(s_t)$.
#
# A pendulum never falls off. All its episodes are **truncated** after 200 steps, and so are those of the point in section 18:
# there is no observation in which anybody could see the clock.
#
# **Question.** Let every step cost 1, forever, with $\gamma = 0.9$. Then $V = -1 / (1 - 0.9) = -10$, in every state. Suppose
# the critic knows that already. What are the value targets of the last steps before the clock strikes, if the clock is taken
# for the end of the world? What would the critic learn from them?
#
# The cell asks your `finish_episode`, once with `truncated`, once with `terminated`.

# %% finish


def cost_one(terminated):
    """Return what your `finish_episode` makes of 40 steps that cost 1 each, with a critic that says -10."""
    torch.manual_seed(0)
    agent = submitted.PPOAgent(obs_dim=1, n=1, gamma=0.9, lamb=0.95, seed=0)
    agent.critic = lambda states: torch.full((len(states), 1), -10.0)
    memory, step = agent.memories[0], (np.zeros(1, np.float32), torch.zeros(1, 1), torch.zeros(1), torch.zeros(1))
    for number in range(40):
        over = number == 39
        memory.append(*step, -1.0, over and terminated, over and not terminated)
    return agent.finish_episode(memory, torch.zeros(1, 1))


data = {"truncated": cost_one(False), "taken for terminated": cost_one(True)}
print("shapes found   ", {name: list(rows.shape) for name, rows in data["truncated"].items()})
print("       expected", {"state": [40, 1, 1], "action": [40, 1], "log_prob": [40, 1], "advantage": [40], "value_target": [40]})
print("gradient:", any(rows.requires_grad for rows in data["truncated"].values()), "(expected False)")
_, axes = plt.subplots(figsize=(9, 3.4), layout="constrained")
for (name, rows), end, colour in zip(data.items(), (-10.0, 0.0), (BLUE, ORANGE), strict=True):
    right = np.array(one_episode([-1.0] * 40, [-10.0] * 40 + [end], 0.9, 0.95)) - 10.0
    axes.plot(rows["value_target"], ".-", color=colour, label=name)
    axes.plot(right, color="black", linestyle=":", label="expected" if end == 0 else None)
    print(f"{name:21} last three targets found {rounded(rows['value_target'][-3:])}, expected {rounded(right[-3:])}")
axes.set(xlabel="step", ylabel="value target", ylim=(-11, 0))
axes.grid(alpha=0.3)
utils.tidy(axes)
plt.show()

# %% finish-seen [markdown]
# The last step looks as if it cost 1 and that was all; the step before, little more. So the end of an episode looks cheap, and
# whatever the pendulum does there gets a large advantage, however bad it is. In the states near the end, the critic learns
# values that are too high. Here nothing in the observation tells these states from others, so all values become too high.

# %% objective-text [markdown]
# ## 15 · The clipped objective
#
# The data were played by $\pi_\text{old}$. With the ratio
# $\rho = \pi_\theta(a) / \pi_\text{old}(a) = \exp(\log \pi_\theta - \log \pi_\text{old})$, what PPO makes large is the mean of
# (Schulman et al. 2017, equation 7)
#
# $$\min\left(\rho A,\ \text{clip}(\rho, 1 - \varepsilon, 1 + \varepsilon)\, A\right).$$
#
# An action that went well ($A > 0$) should become more probable, but to make it more than $1 + \varepsilon$ times as probable
# earns nothing more. One that went badly should become less probable, but not further than to $1 - \varepsilon$. Where the
# line is flat, the gradient is 0, and the row has no say any more. The **minimum** is there for the other side: an action that
# went well and has become *less* probable keeps its full gradient, however far off it is.
#
# **Write `policy_loss`**, whose *descent* makes this large, together with `entropy_coef` times the entropy, and
# **`value_loss`**.
#
# **Question.** Where do you expect a gradient for $A < 0$: left of $1 - \varepsilon$, between the two, right of
# $1 + \varepsilon$?
#
# The cell varies the log-probability that was stored, so the ratio runs from 0 to 2. It draws minus your loss, and the
# gradient of it by the ratio, which it gets from the gradient that arrives in the actor's weights.

# %% objective
torch.manual_seed(0)
agent = submitted.PPOAgent(obs_dim=2, n=2, clip=0.2, seed=0)
state, action = torch.randn(1, 1, 2), torch.tensor([[0.4, -0.7]])


def batch_of(ratios, advantages):
    """Return rows of one state and action whose ratios are as given."""
    many = len(ratios)
    mu, log_sigma = agent.actor(state)
    now = agent.process.get_dist((mu, log_sigma, action)).detach()
    rows = {"state": state.expand(many, 1, 2), "action": action.expand(many, 2), "value_target": torch.zeros(many)}
    ratios = torch.as_tensor(ratios, dtype=torch.float32)[:, None]
    return rows | {"log_prob": now - ratios.log(), "advantage": torch.as_tensor(advantages, dtype=torch.float32)}


def gradient(scalar):
    """Return the gradient by all weights of the actor, as one long vector."""
    return torch.cat([part.flatten() for part in torch.autograd.grad(scalar, list(agent.actor.parameters()))])


print(f"three rows: found {agent.policy_loss(batch_of([0.5, 1.0, 1.5], [1.0, -2.0, 3.0])).item():.4f}, expected -0.7000")
print(f"all ratios 1: found {agent.policy_loss(batch_of([1.0] * 4, [1.0, 2.0, 3.0, 10.0])).item():.4f}, expected -4.0000")
agent.entropy_coef = 0.1
with_entropy = agent.policy_loss(batch_of([1.0], [0.0])).item()
agent.entropy_coef = 0.0
print(f"only entropy, coefficient 0.1: found {with_entropy:.4f}, expected -0.2838")
values = batch_of([1.0] * 3, [0.0] * 3) | {
    "value_target": agent.critic(state).detach().flatten() + torch.tensor([1.0, -2.0, 0.0])
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
    axes.plot(ratios, advantage * ratios, color=GREY, linestyle=":", linewidth=1.5, label="not clipped")
    axes.plot(ratios, objective, color=BLUE, linewidth=2.5, label="minus your loss")
    axes.plot(ratios, slopes, color=ORANGE, linestyle="--", linewidth=2, label="its gradient by the ratio")
    axes.plot(1, advantage, "o", color="black", label="before the first step")
    axes.axhline(0, color="black", linewidth=0.5)
    axes.set(title=f"A = {advantage:g}", xlabel="ratio", xlim=(0, 2), ylim=(-2.1, 2.1))
    utils.tidy(axes, legend=False)
both[0].legend(frameon=False, loc="lower left", fontsize=9)
plt.show()

# %% objective-seen [markdown]
# In the middle and on the right, and 0 on the left: an action that went badly and has become *more* probable is pushed back
# with full force. The grey band is the range from $1 - \varepsilon$ to $1 + \varepsilon$.
#
# **The trap.** `log_prob` is `[B, 1]` and `advantage` is `[B]`; their product is `[B, B]`, where every action is judged by
# everybody's advantage. Its mean is a single number and looks harmless. But after normalisation the mean of all advantages is
# 0, so such a gradient is next to nothing: the agent hardly learns, and nothing complains. The first
# line of the output tells the two apart.

# %% update-text [markdown]
# ## 16 · The update
#
# **Write `update`**: normalise the advantages of *all* steps together; then `epochs` times shuffle all rows, deal them into
# minibatches, and make a step of Adam for each, by the sum of both losses.
#
# The cell plays 8 episodes of 30 steps on a point mass, so that your `backward` calls your `update` once, and writes down what
# `policy_loss` is given. The picture shows the ratios, one column for each minibatch.
#
# **Question.** Where must all the ratios of the first minibatch lie, whatever the agent did?

# %% update


class Diary(submitted.PPOAgent):
    """Your agent, with a diary of its minibatches."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.batches = []

    def policy_loss(self, batch):
        with torch.no_grad():
            now = self.process.get_dist((*self.actor(batch["state"]), batch["action"]))
        self.batches.append((batch["state"], batch["advantage"], torch.exp(now - batch["log_prob"]).flatten().numpy()))
        return super().policy_loss(batch)


training.seed_everything(0)
agent = Diary(4, 2, gamma=0.95, episodes_per_update=8, epochs=10, batch_size=64, learning_rate=3e-3, seed=0)
metrics = []
training.fit(agent, utils.PointMass(2), 240, seed=0, on_update=lambda step, found: metrics.append((step, found)))
print("after steps:", [step for step, _ in metrics], "expected [240]; returned:", sorted(metrics[0][1]) if metrics else None)
sizes = [len(advantage) for _, advantage, _ in agent.batches]
print(f"{len(sizes)} minibatches, the first epoch's of {sizes[:4]} rows; expected 40, of [64, 64, 64, 48]")
epochs = [torch.cat([states for states, _, _ in agent.batches[4 * epoch : 4 * epoch + 4]]).flatten(1) for epoch in range(2)]
print(
    f"different states in an epoch: {len(epochs[0].unique(dim=0))}; another order in the next: {not torch.equal(*epochs)}",
    end=" ",
)
print("(expected 240, True)")
advantage = torch.cat([advantage for _, advantage, _ in agent.batches[:4]])
print(
    f"advantages: mean {abs(advantage.mean()):.3f}, standard deviation {advantage.std(correction=0):.3f}; expected 0.000, 1.000"
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

# %% update-seen [markdown]
# At 1: no step has been made, so the policy is still the one that played. It is the best single test of an implementation of
# PPO. If yours are anywhere else, then state, action and log-probability do not belong together, or the log-probability is not
# that of the action. Later the ratios fan out, and some leave the band (orange). Such a row is no longer pushed further, but
# others, which share its weights, still move it.

# %% probes-text [markdown]
# ## 17 · Before any long training: probes
#
# When an agent does not learn, its curve does not say why. So we climb a ladder of tiny worlds, in each of which one more
# thing can go wrong, and whose right answer is known. Your whole agent is trained in each for about a second, and once more
# with another seed if it is not fine. The first rung that is not fine says where to look. The discount is 0.8 throughout.
#
# | rung | what happens | a right agent ends with |
# | --- | --- | --- |
# | constant | one step, which always pays 1 | $V = 1$ |
# | observation | one step, which pays the sign that is shown | $V(-) = -1$, $V(+) = 1$ |
# | two steps | the second one pays 1 | $V = 0.8$, a step later $V_2 = 1$ |
# | truncated | every step pays 1, and a clock that nobody sees stops it after 4 | $V = 1 / (1 - 0.8) = 5$ |
# | action | one step, which pays $-(a - 0.5)^2$ | $\mu = 0.5$ for both signs |
# | combined | the second step pays $-(a_1 - 0.5\, \text{sign})^2$ for the *first* action | $\mu(-) = -0.5$, $\mu(+) = 0.5$ |
#
# If the first rung that is not fine is
#
# - **constant**: the value loss, or the critic's weights are not in the optimizer.
# - **observation**: values and targets of different rows, or `[B]` meets `[B, 1]`.
# - **two steps**: the discount. Near 1: it is missing. Near 0: nothing comes back from the second row.
# - **truncated**: about 2 means that the clock counts as the end of the world. Far above 5: the value after the clock counts
#   twice.
# - **action**: the sign of the policy loss; or the ratio is `[B, B]`; or the log-probability is that of another action.
# - **combined**: rows that do not fit together, or an advantage that does not reach back.

# %% probes


RUNGS = [  # name, what it isolates, the probe, what a right agent ends with, and how far off it may be
    ("constant", "the value loss", lambda: utils.Probe(lambda _sign, _action: 1.0, 1), {"V(-)": 1.0, "V(+)": 1.0}, 0.05),
    ("observation", "does V see it?", lambda: utils.Probe(lambda sign, _action: sign, 1), {"V(-)": -1.0, "V(+)": 1.0}, 0.1),
    ("two steps", "the discount", lambda: utils.Probe(lambda _sign, _action: 1.0, 2), {"V": 0.8, "V2": 1.0}, 0.05),
    (
        "truncated",
        "the end of the clock",
        lambda: utils.Probe(lambda _sign, _action: 1.0, 4, True),
        {"V(-)": 5.0, "V(+)": 5.0},
        0.4,
    ),
    (
        "action",
        "does the policy follow?",
        lambda: utils.Probe(lambda _sign, action: -((action[0] - 0.5) ** 2), 1),
        {"μ(-)": 0.5, "μ(+)": 0.5},
        0.25,
    ),
    (
        "combined",
        "do rows fit together?",
        lambda: utils.Probe(lambda sign, action: -((action[0] - 0.5 * sign) ** 2), 2),
        {"μ(-)": -0.5, "μ(+)": 0.5},
        0.25,
    ),
]
probes = {}


def train_probe(env, seed):
    """Return the agent after training in a probe."""
    training.seed_everything(seed)
    episodes = 32 // env.steps
    agent = submitted.PPOAgent(
        2, 1, gamma=0.8, episodes_per_update=episodes, epochs=8, batch_size=16, learning_rate=1e-2, seed=seed
    )
    training.fit(agent, env, PROBE, seed=seed)
    return agent


def look_at(agent):
    """Return what an agent says: mean and value for both signs, the average value now and (V2) a step later."""
    with torch.no_grad():
        states = torch.tensor([[[-1.0, 0.0]], [[1.0, 0.0]], [[-1.0, 1.0]], [[1.0, 1.0]]])
        mu, v = agent.actor(states)[0].flatten().tolist(), agent.critic(states).flatten().tolist()
    found = {"V(-)": v[0], "V(+)": v[1], "V": (v[0] + v[1]) / 2, "V2": (v[2] + v[3]) / 2}
    return found | {"μ(-)": mu[0], "μ(+)": mu[1]}


probes["PPO"] = {}  # which rungs are fine
utils.climb(RUNGS, lambda env, seed: look_at(train_probe(env, seed)), probes["PPO"])

# %% point-text [markdown]
# ## 18 · A point that should go to the middle
#
# Now something that moves. In `utils.PointMass(d)` a point in $d$ dimensions is pushed by $d$ forces from -1 to 1. It observes
# position and velocity, and each of its 30 steps costs the squared distance from the middle, with a little for the force. The
# best possible return is -0.435 on average, doing nothing returns -10, pushing at random -29.
#
# Four environments are played at once, and 8 episodes make an update. The axis is squeezed: from -1 to 0 it is linear, below
# logarithmic. Dotted: the best possible. A training takes about three seconds.

# %% point
curves = {}  # by setting: one list of scores per seed


def train_point(make, obs_dim, n, seed, kind=None, steps=None, **options):
    """Return the scores of one training in four environments at once."""
    training.seed_everything(seed)
    envs = gym.vector.SyncVectorEnv([make] * 4)
    options = {"gamma": 0.95, "episodes_per_update": 8, "learning_rate": 3e-3} | options
    agent = (kind or submitted.PPOAgent)(obs_dim, n, num_envs=4, seed=seed, **options)
    return training.fit_vector(agent, envs, steps or POINT, seed=seed)


def experiment(name, *arguments, **options):
    """Train once per seed, and keep the scores under `name`."""
    seeds = tqdm(range(POINT_SEEDS), desc=name, unit=" seeds")
    curves[name] = [train_point(*arguments, seed, **options) for seed in seeds]
    print(
        f"{name}: mean score of the last 40 episodes, by seed:", [round(float(np.mean(run[-40:])), 2) for run in curves[name]]
    )


def show(names, title=""):
    """Draw learning curves on PointMass."""
    axes = utils.plot_point_mass_returns({name: curves[name] for name in names}, "score of an episode", lowest=-130)
    axes.set_title(title)
    plt.show()


experiment("PointMass(1)", lambda: utils.PointMass(1), 2, 1)
experiment("PointMass(2)", lambda: utils.PointMass(2), 4, 2)
show(["PointMass(1)", "PointMass(2)"])

# %% point-figure [markdown]
# Of 20 seeds, the means of the last 40 episodes were between -0.61 and -0.38 for `PointMass(1)`, and between -0.83 and -0.55
# for `PointMass(2)`: the agent still explores.

# %% sign-text [markdown]
# ### What a sign costs
#
# What is to be made large must be negated **once**, as optimizers descend. In the repository of the course text's author, the
# sign was wrong for 20 months. One can forget to negate; or one can negate the objective in one place, and the loss in
# another, and both look right where they stand.
#
# **Question.** Twice negated is the same as not at all. What will the curve look like: a line that does not rise, or something
# worse?

# %% sign


class NotNegated(submitted.PPOAgent):
    """Your agent, climbing down."""

    def policy_loss(self, batch):
        return -super().policy_loss(batch)


experiment("the sign is wrong", lambda: utils.PointMass(1), 2, 1, kind=NotNegated, steps=WRONG)
curves["the sign is right"] = [run[: len(curves["the sign is wrong"][0])] for run in curves["PointMass(1)"]]
show(["the sign is right", "the sign is wrong"])

# %% sign-seen [markdown]
# Worse: an agent that learns, and very well, to do what costs most. It drives the point against a wall and keeps it there. And
# it is not even held back: with the wrong sign, the minimum is on the wrong side as well, so there is a gradient just where
# the clipping should end it. A curve that *falls*, far below where it began, is nearly always a sign.

# %% blind-text [markdown]
# ### What a window is good for
#
# Now the point hides its velocity: only its position is observed. To brake in time, one must know how fast it is.
#
# **Question.** What do you expect of $w = 1$, of $w = 2$, and of $w = 3$? (Two positions give a velocity. Three give a change
# of velocity; is there a use for that, for somebody who chooses the force?)

# %% blind


class Blind(utils.PointMass):
    """A PointMass(1) of which only the position is seen."""

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
# With $w = 1$ the agent must go carefully: it ends near -1, about twice as far from 0 as with $w = 2$, which does nearly as
# well as the agent that sees everything. A third observation tells nothing more. It only makes the network larger. (In the
# first step, with a zero in the window, the velocity cannot be told, and need not be: it is 0 there. The network must learn to
# tell that from a jump.)

# %% pendulum-text [markdown]
# ## 19 · The pendulum
#
# Its motor is too weak to lift it. It must first swing to the other side, which costs, and only pays seconds later. It
# observes $(\cos \theta, \sin \theta, \dot\theta)$, takes a torque from -2 to 2, and each step costs
# $\theta^2 + 0.1\, \dot\theta^2 + 0.001\, a^2$, where $\theta = 0$ is upright. To hang down for all 200 steps costs nearly
# 2,000; pushing at random costs about 1,200.
#
# The settings are the agent's own: $\gamma = 0.9$, $\lambda = 0.95$, 4 episodes for an update, 10 epochs, a learning rate from
# $10^{-3}$ down to 0. Four pendulums swing at once. A training of 100,000 steps, 500 episodes, takes about 25 seconds. Expect
#
# - **scores** that begin near -1300 and rise, within 100 to 150 episodes, to about -250, and slowly on to -200. A good episode
#   costs between 0 and 400, depending on where it begins, so single scores scatter, however good the agent is;
# - the policy's **σ**: it stays near 1 for a while, then falls to 0.4 or 0.5, once there is something to be precise about;
# - the **value loss**, on a logarithmic axis: values are about -60 at first, and nobody has told the critic. It falls from
#   more than 1,000 to less than 1.

# %% pendulum
histories = []
for seed in tqdm(range(PENDULUM_SEEDS), desc="Pendulum", unit=" seeds"):
    training.seed_everything(seed)
    envs = gym.make_vec("Pendulum-v1", num_envs=4, vectorization_mode="sync")
    agent = submitted.PPOAgent(3, 1, num_envs=4, seed=seed)
    history = []

    def remember(step, metrics, agent=agent, history=history):
        history.append((step, float(agent.actor.log_sigma.detach().exp()), metrics["value_loss"]))

    scores = training.fit_vector(agent, envs, PENDULUM, seed=seed, on_update=remember)
    curves.setdefault("Pendulum", []).append(scores)
    histories.append(np.array(history).T)
print("mean score of the first and the last 40 episodes, by seed:", end=" ")
print([(round(float(np.mean(run[:40]))), round(float(np.mean(run[-40:])))) for run in curves["Pendulum"]])

_, row = plt.subplots(1, 3, figsize=(14, 3.8), layout="constrained", width_ratios=(1.5, 1, 1))
for scores, (steps, sigmas, losses), colour in zip(curves["Pendulum"], histories, (BLUE, ORANGE), strict=False):
    episodes = np.arange(1, len(scores) + 1) * PENDULUM / len(scores)
    means = [np.mean(scores[max(0, end - 20) : end]) for end in range(1, len(scores) + 1)]
    row[0].plot(episodes, scores, ".", color=colour, alpha=0.25, markersize=4)
    row[0].plot(episodes, means, color=colour, linewidth=2, label=f"seed {len(row[0].lines) // 2}, mean of the latest 20")
    row[1].plot(steps, sigmas, color=colour, linewidth=1.5)
    row[2].plot(steps, losses, color=colour, linewidth=1.5)
row[0].set(title="scores", ylim=(-1900, 100))
row[1].set(title="σ of the policy", ylim=(0, 1.4))
row[2].set(title="value loss", yscale="log")
ticks = range(0, PENDULUM + 1, PENDULUM // 2)
for axes in row:
    axes.set(xlabel="step", xlim=(0, PENDULUM))
    axes.set_xticks(ticks, labels=[f"{tick:,}" for tick in ticks])
    axes.grid(alpha=0.3)
utils.tidy(*row)
row[0].legend(frameon=False, loc="lower right")
plt.show()

# %% pendulum-figure [markdown]
# Of ten such agents (`benchmarks/results/ppo_agent_training.json` in the course's repository), all were above -250 in twenty
# test episodes without exploring: -151 on average, the worst at -218. In a hundred other ones, which are harder, it was -213.
# The PPO of Stable-Baselines3 with the same settings came to -148 and -203, which by ten seeds is the same, and took 1.7 times
# as long. A score without the number of its episodes and seeds says little.

# %% film-text [markdown]
# ### See it
#
# One episode with the mean action, from near the bottom: one frame out of every ten of the first 60, and two later ones. The
# agent was trained in four environments at once. To play in one, it lends its actor to an agent with a single memory.

# %% film
stage = gym.make("Pendulum-v1", render_mode="rgb_array")
player = submitted.PPOAgent(3, 1)
player.actor, player.training = agent.actor, False
observation, _ = stage.reset(seed=2, options={"x_init": np.pi, "y_init": 0.1})
while observation[0] > -0.95:  # until it hangs
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

figure = plt.figure(figsize=(14, 4.6), layout="constrained")
grid = figure.add_gridspec(2, 8, height_ratios=(1.1, 1))
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
# ### What it has learned
#
# A state is an angle and a velocity, so all of what the agent knows fits into two pictures: the value $V(s)$ (bright: cheap
# from there on), and the mean torque. The line is the episode of above, from the circle on.
#
# Look for a bright place in the middle, upright and at rest, with a bright band that leads into it from the upper left to the
# lower right: on the way up with just enough speed. At the bottom (both edges of the picture), the torque goes *with* the
# velocity, as one pushes a swing; near the top, against both the angle and the velocity.

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
path_angle, path_velocity = np.insert(path_angle, jumps, np.nan), np.insert(path_velocity, jumps, np.nan)

_, both = plt.subplots(1, 2, figsize=(13, 4.6), layout="constrained", sharey=True)
for axes, picture, cmap, limits, title in (
    (both[0], values, "viridis", {}, "V(s)"),
    (both[1], means.clamp(-2, 2), "RdBu_r", {"vmin": -2, "vmax": 2}, "mean torque, clipped"),
):
    picture = picture.numpy().reshape(angle.shape)
    shading = axes.pcolormesh(angles, velocities, picture, cmap=cmap, shading="auto", rasterized=True, **limits)
    plt.colorbar(shading, ax=axes)
    axes.plot(path_angle, path_velocity, color="white", linewidth=3.5)
    axes.plot(path_angle, path_velocity, color="black", linewidth=1.5)
    axes.plot(path_angle[0], path_velocity[0], "o", color="white", markeredgecolor="black", markersize=9)
    axes.set(title=title, xlabel="angle (0: upright)", ylabel="velocity", xlim=(-np.pi, np.pi), ylim=(-8, 8))
    axes.set_xticks([-np.pi, 0, np.pi], labels=["-π", "0", "π"])
    axes.label_outer()
plt.show()

# %% faults-text [markdown]
# ## 20 · What the faults cost
#
# Each is one change of a right agent on the pendulum, 100,000 steps, two or three seeds: the mean score of twenty test
# episodes, where the right one has -151, and single seeds of it between -135 and -218.
#
# | change | score |
# | --- | --- |
# | objective not negated | -1660: it learns, diligently, to be bad |
# | density scored with σ where log σ belongs | -1350: σ falls to 0.02, and nothing is explored |
# | ratio `[B, 1]` times advantage `[B]` | -540 |
# | samples with the size of log σ for σ, which is 0 at first | -300 |
# | the draft as it is, and the last step of each episode left out | -190 |
# | the draft with its length repaired, $V(s_0)$ in the end | -170 |
# | time limit taken for the end of the world | -144 |
#
# The first four you would notice. The last three, you would not: of an episode of 200 steps, a wrong last value spoils a few
# steps, and the pendulum is patient. That is why there are tests: **a curve that rises proves little**.
#
# ## To try, if you like
#
# What do you expect, and why? Say it before you run it.
#
# - **No clipping** (`clip=1e9`) on `PointMass(2)`; then with `epochs=40`, with clipping and without. *(With 10 epochs, some
#   seeds hardly notice and some never learn. With 40, hardly any does; with clipping, all do, in fewer episodes than before.
#   That is what the clipping is for: to use the same data longer.)*
# - **$\gamma = 0.99$ on the pendulum.** *(It sees further, but values are larger, and so is the noise in the advantages. It
#   takes about twice as many episodes, and ends as well.)*
# - **One pendulum at a time** (`training.fit`), or 16. *(One is as good as four, and slower: with four, one call of the actor
#   serves all. Sixteen end at the same moment, so an update gets 16 episodes, and there are a quarter as many updates.)*
# - **An entropy bonus**, `entropy_coef=0.05`, on `PointMass(1)`. *(σ does not fall as far, so the scores in training end a
#   little lower. The mean action need not be worse.)*
# - **The pendulum without its velocity**, with $w = 1, 2$ and 3. *(You have seen it on the point. Here the first swing
#   depends on it.)*
#
# Then run `python grade.py` a last time, and hand in `submitted.py`.

# %% end
for name, seeds in curves.items():
    begin, end = (np.mean([np.mean(values[part]) for values in seeds]) for part in (slice(0, 10), slice(-10, None)))
    print(f"{name:24} first ten episodes: {begin:9.2f}   last ten: {end:9.2f}")
