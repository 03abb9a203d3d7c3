"""Proximal policy optimization (PPO) in three parts (repair, derive, assemble): the file you submit.

Fill in every place marked YOUR CODE HERE. Work from top to bottom and run `python grade.py` as
often as you like. Keep names, arguments and return values; you may add helper functions and
imports.

Notation: T is the number of steps (of one episode, or of all episodes in a call), B the number of
rows of a batch, n the number of action dimensions, w the number of observations in a state (its
window), V(s) the critic.

This assignment follows a notebook of drafts for a PPO agent in *keras-rl* (November 2017), called
"the keras-rl drafts" below. The agents of this library have a `forward` and a `backward` method. The
drafts plan PPO (Schulman et al. 2017, "Proximal policy optimization algorithms", arXiv
1707.06347) in this form. Their author suspected a mistake in one of them. The notebook of this
assignment shows that this draft has several mistakes.

Most questions are graded independently: the grader supplies the code of the other questions.
`test_advantages` runs on your own estimator, and the end-to-end update and the learning check run
your functions together.
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
    """Return the advantages of T steps, a float array `[T]` without a gradient.

    Args:
        critic: Returns the values `[B, 1]` of states `[B, ...]`.
        state: float32 `[T, ...]`; the states before the actions.
        reward: float `[T]`; the rewards of the actions.
        gamma: γ.
        lamb: λ.
        next_state: Like `state`; the states after the actions. Within an episode, this is the next
            row of `state`. At the end of an episode it is not, because the next row belongs to
            another episode.
        terminated: bool `[T]`; True if the step ended the task. Then nothing follows, and the value
            of the next state does not count.
        truncated: bool `[T]`; True if a time limit ended the episode at this step. Then the episode
            is over, but the value of the next state counts.

    A_t = δ_t + γλ A_{t+1} with δ_t = r_t + γ V(next_state_t) - V(state_t). If the step terminated,
    δ_t = r_t - V(state_t). In the last step of an episode, however it ended, and in the last row,
    A_t = δ_t. If the last row is neither terminated nor truncated, its episode goes on, and the
    value of its next state counts.

    `terminated` and `truncated` are given only together with `next_state`. With `next_state`, a
    missing `terminated` or `truncated` means False in every step. If all three are missing, the
    rows are one episode that terminated in the last row.

    (Schulman et al. 2016, arXiv 1506.02438, equation 16.)
    """
    # YOUR CODE HERE (about 12 lines): repair this draft
    assert len(state) == len(reward)
    value = critic(state).detach().flatten().numpy()
    following_value = np.roll(value, -1)
    delta = reward + gamma * following_value - value
    backwards = [0.0]
    for step in range(1, len(reward)):
        backwards.append(delta[len(reward) - 1 - step] + gamma * lamb * backwards[-1])
    return np.array(backwards[:0:-1])


def test_advantages(estimator: Callable[..., np.ndarray] = GeneralizedAdvantageEstimator) -> None:
    """Raise an AssertionError if the estimator is wrong; return None if it is correct.

    Args:
        estimator: Has the arguments of `GeneralizedAdvantageEstimator`. A correct one may return its
            advantages as a NumPy array, a tensor or a list of T numbers, in single or double
            precision.

    The test should accept every estimator that follows the docstring above. It should reject the
    draft, and every estimator with one of these faults:
        The last δ is missing.
        The value after the last step is wrong.
        Ends of episodes are ignored in all rows but the last (three faults: all ends, only
        terminations, or only truncations).
        At a termination, only one of γ V(next_state_t) and γλ A_{t+1} is dropped, not both.
        At a truncation, γ V(next_state_t) is dropped as well.

    `python -m pytest submitted.py` runs the test on your estimator. `grade.py` can run the test only
    after you have repaired your estimator.
    """
    # YOUR CODE HERE (about 19 lines)
    raise NotImplementedError(
        "test_advantages: raise an AssertionError if the estimator does not return the advantages you computed by hand"
    )


# Part 2: derive


class IndependentGaussianProcess:
    """A normal distribution over actions with n independent dimensions.

    Its name follows keras-rl, where an object that draws random numbers is a process. It is not a
    Gaussian process.

    Args:
        n: The number of dimensions.
        rng: A random generator for the samples, or a seed for one. None: not reproducible.

    All methods take one tuple. Its first item is `mu`, the means; the second is `log_sigma`, the
    logarithm of the standard deviation: log σ, not σ and not log σ². Both are float32 `[B, n]`, and
    may differ between dimensions.
    """

    def __init__(self, n: int, rng: np.random.Generator | int | None = None) -> None:
        self.n = n
        self.rng = np.random.default_rng(rng)

    def sample(self, x: tuple[Tensor, Tensor]) -> Tensor:
        """Return one action for each row, float32 `[B, n]`, without a gradient.

        Args:
            x: (mu, log_sigma), both float32 `[B, n]`, or both `[n]`; then the action is `[n]`, too.
        """
        # YOUR CODE HERE (about 3 lines)
        raise NotImplementedError(
            "IndependentGaussianProcess.sample: return μ + σε with an independent ε ~ N(0, 1) for each number"
        )

    def get_dist(self, x: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """Return the log-density at y, float32 `[B, 1]`, with gradients to mu and log_sigma.

        Args:
            x: (mu, log_sigma, y), float32 `[B, n]` each; y holds the actions.

        The log-density of one dimension is -log(2π)/2 - log σ - (y - μ)²/(2σ²); for independent
        dimensions, take the sum. The gradient must be finite everywhere, including at y = μ.
        """
        # YOUR CODE HERE (about 3 lines)
        raise NotImplementedError(
            "IndependentGaussianProcess.get_dist: return the log-density at y, [B, 1], with a finite gradient, also at y = μ"
        )

    def entropy(self, x: tuple[Tensor, Tensor]) -> Tensor:
        """Return the entropy (the mean of minus the log-density), float32 `[B, 1]`, with a gradient.

        Args:
            x: (mu, log_sigma), both float32 `[B, n]`.

        Derive it from the log-density above: the mean of (y - μ)² is σ².
        """
        # YOUR CODE HERE (about 2 lines)
        raise NotImplementedError("IndependentGaussianProcess.entropy: return the entropy, [B, 1]")


# Part 3: assemble


class Actor(nn.Module):
    """The policy network: means that depend on the state, and a log σ that does not.

    Args:
        obs_dim: The number of values in an observation.
        n: The number of action dimensions.
        window_length: w.

    Attributes:
        log_sigma: An `nn.Parameter` `[n]`, initially 0.
    """

    def __init__(self, obs_dim: int, n: int, window_length: int = 1) -> None:
        super().__init__()
        # YOUR CODE HERE (about 11 lines)
        raise NotImplementedError(
            "Actor: create three hidden layers of 16 units with ReLU, a linear layer for the means, and the parameter "
            "log_sigma"
        )

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return (mu, log_sigma), both float32 `[B, n]`; each row of log_sigma is the parameter.

        Args:
            state: float32 `[B, w, obs_dim]`.

        The means are the output of three hidden layers (`nn.Linear`) of 16 units with ReLU and a
        linear layer.
        """
        # YOUR CODE HERE (about 2 lines)
        raise NotImplementedError(
            "Actor: create three hidden layers of 16 units with ReLU, a linear layer for the means, and the parameter "
            "log_sigma"
        )


