"""Right but different ways to write what `continuous_ppo` asks for: `verify` proves that each gets everything.

They are how students write, not how anybody should: shapes come and go, orders differ, libraries do the work.
"""

import copy
from collections import deque

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Independent, MultivariateNormal, Normal
from torch.nn import functional

from grader.proof.catalogue import altered, alternative

# Summaries


@alternative("Summaries")
class SummariesOfLists(gym.Wrapper):
    """Keeps the rewards of the episode, and the window as a deque."""

    def __init__(self, env, writer=None, window=100):
        super().__init__(env)
        self.writer, self.window = writer, window
        self.episode_returns, self.episode_lengths, self.moving_averages = [], [], []
        self.interactions = 0
        self.rewards, self.latest = [], deque(maxlen=window)

    def step(self, action):
        result = super().step(action)
        self.rewards.append(result[1])
        self.interactions += 1
        if result[2] or result[3]:
            total = float(sum(self.rewards))
            self.latest.append(total)
            average = sum(self.latest) / len(self.latest)
            self.episode_returns.append(total)
            self.episode_lengths.append(len(self.rewards))
            self.moving_averages.append(average)
            if self.writer:
                self.writer.add_scalar("moving_average", average, global_step=self.interactions)
                self.writer.add_scalar("episode_length", len(self.rewards), global_step=self.interactions)
                self.writer.add_scalar("episode_return", total, global_step=self.interactions)
            self.rewards = []
        return result

    def reset(self, **kwargs):
        observation, info = super().reset(**kwargs)
        self.rewards.clear()
        return observation, info


summaries_by_loop_over_tags = altered(
    "Summaries",
    {
        "if self.writer is not None:\n"
        '                self.writer.add_scalar("episode_return", self._return, self.interactions)\n'
        '                self.writer.add_scalar("episode_length", self._length, self.interactions)\n'
        '                self.writer.add_scalar("moving_average", self.moving_averages[-1], self.interactions)\n': ""
        'for tag in ("episode_return", "episode_length", "moving_average"):\n'
        "    if self.writer is not None:\n"
        '        self.writer.add_scalar(tag, getattr(self, tag + "s")[-1], global_step=self.interactions)\n',
        "self._return += float(reward)": "self._return = reward + self._return",
        "self.episode_returns.append(self._return)": "self.episode_returns += [float(self._return)]",
    },
)

# Model


