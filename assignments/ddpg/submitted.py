"""Deep deterministic policy gradient: the file you hand in.

Fill in every place marked YOUR CODE HERE. Work from top to bottom and run `python grade.py` as often as you like. Names,
arguments and return values must stay as they are; helper functions and further imports are welcome.

Words used below: B is the number of transitions in a batch, A the number of action dimensions, Q(s, a) the critic, μ(s) the
actor, Q' and μ' their target networks. The agent acts in [-1, 1] in every dimension; what an environment takes is the business
of `ActionNormalizer`.

This assignment follows *PG is All You Need* (repository MrSyee/pg-is-all-you-need), the chapter on
DDPG. That text follows Lillicrap et al. 2015, "Continuous control with deep reinforcement learning"
(arXiv 1509.02971). *PG is All You Need* contains code, and in it some mistakes that have spread to
dozens of projects; the notebook shows them.

Questions are graded independently: while a method of the agent is graded, the grader supplies the
rest of the agent, with networks of a few units, a noise that is known in advance, and recorded
episodes.
"""

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim

from training import LivePlot


class ReplayBuffer:
    """The latest `size` transitions, from which batches are drawn.

    Args:
        obs_dim: Numbers in an observation.
        size: How many transitions are kept.
        batch_size: B.
        act_dim: A.
        rng: The generator that batches are drawn from, or a seed for one; None: not reproducible.

    Attributes:
        obs_buf, next_obs_buf: float32 `[size, obs_dim]`; all zero at first.
        acts_buf: float32 `[size, act_dim]`; all zero at first.
        rews_buf, done_buf: float32 `[size]`; all zero at first.
        max_size, batch_size: `size` and `batch_size`, as given.
        ptr: The row that is written next.
        size: How many rows are filled.
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
            "ReplayBuffer.store: make the arrays; copy each transition into the next row, and begin again at row 0 after the "
            "last; count them"
        )

    def store(self, obs: np.ndarray, act: np.ndarray, rew: float, next_obs: np.ndarray, done: bool) -> None:
        """Keep a copy of the transition in row `ptr`, in place of the oldest one when all rows are filled.

        Args:
            obs, next_obs: float `[obs_dim]`; before and after the action.
            act: float `[A]`.
            rew: float.
            done: Whether the episode has *terminated*; see `DDPGAgent.step`.

        The environment may reuse the arrays `obs` and `next_obs`.
        """
        # YOUR CODE HERE (about 7 lines)
        raise NotImplementedError(
            "ReplayBuffer.store: make the arrays; copy each transition into the next row, and begin again at row 0 after the "
            "last; count them"
        )

    def sample_batch(self) -> dict[str, np.ndarray]:
        """Return `batch_size` different transitions, every stored one with equal probability.

        Returns:
            A dictionary of arrays with one row per transition, in any order but the same one in all
            of them. They are copies.
                obs, next_obs: float32 `[B, obs_dim]`.
                acts: float32 `[B, A]`.
                rews, done: float32 `[B]`.

        Raises:
            ValueError: If fewer than `batch_size` transitions are stored.
        """
        # YOUR CODE HERE (about 8 lines)
        raise NotImplementedError(
            "ReplayBuffer.sample_batch: return a dictionary with the same random, different rows of all arrays"
        )

    def __len__(self) -> int:
        """Return how many transitions are stored."""
        # YOUR CODE HERE (about 1 line)
        raise NotImplementedError(
            "ReplayBuffer.store: make the arrays; copy each transition into the next row, and begin again at row 0 after the "
            "last; count them"
        )


class OUNoise:
    """Noise from an Ornstein-Uhlenbeck process: its last value, pulled towards the mean, and a little shaken.

    Args:
        size: A.
        mu: The mean.
        theta: θ, how hard it is pulled.
        sigma: σ, how hard it is shaken.
        rng: The generator that shakes it, or a seed for one; None: not reproducible.

    Attributes:
        state: float `[A]`; x.

    In one time step x ← x + θ(μ - x) + σε with ε ~ N(0, 1), another ε for every dimension. In the
    long run its mean is μ, its variance σ²/(θ(2 - θ)), and the correlation of two successive
    samples 1 - θ: with θ = 1 it is white noise.
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
        """Reset to the mean: a new episode must know nothing of the last one."""
        # YOUR CODE HERE (about 1 line)
        raise NotImplementedError(
            "OUNoise: begin at the mean; then go x ← x + θ(μ - x) + σε, with ε from a normal distribution, one for each "
            "dimension"
        )

    def sample(self) -> np.ndarray:
        """Go one time step further and return the new x, float `[A]`."""
        # YOUR CODE HERE (about 3 lines)
        raise NotImplementedError(
            "OUNoise: begin at the mean; then go x ← x + θ(μ - x) + σε, with ε from a normal distribution, one for each "
            "dimension"
        )


