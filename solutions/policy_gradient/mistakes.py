"""Mistakes of `policy_gradient`, each with the hint that a good tutor gives: a question, not the answer.

`verify` proves that each loses points on its question. `build` stores what the checks see of each, so
that students who make the same mistake get its hint. If several mistakes explain a student's results,
the first hint in this file is shown: general mistakes come first.
"""

import numpy as np
import torch
from torch import nn

import utils
from grader.proof.catalogue import altered, mistake, placement

# get_returns


def backwards(rollout_buffer, discount_factor, cut=True):
    """Return the correct returns as a list, from which several mistakes start."""
    returns, future = [], 0.0
    for reward, terminated in zip(
        rollout_buffer.rewards.tolist()[::-1], rollout_buffer.terminateds.tolist()[::-1], strict=True
    ):
        future = reward + discount_factor * (0.0 if terminated and cut else future)
        returns.insert(0, future)
    return returns


def segments(rollout_buffer):
    """Return (first row, row after the last) of every episode, including the unfinished one."""
    ends = [row + 1 for row, terminated in enumerate(rollout_buffer.terminateds.tolist()) if terminated]
    size = rollout_buffer.final_size
    ends += [size] if not ends or ends[-1] < size else []
    return zip([0, *ends[:-1]], ends, strict=True)


def column(returns):
    return torch.tensor(returns, dtype=torch.float32).unsqueeze(1)


@mistake(
    "get_returns", hint="Going backwards, what should the running sum be when you enter another episode?", source="student code"
)
def returns_run_into_the_next_episode(rollout_buffer, discount_factor=0.95):
    return column(backwards(rollout_buffer, discount_factor, cut=False))


@mistake(
    "get_returns",
    hint="At a terminated row, which comes first: setting the future return to 0, or adding the reward?",
    source="student code",
)
def terminal_reward_is_lost(rollout_buffer, discount_factor=0.95):
    returns, future = [], 0.0
    for row in reversed(range(rollout_buffer.final_size)):
        future = rollout_buffer.rewards[row].item() + discount_factor * future
        returns.insert(0, future)
        if rollout_buffer.terminateds[row]:
            future = 0.0
    return column(returns)


@mistake("get_returns", hint="What does your loop do with the rows after the last terminated row?", source="student code")
def tail_has_no_end(rollout_buffer, discount_factor=0.95):
    returns, terminateds = [], rollout_buffer.terminateds.tolist()
    for row in range(rollout_buffer.final_size):
        end = terminateds.index(True, row)
        returns.append(sum(discount_factor**k * r for k, r in enumerate(rollout_buffer.rewards[row : end + 1].tolist())))
    return column(returns)


@mistake("get_returns", hint="Which rewards belong to the return of a row in the last, unfinished episode?")
def tail_stays_zero(rollout_buffer, discount_factor=0.95):
    returns = backwards(rollout_buffer, discount_factor)
    ends = [row for row, terminated in enumerate(rollout_buffer.terminateds.tolist()) if terminated]
    last = ends[-1] if ends else -1
    return column([value if row <= last else 0.0 for row, value in enumerate(returns)])


@mistake(
    "get_returns",
    hint="From which row do you count the power of γ: the first row of the buffer, or the row whose return you compute?",
    source="student code",
)
def discount_by_absolute_time(rollout_buffer, discount_factor=0.95):
    returns = backwards(rollout_buffer, discount_factor)
    return column([discount_factor**row * value for row, value in enumerate(returns)])


@mistake(
    "get_returns",
    hint="From which row do you count the power of γ: the first row of the episode, or the row whose return you compute?",
)
def discount_by_time_in_the_episode(rollout_buffer, discount_factor=0.95):
    returns = backwards(rollout_buffer, discount_factor)
    for start, end in segments(rollout_buffer):
        returns[start:end] = [discount_factor**k * value for k, value in enumerate(returns[start:end])]
    return column(returns)


@mistake("get_returns", hint="In R_t, by which power of γ is r_t multiplied?", source="student code")
def exponent_starts_at_one(rollout_buffer, discount_factor=0.95):
    return column([discount_factor * value for value in backwards(rollout_buffer, discount_factor)])


@mistake("get_returns", hint="Can an action change rewards that came before it?", source="student code")
def whole_episode_at_every_row(rollout_buffer, discount_factor=0.95):
    returns = backwards(rollout_buffer, discount_factor)
    for start, end in segments(rollout_buffer):
        returns[start:end] = [returns[start]] * (end - start)
    return column(returns)


@mistake("get_returns", hint="Which rewards does the return of a row contain: those before the row, or those after it?")
def sums_the_past(rollout_buffer, discount_factor=0.95):
    returns, past = [], 0.0
    for reward, terminated in zip(rollout_buffer.rewards.tolist(), rollout_buffer.terminateds.tolist(), strict=True):
        past = reward + discount_factor * past
        returns.append(past)
        past = 0.0 if terminated else past
    return column(returns)


@mistake("get_returns", hint="If you go through the rows backwards, in which order are the returns in your list?")
def left_in_reverse_order(rollout_buffer, discount_factor=0.95):
    return column(backwards(rollout_buffer, discount_factor)[::-1])


@mistake("get_returns", hint="Where in your sum do you use the discount factor?")
def never_discounted(rollout_buffer, discount_factor=0.95):
    return column(backwards(rollout_buffer, 1.0))


@mistake("get_returns", hint="Do you use the discount factor that your function receives, or a constant?")
def own_discount_factor(rollout_buffer, discount_factor=0.95):
    return column(backwards(rollout_buffer, 0.95))


@mistake("get_returns", hint="What is the default value of discount_factor in the stub?")
def other_default_discount(rollout_buffer, discount_factor=0.99):
    return column(backwards(rollout_buffer, discount_factor))


@mistake("get_returns", hint="How many of the later rewards does your sum contain, and how many should it contain?")
def next_reward_only(rollout_buffer, discount_factor=0.95):
    rewards, terminateds = rollout_buffer.rewards.tolist(), rollout_buffer.terminateds.tolist()
    following = [*rewards[1:], 0.0]
    return column([r + discount_factor * n * (not t) for r, n, t in zip(rewards, following, terminateds, strict=True)])


@mistake("get_returns", hint="What does a return contain in addition to the reward of its own row?")
def rewards_are_returned(rollout_buffer, discount_factor=0.95):
    return column(rollout_buffer.rewards.tolist())


@mistake("get_returns", hint="What dtype does the array that holds your returns have?", source="student code")
def cut_to_integers(rollout_buffer, discount_factor=0.95):
    returns = np.zeros_like(rollout_buffer.rewards.numpy())
    future = 0.0
    for row in reversed(range(rollout_buffer.final_size)):
        future = rollout_buffer.rewards[row].item() + discount_factor * (0.0 if rollout_buffer.terminateds[row] else future)
        returns[row] = future
    return column(returns.tolist())


@mistake(
    "get_returns",
    hint="What shape does the product of your result and log-probabilities of shape [T, 1] have?",
    source="student code",
    form=True,
)
def returns_have_no_columns(rollout_buffer, discount_factor=0.95):
    return column(backwards(rollout_buffer, discount_factor)).squeeze(1)


@mistake("get_returns", hint="What happens when the policy loss, which uses tensors, gets a NumPy array?", form=True)
def returns_are_an_array(rollout_buffer, discount_factor=0.95):
    return column(backwards(rollout_buffer, discount_factor)).numpy()


@mistake("get_returns", hint="What dtype do the networks use, and what dtype do your returns have?", form=True)
def returns_in_double_precision(rollout_buffer, discount_factor=0.95):
    return column(backwards(rollout_buffer, discount_factor)).double()


@mistake("get_returns", hint="What does your loop do with the rows after the last terminated row?", source="student code")
def search_runs_off_the_end(rollout_buffer, discount_factor=0.95):
    rewards, terminateds, returns = rollout_buffer.rewards, rollout_buffer.terminateds, []
    for row in range(len(rewards)):
        end = row
        while not terminateds[end]:
            end += 1
        returns.append(sum(discount_factor**k * rewards[row + k].item() for k in range(end - row + 1)))
    return column(returns)


@mistake("get_returns", hint="What dtype does the tensor that holds your returns have?", source="student code")
def returns_like_integer_rewards(rollout_buffer, discount_factor=0.95):
    returns = torch.zeros_like(rollout_buffer.rewards)
    for row, value in enumerate(backwards(rollout_buffer, discount_factor)):
        returns[row] = value
    return returns.unsqueeze(1)


@mistake("get_returns", hint="Which axis of your result has the rows, and which axis should have them?", form=True)
def returns_lie_in_one_row(rollout_buffer, discount_factor=0.95):
    return column(backwards(rollout_buffer, discount_factor)).T


@mistake("get_returns", hint="If no row is terminated, which rows do you go through?", source="student code")
def unfinished_buffer_left_at_zero(rollout_buffer, discount_factor=0.95):
    if not rollout_buffer.terminateds.any():
        return torch.zeros(rollout_buffer.final_size, 1)
    return column(backwards(rollout_buffer, discount_factor))


@mistake("get_returns", hint="Is the reward of a row itself part of its return?")
def own_reward_left_out(rollout_buffer, discount_factor=0.95):
    returns = backwards(rollout_buffer, discount_factor)
    return column([value - reward for value, reward in zip(returns, rollout_buffer.rewards.tolist(), strict=True)])


