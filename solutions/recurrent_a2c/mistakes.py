"""Mistakes of `recurrent_a2c`, each with the hint that a good tutor gives: a question, not the answer.

`verify` proves that each loses points on its question; `build` stores what the checks see of each, so that a student who makes
the same one is told. Where several explain what a student's code does, the first one's hint is given: general ones come first.
Most are changes of a line or two of long functions, hence `altered`. "public solutions" are those of the seed's notebook.
"""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F  # noqa: N812 - the seed's name

from grader.proof.catalogue import altered, mistake

# forward

nothing_between_layers = altered(
    "forward",
    {
        "F.relu(self.conv0(obs_t))": "self.conv0(obs_t)",
        "F.relu(self.conv1(features))": "self.conv1(features)",
        "F.relu(self.conv2(features))": "self.conv2(features)",
        "F.relu(self.hid(self.flatten(features)))": "self.hid(self.flatten(features))",
    },
    hint="What are several linear layers, with nothing between them?",
)

nothing_behind_hid = altered(
    "forward",
    {"F.relu(self.hid(self.flatten(features)))": "self.hid(self.flatten(features))"},
    hint="`hid` is a linear layer, and so is the way into the memory: what is between the two?",
    source="public solutions",
)

nothing_behind_the_convolutions = altered(
    "forward",
    {
        "F.relu(self.conv0(obs_t))": "self.conv0(obs_t)",
        "F.relu(self.conv1(features))": "self.conv1(features)",
        "F.relu(self.conv2(features))": "self.conv2(features)",
    },
    hint="A convolution is linear: what is between one and the next?",
    source="public solutions",
)

nothing_behind_conv0 = altered(
    "forward",
    {"F.relu(self.conv0(obs_t))": "self.conv0(obs_t)"},
    hint="Behind which of your layers is there no activation function?",
)

nothing_behind_conv1 = altered(
    "forward",
    {"F.relu(self.conv1(features))": "self.conv1(features)"},
    hint="Behind which of your layers is there no activation function?",
)

nothing_behind_conv2 = altered(
    "forward",
    {"F.relu(self.conv2(features))": "self.conv2(features)"},
    hint="Behind which of your layers is there no activation function? Making it flat is none.",
    source="public solutions",
)

features_compete = altered(
    "forward",
    {"F.relu(self.hid(self.flatten(features)))": "F.softmax(self.hid(self.flatten(features)), dim=-1)"},
    hint="Does your activation function look at each number by itself?",
)

same_convolution_twice = altered(
    "forward",
    {"F.relu(self.conv2(features))": "F.relu(self.conv1(features))"},
    hint="How often is each of your layers used? One of them will never learn.",
    source="student code",
)

convolutions_out_of_order = altered(
    "forward",
    {
        "features = F.relu(self.conv1(features))\n        features = F.relu(self.conv2(features))": ""
        "features = F.relu(self.conv2(features))\nfeatures = F.relu(self.conv1(features))",
    },
    hint="In which order does a frame go through the convolutions?",
)

pixels_scaled_again = altered(
    "forward",
    {"self.conv0(obs_t)": "self.conv0(obs_t / 255)"},
    hint="Between which numbers do the pixels lie that you are given? Print their maximum.",
    source="student code",
)

memory_of_all_games = altered(
    "forward",
    {"self.rnn(hidden, prev_state)": "self.rnn(hidden, [m.mean(dim=0, keepdim=True).expand_as(m) for m in prev_state])"},
    hint="Whose memory does each game get? Call your agent with two games, then with one of them.",
)

new_c_detached = altered(
    "forward",
    {"return (h, c), (": "return (h, c.detach()), ("},
    hint="Through which of the two can a gradient go back in time? An LSTM remembers for long in c.",
)

memory_not_given = altered(
    "forward",
    {"self.rnn(hidden, prev_state)": "self.rnn(hidden)"},
    hint="What does the cell remember if it is given nothing but its input?",
    source="student code",
)

memory_kept_by_the_agent = altered(
    "forward",
    {
        "h, c = self.rnn(hidden, prev_state)": 'h, c = self.rnn(hidden, getattr(self, "memory", prev_state))\n'
        "self.memory = (h.detach(), c.detach())",
    },
    hint="Call your agent with two memories, one after the other: whose does it use?",
    source="student code",
)

memory_given_the_other_way_round = altered(
    "forward",
    {"self.rnn(hidden, prev_state)": "self.rnn(hidden, (prev_state[1], prev_state[0]))"},
    hint="Which of the two comes first in the cell's memory, h or c? Look at the docs of LSTMCell.",
)

memory_unpacked_the_other_way_round = altered(
    "forward",
    {"h, c = self.rnn(hidden, prev_state)": "c, h = self.rnn(hidden, prev_state)"},
    hint="Which of the two does the cell return first, h or c? Look at the docs of LSTMCell.",
    source="student code",
)

memory_returned_the_other_way_round = altered(
    "forward",
    {"return (h, c), (": "return (c, h), ("},
    hint="What you return is given to the next step as prev_state: which of the two comes first?",
)

old_memory_returned = altered(
    "forward",
    {"return (h, c), (": "return prev_state, ("},
    hint="Which memory do you return: the one from before this observation, or from after it?",
    source="student code",
)

only_h_returned = altered(
    "forward",
    {"return (h, c), (": "return h, ("},
    hint="Of how many parts does the memory of an LSTM consist? The next step needs all of them.",
    source="student code",
)

outputs_not_together = altered(
    "forward",
    {"(self.logits(h), self.state_value(h)[:, 0])": "self.logits(h), self.state_value(h)[:, 0]"},
    hint="How many things do you return? `new_state, (logits, state_value) = agent(...)` must fit.",
    source="student code",
    form=True,
)

heads_in_the_wrong_order = altered(
    "forward",
    {"(self.logits(h), self.state_value(h)[:, 0])": "(self.state_value(h)[:, 0], self.logits(h))"},
    hint="What stands first in the pair of outputs, logits or values?",
)

memory_behind_the_outputs = altered(
    "forward",
    {
        "return (h, c), (self.logits(h), self.state_value(h)[:, 0])": ""
        "return (self.logits(h), self.state_value(h)[:, 0]), (h, c)",
    },
    hint="What comes first in what you return, the memory or the outputs?",
)

heads_of_hid = altered(
    "forward",
    {"(self.logits(h), self.state_value(h)[:, 0])": "(self.logits(hidden), self.state_value(hidden)[:, 0])"},
    hint="What of your outputs depends on the memory?",
    source="student code",
)

