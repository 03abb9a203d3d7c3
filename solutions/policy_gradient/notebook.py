# Source of assignments/policy_gradient/notebook.ipynb; `python -m grader build` makes the notebook.
# Figures "over 20 seeds" come from benchmarks/results/policy_gradient_training.json. The tests execute the
# notebook (tests/kit/test_notebook.py) and read `curves` and `probes` after the last cell.

# %% title [markdown]
# # Policy gradients, from vanilla to PPO
#
# In this assignment you write an agent that learns by trial and error, in seven small functions.
# You start with the vanilla policy gradient, which hardly works. You end with proximal policy
# optimization (PPO), which has been used to train Dota 2 agents and walking robots, and to
# fine-tune language models.
#
# Most sections follow the same pattern: the idea, the formula, the shapes, what to write, a cell
# that tries it out, and what you should see. You write in **`submitted.py`**, in the order of this
# notebook. (In the file, `get_value_net_loss` and `get_advantages` come before
# `train_policy_gradient`; you write them in section 6.) The notebook only calls your functions.
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
# >   `get_returns`.
# > - You can also write your function in a cell that begins with `%%grade QUESTION`, together with
# >   its imports. The cell is run, and its function is graded. From then on, `%grade` grades the
# >   version that you changed last: the one in the cell after you run the cell, the one in
# >   `submitted.py` after you save the file. To return to the file without changing it, delete the
# >   cell's version with `del NAME`, or use `%grade QUESTION --file` for a single call.
# > - A cell that calls a function you have not written yet stops with a `NotImplementedError` that
# >   says what to return.
# > - You may also define the functions in a notebook and submit that notebook.
# >   `python grade.py --submission notebook.ipynb` grades the functions that it defines. In
# >   that case, remove `submitted.` from the cells below.
#
# With the default settings (`LONG = False`), all training runs together take about two minutes.
# Losses, returns and curves differ from machine to machine. The numbers in the text are those of a
# correct solution over many random seeds.

# %% setup
# %load_ext grader

import os

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

import submitted
import utils

torch.set_num_threads(1)  # the networks are tiny: more threads would only wait for each other

# %% settings
LONG = False  # True: 2,000 rollouts and ten seeds per experiment, four to five times as long

SEEDS, ROLLOUTS = (10, 2000) if LONG else (4, 1200)
CARTPOLE_SEEDS, CARTPOLE_ROLLOUTS = (4, 300) if LONG else (2, 160)

if os.environ.get("NOTEBOOK_BUDGET") == "short":  # for automatic tests: a few seconds per run
    SEEDS, ROLLOUTS = 2, 400
    CARTPOLE_SEEDS, CARTPOLE_ROLLOUTS = 1, 56

# %% objective [markdown]
# ## The idea
#
# A **policy** $\pi_\theta(a \mid s)$ is a network with weights $\theta$: it takes an observation
# $s$ and gives every action $a$ a probability. One episode played with the policy is a trajectory
# $\tau = (s_0, a_0, r_0, s_1, a_1, r_1, \dots)$. We also call it a **rollout**. We look for weights
# that make the total reward $R(\tau) = \sum_t r_t$ large on average:
#
# $$J(\theta) = E_{\tau \sim \pi_\theta}\left[R(\tau)\right] = \int P(\tau \mid \theta)\, R(\tau)\, d\tau$$
#
# If we knew $\nabla_\theta J$, we could take small steps uphill. But $\theta$ determines the
# distribution that we sample from, and we cannot differentiate through the environment. The
# **log-derivative trick**, $\nabla P = P\, \nabla \log P$, solves this:
#
# $$\nabla_\theta J = \int \nabla_\theta P(\tau \mid \theta)\, R(\tau)\, d\tau
#   = \int P(\tau \mid \theta)\, \nabla_\theta \log P(\tau \mid \theta)\, R(\tau)\, d\tau
#   = E_{\tau \sim \pi_\theta}\left[\nabla_\theta \log P(\tau \mid \theta)\, R(\tau)\right]$$
#
# The gradient is an expectation again, so we can estimate it by a mean over rollouts. And
# $P(\tau \mid \theta)$ is a product of two kinds of probabilities: those of the policy's actions
# and those of the environment's responses. The logarithm turns the product into a sum, and the
# environment's terms do not depend on $\theta$. This leaves
#
# $$\nabla_\theta J = E_{\tau \sim \pi_\theta}\left[\sum_t \nabla_\theta \log \pi_\theta(a_t \mid s_t)\, R(\tau)\right]$$
#
# In words: play, then make the actions that you took more likely, in proportion to the total
# reward. You need no model of the environment. The policy is stochastic, so it explores without any
# extra mechanism.

# %% returns-text [markdown]
# ## 1 · Returns: what an action can still change
#
# An action cannot change the rewards that came before it. Counting them only adds noise. So we
# weight each step with its **return**, the sum of the rewards from this step on, in which a reward
# $k$ steps later is multiplied by $\gamma^k$ ($\gamma$ is the discount factor). A $\gamma < 1$ also
# reduces the noise, but it biases the estimate, because late rewards count less than in $J$. The
# return is
#
# $$R_t = r_t + \gamma\, r_{t+1} + \gamma^2 r_{t+2} + \dots = r_t + \gamma R_{t+1}$$
#
# Implement the second form: start at the last row and go backwards.
#
# A `utils.RolloutBuffer` holds several episodes one after another, $T$ rows in all. `rewards` is
# `[T]` and `terminateds` is `[T]`, true in the row that ended its episode. A return must not
# contain rewards of the next episode.
#
# **Write `get_returns(rollout_buffer, discount_factor)`**: float32 `[T, 1]`.
#
# The cell makes a buffer of three episodes; the last episode is unfinished. With $\gamma = 0.5$ you
# can compute the returns in your head.

# %% returns
buffer = utils.RolloutBuffer()
unused = torch.zeros(1, 1)
for reward, terminated in [
    (1, False),
    (0, False),
    (2, True),
    (3, False),
    (1, True),
    (4, False),
    (2, False),
]:
    buffer.add(
        action=unused, logits=unused, observation=unused, terminated=terminated, reward=reward
    )
