"""Deep deterministic policy gradient (DDPG): the file you submit.

Fill in every place marked YOUR CODE HERE. Work from top to bottom and run `python grade.py` as
often as you like. Keep names, arguments and return values; you may add helper functions and
imports.

Notation: B is the number of transitions in a batch, A the number of action dimensions, Q(s, a) the
critic, μ(s) the actor, Q' and μ' their target networks. The agent acts in [-1, 1] in every
dimension; `ActionNormalizer` converts its actions to the units of the environment.

This assignment follows the chapter on DDPG in *PG is All You Need* (repository
MrSyee/pg-is-all-you-need), which follows Lillicrap et al. 2015, "Continuous control with deep
reinforcement learning" (arXiv 1509.02971). Some mistakes in the code of *PG is All You Need* have
spread to dozens of projects; the notebook shows them.

Most questions are graded independently: to grade a method of the agent, the grader supplies the
rest of the agent, with networks of a few units, known noise and recorded episodes. The end-to-end
update and the learning check run your functions together.
"""

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim

from training import LivePlot


class ReplayBuffer:
    """A replay buffer: keeps the latest `size` transitions and samples batches of them.

    Args:
        obs_dim: The number of values in an observation.
        size: The maximum number of transitions.
        batch_size: B.
        act_dim: A.
        rng: A random generator for the sampling, or a seed for one. None: not reproducible.

    Attributes:
        obs_buf, next_obs_buf: float32 `[size, obs_dim]`; all zero at first.
        acts_buf: float32 `[size, act_dim]`; all zero at first.
        rews_buf, done_buf: float32 `[size]`; all zero at first.
        max_size, batch_size: `size` and `batch_size`, as given.
        ptr: The row to be written next.
        size: The number of filled rows, unlike the argument.
    """

    def __init__(
        self,
        obs_dim: int,
        size: int,
        batch_size: int = 32,
        act_dim: int = 1,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        self.rng = np.random.default_rng(rng)
        # YOUR CODE HERE (about 7 lines)
        raise NotImplementedError(
            "ReplayBuffer.store: create the arrays; copy each transition to the next row, with row 0 after the last row; count "
            "the rows"
        )

    def store(self, obs: np.ndarray, act: np.ndarray, rew: float, next_obs: np.ndarray, done: bool) -> None:
        """Copy the transition to row `ptr`; in a full buffer, this replaces the oldest transition.

        Args:
            obs, next_obs: float `[obs_dim]`; the observations before and after the action.
            act: float `[A]`.
            rew: float.
            done: Whether the episode has *terminated*; see `DDPGAgent.step`.

        The environment may reuse the arrays `obs` and `next_obs`.
        """
        # YOUR CODE HERE (about 7 lines)
        raise NotImplementedError(
            "ReplayBuffer.store: create the arrays; copy each transition to the next row, with row 0 after the last row; count "
            "the rows"
        )

    def sample_batch(self) -> dict[str, np.ndarray]:
        """Return a batch of `batch_size` different transitions; all stored transitions are equally likely.

        Returns:
            A dictionary of arrays with one row per transition, in any order, but in the same order
            in all arrays. The arrays are copies.
                obs, next_obs: float32 `[B, obs_dim]`.
                acts: float32 `[B, A]`.
                rews, done: float32 `[B]`.

        Raises:
            ValueError: If fewer than `batch_size` transitions are stored.
        """
        # YOUR CODE HERE (about 8 lines)
        raise NotImplementedError(
            "ReplayBuffer.sample_batch: return a dictionary with `batch_size` different random rows, the same rows of all "
            "arrays"
        )

    def __len__(self) -> int:
        """Return the number of stored transitions."""
        # YOUR CODE HERE (about 1 line)
        raise NotImplementedError(
            "ReplayBuffer.store: create the arrays; copy each transition to the next row, with row 0 after the last row; count "
            "the rows"
        )


class OUNoise:
    """Correlated noise from an Ornstein-Uhlenbeck process.

    One time step is x ← x + θ(μ - x) + σε with ε ~ N(0, 1), independent in each dimension. In the
    long run, the mean of x is μ, its variance is σ²/(θ(2 - θ)), and the correlation of two
    successive samples is 1 - θ. With θ = 1, it is white noise.

    Args:
        size: A.
        mu: The mean.
        theta: θ, the strength of the pull toward the mean.
        sigma: σ, the standard deviation of the random part of a step.
        rng: A random generator for ε, or a seed for one. None: not reproducible.

    Attributes:
        state: float `[A]`; the current x.
    """

    def __init__(
        self,
        size: int,
        mu: float = 0.0,
        theta: float = 0.15,
        sigma: float = 0.2,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        self.mu = mu * np.ones(size)
        self.theta = theta
        self.sigma = sigma
        self.rng = np.random.default_rng(rng)
        self.reset()

    def reset(self) -> None:
        """Set x to the mean, so that the noise does not depend on the previous episode."""
        # YOUR CODE HERE (about 1 line)
        raise NotImplementedError(
            "OUNoise: start at the mean; in each step, x ← x + θ(μ - x) + σε with ε ~ N(0, 1), one for each dimension"
        )

    def sample(self) -> np.ndarray:
        """Advance by one time step and return the new x, float `[A]`."""
        # YOUR CODE HERE (about 3 lines)
        raise NotImplementedError(
            "OUNoise: start at the mean; in each step, x ← x + θ(μ - x) + σε with ε ~ N(0, 1), one for each dimension"
        )


class Actor(nn.Module):
    """The policy μ(s): Linear(128), ReLU, Linear(128), ReLU, Linear, tanh.

    Args:
        in_dim: The number of values in an observation.
        out_dim: A.
        init_w: Weights and biases of the last layer are drawn uniformly from [-init_w, init_w].
            Then the first actions are near 0, where tanh has its largest slope.

    Attributes:
        hidden1, hidden2, out: The three linear layers.
    """

    def __init__(self, in_dim: int, out_dim: int, init_w: float = 3e-3) -> None:
        super().__init__()
        # YOUR CODE HERE (about 5 lines)
        raise NotImplementedError(
            "Actor: create the layers, the last one with small weights and biases; in `forward`, apply them to the state, with "
            "ReLU in between and tanh at the end"
        )

    def forward(self, state: Tensor) -> Tensor:
        """Return the action, float32 `[B, A]`, in [-1, 1].

        Args:
            state: float32 `[B, in_dim]`, or a single state `[in_dim]`; then the action is `[A]`.
        """
        # YOUR CODE HERE (about 3 lines)
        raise NotImplementedError(
            "Actor: create the layers, the last one with small weights and biases; in `forward`, apply them to the state, with "
            "ReLU in between and tanh at the end"
        )


class Critic(nn.Module):
    """The value Q(s, a): Linear(128), ReLU, Linear(128), ReLU, Linear. The input is state
    and action, concatenated in either order.

    Args:
        in_dim: The number of values in an observation *plus* those in an action.
        init_w: As in `Actor`.

    Attributes:
        hidden1, hidden2, out: The three linear layers.
    """

    def __init__(self, in_dim: int, init_w: float = 3e-3) -> None:
        super().__init__()
        # YOUR CODE HERE (about 5 lines)
        raise NotImplementedError(
            "Critic: create the layers, the last one with small weights and biases; in `forward`, apply them to state and "
            "action, with ReLU in between"
        )

    def forward(self, state: Tensor, action: Tensor) -> Tensor:
        """Return the value, float32 `[B, 1]`, without an activation at the end.

        Args:
            state: float32 `[B, obs_dim]`.
            action: float32 `[B, A]`.
        """
        # YOUR CODE HERE (about 4 lines)
        raise NotImplementedError(
            "Critic: create the layers, the last one with small weights and biases; in `forward`, apply them to state and "
            "action, with ReLU in between"
        )


class DDPGAgent:
    """A DDPG agent for an environment with continuous actions.

    Args:
        env: An environment that takes actions in [-1, 1], for example one wrapped in
            `ActionNormalizer`. The wrapper's `action_space` is still that of the inner environment.
        memory_size: The size of the replay buffer.
        batch_size: B.
        ou_noise_theta, ou_noise_sigma: θ and σ of the noise.
        gamma: γ, the discount.
        tau: τ, the rate of the target updates.
        initial_random_steps: N. Actions are random while `total_step` < N; updates start when
            `total_step` > N.
        seed: The seed of the agent's own generator; the weights come from torch's generator.

    Attributes:
        env, batch_size, gamma, tau, initial_random_steps: As given.
        memory: ReplayBuffer.
        noise: OUNoise.
        actor, critic: The networks.
        actor_target, critic_target: The target networks, equal to the networks at first.
        actor_optimizer, critic_optimizer: Adam, with learning rates 3e-4 and 1e-3.
        device: Where the networks are.
        transition: [state, action] of the latest `select_action`; `step` completes it.
        total_step: The number of the current training step, starting at 1.
        is_test: Whether the agent is being tested.
    """

    def __init__(
        self,
        env: gym.Env,
        memory_size: int,
        batch_size: int,
        ou_noise_theta: float,
        ou_noise_sigma: float,
        gamma: float = 0.99,
        tau: float = 5e-3,
        initial_random_steps: int = 10_000,
        seed: int | None = None,
    ) -> None:
        obs_dim = env.observation_space.shape[0]
        action_dim = env.action_space.shape[0]
        self.env = env
        self.batch_size = batch_size
        self.gamma = gamma
        self.tau = tau
        self.initial_random_steps = initial_random_steps
        self.rng = np.random.default_rng(seed)
        self.memory = ReplayBuffer(obs_dim, memory_size, batch_size, action_dim, self.rng)
        self.noise = OUNoise(action_dim, theta=ou_noise_theta, sigma=ou_noise_sigma, rng=self.rng)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.transition: list = []
        self.total_step = 0
        self.is_test = False
        self.live_plot = LivePlot()
        # YOUR CODE HERE (about 8 lines)
        raise NotImplementedError(
            "DDPGAgent.networks: create actor and critic; for each, a target network with equal weights and an optimizer"
        )

    def select_action(self, state: np.ndarray) -> np.ndarray:
        """Return an action in [-1, 1], a float array `[A]`; set `transition` to [state, action].

        Args:
            state: float `[obs_dim]`.

        In a test, return the actor's action. In training, while
        `total_step < initial_random_steps`, the action is drawn uniformly from [-1, 1] in every dimension
        (adding noise is optional). Afterwards it is the actor's action plus a sample of the noise,
        clipped to [-1, 1]. Compute it without a gradient.
        """
        # YOUR CODE HERE (about 9 lines)
        raise NotImplementedError(
            "DDPGAgent.select_action: return a random action in the first steps, then the actor's action plus noise; in a "
            "test, the actor's action alone"
        )

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool]:
        """Take the action; return (next state, reward, whether the episode is over).

        Args:
            action: float `[A]`, in [-1, 1].

        An episode is over when it is terminated or truncated. Except in a test, complete the
        transition and store it with `memory.store(state, action, reward, next_state, done)`. The
        stored `done` says whether the episode was *terminated*: at a time limit, the task would
        have gone on, so the value of the next state counts. (gymnasium returns two flags; the
        old gym of *PG is All You Need* does not.)
        """
        # YOUR CODE HERE (about 5 lines)
        raise NotImplementedError(
            "DDPGAgent.step: take the action; store the transition except in a test; return next state, reward, and whether "
            "the episode is over"
        )

    def update_model(self) -> tuple[Tensor, Tensor]:
        """Update critic, actor and targets with one batch; return (actor loss, critic loss).

        Do the three updates in this order. Both losses are scalars.

        Critic loss: the mean over the batch of (Q(s, a) - y)² with
        y = r + γ(1 - done) Q'(s', μ'(s')). No gradient flows through y. (Lillicrap et al. 2015,
        algorithm 1.)
        Actor loss: minus the mean of Q(s, μ(s)), computed with the critic that has just been
        updated. Its gradient flows through the critic to the actor, and only the actor changes.
        (Equation 6.)

        Shapes: `rews` and `done` are `[B]`, and values are `[B, 1]`. If you combine them without
        reshaping, you get `[B, B]` and no error.

        The code in the second blank may use the variables of the first.
        """
        samples = self.memory.sample_batch()
        # YOUR CODE HERE (about 12 lines)
        raise NotImplementedError(
            "DDPGAgent.update_model.critic: take one step of the critic's optimizer on the loss mean((Q(s, a) - y)²)"
        )
        # YOUR CODE HERE (about 6 lines)
        raise NotImplementedError(
            "DDPGAgent.update_model.actor: take one step of the actor's optimizer on the loss -mean(Q(s, μ(s))), update the "
            "targets, return both losses"
        )

    def _target_soft_update(self) -> None:
        """Update both targets in place, per parameter: θ' ← τθ + (1 - τ)θ' (Polyak averaging)."""
        # YOUR CODE HERE (about 4 lines)
        raise NotImplementedError(
            "DDPGAgent._target_soft_update: θ' ← τθ + (1 - τ)θ' for each parameter of both target networks (Polyak averaging)"
        )

    def train(self, num_frames: int, plotting_interval: int = 200) -> None:
        """Train for `num_frames` steps of the environment.

        First set `is_test` to False and reset `self.env`. Count the steps in `total_step`, starting
        with 1; `select_action` reads it. After each step, make one update if
        `len(memory) >= batch_size` and `total_step > initial_random_steps`. When an episode is
        over, note its score, and reset `self.env` and the noise. Reset without a seed: with the same
        seed, all episodes start in the same state.

        Every `plotting_interval` steps, call `_plot` with `total_step`, the scores (sums of
        rewards) of all finished episodes, and all actor losses and critic losses so far.
        """
        # YOUR CODE HERE (about 20 lines)
        raise NotImplementedError(
            "DDPGAgent.train: select an action, take it, reset when an episode is over, update, plot at intervals"
        )

    def test(self) -> list[np.ndarray]:
        """Play one episode without noise; print its score and return its frames. Store nothing.

        A frame is the result of `self.env.render()` before a step; this needs an environment
        created with `render_mode="rgb_array"`. `test` sets `is_test` to True; `train` sets it back.
        """
        # YOUR CODE HERE (about 10 lines)
        raise NotImplementedError("DDPGAgent.test: play one episode as a test, print its score, return its frames")

    def _plot(self, frame_idx: int, scores: list[float], actor_losses: list[float], critic_losses: list[float]) -> None:
        """Plot scores and losses during training. Provided."""
        self.live_plot(frame_idx, scores, actor_losses, critic_losses)


class ActionNormalizer(gym.ActionWrapper):
    """A wrapper that takes actions in [-1, 1] and rescales them to the range of the environment.

    `action_space` stays that of the environment, as in *PG is All You Need*: its `low` and `high`
    are float32 `[A]` and may differ between dimensions.
    """

    def action(self, action: np.ndarray) -> np.ndarray:
        """Return the action in the environment's units: -1 becomes low, 1 becomes high.

        Args:
            action: float `[A]`; it is not modified. Values outside [-1, 1] are clipped.
        """
        # YOUR CODE HERE (about 2 lines)
        raise NotImplementedError("ActionNormalizer: map [-1, 1] to [low, high] and back, separately in each dimension")

    def reverse_action(self, action: np.ndarray) -> np.ndarray:
        """Return the action in [-1, 1], the inverse of `action`: low becomes -1, high becomes 1.

        Args:
            action: float `[A]`, in the environment's units; it is not modified. Values outside the
                range are clipped.
        """
        # YOUR CODE HERE (about 2 lines)
        raise NotImplementedError("ActionNormalizer: map [-1, 1] to [low, high] and back, separately in each dimension")