policy_of_hid = altered(
    "forward",
    {"self.logits(h)": "self.logits(hidden)"},
    hint="Which of your two outputs does not depend on the memory?",
)

value_of_hid = altered(
    "forward",
    {"self.state_value(h)": "self.state_value(hidden)"},
    hint="Which of your two outputs does not depend on the memory?",
)

heads_of_the_old_memory = altered(
    "forward",
    {"(self.logits(h), self.state_value(h)[:, 0])": "(self.logits(prev_state[0]), self.state_value(prev_state[0])[:, 0])"},
    hint="Change the observation: do logits and value of this step change?",
)

heads_of_the_cell = altered(
    "forward",
    {"(self.logits(h), self.state_value(h)[:, 0])": "(self.logits(c), self.state_value(c)[:, 0])"},
    hint="The memory has two parts: which of them is the output of the cell?",
    source="student code",
)

activation_before_the_heads = altered(
    "forward",
    {"(self.logits(h), self.state_value(h)[:, 0])": "(self.logits(F.relu(h)), self.state_value(F.relu(h))[:, 0])"},
    hint="Between which layers does the text put activation functions? What does it say of logits and value?",
    source="student code",
)

softmax_in_the_agent = altered(
    "forward",
    {"self.logits(h)": "F.softmax(self.logits(h), dim=-1)"},
    hint="Who takes the softmax of what you return? What becomes of a policy that goes through it twice?",
    source="student code",
)

no_negative_logits = altered(
    "forward",
    {"self.logits(h)": "F.relu(self.logits(h))"},
    hint="Between which numbers may logits lie? How unlikely can an action become?",
    source="student code",
)

no_negative_values = altered(
    "forward",
    {"self.state_value(h)[:, 0]": "F.relu(self.state_value(h))[:, 0]"},
    hint="Between which numbers may returns lie? And your values?",
)

small_values_only = altered(
    "forward",
    {"self.state_value(h)[:, 0]": "torch.tanh(self.state_value(h))[:, 0]"},
    hint="Between which numbers may returns lie? And your values?",
)

one_value_for_all_games = altered(
    "forward",
    {"self.state_value(h)[:, 0]": "self.state_value(h).mean()"},
    hint="How many numbers is the value of a batch of games?",
)

value_of_a_single_game_loses_its_axis = altered(
    "forward",
    {"self.state_value(h)[:, 0]": "self.state_value(h).squeeze()"},
    hint="Which dimension do you want to drop? Try a batch of one game.",
    source="public solutions",
    form=True,
)

outputs_in_double_precision = altered(
    "forward",
    {"(self.logits(h), self.state_value(h)[:, 0])": "(self.logits(h).double(), self.state_value(h)[:, 0].double())"},
    hint="Which dtype is asked for, and which do you return?",
    form=True,
)

agent_without_gradient = altered(
    "forward",
    {
        "h, c = self.rnn(hidden, prev_state)": "with torch.no_grad():\n    h, c = self.rnn(hidden, prev_state)",
        "(self.logits(h), self.state_value(h)[:, 0])": "(self.logits(h).detach(), self.state_value(h)[:, 0].detach())",
    },
    hint="Who needs the gradient: `step` or `forward`?",
    learns=False,
)

heads_detached_from_the_memory = altered(
    "forward",
    {"(self.logits(h), self.state_value(h)[:, 0])": "(self.logits(h.detach()), self.state_value(h.detach())[:, 0])"},
    hint="Backpropagate from logits and value: which layers get no gradient?",
)

given_memory_detached = altered(
    "forward",
    {"self.rnn(hidden, prev_state)": "self.rnn(hidden, (prev_state[0].detach(), prev_state[1].detach()))"},
    hint="A cue is seen now and needed five steps later: which way does the gradient go back to it?",
    source="student code",
)

new_memory_detached = altered(
    "forward",
    {"return (h, c), (": "return (h.detach(), c.detach()), ("},
    hint="A cue is seen now and needed five steps later: which way does the gradient go back to it?",
    source="student code",
)

values_do_not_train_the_memory = altered(
    "forward",
    {"self.state_value(h)": "self.state_value(h.detach())"},
    hint="Backpropagate from the value alone: which layers get no gradient?",
)

# train_on_rollout.memory

never_passed_on = altered(
    "train_on_rollout.memory",
    {
        "memory, (logits_t, values_t) = agent(": "_, (logits_t, values_t) = agent(",
        "memory = [m * is_not_done[:, t, None] for m in memory]": "",
    },
    hint="What does the agent remember in column 1 of what it saw in column 0?",
    source="student code",
)

nothing_remembered = altered(
    "train_on_rollout.memory",
    {"agent(memory, states[:, t])": "agent(agent.get_initial_state(len(states)), states[:, t])"},
    hint="What does the agent remember in column 1 of what it saw in column 0?",
    learns=False,
)

given_memory_ignored = altered(
    "train_on_rollout.memory",
    {"memory = [m.detach() for m in prev_memory_states]": "memory = agent.get_initial_state(len(states))"},
    hint="A rollout may begin in the middle of a game: what did the agent remember when it played its first column?",
    source="student code",
)

never_forgets = altered(
    "train_on_rollout.memory",
    {"memory = [m * is_not_done[:, t, None] for m in memory]": ""},
    hint="What should the agent remember at the first frame of a new game? Where do you tell it that a game has ended?",
    source="Practical RL, week 8, and all public solutions",
    learns=False,
)

forgets_before_the_last_frame = altered(
    "train_on_rollout.memory",
    {
        "memory = [m * is_not_done[:, t, None] for m in memory]": "",
        "memory, (logits_t, values_t) = agent(": ""
        "memory = [m * is_not_done[:, t, None] for m in memory]\nmemory, (logits_t, values_t) = agent(",
    },
    hint="Mask 0 stands at the last frame of the old game: is the memory to be empty before that frame, or after it?",
)

forgets_one_column_late = altered(
    "train_on_rollout.memory",
    {
        "memory = [m * is_not_done[:, t, None] for m in memory]": ""
        "memory = [m * is_not_done[:, t - 1, None] for m in memory] if t > 0 else memory",
    },
    hint="In which column is the first frame of the new game? Is the memory empty before it, or after?",
)

forgets_while_the_game_goes_on = altered(
    "train_on_rollout.memory",
    {"[m * is_not_done[:, t, None] for m in memory]": "[m * (1 - is_not_done[:, t, None]) for m in memory]"},
    hint="Is your factor 1 where the game goes on, or where it has ended?",
)