buffer.finalize()

returns = submitted.get_returns(buffer, discount_factor=0.5)
print("found    ", returns.flatten().tolist(), "with shape", list(returns.shape))
print("expected ", [1.5, 1.0, 2.0, 3.5, 1.0, 5.0, 2.0], "with shape", [7, 1])

# %% vanilla-text [markdown]
# ## 2 · The vanilla policy-gradient loss
#
# PyTorch computes gradients, so we only write the expression whose gradient we want. Optimizers
# minimize, so the loss is *minus* the objective that we maximize. For a batch of $B$ rows, it is
#
# $$L = -\frac{1}{B} \sum_{t} \log \pi_\theta(a_t \mid s_t)\, R_t$$
#
# (The formula for $\nabla_\theta J$ in "The idea" has a sum over steps and a mean over rollouts.
# The mean over rows differs only by a factor, the mean number of rows per rollout. With the mean
# over rows, the size of the gradient does not grow with the length of the episodes.)
#
# `policy(observation)` gives **log-probabilities**, float32 `[B, A]`: a row per observation, a
# column per action. From every row, you need the column of the action that was taken. `action` is
# int64 `[B, 1]`. `return_or_advantage` is float32 `[B, 1]`; for now it contains returns. Watch the
# shapes: `[B]` times `[B, 1]` becomes `[B, B]` without any warning.
#
# **Write `get_vanilla_policy_gradient_loss(policy, observation, action, return_or_advantage)`**: a
# scalar. Use torch functions only: NumPy and `.item()` lose the gradient.
#
# In the cell, the two actions that were taken have the probabilities 0.5 and 0.2, and the returns
# are 2 and -1. By hand:
#
# $$L = -\tfrac{1}{2} \left(2 \log 0.5 - \log 0.2\right) = -0.1116$$
#
# The log-probabilities are the log-softmax of logits, as in a real policy. The action of row 0 has a
# positive return. So the gradient of the loss with respect to its logit must be *negative*: gradient
# descent then makes the action more likely. The other action of the row gets the opposite gradient,
# because the two probabilities sum to 1.

# %% vanilla
logits = torch.tensor([[0.5, 0.5], [0.8, 0.2]]).log().requires_grad_()
loss = submitted.get_vanilla_policy_gradient_loss(
    policy=nn.LogSoftmax(dim=-1),  # the "observations" are the logits
    observation=logits,
    action=torch.tensor([[0], [1]]),
    return_or_advantage=torch.tensor([[2.0], [-1.0]]),
)
loss.backward()
print(f"loss      found {loss.item():.4f}, expected -0.1116")
gradient = [[round(number, 4) for number in row] for row in logits.grad.tolist()]
print("gradient  found", gradient, "expected", [[-0.5, 0.5], [-0.4, 0.4]])

# %% rollouts-text [markdown]
# ## 3 · Collecting rollouts
#
# Our world is a line with the positions 0 to 10. Each episode draws a random start and a random
# target. For 20 steps, the agent goes one position to the left (action 0), stays (1), or goes one
# to the right (2). The observation is (target, position), both mapped to $[-1, 1]$, float32
# `[1, 2]`. The reward is $-d / 10$, where $d$ is the distance to the target after the action. The
# best reward is 0. Reaching the target does not end the episode: the agent must stay there.
#
# An environment has two methods. `env.reset()` starts an episode and returns its first observation.
# `env.step(action)` returns `(next observation, terminated, reward)`, in this order.
#
# **Fill in the blank in `collect_rollouts`**: play one episode to its end. Call the policy to get
# log-probabilities, sample with `utils.distribution_sample(logits, seed=seed)` (the grader relies
# on this function), and add one row per step. The entries of a row belong to the same step: its
# observation is the one that the policy *saw* when it chose the action, not the next one.
#
# In the cell, an episode has 5 steps, and the policy always goes right. The agent starts at 2, and
# the target is at 5. Expect the positions 2, 3, 4, 5, 6, the rewards -0.2, -0.1, 0, -0.1, -0.2, one
# `True` at the end, and the last reward -0.2.

# %% rollouts


def always_right(_observation):
    return torch.tensor(
        [[-30.0, -30.0, 0.0]]
    )  # log-probabilities: the first two actions are almost impossible


line = utils.GridWorldPointTargetEnv(
    grid_size=10, dimensions=1, episode_length=5, set_target=5, set_state=2
)
buffer, last_reward = submitted.collect_rollouts(line, always_right, num_rollouts=1)

print("\nposition seen | action | reward | terminated")
for row in range(buffer.final_size):
    position = (buffer.observations[row, 1].item() + 1) * 5
    action, reward, end = (
        buffer.actions[row].item(),
        buffer.rewards[row].item() + 0.0,
        buffer.terminateds[row].item(),
    )
    print(f"{position:13.0f} | {action:6} | {reward:6.1f} | {end}")
print(f"last reward {last_reward:.1f}")

# %% loop-text [markdown]
# ## 4 · The training loop
#
# You have all the parts now; `train_policy_gradient` combines them. It has two blanks.
#
# **First blank, once per collection.** Collect `rollouts_before_training` rollouts, append their
# mean final reward to `final_rewards`, and compute the returns. (With a value network, also compute
# advantages. Section 6 explains them; you can leave them out until then.)
#
# **Second blank, once per epoch.** Neighboring rows of an episode are similar. So shuffle all $T$
# rows and split them into minibatches of `minibatch_size` rows; the last minibatch may be smaller.
# For each minibatch, compute the loss, append its value to `actor_losses`, and update: `zero_grad`,
# `backward`, `step`. A minibatch is a set of row *indices*. Use the same indices for observations,
# actions, recorded log-probabilities (`old_logits`) and returns. Otherwise an action is weighted by
# the return of a different action.
#
# Call every loss function with all of these keywords: `policy`, `value_net`, `observation`,
# `old_logits`, `action`, `return_or_advantage`, `returns`, `ppo_clip`. Each loss uses the arguments
# that it needs and accepts the rest as `**kwargs`.
#
# The cell trains for two collections. Each has four rollouts of 20 steps, so 80 rows. With
# minibatches of 30 rows, an epoch has three minibatches (the last has 20 rows). Two collections of
# two epochs give $2 \cdot 2 \cdot 3 = 12$ losses.
#
# Fill in both blanks before you grade. The `%grade` cell below does not grade the question
# `train_policy_gradient.minibatches`, because its checks use a value network; section 6 grades it.
# Until then, the number of actor losses shows whether you use every minibatch.