@mistake("get_returns", hint="What is the return of a terminated row: 0, or its reward?")
def terminal_row_is_worth_nothing(rollout_buffer, discount_factor=0.95):
    returns, future = [], 0.0
    for reward, terminated in zip(
        rollout_buffer.rewards.tolist()[::-1], rollout_buffer.terminateds.tolist()[::-1], strict=True
    ):
        future = 0.0 if terminated else reward + discount_factor * future
        returns.insert(0, future)
    return column(returns)


kept_returns = []


@mistake("get_returns", hint="If you call your function twice, what is left over from the first call?")
def returns_pile_up_from_call_to_call(rollout_buffer, discount_factor=0.95):
    kept_returns.extend(backwards(rollout_buffer, discount_factor))
    return column(kept_returns)


@mistake(
    "get_returns",
    hint="If one buffer is passed twice, with two discount factors, which of the two do your returns of the second call use?",
    source="student code",
)
def returns_kept_with_the_buffer(rollout_buffer, discount_factor=0.95):
    if not hasattr(rollout_buffer, "returns"):
        rollout_buffer.returns = column(backwards(rollout_buffer, discount_factor))
    return rollout_buffer.returns


known_discounts = {}


@mistake(
    "get_returns",
    hint="If the discount factor differs from that of the previous call, which of the two discount factors do your powers use?",
    source="student code",
)
def discounts_of_another_call(rollout_buffer, discount_factor=0.95):
    size = rollout_buffer.final_size
    if size not in known_discounts:
        known_discounts[size] = [discount_factor**power for power in range(size)]
    rewards = rollout_buffer.rewards.tolist()
    return column(
        [
            sum(power * reward for power, reward in zip(known_discounts[size], rewards[row:end], strict=False))
            for start, end in segments(rollout_buffer)
            for row in range(start, end)
        ]
    )


@mistake("get_returns", hint="What do the buffer's rewards contain after your function has run?", form=True)
def returns_overwrite_the_rewards(rollout_buffer, discount_factor=0.95):
    returns = column(backwards(rollout_buffer, discount_factor))
    rollout_buffer.rewards[:] = returns.squeeze(1)
    return returns


@placement("returns_overwrite_the_rewards", "by a tensor of the same memory")
def returns_share_memory_with_the_rewards(rollout_buffer, discount_factor=0.95):
    returns = rollout_buffer.rewards.float()
    for row in reversed(range(len(returns) - 1)):
        if not rollout_buffer.terminateds[row]:
            returns[row] += discount_factor * returns[row + 1]
    return returns.clone().unsqueeze(1)


@mistake("get_returns", hint="What does your formula divide by when the discount factor is 0?")
def returns_by_quotients_of_powers(rollout_buffer, discount_factor=0.95):
    returns = torch.zeros(rollout_buffer.final_size, dtype=torch.float64)
    for start, end in segments(rollout_buffer):
        powers = torch.tensor(discount_factor, dtype=torch.float64) ** torch.arange(end - start)
        discounted = rollout_buffer.rewards[start:end] * powers
        returns[start:end] = discounted.flip(0).cumsum(0).flip(0) / powers
    return returns.float().unsqueeze(1)


@mistake("get_returns", hint="What happens when the policy loss, which uses tensors, gets a Python list?", form=True)
def returns_are_a_list(rollout_buffer, discount_factor=0.95):
    return backwards(rollout_buffer, discount_factor)


# get_vanilla_policy_gradient_loss


vanilla_uphill = altered(
    "get_vanilla_policy_gradient_loss",
    {"return -(log_prob": "return (log_prob"},
    hint="If the optimizer minimizes your loss, do actions with a large return become more likely, or less likely?",
    source="student code",
    learns=False,
)


@mistake(
    "get_vanilla_policy_gradient_loss",
    hint="Which operations connect your loss to the network's weights?",
    source="student code",
    learns=False,
)
def vanilla_loss_is_rebuilt(policy, observation, action, return_or_advantage, **kwargs):
    log_prob = [row[index].item() for row, index in zip(policy(observation), action.squeeze(1), strict=True)]
    return -(torch.tensor(log_prob, requires_grad=True).unsqueeze(1) * return_or_advantage).mean()


vanilla_all_actions = altered(
    "get_vanilla_policy_gradient_loss",
    {"policy(observation).gather(1, action)": "policy(observation)"},
    hint="Which of the log-probabilities belongs to the action that was taken?",
    source="student code",
)


vanilla_likeliest_action = altered(
    "get_vanilla_policy_gradient_loss",
    {"policy(observation).gather(1, action)": "policy(observation).max(dim=1, keepdim=True).values"},
    hint="Which action does the return belong to: the most likely action, or the action that was taken?",
)


@mistake(
    "get_vanilla_policy_gradient_loss",
    hint="What does your mean divide by: the number of rows, or rows times actions?",
)
def vanilla_mean_over_actions_too(policy, observation, action, return_or_advantage, **kwargs):
    log_prob = policy(observation)
    taken = nn.functional.one_hot(action.squeeze(1), log_prob.shape[1])
    return -(log_prob * taken * return_or_advantage).mean()


vanilla_every_row_with_every_other = altered(
    "get_vanilla_policy_gradient_loss",
    {"policy(observation).gather(1, action)": "policy(observation).gather(1, action).squeeze(1)"},
    hint="Is each log-probability multiplied by the return of its own row only? Which shape does the product have?",
    source="student code",
)


@mistake(
    "get_vanilla_policy_gradient_loss",
    hint="Along which axis should the probabilities sum to 1: over the actions, or over the batch?",
    source="student code",
)
def vanilla_softmax_over_the_batch(policy, observation, action, return_or_advantage, **kwargs):
    log_prob = torch.log_softmax(policy(observation), dim=0)
    return -(log_prob.gather(1, action) * return_or_advantage).mean()


@mistake(
    "get_vanilla_policy_gradient_loss",
    hint="Which axes does squeeze() remove if the batch has one row?",
    source="student code",
)
def vanilla_squeezes_one_row(policy, observation, action, return_or_advantage, **kwargs):
    cross_entropy = nn.functional.nll_loss(policy(observation), action.squeeze(), reduction="none")
    return (cross_entropy.unsqueeze(1) * return_or_advantage).mean()


vanilla_every_row_with_every_action = altered(
    "get_vanilla_policy_gradient_loss",
    {"policy(observation).gather(1, action)": "policy(observation)[:, action.squeeze(1)]"},
    hint="What shape do your log-probabilities have if you index them with [:, actions]?",
    source="student code",
)

vanilla_every_action_in_every_row = altered(
    "get_vanilla_policy_gradient_loss",
    {"policy(observation).gather(1, action)": "policy(observation)[:, action]"},
    hint="What is the shape of your log-probabilities, and do some of them belong to the actions of other rows?",
    source="student code",
    placements={
        "by a distribution": {
            "policy(observation).gather(1, action)": ""
            "torch.distributions.Categorical(logits=policy(observation)).log_prob(action)"
        },
        "by a distribution, with one more axis": {
            "policy(observation).gather(1, action)": ""
            "torch.distributions.Categorical(logits=policy(observation)).log_prob(action).unsqueeze(1)"
        },
    },
)

vanilla_mean_of_the_rows_with_a_return = altered(
    "get_vanilla_policy_gradient_loss",
    {"-(log_prob * return_or_advantage).mean()": "-(log_prob * return_or_advantage).sum() / (return_or_advantage != 0).sum()"},
    hint="By how many rows do you divide if some of the returns are 0?",
    source="student code",
)

vanilla_without_logarithm = altered(
    "get_vanilla_policy_gradient_loss",
    {"policy(observation).gather(1, action)": "policy(observation).exp().gather(1, action)"},
    hint="Does the formula contain the probability, or its logarithm?",
)


vanilla_logarithm_twice = altered(
    "get_vanilla_policy_gradient_loss",
    {"policy(observation).gather(1, action)": "torch.log(policy(observation)).gather(1, action)"},
    hint="What does a second logarithm do to the log-probabilities that the policy returns?",
)


vanilla_logarithms_as_probabilities = altered(
    "get_vanilla_policy_gradient_loss",
    {
        "policy(observation).gather(1, action)": ""
        "torch.distributions.Categorical(policy(observation)).log_prob(action[:, 0])[:, None]"
    },
    hint="What is the first argument of Categorical: probabilities, or logits?",
    source="student code",
)

vanilla_sum = altered(
    "get_vanilla_policy_gradient_loss",
    {".mean()": ".sum()"},
    hint="Does the formula contain a sum or a mean over the batch?",
)


@mistake(
    "get_vanilla_policy_gradient_loss", hint="Does the formula of the loss standardize the returns, or use them as they are?"
)
def vanilla_standardizes_again(policy, observation, action, return_or_advantage, **kwargs):
    weight = (return_or_advantage - return_or_advantage.mean()) / (return_or_advantage.std() + 1e-8)
    return -(policy(observation).gather(1, action) * weight).mean()


vanilla_gathers_along_the_batch = altered(
    "get_vanilla_policy_gradient_loss",
    {"policy(observation).gather(1, action)": "policy(observation).gather(0, action)"},
    hint="Along which axis must gather select: the rows of the batch, or the actions?",
)


