"""Mistakes of `recurrent_a2c`, each with the hint that a good tutor gives: a question, not the answer.

`verify` proves that each loses points on its question. `build` stores what the checks see of each, so
that students who make the same mistake get its hint. If several mistakes explain a student's results,
the first hint in this file is shown: general mistakes come first. Most mistakes change a line or two of
long functions; hence `altered`. "public solutions" are published solutions of Practical RL, week 8.
"""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F  # noqa: N812 - the course's name

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
    hint="What can several linear layers compute if there is no activation function between them?",
)

nothing_behind_hid = altered(
    "forward",
    {"F.relu(self.hid(self.flatten(features)))": "self.hid(self.flatten(features))"},
    hint="The LSTM cell first multiplies its input by a weight matrix: what is between the linear layer `hid` and the cell?",
    source="public solutions",
)

nothing_behind_the_convolutions = altered(
    "forward",
    {
        "F.relu(self.conv0(obs_t))": "self.conv0(obs_t)",
        "F.relu(self.conv1(features))": "self.conv1(features)",
        "F.relu(self.conv2(features))": "self.conv2(features)",
    },
    hint="A convolution is linear: what is between one convolution and the next?",
    source="public solutions",
)

nothing_behind_conv0 = altered(
    "forward",
    {"F.relu(self.conv0(obs_t))": "self.conv0(obs_t)"},
    hint="After which of your layers is there no activation function?",
)

nothing_behind_conv1 = altered(
    "forward",
    {"F.relu(self.conv1(features))": "self.conv1(features)"},
    hint="After which of your layers is there no activation function?",
)

nothing_behind_conv2 = altered(
    "forward",
    {"F.relu(self.conv2(features))": "self.conv2(features)"},
    hint="After which of your layers is there no activation function, if you do not count flatten as an activation function?",
    source="public solutions",
)

features_compete = altered(
    "forward",
    {"F.relu(self.hid(self.flatten(features)))": "F.softmax(self.hid(self.flatten(features)), dim=-1)"},
    hint="Does your activation function work on each number separately?",
)

same_convolution_twice = altered(
    "forward",
    {"F.relu(self.conv2(features))": "F.relu(self.conv1(features))"},
    hint="How many times do you use each of your layers, and which layer do you never use?",
    source="student code",
)

convolutions_out_of_order = altered(
    "forward",
    {
        "features = F.relu(self.conv1(features))\n        features = F.relu(self.conv2(features))": ""
        "features = F.relu(self.conv2(features))\nfeatures = F.relu(self.conv1(features))"
    },
    hint="In which order does a frame go through the convolutions?",
)

pixels_scaled_again = altered(
    "forward",
    {"self.conv0(obs_t)": "self.conv0(obs_t / 255)"},
    hint="What range do the pixels of obs_t already have?",
    source="student code",
)

memory_of_all_games = altered(
    "forward",
    {"self.rnn(hidden, prev_state)": "self.rnn(hidden, [m.mean(dim=0, keepdim=True).expand_as(m) for m in prev_state])"},
    hint="Does each game get the same memory as when you call the agent with this game alone?",
)

new_c_detached = altered(
    "forward",
    {"return (h, c), (": "return (h, c.detach()), ("},
    hint="Through which parts of the memory can a gradient flow back in time: h, c, or both?",
)

memory_not_given = altered(
    "forward",
    {"self.rnn(hidden, prev_state)": "self.rnn(hidden)"},
    hint="Which memory does the LSTM cell use if you pass it only its input?",
    source="student code",
)

memory_kept_by_the_agent = altered(
    "forward",
    {
        "h, c = self.rnn(hidden, prev_state)": 'h, c = self.rnn(hidden, getattr(self, "memory", prev_state))\n'
        "self.memory = (h.detach(), c.detach())"
    },
    hint="If you call your agent twice with different memories, which memory does it use?",
    source="student code",
)

memory_given_the_other_way_round = altered(
    "forward",
    {"self.rnn(hidden, prev_state)": "self.rnn(hidden, (prev_state[1], prev_state[0]))"},
    hint="In which order does LSTMCell take the two parts of its memory, according to its documentation?",
)

memory_unpacked_the_other_way_round = altered(
    "forward",
    {"h, c = self.rnn(hidden, prev_state)": "c, h = self.rnn(hidden, prev_state)"},
    hint="In which order does LSTMCell return h and c, according to its documentation?",
    source="student code",
)


memory_returned_the_other_way_round = altered(
    "forward",
    {"return (h, c), (": "return (c, h), ("},
    hint="The next step gets your new_state as prev_state: in which order does it expect h and c?",
)

old_memory_returned = altered(
    "forward",
    {"return (h, c), (": "return prev_state, ("},
    hint="Which memory do you return: the memory before this observation, or the memory after it?",
    source="student code",
)

only_h_returned = altered(
    "forward",
    {"return (h, c), (": "return h, ("},
    hint="How many parts does the memory of an LSTM have, and how many do you return?",
    source="student code",
)

outputs_not_together = altered(
    "forward",
    {"(self.logits(h), self.state_value(h)[:, 0])": "self.logits(h), self.state_value(h)[:, 0]"},
    hint="Is your result nested so that `new_state, (logits, state_value) = agent(...)` can unpack it?",
    source="student code",
    form=True,
)

heads_in_the_wrong_order = altered(
    "forward",
    {"(self.logits(h), self.state_value(h)[:, 0])": "(self.state_value(h)[:, 0], self.logits(h))"},
    hint="Which comes first in the pair of outputs: logits, or state values?",
)

memory_behind_the_outputs = altered(
    "forward",
    {
        "return (h, c), (self.logits(h), self.state_value(h)[:, 0])": ""
        "return (self.logits(h), self.state_value(h)[:, 0]), (h, c)"
    },
    hint="Which comes first in your result: the memory, or the outputs?",
)