# %% loop
line = utils.GridWorldPointTargetEnv(grid_size=10, dimensions=1, episode_length=20)
policy = utils.SimpleReLuNetwork(2, 3, hidden_dims=[16], out_logsoftmax=True)
before = [weights.clone() for weights in policy.parameters()]

with utils.ProgressBar(rollouts=8, title="try") as bar:
    actor_losses, critic_losses, final_rewards, _ = submitted.train_policy_gradient(
        env=bar.watch(line),
        policy=policy,
        optimizer=torch.optim.Adam(policy.parameters(), lr=1e-3),
        get_policy_gradient_loss=submitted.get_vanilla_policy_gradient_loss,
        get_returns=submitted.get_returns,
        rollouts=8,
        rollouts_before_training=4,
        training_epochs_per_rollout=2,
        minibatch_size=30,
    )

changed = sum(
    not torch.equal(old, new) for old, new in zip(before, policy.parameters(), strict=True)
)
print(f"actor losses   found {len(actor_losses)}, expected 12")
print(f"critic losses  found {len(critic_losses)}, expected 0")
print(f"final rewards  found {len(final_rewards)}, expected 2")
print(f"weight tensors that changed: found {changed}, expected {len(before)}")

# %% loop-grade
# %grade train_policy_gradient.without_critic

# %% probes-text [markdown]
# ## Before any long training: probes
#
# When an agent does not learn, the learning curve does not show why. So first we train on **probe
# environments**: tiny worlds in which one thing can go wrong, and whose correct result is known.
# They form a ladder. Training takes about half a second per rung. If the agent fails on a rung, it
# is trained again with another seed, because a correct agent can have bad luck, too. The first rung
# that fails shows where to look. (The idea is from Andy Jones, *Debugging RL, Without the Agonizing
# Pain*.)
#
# In these worlds, each observation contains a sign, -1 or +1, and the number of steps so far.
#
# | rung | what happens | result of a correct agent |
# | --- | --- | --- |
# | constant | one step; the reward is always 1 | $V = 1$ for both signs |
# | observation | one step; the reward is the sign that is observed | $V(-) = -1$, $V(+) = 1$ |
# | action | one step; the reward is 1 for action 1 and -1 for action 0 | $\pi(1) = 1$ for both signs |
# | two steps | the second reward is 1 | $V = 0.95$, one step later $V_2 = 1$ |
# | combined | second reward 1 if the *first* action matches the sign, else -1 | $\pi(1 \mid -) = 0$, $\pi(1 \mid +) = 1$ |
#
# If the first rung that fails is
#
# - **constant**: the value loss may be wrong, or the value network is not updated. If $V$ is much
#   larger than 1, returns may include the next episode. If $V$ is between 0 and 1, rows may contain
#   the observation *after* the action: then the value network is not trained on the first
#   observation, on which it is tested here.
# - **observation**: do values and returns come from different rows, or is `[B]` combined with
#   `[B, 1]`?
# - **action**: a sign may be wrong in the policy loss or in the advantages, or the policy is not updated.
# - **two steps**: look at the discount in `get_returns`. Does the value loss get rewards instead of
#   returns?
# - **combined**: actions, advantages and observations may come from different rows, or the agent
#   does not explore. Without a value network, the policy may also be trained on rewards instead of
#   returns.
#
# You have no value network yet, so for now the cell trains only on the two rungs about the policy.
# Section 6 trains on all five.

# %% probes


class Probe(utils.EnvInterface):
    """Episodes of one or two steps. The observation shows a sign; only the last step has a reward.

    pay: function that returns the reward for the sign (-1 or 1) and the first action (0 or 1).
    Observation: the sign and the number of steps taken so far, float32 [1, 2].
    """

    num_actions = 2

    def __init__(self, pay, steps=1):
        self.pay, self.steps = pay, steps
        self.generator = np.random.default_rng()

    def reset(self, seed=None):
        if seed is not None:
            self.generator = np.random.default_rng(seed)
        self.sign = float(self.generator.choice([-1, 1]))
        self.actions = []
        return self.observe()

    def step(self, action):
        self.actions.append(int(action))
        terminated = len(self.actions) >= self.steps
        return (
            self.observe(),
            terminated,
            self.pay(self.sign, self.actions[0]) if terminated else 0.0,
        )

    def observe(self):
        return torch.tensor([[self.sign, float(len(self.actions))]])


RUNGS = [  # name, what it tests, reward, steps, expected result, tolerance
    ("constant", "the value loss", lambda sign, action: 1.0, 1, {"V(-)": 1.0, "V(+)": 1.0}, 0.1),
    (
        "observation",
        "the input of V",
        lambda sign, action: sign,
        1,
        {"V(-)": -1.0, "V(+)": 1.0},
        0.2,
    ),
    (
        "action",
        "does the policy learn?",
        lambda sign, action: 2.0 * action - 1,
        1,
        {"π(1|-)": 1.0, "π(1|+)": 1.0},
        0.2,
    ),
    ("two steps", "the discount", lambda sign, action: 1.0, 2, {"V": 0.95, "V2": 1.0}, 0.02),
    (
        "combined",
        "are the rows aligned?",
        lambda sign, action: sign * (2 * action - 1),
        2,
        {"π(1|-)": 0, "π(1|+)": 1},
        0.2,
    ),
]
PROBE_ROLLOUTS = 640
probes = {}


