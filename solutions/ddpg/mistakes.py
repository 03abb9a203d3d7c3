"""Mistakes of `ddpg`, each with a hint: the question a good tutor would ask, not the answer.

`verify` proves that each mistake loses points on its question. `build` stores what the checks see
of each mistake, so a student who makes the same one gets its hint. If several mistakes explain what
a submission does, the hint of the first one is shown, so general mistakes come first. Each mistake
changes a line or two of a class with several questions, hence `altered`. The source "PG is All You
Need" marks mistakes of the course's own code.
"""

from grader.proof.catalogue import altered

# ReplayBuffer.store

rows_never_used_again = altered(
    "ReplayBuffer.store",
    {"(self.ptr + 1) % self.max_size": "self.ptr + 1"},
    hint="Which row does `ptr` point to after the last row?",
)

full_buffer_takes_nothing = altered(
    "ReplayBuffer.store",
    {"self.obs_buf[self.ptr] = obs": "if self.size == self.max_size:\n    return\nself.obs_buf[self.ptr] = obs"},
    hint="When all rows are filled, which transitions does the agent still learn from?",
)

first_row_left_out = altered(
    "ReplayBuffer.store",
    {
        "self.ptr = (self.ptr + 1) % self.max_size": "pass",
        "self.obs_buf[self.ptr] = obs": "self.ptr = (self.ptr + 1) % self.max_size\nself.obs_buf[self.ptr] = obs",
    },
    hint="What is in row 0 after the very first transition?",
)

pointer_made_of_the_size = altered(
    "ReplayBuffer.store",
    {"self.ptr = (self.ptr + 1) % self.max_size": "self.ptr = min(self.size + 1, self.max_size) % self.max_size"},
    hint="If the size no longer grows once the buffer is full, which row does `ptr` point to from then on?",
    source="student code",
)

size_beyond_the_rows = altered(
    "ReplayBuffer.store",
    {"self.size = min(self.size + 1, self.max_size)": "self.size += 1"},
    hint="How many rows can be filled at most, and what does `len` return after one more transition?",
)

size_made_of_the_pointer = altered(
    "ReplayBuffer.store",
    {"self.size = min(self.size + 1, self.max_size)": "self.size = max(self.size, self.ptr)"},
    hint="What is `ptr` right after the last row is filled, and what does `size` become then?",
    source="student code",
)

length_is_the_pointer = altered(
    "ReplayBuffer.store",
    {"return self.size": "return self.ptr"},
    hint="What does `len` return when `ptr` is back at 0?",
    source="student code",
)

length_is_the_number_of_rows = altered(
    "ReplayBuffer.store",
    {"return self.size": "return self.max_size"},
    hint="What does `len` return for a buffer of 100 rows in which 3 transitions are stored?",
    source="student code",
)

observations_exchanged = altered(
    "ReplayBuffer.store",
    {
        "self.obs_buf[self.ptr] = obs": "self.obs_buf[self.ptr] = next_obs",
        "self.next_obs_buf[self.ptr] = next_obs": "self.next_obs_buf[self.ptr] = obs",
    },
    hint="Which of the two observations did the agent see when it chose the action?",
)

observations_by_reference = altered(
    "ReplayBuffer.store",
    {
        "self.obs_buf = np.zeros((size, obs_dim), dtype=np.float32)": "self.obs_buf = [None] * size",
        "self.next_obs_buf = np.zeros((size, obs_dim), dtype=np.float32)": "self.next_obs_buf = [None] * size",
        "self.obs_buf[rows]": "np.array([self.obs_buf[row] for row in rows], dtype=np.float32)",
        "self.next_obs_buf[rows]": "np.array([self.next_obs_buf[row] for row in rows], dtype=np.float32)",
    },
    hint="What happens to a stored observation if the environment writes the next observation into the same array?",
    source="student code",
)

end_not_stored = altered(
    "ReplayBuffer.store",
    {"self.done_buf[self.ptr] = done": "pass"},
    hint="In which array of the buffer does the update find that a transition terminated the episode?",
    source="student code",
)

one_number_for_an_action = altered(
    "ReplayBuffer.store",
    {"self.acts_buf = np.zeros((size, act_dim)": "self.acts_buf = np.zeros((size)"},
    hint="What is the shape of one action, and what is the shape of `size` actions?",
    source="PG is All You Need",
)

full_buffer_begins_anew = altered(
    "ReplayBuffer.store",
    {
        "self.obs_buf[self.ptr] = obs": "if self.size == self.max_size:\n"
        "    self.ptr = self.size = 0\n"
        "self.obs_buf[self.ptr] = obs"
    },
    hint="How many transitions does a full buffer of 100,000 lose when it gets one more?",
    source="student code",
)

actions_clipped_in_the_buffer = altered(
    "ReplayBuffer.store",
    {"self.acts_buf[self.ptr] = act": "self.acts_buf[self.ptr] = np.clip(act, -1.0, 1.0)"},
    hint="Is the action in your buffer the action that was passed to `store`?",
)

arrays_in_double_precision = altered(
    "ReplayBuffer.store",
    {
        "self.obs_buf = np.zeros((size, obs_dim), dtype=np.float32)": "self.obs_buf = np.zeros((size, obs_dim))",
        "self.rews_buf = np.zeros(size, dtype=np.float32)": "self.rews_buf = np.zeros(size)",
    },
    hint="What is the default dtype of `np.zeros`, and what is the dtype of your networks?",
    source="student code",
    form=True,
)

rewards_stored_in_a_column = altered(
    "ReplayBuffer.store",
    {"self.rews_buf = np.zeros(size, dtype=np.float32)": "self.rews_buf = np.zeros((size, 1), dtype=np.float32)"},
    hint="What shape does the docstring give for `rews_buf`?",
    form=True,
)

next_observation_is_the_first = altered(
    "ReplayBuffer.store",
    {"self.next_obs_buf[self.ptr] = next_obs": "self.next_obs_buf[self.ptr] = obs"},
    hint="Does `next_obs_buf` hold the observation before the action, or the observation after it?",
    source="student code",
)

both_observations_in_one_array = altered(
    "ReplayBuffer.store",
    {"self.next_obs_buf = np.zeros((size, obs_dim), dtype=np.float32)": "self.next_obs_buf = self.obs_buf"},
    hint="How many different arrays do `obs_buf` and `next_obs_buf` refer to?",
    source="student code",
)

rewards_and_ends_in_one_array = altered(
    "ReplayBuffer.store",
    {"self.done_buf = np.zeros(size, dtype=np.float32)": "self.done_buf = self.rews_buf"},
    hint="How many different arrays do `rews_buf` and `done_buf` refer to?",
    source="student code",
    placements={
        "rewards written last": {
            "self.done_buf = np.zeros(size, dtype=np.float32)": "self.done_buf = self.rews_buf",
            "self.done_buf[self.ptr] = done": "self.rews_buf[self.ptr] = rew",
            "self.acts_buf[self.ptr] = act\n        self.rews_buf[self.ptr] = rew": ""
            "self.acts_buf[self.ptr] = act\n"
            "self.done_buf[self.ptr] = done",
        }
    },
)

last_row_never_written = altered(
    "ReplayBuffer.store",
    {"(self.ptr + 1) % self.max_size": "(self.ptr + 1) % (self.max_size - 1)"},
    hint="Which row is filled last before `ptr` returns to 0?",
    source="student code",
)

pointer_wraps_at_the_size = altered(
    "ReplayBuffer.store",
    {"(self.ptr + 1) % self.max_size": "(self.ptr + 1) % max(self.size, 1)"},
    hint="While the buffer fills, at which row does `ptr` return to 0?",
    source="student code",
)

next_observation_in_the_next_row = altered(
    "ReplayBuffer.store",
    {"self.next_obs_buf[self.ptr] = next_obs": "self.next_obs_buf[(self.ptr + 1) % self.max_size] = next_obs"},
    hint="Which row of `next_obs_buf` belongs to the transition in row t?",
    source="student code",
)

counts_rows_that_are_not_zero = altered(
    "ReplayBuffer.store",
    {"return self.size": "return int(self.obs_buf.any(axis=1).sum())"},
    hint="Does a transition whose observation is 0 count, too?",
    source="student code",
)

# ReplayBuffer.sample_batch

batches_in_the_same_array = altered(
    "ReplayBuffer.sample_batch",
    {
        "return {\n": ""
        'if not hasattr(self, "drawn"):\n'
        "    self.drawn = np.empty((self.batch_size, self.obs_buf.shape[1]), np.float32)\n"
        "self.drawn[...] = self.obs_buf[rows]\n"
        "return {\n",
        '"obs": self.obs_buf[rows]': '"obs": self.drawn',
    },
    hint="If you draw a second batch, what do the arrays of the first batch contain?",
    source="student code",
    form=True,
)

drawn_with_replacement = altered(
    "ReplayBuffer.sample_batch",
    {"replace=False, shuffle=False": "replace=True"},
    hint="Can your batch contain the same transition twice?",
    source="student code",
)

one_row_of_each_part = altered(
    "ReplayBuffer.sample_batch",
    {
        "rows = self.rng.choice(self.size, self.batch_size, replace=False, shuffle=False)": ""
        "part = self.size // self.batch_size\n"
        "rows = part * np.arange(self.batch_size) + self.rng.integers(part, size=self.batch_size)"
    },
    hint="If you draw one row from each part of the buffer, which rows can never be in the same batch?",
    source="student code",
)

newest_too_rare = altered(
    "ReplayBuffer.sample_batch",
    {
        "rows = self.rng.choice(self.size, self.batch_size, replace=False, shuffle=False)": ""
        "rows = []\n"
        "for last in range(self.size - self.batch_size, self.size):\n"
        "    row = int(self.rng.random() * last)\n"
        "    rows.append(last if row in rows else row)"
    },
    hint="How likely is one of the newest transitions to be in your batch, compared with an old one?",
    source="student code",
)

empty_rows_drawn = altered(
    "ReplayBuffer.sample_batch",
    {"self.rng.choice(self.size,": "self.rng.choice(self.max_size,"},
    hint="What is in the rows that have not been filled yet, and can you sample them?",
)

same_rows_every_time = altered(
    "ReplayBuffer.sample_batch",
    {"self.rng.choice(": "np.random.default_rng(0).choice("},
    hint="If you draw two batches from the same buffer, do they have the same rows?",
)

