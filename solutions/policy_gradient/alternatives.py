"""Right but different ways to write what `policy_gradient` asks for: `verify` proves that each gets everything.

They are how students write, not how anybody should: shapes come and go, orders differ, libraries do the work.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

import utils
from grader.proof.catalogue import altered, alternative

# get_returns


@alternative("get_returns")
def quadratic_returns(rollout_buffer, discount_factor=0.95):
    """Sum every return separately, up to the end of its episode: slow, but right."""
    returns = torch.zeros(rollout_buffer.final_size, 1)
    for start in range(rollout_buffer.final_size):
        for row in range(start, rollout_buffer.final_size):
            returns[start] += discount_factor ** (row - start) * rollout_buffer.rewards[row]
            if rollout_buffer.terminateds[row]:
                break
    return returns


@alternative("get_returns")
def returns_by_segments(rollout_buffer, discount_factor=0.95):
    """Each episode is a product with a triangular matrix of discounts."""
    ends = torch.nonzero(rollout_buffer.terminateds).flatten() + 1
    parts = torch.tensor_split(rollout_buffer.rewards.double(), ends)
    returns = []
    for rewards in parts:
        time = torch.arange(len(rewards))
        powers = (time[None, :] - time[:, None]).clamp(min=0)
        returns.append(torch.triu(torch.tensor(discount_factor, dtype=torch.float64) ** powers) @ rewards)
    return torch.cat(returns).float().reshape(-1, 1)


@alternative("get_returns")
def returns_in_numpy(rollout_buffer, discount_factor=0.95):
    rewards = np.asarray(rollout_buffer.rewards, dtype=np.float64)
    going_on = 1.0 - np.asarray(rollout_buffer.terminateds, dtype=np.float64)
    returns = np.empty_like(rewards)
    following = 0.0
    for row in range(len(rewards) - 1, -1, -1):
        following = returns[row] = rewards[row] + discount_factor * going_on[row] * following
    return torch.from_numpy(returns).to(torch.float32)[:, None]


@dataclass
class Step:
    reward: float
    last: bool


@alternative("get_returns")
def returns_of_dataclasses(rollout_buffer, discount_factor=0.95):
    steps = [Step(float(r), bool(t)) for r, t in zip(rollout_buffer.rewards, rollout_buffer.terminateds, strict=True)]
    returns = []
    while steps:
        step = steps.pop()
        returns.insert(0, step.reward if step.last or not returns else step.reward + discount_factor * returns[0])
    return torch.tensor([[value] for value in returns])


# get_vanilla_policy_gradient_loss


@alternative("get_vanilla_policy_gradient_loss")
def vanilla_by_distribution(policy, observation, action, return_or_advantage, **kwargs):
    distribution = torch.distributions.Categorical(logits=policy(observation))
    return -(distribution.log_prob(action.squeeze(-1)) * return_or_advantage.squeeze(-1)).mean()


@alternative("get_vanilla_policy_gradient_loss")
def vanilla_by_one_hot(policy, observation, action, return_or_advantage, **kwargs):
    log_prob = policy(observation)
    taken = functional.one_hot(action.flatten(), log_prob.size(-1)).to(log_prob.dtype)
    return torch.mean((log_prob * taken).sum(-1, keepdim=True) * -return_or_advantage.detach())


@alternative("get_vanilla_policy_gradient_loss")
def vanilla_by_cross_entropy(policy, observation, action, return_or_advantage, **kwargs):
    """Cross entropy applies log_softmax once more, which changes nothing on log-probabilities."""
    surprise = functional.cross_entropy(policy(observation), action.view(-1), reduction="none")
    return (surprise * return_or_advantage.view(-1)).mean()


@alternative("get_vanilla_policy_gradient_loss")
def vanilla_row_by_row(policy, observation, action, return_or_advantage, **kwargs):
    losses = []
    for row in range(len(observation)):
        log_prob = torch.log_softmax(policy(observation[row : row + 1]), dim=-1)[0]
        losses.append(-log_prob[action[row].item()] * return_or_advantage[row].item())
    return sum(losses) / len(losses)


@alternative("get_vanilla_policy_gradient_loss")
def vanilla_of_one_number(policy, observation, action, return_or_advantage, **kwargs):
    """The course shows a tensor of size 1: one number in whatever shape."""
    product = policy(observation).gather(1, action) * return_or_advantage
    return -product.mean(dim=0)


# collect_rollouts


rollouts_with_break = altered(
    "collect_rollouts",
    {
        "        terminated = False\n        while not terminated:\n": "        while True:\n",
        "logits = policy(observation)": "logits = policy(observation).clone()",
        "observation = next_observation": "observation = next_observation\nif terminated:\n    break",
    },
)

rollouts_with_plain_numbers = altered(
    "collect_rollouts",
    {
        "env.step(action)": "env.step(action.item())",
        "logits, observation, terminated, reward)": "logits, observation, bool(terminated), float(reward))",
        "final_rewards.append(reward)": "final_rewards.append(float(reward))",
    },
)

rollouts_detached_later = altered(
    "collect_rollouts",
    {
        "            with torch.no_grad():\n                logits": "            logits",
        "add(action, logits,": "add(action, logits.detach(),",
    },
)


def one_rollout(env, policy, seed):
    """Return the rows of one episode, and its last reward."""
    rows, observation, terminated, reward = [], env.reset(), False, None
    while not terminated:
        logits = policy(observation).detach()
        action = utils.distribution_sample(logits=logits, seed=seed)
        following, terminated, reward = env.step(action)
        rows.append(
            {"action": action, "logits": logits, "observation": observation, "terminated": terminated, "reward": reward}
        )
        observation = following
    return rows, reward


@alternative("collect_rollouts")
def rollouts_by_helper(env, policy, num_rollouts, base_rollout=0, num_total_rollouts=None, seed=None):
    buffer, last = utils.RolloutBuffer(), []
    for _ in range(num_rollouts):
        rows, reward = one_rollout(env, policy, seed)
        for row in rows:
            buffer.add(**row)
        last.append(reward)
    buffer.finalize()
    return buffer, np.mean(last)


# get_value_net_loss


@alternative("get_value_net_loss")
def value_loss_by_hand(value_net, observation, returns, **kwargs):
    return (returns - value_net(observation)).pow(2).sum() / returns.numel()


@alternative("get_value_net_loss")
def value_loss_squeezed(value_net, observation, returns, **kwargs):
    return nn.MSELoss()(value_net(observation).squeeze(-1), returns.squeeze(-1))


class SquaredError(nn.Module):
    def forward(self, prediction: Tensor, target: Tensor) -> Tensor:
        return torch.square(prediction - target.detach())


@alternative("get_value_net_loss")
def value_loss_by_module(value_net, observation, returns, **kwargs):
    return SquaredError()(value_net(observation), returns).mean(dim=0).squeeze()


# get_advantages


@alternative("get_advantages")
def advantages_with_population_deviation(value_net, observations, returns):
    """NumPy's definition of the deviation, which the text allows."""
    advantages = (returns - value_net(observations)).detach().numpy()
    return torch.as_tensor((advantages - np.mean(advantages)) / (np.std(advantages) + 1e-10))


