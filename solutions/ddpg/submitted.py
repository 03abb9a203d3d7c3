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
        # BEGIN SOLUTION ReplayBuffer.store
        self.obs_buf = np.zeros((size, obs_dim), dtype=np.float32)
        self.next_obs_buf = np.zeros((size, obs_dim), dtype=np.float32)
        self.acts_buf = np.zeros((size, act_dim), dtype=np.float32)
        self.rews_buf = np.zeros(size, dtype=np.float32)
        self.done_buf = np.zeros(size, dtype=np.float32)
        self.max_size, self.batch_size = size, batch_size
        self.ptr, self.size = 0, 0
        # END SOLUTION

    def store(self, obs: np.ndarray, act: np.ndarray, rew: float, next_obs: np.ndarray, done: bool) -> None:
        """Copy the transition to row `ptr`; in a full buffer, this replaces the oldest transition.

        Args:
            obs, next_obs: float `[obs_dim]`; the observations before and after the action.
            act: float `[A]`.
            rew: float.
            done: Whether the episode has *terminated*; see `DDPGAgent.step`.

        The environment may reuse the arrays `obs` and `next_obs`.
        """
        # BEGIN SOLUTION ReplayBuffer.store
        self.obs_buf[self.ptr] = obs
        self.acts_buf[self.ptr] = act
        self.rews_buf[self.ptr] = rew
        self.next_obs_buf[self.ptr] = next_obs
        self.done_buf[self.ptr] = done
        self.ptr = (self.ptr + 1) % self.max_size
        self.size = min(self.size + 1, self.max_size)
        # END SOLUTION

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
        # BEGIN SOLUTION ReplayBuffer.sample_batch
        # np.random.choice(..., replace=False) shuffles all rows; this takes 7 µs at any size.
        rows = self.rng.choice(self.size, self.batch_size, replace=False, shuffle=False)
        return {
            "obs": self.obs_buf[rows],
            "next_obs": self.next_obs_buf[rows],
            "acts": self.acts_buf[rows],
            "rews": self.rews_buf[rows],
            "done": self.done_buf[rows],
        }
        # END SOLUTION

    def __len__(self) -> int:
        """Return the number of stored transitions."""
        # BEGIN SOLUTION ReplayBuffer.store
        return self.size
        # END SOLUTION


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
        # BEGIN SOLUTION OUNoise
        self.state = self.mu.copy()
        # END SOLUTION

    def sample(self) -> np.ndarray:
        """Advance by one time step and return the new x, float `[A]`."""
        # BEGIN SOLUTION OUNoise
        shake = self.rng.standard_normal(len(self.mu))
        self.state = self.state + self.theta * (self.mu - self.state) + self.sigma * shake
        return self.state
        # END SOLUTION


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
        # BEGIN SOLUTION Actor
        self.hidden1 = nn.Linear(in_dim, 128)
        self.hidden2 = nn.Linear(128, 128)
        self.out = nn.Linear(128, out_dim)
        nn.init.uniform_(self.out.weight, -init_w, init_w)
        nn.init.uniform_(self.out.bias, -init_w, init_w)
        # END SOLUTION

    def forward(self, state: Tensor) -> Tensor:
        """Return the action, float32 `[B, A]`, in [-1, 1].

        Args:
            state: float32 `[B, in_dim]`, or a single state `[in_dim]`; then the action is `[A]`.
        """
        # BEGIN SOLUTION Actor
        x = F.relu(self.hidden1(state))
        x = F.relu(self.hidden2(x))
        return torch.tanh(self.out(x))
        # END SOLUTION


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
        # BEGIN SOLUTION Critic
        self.hidden1 = nn.Linear(in_dim, 128)
        self.hidden2 = nn.Linear(128, 128)
        self.out = nn.Linear(128, 1)
        nn.init.uniform_(self.out.weight, -init_w, init_w)
        nn.init.uniform_(self.out.bias, -init_w, init_w)
        # END SOLUTION

    def forward(self, state: Tensor, action: Tensor) -> Tensor:
        """Return the value, float32 `[B, 1]`, without an activation at the end.

        Args:
            state: float32 `[B, obs_dim]`.
            action: float32 `[B, A]`.
        """
        # BEGIN SOLUTION Critic
        x = torch.cat((state, action), dim=-1)
        x = F.relu(self.hidden1(x))
        x = F.relu(self.hidden2(x))
        return self.out(x)
        # END SOLUTION


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
        # BEGIN SOLUTION DDPGAgent.networks
        self.actor = Actor(obs_dim, action_dim).to(self.device)
        self.actor_target = Actor(obs_dim, action_dim).to(self.device)
        self.actor_target.load_state_dict(self.actor.state_dict())
        self.critic = Critic(obs_dim + action_dim).to(self.device)
        self.critic_target = Critic(obs_dim + action_dim).to(self.device)
        self.critic_target.load_state_dict(self.critic.state_dict())
        # fused=True updates all parameters at once: a third of the time for small networks.
        self.actor_optimizer = optim.Adam(self.actor.parameters(), lr=3e-4, fused=True)
        self.critic_optimizer = optim.Adam(self.critic.parameters(), lr=1e-3, fused=True)
        # END SOLUTION

    def select_action(self, state: np.ndarray) -> np.ndarray:
        """Return an action in [-1, 1], a float array `[A]`; set `transition` to [state, action].

        Args:
            state: float `[obs_dim]`.

        In a test, return the actor's action. In training, while
        `total_step < initial_random_steps`, the action is drawn uniformly from [-1, 1] in every dimension
        (adding noise is optional). Afterwards it is the actor's action plus a sample of the noise,
        clipped to [-1, 1]. Compute it without a gradient.
        """
        # BEGIN SOLUTION DDPGAgent.select_action
        if self.total_step < self.initial_random_steps and not self.is_test:
            # Not env.action_space.sample(): that is in the units of the environment.
            action = self.rng.uniform(-1.0, 1.0, len(self.noise.mu))
        else:
            with torch.no_grad():
                action = self.actor(torch.as_tensor(state, dtype=torch.float32, device=self.device)).cpu().numpy()
            if not self.is_test:
                action = np.clip(action + self.noise.sample(), -1.0, 1.0)
        self.transition = [state, action]
        return action
        # END SOLUTION

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
        # BEGIN SOLUTION DDPGAgent.step
        next_state, reward, terminated, truncated, _ = self.env.step(action)
        if not self.is_test:
            self.transition += [reward, next_state, terminated]
            self.memory.store(*self.transition)
        return next_state, reward, terminated or truncated
        # END SOLUTION

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
        # BEGIN SOLUTION DDPGAgent.update_model.critic
        state = torch.as_tensor(samples["obs"], device=self.device)
        action = torch.as_tensor(samples["acts"], device=self.device)
        reward = torch.as_tensor(samples["rews"], device=self.device).unsqueeze(1)
        next_state = torch.as_tensor(samples["next_obs"], device=self.device)
        done = torch.as_tensor(samples["done"], device=self.device).unsqueeze(1)

        with torch.no_grad():
            next_value = self.critic_target(next_state, self.actor_target(next_state))
            target = reward + self.gamma * (1 - done) * next_value
        critic_loss = F.mse_loss(self.critic(state, action), target)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
        # END SOLUTION
        # BEGIN SOLUTION DDPGAgent.update_model.actor
        actor_loss = -self.critic(state, self.actor(state)).mean()
        self.actor_optimizer.zero_grad()
        # The critic's weights need no gradient here: `inputs` leaves them out, which saves time.
        actor_loss.backward(inputs=list(self.actor.parameters()))
        self.actor_optimizer.step()

        self._target_soft_update()
        return actor_loss.detach(), critic_loss.detach()
        # END SOLUTION

    def _target_soft_update(self) -> None:
        """Update both targets in place, per parameter: θ' ← τθ + (1 - τ)θ' (Polyak averaging)."""
        # BEGIN SOLUTION DDPGAgent._target_soft_update
        with torch.no_grad():
            for target, network in ((self.actor_target, self.actor), (self.critic_target, self.critic)):
                for slow, fast in zip(target.parameters(), network.parameters(), strict=True):
                    slow.lerp_(fast, self.tau)  # slow + τ(fast - slow), in place
        # END SOLUTION

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
        # BEGIN SOLUTION DDPGAgent.train
        self.is_test = False
        scores, actor_losses, critic_losses = [], [], []
        state, _ = self.env.reset()
        self.noise.reset()
        score = 0.0

        for self.total_step in range(1, num_frames + 1):
            action = self.select_action(state)
            state, reward, done = self.step(action)
            score += reward

            if done:
                scores.append(score)
                state, _ = self.env.reset()
                self.noise.reset()
                score = 0.0

            if len(self.memory) >= self.batch_size and self.total_step > self.initial_random_steps:
                actor_loss, critic_loss = self.update_model()
                actor_losses.append(float(actor_loss))
                critic_losses.append(float(critic_loss))

            if self.total_step % plotting_interval == 0:
                self._plot(self.total_step, scores, actor_losses, critic_losses)
        # END SOLUTION

    def test(self) -> list[np.ndarray]:
        """Play one episode without noise; print its score and return its frames. Store nothing.

        A frame is the result of `self.env.render()` before a step; this needs an environment
        created with `render_mode="rgb_array"`. `test` sets `is_test` to True; `train` sets it back.
        """
        # BEGIN SOLUTION DDPGAgent.test
        self.is_test = True
        state, _ = self.env.reset()
        frames, score, done = [], 0.0, False
        while not done:
            frames.append(self.env.render())
            action = self.select_action(state)
            state, reward, done = self.step(action)
            score += reward
        print(f"score: {score:.1f}")
        return frames
        # END SOLUTION

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
        # BEGIN SOLUTION ActionNormalizer
        low, high = self.action_space.low, self.action_space.high
        return np.clip(low + (action + 1.0) * (high - low) / 2, low, high)
        # END SOLUTION

    def reverse_action(self, action: np.ndarray) -> np.ndarray:
        """Return the action in [-1, 1], the inverse of `action`: low becomes -1, high becomes 1.

        Args:
            action: float `[A]`, in the environment's units; it is not modified. Values outside the
                range are clipped.
        """
        # BEGIN SOLUTION ActionNormalizer
        low, high = self.action_space.low, self.action_space.high
        return np.clip(2 * (action - low) / (high - low) - 1.0, -1.0, 1.0)
        # END SOLUTION