always_the_latest = altered(
    "ReplayBuffer.sample_batch",
    {
        "self.rng.choice(self.size, self.batch_size, replace=False, shuffle=False)": ""
        "np.arange(self.ptr - self.batch_size, self.ptr) % self.size"
    },
    hint="Can your batch contain a transition that was stored long before the latest `batch_size` transitions?",
)

newest_never_drawn = altered(
    "ReplayBuffer.sample_batch",
    {"self.rng.choice(self.size,": "self.rng.choice(self.size - 1,"},
    hint="If you sample many batches, which of the filled rows is never sampled?",
)

neighboring_rows = altered(
    "ReplayBuffer.sample_batch",
    {
        "rows = self.rng.choice(self.size, self.batch_size, replace=False, shuffle=False)": ""
        "begin = self.rng.integers(self.size - self.batch_size + 1)\n"
        "rows = slice(begin, begin + self.batch_size)"
    },
    hint="Can two rows that are far apart in the buffer be in the same batch?",
)

each_array_its_own_rows = altered(
    "ReplayBuffer.sample_batch",
    {
        "self.rews_buf[rows]": "self.rews_buf[self.rng.choice(self.size, self.batch_size, replace=False)]",
        "self.next_obs_buf[rows]": "self.next_obs_buf[self.rng.choice(self.size, self.batch_size, replace=False)]",
    },
    hint="Does the reward in row 3 of your batch belong to the action in row 3?",
    placements={
        "each of the five": {
            "self.rews_buf[rows]": "self.rews_buf[self.rng.choice(self.size, self.batch_size, replace=False)]",
            "self.next_obs_buf[rows]": "self.next_obs_buf[self.rng.choice(self.size, self.batch_size, replace=False)]",
            "self.acts_buf[rows]": "self.acts_buf[self.rng.choice(self.size, self.batch_size, replace=False)]",
            "self.done_buf[rows]": "self.done_buf[self.rng.choice(self.size, self.batch_size, replace=False)]",
        }
    },
)

rewards_normalized_in_the_batch = altered(
    "ReplayBuffer.sample_batch",
    {"self.rews_buf[rows]": "(self.rews_buf[rows] - self.rews_buf[rows].mean()) / (self.rews_buf[rows].std() + 1e-8)"},
    hint="Would the same transition have the same reward in another batch?",
    source="student code",
)

smaller_batches = altered(
    "ReplayBuffer.sample_batch",
    {"self.rng.choice(self.size, self.batch_size,": "self.rng.choice(self.size, min(self.size, self.batch_size),"},
    hint="How large is your batch if only three transitions are stored, and what does the docstring ask for then?",
)

ends_as_truths = altered(
    "ReplayBuffer.sample_batch",
    {'"done": self.done_buf[rows]': '"done": self.done_buf[rows].astype(bool)'},
    hint="What is the dtype of `done` in your batch, and what does torch do with 1 minus such a tensor?",
    form=True,
)

ends_kept_the_wrong_way_round = altered(
    "ReplayBuffer.sample_batch",
    {"self.done_buf[self.ptr] = done": "self.done_buf[self.ptr] = 1 - done"},
    hint="What does a 1 in `done_buf` mean, and how does `update_model` interpret it?",
    source="student code",
)

rewards_in_a_column = altered(
    "ReplayBuffer.sample_batch",
    {
        '"rews": self.rews_buf[rows]': '"rews": self.rews_buf[rows].reshape(-1, 1)',
        '"done": self.done_buf[rows]': '"done": self.done_buf[rows].reshape(-1, 1)',
    },
    hint="What shapes does the docstring give for `rews` and `done`, and which function adds the second axis?",
    source="student code",
    form=True,
)

batch_of_doubles = altered(
    "ReplayBuffer.sample_batch",
    {'"obs": self.obs_buf[rows]': '"obs": self.obs_buf[rows].astype(np.float64)'},
    hint="What is the dtype of the arrays in your batch, and what is the dtype of the weights?",
    form=True,
)

block_of_rows = altered(
    "ReplayBuffer.sample_batch",
    {
        "rows = self.rng.choice(self.size, self.batch_size, replace=False, shuffle=False)": ""
        "rows = self.rng.integers(self.size - self.batch_size + 1) + np.arange(self.batch_size)"
    },
    hint="Can the oldest and the newest transition be in the same batch?",
    source="student code",
)

rows_before_the_pointer = altered(
    "ReplayBuffer.sample_batch",
    {
        "rows = self.rng.choice(self.size, self.batch_size, replace=False, shuffle=False)": ""
        "rows = (self.ptr - self.rng.choice(self.size, self.batch_size, replace=False)) % self.max_size"
    },
    hint="Which row does `ptr` point to: the last filled row, or the next row to be filled?",
    source="student code",
)

next_observations_are_the_observations = altered(
    "ReplayBuffer.sample_batch",
    {'"next_obs": self.next_obs_buf[rows],': '"next_obs": self.obs_buf[rows],'},
    hint="Which array of the buffer do your next observations come from?",
    source="student code",
)

next_observations_of_the_next_row = altered(
    "ReplayBuffer.sample_batch",
    {
        '"next_obs": self.next_obs_buf[rows],': '"next_obs": self.obs_buf[(rows + 1) % self.max_size],',
    },
    hint="Does the next row hold the state that followed, even at the end of an episode?",
    source="student code",
)

# OUNoise

never_negative_shaking = altered(
    "OUNoise",
    {"self.rng.standard_normal(len(self.mu))": "self.rng.random(len(self.mu))"},
    hint="What is the mean of a thousand values of your ε, and how many of them are negative?",
    source="PG is All You Need",
)

state_not_kept = altered(
    "OUNoise",
    {"self.state = self.state + self.theta": "state = self.state + self.theta", "return self.state": "return state"},
    hint="Which value does the next call of `sample` start from?",
    source="student code",
)

one_shake_for_all_dimensions = altered(
    "OUNoise",
    {"self.rng.standard_normal(len(self.mu))": "self.rng.standard_normal()"},
    hint="How many values of ε do you draw if the action has two dimensions?",
    source="student code",
)

pushed_away = altered(
    "OUNoise",
    {"(self.mu - self.state)": "(self.state - self.mu)"},
    hint="If x is above μ, in which direction does your formula move it?",
)

pulled_to_zero = altered(
    "OUNoise",
    {"(self.mu - self.state)": "(0.0 - self.state)"},
    hint="With σ = 0, which value does x approach?",
)

sigma_squared = altered(
    "OUNoise",
    {"self.sigma * shake": "self.sigma**2 * shake"},
    hint="What do you multiply ε by: the standard deviation, the variance, or something else?",
)

reset_to_zero = altered(
    "OUNoise",
    {"self.state = self.mu.copy()": "self.state = np.zeros_like(self.mu)"},
    hint="Where does x start after a reset if μ is not 0?",
)

mean_is_dragged_along = altered(
    "OUNoise",
    {"self.state = self.mu.copy()": "self.state = self.mu", "self.state = self.state + self.theta": "self.state += self.theta"},
    hint="Is `mu` the same before and after a call of `sample`?",
)

uniform_shaking = altered(
    "OUNoise",
    {"self.rng.standard_normal(len(self.mu))": "self.rng.uniform(-(3**0.5), 3**0.5, len(self.mu))"},
    hint="How large can your ε be at most, and how large can a sample from a normal distribution be?",
)

steps_of_a_hundredth = altered(
    "OUNoise",
    {
        "self.theta * (self.mu - self.state) + self.sigma * shake": ""
        "self.theta * (self.mu - self.state) * 0.01 + self.sigma * 0.1 * shake"
    },
    hint="How long is one time step, and is there a dt in the formula?",
    source="student code",
)

theta_and_sigma_exchanged = altered(
    "OUNoise",
    {"self.theta * (self.mu - self.state) + self.sigma * shake": "self.sigma * (self.mu - self.state) + self.theta * shake"},
    hint="Which of θ and σ is the pull toward the mean, and which scales the random part?",
)

sigma_as_the_mean_of_the_random_part = altered(
    "OUNoise",
    {
        "self.rng.standard_normal(len(self.mu))": "self.rng.normal(self.sigma, size=len(self.mu))",
        "self.sigma * shake": "shake",
    },
    hint="Which argument of `normal` is the mean, and which is the standard deviation?",
    source="student code",
    placements={
        "multiplied by it, too": {
            "self.rng.standard_normal(len(self.mu))": "self.rng.normal(self.sigma, size=len(self.mu))",
        },
        "one number for all dimensions": {
            "self.rng.standard_normal(len(self.mu))": "self.rng.normal(self.sigma)",
            "self.sigma * shake": "shake",
        },
    },
)

sample_with_an_axis_more = altered(
    "OUNoise",
    {"return self.state": "return self.state.reshape(1, -1)"},
    hint="What is the shape of an action, and what is the shape of your sample?",
    form=True,
)

sample_in_a_list = altered(
    "OUNoise",
    {"return self.state": "return list(self.state)"},
    hint="Is your sample a list or an array?",
    source="student code",
    form=True,
)

sample_lags_one_step = altered(
    "OUNoise",
    {
        "self.state = self.state + self.theta * (self.mu - self.state) + self.sigma * shake\n        return self.state": ""
        "before = self.state\n"
        "self.state = before + self.theta * (self.mu - before) + self.sigma * shake\n"
        "return before"
    },
    hint="Is the first sample after a reset already random?",
    source="student code",
)

reset_begins_with_the_seed = altered(
    "OUNoise",
    {
        "self.rng = np.random.default_rng(rng)": "self.seed = rng\nself.rng = np.random.default_rng(rng)",
        "self.state = self.mu.copy()": "self.state = self.mu.copy()\nself.rng = np.random.default_rng(self.seed)",
    },
    hint="If the noise was created with a seed, do two episodes have different noise?",
    source="student code",
)

theta_is_what_is_kept = altered(
    "OUNoise",
    {"self.state + self.theta * (self.mu - self.state)": "self.state + (1 - self.theta) * (self.mu - self.state)"},
    hint="What fraction of the distance to the mean is left after one step: θ, or 1 - θ?",
    source="student code",
)

# Actor

