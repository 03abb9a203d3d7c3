"""Visible checks of `policy_gradient`: what a student gets. Their cases and answers are in solution.json."""

from grader.judge import points
from grader.judge.views import aligned, only, row_gradients, rows_once, shuffled
from views import gradient, loss, population_std

# get_returns


@points(2, question="get_returns")
def test_returns_by_hand(student):
    """Two episodes with rewards 0 to 10 and discount 0.5: the returns begin with 1.9883, 3.9766, 5.9531."""
    student.expect("returns_table", only("returns"))


@points(1, question="get_returns")
def test_one_episode(student):
    """Each row's return is its reward plus the discounted return of the next row."""
    student.expect("returns_one_episode", only("returns"))


@points(2, question="get_returns")
def test_several_episodes(student):
    """A return never contains rewards of the next episode, and always its own terminal reward."""
    student.expect("returns_several_episodes", only("returns"))


@points(1, question="get_returns")
def test_default_discount(student):
    """Without a discount factor, 0.95 is used."""
    student.expect("returns_default_discount", only("returns"))


# get_vanilla_policy_gradient_loss


@points(2, question="get_vanilla_policy_gradient_loss")
def test_vanilla_by_hand(student):
    """Four rows, two actions and a network whose weights are all 0.5 give 0.3363."""
    student.expect("vanilla_seed_example", loss)


@points(2, question="get_vanilla_policy_gradient_loss")
def test_vanilla_value(student):
    """The loss is minus the mean, over the batch, of log-probability of the action taken times return."""
    student.expect("vanilla_batch", loss)


@points(2, question="get_vanilla_policy_gradient_loss")
def test_vanilla_gradient(student):
    """Descending the loss makes rewarded actions more likely: its gradient reaches every layer of the policy."""
    student.expect("vanilla_positive_returns", gradient)


# collect_rollouts


@points(1, question="collect_rollouts")
def test_rewards_and_ends(student):
    """A row holds the reward of its action, and whether that action ended the episode."""
    student.expect("rollouts_three_episodes", only("rewards", "terminateds"))


@points(2, question="collect_rollouts")
def test_rows_belong_together(student):
    """A row holds the observation that the policy saw, and the logits it answered with."""
    student.expect("rollouts_three_episodes", only("observations", "old_logits"))


@points(1, question="collect_rollouts")
def test_actions(student):
    """Actions are sampled once a step by utils.distribution_sample with the seed, played, and stored."""
    student.expect("rollouts_three_episodes", only("actions", "actions that were played"))


@points(1, question="collect_rollouts")
def test_seed_goes_on(student):
    """Every draw takes the seed's ring one further, from step to step and rollout to rollout."""
    student.expect("rollouts_three_episodes", only("seed array afterwards"))


@points(1, question="collect_rollouts")
def test_final_reward(student):
    """The second value is the mean of the last reward of each rollout."""
    student.expect("rollouts_three_episodes", only("mean final reward"))


# get_value_net_loss


@points(1, question="get_value_net_loss")
def test_value_loss_by_hand(student):
    """Errors of 1, -2, 3, 0 and 2 give a loss of 18 / 5."""
    student.expect("value_loss_hand_table", loss)


@points(2, question="get_value_net_loss")
def test_value_loss_value(student):
    """The loss is the mean over the rows of the squared error between V(s) and the return."""
    student.expect("value_loss_batch", loss)


@points(2, question="get_value_net_loss")
def test_value_loss_gradient(student):
    """The gradient of the loss reaches every layer of the value network."""
    student.expect("value_loss_batch", gradient)


# get_advantages


@points(2, question="get_advantages")
def test_advantages_by_hand(student):
    """R - V of 1, -1, 3 and -3 has mean 0, and is divided by its standard deviation."""
    student.expect("advantages_hand_table", only("advantages"), also=population_std)


@points(2, question="get_advantages")
def test_advantages(student):
    """Advantages are R - V(s), minus their mean, divided by their standard deviation."""
    student.expect("advantages_batch", only("advantages"), also=population_std)


@points(1, question="get_advantages")
def test_advantages_are_data(student):
    """Right advantages carry no gradient, and what they are made of stays as it was."""
    student.expect("advantages_batch", also=population_std)


# train_policy_gradient


@points(2, question="train_policy_gradient.without_critic")
def test_policy_follows_its_loss(student):
    """Every minibatch updates the policy once, by the gradient of the given loss on returns."""
    student.expect("train_one_batch", row_gradients)


@points(1, question="train_policy_gradient.without_critic")
def test_policy_moves(student):
    """After training, the policy has moved by the sum of all updates, downhill."""
    # Changes are at least 0.002, and known to 0.000002: the weights are about 20, in float32.
    student.expect("train_one_batch", only("change of the weights"), atol=1e-5, rtol=1e-3)


