# Source of assignments/recurrent_a2c/notebook.ipynb; `python -m grader build` makes the notebook.
# Figures about whole runs come from benchmarks/results/recurrent_a2c_training.json. The tests execute
# the notebook (tests/kit/test_notebook.py) and read `curves` and `probes` after the last cell.

# %% title [markdown]
# # Advantage actor-critic with memory: kung fu
#
# In this assignment you write an agent that sees one small gray frame at a time and must remember
# everything else. Its network has convolutions, an LSTM cell, a policy head and a value head. You
# train it with advantage actor-critic (A2C) on sixteen games in parallel. It learns to play
# KungFuMaster, a game for the Atari 2600.
#
# In **`submitted.py`**, you write the network's `forward` and fill in four blanks of
# `train_on_rollout`. This is not much code. But two things often go wrong, and neither raises an
# error: the boundary between one game and the next, and shapes that broadcast by accident.
# Most cells here are about these two. The files `atari_util.py`, `env_pool.py`, `training.py` and
# `trained_agent.py` are provided. They are short: read them, but do not change them.
#
# > **How to work**
# >
# > - Save `submitted.py` and run the cell again. You need not restart the kernel: once `%load_ext
# >   grader` has run, each cell uses the saved file. If the file cannot be loaded, for example
# >   because of a syntax error, a message says so, and the cells use the previous version. If you
# >   do restart the kernel, run the cells above again (Run > Run All Above Selected Cell): a new
# >   kernel knows nothing of them.
# > - Run `python grade.py --watch` in a terminal beside this notebook. It grades every save, and
# >   often gives a hint when it recognizes the mistake. The cells here show what your code does;
# >   `grade.py` says whether it is right.
# > - `%grade QUESTION` in a cell grades `submitted.py` as you saved it, and shows the result below
# >   the cell. `%grade` alone grades all questions. QUESTION is a name from the report, such as
# >   `SimpleRecurrentAgent.forward`.
# > - You can also write your function (for a method, its whole class) in a cell that begins with
# >   `%%grade QUESTION`, together with its imports. The cell is run, and its function is graded.
# >   From then on, `%grade` grades the version that you changed last: the one in the cell after you
# >   run the cell, the one in `submitted.py` after you save the file. To return to the file without
# >   changing it, delete the cell's version with `del NAME`, or use `%grade QUESTION --file` for a
# >   single call.
# > - A cell that calls something you have not written yet stops with a `NotImplementedError` that
# >   says what to write.
# > - You may also define everything in a notebook and submit that notebook.
# >   `python grade.py --submission notebook.ipynb` grades that notebook. In that case, remove
# >   `submitted.` from the cells below.
#
# The package `ale-py` contains the game, and `opencv` resizes its frames:
#
# ```
# pip install ale-py opencv-python-headless
# ```
#
# Without these packages, cells that need the game print a message and do nothing else. You can
# still write and try all of your code. With the settings below, the whole notebook takes about four
# minutes on one core. Scores and curves differ from machine to machine.

# %% setup
# %load_ext grader

import itertools
import os
import time

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import torch
from IPython.display import Image, clear_output, display
from matplotlib.patches import Rectangle
from torch import nn

import submitted
import utils
from env_pool import EnvPool

torch.set_num_threads(1)  # the networks are small: more threads would only wait for each other

SKIPPED = (
    "Skipped, because the game is not installed here: pip install ale-py opencv-python-headless"
)
try:
    import ale_py
    import cv2  # noqa: F401
    from PIL import Image as Picture

    import trained_agent
    import training
    from atari_util import make_env

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)  # no banner at the start
    ATARI = True
except ImportError as missing:
    ATARI = False
    print(missing, SKIPPED, sep="\n")

# %% settings
# True: 1.5 million actions of kung fu (half an hour on one core), and more seeds in section 8
LONG = False

UPDATES, EVERY = (6000, 100) if LONG else (300, 25)
MEMORY_SEEDS, MEMORY_UPDATES = (5, 400) if LONG else (2, 300)
WRONG_UPDATES = MEMORY_UPDATES  # for the two wrong settings in section 8
TEST_SEEDS = range(20)
FILM = 300

if os.environ.get("NOTEBOOK_BUDGET") == "short":  # for automatic tests: a few seconds per run
    UPDATES, EVERY = 6, 3
    MEMORY_SEEDS, MEMORY_UPDATES, WRONG_UPDATES = 1, 190, 60
    TEST_SEEDS = range(3)
    FILM = 90

# %% game-text [markdown]
# ## 1 · The game
#
# A man in white walks to the left through a temple, and enemies attack him from both sides. He can
# walk, jump, crouch, punch and kick. There are 14 actions, combinations of a joystick and one
# button. Each enemy is worth 100 points or more. The player has four lives, and a life ends when
# the bar next to PLAYER is empty. The game runs at 60 frames per second, and an action lasts four
# frames. So that no agent can memorize a sequence of actions, actions are **sticky**: in each
# frame, with probability 1/4, the game continues with the previous action.
#
# `atari_util.make_env()` returns the game as the agent sees it: the part inside the dashed line in
# the picture below, in gray, 42 × 42 pixels, with values from 0 to 1. Scores and bars are cropped
# out. The cell plays 100 random actions and shows the screen (left) and what the agent sees (right).

# %% game
if ATARI:
    env = make_env(render_mode="rgb_array")
    observation, _ = env.reset(seed=0)
    random = np.random.default_rng(0)
    seen = [observation]
    for _ in range(100):
        observation, _, _, _, _ = env.step(int(random.integers(14)))
        seen.append(observation)
    lowest, highest = observation.min(), observation.max()
    print(
        f"observation: {env.observation_space.shape} {observation.dtype} from {lowest:.2f} "
        f"to {highest:.2f}"
    )
    meanings = env.unwrapped.get_action_meanings()
    print("actions:    ", *meanings[:7])
    print("            ", *meanings[7:])

    _, both = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
    both[0].imshow(env.render(), aspect=0.8)
    both[0].add_patch(
        Rectangle(
            (14.5, 59.5), 145, 120, fill=False, edgecolor="white", linestyle="--", linewidth=1.5
        )
    )
    both[0].set_title("the game, 210 × 160 in color")
    both[1].imshow(observation[0], cmap="gray", vmin=0, vmax=1)
    both[1].set_title("what the agent sees, 42 × 42")
    for axes in both:
        axes.axis("off")
    plt.show()
    env.close()
else:
    print(SKIPPED)

# %% movement-text [markdown]
# ### Why one frame is not enough
#
# Look at the picture on the right. Is the man going up or coming down? Who walks in which
# direction, and how fast? When did the last enemy appear, so when will the next one come? A single
# frame does not show this; the *history* does. Such a problem is called a **partially observable**
# Markov decision process (POMDP): what happens next depends on a state of which the agent observes
# only a part.
#
# One solution is to stack the last four observations. A stack shows velocities, but nothing older
# than about a quarter of a second. The other solution is a **recurrent** network. It gets one frame
# and its own memory of everything before, so it can learn what to keep.
#
# The cell shows the last four observations, and the change from the third to the fourth: red pixels
# have become lighter, blue ones darker. You see motion only in the last picture, not in any single
# frame.

# %% movement
if ATARI:
    _, row = plt.subplots(1, 5, figsize=(13, 2.9), layout="constrained")
    for number, axes in enumerate(row[:4]):
        axes.imshow(seen[number - 4][0], cmap="gray", vmin=0, vmax=1)
        axes.set_title(f"t - {3 - number}" if number < 3 else "t")
    row[4].imshow(seen[-1][0] - seen[-2][0], cmap="RdBu_r", vmin=-0.6, vmax=0.6)
    row[4].set_title("frame t minus frame t - 1")
    for axes in row:
        axes.axis("off")
    plt.show()
else:
    print(SKIPPED)

