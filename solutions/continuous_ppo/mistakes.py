"""Mistakes of `continuous_ppo`, each with the hint that a good tutor gives: a question, not the answer.

`verify` proves that each loses points on its question. `build` stores what the checks see of each, so
that students who make the same mistake get its hint. If several mistakes explain a student's results,
the first hint in this file is shown: general mistakes come first. Nearly all mistakes change a line or
two of a class that has several questions; hence `altered`.
"""

from grader.proof.catalogue import altered

# Summaries

sums_run_on = altered(
    "Summaries",
    {"        self._return = 0.0\n        self._length = 0\n        return": "        return"},
    hint="What do your sums contain at the first step of the second episode?",
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
    hint="What do your sums contain after a `reset` in the middle of an episode?",
)

ends_of_both_kinds_left_out = altered(
    "Summaries",
    {"if terminated or truncated:": "if terminated != truncated:"},
    hint="Which of your conditions is true if a step is both terminated and truncated?",
    source="student code",
)

time_limit_is_no_end = altered(
    "Summaries",
    {"if terminated or truncated:": "if terminated:"},
    hint="In which two ways can an episode end, and which of them does your condition check?",
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
    hint="When does an episode end: at its last step, or when the next episode starts?",
    source="student code",
)

interactions_counted_at_the_end = altered(
    "Summaries",
    {
        "        self.interactions += 1\n": "",
        "        if terminated or truncated:\n            self.episode_returns.append(self._return)": ""
        "        if terminated or truncated:\n"
        "            self.interactions += self._length\n"
        "            self.episode_returns.append(self._return)",
    },
    hint="What is `interactions` in the middle of an episode?",
    source="student code",
)

last_reward_not_counted = altered(
    "Summaries",
    {"self._return += float(reward)": "self._return += 0.0 if terminated or truncated else float(reward)"},
    hint="Does the return contain the reward of the last step?",
    source="student code",
)

last_reward_as_return = altered(
    "Summaries",
    {"self._return += float(reward)": "self._return = float(reward)"},
    hint="Is a return the last reward, or the sum of all rewards?",
)


sum_so_far_returned = altered(
    "Summaries",
    {"return observation, reward,": "return observation, self._return,"},
    hint="Which reward does `step` return: the reward of this step, or the sum so far?",
)


window_of_all_wrappers = altered(
    "Summaries",
    {
        "self.moving_averages.append(float(np.mean(self.episode_returns[-self.window :])))": ""
        'Summaries.latest = [*getattr(Summaries, "latest", []), self._return][-self.window :]\n'
        "self.moving_averages.append(float(np.mean(Summaries.latest)))"
    },
    hint="Does the list of latest returns belong to one wrapper, or to the class?",
    source="student code",
)

moving_average_of_everything = altered(
    "Summaries",
    {"self.episode_returns[-self.window :]": "self.episode_returns"},
    hint="Over how many episodes do you take the moving average?",
    source="student code",
)


moving_average_over_the_window = altered(
    "Summaries",
    {
        "float(np.mean(self.episode_returns[-self.window :]))": ""
        "float(np.sum(self.episode_returns[-self.window :]) / self.window)"
    },
    hint="While there are fewer episodes than `window`, what do you divide the sum of their returns by?",
    source="student code",
)

moving_average_of_earlier_episodes = altered(
    "Summaries",
    {
        "self.moving_averages.append(float(np.mean(self.episode_returns[-self.window :])))": ""
        "earlier = self.episode_returns[:-1][-self.window :]\n"
        "self.moving_averages.append(float(np.mean(earlier)) if earlier else self._return)"
    },
    hint="Does your moving average contain the return of the episode that has just ended?",
    source="student code",
)

interactions_of_one_episode = altered(
    "Summaries",
    {
        "        self._return = 0.0\n        self._length = 0\n        return": ""
        "        self._return = 0.0\n        self._length = 0\n        self.interactions = 0\n        return"
    },
    hint="Does the number of interactions start again from 0 in every episode?",
)


writer_counts_episodes = altered(
    "Summaries",
    {
        '"episode_return", self._return, self.interactions': '"episode_return", self._return, len(self.episode_returns)',
        '"episode_length", self._length, self.interactions': '"episode_length", self._length, len(self.episode_returns)',
        "self.moving_averages[-1], self.interactions": "self.moving_averages[-1], len(self.episode_returns)",
    },
    hint="Which number do you pass to the writer as the step: episodes, or interactions?",
)

writer_needed = altered(
    "Summaries",
    {"if self.writer is not None:": "if True:"},
    hint="What does your wrapper do if the writer is None?",
)


step_of_the_old_interface = altered(
    "Summaries",
    {"return observation, reward, terminated, truncated,": "return observation, reward, terminated or truncated,"},
    hint="How many values does gymnasium's step return, and in which order?",
    source="Practical RL, week 9",
)

begins_the_next_episode_itself = altered(
    "Summaries",
    {
        "        return observation, reward,": "        if terminated or truncated:\n"
        "            observation, info = self.reset()\n"
        "        return observation, reward,"
    },
    hint="Who calls `reset` at the end of an episode: your wrapper, or the code that uses it?",
)

reset_loses_its_seed = altered(
    "Summaries",
    {"self.env.reset(**kwargs)": "self.env.reset()"},
    hint="What does your wrapper do with the seed that `reset` receives?",
)


lengths_as_floats = altered(
    "Summaries",
    {"self.episode_lengths.append(self._length)": "self.episode_lengths.append(float(self._length))"},
    hint="What type do the entries of your list of lengths have?",
    form=True,
)

returns_as_tensors = altered(
    "Summaries",
    {"self.episode_returns.append(self._return)": "self.episode_returns.append(torch.tensor(self._return))"},
    hint="What type do the entries of your list of returns have?",
    form=True,
)


average_of_the_first_episodes = altered(
    "Summaries",
    {"self.episode_returns[-self.window :]": "self.episode_returns[: self.window]"},
    hint="Which episodes does your moving average use: the first, or the latest?",
    source="student code",
)

# Model.layers

init_of_torch = altered(
    "Model.layers",
    {"nn.init.orthogonal_(layer.weight, gain=math.sqrt(2))": "pass"},
    hint="Which function initializes your weight matrices: torch's default, or `nn.init.orthogonal_`?",
    source="student code",
)


gain_of_one = altered(
    "Model.layers",
    {"orthogonal_(layer.weight, gain=math.sqrt(2))": "orthogonal_(layer.weight)"},
    hint="By which factor (gain) should the orthogonal matrices be multiplied?",
    source="student code",
)


gain_of_tanh = altered(
    "Model.layers",
    {"gain=math.sqrt(2)": "gain=5 / 3"},
    hint="Which gain does the docstring ask for?",
    source="student code",
)

small_head_of_the_policy = altered(
    "Model.layers",
    {
        "self.value_net = self._network(obs_dim, 1)": "self.value_net = self._network(obs_dim, 1)\n"
        "nn.init.orthogonal_(self.policy_net[4].weight, gain=0.01)"
    },
    hint="Do all layers have the same gain, as in the docstring?",
    source="student code",
)

biases_of_torch = altered(
    "Model.layers",
    {"nn.init.zeros_(layer.bias)": "pass"},
    hint="What are the initial values of the biases?",
    source="student code",
)


one_network_left_as_it_was = altered(
    "Model.layers",
    {
        "self.value_net = self._network(obs_dim, 1)": "self.value_net = nn.Sequential(\n"
        "    nn.Linear(obs_dim, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)\n"
        ")"
    },
    hint="Which networks have orthogonal weights and zero biases: both, or only one?",
    placements={
        "the policy": {
            "self.policy_net = self._network(obs_dim, act_dim)": "self.policy_net = nn.Sequential(\n"
            "    nn.Linear(obs_dim, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, act_dim)\n"
            ")"
        }
    },
    source="student code",
)

one_hidden_layer = altered(
    "Model.layers",
    {"layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2]": "layers[0], nn.Tanh(), layers[2]"},
    hint="How many linear layers does each network have?",
)


shared_trunk = altered(
    "Model.layers",
    {
        "self.value_net = self._network(obs_dim, 1)": ""
        "self.value_net = nn.Sequential(*self.policy_net[:4], self._network(64, 1)[4])"
    },
    hint="Do the policy and the value function share any weights?",
    source="student code",
)

