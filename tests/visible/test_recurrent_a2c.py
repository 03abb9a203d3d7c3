"""Visible checks of `recurrent_a2c`, which students get. Their cases and answers are in solution.json."""

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
    weights_of_entropies,
)

BETWEEN = ("conv0 and conv1", "conv1 and conv2", "conv2 and hid", "hid and rnn")
HEARD = only("h passed to agent, by game and column", "c passed to agent, by game and column")
CONNECTED = only("requires_grad of h and c passed to agent, by column", "the memory returned by agent is changed in place")


# The network


@points(1, question="forward")
def test_what_is_returned(student):
    """forward returns the memory (h, c), logits, and one state value per game, all float32, even for a single game."""
    student.expect("network_five_games", form_of_a_step)
    student.expect("network_single_game", form_of_a_step)


@points(2, question="forward")
def test_activations(student):
    """Each layer is used once, conv0 gets obs_t unchanged, and an activation follows each convolution and `hid`."""
    names = ("number of uses of each layer", "conv0 receives obs_t unchanged", *(f"between {pair}" for pair in BETWEEN))
    student.expect("network_five_games", only(*names))


@points(2, question="forward")
def test_new_memory(student):
    """The new memory is the output of `rnn` for the output of `hid` and the old memory, for each game separately."""
    names = ("a second call returns the same", "a game alone gets the same outputs as in a batch", "new_state")
    student.expect("network_five_games", only(*names))
    student.expect("network_at_the_start", only("new_state"))


@points(2, question="forward")
def test_heads(student):
    """Logits and state values are linear in the new h."""
    for name in ("network_five_games", "network_single_game"):
        student.expect(name, only("logits are computed from", "state_value is computed from"))


@points(1, question="forward")
def test_gradients_of_a_step(student):
    """Gradients flow from each result through the memory to all layers before it; the inputs are not modified."""
    names = (
        f"layers and inputs that get a gradient from {name}" for name in ("the new h", "the new c", "logits", "state_value")
    )
    student.expect("network_five_games", only(*names, "inputs that forward changed"))


# Playing


@points(1, question="playing")
def test_actions_are_sampled(student):
    """sample_actions draws new actions in each call, by the softmax of the logits, with torch's global generator."""
    names = ("shares of actions with the probabilities 0.5, 0.3 and 0.2", "two samples differ")
    seeded = "the same seed of torch gives the same sample"
    student.expect("playing_three_games", only("sample_actions returns", *names, seeded), atol=0.06)


@points(1, question="playing")
def test_given_functions(student):
    """step returns what forward returns, without a graph; the first memory, Flatten and one-hot rows are as in the stub."""
    begins = ("get_initial_state returns", "get_initial_state is all zeros")
    rows = ("to_one_hot([[3, 0], [1, 3]], 5)", "to_one_hot([3, 0, 1, 3])", "dtype of to_one_hot")
    student.expect("playing_three_games", only(*begins, *rows, "Flatten()([3, 4, 16, 16])"))
    student.expect(
        "playing_a_step_in_the_middle", only("results of step that keep a graph", "step returns what forward returns")
    )


# Going through the rollout


@points(1, question="train_on_rollout.memory")
def test_given_memory_is_left_alone(student):
    """The function does not modify `prev_memory_states`."""
    student.expect("going_alone", only("prev_memory_states are changed in place"))
    student.expect("going_past_ends_at_both_sides", only("prev_memory_states are changed in place"))


@points(2, question="train_on_rollout.memory")
def test_every_column(student):
    """The agent is called on every column, including the last."""
    student.expect("going_without_ends", only("agent is called on column"))


@points(2, question="train_on_rollout.memory")
def test_memory_is_passed_on(student):
    """The first column gets the memory from before the rollout; each later column gets the previous column's memory."""
    student.expect("going_without_ends", HEARD)


@points(2, question="train_on_rollout.memory")
def test_gradient_through_time(student):
    """A gradient can flow back through the memory to the first column, but not further."""
    student.expect("going_without_ends", CONNECTED)
    student.expect("going_past_an_end", CONNECTED)


@points(2, question="train_on_rollout.memory")
def test_memory_after_an_end(student):
    """At the first frame of a new game, the memory is empty; other games keep their memory."""
    student.expect("going_past_an_end", HEARD)
    student.expect("going_past_ends_at_both_sides", HEARD)


# The losses


@points(1, question="train_on_rollout.policy")
def test_one_game(student):
    """The policy loss is right for a rollout of one game with one action."""
    student.expect("losses_of_one_game", only(POLICY))


@points(2, question="train_on_rollout.policy")
def test_policy_by_hand(student):
    """The gradient of -J is right for rewards 1, 4, 2, values 1, 2, 0, 0 and γ = ½, which give the advantages 2.5, 3, 2."""
    student.expect("losses_by_hand", only(POLICY))