nothing_between_layers = altered(
    "Actor",
    {"F.relu(self.hidden1(state))": "self.hidden1(state)", "F.relu(self.hidden2(x))": "self.hidden2(x)"},
    hint="What function do three linear layers compute without an activation between them?",
)

nothing_behind_the_second_layer = altered(
    "Actor",
    {"F.relu(self.hidden2(x))": "self.hidden2(x)"},
    hint="Which activation follows the second hidden layer?",
)

nothing_behind_the_actor = altered(
    "Actor",
    {"torch.tanh(self.out(x))": "self.out(x)"},
    hint="What is the largest action that your network can return?",
    source="student code",
)

actor_never_negative = altered(
    "Actor",
    {"torch.tanh(self.out(x))": "torch.sigmoid(self.out(x))"},
    hint="What is the smallest action that your network can return?",
)

one_state_makes_a_batch = altered(
    "Actor",
    {"x = F.relu(self.hidden1(state))": "x = F.relu(self.hidden1(state.unsqueeze(0)))"},
    hint="How many axes does the state have, and how many does your action have?",
    form=True,
)

actor_weights_only_positive = altered(
    "Actor",
    {"nn.init.uniform_(self.out.weight, -init_w, init_w)": "nn.init.uniform_(self.out.weight, 0, init_w)"},
    hint="What are the lower and the upper bound of the initial weights of the last layer?",
)

actor_begins_as_torch_does = altered(
    "Actor",
    {
        "        nn.init.uniform_(self.out.weight, -init_w, init_w)\n": "",
        "        nn.init.uniform_(self.out.bias, -init_w, init_w)\n": "",
    },
    hint="How large are the first actions of your actor, and what is `init_w` for?",
    source="student code",
)

actor_made_for_the_pendulum = altered(
    "Actor",
    {"nn.Linear(in_dim, 128)": "nn.Linear(3, 128)", "nn.Linear(128, out_dim)": "nn.Linear(128, 1)"},
    hint="For which sizes of observations and actions does your actor work?",
    source="student code",
)

actor_with_a_bound_of_its_own = altered(
    "Actor",
    {
        "nn.init.uniform_(self.out.weight, -init_w, init_w)": "nn.init.uniform_(self.out.weight, -3e-3, 3e-3)",
        "nn.init.uniform_(self.out.bias, -init_w, init_w)": "nn.init.uniform_(self.out.bias, -3e-3, 3e-3)",
    },
    hint="Do the initial weights of the last layer change if the actor is created with a different `init_w`?",
    source="student code",
)

every_layer_of_the_actor_begins_small = altered(
    "Actor",
    {
        "nn.init.uniform_(self.out.weight, -init_w, init_w)\n        nn.init.uniform_(self.out.bias, -init_w, init_w)": ""
        "for weights in self.parameters():\n    nn.init.uniform_(weights, -init_w, init_w)"
    },
    hint="Which layers are drawn from [-init_w, init_w]: the last one, or all of them?",
    source="student code",
)

actor_bias_forgotten = altered(
    "Actor",
    {"nn.init.uniform_(self.out.bias, -init_w, init_w)": "pass"},
    hint="Which parameters does a linear layer have besides its weights?",
)

actor_clipped = altered(
    "Actor",
    {"torch.tanh(self.out(x))": "self.out(x).clamp(-1.0, 1.0)"},
    hint="If the last layer outputs 3, what is the gradient of your action with respect to it?",
)

actor_without_the_axis = altered(
    "Actor",
    {"torch.tanh(self.out(x))": "torch.tanh(self.out(x)).squeeze(-1)"},
    hint="What is the shape of a batch of actions if an action has a single dimension?",
    source="student code",
    form=True,
)

actor_with_a_shortcut = altered(
    "Actor",
    {"x = F.relu(self.hidden2(x))": "x = x + F.relu(self.hidden2(x))"},
    hint="What does the last layer of your actor get: the output of the second layer, or the sum of both layers' outputs?",
    source="student code",
)

actor_of_rows_alone = altered(
    "Actor",
    {"return torch.tanh(self.out(x))": "return torch.tanh(self.out(x)).reshape(-1, self.out.out_features)"},
    hint="What is the shape of the action for a single state of shape `[in_dim]`?",
    form=True,
)

# Critic

critic_squashed = altered(
    "Critic",
    {"return self.out(x)": "return torch.tanh(self.out(x))"},
    hint="What is the lowest value that your critic can return, and what is the lowest return of the pendulum?",
)

critic_deaf_to_the_action = altered(
    "Critic",
    {"torch.cat((state, action), dim=-1)": "torch.cat((state, torch.zeros_like(action)), dim=-1)"},
    hint="Does the value change if you change only the action?",
)

critic_lets_nothing_through = altered(
    "Critic",
    {"torch.cat((state, action), dim=-1)": "torch.cat((state, action.detach()), dim=-1)"},
    hint="If you call backward() on the value, does the action get a gradient?",
)

batch_and_batch_in_one = altered(
    "Critic",
    {"torch.cat((state, action), dim=-1)": "torch.cat((state, action), dim=0)"},
    hint="Which axis becomes longer if you put a state and an action side by side?",
)

critic_begins_as_torch_does = altered(
    "Critic",
    {
        "        nn.init.uniform_(self.out.weight, -init_w, init_w)\n": "",
        "        nn.init.uniform_(self.out.bias, -init_w, init_w)\n": "",
    },
    hint="How large are the first values of your critic, and what is `init_w` for?",
)

every_layer_of_the_critic_begins_small = altered(
    "Critic",
    {
        "nn.init.uniform_(self.out.weight, -init_w, init_w)\n        nn.init.uniform_(self.out.bias, -init_w, init_w)": ""
        "for weights in self.parameters():\n    nn.init.uniform_(weights, -init_w, init_w)"
    },
    hint="Which layers are drawn from [-init_w, init_w]: the last one, or all of them?",
    source="student code",
)

critic_bias_as_torch_does = altered(
    "Critic",
    {"        nn.init.uniform_(self.out.bias, -init_w, init_w)\n": ""},
    hint="Which parameters does the last layer of your critic have besides its weights, and how large are they at first?",
    source="student code",
)

critic_bounds_without_the_upper_one = altered(
    "Critic",
    {
        "nn.init.uniform_(self.out.weight, -init_w, init_w)": "nn.init.uniform_(self.out.weight, -init_w)",
        "nn.init.uniform_(self.out.bias, -init_w, init_w)": "nn.init.uniform_(self.out.bias, -init_w)",
    },
    hint="Which lower and upper bounds do you pass to uniform_, and what is its default for the upper bound?",
    placements={
        "of the weights alone": {
            "nn.init.uniform_(self.out.weight, -init_w, init_w)": "nn.init.uniform_(self.out.weight, -init_w)"
        }
    },
    source="student code",
)

critic_made_for_the_pendulum = altered(
    "Critic",
    {"nn.Linear(in_dim, 128)": "nn.Linear(4, 128)"},
    hint="For which sizes of observations and actions does your critic work?",
    source="student code",
)

critic_with_a_bound_of_its_own = altered(
    "Critic",
    {
        "nn.init.uniform_(self.out.weight, -init_w, init_w)": "nn.init.uniform_(self.out.weight, -3e-3, 3e-3)",
        "nn.init.uniform_(self.out.bias, -init_w, init_w)": "nn.init.uniform_(self.out.bias, -3e-3, 3e-3)",
    },
    hint="Do the initial weights of the last layer change if the critic is created with a different `init_w`?",
    source="student code",
)

critic_without_the_axis = altered(
    "Critic",
    {"return self.out(x)": "return self.out(x).squeeze(-1)"},
    hint="What is the shape of your values, and what shape does `update_model` compare them with?",
    source="student code",
    form=True,
)

critic_with_a_shortcut = altered(
    "Critic",
    {"x = F.relu(self.hidden2(x))": "x = x + F.relu(self.hidden2(x))"},
    hint="What does the last layer of your critic get: the output of the second layer, or the sum of both layers' outputs?",
    source="student code",
)

critic_with_dropout = altered(
    "Critic",
    {
        "x = F.relu(self.hidden2(x))\n        return self.out(x)": ""
        "x = F.dropout(F.relu(self.hidden2(x)), 0.2)\n"
        "return self.out(x)"
    },
    hint="Does your critic return the same value if you call it twice?",
    source="student code",
)

# DDPGAgent.networks

critic_is_made_without_actions = altered(
    "DDPGAgent.networks",
    {
        "self.critic = Critic(obs_dim + action_dim)": "self.critic = Critic(obs_dim)",
        "self.critic_target = Critic(obs_dim + action_dim)": "self.critic_target = Critic(obs_dim)",
    },
    hint="What are the inputs of the critic, and how many values do they have together?",
)

targets_of_their_own = altered(
    "DDPGAgent.networks",
    {
        "self.actor_target.load_state_dict(self.actor.state_dict())": "pass",
        "self.critic_target.load_state_dict(self.critic.state_dict())": "pass",
    },
    hint="Is each target network equal to its network before the first update?",
    source="student code",
)

targets_are_the_networks = altered(
    "DDPGAgent.networks",
    {
        "self.actor_target = Actor(obs_dim, action_dim).to(self.device)": "self.actor_target = self.actor",
        "self.critic_target = Critic(obs_dim + action_dim).to(self.device)": "self.critic_target = self.critic",
    },
    hint="How many networks does your agent have, and which of them do the optimizers change?",
)

one_target_is_the_network = altered(
    "DDPGAgent.networks",
    {"self.critic_target = Critic(obs_dim + action_dim).to(self.device)": "self.critic_target = self.critic"},
    hint="How many critics exist in your agent, and which of them does the optimizer change?",
)

one_target_of_its_own = altered(
    "DDPGAgent.networks",
    {"        self.critic_target.load_state_dict(self.critic.state_dict())\n": ""},
    hint="Do both target networks have the weights of their networks before the first step?",
)

optimizers_exchanged = altered(
    "DDPGAgent.networks",
    {
        "optim.Adam(self.actor.parameters(), lr=3e-4": "optim.Adam(self.critic.parameters(), lr=3e-4",
        "optim.Adam(self.critic.parameters(), lr=1e-3": "optim.Adam(self.actor.parameters(), lr=1e-3",
    },
    hint="Whose parameters does each of your two optimizers update?",
    learns=False,
)