def climb(name, loss, with_critic):
    """Train on every rung, print the results, and store in `probes[name]` which rungs passed."""
    rungs = [
        rung for rung in RUNGS if with_critic or "π(1|-)" in rung[4]
    ]  # without a critic, only those about the policy
    lines = [f"{'probe':13}{'what it isolates':25}{'expected':27}{'found':27}fine?"]
    probes[name] = dict.fromkeys([rung[0] for rung in rungs], False)
    try:
        with utils.ProgressBar(rollouts=PROBE_ROLLOUTS * len(rungs), title="probes") as bar:
            for title, isolates, pay, steps, expected, tolerance in rungs:
                for seed in (0, 1):  # a correct agent may have bad luck once
                    policy, value_net = train_probe(
                        bar.watch(Probe(pay, steps)), loss, with_critic, seed
                    )
                    found = look_at(policy, value_net)
                    fine = all(
                        abs(found[key] - value) <= tolerance for key, value in expected.items()
                    )
                    if fine:
                        break
                texts = [
                    " ".join(f"{key}={numbers[key]:.2f}" for key in expected)
                    for numbers in (expected, found)
                ]
                lines.append(
                    f"{title:13}{isolates:25}{texts[0]:27}{texts[1]:27}{'yes' if fine else 'NO'}"
                )
                probes[name][title] = fine
    finally:  # if your code raises an exception, still show the rungs before it
        print("\n".join(lines))


def look_at(policy, value_net):
    """Return V for both signs, its mean, its mean one step later (V2), and π(1) for both."""
    with torch.no_grad():
        starts = torch.tensor([[-1.0, 0.0], [1.0, 0.0]])
        first, second = (
            value_net(starts).flatten().tolist(),
            value_net(starts + torch.tensor([0.0, 1.0])).flatten().tolist(),
        )
        right = policy(starts)[:, 1].exp().tolist()
    found = {"V(-)": first[0], "V(+)": first[1], "V": sum(first) / 2, "V2": sum(second) / 2}
    return found | {"π(1|-)": right[0], "π(1|+)": right[1]}