all_games_forget = altered(
    "train_on_rollout.memory",
    {
        "memory = [m * is_not_done[:, t, None] for m in memory]": "if not is_not_done[:, t].all():\n"
        "    memory = agent.get_initial_state(len(states))",
    },
    hint="One of the games has ended: whose memory do you clear?",
    source="student code",
)

forgets_h_only = altered(
    "train_on_rollout.memory",
    {"[m * is_not_done[:, t, None] for m in memory]": "[memory[0] * is_not_done[:, t, None], memory[1]]"},
    hint="Of how many parts does the memory consist? Which of them do you clear?",
    source="student code",
)

goes_back_to_the_given_memory = altered(
    "train_on_rollout.memory",
    {
        "[m * is_not_done[:, t, None] for m in memory]": ""
        "[torch.where(is_not_done[:, t, None] == 1, m, given.detach())\n"
        "          for m, given in zip(memory, prev_memory_states)]",
    },
    hint="To what do you set the memory where a game has ended: to nothing, or to what was there before the rollout?",
)

memory_stands_still_at_an_end = altered(
    "train_on_rollout.memory",
    {
        "memory, (logits_t, values_t) = agent(": "before = memory\nmemory, (logits_t, values_t) = agent(",
        "[m * is_not_done[:, t, None] for m in memory]": ""
        "[torch.where(is_not_done[:, t, None] == 1, m, old) for m, old in zip(memory, before)]",
    },
    hint="What should the agent remember at the first frame of a new game: what it knew before the last frame of the old one?",
)

forgets_in_place = altered(
    "train_on_rollout.memory",
    {
        "memory = [m * is_not_done[:, t, None] for m in memory]": "for m in memory:\n    m[is_not_done[:, t] == 0] = 0",
    },
    hint="The gradient still needs the memory as it was: do you change it, or make a new one?",
    source="student code",
)

memory_detached_in_each_column = altered(
    "train_on_rollout.memory",
    {"[m * is_not_done[:, t, None] for m in memory]": "[m.detach() * is_not_done[:, t, None] for m in memory]"},
    hint="How far back should the gradient go? What was seen in column 0 may be what the action of column 5 needs.",
    source="student code",
)

step_instead_of_the_agent = altered(
    "train_on_rollout.memory",
    {"agent(memory, states[:, t])": "agent.step(memory, states[:, t])"},
    hint="What is the difference between agent.step and agent? Which operations connect your loss with the weights?",
    source="student code",
    learns=False,
)

gradient_into_the_last_rollout = altered(
    "train_on_rollout.memory",
    {"[m.detach() for m in prev_memory_states]": "[m for m in prev_memory_states]"},
    hint="How far back should the gradient go: into the rollout before this one, whose graph is gone?",
)

last_column_not_seen = altered(
    "train_on_rollout.memory",
    {
        "for t in range(rewards.shape[1]):": "for t in range(rollout_length):",
        "to_one_hot(actions, n_actions).view(*actions.shape, n_actions)": ""
        "to_one_hot(actions[:, :-1], n_actions).view(len(actions), -1, n_actions)",
    },
    hint="Which value belongs to the state after the last reward? Is the agent asked about it?",
    source="public solutions",
)

two_calls_in_each_column = altered(
    "train_on_rollout.memory",
    {
        "memory, (logits_t, values_t) = agent(memory, states[:, t])": ""
        "memory, (logits_t, _) = agent(memory, states[:, t])\nmemory, (_, values_t) = agent(memory, states[:, t])",
    },
    hint="How often does the agent see each frame? What does it remember after the second time?",
    source="student code",
)

mask_of_the_last_column_at_first = altered(
    "train_on_rollout.memory",
    {
        "memory = [m * is_not_done[:, t, None] for m in memory]": "",
        "memory, (logits_t, values_t) = agent(": ""
        "memory = [m * is_not_done[:, t - 1, None] for m in memory]\nmemory, (logits_t, values_t) = agent(",
    },
    hint="Which column is t - 1 in the first round of your loop?",
    source="student code",
)

given_memory_overwritten = altered(
    "train_on_rollout.memory",
    {
        "memory = [m * is_not_done[:, t, None] for m in memory]": ""
        "memory = [m * is_not_done[:, t, None] for m in memory]\n"
        "for given, new in zip(prev_memory_states, memory):\n    given.data.copy_(new)",
    },
    hint="Whose is the memory that you are given, and what does it hold after your function?",
    form=True,
)

frame_before = altered(
    "train_on_rollout.memory",
    {"agent(memory, states[:, t])": "agent(memory, states[:, t - 1])"},
    hint="Which frame does the agent see in column 0?",
)

# train_on_rollout.policy

policy_goes_down = altered(
    "train_on_rollout.policy",
    {"J_hat += (played": "J_hat -= (played"},
    hint="Is an action that did better than expected made more likely, or less? Look at the signs of the advantage and of J.",
    source="student code",
    learns=False,
)

policy_without_baseline = altered(
    "train_on_rollout.policy",
    {"advantage = (G_t - V_t).detach()": "advantage = G_t.detach()"},
    hint="What is subtracted from the return to get the advantage?",
    source="student code",
)

advantage_not_detached = altered(
    "train_on_rollout.policy",
    {"advantage = (G_t - V_t).detach()": "advantage = G_t - V_t"},
    hint="Which part of the network should J move? Does a gradient go through the advantage?",
    source="student code",
)

policy_without_gradient = altered(
    "train_on_rollout.policy",
    {"logprobas_for_actions[:, t] * advantage": "logprobas_for_actions[:, t].detach() * advantage"},
    hint="Which operations connect J with the weights of the policy?",
    learns=False,
)

advantage_of_one_step = altered(
    "train_on_rollout.policy",
    {"advantage = (G_t - V_t).detach()": "advantage = (target - V_t).detach()"},
    hint="The return that the advantage needs goes on until the end of the rollout: how many rewards are in yours?",
    source="student code",
)

advantage_of_the_reward = altered(
    "train_on_rollout.policy",
    {"advantage = (G_t - V_t).detach()": "advantage = (rewards[:, t] - V_t).detach()"},
    hint="How good is an action whose reward comes ten steps later?",
)

baseline_of_the_next_state = altered(
    "train_on_rollout.policy",
    {"advantage = (G_t - V_t).detach()": "advantage = (G_t - state_values[:, t + 1]).detach()"},
    hint="The return from which state was expected to be what you subtract?",
)

