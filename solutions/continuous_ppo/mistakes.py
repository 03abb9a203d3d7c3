"""Mistakes of `continuous_ppo`, each with the hint that a good tutor gives: a question, not the answer.

`verify` proves that each loses points on its question; `build` stores what the checks see of each, so that a student who makes
the same one is told. Where several explain what a student's code does, the first one's hint is given: general ones come first.
Nearly all are changes of a line or two of a class that has several questions, hence `altered`.
"""

from grader.proof.catalogue import altered

# Summaries

sums_run_on = altered(
    "Summaries",
    {"        self._return = 0.0\n        self._length = 0\n        return": "        return"},
    hint="What do your sums hold at the first step of the second episode?",
    source="student code",
)

broken_off_episode_counts = altered(
    "Summaries",
    {
        "        self._return = 0.0\n        self._length = 0\n        return self.env": "        return self.env",
        "        return observation, reward,": "        if terminated or truncated:\n"
        "            self._return, self._length = 0.0, 0\n"
        "        return observation, reward,",
    },
    hint="`reset` may come in the middle of an episode: what do your sums hold then?",
)

time_limit_is_no_end = altered(
    "Summaries",
    {"if terminated or truncated:": "if terminated:"},
    hint="In which two ways can an episode end? HalfCheetah knows only one of them.",
    source="student code",
)

noted_at_the_next_reset = altered(
    "Summaries",
    {
        "if terminated or truncated:": "if False:",
        "        self._return = 0.0\n        self._length = 0\n        return": "        if self._length:\n"
        "            self.episode_returns.append(self._return)\n"
        "            self.episode_lengths.append(self._length)\n"
        "            self.moving_averages.append(float(np.mean(self.episode_returns[-self.window :])))\n"
        "        self._return = 0.0\n        self._length = 0\n        return",
    },
    hint="When is an episode over: in its last step, or when the next one begins? Which of them never end?",
    source="student code",
)

last_reward_as_return = altered(
    "Summaries",
    {"self._return += float(reward)": "self._return = float(reward)"},
    hint="Is a return the last reward, or the sum of all?",
)


moving_average_of_everything = altered(
    "Summaries",
    {"self.episode_returns[-self.window :]": "self.episode_returns"},
    hint="Over how many episodes does the moving average go?",
    source="student code",
)


interactions_of_one_episode = altered(
    "Summaries",
    {
        "        self._return = 0.0\n        self._length = 0\n        return": ""
        "        self._return = 0.0\n        self._length = 0\n        self.interactions = 0\n        return"
    },
    hint="Does the count of interactions begin anew with an episode?",
)


writer_counts_episodes = altered(
    "Summaries",
    {
        '"episode_return", self._return, self.interactions': '"episode_return", self._return, len(self.episode_returns)',
        '"episode_length", self._length, self.interactions': '"episode_length", self._length, len(self.episode_returns)',
        "self.moving_averages[-1], self.interactions": "self.moving_averages[-1], len(self.episode_returns)",
    },
    hint="Against what will the curves be plotted: episodes, or interactions?",
)

writer_needed = altered(
    "Summaries",
    {"if self.writer is not None:": "if True:"},
    hint="What does your wrapper do when it is given no writer?",
)


step_of_the_old_interface = altered(
    "Summaries",
    {"return observation, reward, terminated, truncated,": "return observation, reward, terminated or truncated,"},
    hint="What does step return, in order? The old gym had one thing less.",
    source="Practical RL, week 9",
)

begins_the_next_episode_itself = altered(
    "Summaries",
    {
        "        return observation, reward,": "        if terminated or truncated:\n"
        "            observation, info = self.reset()\n"
        "        return observation, reward,",
    },
    hint="Who resets the environment? What does its user see of the last observation?",
)

reset_loses_its_seed = altered(
    "Summaries",
    {"self.env.reset(**kwargs)": "self.env.reset()"},
    hint="Reset twice with the same seed: what becomes of it in your wrapper?",
)


lengths_as_floats = altered(
    "Summaries",
    {"self.episode_lengths.append(self._length)": "self.episode_lengths.append(float(self._length))"},
    hint="A length is a count: which type has it in your list?",
    form=True,
)

returns_as_tensors = altered(
    "Summaries",
    {"self.episode_returns.append(self._return)": "self.episode_returns.append(torch.tensor(self._return))"},
    hint="Which type have the entries of your list of returns?",
    form=True,
)


average_of_the_first_episodes = altered(
    "Summaries",
    {"self.episode_returns[-self.window :]": "self.episode_returns[: self.window]"},
    hint="Which episodes is your moving average about: the first ones, or the latest?",
    source="student code",
)

# Model.layers

init_of_torch = altered(
    "Model.layers",
    {"nn.init.orthogonal_(layer.weight, gain=math.sqrt(2))": "pass"},
    hint="Multiply one of your weight matrices with its transpose: what should come out?",
    source="student code",
)


gain_of_one = altered(
    "Model.layers",
    {"orthogonal_(layer.weight, gain=math.sqrt(2))": "orthogonal_(layer.weight)"},
    hint="By what is the orthogonal matrix multiplied?",
    source="student code",
)


small_head_of_the_policy = altered(
    "Model.layers",
    {
        "self.value_net = self._network(obs_dim, 1)": "self.value_net = self._network(obs_dim, 1)\n"
        "nn.init.orthogonal_(self.policy_net[4].weight, gain=0.01)"
    },
    hint="Which of the layers has another gain? The text knows no exception.",
    source="student code",
)

biases_of_torch = altered(
    "Model.layers",
    {"nn.init.zeros_(layer.bias)": "pass"},
    hint="What are the biases at the beginning?",
    source="student code",
)


one_hidden_layer = altered(
    "Model.layers",
    {"layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2]": "layers[0], nn.Tanh(), layers[2]"},
    hint="How many linear layers has each network?",
)


shared_trunk = altered(
    "Model.layers",
    {
        "self.value_net = self._network(obs_dim, 1)": ""
        "self.value_net = nn.Sequential(*self.policy_net[:4], self._network(64, 1)[4])"
    },
    hint="How many networks are there? Which weights does the value loss move?",
    source="student code",
)

vector_starts_at_one = altered(
    "Model.layers",
    {"torch.zeros(act_dim)": "torch.ones(act_dim)"},
    hint="What is the variance before any learning?",
)

vector_is_no_parameter = altered(
    "Model.layers",
    {"nn.Parameter(torch.zeros(act_dim))": "torch.zeros(act_dim, requires_grad=True)"},
    hint="Is the vector among model.parameters()? Who else will learn it?",
    source="student code",
)


one_number_for_all_dimensions = altered(
    "Model.layers",
    {"torch.zeros(act_dim)": "torch.zeros(1)"},
    hint="How many numbers has the vector?",
)


variance_of_the_state = altered(
    "Model.layers",
    {
        "nn.Parameter(torch.zeros(act_dim))": "self._network(obs_dim, act_dim)",
        "self.log_variance.exp()": "self.log_variance(observations).exp()",
    },
    hint="Does the variance depend on the state in the text?",
    source="student code",
)


network_hidden_in_a_list = altered(
    "Model.layers",
    {
        "self.value_net = self._network(obs_dim, 1)": "self.value_net = [self._network(obs_dim, 1)]",
        "self.value_net(observations)": "self.value_net[0](observations)",
    },
    hint="Count your model's parameters: what does torch not find in a plain list?",
    source="student code",
)