targets_in_the_optimizers = altered(
    "DDPGAgent.networks",
    {
        "optim.Adam(self.actor.parameters(),": "optim.Adam([*self.actor.parameters(), *self.actor_target.parameters()],",
        "optim.Adam(self.critic.parameters(),": "optim.Adam([*self.critic.parameters(), *self.critic_target.parameters()],",
    },
    hint="Which parameters do the optimizers update, and should the target networks be among them?",
    source="student code",
)

one_rate_for_both = altered(
    "DDPGAgent.networks",
    {"lr=3e-4": "lr=1e-3"},
    hint="What are the two learning rates in the docstring?",
)

critic_in_the_optimizer_of_the_actor = altered(
    "DDPGAgent.networks",
    {
        "optim.Adam(self.actor.parameters(), lr=3e-4, fused=True)": ""
        "optim.Adam([*self.actor.parameters(), *self.critic.parameters()], lr=3e-4, fused=True)"
    },
    hint="Whose parameters does `actor_optimizer` update?",
)

rates_exchanged = altered(
    "DDPGAgent.networks",
    {
        "optim.Adam(self.actor.parameters(), lr=3e-4": "optim.Adam(self.actor.parameters(), lr=1e-3",
        "optim.Adam(self.critic.parameters(), lr=1e-3": "optim.Adam(self.critic.parameters(), lr=3e-4",
    },
    hint="Which of the two networks has the higher learning rate in the docstring?",
)

actor_target_is_the_actor = altered(
    "DDPGAgent.networks",
    {"self.actor_target = Actor(obs_dim, action_dim).to(self.device)": "self.actor_target = self.actor"},
    hint="How many actors exist in your agent, and which of them does the optimizer change?",
)

networks_in_double_precision = altered(
    "DDPGAgent.networks",
    {
        "self.actor = Actor(obs_dim, action_dim).to(self.device)": "self.actor = Actor(obs_dim, action_dim).double()",
        "self.actor_target = Actor(obs_dim, action_dim).to(self.device)": ""
        "self.actor_target = Actor(obs_dim, action_dim).double()",
    },
    hint="What is the dtype of the weights of your actor, and what is the dtype of its input?",
    form=True,
)

critic_with_weight_decay = altered(
    "DDPGAgent.networks",
    {"self.critic.parameters(), lr=1e-3, fused=True": "self.critic.parameters(), lr=1e-3, weight_decay=1e-2"},
    hint="Besides the learning rate, which options of Adam does the docstring ask for?",
    source="student code",
)

# DDPGAgent.select_action

random_in_the_test_too = altered(
    "DDPGAgent.select_action",
    {"self.total_step < self.initial_random_steps and not self.is_test": "self.total_step < self.initial_random_steps"},
    hint="If you test before any training, does `select_action` return the actor's action or a random action?",
)

never_random = altered(
    "DDPGAgent.select_action",
    {"self.total_step < self.initial_random_steps and": "False and"},
    hint="Where do the actions come from in the first `initial_random_steps` steps?",
)

random_for_one_step_more = altered(
    "DDPGAgent.select_action",
    {"self.total_step < self.initial_random_steps and": "self.total_step <= self.initial_random_steps and"},
    hint="If `initial_random_steps` is 3, in which step does the actor act for the first time?",
)

random_beyond_the_range = altered(
    "DDPGAgent.select_action",
    {"self.rng.uniform(-1.0, 1.0, len(self.noise.mu))": "self.env.action_space.sample()"},
    hint="In which units is a sample of `env.action_space`, and which units does the agent act in?",
    source="PG is All You Need",
)

random_in_the_units_of_the_environment = altered(
    "DDPGAgent.select_action",
    {"self.rng.uniform(-1.0, 1.0, len(self.noise.mu))": "np.clip(self.env.action_space.sample(), -1.0, 1.0)"},
    hint="In which units is a sample of `env.action_space`, and how many of your random actions are exactly 1 or -1?",
    source="PG is All You Need",
)

noise_sampled_for_each_dimension = altered(
    "DDPGAgent.select_action",
    {"action + self.noise.sample()": "action + np.array([self.noise.sample()[i] for i in range(len(self.noise.mu))])"},
    hint="How many times does one action call `noise.sample()`, and what does each call do to the noise's state?",
)

target_acts = altered(
    "DDPGAgent.select_action",
    {"self.actor(torch.as_tensor(state": "self.actor_target(torch.as_tensor(state"},
    hint="Which of the two actors is the policy, and which actor is only used for the critic's target?",
    source="student code",
)

noise_in_the_test_too = altered(
    "DDPGAgent.select_action",
    {"if not self.is_test:\n                action": "if True:\n    action"},
    hint="If you call `select_action` twice in a test with the same state, do you get the same action?",
)

nothing_new_is_tried = altered(
    "DDPGAgent.select_action",
    {"if not self.is_test:\n                action": "if False:\n    action"},
    hint="How does your agent explore after the random steps?",
    source="student code",
)

only_the_noise_clipped = altered(
    "DDPGAgent.select_action",
    {"np.clip(action + self.noise.sample(), -1.0, 1.0)": "action + np.clip(self.noise.sample(), -1.0, 1.0)"},
    hint="What do you clip: the noise, or the action after the noise is added?",
    source="student code",
)

noise_not_clipped = altered(
    "DDPGAgent.select_action",
    {"np.clip(action + self.noise.sample(), -1.0, 1.0)": "action + self.noise.sample()"},
    hint="Can the action be outside of [-1, 1] after the noise is added?",
    source="student code",
)

clipped_to_the_environment = altered(
    "DDPGAgent.select_action",
    {
        "np.clip(action + self.noise.sample(), -1.0, 1.0)": ""
        "np.clip(action + self.noise.sample(), self.env.action_space.low, self.env.action_space.high)"
    },
    hint="To which range do you clip the action: the agent's [-1, 1], or the bounds of the environment?",
    source="student code",
    placements={
        "random actions, too": {
            "np.clip(action + self.noise.sample(), -1.0, 1.0)": "action + self.noise.sample()",
            "self.transition = [state, action]": ""
            "action = np.clip(action, self.env.action_space.low, self.env.action_space.high)\n"
            "self.transition = [state, action]",
        }
    },
)

scaled_to_the_environment = altered(
    "DDPGAgent.select_action",
    {"self.transition = [state, action]": "action = action * self.env.action_space.high\nself.transition = [state, action]"},
    hint="Who converts an action to the units of the environment: `select_action`, or the wrapper around the environment?",
    source="student code",
    placements={
        "before the noise": {".cpu().numpy()": ".cpu().numpy() * self.env.action_space.high"},
        "before the noise, and clipped to the environment": {
            "np.clip(action + self.noise.sample(), -1.0, 1.0)": "np.clip(\n"
            "    action * self.env.action_space.high + self.noise.sample(),\n"
            "    self.env.action_space.low,\n"
            "    self.env.action_space.high,\n"
            ")"
        },
        "after the noise": {
            "np.clip(action + self.noise.sample(), -1.0, 1.0)": ""
            "np.clip(action + self.noise.sample(), -1.0, 1.0) * self.env.action_space.high"
        },
    },
)

action_kept_without_its_noise = altered(
    "DDPGAgent.select_action",
    {
        "action = np.clip(action + self.noise.sample(), -1.0, 1.0)": ""
        "self.transition = [state, action]\nreturn np.clip(action + self.noise.sample(), -1.0, 1.0)"
    },
    hint="Which action does the environment get, and which action is in `transition`?",
    source="student code",
)

transition_forgotten = altered(
    "DDPGAgent.select_action",
    {"self.transition = [state, action]": "pass"},
    hint="What does `step` find in `transition`, and in which order?",
)

action_remains_a_tensor = altered(
    "DDPGAgent.select_action",
    {
        "with torch.no_grad():\n                action": "if True:\n    action",
        ".cpu().numpy()": ".cpu()",
        "np.clip(action + self.noise.sample(), -1.0, 1.0)": ""
        "torch.clamp(action + torch.as_tensor(self.noise.sample(), dtype=torch.float32), -1.0, 1.0)",
    },
    hint="What type does your action have, and what type does the environment expect?",
    form=True,
)

action_not_returned = altered(
    "DDPGAgent.select_action",
    {"self.transition = [state, action]\n        return action": "self.transition = [state, action]"},
    hint="What does `select_action` return after it has set `transition`?",
)

action_in_a_batch_of_one = altered(
    "DDPGAgent.select_action",
    {
        "self.transition = [state, action]\n        return action": "self.transition = [state, action]\n"
        "return np.reshape(action, (1, -1))"
    },
    hint="What is the shape of one action without a batch axis?",
    source="student code",
    form=True,
)

noise_in_the_later_tests = altered(
    "DDPGAgent.select_action",
    {
        "if not self.is_test:\n                action": ""
        "if not self.is_test or self.total_step > self.initial_random_steps:\n    action"
    },
    hint="Is there noise in a test after training?",
)

one_random_number_for_all_dimensions = altered(
    "DDPGAgent.select_action",
    {"self.rng.uniform(-1.0, 1.0, len(self.noise.mu))": "np.full(len(self.noise.mu), self.rng.uniform(-1.0, 1.0))"},
    hint="Can a random action be positive in one dimension and negative in another?",
    source="student code",
)

random_actions_from_a_normal = altered(
    "DDPGAgent.select_action",
    {"self.rng.uniform(-1.0, 1.0, len(self.noise.mu))": "np.clip(self.rng.normal(size=len(self.noise.mu)), -1.0, 1.0)"},
    hint="How often is one of your random actions exactly 1?",
    source="student code",
)

random_by_the_size_of_the_buffer = altered(
    "DDPGAgent.select_action",
    {"self.total_step < self.initial_random_steps": "len(self.memory) < self.initial_random_steps"},
    hint="Which attribute counts the steps, and can `len(self.memory)` be smaller than this count?",
    source="student code",
)

noisy_action_squashed = altered(
    "DDPGAgent.select_action",
    {"np.clip(action + self.noise.sample(), -1.0, 1.0)": "np.tanh(action + self.noise.sample())"},
    hint="If the noise is 0, do you still return the actor's action?",
    source="student code",
)

