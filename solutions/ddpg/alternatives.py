"""Right but different ways to write what `ddpg` asks for: `verify` proves that each gets everything.

They are how students write, not how anybody should: shapes come and go, orders differ, libraries do the work. Many lines are
those of PG is All You Need, where they are right.
"""

import copy
import random

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the seed's name
from torch import nn, optim

from grader.proof.catalogue import altered, alternative

# ReplayBuffer


@alternative("ReplayBuffer.store")
class BufferOfDictionaries:
    """Transitions are dictionaries in a list; the arrays are made when somebody looks at them."""

    def __init__(self, obs_dim, size, batch_size=32, act_dim=1, rng=None):  # noqa: ARG002
        self.max_size, self.batch_size = size, batch_size
        self.shapes = {"obs": (obs_dim,), "next_obs": (obs_dim,), "acts": (act_dim,), "rews": (), "done": ()}
        self.transitions = []
        self.ptr = 0

    def store(self, obs, act, rew, next_obs, done):
        transition = {"obs": obs, "next_obs": next_obs, "acts": act, "rews": rew, "done": done}
        transition = {key: np.array(value, dtype=np.float32) for key, value in transition.items()}
        if len(self.transitions) < self.max_size:
            self.transitions.append(transition)
        else:
            self.transitions[self.ptr] = transition
        self.ptr += 1
        if self.ptr == self.max_size:
            self.ptr = 0

    def sample_batch(self):
        batch = random.sample(self.transitions, self.batch_size)
        return {key: np.stack([one[key] for one in batch]).reshape(-1, *shape) for key, shape in self.shapes.items()}

    def __len__(self):
        return len(self.transitions)

    @property
    def size(self):
        return len(self)

    def array(self, key):
        values = np.zeros((self.max_size, *self.shapes[key]), dtype=np.float32)
        for row, transition in enumerate(self.transitions):
            values[row] = transition[key]
        return values

    obs_buf = property(lambda self: self.array("obs"))
    next_obs_buf = property(lambda self: self.array("next_obs"))
    acts_buf = property(lambda self: self.array("acts"))
    rews_buf = property(lambda self: self.array("rews"))
    done_buf = property(lambda self: self.array("done"))


@alternative("ReplayBuffer.store")
class BufferOfTensors:
    """Everything in torch; only a batch is made of arrays."""

    def __init__(self, obs_dim, size, batch_size=32, act_dim=1, rng=None):  # noqa: ARG002
        self.obs_buf = torch.zeros(size, obs_dim)
        self.next_obs_buf = torch.zeros(size, obs_dim)
        self.acts_buf = torch.zeros(size, act_dim)
        self.rews_buf = torch.zeros(size)
        self.done_buf = torch.zeros(size)
        self.max_size, self.batch_size = size, batch_size
        self.ptr = self.size = 0

    def store(self, obs, act, rew, next_obs, done):
        self.obs_buf[self.ptr] = torch.as_tensor(obs)
        self.next_obs_buf[self.ptr] = torch.as_tensor(next_obs)
        self.acts_buf[self.ptr] = torch.as_tensor(act)
        self.rews_buf[self.ptr] = float(rew)
        self.done_buf[self.ptr] = float(done)
        self.ptr = (self.ptr + 1) % self.max_size
        if self.size < self.max_size:
            self.size += 1

    def sample_batch(self):
        if self.size < self.batch_size:
            raise ValueError(f"{self.size} transitions are stored, and {self.batch_size} wanted")
        rows = torch.randperm(self.size)[: self.batch_size]
        return {
            "obs": self.obs_buf[rows].numpy(),
            "next_obs": self.next_obs_buf[rows].numpy(),
            "acts": self.acts_buf[rows].numpy(),
            "rews": self.rews_buf[rows].numpy(),
            "done": self.done_buf[rows].numpy(),
        }

    def __len__(self):
        return self.size


buffer_of_masks = altered(
    "ReplayBuffer.store",
    {
        "self.done_buf[self.ptr] = done": "self.done_buf[self.ptr] = 1.0 - float(done)",
        "self.done_buf[rows]": "1.0 - self.done_buf[rows]",
    },
)

buffer_of_single_numbers = altered(
    "ReplayBuffer.store",
    {
        "self.acts_buf = np.zeros((size, act_dim)": "self.acts_buf = np.zeros([size] if act_dim == 1 else [size, act_dim]",
        "self.acts_buf[self.ptr] = act": "self.acts_buf[self.ptr] = np.reshape(act, self.acts_buf.shape[1:])",
        "self.acts_buf[rows]": "self.acts_buf[rows].reshape(self.batch_size, -1)",
    },
)

sampled_by_random = altered(
    "ReplayBuffer.sample_batch",
    {
        "rows = self.rng.choice(self.size, self.batch_size, replace=False, shuffle=False)": ""
        "import random\n\nrows = sorted(random.sample(range(self.size), self.batch_size))",
    },
)

