"""Mistakes of `ddpg`, each with the hint that a good tutor gives: a question, not the answer.

`verify` proves that each loses points on its question; `build` stores what the checks see of each, so that a student who makes
the same one is told. Where several explain what a student's code does, the first one's hint is given: general ones come first.
All are changes of a line or two of classes that have several questions, hence `altered`. "PG is All You Need"
is the source of what the course's own code does.
"""

from grader.proof.catalogue import altered

# ReplayBuffer.store

rows_never_used_again = altered(
    "ReplayBuffer.store",
    {"(self.ptr + 1) % self.max_size": "self.ptr + 1"},
    hint="Which row comes after the last one?",
)

full_buffer_takes_nothing = altered(
    "ReplayBuffer.store",
    {"self.obs_buf[self.ptr] = obs": "if self.size == self.max_size:\n    return\nself.obs_buf[self.ptr] = obs"},
    hint="All rows are filled, and the agent has become better: which transitions does it learn from now?",
)

first_row_left_out = altered(
    "ReplayBuffer.store",
    {
        "self.ptr = (self.ptr + 1) % self.max_size": "pass",
        "self.obs_buf[self.ptr] = obs": "self.ptr = (self.ptr + 1) % self.max_size\nself.obs_buf[self.ptr] = obs",
    },
    hint="What is in row 0 after the very first transition?",
)

size_beyond_the_rows = altered(
    "ReplayBuffer.store",
    {"self.size = min(self.size + 1, self.max_size)": "self.size += 1"},
    hint="How many rows can be filled at most, and what does `len` say after one transition more?",
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
    hint="What becomes of a stored observation if the environment writes the next one into the same array?",
    source="student code",
)

end_not_stored = altered(
    "ReplayBuffer.store",
    {"self.done_buf[self.ptr] = done": "pass"},
    hint="How will the update know that the episode ended here?",
    source="student code",
)

one_number_for_an_action = altered(
    "ReplayBuffer.store",
    {"self.acts_buf = np.zeros((size, act_dim)": "self.acts_buf = np.zeros((size)"},
    hint="Which shape has one action, and which shape have `size` of them?",
    source="PG is All You Need",
)

full_buffer_begins_anew = altered(
    "ReplayBuffer.store",
    {
        "self.obs_buf[self.ptr] = obs": "if self.size == self.max_size:\n"
        "    self.ptr = self.size = 0\n"
        "self.obs_buf[self.ptr] = obs"
    },
    hint="A full buffer of 100,000 gets one transition more: how many does it forget?",
    source="student code",
)

actions_clipped_in_the_buffer = altered(
    "ReplayBuffer.store",
    {"self.acts_buf[self.ptr] = act": "self.acts_buf[self.ptr] = np.clip(act, -1.0, 1.0)"},
    hint="Is the action in your buffer the one that was given to `store`?",
)

arrays_in_double_precision = altered(
    "ReplayBuffer.store",
    {
        "self.obs_buf = np.zeros((size, obs_dim), dtype=np.float32)": "self.obs_buf = np.zeros((size, obs_dim))",
        "self.rews_buf = np.zeros(size, dtype=np.float32)": "self.rews_buf = np.zeros(size)",
    },
    hint="Of which type are the numbers of `np.zeros`, and of which are those of your networks?",
    source="student code",
    form=True,
)

rewards_stored_in_a_column = altered(
    "ReplayBuffer.store",
    {"self.rews_buf = np.zeros(size, dtype=np.float32)": "self.rews_buf = np.zeros((size, 1), dtype=np.float32)"},
    hint="Which shape does the docstring give for `rews_buf`?",
    form=True,
)

next_observation_is_the_first = altered(
    "ReplayBuffer.store",
    {"self.next_obs_buf[self.ptr] = next_obs": "self.next_obs_buf[self.ptr] = obs"},
    hint="What does `next_obs_buf` hold after one transition: the state before the action, or the one after it?",
    source="student code",
)

# ReplayBuffer.sample_batch

drawn_with_replacement = altered(
    "ReplayBuffer.sample_batch",
    {"replace=False, shuffle=False": "replace=True"},
    hint="How often may one transition be in a batch, and how many different ones can you draw now?",
    source="student code",
)

empty_rows_drawn = altered(
    "ReplayBuffer.sample_batch",
    {"self.rng.choice(self.size,": "self.rng.choice(self.max_size,"},
    hint="What is in the rows that nobody has filled so far?",
)

always_the_latest = altered(
    "ReplayBuffer.sample_batch",
    {
        "self.rng.choice(self.size, self.batch_size, replace=False, shuffle=False)": ""
        "np.arange(self.ptr - self.batch_size, self.ptr) % self.size"
    },
    hint="How alike are two transitions that follow each other, and how often do you learn from an old one?",
)

newest_never_drawn = altered(
    "ReplayBuffer.sample_batch",
    {"self.rng.choice(self.size,": "self.rng.choice(self.size - 1,"},
    hint="Draw many batches: which of the filled rows do you never see?",
)

neighbouring_rows = altered(
    "ReplayBuffer.sample_batch",
    {
        "rows = self.rng.choice(self.size, self.batch_size, replace=False, shuffle=False)": ""
        "begin = self.rng.integers(self.size - self.batch_size + 1)\n"
        "rows = slice(begin, begin + self.batch_size)",
    },
    hint="If one transition is in your batch, can its neighbour be missing, and who else can write into the rows you return?",
)

each_array_its_own_rows = altered(
    "ReplayBuffer.sample_batch",
    {
        "self.rews_buf[rows]": "self.rews_buf[self.rng.choice(self.size, self.batch_size, replace=False)]",
        "self.next_obs_buf[rows]": "self.next_obs_buf[self.rng.choice(self.size, self.batch_size, replace=False)]",
    },
    hint="Is the reward in row 3 of your batch the one that the action in row 3 has earned?",
)

rewards_normalised_in_the_batch = altered(
    "ReplayBuffer.sample_batch",
    {"self.rews_buf[rows]": "(self.rews_buf[rows] - self.rews_buf[rows].mean()) / (self.rews_buf[rows].std() + 1e-8)"},
    hint="Would the same transition get the same reward in another batch?",
    source="student code",
)