@alternative("get_advantages")
def advantages_by_axis(value_net, observations, returns):
    advantages = returns - value_net(observations).detach()
    deviation, mean = torch.std_mean(advantages, dim=0, keepdim=True)
    return (advantages - mean).div(deviation + 1e-8)


@alternative("get_advantages")
def advantages_flat_inside(value_net, observations, returns):
    with torch.inference_mode():
        values = value_net(observations).reshape(-1)
    advantages = returns.reshape(-1) - values.clone()
    advantages -= advantages.mean()
    advantages /= advantages.std(correction=1) + 1e-10
    return advantages.unsqueeze(-1)


# train_policy_gradient


arguments_by_name = altered(
    "train_policy_gradient.without_critic",
    {
        "returns = get_returns(rollout_buffer)": "returns = get_returns(rollout_buffer=rollout_buffer)",
        "get_advantages(value_net, rollout_buffer.observations, returns)": ""
        "get_advantages(value_net=value_net, observations=rollout_buffer.observations, returns=returns)",
    },
)

zero_grad_first = altered(
    "train_policy_gradient.minibatches",
    {
        "                optimizer.zero_grad()\n": "",
        "batch = {": "optimizer.zero_grad(set_to_none=True)\nbatch = {",
    },
)

zero_grad_last = altered(
    "train_policy_gradient.minibatches",
    {"                optimizer.zero_grad()\n": "", "optimizer.step()": "optimizer.step()\noptimizer.zero_grad()"},
)

minibatch_in_a_closure = altered(
    "train_policy_gradient.minibatches",
    {
        "loss = actor_loss = get_policy_gradient_loss(**batch)\n"
        "                actor_losses.append(actor_loss.item())\n"
        "                if value_net is not None:\n"
        "                    critic_loss = get_value_net_loss(**batch)\n"
        "                    critic_losses.append(critic_loss.item())\n"
        "                    loss = actor_loss + critic_loss_multiplier * critic_loss\n"
        "                optimizer.zero_grad()\n"
        "                loss.backward()\n"
        "                optimizer.step()": "def closure():\n"
        "    optimizer.zero_grad()\n"
        "    loss = get_policy_gradient_loss(**batch)\n"
        "    if value_net is not None:\n"
        "        critic_loss = get_value_net_loss(**batch)\n"
        "        critic_losses.append(critic_loss.item())\n"
        "        loss = loss + critic_loss_multiplier * critic_loss\n"
        "    loss.backward()\n"
        "    return loss\n"
        "total = optimizer.step(closure).item()\n"
        "actor_losses.append(total if value_net is None else total - critic_loss_multiplier * critic_losses[-1])",
    },
)

both_losses_backward_by_themselves = altered(
    "train_policy_gradient.with_critic",
    {
        "loss = actor_loss = get_policy": "optimizer.zero_grad()\nactor_loss = get_policy",
        "actor_losses.append(actor_loss.item())": "actor_losses.append(float(actor_loss))\nactor_loss.backward()",
        "loss = actor_loss + critic_loss_multiplier * critic_loss": "(critic_loss_multiplier * critic_loss).backward()",
        "                optimizer.zero_grad()\n                loss.backward()\n": "",
    },
)

