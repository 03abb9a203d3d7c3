"""Cases of `continuous_ppo`. Each makes the inputs of one driver call; `build` adds what the solution answers.

They are chosen so that the known mistakes do not hide: episodes that end inside a trajectory with values that are not zero
after it, an unfinished tail, V(s_T) ≠ V(s_{T-1}) ≠ V(s_0); more than one action dimension, variances that differ and are not 1;
ratios on both sides of the clip range with both signs of advantage; values on both sides of theirs; numbers of rows that the
number of minibatches does not divide; sizes that are not square.
"""

import numpy as np

from grader.answers import case


def normal(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (scale * rng.normal(size=shape)).astype(np.float32)


def nonzero(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return numbers of both signs, none of them near zero."""
    return (rng.choice([-1.0, 1.0], size=shape) * rng.uniform(0.5, 2.0, size=shape)).astype(np.float32)


def at(size: int, *rows: int) -> np.ndarray:
    return np.isin(np.arange(size), rows)


# Summaries


def episodes(rng, lengths, ends, obs_dim=2):
    return dict(
        observations=[normal(rng, length + 1, obs_dim) for length in lengths],
        rewards=[nonzero(rng, length) for length in lengths],
        ends=list(ends),
    )


@case("summaries", question="Summaries")
def summaries_pass_on(rng):
    """Default arguments: the environment must behave as if nothing were around it."""
    return episodes(rng, [3, 2, 4], ["terminated", "truncated", "terminated"])


@case("summaries", question="Summaries")
def summaries_three_episodes(rng):
    return episodes(rng, [4, 1, 3], ["terminated", "truncated", "terminated"]) | dict(window=2)


@case("summaries", question="Summaries")
def summaries_one_broken_off(rng):
    """The second of four episodes is broken off after three steps."""
    return episodes(rng, [2, 3, 1, 2], ["truncated", "", "terminated", "truncated"]) | dict(window=10, writer=True)


@case("summaries", question="Summaries")
def summaries_both_ends_at_once(rng):
    """The first episode is terminated and truncated in the same step."""
    return episodes(rng, [3, 2, 2], ["both", "terminated", "truncated"]) | dict(window=10)


@case("summaries", question="Summaries", hidden=True)
def summaries_broken_off(rng):
    """An episode that somebody breaks off leaves no entry, and nothing of it in the next one; six for a window of three."""
    lengths, ends = [3, 2, 5, 1, 2, 4, 3], ["truncated", "", "terminated", "both", "truncated", "terminated", "truncated"]
    return episodes(rng, lengths, ends) | dict(window=3)


@case("summaries", question="Summaries", hidden=True)
def summaries_default_window(rng):
    """More episodes than the default window holds, of one step each."""
    return episodes(rng, [1] * 104, ["truncated"] * 104, obs_dim=1) | dict(writer=True)


@case("summaries", question="Summaries", hidden=True)
def summaries_written(rng):
    return episodes(rng, [2, 3, 1, 2], ["terminated", "truncated", "", "terminated"]) | dict(window=100, writer=True)


# Model


@case("model_layers", question="Model.layers")
def model_of_half_cheetah(rng):
    return dict(obs_dim=17, act_dim=6)


@case("model_layers", question="Model.layers", hidden=True)
def model_of_another_size(rng):
    return dict(obs_dim=5, act_dim=2)


@case("model_forward", question="Model.forward")
def forward_batch(rng):
    return dict(obs_dim=5, act_dim=3, observations=normal(rng, 7, 5))


@case("model_forward", question="Model.forward")
def forward_one_observation(rng):
    return dict(obs_dim=4, act_dim=2, observations=normal(rng, 4))


@case("model_forward", question="Model.forward")
def forward_one_row(rng):
    """One row: its axis may not be squeezed away."""
    return dict(obs_dim=3, act_dim=2, observations=normal(rng, 1, 3))


@case("model_forward", question="Model.forward")
def forward_far_variances(rng):
    """Variances far below and far above 1, as an exponential can give."""
    return dict(obs_dim=4, act_dim=3, observations=normal(rng, 2, 4), spread=6.0)


@case("model_forward", question="Model.forward", hidden=True)
def forward_other_far_variances(rng):
    return dict(obs_dim=3, act_dim=4, observations=normal(rng, 3, 3), spread=7.0)


@case("model_forward", question="Model.forward", hidden=True)
def forward_single_row(rng):
    """One row, and one action dimension."""
    return dict(obs_dim=6, act_dim=1, observations=normal(rng, 1, 6))


@case("model_forward", question="Model.forward", hidden=True)
def forward_large(rng):
    return dict(obs_dim=17, act_dim=6, observations=normal(rng, 33, 17, scale=3))


# Policy


def linear_model(rng, obs_dim, act_dim):
    return dict(
        mean=normal(rng, obs_dim, act_dim),
        log_variance=np.linspace(-1.6, 0.9, act_dim).astype(np.float32),
        value=nonzero(rng, obs_dim, 1),
    )


@case("policy_training", question="Policy.training")
def training_batch(rng):
    return linear_model(rng, 4, 3) | dict(observations=normal(rng, 6, 4), actions=normal(rng, 6, 3))


@case("policy_training", question="Policy.training")
def training_one_double_row(rng):
    """One observation in double precision, as environments give them."""
    return linear_model(rng, 4, 2) | dict(observations=rng.normal(size=(1, 4)), actions=normal(rng, 1, 2))


@case("policy_training", question="Policy.training", hidden=True)
def training_double_precision(rng):
    """Observations as HalfCheetah gives them: float64."""
    return linear_model(rng, 5, 2) | dict(observations=rng.normal(size=(9, 5)), actions=normal(rng, 9, 2))


@case("policy_training", question="Policy.training", hidden=True)
def training_one_row(rng):
    """And one action dimension."""
    return linear_model(rng, 3, 1) | dict(observations=normal(rng, 1, 3), actions=normal(rng, 1, 1))


@case("policy_sampling", question="Policy.sampling")
def sampling_one_observation(rng):
    """In double precision, as environments give them."""
    return linear_model(rng, 4, 3) | dict(observations=rng.normal(size=4))


@case("policy_sampling", question="Policy.sampling")
def sampling_batch(rng):
    return linear_model(rng, 4, 3) | dict(observations=normal(rng, 6, 4))


@case("policy_sampling", question="Policy.sampling")
def sampling_single_row(rng):
    """A batch of one row: its axis may not be squeezed away."""
    return linear_model(rng, 4, 2) | dict(observations=normal(rng, 1, 4))


@case("many_samples", question="Policy.sampling")
def sampling_many(rng):
    return linear_model(rng, 3, 3) | dict(observation=normal(rng, 3))


@case("many_samples", question="Policy.sampling")
def sampling_far_from_zero(rng):
    """Means of 3, -20 and 50 with deviations of ½ to 1½: whoever cuts actions has nothing left of the distribution."""
    mean = np.array([[3.0, -20.0, 50.0], [0.0, 0.0, 0.0]], np.float32)
    return linear_model(rng, 2, 3) | dict(mean=mean, observation=np.array([1.0, 0.5], np.float32), one_by_one=True)


@case("policy_sampling", question="Policy.sampling", hidden=True)
def sampling_double_precision(rng):
    return linear_model(rng, 5, 2) | dict(observations=rng.normal(size=(5,)))


@case("policy_sampling", question="Policy.sampling", hidden=True)
def sampling_large_batch(rng):
    return linear_model(rng, 6, 5) | dict(observations=rng.normal(size=(40, 6)))


@case("policy_sampling", question="Policy.sampling", hidden=True)
def sampling_one_row(rng):
    """One row, and one action dimension: no axis may be squeezed away."""
    return linear_model(rng, 3, 1) | dict(observations=normal(rng, 1, 3))


@case("many_samples", question="Policy.sampling", hidden=True)
def sampling_many_dimensions(rng):
    """One action after another, as the runner asks."""
    return linear_model(rng, 4, 6) | dict(observation=normal(rng, 4), one_by_one=True)


# GAE


def trajectory(rng, size, ends, obs_dim=3, **options):
    return (
        dict(
            observations=normal(rng, size, obs_dim),
            rewards=nonzero(rng, size).astype(np.float64),
            resets=at(size, *ends),
            latest_observation=normal(rng, obs_dim) + 1,
            weights=nonzero(rng, obs_dim),
        )
        | options
    )


@case("gae", question="GAE", nudges={"rewards": 1, "observations": 1, "latest_observation": 0})
def gae_by_hand(rng):
    """Three steps, of which none ends: rewards 1, 2, 3, values 4, 5, 6 and then 8, γ = λ = ½. δ = -½, 0, 1."""
    return dict(
        observations=np.array([[4.0], [5.0], [6.0]], np.float32),
        rewards=np.array([1.0, 2.0, 3.0]),
        resets=np.zeros(3, bool),
        latest_observation=np.array([8.0], np.float32),
        weights=np.ones(1, np.float32),
        gamma=0.5,
        lambda_=0.5,
    )


@case("gae", question="GAE", nudges={"rewards": 1, "observations": 1, "latest_observation": 0})
def gae_one_episode(rng):
    return trajectory(rng, 6, [5], gamma=0.9, lambda_=0.8)


@case("gae", question="GAE", nudges={"rewards": 1, "observations": 1, "latest_observation": 0})
def gae_unfinished(rng):
    return trajectory(rng, 7, [], gamma=0.9, lambda_=0.8)


@case("gae", question="GAE", nudges={"rewards": 1, "observations": 1, "latest_observation": 0})
def gae_several_episodes(rng):
    return trajectory(rng, 13, [3, 4, 9], gamma=0.95, lambda_=0.7)


@case("gae", question="GAE", nudges={"rewards": 1, "observations": 1})
def gae_no_lambda(rng):
    """With λ = 0 an advantage is δ alone, and nothing may be divided by it."""
    return trajectory(rng, 7, [3], gamma=0.9, lambda_=0.0)


@case("gae", question="GAE", hidden=True)
def gae_defaults(rng):
    return trajectory(rng, 9, [4])


@case("gae", question="GAE", hidden=True)
def gae_of_deltas(rng):
    return trajectory(rng, 8, [2, 5], gamma=0.8, lambda_=0.0)


@case("gae", question="GAE", hidden=True)
def gae_of_returns(rng):
    return trajectory(rng, 8, [2, 5], gamma=0.8, lambda_=1.0)


@case("gae", question="GAE", hidden=True)
def gae_of_rewards(rng):
    """With γ = 0 an advantage is r - V."""
    return trajectory(rng, 8, [2, 5], gamma=0.0, lambda_=0.9)


@case("gae", question="GAE", hidden=True)
def gae_one_step(rng):
    return trajectory(rng, 1, [], gamma=0.9, lambda_=0.9)


@case("gae", question="GAE", nudges={"rewards": 1, "observations": 1})
def gae_truncated(rng):
    """Two of three ends came from a time limit. Their rewards hold the value already, so it is an end like any other."""
    return trajectory(rng, 12, [2, 6, 9], gamma=0.9, lambda_=0.85, truncated=[2, 9])


@case("gae", question="GAE", hidden=True)
def gae_truncated_and_unfinished(rng):
    return trajectory(rng, 9, [1, 4], gamma=0.95, lambda_=0.6, truncated=[4])


@case("gae", question="GAE", hidden=True)
def gae_ends_last(rng):
    """The last row ends an episode: what comes after it does not count."""
    return trajectory(rng, 10, [4, 9], gamma=0.97, lambda_=0.9)


def batched(rng, size, num_envs, **options):
    resets = np.zeros((size, num_envs), bool)
    for env in range(num_envs):
        resets[rng.choice(size - 1, size=1 + env % 2, replace=False), env] = True
    resets[-1, 0] = True
    return (
        dict(
            observations=normal(rng, size, num_envs, 3),
            rewards=nonzero(rng, size, num_envs).astype(np.float64),
            resets=resets,
            latest_observation=normal(rng, num_envs, 3) + 1,
            weights=nonzero(rng, 3),
            gamma=0.9,
            lambda_=0.8,
        )
        | options
    )


@case("gae", question="GAE", nudges={"rewards": 2, "observations": 2, "latest_observation": 1})
def gae_some_environments(rng):
    """Three environments, of which the second goes on after the last step."""
    return batched(rng, 5, 3)


@case("gae", question="GAE", hidden=True)
def gae_truncated_batch(rng):
    inputs = batched(rng, 6, 3)
    return inputs | dict(truncated=np.argwhere(inputs["resets"])[1:].tolist())


@case("gae", question="GAE", hidden=True)
def gae_batched(rng):
    return batched(rng, 7, 4)


@case("gae", question="GAE", hidden=True)
def gae_batched_one_environment(rng):
    """An axis of length one is an axis."""
    return batched(rng, 5, 1)


@case("gae", question="GAE", hidden=True)
def gae_batched_flat_values(rng):
    return batched(rng, 6, 3, flat_values=True)


@case("gae", question="GAE", hidden=True)
def gae_batched_flat_values_of_one_environment(rng):
    """Here the last axis of the values is that of the environments."""
    return batched(rng, 6, 1, flat_values=True)


@case("gae", question="GAE", hidden=True)
def gae_long(rng):
    """Long enough that powers of γλ would show; random ends. Loops over all pairs are slow, and right."""
    return trajectory(rng, 500, np.flatnonzero(rng.random(499) < 0.05), obs_dim=1, gamma=0.99, lambda_=0.95)


# TrajectorySampler


@case("shuffling", question="TrajectorySampler.shuffle_trajectory")
def shuffling_rows(rng):
    return dict(size=23)


@case("shuffling", question="TrajectorySampler.shuffle_trajectory", hidden=True)
def shuffling_many_rows(rng):
    return dict(size=150)


@case("sampler", question="TrajectorySampler.get_next")
def minibatches_divide(rng):
    """Two epochs of one trajectory: 24 rows in four minibatches."""
    return dict(sizes=[24], epochs=2, minibatches=4, calls=8)


@case("sampler", question="TrajectorySampler.get_next")
def minibatches_of_two_trajectories(rng):
    return dict(sizes=[18, 18], epochs=3, minibatches=3, calls=18)


@case("sampler", question="TrajectorySampler.get_next")
def minibatches_transformed(rng):
    return dict(sizes=[18], epochs=2, minibatches=3, calls=6, transform=True)


@case("sampler", question="TrajectorySampler.get_next")
def minibatches_of_eleven(rng):
    """Eleven rows in four minibatches: three of three rows and one of two."""
    return dict(sizes=[11], epochs=2, minibatches=4, calls=8)


@case("sampler", question="TrajectorySampler.get_next")
def minibatches_of_two_environments(rng):
    """Five steps of two environments are ten rows."""
    return dict(sizes=[5], num_envs=2, epochs=2, minibatches=3, calls=6)


@case("sampler", question="TrajectorySampler.get_next", hidden=True)
def minibatches_transformed_again(rng):
    return dict(sizes=[20], epochs=3, minibatches=2, calls=6, transform=True)


@case("sampler", question="TrajectorySampler.get_next", hidden=True)
def minibatches_uneven(rng):
    """Twenty-two rows in five minibatches: none is more than one row larger than another."""
    return dict(sizes=[22, 22], epochs=2, minibatches=5, calls=20)


@case("sampler", question="TrajectorySampler.get_next", hidden=True)
def minibatches_batched(rng):
    """Seven steps of three environments are 21 rows."""
    return dict(sizes=[7], num_envs=3, epochs=2, minibatches=4, calls=8)


@case("sampler", question="TrajectorySampler.get_next", hidden=True)
def minibatch_of_everything(rng):
    """One minibatch an epoch, and one epoch a trajectory."""
    return dict(sizes=[9, 9, 9], epochs=1, minibatches=1, calls=3, transform=True)


@case("sampler", question="TrajectorySampler.get_next", hidden=True)
def minibatches_of_one(rng):
    return dict(sizes=[5, 5], epochs=2, minibatches=5, calls=20)


# PPO


def log_density(mean, log_variance, actions):
    return -0.5 * ((actions - mean) ** 2 / np.exp(log_variance) + log_variance + np.log(2 * np.pi)).sum(axis=1)


def losses(rng, log_ratios, act_dim=3, far=0.0, **options):
    """A policy whose ratios to the old one are what they should be. far: how many deviations each action is from its mean."""
    rows = len(log_ratios)
    mean, actions = normal(rng, rows, act_dim), normal(rng, rows, act_dim)
    log_variance = np.linspace(-1.2, 0.8, act_dim).astype(np.float32)
    if far:
        actions = (mean + far * np.exp(0.5 * log_variance) * np.sign(actions)).astype(np.float32)
    recorded = log_density(mean.astype(np.float64), log_variance.astype(np.float64), actions) - np.asarray(log_ratios)
    return (
        dict(
            mean=mean,
            log_variance=log_variance,
            actions=actions,
            log_probs=recorded.astype(np.float32),
            advantages=nonzero(rng, rows),
        )
        | options
    )


BOTH_SIDES = np.tile([-0.9, 0.05, 1.1, -0.4, -0.05, 0.4], 2)
BOTH_SIGNS = np.repeat([1.5, -0.75], 6).astype(np.float32)


@case("policy_loss", question="PPO.policy_loss", nudges={"advantages": 1})
def ratio_one(rng):
    """The policy has not moved: every ratio is 1."""
    return losses(rng, np.zeros(7), cliprange=0.2)


@case("policy_loss", question="PPO.policy_loss", nudges={"advantages": 1, "log_probs": 1})
def ratios_inside(rng):
    """Some ratios are inside this range and would be outside of the default one, with advantages that a clip would change."""
    weights = np.array([1.0, -1.5, 0.7, -0.6, 2.0], np.float32)
    return losses(rng, [0.1, -0.35, 0.05, -0.02, 0.35], advantages=weights, cliprange=0.5)


@case("policy_loss", question="PPO.policy_loss", nudges={"advantages": 1, "log_probs": 1})
def ratios_on_both_sides(rng):
    """Ratios far below, inside and far above the clip range, each with both signs of advantage."""
    return losses(rng, BOTH_SIDES, advantages=BOTH_SIGNS, cliprange=0.2)


@case("policy_loss", question="PPO.policy_loss")
def ratio_of_one_row(rng):
    return losses(rng, [-0.1], act_dim=2, cliprange=0.2)


@case("policy_loss", question="PPO.policy_loss")
def unlikely_actions(rng):
    """Densities near exp(-125), which is 0 in float32; the ratios are near 1."""
    return losses(rng, [0.1, -0.15, 0.05, -0.02, 0.15], far=9.0, cliprange=0.5)


@case("policy_loss", question="PPO.policy_loss", hidden=True)
def other_unlikely_actions(rng):
    return losses(rng, [-0.12, 0.08, 0.03], act_dim=2, far=11.0, cliprange=0.3)


@case("policy_loss", question="PPO.policy_loss", hidden=True)
def default_range(rng):
    """More rows than a minibatch of the course; the first ratios are 13 and 1/13, with both signs of advantage."""
    inputs = losses(rng, np.concatenate([[2.6, 2.6, -2.6, -2.6], normal(rng, 66, scale=0.5)]))
    inputs["advantages"][:4] = [1.5, -1.5, 1.5, -1.5]
    return inputs


@case("policy_loss", question="PPO.policy_loss", hidden=True)
def narrow_range(rng):
    return losses(rng, normal(rng, 17, scale=0.5), act_dim=2, cliprange=0.05)


@case("policy_loss", question="PPO.policy_loss", hidden=True)
def full_covariance(rng):
    return losses(rng, normal(rng, 11, scale=0.4), act_dim=4, cliprange=0.15, full_covariance=True)


@case("policy_loss", question="PPO.policy_loss", hidden=True)
def everything_clipped(rng):
    """Good actions far more likely and bad ones far less likely than before: nothing is left to push."""
    inputs = losses(rng, np.zeros(8))
    ratios = np.where(inputs["advantages"] > 0, 0.8, -0.8)
    return inputs | dict(log_probs=(inputs["log_probs"] - ratios).astype(np.float32), cliprange=0.2)


@case("policy_loss", question="PPO.policy_loss", hidden=True)
def one_row(rng):
    return losses(rng, [0.35], act_dim=2, cliprange=0.2)


@case("value_loss", question="PPO.value_loss", nudges={"value_targets": 1, "values": 1})
def value_by_hand(rng):
    """V = 2, 0, 5, 1 from V_old = 1, with ε = ½: clipped to 1½, ½, 1½, 1. Targets 3, 3, 0, 1 leave (2¼ + 9 + 25 + 0) / 4."""
    return dict(
        values=np.array([[2.0], [0.0], [5.0], [1.0]], np.float32),
        old_values=np.ones((4, 1), np.float32),
        value_targets=np.array([[3.0], [3.0], [0.0], [1.0]], np.float32),
        cliprange=0.5,
    )


def value_inputs(rng, rows, move, **options):
    old = normal(rng, rows, 1, scale=2)
    return (
        dict(values=old + normal(rng, rows, 1, scale=move), old_values=old, value_targets=old + nonzero(rng, rows, 1)) | options
    )


@case("value_loss", question="PPO.value_loss", nudges={"value_targets": 1, "values": 1, "old_values": 1})
def values_near_the_old(rng):
    return value_inputs(rng, 7, 0.02, cliprange=0.3)


@case("value_loss", question="PPO.value_loss", nudges={"value_targets": 1, "values": 1, "old_values": 1})
def values_far_from_the_old(rng):
    return value_inputs(rng, 12, 1.5, cliprange=0.25)


@case("value_loss", question="PPO.value_loss")
def value_of_one_row(rng):
    return value_inputs(rng, 1, 0.5, cliprange=0.2)


@case("value_loss", question="PPO.value_loss", hidden=True)
def values_default_range(rng):
    return value_inputs(rng, 70, 0.4)


@case("value_loss", question="PPO.value_loss", hidden=True)
def values_both_ways(rng):
    """Values that went past the clip range toward their target, away from it, and beyond it."""
    old = np.zeros((9, 1), np.float32)
    moved = np.array([0.9, 0.9, 0.9, -0.7, -0.7, -0.7, 0.1, 0.1, 0.1], np.float32)[:, None]
    targets = np.array([2.0, -2.0, 0.5, 2.0, -2.0, -0.3, 2.0, -2.0, 0.0], np.float32)[:, None]
    return dict(values=moved, old_values=old, value_targets=targets, cliprange=0.2)


@case("value_loss", question="PPO.value_loss", hidden=True)
def values_one_row(rng):
    return value_inputs(rng, 1, 1.0, cliprange=0.1)


def updates(rng, scales, rows=6, **options):
    return (
        dict(
            policy=normal(rng, 3, 2),
            value=normal(rng, 3, 1),
            observations=[normal(rng, rows, 3) for _ in scales],
            scales=list(scales),
            value_loss_coef=0.25,
        )
        | options
    )


@case("update", question="PPO.step")
def step_with_small_gradients(rng):
    """Gradients shorter than max_grad_norm, which must stay as they are; two steps."""
    return updates(rng, [0.05, -0.1], max_grad_norm=2.0)


@case("update", question="PPO.step")
def step_with_large_gradients(rng):
    return updates(rng, [40.0, -25.0, 60.0], max_grad_norm=0.7)


@case("update", question="PPO.step")
def step_of_single_rows(rng):
    return updates(rng, [0.5, 1.0], rows=1, max_grad_norm=1.0)


@case("update", question="PPO.step", hidden=True)
def step_with_defaults(rng):
    return updates(rng, [0.02, 30.0, 0.03])


@case("update", question="PPO.step", hidden=True)
def step_on_the_value_mostly(rng):
    return updates(rng, [3.0, 0.2, -5.0], rows=9, value_loss_coef=4.0, max_grad_norm=1.3)


# Annealing


@case("annealing", question="anneal_learning_rate")
def annealing_down(rng):
    return dict(rates=[3e-4], interactions=[0, 100, 250, 500, 750], total_interactions=1000)


@case("annealing", question="anneal_learning_rate")
def annealing_to_the_end(rng):
    """Trajectories have fixed lengths, so the last one may begin, or end, beyond the total."""
    return dict(rates=[1e-3, 5.0], interactions=[0, 2048, 4096, 5000, 6144], total_interactions=5000, initial=0.01)


@case("annealing", question="anneal_learning_rate")
def annealing_past_the_end(rng):
    """The last trajectory begins before the end and ends beyond it."""
    return dict(rates=[0.2], interactions=[600, 1100], total_interactions=1000, initial=0.2)


@case("annealing", question="anneal_learning_rate", hidden=True)
def annealing_three_groups(rng):
    return dict(rates=[1.0, 2.0, 3.0], interactions=[700, 100, 100, 999, 3000], total_interactions=1500, initial=0.25)


# All together


@case("one_update", question="one_update")
def one_update(rng):
    """Two episodes of thirty steps and the beginning of a third, in three minibatches, of which one is used."""
    return dict(steps=72, num_minibatches=3, d=2, seed=1, gamma=0.99, lambda_=0.95)
