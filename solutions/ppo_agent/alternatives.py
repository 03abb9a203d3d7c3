"""Right but different ways to write what `ppo_agent` asks for: `verify` proves that each gets everything.

They are how students write, not how anybody should: shapes come and go, orders differ, libraries do the work.
"""

import itertools
import math
from collections import deque

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everybody calls it
from torch import nn

from grader.proof.catalogue import altered, alternative

# GeneralizedAdvantageEstimator


@alternative("GeneralizedAdvantageEstimator.length")
def draft_repaired(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None):
    """The draft, line by line: its roll with another end, its list with all items, in double precision."""
    assert len(state) == len(reward)
    n = len(state)
    ends = np.zeros((2, n)) if terminated is None else np.array([terminated, terminated], dtype=float)
    if truncated is not None:
        ends[1] = np.maximum(ends[1], truncated)
    value = critic(state).detach().flatten().numpy().astype(np.float64)
    following_value = np.roll(value, -1)
    following_value[-1] = 0.0
    if next_state is not None:
        following_value = critic(next_state).detach().flatten().numpy().astype(np.float64)
    delta = reward + gamma * following_value * (1 - ends[0]) - value
    backwards = [0.0]
    for step in range(n):
        backwards.append(delta[n - 1 - step] + gamma * lamb * (1 - ends[1, n - 1 - step]) * backwards[-1])
    return np.array(backwards[:0:-1])


@alternative("GeneralizedAdvantageEstimator.length")
def list_of_numbers(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None):
    """Everything in Python's numbers, and a list comes back."""
    steps = range(len(reward))
    values = critic(state).view(-1).tolist()
    after = [*values[1:], 0.0] if next_state is None else critic(next_state).view(-1).tolist()
    advantages = []
    for t in reversed(steps):
        is_terminated = terminated is not None and terminated[t]
        is_over = is_terminated or (truncated is not None and truncated[t])
        advantage = float(reward[t]) - values[t]
        if not is_terminated:
            advantage += gamma * after[t]
        if advantages and not is_over:
            advantage += gamma * lamb * advantages[0]
        advantages.insert(0, advantage)
    return advantages


@alternative("GeneralizedAdvantageEstimator.bootstrap")
@torch.no_grad()
def tensor_of_numbers(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None):
    """Everything in torch, and a tensor comes back."""
    count = len(reward)
    reward = torch.as_tensor(reward, dtype=torch.float32)
    dead, over = torch.zeros(count), torch.zeros(count)
    if terminated is not None:
        dead = torch.as_tensor(terminated).float()
    if truncated is not None:
        over = torch.as_tensor(truncated).float()
    alive = 1.0 - torch.clamp(dead + over, max=1.0)
    value = critic(state)[:, 0]
    following = torch.cat((value[1:], torch.zeros(1))) if next_state is None else critic(next_state)[:, 0]
    advantage = reward + gamma * following * (1.0 - dead) - value
    for t in range(count - 2, -1, -1):
        advantage[t] += gamma * lamb * alive[t] * advantage[t + 1]
    return advantage


@alternative("GeneralizedAdvantageEstimator.bootstrap")
def by_mixed_returns(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None):
    """The return that mixes what is seen with what is estimated, minus the value."""
    rows = len(reward)
    dead = np.zeros(rows, bool) if terminated is None else np.array(terminated, bool)
    over = dead if truncated is None else dead | np.array(truncated, bool)
    with torch.inference_mode():
        value = critic(state).squeeze(-1).double().numpy()
        after = np.zeros(rows) if next_state is None else critic(next_state).squeeze(-1).double().numpy()
    if next_state is None:
        after[:-1] = value[1:]
    mixed = np.zeros(rows)
    for t in range(rows - 1, -1, -1):
        if dead[t]:
            mixed[t] = reward[t]
        elif over[t] or t == rows - 1:
            mixed[t] = reward[t] + gamma * after[t]
        else:
            # The rest is worth its value, plus λ times the correction that comes later.
            mixed[t] = reward[t] + gamma * (after[t] + lamb * (mixed[t + 1] - value[t + 1]))
    return mixed - value


@alternative("GeneralizedAdvantageEstimator.ends")
def by_a_table_of_weights(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None):
    """No loop: every error has a weight in every advantage."""
    rows = len(reward)
    dead = np.zeros(rows) if terminated is None else np.asarray(terminated).astype(float)
    clock = np.zeros(rows) if truncated is None else np.asarray(truncated).astype(float)
    with torch.no_grad():
        value = critic(state).numpy()[:, 0]
        following = np.concatenate((value, [0.0]))[1:] if next_state is None else critic(next_state).numpy()[:, 0]
    delta = np.asarray(reward) + gamma * (1 - dead) * following - value
    over = (dead + clock) > 0
    episode = np.cumsum(over) - over
    distance = np.arange(rows)[None, :] - np.arange(rows)[:, None]
    same = (episode[None, :] == episode[:, None]) & (distance >= 0)
    weights = np.where(same, float(gamma * lamb) ** np.maximum(distance, 0), 0.0)
    return (weights @ delta).astype(np.float32)


