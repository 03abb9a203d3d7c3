"""Proximal policy optimization, repaired, derived and assembled: the file you hand in.

Fill in every place marked YOUR CODE HERE. Work from top to bottom and run `python grade.py` as often as you like. Names,
arguments and return values must stay as they are; helper functions and further imports are welcome.

Words used below: T is the number of steps of an episode, B the number of rows of a batch, n the number of action dimensions,
w the number of observations that make a state (its window), V(s) the critic.

This assignment follows a notebook of drafts for a PPO agent in *keras-rl* (November 2017). Its
author fits PPO (Schulman et al. 2017, "Proximal policy optimization algorithms", arXiv 1707.06347)
into a library whose agents have a `forward` and a `backward`. Of one draft he writes that all
details are likely wrong. He was right; the notebook of this assignment shows how.

Every question but the test is graded independently: while it is graded, the grader supplies the
parts of the other questions that it uses.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn, optim

# Part 1: repair


def GeneralizedAdvantageEstimator(
    critic: Callable[[Tensor], Tensor],
    state: Tensor,
    reward: np.ndarray,
    gamma: float,
    lamb: float,
    next_state: Tensor | None = None,
    terminated: np.ndarray | None = None,
    truncated: np.ndarray | None = None,
) -> np.ndarray:
    """Return the advantage of each of T steps, a float array `[T]`; no gradient is wanted.

    Args:
        critic: Returns the values `[B, 1]` of states `[B, ...]`.
        state: float32 `[T, ...]`; before each action.
        reward: float `[T]`; after each action.
        gamma: γ.
        lamb: λ.
        next_state: Like `state`; after each action. Inside an episode, the state after an action is
            the next row of `state`. At an end it is not: there the next row belongs to the next
            episode.
        terminated: bool `[T]`; where the world came to its end. Nothing follows, whatever
            `next_state` is there.
        truncated: bool `[T]`; where only the clock ended the episode. It is over, but what would
            have followed has a value.

    A_t = δ_t + γλ A_{t+1} with δ_t = r_t + γ V(next_state_t) - V(state_t), without γV where
    terminated. In the last step of an episode, however it ended, and in the last row, A_t = δ_t. A
    step that is neither terminated nor truncated, in the last row, belongs to an episode that goes
    on.

    Where `next_state` is given, a missing `terminated` or `truncated` means that no step is. If all
    three are missing, the rows are one episode that terminated in the last of them.

    (Schulman et al. 2016, arXiv 1506.02438, equation 16.)
    """
    # BEGIN SOLUTION GeneralizedAdvantageEstimator.length
    nowhere = np.zeros(len(reward), dtype=bool)
    terminated = nowhere if terminated is None else np.asarray(terminated, dtype=bool)
    truncated = nowhere if truncated is None else np.asarray(truncated, dtype=bool)
    with torch.no_grad():
        value = critic(state).flatten().numpy()
        next_value = np.append(value[1:], 0.0) if next_state is None else critic(next_state).flatten().numpy()
    delta = reward + gamma * np.where(terminated, 0.0, next_value) - value
    decay = gamma * lamb * ~(terminated | truncated)

    advantage, following = np.zeros(len(delta), dtype=np.float32), 0.0
    for t in reversed(range(len(delta))):
        advantage[t] = following = delta[t] + decay[t] * following
    return advantage
    # DRAFT
    # assert len(state) == len(reward)
    # value = critic(state).detach().flatten().numpy()
    # following_value = np.roll(value, -1)
    # delta = reward + gamma * following_value - value
    # backwards = [0.0]
    # for step in range(1, len(reward)):
    #     backwards.append(delta[len(reward) - 1 - step] + gamma * lamb * backwards[-1])
    # return np.array(backwards[:0:-1])
    # END SOLUTION


def test_advantages(estimator: Callable[..., np.ndarray] = GeneralizedAdvantageEstimator) -> None:
    """Raise an AssertionError if the estimator is wrong; return None if it is right.

    Args:
        estimator: Called like `GeneralizedAdvantageEstimator`. A right one may return its
            advantages as a NumPy array, a tensor or a list of T numbers, in single or double
            precision.

    The test should pass every estimator that does what the docstring says. It should fail the draft
    above, and any estimator that has but one fault: it loses the last δ, takes a wrong value for
    what follows the last step, sees no ends inside the rows or only one kind of them, or cuts only
    half of what must not come back.

    `python -m pytest submitted.py` runs the test on your estimator. Before your estimator is
    repaired, `grade.py` cannot try the test.
    """
    # BEGIN SOLUTION test_advantages

    def critic(state: Tensor) -> Tensor:
        return 10 * state[:, :1]

    def agrees(expected: list[float], *arguments: object) -> None:
        found = estimator(critic, *arguments)
        assert len(found) == len(expected), f"{len(found)} advantages, not {len(expected)}"
        for t, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert abs(float(one) - other) < 1e-4, f"A_{t} is {float(one)}, not {other}"

    # The values are 1, 2, 3, what follows the last state has the value 4; γ = 0.5, λ = 0.5, so A_t = δ_t + A_{t+1} / 4.
    state, after = torch.tensor([[0.1], [0.2], [0.3]]), torch.tensor([[0.2], [0.3], [0.4]])
    reward = np.array([1.0, -1.0, 2.0])
    no, last = np.array([False, False, False]), np.array([False, False, True])
    middle = np.array([False, True, False])
    # One-step errors: 1 + 1 - 1 = 1, -1 + 1.5 - 2 = -1.5, 2 + 2 - 3 = 1, the last one without the bootstrap 2 - 3 = -1.
    agrees([0.6875, -1.25, 1.0], state, reward, 0.5, 0.5, after, no, no)
    agrees([0.6875, -1.25, 1.0], state, reward, 0.5, 0.5, after, no, last)
    agrees([0.5625, -1.75, -1.0], state, reward, 0.5, 0.5, after, last, no)
    agrees([0.5625, -1.75, -1.0], state, reward, 0.5, 0.5)
    # An end in the middle: the error there is -1 - 2 = -3 if terminated; if truncated after a state of value 8, it is 1.
    elsewhere = torch.tensor([[0.2], [0.8], [0.4]])
    agrees([1.25, 1.0, 1.0], state, reward, 0.5, 0.5, elsewhere, no, middle)
    agrees([0.25, -3.0, 1.0], state, reward, 0.5, 0.5, elsewhere, middle, no)
    agrees([1.0, -1.5, 1.0], state, reward, 0.5, 0.0, after, no, no)  # λ = 0: the one-step errors
    # END SOLUTION


# Part 2: derive


class IndependentGaussianProcess:
    """A normal distribution over actions whose n dimensions are independent.

    Args:
        n: Number of dimensions.
        rng: A generator to draw samples from, or a seed for one; None: not reproducible.

    All methods take one tuple that begins with `mu`, the means, and `log_sigma`, which is log σ:
    not σ, and not log σ². They are float32 `[B, n]` both, and every dimension may have its own.
    """

    def __init__(self, n: int, rng: np.random.Generator | int | None = None) -> None:
        self.n = n
        self.rng = np.random.default_rng(rng)

    def sample(self, x: tuple[Tensor, Tensor]) -> Tensor:
        """Return one action for each row, float32 `[B, n]`, without a gradient.

        Args:
            x: (mu, log_sigma), float32 `[B, n]` both, or `[n]` both; then the action is `[n]` as
                well.
        """
        # BEGIN SOLUTION IndependentGaussianProcess.sample
        mu, log_sigma = x
        noise = torch.from_numpy(self.rng.standard_normal(mu.shape, dtype=np.float32))
        return mu.detach() + log_sigma.detach().exp() * noise
        # END SOLUTION

    def get_dist(self, x: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """Return the logarithm of the density at y, float32 `[B, 1]`, through which gradients go to mu and log_sigma.

        Args:
            x: (mu, log_sigma, y), float32 `[B, n]` each; y are actions.

        The log-density of one dimension is -log(2π)/2 - log σ - (y - μ)²/(2σ²); that of independent
        dimensions is the sum. It has a gradient everywhere, also at y = μ.
        """
        # BEGIN SOLUTION IndependentGaussianProcess.get_dist
        mu, log_sigma, y = x
        # Not exp(2 log|y - μ|), as in the keras-rl drafts: the logarithm has no gradient at y = μ, and it is not needed.
        deviation = (y - mu) * torch.exp(-log_sigma)
        return -(0.5 * deviation**2 + log_sigma).sum(dim=-1, keepdim=True) - 0.5 * self.n * np.log(2 * np.pi)
        # END SOLUTION

    def entropy(self, x: tuple[Tensor, Tensor]) -> Tensor:
        """Return the entropy, minus the mean of the log-density over all actions, float32 `[B, 1]`, with a gradient.

        Args:
            x: (mu, log_sigma), float32 `[B, n]` both.

        Derive it from the density above: the mean of (y - μ)² is σ².
        """
        # BEGIN SOLUTION IndependentGaussianProcess.entropy
        _, log_sigma = x
        return log_sigma.sum(dim=-1, keepdim=True) + 0.5 * self.n * (np.log(2 * np.pi) + 1)
        # END SOLUTION


# Part 3: assemble


class Actor(nn.Module):
    """The policy's parameters: the means from the state, by three hidden layers, and a log σ that no state changes.

    Args:
        obs_dim: Numbers in an observation.
        n: Number of action dimensions.
        window_length: w.

    Attributes:
        log_sigma: An `nn.Parameter` `[n]`, 0 at first.
    """

    def __init__(self, obs_dim: int, n: int, window_length: int = 1) -> None:
        super().__init__()
        # BEGIN SOLUTION Actor
        self.mu = nn.Sequential(
            nn.Flatten(),
            nn.Linear(window_length * obs_dim, 16),
            nn.ReLU(),
            nn.Linear(16, 16),
            nn.ReLU(),
            nn.Linear(16, 16),
            nn.ReLU(),
            nn.Linear(16, n),
        )
        self.log_sigma = nn.Parameter(torch.zeros(n))
        # END SOLUTION

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return (mu, log_sigma), float32 `[B, n]` both; all rows of log_sigma are the parameter.

        Args:
            state: float32 `[B, w, obs_dim]`.

        The means come from three hidden layers (`nn.Linear`) of 16 units with ReLU, and a linear
        layer.
        """
        # BEGIN SOLUTION Actor
        mu = self.mu(state)
        return mu, self.log_sigma.expand_as(mu)
        # END SOLUTION