parameters_in_double_precision = altered(
    "Model.layers",
    {
        "self.log_variance = nn.Parameter(torch.zeros(act_dim))": ""
        "self.log_variance = nn.Parameter(torch.zeros(act_dim))\nself.double()"
    },
    hint="Which precision have your parameters, and which have the observations that come in?",
)

every_model_alike = altered(
    "Model.layers",
    {"layers = [nn.Linear(inputs, 64)": "torch.manual_seed(outputs)\nlayers = [nn.Linear(inputs, 64)"},
    hint="Make two models: do they begin with the same weights? What does a generator do that is seeded in a constructor?",
)

# Model.forward

relu_between = altered(
    "Model.forward",
    {"layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2]": "layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2]"},
    hint="Which function stands between the linear layers?",
    source="student code",
)

nothing_between = altered(
    "Model.forward",
    {"layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2]": "layers[0], nn.Tanh(), layers[1], layers[2]"},
    hint="What are two linear layers with nothing between them?",
)

tanh_behind_each_head = altered(
    "Model.forward",
    {"nn.Tanh(), layers[2])": "nn.Tanh(), layers[2], nn.Tanh())"},
    hint="How large can the output of your networks become? How large can a return?",
    source="student code",
)

vector_returned = altered(
    "Model.forward",
    {"self.log_variance.exp()": "self.log_variance"},
    hint="How does a variance become of a vector that may be negative?",
    source="student code",
)

deviation_returned = altered(
    "Model.forward",
    {"self.log_variance.exp()": "(0.5 * self.log_variance).exp()"},
    hint="Is what you return the variance, or the standard deviation?",
    source="student code",
)

vector_as_log_deviation = altered(
    "Model.forward",
    {"self.log_variance.exp()": "(2 * self.log_variance).exp()"},
    hint="The exponential of the vector: is it the variance, or the standard deviation?",
    source="student code",
)


value_without_gradient = altered(
    "Model.forward",
    {"self.value_net(observations)": "self.value_net(observations).detach()"},
    hint="Backpropagate from each of the three outputs: which of your parameters gets no gradient?",
)


mean_squashed = altered(
    "Model.forward",
    {"self.policy_net(observations)": "torch.tanh(self.policy_net(observations))"},
    hint="How large can the mean of your policy become?",
    source="student code",
)


one_observation_becomes_a_batch = altered(
    "Model.forward",
    {"return self.policy_net": "observations = observations.reshape(-1, observations.shape[-1])\nreturn self.policy_net"},
    hint="Print what you return for one observation: which axis was not there?",
    form=True,
)

batch_of_one_squeezed_away = altered(
    "Model.forward",
    {"self.policy_net(observations)": "self.policy_net(observations).squeeze(0)"},
    hint="Print the shape of the mean for a batch of one row: which axis is missing?",
    form=True,
)

value_of_the_whole_batch = altered(
    "Model.forward",
    {"self.value_net(observations)": "self.value_net(observations).mean() * torch.ones_like(self.value_net(observations))"},
    hint="Have two different observations the same value?",
)

# Policy.training

variance_as_deviation_in_training = altered(
    "Policy.training",
    {"Normal(mean, variance.sqrt(), validate": "Normal(mean, variance, validate"},
    hint="What does Normal take, the variance or the standard deviation? Try a variance that is not 1.",
    source="student code",
)

deviation_as_variance_in_training = altered(
    "Policy.training",
    {
        "Independent(Normal(mean, variance.sqrt(), validate_args=False), 1, validate_args=False)": ""
        "torch.distributions.MultivariateNormal(mean, torch.diag(variance.sqrt()))",
    },
    hint="What does MultivariateNormal take, variances or standard deviations? Try a variance that is not 1.",
)

exponential_twice_in_training = altered(
    "Policy.training",
    {"Normal(mean, variance.sqrt(), validate": "Normal(mean, variance.exp().sqrt(), validate"},
    hint="Which of your classes takes the exponential?",
)


a_number_for_each_dimension = altered(
    "Policy.training",
    {
        "Independent(Normal(mean, variance.sqrt(), validate_args=False), 1, validate_args=False)": ""
        "Normal(mean, variance.sqrt())",
    },
    hint="What is the probability of a whole action vector? Print the shape of log_prob.",
    source="student code",
)


training_forgotten = altered(
    "Policy.training",
    {"if training:": "if training and False:"},
    hint="What does `training` change in what you return?",
    learns=False,
)

training_without_gradient = altered(
    "Policy.training",
    {
        "            mean, variance, values = self.model(torch.as_tensor(inputs, dtype=torch.float32))\n            # A": ""
        "            with torch.no_grad():\n"
        "                mean, variance, values = self.model(torch.as_tensor(inputs, dtype=torch.float32))\n            # A",
    },
    hint="What connects the distribution with the weights of the model?",
    source="student code",
    learns=False,
)


training_values_detached = altered(
    "Policy.training",
    {'"distribution": distribution, "values": values}': '"distribution": distribution, "values": values.detach()}'},
    hint="What is the value loss to move?",
)

training_values_in_numpy = altered(
    "Policy.training",
    {'"distribution": distribution, "values": values}': '"distribution": distribution, "values": values.detach().numpy()}'},
    hint="Which of the two modes returns arrays, and which tensors?",
)


training_takes_any_precision = altered(
    "Policy.training",
    {
        "            mean, variance, values = self.model(torch.as_tensor(inputs, dtype=torch.float32))\n            # A": ""
        "            mean, variance, values = self.model(torch.as_tensor(inputs))\n            # A",
    },
    hint="Observations may be float64: which precision have the weights of the model?",
    source="student code",
)

training_needs_a_tensor = altered(
    "Policy.training",
    {
        "            mean, variance, values = self.model(torch.as_tensor(inputs, dtype=torch.float32))\n            # A": ""
        "            mean, variance, values = self.model(inputs.float())\n            # A",
    },
    hint="Of which type are the observations of a minibatch?",
)

training_squeezes_one_row = altered(
    "Policy.training",
    {'"distribution": distribution, "values": values}': '"distribution": distribution, "values": values.squeeze()}'},
    hint="Print the shape of the values of a batch of one row.",
    source="student code",
    form=True,
)

training_values_of_the_first_row = altered(
    "Policy.training",
    {'"distribution": distribution, "values": values}': '"distribution": distribution, "values": 0 * values + values[:1]}'},
    hint="Have two different observations the same value?",
)


# Policy.sampling

variance_as_deviation = altered(
    "Policy.sampling",
    {
        "actions = mean + variance.sqrt() * noise": "actions = mean + variance * noise",
        "torch.log(2 * math.pi * variance)": "torch.log(2 * math.pi * variance**2)",
    },
    hint="Of what is the root taken, and where? Try a variance that is not 1.",
    source="student code",
)


drawn_with_variance = altered(
    "Policy.sampling",
    {"actions = mean + variance.sqrt() * noise": "actions = mean + variance * noise"},
    hint="Of what is the root taken, and where? Try a variance that is not 1.",
)

always_the_mean = altered(
    "Policy.sampling",
    {"noise = torch.randn_like(mean)": "noise = torch.zeros_like(mean)"},
    hint="Ask your policy twice: where does it try something new?",
    source="student code",
)

same_noise_at_every_call = altered(
    "Policy.sampling",
    {"noise = torch.randn_like(mean)": "noise = torch.randn(mean.shape, generator=torch.Generator().manual_seed(0))"},
    hint="Ask your policy twice: what does a generator do that is seeded anew in every call?",
)

