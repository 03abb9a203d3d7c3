"""Visible checks of `recurrent_a2c`: what a student sees on the first run."""

import numpy as np

from grader.judge import points
from grader.judge.views import only
from views import (
    AFTER,
    BEFORE,
    ENTROPY,
    MEAN,
    NOT_PLAYED,
    OTHERS,
    POLICY,
    QUIET,
    VALUE,
    ends_of,
    form_of_a_step,
    n_step_value_loss,
    not_known,
    other_entropy,
    steps_by_their_loss,
)

BETWEEN = ("conv0 and conv1", "conv1 and conv2", "conv2 and hid", "hid and rnn")
HEARD = only("h before each column, by game", "c before each column, by game")
CONNECTED = only("a gradient can go into h and c before each column", "what the agent has returned was changed in place")


# The network


@points(1, question="forward")
def test_what_is_returned(student):
    """The new memory (h, c), the logits, and one state value for each game, all float32; of a single game as well."""
    student.expect("network_five_games", form_of_a_step)
    student.expect("network_single_game", form_of_a_step)


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
    for name in ("network_five_games", "network_single_game"):
        student.expect(name, only("logits are made of", "state_value is made of"))


@points(1, question="forward")
def test_gradients_of_a_step(student):
    """Gradients go from each result through the memory to all layers before it; nothing that was given is changed."""
    names = (f"a gradient goes from {name} to" for name in ("new h", "new c", "logits", "state_value"))
    student.expect("network_five_games", only(*names, "changed by the call"))


# Going through the rollout


@points(1, question="train_on_rollout.memory")
def test_given_memory_is_left_alone(student):
    """The memory that is given is not changed."""
    student.expect("going_alone", only("prev_memory_states were changed in place"))
    student.expect("going_past_ends_at_both_sides", only("prev_memory_states were changed in place"))


@points(2, question="train_on_rollout.memory")
def test_every_column(student):
    """The agent is asked about every column, the last one too."""
    student.expect("going_without_ends", only("the agent is asked about each column"))


@points(2, question="train_on_rollout.memory")
def test_memory_is_passed_on(student):
    """In the first column it has the memory from before the rollout, then what came of the column before."""
    student.expect("going_without_ends", HEARD)


@points(2, question="train_on_rollout.memory")
def test_gradient_through_time(student):
    """A gradient can go back through the memory to the first column, and not into what was before."""
    student.expect("going_without_ends", CONNECTED)
    student.expect("going_past_an_end", CONNECTED)


@points(2, question="train_on_rollout.memory")
def test_memory_after_an_end(student):
    """At the first frame of a new game the agent remembers nothing; other games go on."""
    student.expect("going_past_an_end", HEARD)
    student.expect("going_past_ends_at_both_sides", HEARD)


# The losses


@points(1, question="train_on_rollout.policy")
def test_one_game(student):
    """A rollout of one game, with one tick, is a rollout as well."""
    student.expect("losses_of_one_game", only(POLICY))


@points(2, question="train_on_rollout.policy")
def test_policy_by_hand(student):
    """Rewards 1, 4 and 2, values 1, 2, 0 and 0, γ = ½: the advantages are 2.5, 3 and 2, for actions of probability ½."""
    student.expect("losses_by_hand", only(POLICY))


@points(1, question="train_on_rollout.policy")
def test_policy_gradient(student):
    """The gradient of -J, a mean over games and ticks: each game's actions count by that game's own advantages."""
    student.expect("losses_without_ends", only(POLICY))


@points(2, question="train_on_rollout.policy")
def test_what_follows_the_rollout(student):
    """The game goes on after the rollout: V(s_L) stands for what follows."""
    student.expect("losses_to_be_continued", only(POLICY))


@points(2, question="train_on_rollout.policy")
def test_advantage_is_constant(student):
    """No gradient of the policy loss goes into the values."""
    student.expect("losses_without_ends", only("gradient of the policy loss, for the values"))


@points(2, question="train_on_rollout.policy")
def test_logits_far_apart(student):
    """An action may be as unlikely as e^-200: log π is known all the same, and so is its gradient."""
    student.expect("logits_far_apart", only(POLICY), also=not_known)


@points(2, question="train_on_rollout.value")
def test_value_by_hand(student):
    """Rewards 1, 4 and 2, values 1, 2, 0 and 0, γ = ½: the errors are 1, 2 and 2, the loss is 3."""
    inputs = student.case("losses_by_hand").inputs
    student.expect("losses_by_hand", only(VALUE), also=n_step_value_loss(inputs))


@points(2, question="train_on_rollout.value")
def test_value_gradient(student):
    """Each value is pulled to its own target, which is a constant; a mean over games and ticks."""
    inputs = student.case("losses_without_ends").inputs
    student.expect("losses_without_ends", only(VALUE), also=n_step_value_loss(inputs))