# %% forward-text [markdown]
# ## 2 · The network
#
# `__init__` already creates the layers. A frame of 42 × 42 pixels goes through three convolutions
# with stride 2, which return $32 \cdot 4 \cdot 4 = 512$ numbers. These go through the linear layer
# `hid` into the LSTM cell. Its memory has two parts, $h$ and $c$, with 128 numbers each. The two
# heads use the *new* $h$:
#
# $$x_t = \text{hid}(\text{conv}_2(\text{conv}_1(\text{conv}_0(s_t)))) \qquad
#   (h_t, c_t) = \text{LSTM}(x_t, (h_{t-1}, c_{t-1})) \qquad
#   \pi(\cdot \mid h_t),\ V(h_t)$$
#
# An activation function follows each convolution and `hid`. Without it, two linear layers in a row
# can compute only what a single linear layer can.
#
# Policy and value share all layers below the heads. So the actor can use features that the critic
# has learned. The disadvantage is that their gradients can interfere with each other.
#
# **Write `SimpleRecurrentAgent.forward(prev_state, obs_t)`.** The value is `[B]`, one number for
# each game. The linear layer returns `[B, 1]`. That is also accepted, but then `train_on_rollout`
# must use `[:, 0]` of it. Section 5 shows why.
#
# The cell prints logits and values of a new network. In case of trouble, check these first: are
# they finite and of moderate size? At first, logits are small, so the policy is nearly uniform
# (left). Note that five different frames have nearly the same value; section 9 comes back to that.
# Then the network gets the same frame twenty times (right). If the memory is passed on, the value
# changes, because the memory changes from step to step. With an empty memory each time, the value
# must stay constant.

# %% forward
torch.manual_seed(0)
n_actions = 14
agent = submitted.SimpleRecurrentAgent((1, 42, 42), n_actions)
pictures = (
    np.stack(seen[-5:])
    if ATARI
    else np.random.default_rng(0).random((5, 1, 42, 42), dtype=np.float32)
)

empty = agent.get_initial_state(5)
(h, c), (logits, values) = agent.step(empty, pictures)
print("memory  found", list(h.shape), list(c.shape), "expected [5, 128] [5, 128]")
print(
    "logits  found",
    list(logits.shape),
    "expected [5, 14];  smallest and largest:",
    f"{logits.min():.3f} {logits.max():.3f}",
)
print(
    "values  found",
    list(values.shape),
    "expected [5] or [5, 1];",
    np.round(values.flatten().numpy(), 3),
)

memory = agent.get_initial_state(1)
remembering, forgetting = [], []
for _ in range(20):
    forgetting.append(agent.step(agent.get_initial_state(1), pictures[-1:])[1][1].item())
    memory, (_, value) = agent.step(memory, pictures[-1:])
    remembering.append(value.item())

_, both = plt.subplots(1, 2, figsize=(11, 3.2), layout="constrained")
both[0].bar(range(14), logits[-1].softmax(dim=-1).numpy(), color="#0072b2")
both[0].axhline(1 / 14, color="black", linestyle=":", label="1 / 14")
both[0].set(
    xlabel="action",
    ylabel="probability",
    title="the policy of a fresh network",
    ylim=(0, 0.11),
    xticks=range(14),
)
both[1].plot(remembering, ".-", color="#0072b2", label="memory passed on")
both[1].plot(forgetting, ".-", color="#d55e00", label="memory empty each time")
both[1].set(
    xlabel="step with the same frame",
    ylabel="V",
    title="the value with and without memory",
    xticks=range(0, 20, 5),
)
for axes in both:
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
plt.show()

# %% watch-text [markdown]
# ### Watch it play
#
# `training.record` plays a game and writes its frames to a GIF file; it needs no display. The agent
# is not trained yet, so its actions are almost random. In 20 games, the mean score of an untrained
# network was 545.
#
# Below the animation, the cell shows six of its frames.

# %% watch


def film(player, path):
    """Record a game and show it, with six of its frames."""
    score = training.record(player, path, seed=0, max_steps=FILM)
    display(Image(filename=path))
    _, row = plt.subplots(1, 6, figsize=(13, 3.0), layout="constrained")
    with Picture.open(path) as pictures:
        shown, seconds = [], 0.0  # equal frames are stored once, with a longer duration
        for number in range(pictures.n_frames):
            pictures.seek(number)
            shown.append((seconds, pictures.convert("RGB")))
            seconds += pictures.info["duration"] / 1000
    for number, axes in enumerate(row):
        _, picture = [pair for pair in shown if pair[0] <= seconds * number / 5][-1]
        axes.imshow(picture, aspect=0.8)
        axes.set_title(f"after {seconds * number / 5:.0f} s", fontsize=10)
        axes.axis("off")
    plt.show()
    print(f"score after {seconds:.0f} seconds: {score:.0f}")


if ATARI:
    film(agent, "untrained.gif")
else:
    print(SKIPPED)

# %% watch-grade
# %grade playing

# %% pool-text [markdown]
# ## 3 · Rollouts of many games
#
# Consecutive frames are similar, so a gradient from a single game is based on a single situation.
# `EnvPool` (provided) plays $B$ games in parallel, with one call of the network for all of them.
# `pool.interact(T)` continues where the last call stopped and returns a **rollout**: one row for
# each of the $B$ games, with $T$ columns. The first column need not be the start of a game, and the
# last column need not be its end.
#
# Column $t$ contains the observation $s_t$, the action $a_t$ taken there, and its reward $r_t$. In
# the **last column**, use only the observation, whose value you need, and the mask (see below). No
# action was taken there; its action and reward are placeholders. So $T$ columns have $L = T - 1$
# actions.
#
# A rollout usually starts in the middle of games, where the memory is not empty. So store
# `pool.prev_memory_states` *before* you call `interact`. Training then starts with the same memory
# as the agent that played.

# %% pool
if ATARI:
    pool = EnvPool(agent, training.training_env, 5, seed=0)
    memory = pool.prev_memory_states
    rollout = pool.interact(10)
    for name, array in zip(
        ("observations", "actions", "rewards", "is_not_done"), rollout, strict=True
    ):
        print(f"{name:13}{array.shape!s:20}{array.dtype}")
    print(f"{'memory':13}{[tuple(part.shape) for part in memory]}")
else:
    print(SKIPPED)

# %% ends-text [markdown]
# ### Where a game ends
#
# Games end in the middle of rollouts, in a different column for each row. The mask `is_not_done`
# marks these columns. A toy example shows how. In `Toy`, a game lasts three steps, and the reward
# of the third step is 8. The observation counts the actions. The memory of the agent `Counter`
# counts the observations that it has already seen in this game. The cell shows eight columns of one
# row of the pool. A2 is the observation of game A after two actions.
#
# Look at column 3. Game A is over: the action in column 2 earned its last reward. Column 3 contains
# the final observation of game A, and the pool uses this *tick* (one step of all games) to reset
# the game. The agent still chooses an action, but this action is **not executed**, and its reward is
# 0. This is a *dead tick*, and here the mask is 0. Game B starts in column 4.
#
# This has three consequences. They are the most important part of this assignment.
#
# - **Cut the return:** leave out all rewards and values from after the end of the game. The action
#   in column 2 ended the game, so it did not cause the rewards of game B. With $\gamma = 0.5$ and a
#   critic whose values are all 0, the return of column 2 is 8. Without the cut, the return is 8.5,
#   because it also contains rewards of later games. Then dying looks no worse than living on,
#   because the next game always follows.
# - **Reset the memory.** In column 4 a game starts, and the pool gave the agent an empty memory. If
#   your function carries the memory of game A over into game B, it computes $\log \pi$ and $V$ for
#   a memory that the agent did not have when it played. See the row "memory": it is 0 in column 4.
# - **Do not train on the dead tick.** Its action was never executed, so changing its probability
#   means learning from noise. And the critic would learn that a new game follows the final
#   observation.
#
# In the last column, the mask is 0 if the observation is the final one of its game, such as B3
# here. No reward follows it, so do not use its value either. (The next rollout starts with the same
# observation, again with mask 0.)
#
# This assignment follows the course *Practical RL* (YSDA and HSE), week 8. The course passes the
# mask to the function but does not explain it. We read 18 public solutions; none of them uses the
# mask.

# %% ends


