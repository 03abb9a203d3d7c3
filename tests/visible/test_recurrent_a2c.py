"""Visible checks of `recurrent_a2c`: what a student sees on the first run."""

import numpy as np

from grader.judge import points
from grader.judge.views import only
from views import (
    ENTROPY,
    POLICY,
    VALUE,
    n_step_value_loss,
    other_entropy,
    outputs_of_a_step,
    steps_by_their_loss,
    value_gradient,
)

BETWEEN = ("conv0 and conv1", "conv1 and conv2", "conv2 and hid", "hid and rnn")


# The network


@points(2, question="forward")
def test_what_is_returned(student):
    """The new memory (h, c), the logits, and one state value for each game."""
    student.expect("network_five_games", outputs_of_a_step)


@points(2, question="forward")
def test_activations(student):
    """An activation function follows each convolution and hid."""
    names = ("times that each layer is used", "conv0 is given obs_t as it is", *(f"between {pair}" for pair in BETWEEN))
    student.expect("network_five_games", only(*names))


@points(2, question="forward")
def test_new_memory(student):
    """The new memory is what rnn makes of the output of hid and of the old memory, for each game by itself."""
    names = ("a second call says the same", "a game alone gets the same as among others", "the new memory is")
    student.expect("network_five_games", only(*names))


@points(2, question="forward")
def test_heads(student):
    """Logits and state value are linear in the new h."""
    student.expect("network_five_games", only("logits are made of", "state_value is made of"))


# Going through the rollout


@points(2, question="train_on_rollout.memory")
def test_every_column(student):
    """The agent is asked about every column, the last one too."""
    student.expect("going_without_ends", only("the agent is asked about each column"))


@points(3, question="train_on_rollout.memory")
def test_memory_is_passed_on(student):
    """In the first column it has the memory from before the rollout, then what came of the column before."""
    student.expect("going_without_ends", only("h before each column, by game", "c before each column, by game"))


@points(2, question="train_on_rollout.memory")
def test_gradient_through_time(student):
    """A gradient can go back through the memory to the first column, and not into what was before."""
    student.expect("going_without_ends", only("a gradient can go into h and c before each column"))


@points(3, question="train_on_rollout.memory")
def test_memory_after_an_end(student):
    """At the first frame of a new game the agent remembers nothing; other games go on."""
    student.expect("going_past_an_end", only("h before each column, by game", "c before each column, by game"))
    student.expect("going_past_an_end", only("a gradient can go into h and c before each column"))


# The losses


@points(3, question="train_on_rollout.policy")
def test_policy_by_hand(student):
    """Rewards 1 and 3, values 1, 2 and 4, γ = ½: the advantages are 2.5 and 3, for two actions of probability ½."""
    student.expect("losses_by_hand", only("policy loss", POLICY))


@points(3, question="train_on_rollout.policy")
def test_policy_gradient(student):
    """The gradient of -J: each game's actions count by that game's own advantages."""
    student.expect("losses_without_ends", only(POLICY))


@points(2, question="train_on_rollout.policy")
def test_policy_loss(student):
    """The loss that is returned has -J in it, a mean over games and ticks."""
    student.expect("losses_without_ends", only("policy loss"))


@points(2, question="train_on_rollout.policy")
def test_advantage_is_constant(student):
    """No gradient of the policy loss goes into the values."""
    student.expect("losses_without_ends", only("gradient of the policy loss, for the values"))


@points(2, question="train_on_rollout.value")
def test_value_by_hand(student):
    """Rewards 1 and 3, values 1, 2 and 4, γ = ½: the errors are 1 and 3, the loss is 5."""
    inputs = student.case("losses_by_hand").inputs
    student.expect("losses_by_hand", only("value loss", VALUE), also=n_step_value_loss(inputs))


@points(3, question="train_on_rollout.value")
def test_value_gradient(student):
    """Each value is pulled to its own target, which is a constant."""
    inputs = student.case("losses_without_ends").inputs
    student.expect("losses_without_ends", only(VALUE), also=n_step_value_loss(inputs))


@points(1, question="train_on_rollout.value")
def test_value_loss(student):
    """The loss that is returned has the value loss in it, a mean over games and ticks."""
    inputs = student.case("losses_without_ends").inputs
    student.expect("losses_without_ends", only("value loss"), also=n_step_value_loss(inputs))


