"""Right but different ways to write what `recurrent_a2c` asks for: `verify` proves that each gets everything.

They are how students write, not how anybody should: shapes come and go, orders differ, libraries do the work.
"""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F  # noqa: N812 - the seed's name

from grader.proof.catalogue import altered, alternative

# forward

forward_with_elu = altered(
    "forward",
    {
        "features = F.relu(self.conv0(obs_t))": "features = F.elu(self.conv0(obs_t))",
        "F.relu(self.conv1(features))": "F.elu(self.conv1(features))",
        "F.relu(self.conv2(features))": "F.elu(self.conv2(features))",
        "F.relu(self.hid(self.flatten(features)))": "F.elu(self.hid(self.flatten(features)))",
    },
)

forward_with_leaky_relu_and_view = altered(
    "forward",
    {
        "features = F.relu(self.conv0(obs_t))": "features = F.leaky_relu(self.conv0(obs_t))",
        "F.relu(self.conv1(features))": "F.leaky_relu(self.conv1(features), 0.2)",
        "F.relu(self.conv2(features))": "F.leaky_relu(self.conv2(features))",
        "F.relu(self.hid(self.flatten(features)))": "F.leaky_relu(self.hid(features.view(features.size(0), -1)))",
        "return (h, c), (self.logits(h), self.state_value(h)[:, 0])": "new_state = h, c\n"
        "logits = self.logits(h)\n"
        "state_value = self.state_value(h).squeeze(-1)\n"
        "return new_state, (logits, state_value)",
    },
)

forward_with_tanh = altered(
    "forward",
    {
        "F.relu(self.conv0(obs_t))": "torch.tanh(self.conv0(obs_t))",
        "F.relu(self.conv1(features))": "torch.tanh(self.conv1(features))",
        "F.relu(self.conv2(features))": "torch.tanh(self.conv2(features))",
        "F.relu(self.hid(self.flatten(features)))": "self.hid(self.flatten(features)).tanh()",
        "self.state_value(h)[:, 0]": "self.state_value(h).view(-1)",
    },
)

forward_with_convolutions_by_their_weights = altered(
    "forward",
    {
        "F.relu(self.conv0(obs_t))": "F.conv2d(obs_t, self.conv0.weight, self.conv0.bias, stride=2).relu()",
        "F.relu(self.conv1(features))": "torch.conv2d(features, self.conv1.weight, self.conv1.bias, self.conv1.stride).relu()",
        "F.relu(self.conv2(features))": ""
        "F.conv2d(input=features, weight=self.conv2.weight, bias=self.conv2.bias, stride=2).relu()",
    },
)

forward_with_heads_by_their_weights = altered(
    "forward",
    {
        "h, c = self.rnn(hidden, prev_state)": "h, c = self.rnn(hidden, prev_state)[0], self.rnn(hidden, prev_state)[1]",
        "self.logits(h)": "torch.addmm(self.logits.bias, h, self.logits.weight.t())",
        "self.state_value(h)[:, 0]": "h @ self.state_value.weight[0] + self.state_value.bias",
    },
)

forward_with_a_cell_by_hand = altered(
    "forward",
    {
        "hidden = F.relu(self.hid(self.flatten(features)))": ""
        "hidden = F.relu(self.flatten(features) @ self.hid.weight.T + self.hid.bias)",
        "h, c = self.rnn(hidden, prev_state)": "h, c = prev_state\n"
        "gates = hidden @ self.rnn.weight_ih.T + self.rnn.bias_ih + h @ self.rnn.weight_hh.T + self.rnn.bias_hh\n"
        "i, f, g, o = gates.chunk(4, dim=1)\n"
        "c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)\n"
        "h = torch.sigmoid(o) * torch.tanh(c)",
    },
)

forward_with_both_heads_in_one_tensor = altered(
    "forward",
    {
        "return (h, c), (self.logits(h), self.state_value(h)[:, 0])": ""
        "both = torch.cat([self.logits(h), self.state_value(h)], 1)\n"
        "return (h, c), (both[:, :-1], both[:, -1])",
    },
)