sampled_by_permutation = altered(
    "ReplayBuffer.sample_batch",
    {
        "rows = self.rng.choice(self.size, self.batch_size, replace=False, shuffle=False)": ""
        "if len(self) < self.batch_size:\n"
        '    raise ValueError("not enough transitions")\n'
        "rows = self.rng.permutation(len(self))[: self.batch_size]",
        "self.obs_buf[rows]": "np.take(self.obs_buf, rows, axis=0)",
        "self.acts_buf[rows]": "np.array([self.acts_buf[row] for row in rows])",
    },
)

# OUNoise


@alternative("OUNoise")
class NoiseOfTheCourse:
    """The class of PG is All You Need, with a normal distribution and a copy."""

    def __init__(self, size, mu=0.0, theta=0.15, sigma=0.2, rng=None):  # noqa: ARG002
        self.state = np.float64(0.0)
        self.mu = mu * np.ones(size)
        self.theta = theta
        self.sigma = sigma
        self.reset()

    def reset(self):
        self.state = copy.copy(self.mu)

    def sample(self):
        x = self.state
        dx = self.theta * (self.mu - x) + self.sigma * np.array([random.gauss(0.0, 1.0) for _ in range(len(x))])
        self.state = x + dx
        return copy.copy(self.state)


noise_by_weights = altered(
    "OUNoise",
    {
        "self.state = self.mu.copy()": "self.state = np.array(self.mu)",
        "shake = self.rng.standard_normal(len(self.mu))": "shake = np.random.randn(*self.mu.shape)",
        "self.state + self.theta * (self.mu - self.state) + self.sigma * shake": ""
        "(1 - self.theta) * self.state + self.theta * self.mu + self.sigma * shake",
    },
)

noise_in_place = altered(
    "OUNoise",
    {
        "self.state = self.mu.copy()": "self.state = np.empty(len(self.mu))\nself.state[:] = self.mu",
        "shake = self.rng.standard_normal(len(self.mu))": "shake = self.rng.normal(0.0, self.sigma, size=len(self.mu))",
        "self.state = self.state + self.theta * (self.mu - self.state) + self.sigma * shake": ""
        "self.state += self.theta * (self.mu - self.state)\nself.state += shake",
    },
)


@alternative("OUNoise")
class NoiseWithAView:
    """Its state can be seen, and not set."""

    def __init__(self, size, mu=0.0, theta=0.15, sigma=0.2, rng=None):
        self.process = {"mu": np.full(size, mu), "theta": theta, "sigma": sigma}
        self.rng = np.random.default_rng(rng)
        self.reset()

    @property
    def state(self):
        return self.x

    @property
    def mu(self):
        return self.process["mu"]

    def reset(self):
        self.x = self.process["mu"].copy()

    def sample(self):
        pull = self.process["theta"] * (self.mu - self.x)
        self.x = self.x + pull + self.process["sigma"] * self.rng.normal(size=len(self.mu))
        return self.x


# Actor


