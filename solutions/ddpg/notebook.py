# Source of assignments/ddpg/notebook.ipynb; `python -m grader build` makes the notebook from it.
# Results of whole training runs come from benchmarks/results. The tests execute the notebook
# (tests/kit/test_notebook.py) and read two variables of the last cell: `curves` and `probes`.

# %% title [markdown]
# # DDPG: continuous actions
#
# In this assignment you write deep deterministic policy gradient (DDPG) and swing up a pendulum
# with it. You write a replay buffer, noise for exploration, an actor, a critic, a target network
# for each, and the update that ties them together.
#
# Most sections follow the same pattern: the idea, the formula, what to write, a cell that tries it
# out, and what you should see. You write in **`submitted.py`**, in the order of this notebook. The
# notebook only calls your code. `training.py`, `trained_actor.py` and `utils.py` are provided; do
# not change them. The first two are short and worth reading.
#
# This assignment follows *PG is All You Need* (repository MrSyee/pg-is-all-you-need), called **the
# course text** below. It is a well-known notebook, and its code has been copied into dozens of
# projects, together with its mistakes. These mistakes rarely keep an agent from swinging up the
# pendulum, so they went unnoticed. Eight of them are **exercises** here: a few faulty lines, a
# question, and a cell that makes the fault visible. Answer the question before you run the cell.
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
# >   `ReplayBuffer.store`.
# > - You can also write your function (for a method, its whole class) in a cell that begins with
# >   `%%grade QUESTION`, together with its imports. The cell is run, and its function is graded.
# >   From then on, `%grade` grades the version that you changed last: the one in the cell after you
# >   run the cell, the one in `submitted.py` after you save the file. To return to the file without
# >   changing it, delete the cell's version with `del NAME`, or use `%grade QUESTION --file` for a
# >   single call.
# > - The first cell that calls something you have not written yet stops with a
# >   `NotImplementedError` that says what to write.
# > - You may also define everything in a notebook and submit that: `python grade.py --submission
# >   notebook.ipynb` grades the definitions in it. In that case, remove `submitted.` from the cells
# >   below.
#
# The pendulum is drawn by pygame (`pip install "gymnasium[classic-control]"`). The whole notebook
# runs in two or three minutes. Scores and curves differ from machine to machine.

# %% setup
# %load_ext grader

import os
import sys
import time

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.ticker import MaxNLocator
from torch import nn
from tqdm import tqdm

import submitted
import trained_actor
import training
import utils

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pygame draws into arrays; no screen needed
torch.set_num_threads(1)  # the networks are small; more threads would mostly wait
BLUE, ORANGE, GREEN, GRAY = "#0072b2", "#d55e00", "#009e73", "#9a9a9a"

# %% settings
PENDULUM, WARM_UP = 15_000, 1000  # total steps, and random steps at the beginning
POINT_SEEDS, POINT = 3, 2100
PROBE = 500

if os.environ.get("NOTEBOOK_BUDGET") == "short":  # for automatic tests: a few seconds per run
    PENDULUM, WARM_UP = 1000, 400
    POINT_SEEDS, POINT = 1, 900

# %% idea [markdown]
# ## The idea
#
# The agent should maximize $J = E\left[\sum_t \gamma^t r_t\right]$. The optimal action values
# satisfy the Bellman equation
#
# $$Q(s, a) = E\left[r + \gamma \max_{a'} Q(s', a')\right]$$
#
# (without the second term if the episode terminates). If the agent knew $Q$, it would take the
# action with the largest value. With five actions you compare five numbers. A torque, however, is
# a number from -2 to 2. The maximum over $a'$ is now an optimization problem of its own, and it
# has to be solved in every step.
#
# DDPG trains a network to output the solution. The **actor** $\mu_\theta(s)$ outputs an
# action. The **critic** $Q_\phi(s, a)$ outputs the value of an action. The critic learns from
# transitions $(s, a, r, s')$. The actor does gradient ascent on the critic: $\nabla_a Q$ says how
# the value changes with the action, and $\nabla_\theta \mu$ says how the action changes with the
# weights. By the chain rule, their product is the **deterministic policy gradient** (Silver et al.
# 2014, "Deterministic policy gradient algorithms"):
#
# $$\nabla_\theta J \approx E_{s \sim \rho^\beta}\left[
#   \nabla_a Q_\phi(s, a)\big|_{a = \mu_\theta(s)}\ \nabla_\theta \mu_\theta(s)\right]$$
#
# Compare it with the policy gradient of a stochastic policy, $E[\nabla \log \pi(a \mid s)\, A]$.
# That gradient needs sampled actions, and makes those with a positive advantage more likely. Here
# no action of the current policy has to be sampled: the critic says in which direction the action
# should move. So the states may come from any policy: $\rho^\beta$ is the distribution of the
# states that a *behavior policy* $\beta$ visits, for example an older actor with noise. DDPG is
# **off-policy**: it can learn from the same transition many times. With one update per step and
# batches of $B$, each transition is sampled about $B$ times before a newer one overwrites it in the
# full buffer.
#
# The price is that everything depends on the critic, and the critic learns from its own
# predictions. With large neural networks this used to diverge. Lillicrap et al. 2015 ("Continuous
# control with deep reinforcement learning", arXiv 1509.02971) made it work. You write these three
# ingredients of their algorithm:
#
# | ingredient | the problem it solves | section |
# | --- | --- | --- |
# | replay buffer | successive transitions are correlated | 1, 2 |
# | noise | a deterministic actor does not explore | 3 |
# | target networks | the critic's target moves with the critic | 5, 7 |

# %% store-text [markdown]
# ## 1 · Replay buffer: storing
#
# The replay buffer keeps the latest `size` transitions in NumPy arrays that are allocated once.
# `ptr` is the row to be written next. After the last row, `ptr` returns to row 0, so the newest
# transition replaces the oldest one. This is a **ring buffer**: no row is ever moved.
#
# **Create the arrays in `ReplayBuffer.__init__`, then write `store` and `__len__`.** Copy the
# values: an environment may reuse its observation array in the next step.
#
# The cell below stores transitions 0 to 13 in a buffer of 6 rows and draws which transition is in
# which row. Each column is the buffer after one more transition; the newest one is orange. After
# row 5 the orange cell must return to row 0, and each column must hold the latest transitions
# without a gap.

# %% store
ROWS = 6
ring = submitted.ReplayBuffer(obs_dim=1, size=ROWS, batch_size=2)
history, lengths, pointers = [], [], []
for number in range(14):
    ring.store(np.array([number]), np.array([0.0]), 0.0, np.array([number + 1]), False)
    history.append(np.array(ring.obs_buf[:, 0]))
    lengths.append(len(ring))
    pointers.append(ring.ptr)
print("length  found", lengths, "\n     expected", [*range(1, 7), *[6] * 8])
print("ptr     found", pointers, "\n     expected", [number % 6 for number in range(1, 15)])

_, axes = plt.subplots(figsize=(11, 3.2), layout="constrained")
for column, rows in enumerate(history):
    for row, number in enumerate(rows):
        filled = row < lengths[column]
        newest = row == column % ROWS
        color = "#f3c5a5" if newest else "#dcebf5" if filled else "white"
        axes.add_patch(
            plt.Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=color, edgecolor="#bbbbbb")
        )
        if filled:
            axes.text(
                column,
                row,
                f"{number:.0f}",
                ha="center",
                va="center",
                fontweight="bold" if newest else None,
            )
axes.set(xlim=(-0.5, 13.5), ylim=(ROWS - 0.5, -0.5), xticks=range(14), yticks=range(ROWS))
axes.set(
    xlabel="after transition",
    ylabel="row of the buffer",
    title="which transition lies in which row",
)
axes.tick_params(length=0)
axes.spines[:].set_visible(False)
plt.show()

# %% store-grade
# %grade ReplayBuffer.store

# %% actions-text [markdown]
# ### Exercise: one action dimension, or several?
#
# In the course text, the array of the actions has the same shape as the array of the rewards. It
# is reshaped when the critic needs it:
#
# ```python
# acts_buf = np.zeros(size)                 # when the buffer is made
# acts_buf[ptr] = act                       # when a transition is stored
# actions = batch["acts"].reshape(-1, 1)    # when the critic needs it
# ```
#
# **What goes wrong?** Think of an arm with two joints. Think also of NumPy 2.4 and later, which no
# longer converts an array of one element to a number.

# %% actions
faulty = np.zeros(ROWS, dtype=np.float32)
for action in (0.5, np.array([0.5]), np.array([0.5, -0.5])):
    try:
        with np.errstate(all="raise"):
            faulty[0] = action
        print(f"faulty array, action {action!s:12}: stored")
    except (TypeError, ValueError) as error:
        print(f"faulty array, action {action!s:12}: {type(error).__name__}: {error}")

joints = submitted.ReplayBuffer(obs_dim=3, size=ROWS, batch_size=2, act_dim=2)
joints.store(np.zeros(3), np.array([0.5, -0.5]), 0.0, np.zeros(3), False)
print(
    "yours, action [ 0.5 -0.5]         :",
    joints.acts_buf[0],
    "in an array",
    list(joints.acts_buf.shape),
)

# %% actions-seen [markdown]
# With two joints, the faulty code stops with an error. That is better than a wrong result. Since
# NumPy 2.4 it stops with one joint too, so many copies of this code no longer run. An action is a
# vector even if it has one element: `[size, act_dim]`.

# %% sample-text [markdown]
# ## 2 · Replay buffer: sampling
#
# Why not learn from the latest transitions? The optimizer assumes that a batch represents all the
# data, but successive transitions are correlated. One second the pendulum is on the left, the next
# it is on the right, and each time the network would forget the other side. Rows sampled at random
# from a large buffer are nearly independent.
#
# **Write `sample_batch`**: return `batch_size` *different* rows, each stored row with equal
# probability, and the same rows of all five arrays. If fewer rows are stored, raise a ValueError.
#
# The cell takes 3,000 random steps with the pendulum. An observation is
# $(\cos \theta, \sin \theta, \dot\theta)$; the angle $\theta$ is 0 when the pendulum is upright.
# On the left are the latest 64 transitions; in the middle are 64 transitions sampled by your
# buffer. On the right is the mean of $\cos \theta$ over 64 rows, for many such batches. A
# representative batch has a mean close to that of all stored rows (dotted).

