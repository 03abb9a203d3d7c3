"""Generate classes of synthetic students of `policy_gradient`, some of whom copy, for benchmarks/similarity.py.

Two kinds of classes. In a *written* class every student writes every function: one of several ways below, which differ from the
ground up, with small choices in it (‹this¦or this›) and names of their own. Two students may well choose alike, as they do. In a
*spliced* class every function is drawn from the kit's own catalogue: the solution, an alternative or a mistake.
"""

# ruff: noqa: E501 (students write long lines)

from __future__ import annotations

import ast
import random
import re
import textwrap
from collections.abc import Callable
from pathlib import Path

from grader.assignment import AssignmentFiles
from grader.proof import catalogue

ROOT = Path(__file__).resolve().parents[1]
HOME = AssignmentFiles(ROOT, "policy_gradient")
STUB = (ROOT / "assignments" / "policy_gradient" / "submitted.py").read_text(encoding="utf-8")
SOLUTION = (HOME.solution / "submitted.py").read_text(encoding="utf-8")

# By function: bodies of students who have not seen each other's.
WAYS = {
    "get_returns": [
        """
        rewards = rollout_buffer.rewards
        ‹n = len(rewards)¦n = rewards.shape[0]¦n = rollout_buffer.final_size›
        returns = torch.zeros(‹n, 1¦(n, 1)¦n, 1, dtype=torch.float32›)
        running = ‹0¦0.0¦torch.tensor(0.0)›
        for t in ‹reversed(range(n))¦range(n - 1, -1, -1)›:
            ‹if rollout_buffer.terminateds[t]:
                running = 0¦if rollout_buffer.terminateds[t] == True:
                running = 0.0¦running = running * (1 - int(rollout_buffer.terminateds[t]))›
            ‹running = rewards[t] + discount_factor * running¦running = running * discount_factor + rewards[t]¦running *= discount_factor
            running += rewards[t]›
            ‹returns[t] = running¦returns[t, 0] = running¦returns[t][0] = float(running)›
        return returns
        """,
        """
        result, episode = [], []
        for reward, done in zip(rollout_buffer.rewards.tolist(), rollout_buffer.terminateds.tolist()):
            episode.append(reward)
            if done:
                result‹.extend(discount(episode, discount_factor))¦ += discount(episode, discount_factor)›
                ‹episode = []¦episode.clear()›
        ‹if episode:
            result.extend(discount(episode, discount_factor))¦result += discount(episode, discount_factor)›
        return ‹torch.tensor(result, dtype=torch.float32).view(-1, 1)¦torch.FloatTensor(result)[:, None]¦torch.tensor(result).float().reshape(len(result), 1)›


    def discount(values, gamma):
        total, sums = 0.0, []
        ‹for value in values[::-1]:¦for value in reversed(values):›
            total = value + gamma * total
            sums.append(total)
        return ‹sums[::-1]¦list(reversed(sums))›
        """,
        """
        G = deque()
        g = 0.
        pairs = ‹list(zip(rollout_buffer.rewards, rollout_buffer.terminateds))¦[*zip(rollout_buffer.rewards, rollout_buffer.terminateds)]›
        while pairs:
            r, d = pairs.pop()
            g = ‹float(r) + (0. if d else discount_factor * g)¦r.item() if d else r.item() + discount_factor * g›
            G.appendleft(‹g¦[g]›)
        ‹out = torch.as_tensor(list(G), dtype=torch.float32)
        return out.reshape(-1, 1)¦return torch.as_tensor(list(G), dtype=torch.float32).reshape(-1, 1)›
        """,
        """
        r = rollout_buffer.rewards.‹numpy()¦detach().cpu().numpy()›.astype(‹float¦np.float64¦"float64"›)
        mask = 1 - rollout_buffer.terminateds.‹numpy()¦detach().cpu().numpy()›.astype(‹float¦np.float64¦"float64"›)
        out = ‹r.copy()¦np.array(r)›
        for i in range(‹len(r) - 2¦r.size - 2¦out.shape[0] - 2›, -1, -1):
            out[i] += discount_factor * ‹mask[i] * out[i + 1]¦out[i + 1] * mask[i]›
        return torch.‹from_numpy(out).float().unsqueeze(-1)¦tensor(out[:, None], dtype=torch.float32)›
        """,
        """
        T = rollout_buffer.final_size
        boundaries = [-1] + ‹[i for i in range(T) if rollout_buffer.terminateds[i]]¦torch.where(rollout_buffer.terminateds)[0].tolist()›
        if boundaries[-1] != T - 1:
            boundaries.append(T - 1)
        pieces = []
        for first, last in zip(boundaries, boundaries[1:]):
            chunk = rollout_buffer.rewards[first + 1 : last + 1].‹float()¦to(torch.float32)›
            gammas = discount_factor ** torch.arange(len(chunk)).float()
            pieces.append(torch.stack([(chunk[k:] * gammas[: len(chunk) - k]).sum() for k in range(len(chunk))]))
        return torch.cat(pieces).‹unsqueeze(1)¦view(T, 1)›
        """,
        """
        def future(t):
            value = 0.0
            power = 1.0
            while t < rollout_buffer.final_size:
                value += power * ‹rollout_buffer.rewards[t].item()¦float(rollout_buffer.rewards[t])›
                if ‹rollout_buffer.terminateds[t]¦bool(rollout_buffer.terminateds[t])›:
                    break
                ‹power *= discount_factor
                t += 1¦t += 1
                power = power * discount_factor›
            return value

        return torch.tensor([‹[future(t)] for t in range(rollout_buffer.final_size)¦[future(step)] for step in range(len(rollout_buffer.rewards))›])
        """,
        """
        reward_list = ‹rollout_buffer.rewards.tolist()¦[float(x) for x in rollout_buffer.rewards]›
        done_list = ‹rollout_buffer.terminateds.tolist()¦[bool(x) for x in rollout_buffer.terminateds]›
        reward_list.reverse()
        done_list.reverse()
        answer = []
        for index in range(len(reward_list)):
            if index == 0 or done_list[index]:
                answer.append(reward_list[index])
            else:
                answer.append(reward_list[index] + discount_factor * answer[‹index - 1¦-1›])
        answer‹.reverse()¦ = answer[::-1]›
        return torch.tensor(answer).unsqueeze(‹1¦-1¦dim=1›)
        """,
    ],
    "get_vanilla_policy_gradient_loss": [
        """
        ‹log_probs = policy(observation)
        chosen = log_probs.gather(1, action)¦chosen = torch.gather(policy(observation), 1, action)¦chosen = policy(observation).gather(dim=1, index=action)›
        ‹return -(chosen * return_or_advantage).mean()¦loss = -torch.mean(chosen * return_or_advantage)
        return loss¦return (-chosen * return_or_advantage).mean()›
        """,
        """
        dist = Categorical(logits=policy(observation))
        lp = dist.log_prob(action‹.squeeze(1)¦.flatten()¦[:, 0]›)
        return ‹-(lp * return_or_advantage.squeeze(1)).mean()¦torch.mean(-lp * return_or_advantage.flatten())›
        """,
        """
        rows = torch.arange(‹len(observation)¦observation.shape[0]›)
        picked = policy(observation)[rows, action‹.squeeze()¦.view(-1)›]
        return ‹-1 * (picked * return_or_advantage.view(-1)).mean()¦-picked.dot(return_or_advantage.view(-1)) / len(rows)›
        """,
        """
        nll = ‹nn.NLLLoss(reduction="none")(policy(observation), action[:, 0])¦F.nll_loss(policy(observation), action.squeeze(-1), reduction="none")›
        return ‹(nll.unsqueeze(1) * return_or_advantage).mean()¦torch.mean(nll * return_or_advantage.squeeze(-1))›
        """,
        """
        total = 0
        out = policy(observation)
        for i in range(out.size(0)):
            total = total - out[i, action[i, 0]] * return_or_advantage[i, 0]
        return total / out.size(0)
        """,
    ],
    "collect_rollouts": [
        """
        rollout_buffer = utils.RolloutBuffer()
        final_rewards = []
        if num_total_rollouts is None:
            num_total_rollouts = base_rollout + num_rollouts
        for rollout in range(num_rollouts):
            print(f"\\rRunning rollout {base_rollout + rollout}/{num_total_rollouts}", end="")
            obs = env.reset()
            ‹done = False
            while not done:¦while True:›
                with torch.no_grad():
                    logits = policy(obs)
                ‹action = utils.distribution_sample(logits, seed=seed)¦action = utils.distribution_sample(logits=logits, seed=seed)¦    action = utils.distribution_sample(logits, seed=seed)›
                next_obs, done, reward = env.step(action)
                rollout_buffer.add(‹action, logits, obs, done, reward¦action=action, logits=logits, observation=obs, terminated=done, reward=reward›)
                ‹obs = next_obs¦if done:
                    break
                obs = next_obs›
            final_rewards.append(‹reward¦float(reward)›)
        rollout_buffer.finalize()
        return rollout_buffer, sum(final_rewards) / num_rollouts
        """,
        """
        buffer = utils.RolloutBuffer()
        total = 0.0
        num_total_rollouts = num_total_rollouts or base_rollout + num_rollouts
        policy_was_training = policy.training
        ‹policy.eval()¦policy.train(False)›
        for k in range(base_rollout, base_rollout + num_rollouts):
            print("\\rRunning rollout {}/{}".format(k, num_total_rollouts), end="")
            state, finished, last = env.reset(), False, 0.0
            while finished is False:
                scores = policy(state).detach()
                choice = utils.distribution_sample(scores, seed=seed)
                old_state = state
                state, finished, last = env.step(choice)
                finished = bool(finished)
                buffer.add(choice, scores, old_state, finished, last)
            total += ‹last¦float(last)›
        policy.train(policy_was_training)
        buffer.finalize()
        return buffer, total / num_rollouts
        """,
        """
        rollout_buffer = utils.RolloutBuffer()
        final_rewards = []
        if num_total_rollouts is None:
            num_total_rollouts = base_rollout + num_rollouts
        for rollout in range(num_rollouts):
            print(f"\\rRunning rollout {base_rollout + rollout}/{num_total_rollouts}", end="")
            reward = None
            for step in episode(env, policy, seed):
                rollout_buffer.add(*step)
                reward = step[‹-1¦4›]
            final_rewards.append(reward)
        rollout_buffer.finalize()
        return rollout_buffer, sum(final_rewards) / num_rollouts


    def episode(env, policy, seed):
        s = env.reset()
        over = False
        while not over:
            with torch.‹no_grad¦inference_mode›():
                l = policy(s).clone()
                a = utils.distribution_sample(l, seed=seed)
            s_next, over, r = env.step(a)
            yield a, l, s, over, r
            s = s_next
        """,
        """
        store = utils.RolloutBuffer()
        endings = np.zeros(num_rollouts)
        if num_total_rollouts is None:
            num_total_rollouts = base_rollout + num_rollouts
        count = 0
        current = env.reset()
        while count < num_rollouts:
            log_probabilities = ‹policy(current).detach()¦policy(current).data›
            sampled = utils.distribution_sample(log_probabilities, seed=seed)
            result = env.step(sampled)
            store.add(sampled, log_probabilities, current, result[1], result[2])
            ‹if result[1]:
                endings[count] = result[2]
                count += 1
                print(f"\\rRunning rollout {base_rollout + count}/{num_total_rollouts}", end="")
                if count < num_rollouts:
                    current = env.reset()
            else:
                current = result[0]¦if not result[1]:
                current = result[0]
                continue
            endings[count] = result[2]
            print(f"\\rRunning rollout {base_rollout + count}/{num_total_rollouts}", end="")
            count = count + 1
            if count != num_rollouts:
                current = env.reset()›
        store.finalize()
        return store, float(endings.mean())
        """,
        """
        rollout_buffer = utils.RolloutBuffer()
        final_rewards = []
        if num_total_rollouts is None:
            num_total_rollouts = base_rollout + num_rollouts
        with torch.no_grad():
            for rollout in range(num_rollouts):
                print(f"\\rRunning rollout {base_rollout + rollout}/{num_total_rollouts}", end="")
                observations = [env.reset()]
                actions, all_logits, flags, rewards = [], [], [], []
                while not flags or not flags[-1]:
                    all_logits.append(policy(observations[-1]))
                    actions.append(utils.distribution_sample(all_logits[-1], seed=seed))
                    ‹o, f, r = env.step(actions[-1])
                    observations.append(o)
                    flags.append(f)
                    rewards.append(r)¦for values, value in zip((observations, flags, rewards), env.step(actions[-1])):
                        values.append(value)›
                for i in range(len(actions)):
                    rollout_buffer.add(actions[i], all_logits[i], observations[i], flags[i], rewards[i])
                final_rewards.append(rewards[-1])
        rollout_buffer.finalize()
        return rollout_buffer, sum(final_rewards) / num_rollouts
        """,
    ],
    "get_value_net_loss": [
        "return ‹nn.functional.mse_loss(value_net(observation), returns)¦F.mse_loss(value_net(observation), returns)¦nn.MSELoss()(value_net(observation), returns)›",
        """
        values = value_net(observation)
        return ‹((values - returns) ** 2).mean()¦torch.mean((returns - values) ** 2)¦torch.mean(torch.square(values - returns))¦(returns - values).pow(2).mean()›
        """,
        """
        criterion = nn.MSELoss(‹¦reduction="mean"›)
        predicted = value_net(observation)
        ‹loss = criterion(predicted, returns)
        return loss¦return criterion(predicted, returns.detach())›
        """,
        """
        error = returns.squeeze(-1) - value_net(observation).squeeze(-1)
        return ‹error.dot(error) / len(error)¦(error * error).sum() / error.numel()›
        """,
    ],
    "get_advantages": [
        """
        with torch.no_grad():
            values = value_net(observations)
        ‹advantages = returns - values
        return (advantages - advantages.mean()) / (advantages.std() + 1e-10)¦adv = returns - values
        adv = (adv - adv.mean()) / (adv.std() + 1e-10)
        return adv›
        """,
        """
        advantage = returns - value_net(observations).detach()
        mean, std = ‹advantage.mean(), advantage.std()¦torch.mean(advantage), torch.std(advantage)›
        ‹advantage -= mean
        advantage /= std + 1e-10
        return advantage¦return (advantage - mean) / (std + 1e-10)›
        """,
        """
        a = (returns - value_net(observations)).detach().numpy()
        a = ‹(a - a.mean()) / (a.std() + 1e-10)¦(a - np.mean(a)) / (1e-10 + np.std(a))›
        return torch.‹from_numpy(a)¦tensor(a)›
        """,
        """
        return standardize((returns - value_net(observations)).detach())


    def standardize(x, eps=1e-10):
        centered = x - x.mean()
        return centered / (‹x.std() + eps¦centered.pow(2).mean().sqrt() + eps›)
        """,
        """
        baseline = value_net(observations).detach()
        diff = torch.sub(returns, baseline)
        var, mu = torch.var_mean(diff)
        return diff.sub(mu).div(var.sqrt().add(1e-10))
        """,
    ],
    "train_policy_gradient": [
        """
        actor_losses, critic_losses, final_rewards, learning_rates = [], [], [], []
        for base_rollout in range(0, rollouts, rollouts_before_training):
            rollout_buffer, final_reward = collect_rollouts(env, policy, rollouts_before_training, base_rollout, rollouts, ‹rollout_seed¦seed=rollout_seed›)
            final_rewards.append(final_reward)
            returns = get_returns(rollout_buffer)
            ‹if value_net is not None:
                targets = get_advantages(value_net, rollout_buffer.observations, returns)
            else:
                targets = returns¦if value_net is None:
                targets = returns
            else:
                targets = get_advantages(value_net, rollout_buffer.observations, returns)¦targets = get_advantages(value_net, rollout_buffer.observations, returns) if value_net is not None else returns›
            for _ in range(training_epochs_per_rollout):
                perm = torch.randperm(‹rollout_buffer.final_size¦len(returns)¦returns.shape[0]›)
                for start in range(0, ‹rollout_buffer.final_size¦len(perm)¦returns.shape[0]›, minibatch_size):
                    idx = perm[start : start + minibatch_size]
                    ‹obs = rollout_buffer.observations[idx]
                    old = rollout_buffer.old_logits[idx]
                    act = rollout_buffer.actions[idx]
                    actor_loss = get_policy_gradient_loss(policy=policy, value_net=value_net, observation=obs, old_logits=old, action=act, return_or_advantage=targets[idx], returns=returns[idx], ppo_clip=ppo_clip)¦actor_loss = get_policy_gradient_loss(
                        policy=policy,
                        value_net=value_net,
                        observation=rollout_buffer.observations[idx],
                        old_logits=rollout_buffer.old_logits[idx],
                        action=rollout_buffer.actions[idx],
                        return_or_advantage=targets[idx],
                        returns=returns[idx],
                        ppo_clip=ppo_clip,
                    )›
                    actor_losses.append(actor_loss.‹item()¦detach().item()›)
                    ‹loss = actor_loss
                    if value_net is not None:
                        critic_loss = get_value_net_loss(policy=policy, value_net=value_net, observation=rollout_buffer.observations[idx], returns=returns[idx])
                        critic_losses.append(critic_loss.item())
                        loss = loss + critic_loss_multiplier * critic_loss¦if value_net is not None:
                        critic_loss = get_value_net_loss(value_net=value_net, observation=rollout_buffer.observations[idx], returns=returns[idx])
                        critic_losses.append(critic_loss.item())
                        loss = actor_loss + critic_loss * critic_loss_multiplier
                    else:
                        loss = actor_loss›
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
            if lr_sched is not None:
                lr_sched.step()
                learning_rates.append(lr_sched.get_last_lr()[0])
        return actor_losses, critic_losses, final_rewards, learning_rates
        """,
        """
        actor_losses, critic_losses, final_rewards, learning_rates = [], [], [], []
        for base_rollout in range(0, rollouts, rollouts_before_training):
            data, score = collect_rollouts(env=env, policy=policy, num_rollouts=rollouts_before_training, base_rollout=base_rollout, num_total_rollouts=rollouts, seed=rollout_seed)
            final_rewards += [score]
            R = get_returns(data)
            A = R
            if value_net:
                A = get_advantages(value_net, data.observations, R)
            for epoch in range(training_epochs_per_rollout):
                order = ‹np.random.permutation(len(R))¦list(range(len(R)))
                random.shuffle(order)›
                ‹batches = [order[i : i + minibatch_size] for i in range(0, len(R), minibatch_size)]
                for b in batches:¦while len(order):
                    b, order = order[:minibatch_size], order[minibatch_size:]›
                    arguments = dict(policy=policy, value_net=value_net, ppo_clip=ppo_clip)
                    arguments["observation"] = data.observations[b]
                    arguments["old_logits"] = data.old_logits[b]
                    arguments["action"] = data.actions[b]
                    arguments["return_or_advantage"] = A[b]
                    arguments["returns"] = R[b]
                    optimizer.zero_grad()
                    La = get_policy_gradient_loss(**arguments)
                    actor_losses += [La.item()]
                    if value_net:
                        Lc = get_value_net_loss(**arguments)
                        critic_losses += [Lc.item()]
                        (La + critic_loss_multiplier * Lc).backward()
                    else:
                        La.backward()
                    optimizer.step()
            if lr_sched is not None:
                lr_sched.step()
                learning_rates.append(lr_sched.get_last_lr()[0])
        return actor_losses, critic_losses, final_rewards, learning_rates
        """,
        """
        log = Log()
        for start in range(0, rollouts, rollouts_before_training):
            buffer, last = collect_rollouts(env, policy, rollouts_before_training, start, rollouts, seed=rollout_seed)
            log.rewards.append(last)
            returns = get_returns(buffer)
            weights = get_advantages(value_net, buffer.observations, returns) if value_net else returns
            for _ in range(training_epochs_per_rollout):
                for rows in torch.randperm(len(returns)).split(minibatch_size):
                    update(log, optimizer, critic_loss_multiplier, get_policy_gradient_loss, get_value_net_loss if value_net else None, {
                        "policy": policy, "value_net": value_net, "ppo_clip": ppo_clip, "action": buffer.actions[rows],
                        "old_logits": buffer.old_logits[rows], "observation": buffer.observations[rows],
                        "returns": returns[rows], "return_or_advantage": weights[rows],
                    })
            if lr_sched is not None:
                lr_sched.step()
                log.rates.append(lr_sched.get_last_lr()[0])
        return log.actor, log.critic, log.rewards, log.rates


    class Log:
        def __init__(self):
            self.actor, self.critic, self.rewards, self.rates = [], [], [], []


    def update(log, optimizer, multiplier, actor, critic, batch):
        loss = actor(**batch)
        log.actor.append(loss.item())
        if critic:
            second = critic(**batch)
            log.critic.append(second.item())
            loss = loss + multiplier * second
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        """,
        """
        history = {name: [] for name in ("actor", "critic", "final", "lr")}
        finished = 0
        while finished < rollouts:
            buf, mean_final = collect_rollouts(env, policy, rollouts_before_training, finished, rollouts, rollout_seed)
            finished = finished + rollouts_before_training
            history["final"].append(mean_final)
            ret = get_returns(buf)
            weight = ret
            if value_net is not None:
                weight = get_advantages(value_net=value_net, observations=buf.observations, returns=ret)
            dataset = TensorDataset(buf.observations, buf.old_logits, buf.actions, weight, ret)
            loader = DataLoader(dataset, batch_size=minibatch_size, shuffle=True‹, drop_last=False¦›)
            for epoch in range(training_epochs_per_rollout):
                for o, l, a, w, r in loader:
                    actor = get_policy_gradient_loss(policy=policy, value_net=value_net, observation=o, old_logits=l, action=a, return_or_advantage=w, returns=r, ppo_clip=ppo_clip)
                    history["actor"].append(float(actor))
                    objective = actor
                    if value_net is not None:
                        critic = get_value_net_loss(policy=policy, value_net=value_net, observation=o, old_logits=l, action=a, return_or_advantage=w, returns=r, ppo_clip=ppo_clip)
                        history["critic"].append(float(critic))
                        objective = objective + critic.mul(critic_loss_multiplier)
                    optimizer.zero_grad(set_to_none=True)
                    objective.backward()
                    optimizer.step()
            if lr_sched:
                lr_sched.step()
                history["lr"].extend(lr_sched.get_last_lr())
        return tuple(history.values())
        """,
        """
        actor_losses, critic_losses, final_rewards, learning_rates = [], [], [], []
        for base_rollout in range(0, rollouts, rollouts_before_training):
            rb, fr = collect_rollouts(env, policy, rollouts_before_training, base_rollout, rollouts, rollout_seed)
            final_rewards.append(fr)
            rets = get_returns(rb)
            has_critic = value_net is not None
            adv = rets if not has_critic else get_advantages(value_net, rb.observations, rets)
            for _ in range(training_epochs_per_rollout):
                shuffled = torch.randperm(rb.final_size)
                observations, old_logits, actions = rb.observations[shuffled], rb.old_logits[shuffled], rb.actions[shuffled]
                adv_shuffled, rets_shuffled = adv[shuffled], rets[shuffled]
                n_batches = ‹math.ceil(rb.final_size / minibatch_size)¦(rb.final_size + minibatch_size - 1) // minibatch_size¦-(-rb.final_size // minibatch_size)›
                for b in range(n_batches):
                    lo, hi = b * minibatch_size, min((b + 1) * minibatch_size, rb.final_size)
                    kw = {"policy": policy, "value_net": value_net, "observation": observations[lo:hi], "old_logits": old_logits[lo:hi], "action": actions[lo:hi], "return_or_advantage": adv_shuffled[lo:hi], "returns": rets_shuffled[lo:hi], "ppo_clip": ppo_clip}
                    pg = get_policy_gradient_loss(**kw)
                    vf = get_value_net_loss(**kw) if has_critic else torch.tensor(0.0)
                    actor_losses.append(pg.item())
                    if has_critic:
                        critic_losses.append(vf.item())
                    optimizer.zero_grad()
                    (pg + critic_loss_multiplier * vf).backward()
                    optimizer.step()
            if lr_sched is not None:
                lr_sched.step()
                learning_rates.append(lr_sched.get_last_lr()[0])
        return actor_losses, critic_losses, final_rewards, learning_rates
        """,
        """
        actor_losses, critic_losses, final_rewards, learning_rates = [], [], [], []

        def step(mini, rets, weights):
            shared = {"policy": policy, "value_net": value_net, "ppo_clip": ppo_clip, "returns": rets, "return_or_advantage": weights}
            actor_term = get_policy_gradient_loss(**shared, **mini)
            optimizer.zero_grad()
            actor_term.backward()
            actor_losses.append(actor_term.item())
            if value_net is not None:
                critic_term = get_value_net_loss(**shared, **mini)
                (critic_term * critic_loss_multiplier).backward()
                critic_losses.append(critic_term.item())
            optimizer.step()

        for base_rollout in range(0, rollouts, rollouts_before_training):
            memory, reward = collect_rollouts(env, policy, rollouts_before_training, base_rollout, rollouts, seed=rollout_seed)
            final_rewards.append(reward)
            all_returns = get_returns(memory)
            scale = all_returns
            if value_net is not None:
                scale = get_advantages(value_net, memory.observations, all_returns)
            for _ in range(training_epochs_per_rollout):
                sampler = BatchSampler(RandomSampler(range(memory.final_size)), minibatch_size, drop_last=False)
                for index in sampler:
                    step({"observation": memory.observations[index], "old_logits": memory.old_logits[index], "action": memory.actions[index]}, all_returns[index], scale[index])
            if lr_sched is not None:
                lr_sched.step()
                learning_rates.append(lr_sched.get_last_lr()[0])
        return actor_losses, critic_losses, final_rewards, learning_rates
        """,
    ],
    "get_PPO_policy_gradient_loss": [
        """
        new_log_prob = policy(observation).gather(1, action)
        ‹old_log_prob = old_logits.gather(1, action)
        ratio = torch.exp(new_log_prob - old_log_prob)¦ratio = (new_log_prob - old_logits.gather(1, action)).exp()›
        ‹clipped = torch.clamp(ratio, 1 - ppo_clip, 1 + ppo_clip)¦clipped = ratio.clamp(1 - ppo_clip, 1 + ppo_clip)¦clipped = ratio.clip(1.0 - ppo_clip, 1.0 + ppo_clip)›
        ‹return -torch.min(ratio * return_or_advantage, clipped * return_or_advantage).mean()¦surr1 = ratio * return_or_advantage
        surr2 = clipped * return_or_advantage
        return -torch.min(surr1, surr2).mean()¦objective = torch.minimum(ratio * return_or_advantage, clipped * return_or_advantage)
        return -objective.mean()›
        """,
        """
        now = Categorical(logits=policy(observation)).log_prob(action‹.squeeze(-1)¦[:, 0]›)
        before = Categorical(logits=old_logits).log_prob(action‹.squeeze(-1)¦[:, 0]›)
        adv = return_or_advantage‹.squeeze(-1)¦[:, 0]›
        rho = ‹(now - before).exp()¦torch.exp(now - before)›
        return torch.max(-adv * rho, -adv * torch.clamp(rho, 1 - ppo_clip, 1 + ppo_clip)).mean()
        """,
        """
        n = torch.arange(action.size(0))
        a = action.view(-1)
        r = policy(observation)[n, a].exp() / old_logits[n, a].exp()
        w = return_or_advantage.view(-1)
        upper = ‹1 + ppo_clip¦1.0 + ppo_clip›
        lower = ‹1 - ppo_clip¦1.0 - ppo_clip›
        bounded = ‹torch.where(r > upper, upper, torch.where(r < lower, lower, r))¦r.clamp(min=lower, max=upper)›
        return -(torch.stack((r * w, bounded * w)).min(0).values).mean()
        """,
        """
        log_ratio = (policy(observation) - old_logits.detach()).gather(‹1, action¦dim=-1, index=action›)
        ratio = log_ratio.exp()
        losses = []
        for limited in (ratio, ratio.clamp(1 - ppo_clip, 1 + ppo_clip)):
            losses.append(limited * return_or_advantage)
        return torch.minimum(*losses).mean().neg()
        """,
        """
        hot = F.one_hot(action.flatten(), old_logits.shape[-1]).float()
        p_new = (policy(observation).exp() * hot).sum(1, keepdim=True)
        p_old = (old_logits.exp() * hot).sum(1, keepdim=True)
        q = p_new / p_old
        limit = (1 + ppo_clip * torch.sign(return_or_advantage)) * return_or_advantage
        return -torch.min(q * return_or_advantage, limit).mean()
        """,
    ],
}
FUNCTIONS = tuple(WAYS)
IMPORTS = """
import math
import random
from collections import deque

import numpy as np
from torch.distributions import Categorical
from torch.nn import functional as F
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset
"""
WORDS = [
    "alpha",
    "batch",
    "chunk",
    "data",
    "entry",
    "flow",
    "gain",
    "hold",
    "inner",
    "joint",
    "keep",
    "later",
    "mass",
    "old",
    "queue",
]