smaller_batches = altered(
    "ReplayBuffer.sample_batch",
    {"self.rng.choice(self.size, self.batch_size,": "self.rng.choice(self.size, min(self.size, self.batch_size),"},
    hint="How large is your batch if three transitions are stored: what does the docstring want then?",
)

ends_as_truths = altered(
    "ReplayBuffer.sample_batch",
    {'"done": self.done_buf[rows]': '"done": self.done_buf[rows].astype(bool)'},
    hint="Of which type is `done` in your batch, and what does torch say of 1 minus that?",
    form=True,
)

ends_kept_the_wrong_way_round = altered(
    "ReplayBuffer.sample_batch",
    {"self.done_buf[self.ptr] = done": "self.done_buf[self.ptr] = 1 - done"},
    hint="What does a 1 in your buffer's done stand for, and what does `update_model` take it for?",
    source="student code",
)

rewards_in_a_column = altered(
    "ReplayBuffer.sample_batch",
    {
        '"rews": self.rews_buf[rows]': '"rews": self.rews_buf[rows].reshape(-1, 1)',
        '"done": self.done_buf[rows]': '"done": self.done_buf[rows].reshape(-1, 1)',
    },
    hint="Which shapes does the docstring give for `rews` and `done`, and who adds the axis of 1?",
    source="student code",
    form=True,
)

batch_of_doubles = altered(
    "ReplayBuffer.sample_batch",
    {'"obs": self.obs_buf[rows]': '"obs": self.obs_buf[rows].astype(np.float64)'},
    hint="Of which type are the numbers in your batch, and of which are the weights of your networks?",
    form=True,
)

# OUNoise

never_negative_shaking = altered(
    "OUNoise",
    {"self.rng.standard_normal(len(self.mu))": "self.rng.random(len(self.mu))"},
    hint="What is the mean of a thousand of your samples, and how often is the noise pushed downwards?",
    source="PG is All You Need",
)

state_not_kept = altered(
    "OUNoise",
    {"self.state = self.state + self.theta": "state = self.state + self.theta", "return self.state": "return state"},
    hint="Where is the new state when the next sample is asked for?",
    source="student code",
)

one_shake_for_all_dimensions = altered(
    "OUNoise",
    {"self.rng.standard_normal(len(self.mu))": "self.rng.standard_normal()"},
    hint="Should two joints shake in unison?",
    source="student code",
)

pushed_away = altered(
    "OUNoise",
    {"(self.mu - self.state)": "(self.state - self.mu)"},
    hint="x is above μ: in which direction should it be pulled?",
)

pulled_to_zero = altered(
    "OUNoise",
    {"(self.mu - self.state)": "(0.0 - self.state)"},
    hint="Where does the noise come to rest if it is never shaken?",
)

sigma_squared = altered(
    "OUNoise",
    {"self.sigma * shake": "self.sigma**2 * shake"},
    hint="How large is one shake: is ε multiplied by a standard deviation, by a variance, or by something else besides?",
)

reset_to_zero = altered(
    "OUNoise",
    {"self.state = self.mu.copy()": "self.state = np.zeros_like(self.mu)"},
    hint="Where does the noise begin: is the mean always 0?",
)

mean_is_dragged_along = altered(
    "OUNoise",
    {"self.state = self.mu.copy()": "self.state = self.mu", "self.state = self.state + self.theta": "self.state += self.theta"},
    hint="Print the mean before and after a sample: how many arrays are there?",
)

uniform_shaking = altered(
    "OUNoise",
    {"self.rng.standard_normal(len(self.mu))": "self.rng.uniform(-(3**0.5), 3**0.5, len(self.mu))"},
    hint="How large can one of your shakes be at most, and how large one that is drawn from a normal distribution?",
)

steps_of_a_hundredth = altered(
    "OUNoise",
    {
        "self.theta * (self.mu - self.state) + self.sigma * shake": ""
        "self.theta * (self.mu - self.state) * 0.01 + self.sigma * 0.1 * shake"
    },
    hint="How long is a time step here: is there a dt in the formula?",
    source="student code",
)

theta_and_sigma_exchanged = altered(
    "OUNoise",
    {"self.theta * (self.mu - self.state) + self.sigma * shake": "self.sigma * (self.mu - self.state) + self.theta * shake"},
    hint="Which of θ and σ pulls, and which shakes?",
)

sample_with_an_axis_more = altered(
    "OUNoise",
    {"return self.state": "return self.state.reshape(1, -1)"},
    hint="Which shape has an action, and which has your sample?",
    form=True,
)

sample_in_a_list = altered(
    "OUNoise",
    {"return self.state": "return list(self.state)"},
    hint="What is your sample: a list, or an array?",
    source="student code",
    form=True,
)

# Actor

nothing_between_layers = altered(
    "Actor",
    {"F.relu(self.hidden1(state))": "self.hidden1(state)", "F.relu(self.hidden2(x))": "self.hidden2(x)"},
    hint="What are three linear layers with nothing between them?",
)

nothing_behind_the_second_layer = altered(
    "Actor",
    {"F.relu(self.hidden2(x))": "self.hidden2(x)"},
    hint="What stands between the second hidden layer and the last layer?",
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
    hint="How many axes has what your actor is given, and how many has what it returns?",
    form=True,
)

