"""Policy gradients, from vanilla to PPO: the file that you submit.

Fill in every place marked YOUR CODE HERE. Work from top to bottom, and run `python grade.py` as often
as you like. Keep names, arguments and return values as they are; you may add helper functions and
imports.

Terms: a *rollout* is one episode. A *collection* consists of rollouts that are played with the same
policy, stored in one buffer, and then trained on. T is the number of rows (steps) in a buffer, B the
number of rows in a minibatch, A the number of actions. A policy is a network that maps observations
float32 `[B, obs_dim]` to *log-probabilities* float32 `[B, A]`. A value network maps observations to
float32 `[B, 1]`.

This assignment follows the course ECE 448 / CS 440 (University of Illinois), machine problem 11:
policy gradients and PPO.
"""

import torch
from torch import Tensor, nn

import utils


def get_returns(rollout_buffer: utils.RolloutBuffer, discount_factor: float = 0.95) -> Tensor:
    """Return the discounted return of every step, R_t = r_t + γ r_{t+1} + γ² r_{t+2} + ..., float32 `[T, 1]`.

    Args:
        rollout_buffer: A finalized buffer. You need its `rewards` `[T]` (float or integer) and
            `terminateds` bool `[T]`.
        discount_factor: γ, from 0 to 1.

    The buffer contains several episodes, one after another. The sum stops at the row where the
    episode terminates. The last episode may be unfinished: its sums stop at the last row.

    (Sutton and Barto, 2nd ed., eq. 3.8; ECE 448 / CS 440, machine problem 11.)
    """
    # YOUR CODE HERE (about 10 lines)
    raise NotImplementedError(
        "get_returns: return R_t for every row, float32 [T, 1]; it is easiest to go through the rows backwards"
    )


def get_vanilla_policy_gradient_loss(
    policy: nn.Module, observation: Tensor, action: Tensor, return_or_advantage: Tensor, **kwargs
) -> Tensor:
    """Return the vanilla policy-gradient loss, -mean(log π(a_t | s_t) · R_t), a scalar.

    Args:
        policy: Maps observations to log-probabilities, float32 `[B, A]`.
        observation: float32 `[B, obs_dim]`.
        action: int64 `[B, 1]`; the actions that were taken.
        return_or_advantage: float32 `[B, 1]`; R_t or A_t. Treat it as data: it gets no gradient.
        kwargs: Arguments that other losses need; ignore them.

    The mean is over the B rows of the batch. As long as the rollouts were played with this
    policy, gradient descent on this loss follows an estimate of the gradient of the expected return.

    (Williams 1992; ECE 448 / CS 440, machine problem 11, whose worked example also takes the mean
    over the batch: its four rows have the loss 0.3363.)
    """
    # YOUR CODE HERE (about 2 lines)
    raise NotImplementedError("get_vanilla_policy_gradient_loss: return -mean(log π(a|s) · R) over the batch, a scalar")


def collect_rollouts(
    env: utils.EnvInterface,
    policy: nn.Module,
    num_rollouts: int,
    base_rollout: int = 0,
    num_total_rollouts: int | None = None,
    seed=None,
) -> tuple[utils.RolloutBuffer, float]:
    """Return (a finalized buffer of `num_rollouts` complete episodes, the mean of their last rewards).

    Args:
        env: `reset()` returns the first observation, float32 `[1, obs_dim]`; `step(action)` returns
            (next observation, terminated, reward), in this order.
        policy: Maps an observation to log-probabilities, float32 `[1, A]`.
        num_rollouts: How many episodes to collect.
        base_rollout: The number of earlier rollouts; used only in the progress line.
        num_total_rollouts: The number of all rollouts in the training run; used only there, too.
        seed: Pass it to `utils.distribution_sample`; do not use it for anything else.

    Row t contains the observation that the policy saw, the log-probabilities that it returned (the
    buffer calls them logits), the action sampled from them, and the reward and the `terminated` flag
    that `step` returned for this action.

    (ECE 448 / CS 440, machine problem 11.)
    """
    rollout_buffer = utils.RolloutBuffer()
    final_rewards = []
    if num_total_rollouts is None:
        num_total_rollouts = base_rollout + num_rollouts
    for rollout in range(num_rollouts):
        print(f"\rRunning rollout {base_rollout + rollout}/{num_total_rollouts}", end="")
        # YOUR CODE HERE (about 10 lines)
        raise NotImplementedError(
            "collect_rollouts: play one episode to its end, sample with utils.distribution_sample(logits, seed=seed), add "
            "every step to the buffer, and append the last reward to final_rewards"
        )
    rollout_buffer.finalize()
    return rollout_buffer, sum(final_rewards) / num_rollouts


def get_value_net_loss(value_net: nn.Module, observation: Tensor, returns: Tensor, **kwargs) -> Tensor:
    """Return the mean squared error between V(s_t) and R_t, a scalar with a gradient for the value network.

    Args:
        value_net: Maps observations to V(s), float32 `[B, 1]`.
        observation: float32 `[B, obs_dim]`.
        returns: float32 `[B, 1]`; returns, not rewards, because V(s) estimates the discounted sum
            of all rewards from s on.
        kwargs: Arguments that other losses need; ignore them.
    """
    # YOUR CODE HERE (about 1 line)
    raise NotImplementedError("get_value_net_loss: return the mean over the batch of (V(s) - R)², a scalar")