@points(1, question="train_on_rollout.policy")
def test_policy_gradient(student):
    """The gradient of -J is that of a mean over games and columns, where each action has the advantage of its own game."""
    student.expect("losses_without_ends", only(POLICY))


@points(2, question="train_on_rollout.policy")
def test_what_follows_the_rollout(student):
    """The gradient of -J is right if the game continues: G_L is V(s_L), and the last column's reward does not count."""
    student.expect("losses_to_be_continued", only(POLICY))
    student.expect("losses_with_a_last_reward", only(POLICY))


@points(2, question="train_on_rollout.policy")
def test_advantage_is_constant(student):
    """No gradient of the policy loss flows into the values."""
    student.expect("losses_without_ends", only("gradient of the policy loss -J with respect to the values"))


@points(2, question="train_on_rollout.policy")
def test_logits_far_apart(student):
    """The gradient of -J is right even if the probability of an action is as small as e^-200."""
    student.expect("logits_far_apart", only(POLICY), also=not_known)


@points(2, question="train_on_rollout.value")
def test_value_by_hand(student):
    """The gradient of the value loss is right for rewards 1, 4, 2, values 1, 2, 0, 0 and γ = ½ (errors 1, 2, 2; loss 3)."""
    inputs = student.case("losses_by_hand").inputs
    student.expect("losses_by_hand", only(VALUE), also=n_step_value_loss(inputs))


@points(2, question="train_on_rollout.value")
def test_value_gradient(student):
    """The gradient of the value loss is that of a mean over games and columns, with a constant target for each value."""
    inputs = student.case("losses_without_ends").inputs
    student.expect("losses_without_ends", only(VALUE), also=n_step_value_loss(inputs))


@points(1, question="train_on_rollout.value")
def test_value_without_discount(student):
    """The gradient of the value loss is right for γ = 1 (the next value counts in full) and γ = 0 (it does not count)."""
    for name in ("losses_without_discount", "losses_of_the_moment"):
        inputs = student.case(name).inputs
        student.expect(name, only(VALUE), also=n_step_value_loss(inputs))


@points(1, question="train_on_rollout.value")
def test_last_target(student):
    """The gradient of the value loss is right if the game continues: V(s_L) is in the target of V(s_(L-1))."""
    inputs = student.case("losses_to_be_continued").inputs
    student.expect("losses_to_be_continued", only(VALUE), also=n_step_value_loss(inputs))


@points(1, question="train_on_rollout.ends")
def test_mask_of_numbers(student):
    """A mask of 0 and 1, as in the course, gives the same result as a mask of booleans."""
    student.expect("masks_of_two_kinds")


@points(2, question="train_on_rollout.ends")
def test_return_ends_with_the_game(student):
    """A return contains no reward and no value from the next game; an end does not affect the returns of other games."""
    student.expect("losses_past_an_end", ends_of("policy", BEFORE, OTHERS, AFTER))


@points(1, question="train_on_rollout.ends")
def test_nothing_played(student):
    """A dead tick adds 0 to J, but the mean still divides by all games and columns; all other actions are trained on."""
    student.expect("losses_past_an_end", ends_of("policy", NOT_PLAYED, MEAN, QUIET))


@points(1, question="train_on_rollout.ends")
def test_value_at_an_end(student):
    """At an end, value targets contain no next value; dead ticks add 0, and all other columns are trained on as usual."""
    student.expect("losses_past_an_end", ends_of("value"))


@points(1, question="train_on_rollout.ends")
def test_end_in_the_last_column(student):
    """If a game ends in the last column, neither loss uses the value of its last frame; dead ticks add 0."""
    student.expect("losses_end_at_the_end")


@points(3, question="train_on_rollout.entropy")
def test_entropy_gradient(student):
    """The gradient of the entropy term is that of -0.01 times the mean entropy over games and columns."""
    inputs = student.case("losses_without_ends").inputs
    # Its numbers are about 1e-5, and 0.01 of them is a mistake: a larger tolerance would take that for 0.
    student.expect("losses_without_ends", only(ENTROPY), also=other_entropy(inputs), atol=1e-9)
    student.expect("entropy_with_ends", weights_of_entropies(student.case("entropy_with_ends").inputs), rtol=2e-3)


@points(2, question="train_on_rollout.entropy")
def test_entropy_of_a_certain_policy(student):
    """If the policy is almost deterministic, the loss is finite, and the entropy has a gradient."""
    student.expect("logits_far_apart", only("the loss is finite"))


# The update


@points(2, question="train_on_rollout.step")
def test_one_step(student):
    """Each call takes one step of `opt`, using the gradient of only its own loss."""
    student.expect("two_updates", steps_by_their_loss)