class Network(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(inputs, 64), nn.Linear(64, 64), nn.Linear(64, outputs)
        self.apply(initialize)

    def forward(self, x):
        return self.head(torch.tanh(self.second(torch.tanh(self.first(x)))))


def initialize(module):
    if isinstance(module, nn.Linear):
        nn.init.orthogonal_(module.weight, 2**0.5)
        nn.init.constant_(module.bias, 0.0)


model_of_two_modules = altered(
    "Model.layers",
    {
        "        self.policy_net = self._network(obs_dim, act_dim)\n        self.value_net = self._network(obs_dim, 1)\n"
        "        self.log_variance = nn.Parameter(torch.zeros(act_dim))\n": ""
        "        self.log_var = nn.Parameter(torch.zeros(act_dim, dtype=torch.float32))\n"
        "        self.critic = self._network(obs_dim, 1)\n        self.actor = self._network(obs_dim, act_dim)\n",
        "self.policy_net(observations), self.log_variance.exp(), self.value_net(observations)": ""
        "self.actor(observations), torch.exp(self.log_var), self.critic(observations)",
    },
)


@alternative("Model.layers")
class ModelOfClasses(nn.Module):
    """One class for both networks, initialized by `apply`; the value first."""

    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.value, self.mean = Network(obs_dim, 1), Network(obs_dim, act_dim)
        self.log_var = nn.Parameter(torch.zeros(act_dim))

    @staticmethod
    def _network(inputs, outputs):
        return Network(inputs, outputs)

    def forward(self, observations):
        deviation = torch.exp(0.5 * self.log_var)
        return self.mean(observations), deviation**2, self.value(observations)


@alternative("Model.forward")
class ModelOfMatrices(nn.Module):
    """No layers: matrices and vectors, multiplied by hand."""

    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.pi, self.v = self._network(obs_dim, act_dim), self._network(obs_dim, 1)
        self.log_variance = nn.Parameter(torch.zeros(1, act_dim))

    @staticmethod
    def _network(inputs, outputs):
        found = []
        for i, o in ((inputs, 64), (64, 64), (64, outputs)):
            found += [nn.Parameter(nn.init.orthogonal_(torch.empty(i, o), 2**0.5)), nn.Parameter(torch.zeros(o))]
        return nn.ParameterList(found)

    def forward(self, observations):
        outputs = []
        for w1, b1, w2, b2, w3, b3 in (self.pi, self.v):
            outputs.append(torch.tanh(torch.tanh(observations @ w1 + b1) @ w2 + b2) @ w3 + b3)
        return outputs[0], self.log_variance.exp()[0], outputs[1]


@alternative("Model.forward")
class ModelOfLists(nn.Module):
    """Layers in a ModuleDict of ModuleLists, gone through by hand."""

    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.layers = nn.ModuleDict({"pi": self._network(obs_dim, act_dim), "v": self._network(obs_dim, 1)})
        self.register_parameter("sigma", nn.Parameter(torch.zeros(act_dim)))

    @staticmethod
    def _network(inputs, outputs):
        layers = nn.ModuleList([nn.Linear(i, o) for i, o in ((inputs, 64), (64, 64), (64, outputs))])
        for layer in layers:
            torch.nn.init.orthogonal_(layer.weight.data, np.sqrt(2))
            layer.bias.data.fill_(0)
        return layers

    def forward(self, observations):
        outputs = []
        for name in ("pi", "v"):
            hidden = observations
            for layer in self.layers[name][:-1]:
                hidden = functional.tanh(layer(hidden))
            outputs.append(self.layers[name][-1](hidden))
        return outputs[0], torch.exp(self.sigma), outputs[1]


model_with_flat_values = altered(
    "Model.forward",
    {
        "self.log_variance.exp(), self.value_net(observations)": ""
        "self.log_variance.exp().expand(*observations.shape[:-1], -1), self.value_net(observations).squeeze(-1)",
    },
)

# Policy


@alternative("Policy.training")
class PolicyOfMultivariateNormal:
    """The class that the seed names, with a covariance matrix, in both modes."""

    def __init__(self, model):
        self.model = model

    def act(self, inputs, training=False):
        mean, variance, values = self.model(torch.tensor(inputs).float())
        distribution = MultivariateNormal(mean, torch.diag(variance))
        if training:
            return {"values": values, "distribution": distribution}
        actions = distribution.sample()
        log_probs = distribution.log_prob(actions)
        arrays = {"actions": actions, "log_probs": log_probs, "values": values}
        return {key: value.cpu().detach().numpy() for key, value in arrays.items()}


@alternative("Policy.training")
class PolicyOfScaleTril:
    """A Cholesky factor for every row; what is played is taken from what is trained."""

    def __init__(self, model):
        self.model = model

    def act(self, inputs, training=False):
        if training:
            mean, variance, values = self.model(torch.from_numpy(np.asarray(inputs, dtype=np.float32)))
            factor = torch.diag_embed(variance.sqrt().expand_as(mean))
            return {"distribution": MultivariateNormal(mean, scale_tril=factor), "values": values.reshape(-1, 1)}
        with torch.no_grad():
            act = self.act(np.atleast_2d(inputs), training=True)
            actions = act["distribution"].rsample()
            log_probs = act["distribution"].log_prob(actions)
        played = {"actions": actions.numpy(), "log_probs": log_probs.numpy(), "values": act["values"].numpy()}
        return played if np.ndim(inputs) == 2 else {key: value[0] for key, value in played.items()}


@alternative("Policy.sampling")
class PolicyOfNormal:
    """One normal distribution a dimension, whose log-probabilities are summed; float64 on the way."""

    def __init__(self, model):
        self.model = model

    def act(self, inputs, training=False):
        mean, variance, values = self.model(torch.as_tensor(inputs).to(torch.float32))
        if training:
            return {"distribution": Independent(Normal(mean, variance**0.5), 1), "values": values}
        normal = Normal(mean.detach().double(), variance.detach().double().sqrt())
        actions = normal.sample().float()
        log_probs = normal.log_prob(actions.double()).sum(dim=-1).numpy().astype(np.float32)
        return {"actions": actions.numpy(), "log_probs": log_probs, "values": values.detach().numpy()}


policy_drawn_by_numpy = altered(
    "Policy.sampling",
    {
        "noise = torch.randn_like(mean)": "noise = torch.from_numpy(np.random.standard_normal(tuple(mean.shape))).float()",
        "log_probs = -0.5 * (noise**2 + torch.log(2 * math.pi * variance)).sum(-1)": ""
        "log_probs = -0.5 * ((actions - mean) ** 2 / variance).sum(-1)\n"
        "log_probs = log_probs - 0.5 * variance.log().sum() - mean.shape[-1] / 2 * math.log(2 * math.pi)",
    },
)

policy_of_independent = altered(
    "Policy.sampling",
    {
        "with torch.inference_mode():": "with torch.no_grad():",
        "noise = torch.randn_like(mean)": "distribution = Independent(Normal(mean, variance.sqrt()), 1)",
        "actions = mean + variance.sqrt() * noise": "actions = distribution.sample()",
        "log_probs = -0.5 * (noise**2 + torch.log(2 * math.pi * variance)).sum(-1)": ""
        "log_probs = distribution.log_prob(actions)",
    },
)

policy_with_flat_values = altered(
    "Policy.training",
    {
        '"distribution": distribution, "values": values}': '"distribution": distribution, "values": values.squeeze(-1)}',
        '"log_probs": log_probs.numpy(), "values": values.numpy()}': ""
        '"log_probs": log_probs.numpy(), "values": values.squeeze(-1).numpy()}',
    },
)

# GAE


@alternative("GAE")
class GaeInTorch:
    def __init__(self, policy, gamma=0.99, lambda_=0.95):
        self.policy, self.gamma, self.lambda_ = policy, gamma, lambda_

    def __call__(self, trajectory):
        rewards = torch.as_tensor(trajectory["rewards"]).float()
        resets = torch.as_tensor(trajectory["resets"])
        values = torch.as_tensor(trajectory["values"]).float().view_as(rewards)
        with torch.no_grad():
            act = self.policy.act(trajectory["state"]["latest_observation"], training=False)
        following = torch.as_tensor(act["values"]).float().view_as(rewards[0])
        advantages, later = [], torch.zeros_like(rewards[0])
        for reward, reset, value in zip(rewards.flip(0), resets.flip(0), values.flip(0), strict=True):
            delta = reward - value + self.gamma * torch.where(reset, 0.0, following)
            later = delta + self.gamma * self.lambda_ * torch.where(reset, 0.0, later)
            advantages.insert(0, later)
            following = value
        advantages = torch.stack(advantages)
        trajectory["value_targets"] = (advantages + values).numpy().reshape(trajectory["values"].shape)
        trajectory["advantages"] = advantages.numpy()


@alternative("GAE")
class GaeByEpisodes:
    """Each environment is cut into episodes, and each episode is a sum over pairs of rows, forwards: slow, and right."""

    def __init__(self, policy, gamma=0.99, lambda_=0.95):
        self.policy = policy
        self.gamma = gamma
        self.lambda_ = lambda_

    def __call__(self, trajectory):
        steps = len(trajectory["rewards"])
        rewards = trajectory["rewards"].astype(float).reshape(steps, -1)
        resets, values = trajectory["resets"].reshape(steps, -1), trajectory["values"].reshape(steps, -1)
        latest = np.reshape(self.policy.act(trajectory["state"]["latest_observation"])["values"], -1)
        advantages = np.zeros_like(rewards)
        for env in range(rewards.shape[1]):
            ends = [t + 1 for t in range(steps) if resets[t, env]]
            starts = [0, *ends]
            for start, end in zip(starts, [*ends, steps], strict=True):
                last = 0.0 if end in ends else latest[env]
                following = np.append(values[start + 1 : end, env], last)[: end - start]
                deltas = rewards[start:end, env] + self.gamma * following - values[start:end, env]
                for t in range(end - start):
                    for k in range(end - start - t):
                        advantages[start + t, env] += (self.gamma * self.lambda_) ** k * deltas[t + k]
        trajectory["advantages"] = advantages.reshape(trajectory["rewards"].shape)
        trajectory["value_targets"] = advantages.reshape(trajectory["values"].shape) + trajectory["values"]


gae_by_lambda_returns = altered(
    "GAE",
    {
        "        advantage = 0.0\n": "        following = next_values[-1]\n",
        "advantage = deltas[t] + self.gamma * self.lambda_ * continues[t] * advantage": ""
        "following = (1 - self.lambda_) * next_values[t] + self.lambda_ * following\n"
        "following = rewards[t] + self.gamma * continues[t] * following",
        "advantages[t] = advantage\n": "advantages[t] = following - values[t]\n",
    },
)

gae_in_double_precision = altered(
    "GAE",
    {
        "advantages.astype(np.float32)": "advantages.astype(np.float64)",
        "(advantages + values).astype(np.float32)": "(advantages + values).astype(np.float64)",
    },
)

gae_leaves_tensors = altered(
    "GAE",
    {
        'trajectory["advantages"] = advantages.astype(np.float32)': ""
        'trajectory["advantages"] = torch.from_numpy(advantages.astype(np.float32))',
    },
)

gae_asks_in_training_mode = altered(
    "GAE",
    {
        'np.asarray(self.policy.act(trajectory["state"]["latest_observation"])["values"])': ""
        'self.policy.act(trajectory["state"]["latest_observation"], training=True)["values"].detach().numpy()',
        'continues = 1.0 - trajectory["resets"]': 'continues = np.logical_not(trajectory["resets"])',
    },
)

gae_by_conditions = altered(
    "GAE",
    {
        'continues = 1.0 - trajectory["resets"]\n': 'ends = np.array(trajectory["resets"], bool)\n',
        "self.gamma * continues * next_values": "self.gamma * np.where(ends, 0.0, next_values)",
        "for t in reversed(range(len(deltas))):": "t = len(deltas)\nwhile t > 0:\n    t -= 1",
        "self.gamma * self.lambda_ * continues[t] * advantage": "self.gamma * self.lambda_ * np.where(ends[t], 0.0, advantage)",
    },
)

# TrajectorySampler


shuffled_in_place = altered(
    "TrajectorySampler.shuffle_trajectory",
    {"self.trajectory[key] = value[order]": "self.trajectory[key] = np.array([value[row] for row in order])"},
)

shuffled_by_torch = altered(
    "TrajectorySampler.shuffle_trajectory",
    {'np.random.permutation(len(self.trajectory["rewards"]))': 'torch.randperm(len(self.trajectory["rewards"])).numpy()'},
)

shuffled_by_a_generator = altered(
    "TrajectorySampler.shuffle_trajectory",
    {
        'order = np.random.permutation(len(self.trajectory["rewards"]))\n'
        "        for key, value in self.trajectory.items():\n"
        '            if key != "state":\n'
        "                self.trajectory[key] = value[order]\n": ""
        'rows = list(range(self.trajectory["rewards"].shape[0]))\n'
        "np.random.default_rng().shuffle(rows)\n"
        "self.trajectory = {\n"
        '    key: self.trajectory[key] if key == "state" else self.trajectory[key][rows] for key in self.trajectory\n'
        "}\n",
    },
)

shuffled_by_sorting = altered(
    "TrajectorySampler.shuffle_trajectory",
    {
        'np.random.permutation(len(self.trajectory["rewards"]))': 'np.argsort(np.random.rand(len(self.trajectory["rewards"])))',
        "value[order]": "np.take(value, order, axis=0)",
    },
)

minibatches_by_array_split = altered(
    "TrajectorySampler.get_next",
    {
        'size = len(self.trajectory["rewards"])\n'
        "        start = self.minibatch_count * size // self.num_minibatches\n"
        "        end = (self.minibatch_count + 1) * size // self.num_minibatches\n": ""
        'rows = np.array_split(np.arange(len(self.trajectory["rewards"])), self.num_minibatches)[self.minibatch_count]\n',
        "value[start:end]": "value[rows]",
    },
)

minibatches_dealt_in_turn = altered(
    "TrajectorySampler.get_next",
    {
        '        size = len(self.trajectory["rewards"])\n'
        "        start = self.minibatch_count * size // self.num_minibatches\n"
        "        end = (self.minibatch_count + 1) * size // self.num_minibatches\n": "",
        "value[start:end]": "np.array(value[self.minibatch_count :: self.num_minibatches])",
    },
)

minibatches_with_state = altered(
    "TrajectorySampler.get_next",
    {
        'minibatch = {key: value[start:end] for key, value in self.trajectory.items() if key != "state"}': ""
        "minibatch = dict(self.trajectory)\n"
        'for key in minibatch.keys() - {"state"}:\n'
        "    minibatch[key] = np.copy(minibatch[key][start:end])",
    },
)

environments_one_after_another = altered(
    "TrajectorySampler.get_next",
    {
        'key: value if key == "state" else value.reshape(-1, *value.shape[len(steps_and_envs) :])\n': ""
        'key: value if key == "state" or len(steps_and_envs) == 1 else np.concatenate(value.swapaxes(0, 1))\n',
    },
)


@alternative("TrajectorySampler.get_next")
class SamplerOfPreparedEpochs:
    """The minibatches of an epoch are made at its beginning, of a copy of the trajectory."""

    def __init__(self, runner, num_epochs, num_minibatches, transforms=None):
        self.runner, self.num_epochs, self.num_minibatches = runner, num_epochs, num_minibatches
        self.transforms = transforms or []
        self.minibatch_count = self.epoch_count = 0
        self.trajectory = None
        self.prepared = []

    def shuffle_trajectory(self):
        size = len(self.trajectory["actions"])
        order = np.random.choice(size, size, replace=False)
        for key in self.trajectory.keys() - {"state"}:
            self.trajectory[key] = np.array([self.trajectory[key][row] for row in order])

    @staticmethod
    def _as_rows(trajectory):
        trajectory = copy.deepcopy(trajectory)
        shape = trajectory["rewards"].shape
        for key in trajectory:
            if key != "state" and len(shape) > 1:
                trajectory[key] = trajectory[key].reshape(-1, *trajectory[key].shape[2:])
        return trajectory

    def get_next(self):
        if not self.prepared:
            if self.trajectory is None or self.epoch_count >= self.num_epochs:
                self.trajectory = self._as_rows(self.runner.get_next())
                self.epoch_count = 0
            self.shuffle_trajectory()
            parts = {k: np.array_split(v, self.num_minibatches) for k, v in self.trajectory.items() if k != "state"}
            self.prepared = [{key: parts[key][i].copy() for key in parts} for i in range(self.num_minibatches)]
        minibatch = self.prepared.pop(0)
        for transform in self.transforms:
            transform(minibatch)
        self.minibatch_count = (self.minibatch_count + 1) % self.num_minibatches
        self.epoch_count += self.minibatch_count == 0
        return minibatch


# PPO.policy_loss


policy_loss_by_sign = altered(
    "PPO.policy_loss",
    {
        "clipped_ratio = ratio.clamp(1 - self.cliprange, 1 + self.cliprange)": ""
        "bound = torch.where(advantages > 0, 1 + self.cliprange, 1 - self.cliprange) * advantages",
        "torch.min(ratio * advantages, clipped_ratio * advantages).mean()": ""
        "torch.minimum(ratio * advantages, bound).sum() / len(advantages)",
    },
)

policy_loss_as_a_maximum = altered(
    "PPO.policy_loss",
    {
        "return -torch.min(ratio * advantages, clipped_ratio * advantages).mean()": ""
        "return torch.mean(torch.max(-advantages * ratio, -advantages * clipped_ratio))",
        'torch.exp(log_probs - torch.as_tensor(trajectory["log_probs"]))': ""
        '(log_probs - torch.as_tensor(trajectory["log_probs"])).exp()',
    },
)

policy_loss_by_log_ratio = altered(
    "PPO.policy_loss",
    {
        "ratio = torch.exp(log_probs -": "log_ratio = (log_probs -",
        "clipped_ratio = ratio.clamp(1 - self.cliprange, 1 + self.cliprange)": "ratio = log_ratio.exp()\n"
        "lowest, highest = math.log(1 - self.cliprange), math.log(1 + self.cliprange)\n"
        "clipped_ratio = torch.clamp(log_ratio, lowest, highest).exp()",
    },
)

policy_loss_in_columns = altered(
    "PPO.policy_loss",
    {
        'advantages = torch.as_tensor(trajectory["advantages"])': ""
        'advantages = torch.tensor(trajectory["advantages"], dtype=torch.float32).unsqueeze(1)',
        'log_probs = act["distribution"].log_prob(torch.as_tensor(trajectory["actions"]))': ""
        'actions = torch.FloatTensor(trajectory["actions"])\n'
        'normal = Normal(act["distribution"].mean, act["distribution"].variance.sqrt())\n'
        "log_probs = normal.log_prob(actions).sum(dim=1, keepdim=True)",
        'torch.as_tensor(trajectory["log_probs"])': 'torch.from_numpy(trajectory["log_probs"]).view(-1, 1)',
    },
)

policy_loss_in_double_precision = altered(
    "PPO.policy_loss",
    {
        'torch.as_tensor(trajectory["advantages"])': 'torch.as_tensor(trajectory["advantages"]).double()',
        'torch.as_tensor(trajectory["log_probs"])': 'torch.as_tensor(trajectory["log_probs"], dtype=torch.float64)',
        "torch.min(ratio * advantages, clipped_ratio * advantages)": ""
        "torch.stack([ratio * advantages, clipped_ratio * advantages], dim=0).amin(dim=0)",
    },
)

# PPO.value_loss


value_loss_of_a_stack = altered(
    "PPO.value_loss",
    {
        "clipped_values = old_values + (values - old_values).clamp(-self.cliprange, self.cliprange)": ""
        "clipped_values = values.clamp(old_values - self.cliprange, old_values + self.cliprange)",
        "torch.max((values - targets) ** 2, (clipped_values - targets) ** 2)": ""
        "torch.stack([targets - values, targets - clipped_values]).square().amax(dim=0)",
    },
)

value_loss_of_one_axis = altered(
    "PPO.value_loss",
    {
        "torch.max((values - targets) ** 2, (clipped_values - targets) ** 2).mean()": ""
        "torch.max((values - targets) ** 2, (clipped_values - targets) ** 2).mean(dim=0)",
    },
)

value_loss_flat = altered(
    "PPO.value_loss",
    {
        'values, targets = act["values"], torch.as_tensor(trajectory["value_targets"])': ""
        'values = act["values"].flatten()\ntargets = torch.tensor(trajectory["value_targets"]).flatten()',
        'torch.as_tensor(trajectory["values"])': 'torch.tensor(trajectory["values"]).flatten()',
    },
)

value_loss_by_mse = altered(
    "PPO.value_loss",
    {
        "return torch.max((values - targets) ** 2, (clipped_values - targets) ** 2).mean()": ""
        'plain = nn.functional.mse_loss(values, targets, reduction="none")\n'
        'clipped = nn.functional.mse_loss(clipped_values, targets, reduction="none")\n'
        "return torch.mean(torch.where(plain > clipped, plain, clipped))",
    },
)

value_loss_in_double_precision = altered(
    "PPO.value_loss",
    {
        'torch.as_tensor(trajectory["value_targets"])': 'torch.tensor(trajectory["value_targets"], dtype=torch.float64)',
        "** 2).mean()": "** 2).sum() / len(targets)",
    },
)

# PPO.step


step_returns_the_loss = altered(
    "PPO.step",
    {
        "        self.optimizer.zero_grad()\n": "        for parameter in self.policy.model.parameters():\n"
        "            parameter.grad = None\n",
        "self.optimizer.step()": "self.optimizer.step()\nreturn loss.item()",
    },
)

step_clears_afterwards = altered(
    "PPO.step",
    {
        "        self.optimizer.zero_grad()\n": "",
        "self.optimizer.step()": "self.optimizer.step()\nself.optimizer.zero_grad()",
    },
)

step_clips_the_groups = altered(
    "PPO.step",
    {
        "self.policy.model.parameters(), self.max_grad_norm": ""
        '[one for group in self.optimizer.param_groups for one in group["params"]], max_norm=self.max_grad_norm',
        "self.optimizer.zero_grad()": "self.policy.model.zero_grad()",
    },
)

step_clips_by_hand = altered(
    "PPO.step",
    {
        "nn.utils.clip_grad_norm_(self.policy.model.parameters(), self.max_grad_norm)": ""
        "gradients = [one.grad for one in self.policy.model.parameters() if one.grad is not None]\n"
        "norm = sum((gradient**2).sum() for gradient in gradients) ** 0.5\n"
        "if norm > self.max_grad_norm:\n"
        "    for gradient in gradients:\n"
        "        gradient *= self.max_grad_norm / norm",
    },
)

step_with_a_closure = altered(
    "PPO.step",
    {
        "loss = self.loss(trajectory)\n"
        "        self.optimizer.zero_grad()\n"
        "        loss.backward()\n"
        "        nn.utils.clip_grad_norm_(self.policy.model.parameters(), self.max_grad_norm)\n"
        "        self.optimizer.step()": "def closure():\n"
        "    self.optimizer.zero_grad()\n"
        "    loss = self.loss(trajectory)\n"
        "    loss.backward()\n"
        "    nn.utils.clip_grad_norm_(self.policy.model.parameters(), self.max_grad_norm)\n"
        "    return loss\n"
        "return self.optimizer.step(closure).item()",
    },
)

# anneal_learning_rate


@alternative("anneal_learning_rate")
def rate_by_interpolation(optimizer, interactions, total_interactions, initial=3e-4):
    for group in optimizer.param_groups:
        group.update(lr=float(np.interp(interactions, [0, total_interactions], [initial, 0.0])))


@alternative("anneal_learning_rate")
def rate_by_conditions(optimizer, interactions, total_interactions, initial=3e-4):
    rate = 0
    if interactions < total_interactions:
        rate = initial - initial * interactions / total_interactions
    for index in range(len(optimizer.param_groups)):
        optimizer.param_groups[index]["lr"] = rate