@mistake(
    "get_vanilla_policy_gradient_loss",
    hint="Which term of your loss is not in the formula?",
)
def vanilla_with_entropy_bonus(policy, observation, action, return_or_advantage, **kwargs):
    log_prob = policy(observation)
    entropy = -(log_prob.exp() * log_prob).sum(dim=1).mean()
    return -(log_prob.gather(1, action) * return_or_advantage).mean() - 0.01 * entropy


vanilla_sum_of_all_actions = altered(
    "get_vanilla_policy_gradient_loss",
    {"policy(observation).gather(1, action)": "policy(observation).sum(dim=1, keepdim=True)"},
    hint="Which of the log-probabilities belongs to the action that was taken?",
)


@mistake("get_vanilla_policy_gradient_loss", hint="How many numbers does your loss contain, and how many should it contain?")
def vanilla_without_mean(policy, observation, action, return_or_advantage, **kwargs):
    return -policy(observation).gather(1, action) * return_or_advantage


@mistake(
    "get_vanilla_policy_gradient_loss",
    hint="If a probability underflows to 0 in float32, what is its logarithm, and which tensor already holds log π?",
    source="student code",
)
def vanilla_logarithm_of_softmax(policy, observation, action, return_or_advantage, **kwargs):
    log_prob = torch.log(torch.softmax(policy(observation), dim=1))
    return -(log_prob.gather(1, action) * return_or_advantage).mean()


@mistake(
    "get_vanilla_policy_gradient_loss",
    hint="What is 0 times log(0), and in which entries of your product does it occur?",
)
def vanilla_mask_times_logarithm_of_softmax(policy, observation, action, return_or_advantage, **kwargs):
    log_prob = torch.log(torch.softmax(policy(observation), dim=1))
    taken = nn.functional.one_hot(action.squeeze(1), log_prob.shape[1])
    return -((log_prob * taken).sum(dim=1, keepdim=True) * return_or_advantage).mean()


@mistake(
    "get_vanilla_policy_gradient_loss",
    hint="If a probability underflows to 0, does your loss still depend on the logarithm of this probability?",
)
def vanilla_logarithm_with_epsilon(policy, observation, action, return_or_advantage, **kwargs):
    log_prob = torch.log(policy(observation).exp() + 1e-10)
    return -(log_prob.gather(1, action) * return_or_advantage).mean()


@mistake(
    "get_vanilla_policy_gradient_loss",
    hint="Which argument of the distribution takes log-probabilities, so that it does not clamp tiny probabilities?",
    source="student code",
)
def vanilla_distribution_of_probabilities(policy, observation, action, return_or_advantage, **kwargs):
    distribution = torch.distributions.Categorical(probs=policy(observation).exp())
    return -(distribution.log_prob(action.squeeze(1)) * return_or_advantage.squeeze(1)).mean()


@mistake(
    "get_vanilla_policy_gradient_loss",
    hint="What does squeeze_, with its underscore, do to the shape of the caller's actions?",
    form=True,
)
def vanilla_squeezes_the_actions_in_place(policy, observation, action, return_or_advantage, **kwargs):
    action.squeeze_(1)
    return -(policy(observation).gather(1, action.unsqueeze(1)) * return_or_advantage).mean()


# collect_rollouts


next_observation_stored = altered(
    "collect_rollouts",
    {"add(action, logits, observation,": "add(action, logits, next_observation,"},
    hint="Which observation did the policy see when it chose the action of the same row?",
    source="student code",
)

step_unpacked_in_another_order = altered(
    "collect_rollouts",
    {"next_observation, terminated, reward = env.step": "next_observation, reward, terminated = env.step"},
    hint="What does env.step return, and in which order?",
    source="student code",
)

observation_never_renewed = altered(
    "collect_rollouts",
    {"            observation = next_observation\n": ""},
    hint="Which observation does the policy get in the second step of an episode?",
)

resets_only_once = altered(
    "collect_rollouts",
    {"observation = env.reset()": "observation = env.reset() if rollout == 0 else next_observation"},
    hint="What has to happen before the first step of every episode?",
)

takes_the_likeliest_action = altered(
    "collect_rollouts",
    {"utils.distribution_sample(logits, seed=seed)": "logits.argmax(dim=1, keepdim=True)"},
    hint="Do you sample the action from the policy's distribution, or always take the most likely action?",
)

plays_another_action_than_it_stores = altered(
    "collect_rollouts",
    {"env.step(action)": "env.step(utils.distribution_sample(logits, seed=seed))"},
    hint="How many actions do you sample per step, and do you store the action that you pass to env.step?",
)

copy_of_the_seed_passed_on = altered(
    "collect_rollouts",
    {
        "final_rewards = []": "final_rewards = []\nring = None if seed is None else seed.copy()",
        "seed=seed)": "seed=ring)",
    },
    hint="If you pass on a copy of the seed array, with which seeds does the next call of collect_rollouts start?",
    source="student code",
)

seed_starts_again_at_every_step = altered(
    "collect_rollouts",
    {"distribution_sample(logits, seed=seed)": "distribution_sample(logits, seed=None if seed is None else seed.copy())"},
    hint="Does each sample continue with the seed array that the previous sample left, or does it start anew?",
    source="student code",
)

seed_not_passed_on = altered(
    "collect_rollouts",
    {"distribution_sample(logits, seed=seed)": "distribution_sample(logits)"},
    hint="Does utils.distribution_sample get both the policy's outputs and the seed?",
)

samples_from_probabilities = altered(
    "collect_rollouts",
    {"utils.distribution_sample(logits, seed=seed)": "utils.distribution_sample(logits.exp(), seed=seed)"},
    hint="What does distribution_sample expect: logits, or probabilities?",
    source="student code",
)

observation_overwritten_in_place = altered(
    "collect_rollouts",
    {"            observation = next_observation": "            observation.copy_(next_observation)"},
    hint="How many different tensors hold the observations of your buffer?",
    source="student code",
)

seed_resets_the_environment = altered(
    "collect_rollouts",
    {"env.reset()": "env.reset(seed=seed)"},
    hint="If every episode resets the environment with the same seed, how many different start states do you see?",
    source="student code",
)

seed_starts_again_in_every_rollout = altered(
    "collect_rollouts",
    {
        "observation = env.reset()": "ring = None if seed is None else seed.copy()\nobservation = env.reset()",
        "seed=seed)": "seed=ring)",
    },
    hint="Do all rollouts share one seed array, so that each continues the random sequence of the last?",
)

logits_of_the_next_observation = altered(
    "collect_rollouts",
    {"rollout_buffer.add(action, logits,": "rollout_buffer.add(action, policy(next_observation).detach(),"},
    hint="From which logits was this action sampled?",
)

probabilities_stored_for_logits = altered(
    "collect_rollouts",
    {"rollout_buffer.add(action, logits,": "rollout_buffer.add(action, logits.exp(),"},
    hint="What does the policy return, and what do you store as logits?",
)

last_step_not_stored = altered(
    "collect_rollouts",
    {"rollout_buffer.add(": "if terminated:\n    break\nrollout_buffer.add("},
    hint="How many rows does an episode of five steps have in your buffer?",
)

ends_not_stored = altered(
    "collect_rollouts",
    {"logits, observation, terminated, reward)": "logits, observation, False, reward)"},
    hint="How will get_returns know where an episode ended?",
)

ends_stored_one_row_late = altered(
    "collect_rollouts",
    {
        "terminated = False": "terminated, starts = False, rollout > 0",
        "logits, observation, terminated, reward)": "logits, observation, starts, reward)\nstarts = terminated",
    },
    hint="In which row of your buffer is the first True of `terminateds`?",
    source="student code",
)

reward_of_the_step_before = altered(
    "collect_rollouts",
    {
        "terminated = False": "terminated, last_reward = False, 0.0",
        "logits, observation, terminated, reward)": "logits, observation, terminated, last_reward)\nlast_reward = reward",
    },
    hint="Which action did this reward follow?",
)

stops_after_a_number_of_steps = altered(
    "collect_rollouts",
    {
        "while not terminated:": "for _ in range(200):",
        "observation = next_observation": "observation = next_observation\nif terminated:\n    break",
    },
    hint="What tells you that an episode is over: the environment, or a fixed number of steps?",
    placements={
        "after 100": {
            "while not terminated:": "for _ in range(100):",
            "observation = next_observation": "observation = next_observation\nif terminated:\n    break",
        },
        "after 500": {
            "while not terminated:": "for _ in range(500):",
            "observation = next_observation": "observation = next_observation\nif terminated:\n    break",
        },
        "after 1000": {
            "while not terminated:": "for _ in range(1000):",
            "observation = next_observation": "observation = next_observation\nif terminated:\n    break",
        },
    },
    source="student code",
)

mean_of_all_rewards = altered(
    "collect_rollouts",
    {
        "observation = next_observation": "observation = next_observation\nfinal_rewards.append(reward)",
        "        final_rewards.append(reward)\n        # END": "        # END",
    },
    hint="Is the final reward of an episode its last reward, or does it include earlier rewards?",
)

return_instead_of_last_reward = altered(
    "collect_rollouts",
    {
        "terminated = False": "terminated, total = False, 0.0",
        "observation = next_observation": "observation, total = next_observation, total + reward",
        "final_rewards.append(reward)": "final_rewards.append(total)",
    },
    hint="Is the final reward of an episode its last reward, or does it include earlier rewards?",
)