actor_weights_only_positive = altered(
    "Actor",
    {"nn.init.uniform_(self.out.weight, -init_w, init_w)": "nn.init.uniform_(self.out.weight, 0, init_w)"},
    hint="What are the bounds of your uniform weights?",
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

actor_bias_forgotten = altered(
    "Actor",
    {"nn.init.uniform_(self.out.bias, -init_w, init_w)": "pass"},
    hint="Which parameters has a linear layer besides its weights?",
)

actor_clipped = altered(
    "Actor",
    {"torch.tanh(self.out(x))": "self.out(x).clamp(-1.0, 1.0)"},
    hint="Let the last layer return 3: in which direction can your actor still learn?",
)

actor_without_the_axis = altered(
    "Actor",
    {"torch.tanh(self.out(x))": "torch.tanh(self.out(x)).squeeze(-1)"},
    hint="An action may be one number: which shape has a batch of such actions, and which shape has the state beside it?",
    source="student code",
    form=True,
)

actor_of_rows_alone = altered(
    "Actor",
    {"return torch.tanh(self.out(x))": "return torch.tanh(self.out(x)).reshape(-1, self.out.out_features)"},
    hint="Which shape has the action for a single state, `[in_dim]`?",
    form=True,
)

# Critic

critic_squashed = altered(
    "Critic",
    {"return self.out(x)": "return torch.tanh(self.out(x))"},
    hint="How low can the value of a state of the pendulum be, and how low can your network's?",
)

critic_deaf_to_the_action = altered(
    "Critic",
    {"torch.cat((state, action), dim=-1)": "torch.cat((state, torch.zeros_like(action)), dim=-1)"},
    hint="Change the action and nothing else: does the value change?",
)

critic_lets_nothing_through = altered(
    "Critic",
    {"torch.cat((state, action), dim=-1)": "torch.cat((state, action.detach()), dim=-1)"},
    hint="How will the actor find out in which direction its actions become better?",
)

batch_and_batch_in_one = altered(
    "Critic",
    {"torch.cat((state, action), dim=-1)": "torch.cat((state, action), dim=0)"},
    hint="Which axis becomes longer when a state and an action are put side by side?",
)

critic_begins_as_torch_does = altered(
    "Critic",
    {
        "        nn.init.uniform_(self.out.weight, -init_w, init_w)\n": "",
        "        nn.init.uniform_(self.out.bias, -init_w, init_w)\n": "",
    },
    hint="How large are the first values of your critic, and what is `init_w` for?",
)

critic_without_the_axis = altered(
    "Critic",
    {"return self.out(x)": "return self.out(x).squeeze(-1)"},
    hint="Your values are [B]: which shape does `update_model` compare them with?",
    source="student code",
    form=True,
)

# DDPGAgent.networks

critic_is_made_without_actions = altered(
    "DDPGAgent.networks",
    {
        "self.critic = Critic(obs_dim + action_dim)": "self.critic = Critic(obs_dim)",
        "self.critic_target = Critic(obs_dim + action_dim)": "self.critic_target = Critic(obs_dim)",
    },
    hint="What goes into the critic, and how many numbers are that together?",
)

targets_of_their_own = altered(
    "DDPGAgent.networks",
    {
        "self.actor_target.load_state_dict(self.actor.state_dict())": "pass",
        "self.critic_target.load_state_dict(self.critic.state_dict())": "pass",
    },
    hint="Compare each network with its target before the first update: what do you expect, and what do you see?",
    source="student code",
)

targets_are_the_networks = altered(
    "DDPGAgent.networks",
    {
        "self.actor_target = Actor(obs_dim, action_dim).to(self.device)": "self.actor_target = self.actor",
        "self.critic_target = Critic(obs_dim + action_dim).to(self.device)": "self.critic_target = self.critic",
    },
    hint="How many networks are there after `a = b`, and what moves when `b` is trained?",
)

one_target_is_the_network = altered(
    "DDPGAgent.networks",
    {
        "self.critic_target = Critic(obs_dim + action_dim).to(self.device)": "self.critic_target = self.critic",
    },
    hint="How many critics are there, and which of them does the optimizer move?",
)

one_target_of_its_own = altered(
    "DDPGAgent.networks",
    {"        self.critic_target.load_state_dict(self.critic.state_dict())\n": ""},
    hint="Compare each network with its target before the first step.",
)

optimizers_exchanged = altered(
    "DDPGAgent.networks",
    {
        "optim.Adam(self.actor.parameters(), lr=3e-4": "optim.Adam(self.critic.parameters(), lr=3e-4",
        "optim.Adam(self.critic.parameters(), lr=1e-3": "optim.Adam(self.actor.parameters(), lr=1e-3",
    },
    hint="Whose parameters does each of your optimizers move?",
    learns=False,
)

targets_in_the_optimizers = altered(
    "DDPGAgent.networks",
    {
        "optim.Adam(self.actor.parameters(),": "optim.Adam([*self.actor.parameters(), *self.actor_target.parameters()],",
        "optim.Adam(self.critic.parameters(),": "optim.Adam([*self.critic.parameters(), *self.critic_target.parameters()],",
    },
    hint="Who is allowed to move the targets?",
    source="student code",
)

one_rate_for_both = altered(
    "DDPGAgent.networks",
    {"lr=3e-4": "lr=1e-3"},
    hint="Which of the two networks learns more slowly, and why would one want that?",
)

critic_in_the_optimizer_of_the_actor = altered(
    "DDPGAgent.networks",
    {
        "optim.Adam(self.actor.parameters(), lr=3e-4, fused=True)": ""
        "optim.Adam([*self.actor.parameters(), *self.critic.parameters()], lr=3e-4, fused=True)"
    },
    hint="Whose parameters does `actor_optimizer` change?",
)

rates_exchanged = altered(
    "DDPGAgent.networks",
    {
        "optim.Adam(self.actor.parameters(), lr=3e-4": "optim.Adam(self.actor.parameters(), lr=1e-3",
        "optim.Adam(self.critic.parameters(), lr=1e-3": "optim.Adam(self.critic.parameters(), lr=3e-4",
    },
    hint="Which of the two should learn faster: the one that judges, or the one that is judged?",
)

actor_target_is_the_actor = altered(
    "DDPGAgent.networks",
    {"self.actor_target = Actor(obs_dim, action_dim).to(self.device)": "self.actor_target = self.actor"},
    hint="How many actors are there after `a = b`, and which of them does the optimizer move?",
)

networks_in_double_precision = altered(
    "DDPGAgent.networks",
    {
        "self.actor = Actor(obs_dim, action_dim).to(self.device)": "self.actor = Actor(obs_dim, action_dim).double()",
        "self.actor_target = Actor(obs_dim, action_dim).to(self.device)": ""
        "self.actor_target = Actor(obs_dim, action_dim).double()",
    },
    hint="Of which type are the weights of your actor, and of which are the states that it is given?",
    form=True,
)

# DDPGAgent.select_action

random_in_the_test_too = altered(
    "DDPGAgent.select_action",
    {"self.total_step < self.initial_random_steps and not self.is_test": "self.total_step < self.initial_random_steps"},
    hint="Whose actions does a test show if there has been no training yet?",
)

never_random = altered(
    "DDPGAgent.select_action",
    {"self.total_step < self.initial_random_steps and": "False and"},
    hint="What does your agent do in the first `initial_random_steps` steps?",
)

random_for_one_step_more = altered(
    "DDPGAgent.select_action",
    {"self.total_step < self.initial_random_steps and": "self.total_step <= self.initial_random_steps and"},
    hint="In which step does the actor act for the first time: let `initial_random_steps` be 3 and count?",
)

random_beyond_the_range = altered(
    "DDPGAgent.select_action",
    {"self.rng.uniform(-1.0, 1.0, len(self.noise.mu))": "self.env.action_space.sample()"},
    hint="In which units does the environment's action_space speak, and in which ones does the buffer keep actions?",
    source="PG is All You Need",
)

random_in_the_units_of_the_environment = altered(
    "DDPGAgent.select_action",
    {"self.rng.uniform(-1.0, 1.0, len(self.noise.mu))": "np.clip(self.env.action_space.sample(), -1.0, 1.0)"},
    hint="In which units is a sample of the environment's action space: how many of your random actions are exactly 1 or -1?",
    source="PG is All You Need",
)

target_acts = altered(
    "DDPGAgent.select_action",
    {"self.actor(torch.as_tensor(state": "self.actor_target(torch.as_tensor(state"},
    hint="Which of the two actors is the policy, and which one is there for the critic only?",
    source="student code",
)

noise_in_the_test_too = altered(
    "DDPGAgent.select_action",
    {"if not self.is_test:\n                action": "if True:\n    action"},
    hint="Call it twice in a test with the same state: what should differ?",
)

nothing_new_is_tried = altered(
    "DDPGAgent.select_action",
    {"if not self.is_test:\n                action": "if False:\n    action"},
    hint="Where does your agent try something new once its first steps are over?",
    source="student code",
)

noise_not_clipped = altered(
    "DDPGAgent.select_action",
    {"np.clip(action + self.noise.sample(), -1.0, 1.0)": "action + self.noise.sample()"},
    hint="Which action did the environment really do, and which one will the critic be told?",
    source="student code",
)

clipped_to_the_environment = altered(
    "DDPGAgent.select_action",
    {
        "np.clip(action + self.noise.sample(), -1.0, 1.0)": ""
        "np.clip(action + self.noise.sample(), self.env.action_space.low, self.env.action_space.high)",
    },
    hint="The pendulum takes ±2: to which range is the agent's action clipped, and in whose units?",
    source="student code",
)

action_kept_without_its_noise = altered(
    "DDPGAgent.select_action",
    {
        "action = np.clip(action + self.noise.sample(), -1.0, 1.0)": ""
        "self.transition = [state, action]\nreturn np.clip(action + self.noise.sample(), -1.0, 1.0)"
    },
    hint="Which action does the environment get, and which one will the buffer hold?",
    source="student code",
)

transition_forgotten = altered(
    "DDPGAgent.select_action",
    {"self.transition = [state, action]": "pass"},
    hint="What does `step` find in `transition`: this state and the action that you return, in this order?",
)

action_remains_a_tensor = altered(
    "DDPGAgent.select_action",
    {
        "with torch.no_grad():\n                action": "if True:\n    action",
        ".cpu().numpy()": ".cpu()",
        "np.clip(action + self.noise.sample(), -1.0, 1.0)": ""
        "torch.clamp(action + torch.as_tensor(self.noise.sample(), dtype=torch.float32), -1.0, 1.0)",
    },
    hint="What type does the environment expect, and who will ever need a gradient of this action?",
    form=True,
)

action_not_returned = altered(
    "DDPGAgent.select_action",
    {"self.transition = [state, action]\n        return action": "self.transition = [state, action]"},
    hint="What does a method return that has no `return`?",
)

action_in_a_batch_of_one = altered(
    "DDPGAgent.select_action",
    {
        "self.transition = [state, action]\n        return action": "self.transition = [state, action]\n"
        "return np.reshape(action, (1, -1))"
    },
    hint="Which shape has one action, without a batch around it?",
    source="student code",
    form=True,
)

noise_in_the_later_tests = altered(
    "DDPGAgent.select_action",
    {
        "if not self.is_test:\n                action": ""
        "if not self.is_test or self.total_step > self.initial_random_steps:\n    action"
    },
    hint="You test your agent after its training: is there any noise in it?",
)

# DDPGAgent.step

nothing_is_stored = altered(
    "DDPGAgent.step",
    {"self.memory.store(*self.transition)": "pass"},
    hint="How long is your agent's memory after ten steps?",
    learns=False,
)

test_is_stored = altered(
    "DDPGAgent.step",
    {"if not self.is_test:\n            self.transition +=": "if True:\n    self.transition +="},
    hint="What does a test leave in the memory?",
)

time_limit_stored_as_the_end = altered(
    "DDPGAgent.step",
    {"[reward, next_state, terminated]": "[reward, next_state, terminated or truncated]"},
    hint="Did the world end, or did the clock?",
    source="PG is All You Need",
)

only_the_time_limit_stored = altered(
    "DDPGAgent.step",
    {"[reward, next_state, terminated]": "[reward, next_state, truncated]"},
    hint="After which of the two ends is nothing left to be had?",
    source="student code",
)

begins_anew_by_itself = altered(
    "DDPGAgent.step",
    {
        "next_state, reward, terminated, truncated, _ = self.env.step(action)": ""
        "next_state, reward, terminated, truncated, _ = self.env.step(action)\n"
        "if terminated or truncated:\n    next_state, _ = self.env.reset()",
    },
    hint="Which observation came right after the action: is it in the memory?",
    source="student code",
)

stops_at_the_end_of_the_world_only = altered(
    "DDPGAgent.step",
    {"return next_state, reward, terminated or truncated": "return next_state, reward, terminated"},
    hint="An episode of the pendulum never terminates: when is it over?",
)

action_stored_in_the_units_of_the_pendulum = altered(
    "DDPGAgent.step",
    {"self.transition += [": "self.transition[1] = 2.0 * action\nself.transition += ["},
    hint="Which actions will the critic see from the actor, and which from the memory: are they in the same units?",
    source="student code",
)

never_an_end = altered(
    "DDPGAgent.step",
    {"[reward, next_state, terminated]": "[reward, next_state, False]"},
    hint="What is stored when the world has really ended?",
)

rewards_clipped = altered(
    "DDPGAgent.step",
    {"self.transition += [reward,": "self.transition += [float(np.clip(reward, -1.0, 1.0)),"},
    hint="Is the reward in your memory the one that the environment gave?",
)

steps_counted_twice = altered(
    "DDPGAgent.step",
    {
        "if not self.is_test:\n            self.transition +=": "self.total_step += 1\n"
        "if not self.is_test:\n    self.transition +=",
    },
    hint="Who numbers the steps: is `train` the only one?",
)

reward_in_an_array = altered(
    "DDPGAgent.step",
    {"return next_state, reward,": "return next_state, np.array([reward]),"},
    hint="What is a reward: a number, or an array with one in it?",
    source="student code",
    form=True,
)

# DDPGAgent.update_model.critic

targets_copied_before_use = altered(
    "DDPGAgent.update_model.critic",
    {
        "with torch.no_grad():\n            next_value": "self.critic_target.load_state_dict(self.critic.state_dict())\n"
        "with torch.no_grad():\n    next_value"
    },
    hint="What is a target good for that is equal to its network before every update?",
)

ends_ignored = altered(
    "DDPGAgent.update_model.critic",
    {"self.gamma * (1 - done) * next_value": "self.gamma * next_value"},
    hint="What should the target be where the episode has terminated?",
    source="student code",
)

ends_the_wrong_way_round = altered(
    "DDPGAgent.update_model.critic",
    {"self.gamma * (1 - done) * next_value": "self.gamma * done * next_value"},
    hint="In which rows does your target look into the future: those that go on, or those that end?",
    source="student code",
)

rewards_and_ends_in_a_row = altered(
    "DDPGAgent.update_model.critic",
    {
        'samples["rews"], device=self.device).unsqueeze(1)': 'samples["rews"], device=self.device)',
        'samples["done"], device=self.device).unsqueeze(1)': 'samples["done"], device=self.device)',
        "F.mse_loss(self.critic(state, action), target)": "((self.critic(state, action) - target) ** 2).mean()",
    },
    hint="What shape is your target, and what shape is the difference of the values and it?",
    source="student code",
)

ends_in_a_row = altered(
    "DDPGAgent.update_model.critic",
    {
        'samples["done"], device=self.device).unsqueeze(1)': 'samples["done"], device=self.device)',
        "F.mse_loss(self.critic(state, action), target)": "((self.critic(state, action) - target) ** 2).mean()",
    },
    hint="What shape is 1 - done, and what shape is it times the values of the next states?",
    source="student code",
)

target_in_a_row = altered(
    "DDPGAgent.update_model.critic",
    {"F.mse_loss(self.critic(state, action), target)": "((self.critic(state, action) - target.squeeze()) ** 2).mean()"},
    hint="What shape is your target, and what shape is what it is compared with?",
    source="student code",
)

values_in_a_row = altered(
    "DDPGAgent.update_model.critic",
    {"F.mse_loss(self.critic(state, action), target)": "((self.critic(state, action).squeeze() - target) ** 2).mean()"},
    hint="What shape are your values, and what shape is what they are compared with?",
    source="student code",
)

undiscounted = altered(
    "DDPGAgent.update_model.critic",
    {"reward + self.gamma * (1 - done)": "reward + (1 - done)"},
    hint="How much is a reward worth that comes a step later?",
)

judged_by_the_actor_of_now = altered(
    "DDPGAgent.update_model.critic",
    {"F.mse_loss(self.critic(state, action), target)": "F.mse_loss(self.critic(state, self.actor(state)), target)"},
    hint="The reward was paid for an action: for which one?",
)

errors_summed = altered(
    "DDPGAgent.update_model.critic",
    {"F.mse_loss(self.critic(state, action), target)": 'F.mse_loss(self.critic(state, action), target, reduction="sum")'},
    hint="What does the size of the batch do to the critic's loss: is it a mean, or a sum?",
    source="student code",
)

halved_errors = altered(
    "DDPGAgent.update_model.critic",
    {"critic_loss = F.mse_loss(": "critic_loss = 0.5 * F.mse_loss("},
    hint="By which factor does your loss differ from the one that is asked for?",
)

critic_never_cleared = altered(
    "DDPGAgent.update_model.critic",
    {
        "        self.critic_optimizer.zero_grad()\n": "",
        "actor_loss.backward(inputs=list(self.actor.parameters()))": "actor_loss.backward()",
    },
    hint="Which gradients does the critic hold when its second update begins, and who put them there?",
    source="student code",
)

rewards_in_a_row = altered(
    "DDPGAgent.update_model.critic",
    {'samples["rews"], device=self.device).unsqueeze(1)': 'samples["rews"], device=self.device)'},
    hint="Print the shape of your target: how many numbers should it have?",
    source="student code",
)

actions_in_a_column = altered(
    "DDPGAgent.update_model.critic",
    {'torch.as_tensor(samples["acts"], device': 'torch.as_tensor(samples["acts"].reshape(-1, 1), device'},
    hint="How many rows has your batch of actions if an action has two dimensions?",
    source="PG is All You Need",
)

gradient_through_the_target = altered(
    "DDPGAgent.update_model.critic",
    {
        "with torch.no_grad():\n            next_value = self.critic_target(": "if True:\n    next_value = self.critic(",
    },
    hint="Which parts of (Q(s, a) - y)² move when the critic learns, and is y one of them?",
    source="student code",
)

online_critic_in_the_target = altered(
    "DDPGAgent.update_model.critic",
    {"self.critic_target(next_state": "self.critic(next_state"},
    hint="Whose value stands in y: that of the critic which is chasing it?",
)

online_actor_in_the_target = altered(
    "DDPGAgent.update_model.critic",
    {"self.actor_target(next_state)": "self.actor(next_state)"},
    hint="Which actor says in y what is done next?",
)

old_state_in_the_target = altered(
    "DDPGAgent.update_model.critic",
    {"self.critic_target(next_state, self.actor_target(next_state))": "self.critic_target(state, self.actor_target(state))"},
    hint="Where is the agent after the reward?",
)

usual_discount = altered(
    "DDPGAgent.update_model.critic",
    {"self.gamma * (1 - done)": "0.99 * (1 - done)"},
    hint="Change the agent's gamma: does your target change?",
)

errors_not_squared = altered(
    "DDPGAgent.update_model.critic",
    {"F.mse_loss(": "F.smooth_l1_loss("},
    hint="How much more does an error of 20 count than one of 10?",
    source="student code",
)

critic_gradients_pile_up = altered(
    "DDPGAgent.update_model.critic",
    {"        self.critic_optimizer.zero_grad()\n": ""},
    hint="What is in .grad of the critic's weights before backward adds to it?",
    source="student code",
)

critic_gradients_from_the_actor = altered(
    "DDPGAgent.update_model.critic",
    {
        "        self.critic_optimizer.zero_grad()\n        critic_loss": "        critic_loss",
        "self.critic_optimizer.step()": "self.critic_optimizer.step()\nself.critic_optimizer.zero_grad()",
        "actor_loss.backward(inputs=list(self.actor.parameters()))": "actor_loss.backward()",
    },
    hint="The actor's loss goes through the critic, too: when do you clear the critic's gradients?",
    source="student code",
)

critic_never_steps = altered(
    "DDPGAgent.update_model.critic",
    {"self.critic_optimizer.step()": "pass"},
    hint="Which line moves the critic: compare its weights before and after?",
)

last_reward_lost = altered(
    "DDPGAgent.update_model.critic",
    {"reward + self.gamma * (1 - done) * next_value": "(reward + self.gamma * next_value) * (1 - done)"},
    hint="Is the last reward of an episode worth nothing?",
)

critic_gradient_clipped = altered(
    "DDPGAgent.update_model.critic",
    {"self.critic_optimizer.step()": "nn.utils.clip_grad_norm_(self.critic.parameters(), 1.0)\nself.critic_optimizer.step()"},
    hint="Which gradient does your optimizer get when an error is large: is it that of the loss?",
    source="student code",
)

critic_cleared_too_late = altered(
    "DDPGAgent.update_model.critic",
    {
        "        self.critic_optimizer.zero_grad()\n        critic_loss": "        critic_loss",
        "self.critic_optimizer.step()": "self.critic_optimizer.zero_grad()\nself.critic_optimizer.step()",
    },
    hint="In which order do zero_grad, backward and step stand, and what is left when step comes?",
)

critic_frozen_forever = altered(
    "DDPGAgent.update_model.critic",
    {
        "actor_loss = -self.critic(": "for parameter in self.critic.parameters():\n    parameter.requires_grad_(False)\n"
        "actor_loss = -self.critic(",
    },
    hint="You froze the critic for the actor's sake: who thaws it before the next update?",
    source="student code",
)

noise_in_the_target = altered(
    "DDPGAgent.update_model.critic",
    {
        "self.critic_target(next_state, self.actor_target(next_state))": ""
        "self.critic_target(next_state, self.actor_target(next_state)"
        " + torch.as_tensor(self.noise.sample(), dtype=torch.float32))",
    },
    hint="Where does exploration belong: does the target y know of any noise?",
    source="student code",
)

random_noise_in_the_target = altered(
    "DDPGAgent.update_model.critic",
    {
        "self.critic_target(next_state, self.actor_target(next_state))": ""
        "self.critic_target(next_state, (self.actor_target(next_state)"
        " + 0.2 * torch.as_tensor(self.rng.standard_normal(action.shape), dtype=torch.float32)).clamp(-1.0, 1.0))",
    },
    hint="Lillicrap et al. 2015 explore with noise: in the target y as well, or is that another algorithm?",
)

reward_divided_by_the_discount = altered(
    "DDPGAgent.update_model.critic",
    {
        "reward + self.gamma * (1 - done) * next_value": "self.gamma * (reward / self.gamma + (1 - done) * next_value)",
    },
    hint="γ may be 0: what does your formula make of that?",
)

batch_of_one_loses_its_axis = altered(
    "DDPGAgent.update_model.critic",
    {
        'state = torch.as_tensor(samples["obs"], device=self.device)': ""
        'state = torch.as_tensor(samples["obs"], device=self.device).squeeze()'
    },
    hint="Which shape have the states of your batch if it is a batch of one?",
    form=True,
)

# DDPGAgent.update_model.actor

actor_downhill = altered(
    "DDPGAgent.update_model.actor",
    {"actor_loss = -self.critic(": "actor_loss = self.critic("},
    hint="An optimizer makes a loss smaller: should the value of the actor's actions go up or down?",
    source="student code",
    learns=False,
)

actor_judged_in_the_next_state = altered(
    "DDPGAgent.update_model.actor",
    {"-self.critic(state, self.actor(state)).mean()": "-self.critic(next_state, self.actor(next_state)).mean()"},
    hint="In which states should the actor become better, those before the stored actions or those after?",
)

actor_loss_summed = altered(
    "DDPGAgent.update_model.actor",
    {"-self.critic(state, self.actor(state)).mean()": "-self.critic(state, self.actor(state)).sum()"},
    hint="What does the size of the batch do to your loss?",
)

actor_detached = altered(
    "DDPGAgent.update_model.actor",
    {"-self.critic(state, self.actor(state)).mean()": "-self.critic(state, self.actor(state).detach()).mean()"},
    hint="How does your loss depend on the actor's weights?",
    source="student code",
    learns=False,
)

actor_judged_by_stored_actions = altered(
    "DDPGAgent.update_model.actor",
    {"-self.critic(state, self.actor(state)).mean()": "-self.critic(state, action).mean()"},
    hint="Whose actions are in your loss: how does it depend on the actor's weights?",
    source="student code",
    learns=False,
)

actor_never_steps = altered(
    "DDPGAgent.update_model.actor",
    {"self.actor_optimizer.step()": "pass"},
    hint="Which line moves the actor: compare its weights before and after?",
    learns=False,
)

critic_steps_for_the_actor = altered(
    "DDPGAgent.update_model.actor",
    {
        "actor_loss.backward(inputs=list(self.actor.parameters()))": "actor_loss.backward()",
        "self.actor_optimizer.step()": "self.actor_optimizer.step()\nself.critic_optimizer.step()",
    },
    hint="How often does the critic move in one update, and by whose loss?",
)

actor_gradients_pile_up = altered(
    "DDPGAgent.update_model.actor",
    {"        self.actor_optimizer.zero_grad()\n": ""},
    hint="What is in .grad of the actor's weights before backward adds to it?",
    source="student code",
)

actor_judged_by_the_target = altered(
    "DDPGAgent.update_model.actor",
    {"-self.critic(state, self.actor(state))": "-self.critic_target(state, self.actor(state))"},
    hint="Which critic tells the actor how good its actions are: the one that has just learned?",
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
    hint="Which of the two learns first: with which critic is the actor's loss taken?",
)

targets_forgotten = altered(
    "DDPGAgent.update_model.actor",
    {"self._target_soft_update()": "pass"},
    hint="Compare a target with itself after a hundred updates: who moves it?",
)

losses_exchanged = altered(
    "DDPGAgent.update_model.actor",
    {"return actor_loss.detach(), critic_loss.detach()": "return critic_loss.detach(), actor_loss.detach()"},
    hint="Which of the two losses does `train` expect first?",
)

actor_cleared_too_late = altered(
    "DDPGAgent.update_model.actor",
    {
        "        self.actor_optimizer.zero_grad()\n": "",
        "self.actor_optimizer.step()": "self.actor_optimizer.zero_grad()\nself.actor_optimizer.step()",
    },
    hint="In which order do zero_grad, backward and step stand, and what is left when step comes?",
)

targets_copied_in_the_update = altered(
    "DDPGAgent.update_model.actor",
    {
        "self._target_soft_update()": "self.actor_target.load_state_dict(self.actor.state_dict())\n"
        "self.critic_target.load_state_dict(self.critic.state_dict())",
    },
    hint="How far does a target go in one update, and which method does that already?",
)

noise_for_the_actor = altered(
    "DDPGAgent.update_model.actor",
    {
        "-self.critic(state, self.actor(state)).mean()": ""
        "-self.critic(state, self.actor(state) + torch.as_tensor(self.noise.sample(), dtype=torch.float32)).mean()",
    },
    hint="Whose actions should the critic judge here: the actor's, or those of an explorer?",
)

losses_with_an_axis = altered(
    "DDPGAgent.update_model.actor",
    {
        "return actor_loss.detach(), critic_loss.detach()": ""
        "return actor_loss.detach().reshape(1), critic_loss.detach().reshape(1)"
    },
    hint="Which shape has a scalar?",
    form=True,
)

# DDPGAgent._target_soft_update

targets_copied = altered(
    "DDPGAgent._target_soft_update",
    {"slow.lerp_(fast, self.tau)": "slow.copy_(fast)"},
    hint="How far does a target go in one update, and what is tau for?",
)

targets_added_up = altered(
    "DDPGAgent._target_soft_update",
    {"slow.lerp_(fast, self.tau)": "slow.add_(self.tau * fast)"},
    hint="Two weights belong to a target and its network: what must they add up to?",
    source="student code",
)

tau_the_wrong_way_round = altered(
    "DDPGAgent._target_soft_update",
    {"slow.lerp_(fast, self.tau)": "slow.lerp_(fast, 1 - self.tau)"},
    hint="Of what does a target keep 99.5 %: of itself, or of its network?",
    source="student code",
)

networks_follow_the_targets = altered(
    "DDPGAgent._target_soft_update",
    {"slow.lerp_(fast, self.tau)": "fast.lerp_(slow, self.tau)"},
    hint="Which of the two should move, and which should stay?",
)

targets_share_the_weights = altered(
    "DDPGAgent._target_soft_update",
    {"slow.lerp_(fast, self.tau)": "slow.data = fast.data"},
    hint="Train the network a little more after your method has run: does its target stay where it was?",
)

actor_target_stays = altered(
    "DDPGAgent._target_soft_update",
    {"((self.actor_target, self.actor), (self.critic_target, self.critic))": "((self.critic_target, self.critic),)"},
    hint="How many targets are there?",
)

only_the_name_follows = altered(
    "DDPGAgent._target_soft_update",
    {"slow.lerp_(fast, self.tau)": "slow = self.tau * fast + (1 - self.tau) * slow"},
    hint="What does a name on the left of = stand for afterwards, and what became of the parameter?",
    source="student code",
)

critic_target_stays = altered(
    "DDPGAgent._target_soft_update",
    {"((self.actor_target, self.actor), (self.critic_target, self.critic))": "((self.actor_target, self.actor),)"},
    hint="How many targets are there?",
)

biases_stay = altered(
    "DDPGAgent._target_soft_update",
    {"slow.lerp_(fast, self.tau)": "slow.lerp_(fast, self.tau if slow.dim() > 1 else 0.0)"},
    hint="Which parameters has a linear layer besides its weights?",
)

targets_made_anew = altered(
    "DDPGAgent._target_soft_update",
    {
        "            for target, network in ((self.actor_target, self.actor), (self.critic_target, self.critic)):": ""
        "            import copy\n\n"
        "            self.actor_target = copy.deepcopy(self.actor_target)\n"
        "            self.critic_target = copy.deepcopy(self.critic_target)\n"
        "            for target, network in ((self.actor_target, self.actor), (self.critic_target, self.critic)):",
    },
    hint="Is the target still the object that it was: what does who has kept it see of the update?",
    form=True,
)

# DDPGAgent.train

environment_of_the_notebook = altered(
    "DDPGAgent.train",
    {"                state, _ = self.env.reset()\n": "                state, _ = env.reset()\n"},
    hint="Which environment do you reset: the agent's own one, or one that happens to be around in your notebook?",
    source="PG is All You Need",
)

update_for_each_episode = altered(
    "DDPGAgent.train",
    {"if len(self.memory) >= self.batch_size and": "if done and len(self.memory) >= self.batch_size and"},
    hint="How many updates are there for one step of the environment?",
    source="student code",
)

update_from_the_beginning = altered(
    "DDPGAgent.train",
    {"self.batch_size and self.total_step > self.initial_random_steps": "self.batch_size"},
    hint="Is anything to be learned while the actions are still random?",
)

update_one_step_early = altered(
    "DDPGAgent.train",
    {"self.total_step > self.initial_random_steps": "self.total_step >= self.initial_random_steps"},
    hint="Let `initial_random_steps` be 3: in which step is the first update?",
)

update_of_a_batch_that_is_not_there = altered(
    "DDPGAgent.train",
    {"len(self.memory) >= self.batch_size and ": ""},
    hint="What can be drawn from a memory that holds less than a batch?",
)

noise_goes_on = altered(
    "DDPGAgent.train",
    {"self.noise.reset()\n                score": "score"},
    hint="What does the noise of a new episode know of the last one?",
    source="PG is All You Need",
)

noise_begins_at_every_step = altered(
    "DDPGAgent.train",
    {"score += reward\n\n            if done:": "score += reward\nself.noise.reset()\n\nif done:"},
    hint="When does a new path of noise begin: how far does yours get?",
    source="student code",
)

episode_without_end = altered(
    "DDPGAgent.train",
    {"                state, _ = self.env.reset()\n": ""},
    hint="What does an environment need before its next episode, and is it `self.env` that gets it?",
)

same_beginning_always = altered(
    "DDPGAgent.train",
    {"                state, _ = self.env.reset()\n": "                state, _ = self.env.reset(seed=777)\n"},
    hint="How often may an environment be given a seed, and what does `reset` do with one?",
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
        "_, reward, done = self.step(action)\nscore += reward\n",
    },
    hint="In which state is each action chosen: print it?",
)