def written(chance: random.Random) -> str:
    """Return what a student hands in who wrote all functions alone, in a hand of their own."""
    bodies = {name: _chosen(chance.choice(ways), chance) for name, ways in WAYS.items()}
    return IMPORTS + _filled(bodies, lambda text: _rewritten(text, chance))


def spliced(chance: random.Random, variants: dict[str, list[str]]) -> str:
    """Return the solution with every function as in one of the catalogue's variants; `variants` is what `catalogued` returns."""
    tree, text = ast.parse(SOLUTION), SOLUTION
    for node in reversed([node for node in tree.body if isinstance(node, ast.FunctionDef)]):
        before, after = _around(text, node)
        text = before + chance.choice(variants[node.name]) + after
    return text


def catalogued() -> dict[str, list[str]]:
    """Return by function its text in the solution and in every alternative and mistake, with what they take along."""
    found = {}
    entries = [entry for kind in ("alternatives", "mistakes") for entry in catalogue.load_catalogue(HOME, kind)]
    for node in ast.parse(SOLUTION).body:
        if isinstance(node, ast.FunctionDef):
            before, after = _around(SOLUTION, node)
            texts = [SOLUTION, *(entry.submission for entry in entries if entry.function == node.name)]
            found[node.name] = [text[len(before) : len(text) - len(after)] for text in texts]
    return found