def get_advantages(value_net: nn.Module, observations: Tensor, returns: Tensor) -> Tensor:
    """Return the standardized advantages R_t - V(s_t), float32 `[T, 1]`.

    Args:
        value_net: Maps observations to V(s), float32 `[T, 1]`.
        observations: float32 `[T, obs_dim]`.
        returns: float32 `[T, 1]`; from `get_returns`.

    A_t = R_t - V(s_t) says how much better than expected step t turned out. Standardize over all T
    rows: (A - mean) / (std + 1e-10). In the standard deviation, you may divide by T (NumPy's
    default) or by T - 1 (torch's default). The policy loss treats the result as data: it carries no
    gradient.

    (ECE 448 / CS 440, machine problem 11.)
    """
    # YOUR CODE HERE (about 3 lines)
    raise NotImplementedError(
        "get_advantages: return R - V(s), standardized over all rows and without a gradient, float32 [T, 1]"
    )


def train_policy_gradient(
    env: utils.EnvInterface,
    policy: nn.Module,
    optimizer: torch.optim.Optimizer,
    get_policy_gradient_loss,
    get_returns,
    lr_sched=None,
    rollouts: int = 1,
    rollouts_before_training: int = 1,
    training_epochs_per_rollout: int = 1,
    minibatch_size: int = 64,
    ppo_clip: float = 0.2,
    critic_loss_multiplier: float = 0.0,
    value_net: nn.Module | None = None,
    get_advantages=None,
    get_value_net_loss=get_value_net_loss,
    rollout_seed=None,
) -> tuple[list[float], list[float], list[float], list[float]]:
    """Train the networks in place; return (actor losses, critic losses, final rewards, learning rates).

    The buffer from `collect_rollouts` has the tensors `observations`, `old_logits`, `actions`,
    `rewards` and `terminateds`, each with `final_size` rows.

    Args:
        env, policy: As in `collect_rollouts`.
        optimizer: Has the parameters of the policy, and of the value network if there is one.
        get_policy_gradient_loss, get_value_net_loss: Loss functions. Call them with the keywords
            `policy`, `value_net`, `observation`, `old_logits`, `action`, `return_or_advantage`,
            `returns`, `ppo_clip`. Pass the networks and `ppo_clip` unchanged. From every tensor,
            pass only the rows of one minibatch.
        get_returns, get_advantages: Functions like `get_returns` and `get_advantages` in this file.
            After each collection, call `get_returns` once, and `get_advantages` once if there is a
            value network, before the first update.
        lr_sched: A torch learning-rate scheduler; the code below steps it once per collection. None:
            the learning rate is constant.
        rollouts: Total number of rollouts, rounded up to a multiple of `rollouts_before_training`.
        rollouts_before_training: Number of rollouts in a collection.
        training_epochs_per_rollout: Number of epochs for each collection. An epoch uses every row once.
        minibatch_size: Rows in a minibatch. The last minibatch of an epoch may be smaller; use it
            like the others.
        ppo_clip: Pass it to the loss functions.
        critic_loss_multiplier: With a value network, minimize actor loss + critic_loss_multiplier ·
            critic loss.
        value_net: None: train only the policy, on returns. Otherwise train both networks, the policy
            on advantages.
        rollout_seed: The `seed` of `collect_rollouts`.

    Returns:
        actor losses, critic losses: One number per minibatch; without a value network, critic
            losses are an empty list.
        final rewards: One number per collection, the second result of `collect_rollouts`.
        learning rates: One number per step of the scheduler.

    (ECE 448 / CS 440, machine problem 11.)
    """
    actor_losses, critic_losses, final_rewards, learning_rates = [], [], [], []
    for base_rollout in range(0, rollouts, rollouts_before_training):
        # YOUR CODE HERE (about 8 lines)
        raise NotImplementedError(
            "train_policy_gradient.without_critic: collect rollouts, append their mean final reward, and compute the returns "
            "and, with a value network, the advantages"
        )
        for _ in range(training_epochs_per_rollout):
            # YOUR CODE HERE (about 20 lines)
            raise NotImplementedError(
                "train_policy_gradient.minibatches: shuffle the rows; for each minibatch, call the loss functions with its "
                "rows, append the losses to their lists, and update the networks"
            )
        if lr_sched is not None:
            lr_sched.step()
            learning_rates.append(lr_sched.get_last_lr()[0])
    return actor_losses, critic_losses, final_rewards, learning_rates


def get_PPO_policy_gradient_loss(
    policy: nn.Module,
    observation: Tensor,
    old_logits: Tensor,
    action: Tensor,
    return_or_advantage: Tensor,
    ppo_clip: float = 0.2,
    **kwargs,
) -> Tensor:
    """Return PPO's clipped loss, -mean(min(ρ_t A_t, clip(ρ_t, 1 - ε, 1 + ε) A_t)), a scalar.

    Args:
        policy: Maps observations to log-probabilities, float32 `[B, A]`.
        observation: float32 `[B, obs_dim]`.
        old_logits: float32 `[B, A]`; the log-probabilities at the time of the rollout. Treat them
            as data: they get no gradient.
        action: int64 `[B, 1]`; the actions that were taken.
        return_or_advantage: float32 `[B, 1]`; A_t. Treat it as data: it gets no gradient.
        ppo_clip: ε, a positive number. It may be larger than 1.
        kwargs: Arguments that other losses need; ignore them.

    ρ_t = π(a_t | s_t) / π_old(a_t | s_t). It is 1 as long as the policy has not changed.

    (Schulman et al. 2017, eq. 7. Machine problem 11 of ECE 448 / CS 440 gives the clipped
    expression, but its final formula for the PPO loss repeats the vanilla loss.)
    """
    # YOUR CODE HERE (about 4 lines)
    raise NotImplementedError(
        "get_PPO_policy_gradient_loss: return -mean(min(ρA, clip(ρ, 1 - ε, 1 + ε)A)) over the batch, a scalar"
    )