class Critic(nn.Module):
    """The value V(s), by three hidden layers of 16 units with ReLU and a linear one, none of them shared with the actor.

    Args:
        obs_dim: Numbers in an observation.
        window_length: w.
    """

    def __init__(self, obs_dim: int, window_length: int = 1) -> None:
        super().__init__()
        # BEGIN SOLUTION Critic
        self.value = nn.Sequential(
            nn.Flatten(),
            nn.Linear(window_length * obs_dim, 16),
            nn.ReLU(),
            nn.Linear(16, 16),
            nn.ReLU(),
            nn.Linear(16, 16),
            nn.ReLU(),
            nn.Linear(16, 1),
        )
        # END SOLUTION

    def forward(self, state: Tensor) -> Tensor:
        """Return the values, float32 `[B, 1]`.

        Args:
            state: float32 `[B, w, obs_dim]`.
        """
        # BEGIN SOLUTION Critic
        return self.value(state)
        # END SOLUTION


class EpisodeMemory:
    """What has happened so far in the episode that is being played in one environment.

    Args:
        window_length: w, how many observations make a state.

    Attributes:
        window_length: As given.
        observations: A list of float32 `[obs_dim]`, one for every step.
        states: A list of float32 `[w, obs_dim]`, one for every step.
        actions: A list of float32 `[n]`, one for every step.
        log_probs: A list of float32 `[1]`, one for every step.
        rewards: A list of numbers, one for every step.
        terminated, truncated: Whether the episode is over, and how it ended.
    """

    def __init__(self, window_length: int = 1) -> None:
        self.window_length = window_length
        self.reset()

    def reset(self) -> None:
        """Forget everything: a new episode begins. Given."""
        self.observations: list[np.ndarray] = []
        self.states: list[Tensor] = []
        self.actions: list[Tensor] = []
        self.log_probs: list[Tensor] = []
        self.rewards: list[float] = []
        self.terminated = False
        self.truncated = False

    def append(
        self,
        observation: np.ndarray,
        state: Tensor,
        action: Tensor,
        log_prob: Tensor,
        reward: float,
        terminated: bool,
        truncated: bool,
    ) -> None:
        """Keep one step, and whether the episode ended with it. Given."""
        self.observations.append(observation)
        self.states.append(state)
        self.actions.append(action)
        self.log_probs.append(log_prob)
        self.rewards.append(float(reward))
        self.terminated, self.truncated = bool(terminated), bool(truncated)

    def get_recent_state(self, observation: np.ndarray) -> list[np.ndarray]:
        """Return the state: the latest w observations of this episode, the oldest first and `observation` the last.

        Args:
            observation: float32 `[obs_dim]`; the current observation. It is not among
                `observations` yet, and is not added to them.

        When the episode is younger than w observations, zeros (float32 `[obs_dim]`) take the place
        of those that are missing.
        """
        # BEGIN SOLUTION EpisodeMemory.get_recent_state
        recent = [*self.observations, observation][-self.window_length :]
        missing = self.window_length - len(recent)
        return [np.zeros_like(observation) for _ in range(missing)] + recent
        # END SOLUTION