def train_probe(env, loss, with_critic, seed):
    """Return (policy, value network) after training on a probe."""
    env.reset(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        policy = utils.SimpleReLuNetwork(2, 2, hidden_dims=[16], out_logsoftmax=True)
        value_net = utils.SimpleReLuNetwork(2, 1, hidden_dims=[16])
        submitted.train_policy_gradient(
            env=env,
            policy=policy,
            optimizer=torch.optim.Adam([*policy.parameters(), *value_net.parameters()], lr=5e-3),
            get_policy_gradient_loss=loss,
            get_returns=submitted.get_returns,
            rollouts=PROBE_ROLLOUTS,
            rollouts_before_training=32,
            training_epochs_per_rollout=4,
            minibatch_size=16,
            critic_loss_multiplier=1.0,
            value_net=value_net if with_critic else None,
            get_advantages=submitted.get_advantages,
            get_value_net_loss=submitted.get_value_net_loss,
        )
    return policy, value_net


climb("vanilla with returns", submitted.get_vanilla_policy_gradient_loss, with_critic=False)

# %% line-text [markdown]
# ## 5 · Training on the line
#
# Now train on the line: 4 rollouts per collection and 8 epochs with minibatches of 64 rows, a
# policy with two hidden layers of 16 units (`hidden_dims=[16]`: the network adds a second layer of
# the first width), and Adam with learning rate $10^{-3}$. In reinforcement learning, results vary a
# lot from run to run, so a single run tells you little. We train every setting with several random
# seeds.
#
# The next cell only defines functions that all experiments use. `train` does one training run.
# `experiment` does one run per seed. It draws the mean over seeds as a line, and the range from the
# worst to the best seed as a band. Then it tests every policy in 100 rollouts. A rollout is a
# success if its last stored observation is on the target. (That is the observation before the last
# action.) The last picture shows the rollouts of the seed with the median success.
#
# `Health` measures on each collection whether training is healthy: the explained variance before
# the 8 epochs on the collection, and approximate KL, clip fraction and entropy after these epochs.
# In what follows, $\rho$ is the ratio of two probabilities of an action that was taken: after these
# epochs, divided by before.
#
# - **Approximate KL**, the mean of $\rho - 1 - \log \rho$: how far the epochs moved the policy.
#   Healthy: 0.01 to 0.05, with peaks up to 0.1, and less at the end. Often above 0.1: the steps are
#   too large. Always 0: the policy does not change.
# - **Clip fraction**, the share of rows with $\rho$ outside 0.8 to 1.2. Section 8 explains the name;
#   until then, nothing is clipped. Healthy: up to a third, and less at the end. Above a half: the
#   steps are too large.
# - **Entropy** of the policy: $\log 3 = 1.10$ if all three actions are equally likely in every
#   state, 0 if the policy is deterministic. Healthy: falls slowly while the reward rises. If it is
#   near 0 while the reward is still low, the policy has stopped exploring and rarely recovers.
# - **Explained variance** of the returns, by a value network (from section 6 on): 1 if the network
#   predicts the returns exactly, 0 if it predicts them no better than their mean. Values below -1
#   are clipped to -1. Healthy: rises from 0 to above 0.8. If it stays at 0, the critic learns
#   nothing.
#
# These ranges come from a few runs of the reference solution.

# %% experiment
curves, success = {}, {}  # by setting: final rewards of each seed; success rate of each seed


class Health:
    """Measures what the updates on a collection have changed.

    Pass its method `get_returns` to the training loop.

    Your loop calls `get_returns` once per collection, before it trains on that collection. At this
    moment, training on the previous collection is complete, so `get_returns` first measures the
    previous collection.
    """

    def __init__(self, policy, value_net=None, discount_factor=0.95):
        self.policy, self.value_net, self.discount_factor = policy, value_net, discount_factor
        self.buffer, self.explained = None, 0.0
        self.found = {"approximate KL": [], "clip fraction": [], "entropy": []}
        if value_net is not None:
            self.found["explained variance"] = []

    def get_returns(self, buffer):
        self.measure()
        returns = submitted.get_returns(buffer, discount_factor=self.discount_factor)
        if self.value_net is not None:
            with torch.no_grad():
                error = returns - self.value_net(buffer.observations)
            if returns.var() > 0:  # 0 if all four rollouts started on the target and stayed there
                self.explained = max((1 - error.var() / returns.var()).item(), -1)
        self.buffer = buffer
        return returns

    def measure(self):
        if self.buffer is None:
            return
        with torch.no_grad():
            now = self.policy(self.buffer.observations)
        change = (now - self.buffer.old_logits).gather(1, self.buffer.actions)  # log ratio
        ratio = change.exp()
        measured = {
            "approximate KL": (ratio - 1 - change).mean().item(),
            "clip fraction": ((ratio - 1).abs() > 0.2).float().mean().item(),
            "entropy": -(now.exp() * now).sum(dim=1).mean().item(),
            "explained variance": self.explained,
        }
        for name, values in self.found.items():
            values.append(measured[name])


def train(env, rollouts, loss, learning_rate, with_critic):
    """Return (policy, final rewards, actor losses, critic losses, health) of a run on the line."""
    policy = utils.SimpleReLuNetwork(2, 3, hidden_dims=[16], out_logsoftmax=True)
    value_net = utils.SimpleReLuNetwork(2, 1, hidden_dims=[16]) if with_critic else None
    parameters = [*policy.parameters(), *(value_net.parameters() if with_critic else [])]
    health = Health(policy, value_net)
    actor_losses, critic_losses, final_rewards, _ = submitted.train_policy_gradient(
        env=env,
        policy=policy,
        optimizer=torch.optim.Adam(parameters, lr=learning_rate),
        get_policy_gradient_loss=loss,
        get_returns=health.get_returns,
        rollouts=rollouts,
        rollouts_before_training=4,
        training_epochs_per_rollout=8,
        minibatch_size=64,
        critic_loss_multiplier=0.01,
        value_net=value_net,
        get_advantages=submitted.get_advantages,
        get_value_net_loss=submitted.get_value_net_loss,
    )
    health.measure()  # the last collection
    return policy, final_rewards, actor_losses, critic_losses, health.found


def draw(name, panels, rollouts, color=utils.CURVE_COLORS[0]):
    """Draw one subplot per panel: the mean and the range over seeds."""
    rows = -(-len(panels) // 3)
    _, grid = plt.subplots(rows, 3, figsize=(9.75, 2.5 * rows), layout="constrained")
    for axes, (ylabel, values) in zip(grid.flat, panels.items(), strict=False):
        apart = rollouts / len(values[0])
        utils.plot_learning_curves({name: values}, ylabel, apart, axes=axes, colors=[color])
        axes.get_legend().remove()
    for axes in [*grid.flat][len(panels) :]:
        axes.remove()
    seeds = f"{len(values)} seed{'s' if len(values) > 1 else ''}"
    grid[0, 0].set_title(f"{name} ({seeds})", fontsize=10)
    return grid[0, 0]


def experiment(name, loss, learning_rate, with_critic):
    """Train one policy per seed, test the policies, plot the curves and store them as `name`."""
    runs, tests = [], []
    with utils.ProgressBar(rollouts=SEEDS * (ROLLOUTS + 100), title=name) as bar:
        for seed in range(SEEDS):
            env = bar.watch(
                utils.GridWorldPointTargetEnv(grid_size=10, dimensions=1, episode_length=20)
            )
            env.reset(seed)
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                runs.append(train(env, ROLLOUTS, loss, learning_rate, with_critic))
                tests.append(submitted.collect_rollouts(env, runs[-1][0], num_rollouts=100)[0])
    _, curves[name], actor_losses, critic_losses, health = map(list, zip(*runs, strict=True))
    success[name] = [utils.get_success_rate(env, test) for test in tests]

    panels = {"last reward of a rollout": curves[name], "policy loss": actor_losses}
    if with_critic:
        panels["value loss"] = critic_losses
    panels |= {what: [found[what] for found in health] for what in health[0]}
    color = utils.CURVE_COLORS[list(curves).index(name)]  # the same in all pictures
    draw(name, panels, ROLLOUTS, color).axhline(0, color="black", linewidth=0.8, linestyle=":")
    plt.show()

    print("success by seed: ", ", ".join(f"{rate:.0%}" for rate in success[name]))
    middle = int(np.argsort(success[name])[SEEDS // 2])
    print(f"seed {middle}, 100 rollouts after training:")
    utils.show_lineworld_rollouts(env, tests[middle])


# %% vanilla-line-text [markdown]
# ### Vanilla, with returns
#
# This takes 15 to 20 seconds. The curve shows the last reward of a rollout, averaged over the
# rollouts of a collection. The best possible value is 0. The policy loss need not fall, even if
# your code is correct: it is computed on the current rollouts, and these change with the policy.

# %% vanilla-line
experiment(
    "vanilla, returns",
    submitted.get_vanilla_policy_gradient_loss,
    learning_rate=1e-3,
    with_critic=False,
)

# %% vanilla-line-seen [markdown]
# The reward rises, but it ends clearly below 0. The last picture shows the distance to the target:
# with a good policy, every line would reach 0 and stay there. Some of these policies find the
# target and step back and forth around it. Others stop beside it, or lose it altogether.
#
# We trained the reference solution with 20 seeds and 2,000 rollouts. The median success rate was
# 26%; seven seeds ended with 0%, three with 95% or more. The mean reward was best after about 600
# rollouts, and got *worse* from then on. The policy lost what it had learned. To read more, search
# for **catastrophic forgetting** and **policy collapse**. You may see this with some seeds here, or
# with `LONG = True`.
#
# Why? No reward is positive, so no return is positive, and no row of a batch makes its own action
# *more* likely. Every row makes its action less likely; a bad action loses more than a good one. So
# a good action becomes more likely only because the others lose more. At best, with a return of 0,
# a row changes nothing. And a rollout that starts far from its target has low returns whatever the
# agent does. To improve, the policy needs to know how much better one action is than another. That
# difference is small compared with the noise from the random starts.

# %% critic-text [markdown]
# ## 6 · A value network, and advantages
#
# So we compare each return with the average return *in the same state*. The **value** $V(s)$ is the
# expected return of the policy from $s$ on. The **advantage** says how much better than expected
# this step turned out:
#
# $$A_t = R_t - V(s_t)$$
#
# With $A_t$ in place of $R_t$, the expected gradient stays the same, because $V(s_t)$ does not
# depend on the action. ($V$ is called a **baseline**.) But if $V$ is a good estimate, the variance
# of the gradient becomes much smaller. Now about half of the sampled actions become more likely,
# the others less likely.
#
# We do not know $V$, so a second network learns it. It is called the value network or **critic**
# and maps float32 `[B, obs_dim]` to `[B, 1]`. Minimizing the squared error between $V(s_t)$ and the
# returns makes $V(s)$ approach the mean return from $s$, averaged over the actions that the policy
# takes.
#
# **Write `get_value_net_loss(value_net, observation, returns)`**:
# $\frac{1}{B} \sum_t (V(s_t) - R_t)^2$, a scalar. ($R_t$ is the return, not the reward of one
# step.)
#
# **Write `get_advantages(value_net, observations, returns)`**: float32 `[T, 1]`, standardized over all $T$ rows,
#
# $$\hat A_t = \frac{A_t - \text{mean}(A)}{\text{std}(A) + 10^{-10}}$$
#
# so that their mean is 0 and their scale does not depend on the rewards. (With plain gradient
# descent, the right learning rate would otherwise depend on that scale. With Adam, a constant
# factor has no effect.)
# The policy loss treats advantages as data: they carry no gradient.
#
# In the cell, $V(s) = s$. In the first batch, the errors $V(s_t) - R_t$ are -1, 0 and 2, so the
# value loss is $5 / 3 = 1.667$. In the second batch, the advantages are 1, 0, 2, 1 before they are
# standardized.

# %% critic
value_net = nn.Linear(1, 1)
with torch.no_grad():
    value_net.weight.fill_(1.0)
    value_net.bias.fill_(0.0)

observations, returns = torch.tensor([[0.0], [1.0], [2.0]]), torch.tensor([[1.0], [1.0], [0.0]])
loss = submitted.get_value_net_loss(value_net=value_net, observation=observations, returns=returns)
loss.backward()
print(f"value loss  found {loss.item():.3f}, expected 1.667")
print(f"gradient of the weight  found {value_net.weight.grad.item():.3f}, expected 2.667")

observations, returns = (
    torch.tensor([[0.0], [1.0], [2.0], [3.0]]),
    torch.tensor([[1.0], [1.0], [4.0], [4.0]]),
)
advantages = submitted.get_advantages(value_net, observations, returns)
print(
    "advantages  found",
    [round(advantage, 2) for advantage in advantages.flatten().tolist()],
    list(advantages.shape),
)
print(
    "         expected [0.0, -1.22, 1.22, 0.0] (torch's std) or [0.0, -1.41, 1.41, 0.0] "
    "(numpy's), [4, 1]"
)
print("carry a gradient:", advantages.requires_grad, "(expected False)")

# %% critic-loop-text [markdown]
# ### The critic in the training loop
#
# In `train_policy_gradient`, three things change if there is a `value_net`:
#
# - after the returns, compute the advantages of the collection, and train the policy on them;
# - for each minibatch, also compute the value loss and append it to `critic_losses`, as a number;
# - minimize $L_\text{policy} + c\, L_\text{value}$ (actor loss and critic loss), where $c$ is
#   `critic_loss_multiplier`. One optimizer has the weights of both networks.
#
# Then run all five probes. This takes about three seconds. The probes cannot distinguish advantages
# from returns; `%grade` below can.

# %% critic-probes
climb("vanilla with advantages", submitted.get_vanilla_policy_gradient_loss, with_critic=True)

# %% critic-probes-grade
# %grade train_policy_gradient.with_critic train_policy_gradient.minibatches

# %% advantages-line-text [markdown]
# If the last column of the output of `climb` shows NO, start with the first such rung. The list
# below the table of probes says where to look.
#
# Then train on the line of section 5 again, with the same learning rate, but on advantages. This
# takes 20 to 30 seconds. The question `learning_vanilla` uses the functions you have written so far
# to train a policy in a smaller world.

# %% advantages-line
experiment(
    "vanilla, advantages",
    submitted.get_vanilla_policy_gradient_loss,
    learning_rate=1e-3,
    with_critic=True,
)

# %% advantages-line-grade
# %grade learning_vanilla

# %% advantages-line-seen [markdown]
# Much better: nearly all lines reach 0 and stay there. Over 20 seeds of 2,000 rollouts,
# the median success is 100%, and 18 of 20 seeds reach 95%. The other two ended at 88% and 20%. So a
# single bad seed need not mean a mistake in your code, but two in four are suspicious.
#
# The value loss starts high, because $V$ is near 0 and the returns are not. It falls as the critic
# learns. The policy loss fluctuates around a value near 0.
#
# This is what a healthy training run looks like: the entropy falls slowly, from 1.1 to about 0.1
# after 1,000 rollouts. The explained variance rises over the whole training run, to about 0.9. The
# approximate KL stays below 0.1, apart from occasional spikes.

# %% fragile-text [markdown]
# ## 7 · A larger learning rate ruins the policy
#
# The learning rate of $10^{-3}$ was well chosen. With a rate four times as large, you might hope to
# finish in a quarter of the time. The cell takes 20 to 30 seconds.

# %% fragile
experiment(
    "vanilla, lr 4e-3",
    submitted.get_vanilla_policy_gradient_loss,
    learning_rate=4e-3,
    with_critic=True,
)

# %% fragile-seen [markdown]
# It learns fast at first and then collapses. Over 20 seeds of 2,000 rollouts, the median success is
# 12%, and no seed exceeds 52%.
#
# The plots show early signs of the collapse. Between rollouts 40 and 160, about half of the rows
# have a $\rho$ outside 0.8 to 1.2 (the clip fraction), and the approximate KL is mostly above 0.2,
# with peaks above 2. At rollout 200, the entropy is below 0.2, although the reward is still bad.
# The value loss does not fall to 0.
#
# The reason is that each collection is used 8 times. The gradient formula holds for actions sampled
# from the *current* policy. After the first update, the rollouts come from an older policy: the
# data are **off-policy**. With large steps, the new policy soon acts differently from the policy
# that collected the data. The loss does not take this into account: it keeps changing $\log \pi$ in
# the same direction, without any limit. And a policy that has become almost deterministic no longer
# explores, so it cannot find out that other actions are better.

# %% ppo-text [markdown]
# ## 8 · Proximal policy optimization
#
# PPO keeps the new policy close to the one that collected the rollouts. It compares the two
# policies by the **ratio**
#
# $$\rho_t = \frac{\pi_\theta(a_t \mid s_t)}{\pi_\text{old}(a_t \mid s_t)}$$
#
# It is 1 as long as the policy has not changed. If it is above 1, the action that was taken has
# become more likely; if below 1, less likely. PPO maximizes
#
# $$\min\left(\rho_t A_t,\ \text{clip}(\rho_t,\, 1 - \varepsilon,\, 1 + \varepsilon)\, A_t\right)$$
#
# so the loss is minus its mean over the batch:
#
# $$L = -\frac{1}{B} \sum_t \min\left(\rho_t A_t,\ \text{clip}(\rho_t,\, 1 - \varepsilon,\, 1 + \varepsilon)\, A_t\right)$$
#
# Read it case by case:
#
# - **Good action** ($A_t > 0$). It should become more likely, up to a ratio of $1 + \varepsilon$.
#   Beyond that, the objective is flat, so its gradient is 0.
# - **Bad action** ($A_t < 0$). It should become less likely, down to a ratio of $1 - \varepsilon$.
#   Below that, the objective is flat, too.
# - **Moved the wrong way.** If a good action has become *less* likely, or a bad one *more* likely,
#   the minimum selects the unclipped product. So the gradient is not 0, and the update can
#   correct the ratio. Clipping only removes the incentive to move further in the direction that
#   looks good.
#
# **Write
# `get_PPO_policy_gradient_loss(policy, observation, old_logits, action, return_or_advantage, ppo_clip)`**:
# a scalar. `old_logits` are the log-probabilities of the rollout, float32 `[B, A]`; $\varepsilon$
# is `ppo_clip`. Both policies return log-probabilities, so the ratio is the exponential of a
# difference.
#
# The cell plots the objective (your loss times -1) of one row against the ratio. Your line should
# lie on the dotted line. The question `one_update` below runs all your functions together: one
# collection and one update.

# %% ppo-objective
ratios = np.linspace(0.02, 2, 200)
old_probability = 0.4
colors = utils.CURVE_COLORS
corners = {
    +1.0: ([0, 1.2, 2], [0, 1.2, 1.2]),
    -1.0: ([0, 0.8, 2], [-0.8, -0.8, -2]),
}  # where the objective bends

_, both = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for axes, (advantage, (bend_x, bend_y)), color in zip(both, corners.items(), colors, strict=False):
    objective = []
    for ratio in ratios:
        now = torch.tensor(
            [[ratio * old_probability, 1 - ratio * old_probability]], dtype=torch.float32
        ).log()
        old = torch.tensor([[old_probability, 1 - old_probability]]).log()
        loss = submitted.get_PPO_policy_gradient_loss(
            policy=nn.Identity(),
            observation=now,
            old_logits=old,
            action=torch.tensor([[0]]),
            return_or_advantage=torch.tensor([[advantage]]),
            ppo_clip=0.2,
        )
        objective.append(-loss.item())
    axes.axvspan(0.8, 1.2, color="black", alpha=0.06, linewidth=0)
    axes.plot(ratios, objective, color=color, linewidth=3, label="yours")
    axes.plot(bend_x, bend_y, color="black", linestyle=":", label="expected")
    axes.plot(1, advantage, "o", color="black", markersize=5)
    axes.annotate(
        "not moved yet",
        (1, advantage),
        (9, 9 * (advantage < 0) - 4),
        textcoords="offset points",
        fontsize=9,
    )
    axes.set_title(f"A = {advantage:+.0f}: {'a good' if advantage > 0 else 'a bad'} action")
    axes.set(xlabel="ratio ρ (gray: within the clip range)", ylabel="objective", xlim=(0, 2))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left" if advantage > 0 else "lower left")
plt.show()

# %% ppo-objective-grade
# %grade get_PPO_policy_gradient_loss one_update

# %% ppo-probes-text [markdown]
# If your line is different, its shape shows why. Upside down: the sign is wrong. No bend:
# nothing is clipped. Flat on the other side: you take the larger of the two products instead of the
# smaller. Curved: you use something other than the ratio.
#
# Run the probes with the new loss:

# %% ppo-probes
climb("PPO", submitted.get_PPO_policy_gradient_loss, with_critic=True)

# %% ppo-line-text [markdown]
# Now use the learning rate at which the vanilla loss collapsed. This takes 20 to 30 seconds.

# %% ppo-line
experiment(
    "PPO, lr 4e-3", submitted.get_PPO_policy_gradient_loss, learning_rate=4e-3, with_critic=True
)

# %% ppo-line-grade
# %grade learning_ppo

# %% ppo-line-seen [markdown]
# Over 20 seeds of 2,000 rollouts, the median success is 100%, and 18 of 20 seeds reach 95% (the
# others: 58% and 85%). PPO ends no better than the vanilla loss does at a learning rate of
# $10^{-3}$. But it needs only about 400 rollouts to come close to that result, and it works with a
# learning rate at which the vanilla loss fails on every seed. On a new problem you do not know the
# right learning rate, so this matters. Small collections are one reason for the two bad seeds: with
# `rollouts_before_training=8` in place of 4, the rows of a minibatch come from more rollouts, and
# all 20 seeds reach 95% with the same total number of rollouts.
#
# Compare the pictures with those of section 7. At the same learning rate, about 90% of the
# approximate KLs are now below 0.05, and the clip fraction is mostly below a third: once $\rho$ has
# left the range, a row no longer pushes it further. The entropy falls more slowly than in section
# 7, while the reward rises to 0. Late in training, the KL occasionally spikes above 0.05. The
# policy is almost deterministic by then, so some actions in the collection had probabilities near
# 0, and even a small change of such a probability makes $\rho$ very large or very small.

# %% compare-text [markdown]
# ## 9 · Side by side
#
# Here are all four experiments in one picture. The table compares your results with those of the
# reference solution.

# %% compare
REFERENCE = {  # 20 seeds, 2,000 rollouts: the median success, and how many seeds reached 95%
    "vanilla, returns": ("26%", "3 of 20"),
    "vanilla, advantages": ("100%", "18 of 20"),
    "vanilla, lr 4e-3": ("12%", "0 of 20"),
    "PPO, lr 4e-3": ("100%", "18 of 20"),
}
trained = {name: curves[name] for name in REFERENCE if name in success}
for name in REFERENCE:
    if name not in trained:
        print("not trained in this session:", name)
if trained:
    axes = utils.plot_learning_curves(trained, "last reward of a rollout", rollouts_per_value=4)
    axes.axhline(0, color="black", linewidth=0.8, linestyle=":")
    axes.set_title("mean over seeds; band: from the worst to the best seed")
    plt.show()

print(
    f"{'':22}{'yours: median':>16}{'at least 95%':>16}{'reference: median':>20}{'at least 95%':>16}"
)
for name in trained:
    median, solved = REFERENCE[name]
    rates = np.array(success[name])
    mine = f"{(rates >= 0.95).sum()} of {len(rates)}"
    print(f"{name:22}{np.median(rates):16.0%}{mine:>16}{median:>20}{solved:>16}")

# %% cartpole-text [markdown]
# ## 10 · Something harder: CartPole
#
# A pole stands on a cart, and the agent pushes the cart to the left or to the right, 50 times a
# second. The observation has four numbers: position, velocity, angle, angular velocity. Each step
# gives reward 1 until the pole falls or the cart leaves the track, and an episode lasts at most 500
# steps. So the *last* reward is always 1 and shows no progress. We plot the undiscounted return of
# an episode instead. It is the number of steps of the episode.
#
# Your functions need no change. The networks are larger, and the discount factor is 0.99, so that
# the agent looks about $1 / (1 - \gamma) = 100$ steps ahead instead of 20. Episodes get longer as
# the agent improves, so the progress bar slows down. This takes 20 to 30 seconds.

# %% cartpole
curves["CartPole"], healths = [], []
with utils.ProgressBar(
    rollouts=CARTPOLE_SEEDS * CARTPOLE_ROLLOUTS, title="CartPole, PPO", window=20
) as bar:
    for seed in range(CARTPOLE_SEEDS):
        env = bar.watch(utils.OpenAIGymEnv())
        env.reset(seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            policy = utils.SimpleReLuNetwork(4, 2, hidden_dims=[32], out_logsoftmax=True)
            value_net = utils.SimpleReLuNetwork(4, 1, hidden_dims=[32])
            health = Health(policy, value_net, discount_factor=0.99)
            submitted.train_policy_gradient(
                env=env,
                policy=policy,
                optimizer=torch.optim.Adam(
                    [*policy.parameters(), *value_net.parameters()], lr=3e-3
                ),
                get_policy_gradient_loss=submitted.get_PPO_policy_gradient_loss,
                get_returns=health.get_returns,
                rollouts=CARTPOLE_ROLLOUTS,
                rollouts_before_training=4,
                training_epochs_per_rollout=8,
                minibatch_size=128,
                critic_loss_multiplier=0.01,
                value_net=value_net,
                get_advantages=submitted.get_advantages,
                get_value_net_loss=submitted.get_value_net_loss,
            )
        curves["CartPole"].append(env.returns)
        health.measure()
        healths.append(health.found)

panels = {"steps until the pole falls": curves["CartPole"]}
panels |= {what: [found[what] for found in healths] for what in healths[0]}
axes = draw("CartPole", panels, CARTPOLE_ROLLOUTS)
axes.axhline(500, color="black", linewidth=0.8, linestyle=":")
plt.show()

# %% cartpole-seen [markdown]
# A random policy keeps the pole up for about 20 steps. The limit is 500 (dotted). We tried eight
# seeds: rollouts 80 to 100 lasted 340 to 480 steps on average, and the last 20 of 160 rollouts
# lasted between 470 and 500 steps.
#
# Healthy here: the approximate KL is at most 0.03, and the clip fraction falls from a third to a
# few percent. The entropy falls only from $\log 2 = 0.69$ to about 0.55, because both pushes are
# good while the pole is nearly upright. The explained variance can stay low, and the critic is not
# to blame: if all episodes last 500 steps, returns differ only by how near the end is, and no
# observation shows this. So always read the explained variance together with the returns.
#
# On a machine with a screen and pygame you can watch your agent:
#
# ```python
# submitted.collect_rollouts(utils.OpenAIGymEnv(vis=True), policy, num_rollouts=3)
# ```
#
# ## Optional experiments
#
# - In `train` above, pass `ppo_clip` as 0.05, 0.5, and 10. With which value is almost nothing
#   clipped? How does the gradient of the PPO loss then differ from that of the vanilla loss when
#   the ratio is not 1?
# - Train one epoch per collection instead of 8, with the vanilla loss and the learning rate
#   $4 \cdot 10^{-3}$. Does it still collapse?
# - Do not standardize the advantages. Does it matter with Adam? And with `torch.optim.SGD`?
# - Use two dimensions: `utils.GridWorldPointTargetEnv(dimensions=2)` has 4 numbers per observation
#   and 5 actions.
#
# Finally, run `python grade.py` once more and submit `submitted.py`.

# %% end
for name, seeds in curves.items():
    if not seeds:
        continue  # its training has failed
    begin, end = (
        np.mean([np.mean(values[part]) for values in seeds])
        for part in (slice(0, 10), slice(-10, None))
    )
    print(f"{name:22} first ten values: {begin:7.2f}   last ten: {end:7.2f}")
