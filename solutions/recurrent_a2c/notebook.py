# Source of assignments/recurrent_a2c/notebook.ipynb; `python -m grader build` makes the notebook from it.
# Figures about whole trainings are those of benchmarks/results/recurrent_a2c_training.json. The tests execute the notebook
# (tests/kit/test_notebook.py) and read what the last cell leaves: `curves` and `probes`.

# %% title [markdown]
# # Advantage actor-critic with memory: kung fu
#
# In this assignment you write an agent that sees one small grey picture at a time and has to remember the rest: convolutions,
# an LSTM cell, a policy and a value on top, trained by advantage actor-critic (A2C) on sixteen games at once. It learns to
# play KungFuMaster, a game for the Atari 2600.
#
# You write into **`submitted.py`**: the network's `forward`, and four blanks of `train_on_rollout`. This is not much code. But
# two things in it go wrong nearly always, and neither raises an error: what happens where one game ends and the next begins,
# and shapes that multiply each other. Most cells here are about these two. Given are `atari_util.py`, `env_pool.py`,
# `training.py` and `trained_agent.py`. Read them, they are short; do not change them.
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
# The game comes with the package `ale-py`, and `opencv` makes its pictures small:
#
# ```
# pip install ale-py opencv-python-headless
# ```
#
# Without them, cells that need the game say so and do nothing; everything you have to write can be written and tried all the
# same. With the settings below, everything together takes about four minutes of one core. Scores and curves differ from
# machine to machine.

# %% setup
# %load_ext autoreload
# %autoreload 2

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

torch.set_num_threads(1)  # the networks are small: more threads would mostly wait for each other

SKIPPED = "Skipped, because the game is not installed here: pip install ale-py opencv-python-headless"
try:
    import ale_py
    import cv2  # noqa: F401
    from PIL import Image as Picture

    import trained_agent
    import training
    from atari_util import make_env

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)  # it greets in every process otherwise
    ATARI = True
except ImportError as missing:
    ATARI = False
    print(missing, SKIPPED, sep="\n")

# %% settings
LONG = False  # True: 1.5 million actions of kung fu, about half an hour of one core, and more seeds where memory is trained

UPDATES, EVERY = (6000, 100) if LONG else (300, 25)
MEMORY_SEEDS, MEMORY_UPDATES = (5, 400) if LONG else (2, 300)
WRONG_UPDATES = MEMORY_UPDATES  # where the memory is not forgotten
TEST_SEEDS = range(20)
FILM = 300

if os.environ.get("NOTEBOOK_BUDGET") == "short":  # for automatic tests: a few seconds per training
    UPDATES, EVERY = 6, 3
    MEMORY_SEEDS, MEMORY_UPDATES, WRONG_UPDATES = 1, 190, 60
    TEST_SEEDS = range(3)
    FILM = 90

# %% game-text [markdown]
# ## 1 · The game
#
# A man in white walks to the left through a temple, and others come at him from both sides. He can walk, jump, crouch, punch
# and kick: 14 actions, combinations of a stick and one button. Each enemy brings some hundred points. Each life lasts as long
# as the bar beside PLAYER; there are four of them. An action lasts four of the game's 60 frames a second, and with a
# probability of a quarter the game repeats the action before it instead, so that nobody can learn a game by heart.
#
# `atari_util.make_env()` gives what the agent gets of it: the part within the dashed line, in grey, 42 × 42, numbers from 0
# to 1. Scores and bars are cut off. The cell plays 100 actions at random and shows both.

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
    print(f"observation: {env.observation_space.shape} {observation.dtype} from {lowest:.2f} to {highest:.2f}")
    print("actions:    ", *env.unwrapped.get_action_meanings())

    _, both = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
    both[0].imshow(env.render(), aspect=0.8)
    both[0].add_patch(Rectangle((14.5, 59.5), 145, 120, fill=False, edgecolor="white", linestyle="--", linewidth=1.5))
    both[0].set_title("the game, 210 × 160 in colour")
    both[1].imshow(observation[0], cmap="gray", vmin=0, vmax=1)
    both[1].set_title("what the agent sees, 42 × 42")
    for axes in both:
        axes.axis("off")
    plt.show()
    env.close()
else:
    print(SKIPPED)

# %% movement-text [markdown]
# ### Why one picture is not enough
#
# Look at the right-hand picture. Is the man going up or coming down? Who walks in which direction, and how fast? When did the
# last enemy appear, so when is the next one due? A single frame does not say. What is needed to act well is in the *history*.
# Such a problem is called a **partially observable** Markov decision process (POMDP): there is a state with which the future
# is settled (up to chance), but the agent is shown only a part of it.
#
# One remedy is to show the last four frames together. It tells velocities, and forgets everything older than a quarter of a
# second. The other one is to let the network keep what it needs: a **recurrent** network gets one frame and its own memory of
# all that came before.
#
# The cell shows the last four observations, and the change from the third to the fourth: red has become lighter, blue darker.
# All movement is in the last picture, and none of it in any of the others.

# %% movement
if ATARI:
    _, row = plt.subplots(1, 5, figsize=(13, 2.9), layout="constrained")
    for number, axes in enumerate(row[:4]):
        axes.imshow(seen[number - 4][0], cmap="gray", vmin=0, vmax=1)
        axes.set_title(f"t - {3 - number}" if number < 3 else "t")
    row[4].imshow(seen[-1][0] - seen[-2][0], cmap="RdBu_r", vmin=-0.6, vmax=0.6)
    row[4].set_title("t minus (t - 1)")
    for axes in row:
        axes.axis("off")
    plt.show()
else:
    print(SKIPPED)