rewards_of_one_rollout_only = altered(
    "collect_rollouts",
    {"final_rewards.append(reward)": "final_rewards = [reward]"},
    hint="Over how many rollouts do you average the final reward?",
)

final_reward_is_a_tensor = altered(
    "collect_rollouts",
    {"final_rewards.append(reward)": "final_rewards.append(torch.tensor(reward))"},
    hint="What type does your second return value have?",
    form=True,
)

actions_stored_without_a_column = altered(
    "collect_rollouts",
    {"rollout_buffer.add(action, ": "rollout_buffer.add(action.squeeze(0), "},
    hint="What shape do the actions in the finalized buffer have, and what shape does the docstring of RolloutBuffer give?",
    form=True,
)

policy_left_in_evaluation_mode = altered(
    "collect_rollouts",
    {"observation = env.reset()": "policy.eval()\nobservation = env.reset()"},
    hint="If the policy had dropout layers, would they still be active after your call?",
    form=True,
)

policy_left_without_gradient = altered(
    "collect_rollouts",
    {"observation = env.reset()": "policy.requires_grad_(False)\nobservation = env.reset()"},
    hint="After your function returns, do the policy's parameters still require a gradient?",
    learns=False,
    form=True,
)


# get_value_net_loss


@mistake("get_value_net_loss", hint="Which operations connect your loss to the network's weights?", source="student code")
def value_loss_is_rebuilt(value_net, observation, returns, **kwargs):
    prediction = torch.tensor(value_net(observation).tolist(), requires_grad=True)
    return nn.functional.mse_loss(prediction, returns)


@mistake(
    "get_value_net_loss",
    hint="What shapes do your values and the returns have, and what shape does their difference have?",
    source="student code",
)
def value_every_row_with_every_other(value_net, observation, returns, **kwargs):
    return ((value_net(observation).squeeze(1) - returns) ** 2).mean()


@mistake("get_value_net_loss", hint="Does the formula contain a sum or a mean over the rows?")
def value_sum(value_net, observation, returns, **kwargs):
    return ((value_net(observation) - returns) ** 2).sum()


@mistake("get_value_net_loss", hint="Is there a factor of one half in the formula?")
def value_half(value_net, observation, returns, **kwargs):
    return 0.5 * ((value_net(observation) - returns) ** 2).mean()


@mistake("get_value_net_loss", hint="Does the formula contain the squared error, or the absolute error?")
def value_absolute_error(value_net, observation, returns, **kwargs):
    return (value_net(observation) - returns).abs().mean()


@mistake("get_value_net_loss", hint="Does your loss grow with the square of the error, even for large errors?")
def value_huber(value_net, observation, returns, **kwargs):
    return nn.functional.smooth_l1_loss(value_net(observation), returns)


@mistake("get_value_net_loss", hint="Is there a square root in the formula?")
def value_root(value_net, observation, returns, **kwargs):
    return nn.functional.mse_loss(value_net(observation), returns).sqrt()


@mistake("get_value_net_loss", hint="Which comes first in the formula: the square, or the mean?")
def value_square_of_the_mean(value_net, observation, returns, **kwargs):
    return (value_net(observation) - returns).mean() ** 2


@mistake("get_value_net_loss", hint="If the optimizer minimizes your loss, does the squared error of V grow or shrink?")
def value_uphill(value_net, observation, returns, **kwargs):
    return -nn.functional.mse_loss(value_net(observation), returns)


@mistake("get_value_net_loss", hint="For a single row with an error of 30, is your loss 900?", source="student code")
def value_huber_beyond_ten(value_net, observation, returns, **kwargs):
    return 2 * nn.functional.huber_loss(value_net(observation), returns, delta=10.0)


@mistake("get_value_net_loss", hint="What does the value network estimate: the returns, or the advantages of the policy loss?")
def value_of_advantages(value_net, observation, returns, **kwargs):
    return nn.functional.mse_loss(value_net(observation), kwargs.get("return_or_advantage", returns))


@mistake("get_value_net_loss", hint="V estimates the returns themselves: what happens to their scale in your loss?")
def value_of_standardized_returns(value_net, observation, returns, **kwargs):
    return nn.functional.mse_loss(value_net(observation), (returns - returns.mean()) / (returns.std() + 1e-8))


@mistake("get_value_net_loss", hint="How many numbers does your loss contain, and how many should it contain?")
def value_without_mean(value_net, observation, returns, **kwargs):
    return nn.functional.mse_loss(value_net(observation), returns, reduction="none")


@mistake("get_value_net_loss", hint="Which operations connect your loss to the network's weights?", source="student code")
def value_detached(value_net, observation, returns, **kwargs):
    return nn.functional.mse_loss(value_net(observation).detach(), returns)


@mistake(
    "get_value_net_loss", hint="What does squeeze_, with its underscore, do to the shape of the caller's returns?", form=True
)
def value_squeezes_the_returns_in_place(value_net, observation, returns, **kwargs):
    return nn.functional.mse_loss(value_net(observation).squeeze(1), returns.squeeze_(1))


# get_advantages


def standardized(values):
    return (values - values.mean()) / (values.std() + 1e-10)


@mistake(
    "get_advantages",
    hint="What is the sign of the advantage of a better-than-expected action?",
    source="student code",
    learns=False,
)
def advantages_negated(value_net, observations, returns):
    with torch.no_grad():
        return standardized(value_net(observations) - returns)


@mistake("get_advantages", hint="What mean and what standard deviation should the advantages have?", source="student code")
def advantages_not_standardized(value_net, observations, returns):
    with torch.no_grad():
        return returns - value_net(observations)


@mistake(
    "get_advantages",
    hint="Which of the two do you standardize: the returns alone, or the differences R_t - V(s_t)?",
    source="student code",
)
def returns_standardized_before_the_values(value_net, observations, returns):
    with torch.no_grad():
        return (returns - returns.mean()) / (returns.std() + 1e-10) - value_net(observations)


@placement("returns_standardized_before_the_values", "and the differences again")
def returns_and_differences_standardized(value_net, observations, returns):
    with torch.no_grad():
        advantages = (returns - returns.mean()) / (returns.std() + 1e-10) - value_net(observations)
        return (advantages - advantages.mean()) / (advantages.std() + 1e-10)


@mistake("get_advantages", hint="What standard deviation should the advantages have?")
def advantages_only_centred(value_net, observations, returns):
    with torch.no_grad():
        advantages = returns - value_net(observations)
        return advantages - advantages.mean()


@mistake("get_advantages", hint="Which operation does your expression do first: the subtraction, or the division?")
def advantages_without_parentheses(value_net, observations, returns):
    with torch.no_grad():
        advantages = returns - value_net(observations)
        return advantages - advantages.mean() / (advantages.std() + 1e-10)


@mistake("get_advantages", hint="What mean should the advantages have?")
def advantages_only_scaled(value_net, observations, returns):
    with torch.no_grad():
        advantages = returns - value_net(observations)
        return advantages / (advantages.std() + 1e-10)


@mistake(
    "get_advantages", hint="What is the standard deviation of your result, and what did you divide by?", source="student code"
)
def advantages_over_variance(value_net, observations, returns):
    with torch.no_grad():
        advantages = returns - value_net(observations)
        return (advantages - advantages.mean()) / (advantages.var() + 1e-10)


@mistake("get_advantages", hint="What do you divide by if all advantages are equal?", source="student code")
def advantages_of_equals_are_nan(value_net, observations, returns):
    with torch.no_grad():
        advantages = returns - value_net(observations)
        return (advantages - advantages.mean()) / advantages.std()


@mistake(
    "get_advantages", hint="How large is the constant that you add to the standard deviation, compared with small advantages?"
)
def advantages_with_a_large_epsilon(value_net, observations, returns):
    with torch.no_grad():
        advantages = returns - value_net(observations)
        return (advantages - advantages.mean()) / (advantages.std() + 1e-5)


@mistake(
    "get_advantages",
    hint="What shapes do the returns and your values have, and what shape does their difference have?",
    source="student code",
)
def advantages_of_every_pair(value_net, observations, returns):
    with torch.no_grad():
        return standardized(returns - value_net(observations).squeeze(1))


@mistake("get_advantages", hint="What shape does your result have, and what shape does the docstring give?", form=True)
def advantages_have_no_columns(value_net, observations, returns):
    with torch.no_grad():
        return standardized(returns - value_net(observations)).squeeze(1)


@mistake("get_advantages", hint="What happens when the policy loss, which uses tensors, gets a NumPy array?", form=True)
def advantages_are_an_array(value_net, observations, returns):
    with torch.no_grad():
        return standardized(returns - value_net(observations)).numpy()


@mistake("get_advantages", hint="What dtype do the networks use, and what dtype do your advantages have?", form=True)
def advantages_in_double_precision(value_net, observations, returns):
    with torch.no_grad():
        return standardized(returns - value_net(observations)).double()


@mistake(
    "get_advantages",
    hint="If the advantages have a gradient, which networks does the policy loss train?",
    source="student code",
    form=True,
)
def advantages_carry_a_gradient(value_net, observations, returns):
    return standardized(returns - value_net(observations))


@mistake("get_advantages", hint="Do you use the mean and the standard deviation of the returns, or those of R - V?")
def advantages_of_standardized_returns(value_net, observations, returns):
    with torch.no_grad():
        return standardized(returns) - value_net(observations)