advantages_normalised = altered(
    "train_on_rollout.policy",
    {
        "advantage = (G_t - V_t).detach()": "advantage = (G_t - V_t).detach()\n"
        "advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)",
    },
    hint="What do you do with the advantage that the text does not ask for?",
    source="student code",
)

policy_loss_summed = altered(
    "train_on_rollout.policy",
    {"* advantage).mean()": "* advantage).sum()"},
    hint="Is it a sum or a mean over the games? What happens to the step size when there are more of them?",
    source="student code",
)

policy_of_the_first_column_alone = altered(
    "train_on_rollout.policy",
    {"J_hat += (played": "J_hat = (played"},
    hint="What does J_hat hold after the loop: all columns, or the one that came last in it?",
    source="student code",
)

policy_loss_divided_twice = altered(
    "train_on_rollout.policy",
    {"* advantage).mean()": "* advantage).mean() / rollout_length"},
    hint="How often is J_hat divided by the number of columns? Look at the line below that adds up the loss.",
)

policy_loss_divided_by_all_columns = altered(
    "train_on_rollout.policy",
    {"-J_hat / rollout_length": "-J_hat / rewards.shape[1]"},
    hint="A rollout of T columns: how many of them have an action that was executed?",
)

return_without_bootstrap = altered(
    "train_on_rollout.policy",
    {
        "G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]": ""
        "G_next = torch.zeros_like(rewards[:, -1])\nV_next = state_values[:, -1].detach() * is_not_done[:, -1]",
    },
    hint="Did the game end with the last column, or did you just stop watching?",
    source="student code",
)

bootstrap_of_the_last_action = altered(
    "train_on_rollout.policy",
    {
        "G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]": ""
        "V_next = state_values[:, -1].detach() * is_not_done[:, -1]\n"
        "G_next = state_values[:, -2].detach() * is_not_done[:, -1]",
    },
    hint="Which value belongs to the state after the last reward?",
)

last_column_has_an_action = altered(
    "train_on_rollout.policy",
    {
        "for t in reversed(range(rollout_length)):": "for t in reversed(range(rewards.shape[1])):",
        "value_loss += (played": "value_loss += (t < rollout_length) * (played",
    },
    hint="Was the action of the last column ever executed? What comes after it that you could bootstrap from?",
    source="student code",
)

columns_in_the_order_of_time = altered(
    "train_on_rollout.policy",
    {
        "for t in reversed(range(rollout_length)):": "for t in range(rollout_length):",
        "gamma * V_next": "gamma * is_not_done[:, t + 1] * state_values[:, t + 1].detach()",
    },
    hint="G_t is made of G_(t+1): which of the two must be known first?",
    source="student code",
)

return_without_discount = altered(
    "train_on_rollout.policy",
    {"rewards[:, t] + gamma * G_next": "rewards[:, t] + G_next"},
    hint="How much is a reward worth that comes one step later?",
)

immediate_reward_discounted = altered(
    "train_on_rollout.policy",
    {"rewards[:, t] + gamma * G_next": "gamma * (rewards[:, t] + G_next)"},
    hint="How much is the immediate reward discounted?",
)

discount_by_absolute_time = altered(
    "train_on_rollout.policy",
    {"rewards[:, t] + gamma * G_next": "gamma**t * rewards[:, t] + G_next"},
    hint="Discount is relative to which column: the first of the rollout, or the one whose return it is?",
    source="student code",
)

own_gamma = altered(
    "train_on_rollout.policy",
    {"rewards[:, t] + gamma * G_next": "rewards[:, t] + 0.99 * G_next"},
    hint="Is the discount of your returns the one that your function was given?",
    source="student code",
)

return_does_not_go_on = altered(
    "train_on_rollout.policy",
    {"G_next = played * G_t": ""},
    hint="What is G_(t+1) when your loop comes to column t? Where is it kept?",
)

all_actions_log_probabilities = altered(
    "train_on_rollout.policy",
    {"torch.sum(logprobas * actions_one_hot, dim=-1)": "torch.sum(logprobas, dim=-1)"},
    hint="Which of the log-probabilities belongs to the action that was played?",
    source="student code",
)

logits_as_log_probabilities = altered(
    "train_on_rollout.policy",
    {"torch.sum(logprobas * actions_one_hot, dim=-1)": "torch.sum(logits * actions_one_hot, dim=-1)"},
    hint="Do the exponentials of your log-probabilities sum to one?",
    source="student code",
)

probability_without_logarithm = altered(
    "train_on_rollout.policy",
    {"torch.sum(logprobas * actions_one_hot, dim=-1)": "torch.sum(probas * actions_one_hot, dim=-1)"},
    hint="Is it the probability of the action that stands in J, or its logarithm?",
    source="student code",
)

probabilities_over_columns = altered(
    "train_on_rollout.policy",
    {"torch.sum(logprobas * actions_one_hot, dim=-1)": "torch.sum(F.log_softmax(logits, dim=1) * actions_one_hot, dim=-1)"},
    hint="Over which axis should the probabilities sum to one?",
    source="student code",
)

logarithm_of_a_softmax = altered(
    "train_on_rollout.policy",
    {"torch.sum(logprobas * actions_one_hot, dim=-1)": "torch.sum(torch.log(probas) * actions_one_hot, dim=-1)"},
    hint="What is the softmax of 0 and 200 in float32, and the logarithm of that? There is a function that does both at once.",
    source="student code",
)

log_probability_of_rounded_probabilities = altered(
    "train_on_rollout.policy",
    {
        "torch.sum(logprobas * actions_one_hot, dim=-1)": "torch.distributions.Categorical(probs=probas).log_prob(actions)",
    },
    hint="What does a distribution know of an action whose probability has been rounded to 0? And of its logits?",
    source="student code",
)

action_of_the_next_column = altered(
    "train_on_rollout.policy",
    {"logprobas_for_actions[:, t] * advantage": "logprobas_for_actions[:, t + 1] * advantage"},
    hint="Which action has earned the reward of column t?",
)

reward_of_the_next_column = altered(
    "train_on_rollout.policy",
    {"G_t = rewards[:, t] + gamma": "G_t = rewards[:, t + 1] + gamma"},
    hint="Which reward came of the action of column t?",
)

policy_of_every_pair = altered(
    "train_on_rollout.policy",
    {"advantage = (G_t - V_t).detach()": "advantage = (G_t - V_t[:, None]).detach()"},
    hint="Print the shape of the advantage: what is [B] minus [B, 1]?",
    source="public solutions",
)

