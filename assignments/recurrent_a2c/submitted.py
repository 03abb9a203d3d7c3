"""Advantage actor-critic with memory: the file that you submit.

Fill in every place marked YOUR CODE HERE. Work from top to bottom, and run `python grade.py` as often
as you like. Keep names, arguments and return values as they are; you may add helper functions and
imports.

Terms: B is the number of parallel games, T the number of columns in a rollout, and L = T - 1 the
number of columns with an action. A *rollout* is the result of `EnvPool.interact(T)`; see
env_pool.py. Column t contains the observation s_t, the action a_t taken there, and its reward r_t.
In the last column, only the observation s_L and the mask are used.

The mask `is_not_done`, `[B, T]`, marks the ends of games:

    column         t - 1       t                 t + 1
    observation    old game    old game, last    new game, first
    action         executed    *not* executed    executed
    is_not_done    1           0                 1

So r_(t-1) is the last reward of the old game, and nothing is played in column t (a *dead tick*).
The return of an earlier column must not include rewards after the end, and column t + 1 starts with
an empty memory.

This assignment follows the course *Practical RL* (YSDA and HSE), week 8: recurrent actor-critic on
KungFuMaster. The course follows Mnih et al. 2016, "Asynchronous methods for deep reinforcement
learning", and Hausknecht and Stone 2015, "Deep recurrent Q-learning for partially observable MDPs".
"""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Flatten(nn.Module):
    """Reshapes `[batch, channels, height, width]` to `[batch, units]`."""

    def forward(self, input):
        return input.reshape(input.size(0), -1)


class SimpleRecurrentAgent(nn.Module):
    """An actor and a critic that share three convolutions, a linear layer, and an LSTM cell.

    Args:
        obs_shape: (1, 42, 42).
        n_actions: Number of actions.
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
            obs_t: float32 `[B, 1, 42, 42]`; pixels from 0 to 1. Pass it to `conv0` as it is.

        Returns:
            new_state: (h, c); the memory after this observation.
            logits: float32 `[B, n_actions]`; logits of the policy, from the new h.
            state_value: float32 `[B]`; V, from the new h, one number for each game. The shape
                `[B, 1]` is also accepted. But then `train_on_rollout` must use `[:, 0]` of it.
                Otherwise it computes B × B differences, without an error message.

        Apply an elementwise activation function, such as ReLU or ELU, after each convolution and
        after the linear layer `hid`. The result goes into the LSTM cell `rnn`.
        """
        # YOUR CODE HERE (about 6 lines)
        raise NotImplementedError(
            "forward: apply convolutions, hid, rnn and the two heads; return the new memory, logits and state values"
        )

    def get_initial_state(self, batch_size):
        """Return the empty memory at the start of a game: (h, c), zeros `[batch_size, 128]`."""
        return torch.zeros((batch_size, 128)), torch.zeros((batch_size, 128))

    def sample_actions(self, agent_outputs):
        """Return actions sampled from the policy, an int64 array `[batch]`.

        Args:
            agent_outputs: (logits, state values), as `step` returns them.

        Sampling uses torch's global generator.
        """
        logits, _ = agent_outputs
        return torch.multinomial(F.softmax(logits, dim=-1), 1)[:, 0].numpy()

    def step(self, prev_state, obs_t):
        """Return the result of `forward`, without a gradient.

        Args:
            prev_state: As in `forward`.
            obs_t: An array `[batch, 1, 42, 42]`.
        """
        with torch.no_grad():
            return self.forward(prev_state, torch.as_tensor(np.asarray(obs_t), dtype=torch.float32))


def to_one_hot(y, n_dims=None):
    """Return a one-hot row for each integer, float32 `[number of integers in y, n_dims]`.

    Args:
        y: The integers.
        n_dims: The length of a row; by default the largest integer + 1.
    """
    indices = y.to(dtype=torch.int64).reshape(-1)
    n_dims = n_dims if n_dims is not None else int(indices.max()) + 1
    return F.one_hot(indices, n_dims).to(torch.float32)


# train_on_rollout looks these names up each time it is called, so other code can replace them. In
# tests, `agent` is a table with fixed logits and values for each column of each game.
n_actions = 14
agent = SimpleRecurrentAgent((1, 42, 42), n_actions)
opt = torch.optim.Adam(agent.parameters(), lr=5e-4)


def train_on_rollout(states, actions, rewards, is_not_done, prev_memory_states, gamma=0.99):
    """Take one step of `opt` on a rollout of `agent`; return the loss, a 0-d NumPy array.

    Args:
        states: `[B, T, ...]`.
        actions, rewards: `[B, T]`; ignore those of the last column.
        is_not_done: `[B, T]`; see above. Use its last column, too: does the game continue
            after the rollout?
        prev_memory_states: The agent's memory *before* the first column; it gets no gradient.
        gamma: γ.

    loss = -J + value loss - 0.01 · entropy. Each of the three terms is a mean over the B games and
    over columns.
        J: Mean of log π(a_t|s_t) · (G_t - V(s_t)) over the first L columns. G_t is the return up to
            the end of the game: 0 in a dead tick, otherwise r_t + γ G_(t+1). If the game continues
            after the rollout, G_L = V(s_L). The advantage G_t - V(s_t) is a constant: it gets no
            gradient.
        value loss: Mean of (r_t + γ V(s_(t+1)) - V(s_t))² over the first L columns. V(s_(t+1)) is a
            constant, and 0 if the game ended with r_t.
        entropy: Mean of -Σ_a π(a|s_t) log π(a|s_t) over all columns.

    A dead tick adds 0 to J and to the value loss, but the means still divide by all B games and L
    columns. Three variants are accepted, too: dead ticks add 0 to the entropy, whose mean still
    divides by all B · T; the entropy leaves out the last column; the target of the value loss is
    G_t.

    Grading: the first blank of this function is checked on its own. All other checks of this
    function need all four blanks.

    (Mnih et al. 2016, algorithm S3; there, the target of the value loss is G_t. Its section 4 adds
    the entropy. *Practical RL*, week 8, does not explain the mask.)
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
            "train_on_rollout.memory: call agent on column t, append logits and values, and pass the memory on; reset it where "
            "a game has ended"
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
        "train_on_rollout.policy: go through the columns backwards and add each column's mean over the games to J_hat and "
        "value_loss"
    )

    # YOUR CODE HERE (about 1 line)
    raise NotImplementedError("train_on_rollout.entropy: compute the mean entropy of the policy over games and columns")

    loss = -J_hat / rollout_length + value_loss / rollout_length - 0.01 * entropy

    # YOUR CODE HERE (about 3 lines)
    raise NotImplementedError("train_on_rollout.step: take one step of opt, using the gradient of this loss only")

    return loss.detach().numpy()
