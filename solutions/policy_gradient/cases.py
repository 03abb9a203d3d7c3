"""Cases of `policy_gradient`. Each makes the inputs of one driver call; `build` adds what the solution answers.

They are chosen so that the known mistakes do not hide (shared reasons, see the catalogue of mistakes): several episodes with
ends inside the batch, an unfinished tail, unequal lengths, values that are clearly not constant, at least five rows, more than
two actions, both signs of reward and advantage, ratios on both sides of the clip range, sizes that are not square.
"""

from itertools import pairwise

import numpy as np

from grader.answers import case


def layers(rng: np.random.Generator, *sizes: int, scale: float = 1.0) -> list[np.ndarray]:
    """Return weights and biases of a network with layers of these sizes, large enough that outputs differ clearly."""
    weights = []
    for fan_in, fan_out in pairwise(sizes):
        weights.append((scale * rng.normal(size=(fan_out, fan_in)) / np.sqrt(fan_in) * 1.5).astype(np.float32))
        weights.append((scale * rng.normal(size=fan_out) * 0.5).astype(np.float32))
    return weights


def normal(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (scale * rng.normal(size=shape)).astype(np.float32)


def nonzero(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return numbers of both signs, none of them near zero."""
    return (rng.choice([-1.0, 1.0], size=shape) * rng.uniform(0.5, 2.0, size=shape)).astype(np.float32)


def weights_of_rows(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Return returns or advantages, of which one is 0 if there are many: its row counts in a mean like any other."""
    values = nonzero(rng, rows, 1)
    values[1 : rows // 7] = 0.0
    return values


def ends(size: int, *last_rows: int) -> np.ndarray:
    return np.isin(np.arange(size), last_rows)


# get_returns


@case("returns", question="get_returns")
def returns_table(rng):
    """The two episodes of machine problem 11."""
    return dict(rewards=np.array([*range(11)] * 2), terminateds=ends(22, 10, 21), discount_factor=0.5)


@case("returns", question="get_returns")
def returns_of_many_rows(rng):
    """A thousand rows and more, as a few of CartPole's episodes have: Python calls no function so deep."""
    # Short episodes, because a loop in a loop takes their length squared.
    return dict(rewards=np.round(normal(rng, 1040), 2), terminateds=ends(1040, *range(129, 1040, 130)), discount_factor=0.9)


@case("returns", question="get_returns", nudges={"rewards": 1})
def returns_one_episode(rng):
    return dict(rewards=normal(rng, 6), terminateds=ends(6, 5), discount_factor=0.8)


@case("returns", question="get_returns", nudges={"rewards": 1})
def returns_several_episodes(rng):
    return dict(rewards=normal(rng, 13), terminateds=ends(13, 3, 4, 9, 12), discount_factor=0.9)


@case("returns", question="get_returns", nudges={"rewards": 1})
def returns_default_discount(rng):
    return dict(rewards=normal(rng, 8), terminateds=ends(8, 2, 7))


@case("returns", question="get_returns", nudges={"rewards": 1})
def returns_tail(rng):
    return dict(rewards=nonzero(rng, 9), terminateds=ends(9, 1, 5), discount_factor=0.6)


@case("returns", question="get_returns")
def returns_no_end(rng):
    """A single episode, which is unfinished."""
    return dict(rewards=nonzero(rng, 6), terminateds=ends(6), discount_factor=0.7)


@case("returns", question="get_returns")
def returns_discount_zero(rng):
    """Where 0 is raised to a power, or divided by itself, there is nan."""
    return dict(rewards=nonzero(rng, 8), terminateds=ends(8, 3, 7), discount_factor=0.0)


@case("returns", question="get_returns", nudges={"rewards": 1})
def returns_discount_one(rng):
    return dict(rewards=nonzero(rng, 8), terminateds=ends(8, 2, 7), discount_factor=1.0)


@case("returns", question="get_returns")
def returns_single_row(rng):
    return dict(rewards=nonzero(rng, 1), terminateds=ends(1, 0), discount_factor=0.9)


@case("returns", question="get_returns", hidden=True)
def returns_not_discounted_otherwise(rng):
    return dict(rewards=nonzero(rng, 11), terminateds=ends(11, 5, 10))


@case("returns", question="get_returns", hidden=True)
def returns_unfinished_tail(rng):
    return dict(rewards=nonzero(rng, 11), terminateds=ends(11, 2, 6), discount_factor=0.7)


@case("returns", question="get_returns", hidden=True)
def returns_without_any_end(rng):
    return dict(rewards=nonzero(rng, 12), terminateds=ends(12), discount_factor=0.85)


@case("returns", question="get_returns", hidden=True)
def returns_one_step(rng):
    return dict(rewards=nonzero(rng, 1), terminateds=ends(1, 0), discount_factor=0.9)


@case("returns", question="get_returns", hidden=True)
def returns_integer_rewards(rng):
    return dict(rewards=rng.integers(-3, 6, size=9), terminateds=ends(9, 4, 8), discount_factor=0.55)


@case("returns", question="get_returns", hidden=True)
def returns_undiscounted(rng):
    return dict(rewards=normal(rng, 7), terminateds=ends(7, 2, 6), discount_factor=1.0)


@case("returns", question="get_returns", hidden=True)
def returns_no_future(rng):
    return dict(rewards=normal(rng, 7), terminateds=ends(7, 2, 6), discount_factor=0.0)


@case("returns", question="get_returns", hidden=True)
def returns_long(rng):
    """Long enough for powers of the discount, or loops over all pairs, to show; random ends, then 200 rows without any."""
    early = rng.random(300) * (np.arange(300) < 99)
    return dict(rewards=normal(rng, 300), terminateds=(early > 0.95) | ends(300, 99), discount_factor=0.97)


# get_vanilla_policy_gradient_loss


def vanilla_inputs(rng, rows, observed, hidden, actions):
    return dict(
        weights=layers(rng, observed, hidden, hidden, actions),
        observation=normal(rng, rows, observed),
        action=rng.integers(actions, size=(rows, 1)),
        return_or_advantage=weights_of_rows(rng, rows),
    )


@case("vanilla_loss", question="get_vanilla_policy_gradient_loss")
def vanilla_course_example(rng):
    """The example of machine problem 11: a network of halves, and the numbers torch drew with seed 0. Its loss is 0.3363."""
    return dict(
        weights=[np.full(shape, 0.5, np.float32) for shape in ((16, 3), (16,), (16, 16), (16,), (2, 16), (2,))],
        observation=np.array(
            [
                [0.49625658988952637, 0.7682217955589294, 0.08847743272781372],
                [0.13203048706054688, 0.30742281675338745, 0.6340786814689636],
                [0.4900934100151062, 0.8964447379112244, 0.455627977848053],
                [0.6323062777519226, 0.3488934636116028, 0.40171730518341064],
            ],
            np.float32,
        ),
        action=np.array([[0], [1], [0], [0]]),
        return_or_advantage=np.array(
            [[0.6976675987243652], [0.800011396408081], [0.16102945804595947], [0.28226858377456665]], np.float32
        ),
        as_in_training=False,
    )


@case("vanilla_loss", question="get_vanilla_policy_gradient_loss", nudges={"return_or_advantage": 1})
def vanilla_batch(rng):
    return vanilla_inputs(rng, 7, 3, 8, 4)


@case("vanilla_loss", question="get_vanilla_policy_gradient_loss")
def vanilla_return_of_zero(rng):
    """A row whose return is 0 counts in the mean like any other."""
    inputs = vanilla_inputs(rng, 6, 3, 8, 4)
    inputs["return_or_advantage"][2] = 0.0
    return inputs


@case("vanilla_loss", question="get_vanilla_policy_gradient_loss", nudges={"return_or_advantage": 1})
def vanilla_positive_returns(rng):
    inputs = vanilla_inputs(rng, 5, 2, 6, 3)
    return inputs | dict(return_or_advantage=np.abs(inputs["return_or_advantage"]))


def far_inputs(rng, rows, observed, hidden, actions, least):
    """A policy whose least likely actions have a log-probability of about `least`; every second row has taken one of them.

    In float32 their probability is 0, and its logarithm is not a number that could be trained on.
    Weights and observations are eighths, scaled by whole numbers, so that float32 holds each logit exactly. Otherwise the
    rounding of logits of 100, which depends on the processor, would show in the likely actions' probabilities.
    """
    inputs = vanilla_inputs(rng, rows, observed, hidden, actions)
    weights = [eighths(value) for value in inputs["weights"]]
    observation = eighths(inputs["observation"])
    scale = np.ceil(least / log_policy(weights, observation).min(axis=1).max())
    weights[-2:] = [(scale * value).astype(np.float32) for value in weights[-2:]]
    logits = log_policy(weights, observation)
    action = np.where(np.arange(rows) % 2, logits.argmin(axis=1), logits.argmax(axis=1))[:, None]
    # Returns that are not large, beside losses that are.
    return inputs | dict(weights=weights, observation=observation, action=action, return_or_advantage=nonzero(rng, rows, 1))


def eighths(values):
    return np.round(8 * values) / 8


@case("vanilla_loss", question="get_vanilla_policy_gradient_loss")
def vanilla_far(rng):
    return far_inputs(rng, 6, 3, 8, 4, least=-150)


@case("vanilla_loss", question="get_vanilla_policy_gradient_loss", hidden=True)
def vanilla_farther(rng):
    return far_inputs(rng, 10, 4, 6, 3, least=-300)


@case("vanilla_loss", question="get_vanilla_policy_gradient_loss")
def vanilla_single_row(rng):
    return vanilla_inputs(rng, 1, 2, 6, 3)


@case("vanilla_loss", question="get_vanilla_policy_gradient_loss", hidden=True)
def vanilla_one_row(rng):
    return vanilla_inputs(rng, 1, 3, 6, 4)


@case("vanilla_loss", question="get_vanilla_policy_gradient_loss", hidden=True)
def vanilla_square(rng):
    """As many rows as actions, where a wrong axis does not crash."""
    return vanilla_inputs(rng, 5, 3, 6, 5)


@case("vanilla_loss", question="get_vanilla_policy_gradient_loss", hidden=True)
def vanilla_large_batch(rng):
    return vanilla_inputs(rng, 64, 4, 10, 6)


# collect_rollouts


def episodes(rng, lengths, observed):
    return dict(
        observations=[normal(rng, length + 1, observed) for length in lengths],
        rewards=[np.asarray(nonzero(rng, length), np.float64) for length in lengths],
    )


@case("rollouts", question="collect_rollouts")
def rollouts_three_episodes(rng):
    return dict(weights=layers(rng, 3, 8, 8, 4, scale=0.7), seed=rng.integers(1000, size=7)) | episodes(rng, [4, 1, 6], 3)


@case("rollouts", question="collect_rollouts", hidden=True)
def rollouts_later(rng):
    """Not the first collection of a training: the progress arguments must not change what is collected."""
    inputs = dict(weights=layers(rng, 2, 6, 6, 2, scale=0.7), seed=rng.integers(1000, size=5), base_rollout=8)
    return inputs | dict(num_total_rollouts=20) | episodes(rng, [3, 5, 2, 21], 2)


@case("long_rollout", question="collect_rollouts")
def rollouts_long(rng):
    """The last episode is longer than any limit that a loop might have of its own."""
    return dict(lengths=[2, 1, 1203])


@case("long_rollout", question="collect_rollouts", hidden=True)
def rollouts_longer(rng):
    return dict(lengths=[1511, 3])


@case("unseeded_rollouts", question="collect_rollouts", hidden=True)
def rollouts_unseeded(rng):
    """Sixty steps with four equally likely actions: that one is missing, or all are repeated, is out of the question."""
    return dict(num_actions=4, length=60)


@case("world_rollouts", question="collect_rollouts", hidden=True)
def rollouts_in_the_plane(rng):
    return dict(weights=layers(rng, 4, 8, 8, 5, scale=0.7), world="plane", num_rollouts=3, seed=rng.integers(1000, size=8))


@case("world_rollouts", question="collect_rollouts", hidden=True)
def rollouts_of_cartpole(rng):
    return dict(weights=layers(rng, 4, 8, 8, 2, scale=0.3), world="cartpole", num_rollouts=2, seed=rng.integers(1000, size=9))


# get_value_net_loss and get_advantages


@case("value_loss", question="get_value_net_loss", nudges={"returns": 1})
def value_loss_batch(rng):
    return dict(weights=layers(rng, 3, 8, 8, 1), observation=normal(rng, 7, 3), returns=nonzero(rng, 7, 1) * 2)


@case("value_loss", question="get_value_net_loss", nudges={"returns": 1})
def value_loss_hand_table(rng):
    """A network that returns its first input plus one: the errors are 1, -2, 3, 0, 2, so the loss is 18 / 5."""
    weights = [np.array([[1.0, 0.0]]), np.zeros(1), np.eye(1), np.zeros(1), np.eye(1), np.ones(1)]
    observation = np.array([[0, 9], [1, 9], [2, 9], [3, 9], [4, 9]])
    returns = np.array([[0], [4], [0], [4], [3]])
    return dict(
        weights=[weight.astype(np.float32) for weight in weights],
        observation=observation.astype(np.float32),
        returns=returns.astype(np.float32),
    )


@case("value_loss", question="get_value_net_loss")
def value_loss_large_errors(rng):
    """Errors of about 30, whose squares count in full."""
    return dict(weights=layers(rng, 3, 8, 8, 1), observation=normal(rng, 5, 3), returns=nonzero(rng, 5, 1) * 30)


@case("value_loss", question="get_value_net_loss")
def value_loss_single_row(rng):
    return dict(weights=layers(rng, 3, 6, 6, 1), observation=normal(rng, 1, 3), returns=nonzero(rng, 1, 1))


@case("value_loss", question="get_value_net_loss", hidden=True)
def value_loss_one_row(rng):
    return dict(weights=layers(rng, 2, 6, 6, 1), observation=normal(rng, 1, 2), returns=nonzero(rng, 1, 1))


@case("value_loss", question="get_value_net_loss", hidden=True)
def value_loss_large_batch(rng):
    return dict(weights=layers(rng, 4, 8, 8, 1), observation=normal(rng, 64, 4), returns=normal(rng, 64, 1, scale=4))


@case("advantages", question="get_advantages", nudges={"returns": 1})
def advantages_batch(rng):
    return dict(weights=layers(rng, 3, 8, 8, 1), observations=normal(rng, 9, 3), returns=normal(rng, 9, 1, scale=3) + 2)


@case("advantages", question="get_advantages", nudges={"returns": 1})
def advantages_hand_table(rng):
    """The network of `value_loss_hand_table`: R - V is 1, -1, 3, -3, so the advantages are these over their deviation."""
    weights = [np.array([[1.0, 0.0]]), np.zeros(1), np.eye(1), np.zeros(1), np.eye(1), np.ones(1)]
    observations, returns = np.array([[0, 5], [1, 5], [2, 5], [3, 5]]), np.array([[2], [1], [6], [1]])
    return dict(
        weights=[weight.astype(np.float32) for weight in weights],
        observations=observations.astype(np.float32),
        returns=returns.astype(np.float32),
    )


def constant(rows, surplus):
    """Returns that exceed V by the same amount everywhere: nothing is better than average."""
    weights = [np.array([[1.0]]), np.zeros(1), np.eye(1), np.zeros(1), np.eye(1), np.ones(1)]
    observations = np.arange(float(rows))[:, None]
    return dict(
        weights=[weight.astype(np.float32) for weight in weights],
        observations=observations.astype(np.float32),
        returns=(observations + surplus).astype(np.float32),
    )


def nearly_equal(rng, rows):
    """Advantages of about a ten-thousandth: a large constant beside the deviation, or a least deviation, would show."""
    weights = [np.zeros((1, 2)), np.zeros(1), np.eye(1), np.zeros(1), np.eye(1), np.ones(1)]
    return dict(
        weights=[weight.astype(np.float32) for weight in weights],
        observations=normal(rng, rows, 2),
        returns=(1 + nonzero(rng, rows, 1) / 8192).astype(np.float32),
    )


def with_outlier(rng, rows, place, outlier):
    """One return is far from all others, and must not be clipped."""
    returns = normal(rng, rows, 1, scale=5) - 3
    returns[place] = outlier
    return dict(weights=layers(rng, 4, 8, 8, 1), observations=normal(rng, rows, 4), returns=returns)


@case("advantages", question="get_advantages")
def advantages_of_equals(rng):
    return constant(5, 3)


@case("advantages", question="get_advantages")
def advantages_nearly_equal(rng):
    return nearly_equal(rng, 6)


@case("advantages", question="get_advantages")
def advantages_outlier(rng):
    return with_outlier(rng, 60, 23, -70)


@case("advantages", question="get_advantages", hidden=True)
def advantages_constant(rng):
    return constant(6, 4)


@case("advantages", question="get_advantages", hidden=True)
def advantages_large(rng):
    return dict(weights=layers(rng, 4, 8, 8, 1), observations=normal(rng, 200, 4), returns=normal(rng, 200, 1, scale=5) - 3)


@case("advantages", question="get_advantages", hidden=True)
def advantages_small_spread(rng):
    return nearly_equal(rng, 8)


@case("advantages", question="get_advantages", hidden=True)
def advantages_far_outlier(rng):
    return with_outlier(rng, 80, 17, 90)


# train_policy_gradient


def training(rng, lengths, **options):
    size = sum(lengths)
    actions = rng.integers(3, size=size)
    return (
        dict(
            lengths=list(lengths),
            actions=actions,
            rewards=nonzero(rng, size).astype(np.float64),
            returns=nonzero(rng, size),
            advantages=nonzero(rng, size),
            # 20 more for the recorded action: another one would be sampled once in a hundred million steps.
            policy_rows=normal(rng, size, 3) + 20 * np.eye(3, dtype=np.float32)[actions],
        )
        | options
    )


@case("train", question="train_policy_gradient.without_critic")
def train_one_batch(rng):
    """One minibatch holds the whole collection, so every number is determined."""
    return training(
        rng,
        [4, 3, 2, 5],
        rollouts=4,
        rollouts_before_training=2,
        training_epochs_per_rollout=2,
        minibatch_size=7,
        critic_loss_multiplier=0.01,
    )


@case("train", question="train_policy_gradient.without_critic")
def train_rounds_up(rng):
    """Five rollouts in collections of two: three collections, six rollouts."""
    return training(
        rng, [3, 2, 4, 3, 2, 4], rollouts=5, rollouts_before_training=2, training_epochs_per_rollout=1, minibatch_size=4
    )


@case("train", question="train_policy_gradient.without_critic")
def train_without_values(rng):
    """A `get_advantages` is given, but no value network that it could be called with."""
    return training(rng, [3, 2], rollouts=2, rollouts_before_training=2, minibatch_size=5) | dict(gives_advantages=True)


@case("train", question="train_policy_gradient.without_critic")
def train_scheduled(rng):
    inputs = training(rng, [3, 5, 4, 4], rollouts=4, rollouts_before_training=2, training_epochs_per_rollout=2)
    return inputs | dict(minibatch_size=3, scheduler=True, ppo_clip=0.15)


@case("train", question="train_policy_gradient.without_critic")
def train_by_default(rng):
    """Nothing but what must be given: the defaults are one rollout, used once, in minibatches of 64 rows."""
    return training(rng, [70, 9])


@case("train", question="train_policy_gradient.without_critic", hidden=True)
def train_with_defaults(rng):
    return training(rng, [81, 5])


@case("train", question="train_policy_gradient.without_critic", hidden=True)
def train_rounds_up_again(rng):
    """Seven rollouts in collections of three: three collections, nine rollouts."""
    inputs = training(rng, [2, 3, 1, 4, 2, 3, 2, 2, 3], rollouts=7, rollouts_before_training=3)
    return inputs | dict(training_epochs_per_rollout=2, minibatch_size=5)


@case("train", question="train_policy_gradient.without_critic", hidden=True)
def train_with_scheduler(rng):
    return training(
        rng,
        [4, 4, 4],
        rollouts=3,
        rollouts_before_training=1,
        training_epochs_per_rollout=2,
        minibatch_size=4,
        scheduler=True,
        ppo_clip=0.35,
    )


@case("train", question="train_policy_gradient.without_critic", hidden=True)
def train_short(rng):
    """A single rollout of a single step, trained on three times."""
    return training(rng, [1], rollouts=1, rollouts_before_training=1, training_epochs_per_rollout=3, minibatch_size=1)


@case("train", question="train_policy_gradient.with_critic")
def train_critic_one_batch(rng):
    inputs = training(rng, [5, 4, 3], rollouts=3, rollouts_before_training=3, training_epochs_per_rollout=3, minibatch_size=12)
    # Large values, so that the critic's loss shows beside the policy's, which is about 100.
    return inputs | dict(value_rows=normal(rng, 12, 1, scale=6), critic_loss_multiplier=0.25)


@case("train", question="train_policy_gradient.with_critic")
def train_critic_minibatches(rng):
    inputs = training(
        rng, [6, 6, 5, 7], rollouts=4, rollouts_before_training=2, training_epochs_per_rollout=2, minibatch_size=4
    )
    return inputs | dict(value_rows=normal(rng, 24, 1), critic_loss_multiplier=0.5)


@case("train", question="train_policy_gradient.with_critic")
def train_critic_by_default(rng):
    """Without a critic_loss_multiplier, it is 0."""
    return training(rng, [66, 4]) | dict(value_rows=normal(rng, 70, 1))


@case("train", question="train_policy_gradient.with_critic", hidden=True)
def train_critic_weighted_zero(rng):
    inputs = training(rng, [4, 5], rollouts=2, rollouts_before_training=1, training_epochs_per_rollout=2, minibatch_size=3)
    return inputs | dict(value_rows=normal(rng, 9, 1), critic_loss_multiplier=0.0)


@case("train", question="train_policy_gradient.with_critic", hidden=True)
def train_critic_heavy(rng):
    inputs = training(rng, [7, 3, 6], rollouts=3, rollouts_before_training=3, training_epochs_per_rollout=2, minibatch_size=5)
    return inputs | dict(value_rows=normal(rng, 16, 1), critic_loss_multiplier=3.0)


@case("train", question="train_policy_gradient.minibatches")
def train_minibatches(rng):
    """Two collections of twenty-two rows in minibatches of eight: the last one has six."""
    inputs = training(rng, [9, 6, 7, 8, 4, 10], rollouts=6, rollouts_before_training=3, training_epochs_per_rollout=3)
    return inputs | dict(value_rows=normal(rng, 44, 1), critic_loss_multiplier=0.5, minibatch_size=8)


@case("train", question="train_policy_gradient.minibatches")
def train_last_minibatch_of_one(rng):
    """Minibatches of four rows. The first collection has three rows, so one minibatch; the second nine, so 4, 4 and 1."""
    return training(rng, [1, 2, 5, 4], rollouts=4, rollouts_before_training=2, training_epochs_per_rollout=2, minibatch_size=4)


@case("train", question="train_policy_gradient.minibatches", hidden=True)
def train_minibatches_divide(rng):
    return training(
        rng, [10, 14, 12, 12], rollouts=4, rollouts_before_training=2, training_epochs_per_rollout=4, minibatch_size=6
    )


@case("train", question="train_policy_gradient.minibatches", hidden=True)
def train_minibatches_of_one(rng):
    inputs = training(rng, [3, 4], rollouts=2, rollouts_before_training=2, training_epochs_per_rollout=2, minibatch_size=1)
    return inputs | dict(value_rows=normal(rng, 7, 1), critic_loss_multiplier=0.5)


# get_PPO_policy_gradient_loss


def ppo_inputs(rng, rows, observed, hidden, actions, move):
    """A policy that has moved by about `move` from the old one, in log-probability."""
    weights = layers(rng, observed, hidden, hidden, actions)
    observation = normal(rng, rows, observed)
    logits = log_policy(weights, observation) + normal(rng, rows, actions, scale=move)
    logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return dict(
        weights=weights,
        observation=observation,
        old_logits=logits.astype(np.float32),
        action=rng.integers(actions, size=(rows, 1)),
        return_or_advantage=weights_of_rows(rng, rows),
    )


def log_policy(weights, observation):
    values = observation.astype(np.float64)
    for index in range(0, len(weights), 2):
        values = values @ weights[index].T + weights[index + 1]
        if index < len(weights) - 2:
            values = np.maximum(values, 0)
    return values - np.log(np.exp(values).sum(axis=1, keepdims=True))


@case("ppo_loss", question="get_PPO_policy_gradient_loss", nudges={"return_or_advantage": 1})
def ppo_before_the_first_step(rng):
    """The old policy is the policy: every ratio is 1."""
    return ppo_inputs(rng, 6, 3, 8, 4, move=0.0) | dict(ppo_clip=0.2)


@case("ppo_loss", question="get_PPO_policy_gradient_loss", nudges={"return_or_advantage": 1, "old_logits": 1})
def ppo_inside_the_range(rng):
    return ppo_inputs(rng, 6, 3, 8, 4, move=0.02) | dict(ppo_clip=0.3)


def with_ratios(inputs, log_ratios):
    """The same policy, with old log-probabilities from which the actions taken have moved by exactly these ratios.

    The action taken is the least likely one, so that its old probability stays below 1, whichever way it moved.
    """
    logits = log_policy(inputs["weights"], inputs["observation"])
    action = logits.argmin(axis=1)[:, None]
    old_chosen = np.exp(np.take_along_axis(logits, action, axis=1) - np.reshape(log_ratios, (-1, 1)))
    others = np.exp(logits)
    np.put_along_axis(others, action, 0.0, axis=1)
    old = others / others.sum(axis=1, keepdims=True) * (1 - old_chosen)
    np.put_along_axis(old, action, old_chosen, axis=1)
    return inputs | dict(action=action, old_logits=np.log(old).astype(np.float32))


@case("ppo_loss", question="get_PPO_policy_gradient_loss", nudges={"return_or_advantage": 1, "old_logits": 1})
def ppo_both_sides(rng):
    """Ratios far below, inside and far above the clip range, each with both signs of advantage."""
    inputs = ppo_inputs(rng, 12, 3, 8, 4, move=0.0)
    advantages = np.repeat([1.5, -0.75], 6)[:, None].astype(np.float32)
    inputs = with_ratios(inputs, np.tile([-0.9, 0.05, 1.3, -0.4, -0.05, 0.4], 2))
    return inputs | dict(return_or_advantage=advantages, ppo_clip=0.27)


def far_ratios(inputs, log_ratios):
    """The policy of `far_inputs`, and old log-probabilities from which those of the actions taken have moved a little."""
    old = log_policy(inputs["weights"], inputs["observation"])
    chosen = np.take_along_axis(old, inputs["action"], axis=1)
    # A likely action cannot have been much likelier.
    moved = np.where(chosen < -1, chosen - np.reshape(log_ratios, (-1, 1)), chosen)
    np.put_along_axis(old, inputs["action"], moved, axis=1)
    return inputs | dict(old_logits=old.astype(np.float32))


@case("ppo_loss", question="get_PPO_policy_gradient_loss")
def ppo_far(rng):
    return far_ratios(far_inputs(rng, 6, 3, 8, 4, least=-150), [0.0, 0.1, 0.0, -0.08, 0.0, 0.6]) | dict(ppo_clip=0.3)


@case("ppo_loss", question="get_PPO_policy_gradient_loss", hidden=True)
def ppo_farther(rng):
    return far_ratios(far_inputs(rng, 8, 2, 6, 3, least=-300), [0, -0.5, 0, 0.12, 0, 0.7, 0, -0.1]) | dict(ppo_clip=0.15)


@case("ppo_loss", question="get_PPO_policy_gradient_loss", nudges={"return_or_advantage": 1})
def ppo_without_a_range(rng):
    """Ratios between the clip ranges that one might think are the default, and beyond, with the signs that clip them."""
    inputs = ppo_inputs(rng, 10, 3, 8, 4, move=0.0)
    advantages = np.repeat([1.5, -0.75], 5)[:, None].astype(np.float32)
    inputs = with_ratios(inputs, np.concatenate([[0.08, 0.15, 0.25, 0.35, 0.9], [-0.08, -0.15, -0.3, -0.5, -0.9]]))
    return inputs | dict(return_or_advantage=advantages)


@case("ppo_loss", question="get_PPO_policy_gradient_loss")
def ppo_single_row(rng):
    return ppo_inputs(rng, 1, 2, 6, 3, move=0.05) | dict(ppo_clip=0.2)


@case("ppo_loss", question="get_PPO_policy_gradient_loss")
def ppo_wide_clip(rng):
    """A range that clips nothing but a ratio of 15, of a good action: others are 0.1, 1.1 and 9."""
    inputs = ppo_inputs(rng, 8, 3, 8, 16, move=0.0)
    advantages = np.repeat([1.5, -0.75], 4)[:, None].astype(np.float32)
    return with_ratios(inputs, np.tile([2.7, -2.3, 0.1, 2.2], 2)) | dict(return_or_advantage=advantages, ppo_clip=10.0)


@case("ppo_loss", question="get_PPO_policy_gradient_loss", hidden=True)
def ppo_another_wide_clip(rng):
    inputs = with_ratios(ppo_inputs(rng, 12, 2, 6, 16, move=0.0), np.tile([2.4, -2.2, 0.6, 1.9], 3))
    return inputs | dict(return_or_advantage=nonzero(rng, 12, 1), ppo_clip=8.0)


@case("ppo_loss", question="get_PPO_policy_gradient_loss", hidden=True)
def ppo_default_clip(rng):
    return ppo_inputs(rng, 16, 3, 8, 4, move=0.6)


@case("ppo_loss", question="get_PPO_policy_gradient_loss", hidden=True)
def ppo_narrow_clip(rng):
    return ppo_inputs(rng, 16, 2, 8, 5, move=0.6) | dict(ppo_clip=0.05)


@case("ppo_loss", question="get_PPO_policy_gradient_loss", hidden=True)
def ppo_one_row(rng):
    return ppo_inputs(rng, 1, 3, 6, 4, move=0.1) | dict(ppo_clip=0.25)


@case("ppo_loss", question="get_PPO_policy_gradient_loss", hidden=True)
def ppo_all_clipped(rng):
    """Good actions far more likely and bad ones far less likely than before: nothing is left to push."""
    inputs = ppo_inputs(rng, 8, 3, 8, 4, move=0.0)
    return with_ratios(inputs, np.where(inputs["return_or_advantage"] > 0, 0.8, -0.8)) | dict(ppo_clip=0.2)


# One update with all functions together


@case("one_update", question="one_update")
def update_vanilla(rng):
    inputs = dict(loss="get_vanilla_policy_gradient_loss", rollouts=4, epochs=1, critic_loss_multiplier=0.5)
    return inputs | dict(seed=rng.integers(1000, size=40))


@case("one_update", question="one_update")
def update_ppo(rng):
    inputs = dict(loss="get_PPO_policy_gradient_loss", rollouts=4, epochs=3, critic_loss_multiplier=0.5)
    return inputs | dict(seed=rng.integers(1000, size=40))


@case("one_update", question="one_update")
def update_without_critic_loss(rng):
    inputs = dict(loss="get_vanilla_policy_gradient_loss", rollouts=2, epochs=1, critic_loss_multiplier=0.0)
    return inputs | dict(seed=rng.integers(1000, size=40))
