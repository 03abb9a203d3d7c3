# Source of assignments/policy_gradient/notebook.ipynb; `python -m grader build` makes the notebook from it.
# Figures "over 20 seeds" are those of benchmarks/results/policy_gradient_training.json. The tests execute the notebook
# (tests/kit/test_notebook.py) and read what the last cell leaves: `curves` and `probes`.

# %% title [markdown]
# # Policy gradients, from the plain one to PPO
#
# In this assignment you write an agent that learns by trial and error, in seven small functions. It begins with the plainest
# form of the idea, which hardly works, and ends with proximal policy optimization (PPO), which works well enough to be behind
# agents for StarCraft and Dota 2, walking robots, and the fine-tuning of language models.
#
# Every part goes the same way: the idea, the formula, the shapes, what to write, a cell that tries it, and what you should
# see. You write into **`submitted.py`**, in the order of this notebook; the notebook only calls it.
#
# > **How to work**
# >
# > - Save `submitted.py` and run the cell again. The kernel need not restart: `autoreload` takes what you saved. If it
# >   complains about a syntax error, it goes on with the version before.
# > - Run `python grade.py --watch` in a terminal beside this notebook. It grades every save, and a wrong answer often gets a
# >   hint at the mistake that it looks like. Cells here show what your code does; `grade.py` says whether it is right.
# > - The first cell that calls a function you have not written stops with a `NotImplementedError` that says what to return.
# > - You may also define the functions in a notebook and hand that in: `python grade.py --submission notebook.ipynb` grades
# >   what it defines. The cells below would then have to call your functions without `submitted.` before them.
#
# All trainings together take about two minutes with the settings of the next cell. Losses, returns and curves differ from
# machine to machine; the figures in the text are what a right solution gives over many random seeds.

# %% setup
# %load_ext autoreload
# %autoreload 2

import functools
import os

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

import submitted
import utils

torch.set_num_threads(1)  # the networks are tiny: more threads would only wait for each other

# %% settings
LONG = False  # True: 2,000 rollouts and ten seeds per experiment, five to ten times as long

SEEDS, ROLLOUTS = (10, 2000) if LONG else (4, 1200)
CARTPOLE_SEEDS, CARTPOLE_ROLLOUTS = (4, 300) if LONG else (2, 160)

if os.environ.get("NOTEBOOK_BUDGET") == "short":  # for automatic tests: a few seconds per training
    SEEDS, ROLLOUTS = 2, 400
    CARTPOLE_SEEDS, CARTPOLE_ROLLOUTS = 1, 56

# %% objective [markdown]
# ## The idea
#
# A **policy** $\pi_\theta(a \mid s)$ is a network with weights $\theta$: it takes an observation $s$ and gives a probability
# to every action $a$. One episode played with it is a trajectory $\tau = (s_0, a_0, r_0, s_1, a_1, r_1, \dots)$, here also
# called a **rollout**. We want weights with which the total reward $R(\tau) = \sum_t r_t$ is large on average:
#
# $$J(\theta) = E_{\tau \sim \pi_\theta}\left[R(\tau)\right] = \int P(\tau \mid \theta)\, R(\tau)\, d\tau$$
#
# If we knew $\nabla_\theta J$, we could take small steps uphill. But $\theta$ stands in the distribution that we sample from,
# and we cannot differentiate through a game. The way out is the derivative of a logarithm, $\nabla P = P\, \nabla \log P$:
#
# $$\nabla_\theta J = \int \nabla_\theta P(\tau \mid \theta)\, R(\tau)\, d\tau
#   = \int P(\tau \mid \theta)\, \nabla_\theta \log P(\tau \mid \theta)\, R(\tau)\, d\tau
#   = E_{\tau \sim \pi_\theta}\left[\nabla_\theta \log P(\tau \mid \theta)\, R(\tau)\right]$$
#
# Now it is an expectation again, so a mean over rollouts estimates it. And $P(\tau \mid \theta)$ is a product of what the
# policy does and what the environment does. In the logarithm the product becomes a sum, and the environment's part does not
# contain $\theta$. What is left is
#
# $$\nabla_\theta J = E_{\tau \sim \pi_\theta}\left[\sum_t \nabla_\theta \log \pi_\theta(a_t \mid s_t)\, R(\tau)\right]$$
#
# In words: play, then make the actions that you took more likely, in proportion to how much reward came out. Nobody has to
# know how the environment works. Exploring comes for free, because the policy itself is random.