@alternative("GeneralizedAdvantageEstimator.ends")
def episode_by_episode(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None):
    """The rows are cut into episodes first, each of which is then easy; the critic is asked once."""
    rows = len(reward)
    terminated = [False] * rows if terminated is None else [bool(one) for one in terminated]
    truncated = [False] * rows if truncated is None else [bool(one) for one in truncated]
    if next_state is None:
        next_state = torch.cat([state[1:], state[-1:]])
        terminated[-1] = True
    values = critic(torch.cat([state, next_state])).detach().numpy().ravel()
    value, next_value = values[:rows], values[rows:]
    advantage = np.empty(rows, dtype=np.float64)
    begin = 0
    for end in range(rows):
        if terminated[end] or truncated[end] or end == rows - 1:
            running = 0.0
            for t in range(end, begin - 1, -1):
                target = reward[t] if terminated[t] else reward[t] + gamma * next_value[t]
                running = running * gamma * lamb + target - value[t]
                advantage[t] = running
            begin = end + 1
    return advantage


# test_advantages

# Its rows of `next_state` need not be the next rows of `state`: the estimator has to take the value of each as it is given.
rows_that_do_not_follow = altered(
    "test_advantages",
    {
        "torch.tensor([[0.2], [0.3], [0.4]])": "torch.tensor([[0.2], [0.5], [0.4]])",
        "agrees([0.6875, -1.25, 1.0], state, reward, 0.5, 0.5, after, no, no)": ""
        "agrees([0.9375, -0.25, 1.0], state, reward, 0.5, 0.5, after, no, no)",
        "agrees([0.6875, -1.25, 1.0], state, reward, 0.5, 0.5, after, no, last)": ""
        "agrees([0.9375, -0.25, 1.0], state, reward, 0.5, 0.5, after, no, last)",
        "agrees([0.5625, -1.75, -1.0], state, reward, 0.5, 0.5, after, last, no)": ""
        "agrees([0.8125, -0.75, -1.0], state, reward, 0.5, 0.5, after, last, no)",
        "agrees([1.0, -1.5, 1.0], state": "agrees([1.0, -0.5, 1.0], state",
    },
)


def defined(value, after, reward, gamma, lamb, terminated, truncated):
    """Return the advantages by the sum that defines them."""
    advantages = []
    for t in range(len(reward)):
        total, weight = 0.0, 1.0
        for later in range(t, len(reward)):
            total += weight * (reward[later] + (0.0 if terminated[later] else gamma * after[later]) - value[later])
            weight *= gamma * lamb
            if terminated[later] or truncated[later]:
                break
        advantages.append(total)
    return advantages


@alternative("test_advantages")
def against_the_definition(estimator=GeneralizedAdvantageEstimator):
    """Random episodes, and the sum over all later errors."""
    rng = np.random.default_rng(0)

    def critic(state):
        return state.sum(dim=1, keepdim=True)

    for count in (1, 2, 3, 10, 10, 10):
        state = torch.from_numpy(rng.normal(size=(count, 2)).astype(np.float32))
        after = torch.from_numpy(rng.normal(size=(count, 2)).astype(np.float32))
        reward = rng.normal(size=count)
        ends = rng.random(count) < 0.4
        kind = rng.random(count) < 0.5
        for terminated, truncated in ((ends & kind, ends & ~kind), (ends, 0 * ends > 0), (0 * ends > 0, ends)):
            # Inside of an episode, the next row is what follows.
            follows = after.clone()
            follows[:-1][~torch.from_numpy(ends[:-1])] = state[1:][~torch.from_numpy(ends[:-1])]
            value, next_value = critic(state).flatten().tolist(), critic(follows).flatten().tolist()
            expected = defined(value, next_value, reward, 0.9, 0.8, terminated, truncated)
            found = estimator(critic, state, reward, 0.9, 0.8, follows, terminated, truncated)
            assert len(found) == count
            assert np.allclose([float(one) for one in found], expected, atol=1e-4)
        expected = defined(value, [*value[1:], 0.0], reward, 0.9, 0.8, np.zeros(count), np.zeros(count))
        found = estimator(critic, state, reward, 0.9, 0.8)
        assert len(found) == count
        assert np.allclose([float(one) for one in found], expected, atol=1e-4)