@mistake(
    "get_advantages",
    hint="Along which axis do you take the standard deviation, and how many numbers does that axis have?",
    source="student code",
)
def advantages_over_the_wrong_axis(value_net, observations, returns):
    with torch.no_grad():
        advantages = returns - value_net(observations)
        return (advantages - advantages.mean(dim=1, keepdim=True)) / (advantages.std(dim=1, keepdim=True) + 1e-10)


@mistake("get_advantages", hint="What do you subtract from each row's return?")
def advantages_without_values(value_net, observations, returns):
    return standardized(returns)


@mistake("get_advantages", hint="What does your function do with an outlier, and is that in the formula?")
def advantages_clipped(value_net, observations, returns):
    with torch.no_grad():
        return standardized(returns - value_net(observations)).clamp(-3, 3)


seen_advantages = []


@mistake(
    "get_advantages", hint="Do your mean and standard deviation belong to these advantages, or to those of all calls so far?"
)
def standardized_with_all_calls_so_far(value_net, observations, returns):
    with torch.no_grad():
        advantages = returns - value_net(observations)
    seen_advantages.append(advantages)
    seen = torch.cat(seen_advantages)
    return (advantages - seen.mean()) / (seen.std() + 1e-10)


@mistake("get_advantages", hint="After your function returns, is torch's gradient mode still on?", learns=False, form=True)
def gradient_mode_left_off(value_net, observations, returns):
    torch.set_grad_enabled(False)
    return standardized(returns - value_net(observations))


# train_policy_gradient: the policy alone


never_steps = altered(
    "train_policy_gradient.without_critic",
    {"optimizer.step()": "pass"},
    hint="Which line of your loop changes the weights?",
    source="student code",
    learns=False,
)

steps_uphill = altered(
    "train_policy_gradient.without_critic",
    {"loss.backward()": "(-loss).backward()"},
    hint="Do the weights move so that the loss falls?",
    learns=False,
)

trains_on_a_detached_loss = altered(
    "train_policy_gradient.without_critic",
    {"loss.backward()": "torch.tensor(loss.item(), requires_grad=True).backward()"},
    hint="Which operations connect the networks with the loss whose backward() you call?",
    source="student code",
    learns=False,
)

gradients_pile_up = altered(
    "train_policy_gradient.without_critic",
    {"                optimizer.zero_grad()\n": ""},
    hint="What do the gradients still contain when the next minibatch starts?",
    source="student code",
)

gradients_cleared_once_a_collection = altered(
    "train_policy_gradient.without_critic",
    {
        "                optimizer.zero_grad()\n": "",
        "return_or_advantage = returns\n": "return_or_advantage = returns\noptimizer.zero_grad()\n",
    },
    hint="What do the gradients still contain when the next minibatch starts?",
)

gradients_cleared_once_an_epoch = altered(
    "train_policy_gradient.without_critic",
    {
        "                optimizer.zero_grad()\n": "",
        "            for rows in torch": "            optimizer.zero_grad()\n            for rows in torch",
    },
    hint="What do the gradients still contain when the next minibatch starts?",
)

gradients_cleared_before_the_step = altered(
    "train_policy_gradient.without_critic",
    {"                optimizer.zero_grad()\n": "", "loss.backward()": "loss.backward()\noptimizer.zero_grad()"},
    hint="What do the gradients contain when the optimizer takes its step?",
    learns=False,
)

steps_before_backward = altered(
    "train_policy_gradient.without_critic",
    {
        "optimizer.zero_grad()": "optimizer.step()",
        "loss.backward()": "optimizer.zero_grad()",
        "                optimizer.step()\n            # END": "                loss.backward()\n            # END",
    },
    hint="Which gradient does the optimizer use: the gradient of this minibatch, or of the previous minibatch?",
)

one_step_an_epoch = altered(
    "train_policy_gradient.minibatches",
    {
        "                optimizer.zero_grad()\n": "",
        "for rows in": "optimizer.zero_grad()\nfor rows in",
        "                optimizer.step()\n": "            optimizer.step()\n",
    },
    hint="How often should the optimizer take a step: once per epoch, or once per minibatch?",
)

trains_on_rewards = altered(
    "train_policy_gradient.without_critic",
    {"return_or_advantage = returns\n": "return_or_advantage = rollout_buffer.rewards.unsqueeze(1).float()\n"},
    hint="What does the policy loss get for a row: its reward, or its return?",
)

own_discount_for_returns = altered(
    "train_policy_gradient.without_critic",
    {"get_returns(rollout_buffer)": "get_returns(rollout_buffer, 0.99)"},
    hint="Does the training loop have an argument for the discount factor that you pass to get_returns?",
)

loss_of_the_module = altered(
    "train_policy_gradient.without_critic",
    {"loss = actor_loss = get_policy_gradient_loss(**batch)": "loss = actor_loss = get_vanilla_policy_gradient_loss(**batch)"},
    hint="Which loss function do you call: the one passed as an argument, or always the same function?",
    source="student code",
)

leftover_rollouts_dropped = altered(
    "train_policy_gradient.without_critic",
    {"range(0, rollouts, ": "range(0, rollouts - rollouts_before_training + 1, "},
    hint="How many collections of two rollouts do you need for five rollouts?",
)

last_collection_cut_short = altered(
    "train_policy_gradient.without_critic",
    {
        "collect_rollouts(\n            env, policy, rollouts_before_training,": "collect_rollouts(\n"
        "            env, policy, min(rollouts_before_training, rollouts - base_rollout),"
    },
    hint="`rollouts` is rounded up to whole collections: how many rollouts does your last collection have?",
    source="student code",
)

one_rollout_a_collection = altered(
    "train_policy_gradient.without_critic",
    {"env, policy, rollouts_before_training, base_rollout": "env, policy, 1, base_rollout"},
    hint="How many rollouts does each collection have?",
)

advantages_without_a_value_network = altered(
    "train_policy_gradient.without_critic",
    {"if value_net is not None:\n            return_or_advantage": "if get_advantages is not None:\n    return_or_advantage"},
    hint="If `value_net` is None, on what is the policy trained, and by which argument do you decide that?",
    source="student code",
)

new_rollouts_every_epoch = altered(
    "train_policy_gradient.without_critic",
    {
        "for rows in torch": ""
        "rollout_buffer, _ = collect_rollouts(env, policy, rollouts_before_training, seed=rollout_seed)\n"
        "returns = return_or_advantage = get_returns(rollout_buffer)\n"
        "if value_net is not None:\n"
        "    return_or_advantage = get_advantages(value_net, rollout_buffer.observations, returns)\n"
        "for rows in torch"
    },
    hint="How many times does your loop use a collection before it collects new rollouts?",
    source="student code",
)

final_reward_of_the_buffer = altered(
    "train_policy_gradient.without_critic",
    {"final_rewards.append(final_reward)": "final_rewards.append(rollout_buffer.rewards[-1].item())"},
    hint="What is the second value that collect_rollouts returns?",
)

one_loss_an_epoch = altered(
    "train_policy_gradient.minibatches",
    {
        "                actor_losses.append(actor_loss.item())\n": "",
        "                optimizer.step()\n": ""
        "                optimizer.step()\n"
        "            actor_losses.append(actor_loss.item())\n",
    },
    hint="How many losses should one epoch add to the list?",
)

losses_add_up = altered(
    "train_policy_gradient.without_critic",
    {"append(actor_loss.item())": "append(actor_loss.item() + sum(actor_losses[-1:]))"},
    hint="Is each number in the list the loss of its minibatch, or a running sum?",
)

another_policy_collects = altered(
    "train_policy_gradient.without_critic",
    {"collect_rollouts(\n            env, policy,": "collect_rollouts(\n            env, utils.SimpleReLuNetwork(2, 3, True),"},
    hint="Which policy do you pass to collect_rollouts, and which policy do you train?",
)

critic_learns_rewards = altered(
    "train_policy_gradient.with_critic",
    {"get_value_net_loss(**batch)": 'get_value_net_loss(**{**batch, "returns": rollout_buffer.rewards[rows].unsqueeze(1)})'},
    hint="What does the value network estimate: rewards, or returns?",
)

advantages_of_rewards = altered(
    "train_policy_gradient.with_critic",
    {"rollout_buffer.observations, returns)": "rollout_buffer.observations, rollout_buffer.rewards.unsqueeze(1))"},
    hint="R_t - V(s_t): does get_advantages receive returns, or rewards?",
    source="student code",
)

clip_range_not_passed_on = altered(
    "train_policy_gradient.without_critic",
    {'                    "ppo_clip": ppo_clip,\n': ""},
    hint="Which argument of the training loop never reaches the loss?",
)

clip_range_annealed = altered(
    "train_policy_gradient.without_critic",
    {'"ppo_clip": ppo_clip,': '"ppo_clip": ppo_clip * (1 - base_rollout / rollouts),'},
    hint="Which clip range does the loss get in the last collection: ppo_clip, or a smaller one?",
    source="student code",
)

single_rows_left_out = altered(
    "train_policy_gradient.minibatches",
    {
        ".split(minibatch_size):": ""
        ".split(minibatch_size):\n"
        "    if len(rows) < 2 <= rollout_buffer.final_size:\n"
        "        continue",
    },
    hint="If a single row is left after the last full minibatch, what happens to it?",
    source="student code",
)