def _around(text: str, node: ast.stmt) -> tuple[str, str]:
    lines = text.splitlines(keepends=True)
    return "".join(lines[: node.lineno - 1]), "".join(lines[node.end_lineno :])


def _chosen(way: str, chance: random.Random) -> str:
    while "‹" in way:
        way = re.sub(r"‹([^‹›]*)›", lambda found: chance.choice(found[1].split("¦")), way)
    return textwrap.dedent(way).strip("\n")


def _filled(bodies: dict[str, str], finish: Callable[[str], str]) -> str:
    """Return the stub with bodies; what stands unindented after one is a helper and goes before the function."""
    text = STUB
    for node in reversed([node for node in ast.parse(STUB).body if isinstance(node, ast.FunctionDef)]):
        before, after = _around(text, node)
        body, _, helpers = bodies[node.name].partition("\n\n\n")
        head = "\n".join(STUB.splitlines()[node.lineno - 1 : node.body[0].end_lineno]) + "\n"
        plain = f"def f():\n{textwrap.indent(body, '    ')}\n"
        written_body = finish(plain).partition("\n")[2]
        text = before + (finish(helpers) + "\n\n\n" if helpers else "") + head + written_body + "\n" + after
    return text


class _Hand(ast.NodeTransformer):
    """Writes the same in other words, wherever chance says so: what differs between students who think alike."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.long = chance.random() * 0.5  # how often this student names a part of an expression
        self.prints = chance.random() * 0.06

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name) or self.chance.random() < 0.5:
            return node
        return ast.Assign([node.target], ast.BinOp(ast.Name(node.target.id), node.op, node.value))

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if (
            isinstance(node.op, (ast.Add, ast.Mult))
            and not _holds(node, (ast.List, ast.Constant))
            and self.chance.random() < 0.4
        ):
            node.left, node.right = node.right, node.left
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        self.generic_visit(node)
        if all(node.keys) and self.chance.random() < 0.5:
            node.keys, node.values = map(list, zip(*self.shuffled(list(zip(node.keys, node.values, strict=True))), strict=True))
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.ops[0], ast.IsNot) and self.chance.random() < 0.3:
            return node.left
        return node

    def shuffled(self, parts: list) -> list:
        """Return parts in another order, or with a few in other places, as people who write from memory have them."""
        for _ in range(self.chance.randrange(1, 4) if len(parts) > 1 else 0):
            parts.insert(self.chance.randrange(len(parts)), parts.pop(self.chance.randrange(len(parts))))
        return parts

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        function = node.func
        if len(node.keywords) > 1 and self.chance.random() < 0.5:
            node.keywords = self.shuffled(node.keywords)
        if isinstance(function, ast.Attribute) and function.attr == "item" and self.chance.random() < 0.3:
            return ast.Call(ast.Name("float"), [function.value], [])
        if isinstance(function, ast.Name) and function.id == "float" and self.chance.random() < 0.3:
            return ast.Call(ast.Attribute(node.args[0], "item"), [], [])
        if not isinstance(function, ast.Attribute) or self.chance.random() < 0.6:
            return node
        turns = ("exp", "mean", "clamp", "gather", "squeeze", "stack", "sqrt", "square", "std")
        if function.attr in turns and ast.unparse(function.value) == "torch" and isinstance(node.args[0], ast.Name):
            return ast.Call(ast.Attribute(node.args[0], function.attr), node.args[1:], node.keywords)
        if function.attr in turns and isinstance(function.value, ast.Name) and function.value.id not in ("torch", "np"):
            return ast.Call(ast.Attribute(ast.Name("torch"), function.attr), [function.value, *node.args], node.keywords)
        if function.attr == "append" and len(node.args) == 1:
            return ast.Call(ast.Attribute(function.value, "extend"), [ast.List(node.args)], [])
        return node

    def visit_If(self, node: ast.If) -> ast.stmt:
        self.generic_visit(node)
        if node.orelse and not isinstance(node.orelse[0], ast.If) and self.chance.random() < 0.4:
            node.test, node.body, node.orelse = ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body
        return node

    def body_of(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Return statements with parts named before they are used, others swapped, and an output here and there."""
        found: list[ast.stmt] = []
        for statement in statements:
            value = getattr(statement, "value", None)
            if isinstance(statement, (ast.Assign, ast.Return, ast.Expr)) and isinstance(value, (ast.Call, ast.BinOp)):
                parts = value.args if isinstance(value, ast.Call) else [value.left, value.right]
                for place, part in enumerate(parts):
                    if isinstance(part, (ast.Call, ast.BinOp, ast.Subscript)) and self.chance.random() < self.long:
                        name = ast.Name(f"part{self.chance.randrange(10**6)}")
                        found.append(ast.Assign([name], part))
                        if isinstance(value, ast.Call):
                            value.args[place] = name
                        else:
                            setattr(value, ("left", "right")[place], name)
            if len(found) and _independent(found[-1], statement) and self.chance.random() < 0.4:
                found.insert(-1, statement)
            else:
                found.append(statement)
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            if isinstance(target, ast.Name) and self.chance.random() < self.prints:
                found.append(ast.parse(self.chance.choice(OUTPUTS).format(target.id)).body[0])
        return found