@alternative("test_advantages")
def by_numpy_testing(estimator=GeneralizedAdvantageEstimator):
    """Two episodes of two steps, and NumPy compares."""
    state = torch.tensor([[1.0, 7.0], [2.0, 7.0], [4.0, 7.0], [8.0, 7.0]])
    after = torch.tensor([[2.0, 7.0], [3.0, 7.0], [8.0, 7.0], [5.0, 7.0]])
    reward = np.array([1.0, 2.0, 3.0, 4.0])
    nothing, first, last = np.zeros(4, bool), np.arange(4) == 1, np.arange(4) == 3
    table = [
        (None, None, None, [1.625, 2.5, 2.0, -4.0]),
        (torch.tensor([[2.0, 7.0], [4.0, 7.0], [8.0, 7.0], [5.0, 7.0]]), nothing, nothing, [1.6640625, 2.65625, 2.625, -1.5]),
        (after, first, nothing, [1.0, 0.0, 2.625, -1.5]),
        (after, nothing, first, [1.375, 1.5, 2.625, -1.5]),
        (after, first, last, [1.0, 0.0, 2.625, -1.5]),
        (after, last, first, [1.375, 1.5, 2.0, -4.0]),
    ]
    for following, terminated, truncated, expected in table:
        found = estimator(lambda rows: rows[:, [0]], state, reward, 0.5, 0.5, following, terminated, truncated)
        np.testing.assert_allclose(np.array([float(one) for one in found]), expected, rtol=0, atol=1e-5)


@alternative("test_advantages")
def by_properties(estimator=GeneralizedAdvantageEstimator):
    """Check the properties of all advantages: the recursion, and its last step."""
    torch.manual_seed(3)
    state, after = torch.rand(6, 1), torch.rand(6, 1)
    reward = torch.rand(6).double().numpy()
    gamma, lamb = 0.95, 0.7
    for ends in itertools.product(("goes on", "terminated", "truncated"), repeat=3):
        kinds = np.array(["goes on", ends[0], "goes on", ends[1], "goes on", ends[2]])
        following = after.clone()
        for t in range(5):
            if kinds[t] == "goes on":
                following[t] = state[t + 1]
        terminated, truncated = kinds == "terminated", kinds == "truncated"
        advantage = estimator(torch.exp, state, reward, gamma, lamb, following, terminated, truncated)
        advantage = np.array([float(one) for one in advantage])
        assert advantage.shape == (6,), "an advantage for every step"
        next_value = np.where(terminated, 0.0, torch.exp(following).flatten().numpy())
        error = reward + gamma * next_value - torch.exp(state).flatten().numpy()
        later = np.append(advantage[1:], 0.0) * (kinds == "goes on")
        assert abs(advantage - error - gamma * lamb * later).max() < 1e-4, f"not for {kinds}"
    alone = [float(one) for one in estimator(torch.exp, state, reward, gamma, lamb)]
    over = np.arange(6) == 5
    told = estimator(torch.exp, state, reward, gamma, lamb, torch.cat([state[1:], state[:1]]), over, ~over & over)
    assert len(alone) == 6
    assert max(abs(one - float(other)) for one, other in zip(alone, told, strict=True)) < 1e-4


@alternative("test_advantages")
def by_isclose(estimator=GeneralizedAdvantageEstimator):
    """Numbers by hand, and states that are their own values."""

    def check(expected, *others):
        state = torch.tensor([[1.0], [3.0], [-2.0]])
        found = estimator(lambda states: states, state, np.array([2.0, 0.0, 1.0]), 0.5, 0.8, *others)
        if len(found) != len(expected):
            raise AssertionError("wrong length")
        for index in range(3):
            if not math.isclose(float(found[index]), expected[index], abs_tol=1e-4):
                raise AssertionError(f"{found[index]} is not {expected[index]}")

    go, middle, last = np.array([False, False, False]), np.array([False, True, False]), np.array([False, False, True])
    on, elsewhere = torch.tensor([[3.0], [-2.0], [1.0]]), torch.tensor([[3.0], [1.0], [1.0]])
    check([1.38, -2.8, 3.0])
    check([1.38, -2.8, 3.0], on, last, go)
    check([1.46, -2.6, 3.5], on, go, go)
    check([1.46, -2.6, 3.5], on, go, last)
    check([1.3, -3.0, 3.5], elsewhere, middle, go)
    check([1.5, -2.5, 3.5], elsewhere, go, middle)


# IndependentGaussianProcess

sample_by_numpy = altered(
    "IndependentGaussianProcess.sample",
    {
        "noise = torch.from_numpy(self.rng.standard_normal(mu.shape, dtype=np.float32))\n"
        "        return mu.detach() + log_sigma.detach().exp() * noise": ""
        "mean, deviation = mu.detach().numpy(), np.exp(log_sigma.detach().numpy())\n"
        "return torch.tensor(self.rng.normal(mean, deviation), dtype=torch.float32)",
    },
)

sample_without_grad = altered(
    "IndependentGaussianProcess.sample",
    {
        "noise = torch.from_numpy(self.rng.standard_normal(mu.shape, dtype=np.float32))\n"
        "        return mu.detach() + log_sigma.detach().exp() * noise": ""
        "with torch.no_grad():\n"
        "    noise = np.array([self.rng.normal() for _ in range(mu.numel())]).reshape(mu.shape)\n"
        "    return torch.addcmul(mu, torch.exp(log_sigma), torch.FloatTensor(noise))",
    },
)