own_value_loss_in_place_of_the_given_one = altered(
    "train_policy_gradient.with_critic",
    {"get_value_net_loss(**batch)": 'train_policy_gradient.__globals__["get_value_net_loss"](**batch)'},
    hint="Which value loss does your loop call: the one that is passed as get_value_net_loss, or the one defined in your file?",
    source="student code",
)

no_value_loss_at_multiplier_zero = altered(
    "train_policy_gradient.with_critic",
    {
        "if value_net is not None:\n                    critic_loss": ""
        "if value_net is not None and critic_loss_multiplier:\n"
        "    critic_loss"
    },
    hint="What does the list of critic losses contain if critic_loss_multiplier is 0?",
    source="student code",
)

rollout_seed_not_passed_on = altered(
    "train_policy_gradient.without_critic",
    {", seed=rollout_seed": ""},
    hint="Where do you pass on rollout_seed?",
)

scheduler_never_stepped = altered(
    "train_policy_gradient.without_critic",
    {"            lr_sched.step()\n": ""},
    hint="Which call changes the learning rate?",
)

learning_rates_not_kept = altered(
    "train_policy_gradient.without_critic",
    {"            learning_rates.append(lr_sched.get_last_lr()[0])\n": ""},
    hint="What should the fourth list contain?",
)

policy_gradients_cut_short = altered(
    "train_policy_gradient.without_critic",
    {"optimizer.step()": "nn.utils.clip_grad_norm_(policy.parameters(), 0.05)\noptimizer.step()"},
    hint="What changes the norm of the gradient between backward() and the optimizer's step?",
)

losses_keep_their_graphs = altered(
    "train_policy_gradient.without_critic",
    {"append(actor_loss.item())": "append(actor_loss)"},
    hint="What does a loss tensor keep in memory in addition to its number?",
    source="student code",
    form=True,
)

scheduler_stepped_every_epoch = altered(
    "train_policy_gradient.without_critic",
    {
        "for rows in torch": "if lr_sched is not None:\n    lr_sched.step()\nfor rows in torch",
        "            lr_sched.step()\n            learning": "            learning",
    },
    hint="How often does the scheduler take a step: once per epoch, or once per collection?",
)

other_default_minibatch_size = altered(
    "train_policy_gradient.without_critic",
    {"minibatch_size: int = 64": "minibatch_size: int = 32"},
    hint="What are the default values of the arguments in the stub?",
)

other_default_epochs = altered(
    "train_policy_gradient.without_critic",
    {"training_epochs_per_rollout: int = 1": "training_epochs_per_rollout: int = 4"},
    hint="What are the default values of the arguments in the stub?",
)

other_default_rollouts = altered(
    "train_policy_gradient.without_critic",
    {"rollouts_before_training: int = 1": "rollouts_before_training: int = 2"},
    hint="What are the default values of the arguments in the stub?",
)

other_default_clip_range = altered(
    "train_policy_gradient.without_critic",
    {"ppo_clip: float = 0.2": "ppo_clip: float = 0.1"},
    hint="What are the default values of the arguments in the stub?",
)


# train_policy_gradient: with a value network


advantages_ignored = altered(
    "train_policy_gradient.with_critic",
    {"return_or_advantage = get_advantages(value_net, rollout_buffer.observations, returns)": "pass"},
    hint="With a value network, is the policy trained on returns or on advantages?",
)

critic_never_trained = altered(
    "train_policy_gradient.with_critic",
    {"loss = actor_loss + critic_loss_multiplier * critic_loss": "loss = actor_loss"},
    hint="Which term of the loss trains the value network, and does its gradient reach the network?",
)

multiplier_ignored = altered(
    "train_policy_gradient.with_critic",
    {"actor_loss + critic_loss_multiplier * critic_loss": "actor_loss + critic_loss"},
    hint="Where does critic_loss_multiplier enter your loss?",
)

critic_loss_subtracted = altered(
    "train_policy_gradient.with_critic",
    {"actor_loss + critic_loss_multiplier": "actor_loss - critic_loss_multiplier"},
    hint="If the optimizer minimizes your sum, does the critic loss grow or shrink?",
)

critic_detached = altered(
    "train_policy_gradient.with_critic",
    {"* critic_loss": "* critic_loss.item()"},
    hint="Which term of the loss trains the value network, and does its gradient reach the network?",
    source="student code",
)

critic_learns_advantages = altered(
    "train_policy_gradient.with_critic",
    {"get_value_net_loss(**batch)": 'get_value_net_loss(**{**batch, "returns": return_or_advantage[rows]})'},
    hint="What does the value network estimate: returns, or advantages?",
)

two_steps_a_minibatch = altered(
    "train_policy_gradient.with_critic",
    {
        "loss = actor_loss + critic_loss_multiplier * critic_loss": ""
        "optimizer.zero_grad()\n"
        "(critic_loss_multiplier * critic_loss).backward()\n"
        "optimizer.step()"
    },
    hint="How many optimizer steps do you take per minibatch?",
)

advantages_of_each_minibatch = altered(
    "train_policy_gradient.with_critic",
    {
        '"return_or_advantage": return_or_advantage[rows],': '"return_or_advantage": returns[rows]\n'
        "if value_net is None\n"
        "else get_advantages(value_net, rollout_buffer.observations[rows], returns[rows]),"
    },
    hint="Over which rows are the advantages standardized: the whole collection, or one minibatch?",
    source="student code",
)

advantages_again_in_every_epoch = altered(
    "train_policy_gradient.with_critic",
    {
        "for rows in torch": ""
        "if value_net is not None:\n"
        "    return_or_advantage = get_advantages(value_net, rollout_buffer.observations, returns)\n"
        "for rows in torch"
    },
    hint="How often do you call get_advantages: once per collection, or once per epoch?",
    source="student code",
)

critic_losses_hold_the_total = altered(
    "train_policy_gradient.with_critic",
    {
        "                    critic_losses.append(critic_loss.item())\n": "",
        "* critic_loss": "* critic_loss\ncritic_losses.append(loss.item())",
    },
    hint="Which number do you append to critic_losses: the loss of the value network, or the total loss?",
)

actor_losses_hold_the_total = altered(
    "train_policy_gradient.with_critic",
    {
        "                actor_losses.append(actor_loss.item())\n": "",
        "optimizer.zero_grad()": "actor_losses.append(loss.item())\noptimizer.zero_grad()",
    },
    hint="Which number do you append to actor_losses: the loss of the policy, or the total loss?",
)

critic_losses_not_kept = altered(
    "train_policy_gradient.with_critic",
    {"                    critic_losses.append(critic_loss.item())\n": ""},
    hint="What should the list of critic losses contain?",
)

values_of_the_policy = altered(
    "train_policy_gradient.with_critic",
    {"get_advantages(value_net, rollout": "get_advantages(policy, rollout"},
    hint="Which network does get_advantages need?",
)

critic_losses_keep_their_graphs = altered(
    "train_policy_gradient.with_critic",
    {"append(critic_loss.item())": "append(critic_loss)"},
    hint="What does a loss tensor keep in memory in addition to its number?",
    source="student code",
    form=True,
)

one_critic_loss_an_epoch = altered(
    "train_policy_gradient.with_critic",
    {
        "                    critic_losses.append(critic_loss.item())\n": "",
        "                optimizer.step()\n": ""
        "                optimizer.step()\n"
        "            if value_net is not None:\n"
        "                critic_losses.append(critic_loss.item())\n",
    },
    hint="How many losses of the value network should one epoch add to its list?",
    source="student code",
)

policy_left_out = altered(
    "train_policy_gradient.with_critic",
    {"loss = actor_loss + critic_loss_multiplier": "loss = critic_loss_multiplier"},
    hint="Which two losses does the optimizer minimize when there is a value network?",
)

only_the_gradients_of_the_policy_are_cleared = altered(
    "train_policy_gradient.with_critic",
    {"optimizer.zero_grad()": "policy.zero_grad()"},
    hint="Which network's gradients are not cleared before the next minibatch?",
)

other_default_multiplier = altered(
    "train_policy_gradient.with_critic",
    {"critic_loss_multiplier: float = 0.0": "critic_loss_multiplier: float = 1.0"},
    hint="What are the default values of the arguments in the stub?",
)


# train_policy_gradient: minibatches


not_shuffled = altered(
    "train_policy_gradient.minibatches",
    {"torch.randperm(": "torch.arange("},
    hint="In which order do the rows come in the first epoch, and in which order in the second?",
    source="student code",
)

shuffled_once_for_all_epochs = altered(
    "train_policy_gradient.minibatches",
    {
        "for _ in range(training": "order = torch.randperm(rollout_buffer.final_size)\nfor _ in range(training",
        "in torch.randperm(rollout_buffer.final_size).split": "in order.split",
    },
    hint="Does the second epoch use different minibatches than the first?",
)

same_permutation_in_every_epoch = altered(
    "train_policy_gradient.minibatches",
    {"randperm(rollout_buffer.final_size": "randperm(rollout_buffer.final_size, generator=torch.Generator().manual_seed(0)"},
    hint="Which permutation does a generator return if you seed it again in every epoch?",
)

reseeded_before_the_shuffle = altered(
    "train_policy_gradient.minibatches",
    {"for _ in range(training": "torch.manual_seed(0)\nfor _ in range(training"},
    hint="If you seed before you shuffle, does the second collection get different permutations than the first?",
)