# %% returns-text [markdown]
# ## 1 · Returns: what an action can still change
#
# An action has no influence on rewards that came before it; they only add noise. So each step is weighted with the reward
# *from there on*, its **return**. Rewards further away count less, by the discount factor $\gamma$ for every step:
#
# $$R_t = r_t + \gamma\, r_{t+1} + \gamma^2 r_{t+2} + \dots = r_t + \gamma R_{t+1}$$
#
# The second form is the one to program: begin with the last row and go backwards.
#
# A `utils.RolloutBuffer` holds several episodes one after another, $T$ rows in all. `rewards` is `[T]` and `terminateds` is
# `[T]`, true in the row that ended its episode. A return must not see the rewards of the next episode.
#
# **Write `get_returns(rollout_buffer, discount_factor)`**: float32 `[T, 1]`.
#
# The cell makes a buffer of three episodes; the last one is unfinished. With $\gamma = 0.5$ you can do it in your head.

# %% returns
buffer = utils.RolloutBuffer()
unused = torch.zeros(1, 1)
for reward, terminated in [(1, False), (0, False), (2, True), (3, False), (1, True), (4, False), (2, False)]:
    buffer.add(action=unused, logits=unused, observation=unused, terminated=terminated, reward=reward)
buffer.finalize()

returns = submitted.get_returns(buffer, discount_factor=0.5)
print("found    ", returns.flatten().tolist(), "with shape", list(returns.shape))
print("expected ", [1.5, 1.0, 2.0, 3.5, 1.0, 5.0, 2.0], "with shape", [7, 1])

# %% vanilla-text [markdown]
# ## 2 · The vanilla policy-gradient loss
#
# torch computes gradients by itself, so we only write the expression whose gradient we want. Optimizers go downhill; so the
# loss is *minus* what should grow. Over a batch of $B$ rows it is
#
# $$L = -\frac{1}{B} \sum_{t} \log \pi_\theta(a_t \mid s_t)\, R_t$$
#
# (The mean over rows instead of rollouts changes only the scale, and keeps the learning rate independent of how long episodes
# are.)
#
# `policy(observation)` gives **log-probabilities**, float32 `[B, A]`: a row per observation, a column per action. You need of
# every row the one column of the action that was taken; `action` is int64 `[B, 1]`. `return_or_advantage` is float32 `[B, 1]`;
# for now it holds returns. Watch the shapes: `[B]` times `[B, 1]` becomes `[B, B]` without any warning.
#
# **Write `get_vanilla_policy_gradient_loss(policy, observation, action, return_or_advantage)`**: a scalar. Use torch functions
# only; a detour through numpy or `.item()` loses the gradient.
#
# Below, the policy gave the two actions that were taken the probabilities 0.5 and 0.2, and their returns are 2 and -1. By
# hand:
#
# $$L = -\tfrac{1}{2} \left(2 \log 0.5 - \log 0.2\right) = -0.1116$$
#
# The action of row 0 went well. So its log-probability must get a *negative* gradient: a step downhill then makes it more
# likely. All actions that were not taken get a gradient of 0 here.

# %% vanilla
log_probs = torch.tensor([[0.5, 0.5], [0.8, 0.2]]).log().requires_grad_()
loss = submitted.get_vanilla_policy_gradient_loss(
    policy=nn.Identity(),  # the "observations" are the log-probabilities
    observation=log_probs,
    action=torch.tensor([[0], [1]]),
    return_or_advantage=torch.tensor([[2.0], [-1.0]]),
)
loss.backward()
print(f"loss      found {loss.item():.4f}, expected -0.1116")
print("gradient  found", log_probs.grad.tolist(), "expected", [[-1.0, 0.0], [0.0, 0.5]])

# %% rollouts-text [markdown]
# ## 3 · Collecting rollouts
#
# Our world is a line with the positions 0 to 10. In each episode a start and a target are drawn; for 20 steps the agent goes
# one to the left (action 0), stays (1), or goes one to the right (2). The observation is (target, position), both mapped to
# $[-1, 1]$, float32 `[1, 2]`. The reward is minus the distance to the target after the action, divided by 10. Zero is best,
# and reaching the target does not end the episode: the agent must stay there.
#
# An environment has two functions. `env.reset()` begins an episode and returns its first observation. `env.step(action)`
# returns `(next observation, terminated, reward)`, in this order.
#
# **Write the blank of `collect_rollouts`**: play one episode to its end. Ask the policy for its log-probabilities, sample with
# `utils.distribution_sample(logits, seed=seed)` (the grader relies on this function), and add one row per step. A row holds
# what belongs together: the observation that the policy *saw* when it chose, not the one that came after.
#
# The cell lets a policy play that always goes right, from 2 with the target at 5. Expect the positions 2, 3, 4, 5, 6, the
# rewards -0.2, -0.1, 0, -0.1, -0.2, one `True` at the end, and the last reward -0.2.