noise_reset_in_each_step = altered(
    "DDPGAgent.select_action",
    {"action = np.clip(": "self.noise.reset()\naction = np.clip("},
    hint="How often does `select_action` reset the noise, and how often should it be reset?",
    source="student code",
)

state_of_the_noise_overwritten = altered(
    "DDPGAgent.select_action",
    {
        "action = np.clip(action + self.noise.sample(), -1.0, 1.0)": ""
        "noise = self.noise.sample()\nnoise += action\naction = np.clip(noise, -1.0, 1.0)"
    },
    hint="Which array does `noise.sample()` return, and what happens to the noise if you write into that array?",
    source="student code",
)

noise_never_drawn = altered(
    "DDPGAgent.select_action",
    {"self.noise.sample()": "self.noise.state"},
    hint="Which call advances the noise?",
    source="student code",
)

# DDPGAgent.step

not_over_if_both_ends_come_at_once = altered(
    "DDPGAgent.step",
    {"return next_state, reward, terminated or truncated": "return next_state, reward, terminated != truncated"},
    hint="Is the episode over if a step is both terminated and truncated?",
    source="student code",
)

action_scaled_twice = altered(
    "DDPGAgent.step",
    {"self.env.step(action)": "self.env.step(action * self.env.action_space.high)"},
    hint="Who converts an action to the units of the environment: `step`, or the wrapper around the environment?",
    source="student code",
)

nothing_is_stored = altered(
    "DDPGAgent.step",
    {"self.memory.store(*self.transition)": "pass"},
    hint="What is `len(memory)` after ten steps of training?",
    learns=False,
)

test_is_stored = altered(
    "DDPGAgent.step",
    {"if not self.is_test:\n            self.transition +=": "if True:\n    self.transition +="},
    hint="How many transitions does a test store?",
)

time_limit_stored_as_the_end = altered(
    "DDPGAgent.step",
    {"[reward, next_state, terminated]": "[reward, next_state, terminated or truncated]"},
    hint="Which of terminated and truncated means that nothing follows, and which of the two do you store?",
    source="PG is All You Need",
)

only_the_time_limit_stored = altered(
    "DDPGAgent.step",
    {"[reward, next_state, terminated]": "[reward, next_state, truncated]"},
    hint="After which of the two ends is the next state worth 0?",
    source="student code",
)

begins_anew_by_itself = altered(
    "DDPGAgent.step",
    {
        "next_state, reward, terminated, truncated, _ = self.env.step(action)": ""
        "next_state, reward, terminated, truncated, _ = self.env.step(action)\n"
        "if terminated or truncated:\n    next_state, _ = self.env.reset()"
    },
    hint="Which observation follows directly after the action, and do you store this observation?",
    source="student code",
)

stops_at_the_end_of_the_world_only = altered(
    "DDPGAgent.step",
    {"return next_state, reward, terminated or truncated": "return next_state, reward, terminated"},
    hint="The pendulum never terminates; when is its episode over?",
)

action_stored_in_the_units_of_the_pendulum = altered(
    "DDPGAgent.step",
    {"self.transition += [": "self.transition[1] = 2.0 * action\nself.transition += ["},
    hint="Are the stored actions in the same units as the actions of the actor?",
    source="student code",
)

over_only_at_both_ends = altered(
    "DDPGAgent.step",
    {"return next_state, reward, terminated or truncated": "return next_state, reward, terminated and truncated"},
    hint="If an episode terminates before its time is up, what does `step` return as done?",
)

both_ends_stored_as_going_on = altered(
    "DDPGAgent.step",
    {"[reward, next_state, terminated]": "[reward, next_state, terminated and not truncated]"},
    hint="A step can be both terminated and truncated: what is the next state worth then?",
)

never_an_end = altered(
    "DDPGAgent.step",
    {"[reward, next_state, terminated]": "[reward, next_state, False]"},
    hint="What do you store as `done` when the episode is terminated?",
)

rewards_clipped = altered(
    "DDPGAgent.step",
    {"self.transition += [reward,": "self.transition += [float(np.clip(reward, -1.0, 1.0)),"},
    hint="Is the stored reward the reward that the environment returned?",
)

steps_counted_twice = altered(
    "DDPGAgent.step",
    {
        "if not self.is_test:\n            self.transition +=": "self.total_step += 1\n"
        "if not self.is_test:\n    self.transition +="
    },
    hint="Which method counts the steps, and does any other method count them?",
)

reward_in_an_array = altered(
    "DDPGAgent.step",
    {"return next_state, reward,": "return next_state, np.array([reward]),"},
    hint="Is the returned reward a number, or an array with one element?",
    source="student code",
    form=True,
)

mask_stored_for_the_end = altered(
    "DDPGAgent.step",
    {"[reward, next_state, terminated]": "[reward, next_state, float(not terminated)]"},
    hint="What do you store for a step in the middle of an episode, and how does `update_model` use it?",
    source="student code",
)

last_transition_not_stored = altered(
    "DDPGAgent.step",
    {"self.memory.store(*self.transition)": "if not terminated:\n    self.memory.store(*self.transition)"},
    hint="Which transition has the reward of the step that ended the episode?",
    source="student code",
)

# DDPGAgent.update_model.critic

targets_copied_before_use = altered(
    "DDPGAgent.update_model.critic",
    {
        "with torch.no_grad():\n            next_value": "self.critic_target.load_state_dict(self.critic.state_dict())\n"
        "with torch.no_grad():\n    next_value"
    },
    hint="How slowly does a target network follow if you copy the network to it before every update?",
)

ends_ignored = altered(
    "DDPGAgent.update_model.critic",
    {"self.gamma * (1 - done) * next_value": "self.gamma * next_value"},
    hint="What is the target y if the episode has terminated?",
    source="student code",
)

ends_the_wrong_way_round = altered(
    "DDPGAgent.update_model.critic",
    {"self.gamma * (1 - done) * next_value": "self.gamma * done * next_value"},
    hint="In which rows does your target include the next value: where `done` is 0, or where it is 1?",
    source="student code",
)

rewards_and_ends_in_a_row = altered(
    "DDPGAgent.update_model.critic",
    {
        'samples["rews"], device=self.device).unsqueeze(1)': 'samples["rews"], device=self.device)',
        'samples["done"], device=self.device).unsqueeze(1)': 'samples["done"], device=self.device)',
        "F.mse_loss(self.critic(state, action), target)": "((self.critic(state, action) - target) ** 2).mean()",
    },
    hint="What is the shape of your target, and what is the shape of Q(s, a) - y?",
    source="student code",
)

ends_in_a_row = altered(
    "DDPGAgent.update_model.critic",
    {
        'samples["done"], device=self.device).unsqueeze(1)': 'samples["done"], device=self.device)',
        "F.mse_loss(self.critic(state, action), target)": "((self.critic(state, action) - target) ** 2).mean()",
    },
    hint="What is the shape of 1 - done, and what is the shape of its product with the next values?",
    source="student code",
)

target_in_a_row = altered(
    "DDPGAgent.update_model.critic",
    {"F.mse_loss(self.critic(state, action), target)": "((self.critic(state, action) - target.squeeze()) ** 2).mean()"},
    hint="What is the shape of your target, and what is the shape of the values you compare it with?",
    source="student code",
)

values_in_a_row = altered(
    "DDPGAgent.update_model.critic",
    {"F.mse_loss(self.critic(state, action), target)": "((self.critic(state, action).squeeze() - target) ** 2).mean()"},
    hint="What is the shape of your values, and what is the shape of the target you compare them with?",
    source="student code",
)

target_action_in_the_old_state = altered(
    "DDPGAgent.update_model.critic",
    {"self.actor_target(next_state)": "self.actor_target(state)"},
    hint="In which state does the target actor choose the action of y?",
    source="student code",
)

undiscounted = altered(
    "DDPGAgent.update_model.critic",
    {"reward + self.gamma * (1 - done)": "reward + (1 - done)"},
    hint="Where does γ appear in your target?",
)

judged_by_the_actor_of_now = altered(
    "DDPGAgent.update_model.critic",
    {"F.mse_loss(self.critic(state, action), target)": "F.mse_loss(self.critic(state, self.actor(state)), target)"},
    hint="Which action earned the stored reward: the stored action, or the current actor's action?",
)

errors_summed = altered(
    "DDPGAgent.update_model.critic",
    {"F.mse_loss(self.critic(state, action), target)": 'F.mse_loss(self.critic(state, action), target, reduction="sum")'},
    hint="Is the critic's loss a mean or a sum, and how does it change with the batch size?",
    source="student code",
)

halved_errors = altered(
    "DDPGAgent.update_model.critic",
    {"critic_loss = F.mse_loss(": "critic_loss = 0.5 * F.mse_loss("},
    hint="By which factor does your loss differ from mean((Q(s, a) - y)²)?",
)

critic_never_cleared = altered(
    "DDPGAgent.update_model.critic",
    {
        "        self.critic_optimizer.zero_grad()\n": "",
        "actor_loss.backward(inputs=list(self.actor.parameters()))": "actor_loss.backward()",
    },
    hint="Which gradients does the critic still hold when its second update begins, and which losses are they from?",
    source="student code",
)

rewards_in_a_row = altered(
    "DDPGAgent.update_model.critic",
    {'samples["rews"], device=self.device).unsqueeze(1)': 'samples["rews"], device=self.device)'},
    hint="What is the shape of your target, and how many values should it have?",
    source="student code",
)

actions_in_a_column = altered(
    "DDPGAgent.update_model.critic",
    {'torch.as_tensor(samples["acts"], device': 'torch.as_tensor(samples["acts"].reshape(-1, 1), device'},
    hint="How many rows does your batch of actions have if an action has two dimensions?",
    source="PG is All You Need",
)

gradient_through_the_target = altered(
    "DDPGAgent.update_model.critic",
    {"with torch.no_grad():\n            next_value = self.critic_target(": "if True:\n    next_value = self.critic("},
    hint="Does a gradient flow through y, and should y be a constant?",
    source="student code",
)

online_critic_in_the_target = altered(
    "DDPGAgent.update_model.critic",
    {"self.critic_target(next_state": "self.critic(next_state"},
    hint="Which critic computes the next value in y?",
)

online_actor_in_the_target = altered(
    "DDPGAgent.update_model.critic",
    {"self.actor_target(next_state)": "self.actor(next_state)"},
    hint="Which actor chooses the next action in y?",
)