class Toy(gym.Env):
    """A game of three steps; the last has reward 8. Observation: (number of the game, steps)."""

    observation_space = gym.spaces.Box(0, 100, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)
    game = -1

    def reset(self, *, seed=None, **_options):
        super().reset(seed=seed)
        self.game, self.steps = self.game + 1, 0
        return np.array([self.game, 0], np.float32), {}

    def step(self, _action):
        self.steps += 1
        return (
            np.array([self.game, self.steps], np.float32),
            8.0 * (self.steps == 3),
            self.steps == 3,
            False,
            {},
        )


class Counter:
    """Counts the observations that it has seen, and always takes action 1."""

    def get_initial_state(self, batch_size):
        return torch.zeros(batch_size, 1), torch.zeros(batch_size, 1)

    def step(self, prev_state, observations):
        remembered.append(int(prev_state[0][0, 0]))
        return tuple(part + 1 for part in prev_state), len(observations)

    def sample_actions(self, batch_size):
        return np.ones(batch_size, np.int64)


remembered = []  # memory of the first row before each tick
pool = EnvPool(Counter(), Toy, 1)
observations, actions, rewards, is_not_done = pool.interact(8)
remembered.append(int(pool.prev_memory_states[0][0, 0]))

rows = {
    "observation": [f"{'ABC'[int(game)]}{int(steps)}" for game, steps in observations[0]],
    "action": ["1", "1", "1", "not executed", "1", "1", "1", "none yet"],
    "reward": [f"{reward:g}" for reward in rewards[0]],
    "is_not_done": [str(int(alive)) for alive in is_not_done[0]],
    "memory": [str(number) for number in remembered],
    "return, γ = 0.5": ["2", "4", "8", "-", "2", "4", "8", "-"],
    "without cuts": ["2.125", "4.25", "8.5", "1", "2", "4", "8", "-"],
}
_, axes = plt.subplots(figsize=(11, 3.1), layout="constrained")
table = axes.table(
    [list(row) for row in rows.values()],
    rowLabels=list(rows),
    colLabels=[f"column {t}" for t in range(8)],
    cellLoc="center",
    loc="center",
    bbox=(0, 0, 1, 1),
)
table.auto_set_font_size(False)
table.set_fontsize(10)
for (line, column), cell in table.get_celld().items():
    cell.set_edgecolor("#bbbbbb")
    if line == 0 or column == -1:
        cell.set_facecolor("#f0f0f0")
    elif not is_not_done[0, column]:
        cell.set_facecolor("#f7d9c4" if column < 7 else "#fbeee4")
    elif column >= 4:
        cell.set_facecolor("#dcebf5")
    if line == 7 and column >= 0:
        cell.get_text().set_color("#c00000")
axes.axis("off")
plt.show()

# %% objective-text [markdown]
# ## 4 · The loss
#
# The loss has three terms. Each is a mean over the $B$ games and over columns; the formulas below
# are for one game.
#
# **The policy.** We want to maximize rewards, but we cannot differentiate through the game. The
# policy gradient makes an action more likely in proportion to its **advantage**, which says how
# much better than expected the action turned out. PyTorch computes gradients, so we write an
# expression that has this gradient:
#
# $$\hat J = \frac{1}{L} \sum_{t < L} \log \pi(a_t \mid h_t) \cdot A_t \qquad A_t = G_t - V(h_t)$$
#
# The value of $\hat J$ itself has no meaning; only its gradient matters. And the gradient is
# correct only if $A_t$ is a **constant**, so use `.detach()`. Otherwise the gradient would also
# change the values, in whichever direction increases the product.
#
# The return $G_t$ uses the rewards up to the end of the rollout, and the critic's value for
# everything after it:
#
# $$G_t = r_t + \gamma G_{t+1} \qquad G_L = V(h_L)$$
#
# So column 0 uses $L$ rewards, and column $L - 1$ uses one. This is the **n-step** advantage with
# the largest $n$ that the rollout allows. With more rewards, the estimate depends less on a critic
# that has not learned much yet, but its variance is higher.
#
# **The value.** The target of each value is the reward plus $\gamma$ times the critic's own value
# one step later. The target gets no gradient. (This is one-step temporal-difference learning,
# TD(0).)
#
# $$L_\text{value} = \frac{1}{L} \sum_{t < L} \left(r_t + \gamma V(h_{t+1}) - V(h_t)\right)^2$$
#
# Many implementations use $G_t$ as the target; the grader accepts both.
#
# **The entropy.** A policy that is almost deterministic does not try other actions, so it cannot
# find out whether they are better. A small bonus for the entropy $H$ of the policy keeps it
# exploring:
#
# $$H = \frac{1}{T} \sum_{t < T} \left(-\sum_a \pi(a \mid h_t) \log \pi(a \mid h_t)\right)$$
#
# With 14 actions, the entropy is at most $\log 14 = 2.64$. Together,
#
# $$\text{loss} = -\hat J + L_\text{value} - 0.01\, H$$
#
# **At the end of a game**, no reward follows the last one, so $V(h_{t+1})$ and $G_{t+1}$ are 0
# there. The dead tick counts as 0 in $\hat J$ and $L_\text{value}$. You need no `if` for this:
# multiply by the mask.

# %% trap-text [markdown]
# ## 5 · The trap: B × B
#
# Before you write the loss: what is `[B]` minus `[B, 1]`? PyTorch raises no error. It
# **broadcasts** both to `[B, B]` and subtracts *every* value from *every* return. The mean of the
# result is a scalar, as a loss should be, so you get no error message.
#
# In the cell, four games have the returns 1, 2, 3, 4, and the critic predicts them exactly. The
# correct loss is 0. The wrong loss also compares the value of game 0 with the return of game 3.

# %% trap
G = torch.tensor([1.0, 2.0, 3.0, 4.0])
knows = torch.tensor([[1.0], [2.0], [3.0], [4.0]])  # [B, 1], as a linear layer returns it
right, wrong = G - knows[:, 0], G - knows
print(f"right: {list(right.shape)}, loss {right.square().mean():.2f}")
print(f"wrong: {list(wrong.shape)}, loss {wrong.square().mean():.2f}")
same = torch.full((4, 1), 2.5)
right_of_same, wrong_of_same = (G - same[:, 0]).square().mean(), (G - same).square().mean()
print(
    f"\na critic that predicts 2.5 for every game: right loss {right_of_same:.2f}, wrong loss "
    f"{wrong_of_same:.2f}"
)

_, both = plt.subplots(1, 2, figsize=(6.4, 3.5), layout="constrained", width_ratios=(1, 4))
for axes, errors, title in (
    (both[0], right[:, None], "right: [4]"),
    (both[1], wrong, "wrong: [4, 4]"),
):
    axes.imshow(errors, cmap="RdBu_r", vmin=-4.5, vmax=4.5)
    for (line, column), error in np.ndenumerate(errors.numpy()):
        axes.text(column, line, f"{error:g}", ha="center", va="center", fontsize=12)
    axes.set(title=title, ylabel="value of game", yticks=range(4), xticks=range(errors.shape[1]))
both[1].set_xlabel("return of game")
both[0].set_xticks([])
plt.show()

# %% trap-seen [markdown]
# The wrong loss is smallest for a critic that always predicts 2.5, the mean return of the four
# games. For the critic that predicts everything exactly, the wrong loss is larger. And the wrong
# loss falls during training, so its curve looks like learning.
#
# Advantages have the same problem: if they are `[B, B]`, entry $(i, j)$ is $G_j - V_i$. The loss is
# a mean over $i$, so it subtracts the mean value of all games in place of the value of the action's
# own game: all actions of a column get the same baseline, whatever their states.
#
# Section 3 mentions 18 public solutions: 17 of them make this mistake. The cause is that the
# network returns values of shape `[B, 1]`. The cell in section 2 printed the shape of your values.
# It should be `[B]`; `[B, 1]` is correct only if your loss uses `[:, 0]`. Section 7 tests your
# loss.