heads_of_hid = altered(
    "forward",
    {"(self.logits(h), self.state_value(h)[:, 0])": "(self.logits(hidden), self.state_value(hidden)[:, 0])"},
    hint="Which of your outputs depend on the memory?",
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

value_of_the_cell = altered(
    "forward",
    {"self.state_value(h)[:, 0]": "self.state_value(c)[:, 0]"},
    hint="Which part of the memory does the value come from: h, or c?",
)

heads_of_the_old_memory = altered(
    "forward",
    {"(self.logits(h), self.state_value(h)[:, 0])": "(self.logits(prev_state[0]), self.state_value(prev_state[0])[:, 0])"},
    hint="If only the observation of this step changes, do its logits and value change?",
)

heads_of_the_cell = altered(
    "forward",
    {"(self.logits(h), self.state_value(h)[:, 0])": "(self.logits(c), self.state_value(c)[:, 0])"},
    hint="Which part of the memory is the output of the LSTM cell: h, or c?",
    source="student code",
)

activation_before_the_heads = altered(
    "forward",
    {"(self.logits(h), self.state_value(h)[:, 0])": "(self.logits(F.relu(h)), self.state_value(F.relu(h))[:, 0])"},
    hint="After which layers does the docstring ask for an activation function, and are h and the heads among them?",
    source="student code",
)

softmax_in_the_agent = altered(
    "forward",
    {"self.logits(h)": "F.softmax(self.logits(h), dim=-1)"},
    hint="Which code takes the softmax of your logits, and what happens if it is taken twice?",
    source="student code",
)

no_negative_logits = altered(
    "forward",
    {"self.logits(h)": "F.relu(self.logits(h))"},
    hint="Which gradient does a logit get where your activation function has set it to 0?",
    source="student code",
)

no_negative_values = altered(
    "forward",
    {"self.state_value(h)[:, 0]": "F.relu(self.state_value(h))[:, 0]"},
    hint="What range can returns have, and what range can your values have?",
)

small_values_only = altered(
    "forward",
    {"self.state_value(h)[:, 0]": "torch.tanh(self.state_value(h))[:, 0]"},
    hint="What range can returns have, and what range can your values have?",
)

one_value_for_all_games = altered(
    "forward",
    {"self.state_value(h)[:, 0]": "self.state_value(h).mean()"},
    hint="How many state values does a batch of B games have?",
)

value_of_a_single_game_loses_its_axis = altered(
    "forward",
    {"self.state_value(h)[:, 0]": "self.state_value(h).squeeze()"},
    hint="Which axis do you want to remove, and which axes does your code remove for a batch of one game?",
    source="public solutions",
    form=True,
)

outputs_in_double_precision = altered(
    "forward",
    {"(self.logits(h), self.state_value(h)[:, 0])": "(self.logits(h).double(), self.state_value(h)[:, 0].double())"},
    hint="What dtype do your outputs have, and what dtype does the docstring give?",
    form=True,
)

agent_without_gradient = altered(
    "forward",
    {
        "h, c = self.rnn(hidden, prev_state)": "with torch.no_grad():\n    h, c = self.rnn(hidden, prev_state)",
        "(self.logits(h), self.state_value(h)[:, 0])": "(self.logits(h).detach(), self.state_value(h)[:, 0].detach())",
    },
    hint="Which method must work without a gradient: `step`, or `forward`?",
    learns=False,
)

heads_detached_from_the_memory = altered(
    "forward",
    {"(self.logits(h), self.state_value(h)[:, 0])": "(self.logits(h.detach()), self.state_value(h.detach())[:, 0])"},
    hint="If you call backward() on logits and value, which layers get no gradient?",
)

given_memory_detached = altered(
    "forward",
    {"self.rnn(hidden, prev_state)": "self.rnn(hidden, (prev_state[0].detach(), prev_state[1].detach()))"},
    hint="Along which path can a gradient flow back from an action to an observation five steps earlier?",
    source="student code",
)

new_memory_detached = altered(
    "forward",
    {"return (h, c), (": "return (h.detach(), c.detach()), ("},
    hint="Along which path can a gradient flow back from an action to an observation five steps earlier?",
    source="student code",
)

values_do_not_train_the_memory = altered(
    "forward",
    {"self.state_value(h)": "self.state_value(h.detach())"},
    hint="If you call backward() on the value alone, which layers get no gradient?",
)

heads_of_h_and_its_input = altered(
    "forward",
    {"self.logits(h), self.state_value(h)[:, 0]": "self.logits(h + hidden), self.state_value(h + hidden)[:, 0]"},
    hint="What do the heads read: the new h, or also something else?",
    source="student code",
)

dropout_in_the_agent = altered(
    "forward",
    {"features = F.relu(self.conv2(features))": "features = F.dropout(F.relu(self.conv2(features)), 0.1)"},
    hint="If you call the agent twice with the same observation and memory, does it return the same result?",
    source="student code",
)

dropout_behind_hid = altered(
    "forward",
    {"F.relu(self.hid(self.flatten(features)))": "F.dropout(F.relu(self.hid(self.flatten(features))), 0.2)"},
    hint="If you call the agent twice with the same observation and memory, does it return the same result?",
    source="student code",
)

games_mixed_by_flatten = altered(
    "forward",
    {"self.flatten(features)": "features.transpose(0, 1).reshape(len(obs_t), -1)"},
    hint="Which games do the numbers in row i of your flattened features come from?",
    source="student code",
)

old_cell_state_ignored = altered(
    "forward",
    {"self.rnn(hidden, prev_state)": "self.rnn(hidden, (prev_state[0], torch.zeros_like(prev_state[1])))"},
    hint="Of the memory before this step, which parts does the LSTM cell use: h, c, or both?",
    source="student code",
)

features_normalized_over_the_batch = altered(
    "forward",
    {
        "hidden = F.relu(self.hid(self.flatten(features)))": ""
        "hidden = F.relu(self.hid(self.flatten(features)))\n"
        "hidden = (hidden - hidden.mean(0)) / (hidden.std(0, correction=0) + 1e-5)"
    },
    hint="Do the outputs for one game depend on the other games of the batch?",
    source="student code",
)

# playing: the functions that are given

always_the_likeliest_action = altered(
    "playing",
    {"torch.multinomial(F.softmax(logits, dim=-1), 1)[:, 0].numpy()": "logits.argmax(dim=-1).numpy()"},
    hint="How does an agent learn that another action is better, if it always takes the one that looks best now?",
    learns=False,
)

the_same_draws_in_every_call = altered(
    "playing",
    {
        "torch.multinomial(F.softmax(logits, dim=-1), 1)[:, 0].numpy()": "torch.multinomial(\n"
        "    F.softmax(logits, dim=-1), 1, generator=torch.Generator().manual_seed(0)\n"
        ")[:, 0].numpy()"
    },
    hint="If a generator gets the same seed in every call of sample_actions, which random numbers does each call draw?",
    learns=False,
)

drawn_by_numpy = altered(
    "playing",
    {
        "torch.multinomial(F.softmax(logits, dim=-1), 1)[:, 0].numpy()": "np.array(\n"
        "    [np.random.choice(len(p), p=p / p.sum()) for p in F.softmax(logits.double(), dim=-1).detach().numpy()]\n"
        ")"
    },
    hint="Which library's global generator should draw the actions, and whose seed does a training set?",
)

played_with_a_graph = altered(
    "playing",
    {
        "torch.no_grad()": "torch.enable_grad()",
    },
    hint="Nothing is learned while the agent plays: does `step` still keep a graph of every frame?",
)

one_hot_rows_of_integers = altered(
    "playing",
    {"F.one_hot(indices, n_dims).to(torch.float32)": "F.one_hot(indices, n_dims)"},
    hint="Which dtype do the rows of to_one_hot have, and which one does its docstring promise?",
    function="to_one_hot",
)

one_hot_rows_without_the_last_class = altered(
    "playing",
    {
        "int(indices.max()) + 1": "int(indices.max())",
        "F.one_hot(indices, n_dims)": "(indices[:, None] == torch.arange(n_dims))",
    },
    hint="How many different integers are there from 0 to the largest one?",
    function="to_one_hot",
)

memory_for_the_first_number_of_games = altered(
    "playing",
    {
        "return torch.zeros((batch_size, 128)), torch.zeros((batch_size, 128))": "if not hasattr(self, 'zeros'):\n"
        "    self.zeros = torch.zeros((batch_size, 128)), torch.zeros((batch_size, 128))\n"
        "return self.zeros"
    },
    hint="If get_initial_state keeps the zeros of its first call, what shape do they have for another number of games?",
)

step_of_the_global_agent = altered(
    "playing",
    {"return self.forward(": "return agent.forward("},
    hint="Whose forward does `step` call: that of self, or of the global `agent`?",
)

step_without_the_memory = altered(
    "playing",
    {"return self.forward(prev_state, ": "return self.forward(self.get_initial_state(len(obs_t)), "},
    hint="Which memory does `step` pass to `forward`: the one that it is given, or a new one?",
)

step_takes_any_precision = altered(
    "playing",
    {"torch.as_tensor(np.asarray(obs_t), dtype=torch.float32)": "torch.as_tensor(np.asarray(obs_t))"},
    hint="Which dtype do the observations have after `step` has made a tensor of them, and which one do the layers need?",
)

flattened_to_512_units = altered(
    "playing",
    {"input.reshape(input.size(0), -1)": "input.reshape(-1, 512)"},
    hint="Which axis does Flatten keep, whatever the size of the others?",
    function="Flatten",
)

one_hot_rows_in_a_matrix = altered(
    "playing",
    {"y.to(dtype=torch.int64).reshape(-1)": "y.to(dtype=torch.int64)"},
    hint="How many rows does to_one_hot return for a matrix of integers?",
    function="to_one_hot",
)

# train_on_rollout.memory

never_passed_on = altered(
    "train_on_rollout.memory",
    {
        "memory, (logits_t, values_t) = agent(": "_, (logits_t, values_t) = agent(",
        "memory = [m * is_not_done[:, t, None] for m in memory]": "",
    },
    hint="In column 1, does the agent's memory depend on the observation in column 0?",
    source="student code",
)

nothing_remembered = altered(
    "train_on_rollout.memory",
    {"agent(memory, states[:, t])": "agent(agent.get_initial_state(len(states)), states[:, t])"},
    hint="In column 1, does the agent's memory depend on the observation in column 0?",
    learns=False,
)

given_memory_ignored = altered(
    "train_on_rollout.memory",
    {"memory = [m.detach() for m in prev_memory_states]": "memory = agent.get_initial_state(len(states))"},
    hint="A rollout may start in the middle of a game: which memory did the agent have in the first column?",
    source="student code",
)

never_forgets = altered(
    "train_on_rollout.memory",
    {"memory = [m * is_not_done[:, t, None] for m in memory]": ""},
    hint="Which memory should the agent have at the first frame of a new game, and which line of your loop resets it?",
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
    hint="Mask 0 marks the last frame of the old game: should the memory be empty before this frame, or after it?",
)

forgets_one_column_late = altered(
    "train_on_rollout.memory",
    {
        "memory = [m * is_not_done[:, t, None] for m in memory]": ""
        "memory = [m * is_not_done[:, t - 1, None] for m in memory] if t > 0 else memory"
    },
    hint="If the mask is 0 in column t, in which column does the memory have to be empty?",
)

forgets_while_the_game_goes_on = altered(
    "train_on_rollout.memory",
    {"[m * is_not_done[:, t, None] for m in memory]": "[m * (1 - is_not_done[:, t, None]) for m in memory]"},
    hint="Which column's mask decides whether the next return and value count, and is it 1 where the game continues?",
)

all_games_forget = altered(
    "train_on_rollout.memory",
    {
        "memory = [m * is_not_done[:, t, None] for m in memory]": "if not is_not_done[:, t].all():\n"
        "    memory = agent.get_initial_state(len(states))"
    },
    hint="If one of the games has ended, whose memory do you reset?",
    source="student code",
)

all_games_multiplied_by_the_smallest_mask = altered(
    "train_on_rollout.memory",
    {"is_not_done[:, t, None] for m in memory": "is_not_done[:, t].min() for m in memory"},
    hint="If one of the games has ended, whose memory do you reset?",
    source="student code",
)

forgets_everything_after_the_first_end = altered(
    "train_on_rollout.memory",
    {
        "memory = [m * is_not_done[:, t, None] for m in memory]": ""
        "memory = [m * is_not_done[:, : t + 1].prod(dim=1)[:, None] for m in memory]"
    },
    hint="In the third frame of the new game, does the agent remember the first two?",
    source="student code",
)

forgets_h_only = altered(
    "train_on_rollout.memory",
    {"[m * is_not_done[:, t, None] for m in memory]": "[memory[0] * is_not_done[:, t, None], memory[1]]"},
    hint="How many parts does the memory have, and which of them do you reset?",
    source="student code",
)

goes_back_to_the_given_memory = altered(
    "train_on_rollout.memory",
    {
        "[m * is_not_done[:, t, None] for m in memory]": ""
        "[torch.where(is_not_done[:, t, None] == 1, m, given.detach())\n"
        "          for m, given in zip(memory, prev_memory_states)]"
    },
    hint="Which memory do you set where a game has ended: an empty memory, or the memory from before the rollout?",
)

memory_stands_still_at_an_end = altered(
    "train_on_rollout.memory",
    {
        "memory, (logits_t, values_t) = agent(": "before = memory\nmemory, (logits_t, values_t) = agent(",
        "[m * is_not_done[:, t, None] for m in memory]": ""
        "[torch.where(is_not_done[:, t, None] == 1, m, old) for m, old in zip(memory, before)]",
    },
    hint="At the first frame of a new game, should the agent have an empty memory, or an older memory?",
)

forgets_in_place = altered(
    "train_on_rollout.memory",
    {"memory = [m * is_not_done[:, t, None] for m in memory]": "for m in memory:\n    m[is_not_done[:, t] == 0] = 0"},
    hint="backward() needs the old memory: do you change it in place, or create a new tensor?",
    source="student code",
)

memory_detached_in_each_column = altered(
    "train_on_rollout.memory",
    {"[m * is_not_done[:, t, None] for m in memory]": "[m.detach() * is_not_done[:, t, None] for m in memory]"},
    hint="How far back through the columns can a gradient flow in your loop?",
    source="student code",
)

step_instead_of_the_agent = altered(
    "train_on_rollout.memory",
    {"agent(memory, states[:, t])": "agent.step(memory, states[:, t])"},
    hint="What is the difference between calling agent.step and calling agent?",
    source="student code",
    learns=False,
)

gradient_into_the_last_rollout = altered(
    "train_on_rollout.memory",
    {"[m.detach() for m in prev_memory_states]": "[m for m in prev_memory_states]"},
    hint="Should the gradient flow back into the previous rollout, whose graph no longer exists?",
)

last_column_not_seen = altered(
    "train_on_rollout.memory",
    {
        "for t in range(rewards.shape[1]):": "for t in range(rollout_length):",
        "to_one_hot(actions, n_actions).view(*actions.shape, n_actions)": ""
        "to_one_hot(actions[:, :-1], n_actions).view(len(actions), -1, n_actions)",
    },
    hint="Which column has the value of the state after the last reward, and do you call the agent on it?",
    source="public solutions",
)

two_calls_in_each_column = altered(
    "train_on_rollout.memory",
    {
        "memory, (logits_t, values_t) = agent(memory, states[:, t])": ""
        "memory, (logits_t, _) = agent(memory, states[:, t])\nmemory, (_, values_t) = agent(memory, states[:, t])"
    },
    hint="How many times do you call the agent on each frame?",
    source="student code",
)

mask_of_the_last_column_at_first = altered(
    "train_on_rollout.memory",
    {
        "memory = [m * is_not_done[:, t, None] for m in memory]": "",
        "memory, (logits_t, values_t) = agent(": ""
        "memory = [m * is_not_done[:, t - 1, None] for m in memory]\nmemory, (logits_t, values_t) = agent(",
    },
    hint="Which column does the index t - 1 select when t is 0?",
    source="student code",
)

given_memory_overwritten = altered(
    "train_on_rollout.memory",
    {
        "memory = [m * is_not_done[:, t, None] for m in memory]": ""
        "memory = [m * is_not_done[:, t, None] for m in memory]\n"
        "for given, new in zip(prev_memory_states, memory):\n    given.data.copy_(new)"
    },
    hint="What does prev_memory_states contain after your function has run?",
    form=True,
)

# train_on_rollout.policy

policy_goes_down = altered(
    "train_on_rollout.policy",
    {"J_hat += (played": "J_hat -= (played"},
    hint="Does your loss make an action with a positive advantage more likely, or less likely?",
    source="student code",
    learns=False,
)

policy_without_baseline = altered(
    "train_on_rollout.policy",
    {"advantage = (G_t - V_t).detach()": "advantage = G_t.detach()"},
    hint="What do you subtract from the return to get the advantage?",
    source="student code",
)

advantage_not_detached = altered(
    "train_on_rollout.policy",
    {"advantage = (G_t - V_t).detach()": "advantage = G_t - V_t"},
    hint="Does a gradient flow from J through the advantage into the values?",
    source="student code",
)

policy_without_gradient = altered(
    "train_on_rollout.policy",
    {"logprobas_for_actions[:, t] * advantage": "logprobas_for_actions[:, t].detach() * advantage"},
    hint="Which operations connect J with the policy's weights?",
    learns=False,
)

advantage_of_one_step = altered(
    "train_on_rollout.policy",
    {"advantage = (G_t - V_t).detach()": "advantage = (target - V_t).detach()"},
    hint="How many rewards does the return in your advantage contain, and how many should it contain?",
    source="student code",
)

advantage_of_the_reward = altered(
    "train_on_rollout.policy",
    {"advantage = (G_t - V_t).detach()": "advantage = (rewards[:, t] - V_t).detach()"},
    hint="If the reward for an action comes ten steps later, does it change the advantage of the action?",
)

baseline_of_the_next_state = altered(
    "train_on_rollout.policy",
    {"advantage = (G_t - V_t).detach()": "advantage = (G_t - state_values[:, t + 1]).detach()"},
    hint="Which value do you subtract from G_t: V(s_t), or V(s_(t+1))?",
)

last_reward_in_the_return = altered(
    "train_on_rollout.policy",
    {
        "G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]": ""
        "V_next = state_values[:, -1].detach() * is_not_done[:, -1]\n"
        "G_next = rewards[:, -1] + V_next"
    },
    hint="Has the action of the last column been executed, and does its reward belong to your return?",
    source="student code",
)


advantages_normalized = altered(
    "train_on_rollout.policy",
    {
        "advantage = (G_t - V_t).detach()": "advantage = (G_t - V_t).detach()\n"
        "advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)"
    },
    hint="Which operation on the advantage is not in the docstring?",
    source="student code",
)

policy_loss_summed = altered(
    "train_on_rollout.policy",
    {"* advantage).mean()": "* advantage).sum()"},
    hint="Is J a mean over games and columns, or a sum over one of them?",
    source="student code",
)

policy_of_the_first_column_alone = altered(
    "train_on_rollout.policy",
    {"J_hat += (played": "J_hat = (played"},
    hint="What does J_hat contain after the loop: all columns, or only one column?",
    source="student code",
)

policy_loss_divided_twice = altered(
    "train_on_rollout.policy",
    {"* advantage).mean()": "* advantage).mean() / rollout_length"},
    hint="How many times is J_hat divided by the number of columns, including the line that computes the loss?",
)

policy_loss_divided_by_all_columns = altered(
    "train_on_rollout.policy",
    {"-J_hat / rollout_length": "-J_hat / rewards.shape[1]"},
    hint="How many of the T columns of a rollout have an action that can be trained on?",
)

advantage_centred = altered(
    "train_on_rollout.policy",
    {"advantage = (G_t - V_t).detach()": "advantage = (G_t - V_t).detach()\nadvantage = advantage - advantage.mean()"},
    hint="Which mean do you subtract from the advantage, and does the docstring ask for it?",
    source="student code",
)

rewards_of_the_return_clipped = altered(
    "train_on_rollout.policy",
    {"G_t = rewards[:, t] + gamma * G_next": "G_t = rewards[:, t].clamp(-1, 1) + gamma * G_next"},
    hint="Which rewards add up to G_t: the rewards of the game, or clipped rewards?",
    source="student code",
)

advantage_of_gae = altered(
    "train_on_rollout.policy",
    {"G_t = rewards[:, t] + gamma * G_next": "G_t = rewards[:, t] + gamma * (0.05 * V_next + 0.95 * G_next)"},
    hint="In the docstring, what follows r_t in G_t: G_(t+1) alone, or an average of G_(t+1) and V(s_(t+1))?",
    source="student code",
)

policy_discounted_by_column = altered(
    "train_on_rollout.policy",
    {"J_hat += (played": "J_hat += gamma**t * (played"},
    hint="What is the weight of column t in J?",
    source="student code",
)

product_of_the_means = altered(
    "train_on_rollout.policy",
    {
        "J_hat += (played * logprobas_for_actions[:, t] * advantage).mean()": ""
        "J_hat += (played * logprobas_for_actions[:, t]).mean() * advantage.mean()"
    },
    hint="Do you multiply log π by the advantage in each game, or do you multiply two means over the games?",
    source="student code",
)

return_without_bootstrap = altered(
    "train_on_rollout.policy",
    {
        "G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]": ""
        "G_next = torch.zeros_like(rewards[:, -1])\nV_next = state_values[:, -1].detach() * is_not_done[:, -1]"
    },
    hint="Does the game end at the last column, or does only the rollout end there?",
    source="student code",
)

bootstrap_of_the_last_action = altered(
    "train_on_rollout.policy",
    {
        "G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]": ""
        "V_next = state_values[:, -1].detach() * is_not_done[:, -1]\n"
        "G_next = state_values[:, -2].detach() * is_not_done[:, -1]"
    },
    hint="Which value belongs to the state after the last reward?",
)

last_column_has_an_action = altered(
    "train_on_rollout.policy",
    {
        "for t in reversed(range(rollout_length)):": "for t in reversed(range(rewards.shape[1])):",
        "value_loss += (played": "value_loss += (t < rollout_length) * (played",
    },
    hint="Was the action of the last column ever executed?",
    source="student code",
)

columns_in_the_order_of_time = altered(
    "train_on_rollout.policy",
    {
        "for t in reversed(range(rollout_length)):": "for t in range(rollout_length):",
        "gamma * V_next": "gamma * is_not_done[:, t + 1] * state_values[:, t + 1].detach()",
    },
    hint="You need G_(t+1) to compute G_t: in which order must your loop go through the columns?",
    source="student code",
)

return_without_discount = altered(
    "train_on_rollout.policy",
    {"rewards[:, t] + gamma * G_next": "rewards[:, t] + G_next"},
    hint="If a reward comes one step later, by which factor is it multiplied in G_t?",
)

immediate_reward_discounted = altered(
    "train_on_rollout.policy",
    {"rewards[:, t] + gamma * G_next": "gamma * (rewards[:, t] + G_next)"},
    hint="In G_t, by which power of γ is r_t multiplied?",
)

discount_by_absolute_time = altered(
    "train_on_rollout.policy",
    {"rewards[:, t] + gamma * G_next": "gamma**t * rewards[:, t] + G_next"},
    hint="From which column do you count the power of γ: the rollout's first column, or the column whose return you compute?",
    source="student code",
)

own_gamma = altered(
    "train_on_rollout.policy",
    {"rewards[:, t] + gamma * G_next": "rewards[:, t] + 0.99 * G_next"},
    hint="Do your returns use the γ that your function receives, or a constant?",
    source="student code",
)

return_does_not_go_on = altered(
    "train_on_rollout.policy",
    {"G_next = played * G_t": ""},
    hint="Which line of your loop updates G_(t+1) for the next column?",
)

all_actions_log_probabilities = altered(
    "train_on_rollout.policy",
    {"torch.sum(logprobas * actions_one_hot, dim=-1)": "torch.sum(logprobas, dim=-1)"},
    hint="Which of the log-probabilities belongs to the action that was taken?",
    source="student code",
)

logits_as_log_probabilities = altered(
    "train_on_rollout.policy",
    {"torch.sum(logprobas * actions_one_hot, dim=-1)": "torch.sum(logits * actions_one_hot, dim=-1)"},
    hint="Do the exponentials of your log-probabilities sum to 1 over the actions?",
    source="student code",
)

probability_without_logarithm = altered(
    "train_on_rollout.policy",
    {"torch.sum(logprobas * actions_one_hot, dim=-1)": "torch.sum(probas * actions_one_hot, dim=-1)"},
    hint="Does J contain the probability of the action, or its logarithm?",
    source="student code",
)

probabilities_over_columns = altered(
    "train_on_rollout.policy",
    {"torch.sum(logprobas * actions_one_hot, dim=-1)": "torch.sum(F.log_softmax(logits, dim=1) * actions_one_hot, dim=-1)"},
    hint="Along which axis should the probabilities sum to 1?",
    source="student code",
)

logarithm_of_a_softmax = altered(
    "train_on_rollout.policy",
    {"torch.sum(logprobas * actions_one_hot, dim=-1)": "torch.sum(torch.log(probas) * actions_one_hot, dim=-1)"},
    hint="For the logits 0 and 200, what is the logarithm of the softmax in float32, and which function computes both at once?",
    source="student code",
)

log_probability_of_rounded_probabilities = altered(
    "train_on_rollout.policy",
    {"torch.sum(logprobas * actions_one_hot, dim=-1)": "torch.distributions.Categorical(probs=probas).log_prob(actions)"},
    hint="If a probability has been rounded to 0, which argument of `Categorical` still has the information: probs, or logits?",
    source="student code",
)

action_of_the_next_column = altered(
    "train_on_rollout.policy",
    {"logprobas_for_actions[:, t] * advantage": "logprobas_for_actions[:, t + 1] * advantage"},
    hint="Which column's action led to the reward of column t?",
)

reward_of_the_next_column = altered(
    "train_on_rollout.policy",
    {"G_t = rewards[:, t] + gamma": "G_t = rewards[:, t + 1] + gamma"},
    hint="Which column has the reward of the action of column t?",
)

policy_of_every_pair = altered(
    "train_on_rollout.policy",
    {"advantage = (G_t - V_t).detach()": "advantage = (G_t - V_t[:, None]).detach()"},
    hint="What shape does your advantage have, and what is the shape of [B] minus [B, 1]?",
    source="public solutions",
)

only_several_games = altered(
    "train_on_rollout.policy",
    {"logprobas_for_actions[:, t] * advantage": "logprobas_for_actions.squeeze()[:, t] * advantage"},
    hint="What shape does a rollout of one game have after your squeeze?",
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


discount_of_the_first_call = altered(
    "train_on_rollout.policy",
    {
        "# G and V of column t + 1: 0 where the game is over.": ""
        'discount = train_on_rollout.discount = getattr(train_on_rollout, "discount", gamma)',
        "rewards[:, t] + gamma * G_next": "rewards[:, t] + discount * G_next",
    },
    hint="If gamma differs from that of the previous call, which gamma does your function use?",
    source="student code",
)


@mistake(
    "train_on_rollout.policy",
    hint="What shapes do your returns and your values have, and how many advantages do B games have per column?",
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
    hint="What shapes do rewards[:, t], state_values[:, t] and their difference have?",
    source="17 of 18 public solutions",
)

value_of_every_pair = altered(
    "train_on_rollout.value",
    {"(target - V_t) ** 2": "(target - V_t[:, None]) ** 2"},
    hint="What shapes do the target and the value have in your value loss, and what shape does their difference have?",
    source="public solutions",
)

target_not_detached = altered(
    "train_on_rollout.value",
    {
        "G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]": ""
        "G_next = V_next = state_values[:, -1] * is_not_done[:, -1]",
        "V_next = played * V_t.detach()": "V_next = played * V_t",
    },
    placements={"but in the last column": {"V_next = played * V_t.detach()": "V_next = played * V_t"}},
    hint="Does a gradient flow into the target of your value loss?",
    source="student code",
)

prediction_detached = altered(
    "train_on_rollout.value",
    {"(target - V_t) ** 2": "(target - V_t.detach()) ** 2"},
    hint="Which gradient does the layer state_value get from your value loss?",
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
    hint="Which of the two should the value loss train: V(s_t), or V(s_(t+1))?",
)

value_loss_of_the_detached_advantage = altered(
    "train_on_rollout.value",
    {
        "value_loss += (played * (target - V_t) ** 2).mean()": "",
        "advantage = (G_t - V_t).detach()": "advantage = (G_t - V_t).detach()\nvalue_loss += (played * advantage**2).mean()",
    },
    hint="Which gradient does the square of a detached advantage have?",
    source="student code",
)

value_uphill = altered(
    "train_on_rollout.value",
    {"value_loss += (played": "value_loss -= (played"},
    hint="If the optimizer minimizes your loss, does the squared error of V grow or shrink?",
)

value_loss_summed = altered(
    "train_on_rollout.value",
    {"(target - V_t) ** 2).mean()": "(target - V_t) ** 2).sum()"},
    hint="Does the value loss contain a sum or a mean over the games?",
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
    hint="What does value_loss contain after the loop: all columns, or only one column?",
    source="student code",
)

value_loss_divided_twice = altered(
    "train_on_rollout.value",
    {"(target - V_t) ** 2).mean()": "(target - V_t) ** 2).mean() / rollout_length"},
    hint="How many times is value_loss divided by the number of columns, including the line that computes the loss?",
)

value_loss_divided_by_all_columns = altered(
    "train_on_rollout.value",
    {"value_loss / rollout_length": "value_loss / rewards.shape[1]"},
    hint="How many of the T columns of a rollout have a target for their value?",
)

square_of_the_mean_error = altered(
    "train_on_rollout.value",
    {"(played * (target - V_t) ** 2).mean()": "(played * (target - V_t)).mean() ** 2"},
    hint="Can the errors of two games cancel out before your value loss squares them?",
)

error_without_square = altered(
    "train_on_rollout.value",
    {"(target - V_t) ** 2": "(target - V_t)"},
    hint="Can your value loss be negative?",
)

absolute_error = altered(
    "train_on_rollout.value",
    {"(target - V_t) ** 2": "(target - V_t).abs()"},
    hint="Does the formula contain the squared error, or the absolute error?",
)

huber_error = altered(
    "train_on_rollout.value",
    {"(target - V_t) ** 2": 'F.smooth_l1_loss(V_t, target, reduction="none")'},
    hint="Does your loss grow with the square of the error, even if the error is larger than 1?",
    source="student code",
)

target_is_the_reward = altered(
    "train_on_rollout.value",
    {"target = rewards[:, t] + gamma * V_next": "target = rewards[:, t]"},
    hint="What does the target contain in addition to the next reward?",
)

target_without_discount = altered(
    "train_on_rollout.value",
    {"target = rewards[:, t] + gamma * V_next": "target = rewards[:, t] + V_next"},
    hint="By which factor is the value of the next state multiplied in the target?",
    source="student code",
)

target_of_the_same_state = altered(
    "train_on_rollout.value",
    {"target = rewards[:, t] + gamma * V_next": "target = rewards[:, t] + gamma * V_t.detach()"},
    hint="Which value follows the reward in the target: V(s_t), or V(s_(t+1))?",
    source="student code",
)

target_without_reward = altered(
    "train_on_rollout.value",
    {"target = rewards[:, t] + gamma * V_next": "target = gamma * V_next"},
    hint="Which part of your target comes from the game itself, and not from the critic?",
)

rewards_of_the_target_clipped = altered(
    "train_on_rollout.value",
    {"target = rewards[:, t] + gamma * V_next": "target = rewards[:, t].clamp(-1, 1) + gamma * V_next"},
    hint="Which reward is in the target of the value loss: the reward of the game, or a clipped reward?",
    source="student code",
)

target_always_of_the_last_value = altered(
    "train_on_rollout.value",
    {"V_next = played * V_t.detach()": ""},
    hint="Which value is in your target of column t: V(s_(t+1)), or always the value of the last column?",
)

own_gamma_in_the_target = altered(
    "train_on_rollout.value",
    {"rewards[:, t] + gamma * V_next": "rewards[:, t] + 0.99 * V_next"},
    hint="Do your targets use the γ that your function receives, or a constant?",
    source="student code",
)

no_discount_of_zero = altered(
    "train_on_rollout.value",
    {"rewards[:, t] + gamma * V_next": "rewards[:, t] + (gamma or 0.99) * V_next"},
    hint="Which γ does your code use if γ is 0?",
    source="student code",
)

target_with_the_reward_of_the_next_column = altered(
    "train_on_rollout.value",
    {"target = rewards[:, t] + gamma": "target = rewards[:, t + 1] + gamma"},
    hint="Which column has the reward of the action of column t?",
)

last_target_without_a_value = altered(
    "train_on_rollout.value",
    {
        "G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]": ""
        "G_next = state_values[:, -1].detach() * is_not_done[:, -1]\nV_next = torch.zeros_like(rewards[:, -1])"
    },
    hint="Does the game end at the last column, or does only the rollout end there?",
)

# train_on_rollout.ends

losses_without_mask = altered(
    "train_on_rollout.ends",
    {
        "state_values[:, -1].detach() * is_not_done[:, -1]": "state_values[:, -1].detach()",
        "played = is_not_done[:, t]": "played = 1",
    },
    hint="Where do your two losses use is_not_done, so that nothing from a new game enters the old game?",
)

cut_by_its_own_mask_and_trained_on = altered(
    "train_on_rollout.ends",
    {
        "state_values[:, -1].detach() * is_not_done[:, -1]": "state_values[:, -1].detach()",
        "G_t = rewards[:, t] + gamma * G_next": "G_t = rewards[:, t] + gamma * G_next * is_not_done[:, t]",
        "target = rewards[:, t] + gamma * V_next": "target = rewards[:, t] + gamma * V_next * is_not_done[:, t]",
        "played = is_not_done[:, t]": "played = 1",
    },
    hint="Which of the columns t - 1, t, t + 1 around an end has mask 0, and which must not use the next column's G and V?",
    source="student code",
)

no_reward_is_an_end = altered(
    "train_on_rollout.ends",
    {"played = is_not_done[:, t]": "played = (rewards[:, t] != 0).float()"},
    hint="What tells you that a game has ended: a reward of 0, or the mask?",
)

nothing_cut = altered(
    "train_on_rollout.ends",
    {
        "state_values[:, -1].detach() * is_not_done[:, -1]": "state_values[:, -1].detach()",
        "G_next = played * G_t": "G_next = G_t",
        "V_next = played * V_t.detach()": "V_next = V_t.detach()",
    },
    hint="Two terms come from the next column: what should the return and the value of that column be if the game has ended?",
)

return_runs_on = altered(
    "train_on_rollout.ends",
    {"G_next = played * G_t": "G_next = G_t"},
    hint="Which of the two terms from the next column, return and value, do you not multiply by is_not_done?",
    source="student code",
)

value_runs_on = altered(
    "train_on_rollout.ends",
    {"V_next = played * V_t.detach()": "V_next = V_t.detach()"},
    hint="Two terms come from the next column, the return and the value: are both of them 0 after the end of a game?",
    source="student code",
)

bootstraps_from_a_last_frame = altered(
    "train_on_rollout.ends",
    {"state_values[:, -1].detach() * is_not_done[:, -1]": "state_values[:, -1].detach()"},
    hint="If the game ends with the last reward of the rollout, what is the mask in the last column, and can a reward follow?",
    placements={
        "in the return alone": {
            "G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]": ""
            "G_next = state_values[:, -1].detach()\nV_next = G_next * is_not_done[:, -1]"
        },
        "in the target alone": {
            "G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]": ""
            "V_next = state_values[:, -1].detach()\nG_next = V_next * is_not_done[:, -1]"
        },
    },
)

dead_ticks_trained_on = altered(
    "train_on_rollout.ends",
    {
        "value_loss += (played * (target - V_t) ** 2)": "value_loss += ((target - V_t) ** 2)",
        "J_hat += (played * logprobas_for_actions[:, t]": "J_hat += (logprobas_for_actions[:, t]",
    },
    hint="How much should a column with mask 0 add to J, and how much to the value loss?",
)

dead_ticks_trained_on_between_two_cuts = altered(
    "train_on_rollout.ends",
    placements={
        "in the policy": {
            "J_hat += (played * logprobas_for_actions[:, t]": "J_hat += (logprobas_for_actions[:, t]",
            "G_t = rewards[:, t] + gamma * G_next": "G_t = rewards[:, t] + gamma * is_not_done[:, t] * G_next",
        },
        "in the policy, with a return of 0": {
            "J_hat += (played * logprobas_for_actions[:, t]": "J_hat += (logprobas_for_actions[:, t]",
            "G_t = rewards[:, t] + gamma * G_next": "G_t = is_not_done[:, t] * (rewards[:, t] + gamma * G_next)",
        },
        "in the value loss": {
            "value_loss += (played * (target - V_t) ** 2)": "value_loss += ((target - V_t) ** 2)",
            "target = rewards[:, t] + gamma * V_next": "target = rewards[:, t] + gamma * is_not_done[:, t] * V_next",
        },
    },
    hint="How much should a column with mask 0 add to J, and how much to the value loss?",
    source="student code",
)

action_that_never_was = altered(
    "train_on_rollout.ends",
    {"J_hat += (played * logprobas_for_actions[:, t]": "J_hat += (logprobas_for_actions[:, t]"},
    hint="If the mask is 0, was the action of this column ever executed?",
    source="student code",
)

last_frame_expects_the_next_game = altered(
    "train_on_rollout.ends",
    {"value_loss += (played * (target - V_t) ** 2)": "value_loss += ((target - V_t) ** 2)"},
    hint="If the mask is 0, which game does the target of your value loss come from?",
)

mean_of_what_was_played = altered(
    "train_on_rollout.ends",
    {
        "(played * (target - V_t) ** 2).mean()": "(played * (target - V_t) ** 2).sum() / played.sum().clamp(min=1)",
        "(played * logprobas_for_actions[:, t] * advantage).mean()": ""
        "(played * logprobas_for_actions[:, t] * advantage).sum() / played.sum().clamp(min=1)",
    },
    hint="A dead tick adds 0 to the sum of a column: by how many games do you divide this sum?",
    placements={
        "over all columns together": {
            "(played * (target - V_t) ** 2).mean()": ""
            "(played * (target - V_t) ** 2).sum() * rollout_length / is_not_done[:, :-1].sum()",
            "(played * logprobas_for_actions[:, t] * advantage).mean()": ""
            "(played * logprobas_for_actions[:, t] * advantage).sum() * rollout_length / is_not_done[:, :-1].sum()",
        },
    },
)

value_loss_of_what_was_played = altered(
    "train_on_rollout.ends",
    {
        "(played * (target - V_t) ** 2).mean()": ""
        "(played * (target - V_t) ** 2).sum() * rollout_length / is_not_done[:, :-1].sum()"
    },
    hint="A dead tick adds 0 to the value loss: by how many ticks do you divide?",
)

policy_loss_of_what_was_played = altered(
    "train_on_rollout.ends",
    {
        "(played * logprobas_for_actions[:, t] * advantage).mean()": ""
        "(played * logprobas_for_actions[:, t] * advantage).sum() * rollout_length / is_not_done[:, :-1].sum()"
    },
    hint="A dead tick adds 0 to J: by how many ticks do you divide?",
)

mask_the_other_way_round = altered(
    "train_on_rollout.ends",
    {
        "state_values[:, -1].detach() * is_not_done[:, -1]": "state_values[:, -1].detach() * (1 - is_not_done[:, -1])",
        "played = is_not_done[:, t]": "played = 1 - is_not_done[:, t]",
    },
    hint="Which column's mask decides whether the next return and value count, and is it 1 where the game continues?",
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
    hint="At the last action of a game, what becomes 0: only the return of the next column, or also this action's reward?",
    source="student code",
)

cut_one_column_early = altered(
    "train_on_rollout.ends",
    {
        "G_next = played * G_t": "G_next = is_not_done[:, t + 1] * G_t",
        "V_next = played * V_t.detach()": "V_next = is_not_done[:, t + 1] * V_t.detach()",
    },
    hint="Mask 0 marks the column after the last reward: which G and which V must not be used in the column before?",
)

value_cut_one_column_late = altered(
    "train_on_rollout.ends",
    {
        "G_next = V_next = state_values[:, -1].detach() * is_not_done[:, -1]": ""
        "G_next = state_values[:, -1].detach() * is_not_done[:, -1]\nV_next = state_values[:, -1].detach()",
        "target = rewards[:, t] + gamma * V_next": "target = rewards[:, t] + gamma * is_not_done[:, t] * V_next",
        "V_next = played * V_t.detach()": "V_next = V_t.detach()",
    },
    hint="Which column's mask says whether V(s_(t+1)) counts: column t, or column t + 1?",
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
    hint="Which column's mask says whether G_(t+1) and V(s_(t+1)) count: column t, or column t + 1?",
    source="student code",
)

end_bootstraps_from_the_last_frame = altered(
    "train_on_rollout.ends",
    {
        "state_values[:, -1].detach() * is_not_done[:, -1]": "state_values[:, -1].detach()",
        "G_next = played * G_t": "G_next = torch.where(played == 1, G_t, V_t.detach())",
        "V_next = played * V_t.detach()": "V_next = V_t.detach()",
    },
    hint="Which rewards can follow the last frame of a game, and does its V enter a return?",
)

all_games_cut = altered(
    "train_on_rollout.ends",
    {
        "G_next = played * G_t": "G_next = played.min() * G_t",
        "V_next = played * V_t.detach()": "V_next = played.min() * V_t.detach()",
    },
    hint="If one of the games has ended, in which games do you set the next return and value to 0?",
)

nothing_learned_after_the_first_end = altered(
    "train_on_rollout.ends",
    {"played = is_not_done[:, t]": "played = is_not_done[:, : t + 1].prod(dim=1)"},
    hint="After an end, a new game starts in the same row: does your loss count its columns?",
)

last_action_not_learned = altered(
    "train_on_rollout.ends",
    {
        "value_loss += (played * (": "value_loss += (is_not_done[:, t + 1] * (",
        "J_hat += (played * logprobas": "J_hat += (is_not_done[:, t + 1] * logprobas",
    },
    hint="Which action was never executed: the action in the column before mask 0, or in the column with mask 0?",
)

mask_must_be_boolean = altered(
    "train_on_rollout.ends",
    {
        "is_not_done = torch.as_tensor(np.asarray(is_not_done), dtype=torch.float32)": ""
        "is_not_done = (~torch.as_tensor(np.asarray(is_not_done)) == 0).float()"
    },
    hint="What does the operator ~ return for the integer 1, and what for True?",
    form=True,
)

# train_on_rollout.entropy

entropy_negative = altered(
    "train_on_rollout.entropy",
    {"entropy = -(probas * logprobas)": "entropy = (probas * logprobas)"},
    hint="Is your entropy positive, and does your loss fall or rise when the entropy grows?",
    source="student code",
)

entropy_over_actions_averaged = altered(
    "train_on_rollout.entropy",
    {"(probas * logprobas).sum(dim=-1).mean()": "(probas * logprobas).mean()"},
    hint="What is your entropy for 14 equally likely actions, compared with log 14?",
    source="public solutions",
)

entropy_summed = altered(
    "train_on_rollout.entropy",
    {"(probas * logprobas).sum(dim=-1).mean()": "(probas * logprobas).sum()"},
    hint="Over which axes do you take a sum, and over which a mean, so that the entropy is at most log 14?",
    source="public solutions",
)

entropy_summed_over_columns = altered(
    "train_on_rollout.entropy",
    {"(probas * logprobas).sum(dim=-1).mean()": "(probas * logprobas).sum(dim=-1).sum(dim=1).mean()"},
    hint="Do you take a sum or a mean over the columns, so that the entropy is at most log 14?",
    source="student code",
)

entropy_summed_over_games = altered(
    "train_on_rollout.entropy",
    {"(probas * logprobas).sum(dim=-1).mean()": "(probas * logprobas).sum(dim=-1).sum(dim=0).mean()"},
    hint="Do you take a sum or a mean over the games, so that the entropy is at most log 14?",
)

entropy_divided_by_columns_twice = altered(
    "train_on_rollout.entropy",
    {"(probas * logprobas).sum(dim=-1).mean()": "(probas * logprobas).sum(dim=-1).mean() / rollout_length"},
    hint="How many times do you divide the entropy by the number of columns?",
    source="student code",
)

entropy_of_the_mean_policy = altered(
    "train_on_rollout.entropy",
    {
        "entropy = -(probas * logprobas).sum(dim=-1).mean()": ""
        "mean_policy = probas.mean(dim=(0, 1))\n"
        "entropy = -(mean_policy * mean_policy.log()).sum()"
    },
    hint="Do you take the mean of the entropies of all policies, or the entropy of a mean policy?",
    source="student code",
)

entropy_of_the_mean_policy_in_each_column = altered(
    "train_on_rollout.entropy",
    {
        "entropy = -(probas * logprobas).sum(dim=-1).mean()": ""
        "mean_policy = probas.mean(dim=0)\n"
        "entropy = -(mean_policy * mean_policy.clamp(min=1e-30).log()).sum(dim=-1).mean()"
    },
    hint="Do you take the mean of the entropies of all policies, or the entropy of a mean policy?",
    source="student code",
)

entropy_divided_by_its_maximum = altered(
    "train_on_rollout.entropy",
    {
        "entropy = -(probas * logprobas).sum(dim=-1).mean()": ""
        "entropy = -(probas * logprobas).sum(dim=-1).mean() / torch.tensor(float(probas.shape[-1])).log()"
    },
    hint="What is the entropy of a uniform policy over 14 actions: log 14, or 1?",
    source="student code",
)

entropy_weighted_twice = altered(
    "train_on_rollout.entropy",
    {"entropy = -(probas * logprobas)": "entropy = -0.01 * (probas * logprobas)"},
    hint="How many times is the entropy multiplied by 0.01, including the line that computes the loss?",
)

entropy_of_chosen_actions = altered(
    "train_on_rollout.entropy",
    {"-(probas * logprobas).sum(dim=-1).mean()": "-logprobas_for_actions.mean()"},
    hint="An entropy is an expectation over all actions: where do you use the actions that were not taken?",
    source="public solutions",
)

entropy_of_the_last_seen_column = altered(
    "train_on_rollout.entropy",
    {"(probas * logprobas).sum(dim=-1).mean()": "(probas[:, t] * logprobas[:, t]).sum(dim=-1).mean()"},
    hint="Which columns does your entropy contain, and what is t after the loop?",
    source="public solutions",
)

entropy_without_probabilities = altered(
    "train_on_rollout.entropy",
    {"-(probas * logprobas).sum(dim=-1).mean()": "-logprobas.sum(dim=-1).mean()"},
    hint="What is the weight of each log-probability in an entropy?",
    source="student code",
)

entropy_of_logits = altered(
    "train_on_rollout.entropy",
    {"(probas * logprobas)": "(probas * logits)"},
    hint="If you add 1 to all logits, does your entropy change?",
)

entropy_of_probabilities_as_logits = altered(
    "train_on_rollout.entropy",
    {"-(probas * logprobas).sum(dim=-1).mean()": "torch.distributions.Categorical(logits=probas).entropy().mean()"},
    hint="What do you pass to Categorical as logits: logits, or probabilities?",
    source="student code",
)

entropy_without_gradient = altered(
    "train_on_rollout.entropy",
    {"(probas * logprobas).sum(dim=-1).mean()": "(probas * logprobas).sum(dim=-1).mean().detach()"},
    hint="Along which path does a gradient flow from the entropy to the policy's weights?",
)

entropy_of_the_logarithm_of_zero = altered(
    "train_on_rollout.entropy",
    {"(probas * logprobas)": "(probas * torch.log(probas))"},
    hint="What is 0 · log(0) in your entropy when an action's probability underflows to 0?",
    source="student code",
)

log_probabilities_by_two_steps = altered(
    "train_on_rollout.entropy",
    {"F.log_softmax(logits, dim=2)": "torch.log(probas)"},
    hint="For the logits 0 and 200, what is the logarithm of the softmax in float32, and which function computes both at once?",
    source="student code",
)

entropy_left_out = altered(
    "train_on_rollout.entropy",
    {"entropy = -(probas * logprobas).sum(dim=-1).mean()": "entropy = 0"},
    hint="Which term of the loss keeps the policy from becoming deterministic too early?",
)

# train_on_rollout.step

gradients_pile_up = altered(
    "train_on_rollout.step",
    {"opt.zero_grad()": ""},
    hint="What does .grad contain before backward() adds to it?",
    source="public solutions",
)

gradient_cleared_before_the_step = altered(
    "train_on_rollout.step",
    {"opt.zero_grad()": "", "loss.backward()": "loss.backward()\nopt.zero_grad()"},
    hint="In which order do you call zero_grad(), backward() and step()?",
    source="student code",
    learns=False,
)

gradient_cleared_between_two_losses = altered(
    "train_on_rollout.step",
    {
        "opt.zero_grad()": "(-J_hat / rollout_length).backward(retain_graph=True)\nopt.zero_grad()",
        "loss.backward()": "(value_loss / rollout_length - 0.01 * entropy).backward()",
    },
    hint="Which calls of backward() come before your last zero_grad()?",
)

never_steps = altered(
    "train_on_rollout.step",
    {"opt.step()": ""},
    hint="Which line of your function changes the weights?",
    source="student code",
    learns=False,
)

steps_twice = altered(
    "train_on_rollout.step",
    {"opt.step()": "opt.step()\nopt.step()"},
    hint="How many optimizer steps do you take per rollout?",
)

backward_twice = altered(
    "train_on_rollout.step",
    {"loss.backward()": "loss.backward(retain_graph=True)\nloss.backward()"},
    hint="What does a second backward() do to .grad?",
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
    hint="Which optimizer takes the step: the global `opt`, or a new optimizer in every call?",
    source="student code",
)

optimizer_kept_from_loading = altered(
    "train_on_rollout.step",
    {"prev_memory_states, gamma=0.99": "prev_memory_states, gamma=0.99, opt=opt"},
    hint="If other code assigns another optimizer to `opt` after your file was loaded, which of the two takes your step?",
    source="student code",
    form=True,
)

rollout_overwritten = altered(
    "train_on_rollout.step",
    {"G_next = played * G_t": "rewards[:, t] = G_t\nG_next = played * G_t"},
    hint="torch.as_tensor shares memory with the array: what do the rollout's rewards contain after your function?",
    source="student code",
)

mean_of_all_losses_so_far = altered(
    "train_on_rollout.step",
    {
        "return loss.detach().numpy()": ""
        'train_on_rollout.losses = [*getattr(train_on_rollout, "losses", []), loss.item()]\n'
        "return np.mean(train_on_rollout.losses)"
    },
    hint="Do you return the loss of this call, or a mean over several calls?",
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
    hint="What does the tensor that you return keep in memory, through its grad_fn?",
    source="student code",
    form=True,
)

returns_a_detached_tensor = altered(
    "train_on_rollout.step",
    {"return loss.detach().numpy()": "return loss.detach()"},
    hint="What type does your result have, and what type does the docstring give?",
    source="student code",
    form=True,
)

asks_numpy_for_a_gradient = altered(
    "train_on_rollout.step",
    {"return loss.detach().numpy()": "return loss.numpy()"},
    hint="A NumPy number has no gradient: what must you do with the loss before you convert it?",
    source="student code",
    form=True,
)