losses_as_detached_tensors = altered(
    "train_policy_gradient.with_critic",
    {
        "append(actor_loss.item())": "append(actor_loss.detach())",
        "append(critic_loss.item())": "append(critic_loss.detach())",
    },
)

shuffled_by_numpy = altered(
    "train_policy_gradient.minibatches",
    {
        "for rows in torch.randperm(rollout_buffer.final_size).split(minibatch_size):": ""
        "order = np.random.permutation(rollout_buffer.final_size)\n"
        "for start in range(0, len(order), minibatch_size):\n"
        "    rows = order[start : start + minibatch_size]",
        "actor_losses, critic_losses, final_rewards, learning_rates = [], [], [], []": "import numpy as np\n"
        "actor_losses, critic_losses, final_rewards, learning_rates = [], [], [], []",
    },
)

whole_buffer_shuffled_in_step = altered(
    "train_policy_gradient.minibatches",
    {
        "for rows in torch.randperm(rollout_buffer.final_size).split(minibatch_size):": ""
        "order = torch.randperm(rollout_buffer.final_size)\n"
        "for start in range(0, rollout_buffer.final_size, minibatch_size):\n"
        "    rows = order[start : min(start + minibatch_size, rollout_buffer.final_size)].tolist()",
    },
)


@alternative("train_policy_gradient.minibatches")
def train_with_a_data_loader(
    env,
    policy,
    optimizer,
    get_policy_gradient_loss,
    get_returns,
    lr_sched=None,
    rollouts=1,
    rollouts_before_training=1,
    training_epochs_per_rollout=1,
    minibatch_size=64,
    ppo_clip=0.2,
    critic_loss_multiplier=0.0,
    value_net=None,
    get_advantages=None,
    get_value_net_loss=None,
    rollout_seed=None,
):
    """A DataLoader shuffles, and the losses get positional names by a dictionary."""
    history = {"actor": [], "critic": [], "reward": [], "rate": []}
    done = 0
    while done < rollouts:
        buffer, reward = collect_rollouts(env, policy, rollouts_before_training, done, rollouts, rollout_seed)
        done += rollouts_before_training
        history["reward"] += [reward]
        returns = get_returns(buffer)
        weight = returns if value_net is None else get_advantages(value_net, buffer.observations, returns)
        data = TensorDataset(buffer.observations, buffer.old_logits, buffer.actions, weight, returns)
        for _ in range(training_epochs_per_rollout):
            for parts in DataLoader(data, batch_size=minibatch_size, shuffle=True):
                names = ("observation", "old_logits", "action", "return_or_advantage", "returns")
                given = dict(zip(names, parts, strict=True), policy=policy, value_net=value_net, ppo_clip=ppo_clip)
                total = get_policy_gradient_loss(**given)
                history["actor"] += [total.detach().item()]
                if value_net is not None:
                    critic = get_value_net_loss(**given)
                    history["critic"] += [critic.detach().item()]
                    total = total + critic * critic_loss_multiplier
                optimizer.zero_grad()
                total.backward()
                optimizer.step()
        if lr_sched:
            lr_sched.step()
            history["rate"] += lr_sched.get_last_lr()
    return history["actor"], history["critic"], history["reward"], history["rate"]


# get_PPO_policy_gradient_loss


@alternative("get_PPO_policy_gradient_loss")
def ppo_by_distributions(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    new, old = (torch.distributions.Categorical(logits=logits) for logits in (policy(observation), old_logits))
    ratio = (new.log_prob(action[:, 0]) - old.log_prob(action[:, 0])).exp()
    advantage = return_or_advantage[:, 0]
    return torch.stack([-ratio * advantage, -ratio.clip(1 - ppo_clip, 1 + ppo_clip) * advantage]).amax(dim=0).mean()


@alternative("get_PPO_policy_gradient_loss")
def ppo_by_sign(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    """OpenAI's Spinning Up form: the bound depends on the sign of the advantage."""
    log_prob = policy(observation).gather(-1, action)
    ratio = torch.exp(log_prob - old_logits.gather(-1, action))
    bound = torch.where(return_or_advantage > 0, 1 + ppo_clip, 1 - ppo_clip) * return_or_advantage
    return -torch.minimum(ratio * return_or_advantage, bound).mean()


@alternative("get_PPO_policy_gradient_loss")
def ppo_by_one_hot(policy, observation, old_logits, action, return_or_advantage, ppo_clip=0.2, **kwargs):
    taken = functional.one_hot(action.squeeze(1), old_logits.shape[1])
    ratio = torch.exp(((policy(observation) - old_logits.detach()) * taken).sum(dim=1, keepdim=True))
    clipped = torch.clamp(ratio, min=1.0 - ppo_clip, max=1.0 + ppo_clip)
    return torch.max(-return_or_advantage * ratio, -return_or_advantage * clipped).mean()