uniform_noise = altered(
    "Policy.sampling",
    {"noise = torch.randn_like(mean)": "noise = torch.rand_like(mean)"},
    hint="What is the mean of a thousand of your actions?",
    source="student code",
)

one_noise_for_all_dimensions = altered(
    "Policy.sampling",
    {"noise = torch.randn_like(mean)": "noise = torch.randn(*mean.shape[:-1], 1).expand_as(mean)"},
    hint="Should two joints shake in unison?",
    source="student code",
)


log_prob_for_each_dimension = altered(
    "Policy.sampling",
    {"torch.log(2 * math.pi * variance)).sum(-1)": "torch.log(2 * math.pi * variance))"},
    hint="How many numbers describe one action's probability?",
    source="student code",
)

log_prob_in_a_column = altered(
    "Policy.sampling",
    {"torch.log(2 * math.pi * variance)).sum(-1)": "torch.log(2 * math.pi * variance)).sum(-1, keepdim=True)"},
    hint="Which shape have the log-probabilities? Print it for one observation and for a batch.",
    source="student code",
    form=True,
)


log_prob_without_two_pi = altered(
    "Policy.sampling",
    {"torch.log(2 * math.pi * variance)": "torch.log(variance)"},
    hint="Does your density integrate to one?",
    source="student code",
)

log_prob_without_variance = altered(
    "Policy.sampling",
    {"torch.log(2 * math.pi * variance)": "math.log(2 * math.pi)"},
    hint="Does your density integrate to one? Try a variance that is not 1.",
    source="student code",
)


far_actions_likelier = altered(
    "Policy.sampling",
    {
        "-0.5 * (noise**2 + torch.log(2 * math.pi * variance)).sum(-1)": ""
        "0.5 * (noise**2 - torch.log(2 * math.pi * variance)).sum(-1)"
    },
    hint="Is a far action more or less likely?",
    source="student code",
)

log_prob_of_another_sample = altered(
    "Policy.sampling",
    {"variance.sqrt() * noise": "variance.sqrt() * noise\nnoise = torch.randn_like(mean)"},
    hint="Whose log-probability do you return: that of the action that will be played?",
    source="student code",
)

actions_clipped = altered(
    "Policy.sampling",
    {'"actions": actions.numpy()': '"actions": actions.clamp(-1, 1).numpy()'},
    hint="Who cuts actions to the range of the robot? Is what you return what you drew?",
)


played_actions_as_tensors = altered(
    "Policy.sampling",
    {'"actions": actions.numpy()': '"actions": actions'},
    hint="Environments and trajectories are made of arrays: what does your policy return?",
    source="student code",
    form=True,
)


one_observation_as_a_batch = altered(
    "Policy.sampling",
    {
        "        with torch.inference_mode():\n"
        "            mean, variance, values = self.model(torch.as_tensor(inputs, dtype=torch.float32))\n": ""
        "        with torch.inference_mode():\n"
        "            inputs = np.atleast_2d(inputs)\n"
        "            mean, variance, values = self.model(torch.as_tensor(inputs, dtype=torch.float32))\n",
    },
    hint="Print the shape of an action for one observation: would the environment take it?",
    source="student code",
    form=True,
)


sampling_takes_any_precision = altered(
    "Policy.sampling",
    {
        "        with torch.inference_mode():\n"
        "            mean, variance, values = self.model(torch.as_tensor(inputs, dtype=torch.float32))\n": ""
        "        with torch.inference_mode():\n"
        "            mean, variance, values = self.model(torch.as_tensor(inputs))\n",
    },
    hint="Observations may be float64: which precision have the weights of the model?",
    source="student code",
)


actions_clipped_before_log_prob = altered(
    "Policy.sampling",
    {
        "actions = mean + variance.sqrt() * noise": "actions = (mean + variance.sqrt() * noise).clamp(-1, 1)\n"
        "noise = (actions - mean) / variance.sqrt()",
    },
    hint="Who cuts actions to the range of the robot? From which distribution come yours?",
)

actions_squashed = altered(
    "Policy.sampling",
    {
        "actions = mean + variance.sqrt() * noise": "actions = torch.tanh(mean + variance.sqrt() * noise)\n"
        "noise = (actions - mean) / variance.sqrt()",
    },
    hint="From which distribution come your actions: is every one as likely as your log-probability says?",
)

log_prob_averaged = altered(
    "Policy.sampling",
    {"torch.log(2 * math.pi * variance)).sum(-1)": "torch.log(2 * math.pi * variance)).mean(-1)"},
    hint="How likely are two independent things at once: what becomes of their logarithms?",
)

log_of_the_sum_of_densities = altered(
    "Policy.sampling",
    {
        "-0.5 * (noise**2 + torch.log(2 * math.pi * variance)).sum(-1)": ""
        "torch.logsumexp(-0.5 * (noise**2 + torch.log(2 * math.pi * variance)), -1)"
    },
    hint="How likely are two independent things at once: are their probabilities added?",
)

played_values_of_the_first_row = altered(
    "Policy.sampling",
    {'"values": values.numpy()': '"values": np.broadcast_to(values.numpy()[:1], values.shape).copy()'},
    hint="Have two different observations the same value?",
)

played_in_double_precision = altered(
    "Policy.sampling",
    {'"log_probs": log_probs.numpy()': '"log_probs": log_probs.double().numpy()'},
    hint="Which precision have your log-probabilities, and which is asked for?",
    form=True,
)

# GAE

gae_without_resets = altered(
    "GAE",
    {'continues = 1.0 - trajectory["resets"]': "continues = np.ones_like(rewards)"},
    hint="What of the next episode comes into the last row of this one?",
    source="student code",
)

gae_advantages_run_on = altered(
    "GAE",
    {"self.lambda_ * continues[t] * advantage": "self.lambda_ * advantage"},
    hint="Two things come from the future: did you cut both?",
    source="student code",
)

gae_values_run_on = altered(
    "GAE",
    {"self.gamma * continues * next_values": "self.gamma * next_values"},
    hint="Two things come from the future: did you cut both?",
    source="student code",
)

gae_cut_one_row_late = altered(
    "GAE",
    {'continues = 1.0 - trajectory["resets"]': 'continues = 1.0 - np.roll(trajectory["resets"], 1, axis=0)'},
    hint="Whose transition ended the episode: that of row t, or that of the row before?",
    source="student code",
)


gae_cut_after_adding = altered(
    "GAE",
    {
        "self.lambda_ * continues[t] * advantage": "self.lambda_ * advantage",
        "advantages[t] = advantage": "advantages[t] = advantage\nadvantage = advantage * continues[t]",
    },
    hint="Going backwards, which comes first at the last row of an episode: cutting the future, or adding to it?",
    source="student code",
)

gae_own_value_masked = altered(
    "GAE",
    {"+ self.gamma * continues * next_values - values": "+ continues * (self.gamma * next_values - values)"},
    hint="Does a state's own value vanish because the episode ends there?",
    source="student code",
)


gae_resets_the_other_way = altered(
    "GAE",
    {'1.0 - trajectory["resets"]': '1.0 * trajectory["resets"]'},
    hint="Is your factor 1 where the episode ends, or where it goes on?",
)


gae_bootstraps_twice = altered(
    "GAE",
    {
        "deltas = rewards + self.gamma * continues * next_values - values": ""
        "deltas = rewards + self.gamma * continues * next_values - values\n"
        'for index in trajectory["state"].get("truncated", []):\n'
        '    final = trajectory["state"]["final_observations"][index]\n'
        '    final = np.asarray(self.policy.act(final if rewards.ndim == 1 else final[None])["values"])\n'
        "    deltas[index] += self.gamma * float(final.reshape(()))",
    },
    hint="What has BootstrapTruncated added to the reward already?",
)