# %% forward-text [markdown]
# ## 2 · The network
#
# The layers are made in `__init__` already. A picture of 42 × 42 goes through three convolutions with stride 2, which leave
# $32 \cdot 4 \cdot 4 = 512$ numbers, then through the linear layer `hid` into the LSTM cell. Its memory has two parts, $h$ and
# $c$, 128 numbers each. The two heads read the *new* $h$:
#
# $$x_t = \text{hid}(\text{conv}_2(\text{conv}_1(\text{conv}_0(o_t)))) \qquad
#   (h_t, c_t) = \text{LSTM}(x_t, (h_{t-1}, c_{t-1})) \qquad
#   \pi(\cdot \mid h_t),\ V(h_t)$$
#
# An activation function follows each convolution and `hid`. Without one, two linear layers in a row are nothing but one.
#
# Policy and value share everything up to the heads. What the critic learns to see, the actor sees as well; the price is that
# each can disturb the other.
#
# **Write `SimpleRecurrentAgent.forward(prev_state, obs_t)`.** The value is `[B]`, one number for each game, and *not* `[B, 1]`
# as the linear layer gives it. Section 5 says what that would do.
#
# The cell looks at logits and values of a fresh network, which is the first thing to look at in any trouble: are they finite
# and of moderate size? Fresh logits are small, so the policy is nearly uniform (left). Note that five different pictures have
# nearly the same value; section 9 will come back to that. Then the cell shows the network one and the same picture twenty times
# (right). With its memory passed on, the value changes, because the memory does: each time the network has seen one picture
# more. With an empty memory each time, it must stay where it was.

# %% forward
torch.manual_seed(0)
n_actions = 14
agent = submitted.SimpleRecurrentAgent((1, 42, 42), n_actions)
pictures = np.stack(seen[-5:]) if ATARI else np.random.default_rng(0).random((5, 1, 42, 42), dtype=np.float32)

empty = agent.get_initial_state(5)
(h, c), (logits, values) = agent.step(empty, pictures)
print("memory  found", list(h.shape), list(c.shape), "expected [5, 128] [5, 128]")
print("logits  found", list(logits.shape), "expected [5, 14];  smallest and largest:", f"{logits.min():.3f} {logits.max():.3f}")
print("values  found", list(values.shape), "expected [5];      ", np.round(values.numpy(), 3))

memory = agent.get_initial_state(1)
remembering, forgetting = [], []
for _ in range(20):
    forgetting.append(agent.step(agent.get_initial_state(1), pictures[-1:])[1][1].item())
    memory, (_, value) = agent.step(memory, pictures[-1:])
    remembering.append(value.item())

_, both = plt.subplots(1, 2, figsize=(11, 3.2), layout="constrained")
both[0].bar(range(14), logits[-1].softmax(dim=-1).numpy(), color="#0072b2")
both[0].axhline(1 / 14, color="black", linestyle=":", label="1 / 14")
both[0].set(xlabel="action", ylabel="probability", title="the policy of a fresh network", ylim=(0, 0.11), xticks=range(14))
both[1].plot(remembering, ".-", color="#0072b2", label="memory passed on")
both[1].plot(forgetting, ".-", color="#d55e00", label="memory empty each time")
both[1].set(xlabel="the same picture, once more", ylabel="V", title="its memory", xticks=range(0, 20, 5))
for axes in both:
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
plt.show()

# %% watch-text [markdown]
# ### Watching it play
#
# `training.record` plays a game and writes it to a GIF file, frame by frame as the emulator draws it; no display is needed. The
# agent knows nothing yet, so it flails about. In 20 games, a fresh network scored 545 on average.
#
# Below the film are six of its frames.

# %% watch


def film(player, path):
    """Record a game, show it, and six of its frames."""
    score = training.record(player, path, seed=0, max_steps=FILM)
    display(Image(filename=path))
    _, row = plt.subplots(1, 6, figsize=(13, 3.0), layout="constrained")
    with Picture.open(path) as pictures:
        shown, seconds = [], 0.0  # frames that are the same are one picture, which is shown for longer
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

# %% pool-text [markdown]
# ## 3 · Rollouts of many games
#
# Neighbouring frames resemble each other, so a gradient from one game is a gradient from one situation. `EnvPool` (given) plays
# $B$ games side by side: one call of the network moves all of them. `pool.interact(T)` goes on where it stopped and returns a
# **rollout**: for each of the $B$ games a row, with $T$ columns. The first column need not begin a game, and the last one need
# not end it.
#
# Column $t$ holds the observation $s_t$, the action taken there and the reward that came of it. The **last column** holds only
# the observation that comes next, for its value: there was no time to act in it. So $T$ columns are $L = T - 1$ actions.
#
# A rollout begins in the middle of games, where the agent already remembers something. Therefore
# `pool.prev_memory_states` must be kept *before* `interact`: with it, training starts where playing started.

# %% pool
if ATARI:
    pool = EnvPool(agent, training.training_env, 5, seed=0)
    memory = pool.prev_memory_states
    rollout = pool.interact(10)
    for name, array in zip(("observations", "actions", "rewards", "is_not_done"), rollout, strict=True):
        print(f"{name:13}{array.shape!s:20}{array.dtype}")
    print(f"{'memory':13}{[tuple(part.shape) for part in memory]}")
else:
    print(SKIPPED)

# %% ends-text [markdown]
# ### Where a game ends
#
# Games end in the middle of rollouts, at a different column in each row. What happens there is told by `is_not_done`, and a
# toy shows it best. In `Toy`, a game lasts three actions, and the third one earns 8. Its observation counts the actions. The
# agent `Counter` has a memory, too: how many observations of this game it has seen before. The cell draws what the pool
# returns for one game, eight columns. A2 is what game A shows after two actions.
#
# Look at column 3. Game A is over: its last reward came with the action in column 2. But the emulator still shows a final
# picture, and the pool needs this tick to begin a new game. So the agent is shown the picture, and says something, but **nobody
# carries it out**, and the reward is 0. This is the *dead tick*, and only there the mask is 0. Column 4 begins game B.
#
# Three things follow, and they are the heart of this assignment.
#
# - **The return must be cut.** The action in column 2 ended the game. What game B earns is not its merit. With $\gamma = 0.5$,
#   and a critic that says 0, its return is 8. Without the cut it is 8.5, and rises with everything that will ever be earned in
#   games to come. Then to die is no worse than to live on, because the next game is always there.
# - **The memory must be forgotten.** In column 4 the agent stands at the beginning of a game, where the pool gave it an empty
#   memory. If your function goes through the rollout and carries the memory of A over into B, it trains a network in
#   situations that do not occur: it computes $\log \pi$ and $V$ of a policy that did not play. See the row "memory": 0 in
#   column 4.
# - **The dead tick must not be trained on.** The action there was never executed. To make it more or less likely is to learn
#   from noise; and its $V$ would learn that the final picture is followed by a fresh game.
#
# In the last column, the mask is 0 if its observation is the final one of its game, as here, B3. Nothing comes after it, so its
# value must not be used either. (The next rollout begins with the same observation, again with mask 0.)
#
# *Practical RL* (YSDA and HSE), week 8, the text that this assignment follows, hands the mask over and never says what it is
# for. Of 18 public solutions of it that we read, not one uses it.