density_by_distributions = altered(
    "IndependentGaussianProcess.get_dist",
    {
        "deviation = (y - mu) * torch.exp(-log_sigma)\n": "normal = torch.distributions.Normal(mu, log_sigma.exp())\n",
        "return -(0.5 * deviation**2 + log_sigma).sum(dim=-1, keepdim=True) - 0.5 * self.n * np.log(2 * np.pi)": ""
        "return normal.log_prob(y).sum(-1).unsqueeze(-1)",
        "return log_sigma.sum(dim=-1, keepdim=True) + 0.5 * self.n * (np.log(2 * np.pi) + 1)": ""
        "return torch.distributions.Normal(torch.zeros_like(log_sigma), log_sigma.exp()).entropy().sum(-1, keepdim=True)",
    },
)

density_of_an_independent = altered(
    "IndependentGaussianProcess.get_dist",
    {
        "deviation = (y - mu) * torch.exp(-log_sigma)\n": "from torch.distributions import Independent, Normal\n",
        "return -(0.5 * deviation**2 + log_sigma).sum(dim=-1, keepdim=True) - 0.5 * self.n * np.log(2 * np.pi)": ""
        "return Independent(Normal(mu, log_sigma.exp(), validate_args=False), 1).log_prob(y)[:, None]",
    },
)

density_term_by_term = altered(
    "IndependentGaussianProcess.get_dist",
    {
        "deviation = (y - mu) * torch.exp(-log_sigma)\n": "variance = torch.exp(2 * log_sigma)\n",
        "return -(0.5 * deviation**2 + log_sigma).sum(dim=-1, keepdim=True) - 0.5 * self.n * np.log(2 * np.pi)": ""
        "per_dimension = -0.5 * torch.log(2 * torch.pi * variance) - (mu - y).pow(2) / (2 * variance)\n"
        "return torch.stack([row.sum() for row in per_dimension]).reshape(-1, 1)",
    },
)

density_of_the_seed = altered(
    "IndependentGaussianProcess.get_dist",
    {
        "deviation = (y - mu) * torch.exp(-log_sigma)\n": ""
        "import math\n\n"
        "constant = self.n * math.log(2 * math.pi) / 2\n"
        "far = y != mu\n"
        "distance = torch.where(far, torch.abs(y - mu), torch.ones_like(mu))\n"
        "squared = torch.where(far, torch.exp(2 * torch.log(distance) - math.log(2.0) - 2 * log_sigma), 0.0 * (y - mu))\n",
        "return -(0.5 * deviation**2 + log_sigma).sum(dim=-1, keepdim=True) - 0.5 * self.n * np.log(2 * np.pi)": ""
        "return -constant - torch.sum(log_sigma, dim=1, keepdim=True) - torch.sum(squared, dim=1, keepdim=True)",
    },
)

entropy_from_variances = altered(
    "IndependentGaussianProcess.entropy",
    {
        "return log_sigma.sum(dim=-1, keepdim=True) + 0.5 * self.n * (np.log(2 * np.pi) + 1)": ""
        "variance = log_sigma.exp() ** 2\n"
        "return (0.5 * torch.log(2 * torch.pi * torch.e * variance)).sum(1, keepdim=True)",
    },
)

entropy_from_the_density = altered(
    "IndependentGaussianProcess.entropy",
    {
        "        _, log_sigma = x\n"
        "        return log_sigma.sum(dim=-1, keepdim=True) + 0.5 * self.n * (np.log(2 * np.pi) + 1)": ""
        "        mu, log_sigma = x\n"
        "        # At a distance of σ the density is what it is on average.\n"
        "        return -self.get_dist((mu, log_sigma, mu + log_sigma.exp()))",
    },
)

# Actor, Critic


@alternative("Actor")
class ActorLayerByLayer(nn.Module):
    """Each layer has a name; log σ is repeated."""

    def __init__(self, obs_dim, n, window_length=1):
        super().__init__()
        self.fc1 = nn.Linear(obs_dim * window_length, 16)
        self.fc2 = nn.Linear(16, 16)
        self.fc3 = nn.Linear(16, 16)
        self.out_mu = nn.Linear(16, n)
        self.register_parameter("log_sigma", nn.Parameter(torch.full((n,), 0.0)))

    def forward(self, state):
        x = state.reshape(state.shape[0], -1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        x = F.relu(self.fc3(x))
        return self.out_mu(x), self.log_sigma.repeat(len(state), 1)


@alternative("Actor")
class ActorOfAList(nn.Module):
    """Layers in a ModuleList, weights drawn otherwise, log σ added to zeros."""

    def __init__(self, obs_dim, n, window_length=1):
        nn.Module.__init__(self)
        sizes = [window_length * obs_dim, 16, 16, 16, n]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))
        for layer in self.layers:
            nn.init.orthogonal_(layer.weight)
            nn.init.zeros_(layer.bias)
        self.log_sigma = nn.Parameter(data=torch.zeros(n), requires_grad=True)

    def forward(self, state):
        x = torch.flatten(state, start_dim=1)
        for layer in self.layers[:-1]:
            x = layer(x).clamp(min=0)
        mu = self.layers[-1](x)
        return (mu, torch.zeros_like(mu) + self.log_sigma)