gae_ends_with_nothing = altered(
    "GAE",
    {
        'latest = np.asarray(self.policy.act(trajectory["state"]["latest_observation"])["values"])': ""
        "latest = np.zeros_like(values[-1])"
    },
    hint="Did the episode end with the last row, or did you just stop watching?",
    source="student code",
)

gae_ends_with_the_last_value = altered(
    "GAE",
    {'latest = np.asarray(self.policy.act(trajectory["state"]["latest_observation"])["values"])': "latest = values[-1]"},
    hint="Which observation comes after the last row, and who knows its value?",
    source="student code",
)

gae_ends_with_the_first_value = altered(
    "GAE",
    {'latest = np.asarray(self.policy.act(trajectory["state"]["latest_observation"])["values"])': "latest = values[0]"},
    hint="What does np.roll put in the last place?",
    source="student code",
)

gae_last_row_left_out = altered(
    "GAE",
    {"reversed(range(len(deltas)))": "reversed(range(len(deltas) - 1))", "np.empty_like(deltas)": "np.zeros_like(deltas)"},
    hint="How many advantages are there for T rewards?",
    source="student code",
)

gae_delta_only = altered(
    "GAE",
    {"deltas[t] + self.gamma * self.lambda_ * continues[t] * advantage": "deltas[t]"},
    hint="What should you get for λ = 1? Where does A_{t+1} come in?",
    source="student code",
)

gae_decay_without_gamma = altered(
    "GAE",
    {"self.gamma * self.lambda_ * continues[t]": "self.lambda_ * continues[t]"},
    hint="What should you get for λ = 0 and for λ = 1? Which two factors does A_{t+1} have?",
    source="student code",
)

gae_decay_without_lambda = altered(
    "GAE",
    {"self.gamma * self.lambda_ * continues[t]": "self.gamma * continues[t]"},
    hint="What should you get for λ = 0? Which two factors does A_{t+1} have?",
    source="student code",
)

gae_delta_without_gamma = altered(
    "GAE",
    {"rewards + self.gamma * continues": "rewards + continues"},
    hint="What is the value of the next state worth today?",
)


gae_own_gamma = altered(
    "GAE",
    {"rewards + self.gamma *": "rewards + 0.99 *", "+ self.gamma * self.lambda_": "+ 0.99 * self.lambda_"},
    hint="Is the γ that you use the one that you are given?",
)


gae_delta_from_returns = altered(
    "GAE",
    {
        "deltas = rewards + self.gamma * continues * next_values - values": "deltas = np.empty_like(rewards)\n"
        "following = next_values[-1]\n"
        "for t in reversed(range(len(rewards))):\n"
        "    following = rewards[t] + self.gamma * continues[t] * following\n"
        "    deltas[t] = following - values[t]",
        "for t in reversed(range(len(deltas))):": "for t in range(len(deltas) - 1, -1, -1):",
    },
    hint="δ is a one-step error: what is its one-step form?",
    source="student code",
)

gae_negated = altered(
    "GAE",
    {"next_values - values\n": "next_values - values\ndeltas = -deltas\n"},
    hint="Is a better-than-expected action given a positive number?",
    source="student code",
    learns=False,
)


gae_forwards = altered(
    "GAE",
    {"for t in reversed(range(len(deltas))):": "for t in range(len(deltas)):"},
    hint="In which direction does the sum go: to the rows before, or to those after?",
)


gae_written_one_row_off = altered(
    "GAE",
    {"advantages[t] = advantage": "advantages[t - 1] = advantage"},
    hint="Which index has row t in your array?",
    source="student code",
)

gae_targets_are_returns = altered(
    "GAE",
    {
        'trajectory["value_targets"] = (advantages + values)': "returns, following = np.empty_like(deltas), next_values[-1]\n"
        "for t in range(len(deltas) - 1, -1, -1):\n"
        "    following = returns[t] = rewards[t] + self.gamma * continues[t] * following\n"
        'trajectory["value_targets"] = returns',
    },
    hint="What are the targets for λ = 0? Yours do not depend on λ.",
    source="student code",
)


gae_targets_of_normalised_advantages = altered(
    "GAE",
    {
        'trajectory["advantages"] = advantages.astype': ""
        "advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)\n"
        'trajectory["advantages"] = advantages.astype',
    },
    hint="Is A + V still a return once you have rescaled A?",
    source="student code",
)

gae_normalises_advantages = altered(
    "GAE",
    {
        'trajectory["advantages"] = advantages.astype(np.float32)': ""
        'trajectory["advantages"] = ((advantages - advantages.mean()) / (advantages.std() + 1e-8)).astype(np.float32)',
    },
    hint="Who normalises the advantages, and over which rows?",
    source="student code",
)

gae_every_row_with_every_other = altered(
    "GAE",
    {
        'values = trajectory["values"].reshape(rewards.shape)': 'values = trajectory["values"]',
        "latest.reshape(1, *rewards.shape[1:])": "latest.reshape(1, *values.shape[1:])",
        '.astype(np.float32).reshape(trajectory["values"].shape)': ".astype(np.float32)",
    },
    hint="Print the shapes of rewards and values: what shape has their difference?",
    source="student code",
)

gae_targets_of_every_pair = altered(
    "GAE",
    {
        '(advantages + values).astype(np.float32).reshape(trajectory["values"].shape)': ""
        '(advantages + trajectory["values"]).astype(np.float32)'
    },
    hint="Print value_targets.shape.",
    source="student code",
)

gae_targets_shaped_like_rewards = altered(
    "GAE",
    {'.astype(np.float32).reshape(trajectory["values"].shape)': ".astype(np.float32)"},
    hint="Print value_targets.shape: what would the value loss do with it beside values of shape [B, 1]?",
    form=True,
)

gae_advantages_in_a_column = altered(
    "GAE",
    {
        'trajectory["advantages"] = advantages.astype(np.float32)': ""
        'trajectory["advantages"] = advantages.astype(np.float32)[..., None]'
    },
    hint="Print advantages.shape: what would the policy loss do with it beside ratios of shape [B]?",
    form=True,
)


gae_overwrites_the_rewards = altered(
    "GAE",
    {
        "deltas = rewards + self.gamma * continues * next_values - values": "deltas = rewards\n"
        "deltas += self.gamma * continues * next_values - values",
    },
    hint="What is in the trajectory's rewards after your function has run?",
    form=True,
)

gae_any_reset_cuts_all = altered(
    "GAE",
    {
        'continues = 1.0 - trajectory["resets"]': 'continues = 1.0 - trajectory["resets"]\n'
        "if continues.ndim > 1:\n    continues[:] = continues.min(axis=1, keepdims=True)",
    },
    hint="One of N environments ends an episode: what becomes of the others?",
)

gae_same_latest_value_for_all = altered(
    "GAE",
    {"latest.reshape(1, *rewards.shape[1:])": "np.broadcast_to(latest.reshape(-1)[0], (1, *rewards.shape[1:]))"},
    hint="How many latest observations has a batched environment?",
)

gae_for_one_environment = altered(
    "GAE",
    {"latest.reshape(1, *rewards.shape[1:])": "[float(latest.reshape(()))]"},
    hint="What is the shape of rewards for a batched environment? How many latest values are there?",
    source="student code",
)