only_several_games = altered(
    "train_on_rollout.policy",
    {"logprobas_for_actions[:, t] * advantage": "logprobas_for_actions.squeeze()[:, t] * advantage"},
    hint="What shape has a rollout of one game, and what is left of it after your squeeze?",
    source="student code",
    form=True,
)


class ColumnAgent(nn.Module):
    """A network under a name and with a constructor of its own, whose values are `[B, 1]`."""

    def __init__(self, n_actions):
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(1, 32, 3, 2), nn.ELU(), nn.Conv2d(32, 32, 3, 2), nn.ELU(), nn.Conv2d(32, 32, 3, 2), nn.ELU()
        )
        self.hid = nn.Linear(512, 128)
        self.rnn = nn.LSTMCell(128, 128)
        self.policy = nn.Linear(128, n_actions)
        self.critic = nn.Linear(128, 1)

    def forward(self, prev_state, obs_t):
        h, c = self.rnn(F.elu(self.hid(self.convolutions(obs_t).flatten(1))), prev_state)
        return (h, c), (self.policy(h), self.critic(h))

    def get_initial_state(self, batch_size):
        return torch.zeros((batch_size, 128)), torch.zeros((batch_size, 128))

    def step(self, prev_state, obs_t):
        with torch.no_grad():
            return self(prev_state, torch.as_tensor(np.asarray(obs_t), dtype=torch.float32))


agent = ColumnAgent(14)
opt = torch.optim.Adam(agent.parameters(), lr=5e-4)


@mistake(
    "train_on_rollout.policy",
    hint="Print the shapes of your returns and of your values: how many advantages should there be for B games?",
    source="student code",
)
def policy_of_every_pair_with_another_agent(states, actions, rewards, is_not_done, prev_memory_states, gamma=0.99):
    states, rewards = torch.FloatTensor(np.array(states)), torch.FloatTensor(np.array(rewards))
    actions, mask = torch.LongTensor(np.array(actions)), torch.FloatTensor(np.array(is_not_done, np.float32))
    memory = [m.detach() for m in prev_memory_states]
    logits, state_values = [], []
    for t in range(rewards.shape[1]):
        memory, (logits_t, values_t) = agent(memory, states[:, t])
        logits.append(logits_t)
        state_values.append(values_t)
        memory = [m * mask[:, t, None] for m in memory]
    log_probs = torch.stack(logits, dim=1).log_softmax(dim=-1)
    chosen = log_probs.gather(2, actions[..., None])[..., 0]
    policy_loss = value_loss = 0
    following = state_values[-1][:, 0].detach() * mask[:, -1]
    value_after = following
    length = rewards.shape[1] - 1
    for t in reversed(range(length)):
        value = state_values[t]
        following = rewards[:, t] + gamma * following
        policy_loss -= (mask[:, t] * chosen[:, t] * (following - value).detach()).mean()
        value_loss += (mask[:, t] * (rewards[:, t] + gamma * value_after - value[:, 0]) ** 2).mean()
        following, value_after = mask[:, t] * following, mask[:, t] * value[:, 0].detach()
    entropy = -(log_probs.exp() * log_probs).sum(-1).mean()
    loss = policy_loss / length + value_loss / length - 0.01 * entropy
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


# train_on_rollout.value

values_in_columns = altered(
    "train_on_rollout.value",
    {"state_values = torch.stack(state_values, dim=1)": "state_values = torch.stack(state_values, dim=1)[..., None]"},
    hint="Print the shapes of rewards[:, t] and V_t, and of their difference: how many numbers should there be for B games?",
    source="17 of 18 public solutions",
)

value_of_every_pair = altered(
    "train_on_rollout.value",
    {"(target - V_t) ** 2": "(target - V_t[:, None]) ** 2"},
    hint="What shape has the difference of [B] and [B, 1]?",
    source="public solutions",
)

target_not_detached = altered(
    "train_on_rollout.value",
    {
        "G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]": ""
        "G_next = V_next = state_values[:, -1] * is_not_done[:, -1]",
        "V_next = played * V_t.detach()": "V_next = played * V_t",
    },
    hint="Should the target move toward the prediction?",
    source="student code",
)

prediction_detached = altered(
    "train_on_rollout.value",
    {"(target - V_t) ** 2": "(target - V_t.detach()) ** 2"},
    hint="After backward, what gradient has the layer state_value from the value loss?",
    source="student code",
)

wrong_one_detached = altered(
    "train_on_rollout.value",
    {
        "G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]": ""
        "G_next = V_next = state_values[:, -1] * is_not_done[:, -1]",
        "V_next = played * V_t.detach()": "V_next = played * V_t",
        "(target - V_t) ** 2": "(target - V_t.detach()) ** 2",
    },
    hint="Which of the two is to be moved by the value loss, V(s_t) or V(s_(t+1))?",
)

value_loss_of_the_detached_advantage = altered(
    "train_on_rollout.value",
    {
        "value_loss += (played * (target - V_t) ** 2).mean()": "",
        "advantage = (G_t - V_t).detach()": "advantage = (G_t - V_t).detach()\nvalue_loss += (played * advantage**2).mean()",
    },
    hint="The advantage is a constant: what can the square of a constant teach?",
    source="student code",
)

value_uphill = altered(
    "train_on_rollout.value",
    {"value_loss += (played": "value_loss -= (played"},
    hint="An optimizer minimises: should the error grow or shrink?",
)

value_loss_summed = altered(
    "train_on_rollout.value",
    {"(target - V_t) ** 2).mean()": "(target - V_t) ** 2).sum()"},
    hint="Is it a sum or a mean over the games?",
    source="student code",
)

value_loss_halved = altered(
    "train_on_rollout.value",
    {"value_loss += (played": "value_loss += 0.5 * (played"},
    hint="Is there a factor of one half in the formula?",
    source="student code",
)

value_loss_of_the_first_column_alone = altered(
    "train_on_rollout.value",
    {"value_loss += (played": "value_loss = (played"},
    hint="What does value_loss hold after the loop: all columns, or the one that came last in it?",
    source="student code",
)

value_loss_divided_twice = altered(
    "train_on_rollout.value",
    {"(target - V_t) ** 2).mean()": "(target - V_t) ** 2).mean() / rollout_length"},
    hint="How often is value_loss divided by the number of columns? Look at the line below that adds up the loss.",
)