@points(1, question="train_on_rollout.step")
def test_loss_is_returned(student):
    """The function returns the loss of this call as a NumPy number, not as a tensor."""
    student.expect("two_updates", only("result of train_on_rollout, by call", "the loss does not depend on earlier calls"))


@points(1, question="train_on_rollout.step")
def test_rollout_is_left_alone(student):
    """Only the optimizer that `opt` is at the time of the call changes the agent, and nothing changes the rollout."""
    looked_up = "the function steps the optimizer that opt is when it is called"
    student.expect("two_updates", only(looked_up, "only opt changes agent, by call", "arguments that train_on_rollout changed"))


# One update of the student's own agent


@points(3, question="one_update")
def test_update_runs(student):
    """Your train_on_rollout trains your own SimpleRecurrentAgent on a rollout and takes one step."""
    steps = updated(student)["steps of opt"]
    assert steps == 1, f"your train_on_rollout: expected 1 step of opt, found {steps}"


@points(3, question="one_update")
def test_update_moves_all(student):
    """The step changes every layer of your agent, keeps all parameters finite, and changes nothing else."""
    facts = updated(student)
    assert facts["steps of opt"], "opt takes no step, so it changes no layer"
    for name in ("parameters that did not change", "parameters that are not finite", "arguments that train_on_rollout changed"):
        assert facts[name] == [], f"{name}: {', '.join(facts[name])}"


@points(2, question="one_update")
def test_loss_of_an_update(student):
    """The returned loss follows from the rollout and your agent's outputs by the formula in the docstring."""
    facts = updated(student)
    loss, forms = facts["loss that was returned"], facts["loss before"]
    one_step, of_returns = forms[0], forms[len(forms) // 2]
    wanted = f"the loss {one_step:.4f}, or {of_returns:.4f} with the target G_t"
    assert nearest(loss, forms) is not None, f"your train_on_rollout: expected {wanted}; found {loss}"


@points(2, question="one_update")
def test_update_lowers_the_loss(student):
    """After the step, the loss on the rollout, with unchanged advantages and targets, is lower than before."""
    facts = updated(student)
    assert facts["steps of opt"], "the file's opt takes no step, so it cannot lower the loss"
    form = nearest(facts["loss that was returned"], facts["loss before"]) or 0
    before, after = facts["loss before"][form], facts["loss after"][form]
    assert after < before, f"the loss did not fall in one small step of SGD: {before:.5f} before, {after:.5f} after"


def updated(student):
    """Return the facts of one update; require that it raised no exception."""
    facts = student.call("one_update")
    assert facts["what broke"] == "", facts["what broke"]
    return facts


def nearest(loss, forms):
    """Return the index of the first accepted loss that equals the returned one, or None."""
    if not isinstance(loss, float):
        return None
    return next((place for place, form in enumerate(forms) if abs(loss - form) < 5e-5 * max(abs(form), 1)), None)


# Learning


@points(1, question="learning")
def test_learns_cue(student, kit):
    """Within 12 updates on games of two steps, an agent with a small memory learns to act on its first observation."""
    reaches(0.6, student, kit, task="cue", updates=12)


@points(1, question="learning")
def test_learns_metronome(student, kit):
    """Within 30 updates on games of one to three steps, a small agent learns to choose action 1 only in the third step."""
    reaches(0.1, student, kit, task="metronome", updates=30)


def reaches(least, student, kit, task, updates):
    """Require the mean return in one of two runs. On both tasks, an agent without memory gets at most 0."""
    returns, seeds = [], student.seeds(2)
    for seed in seeds:
        facts = student.call("learn", task=task, seed=seed, updates=updates)
        student.curve(f"mean reward per episode, seed {seed}", facts.get("mean reward per episode"), least)
        returns.append(kit.call("play", task=task, weights=facts["weights"], seed=seed)["mean return"])
        if returns[-1] >= least:
            return
    tried = " and ".join(map(str, seeds))
    raise AssertionError(
        f"expected a mean return of {least} or more, found {returns} (seeds {tried}); without memory it is at most 0"
    )


# The leaderboard


@points(0, question="trained_agent")
def test_trained_agent(student):
    """Your agent plays five games of KungFuMaster with actions sampled from its policy; the mean score counts."""
    seeds = list(range(5))
    file = student.attachment("agent.safetensors")
    facts = student.dialogue(
        asks=("referee", {"seeds": seeds}), answers=("act", {"file": file, "games": len(seeds), "seed": 0})
    )
    if "missing" in facts:
        student.not_run("the game is not installed here: pip install ale-py opencv-python-headless")
    assert "refused" not in facts, f"your agent's actions cannot be executed: {facts.get('refused')}"
    student.leaderboard("KungFuMaster: mean of 5 games", np.mean(facts["scores"]))