advantages_without_a_column = altered(
    "train_policy_gradient.minibatches",
    {'"return_or_advantage": return_or_advantage[rows]': '"return_or_advantage": return_or_advantage[rows].squeeze(1)'},
    hint="What shape do the loss functions expect the advantages to have?",
    source="student code",
    form=True,
)

minibatches_in_random_order = altered(
    "train_policy_gradient.minibatches",
    {
        "torch.randperm(rollout_buffer": "sorted(torch.arange(rollout_buffer",
        ".split(minibatch_size)": ".split(minibatch_size), key=lambda _: torch.rand(()).item())",
    },
    hint="What do you shuffle: the rows, or only the order of fixed minibatches?",
)

short_minibatch_dropped = altered(
    "train_policy_gradient.minibatches",
    {
        "for rows in": "usable = rollout_buffer.final_size // minibatch_size * minibatch_size\nfor rows in",
        "(rollout_buffer.final_size).split": "(rollout_buffer.final_size)[:usable].split",
    },
    hint="What happens to the last rows if they do not fill a whole minibatch?",
)

last_row_in_no_minibatch = altered(
    "train_policy_gradient.minibatches",
    {"torch.randperm(rollout_buffer.final_size)": "torch.randperm(max(rollout_buffer.final_size - 1, 1))"},
    hint="How many rows do the minibatches of one epoch have in total?",
    source="student code",
)

rows_drawn_with_replacement = altered(
    "train_policy_gradient.minibatches",
    {"torch.randperm(rollout_buffer.final_size)": "torch.randint(rollout_buffer.final_size, (rollout_buffer.final_size,))"},
    hint="How many times does an epoch use each row?",
)

one_minibatch_an_epoch = altered(
    "train_policy_gradient.minibatches",
    {".split(minibatch_size):": ".split(minibatch_size)[:1]:"},
    hint="How many minibatches does one epoch have?",
)

minibatches_stay_small = altered(
    "train_policy_gradient.minibatches",
    {"for rows in torch": "minibatch_size = min(minibatch_size, rollout_buffer.final_size)\nfor rows in torch"},
    hint="After a collection with few rows, how many rows do the minibatches of the next collection have?",
    source="student code",
)

minibatch_size_ignored = altered(
    "train_policy_gradient.minibatches",
    {".split(minibatch_size)": ".split(64)"},
    hint="Which argument sets the number of rows in a minibatch?",
)

whole_buffer_as_advantages = altered(
    "train_policy_gradient.minibatches",
    {'"return_or_advantage": return_or_advantage[rows]': '"return_or_advantage": return_or_advantage'},
    hint="Which rows of the advantages do you pass to the loss: all of them, or those of the minibatch?",
    source="student code",
)

first_rows_as_advantages = altered(
    "train_policy_gradient.minibatches",
    {'"return_or_advantage": return_or_advantage[rows]': '"return_or_advantage": return_or_advantage[: len(rows)]'},
    hint="The observations are shuffled: are the advantages shuffled in the same way?",
    source="student code",
)

advantages_in_the_order_of_the_buffer = altered(
    "train_policy_gradient.minibatches",
    {
        "for rows in": "begin = 0\nfor rows in",
        "return_or_advantage[rows]": "return_or_advantage[begin : begin + len(rows)]",
        "optimizer.step()": "optimizer.step()\nbegin += len(rows)",
    },
    hint="The observations are shuffled: are the advantages shuffled in the same way?",
    source="student code",
)

actions_not_shuffled = altered(
    "train_policy_gradient.minibatches",
    {'"action": rollout_buffer.actions[rows]': '"action": rollout_buffer.actions[: len(rows)]'},
    hint="Do all tensors of a minibatch use the same rows?",
    source="student code",
)

old_logits_not_shuffled = altered(
    "train_policy_gradient.minibatches",
    {'"old_logits": rollout_buffer.old_logits[rows]': '"old_logits": rollout_buffer.old_logits[: len(rows)]'},
    hint="Do the old logits come from the same rows as the observations?",
)

returns_not_shuffled = altered(
    "train_policy_gradient.minibatches",
    {'"returns": returns[rows]': '"returns": returns[: len(rows)]'},
    hint="Do the returns for the value loss come from the same rows as the observations?",
)

value_loss_of_all_rows = altered(
    "train_policy_gradient.minibatches",
    {
        "get_value_net_loss(**batch)": ""
        'get_value_net_loss(**{**batch, "observation": rollout_buffer.observations, "returns": returns, '
        '"action": rollout_buffer.actions, "old_logits": rollout_buffer.old_logits, '
        '"return_or_advantage": return_or_advantage})'
    },
    hint="How many rows does each of the two losses get in one minibatch?",
    source="student code",
)

old_logits_of_today = altered(
    "train_policy_gradient.minibatches",
    {'"old_logits": rollout_buffer.old_logits[rows]': '"old_logits": policy(rollout_buffer.observations[rows]).detach()'},
    hint="Which policy should the old logits come from: the policy at the time of the rollout, or the current policy?",
    source="student code",
)


# get_PPO_policy_gradient_loss


def ratio_of(policy, observation, old_logits, action):
    return torch.exp(policy(observation).gather(1, action) - old_logits.gather(1, action))


