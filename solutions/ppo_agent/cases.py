"""Cases of `ppo_agent`. Each makes the inputs of one driver call; `build` adds what the solution answers.

They are chosen so that the known mistakes do not hide: the first state, the state that follows the last step and the last state
have different values; ends of both kinds inside the rows, with values that are not zero after them; γ and λ of 0 and of 1;
σ far from 1 and different in every dimension; actions so far away that their densities are 0; probability ratios on both sides
of the clip range with advantages of both signs; episodes of different lengths, some shorter than a window, in environments that
do not end together; a last minibatch that is smaller; batches of one row.
"""

import numpy as np

from grader.answers import case


def normal(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (scale * rng.normal(size=shape)).astype(np.float32)


# Repair


def steps(rng: np.random.Generator, count: int, *shape: int) -> dict:
    """Return rows of one episode that goes on: what follows an action is the next row, and something else after the last."""
    every = normal(rng, count + 1, *shape)
    weights = rng.uniform(1.0, 4.0, size=int(np.prod(shape))).astype(np.float32)
    return dict(weights=weights, state=every[:-1], next_state=every[1:].copy(), reward=normal(rng, count, scale=2.0))


def flags(count: int, *at: int) -> np.ndarray:
    return np.isin(np.arange(count), at)


@case("estimate", question="GeneralizedAdvantageEstimator.length", nudges={"reward": 1, "state": 1, "next_state": 1})
def six_steps(rng):
    return steps(rng, 6, 2) | dict(gamma=0.8, lamb=0.6)


@case("estimate", question="GeneralizedAdvantageEstimator.length")
def one_step(rng):
    return steps(rng, 1, 2) | dict(gamma=0.7, lamb=0.9)


@case("estimate", question="GeneralizedAdvantageEstimator.length", hidden=True)
def nine_steps_with_windows(rng):
    return steps(rng, 9, 2, 3) | dict(gamma=0.95, lamb=0.7)


@case("estimate", question="GeneralizedAdvantageEstimator.length", hidden=True)
def two_steps(rng):
    return steps(rng, 2, 3) | dict(gamma=0.9, lamb=0.8)


@case("estimate", question="GeneralizedAdvantageEstimator.bootstrap", nudges={"reward": 1, "state": 1, "next_state": 1})
def goes_on(rng):
    return steps(rng, 6, 3) | dict(gamma=0.9, lamb=0.7)


@case("estimate", question="GeneralizedAdvantageEstimator.bootstrap", nudges={"reward": 1, "state": 1})
def nothing_else_given(rng):
    given = steps(rng, 5, 2) | dict(gamma=0.8, lamb=0.9)
    del given["next_state"]
    return given


@case("estimate", question="GeneralizedAdvantageEstimator.bootstrap")
def one_step_and_nothing_else(rng):
    given = steps(rng, 1, 3) | dict(gamma=0.9, lamb=0.8)
    del given["next_state"]
    return given


@case("estimate", question="GeneralizedAdvantageEstimator.bootstrap", nudges={"reward": 1, "state": 1, "next_state": 1})
def another_episode_in_the_next_row(rng):
    """λ is 0, so that nothing but the value of what follows can come from the next row."""
    given = steps(rng, 7, 2) | dict(gamma=0.9, lamb=0.0, terminated=flags(7), truncated=flags(7, 2, 4))
    given["next_state"][[2, 4]] = normal(rng, 2, 2, scale=2.0)
    return given


@case("estimate", question="GeneralizedAdvantageEstimator.bootstrap", nudges={"reward": 1, "state": 1, "next_state": 1})
def time_is_up_twice(rng):
    return steps(rng, 6, 2) | dict(gamma=0.9, lamb=0.6, terminated=flags(6), truncated=flags(6, 2, 5))


@case("estimate", question="GeneralizedAdvantageEstimator.bootstrap", hidden=True)
def goes_on_and_is_told_so(rng):
    return steps(rng, 7, 1, 3) | dict(gamma=0.85, lamb=0.75, terminated=flags(7), truncated=flags(7))


@case("estimate", question="GeneralizedAdvantageEstimator.bootstrap", hidden=True)
def another_episode_in_the_next_row_with_windows(rng):
    given = steps(rng, 6, 2, 2) | dict(gamma=0.8, lamb=0.0, terminated=flags(6), truncated=flags(6, 0, 3))
    given["next_state"][[0, 3]] = normal(rng, 2, 2, 2, scale=2.0)
    return given


@case("estimate", question="GeneralizedAdvantageEstimator.bootstrap", hidden=True)
def five_arguments_and_an_end(rng):
    given = steps(rng, 5, 2) | dict(gamma=0.95, lamb=0.8)
    del given["next_state"]
    return given


# Ends: what follows a step is the next row here, so that only values and sums that are not cut show.


@case("estimate", question="GeneralizedAdvantageEstimator.ends", nudges={"reward": 1, "state": 1, "next_state": 1})
def comes_to_an_end(rng):
    return steps(rng, 5, 2) | dict(gamma=0.8, lamb=0.9, terminated=flags(5, 4), truncated=flags(5))


@case("estimate", question="GeneralizedAdvantageEstimator.ends", nudges={"reward": 1, "state": 1, "next_state": 1})
def terminated_inside(rng):
    return steps(rng, 9, 3) | dict(gamma=0.9, lamb=0.8, terminated=flags(9, 2, 6), truncated=flags(9))


@case("estimate", question="GeneralizedAdvantageEstimator.ends")
def both_ends_at_one_step(rng):
    """Step 3 terminated the task just when the time was up: nothing follows."""
    return steps(rng, 7, 2) | dict(gamma=0.9, lamb=0.7, terminated=flags(7, 3), truncated=flags(7, 1, 3))


@case("estimate", question="GeneralizedAdvantageEstimator.ends", nudges={"reward": 1, "state": 1, "next_state": 1})
def truncated_inside(rng):
    return steps(rng, 9, 2) | dict(gamma=0.85, lamb=0.9, terminated=flags(9), truncated=flags(9, 3, 6))


@case("estimate", question="GeneralizedAdvantageEstimator.ends", nudges={"reward": 1, "state": 1, "next_state": 1})
def gamma_of_zero(rng):
    return steps(rng, 6, 2) | dict(gamma=0.0, lamb=0.9, terminated=flags(6, 4), truncated=flags(6, 1))


@case("estimate", question="GeneralizedAdvantageEstimator.ends", nudges={"reward": 1, "state": 1, "next_state": 1})
def lambda_of_zero(rng):
    return steps(rng, 6, 2) | dict(gamma=0.9, lamb=0.0, terminated=flags(6, 1), truncated=flags(6, 4))


@case("estimate", question="GeneralizedAdvantageEstimator.ends")
def gamma_of_one(rng):
    return steps(rng, 7, 2) | dict(gamma=1.0, lamb=0.6, truncated=flags(7, 2, 5))


@case("estimate", question="GeneralizedAdvantageEstimator.ends", nudges={"reward": 1, "state": 1, "next_state": 1})
def lambda_of_one(rng):
    return steps(rng, 7, 2) | dict(gamma=0.8, lamb=1.0, terminated=flags(7, 1, 4))


@case("estimate", question="GeneralizedAdvantageEstimator.bootstrap", hidden=True)
def time_is_up(rng):
    return steps(rng, 7, 1, 3) | dict(gamma=0.85, lamb=0.75, terminated=flags(7), truncated=flags(7, 3, 6))


@case("estimate", question="GeneralizedAdvantageEstimator.ends", hidden=True)
def both_inside(rng):
    return steps(rng, 14, 2, 2) | dict(gamma=0.95, lamb=0.6, terminated=flags(14, 1, 8), truncated=flags(14, 4, 5, 8, 11))


@case("estimate", question="GeneralizedAdvantageEstimator.ends", hidden=True)
def only_terminated_given(rng):
    return steps(rng, 8, 2) | dict(gamma=0.7, lamb=1.0, terminated=flags(8, 0, 5))


@case("estimate", question="GeneralizedAdvantageEstimator.ends", hidden=True)
def only_truncated_given(rng):
    return steps(rng, 8, 2) | dict(gamma=1.0, lamb=0.7, truncated=flags(8, 2, 6))


@case("estimate", question="GeneralizedAdvantageEstimator.ends", hidden=True)
def neither_counts(rng):
    return steps(rng, 7, 3) | dict(gamma=0.0, lamb=0.0, terminated=flags(7, 2), truncated=flags(7, 5))


@case("own_test", question="test_advantages")
def your_own_estimator(rng):
    return {}


# Estimators that a test is tried on: right ones in various forms, and drafts with one fault each.

COMPLETE = """
def complete(reward, state, next_state, terminated, truncated):
    no = np.zeros(len(reward), bool)
    if next_state is None:
        next_state = torch.cat((state[1:], state[-1:]))
        no_end = no.copy(); no_end[-1] = True
        terminated = no_end if terminated is None else np.asarray(terminated, bool)
    terminated = no if terminated is None else np.asarray(terminated, bool)
    truncated = no if truncated is None else np.asarray(truncated, bool)
    return next_state, terminated, truncated

def values(critic, state):
    with torch.no_grad():
        return critic(state).reshape(-1).numpy().astype(np.float64)
"""

HEAD = """
def estimator(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None):
    next_state, terminated, truncated = complete(reward, state, next_state, terminated, truncated)
    v, w = values(critic, state), values(critic, next_state)
    reward, T = np.asarray(reward, np.float64), len(reward)
"""

SUMS = """
    delta = reward + gamma * w * ~terminated - v
    A = delta.copy()
    for t in range(T):
        for k in range(t + 1, T):
            if (terminated | truncated)[t:k].any():
                break
            A[t] += (gamma * lamb) ** (k - t) * delta[k]
"""


def source(body: str) -> str:
    return COMPLETE + HEAD + body


RIGHT = {"a right one that returns an array": source(SUMS + "    return A\n")}
DROPPED = {
    "without the last advantage": source(SUMS + "    return A[:-1]\n"),
    "without the last error, 0 in its place": source(
        SUMS.replace("    A = delta.copy()", "    delta[-1] = 0.0\n    A = delta.copy()") + "    return A\n"
    ),
}
ROLLED = {
    "V(s_0) after the last step, however it ended": source(
        "    w[-1] = v[0]; terminated = terminated.copy(); terminated[-1] = False\n" + SUMS + "    return A\n"
    ),
    "nothing after the last step, however it ended": source("    w[-1] = 0.0\n" + SUMS + "    return A\n"),
}
ENDLESS = {
    "no ends inside": source(
        "    terminated, truncated = terminated.copy(), truncated.copy()\n"
        "    terminated[:-1] = False; truncated[:-1] = False\n" + SUMS + "    return A\n"
    ),
}
HALF_ENDLESS = {
    "what comes after a terminated step is cut off, its value is not": source(
        SUMS.replace(" * ~terminated", "") + "    return A\n"
    ),
    "the value after a terminated step is cut off, nothing else is": source(
        SUMS.replace("(terminated | truncated)[t:k]", "truncated[t:k]") + "    return A\n"
    ),
    "truncated steps are treated as terminated": source("    terminated = terminated | truncated\n" + SUMS + "    return A\n"),
    "truncated steps are ignored": source("    truncated = truncated & False\n" + SUMS + "    return A\n"),
}
DRAFT = {
    "a draft like that of the stub": """
def estimator(critic, state, reward, gamma, lamb, next_state=None, terminated=None, truncated=None):
    v = critic(state).detach().reshape(-1).numpy()
    delta = np.asarray(reward) + gamma * np.append(v[1:], v[0]) - v
    A, later = [], 0.0
    for t in reversed(range(len(reward) - 1)):
        later = delta[t] + gamma * lamb * later
        A.insert(0, later)
    return A
""",
}


def tried(rng: np.random.Generator, *others: dict[str, str]) -> dict:
    """Return a right estimator and others in a random order."""
    sources = [source for some in (RIGHT, *others) for source in some.values()]
    return dict(sources=[sources[place] for place in rng.permutation(len(sources))])


@case("other_estimators", question="test_advantages", hidden=True)
def drafts_that_lose_the_last_error(rng):
    return tried(rng, DRAFT, DROPPED)


@case("other_estimators", question="test_advantages", hidden=True)
def drafts_that_bootstrap_wrongly(rng):
    return tried(rng, ROLLED)


@case("other_estimators", question="test_advantages", hidden=True)
def drafts_with_half_of_the_ends(rng):
    return tried(rng, ENDLESS, HALF_ENDLESS)


# Derive


def gaussians(rng: np.random.Generator, count: int, n: int) -> dict:
    log_sigma = rng.uniform(-1.2, 1.2, size=(count, n)).astype(np.float32)
    log_sigma[0, 0], log_sigma[-1, -1] = -3.2, 2.9  # nothing is clipped
    mu = normal(rng, count, n)
    return dict(mu=mu, log_sigma=log_sigma, y=mu + np.exp(log_sigma) * normal(rng, count, n))


@case("density", question="IndependentGaussianProcess.get_dist", nudges={"y": 1, "mu": 1})
def seeds_example(rng):
    return dict(
        mu=np.array([[0, 1], [1, 0], [-1, 2]], np.float32),
        log_sigma=np.log(np.array([[2, 3], [4, 5], [6, 1]], np.float32)),
        y=np.array([[2, -5], [1, -2.5], [8, 2]], np.float32),
    )


@case("density", question="IndependentGaussianProcess.get_dist", nudges={"y": 1, "mu": 1})
def three_dimensions(rng):
    return gaussians(rng, 7, 3)


@case("density", question="IndependentGaussianProcess.get_dist", nudges={"y": 1, "mu": 1})
def at_the_mean(rng):
    given = gaussians(rng, 5, 2)
    given["y"][1] = given["mu"][1]
    given["y"][3, 0] = given["mu"][3, 0]
    return given


@case("density", question="IndependentGaussianProcess.get_dist")
def improbable_actions(rng):
    """So far away that the density itself is 0 in single and in double precision; its logarithm is not."""
    given = gaussians(rng, 4, 2)
    return given | dict(
        y=given["mu"] + np.exp(given["log_sigma"]) * np.array([[70, 3], [-2, 60], [-50, -50], [1, 1]], np.float32)
    )


@case("density", question="IndependentGaussianProcess.get_dist")
def density_of_one_row(rng):
    return {name: values[:1] for name, values in gaussians(rng, 2, 3).items()}


@case("density", question="IndependentGaussianProcess.get_dist", hidden=True)
def one_dimension(rng):
    return gaussians(rng, 5, 1)


@case("density", question="IndependentGaussianProcess.get_dist", hidden=True)
def sixty_four_dimensions(rng):
    return gaussians(rng, 6, 64)


@case("density", question="IndependentGaussianProcess.get_dist", hidden=True)
def everything_at_the_mean(rng):
    given = gaussians(rng, 5, 4)
    return given | dict(y=given["mu"].copy())


@case("density", question="IndependentGaussianProcess.get_dist", hidden=True)
def far_from_the_mean(rng):
    given = gaussians(rng, 6, 2)
    return given | dict(y=given["mu"] + np.exp(given["log_sigma"]) * normal(rng, 6, 2, scale=40.0))


@case("entropy", question="IndependentGaussianProcess.entropy", nudges={"log_sigma": 1})
def entropy_of_three_dimensions(rng):
    given = gaussians(rng, 5, 3)
    del given["y"]
    return given


@case("entropy", question="IndependentGaussianProcess.entropy")
def entropy_of_one_row(rng):
    given = gaussians(rng, 2, 2)
    return dict(mu=given["mu"][:1], log_sigma=given["log_sigma"][1:])


@case("entropy", question="IndependentGaussianProcess.entropy", hidden=True)
def entropy_of_one_dimension(rng):
    given = gaussians(rng, 6, 1)
    del given["y"]
    return given


@case("entropy", question="IndependentGaussianProcess.entropy", hidden=True)
def entropy_of_many_dimensions(rng):
    given = gaussians(rng, 5, 17)
    del given["y"]
    return given


@case("samples", question="IndependentGaussianProcess.sample")
def samples_of_three_dimensions(rng):
    return dict(mu=np.array([1.5, -2.0, 0.3], np.float32), log_sigma=np.array([0.8, -1.1, 0.3], np.float32))


@case("samples", question="IndependentGaussianProcess.sample", hidden=True)
def samples_of_two_dimensions(rng):
    return dict(mu=np.array([-4.0, 0.5], np.float32), log_sigma=np.array([-3.0, 2.4], np.float32))


# The networks


def with_a_large_row(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return states of which the last one is far from the others."""
    states = normal(rng, *shape)
    states[-1] *= 25
    return states


@case("actor", question="Actor")
def actor_of_two_actions(rng):
    return dict(obs_dim=3, n=2, states=with_a_large_row(rng, 7, 1, 3), log_sigma=np.array([-3.3, 2.7], np.float32))


@case("actor", question="Actor")
def actor_of_two_observations(rng):
    return dict(obs_dim=3, n=1, states=with_a_large_row(rng, 5, 2, 3), log_sigma=np.array([0.4], np.float32))


@case("actor", question="Actor", hidden=True)
def actor_with_a_window(rng):
    return dict(obs_dim=2, n=3, states=with_a_large_row(rng, 6, 4, 2), log_sigma=np.array([0.2, -0.9, 0.6], np.float32))


@case("critic", question="Critic")
def critic_of_three_numbers(rng):
    return dict(obs_dim=3, states=with_a_large_row(rng, 7, 1, 3))


@case("critic", question="Critic")
def critic_of_two_observations(rng):
    return dict(obs_dim=3, states=with_a_large_row(rng, 5, 2, 3))


@case("critic", question="Critic", hidden=True)
def critic_with_a_window(rng):
    return dict(obs_dim=2, states=with_a_large_row(rng, 6, 4, 2))


# States that are windows


@case("windows", question="EpisodeMemory.get_recent_state")
def windows_of_three(rng):
    return dict(window_length=3, episodes=[normal(rng, 6, 2), normal(rng, 2, 2)])


@case("windows", question="EpisodeMemory.get_recent_state")
def windows_of_one(rng):
    return dict(window_length=1, episodes=[normal(rng, 4, 3), normal(rng, 1, 3)])


@case("windows", question="EpisodeMemory.get_recent_state", hidden=True)
def windows_of_one_number(rng):
    return dict(window_length=1, episodes=[normal(rng, 3, 1), normal(rng, 2, 1)])


@case("windows", question="EpisodeMemory.get_recent_state", hidden=True)
def windows_of_four(rng):
    return dict(window_length=4, episodes=[normal(rng, 3, 3), normal(rng, 9, 3)])


@case("windows", question="EpisodeMemory.get_recent_state", hidden=True)
def windows_of_two(rng):
    return dict(window_length=2, episodes=[normal(rng, 1, 2), normal(rng, 5, 2)])


# The agent: forward


@case("forward", question="PPOAgent.forward")
def acts_in_one_environment(rng):
    return dict(observations=normal(rng, 3, 3), n=2, exploring=[True] * 3)


@case("forward", question="PPOAgent.forward")
def acts_in_four_environments(rng):
    observations = normal(rng, 3, 4, 2)
    observations[0, 1] *= 20
    return dict(observations=observations, n=3, exploring=[True] * 3)


@case("forward", question="PPOAgent.forward")
def acts_without_exploring(rng):
    return dict(observations=normal(rng, 3, 3), n=2, exploring=[False, True, False])


@case("forward", question="PPOAgent.forward")
def acts_in_a_state_of_three_observations(rng):
    return dict(observations=normal(rng, 3, 2), n=1, states=normal(rng, 3, 3, 2), exploring=[True] * 3)


@case("forward", question="PPOAgent.forward")
def acts_in_two_environments_with_states_of_two_observations(rng):
    return dict(observations=normal(rng, 2, 2, 3), n=2, states=normal(rng, 2, 2, 2, 3), exploring=[True] * 2)


@case("forward", question="PPOAgent.forward")
def acts_in_a_single_environment_of_a_batch(rng):
    return dict(observations=normal(rng, 2, 1, 2), n=1, exploring=[True, False])


@case("forward", question="PPOAgent.forward", hidden=True)
def acts_in_states_of_two_observations(rng):
    """The episodes have just ended; the states in which they did are like all others."""
    return dict(observations=normal(rng, 3, 3, 4), n=2, states=normal(rng, 3, 3, 2, 4), exploring=[True] * 3, over=True)


@case("forward", question="PPOAgent.forward", hidden=True)
def acts_by_one_number(rng):
    return dict(observations=normal(rng, 4, 3), n=1, exploring=[True] * 4)


@case("forward", question="PPOAgent.forward", hidden=True)
def acts_in_a_batch_of_one_environment(rng):
    return dict(observations=normal(rng, 2, 1, 3), n=2, exploring=[True] * 2)


@case("forward", question="PPOAgent.forward", hidden=True)
def acts_in_five_environments_without_exploring(rng):
    return dict(observations=normal(rng, 2, 5, 2), n=2, exploring=[False] * 2)


# The agent: backward


def calls(rng: np.random.Generator, *episodes: list[tuple[int, str]]) -> dict:
    """Return what is seen in calls of forward and backward, for each environment: lengths of its episodes, and how they end.

    After an end comes the extra call, in which there is no reward. All environments have as many calls as the longest.
    """
    rows = []
    for of_one in episodes:
        row = []
        for length, end in of_one:
            row += [(rng.normal(), False, False) for _ in range(length - 1)]
            row.append((rng.normal(), "terminated" in end, "truncated" in end))
            if end:
                row.append((0.0, False, False))
        rows.append(row)
    longest = max(map(len, rows))
    rows = [row + [(rng.normal(), False, False)] * (longest - len(row)) for row in rows]
    rewards, terminals, truncateds = (np.array(column).T for column in np.array(rows).transpose(2, 0, 1))
    observations = normal(rng, longest, len(rows), 3)
    given = dict(
        observations=observations,
        rewards=rewards.astype(np.float32),
        terminals=terminals.astype(bool),
        truncateds=truncateds.astype(bool),
    )
    return {name: value[:, 0] for name, value in given.items()} if len(rows) == 1 else given


@case("backward", question="PPOAgent.backward")
def one_environment(rng):
    """A step may have a reward of 0, as an extra call has."""
    given = calls(rng, [(3, "terminated"), (2, "truncated"), (1, "truncated"), (4, "")])
    given["rewards"][1] = 0.0
    return given | dict(episodes_per_update=9)


@case("backward", question="PPOAgent.backward")
def updates_after_two_episodes(rng):
    return calls(
        rng, [(2, "truncated"), (3, "terminated"), (1, "terminated"), (2, "truncated"), (3, "truncated"), (1, "")]
    ) | dict(episodes_per_update=2)


@case("backward", question="PPOAgent.backward")
def three_environments(rng):
    return calls(
        rng,
        [(4, "terminated"), (3, "")],
        [(2, "truncated"), (2, "terminated"), (1, "")],
        [(4, "truncated"), (2, "truncated"), (1, "")],
    ) | dict(episodes_per_update=9)


@case("backward", question="PPOAgent.backward")
def two_environments_that_end_at_once(rng):
    """There may be more than N episodes at once, and none of them is left for later."""
    return calls(
        rng,
        [(2, "terminated"), (2, "truncated"), (2, "truncated"), (1, "")],
        [(5, "truncated"), (2, "terminated"), (1, "")],
    ) | dict(episodes_per_update=2)


@case("backward", question="PPOAgent.backward")
def terminated_as_time_ran_out(rng):
    return calls(rng, [(2, "terminated and truncated"), (3, "truncated"), (1, "")]) | dict(episodes_per_update=9)


@case("backward", question="PPOAgent.backward")
def one_environment_of_numpy(rng):
    """Rewards and ends are NumPy's own numbers and bools, as environments return them."""
    return calls(rng, [(2, "terminated"), (3, "truncated"), (1, "")]) | dict(episodes_per_update=1, by_numpy=True)


@case("backward", question="PPOAgent.backward")
def two_environments_of_arrays(rng):
    given = calls(rng, [(3, "terminated"), (1, "")], [(2, "truncated"), (2, "")])
    return given | dict(episodes_per_update=2, by_numpy=True)


@case("backward", question="PPOAgent.backward")
def not_in_training(rng):
    given = calls(rng, [(2, "truncated"), (3, "terminated"), (1, "truncated"), (2, "terminated"), (1, "")])
    return given | dict(episodes_per_update=2, testing=[3, 4, 5, 6])


@case("backward", question="PPOAgent.backward", hidden=True)
def both_ends_at_once(rng):
    """And all environments at once."""
    alike = [(2, "terminated and truncated"), (1, "terminated"), (3, "truncated")]
    return calls(rng, alike, alike) | dict(episodes_per_update=9)


@case("backward", question="PPOAgent.backward", hidden=True)
def four_environments_that_learn(rng):
    given = calls(
        rng,
        [(3, "terminated"), (3, "truncated"), (2, "")],
        [(2, "truncated"), (2, "terminated"), (1, "terminated"), (1, "")],
        [(3, "truncated"), (3, "truncated"), (2, "")],
        [(8, "truncated")],
    )
    return given | dict(episodes_per_update=3, states=normal(rng, *given["observations"].shape[:2], 2, 3))


@case("backward", question="PPOAgent.backward", hidden=True)
def updates_after_every_episode(rng):
    given = calls(rng, [(1, "truncated"), (4, "terminated"), (2, "terminated"), (2, "")])
    given["rewards"][3] = 0.0
    return given | dict(episodes_per_update=1)


@case("backward", question="PPOAgent.backward", hidden=True)
def two_environments_not_in_training(rng):
    given = calls(rng, [(2, "truncated"), (3, "terminated"), (2, "truncated")], [(5, "terminated"), (4, "truncated")])
    return given | dict(episodes_per_update=2, testing=[5, 6, 7])


@case("making", question="PPOAgent.backward", hidden=True)
def agent_as_it_is_made(rng):
    options = dict(gamma=0.8, lamb=0.7, episodes_per_update=5, epochs=3, batch_size=17, clip=0.1, entropy_coef=0.02)
    return dict(num_envs=3, window_length=2, options=options | dict(learning_rate=0.004, seed=1))


# The agent: what is learned from an episode


def whole_episode(
    rng: np.random.Generator, count: int, window: int, obs_dim: int, n: int, end: str, **discounts: float
) -> dict:
    """Return an episode with its advantages, by the double sum."""
    states, final_state = normal(rng, count, window, obs_dim), normal(rng, window, obs_dim, scale=2.0)
    rewards, weights = normal(rng, count, scale=2.0), rng.uniform(1.0, 4.0, size=window * obs_dim).astype(np.float32)
    value = np.append(states, final_state[None], axis=0).reshape(count + 1, -1).astype(np.float64) @ weights
    value[-1] *= "terminated" not in end
    delta = rewards + discounts["gamma"] * value[1:] - value[:-1]
    steps_later = np.arange(count)[None, :] - np.arange(count)[:, None]
    decay = np.where(steps_later >= 0, (discounts["gamma"] * discounts["lamb"]) ** np.maximum(steps_later, 0), 0.0)
    return dict(
        states=states,
        final_state=final_state,
        actions=normal(rng, count, n),
        log_probs=normal(rng, count),
        rewards=rewards,
        terminated="terminated" in end,
        truncated="truncated" in end,
        weights=weights,
        advantage=(decay @ delta).astype(np.float32),
        **discounts,
    )


@case("finishing", question="PPOAgent.finish_episode")
def episode_that_terminated(rng):
    return whole_episode(rng, 5, 1, 3, 2, "terminated", gamma=0.8, lamb=0.6)


@case("finishing", question="PPOAgent.finish_episode")
def episode_that_was_truncated(rng):
    return whole_episode(rng, 6, 1, 2, 1, "truncated", gamma=0.9, lamb=0.7)


@case("finishing", question="PPOAgent.finish_episode")
def single_step_that_was_truncated(rng):
    return whole_episode(rng, 1, 2, 2, 2, "truncated", gamma=0.9, lamb=0.5)


@case("finishing", question="PPOAgent.finish_episode", hidden=True)
def truncated_episode_with_windows(rng):
    return whole_episode(rng, 7, 3, 2, 3, "truncated", gamma=0.7, lamb=0.9)


@case("finishing", question="PPOAgent.finish_episode", hidden=True)
def episode_of_one_step(rng):
    """Time was up when the world ended."""
    return whole_episode(rng, 1, 2, 3, 2, "terminated and truncated", gamma=0.6, lamb=0.8)


# The agent: losses


def policy_batch(rng: np.random.Generator, log_ratio: np.ndarray, advantage: np.ndarray, n: int) -> dict:
    """Return actions with such probability ratios: the old log-probability is what belongs to it."""
    count = len(log_ratio)
    mu, action = normal(rng, count, n), normal(rng, count, n)
    log_sigma = rng.uniform(-0.8, 0.8, size=n).astype(np.float32)
    squares = ((action - mu) / np.exp(log_sigma)) ** 2
    now = -0.5 * squares.sum(axis=1) - log_sigma.sum() - 0.5 * n * np.log(2 * np.pi)
    return dict(
        mu=mu,
        log_sigma=log_sigma,
        action=action,
        log_prob=(now - log_ratio).astype(np.float32),
        advantage=advantage.astype(np.float32),
    )


# Very far below, far below, a little below, a little above, far above and very far above 1, each with advantages of both signs.
RATIOS = np.repeat([-2.6, -0.9, -0.08, 0.06, 0.8, 2.4], 2)
SIGNS = np.tile([1.0, -1.0], 6)


@case("policy_loss", question="PPOAgent.policy_loss", nudges={"advantage": 1, "log_prob": 1})
def at_the_first_step(rng):
    """The policy is still the one that acted."""
    return policy_batch(rng, np.zeros(6), normal(rng, 6) + 0.4, 2) | dict(clip=0.2, entropy_coef=0.0)


@case("policy_loss", question="PPOAgent.policy_loss", nudges={"advantage": 1, "log_prob": 1})
def ratios_on_both_sides(rng):
    return policy_batch(rng, RATIOS, SIGNS * rng.uniform(0.5, 2.0, 12), 3) | dict(clip=0.2, entropy_coef=0.0)


@case("policy_loss", question="PPOAgent.policy_loss")
def a_wide_clip_range(rng):
    """Some ratios are outside the usual range and inside this one."""
    log_ratio = np.repeat([-0.9, -0.4, 0.3, 0.8], 2)
    return policy_batch(rng, log_ratio, SIGNS[:8] * rng.uniform(0.5, 2.0, 8), 2) | dict(clip=0.4, entropy_coef=0.0)


@case("policy_loss", question="PPOAgent.policy_loss", nudges={"advantage": 1, "log_prob": 1})
def with_an_entropy_bonus(rng):
    return policy_batch(rng, 0.3 * normal(rng, 5), normal(rng, 5), 2) | dict(clip=0.2, entropy_coef=0.3)


def far_away(rng: np.random.Generator, given: dict, distance: float) -> dict:
    """Return the batch with actions so far away that their densities are 0: their ratios are not, by the logarithms."""
    log_ratio = np.array(0.4 * rng.normal(size=len(given["mu"])), np.float32)
    sigma = np.exp(given["log_sigma"])
    action = (given["mu"] + distance * sigma * np.sign(normal(rng, *given["mu"].shape))).astype(np.float32)
    squares = ((action.astype(np.float64) - given["mu"]) / sigma) ** 2
    n = given["mu"].shape[1]
    now = -0.5 * squares.sum(axis=1) - given["log_sigma"].sum() - 0.5 * n * np.log(2 * np.pi)
    return given | dict(action=action, log_prob=(now - log_ratio).astype(np.float32))


@case("policy_loss", question="PPOAgent.policy_loss")
def actions_far_away(rng):
    return far_away(rng, policy_batch(rng, np.zeros(5), normal(rng, 5), 2), 14.0) | dict(clip=0.2, entropy_coef=0.0)


@case("policy_loss", question="PPOAgent.policy_loss")
def a_batch_of_one_row(rng):
    return policy_batch(rng, np.array([0.1]), np.array([-0.7]), 2) | dict(clip=0.2, entropy_coef=0.1)


@case("policy_loss", question="PPOAgent.policy_loss", hidden=True)
def improbable_actions_in_a_batch(rng):
    return far_away(rng, policy_batch(rng, np.zeros(6), normal(rng, 6), 3), 12.0) | dict(clip=0.1, entropy_coef=0.2)


@case("policy_loss", question="PPOAgent.policy_loss", hidden=True)
def a_narrow_clip_range(rng):
    return policy_batch(rng, RATIOS / 2, SIGNS * rng.uniform(0.5, 2.0, 12), 2) | dict(clip=0.05, entropy_coef=0.0)


@case("policy_loss", question="PPOAgent.policy_loss", hidden=True)
def everything_at_once(rng):
    return policy_batch(rng, np.append(RATIOS, 0.5 * rng.normal(size=3)), normal(rng, 15, scale=4.0) + 0.3, 4) | dict(
        clip=0.3, entropy_coef=0.05
    )


@case("policy_loss", question="PPOAgent.policy_loss", hidden=True)
def one_dimension_of_actions(rng):
    return policy_batch(rng, 0.4 * rng.normal(size=7), normal(rng, 7) - 0.3, 1) | dict(clip=0.15, entropy_coef=0.7)


@case("value_loss", question="PPOAgent.value_loss", nudges={"value": 1, "value_target": 1})
def values_and_targets(rng):
    return dict(value=normal(rng, 7, scale=2.0), value_target=normal(rng, 7, scale=3.0) - 1.0)


@case("value_loss", question="PPOAgent.value_loss")
def one_value_and_one_target(rng):
    return dict(value=normal(rng, 1), value_target=normal(rng, 1) + 1.0)


@case("value_loss", question="PPOAgent.value_loss")
def values_far_from_their_targets(rng):
    """Errors of about 40, whose squares count in full."""
    return dict(value=normal(rng, 6, scale=30.0), value_target=normal(rng, 6, scale=30.0) - 9.0)


@case("value_loss", question="PPOAgent.value_loss", hidden=True)
def more_values_and_targets(rng):
    return dict(value=normal(rng, 12, scale=30.0), value_target=normal(rng, 12, scale=9.0) + 4.0)


# The agent: to learn


def episodes(rng: np.random.Generator, lengths: list[list[int]], epochs: int, batch_size: int) -> dict:
    count = sum(map(sum, lengths))
    return dict(
        lengths=lengths,
        action=normal(rng, count, 2),
        log_prob=normal(rng, count),
        advantage=normal(rng, count, scale=3.0) + 1.5,
        value_target=normal(rng, count, scale=2.0),
        epochs=epochs,
        batch_size=batch_size,
    )


@case("updating", question="PPOAgent.update")
def two_updates(rng):
    """The last minibatch is a single row."""
    return episodes(rng, [[5, 7, 4], [9, 7]], 4, 5)


@case("updating", question="PPOAgent.update", hidden=True)
def updates_with_larger_minibatches(rng):
    return episodes(rng, [[13, 1, 19, 5], [21, 17]], 3, 35)


@case("updating", question="PPOAgent.update")
def equal_advantages(rng):
    """Their standard deviation is 0."""
    return episodes(rng, [[3, 5]], 2, 4) | dict(advantage=np.full(8, 1.5, np.float32))


@case("updating", question="PPOAgent.update", hidden=True)
def equal_advantages_of_an_episode(rng):
    return episodes(rng, [[4]], 2, 3) | dict(advantage=np.full(4, -2.5, np.float32))


@case("updating", question="PPOAgent.update")
def minibatches_of_one_row(rng):
    return episodes(rng, [[2, 3]], 2, 1)


# All together


@case("one_update", question="one_update")
def one_update_in_one_environment(rng):
    return dict(num_envs=1, learning_rate=0.005)


@case("one_update", question="one_update")
def one_update_in_three_environments(rng):
    return dict(num_envs=3, learning_rate=0.005)