first_state_of_an_episode_lost = altered(
    "DDPGAgent.train",
    {"                state, _ = self.env.reset()": "                self.env.reset()"},
    hint="In which state is the first action of the second episode chosen?",
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
    hint="How does `select_action` know in which step it is?",
)

still_a_test = altered(
    "DDPGAgent.train",
    {"self.is_test = False\n        scores": "scores"},
    hint="What does your agent learn if it has been tested just before?",
)

plots_at_every_step = altered(
    "DDPGAgent.train",
    {"if self.total_step % plotting_interval == 0:": "if True:"},
    hint="How many pictures are drawn in 400 steps?",
)

numbered_from_zero = altered(
    "DDPGAgent.train",
    {"range(1, num_frames + 1)": "range(num_frames)"},
    hint="Which number has the first step, and after which one is the first update?",
)

update_unless_it_is_over = altered(
    "DDPGAgent.train",
    {"if len(self.memory) >= self.batch_size and": "elif len(self.memory) >= self.batch_size and"},
    hint="Is there an update after the last step of an episode, too?",
)

one_more_than_a_batch = altered(
    "DDPGAgent.train",
    {"len(self.memory) >= self.batch_size": "len(self.memory) > self.batch_size"},
    hint="How many transitions are enough for a batch?",
)