forward_with_gelu_and_sigmoid = altered(
    "forward",
    {
        "F.relu(self.conv0(obs_t))": "F.gelu(self.conv0(obs_t))",
        "F.relu(self.conv1(features))": "F.silu(self.conv1(features))",
        "F.relu(self.conv2(features))": "F.gelu(self.conv2(features))",
        "F.relu(self.hid(self.flatten(features)))": "torch.sigmoid(self.hid(features.flatten(start_dim=1)))",
    },
)

forward_with_values_in_a_column = altered(
    "forward",
    {"return (h, c), (self.logits(h), self.state_value(h)[:, 0])": "return (h, c), (self.logits(h), self.state_value(h))"},
)

forward_with_lists = altered(
    "forward",
    {
        "h, c = self.rnn(hidden, prev_state)": "hx, cx = prev_state\nh, c = self.rnn(hidden, (hx, cx))",
        "return (h, c), (self.logits(h), self.state_value(h)[:, 0])": ""
        "return [h, c], [self.logits(h), torch.squeeze(self.state_value(h), 1)]",
    },
)

forward_in_a_loop = altered(
    "forward",
    {
        "features = F.relu(self.conv0(obs_t))\n"
        "        features = F.relu(self.conv1(features))\n"
        "        features = F.relu(self.conv2(features))\n"
        "        hidden = F.relu(self.hid(self.flatten(features)))\n": "x = obs_t\n"
        "for layer in (self.conv0, self.conv1, self.conv2, self.flatten, self.hid):\n"
        "    x = layer(x) if layer is self.flatten else nn.functional.selu(layer(x))\n"
        "hidden = x\n",
        "h, c = self.rnn(hidden, prev_state)": "new_state = self.rnn(hidden, tuple(prev_state))\nh, c = new_state",
    },
)

forward_in_sequence = altered(
    "forward",
    {
        "features = F.relu(self.conv0(obs_t))\n"
        "        features = F.relu(self.conv1(features))\n"
        "        features = F.relu(self.conv2(features))\n"
        "        hidden = F.relu(self.hid(self.flatten(features)))\n": "network = nn.Sequential(\n"
        "    self.conv0, nn.ELU(), self.conv1, nn.ELU(), self.conv2, nn.ELU(), self.flatten, self.hid, nn.ReLU(inplace=True)\n"
        ")\n"
        "hidden = network(obs_t)\n",
    },
)

forward_in_place = altered(
    "forward",
    {
        "features = F.relu(self.conv0(obs_t))": "features = F.relu_(self.conv0(obs_t))",
        "F.relu(self.conv1(features))": "self.conv1(features).relu_()",
        "F.relu(self.conv2(features))": "F.relu(self.conv2(features), inplace=True)",
        "F.relu(self.hid(self.flatten(features)))": "self.hid(self.flatten(features)).clamp(min=0)",
        "self.state_value(h)[:, 0]": "self.state_value(h).flatten()",
    },
)


@alternative("forward")
class AgentOfTheCourse(nn.Module):
    """The class of Practical RL, week 8 as it stands there, filled in."""

    def __init__(self, obs_shape, n_actions, reuse=False):  # noqa: ARG002
        """A simple actor-critic agent"""
        super(self.__class__, self).__init__()

        self.conv0 = nn.Conv2d(1, 32, kernel_size=(3, 3), stride=(2, 2))
        self.conv1 = nn.Conv2d(32, 32, kernel_size=(3, 3), stride=(2, 2))
        self.conv2 = nn.Conv2d(32, 32, kernel_size=(3, 3), stride=(2, 2))
        self.flatten = nn.Flatten()

        self.hid = nn.Linear(512, 128)
        self.rnn = nn.LSTMCell(128, 128)

        self.logits = nn.Linear(128, n_actions)
        self.state_value = nn.Linear(128, 1)

    def forward(self, prev_state, obs_t):
        nn = F.elu(self.conv0(obs_t))
        nn = F.elu(self.conv1(nn))
        nn = F.elu(self.conv2(nn))
        nn = F.elu(self.hid(self.flatten(nn)))

        new_state = self.rnn(nn, prev_state)
        logits = self.logits(new_state[0])
        state_value = self.state_value(new_state[0])

        return new_state, (logits, state_value)

    def get_initial_state(self, batch_size):
        return torch.zeros((batch_size, 128)), torch.zeros((batch_size, 128))

    def sample_actions(self, agent_outputs):
        logits, _ = agent_outputs
        probs = F.softmax(logits, dim=1)
        return torch.multinomial(probs, 1)[:, 0].data.numpy()

    def step(self, prev_state, obs_t):
        obs_t = torch.tensor(np.asarray(obs_t), dtype=torch.float32)
        (h, c), (l, s) = self.forward(prev_state, obs_t)  # noqa: E741 - the seed's name
        return (h.detach(), c.detach()), (l.detach(), s.detach())