value_loss_divided_by_all_columns = altered(
    "train_on_rollout.value",
    {"value_loss / rollout_length": "value_loss / rewards.shape[1]"},
    hint="A rollout of T columns: how many of them have a value that is to learn something?",
)

square_of_the_mean_error = altered(
    "train_on_rollout.value",
    {"(played * (target - V_t) ** 2).mean()": "(played * (target - V_t)).mean() ** 2"},
    hint="Which comes first, the square or the mean? May the errors of two games cancel out?",
)

error_without_square = altered(
    "train_on_rollout.value",
    {"(target - V_t) ** 2": "(target - V_t)"},
    hint="Can your value loss be negative? How low can it get?",
)

absolute_error = altered(
    "train_on_rollout.value",
    {"(target - V_t) ** 2": "(target - V_t).abs()"},
    hint="Is it the square of the error that you add up?",
)

huber_error = altered(
    "train_on_rollout.value",
    {"(target - V_t) ** 2": 'F.smooth_l1_loss(V_t, target, reduction="none")'},
    hint="What does your loss do with an error that is larger than 1? And the formula?",
    source="student code",
)

target_is_the_reward = altered(
    "train_on_rollout.value",
    {"target = rewards[:, t] + gamma * V_next": "target = rewards[:, t]"},
    hint="Is the next reward all that is still to come?",
)

target_without_discount = altered(
    "train_on_rollout.value",
    {"target = rewards[:, t] + gamma * V_next": "target = rewards[:, t] + V_next"},
    hint="How much is the value of the next state worth one step earlier?",
    source="student code",
)

target_of_the_same_state = altered(
    "train_on_rollout.value",
    {"target = rewards[:, t] + gamma * V_next": "target = rewards[:, t] + gamma * V_t.detach()"},
    hint="The value of which state follows the reward?",
    source="student code",
)

target_without_reward = altered(
    "train_on_rollout.value",
    {"target = rewards[:, t] + gamma * V_next": "target = gamma * V_next"},
    hint="What of your target has been seen in the game, and what only been guessed?",
)

target_always_of_the_last_value = altered(
    "train_on_rollout.value",
    {"V_next = played * V_t.detach()": ""},
    hint="The value of which state is V_next when your loop comes to column t?",
)

own_gamma_in_the_target = altered(
    "train_on_rollout.value",
    {"rewards[:, t] + gamma * V_next": "rewards[:, t] + 0.99 * V_next"},
    hint="Is the discount of your targets the one that your function was given?",
    source="student code",
)

no_discount_of_zero = altered(
    "train_on_rollout.value",
    {"rewards[:, t] + gamma * V_next": "rewards[:, t] + (gamma or 0.99) * V_next"},
    hint="May γ be 0? What does your code take it for?",
    source="student code",
)

target_with_the_reward_of_the_next_column = altered(
    "train_on_rollout.value",
    {"target = rewards[:, t] + gamma": "target = rewards[:, t + 1] + gamma"},
    hint="Which reward came of the action of column t?",
)

last_target_without_a_value = altered(
    "train_on_rollout.value",
    {
        "G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]": ""
        "G_next = state_values[:, -1].detach() * is_not_done[:, -1]\nV_next = torch.zeros_like(rewards[:, -1])",
    },
    hint="Did the game end with the last column, or did you just stop watching?",
)

# train_on_rollout.ends

losses_without_mask = altered(
    "train_on_rollout.ends",
    {
        "state_values[:, -1].detach() * is_not_done[:, -1]": "state_values[:, -1].detach()",
        "played = is_not_done[:, t]": "played = 1",
    },
    hint="Your losses make no use of `is_not_done` (nor did the course's old notebook): what of a new game "
    "comes into the returns of the old one, and what is there to learn in a tick in which nothing is played?",
)

cut_by_its_own_mask_and_trained_on = altered(
    "train_on_rollout.ends",
    {
        "state_values[:, -1].detach() * is_not_done[:, -1]": "state_values[:, -1].detach()",
        "G_t = rewards[:, t] + gamma * G_next": "G_t = rewards[:, t] + gamma * G_next * is_not_done[:, t]",
        "target = rewards[:, t] + gamma * V_next": "target = rewards[:, t] + gamma * V_next * is_not_done[:, t]",
        "played = is_not_done[:, t]": "played = 1",
    },
    hint="Draw the columns t - 1, t, t + 1 around an end: in which of them is the mask 0, and which return must not go on?",
    source="student code",
)

no_reward_is_an_end = altered(
    "train_on_rollout.ends",
    {"played = is_not_done[:, t]": "played = (rewards[:, t] != 0).float()"},
    hint="Can a tick bring nothing although the game goes on? What tells you that it has ended?",
)

nothing_cut = altered(
    "train_on_rollout.ends",
    {
        "state_values[:, -1].detach() * is_not_done[:, -1]": "state_values[:, -1].detach()",
        "G_next = played * G_t": "G_next = G_t",
        "V_next = played * V_t.detach()": "V_next = V_t.detach()",
    },
    hint="Two things come from the future: the return and the next value. What of them is left when the game has ended?",
)

return_runs_on = altered(
    "train_on_rollout.ends",
    {"G_next = played * G_t": "G_next = G_t"},
    hint="Two things come from the future, the return and the next value: did you cut both? Multiply what by is_not_done?",
    source="student code",
)

value_runs_on = altered(
    "train_on_rollout.ends",
    {"V_next = played * V_t.detach()": "V_next = V_t.detach()"},
    hint="Two things come from the future, the return and the next value: did you cut both?",
    source="student code",
)

bootstraps_from_a_last_frame = altered(
    "train_on_rollout.ends",
    {"state_values[:, -1].detach() * is_not_done[:, -1]": "state_values[:, -1].detach()"},
    hint="The game may end with the last reward of a rollout: what says the mask of the last column, and what follows then?",
)

dead_ticks_trained_on = altered(
    "train_on_rollout.ends",
    {
        "value_loss += (played * (target - V_t) ** 2)": "value_loss += ((target - V_t) ** 2)",
        "J_hat += (played * logprobas_for_actions[:, t]": "J_hat += (logprobas_for_actions[:, t]",
    },
    hint="Was the action at mask 0 ever executed? What is there to learn from that tick?",
)

action_that_never_was = altered(
    "train_on_rollout.ends",
    {"J_hat += (played * logprobas_for_actions[:, t]": "J_hat += (logprobas_for_actions[:, t]"},
    hint="Was the action at mask 0 ever executed?",
    source="student code",
)