# %% sample
pendulum = gym.make("Pendulum-v1")
draws = np.random.default_rng(0)
memory = submitted.ReplayBuffer(obs_dim=3, size=5000, batch_size=64, rng=0)
state, _ = pendulum.reset(seed=0)
for _ in range(3000):
    torque = draws.uniform(-2, 2, 1).astype(np.float32)
    following, reward, _, truncated, _ = pendulum.step(torque)
    memory.store(state, torque, reward, following, False)
    state = pendulum.reset()[0] if truncated else following

batch = memory.sample_batch()
print(*(f"{name} {list(array.shape)} {array.dtype}" for name, array in batch.items()), sep="; ")
stored = np.array(memory.obs_buf[: len(memory)])
where = {tuple(row): number for number, row in enumerate(stored)}
rows = [where.get(tuple(row), -1) for row in batch["obs"]]
together = all(
    np.array_equal(np.array(whole)[rows], batch[name])
    for name, whole in (
        ("acts", memory.acts_buf),
        ("rews", memory.rews_buf),
        ("next_obs", memory.next_obs_buf),
    )
)
print(
    f"different rows: {len(set(rows))} (expected 64); rows of all arrays match: {together} "
    "(expected True)"
)
few = submitted.ReplayBuffer(obs_dim=3, size=5000, batch_size=64, rng=0)
for number in range(3):
    few.store(stored[number], np.zeros(1), 0.0, stored[number], False)
try:
    few.sample_batch()
    print("64 of 3 rows: no ValueError, but one was expected")
except ValueError as error:
    print("64 of 3 rows: ValueError, as expected:", error)

successive = np.lib.stride_tricks.sliding_window_view(stored[:, 0], 64)[::16].mean(axis=1)
sampled = np.array([memory.sample_batch()["obs"][:, 0].mean() for _ in range(len(successive))])
spread = stored[:, 0].std() / 8
print(
    f"standard deviation of the mean: {successive.std():.3f} (successive), "
    f"{sampled.std():.3f} (yours), {spread:.3f} = σ/√64"
)

_, row = plt.subplots(1, 3, figsize=(13, 3.6), layout="constrained")
for axes, chosen, color, title in (
    (row[0], stored[-64:], ORANGE, "the latest 64"),
    (row[1], batch["obs"], BLUE, "64 sampled"),
):
    axes.plot(
        np.arctan2(stored[:, 1], stored[:, 0]), stored[:, 2], ".", color="#d5d5d5", markersize=3
    )
    axes.plot(np.arctan2(chosen[:, 1], chosen[:, 0]), chosen[:, 2], "o", color=color, markersize=5)
    axes.set(title=title, xlabel="angle (0: upright)", ylabel="velocity")
    axes.set_xticks([-np.pi, 0, np.pi], labels=["-π", "0", "π"])
bins = np.linspace(-1, 1, 41)
for means, color, name in ((successive, ORANGE, "successive"), (sampled, BLUE, "sampled")):
    row[2].hist(means, bins=bins, color=color, alpha=0.6, label=name)
row[2].set_xticks([-1, -0.5, 0, 0.5, 1])
row[2].axvline(stored[:, 0].mean(), color="black", linestyle=":")
row[2].set(title="mean of cos θ in a batch", xlabel="mean of 64 rows", ylabel="batches")
utils.tidy(*row)
plt.show()

# %% sample-grade
# %grade ReplayBuffer.sample_batch

# %% choice-text [markdown]
# ### Exercise: the cost of sampling
#
# ```python
# rows = np.random.choice(len(memory), size=128, replace=False)
# ```
#
# The result is correct: 128 different rows, each with equal probability. **What goes wrong?** How
# could a function find 128 *different* rows, and how does its time grow from 1,000 to 100,000
# stored rows?
#
# The cell compares the time of this line with that of your `sample_batch`, which also has to copy
# the rows.

# %% choice
fills, faulty_times, your_times = [1000, 3000, 10_000, 30_000, 100_000], [], []


def microseconds(call, times):
    """Return the time of one call in microseconds, the best of three rounds."""
    rounds = []
    for _ in range(3):
        begin = time.perf_counter()
        for _ in range(times):
            call()
        rounds.append((time.perf_counter() - begin) / times * 1e6)
    return min(rounds)


large = submitted.ReplayBuffer(obs_dim=3, size=fills[-1], batch_size=128, rng=0)
for fill in fills:
    while len(large) < fill:
        large.store(stored[0], np.zeros(1), 0.0, stored[0], False)
    faulty_times.append(
        microseconds(lambda n=fill: np.random.choice(n, size=128, replace=False), 20)
    )
    your_times.append(microseconds(large.sample_batch, 20))
print("rows stored   ", *(f"{fill:8,}" for fill in fills))
print(
    "np.random     ",
    *(f"{found:8.0f}" for found in faulty_times),
    "  microseconds, without copying",
)
print("yours         ", *(f"{found:8.0f}" for found in your_times), "  microseconds, with copying")

_, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
axes.plot(fills, faulty_times, "o-", color=ORANGE, label="np.random.choice, replace=False")
axes.plot(fills, your_times, "o-", color=BLUE, label="your sample_batch")
axes.set(
    xscale="log",
    yscale="log",
    xlabel="rows stored",
    ylabel="microseconds",
    ylim=(min(your_times) / 2, None),
)
axes.grid(alpha=0.3)
utils.tidy(axes)
plt.show()

# %% choice-seen [markdown]
# `np.random.choice` shuffles *all* rows and takes the first 128. With a full buffer of 100,000
# rows, that takes one or two milliseconds, as much time as the rest of an update. The `choice`
# method of a NumPy `Generator` (`np.random.default_rng`) uses another algorithm, whose time depends
# on the 128 rows and not on how many are stored. If your line rises like that of
# `np.random.choice`, your code also shuffles all rows.

# %% noise-text [markdown]
# ## 3 · Noise for exploration
#
# The actor is deterministic: in the same state it always takes the same action. To explore, we add
# noise to its actions. But a pendulum or an arm has inertia. Independent noise changes its sign
# every other step on average, so most of it averages out before anything moves. So Lillicrap et al.
# use correlated noise from an **Ornstein-Uhlenbeck process**. In each step the value $x$ is pulled
# toward $\mu$ and gets a random increment:
#
# $$x \leftarrow x + \theta (\mu - x) + \sigma \varepsilon \qquad \varepsilon \sim N(0, 1)$$
#
# (Papers use the same symbols for the noise and for the networks. In this section, $\theta$ and
# $\mu$ are parameters of the noise, as they are wherever they have a value, such as $\theta = 1$.
# In other sections, $\theta$ are weights, and $\mu$ is the actor. The pendulum's angle in sections
# 2 and 10 is a third $\theta$.)
#
# For $0 < \theta < 2$, the long-run mean, the variance and the correlation of samples $k$ steps
# apart are
#
# $$E[x] = \mu \qquad \text{Var}[x] = \frac{\sigma^2}{\theta (2 - \theta)} \qquad \text{corr}(x_t, x_{t+k}) = (1 - \theta)^k$$
#
# With $\theta$ near 0, $x$ moves slowly and far. With $\theta = 1$ the previous value has no
# influence: $x$ is white noise. (The course text sets $\theta = 1$, so its Ornstein-Uhlenbeck
# noise is white noise.)
#
# **Write `OUNoise.reset` and `sample`.**
#
# The cell draws 20,000 samples. On the left are paths for three values of $\theta$ and the same
# $\sigma$. In the middle is the autocorrelation, which should lie near the dotted lines. On the
# right, white noise (θ = 1) and correlated noise (θ = 0.15) push points with inertia
# (`utils.PointMass`). Both have the *same* variance; you see five paths of each kind, and how far
# the points get on average. Correlated noise moves them further.

# %% noise
SHOWN = {0.05: GREEN, 0.15: BLUE, 1.0: ORANGE}  # θ and its color
_, row = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
print("θ      mean           variance             correlation of successive samples")
for theta, color in SHOWN.items():
    noise = submitted.OUNoise(2, mu=0.0, theta=theta, sigma=0.2, rng=0)
    path = np.array([np.array(noise.sample()) for _ in range(20_000)])
    x = path[:, 0] - path[:, 0].mean()
    correlation = [1.0] + [float(np.mean(x[k:] * x[:-k]) / x.var()) for k in range(1, 31)]
    variance = 0.2**2 / (theta * (2 - theta))
    print(
        f"{theta:4.2f}   found {path.mean():5.2f}    found {path.var():.3f}         found "
        f"{correlation[1]:.2f}\n"
        f"       expected {0:2.1f}   expected {variance:.3f}      expected {1 - theta:.2f}"
    )
    row[0].plot(path[:150, 0], color=color, linewidth=1.2, label=f"θ = {theta:g}")
    row[1].plot(correlation, color=color, linewidth=2.5, label=f"θ = {theta:g}")
    row[1].plot(
        (1 - theta) ** np.arange(31),
        color="black",
        linestyle=":",
        label="expected" if theta == 1 else None,
    )
    if theta != 0.05:  # pushes of the same variance
        point, paths = utils.PointMass(1), []
        for number in range(100):
            push = submitted.OUNoise(
                1, theta=theta, sigma=0.25 * (theta * (2 - theta)) ** 0.5, rng=number
            )
            begin = point.reset(seed=1)[0][0]
            paths.append([0.0] + [point.step(push.sample())[0][0] - begin for _ in range(30)])
        distance = np.sqrt(np.mean(np.square(paths), axis=0))
        row[2].fill_between(
            range(31),
            -distance,
            distance,
            color=color,
            alpha=0.25,
            linewidth=0,
            label=f"θ = {theta:g}",
        )
        row[2].plot(np.transpose(paths[:5]), color=color, linewidth=1)