# train_on_rollout.memory

memory_of_zeros_by_where = altered(
    "train_on_rollout.memory",
    {
        "memory = [m * is_not_done[:, t, None] for m in memory]": "alive = is_not_done[:, t].bool().unsqueeze(1)\n"
        "memory = tuple(torch.where(alive, m, torch.zeros_like(m)) for m in memory)",
    },
)

memory_of_the_start_of_a_game = altered(
    "train_on_rollout.memory",
    {
        "memory = [m * is_not_done[:, t, None] for m in memory]": ""
        "fresh = agent.get_initial_state(actions.shape[0])\n"
        "mask = is_not_done[:, t].view(-1, 1)\n"
        "memory = [mask * old + (1 - mask) * new for old, new in zip(memory, fresh)]",
    },
)

memory_cleared_in_clones = altered(
    "train_on_rollout.memory",
    {
        "memory = [m * is_not_done[:, t, None] for m in memory]": "over = is_not_done[:, t] == 0\n"
        "if over.any():\n"
        "    memory = [m.clone() for m in memory]\n"
        "    for m in memory:\n"
        "        m[over] = 0.0",
    },
)

memory_cleared_game_by_game = altered(
    "train_on_rollout.memory",
    {
        "memory = [m * is_not_done[:, t, None] for m in memory]": "h, c = memory\n"
        "hs, cs = [], []\n"
        "for i in range(states.shape[0]):\n"
        "    if is_not_done[i, t] == 0:\n"
        "        hs.append(torch.zeros(h.shape[1]))\n"
        "        cs.append(torch.zeros(c.shape[1]))\n"
        "    else:\n"
        "        hs.append(h[i])\n"
        "        cs.append(c[i])\n"
        "memory = (torch.stack(hs), torch.stack(cs))",
    },
)

memory_cleared_before_the_next_column = altered(
    "train_on_rollout.memory",
    {
        "memory = [m * is_not_done[:, t, None] for m in memory]": "",
        "memory, (logits_t, values_t) = agent(memory, states[:, t])": "if t > 0:\n"
        "    memory = [m * is_not_done[:, t - 1].reshape(-1, 1) for m in memory]\n"
        "obs_t = states[:, t]\n"
        "memory, (logits_t, values_t) = agent(memory, obs_t)",
    },
)

memory_by_forward_and_masked_fill = altered(
    "train_on_rollout.memory",
    {
        "memory, (logits_t, values_t) = agent(memory, states[:, t])": ""
        "new_state, outputs = agent.forward(prev_state=memory, obs_t=states[:, t, ...])\n"
        "logits_t, values_t = outputs",
        "memory = [m * is_not_done[:, t, None] for m in memory]": "game_over = ~is_not_done[:, t].bool()\n"
        "memory = (new_state[0].masked_fill(game_over[:, None], 0.0), new_state[1].masked_fill(game_over[:, None], 0.0))",
    },
)

# train_on_rollout.policy

policy_by_returns_first = altered(
    "train_on_rollout.policy",
    {
        "G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]\n": ""
        "V = state_values.detach()\n"
        "G = V[:, -1] * is_not_done[:, -1]\n"
        "returns = []\n"
        "for t in range(rollout_length - 1, -1, -1):\n"
        "    G = rewards[:, t] + gamma * G\n"
        "    returns.insert(0, G)\n"
        "    G = G * is_not_done[:, t]\n"
        "returns = torch.stack(returns, dim=1)\n",
        "for t in reversed(range(rollout_length)):": "for t in range(rollout_length):",
        "G_t = rewards[:, t] + gamma * G_next": "G_t = returns[:, t]",
        "target = rewards[:, t] + gamma * V_next": "target = rewards[:, t] + gamma * V[:, t + 1] * is_not_done[:, t + 1]",
        "G_next = played * G_t": "",
        "V_next = played * V_t.detach()": "",
    },
)