# %% rollouts


def always_right(_observation):
    return torch.tensor([[-30.0, -30.0, 0.0]])  # log-probabilities: the first two are as good as impossible


line = utils.GridWorldPointTargetEnv(grid_size=10, dimensions=1, episode_length=5, set_target=5, set_state=2)
buffer, last_reward = submitted.collect_rollouts(line, always_right, num_rollouts=1)

print("\nposition seen | action | reward | terminated")
for row in range(buffer.final_size):
    position = (buffer.observations[row, 1].item() + 1) * 5
    action, reward, end = buffer.actions[row].item(), buffer.rewards[row].item() + 0.0, buffer.terminateds[row].item()
    print(f"{position:13.0f} | {action:6} | {reward:6.1f} | {end}")
print(f"last reward {last_reward:.1f}")

# %% loop-text [markdown]
# ## 4 · The training loop
#
# Everything is there now; `train_policy_gradient` puts it together. Two blanks are yours.
#
# **First blank, once per collection.** Collect `rollouts_before_training` rollouts, keep their last reward, and compute the
# returns. (Where there is a value network, compute advantages as well. That is part 6; leave it out until then if you like.)
#
# **Second blank, once per epoch.** Rows of one episode resemble each other. So shuffle all $T$ rows and cut them into
# minibatches of `minibatch_size` rows; the last one may be shorter. For each minibatch compute the loss, keep its value, and
# update: `zero_grad`, `backward`, `step`. A minibatch is a set of row *numbers*. Use the same ones for observations, actions,
# old log-probabilities and returns: otherwise an action is rewarded for what another one did.
#
# Losses are called with keywords, each with all of `policy`, `value_net`, `observation`, `old_logits`, `action`,
# `return_or_advantage`, `returns`, `ppo_clip`. A loss picks what it needs; that is why each takes `**kwargs`.
#
# The cell trains for two collections of four rollouts, 20 steps each: 80 rows a collection. Two epochs with minibatches of 30
# make $2 \cdot 2 \cdot 3 = 12$ losses.

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

changed = sum(not torch.equal(old, new) for old, new in zip(before, policy.parameters(), strict=True))
print(f"actor losses   found {len(actor_losses)}, expected 12")
print(f"critic losses  found {len(critic_losses)}, expected 0")
print(f"final rewards  found {len(final_rewards)}, expected 2")
print(f"weight tensors that changed: found {changed}, expected {len(before)}")

# %% probes-text [markdown]
# ## Before any long training: probes
#
# When an agent does not learn, the curve does not tell why. So first we climb a ladder of tiny worlds, in each of which one
# thing can go wrong, and whose right answer is known. Each is trained for about half a second, and once more with another seed
# if it is not fine: a right agent, too, may have bad luck. The first rung that is not fine says where to look. (The idea is
# Andy Jones's, *Debugging RL, Without the Agonizing Pain*.)
#
# | rung | what happens | a right agent ends with |
# | --- | --- | --- |
# | constant | one step, which always pays 1 | $V = 1$ for both signs |
# | observation | one step, which pays the sign that is shown | $V(-) = -1$, $V(+) = 1$ |
# | action | one step; action 1 pays 1, action 0 costs 1 | $\pi(1) = 1$ for both signs |
# | two steps | the second one pays 1 | $V = 0.95$, a step later $V_2 = 1$ |
# | combined | the second one pays 1 if the first action fits the sign, else -1 | $\pi(1 \mid -) = 0$, $\pi(1 \mid +) = 1$ |
#
# If the first rung that is not fine is
#
# - **constant**: the value loss may be wrong, or the critic is not updated. If $V$ is much more than 1, returns run into the
#   next episode; if it is between, look at which observation each row holds.
# - **observation**: do values see other rows than returns, or does `[B]` meet `[B, 1]`?
# - **action**: a sign may be wrong in the policy loss or in the advantages, or the policy is not updated.
# - **two steps**: look at the discount in `get_returns`. Are there rewards where returns should be?
# - **combined**: actions, advantages and observations may come from different rows, or the agent does not explore. Without a
#   value network, it may also be trained on rewards instead of returns.
#
# You have no value network yet, so for the moment only two rungs count. We come back to all of them.