old_state_in_the_target = altered(
    "DDPGAgent.update_model.critic",
    {"self.critic_target(next_state, self.actor_target(next_state))": "self.critic_target(state, self.actor_target(state))"},
    hint="Which state does the value inside y belong to: the state before the action, or the state after it?",
)

usual_discount = altered(
    "DDPGAgent.update_model.critic",
    {"self.gamma * (1 - done)": "0.99 * (1 - done)"},
    hint="Does your target change if you change `gamma`?",
)

errors_not_squared = altered(
    "DDPGAgent.update_model.critic",
    {"F.mse_loss(": "F.smooth_l1_loss("},
    hint="How much more does an error of 20 count than an error of 10?",
    source="student code",
)

critic_gradients_pile_up = altered(
    "DDPGAgent.update_model.critic",
    {"        self.critic_optimizer.zero_grad()\n": ""},
    hint="What is in `.grad` of the critic's weights before `backward` adds to it?",
    source="student code",
)

critic_gradients_from_the_actor = altered(
    "DDPGAgent.update_model.critic",
    {
        "        self.critic_optimizer.zero_grad()\n        critic_loss": "        critic_loss",
        "self.critic_optimizer.step()": "self.critic_optimizer.step()\nself.critic_optimizer.zero_grad()",
        "actor_loss.backward(inputs=list(self.actor.parameters()))": "actor_loss.backward()",
    },
    hint="The actor's loss also puts gradients into the critic; when do you clear them?",
    source="student code",
)

critic_never_steps = altered(
    "DDPGAgent.update_model.critic",
    {"self.critic_optimizer.step()": "pass"},
    hint="Which line changes the critic's weights?",
)

last_reward_lost = altered(
    "DDPGAgent.update_model.critic",
    {"reward + self.gamma * (1 - done) * next_value": "(reward + self.gamma * next_value) * (1 - done)"},
    hint="What is the target of a terminated step whose reward is 1?",
)

critic_gradient_clipped = altered(
    "DDPGAgent.update_model.critic",
    {"self.critic_optimizer.step()": "nn.utils.clip_grad_norm_(self.critic.parameters(), 1.0)\nself.critic_optimizer.step()"},
    hint="Does the optimizer get the gradient of the loss, even if the error is large?",
    source="student code",
)

critic_cleared_too_late = altered(
    "DDPGAgent.update_model.critic",
    {
        "        self.critic_optimizer.zero_grad()\n        critic_loss": "        critic_loss",
        "self.critic_optimizer.step()": "self.critic_optimizer.zero_grad()\nself.critic_optimizer.step()",
    },
    hint="In which order do you call zero_grad, backward and step, and which gradient is left for step?",
)

critic_frozen_forever = altered(
    "DDPGAgent.update_model.critic",
    {
        "actor_loss = -self.critic(": "for parameter in self.critic.parameters():\n    parameter.requires_grad_(False)\n"
        "actor_loss = -self.critic("
    },
    hint="You freeze the critic for the actor's update; where do you unfreeze it?",
    source="student code",
)

noise_in_the_target = altered(
    "DDPGAgent.update_model.critic",
    {
        "self.critic_target(next_state, self.actor_target(next_state))": ""
        "self.critic_target(next_state, self.actor_target(next_state)"
        " + torch.as_tensor(self.noise.sample(), dtype=torch.float32))"
    },
    hint="Does the formula of the target, r + γ Q'(s', μ'(s')), contain any noise?",
    source="student code",
)

random_noise_in_the_target = altered(
    "DDPGAgent.update_model.critic",
    {
        "self.critic_target(next_state, self.actor_target(next_state))": ""
        "self.critic_target(next_state, (self.actor_target(next_state)"
        " + 0.2 * torch.as_tensor(self.rng.standard_normal(action.shape), dtype=torch.float32)).clamp(-1.0, 1.0))"
    },
    hint="Lillicrap et al. 2015 add noise to explore; do they also add it inside the target y?",
)

reward_divided_by_the_discount = altered(
    "DDPGAgent.update_model.critic",
    {"reward + self.gamma * (1 - done) * next_value": "self.gamma * (reward / self.gamma + (1 - done) * next_value)"},
    hint="What does your formula return if γ is 0?",
)

batch_of_one_loses_its_axis = altered(
    "DDPGAgent.update_model.critic",
    {
        'state = torch.as_tensor(samples["obs"], device=self.device)': ""
        'state = torch.as_tensor(samples["obs"], device=self.device).squeeze()'
    },
    hint="What is the shape of your states if the batch has one row?",
    form=True,
)

smaller_of_two_critics = altered(
    "DDPGAgent.update_model.critic",
    {
        "next_value = self.critic_target(next_state, self.actor_target(next_state))": ""
        "next_action = self.actor_target(next_state)\n"
        "both = [critic(next_state, next_action) for critic in (self.critic_target, self.critic)]\n"
        "next_value = torch.minimum(*both)"
    },
    hint="How many critics does y contain in DDPG?",
    source="student code",
)

square_of_the_mean_error = altered(
    "DDPGAgent.update_model.critic",
    {"F.mse_loss(self.critic(state, action), target)": "(self.critic(state, action) - target).mean().square()"},
    hint="Do you square each error and then take the mean, or do you square the mean of the errors?",
    source="student code",
)

rewards_normalized_in_the_update = altered(
    "DDPGAgent.update_model.critic",
    {"target = reward + self.gamma": "target = (reward - reward.mean()) / (reward.std(correction=0) + 1e-8) + self.gamma"},
    hint="Does y contain the stored reward, or its distance from the mean of the batch?",
    source="student code",
)

# DDPGAgent.update_model.actor

actor_downhill = altered(
    "DDPGAgent.update_model.actor",
    {"actor_loss = -self.critic(": "actor_loss = self.critic("},
    hint="An optimizer makes a loss smaller; should the value of the actor's actions go up or down?",
    source="student code",
    learns=False,
)

actor_judged_in_the_next_state = altered(
    "DDPGAgent.update_model.actor",
    {"-self.critic(state, self.actor(state)).mean()": "-self.critic(next_state, self.actor(next_state)).mean()"},
    hint="Which states does the actor's loss use: s or s'?",
    placements={
        "in the action alone": {
            "-self.critic(state, self.actor(state)).mean()": "-self.critic(state, self.actor(next_state)).mean()"
        },
        "in the value alone": {
            "-self.critic(state, self.actor(state)).mean()": "-self.critic(next_state, self.actor(state)).mean()"
        },
    },
)

actor_loss_summed = altered(
    "DDPGAgent.update_model.actor",
    {"-self.critic(state, self.actor(state)).mean()": "-self.critic(state, self.actor(state)).sum()"},
    hint="How does your actor loss change with the batch size?",
)

actor_detached = altered(
    "DDPGAgent.update_model.actor",
    {"-self.critic(state, self.actor(state)).mean()": "-self.critic(state, self.actor(state).detach()).mean()"},
    hint="How does the gradient of your loss reach the actor's weights?",
    source="student code",
    learns=False,
)

actor_judged_by_stored_actions = altered(
    "DDPGAgent.update_model.actor",
    {"-self.critic(state, self.actor(state)).mean()": "-self.critic(state, action).mean()"},
    hint="Which actions are in your loss, and do they depend on the actor's weights?",
    source="student code",
    learns=False,
)

actor_never_steps = altered(
    "DDPGAgent.update_model.actor",
    {"self.actor_optimizer.step()": "pass"},
    hint="Which line changes the actor's weights?",
    learns=False,
)

critic_steps_for_the_actor = altered(
    "DDPGAgent.update_model.actor",
    {
        "actor_loss.backward(inputs=list(self.actor.parameters()))": "actor_loss.backward()",
        "self.actor_optimizer.step()": "self.actor_optimizer.step()\nself.critic_optimizer.step()",
    },
    hint="How many optimizer steps does the critic take in one update, and for which loss?",
)

actor_gradients_pile_up = altered(
    "DDPGAgent.update_model.actor",
    {"        self.actor_optimizer.zero_grad()\n": ""},
    hint="What is in `.grad` of the actor's weights before `backward` adds to it?",
    source="student code",
)

actor_judged_by_the_target = altered(
    "DDPGAgent.update_model.actor",
    {"-self.critic(state, self.actor(state))": "-self.critic_target(state, self.actor(state))"},
    hint="Which critic should the actor climb: the critic that has just been updated, or its target?",
)

actor_before_the_critic = altered(
    "DDPGAgent.update_model.actor",
    {
        "critic_loss = F.mse_loss(": "actor_loss = -self.critic(state, self.actor(state)).mean()\n"
        "self.actor_optimizer.zero_grad()\n"
        "actor_loss.backward()\n"
        "critic_loss = F.mse_loss(",
        "        actor_loss = -self.critic(state, self.actor(state)).mean()\n"
        "        self.actor_optimizer.zero_grad()\n"
        "        # The critic": "        # The critic",
        "actor_loss.backward(inputs=list(self.actor.parameters()))": "pass",
    },
    hint="Which is updated first, the actor or the critic, and which critic is in the actor's loss?",
)

targets_forgotten = altered(
    "DDPGAgent.update_model.actor",
    {"self._target_soft_update()": "pass"},
    hint="Does a target network change in a hundred updates, and which call should change it?",
)

losses_exchanged = altered(
    "DDPGAgent.update_model.actor",
    {"return actor_loss.detach(), critic_loss.detach()": "return critic_loss.detach(), actor_loss.detach()"},
    hint="In which order does the docstring list the two losses?",
)

actor_cleared_too_late = altered(
    "DDPGAgent.update_model.actor",
    {
        "        self.actor_optimizer.zero_grad()\n": "",
        "self.actor_optimizer.step()": "self.actor_optimizer.zero_grad()\nself.actor_optimizer.step()",
    },
    hint="In which order do you call zero_grad, backward and step, and which gradient is left for step?",
)

targets_copied_in_the_update = altered(
    "DDPGAgent.update_model.actor",
    {
        "self._target_soft_update()": "self.actor_target.load_state_dict(self.actor.state_dict())\n"
        "self.critic_target.load_state_dict(self.critic.state_dict())"
    },
    hint="How far should a target network move in one update, and which method moves it?",
)