@alternative("Critic")
class CriticLayerByLayer(nn.Module):
    """Layers in a ModuleList and one for the value; ReLU as a method."""

    def __init__(self, obs_dim, window_length=1):
        super().__init__()
        self.hidden = nn.ModuleList([nn.Linear(window_length * obs_dim, 16), nn.Linear(16, 16), nn.Linear(16, 16)])
        self.head = nn.Linear(16, 1)

    def forward(self, state):
        x = state.view(state.size(0), -1)
        for layer in self.hidden:
            x = torch.relu(layer(x))
        return self.head(x)


critic_in_place = altered(
    "Critic",
    {
        "        self.value = nn.Sequential(\n"
        "            nn.Flatten(),\n"
        "            nn.Linear(window_length * obs_dim, 16),\n"
        "            nn.ReLU(),\n"
        "            nn.Linear(16, 16),\n"
        "            nn.ReLU(),\n"
        "            nn.Linear(16, 16),\n"
        "            nn.ReLU(),\n"
        "            nn.Linear(16, 1),\n"
        "        )\n": ""
        "        layers, before = [], window_length * obs_dim\n"
        "        for _ in range(3):\n"
        "            layers += [nn.Linear(before, 16), nn.ReLU(inplace=True)]\n"
        "            before = 16\n"
        "        self.value = nn.Sequential(*layers)\n"
        "        self.value.append(nn.Linear(16, 1))\n",
        "return self.value(state)": ""
        "values = self.value(state.flatten(1))\n"
        "assert values.shape == (len(state), 1)\n"
        "return values",
    },
)

# EpisodeMemory.get_recent_state

window_of_padded = altered(
    "EpisodeMemory.get_recent_state",
    {
        "recent = [*self.observations, observation][-self.window_length :]\n": ""
        "nothing = [np.zeros(observation.shape, dtype=np.float32)] * self.window_length\n",
        "        missing = self.window_length - len(recent)\n": "",
        "return [np.zeros_like(observation) for _ in range(missing)] + recent": ""
        "return (nothing + self.observations + [observation])[-self.window_length :]",
    },
)

window_from_the_end = altered(
    "EpisodeMemory.get_recent_state",
    {
        "recent = [*self.observations, observation][-self.window_length :]\n": "recent = [observation]\n",
        "        missing = self.window_length - len(recent)\n": ""
        "        for back in range(1, self.window_length):\n"
        "            seen = len(self.observations) >= back\n"
        "            recent.insert(0, self.observations[-back] if seen else observation * 0)\n",
        "return [np.zeros_like(observation) for _ in range(missing)] + recent": "return recent",
    },
)

window_in_a_deque = altered(
    "EpisodeMemory.get_recent_state",
    {
        "recent = [*self.observations, observation][-self.window_length :]\n": ""
        "from collections import deque\n\n"
        "recent = deque([np.zeros(len(observation), np.float32)] * self.window_length, maxlen=self.window_length)\n"
        "recent.extend(self.observations)\n",
        "        missing = self.window_length - len(recent)\n": "        recent.append(observation)\n",
        "return [np.zeros_like(observation) for _ in range(missing)] + recent": "return list(recent)",
    },
)


@alternative("EpisodeMemory.get_recent_state")
class MemoryWithADeque:
    """The provided methods are changed, too: a deque keeps the latest observations."""

    def __init__(self, window_length=1):
        self.window_length = window_length
        self.reset()

    def reset(self):
        self.observations, self.states, self.actions, self.log_probs, self.rewards = [], [], [], [], []
        self.terminated = self.truncated = False

    def append(self, observation, state, action, log_prob, reward, terminated, truncated):
        self.observations.append(observation)
        self.states.append(state)
        self.actions.append(action)
        self.log_probs.append(log_prob)
        self.rewards.append(float(reward))
        self.terminated, self.truncated = bool(terminated), bool(truncated)

    def get_recent_state(self, observation):
        latest = deque(maxlen=self.window_length)
        latest.append(observation)
        for earlier in reversed(self.observations):
            if len(latest) == self.window_length:
                break
            latest.appendleft(earlier)
        while len(latest) < self.window_length:
            latest.appendleft(np.zeros_like(observation))
        return list(latest)


# PPOAgent.forward