# %% write-text [markdown]
# ## 6 · Your training step
#
# **Fill in the four blanks of `train_on_rollout`**:
#
# 1. The pass through the rollout: call the agent on column $t$, append logits and values, and pass
#    the memory on. Reset the memory where a game has ended. (Each row has its own ends, so multiply
#    by the mask of the column, `[B]`, reshaped to broadcast with `[B, 128]`.)
# 2. The policy and value terms, from the last column back to the first, each a mean over games.
#    (The provided code divides by $L$ later.) These lines also handle the ends of games.
# 3. The entropy.
# 4. One step of `opt`. Clear the gradients of earlier steps first.
#
# Your function uses the names `agent`, `opt` and `n_actions` of `submitted.py`. So the cells below
# can assign other agents to these names, for example `Table`, whose logits and values come from a
# table. `once` calls your function with plain gradient descent and a learning rate of 1. So the
# change of each parameter *is* minus its gradient. We call this change a **push**.
#
# First an example by hand: one game, one transition, two equally likely actions. With $r = 1$,
# $\gamma = 0.5$, $V(h_0) = 1$ and $V(h_1) = 4$,
#
# $$G_0 = 1 + 0.5 \cdot 4 = 3 \qquad A_0 = 3 - 1 = 2 \qquad
#   \text{loss} = -\log 0.5 \cdot 2 + 2^2 - 0.01 \log 2 = 5.379$$
#
# The push on the value $V(h_0)$ is $2 \cdot 2 = 4$. The push on $V(h_1)$ is 0, because it is a
# constant. The push on the logit of the action that was taken is $A_0 (1 - \pi) = 1$, and the push
# on the other logit is -1.

# %% by-hand
probe = submitted.SimpleRecurrentAgent((1, 42, 42), n_actions=14)
_, (_, values) = probe.step(probe.get_initial_state(1), np.zeros((1, 1, 42, 42)))
COLUMN = values.ndim == 2  # your network returns values as [B, 1]; then the agents below do, too


class SmallAgent(utils.SmallRecurrentAgent):
    """An agent with a small memory; its values have the same shape as those of your network."""

    def forward(self, prev_state, obs_t):
        state, (logits, values) = super().forward(prev_state, obs_t)
        return state, (logits, values[:, None] if COLUMN else values)


class Table(nn.Module):
    """Looks up logits [B, T, A] and values [B, T]; its memory counts columns.

    `given` lists the memory that it received.
    """

    def __init__(self, logits, values):
        super().__init__()
        self.logits = nn.Parameter(torch.as_tensor(logits, dtype=torch.float32))
        self.values = nn.Parameter(torch.as_tensor(values, dtype=torch.float32))

    def get_initial_state(self, batch_size):
        return torch.zeros(batch_size, 1), torch.zeros(batch_size, 1)

    def forward(self, prev_state, obs_t):
        t = int(obs_t[0, 0])  # the observation is the number of the column
        self.given = [] if t == 0 else self.given
        self.given.append([int(number) for number in prev_state[0][:, 0]])
        values = self.values[:, t, None] if COLUMN else self.values[:, t]
        return tuple(part + 1 for part in prev_state), (self.logits[:, t], values)


def once(player, rewards, actions=None, is_not_done=None, states=None, gamma=0.5, optimizer=None):
    """Return (loss, push on each parameter) of a call of your function; restore the agent."""
    rewards = np.asarray(rewards, np.float32)
    games, columns = rewards.shape
    states = (
        np.tile(np.arange(columns, dtype=np.float32)[:, None], (games, 1, 1))
        if states is None
        else states
    )
    actions = np.zeros((games, columns), np.int64) if actions is None else actions
    is_not_done = (
        np.ones((games, columns), bool) if is_not_done is None else np.asarray(is_not_done, bool)
    )
    before = {name: parameter.detach().clone() for name, parameter in player.named_parameters()}
    submitted.agent = player
    submitted.n_actions = (
        player.logits.shape[-1] if isinstance(player, Table) else player.logits.out_features
    )
    submitted.opt = optimizer or torch.optim.SGD(player.parameters(), lr=1.0)
    memory = player.get_initial_state(games)
    loss = submitted.train_on_rollout(states, actions, rewards, is_not_done, memory, gamma=gamma)
    pushes = {
        name: parameter.detach() - before[name] for name, parameter in player.named_parameters()
    }
    player.load_state_dict(before)
    return float(loss), pushes


loss, pushes = once(Table(np.zeros((1, 2, 2)), [[1.0, 4.0]]), rewards=[[1.0, 0.0]])
print(f"loss                 found {loss:.3f}, expected 5.379")
print(
    "pushes on values     found",
    np.round(pushes["values"].numpy(), 3).tolist(),
    "expected [[4.0, 0.0]]",
)
print(
    "pushes on logits     found",
    np.round(pushes["logits"][0, 0].numpy(), 3).tolist(),
    "expected [1.0, -1.0]",
)

# %% pushes-text [markdown]
# ### The toy game again
#
# Now take the rollout of section 3 with its mask: the dead tick is in column 3, and a final
# observation is in column 7. The critic's value is 6 in every column, both actions are equally
# likely, and action 1 was taken everywhere. For each column, the cell plots the memory that your
# function passed to the agent, the push on the logit of the action, and the push on the value.
# Circles show the expected result. In the last picture, squares show the expected result with the
# n-step return as the target.
#
# In columns 3 and 7, all pushes must be 0. The advantages of the other columns are 2 - 6, 4 - 6 and
# 8 - 6, twice.

# %% pushes
mask = [[1, 1, 1, 0, 1, 1, 1, 0]]
game = Table(np.zeros((1, 8, 2)), np.full((1, 8), 6.0))
_, pushes = once(game, [[0, 0, 8, 0, 0, 0, 8, 0]], np.ones((1, 8), np.int64), mask)
expected = {
    "memory given": [0, 1, 2, 3, 0, 1, 2, 3],
    "push on the action": [-2 / 7, -1 / 7, 1 / 7, 0, -2 / 7, -1 / 7, 1 / 7, 0],
    "push on the value": [-6 / 7, -6 / 7, 4 / 7, 0, -6 / 7, -6 / 7, 4 / 7, 0],
}
found = [[line[0] for line in game.given], pushes["logits"][0, :, 1], pushes["values"][0]]

figure, row = plt.subplots(1, 3, figsize=(13, 3.0), layout="constrained")
for axes, (title, right), yours in zip(row, expected.items(), found, strict=True):
    axes.axvspan(2.5, 3.5, color="#f7d9c4", linewidth=0)
    axes.axvspan(6.5, 7.5, color="#fbeee4", linewidth=0)
    axes.bar(range(8), np.asarray(yours), color="#8fc1e3", label="yours")
    axes.plot(right, "o", color="black", fillstyle="none", markersize=9, label="expected")
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set(title=title, xlabel="column", xticks=range(8), xlim=(-0.6, 7.6))
    axes.spines[["top", "right"]].set_visible(False)
n_step = [-8 / 7, -4 / 7, 4 / 7, 0, -8 / 7, -4 / 7, 4 / 7, 0]
row[2].plot(n_step, "s", color="black", fillstyle="none", markersize=5, label="n-step target")
figure.legend(*row[2].get_legend_handles_labels(), frameon=False, loc="outside right center")
plt.show()

# %% pushes-grade
# %grade one_update