policy_in_numpy = altered(
    "train_on_rollout.policy",
    {
        "G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]\n": ""
        "V_next = state_values[:, -1].detach() * is_not_done[:, -1]\n"
        "mask, r = is_not_done.numpy(), rewards.numpy()\n"
        "returns = np.zeros((len(r), rollout_length + 1), dtype=np.float32)\n"
        "returns[:, -1] = state_values[:, -1].detach().numpy()\n"
        "for t in range(rollout_length)[::-1]:\n"
        "    returns[:, t] = r[:, t] + gamma * returns[:, t + 1] * mask[:, t + 1]\n",
        "G_t = rewards[:, t] + gamma * G_next": "G_t = torch.from_numpy(returns[:, t].copy())",
        "G_next = played * G_t": "",
    },
)

policy_by_gather_and_minus = altered(
    "train_on_rollout.policy",
    {
        "torch.sum(logprobas * actions_one_hot, dim=-1)": "logprobas.gather(2, actions.unsqueeze(-1)).squeeze(-1)",
        "J_hat += (played * logprobas_for_actions[:, t] * advantage).mean()": ""
        "J_hat = J_hat - torch.mean(-logprobas_for_actions[:, t] * advantage * played)",
        "value_loss += (played * (target - V_t) ** 2).mean()": ""
        "value_loss = value_loss + torch.mean((played * (V_t - target)).pow(2))",
    },
)

policy_of_a_distribution = altered(
    "train_on_rollout.policy",
    {
        "logprobas_for_actions = torch.sum(logprobas * actions_one_hot, dim=-1)": ""
        "policy = torch.distributions.Categorical(logits=logits)\nlogprobas_for_actions = policy.log_prob(actions)",
        "advantage = (G_t - V_t).detach()": "with torch.no_grad():\n    advantage = G_t - V_t",
    },
)

policy_without_loop = altered(
    "train_on_rollout.policy",
    {
        "        value_loss += (played * (target - V_t) ** 2).mean()\n": "",
        "        advantage = (G_t - V_t).detach()\n": "",
        "J_hat += (played * logprobas_for_actions[:, t] * advantage).mean()": ""
        "rewards[:, t] = G_t  # from here on, this is a return\n"
        "targets = torch.cat([target.unsqueeze(1), targets], dim=1)",
        "    G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]\n": ""
        "    rewards = rewards.clone()\n"
        "    targets = torch.zeros(len(rewards), 0)\n"
        "    G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]\n",
        "        V_next = played * V_t.detach()\n": "        V_next = played * V_t.detach()\n"
        "    advantages = rewards[:, :-1] - state_values[:, :-1].detach()\n"
        "    J_hat = (logprobas_for_actions[:, :-1] * advantages * is_not_done[:, :-1]).mean() * rollout_length\n"
        "    value_loss = ((targets - state_values[:, :-1]) ** 2 * is_not_done[:, :-1]).sum() / len(rewards)\n",
    },
)

policy_by_sums_over_powers = altered(
    "train_on_rollout.policy",
    {
        "G_t = rewards[:, t] + gamma * G_next": "G_t, factor = torch.zeros(len(rewards)), torch.ones(len(rewards))\n"
        "for k in range(t, rollout_length):\n"
        "    G_t = G_t + factor * rewards[:, k]\n"
        "    factor = factor * gamma * is_not_done[:, k + 1]\n"
        "G_t = G_t + factor * state_values[:, rollout_length]",
        "G_next = played * G_t": "",
    },
)