class Critic(nn.Module):
    """The value V(s): three hidden layers of 16 units with ReLU and a linear layer.

    It shares no layer with the actor.

    Args:
        obs_dim: The number of values in an observation.
        window_length: w.
    """

    def __init__(self, obs_dim: int, window_length: int = 1) -> None:
        super().__init__()
        # YOUR CODE HERE (about 10 lines)
        raise NotImplementedError("Critic: create three hidden layers of 16 units with ReLU, and a linear layer for the value")

    def forward(self, state: Tensor) -> Tensor:
        """Return the values, float32 `[B, 1]`.

        Args:
            state: float32 `[B, w, obs_dim]`.
        """
        # YOUR CODE HERE (about 1 line)
        raise NotImplementedError("Critic: create three hidden layers of 16 units with ReLU, and a linear layer for the value")


class EpisodeMemory:
    """The steps taken so far in the current episode of one environment.

    Args:
        window_length: w, the number of observations in a state.

    Attributes:
        window_length: As given.
        observations: A list of float32 `[obs_dim]`, one per step.
        states: A list of float32 `[w, obs_dim]`, one per step.
        actions: A list of float32 `[n]`, one per step.
        log_probs: A list of float32 `[1]`, one per step.
        rewards: A list of numbers, one per step.
        terminated, truncated: Whether the episode is over, and how it ended.
    """

    def __init__(self, window_length: int = 1) -> None:
        self.window_length = window_length
        self.reset()

    def reset(self) -> None:
        """Clear the memory for a new episode. Provided."""
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
        """Store one step, and whether the episode ended with it. Provided."""
        self.observations.append(observation)
        self.states.append(state)
        self.actions.append(action)
        self.log_probs.append(log_prob)
        self.rewards.append(float(reward))
        self.terminated, self.truncated = bool(terminated), bool(truncated)

    def get_recent_state(self, observation: np.ndarray) -> list[np.ndarray]:
        """Return the state: the latest w observations of this episode, the oldest one first.

        Args:
            observation: float32 `[obs_dim]`; the current observation, which becomes the last one of
                the state. It is not in `observations` yet, and this method does not append it.

        If the episode has fewer than w observations so far, the state starts with zeros (float32
        `[obs_dim]`) in place of the missing ones.
        """
        # YOUR CODE HERE (about 3 lines)
        raise NotImplementedError(
            "EpisodeMemory.get_recent_state: return the latest w observations of the episode, the newest last, padded with "
            "zeros at the front"
        )