class Actor(nn.Module):
    """The policy μ(s): Linear(128), ReLU, Linear(128), ReLU, Linear, tanh.

    Args:
        in_dim: Numbers in an observation.
        out_dim: A.
        init_w: Weights and biases of the last layer are drawn uniformly from [-init_w, init_w], so
            that the first actions are near 0, where tanh is steepest.

    Attributes:
        hidden1, hidden2, out: The three linear layers.
    """

    def __init__(self, in_dim: int, out_dim: int, init_w: float = 3e-3) -> None:
        super().__init__()
        # YOUR CODE HERE (about 5 lines)
        raise NotImplementedError(
            "Actor: make the layers, the last one with small weights and biases; return tanh of what they make of the state"
        )

    def forward(self, state: Tensor) -> Tensor:
        """Return the action, float32 `[B, A]`, in [-1, 1].

        Args:
            state: float32 `[B, in_dim]`, or one state, `[in_dim]`; then there is no axis B in the
                action.
        """
        # YOUR CODE HERE (about 3 lines)
        raise NotImplementedError(
            "Actor: make the layers, the last one with small weights and biases; return tanh of what they make of the state"
        )


class Critic(nn.Module):
    """The value Q(s, a): Linear(128), ReLU, Linear(128), ReLU, Linear, of state and action side by side.

    Args:
        in_dim: Numbers in an observation *and* an action.
        init_w: As in `Actor`.

    Attributes:
        hidden1, hidden2, out: The three linear layers.
    """

    def __init__(self, in_dim: int, init_w: float = 3e-3) -> None:
        super().__init__()
        # YOUR CODE HERE (about 5 lines)
        raise NotImplementedError(
            "Critic: make the layers, the last one with small weights and biases; return what they make of state and action"
        )

    def forward(self, state: Tensor, action: Tensor) -> Tensor:
        """Return the value, float32 `[B, 1]`, any number.

        Args:
            state: float32 `[B, obs_dim]`.
            action: float32 `[B, A]`.
        """
        # YOUR CODE HERE (about 4 lines)
        raise NotImplementedError(
            "Critic: make the layers, the last one with small weights and biases; return what they make of state and action"
        )