noise_for_the_actor = altered(
    "DDPGAgent.update_model.actor",
    {
        "-self.critic(state, self.actor(state)).mean()": ""
        "-self.critic(state, self.actor(state) + torch.as_tensor(self.noise.sample(), dtype=torch.float32)).mean()"
    },
    hint="Which actions are in the actor's loss: μ(s), or μ(s) with noise?",
)

losses_with_an_axis = altered(
    "DDPGAgent.update_model.actor",
    {
        "return actor_loss.detach(), critic_loss.detach()": ""
        "return actor_loss.detach().reshape(1), critic_loss.detach().reshape(1)"
    },
    hint="What shapes do the two losses that you return have, and what is the shape of a scalar?",
    form=True,
)

# DDPGAgent._target_soft_update

pairs_used_up = altered(
    "DDPGAgent._target_soft_update",
    {
        "for target, network in ((self.actor_target, self.actor), (self.critic_target, self.critic)):": ""
        "pairs = iter(((self.actor_target, self.actor), (self.critic_target, self.critic)))\n"
        'self.pairs = getattr(self, "pairs", pairs)\n'
        "for target, network in self.pairs:"
    },
    hint="What is left of an iterator, such as that of zip, after a loop has gone through it?",
    source="student code",
)

targets_copied = altered(
    "DDPGAgent._target_soft_update",
    {"slow.lerp_(fast, self.tau)": "slow.copy_(fast)"},
    hint="How far does a target network move in one update, and where do you use `tau`?",
)

targets_added_up = altered(
    "DDPGAgent._target_soft_update",
    {"slow.lerp_(fast, self.tau)": "slow.add_(self.tau * fast)"},
    hint="In your weighted average of target and network, what is the sum of the two weights?",
    source="student code",
)

network_added_to_the_last_parameter_alone = altered(
    "DDPGAgent._target_soft_update",
    {
        "for slow, fast in zip(target.parameters(), network.parameters(), strict=True):": ""
        "for slow in target.parameters():\n"
        "    slow.mul_(1 - self.tau)\n"
        "for slow, fast in [*zip(target.parameters(), network.parameters(), strict=True)][-1:]:",
        "slow.lerp_(fast, self.tau)": "slow.add_(fast, alpha=self.tau)",
    },
    hint="How often does the line that adds τ times the network run?",
)

tau_the_wrong_way_round = altered(
    "DDPGAgent._target_soft_update",
    {"slow.lerp_(fast, self.tau)": "slow.lerp_(fast, 1 - self.tau)"},
    hint="With τ = 0.005, does a target keep 99.5 % of itself, or of its network?",
    source="student code",
)

own_tau = altered(
    "DDPGAgent._target_soft_update",
    {"slow.lerp_(fast, self.tau)": "slow.lerp_(fast, 0.005)"},
    hint="Do the targets move faster if the agent is created with a larger `tau`?",
    source="student code",
)

two_forms_of_the_average = altered(
    "DDPGAgent._target_soft_update",
    {"slow.lerp_(fast, self.tau)": "slow.mul_(1 - self.tau).add_(self.tau * (fast - slow))"},
    hint="If a target equals its network, is it still equal after your update?",
    source="student code",
)

targets_move_away = altered(
    "DDPGAgent._target_soft_update",
    {"slow.lerp_(fast, self.tau)": "slow.add_(self.tau * (slow - fast))"},
    hint="Does your update make the distance between a target and its network smaller?",
    source="student code",
)

networks_follow_the_targets = altered(
    "DDPGAgent._target_soft_update",
    {"slow.lerp_(fast, self.tau)": "fast.lerp_(slow, self.tau)"},
    hint="Which of the two changes in this method: the network, or its target?",
)

targets_share_the_weights = altered(
    "DDPGAgent._target_soft_update",
    {"slow.lerp_(fast, self.tau)": "slow.data = fast.data"},
    hint="If the network is trained further after your method has run, does its target stay where it is?",
)

actor_target_stays = altered(
    "DDPGAgent._target_soft_update",
    {"((self.actor_target, self.actor), (self.critic_target, self.critic))": "((self.critic_target, self.critic),)"},
    hint="How many target networks are there, and which of them do you update?",
)

only_the_name_follows = altered(
    "DDPGAgent._target_soft_update",
    {"slow.lerp_(fast, self.tau)": "slow = self.tau * fast + (1 - self.tau) * slow"},
    hint="Does your assignment change the parameter, or only what a variable name refers to?",
    source="student code",
)

critic_target_stays = altered(
    "DDPGAgent._target_soft_update",
    {"((self.actor_target, self.actor), (self.critic_target, self.critic))": "((self.actor_target, self.actor),)"},
    hint="How many target networks are there, and which of them do you update?",
)

biases_stay = altered(
    "DDPGAgent._target_soft_update",
    {"slow.lerp_(fast, self.tau)": "slow.lerp_(fast, self.tau if slow.dim() > 1 else 0.0)"},
    hint="Which parameters does a linear layer have besides its weights?",
)

targets_made_anew = altered(
    "DDPGAgent._target_soft_update",
    {
        "            for target, network in ((self.actor_target, self.actor), (self.critic_target, self.critic)):": ""
        "            import copy\n\n"
        "            self.actor_target = copy.deepcopy(self.actor_target)\n"
        "            self.critic_target = copy.deepcopy(self.critic_target)\n"
        "            for target, network in ((self.actor_target, self.actor), (self.critic_target, self.critic)):"
    },
    hint="Are the target networks still the same objects after your update?",
    form=True,
)

# DDPGAgent.train

environment_of_the_notebook = altered(
    "DDPGAgent.train",
    {"                state, _ = self.env.reset()\n": "                state, _ = env.reset()\n"},
    hint="Which environment do you reset: the agent's environment, or a global variable?",
    source="PG is All You Need",
)

scores_of_another_training = altered(
    "DDPGAgent.train",
    {
        "scores, actor_losses, critic_losses = [], [], []": ""
        'scores = DDPGAgent.scores = getattr(DDPGAgent, "scores", [])\n'
        "actor_losses, critic_losses = [], []"
    },
    hint="If a second agent trains, which scores does its first plot show?",
    source="student code",
)


update_for_each_episode = altered(
    "DDPGAgent.train",
    {"if len(self.memory) >= self.batch_size and": "if done and len(self.memory) >= self.batch_size and"},
    hint="How many updates do you make per step of the environment?",
    source="student code",
)

update_from_the_beginning = altered(
    "DDPGAgent.train",
    {"self.batch_size and self.total_step > self.initial_random_steps": "self.batch_size"},
    hint="Should there be updates while the actions are still random?",
)

update_one_step_early = altered(
    "DDPGAgent.train",
    {"self.total_step > self.initial_random_steps": "self.total_step >= self.initial_random_steps"},
    hint="If `initial_random_steps` is 3, in which step is your first update?",
)

update_of_a_batch_that_is_not_there = altered(
    "DDPGAgent.train",
    {"len(self.memory) >= self.batch_size and ": ""},
    hint="What does `sample_batch` do if the memory holds fewer transitions than a batch?",
)

noise_goes_on = altered(
    "DDPGAgent.train",
    {"self.noise.reset()\n                score": "score"},
    hint="Does the noise of a new episode depend on the episode before?",
    source="PG is All You Need",
)

noise_begins_at_every_step = altered(
    "DDPGAgent.train",
    {"score += reward\n\n            if done:": "score += reward\nself.noise.reset()\n\nif done:"},
    hint="How often do you reset the noise: once per episode, or once per step?",
    source="student code",
)

episode_without_end = altered(
    "DDPGAgent.train",
    {"                state, _ = self.env.reset()\n": ""},
    hint="What does `self.env` need before a new episode?",
)

same_beginning_always = altered(
    "DDPGAgent.train",
    {"                state, _ = self.env.reset()\n": "                state, _ = self.env.reset(seed=777)\n"},
    hint="What does `reset` do with a seed, and how many times do you pass a seed?",
    source="student code",
)

scores_run_on = altered(
    "DDPGAgent.train",
    {"                score = 0.0\n": ""},
    hint="What is in your score when the second episode begins?",
)

old_state_forever = altered(
    "DDPGAgent.train",
    {
        "state, reward, done = self.step(action)\n            score += reward\n\n": ""
        "_, reward, done = self.step(action)\nscore += reward\n"
    },
    hint="In which state is each action selected?",
)

first_state_of_an_episode_lost = altered(
    "DDPGAgent.train",
    {"                state, _ = self.env.reset()": "                self.env.reset()"},
    hint="In which state is the first action of the second episode selected?",
    source="student code",
)

steps_numbered_on = altered(
    "DDPGAgent.train",
    {
        "for self.total_step in range(1, num_frames + 1):\n            action": ""
        "while self.total_step < num_frames:\n    self.total_step += 1\n    action"
    },
    hint="If `train` is called a second time, how many steps does it train, and from which number does it count?",
    source="student code",
)

counts_on_from_the_last_training = altered(
    "DDPGAgent.train",
    {
        "for self.total_step in range(1, num_frames + 1):\n            action": ""
        "for _ in range(num_frames):\n    self.total_step += 1\n    action"
    },
    hint="If `train` is called a second time, how many steps does it train, and from which number does it count?",
    source="student code",
)

steps_not_numbered = altered(
    "DDPGAgent.train",
    {
        "for self.total_step in range(1, num_frames + 1):": "for total_step in range(1, num_frames + 1):",
        "if len(self.memory) >= self.batch_size and self.total_step > self": ""
        "if len(self.memory) >= self.batch_size and total_step > self",
        "if self.total_step % plotting_interval == 0:": "if total_step % plotting_interval == 0:",
        "self._plot(self.total_step,": "self._plot(total_step,",
    },
    hint="How does `select_action` know the number of the current step?",
)

still_a_test = altered(
    "DDPGAgent.train",
    {"self.is_test = False\n        scores": "scores"},
    hint="What does your agent store and learn if it was tested just before?",
)

plots_at_every_step = altered(
    "DDPGAgent.train",
    {"if self.total_step % plotting_interval == 0:": "if True:"},
    hint="How many times is `_plot` called in 400 steps?",
)