# %% probes-text [markdown]
# ## 7 · Before any long training: probes
#
# When an agent does not learn in half an hour, the learning curve does not show why. So first we
# run **probes**: small tests whose correct result is known. They form a ladder and take about a
# second together. The discount factor is 0.5 everywhere. The first rung that fails shows where to
# look.
#
# | rung | what is measured | expected |
# | --- | --- | --- |
# | entropy | the loss if rewards and values are 0 and all 14 logits are equal | $-0.01 \log 14 = -0.0264$ |
# | value | the loss if only one action exists (so the other terms are 0), $r = 1$, $V = 1, 4$ | $(1 + 0.5 \cdot 4 - 1)^2 = 4$ |
# | constants | the push on each value with $r = 1, 0$ and $V = 1, 1, 2$; only the first value is wrong, by 0.5 | 0.5, 0, 0 |
# | discount | the ratios of the pushes on three actions, with a reward of 1 in the third column | 0.25, 0.5, 1 |
# | side by side | the loss of three games together, minus the mean of the three losses of single games | 0 |
# | others' luck | the change of pushes in games 1 and 2 if the reward of game 0 rises by 100 | 0 |
# | next game | the change of pushes before an end if rewards and values after it rise by 100 | 0 |
# | dead tick | the change of loss and pushes if the dead tick has another action; the push on its value | 0 and 0 |
# | last frame | the last column has mask 0: the change of loss and pushes if its $V$ rises by 100 | 0 |
# | two halves | the value loss summed over a rollout, minus the sums over its halves; all games end where it is split | 0 |
# | one step | the number of optimizer steps; the change of loss and pushes in a repeated call (leftover gradients) | 1 and 0 |
# | network | with your network: the same difference as in "side by side"; does the gradient reach `conv0`? | 0 and 1 (yes) |
#
# If the first rung that fails is
#
# - **entropy**: a sign is wrong, or a mean is over the wrong axis. Sum over actions, and take the
#   mean over games and columns. If you see $-0.0019$, you also take the mean over actions.
# - **value**: a square is missing, or the discount is in the wrong place.
# - **constants**: $V(h_{t+1})$ and the advantage need a `.detach()`.
# - **discount**: does each column use the return of the column *after* it? Do you go from the last
#   column to the first?
# - **side by side**: a shape is `[B, B]`, or you sum over games instead of taking the mean.
#   **others' luck**: a shape is `[B, B]`. Print the shapes.
# - **next game** or **last frame**: something crosses the end of a game. Which two terms come from
#   the next column?
# - **dead tick**: it still counts in $\hat J$ (first number) or in $L_\text{value}$ (second
#   number).
# - **two halves**: all rungs about returns passed, so look at the memory. Do you reset it *after*
#   the dead tick?
# - **one step**: do you call `zero_grad`? Do you call `step` once?
# - **network**: if the first number is wrong, does `forward` mix games, or does `squeeze()` also
#   drop the batch axis when B = 1? If the second number is wrong, is something detached that should
#   not be?

# %% probes


def difference(one, other, keep=slice(None)):
    """Return the largest difference of two calls' pushes; without `keep`, also of their losses."""
    largest = max((one[1][name][keep] - other[1][name][keep]).abs().max().item() for name in one[1])
    return largest if keep != slice(None) else max(largest, abs(one[0] - other[0]))


class CountingSGD(torch.optim.SGD):
    """Plain gradient descent that counts its steps."""

    steps = 0

    def step(self, closure=None):
        self.steps += 1
        return super().step(closure)


def random_rollout(games=3, columns=7, n_actions=4):
    """Return ((logits, values) for a `Table`, rewards, actions)."""
    random = np.random.default_rng(1)
    tables = random.normal(size=(games, columns, n_actions)), random.normal(size=(games, columns))
    return (
        tables,
        random.normal(size=(games, columns)),
        random.integers(n_actions, size=(games, columns)),
    )


def entropy():
    return [once(Table(np.zeros((2, 3, 14)), np.zeros((2, 3))), np.zeros((2, 3)))[0]]


def value():
    return [once(Table(np.zeros((1, 2, 1)), [[1.0, 4.0]]), [[1.0, 0.0]])[0]]


def constants():
    table = Table(np.zeros((1, 3, 2)), [[1.0, 1.0, 2.0]])
    return once(table, [[1.0, 0.0, 0.0]])[1]["values"][0].tolist()


def discount():
    table = Table(np.zeros((1, 4, 2)), np.zeros((1, 4)))
    pushes = once(table, [[0.0, 0.0, 1.0, 0.0]])[1]["logits"][0, :3, 0]
    return (pushes / pushes.abs().max().clamp(min=1e-9)).tolist()


def side_by_side():
    (logits, values), rewards, actions = random_rollout()
    together = once(Table(logits, values), rewards, actions)[0]
    parts = (slice(0, 1), slice(1, 2), slice(2, 3))
    return [
        together
        - float(
            np.mean([once(Table(logits[k], values[k]), rewards[k], actions[k])[0] for k in parts])
        )
    ]


def others_luck():
    tables, rewards, actions = random_rollout()
    lucky = rewards + np.array([[100.0], [0.0], [0.0]])
    return [
        difference(
            once(Table(*tables), rewards, actions),
            once(Table(*tables), lucky, actions),
            keep=slice(1, 3),
        )
    ]


def next_game():
    (logits, values), rewards, actions = random_rollout()
    mask, later, more = np.ones((3, 7)), np.zeros((3, 7)), np.zeros((3, 7))
    mask[:, 3], rewards[:, 3], later[:, 4:], more[:, 3:] = 0, 0, 100, 100
    before = once(Table(logits, values), rewards, actions, mask)
    after = once(Table(logits, values + more), rewards + later, actions, mask)
    return [difference(before, after, keep=(slice(None), slice(0, 3)))]


def dead_tick():
    tables, rewards, actions = random_rollout()
    mask, others = np.ones((3, 7)), actions.copy()
    mask[:, 3], rewards[:, 3], others[:, 3] = 0, 0, (actions[:, 3] + 1) % 4
    calls = (
        once(Table(*tables), rewards, actions, mask),
        once(Table(*tables), rewards, others, mask),
    )
    return [difference(*calls), calls[0][1]["values"][:, 3].abs().max().item()]


def last_frame():
    (logits, values), rewards, actions = random_rollout()
    mask, more = np.ones((3, 7)), np.zeros((3, 7))
    mask[:, 6], more[:, 6] = 0, 100
    calls = [once(Table(logits, values + extra), rewards, actions, mask) for extra in (0, more)]
    return [difference(*calls)]


def two_halves():
    torch.manual_seed(0)
    small = SmallAgent(2, 1)  # a single action: only the value loss is not 0
    random = np.random.default_rng(2)
    states, rewards = random.normal(size=(3, 9, 2)).astype(np.float32), random.normal(size=(3, 9))
    mask = np.ones((3, 9))
    mask[:, 4], rewards[:, 4] = 0, 0
    whole = once(small, rewards, is_not_done=mask, states=states)[0]
    first = once(small, rewards[:, :5], is_not_done=mask[:, :5], states=states[:, :5])[0]
    second = once(small, rewards[:, 5:], is_not_done=mask[:, 5:], states=states[:, 5:])[0]
    return [8 * whole - 4 * first - 3 * second]


def one_step():
    tables, rewards, actions = random_rollout()
    table = Table(*tables)
    counting = CountingSGD(table.parameters(), lr=1.0)
    first = once(table, rewards, actions, optimizer=counting)
    return [float(counting.steps), difference(first, once(table, rewards, actions))]


def network():
    torch.manual_seed(0)
    fresh, random = submitted.SimpleRecurrentAgent((1, 42, 42), 14), np.random.default_rng(3)
    rewards, states = (
        10 * random.normal(size=(3, 4)),
        random.random((3, 4, 1, 42, 42), dtype=np.float32),
    )
    together, pushes = once(fresh, rewards, states=states)
    alone = [once(fresh, rewards[k : k + 1], states=states[k : k + 1])[0] for k in range(3)]
    return [together - float(np.mean(alone)), float(pushes["conv0.weight"].norm() > 0)]


RUNGS = [  # name, what it tests, the probe, expected result
    ("entropy", "the sum over actions", entropy, [-0.0264]),
    ("value", "the value's target", value, [4.0]),
    ("constants", "what is detached", constants, [0.5, 0.0, 0.0]),
    ("discount", "the order of columns", discount, [0.25, 0.5, 1.0]),
    ("side by side", "B × B, means", side_by_side, [0.0]),
    ("others' luck", "B × B", others_luck, [0.0]),
    ("next game", "cuts at ends of games", next_game, [0.0]),
    ("dead tick", "no training on dead ticks", dead_tick, [0.0, 0.0]),
    ("last frame", "cut in the last column", last_frame, [0.0]),
    ("two halves", "resetting the memory", two_halves, [0.0]),
    ("one step", "the optimizer", one_step, [1.0, 0.0]),
    ("network", "your network and your update", network, [0.0, 1.0]),
]
probes = {"train_on_rollout": dict.fromkeys([rung[0] for rung in RUNGS], False)}