@alternative("Actor")
class ActorInSequence(nn.Module):
    """The hidden layers in a Sequential."""

    def __init__(self, in_dim, out_dim, init_w=3e-3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(in_dim, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
        self.out = nn.Linear(128, out_dim)
        for parameter in self.out.parameters():
            parameter.data.uniform_(-init_w, init_w)

    def forward(self, state):
        return self.out(self.body(state)).tanh()


actor_of_the_course = altered(
    "Actor",
    {
        "super().__init__()": "super(Actor, self).__init__()",
        "nn.init.uniform_(self.out.weight, -init_w, init_w)": "self.out.weight.data.uniform_(-init_w, init_w)",
        "nn.init.uniform_(self.out.bias, -init_w, init_w)": "self.out.bias.data.uniform_(-init_w, init_w)",
        "return torch.tanh(self.out(x))": "action = self.out(x).tanh()\n\nreturn action",
    },
)

actor_by_its_weights = altered(
    "Actor",
    {
        "F.relu(self.hidden1(state))": "(state @ self.hidden1.weight.T + self.hidden1.bias).relu()",
        "F.relu(self.hidden2(x))": "F.linear(x, self.hidden2.weight, self.hidden2.bias).clamp(min=0)",
        "torch.tanh(self.out(x))": "F.linear(x, self.out.weight, self.out.bias).tanh()",
    },
)

actor_that_normalizes = altered(
    "Actor",
    {
        "self.out = nn.Linear(128, out_dim)": "self.norm1, self.norm2 = nn.LayerNorm(128), nn.LayerNorm(128)\n"
        "self.out = nn.Linear(128, out_dim)",
        "F.relu(self.hidden1(state))": "torch.relu(self.norm1(self.hidden1(state)))",
        "F.relu(self.hidden2(x))": "torch.relu(self.norm2(self.hidden2(x)))",
        "torch.tanh(self.out(x))": "F.tanh(self.out(x))",
    },
)

actor_of_four_layers = altered(
    "Actor",
    {
        "self.out = nn.Linear(128, out_dim)": "self.hidden3 = nn.Linear(128, 128)\nself.out = nn.Linear(128, out_dim)",
        "x = F.relu(self.hidden2(x))": "x = self.hidden2(x).clamp(min=0)\nx = self.hidden3(x).relu_()",
        "nn.init.uniform_(self.out.bias, -init_w, init_w)": "with torch.no_grad():\n"
        "    self.out.bias.copy_((2 * torch.rand(out_dim) - 1) * init_w)",
    },
)

# Critic


critic_of_action_and_state = altered(
    "Critic",
    {
        "torch.cat((state, action), dim=-1)": "torch.cat((action, state), dim=1)",
        "nn.init.uniform_(self.out.weight, -init_w, init_w)": "self.out.weight.data.uniform_(-init_w, init_w)",
        "nn.init.uniform_(self.out.bias, -init_w, init_w)": "self.out.bias.data.uniform_(-init_w, init_w)",
    },
)


critic_by_its_weights = altered(
    "Critic",
    {
        "x = torch.cat((state, action), dim=-1)\n": "rows = state.shape[-1]\nweight = self.hidden1.weight\n",
        "x = F.relu(self.hidden1(x))": "x = state @ weight[:, :rows].T + action @ weight[:, rows:].T\n"
        "x = (x + self.hidden1.bias).clamp(min=0)",
        "x = F.relu(self.hidden2(x))": "x = F.relu(F.linear(x, self.hidden2.weight, self.hidden2.bias))",
        "return self.out(x)": "return torch.addmm(self.out.bias, x, self.out.weight.T)",
    },
)


@alternative("Critic")
class CriticInSequence(nn.Module):
    """All layers in one Sequential, and a name for the last one."""

    def __init__(self, in_dim, init_w=3e-3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(in_dim, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
        self.hidden1, self.hidden2, self.out = self.net[0], self.net[2], self.net[-1]
        torch.nn.init.uniform_(self.out.weight, a=-init_w, b=init_w)
        torch.nn.init.uniform_(self.out.bias, a=-init_w, b=init_w)

    def forward(self, state, action):
        return self.net(torch.hstack([state, action]))


# DDPGAgent.networks

targets_by_deepcopy = altered(
    "DDPGAgent.networks",
    {
        "self.actor = Actor(": "import copy\n\nself.actor = Actor(",
        "        self.actor_target = Actor(obs_dim, action_dim).to(self.device)\n": "",
        "self.actor_target.load_state_dict(self.actor.state_dict())": "self.actor_target = copy.deepcopy(self.actor)",
        "        self.critic_target = Critic(obs_dim + action_dim).to(self.device)\n": "",
        "self.critic_target.load_state_dict(self.critic.state_dict())": "self.critic_target = copy.deepcopy(self.critic)\n"
        "for parameter in (*self.actor_target.parameters(), *self.critic_target.parameters()):\n"
        "    parameter.requires_grad_(False)",
    },
)

targets_by_loops = altered(
    "DDPGAgent.networks",
    {
        "self.actor_target.load_state_dict(self.actor.state_dict())": ""
        "for t_param, l_param in zip(self.actor_target.parameters(), self.actor.parameters()):\n"
        "    t_param.data.copy_(l_param.data)",
        "self.critic_target.load_state_dict(self.critic.state_dict())": ""
        "for t_param, l_param in zip(self.critic_target.parameters(), self.critic.parameters()):\n"
        "    t_param.data.copy_(l_param.data)",
        "optim.Adam(self.actor.parameters(), lr=3e-4, fused=True)": "torch.optim.Adam(self.actor.parameters(), 3e-4)",
        "optim.Adam(self.critic.parameters(), lr=1e-3, fused=True)": "torch.optim.Adam(list(self.critic.parameters()))",
    },
)

optimizers_without_decay = altered(
    "DDPGAgent.networks",
    {
        "optim.Adam(self.actor.parameters(), lr=3e-4, fused=True)": ""
        "optim.AdamW(params=self.actor.parameters(), lr=3e-4, weight_decay=0.0)",
        "optim.Adam(self.critic.parameters(), lr=1e-3, fused=True)": ""
        'optim.AdamW(params=[{"params": self.critic.parameters(), "lr": 1e-3}], weight_decay=0.0)',
    },
)

# DDPGAgent.select_action

action_of_the_course = altered(
    "DDPGAgent.select_action",
    {
        "            with torch.no_grad():\n"
        "                action = self.actor(torch.as_tensor(state, dtype=torch.float32, device=self.device)).cpu().numpy()\n"
        "            if not self.is_test:\n"
        "                action = np.clip(action + self.noise.sample(), -1.0, 1.0)\n": ""
        "            action = self.actor(torch.FloatTensor(state).to(self.device)).detach().cpu().numpy()\n"
        "        # add noise for exploration during training\n"
        "        if not self.is_test:\n"
        "            noise = self.noise.sample()\n"
        "            action = np.clip(action + noise, -1.0, 1.0)\n",
        "self.rng.uniform(-1.0, 1.0, len(self.noise.mu))": "np.random.uniform(-1.0, 1.0, size=self.env.action_space.shape)",
    },
)

action_of_a_batch_of_one = altered(
    "DDPGAgent.select_action",
    {
        "self.rng.uniform(-1.0, 1.0, len(self.noise.mu))": "(2 * torch.rand(self.env.action_space.shape[0]) - 1).numpy()",
        "self.actor(torch.as_tensor(state, dtype=torch.float32, device=self.device)).cpu().numpy()": ""
        "self.actor(torch.tensor(state, dtype=torch.float32).unsqueeze(0).to(self.device))[0].cpu().numpy()",
        "np.clip(action + self.noise.sample(), -1.0, 1.0)": "(action + self.noise.sample()).clip(-1, 1).astype(np.float32)",
    },
)

action_with_early_returns = altered(
    "DDPGAgent.select_action",
    {
        "        if self.total_step < self.initial_random_steps and not self.is_test:\n": ""
        "        obs = torch.from_numpy(np.asarray(state, dtype=np.float32)).to(self.device)\n"
        "        with torch.inference_mode():\n"
        "            mean = self.actor(obs).cpu().numpy()\n"
        "        if self.is_test:\n"
        "            self.transition = [state, mean]\n"
        "            return mean\n"
        "        if self.total_step < self.initial_random_steps:\n",
        "            with torch.no_grad():\n"
        "                action = self.actor(torch.as_tensor(state, dtype=torch.float32, device=self.device)).cpu().numpy()\n"
        "            if not self.is_test:\n"
        "                action = np.clip(action + self.noise.sample(), -1.0, 1.0)\n": ""
        "            action = np.minimum(np.maximum(mean + self.noise.sample(), -1.0), 1.0)\n",
    },
)

random_action_as_wide_as_the_memory = altered(
    "DDPGAgent.select_action",
    {"len(self.noise.mu)": "self.memory.acts_buf.shape[1]"},
)

# DDPGAgent.step

step_with_names = altered(
    "DDPGAgent.step",
    {
        "self.transition += [reward, next_state, terminated]\n            self.memory.store(*self.transition)": ""
        "state, chosen = self.transition\n"
        "self.memory.store(obs=state, act=chosen, rew=reward, next_obs=next_state, done=terminated)",
    },
)

step_with_one_result = altered(
    "DDPGAgent.step",
    {
        "next_state, reward, terminated, truncated, _ = self.env.step(action)": "result = self.env.step(action)\n"
        "next_state, reward = result[:2]\n"
        "done = bool(result[2] or result[3])",
        "if not self.is_test:\n            self.transition += [reward, next_state, terminated]": ""
        "if self.is_test is False:\n    self.transition.extend((reward, next_state, float(result[2])))",
        "return next_state, reward, terminated or truncated": "return next_state, float(reward), done",
    },
)

# DDPGAgent.update_model

networks_called_with_keywords = altered(
    "DDPGAgent.update_model.critic",
    {
        "self.critic_target(next_state, self.actor_target(next_state))": "self.critic_target(state=next_state, "
        "action=self.actor_target(state=next_state))",
        "self.critic(state, action)": "self.critic(state=state, action=action)",
    },
)

critic_of_the_course = altered(
    "DDPGAgent.update_model.critic",
    {
        'torch.as_tensor(samples["obs"], device=self.device)': 'torch.FloatTensor(samples["obs"]).to(self.device)',
        'torch.as_tensor(samples["acts"], device=self.device)': 'torch.FloatTensor(samples["acts"]).to(self.device)',
        'torch.as_tensor(samples["rews"], device=self.device).unsqueeze(1)': ""
        'torch.FloatTensor(samples["rews"].reshape(-1, 1)).to(self.device)',
        'torch.as_tensor(samples["next_obs"], device=self.device)': 'torch.FloatTensor(samples["next_obs"]).to(self.device)',
        'torch.as_tensor(samples["done"], device=self.device).unsqueeze(1)': ""
        'torch.FloatTensor(samples["done"].reshape(-1, 1)).to(self.device)',
        "        with torch.no_grad():\n"
        "            next_value = self.critic_target(next_state, self.actor_target(next_state))\n"
        "            target = reward + self.gamma * (1 - done) * next_value\n": "        masks = 1 - done\n"
        "        next_action = self.actor_target(next_state)\n"
        "        next_value = self.critic_target(next_state, next_action)\n"
        "        target = reward + self.gamma * next_value * masks\n",
    },
)

critic_by_squares = altered(
    "DDPGAgent.update_model.critic",
    {
        "with torch.no_grad():\n            next_value": "if True:\n    next_value",
        "F.mse_loss(self.critic(state, action), target)": "((self.critic(state, action) - target.detach()) ** 2).mean()",
        "        self.critic_optimizer.zero_grad()\n": "",
        "self.critic_optimizer.step()": "self.critic_optimizer.step()\nself.critic_optimizer.zero_grad()",
        "self.actor_optimizer.step()\n": "self.actor_optimizer.step()\nself.critic_optimizer.zero_grad(set_to_none=True)\n",
    },
)

critic_by_the_gradient_of_its_values = altered(
    "DDPGAgent.update_model.critic",
    {
        "critic_loss = F.mse_loss(self.critic(state, action), target)": "value = self.critic(state, action)\n"
        "error = value.detach() - target\n"
        "critic_loss = error.square().mean()",
        "critic_loss.backward()": "value.backward(gradient=2 * error / len(error))",
        "-self.critic(state, self.actor(state)).mean()": "self.critic(state, self.actor(state))",
        "actor_loss.backward(inputs=list(self.actor.parameters()))": "actor_loss.backward(gradient=torch.full_like(actor_loss, "
        "-1 / len(state)))",
        "return actor_loss.detach(), critic_loss.detach()": "return -actor_loss.detach().mean(), critic_loss",
    },
)

critic_in_flat_values = altered(
    "DDPGAgent.update_model.critic",
    {
        'samples["rews"], device=self.device).unsqueeze(1)': 'samples["rews"], device=self.device)',
        'samples["done"], device=self.device).unsqueeze(1)': 'samples["done"], device=self.device).bool()',
        "self.critic_target(next_state, self.actor_target(next_state))": ""
        "self.critic_target(next_state, self.actor_target(next_state)).squeeze(-1)",
        "reward + self.gamma * (1 - done) * next_value": "torch.where(done, reward, reward + self.gamma * next_value)",
        "F.mse_loss(self.critic(state, action), target)": "nn.MSELoss()(self.critic(state, action).view(-1), target)",
    },
)

critic_with_a_closure = altered(
    "DDPGAgent.update_model.critic",
    {
        "critic_loss = F.mse_loss(self.critic(state, action), target)\n"
        "        self.critic_optimizer.zero_grad()\n"
        "        critic_loss.backward()\n"
        "        self.critic_optimizer.step()": "def closure():\n"
        "    self.critic_optimizer.zero_grad()\n"
        "    loss = F.mse_loss(self.critic(state, action), target)\n"
        "    loss.backward()\n"
        "    return loss\n"
        "critic_loss = self.critic_optimizer.step(closure)",
    },
)

actor_with_a_closure = altered(
    "DDPGAgent.update_model.actor",
    {
        "actor_loss = -self.critic(state, self.actor(state)).mean()\n"
        "        self.actor_optimizer.zero_grad()\n": "def closure():\n"
        "    self.actor_optimizer.zero_grad()\n"
        "    loss = -self.critic(state, self.actor(state)).mean()\n"
        "    loss.backward(inputs=list(self.actor.parameters()))\n"
        "    return loss\n",
        "        actor_loss.backward(inputs=list(self.actor.parameters()))\n": "",
        "self.actor_optimizer.step()": "actor_loss = self.actor_optimizer.step(closure)",
    },
)

actor_with_frozen_critic = altered(
    "DDPGAgent.update_model.actor",
    {
        "actor_loss = -self.critic(state, self.actor(state)).mean()": "for parameter in self.critic.parameters():\n"
        "    parameter.requires_grad_(False)\n"
        "actor_loss = -self.critic(state, self.actor(state)).mean()",
        "actor_loss.backward(inputs=list(self.actor.parameters()))": "actor_loss.backward()",
        "self.actor_optimizer.step()\n": "self.actor_optimizer.step()\n"
        "for parameter in self.critic.parameters():\n"
        "    parameter.requires_grad_(True)\n",
        "return actor_loss.detach(), critic_loss.detach()": "return actor_loss.item(), critic_loss.item()",
    },
)

update_of_the_course = altered(
    "DDPGAgent.update_model.actor",
    {
        "actor_loss.backward(inputs=list(self.actor.parameters()))": "actor_loss.backward()",
        "return actor_loss.detach(), critic_loss.detach()": "return actor_loss.data, critic_loss.data",
    },
)

targets_updated_in_place = altered(
    "DDPGAgent.update_model.actor",
    {
        "self._target_soft_update()": "with torch.no_grad():\n"
        "    for target, network in ((self.actor_target, self.actor), (self.critic_target, self.critic)):\n"
        "        for slow, fast in zip(target.parameters(), network.parameters()):\n"
        "            slow.mul_(1 - self.tau).add_(self.tau * fast)",
    },
)

optimizers_in_a_dictionary = altered(
    "DDPGAgent.update_model.critic",
    {
        "self.critic_optimizer = optim.Adam(self.critic.parameters(), lr=1e-3, fused=True)": ""
        "self.critic_optimizer = optim.Adam(self.critic.named_parameters(), lr=1e-2, betas=[0.9, 0.999])\n"
        "for group in self.critic_optimizer.param_groups:\n"
        "    group['lr'] = 1e-3\n"
        "self.optimizers = {'actor': self.actor_optimizer, 'critic': self.critic_optimizer}",
        "self.critic_optimizer.zero_grad()": "self.optimizers['critic'].zero_grad()",
        "self.critic_optimizer.step()": "self.optimizers['critic'].step()",
        "self.actor_optimizer.step()": "self.optimizers['actor'].step()",
    },
)

actor_by_the_chain_rule = altered(
    "DDPGAgent.update_model.actor",
    {
        "actor_loss = -self.critic(state, self.actor(state)).mean()": "own_action = self.actor(state)\n"
        "leaf = own_action.detach().requires_grad_(True)\n"
        "actor_loss = torch.mean(self.critic(state, leaf)).neg()\n"
        "(direction,) = torch.autograd.grad(actor_loss, leaf)",
        "actor_loss.backward(inputs=list(self.actor.parameters()))": "own_action.backward(direction)",
    },
)


class ReplayBuffer:
    """Goes with `AgentOfItsOwnConventions`: what is stored is whether it goes on, and an action of one number has no axis."""

    def __init__(self, obs_dim, size, batch_size=32, act_dim=1, rng=None):  # noqa: ARG002
        self.obs_buf = np.zeros([size, obs_dim], dtype=np.float32)
        self.next_obs_buf = np.zeros([size, obs_dim], dtype=np.float32)
        self.acts_buf = np.zeros([size] if act_dim == 1 else [size, act_dim], dtype=np.float32)
        self.rews_buf = np.zeros([size], dtype=np.float32)
        self.done_buf = np.zeros([size], dtype=np.float32)
        self.max_size, self.batch_size = size, batch_size
        self.ptr, self.size = 0, 0

    def store(self, obs, act, rew, next_obs, done):
        self.obs_buf[self.ptr] = obs
        self.next_obs_buf[self.ptr] = next_obs
        self.acts_buf[self.ptr] = np.squeeze(act)
        self.rews_buf[self.ptr] = rew
        self.done_buf[self.ptr] = 1 - int(done)
        self.ptr = (self.ptr + 1) % self.max_size
        self.size = min(self.size + 1, self.max_size)

    def sample_batch(self):
        idxs = np.random.choice(self.size, size=self.batch_size, replace=False)
        return {
            "obs": self.obs_buf[idxs],
            "next_obs": self.next_obs_buf[idxs],
            "acts": self.acts_buf[idxs],
            "rews": self.rews_buf[idxs],
            "done": self.done_buf[idxs],
        }

    def __len__(self):
        return self.size


class Critic(nn.Module):
    """Goes with `AgentOfItsOwnConventions`: values have no axis of 1."""

    def __init__(self, in_dim, init_w=3e-3):
        super().__init__()
        self.hidden1 = nn.Linear(in_dim, 128)
        self.hidden2 = nn.Linear(128, 128)
        self.out = nn.Linear(128, 1)
        self.out.weight.data.uniform_(-init_w, init_w)
        self.out.bias.data.uniform_(-init_w, init_w)

    def forward(self, state, action):
        x = torch.cat((state, action), dim=-1)
        x = F.relu(self.hidden1(x))
        x = F.relu(self.hidden2(x))
        return self.out(x).squeeze(-1)


@alternative("DDPGAgent.update_model.critic")
class AgentOfItsOwnConventions:
    """The agent of PG is All You Need as students change it, with a buffer and a critic that fit only each other."""

    def __init__(
        self,
        env,
        memory_size,
        batch_size,
        ou_noise_theta,
        ou_noise_sigma,
        gamma=0.99,
        tau=5e-3,
        initial_random_steps=10_000,
        seed=None,  # noqa: ARG002
    ):
        obs_dim = env.observation_space.shape[0]
        action_dim = env.action_space.shape[0]

        self.env = env
        self.memory = ReplayBuffer(obs_dim, memory_size, batch_size, action_dim)
        self.batch_size = batch_size
        self.gamma = gamma
        self.tau = tau
        self.initial_random_steps = initial_random_steps
        self.noise = OUNoise(action_dim, theta=ou_noise_theta, sigma=ou_noise_sigma)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

        self.actor = Actor(obs_dim, action_dim).to(self.device)
        self.actor_target = Actor(obs_dim, action_dim).to(self.device)
        self.actor_target.load_state_dict(self.actor.state_dict())
        self.critic = Critic(obs_dim + action_dim).to(self.device)
        self.critic_target = Critic(obs_dim + action_dim).to(self.device)
        self.critic_target.load_state_dict(self.critic.state_dict())
        self.actor_optimizer = optim.Adam(self.actor.parameters(), lr=3e-4)
        self.critic_optimizer = optim.Adam(self.critic.parameters(), lr=1e-3)

        self.transition = []
        self.total_step = 0
        self.is_test = False
        self.live_plot = LivePlot()

    def select_action(self, state):
        if self.total_step < self.initial_random_steps and not self.is_test:
            selected_action = np.random.uniform(-1, 1, self.env.action_space.shape)
        else:
            selected_action = self.actor(torch.FloatTensor(state).to(self.device)).detach().cpu().numpy()
        if not self.is_test:
            selected_action = np.clip(selected_action + self.noise.sample(), -1.0, 1.0)
        self.transition = [state, selected_action]
        return selected_action

    def step(self, action):
        next_state, reward, terminated, truncated, _ = self.env.step(action)
        if not self.is_test:
            self.transition += [reward, next_state, terminated]
            self.memory.store(*self.transition)
        return next_state, reward, terminated or truncated

    def update_model(self):
        samples = self.memory.sample_batch()
        state = torch.FloatTensor(samples["obs"]).to(self.device)
        next_state = torch.FloatTensor(samples["next_obs"]).to(self.device)
        action = torch.FloatTensor(samples["acts"].reshape(len(state), -1)).to(self.device)
        reward = torch.FloatTensor(samples["rews"]).to(self.device)
        masks = torch.FloatTensor(samples["done"]).to(self.device)

        next_value = self.critic_target(next_state, self.actor_target(next_state))
        curr_return = (reward + self.gamma * next_value * masks).detach()
        critic_loss = F.mse_loss(self.critic(state, action), curr_return)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()

        actor_loss = -self.critic(state, self.actor(state)).mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()

        self._target_soft_update()
        return actor_loss.item(), critic_loss.item()

    def _target_soft_update(self):
        tau = self.tau
        for t_param, l_param in zip(self.actor_target.parameters(), self.actor.parameters(), strict=True):
            t_param.data.copy_(tau * l_param.data + (1.0 - tau) * t_param.data)
        for t_param, l_param in zip(self.critic_target.parameters(), self.critic.parameters(), strict=True):
            t_param.data.copy_(tau * l_param.data + (1.0 - tau) * t_param.data)

    def train(self, num_frames, plotting_interval=200):
        self.is_test = False
        state, _ = self.env.reset()
        self.noise.reset()
        actor_losses, critic_losses, scores = [], [], []
        score = 0

        for self.total_step in range(1, num_frames + 1):
            action = self.select_action(state)
            next_state, reward, done = self.step(action)
            state = next_state
            score += reward

            if done:
                state, _ = self.env.reset()
                self.noise.reset()
                scores.append(score)
                score = 0

            if len(self.memory) >= self.batch_size and self.total_step > self.initial_random_steps:
                actor_loss, critic_loss = self.update_model()
                actor_losses.append(actor_loss)
                critic_losses.append(critic_loss)

            if self.total_step % plotting_interval == 0:
                self._plot(self.total_step, scores, actor_losses, critic_losses)

        self.env.close()

    def test(self):
        self.is_test = True
        state, _ = self.env.reset()
        done = False
        score = 0
        frames = []
        while not done:
            frames.append(self.env.render())
            action = self.select_action(state)
            state, reward, done = self.step(action)
            score += reward
        print("score: ", score)
        self.env.close()
        return frames

    def _plot(self, frame_idx, scores, actor_losses, critic_losses):
        self.live_plot(frame_idx, scores, actor_losses, critic_losses)


# DDPGAgent._target_soft_update

targets_of_the_course = altered(
    "DDPGAgent._target_soft_update",
    {
        "        with torch.no_grad():\n"
        "            for target, network in ((self.actor_target, self.actor), (self.critic_target, self.critic)):\n"
        "                for slow, fast in zip(target.parameters(), network.parameters(), strict=True):\n"
        "                    slow.lerp_(fast, self.tau)  # slow + τ(fast - slow), in place\n": "        tau = self.tau\n"
        "        for t_param, l_param in zip(self.actor_target.parameters(), self.actor.parameters()):\n"
        "            t_param.data.copy_(tau * l_param.data + (1.0 - tau) * t_param.data)\n"
        "        for t_param, l_param in zip(self.critic_target.parameters(), self.critic.parameters()):\n"
        "            t_param.data.copy_(tau * l_param.data + (1.0 - tau) * t_param.data)\n",
    },
)

targets_keep_tau = altered(
    "DDPGAgent._target_soft_update",
    {
        "tau: float = 5e-3": "tau: float = 0.995",
        "slow.lerp_(fast, self.tau)": "slow.copy_((1 - self.tau) * fast + self.tau * slow)",
    },
)

targets_by_dictionary = altered(
    "DDPGAgent._target_soft_update",
    {
        "                for slow, fast in zip(target.parameters(), network.parameters(), strict=True):\n"
        "                    slow.lerp_(fast, self.tau)": ""
        "                old, new = target.state_dict(), network.state_dict()\n"
        "                target.load_state_dict({key: self.tau * new[key] + (1 - self.tau) * old[key] for key in old})",
    },
)

# DDPGAgent.train

train_by_while = altered(
    "DDPGAgent.train",
    {
        "score = 0.0\n\n        for self.total_step in range(1, num_frames + 1):": "score = 0.0\n"
        "self.total_step = 0\n\n"
        "while self.total_step < num_frames:\n"
        "    self.total_step += 1",
        "state, reward, done = self.step(action)\n            score += reward\n\n": ""
        "next_state, reward, done = self.step(action)\nstate = next_state\nscore = score + reward\n\n",
        "actor_losses.append(float(actor_loss))": "actor_losses.append(actor_loss)",
        "critic_losses.append(float(critic_loss))": "critic_losses.append(critic_loss)",
    },
)

noise_reset_in_the_step = altered(
    "DDPGAgent.train",
    {
        "return next_state, reward, terminated or truncated": "if terminated or truncated:\n"
        "    self.noise.reset()\n"
        "return next_state, reward, terminated or truncated",
        "                self.noise.reset()\n": "",
    },
)

update_before_the_reset = altered(
    "DDPGAgent.train",
    {
        "            if done:\n"
        "                scores.append(score)\n"
        "                state, _ = self.env.reset()\n"
        "                self.noise.reset()\n"
        "                score = 0.0\n\n": "",
        "                critic_losses.append(float(critic_loss))\n": ""
        "                critic_losses.append(float(critic_loss))\n\n"
        "            if done:\n"
        "                scores += [score]\n"
        "                self.noise.reset()\n"
        "                state, score = self.env.reset()[0], 0\n",
    },
)

episodes_in_a_loop_of_their_own = altered(
    "DDPGAgent.train",
    {
        "        state, _ = self.env.reset()\n        self.noise.reset()\n        score = 0.0\n\n"
        "        for self.total_step in range(1, num_frames + 1):\n": "        self.total_step, done = 0, True\n"
        "        while self.total_step < num_frames:\n"
        "            if done:\n"
        "                (state, _), score = self.env.reset(), 0.0\n"
        "                self.noise.reset()\n"
        "            self.total_step += 1\n",
        "                state, _ = self.env.reset()\n                self.noise.reset()\n                score = 0.0\n": "",
    },
)

# DDPGAgent.test

test_with_break = altered(
    "DDPGAgent.test",
    {
        "while not done:": "while True:",
        "            score += reward\n        print(": "            score += reward\n"
        "            if done:\n"
        "                frames.append(self.env.render())\n"
        "                break\n"
        "        print(",
    },
)

test_that_tidies_up = altered(
    "DDPGAgent.test",
    {
        'print(f"score: {score:.1f}")': 'print("score: ", score)\nself.is_test = False\nself.env.close()',
    },
)

# ActionNormalizer


@alternative("ActionNormalizer")
class NormalizerOfTheCourse(gym.ActionWrapper):
    """The class of PG is All You Need as it stands there."""

    def action(self, action):
        low = self.action_space.low
        high = self.action_space.high

        scale_factor = (high - low) / 2
        reloc_factor = high - scale_factor

        action = action * scale_factor + reloc_factor
        return np.clip(action, low, high)

    def reverse_action(self, action):
        low = self.action_space.low
        high = self.action_space.high

        scale_factor = (high - low) / 2
        reloc_factor = high - scale_factor

        action = (action - reloc_factor) / scale_factor
        return np.clip(action, -1.0, 1.0)


@alternative("ActionNormalizer")
class NormalizerWithItsOwnSpace(gym.ActionWrapper):
    """Tells what it takes; the environment's own space is behind it."""

    def __init__(self, env):
        super().__init__(env)
        self.action_space = gym.spaces.Box(-1.0, 1.0, env.action_space.shape, dtype=np.float32)

    def action(self, action):
        space = self.env.action_space
        return np.interp(action, [-1.0, 1.0], [0.0, 1.0]) * (space.high - space.low) + space.low

    def reverse_action(self, action):
        space = self.env.action_space
        inside = np.minimum(np.maximum(action, space.low), space.high)
        return (inside - space.low) / (space.high - space.low) * 2 - 1