print(f"correlation of the two dimensions: found {np.corrcoef(path.T)[0, 1]:.2f}, expected 0 ± 0.1")
row[0].set(title="paths, σ = 0.2", xlabel="step", ylabel="x")
row[1].set(title="autocorrelation", xlabel="steps apart", ylabel="correlation")
row[2].set(title="how far the noise moves a point", xlabel="step", ylabel="distance from the start")
for axes in row:
    axes.axhline(0, color="black", linewidth=0.5)
utils.tidy(*row)
plt.show()

# %% uniform-text [markdown]
# ### Exercise: the wrong ε
#
# ```python
# shake = np.random.rand(size)    # in place of ε
# ```
#
# **What goes wrong?** What is the mean of `np.random.rand`? In the long run, the pull toward
# $\mu$ must balance the mean of the increments; so what is the mean of $x$? Compute it for
# $\theta = 1, \sigma = 0.1$ (the settings of the course text) and for
# $\theta = 0.15, \sigma = 0.2$ (its default values).
#
# The cell computes the process with this ε as a sum,
# $x_t = \sigma \sum_k (1 - \theta)^k \varepsilon_{t-k}$ (for $\mu = 0$ and a process that started
# long ago).

# %% uniform
_, row = plt.subplots(1, 2, figsize=(12, 3.4), layout="constrained")
shakes = np.random.default_rng(0).random(3000)  # uniform in [0, 1)
for axes, theta, sigma in zip(row, (1.0, 0.15), (0.1, 0.2), strict=True):
    faulty = sigma * np.convolve(shakes, (1 - theta) ** np.arange(200))[: len(shakes)]
    noise = submitted.OUNoise(1, theta=theta, sigma=sigma, rng=0)
    right = np.array([noise.sample()[0] for _ in range(3000)])
    for path, color, name in ((faulty, ORANGE, "faulty"), (right, BLUE, "yours")):
        axes.plot(path[:200], color=color, linewidth=1.2, label=name)
        print(
            f"θ = {theta:4.2f}, σ = {sigma}, {name:7}: mean {path[200:].mean():6.3f}, below "
            f"0: {np.mean(path[200:] < 0):4.0%}"
            + (f"   (σ/2θ = {sigma / (2 * theta):.3f})" if name == "faulty" else "")
        )
    axes.axhline(sigma / (2 * theta), color="black", linestyle=":", label="σ/2θ")
    axes.axhline(0, color="black", linewidth=0.5)
    axes.set(title=f"θ = {theta:g}, σ = {sigma:g}", xlabel="step", ylabel="x")
    axes.set_ylim(top=axes.get_ylim()[1] * 1.35)
    axes.legend(frameon=False, loc="upper center", ncols=3)
utils.tidy(*row, legend=False)
plt.show()

# %% uniform-seen [markdown]
# The mean of $x$ is $\sigma / 2\theta$: 0.05 in the first case, and 0.67 in the second. For
# comparison, the largest action is 1. The noise is never negative, so the agent explores only on
# one side of the actor's action. The agent can still learn to swing up the pendulum. DDPG is
# off-policy: the buffer stores the action *with* its noise, so the critic's values are not biased
# by noise with a wrong mean. Only the exploration suffers.

# %% reset-text [markdown]
# ### Exercise: noise that is never reset
#
# The noise of the course text has a `reset` method, but only its constructor calls it. **What goes
# wrong** in the first step of a new episode? For which $\theta$ does it not matter?
#
# The cell generates 300 episodes of 30 noise samples. It compares the last sample of each episode
# with the first sample of the next.

# %% reset
_, row = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained", sharex=True, sharey=True)
for axes, theta, resets in zip(row, (0.15, 0.15, 1.0), (True, False, False), strict=True):
    noise = submitted.OUNoise(1, theta=theta, sigma=0.2, rng=0)
    ends = []
    for _ in range(300):
        episode = [noise.sample()[0] for _ in range(30)]
        ends.append((episode[0], episode[-1]))
        if resets:
            noise.reset()
    first, last = (
        np.array([begin for begin, _ in ends[1:]]),
        np.array([end for _, end in ends[:-1]]),
    )
    name = "reset" if resets else "never reset"
    print(
        f"θ = {theta:4.2f}, {name:11}: correlation {np.corrcoef(first, last)[0, 1]:5.2f},",
        f"standard deviation of the first sample {first.std():.2f}",
    )
    axes.plot(last, first, ".", color=BLUE if resets else ORANGE)
    axes.set(
        title=f"θ = {theta:g}, {name}",
        xlabel="last sample of an episode",
        ylabel="first sample of the next",
    )
    axes.label_outer()
utils.tidy(*row)
plt.show()

# %% reset-seen [markdown]
# The first sample of a new episode continues the last one of the old episode. Episodes should be
# independent. With short episodes, the noise can push several episodes in a row to the same side.
# With $\theta = 1$ nothing carries over, so the settings of the course text hide the fault.

# %% networks-text [markdown]
# ## 4 · Actor and critic
#
# Both networks are Linear(128), ReLU, Linear(128), ReLU, Linear. The actor ends with a tanh, so
# its actions lie in $[-1, 1]$. The critic's input is the state and the action, concatenated. It has
# no activation at the end, because a value can be any number.
#
# The weights and biases of the last layers are initialized uniformly in $[-0.003, 0.003]$. The
# reason is the tanh: the actor's gradient passes through it, and its slope is $1 - a^2$. An actor
# that starts near $a = \pm 1$ has a saturated tanh and gets almost no gradient. The critic starts
# with small values for another reason: large random values would mislead the actor.
#
# **Write `Actor` and `Critic`.**
#
# On the left, the cell shows the actions of newly initialized actors in 500 random states. On the
# right, it shows the mean slope of the tanh over 20 actors, for larger and larger initial weights.

# %% networks
torch.manual_seed(0)
states = torch.randn(500, 3)
actor, critic = submitted.Actor(3, 2), submitted.Critic(3 + 2)
print(
    "actions found",
    list(actor(states).shape),
    "expected [500, 2];",
    "of one state",
    list(actor(states[0]).shape),
    "expected [2]",
)
print("values  found", list(critic(states, actor(states)).shape), "expected [500, 1]")
sizes = [
    sum(parameter.numel() for parameter in network.parameters()) for network in (actor, critic)
]
print("parameters found", sizes, "expected", [17_282, 17_409])
print(
    f"largest action: {actor(states).abs().max():.4f}, largest value: "
    f"{critic(states, actor(states)).abs().max():.4f} (small)"
)

_, both = plt.subplots(1, 2, figsize=(12, 3.4), layout="constrained")
for init_w, color in ((3e-3, BLUE), (0.1, GREEN), (1.0, ORANGE)):
    actions = submitted.Actor(3, 1, init_w=init_w)(states).detach().numpy()
    both[0].hist(
        actions, bins=np.linspace(-1, 1, 41), color=color, alpha=0.6, label=f"init_w = {init_w:g}"
    )
sizes = np.geomspace(1e-3, 10, 13)
slopes = [
    np.mean([1 - (submitted.Actor(3, 1, init_w=w)(states) ** 2).mean().item() for _ in range(20)])
    for w in sizes
]
both[1].plot(sizes, slopes, "o-", color=BLUE)
both[1].axvline(3e-3, color="black", linestyle=":")
both[1].set(
    title="mean slope of the tanh",
    xlabel="init_w",
    ylabel="mean of 1 - a²",
    xscale="log",
    ylim=(0, 1.05),
)
both[0].set(title="actions of a new actor", xlabel="action", ylabel="states", yscale="log")
utils.tidy(*both)
plt.show()

# %% agent-text [markdown]
# ## 5 · The agent: networks and actions
#
# The critic's target contains a value of the next state. If the critic that is being trained
# computed it, every update would also move its own target. So actor and critic each have a **target
# network**, $\mu'$ and $Q'$. The target $y$ is computed with these two. They follow the trained
# networks slowly (section 7). At first, a target network is equal to its network, but it is a
# separate object with its own weights, and no optimizer may change it.
#
# **Write the networks and optimizers in `DDPGAgent.__init__`.** Use Adam with a learning rate of
# $3 \cdot 10^{-4}$ for the actor and $10^{-3}$ for the critic.
#
# **Write `select_action`**:
#
# - In a test (`is_test`), return the actor's action.
# - In training, while `total_step < initial_random_steps`, return an action drawn uniformly from
#   $[-1, 1]$, because a newly initialized actor would do nearly the same in every state.
# - Afterwards, return the actor's action plus noise, clipped to $[-1, 1]$.

# %% agent


def make_agent(env, seed=0, batch_size=32, theta=0.15, sigma=0.2, initial_random_steps=0, **others):
    """Return a seeded agent that draws no plot while it trains."""
    training.seed_everything(seed, env)
    agent = submitted.DDPGAgent(
        env,
        10_000,
        batch_size,
        theta,
        sigma,
        initial_random_steps=initial_random_steps,
        seed=seed,
        **others,
    )
    agent.live_plot = lambda *_: None
    return agent


agent = make_agent(utils.PointMass(2))
pairs = ((agent.actor, agent.actor_target), (agent.critic, agent.critic_target))
equal = all(
    torch.equal(a, b)
    for one, other in pairs
    for a, b in zip(one.parameters(), other.parameters(), strict=True)
)
apart = all(
    a.data_ptr() != b.data_ptr()
    for one, other in pairs
    for a, b in zip(one.parameters(), other.parameters(), strict=True)
)
rates = [
    optimizer.param_groups[0]["lr"] for optimizer in (agent.actor_optimizer, agent.critic_optimizer)
]
learning = {
    id(weights)
    for which in (agent.actor_optimizer, agent.critic_optimizer)
    for weights in which.param_groups[0]["params"]
}
touched = any(id(weights) in learning for _, target in pairs for weights in target.parameters())
print(
    "targets equal at first:", equal, "(expected True), separate objects:", apart, "(expected True)"
)
print(
    "an optimizer changes targets:",
    touched,
    "(expected False); learning rates:",
    rates,
    "(expected [0.0003, 0.001])",
)