class PPOAgent:
    """Learns to act in one environment, or in several at once, from the calls of `forward` and `backward`.

    Args:
        obs_dim: Numbers in an observation.
        n: Number of action dimensions.
        num_envs: Environments that are played at once.
        window_length: w.
        gamma, lamb: γ and λ.
        episodes_per_update: N, after how many whole episodes the agent learns.
        epochs: How often an update goes through the steps of these episodes.
        batch_size: Rows of a minibatch.
        clip: ε.
        entropy_coef: How much the entropy counts.
        learning_rate: The learning rate of Adam, for both networks.
        seed: For the agent's own draws; the weights come from torch's own generator.

    How it is used, by `training.fit` for one environment and by `training.fit_vector` for several
    at once:

        action = agent.forward(observation)
        observation, reward, terminated, truncated, _ = env.step(action)
        agent.backward(reward, terminated, truncated)

    and once more after an end: `agent.forward(last observation)`, `agent.backward(0.0)`. These two
    calls are no step of the environment; they only report to the agent in which state the episode
    ended. (Of several environments, only some may have ended. gymnasium's vector environments begin
    a new episode in the step after the end, whose action nobody carries out and whose reward is 0:
    for such an environment that step is this extra one.)

    Attributes:
        gamma, lamb, episodes_per_update, epochs, batch_size, clip, entropy_coef: As given.
        actor, critic: The networks.
        process: IndependentGaussianProcess.
        optimizer: Adam, of both networks.
        memories: One EpisodeMemory for each environment.
        recent: The result that `forward` leaves for `backward`: (observations, states, actions,
            log_probs), an array and three tensors with one row for each environment.
        episodes: The results of `finish_episode` since the last update, one dictionary for each
            episode.
        training: Whether the agent explores and learns; True at first.
        rng: A NumPy generator.
    """

    def __init__(
        self,
        obs_dim: int,
        n: int,
        num_envs: int = 1,
        window_length: int = 1,
        gamma: float = 0.9,
        lamb: float = 0.95,
        episodes_per_update: int = 4,
        epochs: int = 10,
        batch_size: int = 64,
        clip: float = 0.2,
        entropy_coef: float = 0.0,
        learning_rate: float = 1e-3,
        seed: int | None = None,
    ) -> None:
        self.gamma, self.lamb = gamma, lamb
        self.episodes_per_update = episodes_per_update
        self.epochs, self.batch_size = epochs, batch_size
        self.clip, self.entropy_coef = clip, entropy_coef
        self.rng = np.random.default_rng(seed)
        self.actor = Actor(obs_dim, n, window_length)
        self.critic = Critic(obs_dim, window_length)
        self.process = IndependentGaussianProcess(n, self.rng)
        self.learning_rate = learning_rate
        # Fused: all parameters in one go. For networks this small it takes a third of the time.
        self.optimizer = optim.Adam([*self.actor.parameters(), *self.critic.parameters()], lr=learning_rate, fused=True)
        self.memories = [EpisodeMemory(window_length) for _ in range(num_envs)]
        self.recent: tuple = ()
        self.episodes: list[dict[str, Tensor]] = []
        self.training = True

    def process_state_batch(self, batch: Sequence[Sequence[np.ndarray]]) -> Tensor:
        """Return states as the networks take them, float32 `[B, w, obs_dim]`. Given.

        Args:
            batch: B states, as `EpisodeMemory.get_recent_state` returns them.
        """
        return torch.from_numpy(np.array(batch, dtype=np.float32))

    def anneal(self, progress: float) -> None:
        """Set the learning rate to its initial value times the share of the training that is left. Given.

        Args:
            progress: The share of the training that is over, 0 to 1.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate * (1 - progress)

    def forward(self, observation: np.ndarray) -> np.ndarray:
        """Return the action for an observation; keep in `recent` what `backward` will need.

        Args:
            observation: float `[obs_dim]`, and the action is float32 `[n]`; or, where `num_envs`
                environments are played at once, `[num_envs, obs_dim]` and `[num_envs, n]`.

        The state of each environment comes from its own memory and goes through
        `process_state_batch` to the actor. In training, the action is a sample. Its log-probability
        is what `backward` will store: the policy changes later, but this is the policy that acted.
        Otherwise the action is the mean.

        Samples may lie outside of the environment's range; to clip them is the environment's
        business. Observations are kept as copies: an environment may write the next one into the
        same array. No gradient is wanted here.
        """
        # BEGIN SOLUTION PPOAgent.forward
        observations = np.array(observation, dtype=np.float32).reshape(len(self.memories), -1)
        states = self.process_state_batch(
            [memory.get_recent_state(one) for memory, one in zip(self.memories, observations, strict=True)]
        )
        with torch.no_grad():
            mu, log_sigma = self.actor(states)
            action = self.process.sample((mu, log_sigma)) if self.training else mu
            log_prob = self.process.get_dist((mu, log_sigma, action))
        self.recent = (observations, states, action, log_prob)
        return action.numpy().copy() if np.ndim(observation) > 1 else action[0].numpy().copy()
        # END SOLUTION

    def backward(
        self, reward: float | np.ndarray, terminal: bool | np.ndarray = False, truncated: bool | np.ndarray = False
    ) -> dict[str, float]:
        """Learn from the result of the latest action; return the result of `update` if it was time for one, else {}.

        Args:
            reward: A number, or `[num_envs]`.
            terminal: A bool, or bool `[num_envs]`, or one bool for all environments; whether the
                world came to its end with this step.
            truncated: Like `terminal`; whether only the clock did.

        For each environment, a step is appended to its memory. But if the episode in it was over
        already, this is the extra call after the end: nothing is appended. Instead the result of
        `finish_episode` for the memory and the state that `forward` has just seen goes to
        `episodes`, and the memory is reset.

        When there are `episodes_per_update` episodes or more, it is time for an update. Afterwards
        `episodes` is empty: they were played by a policy that is no more.

        When the agent is not in training, memories are kept as always (a state may need them), but
        nothing goes to `episodes`.
        """
        # BEGIN SOLUTION PPOAgent.backward
        rewards, terminals, truncateds = (np.broadcast_to(x, len(self.memories)) for x in (reward, terminal, truncated))
        for index, step in enumerate(zip(*self.recent, rewards, terminals, truncateds, strict=True)):
            memory = self.memories[index]
            if memory.terminated or memory.truncated:
                _, final_state, *_ = step
                if self.training:
                    self.episodes.append(self.finish_episode(memory, final_state))
                memory.reset()
            else:
                memory.append(*step)
        if len(self.episodes) < self.episodes_per_update:
            return {}
        metrics = self.update()
        self.episodes = []
        return metrics
        # END SOLUTION

    def finish_episode(self, memory: EpisodeMemory, final_state: Tensor) -> dict[str, Tensor]:
        """Return the T steps of an episode as training data, by `GeneralizedAdvantageEstimator` and the critic.

        Args:
            memory: The memory of an episode that is over; it stays as it is.
            final_state: float32 `[w, obs_dim]`; the state in the end.

        Returns:
            A dictionary of tensors without a gradient, one row for each step:
                state: float32 `[T, w, obs_dim]`, as it was.
                action: float32 `[T, n]`, as it was.
                log_prob: float32 `[T, 1]`, as it was.
                advantage: float32 `[T]`.
                value_target: float32 `[T]`; the advantage plus V(s), an estimate of the return.
        """
        # BEGIN SOLUTION PPOAgent.finish_episode
        state = torch.stack(memory.states)
        next_state = torch.cat((state[1:], final_state.unsqueeze(0)))
        at_end = np.arange(len(state)) == len(state) - 1
        advantage = GeneralizedAdvantageEstimator(
            self.critic,
            state,
            np.array(memory.rewards),
            self.gamma,
            self.lamb,
            next_state,
            at_end & memory.terminated,
            at_end & memory.truncated,
        )
        advantage = torch.as_tensor(advantage, dtype=torch.float32)
        with torch.no_grad():
            value_target = advantage + self.critic(state).flatten()
        return {
            "state": state,
            "action": torch.stack(memory.actions),
            "log_prob": torch.stack(memory.log_probs),
            "advantage": advantage,
            "value_target": value_target,
        }
        # END SOLUTION

    def policy_loss(self, batch: dict[str, Tensor]) -> Tensor:
        """Return the actor's loss, a scalar that gradient *descent* makes smaller.

        Args:
            batch: Like the result of `finish_episode`, with B rows of any episodes, and normalised
                advantages.

        PPO maximises the mean of min(ratio · A, clip(ratio, 1 - ε, 1 + ε) · A) (Schulman et al.
        2017, equation 7). Here `entropy_coef` times the mean entropy is added to this mean. The
        ratio is the probability of the action now over the probability that it was chosen with.
        Negate the sum once, and no more than once.

        Shapes: `log_prob` is `[B, 1]`, and `advantage` is `[B]`. The product of the two is
        `[B, B]`, and no error is raised.
        """
        # BEGIN SOLUTION PPOAgent.policy_loss
        mu, log_sigma = self.actor(batch["state"])
        log_prob = self.process.get_dist((mu, log_sigma, batch["action"]))
        ratio = torch.exp(log_prob - batch["log_prob"]).squeeze(1)
        clipped_ratio = ratio.clamp(1 - self.clip, 1 + self.clip)
        surrogate = torch.min(ratio * batch["advantage"], clipped_ratio * batch["advantage"]).mean()
        entropy = self.process.entropy((mu, log_sigma)).mean()
        return -(surrogate + self.entropy_coef * entropy)
        # END SOLUTION

    def value_loss(self, batch: dict[str, Tensor]) -> Tensor:
        """Return the critic's loss, a scalar: the mean of (V(s) - value target)².

        Args:
            batch: As for `policy_loss`.
        """
        # BEGIN SOLUTION PPOAgent.value_loss
        return (self.critic(batch["state"]).squeeze(1) - batch["value_target"]).square().mean()
        # END SOLUTION

    def update(self) -> dict[str, float]:
        """Improve both networks by all steps of all `episodes`; return {"policy_loss": ..., "value_loss": ...}, means.

        First the advantages of all these steps together are normalised: minus their mean, divided by their standard deviation
        (either one, by n or n - 1; plus 1e-8). Then, `epochs` times, all rows are shuffled and split into minibatches of
        `batch_size` (the last one may be smaller); each makes one step of the optimizer, by the sum of `policy_loss` and
        `value_loss` of that minibatch.

        What is returned are the means of both losses over all minibatches, as floats.
        """
        # BEGIN SOLUTION PPOAgent.update
        data = {name: torch.cat([episode[name] for episode in self.episodes]) for name in self.episodes[0]}
        advantage = data["advantage"]
        data["advantage"] = (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-8)
        losses = []
        for _ in range(self.epochs):
            shuffled = torch.from_numpy(self.rng.permutation(len(advantage)))
            for rows in shuffled.split(self.batch_size):
                batch = {name: values[rows] for name, values in data.items()}
                policy_loss, value_loss = self.policy_loss(batch), self.value_loss(batch)
                self.optimizer.zero_grad()
                (policy_loss + value_loss).backward()
                self.optimizer.step()
                losses.append([policy_loss.item(), value_loss.item()])
        policy_loss, value_loss = np.mean(losses, axis=0)
        return {"policy_loss": float(policy_loss), "value_loss": float(value_loss)}
        # END SOLUTION