vector_starts_at_one = altered(
    "Model.layers",
    {"torch.zeros(act_dim)": "torch.ones(act_dim)"},
    hint="What should the variance be before training?",
)

vector_is_no_parameter = altered(
    "Model.layers",
    {"nn.Parameter(torch.zeros(act_dim))": "torch.zeros(act_dim, requires_grad=True)"},
    hint="Is the vector in model.parameters(), so that the optimizer can update it?",
    source="student code",
)


one_number_for_all_dimensions = altered(
    "Model.layers",
    {"torch.zeros(act_dim)": "torch.zeros(1)"},
    hint="How many numbers does the vector have?",
)


variance_of_the_state = altered(
    "Model.layers",
    {
        "nn.Parameter(torch.zeros(act_dim))": "self._network(obs_dim, act_dim)",
        "self.log_variance.exp()": "self.log_variance(observations).exp()",
    },
    hint="Should the variance depend on the state?",
    source="student code",
)


network_hidden_in_a_list = altered(
    "Model.layers",
    {
        "self.value_net = self._network(obs_dim, 1)": "self.value_net = [self._network(obs_dim, 1)]",
        "self.value_net(observations)": "self.value_net[0](observations)",
    },
    hint="Which of your layers are missing from model.parameters()?",
    source="student code",
)

parameters_in_double_precision = altered(
    "Model.layers",
    {
        "self.log_variance = nn.Parameter(torch.zeros(act_dim))": ""
        "self.log_variance = nn.Parameter(torch.zeros(act_dim))\nself.double()"
    },
    hint="What dtype do your parameters have, and what dtype do the observations have?",
)

every_model_alike = altered(
    "Model.layers",
    {"layers = [nn.Linear(inputs, 64)": "torch.manual_seed(outputs)\nlayers = [nn.Linear(inputs, 64)"},
    hint="If you create two models, do they start with the same weights?",
)

# Model.forward

relu_between = altered(
    "Model.forward",
    {"layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2]": "layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2]"},
    hint="Which function do you apply between the linear layers?",
    source="student code",
)

nothing_between = altered(
    "Model.forward",
    {"layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2]": "layers[0], nn.Tanh(), layers[1], layers[2]"},
    hint="What can two linear layers compute if there is no nonlinearity between them?",
)

tanh_behind_each_head = altered(
    "Model.forward",
    {"nn.Tanh(), layers[2])": "nn.Tanh(), layers[2], nn.Tanh())"},
    hint="Which values can your networks output, and which values can a mean or a return have?",
    source="student code",
)

vector_returned = altered(
    "Model.forward",
    {"self.log_variance.exp()": "self.log_variance"},
    hint="How do you turn a vector that may be negative into a variance?",
    source="student code",
)

log_variance_bounded = altered(
    "Model.forward",
    {"self.log_variance.exp()": "self.log_variance.clamp(-5.0, 2.0).exp()"},
    hint="Which variances can your model never return?",
    source="student code",
)

deviation_returned = altered(
    "Model.forward",
    {"self.log_variance.exp()": "(0.5 * self.log_variance).exp()"},
    hint="Do you return the variance, or the standard deviation?",
    source="student code",
)

vector_as_log_deviation = altered(
    "Model.forward",
    {"self.log_variance.exp()": "(2 * self.log_variance).exp()"},
    hint="What is the exponential of the vector: the variance, or the standard deviation?",
    source="student code",
)


value_without_gradient = altered(
    "Model.forward",
    {"self.value_net(observations)": "self.value_net(observations).detach()"},
    hint="If you call backward() on each of the three outputs, which parameters get no gradient?",
)


mean_squashed = altered(
    "Model.forward",
    {"self.policy_net(observations)": "torch.tanh(self.policy_net(observations))"},
    hint="Which values can the mean of your policy have?",
    source="student code",
)


one_observation_becomes_a_batch = altered(
    "Model.forward",
    {"return self.policy_net": "observations = observations.reshape(-1, observations.shape[-1])\nreturn self.policy_net"},
    hint="If you pass one observation, without an axis B, how many axes does your result have?",
    form=True,
)

batch_of_one_squeezed_away = altered(
    "Model.forward",
    {"self.policy_net(observations)": "self.policy_net(observations).squeeze(0)"},
    hint="Which axis is missing in the shape of your mean for a batch of one row?",
    form=True,
)

value_of_the_policys_layers = altered(
    "Model.forward",
    {"self.value_net(observations)": "self.value_net[-1](self.policy_net[:-1](observations))"},
    hint="Which network's hidden layers does your value come from?",
    source="student code",
)

value_of_the_whole_batch = altered(
    "Model.forward",
    {"self.value_net(observations)": "self.value_net(observations).mean() * torch.ones_like(self.value_net(observations))"},
    hint="Do two different observations get the same value?",
)

# Policy.training

variance_as_deviation_in_training = altered(
    "Policy.training",
    {"Normal(mean, variance.sqrt(), validate": "Normal(mean, variance, validate"},
    hint="What does this argument of the distribution take: the variance, or the standard deviation?",
    source="student code",
)

deviation_as_variance_in_training = altered(
    "Policy.training",
    {
        "Independent(Normal(mean, variance.sqrt(), validate_args=False), 1, validate_args=False)": ""
        "torch.distributions.MultivariateNormal(mean, torch.diag(variance.sqrt()))"
    },
    hint="What does MultivariateNormal take on its diagonal: variances, or standard deviations?",
)

exponential_twice_in_training = altered(
    "Policy.training",
    {"Normal(mean, variance.sqrt(), validate": "Normal(mean, variance.exp().sqrt(), validate"},
    hint="Where do you take the exponential: in Model, in Policy, or in both?",
)

deviation_of_the_first_call = altered(
    "Policy.training",
    {
        "distribution = Independent(Normal(mean, variance.sqrt(),": ""
        'self.deviation = getattr(self, "deviation", variance.sqrt().detach().reshape(-1, mean.shape[-1])[0])\n'
        "distribution = Independent(Normal(mean, self.deviation.expand_as(mean),"
    },
    hint="The variance changes with every step of the optimizer: which variance does your policy use?",
)

mean_squashed_in_training = altered(
    "Policy.training",
    {"Normal(mean, variance.sqrt(), validate": "Normal(torch.tanh(mean), variance.sqrt(), validate"},
    hint="Is the mean of your distribution the mean that the model returns?",
    source="student code",
)

a_number_for_each_dimension = altered(
    "Policy.training",
    {
        "Independent(Normal(mean, variance.sqrt(), validate_args=False), 1, validate_args=False)": ""
        "Normal(mean, variance.sqrt())"
    },
    hint="What shape does log_prob have for a batch of whole action vectors?",
    source="student code",
)


training_forgotten = altered(
    "Policy.training",
    {"if training:": "if training and False:"},
    hint="What does `training=True` change in the result of act?",
    learns=False,
)

training_without_gradient = altered(
    "Policy.training",
    {
        "            mean, variance, values = self.model(torch.as_tensor(inputs, dtype=torch.float32))\n            # A": ""
        "            with torch.no_grad():\n"
        "                mean, variance, values = self.model(torch.as_tensor(inputs, dtype=torch.float32))\n            # A"
    },
    hint="Which operations connect the distribution with the model's weights, and do they record a gradient?",
    source="student code",
    learns=False,
)


training_values_detached = altered(
    "Policy.training",
    {'"distribution": distribution, "values": values}': '"distribution": distribution, "values": values.detach()}'},
    hint="Which weights should the value loss train, and does its gradient reach them?",
)

training_values_in_numpy = altered(
    "Policy.training",
    {'"distribution": distribution, "values": values}': '"distribution": distribution, "values": values.detach().numpy()}'},
    hint="In which mode does act return arrays, and in which mode tensors?",
)


training_takes_any_precision = altered(
    "Policy.training",
    {
        "            mean, variance, values = self.model(torch.as_tensor(inputs, dtype=torch.float32))\n            # A": ""
        "            mean, variance, values = self.model(torch.as_tensor(inputs))\n            # A"
    },
    hint="Observations may be float64: what dtype do the weights of the model have?",
    source="student code",
)