gae_by_powers = altered(
    "GAE",
    {
        "        for t in reversed(range(len(deltas))):\n"
        "            advantage = deltas[t] + self.gamma * self.lambda_ * continues[t] * advantage\n"
        "            advantages[t] = advantage\n": ""
        "        episode = np.cumsum(np.concatenate([np.zeros_like(deltas[:1]), 1 - continues[:-1]]), axis=0)\n"
        "        powers = (self.gamma * self.lambda_) ** np.arange(len(deltas)).reshape(-1, *[1] * (deltas.ndim - 1))\n"
        "        for t in range(len(deltas)):\n"
        "            weighted = np.where(episode[t:] == episode[t], powers[t:] * deltas[t:], 0.0)\n"
        "            advantages[t] = advantage + weighted.sum(axis=0) / powers[t]\n",
    },
    hint="What does your function return for λ = 0, and for a very long trajectory? By what do you divide?",
)

gae_in_lists = altered(
    "GAE",
    {
        'trajectory["advantages"] = advantages.astype(np.float32)': 'trajectory["advantages"] = advantages.tolist()',
    },
    hint="Of what are all the other entries of a trajectory made?",
    source="student code",
    form=True,
)

gae_targets_in_lists = altered(
    "GAE",
    {'.astype(np.float32).reshape(trajectory["values"].shape)': '.reshape(trajectory["values"].shape).tolist()'},
    hint="Of what are all the other entries of a trajectory made?",
    form=True,
)

gae_keeps_the_graph = altered(
    "GAE",
    {
        'trajectory["advantages"] = advantages.astype(np.float32)': ""
        'trajectory["advantages"] = torch.tensor(advantages, dtype=torch.float32, requires_grad=True)'
    },
    hint="Does a gradient flow through your advantages? Are they data, or part of the network?",
    form=True,
)

gae_without_targets = altered(
    "GAE",
    {
        'trajectory["value_targets"] = (advantages + values).astype(np.float32).reshape(trajectory["values"].shape)': "pass",
    },
    hint="Which two entries does your function add?",
)

gae_targets_are_advantages = altered(
    "GAE",
    {"(advantages + values).astype": "advantages.astype"},
    hint="What is the value network to predict: a return, or how much better it was?",
)

end_of_the_next_row = altered(
    "GAE",
    {
        'continues = 1.0 - trajectory["resets"]': ""
        'continues = 1.0 - np.concatenate([trajectory["resets"][1:], trajectory["resets"][-1:]])'
    },
    hint="Which row's reset says that nothing follows row t?",
    source="student code",
)

# TrajectorySampler.shuffle_trajectory

shuffles_nothing = altered(
    "TrajectorySampler.shuffle_trajectory",
    {"self.trajectory[key] = value[order]": "value = value[order]"},
    hint="What is in self.trajectory after your function?",
    source="student code",
)

shuffles_each_key_by_itself = altered(
    "TrajectorySampler.shuffle_trajectory",
    {"self.trajectory[key] = value[order]": "self.trajectory[key] = np.random.permutation(value)"},
    hint="Do all arrays use the same order?",
    source="student code",
)


same_order_at_every_call = altered(
    "TrajectorySampler.shuffle_trajectory",
    {"np.random.permutation(len": "np.random.RandomState(0).permutation(len"},
    hint="Is an order random that you could foretell? What does a generator do that is seeded anew in every call?",
    source="student code",
)

rows_drawn_with_replacement = altered(
    "TrajectorySampler.shuffle_trajectory",
    {
        'np.random.permutation(len(self.trajectory["rewards"]))': ""
        'np.random.randint(len(self.trajectory["rewards"]), size=len(self.trajectory["rewards"]))',
    },
    hint="How often does your order contain each row?",
    source="student code",
)


value_targets_not_shuffled = altered(
    "TrajectorySampler.shuffle_trajectory",
    {'if key != "state":': 'if key not in ("state", "value_targets"):'},
    hint="Do all arrays use the same order? Which key did you forget?",
)


state_lost = altered(
    "TrajectorySampler.shuffle_trajectory",
    {
        "        for key, value in self.trajectory.items():\n"
        '            if key != "state":\n'
        "                self.trajectory[key] = value[order]\n": ""
        '        self.trajectory = {key: value[order] for key, value in self.trajectory.items() if key != "state"}\n',
    },
    hint="Which keys has the trajectory after your function?",
)

state_shuffled_too = altered(
    "TrajectorySampler.shuffle_trajectory",
    {'if key != "state":': "if True:"},
    hint="Which key has no rows?",
    source="student code",
)

reseeds_before_shuffling = altered(
    "TrajectorySampler.shuffle_trajectory",
    {"order = np.random": "np.random.seed(0)\norder = np.random"},
    hint="What does a generator do that is seeded anew in every call?",
    source="student code",
)

shuffled_into_lists = altered(
    "TrajectorySampler.shuffle_trajectory",
    {"self.trajectory[key] = value[order]": "self.trajectory[key] = [value[row] for row in order]"},
    hint="What were the entries of the trajectory before, and what are they now?",
    form=True,
)

log_probs_not_shuffled = altered(
    "TrajectorySampler.shuffle_trajectory",
    {'if key != "state":': 'if key not in ("state", "log_probs"):'},
    hint="Which array keeps its old order?",
)

# TrajectorySampler.get_next

rows_never_shuffled = altered(
    "TrajectorySampler.get_next",
    {"        if self.minibatch_count == 0:\n            self.shuffle_trajectory()\n": ""},
    hint="Where do you shuffle, and when?",
    source="student code",
)

shuffled_once_a_trajectory = altered(
    "TrajectorySampler.get_next",
    {"if self.minibatch_count == 0:": "if self.minibatch_count == 0 and self.epoch_count == 0:"},
    hint="Does the second epoch deal other minibatches than the first?",
    source="student code",
)

first_epoch_not_shuffled = altered(
    "TrajectorySampler.get_next",
    {"if self.minibatch_count == 0:": "if self.minibatch_count == 0 and self.epoch_count > 0:"},
    hint="In which order are the rows of the very first epoch?",
)

shuffled_before_every_minibatch = altered(
    "TrajectorySampler.get_next",
    {"if self.minibatch_count == 0:": "if True:"},
    hint="How often does an epoch use each row if you shuffle in its middle?",
    source="student code",
)

rows_drawn_anew_for_every_minibatch = altered(
    "TrajectorySampler.get_next",
    {
        "{key: value[start:end]": "{key: value[rows].copy()",
        "        minibatch = {": "        rows = np.random.choice(size, end - start, replace=False)\n        minibatch = {",
    },
    hint="How often does an epoch use each row if every minibatch is drawn from all of them?",
    source="student code",
)

rows_left_over_are_dropped = altered(
    "TrajectorySampler.get_next",
    {
        "start = self.minibatch_count * size // self.num_minibatches": ""
        "start = self.minibatch_count * (size // self.num_minibatches)",
        "end = (self.minibatch_count + 1) * size // self.num_minibatches": "end = start + size // self.num_minibatches",
    },
    hint="Ten rows in four minibatches: where are the rows that are left over?",
    source="student code",
)

rows_left_over_in_the_last = altered(
    "TrajectorySampler.get_next",
    {
        "start = self.minibatch_count * size // self.num_minibatches": ""
        "start = self.minibatch_count * (size // self.num_minibatches)",
        "end = (self.minibatch_count + 1) * size // self.num_minibatches": ""
        "last = self.minibatch_count == self.num_minibatches - 1\n"
        "end = size if last else start + size // self.num_minibatches",
    },
    hint="How much larger is your last minibatch than the others?",
    source="student code",
)