def climb():
    """Run all probes, print the results, and store in `probes` which rungs passed."""
    lines = [f"{'probe':14}{'what it isolates':33}{'expected':21}{'found':27}fine?"]
    try:
        for title, isolates, ask, expected in RUNGS:
            found = ask()
            fine = bool(np.allclose(found, expected, atol=1e-4))
            texts = [
                " ".join(f"{number + 0.0:.4g}" for number in np.round(numbers, 4))
                for numbers in (expected, found)
            ]
            lines.append(
                f"{title:14}{isolates:33}{texts[0]:21}{texts[1]:27}{'yes' if fine else 'NO'}"
            )
            probes["train_on_rollout"][title] = fine
    finally:  # if your code raises an exception, still show the rungs before it
        print("\n".join(lines))


climb()

# %% memory-text [markdown]
# ## 8 · Does it remember?
#
# In KungFuMaster, an agent can score many points without a memory, so you would not notice a broken
# memory. Two tiny worlds in `utils` need a memory. A small agent, `utils.SmallRecurrentAgent`,
# learns them in seconds. It has an LSTM cell with 32 units and two heads. *Your* `train_on_rollout`
# trains it, on rollouts of 16 parallel games with 16 actions in each row.
#
# **Cue.** Only the first observation shows a sign, +1 or -1. Seven steps later, at a junction that
# the observation marks, action 1 is correct after +1, and action 0 after -1. The reward is 1 for
# the correct action and -1 for the other. So the agent must remember the sign. The best mean return
# is 1; without a memory, it is 0.
#
# **Metronome.** Every observation is the number 1. The reward of action 1 ("beat") is 1 in the
# fourth step of a game and -0.25 in all other steps. A game has 1 to 8 steps, at random. So the
# agent must count from the start of the game. The best mean return is $5/8 = 0.625$, because 5 of 8
# games reach the fourth step. An agent that cannot count does best if it never chooses "beat", and
# gets 0.
#
# In each world, an agent is trained in three settings:
#
# - **right**: your function as it is;
# - **does not forget**: the same, but in training, the memory of a game continues into the next
#   one. (While playing, the pool still resets it.)
# - **ignores the mask**: your function, but it gets a mask that is 1 everywhere. The 18 public
#   solutions of section 3 train like this.
#
# A training run takes about four seconds. The dotted lines show the best possible return, and the
# best return without memory.

# %% memory


class Unforgetting(nn.Module):
    """A wrapper that uses the memory it is given only in the first call after `restart`."""

    def __init__(self, inner):
        super().__init__()
        self.inner, self.own = inner, None

    def restart(self):
        self.own = None

    def forward(self, prev_state, obs_t):
        self.own, outputs = self.inner(prev_state if self.own is None else self.own, obs_t)
        return self.own, outputs


def train_small(make_games, obs_dim, setting, seed):
    """Return (trained agent, list with the mean return of the games that ended in each update)."""
    torch.manual_seed(seed)
    small = SmallAgent(obs_dim, n_actions=2)
    trained = Unforgetting(small) if setting == "does not forget" else small
    submitted.agent, submitted.n_actions = trained, 2
    submitted.opt = utils.PlainAdam(list(small.parameters()), lr=2e-3, max_grad_norm=0.5)
    pool = EnvPool(small, make_games(16), seed=seed)
    returns, so_far = [], np.zeros(16)
    for _ in range(MEMORY_UPDATES if setting == "right" else WRONG_UPDATES):
        if trained is not small:
            trained.restart()
        memory = pool.prev_memory_states
        observations, actions, rewards, is_not_done = pool.interact(17)
        mask = np.ones_like(is_not_done) if setting == "ignores the mask" else is_not_done
        submitted.train_on_rollout(observations, actions, rewards, mask, memory)
        finished = []
        for t in range(16):
            so_far += rewards[:, t]
            finished += so_far[~is_not_done[:, t]].tolist()
            so_far[~is_not_done[:, t]] = 0
        returns.append(float(np.mean(finished)))
    return small, returns


WORLDS = {"Cue": (utils.CueVector, 3, 1.0), "Metronome": (utils.MetronomeVector, 1, 0.625)}
SETTINGS = ("right", "does not forget", "ignores the mask")
curves, learned = {}, {}  # curves, by setting: one list of mean returns per seed
for world, (make_games, obs_dim, _) in WORLDS.items():
    begin = time.process_time()
    for setting in SETTINGS:
        runs = [train_small(make_games, obs_dim, setting, seed) for seed in range(MEMORY_SEEDS)]
        curves[f"{world}, {setting}"] = [returns for _, returns in runs]
        learned[world, setting] = runs[0][0]
        late = [round(float(np.mean(returns[-30:])), 2) for _, returns in runs]
        print(f"{world}, {setting}: mean return of the last 30 updates, by seed: {late}")
    print(f"{time.process_time() - begin:.0f} seconds of one core\n")

_, both = plt.subplots(1, 2, figsize=(12, 3.8), layout="constrained")
for axes, (world, (_, _, best)) in zip(both, WORLDS.items(), strict=True):
    utils.plot_learning_curves(
        {s: curves[f"{world}, {s}"] for s in SETTINGS}, "mean return of a game", axes=axes
    )
    for level in (best, 0.0):
        axes.axhline(level, color="black", linewidth=0.8, linestyle=":")
    axes.set(title=world, xlabel="updates")
plt.show()

# %% memory-grade
# %grade learning

# %% memory-seen [markdown]
# In both worlds, the setting "right" reaches the best return. Its curve is flat at first, because
# the agent earns nothing until its actions depend on its memory in the right way. Then it rises
# within about fifty updates. In Cue, each point is a mean over few games, so the curve fluctuates.
#
# In Metronome, the agent of the setting "does not forget" does not learn to count. In training, the
# count continues from the previous game, so the memory in the fourth step differs from rollout to
# rollout, and "beat at four" cannot be learned. The agent learns never to choose "beat". In Cue,
# the result depends on luck: some agents learn to overwrite the old sign when a new sign comes, as
# with one of our two seeds. If the mask is ignored completely, returns also contain rewards of the
# next game, and the agent learns nothing in either world.
#
# Such mistakes are hard to find, because in most games an agent still learns *something*. In these
# two worlds, it needs the memory to learn anything.
#
# ### What the memory holds
#
# The next cell plots what the agents of the first seed do in each step. In Metronome, the setting
# "right" should have a high bar at step 3 (counted from 0), although all eight observations are the
# same. A smaller bar of the same color at step 2 or 4 means that the agent still counts
# imprecisely. In Cue, the two lines may have any values until the junction at step 7. There, the
# observation is the same after both signs, so only the memory can separate the lines.

# %% inside


def probabilities(player, observations):
    """Return the probability of action 1 in each step of this sequence of observations."""
    memory, found = player.get_initial_state(1), []
    for observation in observations:
        memory, (logits, _) = player.step(memory, np.array([observation], np.float32))
        found.append(logits.softmax(dim=-1)[0, 1].item())
    return found


_, row = plt.subplots(1, 2, figsize=(12, 3.2), layout="constrained")
for number, (setting, color) in enumerate(zip(SETTINGS, utils.CURVE_COLORS, strict=False)):
    beats = probabilities(learned["Metronome", setting], [[1]] * 8)
    row[0].bar(np.arange(8) + 0.27 * (number - 1), beats, width=0.27, color=color, label=setting)
row[0].set(
    title="Metronome",
    xlabel="step of a game",
    ylabel="probability of a beat",
    ylim=(0, 1.02),
    xticks=range(8),
)
for sign, color in ((1, "#0072b2"), (-1, "#d55e00")):
    shown = [[sign, 0, 1]] + [[0, 0, 1]] * 6 + [[0, 1, 1]]
    row[1].plot(
        probabilities(learned["Cue", "right"], shown),
        "o-",
        color=color,
        label=f"after the sign {sign:+}",
    )