training_needs_a_tensor = altered(
    "Policy.training",
    {
        "            mean, variance, values = self.model(torch.as_tensor(inputs, dtype=torch.float32))\n            # A": ""
        "            mean, variance, values = self.model(inputs.float())\n            # A"
    },
    hint="What type do the observations of a minibatch have: array, or tensor?",
)

training_squeezes_one_row = altered(
    "Policy.training",
    {'"distribution": distribution, "values": values}': '"distribution": distribution, "values": values.squeeze()}'},
    hint="What shape do your values have for a batch of one row?",
    source="student code",
    form=True,
)

training_values_of_the_first_row = altered(
    "Policy.training",
    {'"distribution": distribution, "values": values}': '"distribution": distribution, "values": 0 * values + values[:1]}'},
    hint="Do two different observations get the same value?",
)


# Policy.sampling

variance_as_deviation = altered(
    "Policy.sampling",
    {
        "actions = mean + variance.sqrt() * noise": "actions = mean + variance * noise",
        "torch.log(2 * math.pi * variance)": "torch.log(2 * math.pi * variance**2)",
    },
    hint="Where do you use the variance, and where its square root?",
    source="student code",
)


actions_of_one_row_lose_their_axis = altered(
    "Policy.sampling",
    {'"actions": actions.numpy()': '"actions": actions.squeeze(0).numpy()'},
    hint="What shape do your actions have for a batch of one row?",
    source="student code",
    form=True,
)

drawn_with_variance = altered(
    "Policy.sampling",
    {"actions = mean + variance.sqrt() * noise": "actions = mean + variance * noise"},
    hint="Where do you use the variance, and where its square root?",
)

always_the_mean = altered(
    "Policy.sampling",
    {"noise = torch.randn_like(mean)": "noise = torch.zeros_like(mean)"},
    hint="If you call act twice with the same observation, are the two actions different?",
    source="student code",
)

same_noise_at_every_call = altered(
    "Policy.sampling",
    {"noise = torch.randn_like(mean)": "noise = torch.randn(mean.shape, generator=torch.Generator().manual_seed(0))"},
    hint="Which noise does a generator return if you seed it again in every call?",
)

deviation_of_the_first_action = altered(
    "Policy.sampling",
    {
        "actions = mean + variance.sqrt() * noise": ""
        'self.deviation = getattr(self, "deviation", variance.sqrt())\n'
        "actions = mean + self.deviation * noise"
    },
    hint="The variance changes with every step of the optimizer: which variance do you use to sample actions?",
    source="student code",
)

results_overwritten_by_the_next_call = altered(
    "Policy.sampling",
    {
        'return {"actions": actions.numpy()': 'if getattr(self, "actions", np.empty(0)).shape != actions.shape:\n'
        "    self.actions = np.empty(actions.shape, np.float32)\n"
        "self.actions[...] = actions\n"
        'return {"actions": self.actions'
    },
    hint="What do the actions of one call contain after the next call?",
    source="student code",
)


uniform_noise = altered(
    "Policy.sampling",
    {"noise = torch.randn_like(mean)": "noise = torch.rand_like(mean)"},
    hint="What is the mean of the noise in your actions?",
    source="student code",
)

one_noise_for_all_rows = altered(
    "Policy.sampling",
    {"noise = torch.randn_like(mean)": "noise = torch.randn(mean.shape[-1]).expand_as(mean)"},
    hint="Does every row of a batch get its own noise?",
    source="student code",
)

one_noise_for_all_dimensions = altered(
    "Policy.sampling",
    {"noise = torch.randn_like(mean)": "noise = torch.randn(*mean.shape[:-1], 1).expand_as(mean)"},
    hint="Does every dimension of the action get its own noise?",
    source="student code",
)


log_prob_for_each_dimension = altered(
    "Policy.sampling",
    {"torch.log(2 * math.pi * variance)).sum(-1)": "torch.log(2 * math.pi * variance))"},
    hint="How many log-probabilities does one action vector have?",
    source="student code",
)

log_prob_in_a_column = altered(
    "Policy.sampling",
    {"torch.log(2 * math.pi * variance)).sum(-1)": "torch.log(2 * math.pi * variance)).sum(-1, keepdim=True)"},
    hint="What shape do your log-probabilities have for one observation and for a batch?",
    source="student code",
    form=True,
)


log_probs_of_one_row_lose_their_axis = altered(
    "Policy.sampling",
    {'"log_probs": log_probs.numpy()': '"log_probs": log_probs.squeeze().numpy()'},
    hint="Which axes does squeeze() remove if the batch has one row?",
    source="student code",
    form=True,
)

log_prob_without_two_pi = altered(
    "Policy.sampling",
    {"torch.log(2 * math.pi * variance)": "torch.log(variance)"},
    hint="Which constant does the density need so that it integrates to 1?",
    source="student code",
)

log_prob_without_variance = altered(
    "Policy.sampling",
    {"torch.log(2 * math.pi * variance)": "math.log(2 * math.pi)"},
    hint="Does your density integrate to 1 if the variance is not 1?",
    source="student code",
)


far_actions_likelier = altered(
    "Policy.sampling",
    {
        "-0.5 * (noise**2 + torch.log(2 * math.pi * variance)).sum(-1)": ""
        "0.5 * (noise**2 - torch.log(2 * math.pi * variance)).sum(-1)"
    },
    hint="Is an action far from the mean more likely, or less likely?",
    source="student code",
)

log_prob_of_the_mean = altered(
    "Policy.sampling",
    {"-0.5 * (noise**2 + torch.log(": "-0.5 * (0 * noise + torch.log("},
    hint="Does the log-probability that you return belong to the sampled action, or to the mean?",
    source="student code",
)

log_prob_of_another_sample = altered(
    "Policy.sampling",
    {"variance.sqrt() * noise": "variance.sqrt() * noise\nnoise = torch.randn_like(mean)"},
    hint="Does the log-probability that you return belong to the action that you return?",
    source="student code",
)

actions_clipped = altered(
    "Policy.sampling",
    {'"actions": actions.numpy()': '"actions": actions.clamp(-1, 1).numpy()'},
    hint="Are your actions still samples of the policy's distribution after you clip them?",
)


played_actions_as_tensors = altered(
    "Policy.sampling",
    {'"actions": actions.numpy()': '"actions": actions'},
    hint="What type do your actions have: array, or tensor?",
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
        "            mean, variance, values = self.model(torch.as_tensor(inputs, dtype=torch.float32))\n"
    },
    hint="What shape does your action have for one observation, and what shape does the environment expect?",
    source="student code",
    form=True,
)


sampling_takes_any_precision = altered(
    "Policy.sampling",
    {
        "        with torch.inference_mode():\n"
        "            mean, variance, values = self.model(torch.as_tensor(inputs, dtype=torch.float32))\n": ""
        "        with torch.inference_mode():\n"
        "            mean, variance, values = self.model(torch.as_tensor(inputs))\n"
    },
    hint="Observations may be float64: what dtype do the weights of the model have?",
    source="student code",
)


actions_clipped_before_log_prob = altered(
    "Policy.sampling",
    {
        "actions = mean + variance.sqrt() * noise": "actions = (mean + variance.sqrt() * noise).clamp(-1, 1)\n"
        "noise = (actions - mean) / variance.sqrt()"
    },
    hint="If you clip an action first, does its log-probability still belong to the action you sampled?",
)

actions_squashed = altered(
    "Policy.sampling",
    {
        "actions = mean + variance.sqrt() * noise": "actions = torch.tanh(mean + variance.sqrt() * noise)\n"
        "noise = (actions - mean) / variance.sqrt()"
    },
    hint="Do your actions still follow the normal distribution of your log-probabilities?",
)

log_prob_with_log_variance = altered(
    "Policy.sampling",
    {"torch.log(2 * math.pi * variance)": "torch.log(2 * math.pi * variance**2)"},
    hint="By which factor is the logarithm of the variance multiplied in the log-density of one dimension: -½, or -1?",
    source="student code",
)

log_prob_averaged = altered(
    "Policy.sampling",
    {"torch.log(2 * math.pi * variance)).sum(-1)": "torch.log(2 * math.pi * variance)).mean(-1)"},
    hint="How do you combine the log-probabilities of independent dimensions: as a sum, or as a mean?",
)

