"""The training loop, and diagnostics to watch. Provided; do not change this file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn


def make_optimizer(model: nn.Module) -> torch.optim.Adam:
    """Return Adam with the learning rate 3e-4 and ε 1e-5 of Practical RL; fused, which halves the time for small networks."""
    return torch.optim.Adam(model.parameters(), lr=3e-4, eps=1e-5, fused=True)


def summary_writer(folder: str) -> Any:
    """Return a TensorBoard writer that writes to the folder, or None if TensorBoard is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(folder)


def train(
    sampler: Any,
    ppo: Any,
    anneal_learning_rate: Callable[[Any, int, int], None],
    interactions: int,
    on_iteration: Callable[[dict[str, float]], None] | None = None,
) -> list[dict[str, float]]:
    """Train for a number of interactions; return a list with the result of `diagnose` after each trajectory.

    Args:
        sampler: From `make_ppo_runner`.
        ppo: Your `PPO`.
        anneal_learning_rate: Called with (optimizer, interactions so far, interactions in all)
            before each trajectory.
        interactions: Number of interactions in all, rounded up to whole trajectories.
        on_iteration: Called with each new entry, to show progress.
    """
    history = []
    updates = sampler.num_epochs * sampler.num_minibatches
    while sampler.runner.step_var < interactions:
        anneal_learning_rate(ppo.optimizer, sampler.runner.step_var, interactions)
        for _ in range(updates):
            ppo.step(sampler.get_next())
        entry = {"interactions": sampler.runner.step_var} | diagnose(ppo, sampler.trajectory)
        history.append(entry)
        if on_iteration is not None:
            on_iteration(entry)
    return history


def diagnose(ppo: Any, trajectory: dict[str, Any]) -> dict[str, float]:
    """Return diagnostics of the training over all rows of a trajectory, after training on it.

    Returns:
        explained_variance: 1 - Var(target - V) / Var(target), with the values recorded before
            training. 1 is perfect. 0 is no better than a constant, and below 0 is worse.
        entropy: Entropy of the policy, in nats. It should fall slowly. A sudden drop means that the
            policy has stopped exploring.
        policy_loss, value_loss, gradient_norm: Over all rows at once, with advantages normalized
            over all rows.
        value_mean, value_target_mean: They should stay close to each other.
        advantage_mean, advantage_std: Before normalization.
        kl: Mean of (ρ - 1) - log ρ, an estimate of KL(old ‖ new) that is never negative (Schulman,
            "Approximating KL divergence", 2020). Far above 0.05, the steps are too large.
        ratio_max, clipped: The largest ρ = π/π_old, and the share of rows outside the clip range.
    """
    rows = {key: value for key, value in trajectory.items() if key != "state"}
    advantages = rows["advantages"]
    rows["advantages"] = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    act = ppo.policy.act(rows["observations"], training=True)
    policy_loss, value_loss = ppo.policy_loss(rows, act), ppo.value_loss(rows, act)
    parameters = [parameter for parameter in ppo.policy.model.parameters() if parameter.requires_grad]
    gradients = torch.autograd.grad(policy_loss + ppo.value_loss_coef * value_loss, parameters, allow_unused=True)
    with torch.no_grad():
        distribution = act["distribution"]
        log_ratio = distribution.log_prob(torch.as_tensor(rows["actions"])) - torch.as_tensor(rows["log_probs"])
        ratio = log_ratio.exp()
        kl = (ratio - 1 - log_ratio).mean().item()
        entropy = distribution.entropy().mean().item()
        norm = torch.stack([gradient.norm() for gradient in gradients if gradient is not None]).norm().item()
    targets, values = np.asarray(rows["value_targets"]), np.asarray(rows["values"])
    return {
        "explained_variance": float(1 - (targets - values.reshape(targets.shape)).var() / (targets.var() + 1e-8)),
        "entropy": entropy,
        "policy_loss": policy_loss.item(),
        "value_loss": value_loss.item(),
        "gradient_norm": norm,
        "value_mean": float(values.mean()),
        "value_target_mean": float(targets.mean()),
        "advantage_mean": float(advantages.mean()),
        "advantage_std": float(advantages.std()),
        "kl": kl,
        "ratio_max": ratio.max().item(),
        "clipped": ((ratio - 1).abs() > ppo.cliprange).float().mean().item(),
    }
