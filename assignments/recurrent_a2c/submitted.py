"""Advantage actor-critic with memory: the file you hand in.

Fill in every place marked YOUR CODE HERE. Work from top to bottom and run `python grade.py` as often as you like. Names,
arguments and return values must stay as they are; helper functions and further imports are welcome.

Words used below: B is the number of parallel games, T the number of columns of a rollout, L = T - 1. A *rollout* is what
`EnvPool.interact(T)` returns; env_pool.py says how. Column t holds the observation s_t, the action a_t taken in it and the
reward r_t that came of it; the last column holds only the observation that comes next.

What happens when a game ends is told by the mask `is_not_done`, `[B, T]`:

    column         t - 1       t           t + 1
    observation    a frame     the last    the first frame of a new game
    action         executed    *not*       executed
    is_not_done    1           0           1

So r_(t-1) is the last reward of the old game, and column t is a tick in which nothing is played. Nothing that comes after an
end may come into a return before it; and in column t + 1 the agent remembers nothing.

This assignment follows the course *Practical RL* (YSDA and HSE), week 8: recurrent actor-critic on
KungFuMaster. That text follows Mnih et al. 2016, "Asynchronous methods for deep reinforcement
learning", and Hausknecht and Stone 2015, "Deep recurrent Q-learning for partially observable MDPs".
"""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Flatten(nn.Module):
    """Makes `[batch, units]` of `[batch, channels, height, width]`."""

    def forward(self, input):
        return input.reshape(input.size(0), -1)


class SimpleRecurrentAgent(nn.Module):
    """An actor and a critic that share three convolutions, a linear layer, and a memory.

    Args:
        obs_shape: (1, 42, 42).
        n_actions: How many actions there are.
        reuse: Not used.
    """

    def __init__(self, obs_shape, n_actions, reuse=False):
        super().__init__()
        self.conv0 = nn.Conv2d(obs_shape[0], 32, kernel_size=(3, 3), stride=(2, 2))
        self.conv1 = nn.Conv2d(32, 32, kernel_size=(3, 3), stride=(2, 2))
        self.conv2 = nn.Conv2d(32, 32, kernel_size=(3, 3), stride=(2, 2))
        self.flatten = Flatten()

        self.hid = nn.Linear(512, 128)
        self.rnn = nn.LSTMCell(128, 128)

        self.logits = nn.Linear(128, n_actions)
        self.state_value = nn.Linear(128, 1)

    def forward(self, prev_state, obs_t):
        """Return (new_state, (logits, state_value)): one step of the whole network.

        Args:
            prev_state: (h, c), each float32 `[B, 128]`; the agent's memory.
            obs_t: float32 `[B, 1, 42, 42]`.

        Returns:
            new_state: (h, c) again; the memory after this observation.
            logits: float32 `[B, n_actions]`; of the policy, from the new h.
            state_value: float32 `[B]`; V, from the new h, one number for each game. A column
                `[B, 1]` is accepted here. But then `train_on_rollout` must take `[:, 0]` of it, or
                it silently computes B × B differences.

        An activation function that works on each number separately, such as ReLU or ELU, follows
        each convolution and the linear layer `hid`, whose output goes into the memory.
        """
        # YOUR CODE HERE (about 6 lines)
        raise NotImplementedError(
            "forward: apply convolutions, hid, rnn and the two heads; return the new memory, logits and state values"
        )

    def get_initial_state(self, batch_size):
        """Return what the agent remembers at the start of a game, nothing: (h, c), zeros `[batch_size, 128]`."""
        return torch.zeros((batch_size, 128)), torch.zeros((batch_size, 128))

    def sample_actions(self, agent_outputs):
        """Return actions drawn from the policy, int64 `[batch]`, an array.

        Args:
            agent_outputs: (logits, state values), as `step` returns them.

        The draw comes from torch's global generator.
        """
        logits, _ = agent_outputs
        return torch.multinomial(F.softmax(logits, dim=-1), 1)[:, 0].numpy()

    def step(self, prev_state, obs_t):
        """Return the same as `forward`, without a gradient.

        Args:
            prev_state: As for `forward`.
            obs_t: An array `[batch, 1, 42, 42]`.
        """
        with torch.no_grad():
            return self.forward(prev_state, torch.as_tensor(np.asarray(obs_t), dtype=torch.float32))