# %% probes


class Probe(utils.EnvInterface):
    """Episodes of one or two steps that show a sign, -1 or +1, and pay with their last step.

    pay: gives the reward, from the sign and from the action of the first step (0 or 1).
    Observation: the sign, and how many steps were taken, float32 [1, 2].
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
        return self.observe(), terminated, self.pay(self.sign, self.actions[0]) if terminated else 0.0

    def observe(self):
        return torch.tensor([[self.sign, float(len(self.actions))]])


RUNGS = [  # name, what it isolates, how it pays, steps, what a right agent ends with, and how far off it may be
    ("constant", "the value loss", lambda sign, action: 1.0, 1, {"V(-)": 1.0, "V(+)": 1.0}, 0.1),
    ("observation", "does V see it?", lambda sign, action: sign, 1, {"V(-)": -1.0, "V(+)": 1.0}, 0.2),
    ("action", "does the policy follow?", lambda sign, action: 2.0 * action - 1, 1, {"π(1|-)": 1.0, "π(1|+)": 1.0}, 0.2),
    ("two steps", "the discount", lambda sign, action: 1.0, 2, {"V": 0.95, "V2": 1.0}, 0.02),
    ("combined", "do rows fit together?", lambda sign, action: sign * (2 * action - 1), 2, {"π(1|-)": 0, "π(1|+)": 1}, 0.2),
]
PROBE_ROLLOUTS = 640
probes = {}


def climb(name, loss, with_critic):
    """Train on every rung, print what was expected and found, and keep under `name` which rungs are fine."""
    rungs = [rung for rung in RUNGS if with_critic or "π(1|-)" in rung[4]]  # without a critic, only those about the policy
    lines = [f"{'probe':13}{'what it isolates':25}{'expected':27}{'found':27}fine?"]
    probes[name] = dict.fromkeys([rung[0] for rung in rungs], False)
    try:
        with utils.ProgressBar(rollouts=PROBE_ROLLOUTS * len(rungs), title="probes") as bar:
            for title, isolates, pay, steps, expected, tolerance in rungs:
                for seed in (0, 1):  # a right agent may have bad luck once
                    policy, value_net = train_probe(bar.watch(Probe(pay, steps)), loss, with_critic, seed)
                    found = look_at(policy, value_net)
                    fine = all(abs(found[key] - value) <= tolerance for key, value in expected.items())
                    if fine:
                        break
                texts = [" ".join(f"{key}={numbers[key]:.2f}" for key in expected) for numbers in (expected, found)]
                lines.append(f"{title:13}{isolates:25}{texts[0]:27}{texts[1]:27}{'yes' if fine else 'NO'}")
                probes[name][title] = fine
    finally:  # if your code raised an exception, the rungs before it are shown, too
        print("\n".join(lines))


def look_at(policy, value_net):
    """Return what a probe's networks say: values for both signs and on average, now and (V2) a step later; and π(1)."""
    with torch.no_grad():
        starts = torch.tensor([[-1.0, 0.0], [1.0, 0.0]])
        first, second = value_net(starts).flatten().tolist(), value_net(starts + torch.tensor([0.0, 1.0])).flatten().tolist()
        right = policy(starts)[:, 1].exp().tolist()
    found = {"V(-)": first[0], "V(+)": first[1], "V": sum(first) / 2, "V2": sum(second) / 2}
    return found | {"π(1|-)": right[0], "π(1|+)": right[1]}


def train_probe(env, loss, with_critic, seed):
    """Return (policy, value network) after training in a probe."""
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
# Now the real thing: 4 rollouts per collection, 8 epochs of minibatches of 64, a policy with 16 units per layer, the optimizer
# Adam with learning rate $10^{-3}$. One run tells little, because luck plays a large part in reinforcement learning. So every
# setting is trained with several random seeds.
#
# The next cell only defines what the experiments share. `train` is one run. `experiment` is one run per seed; it draws the
# mean over seeds as a line and the range from the worst to the best seed as a band, then tests every policy in 100 rollouts. A
# rollout is a success if it ends on the target. The last picture shows the rollouts of the seed in the middle.