last_frame_expects_the_next_game = altered(
    "train_on_rollout.ends",
    {"value_loss += (played * (target - V_t) ** 2)": "value_loss += ((target - V_t) ** 2)"},
    hint="At mask 0, what is the target of your value loss? Of which game is the value in it?",
)

mean_of_what_was_played = altered(
    "train_on_rollout.ends",
    {
        "(played * (target - V_t) ** 2).mean()": "(played * (target - V_t) ** 2).sum() / played.sum().clamp(min=1)",
        "(played * logprobas_for_actions[:, t] * advantage).mean()": ""
        "(played * logprobas_for_actions[:, t] * advantage).sum() / played.sum().clamp(min=1)",
    },
    hint="A tick in which nothing is played counts as 0: by how many games is the sum of a column divided?",
)

mask_the_other_way_round = altered(
    "train_on_rollout.ends",
    {
        "state_values[:, -1].detach() * is_not_done[:, -1]": "state_values[:, -1].detach() * (1 - is_not_done[:, -1])",
        "played = is_not_done[:, t]": "played = 1 - is_not_done[:, t]",
    },
    hint="Is your factor 1 where the game goes on, or where it has ended?",
    placements={
        "in what follows alone": {
            "state_values[:, -1].detach() * is_not_done[:, -1]": "state_values[:, -1].detach() * (1 - is_not_done[:, -1])",
            "G_next = played * G_t": "G_next = (1 - played) * G_t",
            "V_next = played * V_t.detach()": "V_next = (1 - played) * V_t.detach()",
        },
    },
)

last_reward_cut = altered(
    "train_on_rollout.ends",
    {
        "G_t = rewards[:, t] + gamma * G_next": "G_t = is_not_done[:, t + 1] * (rewards[:, t] + gamma * G_next)",
        "target = rewards[:, t] + gamma * V_next": "target = is_not_done[:, t + 1] * (rewards[:, t] + gamma * V_next)",
    },
    hint="At the last action of a game, which comes first: cutting the future, or adding the reward?",
    source="student code",
)

cut_one_column_early = altered(
    "train_on_rollout.ends",
    {
        "G_next = played * G_t": "G_next = is_not_done[:, t + 1] * G_t",
        "V_next = played * V_t.detach()": "V_next = is_not_done[:, t + 1] * V_t.detach()",
    },
    hint="Mask 0 stands in the column after the last reward: which G and which V must not go further back?",
)

value_cut_one_column_late = altered(
    "train_on_rollout.ends",
    {
        "G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]": ""
        "G_next = state_values[:, -1].detach() * is_not_done[:, -1]\nV_next = state_values[:, -1].detach()",
        "target = rewards[:, t] + gamma * V_next": "target = rewards[:, t] + gamma * is_not_done[:, t] * V_next",
        "V_next = played * V_t.detach()": "V_next = V_t.detach()",
    },
    hint="Mask 0 stands in the column after the last reward: whose mask says whether V(s_(t+1)) counts, that of t or of t + 1?",
    source="student code",
)

own_mask_for_both = altered(
    "train_on_rollout.ends",
    {
        "G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]": "G_next = V_next = state_values[:, -1].detach()",
        "G_t = rewards[:, t] + gamma * G_next": "G_t = rewards[:, t] + gamma * is_not_done[:, t] * G_next",
        "target = rewards[:, t] + gamma * V_next": "target = rewards[:, t] + gamma * is_not_done[:, t] * V_next",
        "G_next = played * G_t": "G_next = G_t",
        "V_next = played * V_t.detach()": "V_next = V_t.detach()",
    },
    hint="Mask 0 stands in the column after the last reward: whose mask says whether s_(t+1) counts, that of t or of t + 1?",
    source="student code",
)

end_bootstraps_from_the_last_frame = altered(
    "train_on_rollout.ends",
    {
        "state_values[:, -1].detach() * is_not_done[:, -1]": "state_values[:, -1].detach()",
        "G_next = played * G_t": "G_next = torch.where(played == 1, G_t, V_t.detach())",
        "V_next = played * V_t.detach()": "V_next = V_t.detach()",
    },
    hint="What can still be earned after the last frame of a game? Does V of that frame come into a return?",
)

all_games_cut = altered(
    "train_on_rollout.ends",
    {
        "G_next = played * G_t": "G_next = played.min() * G_t",
        "V_next = played * V_t.detach()": "V_next = played.min() * V_t.detach()",
    },
    hint="One of the games has ended: whose return do you cut?",
)

nothing_learned_after_the_first_end = altered(
    "train_on_rollout.ends",
    {"played = is_not_done[:, t]": "played = is_not_done[:, : t + 1].prod(dim=1)"},
    hint="After the end, a new game begins in the same row: what becomes of its columns?",
)

last_action_not_learned = altered(
    "train_on_rollout.ends",
    {
        "value_loss += (played * (": "value_loss += (is_not_done[:, t + 1] * (",
        "J_hat += (played * logprobas": "J_hat += (is_not_done[:, t + 1] * logprobas",
    },
    hint="Which action was never executed: the one before mask 0, or the one beside it?",
)

mask_must_be_boolean = altered(
    "train_on_rollout.ends",
    {
        "is_not_done = torch.as_tensor(np.asarray(is_not_done), dtype=torch.float32)": ""
        "is_not_done = (~torch.as_tensor(np.asarray(is_not_done)) == 0).float()",
    },
    hint="What is ~1, and what is ~True?",
    form=True,
)

# train_on_rollout.entropy

entropy_negative = altered(
    "train_on_rollout.entropy",
    {"entropy = -(probas * logprobas)": "entropy = (probas * logprobas)"},
    hint="Can an entropy be negative? Does your bonus make the policy more random, or less?",
    source="student code",
)

entropy_over_actions_averaged = altered(
    "train_on_rollout.entropy",
    {"(probas * logprobas).sum(dim=-1).mean()": "(probas * logprobas).mean()"},
    hint="An entropy is an expectation, over which axis? What is it for a policy that gives each of 14 actions the same?",
    source="public solutions",
)

entropy_summed = altered(
    "train_on_rollout.entropy",
    {"(probas * logprobas).sum(dim=-1).mean()": "(probas * logprobas).sum()"},
    hint="Over which axes is it a sum, and over which a mean? With 14 actions, it can be no more than log 14.",
    source="public solutions",
)