state = np.array([0.5, -0.5, 0.0, 0.0], np.float32)
agent.is_test = True
same = np.array_equal(agent.select_action(state), agent.select_action(state))
agent.is_test, agent.total_step = False, 1
noisy = np.array([agent.select_action(state) for _ in range(1000)])
print(
    "test actions repeat:",
    same,
    "(expected True); training actions differ:",
    len(np.unique(noisy[:, 0])) > 900,
    "(expected True)",
)
print(
    f"within [-1, 1]: {np.abs(noisy).max() <= 1} (expected True); transition: "
    f"{[np.shape(part) for part in agent.transition]}"
)

# %% agent-grade
# %grade DDPGAgent.networks DDPGAgent.select_action

# %% warm-up-text [markdown]
# ### Exercise: the units of random actions
#
# The pendulum takes torques from -2 to 2, and the agent acts in $[-1, 1]$; `ActionNormalizer`
# (section 9) converts between the two. In the course text, the random actions at the beginning are
# drawn like this:
#
# ```python
# guess = self.env.action_space.sample()     # a torque, from -2 to 2
# ...
# return np.clip(guess + shake, -1, 1)       # the actor's action goes through this line, too
# ```
#
# **What goes wrong?** How many of these actions are exactly -1 or 1? The cell draws 10,000 of
# them, and 10,000 of yours.

# %% warm-up
agent = make_agent(gym.make("Pendulum-v1"), initial_random_steps=10**9)
space = agent.env.action_space
faulty = np.clip([space.sample()[0] for _ in range(10_000)], -1, 1)
yours = np.array([agent.select_action(np.zeros(3, np.float32))[0] for _ in range(10_000)])
for name, actions in (("faulty", faulty), ("yours", yours)):
    print(
        f"{name:6}: exactly -1 or 1: {np.mean(np.abs(actions) == 1):4.0%}, standard "
        f"deviation {actions.std():.2f}"
    )

_, both = plt.subplots(1, 2, figsize=(11, 3), layout="constrained", sharey=True)
for axes, name, actions, color in (
    (both[0], "faulty", faulty, ORANGE),
    (both[1], "yours", yours, BLUE),
):
    axes.hist(actions, bins=np.linspace(-1, 1, 42), color=color)
    axes.set(title=name, xlabel="random action", ylabel="number of actions (of 10,000)")
    axes.label_outer()
utils.tidy(*both)
plt.show()

# %% warm-up-seen [markdown]
# Half of the faulty actions are full torque, one way or the other, so the critic sees far fewer of
# the actions in between. If your actions look like the picture on the left, check the units of your
# random actions. (Small noise added to uniform actions does no harm. It only makes the two outer
# bars slightly higher.)

# %% step-text [markdown]
# ### A step, and two ways for an episode to end
#
# **Write `step`.** It passes the action to the environment. In training, it completes `transition`
# and stores it. It returns the next state, the reward, and whether the episode is over (terminated
# or truncated). The stored `done` has a different meaning:
#
# An episode is **terminated** when the task is over: nothing follows, so the value of $s'$ is 0.
# It is **truncated** when a time limit stops it: the task would have gone on, so the value of $s'$
# is $Q'(s', \mu'(s'))$, as in any other step. Store `done` = terminated. The pendulum never
# terminates; its time limit truncates every episode after 200 steps.
#
# The cell plays four small episodes of two steps. `step` must return True after either kind of end,
# but the stored `done` must be true only after a termination.

# %% step


class Ends(gym.Env):
    """Episodes of two steps with reward 1 each; `end` says how they end."""

    observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gym.spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self, end):
        self.end = end

    def reset(self, *, seed=None, **_options):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, _action):
        self.steps += 1
        over = self.steps == 2
        return (
            np.zeros(1, np.float32),
            1.0,
            over and "terminated" in self.end,
            over and "truncated" in self.end,
            {},
        )


for end, is_test in (
    ("terminated", False),
    ("truncated", False),
    ("terminated and truncated", False),
    ("terminated", True),
):
    agent = make_agent(Ends(end))
    agent.is_test = is_test
    state, _ = agent.env.reset()
    told = []
    for _ in range(2):
        state, _, over = agent.step(agent.select_action(state))
        told.append(bool(over))
    expected = [] if is_test else [0.0, 0.0 if end == "truncated" else 1.0]
    found = agent.memory.done_buf[: len(agent.memory)].tolist()
    print(
        f"{end:25}{'in a test' if is_test else '':10} returned {told}, stored {found}, "
        f"expected [False, True], {expected}"
    )

# %% step-grade
# %grade DDPGAgent.step

# %% clock-text [markdown]
# ### Exercise: a time limit stored as termination
#
# ```python
# following, reward, over, _ = env.step(action)          # the old gym: one flag for both ends
# memory.store(state, action, reward, following, over)
# ```
#
# **What goes wrong?** Suppose every step earns 1, forever. Then
# $Q = 1 + \gamma + \gamma^2 + \dots = 1 / (1 - \gamma)$. Now a time limit ends the episode after
# $T$ steps and is stored as termination. The observation does not contain the time. What is the
# target in the last step? What does the critic learn if it cannot distinguish the last step from
# the others?

# %% clock
limits = np.arange(2, 400)
_, axes = plt.subplots(figsize=(9, 3.6), layout="constrained")
for gamma, color in ((0.9, GREEN), (0.98, BLUE), (0.99, ORANGE)):
    share = (1 - gamma) / (1 - gamma * (1 - 1 / limits))
    axes.plot(limits, share, color=color, linewidth=2, label=f"γ = {gamma:g}")
    late = share[limits == 200][0]
    axes.plot(200, late, "o", color=color)
    print(
        f"γ = {gamma:4.2f}, T = 200: the critic learns {late / (1 - gamma):5.1f} instead of "
        f"{1 / (1 - gamma):5.1f}: {late:.0%}"
    )
axes.axvline(200, color="black", linewidth=0.8, linestyle=":")
axes.annotate("Pendulum", (200, 0.05), (5, 0), textcoords="offset points")
axes.axhline(1, color="black", linewidth=0.8)
axes.set(xlabel="time limit T", ylabel="learned value / true value", xlim=(0, 400), ylim=(0, 1.05))
axes.grid(alpha=0.3)
utils.tidy(axes)
plt.show()

# %% clock-seen [markdown]
# The target of the last step is $r$ alone, although the next state is as good as any other. A
# critic that cannot observe the time learns the mean of both cases, as if the episode terminated
# with probability $1/T$ in each step: $Q = 1 + \gamma (1 - 1/T)\, Q$. With $\gamma = 0.99$ (the
# course text) and the 200 steps of the pendulum, this is two thirds of the true value.
#
# The *ranking* of the actions by value may still be correct. If the ends are spread over all
# states, the effect is a smaller discount of $0.99\,(1 - 1/200) \approx 0.985$. And when the time
# is up, a trained agent holds the pendulum upright, so the remaining cost is near 0 anyway. The
# ranking is wrong if the time limit is reached in states that are never visited earlier, for
# example at the far end of a long path. There the critic learns that the best state reached so far
# is worth only one last reward.

# %% critic-text [markdown]
# ## 6 · One update: critic, then actor
#
# **The critic** learns to predict the reward plus the discounted value of the next state. The
# *target networks* compute that value. For a batch of $B$ transitions,
#
# $$y_i = r_i + \gamma (1 - \text{done}_i)\, Q'(s_i', \mu'(s_i')) \qquad
#   L_\text{critic} = \frac{1}{B} \sum_i \left(Q(s_i, a_i) - y_i\right)^2$$
#
# $y$ is a constant: no gradient flows through it. $a_i$ is the stored action.
#
# **The actor** does gradient ascent on the critic that has just been updated:
#
# $$L_\text{actor} = -\frac{1}{B} \sum_i Q(s_i, \mu(s_i)).$$
#
# Here the action comes from the *current* actor, with its gradient. Only the actor's weights
# change; the critic's weights stay fixed. (Lillicrap et al. 2015, algorithm 1 and equation 6.)
#
# **Then the target networks** are updated (section 7). Return both losses without a gradient.
#
# ### The trap: `[B]` and `[B, 1]`
#
# The rewards from the buffer have shape `[B]`, and the critic's values have shape `[B, 1]`. If you
# combine them without reshaping, torch broadcasts both to `[B, B]` and compares *every* value with
# *every* target. The mean is still a single number, and it still decreases. (`F.mse_loss` warns
# about this. The minus operator does not.)
#
# The cell fits 32 points with a small network, once with the right loss and once with the wrong
# loss.

# %% trap
draws = np.random.default_rng(0)
x = torch.as_tensor(np.sort(draws.uniform(-1, 1, 32)), dtype=torch.float32)
y = torch.sin(4 * x)  # [B]

_, both = plt.subplots(1, 2, figsize=(12, 3.4), layout="constrained")
for name, color in (("right", BLUE), ("wrong", ORANGE)):
    torch.manual_seed(0)
    small = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(small.parameters(), lr=0.03)
    losses = []
    for _ in range(300):
        values = small(x[:, None])  # [B, 1]
        errors = values - y[:, None] if name == "right" else values - y
        loss = errors.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"{name}: differences {list(errors.shape)}, loss {losses[0]:.3f} -> {losses[-1]:.4f}")
    both[0].plot(
        x,
        small(x[:, None]).detach(),
        color=color,
        linewidth=2,
        label=f"{name}, {list(errors.shape)}",
    )
    both[1].plot(losses, color=color, linewidth=2, label=name)