@points(1, question="train_policy_gradient.without_critic")
def test_actor_losses(student):
    """The first list holds the policy's loss of each minibatch."""
    student.expect("train_one_batch", only("actor losses"))


@points(1, question="train_policy_gradient.without_critic")
def test_whole_collections(student):
    """Rollouts are rounded up to whole collections, each of which adds one final reward."""
    student.expect("train_rounds_up", only("episodes begun", "final rewards"))


@points(2, question="train_policy_gradient.with_critic")
def test_trains_on_advantages(student):
    """With a value network, the policy's loss gets the advantages of its rows."""
    student.expect("train_critic_one_batch", aligned("return_or_advantage"))


@points(2, question="train_policy_gradient.with_critic")
def test_both_networks_are_updated(student):
    """The same updates train the value network, by its own loss times critic_loss_multiplier."""
    student.expect("train_critic_minibatches", row_gradients)


@points(1, question="train_policy_gradient.with_critic")
def test_critic_losses(student):
    """The first list holds the policy's loss of each minibatch, the second the value network's."""
    student.expect(
        "train_critic_one_batch",
        only("actor losses", "critic losses"),
        # With or without the multiplier: the text does not say.
        also=lambda expected: expected | {"critic losses": [0.25 * loss for loss in expected["critic losses"]]},
    )


@points(2, question="train_policy_gradient.minibatches")
def test_each_row_once_an_epoch(student):
    """Every epoch uses every row once, in minibatches of the given size and one shorter at the end."""
    student.expect("train_minibatches", rows_once([22], epochs=3))


@points(1, question="train_policy_gradient.minibatches")
def test_shuffled(student):
    """Minibatches are drawn at random, anew in every epoch."""
    student.expect("train_minibatches", shuffled([22], epochs=3))


@points(1, question="train_policy_gradient.minibatches")
def test_rows_stay_aligned(student):
    """The losses get action, old logits, return and advantage of the same rows as the observation."""
    student.expect("train_minibatches", aligned("action", "old_logits", "returns", "return_or_advantage"))


# get_PPO_policy_gradient_loss


@points(1, question="get_PPO_policy_gradient_loss")
def test_ratio_is_one_at_first(student):
    """While the policy has not moved every ratio is 1, and the loss is minus the mean advantage."""
    student.expect("ppo_before_the_first_step", loss)


@points(1, question="get_PPO_policy_gradient_loss")
def test_inside_the_range(student):
    """Inside the clip range the loss is minus the mean of ratio times advantage."""
    student.expect("ppo_inside_the_range", loss)


@points(2, question="get_PPO_policy_gradient_loss")
def test_clipped_value(student):
    """Outside the range, the smaller of the clipped and the unclipped product counts."""
    student.expect("ppo_both_sides", loss)


@points(2, question="get_PPO_policy_gradient_loss")
def test_clipped_gradient(student):
    """Rows whose product is clipped push the policy no further; the others do."""
    student.expect("ppo_both_sides", gradient)


# Learning. `verify --flake 200`: of 200 gradings of the solution, and of 200 of its alternatives, none fails; of 200 of agents
# that cannot learn, none passes (benchmarks/results/policy_gradient_flake.json). Each grading may try two seeds.

LEARNED = 0.5  # an untrained policy ends on its target in 14 to 28 of 100 episodes


def learns(student, kit, **setting):
    """Train with up to two seeds, because a single short run of a right solution can fail; play without student code."""
    rates, seeds = [], student.seeds(2)
    for seed in seeds:
        facts = student.call("learn", seed=seed, **setting)
        weights = facts["weights"]
        student.curve(f"mean final reward, seed {seed}", facts.get("final rewards"))
        rates.append(kit.call("play", weights=weights, seed=seed)["success rate"])
        if rates[-1] >= LEARNED:
            return
    tried = " and ".join(map(str, seeds))
    raise AssertionError(f"it ended on its target in {rates} of the episodes (seeds {tried}), expected {LEARNED} or more")


@points(1, question="learning_vanilla")
def test_learns_with_the_vanilla_loss(student, kit):
    """800 short rollouts on a line of five cells teach the policy to end on its target."""
    learns(student, kit, loss="get_vanilla_policy_gradient_loss", rollouts=800, epochs=1)


@points(1, question="learning_ppo")
def test_learns_with_ppo(student, kit):
    """400 short rollouts, each used four times, teach the policy to end on its target."""
    learns(student, kit, loss="get_PPO_policy_gradient_loss", rollouts=400, epochs=4)