policy_by_conditions = altered(
    "train_on_rollout.policy",
    {
        "G_t = rewards[:, t] + gamma * G_next": "G_t = rewards[:, t] + gamma * torch.where(over[:, t + 1], 0.0, G_next)",
        "target = rewards[:, t] + gamma * V_next": "target = rewards[:, t] + gamma * torch.where(over[:, t + 1], 0.0, V_next)",
        "    G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]\n": "    over = is_not_done < 0.5\n"
        "    G_next = V_next = state_values[:, -1].detach()\n",
        "G_next = played * G_t": "G_next = G_t",
        "V_next = played * V_t.detach()": "V_next = V_t.detach()",
    },
)

policy_in_double_precision = altered(
    "train_on_rollout.policy",
    {
        "rewards = torch.as_tensor(np.asarray(rewards), dtype=torch.float32)": ""
        "rewards = torch.tensor(np.array(rewards), dtype=torch.float64)",
        "is_not_done = torch.as_tensor(np.asarray(is_not_done), dtype=torch.float32)": ""
        "is_not_done = torch.tensor(np.array(is_not_done, dtype=bool))",
        "m * is_not_done[:, t, None]": "m * is_not_done[:, t, None].float()",
    },
)


@alternative("train_on_rollout.policy")
def train_on_rollout_of_the_course(states, actions, rewards, is_not_done, prev_memory_states, gamma=0.99):
    """The function of Practical RL, week 8 as it stands there, filled in, with the mask."""
    # shape: [batch_size, time, c, h, w]
    states = torch.tensor(np.asarray(states), dtype=torch.float32)
    actions = torch.tensor(np.array(actions), dtype=torch.int64)  # shape: [batch_size, time]
    rewards = torch.tensor(np.array(rewards), dtype=torch.float32)  # shape: [batch_size, time]
    is_not_done = torch.tensor(np.array(is_not_done), dtype=torch.float32)  # shape: [batch_size, time]
    rollout_length = rewards.shape[1] - 1

    # predict logits, probas and log-probas using an agent.
    memory = [m.detach() for m in prev_memory_states]

    logits = []  # append logit sequence here
    state_values = []  # append state values here
    for t in range(rewards.shape[1]):
        obs_t = states[:, t]
        memory, (logits_t, values_t) = agent(memory, obs_t)
        memory = [m * is_not_done[:, t].unsqueeze(-1) for m in memory]
        logits.append(logits_t)
        state_values.append(values_t.squeeze(-1) if values_t.dim() > 1 else values_t)

    logits = torch.stack(logits, dim=1)
    state_values = torch.stack(state_values, dim=1)
    probas = F.softmax(logits, dim=2)
    logprobas = F.log_softmax(logits, dim=2)

    # select log-probabilities for chosen actions, log pi(a_i|s_i)
    actions_one_hot = to_one_hot(actions, n_actions).view(actions.shape[0], actions.shape[1], n_actions)
    logprobas_for_actions = torch.sum(logprobas * actions_one_hot, dim=-1)

    J_hat = 0  # noqa: N806 - the seed's names
    value_loss = 0
    cumulative_returns = state_values[:, -1].detach()

    for t in reversed(range(rollout_length)):
        r_t = rewards[:, t]  # current rewards
        V_t = state_values[:, t]  # noqa: N806
        V_next = state_values[:, t + 1].detach()  # noqa: N806
        logpi_a_s_t = logprobas_for_actions[:, t]
        done_next = is_not_done[:, t + 1]
        alive = is_not_done[:, t]

        # update G_t = r_t + gamma * G_{t+1} as we did in week6 reinforce
        cumulative_returns = G_t = r_t + gamma * cumulative_returns * done_next  # noqa: N806

        # Compute temporal difference error (MSE for V(s))
        value_loss += torch.mean(alive * (r_t + gamma * V_next * done_next - V_t) ** 2)

        # compute advantage A(s_t, a_t) using cumulative returns and V(s_t) as baseline
        advantage = G_t - V_t
        advantage = advantage.detach()

        # compute policy pseudo-loss aka -J_hat.
        J_hat += torch.mean(alive * logpi_a_s_t * advantage)  # noqa: N806

    # regularize with entropy
    entropy_reg = torch.mean(-torch.sum(probas * logprobas, dim=-1))

    # add-up three loss components and average over time
    loss = -J_hat / rollout_length + value_loss / rollout_length + -0.01 * entropy_reg

    # Gradient descent step
    loss.backward()
    opt.step()
    opt.zero_grad()

    return loss.data.numpy()