both[0].plot(x, y, "o", color="black", fillstyle="none", markersize=5, label="targets")
both[0].axhline(y.mean(), color="black", linewidth=0.8, linestyle=":")
both[0].set(
    title="the learned function (dotted: mean of all targets)",
    xlabel="state",
    ylabel="value",
    ylim=(-1.1, 1.6),
)
both[0].legend(frameon=False, loc="upper center", ncols=3)
both[1].set(title="loss", xlabel="update", ylim=(0, None))
both[1].legend(frameon=False)
utils.tidy(*both, legend=False)
plt.show()

# %% trap-seen [markdown]
# The wrong loss has its minimum where the critic outputs the mean of all targets everywhere. It
# falls, then flattens, and looks as if the problem were just noisy. Such a critic does not depend
# on the action, so the actor gets no gradient and learns nothing. Print shapes.

# %% update-text [markdown]
# ### By hand
#
# **Write `update_model`**, in its two blanks, **and `_target_soft_update`**, which it calls:
# $\theta' \leftarrow \tau \theta + (1 - \tau) \theta'$ for each parameter of both target networks.
# The cell puts tiny networks into your agent: a critic $Q(s, a) = c + a$ with one weight $c$, and
# an actor $\mu(s) = m$ with one weight $m$. You can compute everything by hand.
#
# There are two transitions with $a = 0$ and $r = 1$; the second one is terminated. With
# $\gamma = 0.9$ and the target weights $c' = 9.5$ and $m' = 0.5$, the next state has the value
# $Q' = 10$. So $y_1 = 1 + 0.9 \cdot 10 = 10$ and $y_2 = 1$. The critic has $c = 5$. Its loss is
# $\left((5 - 10)^2 + (5 - 1)^2\right) / 2 = 20.5$ and its gradient $(5 - 10) + (5 - 1) = -1$. One
# step of gradient descent with learning rate 1 gives $c = 6$.
#
# The actor has $m = 0$. Its loss is $-(6 + 0)$, computed with the critic that has *just been
# updated*. Its gradient is $-1$, and a learning rate of 0.1 gives $m = 0.1$. With $\tau = 0.5$ the
# target weights then move halfway: $c' = 7.75$ and $m' = 0.3$.
#
# For the two lines "if the update is repeated", the cell makes the update once more, from the same
# weights. The result must be the same: gradients of the first update must not be added to those of
# the second.

# %% update


class OneWeight(nn.Module):
    """As a critic, return weight + action; as an actor, return weight; in any state."""

    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(float(weight)))

    def forward(self, state, action=None):
        return self.weight.expand(*state.shape[:-1], 1) + (0 if action is None else action)


def by_hand(c=5.0, m=0.0, c_target=9.5, m_target=0.5, times=1):
    """Return (agent, its losses) after one update, or after several from the same weights."""
    agent = make_agent(utils.PointMass(1), batch_size=2, gamma=0.9, tau=0.5)
    agent.critic, agent.critic_target = (
        OneWeight(c).to(agent.device),
        OneWeight(c_target).to(agent.device),
    )
    agent.actor, agent.actor_target = (
        OneWeight(m).to(agent.device),
        OneWeight(m_target).to(agent.device),
    )
    agent.critic_optimizer = torch.optim.SGD(agent.critic.parameters(), lr=1.0)
    agent.actor_optimizer = torch.optim.SGD(agent.actor.parameters(), lr=0.1)
    for done in (False, True):
        agent.memory.store(np.zeros(2), np.zeros(1), 1.0, np.zeros(2), done)
    for _ in range(times):
        with torch.no_grad():
            agent.critic.weight.fill_(c)
            agent.critic_target.weight.fill_(c_target)
            agent.actor.weight.fill_(m)
            agent.actor_target.weight.fill_(m_target)
        losses = agent.update_model()
    return agent, losses


def compare(lines):
    """Print name, found value and expected value on each line."""
    for name, found, expected in lines:
        print(f"{name:34} found {torch.as_tensor(found).item():7.3f}   expected {expected:7.3f}")


agent, (actor_loss, critic_loss) = by_hand()
compare(
    [
        ("critic loss", critic_loss, 20.5),
        ("c after the critic's update", agent.critic.weight, 6.0),
        ("actor loss", actor_loss, -6.0),
        ("m after the actor's update", agent.actor.weight, 0.1),
        ("target c'", agent.critic_target.weight, 7.75),
        ("target m'", agent.actor_target.weight, 0.3),
        ("c, if the update is repeated", by_hand(times=2)[0].critic.weight, 6.0),
        ("m, if the update is repeated", by_hand(times=2)[0].actor.weight, 0.1),
    ]
)
print(
    "losses carry a gradient:",
    any(getattr(loss, "requires_grad", False) for loss in (actor_loss, critic_loss)),
    "(expected False)",
)

# %% update-grade
# %grade DDPGAgent.update_model.critic DDPGAgent.update_model.actor DDPGAgent._target_soft_update

# %% climb-text [markdown]
# ### The actor climbs a known critic
#
# Now use your own actor, and a critic that is a known function instead of a network:
# $Q(s, a) = -(a - 0.8 \sin 3s)^2$. In the picture, bright means a large $Q$. In every state the
# actor should climb to the top of the ridge, the dashed line. The arrows are $\nabla_a Q$, the
# direction in which each action is pushed. The lines are your actor's actions after more and more
# calls to your `update_model`.
#
# The actor is never given the best action. It only learns, at its current action, in which
# direction the value increases.

# %% climb