entropy_summed_over_columns = altered(
    "train_on_rollout.entropy",
    {"(probas * logprobas).sum(dim=-1).mean()": "(probas * logprobas).sum(dim=-1).sum(dim=1).mean()"},
    hint="Is it a sum or a mean over the columns? With 14 actions, it can be no more than log 14.",
    source="student code",
)

entropy_summed_over_games = altered(
    "train_on_rollout.entropy",
    {"(probas * logprobas).sum(dim=-1).mean()": "(probas * logprobas).sum(dim=-1).sum(dim=0).mean()"},
    hint="Is it a sum or a mean over the games? With 14 actions, it can be no more than log 14.",
)

entropy_divided_by_columns_twice = altered(
    "train_on_rollout.entropy",
    {"(probas * logprobas).sum(dim=-1).mean()": "(probas * logprobas).sum(dim=-1).mean() / rollout_length"},
    hint="How often is the entropy divided by the number of columns?",
    source="student code",
)

entropy_weighted_twice = altered(
    "train_on_rollout.entropy",
    {"entropy = -(probas * logprobas)": "entropy = -0.01 * (probas * logprobas)"},
    hint="How often does 0.01 come in? Look at the line below that adds up the loss.",
)

entropy_of_chosen_actions = altered(
    "train_on_rollout.entropy",
    {"-(probas * logprobas).sum(dim=-1).mean()": "-logprobas_for_actions.mean()"},
    hint="An entropy is a mean over all actions: where are those that were not played?",
    source="public solutions",
)

entropy_of_the_last_seen_column = altered(
    "train_on_rollout.entropy",
    {"(probas * logprobas).sum(dim=-1).mean()": "(probas[:, t] * logprobas[:, t]).sum(dim=-1).mean()"},
    hint="Which columns are in your entropy? What is t after the loop?",
    source="public solutions",
)

entropy_without_probabilities = altered(
    "train_on_rollout.entropy",
    {"-(probas * logprobas).sum(dim=-1).mean()": "-logprobas.sum(dim=-1).mean()"},
    hint="By what is each logarithm weighted in an entropy?",
    source="student code",
)

entropy_of_logits = altered(
    "train_on_rollout.entropy",
    {"(probas * logprobas)": "(probas * logits)"},
    hint="Are logits logarithms of probabilities? Add 1 to all of them: does your entropy change?",
)

entropy_of_probabilities_as_logits = altered(
    "train_on_rollout.entropy",
    {"-(probas * logprobas).sum(dim=-1).mean()": "torch.distributions.Categorical(logits=probas).entropy().mean()"},
    hint="What do you give to Categorical: probabilities, or logits?",
    source="student code",
)

entropy_without_gradient = altered(
    "train_on_rollout.entropy",
    {"(probas * logprobas).sum(dim=-1).mean()": "(probas * logprobas).sum(dim=-1).mean().detach()"},
    hint="What should the entropy change in the policy, and by which way does it get there?",
)

entropy_of_the_logarithm_of_zero = altered(
    "train_on_rollout.entropy",
    {"(probas * logprobas)": "(probas * torch.log(probas))"},
    hint="What is 0 times the logarithm of 0? A policy becomes certain of its actions in the end.",
    source="student code",
)

log_probabilities_by_two_steps = altered(
    "train_on_rollout.entropy",
    {"F.log_softmax(logits, dim=2)": "torch.log(probas)"},
    hint="What is the softmax of 0 and 200 in float32, and the logarithm of that? There is a function that does both at once.",
    source="student code",
)

entropy_left_out = altered(
    "train_on_rollout.entropy",
    {"entropy = -(probas * logprobas).sum(dim=-1).mean()": "entropy = 0"},
    hint="What keeps the policy from becoming certain too early?",
)

# train_on_rollout.step

gradients_pile_up = altered(
    "train_on_rollout.step",
    {"opt.zero_grad()": ""},
    hint="What is in .grad before backward adds to it?",
    source="public solutions",
)

gradient_cleared_before_the_step = altered(
    "train_on_rollout.step",
    {"opt.zero_grad()": "", "loss.backward()": "loss.backward()\nopt.zero_grad()"},
    hint="What does the optimizer find in .grad? In which order do clearing, backward and step come?",
    source="student code",
    learns=False,
)

never_steps = altered(
    "train_on_rollout.step",
    {"opt.step()": ""},
    hint="Which line changes the weights? Compare them before and after.",
    source="student code",
    learns=False,
)

steps_twice = altered(
    "train_on_rollout.step",
    {"opt.step()": "opt.step()\nopt.step()"},
    hint="How many steps does one rollout make?",
)

backward_twice = altered(
    "train_on_rollout.step",
    {"loss.backward()": "loss.backward(retain_graph=True)\nloss.backward()"},
    hint="What does a second backward do to what is in .grad?",
)

steps_uphill = altered(
    "train_on_rollout.step",
    {"loss.backward()": "(-loss).backward()"},
    hint="Do the weights move so that the loss falls?",
    learns=False,
)

optimizer_of_its_own = altered(
    "train_on_rollout.step",
    {"opt.zero_grad()": "opt = torch.optim.Adam(agent.parameters(), lr=5e-4)\nopt.zero_grad()"},
    hint="Which optimizer makes the step: the one that is there, or a new one at every call, which remembers nothing?",
    source="student code",
)

rollout_overwritten = altered(
    "train_on_rollout.step",
    {"G_next = played * G_t": "rewards[:, t] = G_t\nG_next = played * G_t"},
    hint="Print the rewards of the rollout before and after your function: who else still needs them? A tensor made by "
    "torch.as_tensor shares its numbers with the array.",
    source="student code",
)

returns_nothing = altered(
    "train_on_rollout.step",
    {"return loss.detach().numpy()": "return None"},
    hint="What does your function return?",
    form=True,
)

returns_a_tensor = altered(
    "train_on_rollout.step",
    {"return loss.detach().numpy()": "return loss"},
    hint="What hangs on the tensor that you return? Print its grad_fn; who keeps many of them, keeps many rollouts.",
    source="student code",
    form=True,
)

returns_a_detached_tensor = altered(
    "train_on_rollout.step",
    {"return loss.detach().numpy()": "return loss.detach()"},
    hint="The loss is asked for as a NumPy number: what is it now?",
    source="student code",
    form=True,
)

asks_numpy_for_a_gradient = altered(
    "train_on_rollout.step",
    {"return loss.detach().numpy()": "return loss.numpy()"},
    hint="A NumPy array has no gradient: what must become of the loss first?",
    source="student code",
    form=True,
)