OUTPUTS = ("print({0})", "print('{0}', {0})", "assert {0} is not None", "print({0}.shape, {0}.dtype)", "print(type({0}))")


def _holds(node: ast.AST, kinds: tuple[type, ...]) -> bool:
    return any(isinstance(inner, kinds) for inner in ast.walk(node))


def _independent(first: ast.stmt, second: ast.stmt) -> bool:
    """Return whether two plain assignments may change places: neither touches a name that the other one sets, nor calls."""
    if not (isinstance(first, ast.Assign) and isinstance(second, ast.Assign)):
        return False
    if any(_holds(one.value, (ast.Call,)) for one in (first, second)):
        return False
    names = [{node.id for node in ast.walk(one) if isinstance(node, ast.Name)} for one in (first, second)]
    sets = [
        {node.id for target in one.targets for node in ast.walk(target) if isinstance(node, ast.Name)}
        for one in (first, second)
    ]
    return not (sets[0] & names[1] or sets[1] & names[0])


def _rewritten(text: str, chance: random.Random) -> str:
    hand = _Hand(chance)
    tree = hand.visit(ast.parse(text))
    _each_block(tree, hand.body_of)
    return _renamed(ast.unparse(ast.fix_missing_locations(tree)), chance)


def _each_block(tree: ast.AST, change: Callable[[list[ast.stmt]], list[ast.stmt]]) -> None:
    for node in list(ast.walk(tree)):
        for block in ("body", "orelse"):
            statements = getattr(node, block, None)
            if isinstance(statements, list) and statements and not isinstance(node, ast.Module):
                setattr(node, block, change(statements))