forward_one_by_one = altered(
    "PPOAgent.forward",
    {
        "        observations = np.array(observation, dtype=np.float32).reshape(len(self.memories), -1)\n"
        "        states = self.process_state_batch(\n"
        "            [memory.get_recent_state(one) for memory, one in zip(self.memories, observations, strict=True)]\n"
        "        )\n"
        "        with torch.no_grad():\n"
        "            mu, log_sigma = self.actor(states)\n"
        "            action = self.process.sample((mu, log_sigma)) if self.training else mu\n"
        "            log_prob = self.process.get_dist((mu, log_sigma, action))\n"
        "        self.recent = (observations, states, action, log_prob)\n"
        "        return action.numpy().copy() if np.ndim(observation) > 1 else action[0].numpy().copy()\n": ""
        "        observation = np.asarray(observation)\n"
        "        single = observation.ndim == 1\n"
        "        rows, actions = [], []\n"
        "        for memory, one in zip(self.memories, observation[None] if single else observation, strict=True):\n"
        "            one = one.astype(np.float32)\n"
        "            state = self.process_state_batch([memory.get_recent_state(one)])\n"
        "            mu, log_sigma = self.actor(state)\n"
        "            mu, log_sigma = mu.detach(), log_sigma.detach()\n"
        "            action = mu\n"
        "            if self.training:\n"
        "                action = self.process.sample((mu, log_sigma))\n"
        "            log_prob = self.process.get_dist((mu, log_sigma, action)).detach()\n"
        "            rows.append((one, state[0], action[0], log_prob[0]))\n"
        "            actions.append(action[0].numpy())\n"
        "        self.recent = tuple(zip(*rows, strict=True))\n"
        "        return np.array(actions[0] if single else actions)\n",
    },
)

forward_with_names = altered(
    "PPOAgent.forward",
    {
        "observations = np.array(observation, dtype=np.float32).reshape(len(self.memories), -1)": ""
        "observations = np.atleast_2d(observation).astype(np.float32)",
        "        with torch.no_grad():\n"
        "            mu, log_sigma = self.actor(states)\n"
        "            action = self.process.sample((mu, log_sigma)) if self.training else mu\n"
        "            log_prob = self.process.get_dist((mu, log_sigma, action))\n"
        "        self.recent = (observations, states, action, log_prob)\n": ""
        "        dist = self.actor(states)\n"
        "        action = self.process.sample(dist) if self.training else dist[0]\n"
        "        action = action.detach()\n"
        '        self.recent = {"observation": observations, "state": states, "action": action}\n'
        '        self.recent["log_prob"] = self.process.get_dist((*dist, action)).data\n',
        "return action.numpy().copy() if np.ndim(observation) > 1 else action[0].numpy().copy()": ""
        "return np.array(action.tolist(), dtype=np.float32).reshape(*np.shape(observation)[:-1], -1)",
        "zip(*self.recent, rewards": "zip(*self.recent.values(), rewards",
    },
)

probability_computed_later = altered(
    "PPOAgent.forward",
    {
        "            log_prob = self.process.get_dist((mu, log_sigma, action))\n"
        "        self.recent = (observations, states, action, log_prob)\n": ""
        "        self.recent = (observations, states, action, mu, log_sigma)\n",
        "        for index, step in enumerate(zip(*self.recent, rewards": ""
        "        *seen, mu, log_sigma = self.recent\n"
        "        log_prob = self.process.get_dist((mu.clone(), log_sigma.clone(), seen[2])).detach()\n"
        "        for index, step in enumerate(zip(*seen, log_prob, rewards",
    },
)

# PPOAgent.backward

backward_in_helpers = altered(
    "PPOAgent.backward",
    {
        "        for index, step in enumerate(zip(*self.recent, rewards, terminals, truncateds, strict=True)):\n"
        "            memory = self.memories[index]\n"
        "            if memory.terminated or memory.truncated:\n"
        "                _, final_state, *_ = step\n"
        "                if self.training:\n"
        "                    self.episodes.append(self.finish_episode(memory, final_state))\n"
        "                memory.reset()\n"
        "            else:\n"
        "                memory.append(*step)\n"
        "        if len(self.episodes) < self.episodes_per_update:\n"
        "            return {}\n"
        "        metrics = self.update()\n"
        "        self.episodes = []\n"
        "        return metrics\n": ""
        "        for i in range(len(self.memories)):\n"
        "            over = self.memories[i].terminated or self.memories[i].truncated\n"
        "            (self._finish if over else self._store)(i, rewards[i], terminals[i], truncateds[i])\n"
        "        return self._learn() if len(self.episodes) >= self.episodes_per_update else {}\n"
        "\n"
        "    def _store(self, i, reward, terminal, truncated):\n"
        "        observations, states, actions, log_probs = self.recent\n"
        "        self.memories[i].append(\n"
        "            observations[i], states[i], actions[i], log_probs[i], float(reward), bool(terminal), bool(truncated)\n"
        "        )\n"
        "\n"
        "    def _finish(self, i, *unused):\n"
        "        if self.training:\n"
        "            self.episodes += [self.finish_episode(self.memories[i], self.recent[1][i])]\n"
        "        self.memories[i].reset()\n"
        "\n"
        "    def _learn(self):\n"
        "        metrics = self.update()\n"
        "        self.episodes.clear()\n"
        "        return metrics\n",
    },
)