row[1].axvline(7, color="black", linewidth=0.8, linestyle=":")
row[1].annotate("junction", (7, 0.5), (-6, 0), textcoords="offset points", ha="right")
row[1].set(
    title="Cue, right",
    xlabel="step of a game",
    ylabel="probability of action 1",
    ylim=(-0.02, 1.02),
    xticks=range(8),
)
for axes in row:
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
plt.show()

# %% train-text [markdown]
# ## 9 · Kung fu
#
# Now the game. Two settings are chosen for you. First, rewards are scaled, because they are in the
# hundreds. They would lead to very large values and gradients, so `training.training_env` divides
# them by 100 and clips them to the range from -5 to 5. Second, one update uses 16 games with 16
# actions each, instead of 5 games with 9 actions as in *Practical RL*. Section 11 shows the effect
# of both.
#
# `training.train` (provided) plays and calls your function. After every `EVERY` updates it plays a
# separate game with the real scores. It plots these scores, their moving average, and the entropy
# of the policy. It stops early if the moving average *and* the mean of 20 test games have both
# reached 10,000. The cell also plots the explained variance of the values.
#
# 300 updates are 77,000 actions and take about two minutes. That is enough to see scores rise, but
# not to play well. Set `LONG = True` above for 1.5 million actions. (With this loss, 400,000
# actions, and two techniques of section 11, we got a mean score of 5,800.)

# %% train
if ATARI:
    torch.manual_seed(1)
    agent = submitted.SimpleRecurrentAgent((1, 42, 42), n_actions=14)
    submitted.agent, submitted.n_actions = agent, 14
    submitted.opt = torch.optim.Adam(agent.parameters(), lr=5e-4)
    pool = EnvPool(agent, training.training_env, 16, seed=1)
    begin = time.process_time()
    updates, explained, recent = itertools.count(1), [], []

    def explained_variance(states, _, rewards, is_not_done, memory, gamma=0.99):
        """Return 1 - variance of (G - V) / variance of G, over the actions of a rollout."""
        values = []
        for column in range(rewards.shape[1]):
            memory, (_, value) = agent.step(memory, states[:, column])
            values.append(value.flatten().numpy())
            alive = torch.as_tensor(is_not_done[:, column, None])
            memory = [part * alive for part in memory]
        values, alive = np.stack(values, axis=1), is_not_done[:, :-1]
        returns = values * is_not_done  # bootstrap: the last value replaces all later rewards
        for column in reversed(range(rewards.shape[1] - 1)):
            later = rewards[:, column] + gamma * returns[:, column + 1]
            returns[:, column] = later * is_not_done[:, column]
        unexplained = (returns - values)[:, :-1][alive].var() / returns[:, :-1][alive].var()
        return 1 - unexplained

    def train_on_rollout(*rollout):
        if next(updates) % 5 == 1:  # with the values before the update
            recent.append(explained_variance(*rollout))
        return submitted.train_on_rollout(*rollout)

    def on_evaluation(history):
        explained.append(np.mean(recent))
        recent.clear()
        clear_output(wait=True)
        training.plot_training(history)
        _, axes = plt.subplots(figsize=(11, 2.4), layout="constrained")
        axes.plot(history["updates"], explained, color="#0072b2")
        axes.axhline(0, color="black", linestyle=":")
        axes.set(xlabel="updates", ylabel="explained variance", ylim=(min(-0.2, *explained), 1))
        plt.show()
        minutes = (time.process_time() - begin) / 60
        print(f"{history['updates'][-1]} of {UPDATES} updates, {minutes:.1f} minutes of one core")

    history = training.train(
        train_on_rollout,
        agent,
        pool,
        UPDATES,
        n_columns=17,
        every=EVERY,
        on_evaluation=on_evaluation,
    )
    curves["KungFuMaster"] = [history["score"]]
else:
    print(SKIPPED)

# %% plots-text [markdown]
# ### How to read the plots
#
# **Scores** (left) fluctuate a lot, even late in a good run: a game is long, and one wrong step can
# cost a life. Look at the moving average. It rises little in the first 100 updates, and faster as
# games get longer. A score of 0 three times in a row is a bad sign: such an agent usually repeats a
# single action.
#
# **The entropy** (right) starts at $\log 14 = 2.64$, where all 14 actions are equally likely. It
# stays near that value for the first 100 to 150 updates. Then it falls while scores rise: to about
# 2.2 after 300 updates, and to between 1.4 and 2.2 in longer runs. Many actions have nearly the same
# effect, so a good policy need not have a small entropy.
#
# If the entropy falls below 0.1 *before* the agent plays well, and stays there, the policy has
# **collapsed**: one action has nearly all the probability, whatever the screen shows. The policy
# rarely recovers, because it no longer tries other actions, and $\nabla \log \pi$ of the action
# that it does try is nearly 0. Check the possible reasons in this order:
#
# - the entropy has the wrong sign in the loss, or is also averaged over the 14 actions, so that its
#   weight is too small;
# - advantages are too large: rewards are not scaled, or values are far off;
# - steps are too large: use a smaller learning rate, or clip the gradient norm;
# - if all of this is right, the entropy coefficient 0.01 may be too small for this game.
#
# If the entropy is still 2.64 after 300 updates, rewards do not reach the policy: the advantages do
# not depend on the actions, or `opt` has the weights of another agent.
#
# **The explained variance** (below) is $1 - \text{Var}(G - V) / \text{Var}(G)$ over the actions of
# a rollout, with the values before the update. It says what fraction of the variance of the returns
# the critic predicts: 1 if it predicts every return exactly, and 0 if its value is the same in
# every step of every game. In our run, it was below 0 in the first 25 updates, and then it stayed
# at 0; "What the network computes" shows why. For our best agent of section 11, it was between 0.6
# and 0.8. If it stays clearly below 0, the values are worse than a constant: check how your code
# handles the end of a game.
#
# We do not plot **the loss**, because it does not show progress. The value of $\hat J$ has no
# meaning, and $L_\text{value}$ can grow when the agent improves, because returns become larger.
#
# ### What the network computes
#
# Curves do not show everything. The cell shows the current policy and the values in the sixteen
# games of the pool. They should be finite; with rewards divided by 100, values up to about 10 are
# normal. And rows should *differ*, because the frames differ. If all rows are the same, the agent
# does not use the screen.

# %% look
if ATARI:
    _, (logits, values) = agent.step(pool.prev_memory_states, pool.prev_observations)
    values = values.flatten()
    _, both = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained", width_ratios=(2, 1))
    names = make_env().unwrapped.get_action_meanings()
    picture = both[0].imshow(logits.softmax(dim=-1), cmap="Blues", vmin=0, aspect="auto")
    plt.colorbar(picture, label="probability")
    both[0].set(title="policy", ylabel="game", yticks=range(0, 16, 5))
    both[0].set_xticks(
        range(14),
        [name.lower() for name in names],
        rotation=60,
        ha="right",
        rotation_mode="anchor",
        fontsize=8,
    )
    both[1].barh(range(16), values, color="#0072b2")
    both[1].set(title="values", xlabel="V", yticks=range(0, 16, 5), ylim=(15.5, -0.5))
    both[1].spines[["top", "right"]].set_visible(False)
    plt.show()
    print("finite:", bool(logits.isfinite().all() and values.isfinite().all()), "(expected True)")
    spread = logits.softmax(dim=-1).std(dim=0).mean()
    print(
        f"standard deviation across games: action probabilities {spread:.5f}, V {values.std():.5f}"
    )
else:
    print(SKIPPED)