def _renamed(text: str, chance: random.Random) -> str:
    """Return a text in which all variables that are set in functions have other names."""
    tree = ast.parse(text)
    fixed = {node.arg for node in ast.walk(tree) if isinstance(node, (ast.arg, ast.keyword))}
    mine = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)} - fixed
    new = {name: f"{chance.choice(WORDS)}_{number}" for number, name in enumerate(sorted(mine))}
    return re.sub(r"(?<![\w.\"'])[A-Za-z_]\w*(?![\w\"'])", lambda found: new.get(found[0], found[0]), text)


# What copiers do to what they copied.


def renamed(text: str, chance: random.Random) -> str:
    """Other names for all variables."""
    return _renamed(text, chance)


def reordered(text: str, chance: random.Random) -> str:
    """Functions in another order, and neighboring assignments where that changes nothing."""
    tree = ast.parse(text)

    def swapped(statements: list[ast.stmt]) -> list[ast.stmt]:
        for place in range(len(statements) - 1):
            if _independent(*statements[place : place + 2]):
                statements[place : place + 2] = reversed(statements[place : place + 2])
        return statements

    _each_block(tree, swapped)
    head = [node for node in tree.body if not isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    rest = [node for node in tree.body if node not in head]
    chance.shuffle(rest)
    tree.body = head + rest
    return ast.unparse(tree)


def reformatted(text: str, chance: random.Random) -> str:
    """Other quotes, indentation, line breaks and blank lines; no docstrings and comments."""
    text = ast.unparse(ast.parse(text)).replace("    ", chance.choice(("  ", "\t", "   ")))
    text = re.sub(r'^\s*"""(?s:.*?)"""\n', "", text, flags=re.MULTILINE)
    return re.sub(r", (?=\w+=)", lambda _: chance.choice((",", ",\n        ")), text).replace("\n\n", "\n\n\n\n")


def padded(text: str, chance: random.Random) -> str:
    """Comments, and statements that do nothing, after every third statement or so."""
    tree = ast.parse(text)
    dead = (
        "{0} = 0",
        "{0} = None",
        "pass",
        "print('here')",
        "{0} = [1, 2, 3]",
        "if False:\n    {0} = 1",
        "assert True",
        "{0} = {0}2 = ''",
    )

    def with_dead(statements: list[ast.stmt]) -> list[ast.stmt]:
        found = []
        for place, statement in enumerate(statements):
            found.append(statement)
            doc = place == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if not doc and not isinstance(statement, (ast.Return, ast.Continue, ast.Break)) and chance.random() < 0.33:
                found += ast.parse(chance.choice(dead).format(chance.choice(WORDS))).body
        return found

    _each_block(tree, with_dead)
    lines = ast.unparse(tree).splitlines()
    return "\n".join(
        f"{line}  # {chance.choice(WORDS)}" if '"""' not in line and chance.random() < 0.2 else line for line in lines
    )


def everything(text: str, chance: random.Random) -> str:
    """All of the above."""
    for disguise in (reordered, padded, renamed, reformatted):
        text = disguise(text, chance)
    return text


def one_function(name: str) -> Callable[[str, random.Random, str], str]:
    """Return what puts a renamed function of somebody else into a student's own work, with what it calls."""

    def copied(text: str, chance: random.Random, own: str) -> str:
        parts = [ast.parse(source) for source in (own, text)]
        (place, _), (_, theirs) = (
            next((place, node) for place, node in enumerate(tree.body) if getattr(node, "name", "") == name) for tree in parts
        )
        called = {node.id for node in ast.walk(theirs) if isinstance(node, ast.Name)} - set(FUNCTIONS)
        helpers = [node for node in parts[1].body if getattr(node, "name", "") in called]
        parts[0].body[place : place + 1] = ast.parse(_renamed(ast.unparse(ast.Module([*helpers, theirs], [])), chance)).body
        return ast.unparse(parts[0])

    return copied


DISGUISES = {"renamed": renamed, "reordered": reordered, "reformatted": reformatted, "padded": padded, "everything": everything}
PARTS = {
    f"only {name}": one_function(name)
    for name in ("train_policy_gradient", "collect_rollouts", "get_returns", "get_PPO_policy_gradient_loss")
}


def make(size: int, seed: int, kind: str = "written") -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Return (sources by name, the copies planted: for a pair of names, how the second one was made of the first).

    A class of 300 has six copies of each kind, and a ring: twelve who made theirs of the same source; smaller ones have fewer.
    """
    chance = random.Random(seed)
    variants = catalogued() if kind == "spliced" else {}
    names = [f"student_{number:04}" for number in range(size)]
    sources = {name: written(chance) if kind == "written" else spliced(chance, variants) for name in names}
    free = chance.sample(names, len(names))
    planted = {}
    for how in [*DISGUISES, *(PARTS if kind == "written" else ())]:
        for _ in range(max(1, size // 50)):
            victim, copier = free.pop(), free.pop()
            more = (sources[copier],) if how in PARTS else ()
            sources[copier] = (PARTS | DISGUISES)[how](sources[victim], chance, *more)
            planted[min(victim, copier), max(victim, copier)] = how
    ring = [free.pop() for _ in range(max(3, size // 25))]
    original = sources[ring[0]]
    for member in ring[1:]:
        sources[member] = DISGUISES[chance.choice(list(DISGUISES))](original, chance)
    planted |= {(min(a, b), max(a, b)): "ring" for a in ring for b in ring if a < b}
    return sources, planted