@alternative("train_on_rollout.policy")
def train_on_rollout_in_tensors(states, actions, rewards, is_not_done, prev_memory_states, gamma=0.99):
    """Columns first, game by game only where a game has ended; every part of the loss in one expression."""
    rewards, mask = torch.FloatTensor(np.array(rewards)).T, torch.FloatTensor(np.array(is_not_done, np.float32)).T
    columns = torch.as_tensor(np.asarray(states)).float().transpose(0, 1)
    h, c = (m.clone().detach() for m in prev_memory_states)
    outputs = []
    for frame, alive in zip(columns, mask):  # noqa: B905
        (h, c), output = agent((h, c), frame)
        outputs.append(output)
        h, c = h * alive[:, None], c * alive[:, None]
    policy = torch.distributions.Categorical(logits=torch.stack([logits for logits, _ in outputs]))
    values = torch.stack([value.reshape(-1) for _, value in outputs])
    constant = values.detach() * mask
    returns = [constant[-1]]
    for reward, alive in zip(rewards[:-1].flip(0), mask[:-1].flip(0)):  # noqa: B905
        returns.append((reward + gamma * returns[-1]) * alive)
    returns = torch.stack(returns[:0:-1])
    log_probs = policy.log_prob(torch.as_tensor(np.asarray(actions)).long().T)[:-1]
    policy_loss = -(log_probs * (returns - values[:-1]).detach() * mask[:-1]).mean()
    errors = rewards[:-1] + gamma * constant[1:] - values[:-1]
    loss = policy_loss + (errors.square() * mask[:-1]).mean() - 0.01 * policy.entropy().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return float(loss)


class ColumnAgent(nn.Module):
    """A network under a name and with a constructor of its own, whose values are `[B, 1]`."""

    def __init__(self, n_actions):
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(1, 32, 3, 2), nn.ELU(), nn.Conv2d(32, 32, 3, 2), nn.ELU(), nn.Conv2d(32, 32, 3, 2), nn.ELU()
        )
        self.hid = nn.Linear(512, 128)
        self.rnn = nn.LSTMCell(128, 128)
        self.policy = nn.Linear(128, n_actions)
        self.critic = nn.Linear(128, 1)

    def forward(self, prev_state, obs_t):
        h, c = self.rnn(F.elu(self.hid(self.convolutions(obs_t).flatten(1))), prev_state)
        return (h, c), (self.policy(h), self.critic(h))

    def get_initial_state(self, batch_size):
        return torch.zeros((batch_size, 128)), torch.zeros((batch_size, 128))

    def step(self, prev_state, obs_t):
        with torch.no_grad():
            return self(prev_state, torch.as_tensor(np.asarray(obs_t), dtype=torch.float32))


# The functions of this file that use `agent` train this one.
agent = ColumnAgent(14)
optimizer = torch.optim.NAdam(agent.parameters(), lr=5e-4)


@alternative("train_on_rollout.policy")
def train_on_rollout_of_columns(states, actions, rewards, is_not_done, prev_memory_states, gamma=0.99):
    """All in columns, `[B, 1]`, as the values of this agent are; the optimizer has a name of its own."""
    states, rewards = torch.FloatTensor(np.array(states)), torch.FloatTensor(np.array(rewards))[..., None]
    mask = torch.FloatTensor(np.array(is_not_done, np.float32))[..., None]
    actions = torch.LongTensor(np.array(actions))[..., None]
    memory = tuple(m.detach() for m in prev_memory_states)
    logits, values = [], []
    for t in range(rewards.shape[1]):
        memory, (logits_t, values_t) = agent(memory, states[:, t])
        logits.append(logits_t)
        values.append(values_t)
        memory = tuple(m * mask[:, t] for m in memory)
    log_probs = torch.stack(logits, dim=1).log_softmax(dim=-1)
    chosen = log_probs.gather(2, actions)
    length, loss = rewards.shape[1] - 1, 0.01 * (log_probs.exp() * log_probs).sum(-1).mean()
    after = value_after = values[-1].detach() * mask[:, -1]
    for t in reversed(range(length)):
        after = rewards[:, t] + gamma * after
        loss = loss - (mask[:, t] * chosen[:, t] * (after - values[t]).detach()).mean() / length
        loss = loss + (mask[:, t] * (rewards[:, t] + gamma * value_after - values[t]) ** 2).mean() / length
        after, value_after = mask[:, t] * after, mask[:, t] * values[t].detach()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