log_prob_summed_over_the_batch = altered(
    "Policy.sampling",
    {"torch.log(2 * math.pi * variance)).sum(-1)": "torch.log(2 * math.pi * variance)).sum(0)"},
    hint="Over which axis do you sum the log-density: over the batch, or over the dimensions of an action?",
    source="student code",
)

log_of_the_sum_of_densities = altered(
    "Policy.sampling",
    {
        "-0.5 * (noise**2 + torch.log(2 * math.pi * variance)).sum(-1)": ""
        "torch.logsumexp(-0.5 * (noise**2 + torch.log(2 * math.pi * variance)), -1)"
    },
    hint="How do you combine the probabilities of independent dimensions: as a sum, or as a product?",
)

played_values_of_the_first_row = altered(
    "Policy.sampling",
    {'"values": values.numpy()': '"values": np.broadcast_to(values.numpy()[:1], values.shape).copy()'},
    hint="Do two different observations get the same value?",
)

played_in_double_precision = altered(
    "Policy.sampling",
    {'"log_probs": log_probs.numpy()': '"log_probs": log_probs.double().numpy()'},
    hint="What dtype do your log-probabilities have, and what dtype does the docstring give?",
    form=True,
)

# GAE

bootstrap_of_an_older_critic = altered(
    "GAE",
    {
        "latest = np.asarray(self.policy.act(trajectory[": ""
        'observation = trajectory["state"]["latest_observation"].tobytes()\n'
        "known = self.known = getattr(self, 'known', {})\n"
        "if observation not in known:\n"
        "    known[observation] = np.asarray(self.policy.act(trajectory[",
        "next_values = np.concatenate": "latest = known[observation]\nnext_values = np.concatenate",
    },
    hint="The model changes with every update: which model's value of the latest observation do you use?",
    source="student code",
)

gae_without_resets = altered(
    "GAE",
    {'continues = 1.0 - trajectory["resets"]': "continues = np.ones_like(rewards)"},
    hint="Which terms of the next episode enter the last row of this episode?",
    source="student code",
)

gae_advantages_run_on = altered(
    "GAE",
    {"self.lambda_ * continues[t] * advantage": "self.lambda_ * advantage"},
    hint="Two terms come from the next row: are both of them 0 at the end of an episode?",
    source="student code",
)

gae_values_run_on = altered(
    "GAE",
    {"self.gamma * continues * next_values": "self.gamma * next_values"},
    hint="Two terms come from the next row: are both of them 0 at the end of an episode?",
    source="student code",
)

gae_cut_one_row_late = altered(
    "GAE",
    {'continues = 1.0 - trajectory["resets"]': 'continues = 1.0 - np.roll(trajectory["resets"], 1, axis=0)'},
    hint="Which transition ended the episode when resets[t] is True: the transition in row t, or in the row before?",
    source="student code",
)


gae_cut_after_adding = altered(
    "GAE",
    {
        "self.lambda_ * continues[t] * advantage": "self.lambda_ * advantage",
        "advantages[t] = advantage": "advantages[t] = advantage\nadvantage = advantage * continues[t]",
    },
    hint="Which do you do first at the last row of an episode: set the running advantage to 0, or add δ?",
    source="student code",
)

gae_own_value_masked = altered(
    "GAE",
    {"+ self.gamma * continues * next_values - values": "+ continues * (self.gamma * next_values - values)"},
    hint="At the end of an episode, which value becomes 0: the value of the next state, or of the state itself?",
    source="student code",
)


gae_resets_the_other_way = altered(
    "GAE",
    {'1.0 - trajectory["resets"]': '1.0 * trajectory["resets"]'},
    hint="Is your factor 1 where the episode ends, or where it continues?",
)


gae_bootstraps_twice = altered(
    "GAE",
    {
        "deltas = rewards + self.gamma * continues * next_values - values": ""
        "deltas = rewards + self.gamma * continues * next_values - values\n"
        'for index in trajectory["state"].get("truncated", []):\n'
        '    final = trajectory["state"]["final_observations"][index]\n'
        '    final = np.asarray(self.policy.act(final if rewards.ndim == 1 else final[None])["values"])\n'
        "    deltas[index] += self.gamma * float(final.reshape(()))"
    },
    hint="What has BootstrapTruncated already added to the reward?",
)

gae_ends_with_nothing = altered(
    "GAE",
    {
        'latest = np.asarray(self.policy.act(trajectory["state"]["latest_observation"])["values"])': ""
        "latest = np.zeros_like(values[-1])"
    },
    hint="Does the episode end at the last row, or does only the trajectory end there?",
    source="student code",
)

gae_ends_with_the_last_value = altered(
    "GAE",
    {'latest = np.asarray(self.policy.act(trajectory["state"]["latest_observation"])["values"])': "latest = values[-1]"},
    hint="Which observation comes after the last row, and how do you get its value?",
    source="student code",
)

gae_ends_with_the_first_value = altered(
    "GAE",
    {'latest = np.asarray(self.policy.act(trajectory["state"]["latest_observation"])["values"])': "latest = values[0]"},
    hint="Which value do you use for the state after the last row?",
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
    hint="Where does your advantage use A_{t+1}?",
    source="student code",
)

gae_as_a_weighted_average = altered(
    "GAE",
    {"advantage = deltas[t] + ": "advantage = (1 - self.lambda_) * deltas[t] + "},
    hint="What is the weight of δ_t in A_t?",
    source="student code",
)

gae_decay_without_gamma = altered(
    "GAE",
    {"self.gamma * self.lambda_ * continues[t]": "self.lambda_ * continues[t]"},
    hint="By which two factors do you multiply A_{t+1}, and what should you get for γ = 0?",
    source="student code",
)

gae_decay_without_lambda = altered(
    "GAE",
    {"self.gamma * self.lambda_ * continues[t]": "self.gamma * continues[t]"},
    hint="By which two factors do you multiply A_{t+1}, and what should you get for λ = 0?",
    source="student code",
)

gae_delta_without_gamma = altered(
    "GAE",
    {"rewards + self.gamma * continues": "rewards + continues"},
    hint="By which factor is V(s_{t+1}) multiplied in δ?",
)


gae_own_gamma = altered(
    "GAE",
    {"rewards + self.gamma *": "rewards + 0.99 *", "+ self.gamma * self.lambda_": "+ 0.99 * self.lambda_"},
    hint="Do you use the γ that GAE received, or a constant?",
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
    hint="Which rewards and values does the one-step error δ_t contain?",
    source="student code",
)

gae_negated = altered(
    "GAE",
    {"next_values - values\n": "next_values - values\ndeltas = -deltas\n"},
    hint="What is the sign of the advantage of a better-than-expected action?",
    source="student code",
    learns=False,
)


gae_forwards = altered(
    "GAE",
    {"for t in reversed(range(len(deltas))):": "for t in range(len(deltas)):"},
    hint="Which rows does the sum for row t contain: those before t, or those after t?",
)


gae_written_one_row_off = altered(
    "GAE",
    {"advantages[t] = advantage": "advantages[t - 1] = advantage"},
    hint="At which index of your array do you store the advantage of row t?",
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
    hint="What should the value targets be for λ = 0?",
    source="student code",
)


gae_targets_of_normalized_advantages = altered(
    "GAE",
    {
        'trajectory["advantages"] = advantages.astype': ""
        "advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)\n"
        'trajectory["advantages"] = advantages.astype',
    },
    hint="Is A + V still an estimate of the return after you have rescaled A?",
    source="student code",
)

gae_normalizes_advantages = altered(
    "GAE",
    {
        'trajectory["advantages"] = advantages.astype(np.float32)': ""
        'trajectory["advantages"] = ((advantages - advantages.mean()) / (advantages.std() + 1e-8)).astype(np.float32)',
    },
    hint="Which part of the pipeline should normalize the advantages: GAE, or a transformation of minibatches?",
    source="student code",
)

gae_every_row_with_every_other = altered(
    "GAE",
    {
        'values = trajectory["values"].reshape(rewards.shape)': 'values = trajectory["values"]',
        "latest.reshape(1, *rewards.shape[1:])": "latest.reshape(1, *values.shape[1:])",
        '.astype(np.float32).reshape(trajectory["values"].shape)': ".astype(np.float32)",
    },
    hint="What shapes do rewards and values have, and what shape does their difference have?",
    source="student code",
)