class PPOAgent:
    """A PPO agent for one or several environments, driven by calls to `forward` and `backward`.

    Args:
        obs_dim: The number of values in an observation.
        n: The number of action dimensions.
        num_envs: The number of environments that run at once.
        window_length: w.
        gamma, lamb: γ and λ.
        episodes_per_update: N. As soon as N episodes have finished, there is an update.
        epochs: The number of passes over the steps of these episodes in an update.
        batch_size: The number of rows in a minibatch.
        clip: ε.
        entropy_coef: The weight of the entropy.
        learning_rate: The learning rate of Adam, for both networks.
        seed: The seed of the agent's own generator; the weights come from torch's generator.

    `training.fit` (one environment) and `training.fit_vector` (several at once) use it like this:

        action = agent.forward(observation)
        observation, reward, terminated, truncated, _ = env.step(action)
        agent.backward(reward, terminated, truncated)

    After the end of an episode, there is an *extra call*: `agent.forward(last observation)`, then
    `agent.backward(0.0)`. It is not a step of the environment; it only shows the agent the final
    state of the episode. (With several environments, usually only some of the episodes end in the
    same step. In gymnasium's vector environments, an environment resets in the step after the end
    of its episode. For this environment, that step is the extra call; it ignores the action and has
    the reward 0.)

    Attributes:
        gamma, lamb, episodes_per_update, epochs, batch_size, clip, entropy_coef: As given.
        actor, critic: The networks.
        process: IndependentGaussianProcess.
        optimizer: Adam, for the parameters of both networks.
        memories: One EpisodeMemory for each environment.
        recent: What `forward` stores for `backward`: (observations, states, actions, log_probs), an
            array and three tensors with one row for each environment.
        episodes: The results of `finish_episode` since the last update, one dictionary for each
            episode.
        training: Whether the agent explores and learns; initially True.
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
        # fused=True updates all parameters at once, in a third of the time for small networks.
        self.optimizer = optim.Adam([*self.actor.parameters(), *self.critic.parameters()], lr=learning_rate, fused=True)
        self.memories = [EpisodeMemory(window_length) for _ in range(num_envs)]
        self.recent: tuple = ()
        self.episodes: list[dict[str, Tensor]] = []
        self.training = True

    def process_state_batch(self, batch: Sequence[Sequence[np.ndarray]]) -> Tensor:
        """Return states as input for the networks, float32 `[B, w, obs_dim]`. Provided.

        Args:
            batch: B states, as returned by `EpisodeMemory.get_recent_state`.
        """
        return torch.from_numpy(np.array(batch, dtype=np.float32))

    def anneal(self, progress: float) -> None:
        """Set the learning rate to its initial value times (1 - progress). Provided.

        Args:
            progress: The fraction of training completed, from 0 to 1.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate * (1 - progress)

    def forward(self, observation: np.ndarray) -> np.ndarray:
        """Return the action for an observation; store in `recent` what `backward` needs.

        Args:
            observation: float `[obs_dim]`; then the action is float32 `[n]`. With `num_envs`
                environments at once, `[num_envs, obs_dim]`; then the action is `[num_envs, n]`.

        The state of each environment comes from its own memory. `process_state_batch` turns the
        states into the input of the actor. In training, the action is a sample; otherwise, it is the
        mean. Store its log-probability now, because the policy changes in the next update.

        Do not clip the action: it may be outside the range of the environment, and the training
        loop clips it. Store copies of the observations, because an environment may write the next
        one to the same array. Compute everything without a gradient.
        """
        # YOUR CODE HERE (about 10 lines)
        raise NotImplementedError(
            "PPOAgent.forward: return an action for each environment, and store in `recent` what backward needs"
        )

    def backward(
        self, reward: float | np.ndarray, terminal: bool | np.ndarray = False, truncated: bool | np.ndarray = False
    ) -> dict[str, float]:
        """Store the result of the latest action; return the result of `update`, or {} if there is none.

        Args:
            reward: A number, or `[num_envs]`.
            terminal: A bool (for all environments) or bool `[num_envs]`; whether this step
                terminated the episode.
            truncated: Like `terminal`; whether a time limit ended the episode.

        For each environment, look at its memory:
            The episode in it is not over: append the step.
            The episode was already over: this is the extra call. Append nothing. Call
                `finish_episode` with the memory and the state that `forward` has just stored, add
                the result to `episodes`, and reset the memory.

        If there are `episodes_per_update` episodes or more, call `update` and then empty `episodes`:
        the policy has changed, so they are not used again.

        If the agent is not in training, fill and reset the memories as usual, because states with w
        > 1 are built from them, but add nothing to `episodes`.
        """
        # YOUR CODE HERE (about 15 lines)
        raise NotImplementedError(
            "PPOAgent.backward: append the step, or finish the episode if it was over; update when there are enough episodes"
        )

    def finish_episode(self, memory: EpisodeMemory, final_state: Tensor) -> dict[str, Tensor]:
        """Return the T steps of an episode as training data, with advantages and value targets.

        Args:
            memory: The memory of a finished episode; it is not modified.
            final_state: float32 `[w, obs_dim]`; the state after the last step.

        Returns:
            A dictionary of tensors without a gradient, with one row for each step:
                state: float32 `[T, w, obs_dim]`, from the memory.
                action: float32 `[T, n]`, from the memory.
                log_prob: float32 `[T, 1]`, from the memory.
                advantage: float32 `[T]`.
                value_target: float32 `[T]`; the advantage plus V(s), an estimate of the return.
        """
        # YOUR CODE HERE (about 23 lines)
        raise NotImplementedError(
            "PPOAgent.finish_episode: return states, actions, log-probabilities, advantages and value targets, one row for "
            "each step"
        )

    def policy_loss(self, batch: dict[str, Tensor]) -> Tensor:
        """Return the actor's loss, a scalar for gradient *descent*.

        Args:
            batch: Like the result of `finish_episode`, with B rows from any episodes and normalized
                advantages.

        PPO maximizes the mean of min(ratio · A, clip(ratio, 1 - ε, 1 + ε) · A) (Schulman et al.
        2017, equation 7). Add `entropy_coef` times the mean entropy to this mean. The ratio is the
        density of the action under the current policy, divided by its density when it was chosen.
        Negate the sum, exactly once.

        Shapes: the ratio is `[B, 1]`, like `log_prob`, and `advantage` is `[B]`. If you multiply
        these two, you get `[B, B]` and no error.
        """
        # YOUR CODE HERE (about 7 lines)
        raise NotImplementedError(
            "PPOAgent.policy_loss: return minus the mean of the clipped objective, minus entropy_coef times the mean entropy"
        )

    def value_loss(self, batch: dict[str, Tensor]) -> Tensor:
        """Return the critic's loss, a scalar: the mean of (V(s) - value target)².

        Args:
            batch: As for `policy_loss`.
        """
        # YOUR CODE HERE (about 1 line)
        raise NotImplementedError("PPOAgent.value_loss: return the mean of (V(s) - value target)²")

    def update(self) -> dict[str, float]:
        """Update both networks with all steps of all `episodes`; return the mean losses.

        First normalize the advantages of all these steps together: subtract their mean and divide by
        their standard deviation plus 1e-8. (In the standard deviation, you may divide by the number
        of steps, as NumPy does by default, or by one less, as torch does.) Then, `epochs` times,
        shuffle all rows and split them into minibatches of `batch_size` (the last one may be
        smaller). For each minibatch, take one step of the optimizer on the sum of its `policy_loss`
        and `value_loss`.

        Return {"policy_loss": ..., "value_loss": ...}: the means over all minibatches, as floats.
        """
        # YOUR CODE HERE (about 15 lines)
        raise NotImplementedError(
            "PPOAgent.update: normalize the advantages; in every epoch, shuffle all rows and take one optimizer step per "
            "minibatch"
        )