@mistake(
    "get_PPO_policy_gradient_loss",
    hint="If the optimizer minimizes your loss, do actions with a positive advantage become more likely, or less likely?",
    source="student code",
    learns=False,
)
def ppo_uphill(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    ratio = ratio_of(policy, observation, old_logits, action)
    return torch.min(ratio * return_or_advantage, ratio.clamp(1 - ppo_clip, 1 + ppo_clip) * return_or_advantage).mean()


@mistake(
    "get_PPO_policy_gradient_loss",
    hint="Which of the two products is the pessimistic bound: the larger, or the smaller?",
    source="student code",
)
def ppo_larger_product(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    ratio = ratio_of(policy, observation, old_logits, action)
    return -torch.max(ratio * return_or_advantage, ratio.clamp(1 - ppo_clip, 1 + ppo_clip) * return_or_advantage).mean()


@mistake(
    "get_PPO_policy_gradient_loss",
    hint="Does your ratio change when the policy's weights change?",
    source="student code",
    learns=False,
)
def ppo_ratio_of_old_and_old(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    ratio = torch.exp(old_logits.gather(1, action) - old_logits.gather(1, action))
    return -torch.min(ratio * return_or_advantage, ratio.clamp(1 - ppo_clip, 1 + ppo_clip) * return_or_advantage).mean()


ppo_ratio_of_new_and_new = altered(
    "get_PPO_policy_gradient_loss",
    {"torch.exp(log_prob - old_logits.gather(1, action))": "torch.exp(log_prob - log_prob.detach())"},
    hint="Which policy does each of your two log-probabilities come from: the current policy, or the old policy?",
    source="student code",
)


@mistake("get_PPO_policy_gradient_loss", hint="Which operations connect your loss to the network's weights?")
def ppo_loss_detached(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    ratio = ratio_of(policy, observation, old_logits, action).detach()
    return -torch.min(ratio * return_or_advantage, ratio.clamp(1 - ppo_clip, 1 + ppo_clip) * return_or_advantage).mean()


ppo_difference_without_exp = altered(
    "get_PPO_policy_gradient_loss",
    {"torch.exp(log_prob - old_logits.gather(1, action))": "log_prob - old_logits.gather(1, action)"},
    hint="How do you compute a ratio from two logarithms?",
    source="student code",
)


ppo_ratio_of_logarithms = altered(
    "get_PPO_policy_gradient_loss",
    {"torch.exp(log_prob - old_logits.gather(1, action))": "log_prob / old_logits.gather(1, action)"},
    hint="Is ρ a ratio of probabilities, or of their logarithms?",
    source="student code",
    placements={
        "for all actions": {"torch.exp(log_prob - old_logits.gather(1, action))": "policy(observation) / old_logits"},
        "with exp": {
            "torch.exp(log_prob - old_logits.gather(1, action))": "torch.exp(log_prob / old_logits.gather(1, action))"
        },
    },
)


ppo_ratio_upside_down = altered(
    "get_PPO_policy_gradient_loss",
    {"torch.exp(log_prob - old_logits.gather(1, action))": "torch.exp(old_logits.gather(1, action) - log_prob)"},
    hint="Which policy is in the numerator of the ratio, and which in the denominator?",
)


@mistake("get_PPO_policy_gradient_loss", hint="What does the formula clip: the ratio, or the product?", source="student code")
def ppo_clamps_the_product(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    product = ratio_of(policy, observation, old_logits, action) * return_or_advantage
    return -torch.min(product, product.clamp(1 - ppo_clip, 1 + ppo_clip)).mean()


ppo_clamps_around_zero = altered(
    "get_PPO_policy_gradient_loss",
    {"ratio.clamp(1 - ppo_clip, 1 + ppo_clip)": "ratio.clamp(-ppo_clip, ppo_clip)"},
    hint="Around which value should the ratio stay?",
    source="student code",
)


@mistake(
    "get_PPO_policy_gradient_loss",
    hint="Which of the log-probabilities belongs to the action that was taken?",
    source="student code",
)
def ppo_all_actions(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    ratio = torch.exp(policy(observation) - old_logits)
    return -torch.min(ratio * return_or_advantage, ratio.clamp(1 - ppo_clip, 1 + ppo_clip) * return_or_advantage).mean()


@mistake("get_PPO_policy_gradient_loss", hint="Which part of your loss keeps the ratio near 1?")
def ppo_never_clipped(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    return -(ratio_of(policy, observation, old_logits, action) * return_or_advantage).mean()


@mistake(
    "get_PPO_policy_gradient_loss",
    hint="Which two products does the formula compare for each row before it takes the minimum?",
)
def ppo_only_clipped(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    ratio = ratio_of(policy, observation, old_logits, action)
    return -(ratio.clamp(1 - ppo_clip, 1 + ppo_clip) * return_or_advantage).mean()


ppo_clipped_above_only = altered(
    "get_PPO_policy_gradient_loss",
    {"ratio.clamp(1 - ppo_clip, 1 + ppo_clip)": "ratio.clamp(max=1 + ppo_clip)"},
    hint="The ratio can leave the clip range at both ends: at which end do you clip?",
)


@mistake("get_PPO_policy_gradient_loss", hint="At which ratio does your clipping start: at 1 + ppo_clip, or at exp(ppo_clip)?")
def ppo_clips_the_logarithm(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    ratio = ratio_of(policy, observation, old_logits, action)
    clipped = ratio.log().clamp(-ppo_clip, ppo_clip).exp()
    return -torch.min(ratio * return_or_advantage, clipped * return_or_advantage).mean()


clipped_in_logarithms = altered(
    "get_PPO_policy_gradient_loss",
    {
        "ratio = torch.exp(log_prob - old_logits.gather(1, action))": ""
        "log_ratio = log_prob - old_logits.gather(1, action)\n"
        "ratio = torch.exp(log_ratio)",
        "ratio.clamp(1 - ppo_clip, 1 + ppo_clip)": "log_ratio.clamp(*torch.tensor([-ppo_clip, ppo_clip]).log1p()).exp()",
    },
    hint="What is the logarithm of 1 - ppo_clip if ppo_clip is 10?",
    source="student code",
)

ppo_clips_between_logarithms = altered(
    "get_PPO_policy_gradient_loss",
    {
        "ratio = torch.exp(log_prob - old_logits.gather(1, action))": "import math\n"
        "log_ratio = log_prob - old_logits.gather(1, action)\n"
        "ratio = torch.exp(log_ratio)",
        "ratio.clamp(1 - ppo_clip, 1 + ppo_clip)": "log_ratio.clamp(math.log(1 - ppo_clip), math.log(1 + ppo_clip)).exp()",
    },
    hint="What is the logarithm of 1 - ppo_clip if ppo_clip is 10?",
    source="student code",
)

logarithm_of_the_ratio_bounded = altered(
    "get_PPO_policy_gradient_loss",
    {"old_logits.gather(1, action))": "old_logits.gather(1, action)).clamp(0.1353, 7.389)"},
    hint="In which of the two products does the formula clip the ratio: in both, or only in the second?",
    source="student code",
)

ppo_own_clip_range = altered(
    "get_PPO_policy_gradient_loss",
    {"ratio.clamp(1 - ppo_clip, 1 + ppo_clip)": "ratio.clamp(0.8, 1.2)"},
    hint="Do you use the clip range that your function receives, or a constant?",
)


@mistake("get_PPO_policy_gradient_loss", hint="What is the default value of ppo_clip in the stub?")
def ppo_other_default(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.1, **kwargs):
    ratio = ratio_of(policy, observation, old_logits, action)
    return -torch.min(ratio * return_or_advantage, ratio.clamp(1 - ppo_clip, 1 + ppo_clip) * return_or_advantage).mean()


@mistake("get_PPO_policy_gradient_loss", hint="What shape does your ratio have?", source="student code")
def ppo_ratio_of_every_pair(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    ratio = torch.exp(policy(observation).gather(1, action) - old_logits.gather(1, action).squeeze(1))
    return -torch.min(ratio * return_or_advantage, ratio.clamp(1 - ppo_clip, 1 + ppo_clip) * return_or_advantage).mean()


@placement("ppo_ratio_of_every_pair", "every action in every row")
def ppo_every_action_in_every_row(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    new, old = (torch.distributions.Categorical(logits=logits) for logits in (policy(observation), old_logits))
    ratio = torch.exp(new.log_prob(action) - old.log_prob(action))
    return -torch.min(ratio * return_or_advantage, ratio.clamp(1 - ppo_clip, 1 + ppo_clip) * return_or_advantage).mean()


@mistake(
    "get_PPO_policy_gradient_loss",
    hint="What shape does your ratio have, and what shape does its product with the advantage have?",
)
def ppo_flat_ratio_times_column(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    ratio = ratio_of(policy, observation, old_logits, action).squeeze(1)
    return -torch.min(ratio * return_or_advantage, ratio.clamp(1 - ppo_clip, 1 + ppo_clip) * return_or_advantage).mean()


@mistake(
    "get_PPO_policy_gradient_loss",
    hint="Should the old log-probability change, or get a gradient, when the new policy is trained?",
    source="student code",
)
def ppo_old_policy_is_trained_too(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    log_prob = policy(observation).gather(1, action)
    ratio = torch.exp(log_prob - log_prob)
    return -torch.min(ratio * return_or_advantage, ratio.clamp(1 - ppo_clip, 1 + ppo_clip) * return_or_advantage).mean()


ppo_clipped_below_only = altered(
    "get_PPO_policy_gradient_loss",
    {"ratio.clamp(1 - ppo_clip, 1 + ppo_clip)": "ratio.clamp(min=1 - ppo_clip)"},
    hint="The ratio can leave the clip range at both ends: at which end do you clip?",
)


@mistake(
    "get_PPO_policy_gradient_loss",
    hint="What does the formula take the minimum of: the ratios, or their products with the advantage?",
)
def ppo_minimum_of_the_ratios(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    ratio = ratio_of(policy, observation, old_logits, action)
    return -(torch.min(ratio, ratio.clamp(1 - ppo_clip, 1 + ppo_clip)) * return_or_advantage).mean()


@mistake(
    "get_PPO_policy_gradient_loss",
    hint="Which action does the ratio need: the action that was taken, or a newly sampled action?",
    source="student code",
)
def ppo_samples_again(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    logits = policy(observation)
    again = utils.distribution_sample(logits).T
    ratio = torch.exp(logits.gather(1, again) - old_logits.gather(1, action))
    return -torch.min(ratio * return_or_advantage, ratio.clamp(1 - ppo_clip, 1 + ppo_clip) * return_or_advantage).mean()


ppo_sum = altered(
    "get_PPO_policy_gradient_loss",
    {").mean()": ").sum()"},
    hint="Does the formula contain a sum or a mean over the batch?",
)


@mistake(
    "get_PPO_policy_gradient_loss",
    hint="Where does your loss use the old logits?",
    source="machine problem 11, whose text repeats the formula",
)
def ppo_is_vanilla(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    return -(policy(observation).gather(1, action) * return_or_advantage).mean()


@mistake(
    "get_PPO_policy_gradient_loss",
    hint="Outside the clip range, should good and bad actions be treated alike?",
)
def ppo_drops_rows_outside(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    ratio = ratio_of(policy, observation, old_logits, action)
    inside = (ratio > 1 - ppo_clip) & (ratio < 1 + ppo_clip)
    return -(ratio * return_or_advantage * inside).mean()


@mistake(
    "get_PPO_policy_gradient_loss",
    hint="What is the quotient of your two probabilities if both underflow to 0?",
    source="student code",
)
def ppo_quotient_of_probabilities(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    ratio = policy(observation).exp().gather(1, action) / old_logits.exp().gather(1, action)
    return -torch.min(ratio * return_or_advantage, ratio.clamp(1 - ppo_clip, 1 + ppo_clip) * return_or_advantage).mean()


@mistake(
    "get_PPO_policy_gradient_loss",
    hint="If a probability underflows to 0 in float32, what is its logarithm, and which tensor already holds log π?",
)
def ppo_logarithms_of_softmax(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    new, old = (torch.log(torch.softmax(logits, dim=1)).gather(1, action) for logits in (policy(observation), old_logits))
    ratio = torch.exp(new - old)
    return -torch.min(ratio * return_or_advantage, ratio.clamp(1 - ppo_clip, 1 + ppo_clip) * return_or_advantage).mean()


@mistake(
    "get_PPO_policy_gradient_loss",
    hint="If two probabilities are far smaller than the constant that you add to both, what is their ratio?",
)
def ppo_quotient_with_epsilon(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    ratio = policy(observation).exp().gather(1, action) / (old_logits.exp().gather(1, action) + 1e-10)
    return -torch.min(ratio * return_or_advantage, ratio.clamp(1 - ppo_clip, 1 + ppo_clip) * return_or_advantage).mean()


@mistake(
    "get_PPO_policy_gradient_loss",
    hint="What does squeeze_, with its underscore, do to the shape of the caller's actions?",
    form=True,
)
def ppo_squeezes_the_actions_in_place(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    action.squeeze_(1)
    ratio = ratio_of(policy, observation, old_logits, action.unsqueeze(1))
    return -torch.min(ratio * return_or_advantage, ratio.clamp(1 - ppo_clip, 1 + ppo_clip) * return_or_advantage).mean()