scores_in_lists = altered(
    "DDPGAgent.train",
    {"scores.append(score)": "scores.append([score])"},
    hint="What is one score in your list of scores: a number, or a list with a number?",
    form=True,
)

# DDPGAgent.test

last_reward_as_score = altered(
    "DDPGAgent.test",
    {'print(f"score: {score:.1f}")': 'print(f"score: {reward:.1f}")'},
    hint="Is a score the last reward, or the sum of all?",
)

tested_as_in_training = altered(
    "DDPGAgent.test",
    {"self.is_test = True": "pass"},
    hint="What do `select_action` and `step` do otherwise in a test, and how do they know of it?",
)

test_of_fixed_length = altered(
    "DDPGAgent.test",
    {"while not done:": "for _ in range(200):"},
    hint="When is an episode over: who says so?",
)

frames_of_afterwards = altered(
    "DDPGAgent.test",
    {
        "            frames.append(self.env.render())\n": "",
        "            score += reward\n        print(": "            score += reward\n"
        "            frames.append(self.env.render())\n        print(",
    },
    hint="Does your film show how the episode begins?",
)

score_not_printed = altered(
    "DDPGAgent.test",
    {'        print(f"score: {score:.1f}")\n': ""},
    hint="Who is told the score of the test?",
)

frames_in_lists = altered(
    "DDPGAgent.test",
    {"frames.append(self.env.render())": "frames.append([self.env.render()])"},
    hint="What does `render` return: one picture, or a list of them?",
    source="student code",
    form=True,
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
    hint="Steering goes from -1 to 1 and the throttle from 0 to 10: what does your wrapper make of the throttle?",
)