numbered_from_zero = altered(
    "DDPGAgent.train",
    {"range(1, num_frames + 1)": "range(num_frames)"},
    hint="What is the number of the first step, and after which step is the first update?",
)

update_unless_it_is_over = altered(
    "DDPGAgent.train",
    {"if len(self.memory) >= self.batch_size and": "elif len(self.memory) >= self.batch_size and"},
    hint="Do you also make an update after the last step of an episode?",
)

one_more_than_a_batch = altered(
    "DDPGAgent.train",
    {"len(self.memory) >= self.batch_size": "len(self.memory) > self.batch_size"},
    hint="How many stored transitions are enough for a batch?",
)

scores_in_lists = altered(
    "DDPGAgent.train",
    {"scores.append(score)": "scores.append([score])"},
    hint="Is each element of your list of scores a number, or a list?",
    form=True,
)

plots_only_where_an_episode_ends = altered(
    "DDPGAgent.train",
    {"if self.total_step % plotting_interval == 0:": "if done and self.total_step % plotting_interval == 0:"},
    hint="How often does an episode end exactly at a multiple of `plotting_interval`?",
    source="student code",
)

score_is_a_discounted_sum = altered(
    "DDPGAgent.train",
    {
        "            score += reward\n\n            if done:": ""
        "            score = reward + self.gamma * score\n"
        "\n"
        "            if done:"
    },
    hint="Is a score discounted, and which reward has the largest weight in your score?",
    source="student code",
)

losses_of_the_last_interval = altered(
    "DDPGAgent.train",
    {
        "self._plot(self.total_step, scores, actor_losses, critic_losses)": ""
        "self._plot(self.total_step, scores, actor_losses, critic_losses)\n"
        "actor_losses, critic_losses = [], []"
    },
    hint="Which losses does the second plot show?",
    source="student code",
)

# DDPGAgent.test

score_without_the_last_reward = altered(
    "DDPGAgent.test",
    {'print(f"score: {score:.1f}")': 'print(f"score: {score - reward:.1f}")'},
    hint="When the loop over the episode ends, is the last reward in your score?",
    source="student code",
)

last_reward_as_score = altered(
    "DDPGAgent.test",
    {'print(f"score: {score:.1f}")': 'print(f"score: {reward:.1f}")'},
    hint="Is the score the last reward, or the sum of all rewards?",
)

tested_as_in_training = altered(
    "DDPGAgent.test",
    {"self.is_test = True": "pass"},
    hint="What do `select_action` and `step` do differently in a test, and which attribute do they check?",
)

test_of_fixed_length = altered(
    "DDPGAgent.test",
    {"while not done:": "for _ in range(200):"},
    hint="When is an episode over, and which return value says so?",
)

test_of_at_most_200_steps = altered(
    "DDPGAgent.test",
    {"while not done:": "while not done and len(frames) < 200:"},
    hint="What does your test show of an episode that is longer than those of the pendulum?",
    source="student code",
)

frames_of_afterwards = altered(
    "DDPGAgent.test",
    {
        "            frames.append(self.env.render())\n": "",
        "            score += reward\n        print(": "            score += reward\n"
        "            frames.append(self.env.render())\n        print(",
    },
    hint="Does your first frame show the first state of the episode?",
)

score_not_printed = altered(
    "DDPGAgent.test",
    {'        print(f"score: {score:.1f}")\n': ""},
    hint="Where do you print the score of the test?",
)

frames_in_lists = altered(
    "DDPGAgent.test",
    {"frames.append(self.env.render())": "frames.append([self.env.render()])"},
    hint="Does `render` return one picture, or a list of pictures?",
    source="student code",
    form=True,
)

acts_in_the_first_state_alone = altered(
    "DDPGAgent.test",
    {
        "            state, reward, done = self.step(action)\n            score += reward\n        print": ""
        "            _, reward, done = self.step(action)\n"
        "            score += reward\n"
        "        print"
    },
    hint="In which state does the agent act in the second step of a test?",
    source="student code",
)

mean_reward_printed = altered(
    "DDPGAgent.test",
    {
        'print(f"score: {score:.1f}")': 'print(f"score: {score / len(frames):.1f}")',
    },
    hint="Is the score the sum of the rewards, or their mean?",
    source="student code",
)

# ActionNormalizer

range_of_the_first_dimension = altered(
    "ActionNormalizer",
    {
        "np.clip(low + (action + 1.0) * (high - low) / 2, low, high)": ""
        "np.clip(low[0] + (action + 1.0) * (high[0] - low[0]) / 2, low[0], high[0])",
        "np.clip(2 * (action - low) / (high - low) - 1.0, -1.0, 1.0)": ""
        "np.clip(2 * (action - low[0]) / (high[0] - low[0]) - 1.0, -1.0, 1.0)",
    },
    hint="If one dimension goes from -1 to 1 and another from 0 to 10, what does your wrapper do with the second?",
    placements={
        "on the way there alone": {
            "np.clip(low + (action + 1.0) * (high - low) / 2, low, high)": ""
            "np.clip(low[0] + (action + 1.0) * (high[0] - low[0]) / 2, low[0], high[0])"
        }
    },
)

only_multiplied = altered(
    "ActionNormalizer",
    {"low + (action + 1.0) * (high - low) / 2, low, high": "action * high, low, high"},
    hint="If the environment's actions lie between 0 and 1, what should your wrapper return for 0?",
    source="student code",
)

range_around_zero = altered(
    "ActionNormalizer",
    {"low + (action + 1.0) * (high - low) / 2": "action * high", "2 * (action - low) / (high - low) - 1.0": "action / high"},
    hint="If a dimension goes from 0 to 10, what should your wrapper return for -1, 0 and 1?",
)

range_of_another_environment = altered(
    "ActionNormalizer",
    {
        "return np.clip(low + (action + 1.0)": ""
        'ActionNormalizer.range = low, high = getattr(ActionNormalizer, "range", (low, high))\n'
        "return np.clip(low + (action + 1.0)",
        "return np.clip(2 * (action - low)": ""
        'ActionNormalizer.range = low, high = getattr(ActionNormalizer, "range", (low, high))\n'
        "return np.clip(2 * (action - low)",
    },
    hint="If you wrap a second environment, whose range does its wrapper use?",
    source="student code",
)


half_the_range = altered(
    "ActionNormalizer",
    {"low + (action + 1.0) * (high - low) / 2, low, high": "low + (action + 1.0) * (high - low) / 2, -1.0, 1.0"},
    hint="What is the largest action that the environment gets?",
    source="student code",
)

units_of_the_actor_on_the_way_back = altered(
    "ActionNormalizer",
    {
        "np.clip(2 * (action - low) / (high - low) - 1.0, -1.0, 1.0)": ""
        "2 * (np.clip(action, -1.0, 1.0) - low) / (high - low) - 1.0"
    },
    hint="In which units is the argument of `reverse_action`, and to which range do you clip it?",
    source="student code",
)

units_of_the_environment_on_the_way_there = altered(
    "ActionNormalizer",
    {
        "np.clip(low + (action + 1.0) * (high - low) / 2, low, high)": ""
        "low + (np.clip(action, low, high) + 1.0) * (high - low) / 2"
    },
    hint="In which units is the argument of `action`, and to which range do you clip it?",
    source="student code",
    placements={
        "and clipped again": {
            "np.clip(low + (action + 1.0) * (high - low) / 2, low, high)": ""
            "np.clip(low + (np.clip(action, low, high) + 1.0) * (high - low) / 2, low, high)"
        }
    },
)

middle_subtracted_from_the_quotient = altered(
    "ActionNormalizer",
    {"2 * (action - low) / (high - low) - 1.0": "action / ((high - low) / 2) - (high + low) / 2"},
    hint="On the way back, do you subtract the middle of the range before you divide, or after?",
    source="student code",
)

zero_for_the_lowest_action = altered(
    "ActionNormalizer",
    {"2 * (action - low) / (high - low) - 1.0, -1.0, 1.0": "(action - low) / (high - low), 0.0, 1.0"},
    hint="Which number should `reverse_action` return for the lowest action of the environment?",
    source="student code",
)

clipped_without_scaling = altered(
    "ActionNormalizer",
    {"np.clip(low + (action + 1.0) * (high - low) / 2, low, high)": "np.clip(action, low, high)"},
    hint="If the environment's actions lie between 0 and 10, what does `action` return for -1, 0 and 1?",
    source="student code",
)

outside_of_the_range = altered(
    "ActionNormalizer",
    {"np.clip(low + (action + 1.0) * (high - low) / 2, low, high)": "low + (action + 1.0) * (high - low) / 2"},
    hint="What does `action` return for an input of 1.5?",
)

callers_action_clipped = altered(
    "ActionNormalizer",
    {
        "return np.clip(low + (action + 1.0)": ""
        "np.clip(np.asarray(action), -1.0, 1.0, out=np.asarray(action))\n"
        "return np.clip(low + (action + 1.0)"
    },
    hint="Does np.asarray copy an array, and what does clipping in place do to the agent's action?",
    source="student code",
    form=True,
)

callers_action_changed = altered(
    "ActionNormalizer",
    {
        "return np.clip(low + (action + 1.0) * (high - low) / 2, low, high)": "action += 1.0\n"
        "action *= (high - low) / 2\n"
        "action += low\n"
        "return np.clip(action, low, high, out=action)"
    },
    hint="Is the agent's action the same before and after the call?",
    form=True,
)

beyond_the_range_in_reverse = altered(
    "ActionNormalizer",
    {"np.clip(2 * (action - low) / (high - low) - 1.0, -1.0, 1.0)": "2 * (action - low) / (high - low) - 1.0"},
    hint="What does `reverse_action` return for an action outside of the environment's range?",
)

not_the_reverse = altered(
    "ActionNormalizer",
    {
        "np.clip(2 * (action - low) / (high - low) - 1.0, -1.0, 1.0)": ""
        "np.clip(low + (action + 1.0) * (high - low) / 2, low, high)"
    },
    hint="If you convert an action and convert it back, do you get the same action?",
)

units_in_a_list = altered(
    "ActionNormalizer",
    {
        "return np.clip(low + (action + 1.0) * (high - low) / 2, low, high)": ""
        "return list(np.clip(low + (action + 1.0) * (high - low) / 2, low, high))"
    },
    hint="Does the environment expect a list or an array?",
    form=True,
)