backward_of_numbers_and_arrays = altered(
    "PPOAgent.backward",
    {
        "        rewards, terminals, truncateds = (np.broadcast_to(x, len(self.memories)) for x in (reward, "
        "terminal, truncated))\n"
        "        for index, step in enumerate(zip(*self.recent, rewards, terminals, truncateds, strict=True)):\n"
        "            memory = self.memories[index]\n"
        "            if memory.terminated or memory.truncated:\n"
        "                _, final_state, *_ = step\n"
        "                if self.training:\n"
        "                    self.episodes.append(self.finish_episode(memory, final_state))\n"
        "                memory.reset()\n"
        "            else:\n"
        "                memory.append(*step)\n"
        "        if len(self.episodes) < self.episodes_per_update:\n"
        "            return {}\n"
        "        metrics = self.update()\n"
        "        self.episodes = []\n"
        "        return metrics\n": ""
        "        def of(values, index):\n"
        "            return values if np.ndim(values) == 0 else values[index]\n"
        "\n"
        "        metrics = {}\n"
        "        for index, memory in enumerate(self.memories):\n"
        "            observation, state, action, log_prob = (values[index] for values in self.recent)\n"
        "            if not (memory.terminated or memory.truncated):\n"
        "                memory.append(\n"
        "                    observation=observation.copy(),\n"
        "                    state=state.clone(),\n"
        "                    action=action.clone(),\n"
        "                    log_prob=log_prob.clone(),\n"
        "                    reward=of(reward, index),\n"
        "                    terminated=of(terminal, index),\n"
        "                    truncated=of(truncated, index),\n"
        "                )\n"
        "                continue\n"
        "            if self.training is True:\n"
        "                episode = self.finish_episode(memory, state)\n"
        "                self.episodes = [*self.episodes, episode]\n"
        "            memory.reset()\n"
        "        if len(self.episodes) >= self.episodes_per_update:\n"
        "            metrics.update(self.update())\n"
        "            self.episodes = list()\n"
        "        return metrics\n",
    },
)

# PPOAgent.finish_episode

episode_by_names = altered(
    "PPOAgent.finish_episode",
    {
        "        next_state = torch.cat((state[1:], final_state.unsqueeze(0)))\n"
        "        at_end = np.arange(len(state)) == len(state) - 1\n": ""
        "        next_state = torch.stack([*memory.states[1:], final_state])\n"
        "        terminated = np.zeros(len(state), dtype=bool)\n"
        "        truncated = np.zeros(len(state), dtype=bool)\n"
        "        terminated[-1], truncated[-1] = memory.terminated, memory.truncated\n",
        "            self.critic,\n"
        "            state,\n"
        "            np.array(memory.rewards),\n"
        "            self.gamma,\n"
        "            self.lamb,\n"
        "            next_state,\n"
        "            at_end & memory.terminated,\n"
        "            at_end & memory.truncated,\n": ""
        "            critic=self.critic,\n"
        "            state=state,\n"
        "            reward=np.asarray(memory.rewards, dtype=np.float32),\n"
        "            gamma=self.gamma,\n"
        "            lamb=self.lamb,\n"
        "            next_state=next_state,\n"
        "            terminated=terminated,\n"
        "            truncated=truncated,\n",
        "        with torch.no_grad():\n            value_target = advantage + self.critic(state).flatten()\n": ""
        "        value_target = self.critic(state).squeeze(-1).detach().clone()\n        value_target += advantage\n",
        "torch.stack(memory.actions)": "torch.cat([action.unsqueeze(0) for action in memory.actions])",
        "torch.stack(memory.log_probs)": "torch.cat(memory.log_probs).unsqueeze(1)",
    },
)

episode_without_what_follows_an_end = altered(
    "PPOAgent.finish_episode",
    {
        "        advantage = GeneralizedAdvantageEstimator(\n"
        "            self.critic,\n"
        "            state,\n"
        "            np.array(memory.rewards),\n"
        "            self.gamma,\n"
        "            self.lamb,\n"
        "            next_state,\n"
        "            at_end & memory.terminated,\n"
        "            at_end & memory.truncated,\n"
        "        )\n": ""
        "        known = (self.critic, state, np.array(memory.rewards), self.gamma, self.lamb)\n"
        "        if memory.terminated:\n"
        "            advantage = GeneralizedAdvantageEstimator(*known)\n"
        "        else:\n"
        "            advantage = GeneralizedAdvantageEstimator(*known, next_state, truncated=at_end)\n",
        "torch.as_tensor(advantage, dtype=torch.float32)": "torch.tensor([float(one) for one in advantage])",
    },
)

# PPOAgent.policy_loss

policy_loss_in_columns = altered(
    "PPOAgent.policy_loss",
    {
        'ratio = torch.exp(log_prob - batch["log_prob"]).squeeze(1)\n': ""
        'advantage = batch["advantage"].unsqueeze(1)\n'
        'ratio = (log_prob - batch["log_prob"].detach()).exp()\n',
        "clipped_ratio = ratio.clamp(1 - self.clip, 1 + self.clip)\n": ""
        "clipped_ratio = torch.clip(ratio, 1.0 - self.clip, 1.0 + self.clip)\n",
        'torch.min(ratio * batch["advantage"], clipped_ratio * batch["advantage"]).mean()': ""
        "torch.mean(torch.minimum(ratio * advantage, clipped_ratio * advantage))",
        "return -(surrogate + self.entropy_coef * entropy)": "return -surrogate - self.entropy_coef * entropy",
    },
)