only_multiplied = altered(
    "ActionNormalizer",
    {"low + (action + 1.0) * (high - low) / 2, low, high": "action * high, low, high"},
    hint="Where does 0 go if an action of the environment lies between 0 and 1?",
    source="student code",
)

range_around_zero = altered(
    "ActionNormalizer",
    {
        "low + (action + 1.0) * (high - low) / 2": "action * high",
        "2 * (action - low) / (high - low) - 1.0": "action / high",
    },
    hint="A throttle goes from 0 to 10: what should your wrapper make of -1, 0 and 1?",
)

half_the_range = altered(
    "ActionNormalizer",
    {"low + (action + 1.0) * (high - low) / 2, low, high": "low + (action + 1.0) * (high - low) / 2, -1.0, 1.0"},
    hint="What is the largest action that the environment ever gets?",
    source="student code",
)

outside_of_the_range = altered(
    "ActionNormalizer",
    {"np.clip(low + (action + 1.0) * (high - low) / 2, low, high)": "low + (action + 1.0) * (high - low) / 2"},
    hint="What becomes of an action of 1.5?",
)

callers_action_changed = altered(
    "ActionNormalizer",
    {
        "return np.clip(low + (action + 1.0) * (high - low) / 2, low, high)": "action += 1.0\n"
        "action *= (high - low) / 2\n"
        "action += low\n"
        "return np.clip(action, low, high, out=action)",
    },
    hint="Print the agent's action before and after the step: which one is stored?",
    form=True,
)

beyond_the_range_in_reverse = altered(
    "ActionNormalizer",
    {"np.clip(2 * (action - low) / (high - low) - 1.0, -1.0, 1.0)": "2 * (action - low) / (high - low) - 1.0"},
    hint="What does `reverse_action` make of an action beyond the environment's range?",
)

not_the_reverse = altered(
    "ActionNormalizer",
    {
        "np.clip(2 * (action - low) / (high - low) - 1.0, -1.0, 1.0)": ""
        "np.clip(low + (action + 1.0) * (high - low) / 2, low, high)",
    },
    hint="Convert an action and convert it back: is it the same?",
)

units_in_a_list = altered(
    "ActionNormalizer",
    {
        "return np.clip(low + (action + 1.0) * (high - low) / 2, low, high)": ""
        "return list(np.clip(low + (action + 1.0) * (high - low) / 2, low, high))"
    },
    hint="What does the environment expect: a list, or an array?",
    form=True,
)