@points(2, question="train_on_rollout.ends")
def test_return_ends_with_the_game(student):
    """No reward and no value of the next game comes into a return; other games go on."""

    mask = student.case("losses_past_an_end").inputs["is_not_done"]

    def played(facts):
        gradient = facts[POLICY]
        if np.ndim(gradient) != 3:
            return {POLICY: gradient}
        return {f"{POLICY}, where something is played": np.asarray(gradient)[mask]}

    student.expect("losses_past_an_end", played)


@points(2, question="train_on_rollout.ends")
def test_nothing_played(student):
    """The action of a tick in which nothing is played is not learned."""
    student.expect(
        "losses_past_an_end", lambda facts: {POLICY: facts[POLICY] if np.ndim(facts[POLICY]) != 3 else facts[POLICY][1, 2]}
    )


@points(1, question="train_on_rollout.ends")
def test_value_at_an_end(student):
    """Nothing follows the last reward of a game: its target has no value in it."""
    inputs = student.case("losses_past_an_end").inputs
    student.expect("losses_past_an_end", value_gradient(inputs), also=n_step_value_loss(inputs))


@points(1, question="train_on_rollout.ends")
def test_end_in_the_last_column(student):
    """The last frame of a finished game stands for nothing that follows."""
    inputs = student.case("losses_end_at_the_end").inputs
    student.expect("losses_end_at_the_end", only(POLICY))
    student.expect("losses_end_at_the_end", value_gradient(inputs), also=n_step_value_loss(inputs))


@points(3, question="train_on_rollout.entropy")
def test_entropy_gradient(student):
    """The entropy of the policy, times 0.01, makes it less certain."""
    inputs = student.case("losses_without_ends").inputs
    student.expect("losses_without_ends", only(ENTROPY), also=other_entropy(inputs), atol=1e-7)


@points(2, question="train_on_rollout.entropy")
def test_entropy(student):
    """The loss that is returned has -0.01 times the entropy in it, a mean over games and columns: log 2 for a fair coin."""
    for name in ("losses_by_hand", "losses_without_ends"):
        inputs = student.case(name).inputs
        student.expect(name, only("entropy loss"), also=other_entropy(inputs), atol=1e-6)


# The update


@points(2, question="train_on_rollout.step")
def test_one_step(student):
    """Each call makes one step of opt, by the gradient of its own loss alone."""
    student.expect("two_updates", steps_by_their_loss)


@points(2, question="train_on_rollout.step")
def test_loss_is_returned(student):
    """The loss is returned as a number, not as a tensor."""
    student.expect("two_updates", only("what is returned"))


# Learning


@points(1, question="learning")
def test_learns_cue(student, kit):
    """After 150 updates on Cue, an agent with a small memory remembers at the end what it saw in the beginning."""
    reaches(0.5, student, kit, task="cue", updates=150)


@points(1, question="learning")
def test_learns_metronome(student, kit):
    """After 150 updates on Metronome, it counts the steps of each episode, from its beginning."""
    reaches(0.3, student, kit, task="metronome", updates=150)


def reaches(least, student, kit, task, updates):
    """Require the mean return in one of two trainings. On both tasks 0 is what an agent without memory gets."""
    returns, seeds = [], student.seeds(2)
    for seed in seeds:
        facts = student.call("learn", task=task, seed=seed, updates=updates)
        student.curve(f"reward of an episode, seed {seed}", facts.get("reward of an episode"))
        returns.append(kit.call("play", task=task, weights=facts["weights"], seed=seed)["mean return"])
        if returns[-1] >= least:
            return
    tried = " and ".join(map(str, seeds))
    raise AssertionError(f"its mean return is {returns} (seeds {tried}), expected {least} or more; without memory it is 0")


# The leaderboard


@points(0, question="trained_agent")
def test_trained_agent(student):
    """An agent that is handed in plays five games of KungFuMaster, drawing actions from its policy: the mean score counts."""
    seeds = list(range(5))
    file = student.attachment("agent.safetensors")
    facts = student.dialogue(
        asks=("referee", {"seeds": seeds}), answers=("act", {"file": file, "games": len(seeds), "seed": 0})
    )
    if "missing" in facts:
        student.not_run("the game is not installed here: pip install ale-py opencv-python-headless")
    assert "refused" not in facts, f"your agent's actions cannot be carried out: {facts.get('refused')}"
    student.leaderboard("KungFuMaster: mean of 5 games", np.mean(facts["scores"]))