gae_targets_of_every_pair = altered(
    "GAE",
    {
        '(advantages + values).astype(np.float32).reshape(trajectory["values"].shape)': ""
        '(advantages + trajectory["values"]).astype(np.float32)'
    },
    hint="What shape do your value targets have?",
    source="student code",
)

gae_targets_shaped_like_rewards = altered(
    "GAE",
    {'.astype(np.float32).reshape(trajectory["values"].shape)': ".astype(np.float32)"},
    hint="What is the shape of your value targets, and what shape do you get if you subtract them from values [B, 1]?",
    form=True,
)

gae_advantages_in_a_column = altered(
    "GAE",
    {
        'trajectory["advantages"] = advantages.astype(np.float32)': ""
        'trajectory["advantages"] = advantages.astype(np.float32)[..., None]'
    },
    hint="What is the shape of your advantages, and what shape do you get if you multiply them by ratios [B]?",
    form=True,
)


gae_overwrites_the_rewards = altered(
    "GAE",
    {
        "deltas = rewards + self.gamma * continues * next_values - values": "deltas = rewards\n"
        "deltas += self.gamma * continues * next_values - values"
    },
    hint="What do the trajectory's rewards contain after your function has run?",
    form=True,
)

gae_any_reset_cuts_all = altered(
    "GAE",
    {
        'continues = 1.0 - trajectory["resets"]': 'continues = 1.0 - trajectory["resets"]\n'
        "if continues.ndim > 1:\n    continues[:] = continues.min(axis=1, keepdims=True)"
    },
    hint="If one of N environments ends an episode, what happens to the advantages of the other environments?",
)

gae_same_latest_value_for_all = altered(
    "GAE",
    {"latest.reshape(1, *rewards.shape[1:])": "np.broadcast_to(latest.reshape(-1)[0], (1, *rewards.shape[1:]))"},
    hint="How many latest observations does a batched environment have?",
)

gae_for_one_environment = altered(
    "GAE",
    {"latest.reshape(1, *rewards.shape[1:])": "[float(latest.reshape(()))]"},
    hint="What shape do rewards and latest values have with a batched environment?",
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
        "            advantages[t] = advantage + weighted.sum(axis=0) / powers[t]\n"
    },
    hint="What do you divide by if λ = 0, or if the trajectory is very long?",
)

gae_in_lists = altered(
    "GAE",
    {
        'trajectory["advantages"] = advantages.astype(np.float32)': 'trajectory["advantages"] = advantages.tolist()',
    },
    hint="What type do all other entries of a trajectory have: array, or list?",
    source="student code",
    form=True,
)

gae_targets_in_lists = altered(
    "GAE",
    {'.astype(np.float32).reshape(trajectory["values"].shape)': '.reshape(trajectory["values"].shape).tolist()'},
    hint="What type do all other entries of a trajectory have: array, or list?",
    form=True,
)

gae_keeps_the_graph = altered(
    "GAE",
    {
        'trajectory["advantages"] = advantages.astype(np.float32)': ""
        'trajectory["advantages"] = torch.tensor(advantages, dtype=torch.float32, requires_grad=True)'
    },
    hint="Do your advantages require a gradient, although they are data?",
    form=True,
)

gae_without_targets = altered(
    "GAE",
    {'trajectory["value_targets"] = (advantages + values).astype(np.float32).reshape(trajectory["values"].shape)': "pass"},
    hint="Which two entries does your function add?",
)

gae_targets_are_advantages = altered(
    "GAE",
    {"(advantages + values).astype": "advantages.astype"},
    hint="What should the value network predict: returns, or advantages?",
)

end_of_the_next_row = altered(
    "GAE",
    {
        'continues = 1.0 - trajectory["resets"]': ""
        'continues = 1.0 - np.concatenate([trajectory["resets"][1:], trajectory["resets"][-1:]])'
    },
    hint="Which entry of resets says that the episode ends at row t?",
    source="student code",
)

# TrajectorySampler.shuffle_trajectory

shuffles_nothing = altered(
    "TrajectorySampler.shuffle_trajectory",
    {"self.trajectory[key] = value[order]": "value = value[order]"},
    hint="What does self.trajectory contain after your function has run?",
    source="student code",
)

shuffles_each_key_by_itself = altered(
    "TrajectorySampler.shuffle_trajectory",
    {"self.trajectory[key] = value[order]": "self.trajectory[key] = np.random.permutation(value)"},
    hint="Do you shuffle all arrays in the same order?",
    source="student code",
)


same_order_at_every_call = altered(
    "TrajectorySampler.shuffle_trajectory",
    {"np.random.permutation(len": "np.random.RandomState(0).permutation(len"},
    hint="Which order does a generator return if it is created with the same seed in every call?",
    source="student code",
)

rows_drawn_with_replacement = altered(
    "TrajectorySampler.shuffle_trajectory",
    {
        'np.random.permutation(len(self.trajectory["rewards"]))': ""
        'np.random.randint(len(self.trajectory["rewards"]), size=len(self.trajectory["rewards"]))',
    },
    hint="How many times does each row appear in your order?",
    source="student code",
)


value_targets_not_shuffled = altered(
    "TrajectorySampler.shuffle_trajectory",
    {'if key != "state":': 'if key not in ("state", "value_targets"):'},
    hint="Which key do you not shuffle in the same order as the other keys?",
)


state_lost = altered(
    "TrajectorySampler.shuffle_trajectory",
    {
        "        for key, value in self.trajectory.items():\n"
        '            if key != "state":\n'
        "                self.trajectory[key] = value[order]\n": ""
        '        self.trajectory = {key: value[order] for key, value in self.trajectory.items() if key != "state"}\n',
    },
    hint="Which keys does the trajectory have after your function has run?",
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
    hint="Which order does a generator return if you seed it again in every call?",
    source="student code",
)

shuffled_into_lists = altered(
    "TrajectorySampler.shuffle_trajectory",
    {"self.trajectory[key] = value[order]": "self.trajectory[key] = [value[row] for row in order]"},
    hint="What type did the entries of the trajectory have before your function, and what type do they have now?",
    form=True,
)

log_probs_not_shuffled = altered(
    "TrajectorySampler.shuffle_trajectory",
    {'if key != "state":': 'if key not in ("state", "log_probs"):'},
    hint="Which array still has its old order?",
)

# TrajectorySampler.get_next

rows_never_shuffled = altered(
    "TrajectorySampler.get_next",
    {"        if self.minibatch_count == 0:\n            self.shuffle_trajectory()\n": ""},
    hint="Where in your code do you shuffle the rows?",
    source="student code",
)

shuffled_once_a_trajectory = altered(
    "TrajectorySampler.get_next",
    {"if self.minibatch_count == 0:": "if self.minibatch_count == 0 and self.epoch_count == 0:"},
    hint="Does the second epoch use different minibatches than the first?",
    source="student code",
)

first_epoch_not_shuffled = altered(
    "TrajectorySampler.get_next",
    {"if self.minibatch_count == 0:": "if self.minibatch_count == 0 and self.epoch_count > 0:"},
    hint="In which order are the rows in the very first epoch?",
)

shuffled_before_every_minibatch = altered(
    "TrajectorySampler.get_next",
    {"if self.minibatch_count == 0:": "if True:"},
    hint="How many times does an epoch use each row if you shuffle in the middle of it?",
    source="student code",
)

rows_drawn_anew_for_every_minibatch = altered(
    "TrajectorySampler.get_next",
    {
        "{key: value[start:end]": "{key: value[rows].copy()",
        "        minibatch = {": "        rows = np.random.choice(size, end - start, replace=False)\n        minibatch = {",
    },
    hint="How many times does an epoch use each row if you draw every minibatch from all rows?",
    source="student code",
)

rows_left_over_are_dropped = altered(
    "TrajectorySampler.get_next",
    {
        "start = self.minibatch_count * size // self.num_minibatches": ""
        "start = self.minibatch_count * (size // self.num_minibatches)",
        "end = (self.minibatch_count + 1) * size // self.num_minibatches": "end = start + size // self.num_minibatches",
    },
    hint="If you split ten rows into four minibatches, where do the remaining two rows go?",
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
    hint="How much larger is your last minibatch than the other minibatches?",
    source="student code",
)