# %% ends


class Toy(gym.Env):
    """A game of three actions, of which the last one earns 8. Observation: (which game, actions so far)."""

    observation_space = gym.spaces.Box(0, 100, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)
    game = -1

    def reset(self, *, seed=None, **_options):
        super().reset(seed=seed)
        self.game, self.steps = self.game + 1, 0
        return np.array([self.game, 0], np.float32), {}

    def step(self, _action):
        self.steps += 1
        return np.array([self.game, self.steps], np.float32), 8.0 * (self.steps == 3), self.steps == 3, False, {}


class Counter:
    """Remembers how many observations it has seen, and always takes action 1."""

    def get_initial_state(self, batch_size):
        return torch.zeros(batch_size, 1), torch.zeros(batch_size, 1)

    def step(self, prev_state, observations):
        remembered.append(int(prev_state[0][0, 0]))
        return tuple(part + 1 for part in prev_state), len(observations)

    def sample_actions(self, batch_size):
        return np.ones(batch_size, np.int64)


remembered = []  # before each tick, of the first game
pool = EnvPool(Counter(), Toy, 1)
observations, actions, rewards, is_not_done = pool.interact(8)
remembered.append(int(pool.prev_memory_states[0][0, 0]))

rows = {
    "observation": [f"{'ABC'[int(game)]}{int(steps)}" for game, steps in observations[0]],
    "action": ["1", "1", "1", "not done", "1", "1", "1", "none yet"],
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
# ## 4 · What is optimized
#
# Three terms, each a mean over the $B$ games and over columns.
#
# **The policy.** We want to play so that rewards are large, and cannot differentiate through a game. The policy gradient gets
# around that: make an action more likely in proportion to its **advantage**, by how much more it brought than was to be
# expected there. torch differentiates by itself, so we write an expression that has this gradient:
#
# $$\hat J = \frac{1}{L} \sum_{t < L} \log \pi(a_t \mid h_t) \cdot A_t \qquad A_t = G_t - V(h_t)$$
#
# $\hat J$ is no estimate of anything; only its gradient means something. And that holds only if $A_t$ is a **constant** for
# it, `.detach()`: otherwise the gradient would also change the values, in whichever direction makes the product large.
#
# What an action brought is seen in the rewards until the rollout ends, and there the critic is asked for the rest:
#
# $$G_t = r_t + \gamma G_{t+1} \qquad G_L = V(h_L)$$
#
# So the first column looks $L$ steps ahead, and the last but one a single step. It is the **n-step** advantage with the
# longest $n$ that the rollout allows. The further it looks, the less it depends on a critic that still knows nothing; the
# price is the noise of all that happens on the way.
#
# **The value.** Each value shall equal the next reward plus what the critic itself says a step later, which is a constant here
# (temporal difference, TD):
#
# $$L_\text{value} = \frac{1}{L} \sum_{t < L} \left(r_t + \gamma V(h_{t+1}) - V(h_t)\right)^2$$
#
# Many implementations take $G_t$ here as well; the grader accepts both.
#
# **The entropy.** A policy that has become certain tries nothing else, so it never finds out that something else is better. A
# small reward for being undecided keeps it looking:
#
# $$H = \frac{1}{T} \sum_{t < T} \left(-\sum_a \pi(a \mid h_t) \log \pi(a \mid h_t)\right)$$
#
# With 14 actions it is at most $\log 14 = 2.64$. Together,
#
# $$\text{loss} = -\hat J + L_\text{value} - 0.01\, H$$
#
# **At the end of a game** $V(h_{t+1})$ and $G_{t+1}$ are 0 after the last reward, for nothing follows; and the dead tick
# counts in $\hat J$ and $L_\text{value}$ as 0. With the mask this takes a multiplication here and there, no `if`.

# %% trap-text [markdown]
# ## 5 · The trap: B × B
#
# Before you write it: what is `[B, 1]` minus `[B]`? torch does not refuse. It stretches both to `[B, B]` and subtracts *every*
# value from *every* return. The mean of that is a single number, as a loss should be. Nothing is red.
#
# In the cell, four games have the returns 1, 2, 3, 4, and the critic knows them exactly. The right loss is 0. The wrong one
# compares game 0 with what game 3 earned.

# %% trap
G = torch.tensor([1.0, 2.0, 3.0, 4.0])
knows = torch.tensor([[1.0], [2.0], [3.0], [4.0]])  # [B, 1], as a linear layer gives it
right, wrong = G - knows[:, 0], G - knows
print(f"right: {list(right.shape)}, loss {right.square().mean():.2f}")
print(f"wrong: {list(wrong.shape)}, loss {wrong.square().mean():.2f}")
same = torch.full((4, 1), 2.5)
right_of_same, wrong_of_same = (G - same[:, 0]).square().mean(), (G - same).square().mean()
print(f"\na critic that says 2.5 of every game: right loss {right_of_same:.2f}, wrong loss {wrong_of_same:.2f}")

_, both = plt.subplots(1, 2, figsize=(6.4, 3.5), layout="constrained", width_ratios=(1, 4))
for axes, errors, title in ((both[0], right[:, None], "right: [4]"), (both[1], wrong, "wrong: [4, 4]")):
    axes.imshow(errors, cmap="RdBu_r", vmin=-4.5, vmax=4.5)
    for (line, column), error in np.ndenumerate(errors.numpy()):
        axes.text(column, line, f"{error:g}", ha="center", va="center", fontsize=12)
    axes.set(title=title, ylabel="value of game", yticks=range(4), xticks=range(errors.shape[1]))
both[1].set_xlabel("return of game")
both[0].set_xticks([])
plt.show()

# %% trap-seen [markdown]
# The wrong loss is smallest for a critic that says 2.5, the mean of all games, whatever it sees; it prefers this to the one
# that knows everything. And it does go down while it gets there, so its curve looks like learning. The advantages suffer in
# the same way: if they are `[B, B]`, each action is judged by the luck of all other games.
#
# Of those 18 public solutions, 17 did this. It begins with a `state_value` that is `[B, 1]`. Yours is `[B]`, if the cell of
# section 2 said so; and section 7 tests it.

# %% write-text [markdown]
# ## 6 · Your training step
#
# **Write the four blanks of `train_on_rollout`**:
#
# 1. Going through the rollout: call the agent on column $t$, keep logits and values, pass the memory on; forget it where a game
#    has ended. (Each row has its own end, so it is a multiplication by the mask, `[B]`, made to fit `[B, 128]`.)
# 2. The policy's and the value's terms, column by column from the back, each a mean over games (the division by $L$ comes
#    later, in code that is given). What happens at ends belongs to these lines, too.
# 3. The entropy.
# 4. One step of `opt`. Gradients of earlier steps must not be left in it.
#
# Your function uses the names `agent`, `opt` and `n_actions` of `submitted.py`. So the cells below put other agents there, for
# example one whose logits and values are just a table to look up: `Table`. `once` calls your function with plain gradient
# descent and a learning rate of 1, so what the weights move by *is* the gradient.
#
# First by hand, one game, one transition, two equally likely actions. With $r = 1$, $\gamma = 0.5$, $V(h_0) = 1$ and
# $V(h_1) = 4$,
#
# $$G_0 = 1 + 0.5 \cdot 4 = 3 \qquad A_0 = 3 - 1 = 2 \qquad
#   \text{loss} = -\log 0.5 \cdot 2 + 2^2 - 0.01 \log 2 = 5.379$$
#
# The value is pulled up, by $2 \cdot 2 = 4$. Nobody pulls at $V(h_1)$: it is a constant. The logit of the action that was taken
# is pushed up by $A_0 (1 - \pi) = 1$, the other one down. (Pushes are minus the gradient.)

# %% by-hand


class Table(nn.Module):
    """An agent that looks up what it says: logits [B, T, A] and values [B, T]. Its memory counts; `given` shows what it was."""

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
        return tuple(part + 1 for part in prev_state), (self.logits[:, t], self.values[:, t])


def once(player, rewards, actions=None, is_not_done=None, states=None, gamma=0.5, optimizer=None):
    """Return (loss, push on each parameter) of one call of your function; the agent is left as it was."""
    rewards = np.asarray(rewards, np.float32)
    games, columns = rewards.shape
    states = np.tile(np.arange(columns, dtype=np.float32)[:, None], (games, 1, 1)) if states is None else states
    actions = np.zeros((games, columns), np.int64) if actions is None else actions
    is_not_done = np.ones((games, columns), bool) if is_not_done is None else np.asarray(is_not_done, bool)
    before = {name: parameter.detach().clone() for name, parameter in player.named_parameters()}
    submitted.agent = player
    submitted.n_actions = player.logits.shape[-1] if isinstance(player, Table) else player.logits.out_features
    submitted.opt = optimizer or torch.optim.SGD(player.parameters(), lr=1.0)
    memory = player.get_initial_state(games)
    loss = submitted.train_on_rollout(states, actions, rewards, is_not_done, memory, gamma=gamma)
    pushes = {name: parameter.detach() - before[name] for name, parameter in player.named_parameters()}
    player.load_state_dict(before)
    return float(loss), pushes


loss, pushes = once(Table(np.zeros((1, 2, 2)), [[1.0, 4.0]]), rewards=[[1.0, 0.0]])
print(f"loss                 found {loss:.3f}, expected 5.379")
print("pushes on values     found", np.round(pushes["values"].numpy(), 3).tolist(), "expected [[4.0, 0.0]]")
print("pushes on logits     found", np.round(pushes["logits"][0, 0].numpy(), 3).tolist(), "expected [1.0, -1.0]")

# %% pushes-text [markdown]
# ### The toy game again
#
# Now the rollout of section 3, with the mask: the dead tick in column 3, a final frame in column 7. The critic says 6 in every
# column, both actions are equally likely, and action 1 was taken everywhere. The cell draws, column by column, which memory
# your function gave to the agent, how hard it pushes $\log \pi$ of the action, and how hard it pushes the value. Circles are
# expected; in the last picture, squares are, if you take the n-step return as the value's target.
#
# Columns 3 and 7 must have no push at all. The advantages of the others are 2 - 6, 4 - 6 and 8 - 6, twice.

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

# %% probes-text [markdown]
# ## 7 · Before any long training: probes
#
# When an agent does not learn in half an hour, its curve does not say why. So first we climb a ladder: cheap questions, each of
# which has one answer. They take a second together. The first rung that is not fine says where to look.
#
# | rung | what is asked | the answer |
# | --- | --- | --- |
# | entropy | nothing happens, 14 equal logits: what is the loss? | $-0.01 \log 14 = -0.0264$ |
# | value | one action only, so neither policy nor entropy matter: $r = 1$, $V = 1$, then 4 | $(1 + 0.5 \cdot 4 - 1)^2 = 4$ |
# | constants | $r = 1$, then 0, $V = 1, 1, 2$: how hard is each value pushed? Only the first is wrong, by 0.5 | 0.5, 0, 0 |
# | discount | a reward of 1 in the third column: how hard are the three actions pushed, in ratios? | 0.25, 0.5, 1 |
# | side by side | the loss of three games, minus the mean of the losses of each alone | 0 |
# | others' luck | game 0 earns 100 more: how much do pushes in game 1 change? | 0 |
# | next game | after an end, rewards and values rise by 100: how much do pushes before it change? | 0 |
# | dead tick | another action stands in the dead tick: how much changes? And how hard is its value pushed? | 0 and 0 |
# | last frame | the last column has mask 0, and $V$ there rises by 100: how much changes? | 0 |
# | two halves | a rollout with an end, minus two rollouts, the second one with an empty memory | 0 |
# | one step | the optimizer's steps; and old gradients left over | 1 and 0 |
# | network | your own network: three games minus each alone; and does a push reach its first convolution? | 0 and 1 (yes) |
#
# If the first rung that is not fine is
#
# - **entropy**: a sign, or a mean over the wrong axis. Sum over actions, mean over games and columns. $-0.0019$ is a mean over
#   actions as well.
# - **value**: a missing square, or a discount in the wrong place.
# - **constants**: $V(h_{t+1})$ and the advantage need a `.detach()`.
# - **discount**: does each column look at the one *after* it? Do you go from the back?
# - **side by side** or **others' luck**: B × B. Print shapes.
# - **next game**, **last frame**: something crosses an end. Which two things come from the future?
# - **dead tick**: it still counts, in $\hat J$ (the first number) or in $L_\text{value}$.
# - **two halves**: only the memory is left. Is it forgotten *after* the dead tick, and in that row only?
# - **one step**: is `zero_grad` called? Twice `step`?
# - **network**: the first number: is the value `[B, 1]`? The second: is something detached that should not be?

# %% probes


def difference(one, other, keep=slice(None)):
    """Return the largest difference of two calls' pushes (and losses, if all is kept)."""
    largest = max((one[1][name][keep] - other[1][name][keep]).abs().max().item() for name in one[1])
    return largest if keep != slice(None) else max(largest, abs(one[0] - other[0]))


class CountingSGD(torch.optim.SGD):
    """Plain gradient descent that counts its steps."""

    steps = 0

    def step(self, closure=None):
        self.steps += 1
        return super().step(closure)


def random_rollout(games=3, columns=7, n_actions=4):
    """Return (tables to make agents of, rewards, actions)."""
    random = np.random.default_rng(1)
    tables = random.normal(size=(games, columns, n_actions)), random.normal(size=(games, columns))
    return tables, random.normal(size=(games, columns)), random.integers(n_actions, size=(games, columns))


def entropy():
    return [once(Table(np.zeros((2, 3, 14)), np.zeros((2, 3))), np.zeros((2, 3)))[0]]


def value():
    return [once(Table(np.zeros((1, 2, 1)), [[1.0, 4.0]]), [[1.0, 0.0]])[0]]


def constants():
    return once(Table(np.zeros((1, 3, 2)), [[1.0, 1.0, 2.0]]), [[1.0, 0.0, 0.0]])[1]["values"][0].tolist()


def discount():
    pushes = once(Table(np.zeros((1, 4, 2)), np.zeros((1, 4))), [[0.0, 0.0, 1.0, 0.0]])[1]["logits"][0, :3, 0]
    return (pushes / pushes.abs().max().clamp(min=1e-9)).tolist()


def side_by_side():
    (logits, values), rewards, actions = random_rollout()
    together = once(Table(logits, values), rewards, actions)[0]
    parts = (slice(0, 1), slice(1, 2), slice(2, 3))
    return [together - float(np.mean([once(Table(logits[k], values[k]), rewards[k], actions[k])[0] for k in parts]))]


def others_luck():
    tables, rewards, actions = random_rollout()
    lucky = rewards + np.array([[100.0], [0.0], [0.0]])
    return [difference(once(Table(*tables), rewards, actions), once(Table(*tables), lucky, actions), keep=slice(1, 3))]


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
    calls = once(Table(*tables), rewards, actions, mask), once(Table(*tables), rewards, others, mask)
    return [difference(*calls), calls[0][1]["values"][:, 3].abs().max().item()]


def last_frame():
    (logits, values), rewards, actions = random_rollout()
    mask, more = np.ones((3, 7)), np.zeros((3, 7))
    mask[:, 6], more[:, 6] = 0, 100
    calls = [once(Table(logits, values + extra), rewards, actions, mask) for extra in (0, more)]
    return [difference(*calls)]


def two_halves():
    torch.manual_seed(0)
    small = utils.SmallRecurrentAgent(2, 1)  # one action only: the loss is that of the value
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
    clean, dirty = Table(*tables), Table(*tables)
    for parameter in dirty.parameters():
        parameter.grad = torch.full_like(parameter, 100.0)
    counting = CountingSGD(clean.parameters(), lr=1.0)
    calls = [once(clean, rewards, actions, optimizer=counting), once(dirty, rewards, actions)]
    return [float(counting.steps), difference(*calls)]


def network():
    torch.manual_seed(0)
    fresh, random = submitted.SimpleRecurrentAgent((1, 42, 42), 14), np.random.default_rng(3)
    rewards, states = 10 * random.normal(size=(3, 4)), random.random((3, 4, 1, 42, 42), dtype=np.float32)
    together, pushes = once(fresh, rewards, states=states)
    alone = [once(fresh, rewards[k : k + 1], states=states[k : k + 1])[0] for k in range(3)]
    return [together - float(np.mean(alone)), float(pushes["conv0.weight"].norm() > 0)]


RUNGS = [  # name, what it isolates, what is asked, the answer
    ("entropy", "the sum over actions", entropy, [-0.0264]),
    ("value", "the value's target", value, [4.0]),
    ("constants", "two constants", constants, [0.5, 0.0, 0.0]),
    ("discount", "the order of columns", discount, [0.25, 0.5, 1.0]),
    ("side by side", "B × B, means", side_by_side, [0.0]),
    ("others' luck", "B × B", others_luck, [0.0]),
    ("next game", "cuts", next_game, [0.0]),
    ("dead tick", "the column that was not played", dead_tick, [0.0, 0.0]),
    ("last frame", "cuts at the very end", last_frame, [0.0]),
    ("two halves", "forgetting", two_halves, [0.0]),
    ("one step", "the optimizer", one_step, [1.0, 0.0]),
    ("network", "forward, with all of this", network, [0.0, 1.0]),
]
probes = {"train_on_rollout": dict.fromkeys([rung[0] for rung in RUNGS], False)}


def climb():
    """Ask every question, print what was expected and found, and keep in `probes` which rungs are fine."""
    lines = [f"{'probe':14}{'what it isolates':33}{'expected':21}{'found':27}fine?"]
    try:
        for title, isolates, ask, expected in RUNGS:
            found = ask()
            fine = bool(np.allclose(found, expected, atol=1e-4))
            texts = [" ".join(f"{number + 0.0:.4g}" for number in np.round(numbers, 4)) for numbers in (expected, found)]
            lines.append(f"{title:14}{isolates:33}{texts[0]:21}{texts[1]:27}{'yes' if fine else 'NO'}")
            probes["train_on_rollout"][title] = fine
    finally:  # if your code raised an exception, the rungs before it are shown, too
        print("\n".join(lines))


climb()

# %% memory-text [markdown]
# ## 8 · Does it remember?
#
# In KungFuMaster one can get far without a memory, so a broken one is not noticed there. Two tiny worlds in `utils` leave no
# other way, and a small agent learns them in seconds, `utils.SmallRecurrentAgent`: an LSTM cell with 32 units and two heads. It
# is trained by *your* `train_on_rollout`, on 16 games with 16 actions each.
#
# **Cue.** The first observation shows a sign, +1 or -1, and then never again. Seven steps later, at the junction, action 1 is
# right after +1 and action 0 after -1: it brings 1, the other one -1. All the agent can do is to keep the sign. The best is 1,
# and without memory 0.
#
# **Metronome.** Every observation is the number 1. Action 1 ("beat") brings 1 in the fourth step of a game, and costs 0.25 in
# all others. A game has 1 to 8 steps, nobody knows how many. The agent must count from the beginning of its game. The best is
# $5/8 = 0.625$, because so many games reach the fourth step; who cannot count does best never to beat, and gets 0.
#
# Each is trained three times:
#
# - **right**: your function as it is;
# - **does not forget**: the same, but in training the memory of a game that has ended goes on into the next one. (While
#   playing, the pool still empties it.)
# - **ignores the mask**: the same, but it is told that no game ever ends, which comes to what those 18 solutions do.
#
# A training takes about four seconds. The dotted lines are the best possible, and the best without memory.

# %% memory


class Unforgetting(nn.Module):
    """Stands between your function and an agent, and goes on with its own memory, whatever it is given, until `restart`."""

    def __init__(self, inner):
        super().__init__()
        self.inner, self.own = inner, None

    def restart(self):
        self.own = None

    def forward(self, prev_state, obs_t):
        self.own, outputs = self.inner(prev_state if self.own is None else self.own, obs_t)
        return self.own, outputs


def train_small(make_games, obs_dim, setting, seed):
    """Return (the trained agent, mean return of the games that ended in each update)."""
    torch.manual_seed(seed)
    small = utils.SmallRecurrentAgent(obs_dim, n_actions=2)
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
    utils.plot_learning_curves({s: curves[f"{world}, {s}"] for s in SETTINGS}, "mean return of a game", axes=axes)
    for level in (best, 0.0):
        axes.axhline(level, color="black", linewidth=0.8, linestyle=":")
    axes.set(title=world, xlabel="updates")
plt.show()

# %% memory-seen [markdown]
# The right one reaches the best, in both worlds: flat for a while, because nothing is earned before sign and action are
# connected, and then up within some fifty updates. The mean over few games of Cue jumps a little.
#
# To forget the forgetting costs everything in Metronome. In training, the agent's count goes on from the game before; so its
# fourth step looks different in each rollout, and "beat at four" cannot be learned. It settles for never beating. In Cue it
# depends on luck: an agent may learn to overwrite the old sign when a new one comes (one of our two seeds did), or not. And
# where the mask is ignored altogether, rewards of the next game come into the returns as well, and nothing is learned here.
#
# Such mistakes are cruel because an agent with them still learns *something* in most games. Only here it is all or nothing.
#
# ### What the memory holds
#
# The next cell asks the agents of the first seed what they would do in each step. With Metronome, the bar of the right one
# should stand in step 3 (counted from 0), although all eight observations were the same; a smaller one beside it is the rest of
# a doubt. With Cue, both lines may do as they like until the junction in step 7, where nothing but the memory tells them apart.

# %% inside


def probabilities(player, observations):
    """Return the probability of action 1 in each step, when these observations come one after another."""
    memory, found = player.get_initial_state(1), []
    for observation in observations:
        memory, (logits, _) = player.step(memory, np.array([observation], np.float32))
        found.append(logits.softmax(dim=-1)[0, 1].item())
    return found


_, row = plt.subplots(1, 2, figsize=(12, 3.2), layout="constrained")
for number, (setting, colour) in enumerate(zip(SETTINGS, utils.CURVE_COLOURS, strict=False)):
    beats = probabilities(learned["Metronome", setting], [[1]] * 8)
    row[0].bar(np.arange(8) + 0.27 * (number - 1), beats, width=0.27, color=colour, label=setting)
row[0].set(title="Metronome", xlabel="step of a game", ylabel="probability of a beat", ylim=(0, 1.02), xticks=range(8))
for sign, colour in ((1, "#0072b2"), (-1, "#d55e00")):
    shown = [[sign, 0, 1]] + [[0, 0, 1]] * 6 + [[0, 1, 1]]
    row[1].plot(probabilities(learned["Cue", "right"], shown), "o-", color=colour, label=f"after the sign {sign:+}")
row[1].axvline(7, color="black", linewidth=0.8, linestyle=":")
row[1].annotate("junction", (7, 0.5), (-6, 0), textcoords="offset points", ha="right")
row[1].set(title="Cue, right", xlabel="step of a game", ylabel="probability of action 1", ylim=(-0.02, 1.02), xticks=range(8))
for axes in row:
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
plt.show()

# %% train-text [markdown]
# ## 9 · Kung fu
#
# Now the game. Two things are set for you here. Rewards come in hundreds; `training.training_env` divides them by 100, because
# values and gradients of that size throw the optimizer about. And 16 games with 16 actions each go into one update, instead of
# the 5 games with 9 actions of the course text; section 11 says what that brings.
#
# `training.train` (given) plays and calls your function. After every `EVERY` updates it plays one game apart, with the real
# scores, and draws scores, their moving average and the entropy of the policy. It stops early when the moving average has
# reached 10,000, *and* the mean of 20 test games has, too.
#
# 300 updates are 77,000 actions and take about two minutes. That is enough to see scores rise, but not to play well: set
# `LONG = True` above for 1.5 million actions. (After 400,000 with a learning rate that falls to 0, your loss gave us 5,800.)

# %% train
if ATARI:
    torch.manual_seed(1)
    agent = submitted.SimpleRecurrentAgent((1, 42, 42), n_actions=14)
    submitted.agent, submitted.n_actions = agent, 14
    submitted.opt = torch.optim.Adam(agent.parameters(), lr=5e-4)
    pool = EnvPool(agent, training.training_env, 16, seed=1)
    begin = time.process_time()

    def on_evaluation(history):
        clear_output(wait=True)
        training.plot_training(history)
        plt.show()
        minutes = (time.process_time() - begin) / 60
        print(f"{history['updates'][-1]} of {UPDATES} updates, {minutes:.1f} minutes of one core")

    history = training.train(
        submitted.train_on_rollout, agent, pool, UPDATES, n_columns=17, every=EVERY, on_evaluation=on_evaluation
    )
    curves["KungFuMaster"] = [history["score"]]
else:
    print(SKIPPED)

# %% plots-text [markdown]
# ### How to read it
#
# **Scores** (left) jump, even late in a good training: a game is long, and one wrong step in it costs a life. Look at the
# moving average. Do not expect much of the first 100 updates; the longer the games get, the faster the scores rise. What is no
# good sign is a score of 0 three times in a row. Such an agent usually does the same thing all the time.
#
# **The entropy** (right) begins at $\log 14 = 2.64$, undecided among all 14 actions. It should fall slowly, with the scores
# rising, to something between 0.5 and 2. Many of the actions do nearly the same, so it need not be small for good play.
#
# An entropy that falls below 0.1 *before* the agent plays well, and stays there, is a **collapse**: one action has nearly all
# the probability, whatever is on the screen. It does not recover by itself, because all that could tell it better are actions
# that it does not try any more; and $\nabla \log \pi$ of the one action that it does try is nearly 0. Reasons, in the order in
# which to look:
#
# - the entropy has the wrong sign in the loss, or is a mean over the 14 actions as well, so that it weighs too little;
# - advantages are large: rewards that are not scaled, or values that are far off;
# - steps are too long: a smaller learning rate, or a gradient cut to a certain length;
# - all of this is fine, and 0.01 is too little for this game.
#
# An entropy that *stays* at 2.64 says that rewards do not get to the policy: the advantages are 0 on average whatever it does,
# or `opt` has the weights of another agent.
#
# **The loss** is not drawn, on purpose: it tells nothing about progress. $\hat J$ is no objective, and $L_\text{value}$ grows
# when the agent gets better, because there is more to predict.
#
# ### What the network says
#
# Curves do not tell everything. The cell shows the policy in the pool's sixteen games now, and the values. They should be
# finite; with rewards divided by 100, values up to 10 or so are normal. And rows should *differ*, because the pictures do: an
# agent whose rows are all the same does not see the screen.

# %% look
if ATARI:
    _, (logits, values) = agent.step(pool.prev_memory_states, pool.prev_observations)
    _, both = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained", width_ratios=(2, 1))
    names = make_env().unwrapped.get_action_meanings()
    picture = both[0].imshow(logits.softmax(dim=-1), cmap="Blues", vmin=0, aspect="auto")
    plt.colorbar(picture, label="probability")
    both[0].set(title="policy", ylabel="game", yticks=range(0, 16, 5))
    both[0].set_xticks(range(14), [name.lower() for name in names], rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
    both[1].barh(range(16), values, color="#0072b2")
    both[1].set(title="values", xlabel="V", yticks=range(0, 16, 5), ylim=(15.5, -0.5))
    both[1].spines[["top", "right"]].set_visible(False)
    plt.show()
    print("finite:", bool(logits.isfinite().all() and values.isfinite().all()), "(expected True)")
    spread = logits.softmax(dim=-1).std(dim=0).mean()
    print(f"standard deviation between games: of a probability {spread:.5f}, of V {values.std():.5f}")
else:
    print(SKIPPED)

# %% look-seen [markdown]
# Were you surprised? So were we. After 300 updates, scores have risen from 500 to 3,000 and more. And yet our agent played the
# same mixture of actions in all sixteen games, whatever it saw: much crouching, much kicking to the upper left. As many
# points as that are to be had blind. **A rising score is no proof that the agent looks.**
#
# It is no mistake in the loss. Most of a picture is the same temple in all frames. As torch initialises them, our layers also
# pass on each difference weaker than they got it: in a fresh network, the numbers that leave `hid` vary by 0.0006 from frame to
# frame. So at first only biases can learn, and they learn the best blind policy. Later the layers grow until they see: after
# 1,500 updates of another training, values differed by 0.65 from frame to frame, and the 20 test games averaged 5,800. With
# orthogonal weights (section 11), `hid` varies by 0.016 from the beginning, 26 times as much. That alone does not do it: after
# 300 updates, an agent of ours that began so was still nearly as blind.
#
# The tests of section 2 and 7 could not show this, because nothing is *wrong*. Only looking does.

# %% test-text [markdown]
# ## 10 · How well does it play?
#
# The course text says: done, as soon as one game reaches 10,000. A game is played after every 100 of 15,000 updates, so that is
# up to 150 tries. Take an agent whose scores are 8,000 on average, with a standard deviation of 1,500. One of its games in
# eleven is beyond 10,000; so within 20 tries, it passes with a probability of 85%. The best of many games says more about how
# often one has looked than about the agent.
#
# So we ask for the **mean of 20 games with fixed seeds**, none of which is left out. `trained_agent.play_test_games` plays
# them, sampling from the policy as in training. Its standard error is the standard deviation by $\sqrt{20}$: two agents whose
# means are less than two or three of those apart have not been told apart. After 300 updates, our mean was 4,255 ± 411, and one
# of the 20 games had 9,600. (The leaderboard has time for the first five only; expect its figure to be off by 1,000 or more.)

# %% test
if ATARI:
    trained_agent.save_agent("agent.safetensors", agent)
    with open("agent.safetensors", "rb") as file:
        loaded = trained_agent.load_agent(file.read(), submitted.SimpleRecurrentAgent((1, 42, 42), n_actions=14))
    scores = np.array(trained_agent.play_test_games(loaded, TEST_SEEDS))
    error = scores.std(ddof=1) / np.sqrt(len(scores))

    _, axes = plt.subplots(figsize=(11, 2.0), layout="constrained")
    axes.axvspan(scores.mean() - error, scores.mean() + error, color="#0072b2", alpha=0.2, label="± standard error")
    axes.axvline(scores.mean(), color="#0072b2", label="mean: this counts")
    axes.plot(scores, np.zeros(len(scores)), "o", color="black", alpha=0.5, label="a game")
    axes.plot(scores.max(), 0, "o", color="#d55e00", label="the best: this does not")
    axes.axvline(training.THRESHOLD, color="tab:green", linestyle=":", label="to be reached")
    axes.set(xlabel="score", yticks=[], xlim=(0, 1.05 * max(scores.max(), training.THRESHOLD)), ylim=(-0.6, 0.6))
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    plt.show()
    print(f"{len(scores)} games: mean {scores.mean():.0f} ± {error:.0f}, from {scores.min():.0f} to {scores.max():.0f}")
else:
    print(SKIPPED)

# %% film
if ATARI:
    film(loaded, "trained.gif")
else:
    print(SKIPPED)

# %% submission-text [markdown]
# The file `agent.safetensors` is what the cell above has written and read again. If you like, hand it in beside `submitted.py`.
# It brings no points: the grader loads the weights into *your* network, plays games with it, and puts the mean score on the
# leaderboard. How the weights were trained is up to you, so everything of the next section may be tried.

# %% ablation-text [markdown]
# ## 11 · What it takes to play well
#
# The network and the loss of this assignment are those of the course text, put right. Between them and an agent that plays well
# lie a number of things that papers mention in one line each. We put them all together and trained for 1.5 million actions,
# which takes 24 minutes of one core. With three seeds, the 20 test games then averaged 14,315, 13,315 and 10,820.
#
# What does each of them bring? We left out one at a time, with one seed and 400,000 actions, which take seven minutes. Each
# figure is the mean of the 20 test games, with its standard error.
#
# | what was trained, for 400,000 actions | mean score |
# | --- | --- |
# | everything below | 6,430 ± 580 |
# | without cuts at lost lives | 6,220 ± 370 |
# | 5 games × 9 actions instead of 16 × 16 | 6,170 ± 450 |
# | **your loss**, with scaled rewards, 16 × 16, and a learning rate that falls to 0 | 5,800 ± 480 |
# | the recipe of the course text, with the mask put right | 4,595 ± 210 |
# | without scaled rewards | 3,920 ± 310 |
#
# So rewards of a size to learn from are what matters in the beginning; and a score of 4,000 or so is to be had blind (section
# 9). The first four are not told apart by one seed. What the others bring shows later, if at all: we have not measured GAE,
# normalised advantages, orthogonal weights and the learning rate by themselves.
#
# What each of them is for:
#
# - **Scaled rewards.** An enemy brings 100 and more, so returns are in the thousands, and errors squared in the millions. The
#   value's gradient then drowns the policy's in the layers that they share, and the entropy's 0.01 is nothing. Divided by 100
#   and cut at 5, everything is of about the size 1.
# - **16 games × 16 actions.** A gradient from 45 actions in five similar situations points nearly anywhere. 256 actions in
#   sixteen games point better, and long rollouts let returns see further before they have to trust the critic. It also costs
#   less: a network call for 16 games takes hardly longer than for five.
# - **The learning rate.** The course text says "default parameters" (that would be 1e-3) and uses 1e-5. With 1e-5, Adam moves
#   each weight by at most about 1e-5 in an update, so it takes very many.
# - **GAE.** The return until the end of the rollout has all the noise of 16 actions in it; the one-step error has all the
#   critic's mistakes in it. Generalized advantage estimation mixes all lengths, each further step weighing $\lambda = 0.95$
#   times as much.
# - **Normalised advantages.** Minus their mean and by their standard deviation, in each rollout: so a step has the same length
#   when scores are 500 and when they are 20,000.
# - **Cuts at lost lives.** A game has four lives, so a death costs nothing that the next 16 actions would show. If the return
#   is cut where a life is lost, as at the end of a game, what follows is worth 0, and dying is bad at once. The memory is *not*
#   emptied there; the game goes on.
# - **Orthogonal weights.** Differences between pictures go through the layers without dying out (section 9); and with a gain of
#   0.01 in the policy's head, all actions are equally likely at first.
# - **A learning rate that falls to 0**, and gradients cut to the length 0.5: long steps while everything is wrong, short ones
#   when there is something to lose; and no single strange rollout can undo it all.
#
# ## To try, if you like
#
# - Some of these need no change of your loss. `utils.PlainAdam(list(agent.parameters()), lr=6e-4, max_grad_norm=0.5)` cuts
#   gradients; `submitted.opt.param_groups[0]["lr"]` can be set anew before each update.
# - Write a loss with GAE and normalised advantages as a function of its own, and pass it to `training.train`. The file of
#   weights is all that counts for the leaderboard.
# - Make the agent forget after each action (an empty memory for every column). How well does it play without any memory?
# - 32 actions instead of 16 in each rollout, or a factor of 0.02 for the entropy.
#
# Then run `python grade.py` a last time, and hand in `submitted.py`, with `agent.safetensors` if you like.

# %% end
for name, seeds in curves.items():
    tenth = max(1, len(seeds[0]) // 10)
    begin, end = (np.mean([np.mean(values[part]) for values in seeds]) for part in (slice(0, tenth), slice(-tenth, None)))
    print(f"{name:28} first tenth: {begin:8.2f}   last tenth: {end:8.2f}")