last_minibatch_is_short = altered(
    "TrajectorySampler.get_next",
    {
        "start = self.minibatch_count * size // self.num_minibatches": ""
        "start = self.minibatch_count * -(-size // self.num_minibatches)",
        "end = (self.minibatch_count + 1) * size // self.num_minibatches": "end = start + -(-size // self.num_minibatches)",
    },
    hint="How much smaller is your last minibatch than the others?",
    source="student code",
)

rows_left_over_make_one_more = altered(
    "TrajectorySampler.get_next",
    {
        "start = self.minibatch_count * size // self.num_minibatches": ""
        "start = self.minibatch_count * (size // self.num_minibatches)",
        "end = (self.minibatch_count + 1) * size // self.num_minibatches": ""
        "end = min(start + size // self.num_minibatches, size)",
        "if self.minibatch_count == self.num_minibatches:": "if end == size:",
    },
    hint="How many minibatches has your epoch?",
    source="student code",
)

count_taken_for_size = altered(
    "TrajectorySampler.get_next",
    {
        "start = self.minibatch_count * size // self.num_minibatches": "start = self.minibatch_count * self.num_minibatches",
        "end = (self.minibatch_count + 1) * size // self.num_minibatches": "end = min(start + self.num_minibatches, size)",
        "if self.minibatch_count == self.num_minibatches:": "if end == size:",
    },
    hint="Is num_minibatches the number of minibatches, or of their rows?",
    source="student code",
)


new_trajectory_for_every_epoch = altered(
    "TrajectorySampler.get_next",
    {"self.epoch_count == self.num_epochs:": "self.minibatch_count == 0:"},
    hint="How often is each trajectory used? Count the steps of the environment for one update.",
    source="student code",
)


never_a_new_trajectory = altered(
    "TrajectorySampler.get_next",
    {"if self.trajectory is None or self.epoch_count == self.num_epochs:": "if self.trajectory is None:"},
    hint="How often is the runner asked? What does the agent learn after the first trajectory?",
    source="student code",
)

one_epoch_too_many = altered(
    "TrajectorySampler.get_next",
    {"self.epoch_count == self.num_epochs:": "self.epoch_count > self.num_epochs:"},
    hint="Your count of epochs begins at 0: at which number have there been enough?",
    source="student code",
)


count_of_epochs_goes_on = altered(
    "TrajectorySampler.get_next",
    {"            self.epoch_count = self.minibatch_count = 0\n": ""},
    hint="What are your counters when the second trajectory begins?",
    source="student code",
)


transforms_forgotten = altered(
    "TrajectorySampler.get_next",
    {"for transform in self.transforms:": "for transform in []:"},
    hint="Where are the transforms called? Print the mean of a minibatch's advantages.",
    source="student code",
)

transforms_of_the_trajectory = altered(
    "TrajectorySampler.get_next",
    {
        "            self.epoch_count = self.minibatch_count = 0\n": "            self.epoch_count = self.minibatch_count = 0\n"
        "            for transform in self.transforms:\n                transform(self.trajectory)\n",
        "        for transform in self.transforms:\n            transform(minibatch)\n        return": "        return",
    },
    hint="What are the transforms called with, and how often?",
    source="student code",
)


minibatch_lacks_keys = altered(
    "TrajectorySampler.get_next",
    {'if key != "state"}': 'if key in ("observations", "actions", "log_probs", "values", "advantages", "value_targets")}'},
    hint="Which keys of the trajectory are in your minibatch?",
)

environments_not_flattened = altered(
    "TrajectorySampler.get_next",
    {"self._as_rows(self.runner.get_next())": "self.runner.get_next()"},
    hint="How many rows has a trajectory of N environments?",
)


environments_flattened_in_two_orders = altered(
    "TrajectorySampler.get_next",
    {
        'key: value if key == "state" else value.reshape(-1, *value.shape[len(steps_and_envs) :])': ""
        'key: value if key == "state" else '
        "(value.swapaxes(0, 1) if value.ndim > 2 else value).reshape(-1, *value.shape[len(steps_and_envs) :])",
    },
    hint="Row i of the flattened observations and row i of the rewards: are they of one step of one environment?",
)


drops_rows_and_environments = altered(
    "TrajectorySampler.get_next",
    {
        "self._as_rows(self.runner.get_next())": "self.runner.get_next()",
        "start = self.minibatch_count * size // self.num_minibatches": ""
        "start = self.minibatch_count * (size // self.num_minibatches)",
        "end = (self.minibatch_count + 1) * size // self.num_minibatches": "end = start + size // self.num_minibatches",
    },
    hint="Ten rows in four minibatches: where are those left over? How many rows are five steps of two environments?",
)

reseeds_before_every_epoch = altered(
    "TrajectorySampler.get_next",
    {"            self.shuffle_trajectory()\n": "            np.random.seed(0)\n            self.shuffle_trajectory()\n"},
    hint="What does a generator do that is seeded anew before every use?",
    source="student code",
)

minibatch_of_lists = altered(
    "TrajectorySampler.get_next",
    {"{key: value[start:end] for": "{key: list(value[start:end]) for"},
    hint="Of what is a minibatch made: of arrays, or of lists?",
    form=True,
)

# PPO.policy_loss

policy_uphill = altered(
    "PPO.policy_loss",
    {"return -torch.min(ratio": "return torch.min(ratio"},
    hint="Does your optimizer minimise or maximise?",
    source="student code",
    learns=False,
)

policy_larger_product = altered(
    "PPO.policy_loss",
    {"return -torch.min(ratio": "return -torch.max(ratio"},
    hint="Which of the two products is the more pessimistic?",
    source="student code",
)

policy_ratio_of_new_and_new = altered(
    "PPO.policy_loss",
    {'torch.as_tensor(trajectory["log_probs"])': "log_probs.detach()"},
    hint="Both log-probabilities come from the policy of this moment: where is the old one?",
    source="student code",
)

policy_ratio_of_itself = altered(
    "PPO.policy_loss",
    {'torch.as_tensor(trajectory["log_probs"])': "log_probs"},
    hint="Change the weights: does the ratio move? Should the old policy move?",
    source="student code",
)

policy_loss_detached = altered(
    "PPO.policy_loss",
    {"ratio = torch.exp(log_probs - ": "ratio = torch.exp(log_probs.detach() - "},
    hint="Which operations connect your loss to the weights?",
    source="student code",
)

policy_samples_again = altered(
    "PPO.policy_loss",
    {'torch.as_tensor(trajectory["actions"])': 'act["distribution"].sample()'},
    hint="Whose action is the old log-probability for?",
    source="student code",
)

policy_difference_without_exp = altered(
    "PPO.policy_loss",
    {"torch.exp(log_probs - ": "(log_probs - "},
    hint="How do you get a ratio from two logarithms?",
    source="student code",
)

policy_ratio_of_logarithms = altered(
    "PPO.policy_loss",
    {"torch.exp(log_probs - ": "(log_probs / "},
    hint="How do you get a ratio from two logarithms?",
    source="student code",
)

policy_ratio_upside_down = altered(
    "PPO.policy_loss",
    {"torch.exp(log_probs - ": "torch.exp(-log_probs + "},
    hint="Which policy stands above the line of the ratio, and which below?",
)