last_minibatch_is_short = altered(
    "TrajectorySampler.get_next",
    {
        "start = self.minibatch_count * size // self.num_minibatches": ""
        "start = self.minibatch_count * -(-size // self.num_minibatches)",
        "end = (self.minibatch_count + 1) * size // self.num_minibatches": "end = start + -(-size // self.num_minibatches)",
    },
    hint="How much smaller is your last minibatch than the other minibatches?",
    source="student code",
)

strides_of_the_size = altered(
    "TrajectorySampler.get_next",
    {"{key: value[start:end] for": "{key: value[self.minibatch_count :: max(size // self.num_minibatches, 1)] for"},
    hint="If there are 6 rows and 3 minibatches, which rows are in your first minibatch?",
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
    hint="How many minibatches does your epoch have?",
    source="student code",
)

count_taken_for_size = altered(
    "TrajectorySampler.get_next",
    {
        "start = self.minibatch_count * size // self.num_minibatches": "start = self.minibatch_count * self.num_minibatches",
        "end = (self.minibatch_count + 1) * size // self.num_minibatches": "end = min(start + self.num_minibatches, size)",
        "if self.minibatch_count == self.num_minibatches:": "if end == size:",
    },
    hint="Is num_minibatches the number of minibatches, or the number of rows in a minibatch?",
    source="student code",
)


new_trajectory_for_every_epoch = altered(
    "TrajectorySampler.get_next",
    {"self.epoch_count == self.num_epochs:": "self.minibatch_count == 0:"},
    hint="For how many epochs do you use a trajectory before you get the next trajectory?",
    source="student code",
)


never_a_new_trajectory = altered(
    "TrajectorySampler.get_next",
    {"if self.trajectory is None or self.epoch_count == self.num_epochs:": "if self.trajectory is None:"},
    hint="When do you get a new trajectory from the runner?",
    source="student code",
)

one_epoch_too_many = altered(
    "TrajectorySampler.get_next",
    {"self.epoch_count == self.num_epochs:": "self.epoch_count > self.num_epochs:"},
    hint="If your epoch count starts at 0, which count means that num_epochs epochs are finished?",
    source="student code",
)


count_of_epochs_goes_on = altered(
    "TrajectorySampler.get_next",
    {"            self.epoch_count = self.minibatch_count = 0\n": ""},
    hint="What are the values of your counters when the second trajectory starts?",
    source="student code",
)


transforms_forgotten = altered(
    "TrajectorySampler.get_next",
    {"for transform in self.transforms:": "for transform in []:"},
    hint="Where in your code do you call the transforms?",
    source="student code",
)

transforms_of_the_trajectory = altered(
    "TrajectorySampler.get_next",
    {
        "            self.epoch_count = self.minibatch_count = 0\n": "            self.epoch_count = self.minibatch_count = 0\n"
        "            for transform in self.transforms:\n                transform(self.trajectory)\n",
        "        for transform in self.transforms:\n            transform(minibatch)\n        return": "        return",
    },
    hint="What do you pass to the transforms: the minibatch, or the whole trajectory?",
    source="student code",
)


minibatch_lacks_keys = altered(
    "TrajectorySampler.get_next",
    {'if key != "state"}': 'if key in ("observations", "actions", "log_probs", "values", "advantages", "value_targets")}'},
    hint="Which keys of the trajectory are missing from your minibatch?",
)

environments_not_flattened = altered(
    "TrajectorySampler.get_next",
    {"self._as_rows(self.runner.get_next())": "self.runner.get_next()"},
    hint="How many rows does a trajectory of T steps of N environments have?",
)


environments_flattened_to_columns = altered(
    "TrajectorySampler.get_next",
    {
        'key: value if key == "state" else value.reshape(-1, *value.shape[len(steps_and_envs) :])': ""
        'key: value if key == "state" or len(steps_and_envs) < 2 else value.reshape(np.prod(steps_and_envs), -1)'
    },
    hint="What shape do the rewards `[T, N]` have after you flatten them: `[T·N]`, or `[T·N, 1]`?",
    source="student code",
)

environments_flattened_in_two_orders = altered(
    "TrajectorySampler.get_next",
    {
        'key: value if key == "state" else value.reshape(-1, *value.shape[len(steps_and_envs) :])': ""
        'key: value if key == "state" else '
        "(value.swapaxes(0, 1) if value.ndim > 2 else value).reshape(-1, *value.shape[len(steps_and_envs) :])"
    },
    hint="Do row i of the flattened observations and row i of the rewards come from the same step and environment?",
)


drops_rows_and_environments = altered(
    "TrajectorySampler.get_next",
    {
        "self._as_rows(self.runner.get_next())": "self.runner.get_next()",
        "start = self.minibatch_count * size // self.num_minibatches": ""
        "start = self.minibatch_count * (size // self.num_minibatches)",
        "end = (self.minibatch_count + 1) * size // self.num_minibatches": "end = start + size // self.num_minibatches",
    },
    hint="How many rows do you get from five steps of two environments, and is every row in a minibatch?",
)

reseeds_before_every_epoch = altered(
    "TrajectorySampler.get_next",
    {"            self.shuffle_trajectory()\n": "            np.random.seed(0)\n            self.shuffle_trajectory()\n"},
    hint="Which order does a generator return if you seed it again before every epoch?",
    source="student code",
)

minibatch_of_lists = altered(
    "TrajectorySampler.get_next",
    {"{key: value[start:end] for": "{key: list(value[start:end]) for"},
    hint="What type do the entries of a minibatch have: array, or list?",
    form=True,
)

# PPO.policy_loss

policy_uphill = altered(
    "PPO.policy_loss",
    {"return -torch.min(ratio": "return torch.min(ratio"},
    hint="If the optimizer minimizes your loss, do actions with a positive advantage become more likely, or less likely?",
    source="student code",
    learns=False,
)

policy_larger_product = altered(
    "PPO.policy_loss",
    {"return -torch.min(ratio": "return -torch.max(ratio"},
    hint="Which of the two products is the pessimistic bound: the larger, or the smaller?",
    source="student code",
)

policy_ratio_of_new_and_new = altered(
    "PPO.policy_loss",
    {'torch.as_tensor(trajectory["log_probs"])': "log_probs.detach()"},
    hint="Which policy does each of your two log-probabilities come from: the current policy, or the old policy?",
    source="student code",
)

policy_ratio_of_itself = altered(
    "PPO.policy_loss",
    {'torch.as_tensor(trajectory["log_probs"])': "log_probs"},
    hint="Does your ratio change when the policy's weights change?",
    source="student code",
)

policy_loss_detached = altered(
    "PPO.policy_loss",
    {"ratio = torch.exp(log_probs - ": "ratio = torch.exp(log_probs.detach() - "},
    hint="Which operations connect your loss to the model's weights?",
    source="student code",
)

policy_samples_again = altered(
    "PPO.policy_loss",
    {'torch.as_tensor(trajectory["actions"])': 'act["distribution"].sample()'},
    hint="Which action does the old log-probability belong to, and which action does the new log-probability belong to?",
    source="student code",
)

policy_difference_without_exp = altered(
    "PPO.policy_loss",
    {"torch.exp(log_probs - ": "(log_probs - "},
    hint="How do you compute a ratio from two logarithms?",
    source="student code",
)

policy_ratio_of_densities = altered(
    "PPO.policy_loss",
    {
        'torch.exp(log_probs - torch.as_tensor(trajectory["log_probs"]))': ""
        'log_probs.exp() / torch.as_tensor(trajectory["log_probs"]).exp()'
    },
    hint="What is exp(-125) in float32, and what is your ratio then?",
    source="student code",
)

policy_ratio_of_logarithms = altered(
    "PPO.policy_loss",
    {"torch.exp(log_probs - ": "(log_probs / "},
    hint="How do you compute a ratio from two logarithms?",
    source="student code",
)

policy_ratio_upside_down = altered(
    "PPO.policy_loss",
    {"torch.exp(log_probs - ": "torch.exp(-log_probs + "},
    hint="Which policy is in the numerator of the ratio, and which in the denominator?",
)