# %% experiment
curves, success = {}, {}  # by setting: one list of final rewards per seed; one success rate per seed


def train(env, rollouts, loss, learning_rate, with_critic):
    """Return (policy, final rewards, actor losses, critic losses) of one run on the line."""
    policy = utils.SimpleReLuNetwork(2, 3, hidden_dims=[16], out_logsoftmax=True)
    value_net = utils.SimpleReLuNetwork(2, 1, hidden_dims=[16]) if with_critic else None
    parameters = [*policy.parameters(), *(value_net.parameters() if with_critic else [])]
    actor_losses, critic_losses, final_rewards, _ = submitted.train_policy_gradient(
        env=env,
        policy=policy,
        optimizer=torch.optim.Adam(parameters, lr=learning_rate),
        get_policy_gradient_loss=loss,
        get_returns=submitted.get_returns,
        rollouts=rollouts,
        rollouts_before_training=4,
        training_epochs_per_rollout=8,
        minibatch_size=64,
        critic_loss_multiplier=0.01,
        value_net=value_net,
        get_advantages=submitted.get_advantages,
        get_value_net_loss=submitted.get_value_net_loss,
    )
    return policy, final_rewards, actor_losses, critic_losses


def experiment(name, loss, learning_rate, with_critic):
    """Train one policy per seed, show how that went, and keep its curves under `name`."""
    runs, tests = [], []
    with utils.ProgressBar(rollouts=SEEDS * (ROLLOUTS + 100), title=name) as bar:
        for seed in range(SEEDS):
            env = bar.watch(utils.GridWorldPointTargetEnv(grid_size=10, dimensions=1, episode_length=20))
            env.reset(seed)
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                runs.append(train(env, ROLLOUTS, loss, learning_rate, with_critic))
                tests.append(submitted.collect_rollouts(env, runs[-1][0], num_rollouts=100)[0])
    _, curves[name], actor_losses, critic_losses = (list(column) for column in zip(*runs, strict=True))
    success[name] = [utils.get_success_rate(env, test) for test in tests]

    colour = utils.CURVE_COLOURS[list(curves).index(name)]  # the same in all pictures
    panels = {"last reward of a rollout": curves[name], "policy loss": actor_losses}
    if with_critic:
        panels["value loss"] = critic_losses
    _, all_axes = plt.subplots(1, len(panels), figsize=(5 * len(panels), 3.4), layout="constrained")
    for axes, (ylabel, values) in zip(all_axes, panels.items(), strict=True):
        utils.plot_learning_curves({name: values}, ylabel, ROLLOUTS / len(values[0]), axes=axes, colours=[colour])
    for axes in all_axes[1:]:
        axes.get_legend().remove()
    all_axes[0].axhline(0, color="black", linewidth=0.8, linestyle=":")
    plt.show()

    print("success by seed: ", ", ".join(f"{rate:.0%}" for rate in success[name]))
    middle = int(np.argsort(success[name])[SEEDS // 2])
    print(f"seed {middle}, 100 rollouts after training:")
    utils.show_lineworld_rollouts(env, tests[middle])


# %% vanilla-line-text [markdown]
# ### Vanilla, with returns
#
# This takes 15 to 20 seconds. The curve shows the last reward of a rollout, averaged over those of a collection; 0 is the best
# possible. The policy loss need not fall, and that is no mistake: it is measured on the rollouts of the moment, and these
# change with the policy.

# %% vanilla-line
experiment("vanilla, returns", submitted.get_vanilla_policy_gradient_loss, learning_rate=1e-3, with_critic=False)

# %% vanilla-line-seen [markdown]
# The reward rises, but it ends clearly below 0. In the last picture, lines should run into the middle and stay there. Most
# policies find the way, and then step to and fro around the target: they have unlearned to stay.
#
# How poor is it? We trained the reference solution with 20 seeds and 2,000 rollouts. The median success was 26%; seven seeds
# ended with 0%, three with 95% or more. The mean reward was best after about 600 rollouts and got *worse* from then on. What
# was learned is lost again; this is called **catastrophic forgetting**. You may see it in single seeds here, or with `LONG =
# True`.
#
# Why? No reward is positive, so no return is. *Every* action that is tried is pushed down, the good ones merely less than the
# bad ones. And a rollout that begins far from its target has low returns whatever the agent does. The difference between
# actions, the only thing that tells where to go, drowns in all of this.

# %% critic-text [markdown]
# ## 6 · A value network, and advantages
#
# So let us compare each return with what is usual *in that situation*. The **value** $V(s)$ is the return that the policy gets
# on average from $s$ on, and the **advantage** says how much better than usual it went:
#
# $$A_t = R_t - V(s_t)$$
#
# With $A_t$ in place of $R_t$ the expected gradient stays the same, because $V(s_t)$ does not depend on the action. But its
# variance becomes much smaller. Now about half of the actions are pushed up and half are pushed down.
#
# Nobody gives us $V$, so a second network learns it, the **critic**: float32 `[B, obs_dim]` to `[B, 1]`. If it is trained to
# have a small squared error to the returns, it ends at their mean over whatever the actions were.
#
# **Write `get_value_net_loss(value_net, observation, returns)`**: $\frac{1}{B} \sum_t (V(s_t) - R_t)^2$, a scalar. (Of
# returns, not of single rewards.)
#
# **Write `get_advantages(value_net, observations, returns)`**: float32 `[T, 1]`, standardised over all $T$ rows,
#
# $$\hat A_t = \frac{A_t - \text{mean}(A)}{\text{std}(A) + 10^{-10}}$$
#
# so that the learning rate need not fit the size of the rewards. For the policy's loss, advantages are plain data: they carry
# no gradient.
#
# In the cell, $V(s) = s$. The errors of the value loss are 1, 0 and 2, so it is $5 / 3 = 1.667$. The advantages are 1, 0, 2, 1
# before they are standardised.

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

observations, returns = torch.tensor([[0.0], [1.0], [2.0], [3.0]]), torch.tensor([[1.0], [1.0], [4.0], [4.0]])
advantages = submitted.get_advantages(value_net, observations, returns)
print("advantages  found", [round(advantage, 2) for advantage in advantages.flatten().tolist()], list(advantages.shape))
print("         expected [0.0, -1.22, 1.22, 0.0] (torch's std) or [0.0, -1.41, 1.41, 0.0] (numpy's), [4, 1]")
print("carry a gradient:", advantages.requires_grad, "(expected False)")

# %% critic-loop-text [markdown]
# ### The critic in the training loop
#
# In `train_policy_gradient`, three things change if there is a `value_net`:
#
# - after the returns, compute the advantages of the collection, and train the policy on them;
# - for each minibatch, compute the value loss too and keep its value;
# - minimise $L_\text{policy} + c\, L_\text{value}$, where $c$ is `critic_loss_multiplier`. One optimizer holds the weights of
#   both networks.
#
# Then climb the whole ladder, with all five rungs. It takes about three seconds.

# %% critic-probes
climb("vanilla with advantages", submitted.get_vanilla_policy_gradient_loss, with_critic=True)

# %% advantages-line-text [markdown]
# If a rung says NO, mend the first one that does; the list under the table of probes says where to look.
#
# Then train in the same world, with the same learning rate, now on advantages. This takes 20 to 30 seconds.

# %% advantages-line
experiment("vanilla, advantages", submitted.get_vanilla_policy_gradient_loss, learning_rate=1e-3, with_critic=True)

# %% advantages-line-seen [markdown]
# Much better: nearly all lines run into the middle and stay. Over 20 seeds of 2,000 rollouts, the median success is 100%, and
# 18 of 20 seeds reach 95%. The two others stopped at 88% and at 20%. So a single bad seed need not be your mistake, but two in
# four are suspicious.
#
# The value loss begins high, because $V$ is near 0 and returns are not, and falls as the critic learns. The policy loss just
# fluctuates around a number near 0.

# %% fragile-text [markdown]
# ## 7 · Why that is not enough
#
# The learning rate of $10^{-3}$ was well chosen. With a rate four times as large one would hope to be done in a fourth of the
# time. This takes 20 to 30 seconds.

# %% fragile
experiment("vanilla, lr 4e-3", submitted.get_vanilla_policy_gradient_loss, learning_rate=4e-3, with_critic=True)

# %% fragile-seen [markdown]
# It begins fast and then breaks down. Over 20 seeds of 2,000 rollouts the median success is 12%, and no seed gets beyond 52%.
#
# The reason is that each collection is used 8 times. The formula of the gradient holds for actions sampled from the *present*
# policy; after the first update, the rollouts are those of an older one. When steps are large, the new policy soon acts
# differently from what the data say. Nothing in the loss notices: it goes on pushing $\log \pi$ in the same direction, by any
# amount. And a policy that has become certain does not try other actions any more, so it cannot find out that they are better.

# %% ppo-text [markdown]
# ## 8 · Proximal policy optimization
#
# PPO keeps the new policy close to the one that collected the rollouts. It compares the two by the **ratio**
#
# $$\rho_t = \frac{\pi_\theta(a_t \mid s_t)}{\pi_\text{old}(a_t \mid s_t)}$$
#
# It is 1 as long as the policy has not moved. Above 1, the action that was taken has become more likely; below 1, less likely.
# What is to grow is
#
# $$\min\left(\rho_t A_t,\ \text{clip}(\rho_t,\, 1 - \varepsilon,\, 1 + \varepsilon)\, A_t\right)$$
#
# and the loss is minus its mean over the batch:
#
# $$L = -\frac{1}{B} \sum_t \min\left(\rho_t A_t,\ \text{clip}(\rho_t,\, 1 - \varepsilon,\, 1 + \varepsilon)\, A_t\right)$$
#
# Read it case by case:
#
# - **Good action** ($A_t > 0$). It should become more likely, up to a ratio of $1 + \varepsilon$. From there on the objective
#   is flat: no gradient, no more push.
# - **Bad action** ($A_t < 0$). It should become less likely, down to $1 - \varepsilon$. Then it is flat as well.
# - **Moved the wrong way.** If a good action has become *less* likely, or a bad one more likely, nothing is clipped. There the
#   full push is wanted, back to where it should be. The minimum sees to that: it clips only what looks too good.
#
# **Write `get_PPO_policy_gradient_loss(policy, observation, old_logits, action, return_or_advantage, ppo_clip)`**: a scalar.
# `old_logits` are the log-probabilities of the rollout, float32 `[B, A]`; $\varepsilon$ is `ppo_clip`. Both policies give
# logarithms, so the ratio is the exponential of a difference.
#
# The cell draws the objective (minus your loss) for one row, against the ratio. Your line should lie on the dotted one.

# %% ppo-objective
ratios = np.linspace(0.02, 2, 200)
old_probability = 0.4
colours = utils.CURVE_COLOURS
corners = {+1.0: ([0, 1.2, 2], [0, 1.2, 1.2]), -1.0: ([0, 0.8, 2], [-0.8, -0.8, -2])}  # where the objective bends

_, both = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for axes, (advantage, (bend_x, bend_y)), colour in zip(both, corners.items(), colours, strict=False):
    objective = []
    for ratio in ratios:
        now = torch.tensor([[ratio * old_probability, 1 - ratio * old_probability]], dtype=torch.float32).log()
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
    axes.plot(ratios, objective, color=colour, linewidth=3, label="yours")
    axes.plot(bend_x, bend_y, color="black", linestyle=":", label="expected")
    axes.plot(1, advantage, "o", color="black", markersize=5)
    axes.annotate("not moved yet", (1, advantage), (9, 9 * (advantage < 0) - 4), textcoords="offset points", fontsize=9)
    axes.set_title(f"A = {advantage:+.0f}: {'a good' if advantage > 0 else 'a bad'} action")
    axes.set(xlabel="ratio ρ (grey: within the clip range)", ylabel="objective", xlim=(0, 2))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left" if advantage > 0 else "lower left")
plt.show()

# %% ppo-probes-text [markdown]
# A wrong line says what is wrong. Mirrored up and down: the sign. No bend: nothing is clipped. Flat on the other side: the
# larger of the two products instead of the smaller. Curved: something else in place of the ratio.
#
# Climb the ladder with the new loss:

# %% ppo-probes
climb("PPO", submitted.get_PPO_policy_gradient_loss, with_critic=True)

# %% ppo-line-text [markdown]
# And now the learning rate at which the vanilla loss broke down. This takes 20 to 30 seconds.

# %% ppo-line
experiment("PPO, lr 4e-3", submitted.get_PPO_policy_gradient_loss, learning_rate=4e-3, with_critic=True)

# %% ppo-line-seen [markdown]
# Over 20 seeds of 2,000 rollouts: a median success of 100%, and 18 of 20 seeds with 95% or more (the others: 58% and 85%). It
# is no better than the vanilla loss at its best learning rate. But it is nearly there after 400 rollouts, and it forgives a
# rate at which the vanilla loss fails on every seed. With real problems, where nobody knows the right rate, that decides.

# %% compare-text [markdown]
# ## 9 · Side by side
#
# All four experiments in one picture. The table sets your figures beside those of the reference solution.

# %% compare
REFERENCE = {  # 20 seeds, 2,000 rollouts: the median success, and how many seeds reached 95%
    "vanilla, returns": ("26%", "3 of 20"),
    "vanilla, advantages": ("100%", "18 of 20"),
    "vanilla, lr 4e-3": ("12%", "0 of 20"),
    "PPO, lr 4e-3": ("100%", "18 of 20"),
}
axes = utils.plot_learning_curves({name: curves[name] for name in REFERENCE}, "last reward of a rollout", rollouts_per_value=4)
axes.axhline(0, color="black", linewidth=0.8, linestyle=":")
axes.set_title("mean over seeds; band: from the worst to the best seed")
plt.show()

print(f"{'':22}{'yours: median':>16}{'at least 95%':>16}{'reference: median':>20}{'at least 95%':>16}")
for name, (median, solved) in REFERENCE.items():
    rates = np.array(success[name])
    mine = f"{(rates >= 0.95).sum()} of {len(rates)}"
    print(f"{name:22}{np.median(rates):16.0%}{mine:>16}{median:>20}{solved:>16}")

# %% cartpole-text [markdown]
# ## 10 · Something harder: CartPole
#
# A pole stands on a cart, and the agent pushes the cart to the left or to the right, 50 times a second. The observation has
# four numbers: position, velocity, angle, angular velocity. Each step with the pole still up gives reward 1, and an episode
# lasts at most 500 steps. So the *last* reward is always 1, and says nothing. We look at the return of an episode instead, the
# sum of its rewards, which is the number of steps that the pole stayed up.
#
# Your functions need no change. Only the networks are larger, and the discount factor is 0.99, so that the agent looks about
# 100 steps ahead instead of 20. Episodes get longer as the agent gets better, so the bar slows down. This takes 20 to 30
# seconds.

# %% cartpole
curves["CartPole"] = []
with utils.ProgressBar(rollouts=CARTPOLE_SEEDS * CARTPOLE_ROLLOUTS, title="CartPole, PPO", window=20) as bar:
    for seed in range(CARTPOLE_SEEDS):
        env = bar.watch(utils.OpenAIGymEnv())
        env.reset(seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            policy = utils.SimpleReLuNetwork(4, 2, hidden_dims=[32], out_logsoftmax=True)
            value_net = utils.SimpleReLuNetwork(4, 1, hidden_dims=[32])
            submitted.train_policy_gradient(
                env=env,
                policy=policy,
                optimizer=torch.optim.Adam([*policy.parameters(), *value_net.parameters()], lr=3e-3),
                get_policy_gradient_loss=submitted.get_PPO_policy_gradient_loss,
                get_returns=functools.partial(submitted.get_returns, discount_factor=0.99),
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

axes = utils.plot_learning_curves({"CartPole": curves["CartPole"]}, "steps until the pole falls")
axes.axhline(500, color="black", linewidth=0.8, linestyle=":")
plt.show()

# %% cartpole-seen [markdown]
# A random policy keeps the pole up for about 20 steps. The limit is 500 (dotted). We tried eight seeds: rollouts 80 to 100
# lasted 340 to 480 steps on average, and the last 20 of 160 lasted 470 to 500. On a machine with a screen and pygame you can
# watch it:
#
# ```python
# submitted.collect_rollouts(utils.OpenAIGymEnv(vis=True), policy, num_rollouts=3)
# ```
#
# ## To try, if you like
#
# - `ppo_clip` of 0.05, of 0.5, of 10: which of them behaves like the vanilla loss, and why?
# - One epoch per collection instead of 8, with the vanilla loss and the learning rate $4 \cdot 10^{-3}$. Does it still break
#   down?
# - Advantages that are not standardised. Which learning rate do you need then?
# - Two dimensions: `utils.GridWorldPointTargetEnv(dimensions=2)` has 4 numbers to observe and 5 actions.
#
# Then run `python grade.py` a last time, and hand in `submitted.py`.

# %% end
for name, seeds in curves.items():
    begin, end = (np.mean([np.mean(values[part]) for values in seeds]) for part in (slice(0, 10), slice(-10, None)))
    print(f"{name:22} first ten values: {begin:7.2f}   last ten: {end:7.2f}")