@points(1, question="train_on_rollout.value")
def test_value_without_discount(student):
    """With γ = 1 the next value counts in full, and with γ = 0 not at all."""
    for name in ("losses_without_discount", "losses_of_the_moment"):
        inputs = student.case(name).inputs
        student.expect(name, only(VALUE), also=n_step_value_loss(inputs))


@points(1, question="train_on_rollout.value")
def test_last_target(student):
    """The game goes on after the rollout: V(s_L) is in the target of the last value before it."""
    inputs = student.case("losses_to_be_continued").inputs
    student.expect("losses_to_be_continued", only(VALUE), also=n_step_value_loss(inputs))


@points(1, question="train_on_rollout.ends")
def test_mask_of_numbers(student):
    """A mask of 0 and 1, as the course's own pool had it, means the same as one of booleans."""
    student.expect("masks_of_two_kinds")


@points(2, question="train_on_rollout.ends")
def test_return_ends_with_the_game(student):
    """No reward and no value of the next game comes into a return; other games go on."""
    student.expect("losses_past_an_end", ends_of("policy", BEFORE, OTHERS, AFTER))


@points(1, question="train_on_rollout.ends")
def test_nothing_played(student):
    """The action of a tick in which nothing is played is not learned, and counts as 0 in the mean; others are."""
    student.expect("losses_past_an_end", ends_of("policy", NOT_PLAYED, MEAN, QUIET))


@points(1, question="train_on_rollout.ends")
def test_value_at_an_end(student):
    """Nothing follows the last reward of a game: its target has no value in it."""
    student.expect("losses_past_an_end", ends_of("value"))


@points(1, question="train_on_rollout.ends")
def test_end_in_the_last_column(student):
    """The last frame of a finished game stands for nothing that follows."""
    student.expect("losses_end_at_the_end")


@points(3, question="train_on_rollout.entropy")
def test_entropy_gradient(student):
    """The entropy of the policy, times 0.01, a mean over games and columns, makes it less certain."""
    inputs = student.case("losses_without_ends").inputs
    student.expect("losses_without_ends", only(ENTROPY), also=other_entropy(inputs), atol=1e-7)


@points(2, question="train_on_rollout.entropy")
def test_entropy_of_a_certain_policy(student):
    """The entropy of a policy that is all but certain is 0, not nan."""
    student.expect("logits_far_apart", only("the loss is finite"))


# The update


@points(2, question="train_on_rollout.step")
def test_one_step(student):
    """Each call makes one step of opt, by the gradient of its own loss alone."""
    student.expect("two_updates", steps_by_their_loss)


@points(1, question="train_on_rollout.step")
def test_loss_is_returned(student):
    """The loss is returned as a number, not as a tensor."""
    student.expect("two_updates", only("what is returned"))


@points(1, question="train_on_rollout.step")
def test_rollout_is_left_alone(student):
    """The agent is changed by opt alone, and the rollout not at all."""
    student.expect("two_updates", only("the agent is changed by opt alone", "arrays that were changed"))


# One update of the student's own agent


@points(3, question="one_update")
def test_update_runs(student):
    """Your train_on_rollout trains your own SimpleRecurrentAgent on a rollout: it runs, and makes one step."""
    steps = updated(student)["steps of opt"]
    assert steps == 1, f"in your train_on_rollout: opt made {steps} steps, expected 1"


@points(3, question="one_update")
def test_update_moves_all(student):
    """The step moves every layer of your agent, to finite numbers, and changes nothing else."""
    facts = updated(student)
    for name in ("parameters that did not move", "parameters that are not finite", "what was changed and should not be"):
        assert facts[name] == [], f"{name}: {', '.join(facts[name])}"


@points(2, question="one_update")
def test_loss_of_an_update(student):
    """The loss that it returns is that of the rollout, by the formula of the text and what your agent says of each column."""
    facts = updated(student)
    loss, forms = facts["loss that was returned"], facts["loss before"]
    assert nearest(loss, forms) is not None, f"in your train_on_rollout: it returned {loss}, expected {forms[0]:.4f}"


@points(2, question="one_update")
def test_update_lowers_the_loss(student):
    """After the step, the loss of the same rollout is lower: with the same advantages and targets."""
    facts = updated(student)
    form = nearest(facts["loss that was returned"], facts["loss before"]) or 0
    before, after = facts["loss before"][form], facts["loss after"][form]
    assert after < before, f"it was {before:.5f} and is {after:.5f} after one small step of SGD"


def updated(student):
    """Return the facts of one update; require that nothing broke it."""
    facts = student.call("one_update")
    assert facts["what broke"] == "", facts["what broke"]
    return facts


def nearest(loss, forms):
    """Return the place of the first of the right losses that the one returned is; None if it is none of them."""
    if not isinstance(loss, float):
        return None
    return next((place for place, form in enumerate(forms) if abs(loss - form) < 5e-5 * max(abs(form), 1)), None)


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
        student.curve(f"reward of an episode, seed {seed}", facts.get("reward of an episode"), least)
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