policy_clamps_the_product = altered(
    "PPO.policy_loss",
    {
        "clipped_ratio = ratio.clamp(1 - self.cliprange, 1 + self.cliprange)": ""
        "clipped = (ratio * advantages).clamp(1 - self.cliprange, 1 + self.cliprange)",
        "clipped_ratio * advantages)": "clipped)",
    },
    hint="What does the formula clip: the ratio, or the product?",
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
    hint="Which part of your loss keeps the ratio near 1?",
)

policy_only_clipped = altered(
    "PPO.policy_loss",
    {"torch.min(ratio * advantages, clipped_ratio * advantages)": "(clipped_ratio * advantages)"},
    hint="Which two products does the formula compare for each row before it takes the minimum?",
)

policy_clipped_above_only = altered(
    "PPO.policy_loss",
    {"ratio.clamp(1 - self.cliprange, 1 + self.cliprange)": "ratio.clamp(max=1 + self.cliprange)"},
    hint="The ratio can leave the clip range at both ends: at which end do you clip?",
)


policy_smaller_mean = altered(
    "PPO.policy_loss",
    {
        "torch.min(ratio * advantages, clipped_ratio * advantages).mean()": ""
        "torch.min((ratio * advantages).mean(), (clipped_ratio * advantages).mean())"
    },
    hint="Do you take the minimum in each row, or of two means?",
    source="student code",
)

policy_own_clip_range = altered(
    "PPO.policy_loss",
    {"ratio.clamp(1 - self.cliprange, 1 + self.cliprange)": "ratio.clamp(0.8, 1.2)"},
    hint="Do you use the clip range that PPO received, or a constant?",
)

policy_clamps_the_log_ratio = altered(
    "PPO.policy_loss",
    {"ratio.clamp(1 - self.cliprange, 1 + self.cliprange)": "ratio.log().clamp(-self.cliprange, self.cliprange).exp()"},
    hint="At which ratio does your clipping start: at 1 + cliprange, or at exp(cliprange)?",
    source="student code",
)

policy_minimum_of_the_ratios = altered(
    "PPO.policy_loss",
    {"torch.min(ratio * advantages, clipped_ratio * advantages)": "(torch.min(ratio, clipped_ratio) * advantages)"},
    hint="What does the formula take the minimum of: the ratios, or their products with the advantage?",
)


policy_ratio_for_each_dimension = altered(
    "PPO.policy_loss",
    {
        'act["distribution"].log_prob(torch.as_tensor(trajectory["actions"]))': ""
        'Normal(act["distribution"].mean, act["distribution"].stddev).log_prob(torch.as_tensor(trajectory["actions"]))',
        'torch.as_tensor(trajectory["log_probs"])': 'torch.as_tensor(trajectory["log_probs"])[:, None]',
        'torch.as_tensor(trajectory["advantages"])': 'torch.as_tensor(trajectory["advantages"])[:, None]',
    },
    hint="How many ratios does one action vector have, and what shape does your ratio have?",
    source="student code",
)

policy_ratio_of_every_pair = altered(
    "PPO.policy_loss",
    {"torch.exp(log_probs - ": "torch.exp(log_probs[:, None] - "},
    hint="What shape does your ratio have?",
    placements={
        "the old ones in a column": {
            'torch.as_tensor(trajectory["log_probs"])': 'torch.as_tensor(trajectory["log_probs"])[:, None]'
        }
    },
    source="student code",
)

policy_ratio_with_every_advantage = altered(
    "PPO.policy_loss",
    {'torch.as_tensor(trajectory["advantages"])': 'torch.as_tensor(trajectory["advantages"])[:, None]'},
    hint="What shape does your ratio have, and what shape does its product with the advantage have?",
    source="student code",
)

policy_loss_summed = altered(
    "PPO.policy_loss",
    {"clipped_ratio * advantages).mean()": "clipped_ratio * advantages).sum()"},
    hint="Does the formula contain a sum or a mean over the minibatch?",
)


policy_with_entropy_bonus = altered(
    "PPO.policy_loss",
    {"clipped_ratio * advantages).mean()": 'clipped_ratio * advantages).mean() - 0.01 * act["distribution"].entropy().mean()'},
    hint="Which term of your loss is not in the formula?",
    source="student code",
)


policy_is_vanilla = altered(
    "PPO.policy_loss",
    {"torch.min(ratio * advantages, clipped_ratio * advantages)": "(log_probs * advantages)"},
    hint="Where does your loss use the old policy?",
    source="student code",
)


policy_ratio_averaged_before_exp = altered(
    "PPO.policy_loss",
    {
        'ratio = torch.exp(log_probs - torch.as_tensor(trajectory["log_probs"]))': ""
        'actions = torch.as_tensor(trajectory["actions"])\n'
        'ratio = torch.exp((log_probs - torch.as_tensor(trajectory["log_probs"])) / actions.shape[-1])',
    },
    hint="Is the log-ratio of whole action vectors a sum over the dimensions, or a mean?",
)

policy_needs_tensors = altered(
    "PPO.policy_loss",
    {
        'torch.as_tensor(trajectory["advantages"])': 'trajectory["advantages"].detach()',
        'torch.as_tensor(trajectory["actions"])': 'trajectory["actions"]',
        'torch.as_tensor(trajectory["log_probs"])': 'trajectory["log_probs"]',
    },
    hint="What type do the entries of a minibatch have: array, or tensor?",
    source="student code",
    learns=False,
)

policy_advantages_overwritten = altered(
    "PPO.policy_loss",
    {
        "return -torch.min": 'trajectory["advantages"] -= trajectory["advantages"].mean()\nreturn -torch.min',
    },
    hint="What do the minibatch's advantages contain after your function has run?",
)

policy_loss_of_a_number = altered(
    "PPO.policy_loss",
    {"clipped_ratio * advantages).mean()": "clipped_ratio * advantages).mean().item()"},
    hint="Do you return a tensor with a gradient, or a plain number?",
    learns=False,
)


# PPO.value_loss

value_smaller_error = altered(
    "PPO.value_loss",
    {"return torch.max(": "return torch.min("},
    hint="Which of the two errors is the pessimistic bound: the larger, or the smaller?",
    source="student code",
)

value_never_clipped = altered(
    "PPO.value_loss",
    {"torch.max((values - targets) ** 2, (clipped_values - targets) ** 2)": "((values - targets) ** 2)"},
    hint="Where does your loss use V_old to limit how far the value may move?",
    source="student code",
)

value_only_clipped = altered(
    "PPO.value_loss",
    {"torch.max((values - targets) ** 2, (clipped_values - targets) ** 2)": "((clipped_values - targets) ** 2)"},
    hint="If V has moved from V_old by more than ε, away from the target, what is the gradient of your loss with respect to V?",
)

value_difference_from_the_target = altered(
    "PPO.value_loss",
    {"(values - old_values).clamp": "(values - targets).clamp"},
    hint="Which difference does the formula clip: V - V_old, or V - G?",
)

value_new_is_old = altered(
    "PPO.value_loss",
    {'values, targets = act["values"],': 'values, targets = torch.as_tensor(trajectory["values"]),'},
    hint="Which value should the loss improve: the recorded value, or the current value?",
    source="student code",
)

value_loss_detached = altered(
    "PPO.value_loss",
    {'values, targets = act["values"],': 'values, targets = act["values"].detach(),'},
    hint="Does the value network have a gradient after backward()?",
    source="student code",
)

value_clipped_as_a_ratio = altered(
    "PPO.value_loss",
    {
        "old_values + (values - old_values).clamp(-self.cliprange, self.cliprange)": ""
        "old_values * (values / old_values).clamp(1 - self.cliprange, 1 + self.cliprange)"
    },
    hint="What does the formula limit: the difference V - V_old, or the quotient V / V_old?",
    source="student code",
)

value_itself_clamped = altered(
    "PPO.value_loss",
    {"old_values + (values - old_values).clamp(": "values.clamp("},
    hint="What does the formula clip to ±ε: the value, or its difference from V_old?",
    source="student code",
)


value_own_clip_range = altered(
    "PPO.value_loss",
    {".clamp(-self.cliprange, self.cliprange)": ".clamp(-0.2, 0.2)"},
    hint="Do you use the clip range that PPO received, or a constant?",
)

value_of_every_pair = altered(
    "PPO.value_loss",
    {'values, targets = act["values"],': 'values, targets = act["values"].squeeze(-1),'},
    hint="What shapes do your values and the value targets have, and what shape does their difference have?",
    source="student code",
)