policy_clamps_the_product = altered(
    "PPO.policy_loss",
    {
        "clipped_ratio = ratio.clamp(1 - self.cliprange, 1 + self.cliprange)": ""
        "clipped = (ratio * advantages).clamp(1 - self.cliprange, 1 + self.cliprange)",
        "clipped_ratio * advantages)": "clipped)",
    },
    hint="What is being limited, the ratio or the product?",
    source="student code",
)

policy_clamps_around_zero = altered(
    "PPO.policy_loss",
    {"ratio.clamp(1 - self.cliprange, 1 + self.cliprange)": "ratio.clamp(-self.cliprange, self.cliprange)"},
    hint="Around which value should the ratio stay?",
    source="student code",
)


policy_never_clipped = altered(
    "PPO.policy_loss",
    {"torch.min(ratio * advantages, clipped_ratio * advantages)": "(ratio * advantages)"},
    hint="What keeps the ratio near 1?",
)

policy_only_clipped = altered(
    "PPO.policy_loss",
    {"torch.min(ratio * advantages, clipped_ratio * advantages)": "(clipped_ratio * advantages)"},
    hint="Does your loss compare the clipped and the unclipped product, row by row, and take the smaller one?",
)

policy_clipped_above_only = altered(
    "PPO.policy_loss",
    {"ratio.clamp(1 - self.cliprange, 1 + self.cliprange)": "ratio.clamp(max=1 + self.cliprange)"},
    hint="The ratio can leave the range on two sides: which one do you stop?",
)


policy_own_clip_range = altered(
    "PPO.policy_loss",
    {"ratio.clamp(1 - self.cliprange, 1 + self.cliprange)": "ratio.clamp(0.8, 1.2)"},
    hint="Is the clip range that you use the one that PPO was given?",
)

policy_minimum_of_the_ratios = altered(
    "PPO.policy_loss",
    {"torch.min(ratio * advantages, clipped_ratio * advantages)": "(torch.min(ratio, clipped_ratio) * advantages)"},
    hint="Of what is the minimum taken: of the ratios, or of their products with the advantage?",
)


policy_ratio_for_each_dimension = altered(
    "PPO.policy_loss",
    {
        'act["distribution"].log_prob(torch.as_tensor(trajectory["actions"]))': ""
        'Normal(act["distribution"].mean, act["distribution"].stddev).log_prob(torch.as_tensor(trajectory["actions"]))',
        'torch.as_tensor(trajectory["log_probs"])': 'torch.as_tensor(trajectory["log_probs"])[:, None]',
        'torch.as_tensor(trajectory["advantages"])': 'torch.as_tensor(trajectory["advantages"])[:, None]',
    },
    hint="What is the probability of the whole action vector? Print the shape of your ratio.",
    source="student code",
)

policy_ratio_of_every_pair = altered(
    "PPO.policy_loss",
    {"torch.exp(log_probs - ": "torch.exp(log_probs[:, None] - "},
    hint="What shape is the ratio?",
    source="student code",
)

policy_ratio_with_every_advantage = altered(
    "PPO.policy_loss",
    {'torch.as_tensor(trajectory["advantages"])': 'torch.as_tensor(trajectory["advantages"])[:, None]'},
    hint="What shape is the ratio, and what shape has its product with the advantage?",
    source="student code",
)

policy_loss_summed = altered(
    "PPO.policy_loss",
    {"clipped_ratio * advantages).mean()": "clipped_ratio * advantages).sum()"},
    hint="Is it a sum or a mean? What happens to the step size when the minibatch grows?",
)


policy_with_entropy_bonus = altered(
    "PPO.policy_loss",
    {"clipped_ratio * advantages).mean()": 'clipped_ratio * advantages).mean() - 0.01 * act["distribution"].entropy().mean()'},
    hint="Which term is in your loss that nobody asked for?",
    source="student code",
)


policy_is_vanilla = altered(
    "PPO.policy_loss",
    {"torch.min(ratio * advantages, clipped_ratio * advantages)": "(log_probs * advantages)"},
    hint="This is the vanilla policy gradient: where is the old policy?",
    source="student code",
)


policy_ratio_averaged_before_exp = altered(
    "PPO.policy_loss",
    {
        'ratio = torch.exp(log_probs - torch.as_tensor(trajectory["log_probs"]))': ""
        'actions = torch.as_tensor(trajectory["actions"])\n'
        'ratio = torch.exp((log_probs - torch.as_tensor(trajectory["log_probs"])) / actions.shape[-1])',
    },
    hint="A ratio of whole action vectors: is its logarithm a sum over the dimensions, or their mean?",
)

policy_needs_tensors = altered(
    "PPO.policy_loss",
    {
        'torch.as_tensor(trajectory["advantages"])': 'trajectory["advantages"].detach()',
        'torch.as_tensor(trajectory["actions"])': 'trajectory["actions"]',
        'torch.as_tensor(trajectory["log_probs"])': 'trajectory["log_probs"]',
    },
    hint="Of which type are the entries of a minibatch?",
    source="student code",
    learns=False,
)

policy_advantages_overwritten = altered(
    "PPO.policy_loss",
    {
        "return -torch.min": 'trajectory["advantages"] -= trajectory["advantages"].mean()\nreturn -torch.min',
    },
    hint="What is in the minibatch after your function has run? And after it has run again?",
)

policy_loss_of_a_number = altered(
    "PPO.policy_loss",
    {"clipped_ratio * advantages).mean()": "clipped_ratio * advantages).mean().item()"},
    hint="What can an optimizer do with a plain number?",
    learns=False,
)


# PPO.value_loss

value_smaller_error = altered(
    "PPO.value_loss",
    {"return torch.max(": "return torch.min("},
    hint="Pessimistic means which of the two errors?",
    source="student code",
)

value_never_clipped = altered(
    "PPO.value_loss",
    {"torch.max((values - targets) ** 2, (clipped_values - targets) ** 2)": "((values - targets) ** 2)"},
    hint="When would your loss differ from the plain squared error? Near what should the value stay, and of when is that?",
    source="student code",
)

value_only_clipped = altered(
    "PPO.value_loss",
    {"torch.max((values - targets) ** 2, (clipped_values - targets) ** 2)": "((clipped_values - targets) ** 2)"},
    hint="A value has moved by more than ε, in the wrong direction: what gradient has it in your loss?",
)

value_difference_from_the_target = altered(
    "PPO.value_loss",
    {"(values - old_values).clamp": "(values - targets).clamp"},
    hint="Near what should the new prediction stay? Which difference is cut?",
)

value_new_is_old = altered(
    "PPO.value_loss",
    {'values, targets = act["values"],': 'values, targets = torch.as_tensor(trajectory["values"]),'},
    hint="Which network output should the loss improve: the recorded one, or that of now?",
    source="student code",
)

value_loss_detached = altered(
    "PPO.value_loss",
    {'values, targets = act["values"],': 'values, targets = act["values"].detach(),'},
    hint="After backward, has the value network a gradient?",
    source="student code",
)

value_itself_clamped = altered(
    "PPO.value_loss",
    {"old_values + (values - old_values).clamp(": "values.clamp("},
    hint="What is cut to ±ε: the value, or how far it has moved?",
    source="student code",
)


value_own_clip_range = altered(
    "PPO.value_loss",
    {".clamp(-self.cliprange, self.cliprange)": ".clamp(-0.2, 0.2)"},
    hint="Is the clip range that you use the one that PPO was given?",
)

value_of_every_pair = altered(
    "PPO.value_loss",
    {'values, targets = act["values"],': 'values, targets = act["values"].squeeze(-1),'},
    hint="What shape has the difference of [B] and [B, 1]?",
    source="student code",
)