def to_one_hot(y, n_dims=None):
    """Return the one-hot rows of integers, float32 `[numbers in y, n_dims]`.

    Args:
        y: The integers.
        n_dims: The length of a row; by default the largest number + 1.
    """
    indices = y.to(dtype=torch.int64).reshape(-1)
    n_dims = n_dims if n_dims is not None else int(indices.max()) + 1
    return F.one_hot(indices, n_dims).to(torch.float32)


# train_on_rollout trains what these names stand for when it is called. Where it is tested, a table takes the agent's place: it
# has fixed logits and values for each column of each game.
n_actions = 14
agent = SimpleRecurrentAgent((1, 42, 42), n_actions)
opt = torch.optim.Adam(agent.parameters(), lr=5e-4)


def train_on_rollout(states, actions, rewards, is_not_done, prev_memory_states, gamma=0.99):
    """Make one step of `opt` on a rollout that `agent` has played; return the loss, a NumPy number.

    Args:
        states: `[B, T, ...]`.
        actions, rewards: `[B, T]`; those of the last column mean nothing.
        is_not_done: `[B, T]`; see above.
        prev_memory_states: The agent's memory *before* the first column; no gradient goes there.
        gamma: γ.

    loss = -J + value loss - 0.01 · entropy, where each of the three is a mean over the B games and
    over columns.
        J: Of log π(a_t|s_t) · (G_t - V(s_t)) over the first L columns. G_t = r_t + γ G_(t+1) is the
            return until the end of the game, or of the rollout; there V(s_L) stands for what
            follows. The advantage G_t - V(s_t) is a constant: no gradient goes through it.
        value loss: Of (r_t + γ V(s_(t+1)) - V(s_t))² over the first L columns. V(s_(t+1)) is a
            constant, and 0 if the game ended with r_t.
        entropy: Of -Σ_a π(a|s_t) log π(a|s_t), over all columns.

    A tick in which nothing is played counts in J and in the value loss as 0; in the entropy as 0 or
    like any other. For the value loss, G_t may be the target instead; and the entropy may leave out the
    last column.

    Going through the rollout is graded on its own; all that follows, only once there is a loss and
    a step.

    (Mnih et al. 2016, algorithm S3 with entropy as in section 4; *Practical RL*, week 8, which
    leaves open what the mask is for.)
    """
    states = torch.as_tensor(np.asarray(states), dtype=torch.float32)  # [B, T, ...]
    actions = torch.as_tensor(np.asarray(actions), dtype=torch.int64)  # [B, T]
    rewards = torch.as_tensor(np.asarray(rewards), dtype=torch.float32)  # [B, T]
    is_not_done = torch.as_tensor(np.asarray(is_not_done), dtype=torch.float32)  # [B, T]
    rollout_length = rewards.shape[1] - 1  # L

    memory = [m.detach() for m in prev_memory_states]
    logits = []
    state_values = []
    for t in range(rewards.shape[1]):
        # YOUR CODE HERE (about 4 lines)
        raise NotImplementedError(
            "train_on_rollout.memory: call agent on column t, keep logits and values, pass the memory on; forget it where a "
            "game has ended"
        )

    logits = torch.stack(logits, dim=1)  # [B, T, n_actions]
    state_values = torch.stack(state_values, dim=1)  # [B, T]
    probas = F.softmax(logits, dim=2)
    logprobas = F.log_softmax(logits, dim=2)
    actions_one_hot = to_one_hot(actions, n_actions).view(*actions.shape, n_actions)
    logprobas_for_actions = torch.sum(logprobas * actions_one_hot, dim=-1)  # [B, T]

    J_hat = 0
    value_loss = 0
    # YOUR CODE HERE (about 11 lines)
    raise NotImplementedError(
        "train_on_rollout.policy: go through the columns backwards; add up J_hat and value_loss, each a mean over the games"
    )

    # YOUR CODE HERE (about 1 line)
    raise NotImplementedError("train_on_rollout.entropy: compute the entropy of the policy, a mean over games and columns")

    loss = -J_hat / rollout_length + value_loss / rollout_length - 0.01 * entropy

    # YOUR CODE HERE (about 3 lines)
    raise NotImplementedError("train_on_rollout.step: make one step of opt by the gradient of this loss alone")

    return loss.detach().numpy()