value_loss_summed = altered(
    "PPO.value_loss",
    {"(clipped_values - targets) ** 2).mean()": "(clipped_values - targets) ** 2).sum()"},
    hint="Does the formula contain a sum or a mean over the rows?",
)

value_larger_mean = altered(
    "PPO.value_loss",
    {
        "(values - targets) ** 2, (clipped_values - targets) ** 2).mean()": ""
        "((values - targets) ** 2).mean(), ((clipped_values - targets) ** 2).mean())"
    },
    hint="Do you choose the larger error for each row, or the larger of the two means?",
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
    hint="If the optimizer minimizes your loss, does the squared error of V grow or shrink?",
)


value_needs_tensors = altered(
    "PPO.value_loss",
    {
        'torch.as_tensor(trajectory["value_targets"])': 'trajectory["value_targets"].detach()',
        'torch.as_tensor(trajectory["values"])': 'trajectory["values"].detach()',
    },
    hint="What type do the entries of a minibatch have: array, or tensor?",
    source="student code",
    learns=False,
)

value_targets_overwritten = altered(
    "PPO.value_loss",
    {"return torch.max(": 'trajectory["value_targets"] *= 0.5\nreturn torch.max('},
    hint="What do the minibatch's value targets contain after your function has run?",
)


# PPO.step

gradients_pile_up = altered(
    "PPO.step",
    {"        self.optimizer.zero_grad()\n": ""},
    hint="What does .grad contain before backward() adds to it?",
    source="student code",
)

gradient_cleared_before_the_step = altered(
    "PPO.step",
    {"        self.optimizer.zero_grad()\n": "", "loss.backward()": "loss.backward()\nself.optimizer.zero_grad()"},
    hint="What does .grad contain when the optimizer takes its step?",
    source="student code",
    learns=False,
)

gradient_not_clipped = altered(
    "PPO.step",
    {"        nn.utils.clip_grad_norm_(self.policy.model.parameters(), self.max_grad_norm)\n": ""},
    hint="Does clipping between backward() and the optimizer step leave gradients whose norm is at most max_grad_norm?",
    source="student code",
)

clipped_by_value = altered(
    "PPO.step",
    {"nn.utils.clip_grad_norm_(": "nn.utils.clip_grad_value_("},
    hint="What should be clipped: each number of the gradient, or the global gradient norm?",
    source="student code",
)

clipped_parameter_by_parameter = altered(
    "PPO.step",
    {
        "nn.utils.clip_grad_norm_(self.policy.model.parameters(), self.max_grad_norm)": ""
        "for parameter in self.policy.model.parameters():\n"
        "    nn.utils.clip_grad_norm_(parameter, self.max_grad_norm)"
    },
    hint="Which norm do you clip: the norm of each parameter's gradient, or the global gradient norm?",
)

gradient_always_of_full_length = altered(
    "PPO.step",
    {
        "nn.utils.clip_grad_norm_(self.policy.model.parameters(), self.max_grad_norm)": ""
        "parameters = [one for one in self.policy.model.parameters() if one.grad is not None]\n"
        "length = torch.stack([one.grad.norm() for one in parameters]).norm()\n"
        "for one in parameters:\n"
        "    one.grad.mul_(self.max_grad_norm / (length + 1e-6))"
    },
    hint="What happens to a gradient whose norm is smaller than max_grad_norm?",
)


norm_is_the_sum_of_norms = altered(
    "PPO.step",
    {
        "nn.utils.clip_grad_norm_(self.policy.model.parameters(), self.max_grad_norm)": ""
        "parameters = [one for one in self.policy.model.parameters() if one.grad is not None]\n"
        "length = sum(one.grad.norm() for one in parameters)\n"
        "for one in parameters:\n"
        "    one.grad.mul_(min(1.0, self.max_grad_norm / (length + 1e-6)))"
    },
    hint="How do you combine the norms of the individual gradients: as a sum, or as the root of the sum of their squares?",
)


clipped_to_the_clip_range = altered(
    "PPO.step",
    {"parameters(), self.max_grad_norm)": "parameters(), self.cliprange)"},
    hint="Which argument of PPO limits the gradient norm?",
    source="student code",
)

own_max_grad_norm = altered(
    "PPO.step",
    {"parameters(), self.max_grad_norm)": "parameters(), 0.5)"},
    hint="Do you use the max_grad_norm that PPO received, or a constant?",
)


two_updates = altered(
    "PPO.step",
    {"self.optimizer.step()": "self.optimizer.step()\nself.optimizer.step()"},
    hint="How many optimizer steps do you take per minibatch?",
)


never_updates = altered(
    "PPO.step",
    {"self.optimizer.step()": "pass"},
    hint="Which line of your function changes the weights?",
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
    hint="Which losses does your update minimize, and which of them trains the value network?",
    source="student code",
)

step_of_the_value_loss = altered(
    "PPO.step",
    {
        "loss = self.loss(trajectory)": ""
        'loss = self.value_loss(trajectory, self.policy.act(trajectory["observations"], training=True))'
    },
    hint="Which losses does your update minimize, and which of them trains the policy?",
    learns=False,
)

losses_added_without_weight = altered(
    "PPO.step",
    {
        "loss = self.loss(trajectory)": 'act = self.policy.act(trajectory["observations"], training=True)\n'
        "loss = self.policy_loss(trajectory, act) + self.value_loss(trajectory, act)"
    },
    hint="What is the weight of the value loss in your sum?",
    source="student code",
)

advantages_spent_by_the_step = altered(
    "PPO.step",
    {"loss.backward()": 'loss.backward()\ntrajectory.pop("advantages")'},
    hint="Which keys does the minibatch have after your update?",
)

# anneal_learning_rate

left_as_it_is_after_the_end = altered(
    "anneal_learning_rate",
    {
        "remaining = max(": "if interactions > total_interactions:\n    return\nremaining = max(",
    },
    hint="If the number of interactions jumps past total_interactions, which learning rate stays in the groups?",
    source="student code",
)

rate_below_zero = altered(
    "anneal_learning_rate",
    {"max(1 - interactions / total_interactions, 0.0)": "1 - interactions / total_interactions"},
    hint="What is your learning rate when interactions exceeds total_interactions?",
    source="student code",
)

rate_rises = altered(
    "anneal_learning_rate",
    {"max(1 - interactions / total_interactions, 0.0)": "min(interactions / total_interactions, 1.0)"},
    hint="What is your learning rate at the beginning, half-way, and at the end?",
)

rate_constant = altered(
    "anneal_learning_rate",
    {"max(1 - interactions / total_interactions, 0.0)": "1.0"},
    hint="What is your learning rate at the beginning, half-way, and at the end?",
)


rate_in_whole_numbers = altered(
    "anneal_learning_rate",
    {"interactions / total_interactions": "interactions // total_interactions"},
    hint="Does your learning rate change before the last interaction?",
    source="student code",
)

rate_squared = altered(
    "anneal_learning_rate",
    {"initial * remaining": "initial * remaining**2"},
    hint="What is your learning rate after half of the interactions?",
)


first_group_only = altered(
    "anneal_learning_rate",
    {"in optimizer.param_groups:": "in optimizer.param_groups[:1]:"},
    hint="How many parameter groups does the optimizer have?",
    source="student code",
)

rate_from_the_last_one = altered(
    "anneal_learning_rate",
    {"initial * remaining": 'group["lr"] * remaining'},
    hint="If you call your function twice with the same arguments, is the learning rate the same?",
    source="student code",
)

initial_rate_ignored = altered(
    "anneal_learning_rate",
    {"initial * remaining": "3e-4 * remaining"},
    hint="Do you use the initial rate that your function receives, or a constant?",
    source="student code",
)

rate_in_a_tensor = altered(
    "anneal_learning_rate",
    {"initial * remaining": "torch.tensor(initial * remaining, dtype=torch.float64)"},
    hint="What type should a learning rate in param_groups have?",
    form=True,
)

groups_made_anew = altered(
    "anneal_learning_rate",
    {'group["lr"] = initial * remaining': 'group["lr"] = initial * remaining\ngroup["eps"] = 1e-8'},
    hint="What else does your function change in the parameter groups?",
    form=True,
)