# train_on_rollout.value

value_of_the_return = altered(
    "train_on_rollout.value",
    {"target = rewards[:, t] + gamma * V_next": "target = G_t"},
)

value_by_mse_loss_of_the_return = altered(
    "train_on_rollout.value",
    {
        "value_loss += (played * (target - V_t) ** 2).mean()": "value_loss += F.mse_loss(played * V_t, played * G_t.detach())",
        "target = rewards[:, t] + gamma * V_next": "",
    },
)

value_by_mse_loss = altered(
    "train_on_rollout.value",
    {
        "value_loss += (played * (target - V_t) ** 2).mean()": ""
        'value_loss += (F.mse_loss(V_t, target, reduction="none") * played).mean()',
    },
)

value_by_mse_module = altered(
    "train_on_rollout.value",
    {
        "value_loss += (played * (target - V_t) ** 2).mean()": ""
        "value_loss += nn.MSELoss()(V_t * is_not_done[:, t], target.data * is_not_done[:, t])",
    },
)

value_of_the_squared_advantage = altered(
    "train_on_rollout.value",
    {
        "value_loss += (played * (target - V_t) ** 2).mean()": "",
        "advantage = (G_t - V_t).detach()": "advantage = G_t - V_t\n"
        "value_loss += (played * advantage.pow(2)).mean()\n"
        "advantage = advantage.detach()",
    },
)

# train_on_rollout.ends

last_frame_is_worth_nothing = altered(
    "train_on_rollout.ends",
    {"(played * (target - V_t) ** 2)": "((played * target - V_t) ** 2)"},
)

return_multiplied_by_its_own_mask = altered(
    "train_on_rollout.ends",
    {
        # Where nothing is played the reward is 0, so the return there becomes 0, and nothing goes further back.
        "G_t = rewards[:, t] + gamma * G_next": "G_t = rewards[:, t] + gamma * is_not_done[:, t] * G_next",
        "G_next = played * G_t": "G_next = G_t",
        "target = rewards[:, t] + gamma * V_next": "V_next = state_values[:, t + 1].detach() * is_not_done[:, t + 1]\n"
        "target = rewards[:, t] + gamma * is_not_done[:, t] * V_next",
    },
)

ends_by_indexing = altered(
    "train_on_rollout.ends",
    {
        "played = is_not_done[:, t]": "played = is_not_done[:, t] == 1",
        "(played * (target - V_t) ** 2).mean()": "((target - V_t)[played] ** 2).sum() / states.shape[0]",
        "(played * logprobas_for_actions[:, t] * advantage).mean()": ""
        "torch.where(played, logprobas_for_actions[:, t] * advantage, torch.tensor(0.0)).mean()",
        "G_next = played * G_t": "G_next = G_t.clone()\nG_next[~played] = 0",
        "V_next = played * V_t.detach()": "V_next = V_t.detach().clone()\nV_next[~played] = 0",
    },
)

ends_by_advantages_of_zero = altered(
    "train_on_rollout.ends",
    {
        "target = rewards[:, t] + gamma * V_next": ""
        "target = torch.where(is_not_done[:, t].bool(), rewards[:, t] + gamma * V_next, V_t.detach())",
        "(played * (target - V_t) ** 2)": "((target - V_t) ** 2)",
        "advantage = (G_t - V_t).detach()": "advantage = (G_t - V_t).detach()\nadvantage[is_not_done[:, t] == 0] = 0",
        "(played * logprobas": "(logprobas",
    },
)