policy_loss_of_maxima = altered(
    "PPOAgent.policy_loss",
    {
        'torch.min(ratio * batch["advantage"], clipped_ratio * batch["advantage"]).mean()': ""
        'torch.max(-batch["advantage"] * ratio, -batch["advantage"] * clipped_ratio)',
        "entropy = self.process.entropy((mu, log_sigma)).mean()": "entropy = self.process.entropy((mu, log_sigma)).squeeze(-1)",
        "return -(surrogate + self.entropy_coef * entropy)": "return (surrogate - self.entropy_coef * entropy).mean()",
    },
)

policy_loss_by_cases = altered(
    "PPOAgent.policy_loss",
    {
        "ratio.clamp(1 - self.clip, 1 + self.clip)": ""
        "torch.where(\n"
        '    batch["advantage"] > 0, ratio.clamp(max=1 + self.clip), ratio.clamp(min=1 - self.clip)\n'
        ")",
        'torch.min(ratio * batch["advantage"], clipped_ratio * batch["advantage"]).mean()': ""
        '(clipped_ratio * batch["advantage"]).sum() / len(ratio)',
    },
)

# PPOAgent.value_loss

value_loss_by_mse = altered(
    "PPOAgent.value_loss",
    {
        'return (self.critic(batch["state"]).squeeze(1) - batch["value_target"]).square().mean()': ""
        'return nn.functional.mse_loss(self.critic(batch["state"]), batch["value_target"].view(-1, 1))',
    },
)

value_loss_by_hand = altered(
    "PPOAgent.value_loss",
    {
        'return (self.critic(batch["state"]).squeeze(1) - batch["value_target"]).square().mean()': ""
        'error = batch["value_target"].detach() - self.critic(batch["state"])[:, 0]\n'
        "return torch.dot(error, error) / error.numel()",
    },
)

# PPOAgent.update

update_clears_at_the_end = altered(
    "PPOAgent.update",
    {
        "                self.optimizer.zero_grad()\n"
        "                (policy_loss + value_loss).backward()\n"
        "                self.optimizer.step()\n": ""
        "                policy_loss.backward()\n"
        "                value_loss.backward()\n"
        "                self.optimizer.step()\n"
        "                self.optimizer.zero_grad(set_to_none=True)\n",
    },
)

update_by_slices = altered(
    "PPOAgent.update",
    {
        "            shuffled = torch.from_numpy(self.rng.permutation(len(advantage)))\n"
        "            for rows in shuffled.split(self.batch_size):\n": ""
        "            order = np.arange(len(advantage))\n"
        "            self.rng.shuffle(order)\n"
        "            for begin in range(0, len(order), self.batch_size):\n"
        "                rows = order[begin : begin + self.batch_size].tolist()\n",
        "                (policy_loss + value_loss).backward()\n": ""
        "                loss = value_loss + policy_loss\n"
        "                loss.backward()\n",
        "losses.append([policy_loss.item(), value_loss.item()])": "losses += [torch.stack((policy_loss, value_loss)).detach()]",
        "policy_loss, value_loss = np.mean(losses, axis=0)": ""
        "policy_loss, value_loss = torch.stack(losses).mean(dim=0).tolist()",
    },
)

update_in_shuffled_copies = altered(
    "PPOAgent.update",
    {
        'data["advantage"] = (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-8)': ""
        'data["advantage"] = (advantage - advantage.numpy().mean()) / (advantage.numpy().std() + 1e-8)',
        "            shuffled = torch.from_numpy(self.rng.permutation(len(advantage)))\n"
        "            for rows in shuffled.split(self.batch_size):\n"
        "                batch = {name: values[rows] for name, values in data.items()}\n": ""
        "            order = self.rng.choice(len(advantage), size=len(advantage), replace=False)\n"
        "            data = {name: values[torch.as_tensor(order)] for name, values in data.items()}\n"
        "            parts = [values.split(self.batch_size) for values in data.values()]\n"
        "            for part in zip(*parts, strict=True):\n"
        "                batch = dict(zip(data, part, strict=True))\n",
    },
)

update_with_the_other_deviation = altered(
    "PPOAgent.update",
    {"advantage.std(correction=0) + 1e-8": "advantage.std() + 1e-8"},
)

update_with_a_closure = altered(
    "PPOAgent.update",
    {
        "policy_loss, value_loss = self.policy_loss(batch), self.value_loss(batch)\n"
        "                self.optimizer.zero_grad()\n"
        "                (policy_loss + value_loss).backward()\n"
        "                self.optimizer.step()\n"
        "                losses.append([policy_loss.item(), value_loss.item()])": "def closure():\n"
        "    self.optimizer.zero_grad()\n"
        "    both = torch.stack([self.policy_loss(batch), self.value_loss(batch)])\n"
        "    both.sum().backward()\n"
        "    return both\n"
        "losses.append(self.optimizer.step(closure).tolist())",
    },
)