class Known(nn.Module):
    """A critic with the known Q. Its only weight has no effect; the optimizer needs a parameter."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, state, action):
        return -((action - 0.8 * torch.sin(3 * state[..., :1])) ** 2) + 0 * self.weight


agent = make_agent(utils.PointMass(1), batch_size=64)
agent.critic, agent.critic_target = Known().to(agent.device), Known().to(agent.device)
agent.critic_optimizer = torch.optim.SGD(agent.critic.parameters(), lr=0.0)
for group in agent.actor_optimizer.param_groups:
    group["lr"] = 3e-3
draws = np.random.default_rng(0)
for position in draws.uniform(-1, 1, 500):
    agent.memory.store(
        np.array([position, 0.0]), draws.uniform(-1, 1, 1), 0.0, np.array([position, 0.0]), True
    )

position = np.linspace(-1, 1, 100, dtype=np.float32)
looked_at = torch.as_tensor(
    np.stack([position, np.zeros_like(position)], axis=1), device=agent.device
)
s, a = np.meshgrid(position, np.linspace(-1, 1, 100))
_, axes = plt.subplots(figsize=(9, 4.6), layout="constrained")
shading = axes.pcolormesh(
    s, a, -((a - 0.8 * np.sin(3 * s)) ** 2), cmap="Greys_r", shading="gouraud", vmin=-3, vmax=0
)
plt.colorbar(shading, ax=axes, label="Q(s, a)")
s, a = np.meshgrid(np.linspace(-0.95, 0.95, 16), np.linspace(-0.9, 0.9, 9))
axes.quiver(
    s, a, np.zeros_like(s), -2 * (a - 0.8 * np.sin(3 * s)), color="#777777", scale=45, width=0.0025
)
best = 0.8 * np.sin(3 * position)
updates = 0
for until, color in ((0, "#56b4e9"), (10, BLUE), (40, "#cc79a7"), (300, ORANGE)):
    for _ in range(until - updates):
        agent.update_model()
    updates = until
    with torch.no_grad():
        says = agent.actor(looked_at).cpu().numpy()[:, 0]
    axes.plot(position, says, color=color, linewidth=2.5, label=f"after {until} updates")
    print(
        f"after {until:3} updates: mean distance from the best action "
        f"{np.abs(says - best).mean():.3f}"
    )
axes.plot(position, best, color="black", linestyle="--", linewidth=1.5, label="the best action")
axes.set(xlabel="state", ylabel="action", xlim=(-1, 1), ylim=(-1, 1))
axes.legend(loc="upper left", framealpha=0.9)
plt.show()

# %% soft-text [markdown]
# ## 7 · Target networks follow slowly
#
# The update $\theta' \leftarrow \tau \theta + (1 - \tau) \theta'$ is called **Polyak averaging**.
# With $\tau = 0.005$, a target network covers half the distance to a fixed network in 138 updates,
# because $(1 - 0.005)^{138} = 0.5$. It lags behind, but in return it never jumps. Each weight is
# averaged separately with its target weight; the outputs of the networks are not averaged.
#
# The cell sets all weights of your networks by hand and calls `_target_soft_update` after each
# setting. On the left, the weights jump from 0 to 1 and stay there; the target weights should lie
# on the dotted lines, $1 - (1 - \tau)^n$. On the right, the weights change with noise, like those
# of a network in training.

# %% soft
draws = np.random.default_rng(2)
moves = {
    "a network that jumps": np.ones(300),
    "a network in training": 1 - np.exp(-np.arange(300) / 100) + draws.normal(0, 0.15, 300),
}
agent = make_agent(utils.PointMass(1))
networks = {
    "actor": (agent.actor, agent.actor_target),
    "critic": (agent.critic, agent.critic_target),
}

_, both = plt.subplots(1, 2, figsize=(13, 3.8), layout="constrained", sharey=True)
for axes, (title, weights) in zip(both, moves.items(), strict=True):
    axes.plot(weights, color=GRAY, linewidth=1, label="the network")
    for tau, color in ((0.2, ORANGE), (0.02, BLUE), (0.005, GREEN)):
        agent.tau = tau
        followed = {"actor": [], "critic": []}
        with torch.no_grad():
            for parameter in (
                parameter for pair in networks.values() for parameter in pair[1].parameters()
            ):
                parameter.fill_(0.0)
        for weight in weights:
            with torch.no_grad():
                for parameter in (
                    parameter for pair in networks.values() for parameter in pair[0].parameters()
                ):
                    parameter.fill_(float(weight))
            agent._target_soft_update()
            for name, (_, target) in networks.items():
                followed[name].append(float(list(target.parameters())[-1].detach().flatten()[0]))
        axes.plot(followed["critic"], color=color, linewidth=2.5, label=f"target, τ = {tau:g}")
        if title == "a network that jumps":
            expected = 1 - (1 - tau) ** np.arange(1, 301)
            axes.plot(
                expected, color="black", linestyle=":", label="expected" if tau == 0.005 else None
            )
            wrong = max(np.abs(np.array(path) - expected).max() for path in followed.values())
            print(
                f"τ = {tau:5}: largest difference from 1 - (1 - τ)ⁿ found {wrong:.5f}, "
                "expected less than 0.0001"
            )
    axes.set(title=title, xlabel="update", ylabel="weight")
utils.tidy(*both, legend=False)
both[0].legend(frameon=False, loc="lower right", ncols=2)
plt.show()

# %% soft-grade
# %grade DDPGAgent._target_soft_update

# %% train-text [markdown]
# ## 8 · The training loop
#
# **Write `train`**: select an action, take it, update, and plot at intervals. When an episode is
# over, reset `self.env` and the noise. `self.total_step` counts the steps from 1. Make one update
# after each step with `total_step > initial_random_steps`, if the buffer holds at least
# `batch_size` transitions.
#
# The cell counts what happens in 150 steps of `PointMass`, whose episodes have 30 steps, with
# `initial_random_steps=60`. Expect one reset at the beginning and one after each episode (after the
# last one it may be missing), 90 updates, and a plot after 50, 100 and 150 steps.

# %% train


class Counted(gym.Wrapper):
    """Record the seed and the observation of every reset."""

    def __init__(self, env):
        super().__init__(env)
        self.seeds, self.starts = [], []

    def reset(self, *, seed=None, options=None):
        observation, info = self.env.reset(seed=seed, options=options)
        self.seeds.append(seed)
        self.starts.append(observation)
        return observation, info


agent = make_agent(Counted(utils.PointMass(1)), initial_random_steps=60)
agent.env.seeds.clear()  # without the reset in make_agent
plots, updates, noise_resets, reset_noise = [], [], [], agent.noise.reset
agent.live_plot = lambda step, scores, *losses: plots.append((step, len(scores), *map(len, losses)))
agent.update_model = lambda: (
    updates.append(agent.total_step),
    (torch.tensor(0.0), torch.tensor(0.0)),
)[1]
agent.noise.reset = lambda: (noise_resets.append(agent.total_step), reset_noise())[1]
agent.train(150, plotting_interval=50)
print(
    "resets of the environment  found",
    len(agent.env.seeds),
    "expected 5 or 6; their seeds",
    set(agent.env.seeds),
    "expected {None}",
)
print("resets of the noise        found", len(noise_resets), "expected 5 or 6")
print(
    "updates                    found",
    len(updates),
    "expected 90, the first one in step",
    updates[:1],
    "expected [61]",
)
print("plots (step, scores, losses)", plots)
print("                    expected", [(50, 1, 0, 0), (100, 3, 40, 40), (150, 5, 90, 90)])

# %% train-grade
# %grade DDPGAgent.train

# %% global-text [markdown]
# ### Exercise: which environment?
#
# The course text's method `train` resets the environment like this, without `self`:
#
# ```python
# if over:
#     observation, _ = env.reset()
# ```
#
# It runs, because there is a global variable `env` in the notebook. **What goes wrong** when an
# agent is trained in a different environment?
#
# The cell resets the wrong environment in this way. Each line in the picture is a stored
# transition, from the position in $s$ to the position in $s'$. In a correct buffer, each line
# starts where the last one ended, until the episode is over.

# %% global
env = utils.PointMass(1)  # the global one
env.reset(seed=0)
_, both = plt.subplots(1, 2, figsize=(12, 3.4), layout="constrained", sharey=True)
for axes, whose, color in ((both[0], "self.env.reset()", BLUE), (both[1], "env.reset()", ORANGE)):
    agent = make_agent(utils.PointMass(1), initial_random_steps=10**9)
    state, _ = agent.env.reset(seed=1)
    ends = []
    for step in range(90):
        state, _, over = agent.step(agent.select_action(state))
        if over:
            ends.append(step + 1)
            state, _ = agent.env.reset() if whose == "self.env.reset()" else env.reset()
    print(
        f"{whose:17} episodes that ended in 90 steps: {len(ends)}, after steps "
        f"{str(ends[:4])[1:-1]}{', ...' * (len(ends) > 4)}"
    )
    for step in range(90):
        span = [agent.memory.obs_buf[step, 0], agent.memory.next_obs_buf[step, 0]]
        axes.plot([step, step + 1], span, color=color, linewidth=1.5)
    axes.set(title=whose, xlabel="step", ylabel="position, from s to s'")
    axes.label_outer()
utils.tidy(*both)
plt.show()

# %% global-seen [markdown]
# The agent's own environment is never reset. It has passed its time limit, so from step 30 on
# *every* step ends an episode. And the agent's next state comes from the other environment: the
# buffer fills with transitions that never happened, with a jump in every step. In the course text,
# both names happened to refer to the same object.

# %% seed-text [markdown]
# ### Exercise: the same seed in every episode
#
# A later version of the course text moved to gymnasium. Since then, it starts each episode with
#
# ```python
# observation, _ = self.env.reset(seed=777)
# ```
#
# **What goes wrong?** The cell shows the first states of 200 episodes of the pendulum.

# %% seed
pendulum = gym.make("Pendulum-v1")
_, both = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained", sharex=True, sharey=True)
for axes, name, seeds, color in (
    (both[0], "seeded once", [777] + [None] * 199, BLUE),
    (both[1], "seeded in every episode", [777] * 200, ORANGE),
):
    starts = np.array([pendulum.reset(seed=seed)[0] for seed in seeds])
    axes.plot(np.arctan2(starts[:, 1], starts[:, 0]), starts[:, 2], "o", color=color, markersize=4)
    axes.set(
        title=name,
        xlabel="angle (0: upright)",
        ylabel="velocity",
        xlim=(-3.3, 3.3),
        ylim=(-1.1, 1.1),
    )
    axes.set_xticks([-np.pi, 0, np.pi], labels=["-π", "0", "π"])
    axes.label_outer()
    print(f"{name:24} {len(np.unique(starts, axis=0))} different first states")
utils.tidy(*both)
plt.show()

# %% seed-seen [markdown]
# Every episode starts in the same state. The agent learns to swing up from there. If the test uses
# the same seed, it does not show whether the agent can swing up from elsewhere. Pass a seed only to
# the first `reset`. After that, the environment's generator continues from episode to episode, and
# the run is still reproducible.

# %% units-text [markdown]
# ## 9 · Units of actions
#
# The agent acts in $[-1, 1]$ in every environment. `ActionNormalizer` is a wrapper that rescales
# the actions: -1 becomes `low`, 1 becomes `high`, and the map between them is linear, separately
# in each dimension. Values outside the range are clipped.
#
# **Write `action` and its inverse, `reverse_action`.** (`ActionNormalizer` is the last class in
# the file.)
#
# The cell draws the map for three dimensions with different ranges, and converts three actions
# there and back.

# %% units


class Ranges(gym.Env):
    """An environment with three action dimensions of different ranges."""

    observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gym.spaces.Box(
        np.array([-2, 0, -1], np.float32), np.array([2, 1, 3], np.float32)
    )


units = submitted.ActionNormalizer(Ranges())
inner = np.linspace(-1.4, 1.4, 57)
outer = np.array([units.action(np.full(3, number)) for number in inner])
for given, right in (
    ([-1.0, -1.0, -1.0], [-2.0, 0.0, -1.0]),
    ([0.0, 0.0, 0.0], [0.0, 0.5, 1.0]),
    ([1.0, 0.5, -0.5], [2.0, 0.75, 0.0]),
):
    there = units.action(np.array(given))
    print(f"{given!s:18} found {there.tolist()} expected {right}")
    print(f"{'converted back':18} found {units.reverse_action(there).tolist()} expected {given}")

_, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for dimension, color in enumerate((BLUE, ORANGE, GREEN)):
    low, high = Ranges.action_space.low[dimension], Ranges.action_space.high[dimension]
    axes.plot(
        inner, outer[:, dimension], color=color, linewidth=2.5, label=f"from {low:g} to {high:g}"
    )
    axes.plot(
        [-1, 1],
        [low, high],
        "o",
        color="black",
        fillstyle="none",
        markersize=8,
        label="expected" if dimension == 2 else None,
    )
axes.axvspan(-1, 1, color="black", alpha=0.05, linewidth=0)
axes.set(xlabel="action of the agent (gray: [-1, 1])", ylabel="action of the environment")
utils.tidy(axes)
plt.show()

# %% test-text [markdown]
# ## 10 · Testing
#
# **Write `test`**: play one episode without noise and store nothing. Print the score and return
# the frames, one per step, rendered before the step.
#
# The cell tests a newly initialized agent with the pendulum. Expect 200 frames and a score
# somewhere between -1800 and -500. (Each step costs $\theta^2 + 0.1\, \dot\theta^2 + 0.001\, u^2$,
# with the angle $\theta$ from the upright position and the torque $u$. A score near 0 is good;
# hanging down for 200 steps costs about 2000.) The strip shows six of the frames.

# %% test


def strip(frames):
    """Draw six of the frames side by side."""
    _, row = plt.subplots(1, 6, figsize=(13, 2.5), layout="constrained")
    for number, axes in zip(np.linspace(0, len(frames) - 1, 6).astype(int), row, strict=True):
        axes.imshow(frames[number])
        axes.set_title(f"step {number}", fontsize=10)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_color("#cccccc")
    plt.show()


agent = make_agent(
    submitted.ActionNormalizer(gym.make("Pendulum-v1", render_mode="rgb_array")), seed=3
)
frames = agent.test()
print(f"frames found {len(frames)}, expected 200; stored {len(agent.memory)}, expected 0")
strip(frames)

# %% test-grade
# %grade DDPGAgent.test one_update

# %% probes-text [markdown]
# ## 11 · Before any long training: probes
#
# If an agent does not learn, its learning curve does not say why. So you train it on a ladder of
# tiny environments with known answers. Each rung adds one thing that can go wrong. Your whole
# agent is trained on each rung for half a second, and once more with another seed if the result is
# wrong. The first rung that fails shows where to look. The discount is 0.8 throughout.
#
# | rung | what happens | a correct agent ends with |
# | --- | --- | --- |
# | constant | one step, reward 1 | $Q = 1$ |
# | state | one step, the reward is the sign in the observation | $Q(-) = -1$, $Q(+) = 1$ |
# | action | one step, reward $a$ | $Q(a{=}{-}\frac12) = -0.5$, $Q(a{=}\frac12) = 0.5$ |
# | two steps | two steps, reward 1 in the second | $Q = 0.8$, one step later $Q_2 = 1$ |
# | truncated | reward 1 in every step, an unobserved time limit of 4 steps | $Q = 1 / (1 - 0.8) = 5$ |
# | climb | one step, an action of two dimensions, reward $-(a_1 - 0.5)^2 - (a_2 + 0.5)^2$ | $\mu_1 = 0.5$, $\mu_2 = -0.5$ |
# | follow | one step, reward $-(a - 0.5\, \text{sign})^2$ | $\mu(-) = -0.5$, $\mu(+) = 0.5$ |
# | all of it | actions in $[0, 1]$; step 2 pays for the *first* action | $\mu(-) = -0.5$, $\mu(+) = 0.5$ |
#
# If the first rung that fails is
#
# - **constant**: a $Q$ far above 1 means that a value is added after termination: check the factor
#   $1 - \text{done}$. A $Q$ near 0 means that the critic hardly moves: does `train` call
#   `update_model` after each step?
# - **state**: if both values are near 0, is a `[B]` combined with a `[B, 1]`? Or do state and
#   reward come from different rows?
# - **action**: is the stored action the one that was taken? Is it an input of the critic? Does the
#   critic's loss use the *stored* action?
# - **two steps**: with $Q$ near 1, the discount is missing. With $Q$ near 0, the target does not
#   contain the next value: do the target networks follow? Do you evaluate $Q'$ at the *next* state?
# - **truncated**: $1 / (1 - 0.8 \cdot \frac34) = 2.5$ means that the time limit is stored as
#   termination.
# - **climb**: if $\mu_1$ is near -1 and $\mu_2$ near 1, check the sign of the actor's loss. If both
#   are near 0, no gradient reaches the actor. If only one of the two is right, one part of the
#   agent (buffer, noise, a network) handles only one dimension.
# - **follow**: does the actor's loss use the states of the batch?
# - **all of it**: in the environment's units, the best action is 0.25 if the sign is -1, and 0.75
#   if it is +1. Look at `ActionNormalizer`, then at $y$ once more.
#
# The probes do not test the noise or the speed of the target networks. The pictures in sections 3
# and 7 do.

# %% probes


def probe(pay, steps=1, truncates=False, low=(-1.0,), high=(1.0,)):
    """Return a probe whose observation contains the first action."""
    return utils.Probe(pay, steps, truncates, low, high, shows_action=True)


def train_probe(env, seed):
    """Return the agent after training on a probe, with higher learning rates and a larger τ."""
    agent = make_agent(
        submitted.ActionNormalizer(env),
        seed,
        theta=1.0,
        sigma=0.3,
        gamma=0.8,
        tau=0.05,
        initial_random_steps=100,
    )
    for optimizer, rate in ((agent.actor_optimizer, 1e-3), (agent.critic_optimizer, 4e-3)):
        for group in optimizer.param_groups:
            group["lr"] = rate
    agent.train(PROBE)
    return agent


def look_at(agent):
    """Return Q for both signs, for two actions, and one step later (Q2), and the actions μ."""
    shown = torch.tensor(
        [[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [1.0, 1.0, 0.0]], device=agent.device
    )
    with torch.no_grad():
        mu = agent.actor(shown).cpu().numpy()
        at = {
            a: agent.critic(shown, torch.full((4, mu.shape[1]), a, device=agent.device))
            .flatten()
            .tolist()
            for a in (-0.5, 0.0, 0.5)
        }
    found = {
        "Q": (at[0.0][0] + at[0.0][1]) / 2,
        "Q2": (at[0.0][2] + at[0.0][3]) / 2,
        "Q(-)": at[0.0][0],
        "Q(+)": at[0.0][1],
    }
    found |= {"Q(a=-½)": (at[-0.5][0] + at[-0.5][1]) / 2, "Q(a=½)": (at[0.5][0] + at[0.5][1]) / 2}
    return found | {
        "μ(-)": mu[0, 0],
        "μ(+)": mu[1, 0],
        "μ1": mu[:2, 0].mean(),
        "μ2": mu[:2, -1].mean(),
    }


RUNGS = [  # name, what it isolates, the probe, the expected values, the tolerance
    ("constant", "the critic's loss", lambda: probe(lambda sign, a: 1.0), {"Q": 1.0}, 0.1),
    (
        "state",
        "state reaches Q?",
        lambda: probe(lambda sign, a: sign),
        {"Q(-)": -1.0, "Q(+)": 1.0},
        0.15,
    ),
    (
        "action",
        "action reaches Q?",
        lambda: probe(lambda sign, a: a[0]),
        {"Q(a=-½)": -0.5, "Q(a=½)": 0.5},
        0.1,
    ),
    (
        "two steps",
        "the discount",
        lambda: probe(lambda sign, a: 1.0, 2),
        {"Q": 0.8, "Q2": 1.0},
        0.1,
    ),
    ("truncated", "the time limit", lambda: probe(lambda sign, a: 1.0, 4, True), {"Q": 5.0}, 0.4),
    (
        "climb",
        "the actor's direction",
        lambda: probe(
            lambda sign, a: -((a[0] - 0.5) ** 2) - (a[1] + 0.5) ** 2,
            low=(-1.0, -1.0),
            high=(1.0, 1.0),
        ),
        {"μ1": 0.5, "μ2": -0.5},
        0.2,
    ),
    (
        "follow",
        "state reaches μ?",
        lambda: probe(lambda sign, a: -((a[0] - 0.5 * sign) ** 2)),
        {"μ(-)": -0.5, "μ(+)": 0.5},
        0.2,
    ),
    (
        "all of it",
        "units, targets",
        lambda: probe(
            lambda sign, a: -4 * (a[0] - 0.5 - 0.25 * sign) ** 2, 2, low=(0.0,), high=(1.0,)
        ),
        {"μ(-)": -0.5, "μ(+)": 0.5},
        0.25,
    ),
]
probes = {}


probes["DDPG"] = {}  # rung: whether it passed
utils.climb(RUNGS, lambda env, seed: look_at(train_probe(env, seed)), probes["DDPG"])

# %% point-text [markdown]
# ## 12 · A point that should go to the origin
#
# Now an environment with motion. In `utils.PointMass(d)`, $d$ forces from -1 to 1 push a point in
# $d$ dimensions. The agent observes position and velocity. Each of the 30 steps costs
# $p^2 + 0.01\, a^2$, averaged over the dimensions. The best possible return is -0.435 on average;
# with zero actions it is -10, and with random actions -29.
#
# The first 300 steps (ten episodes) are random. After that, learning is fast: after about 600 steps
# in total, a correct agent gets a return of about -1 on average, with exploration noise. The
# vertical axis is linear from -1 to 0 and logarithmic below -1. The dotted line is the best
# possible return. A training run takes a few seconds.

# %% point
curves = {}  # setting: one list of scores per seed


class Record:
    """Keep scores and losses of a training run; pass them on to `live`, if given."""

    def __init__(self, live=None):
        self.live = live
        self.scores, self.actor_losses, self.critic_losses = [], [], []

    def __call__(self, step, scores, actor_losses, critic_losses):
        self.scores, self.actor_losses, self.critic_losses = (
            list(scores),
            list(actor_losses),
            list(critic_losses),
        )
        if self.live is not None:
            self.live(step, scores, actor_losses, critic_losses)

    def check(self):
        """Raise an error if there is nothing to plot."""
        if not self.scores:
            raise RuntimeError("nothing is recorded: did `train` call `_plot`, and did it finish?")


def train_point(dimensions, seed):
    """Return the scores of one training run on PointMass."""
    agent = make_agent(
        utils.PointMass(dimensions),
        seed,
        batch_size=64,
        sigma=0.1,
        gamma=0.95,
        tau=0.02,
        initial_random_steps=300,
    )
    agent.live_plot = Record()
    agent.train(POINT, plotting_interval=POINT)
    agent.live_plot.check()
    return agent.live_plot.scores


for dimensions in (1, 2):
    name = f"PointMass({dimensions})"
    with tqdm(range(POINT_SEEDS), desc=name, unit=" seeds", file=sys.stdout) as seeds:
        curves[name] = [train_point(dimensions, seed) for seed in seeds]
    late = [round(float(np.mean(scores[-10:])), 2) for scores in curves[name]]
    print(f"{name}: mean score of the last 10 episodes, by seed: {late}")

points = {name: curves[name] for name in curves if name.startswith("Point")}
axes = utils.plot_point_mass_returns(points, "score of an episode")
axes.axvline(10, color="black", linewidth=0.8, linestyle="--")
axes.annotate("learning begins", (10, -0.12), (5, 0), textcoords="offset points", fontsize=9)
plt.show()

# %% point-grade
# %grade learning

# %% pendulum-text [markdown]
# ## 13 · The pendulum
#
# The motor is too weak to lift the pendulum directly. The agent must first swing to the other
# side. That costs something, and pays off only seconds later.
#
# The settings are those of the course text, except for 1,000 random steps (instead of 10,000),
# 15,000 steps in total instead of 50,000, a buffer of 10,000 transitions instead of 100,000, and
# correlated noise. `training.LivePlot` plots scores and losses during training. Expect
#
# - **scores** near -1200 at first, while the actions are random, and near -1400 when learning
#   begins. Then they rise within ten or twenty episodes to between -200 and -100, with occasional
#   setbacks.
# - the **actor loss**, $-\frac{1}{B} \sum Q(s, \mu(s))$. All rewards are negative. So it first
#   rises from 0 while the critic learns how large the costs are, and falls again when the actor
#   makes them smaller.
# - the **critic loss**: it drops at once, rises again as the values become more negative and the
#   first successes surprise the critic, and then falls slowly. The rise is not a bad sign, because
#   the targets move.

# %% pendulum
agent = make_agent(
    submitted.ActionNormalizer(gym.make("Pendulum-v1")),
    seed=1,
    batch_size=128,
    theta=0.15,
    sigma=0.1,
    initial_random_steps=WARM_UP,
)
live_plot = training.LivePlot()
record = agent.live_plot = Record(live_plot)
begin = time.process_time()
agent.train(PENDULUM)
live_plot.finish()
curves["Pendulum"] = [record.scores]
print(f"{time.process_time() - begin:.0f} seconds of CPU time for {PENDULUM:,} steps")

# %% curve-text [markdown]
# Every dot is an episode of 200 steps, with exploration noise. A good episode costs between 0 and
# 400, depending on its start; an episode that starts near the top costs almost nothing. So the
# curve stays rough even for a good agent. The critic loss is on a logarithmic axis.

# %% curve
record.check()
_, row = plt.subplots(1, 3, figsize=(14, 3.8), layout="constrained", width_ratios=(1.4, 1, 1))
steps = 200 * np.arange(1, len(record.scores) + 1)
means = [np.mean(record.scores[max(0, end - 10) : end]) for end in range(1, len(steps) + 1)]
row[0].plot(steps, record.scores, ".", color=GRAY, label="episodes")
row[0].plot(steps, means, color=BLUE, linewidth=2, label="mean of the last 10")
row[0].axvline(WARM_UP, color="black", linewidth=0.8, linestyle="--")
row[0].annotate("learning begins", (WARM_UP, 100), (4, 0), textcoords="offset points", fontsize=9)
row[0].set(title="scores", xlabel="step", xlim=(0, None), ylim=(-1900, 200))
for axes, name, losses in (
    (row[1], "actor loss", record.actor_losses),
    (row[2], "critic loss", record.critic_losses),
):
    places, averages = training.thinned(losses)
    axes.plot(WARM_UP + places, averages, color=ORANGE, linewidth=1.2)
    axes.set(title=name, xlabel="step", xlim=(0, None))
    axes.xaxis.set_major_locator(MaxNLocator(4))
if record.critic_losses:  # none if the training was interrupted during the random steps
    row[2].set_yscale("log")
for axes in row:
    axes.grid(alpha=0.3)
    axes.ticklabel_format(axis="x", style="plain")
utils.tidy(*row)
plt.show()

# %% film-text [markdown]
# ### Watch the agent
#
# Your `test` plays one episode, and `training.animation` turns its frames into an animation. The
# trained agent swings to one side, then to the other, then up, and stays upright. (If one swing is
# enough, it swings only once.) The arrow around the axle is the torque. The strip shows the first
# half of the episode.

# %% film
agent.env = submitted.ActionNormalizer(gym.make("Pendulum-v1", render_mode="rgb_array"))
agent.env.reset(seed=190)  # after this seed, the episode of `test` starts near the bottom
frames = agent.test()
strip(frames[:100])
training.animation(frames)

# %% learned-text [markdown]
# ### What the agent has learned
#
# A state is an angle and a velocity, so two pictures show what the agent has learned. On the left
# is $Q(s, \mu(s))$, the negative of the expected discounted cost from there on (bright: low cost).
# On the right is the torque, $2 \mu(s)$. The line is a test episode that starts at the circle.
#
# On the left, look for a bright spot in the middle (upright and at rest), and for bright bands that
# lead into it from the upper left and the lower right, where the pendulum moves up at the right
# speed. On the right, the torque is full almost everywhere, one way or the other, with a sharp edge
# in between. Only near the top does it change gradually. At the bottom position (both edges of the
# picture) the torque points in the direction of the velocity, as when you push a swing.

# %% learned
angles, velocities = np.linspace(-np.pi, np.pi, 121), np.linspace(-8, 8, 121)
angle, velocity = np.meshgrid(angles, velocities)
grid = np.stack([np.cos(angle), np.sin(angle), velocity], axis=-1).reshape(-1, 3)
with torch.no_grad():
    looked_at = torch.as_tensor(grid, dtype=torch.float32, device=agent.device)
    actions = agent.actor(looked_at)
    values = agent.critic(looked_at, actions).cpu().numpy().reshape(angle.shape)
torques = 2 * actions.cpu().numpy().reshape(angle.shape)

stage = submitted.ActionNormalizer(gym.make("Pendulum-v1"))
agent.is_test = True
state, _ = stage.reset(seed=93)  # near the bottom
path = [state]
for _ in range(199):
    state, _, _, _, _ = stage.step(agent.select_action(state))
    path.append(state)
path = np.array(path)
path_angle, path_velocity = np.arctan2(path[:, 1], path[:, 0]), path[:, 2].copy()
jumps = np.flatnonzero(np.abs(np.diff(path_angle)) > np.pi) + 1
path_angle, path_velocity = (
    np.insert(path_angle, jumps, np.nan),
    np.insert(path_velocity, jumps, np.nan),
)

_, both = plt.subplots(1, 2, figsize=(13, 4.6), layout="constrained", sharey=True)
for axes, picture, cmap, limits, title in (
    (both[0], values, "viridis", {}, "Q(s, μ(s))"),
    (both[1], torques, "RdBu_r", {"vmin": -2, "vmax": 2}, "torque, 2 μ(s)"),
):
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
# ### What the faults cost
#
# The eight exercises showed faults of the course text. How much do they matter? On the pendulum,
# less than you may think. Many faults do not show there, so **a rising learning curve proves
# little**. The pendulum is symmetric, which hides noise that pushes to one side only. A trained
# agent already holds the pendulum upright at the time limit, which hides a time limit stored as
# termination. The agent has one action dimension and one environment, which hides wrong shapes and
# a wrong `env`.
#
# We measured this with 20,000 steps, the noise of the course text (θ = 1, σ = 0.1), and three
# seeds for each fault:
#
# - With uniform noise, or the time limit stored as termination, or random steps in the wrong units,
#   the agent ends with a mean of -155 to -160 over 100 episodes. These three faults together (and
#   noise that is never reset, which makes no difference at θ = 1) give nearly the same: -160. So
#   does the correct agent: -157 on average over ten seeds.
# - Two faults can slow learning down. The correct agent reaches a mean of -200 after 5,000 to 7,000
#   steps. With the time limit stored as termination, one of three agents needed 11,000; with the
#   fixed seed of the later version, two of three needed 9,000 and 13,000. With the fixed seed and
#   the other faults together, one of three agents did not reach -200 and ended with -235.

# %% save-text [markdown]
# ## 14 · Submitting your pendulum
#
# You may also submit the trained actor, as the file `actor.safetensors` next to `submitted.py`. It
# earns no points. The grader plays twenty episodes with fixed seeds, without noise and without
# your code. It puts the mean of the scores minus their standard deviation on the leaderboard.
#
# A single episode says little, because scores depend strongly on the start (the course text judges
# by a single episode). To compare agents fairly, play the same ten episodes (the same ten seeds)
# with each of them. A mean of -200 or above is good.

# %% save
trained_actor.save_actor("actor.safetensors", agent.actor)
with open("actor.safetensors", "rb") as file:
    scores = trained_actor.evaluate(trained_actor.load_actor(file.read()))
print("scores with the seeds 0 to 9:", *(f"{score:.0f}" for score in scores))
mean, spread = np.mean(scores), np.std(scores)
print(f"{mean:.0f} ± {spread:.0f}, mean minus standard deviation: {mean - spread:.0f}")

# %% next-text [markdown]
# ## What comes after DDPG
#
# The actor climbs the critic, including the critic's errors. Where the critic overestimates the
# value of an action, the actor moves toward that action. The target contains the value of the
# actor's action, so the error enters the target: values are **overestimated**. Two later algorithms
# address this, and most of your code stays the same.
#
# - **TD3** (Fujimoto et al. 2018, "Addressing function approximation error in actor-critic
#   methods", arXiv 1802.09477): the target uses the smaller value of two critics; noise is added
#   to the target action, so a narrow peak of the critic counts less; and the actor and the target
#   networks are updated only at every second update of the critics.
# - **SAC** (Haarnoja et al. 2018, "Soft actor-critic", arXiv 1801.01290) also uses the smaller
#   value of two critics. Its policy is stochastic, and the entropy of the policy is added to the
#   reward. The agent explores by sampling from its policy, so it needs no separate noise process.
#
# Optional experiments:
#
# - White noise with the same variance, $\theta = 1$ with $\sigma = 0.19$, on the pendulum. Does the
#   correlation of the noise matter?
# - $\tau = 1$: target networks equal to the networks. Try it on `PointMass`, then on the pendulum.
# - Training on the pendulum with one of the eight faults, and three seeds. A single seed says
#   little.
# - The second critic of TD3. It takes about ten lines.
#
# Then run `python grade.py` one last time and submit `submitted.py`, and `actor.safetensors` if you
# like.

# %% end
for name, seeds in curves.items():
    begin, end = (
        np.mean([np.mean(values[part]) for values in seeds])
        for part in (slice(0, 5), slice(-5, None))
    )
    print(f"{name:14} first five episodes: {begin:8.2f}   last five: {end:8.2f}")