ends_game_by_game = altered(
    "train_on_rollout.ends",
    {
        "value_loss += (played * (target - V_t) ** 2).mean()": "batch_size = states.shape[0]\n"
        "for i in range(batch_size):\n"
        "    if is_not_done[i, t]:\n"
        "        value_loss += (target[i] - V_t[i]) ** 2 / batch_size",
        "J_hat += (played * logprobas_for_actions[:, t] * advantage).mean()": "for i in range(batch_size):\n"
        "    if is_not_done[i, t]:\n"
        "        J_hat += logprobas_for_actions[i, t] * advantage[i] / batch_size",
    },
)

# train_on_rollout.entropy

entropy_of_what_is_played = altered(
    "train_on_rollout.entropy",
    {"-(probas * logprobas).sum(dim=-1).mean()": "-(is_not_done * (probas * logprobas).sum(dim=-1)).mean()"},
)

entropy_of_a_distribution = altered(
    "train_on_rollout.entropy",
    {"-(probas * logprobas).sum(dim=-1).mean()": "torch.distributions.Categorical(logits=logits).entropy().mean()"},
)

entropy_of_probabilities = altered(
    "train_on_rollout.entropy",
    {"-(probas * logprobas).sum(dim=-1).mean()": "torch.distributions.Categorical(probas).entropy().mean()"},
)

entropy_of_columns_with_an_action = altered(
    "train_on_rollout.entropy",
    {"-(probas * logprobas).sum(dim=-1).mean()": "-torch.mean(torch.sum(probas[:, :-1] * logprobas[:, :-1], dim=2))"},
)

entropy_by_sums = altered(
    "train_on_rollout.entropy",
    {"-(probas * logprobas).sum(dim=-1).mean()": "-(probas * logprobas).sum() / (probas.shape[0] * probas.shape[1])"},
)

entropy_column_by_column = altered(
    "train_on_rollout.entropy",
    {
        "entropy = -(probas * logprobas).sum(dim=-1).mean()": "entropy = 0\n"
        "for t in range(rollout_length):\n"
        "    entropy -= (probas[:, t] * logprobas[:, t]).sum(-1).mean() / rollout_length",
    },
)

entropy_with_a_small_number = altered(
    "train_on_rollout.entropy",
    {"(probas * logprobas)": "(probas * torch.log(probas + 1e-8))"},
)

entropy_by_logsumexp = altered(
    "train_on_rollout.entropy",
    {"-(probas * logprobas).sum(dim=-1).mean()": "(torch.logsumexp(logits, 2) - (probas * logits).sum(2)).mean()"},
)

# train_on_rollout.step

step_by_the_agent = altered(
    "train_on_rollout.step",
    {"opt.zero_grad()": "agent.zero_grad()", "return loss.detach().numpy()": "return loss.item()"},
)

step_clears_to_zeros = altered(
    "train_on_rollout.step",
    {"opt.zero_grad()": "opt.zero_grad(set_to_none=False)", "return loss.detach().numpy()": "return loss.data.numpy()"},
)

step_clears_afterwards = altered(
    "train_on_rollout.step",
    {
        "opt.zero_grad()": "",
        "opt.step()": "opt.step()\nopt.zero_grad()",
        "return loss.detach().numpy()": "return np.float32(loss.item())",
    },
)

step_with_retained_graph = altered(
    "train_on_rollout.step",
    {
        "opt.zero_grad()": "for p in agent.parameters():\n    p.grad = None",
        "loss.backward()": "loss.backward(retain_graph=True)",
        "return loss.detach().numpy()": "return loss.cpu().detach().numpy().copy()",
    },
)

step_by_autograd = altered(
    "train_on_rollout.step",
    {
        "opt.zero_grad()": "parameters = list(agent.parameters())",
        "loss.backward()": "gradients = torch.autograd.grad(loss, parameters, allow_unused=True)\n"
        "for p, g in zip(parameters, gradients):\n"
        "    p.grad = g",
        "return loss.detach().numpy()": "return np.array(loss.tolist())",
    },
)

step_with_a_closure = altered(
    "train_on_rollout.step",
    {
        "opt.zero_grad()\n    loss.backward()\n    opt.step()": "def closure():\n"
        "    opt.zero_grad()\n"
        "    loss.backward()\n"
        "    return loss\n"
        "loss = opt.step(closure)",
    },
)