class DDPGAgent:
    """Learns to act in an environment whose actions are numbers.

    Args:
        env: Takes actions in [-1, 1], so wrap it in `ActionNormalizer`; its `action_space` may
            still be that of the environment.
        memory_size: Transitions kept.
        batch_size: B.
        ou_noise_theta, ou_noise_sigma: θ and σ of the noise.
        gamma: γ, the discount.
        tau: τ, how far the targets go in an update.
        initial_random_steps: Steps at the beginning in which actions are random and nothing is
            learned.
        seed: For the agent's own draws; the weights come from torch's own generator.

    Attributes:
        env, batch_size, gamma, tau, initial_random_steps: As given.
        memory: ReplayBuffer.
        noise: OUNoise.
        actor, critic: The networks.
        actor_target, critic_target: Their targets, equal to them at first.
        actor_optimizer, critic_optimizer: Adam, with learning rates 3e-4 and 1e-3.
        device: Where the networks are.
        transition: [state, action] of the latest `select_action`, which `step` completes.
        total_step: Number of the current step of training, from 1 on.
        is_test: Whether the agent plays to be tested.
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
            "DDPGAgent.networks: make actor, critic, an equal target for each, and an optimizer for each of the two that learn"
        )

    def select_action(self, state: np.ndarray) -> np.ndarray:
        """Return an action for this state, a float array `[A]`, in [-1, 1]; keep [state, this action] as `transition`.

        Args:
            state: float `[obs_dim]`.

        In a test, the action is the actor's. In training, while
        `total_step < initial_random_steps`, it is drawn uniformly from [-1, 1] in every dimension
        (adding noise to that as well does no harm). Afterwards it is the actor's plus a sample of
        the noise, clipped to [-1, 1]. No gradient is wanted here.
        """
        # YOUR CODE HERE (about 9 lines)
        raise NotImplementedError(
            "DDPGAgent.select_action: return a random action at the beginning, the actor's with noise afterwards, the actor's "
            "in a test"
        )

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool]:
        """Take the action; return (next state, reward, whether the episode is over).

        Args:
            action: float `[A]`, in [-1, 1].

        An episode is over when it is terminated or truncated. Except in a test, the transition is
        completed and stored, as `memory.store(state, action, reward, next_state, done)`. The stored
        `done` says whether the episode was *terminated*: after a time limit the world goes on, and
        its value counts. (gymnasium distinguishes the two; the gym of *PG is All You Need* did
        not.)
        """
        # YOUR CODE HERE (about 5 lines)
        raise NotImplementedError(
            "DDPGAgent.step: do the action, store the transition except in a test, return next state, reward, and whether the "
            "episode is over"
        )

    def update_model(self) -> tuple[Tensor, Tensor]:
        """Update critic, actor and targets, in this order, by one batch; return (actor loss, critic loss), two scalars.

        Critic loss: the mean over the batch of (Q(s, a) - y)², with y = r + γ(1 - done) Q'(s', μ'(s')), through which no
        gradient goes. (Lillicrap et al. 2015, algorithm 1.)
        Actor loss: minus the mean of Q(s, μ(s)), by the critic that has just been updated. Its gradient goes through the
        critic into the actor, and only the actor moves. (Equation 6.)

        Shapes: `rews` and `done` of a batch are `[B]`, values are `[B, 1]`. The difference of the two is `[B, B]`, and nobody
        complains. The second part may use the variables of the first.
        """
        samples = self.memory.sample_batch()
        # YOUR CODE HERE (about 12 lines)
        raise NotImplementedError(
            "DDPGAgent.update_model.critic: make one step of the critic's optimizer by mean((Q(s, a) - y)²)"
        )
        # YOUR CODE HERE (about 6 lines)
        raise NotImplementedError(
            "DDPGAgent.update_model.actor: make one step of the actor's optimizer by -mean(Q(s, μ(s))), update the targets, "
            "return both losses"
        )

    def _target_soft_update(self) -> None:
        """Move both targets a little towards their networks, in place: θ' ← τθ + (1 - τ)θ' for every parameter."""
        # YOUR CODE HERE (about 4 lines)
        raise NotImplementedError("DDPGAgent._target_soft_update: θ' ← τθ + (1 - τ)θ' for each parameter of both targets")

    def train(self, num_frames: int, plotting_interval: int = 200) -> None:
        """Train for `num_frames` steps of the environment.

        First `self.env` is reset, and `is_test` is False from now on. The steps are numbered from 1 on by `total_step`, which
        `select_action` looks at. After a step comes one update, once `memory` holds a batch and
        `total_step > initial_random_steps`. When an episode is over, `self.env` and the noise are reset, and a score begins
        anew; seed the environment at most once, or all episodes begin in the same state.

        Every `plotting_interval` steps, `_plot` is called with `total_step`, the scores (sums of rewards) of all episodes that
        are over, all actor losses and all critic losses so far.
        """
        # YOUR CODE HERE (about 20 lines)
        raise NotImplementedError(
            "DDPGAgent.train: select, step, begin a new episode where one is over, update, plot now and then"
        )

    def test(self) -> list[np.ndarray]:
        """Play one episode without noise, storing nothing; print its score and return its frames.

        A frame is what `self.env.render()` returns, before each step; make the environment with `render_mode="rgb_array"`.
        Sets `is_test`, which `train` takes back.
        """
        # YOUR CODE HERE (about 10 lines)
        raise NotImplementedError("DDPGAgent.test: play one episode as a test; print its score, return its frames")

    def _plot(self, frame_idx: int, scores: list[float], actor_losses: list[float], critic_losses: list[float]) -> None:
        """Show how the training goes, in a notebook; given."""
        self.live_plot(frame_idx, scores, actor_losses, critic_losses)


class ActionNormalizer(gym.ActionWrapper):
    """An environment that is given actions in [-1, 1], whatever the range of its own ones.

    `action_space` stays that of the environment, as in *PG is All You Need*: `low` and `high`
    float32 `[A]`, each dimension its own.
    """

    def action(self, action: np.ndarray) -> np.ndarray:
        """Return the action in the environment's units, where -1 becomes low, 1 becomes high and values outside are clipped.

        Args:
            action: float `[A]`; it stays as it is.
        """
        # YOUR CODE HERE (about 2 lines)
        raise NotImplementedError("ActionNormalizer: map [-1, 1] to [low, high] and back, dimension by dimension")

    def reverse_action(self, action: np.ndarray) -> np.ndarray:
        """Return the action in [-1, 1] that makes this one: low becomes -1, high becomes 1; values outside are clipped.

        Args:
            action: float `[A]`, in the environment's units; it stays as it is.
        """
        # YOUR CODE HERE (about 2 lines)
        raise NotImplementedError("ActionNormalizer: map [-1, 1] to [low, high] and back, dimension by dimension")