value_loss_summed = altered(
    "PPO.value_loss",
    {"(clipped_values - targets) ** 2).mean()": "(clipped_values - targets) ** 2).sum()"},
    hint="Is it a sum or a mean?",
)

value_larger_mean = altered(
    "PPO.value_loss",
    {
        "(values - targets) ** 2, (clipped_values - targets) ** 2).mean()": ""
        "((values - targets) ** 2).mean(), ((clipped_values - targets) ** 2).mean())"
    },
    hint="Is the larger error chosen for each row, or for all together?",
    source="student code",
)

value_loss_halved = altered(
    "PPO.value_loss",
    {"return torch.max(": "return 0.5 * torch.max("},
    hint="Is there a factor of one half in the formula?",
    source="student code",
)


value_uphill = altered(
    "PPO.value_loss",
    {"return torch.max(": "return -torch.max("},
    hint="An optimizer minimises: should the error grow or shrink?",
)


value_needs_tensors = altered(
    "PPO.value_loss",
    {
        'torch.as_tensor(trajectory["value_targets"])': 'trajectory["value_targets"].detach()',
        'torch.as_tensor(trajectory["values"])': 'trajectory["values"].detach()',
    },
    hint="Of which type are the entries of a minibatch?",
    source="student code",
    learns=False,
)

value_targets_overwritten = altered(
    "PPO.value_loss",
    {"return torch.max(": 'trajectory["value_targets"] *= 0.5\nreturn torch.max('},
    hint="What is in the minibatch after your function has run?",
)


# PPO.step

gradients_pile_up = altered(
    "PPO.step",
    {"        self.optimizer.zero_grad()\n": ""},
    hint="What is in .grad before backward adds to it?",
    source="student code",
)

gradient_cleared_before_the_step = altered(
    "PPO.step",
    {"        self.optimizer.zero_grad()\n": "", "loss.backward()": "loss.backward()\nself.optimizer.zero_grad()"},
    hint="What does the optimizer find in .grad?",
    source="student code",
    learns=False,
)

gradient_not_clipped = altered(
    "PPO.step",
    {"        nn.utils.clip_grad_norm_(self.policy.model.parameters(), self.max_grad_norm)\n": ""},
    hint="Where is max_grad_norm used? Is the gradient there by then, and still to be used?",
    source="student code",
)

clipped_by_value = altered(
    "PPO.step",
    {"nn.utils.clip_grad_norm_(": "nn.utils.clip_grad_value_("},
    hint="What is limited: each number of the gradient, or its length?",
    source="student code",
)

clipped_parameter_by_parameter = altered(
    "PPO.step",
    {
        "nn.utils.clip_grad_norm_(self.policy.model.parameters(), self.max_grad_norm)": ""
        "for parameter in self.policy.model.parameters():\n"
        "    nn.utils.clip_grad_norm_(parameter, self.max_grad_norm)",
    },
    hint="Whose length is limited: that of each parameter's gradient, or of all together?",
)

gradient_always_of_full_length = altered(
    "PPO.step",
    {
        "nn.utils.clip_grad_norm_(self.policy.model.parameters(), self.max_grad_norm)": ""
        "parameters = [one for one in self.policy.model.parameters() if one.grad is not None]\n"
        "length = torch.stack([one.grad.norm() for one in parameters]).norm()\n"
        "for one in parameters:\n"
        "    one.grad.mul_(self.max_grad_norm / (length + 1e-6))",
    },
    hint="What becomes of a gradient that is shorter than max_grad_norm?",
)


own_max_grad_norm = altered(
    "PPO.step",
    {"parameters(), self.max_grad_norm)": "parameters(), 0.5)"},
    hint="Is the length that you allow the one that PPO was given?",
)


two_updates = altered(
    "PPO.step",
    {"self.optimizer.step()": "self.optimizer.step()\nself.optimizer.step()"},
    hint="How many updates does one minibatch make?",
)


never_updates = altered(
    "PPO.step",
    {"self.optimizer.step()": "pass"},
    hint="Which line changes the weights? Compare them before and after.",
    source="student code",
    learns=False,
)

updates_uphill = altered(
    "PPO.step",
    {"loss.backward()": "(-loss).backward()"},
    hint="Do the weights move so that the loss falls?",
    learns=False,
)


step_of_the_policy_loss = altered(
    "PPO.step",
    {
        "loss = self.loss(trajectory)": ""
        'loss = self.policy_loss(trajectory, self.policy.act(trajectory["observations"], training=True))'
    },
    hint="Which losses are in the sum? Who trains the value network?",
    source="student code",
)

step_of_the_value_loss = altered(
    "PPO.step",
    {
        "loss = self.loss(trajectory)": ""
        'loss = self.value_loss(trajectory, self.policy.act(trajectory["observations"], training=True))'
    },
    hint="Which losses are in the sum? Who trains the policy?",
    learns=False,
)

losses_added_without_weight = altered(
    "PPO.step",
    {
        "loss = self.loss(trajectory)": 'act = self.policy.act(trajectory["observations"], training=True)\n'
        "loss = self.policy_loss(trajectory, act) + self.value_loss(trajectory, act)",
    },
    hint="How much does the value loss weigh beside the policy's?",
    source="student code",
)

advantages_spent_by_the_step = altered(
    "PPO.step",
    {"loss.backward()": 'loss.backward()\ntrajectory.pop("advantages")'},
    hint="What is in the minibatch after your step?",
)

# anneal_learning_rate

rate_below_zero = altered(
    "anneal_learning_rate",
    {"max(1 - interactions / total_interactions, 0.0)": "1 - interactions / total_interactions"},
    hint="The last trajectory may go beyond the end: what is the learning rate then?",
    source="student code",
)

rate_rises = altered(
    "anneal_learning_rate",
    {"max(1 - interactions / total_interactions, 0.0)": "min(interactions / total_interactions, 1.0)"},
    hint="What is the learning rate at the beginning, and what at the end?",
)

rate_constant = altered(
    "anneal_learning_rate",
    {"max(1 - interactions / total_interactions, 0.0)": "1.0"},
    hint="What is the learning rate at the beginning, and what at the end?",
)


rate_squared = altered(
    "anneal_learning_rate",
    {"initial * remaining": "initial * remaining**2"},
    hint="Is your curve a straight line? What is the rate after half of the interactions?",
)


first_group_only = altered(
    "anneal_learning_rate",
    {"in optimizer.param_groups:": "in optimizer.param_groups[:1]:"},
    hint="How many groups of parameters has the optimizer?",
    source="student code",
)

rate_from_the_last_one = altered(
    "anneal_learning_rate",
    {"initial * remaining": 'group["lr"] * remaining'},
    hint="Call your function twice with the same numbers: where does the line begin?",
    source="student code",
)

initial_rate_ignored = altered(
    "anneal_learning_rate",
    {"initial * remaining": "3e-4 * remaining"},
    hint="Is the rate that you begin with the one that you are given?",
    source="student code",
)

rate_in_a_tensor = altered(
    "anneal_learning_rate",
    {"initial * remaining": "torch.tensor(initial * remaining, dtype=torch.float64)"},
    hint="Which type has a learning rate in param_groups?",
    form=True,
)

groups_made_anew = altered(
    "anneal_learning_rate",
    {'group["lr"] = initial * remaining': 'group["lr"] = initial * remaining\ngroup["eps"] = 1e-8'},
    hint="What else have you changed in the groups?",
    form=True,
)