# %% look-seen [markdown]
# This result surprised us. After 300 updates, scores have risen from 500 to more than 3,000. But
# our agent had the same policy in all sixteen games, whatever it saw: mostly crouching, and kicking
# to the upper left. So an agent can score that many points without looking. **A rising score does
# not prove that the agent uses the screen.**
#
# This is not a mistake in the loss. Most of every frame shows the same temple. And with
# PyTorch's default initialization, every layer makes the differences between frames smaller: in a
# new network, the outputs of `hid` vary by only 0.0006 from frame to frame. So at first, mostly the
# biases learn, and they learn a policy that ignores the screen. With orthogonal weights (section
# 11), the outputs of `hid` vary by 0.01 to 0.02 from the start, about twenty times as much. After
# 1,500 updates of such a run, values differed by 0.65 from frame to frame, and the mean score of
# the 20 test games was 5,800. But orthogonal weights alone are not enough: with them, one of our
# agents hardly used the screen after 300 updates.
#
# The tests of sections 2 and 7 could not show this, because the code is not *wrong*. You see it
# only if you look at the outputs.

# %% test-text [markdown]
# ## 10 · How well does it play?
#
# In *Practical RL*, you are done as soon as one game reaches 10,000. A game is played after every
# 100 of 15,000 updates, so there are up to 150 tries. Take an agent with a mean score of 8,000 and
# a standard deviation of 1,500. If its scores are normally distributed, one game in eleven exceeds
# 10,000, so it passes within 20 tries with a probability of 85%. The best of many games says more
# about the number of tries than about the agent.
#
# So we use the **mean of 20 games with fixed seeds**, and leave none of them out.
# `trained_agent.play_test_games` plays them, with actions sampled from the policy as in training.
# The standard error of the mean is the standard deviation divided by $\sqrt{20}$. If the means of
# two agents differ by less than about three standard errors, you cannot say which agent is better.
# After 300 updates, our mean was 4,255 ± 411, and one of the 20 games reached 9,600. (The
# leaderboard has time for only the first five games; its mean may be off by 1,000 or more.)

# %% test
if ATARI:
    trained_agent.save_agent("agent.safetensors", agent)
    with open("agent.safetensors", "rb") as file:
        loaded = trained_agent.load_agent(
            file.read(), submitted.SimpleRecurrentAgent((1, 42, 42), n_actions=14)
        )
    scores = np.array(trained_agent.play_test_games(loaded, TEST_SEEDS))
    error = scores.std(ddof=1) / np.sqrt(len(scores))

    _, axes = plt.subplots(figsize=(11, 2.0), layout="constrained")
    axes.axvspan(
        scores.mean() - error,
        scores.mean() + error,
        color="#0072b2",
        alpha=0.2,
        label="± standard error",
    )
    axes.axvline(scores.mean(), color="#0072b2", label="mean (the score that counts)")
    axes.plot(scores, np.zeros(len(scores)), "o", color="black", alpha=0.5, label="a game")
    axes.plot(scores.max(), 0, "o", color="#d55e00", label="best game (not the score)")
    axes.axvline(training.THRESHOLD, color="tab:green", linestyle=":", label="target")
    axes.set(
        xlabel="score",
        yticks=[],
        xlim=(0, 1.05 * max(scores.max(), training.THRESHOLD)),
        ylim=(-0.6, 0.6),
    )
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    plt.show()
    print(
        f"{len(scores)} games: mean {scores.mean():.0f} ± {error:.0f}, from "
        f"{scores.min():.0f} to {scores.max():.0f}"
    )
else:
    print(SKIPPED)

# %% film
if ATARI:
    film(loaded, "trained.gif")
else:
    print(SKIPPED)

# %% submission-text [markdown]
# A cell above has written the file `agent.safetensors`. If you like, submit it next to
# `submitted.py`. It earns no points. The grader loads the weights into *your* network and plays
# games with it; the leaderboard shows the mean score. You may train the weights in any way, so try
# everything in the next section.

# %% ablation-text [markdown]
# ## 11 · What it takes to play well
#
# The network and the loss of this assignment are those of *Practical RL*, corrected. An agent that
# plays well also needs several techniques that papers often mention in a single line. We used all
# of them together and trained for 1.5 million actions, which takes 24 minutes on one core. With
# three seeds, the mean scores of the 20 test games were 14,315, 13,315 and 10,820.
#
# What is the effect of these techniques? We removed some of them one at a time (an **ablation
# study**) and others together, with one seed and 400,000 actions, which take seven to nine minutes.
# Each figure is the mean of the 20 test games with its standard error.
#
# | training setup (400,000 actions) | mean score |
# | --- | --- |
# | all techniques listed below the table | 6,430 ± 580 |
# | without cuts at lost lives | 6,220 ± 370 |
# | 5 games × 9 actions instead of 16 × 16 | 6,170 ± 450 |
# | **your loss**, with scaled rewards, 16 × 16, orthogonal weights, and a learning rate that falls to 0 | 5,800 ± 480 |
# | the settings of *Practical RL*, with the mask used correctly | 4,595 ± 210 |
# | without scaled rewards | 3,920 ± 310 |
#
# So of these techniques, scaled rewards have the largest effect after 400,000 actions. For
# comparison, our agent of section 9 scored more than 3,000 without using the screen. With one seed,
# you cannot say which of the first four rows is best. The techniques other than scaled rewards may
# help in longer training. We have not measured GAE, normalized advantages, orthogonal weights and
# the learning rate separately.
#
# The purpose of each technique:
#
# - **Scaled rewards.** An enemy is worth 100 points or more, so discounted returns are in the
#   hundreds, and squared errors in the tens of thousands or more. In the shared layers, the gradient
#   of the value loss outgrows that of the policy as the value head learns large weights, and the
#   entropy term, with its coefficient of 0.01, has almost no effect. Divided by 100 and clipped at
#   5, rewards have a scale of about 1.
# - **16 games × 16 actions.** A gradient from 45 actions in five situations has a high variance.
#   With 256 actions in sixteen games, the variance is lower, and in longer rollouts, returns
#   contain more rewards before they rely on the critic. This setting is also cheaper per action:
#   400,000 actions took 409 CPU seconds, instead of 525 with 5 × 9.
# - **The learning rate.** *Practical RL* says "default parameters" (that would be 1e-3) but uses
#   1e-5. With 1e-5, Adam usually moves a weight by 1e-5 or less per update, so it needs very many
#   updates.
# - **GAE.** The n-step return has the variance of up to 16 actions; the TD error (the one-step
#   advantage) has the full bias of the critic. Generalized advantage estimation (GAE) is a weighted
#   mean of the n-step advantages for all n: each further step multiplies the weight by
#   $\lambda = 0.95$.
# - **Normalized advantages.** In each rollout, subtract their mean and divide by their standard
#   deviation. Then the policy gradient has a similar scale whether scores are 500 or 20,000.
# - **Cuts at lost lives.** A game has four lives, so a rollout of 16 actions hardly shows the cost
#   of losing one. If you cut the return where a life is lost, as at the end of a game, the value of
#   the next state counts as 0, and losing a life is bad immediately. Do *not* reset the memory there,
#   because the game continues.
# - **Orthogonal weights.** Differences between frames shrink much less from layer to layer (section
#   9). And with a gain of 0.01 in the policy head, all actions are almost equally likely at first.
# - **A learning rate that falls to 0**, and a gradient norm clipped to 0.5: large steps at first,
#   small steps when the policy is good, and no single unusual rollout can change the policy much.
#
# ## Optional experiments
#
# - Some techniques need no change to your loss.
#   `utils.PlainAdam(list(agent.parameters()), lr=6e-4, max_grad_norm=0.5)` clips the gradient norm,
#   and you can set `submitted.opt.param_groups[0]["lr"]` before each update.
# - Write a loss with GAE and normalized advantages as a new function, and pass it to
#   `training.train`. For the leaderboard, only the file of weights counts.
# - In `forward`, replace `prev_state` by zeros, so that the agent plays *and* trains without
#   memory. How well does it play?
# - Use 32 actions instead of 16 in each rollout, or an entropy coefficient of 0.02.
#
# Finally, run `python grade.py` once more and submit `submitted.py`, with `agent.safetensors` if
# you like.

# %% end
for name, seeds in curves.items():
    tenth = max(1, len(seeds[0]) // 10)
    begin, end = (
        np.mean([np.mean(values[part]) for values in seeds])
        for part in (slice(0, tenth), slice(-tenth, None))
    )
    print(f"{name:28} first tenth: {begin:8.2f}   last tenth: {end:8.2f}")
