"""Hidden checks of `recurrent_a2c`: other sizes, several ends, one game, one tick. Only graders have them."""

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
def test_activations_of_another_network(student):
    """Each layer is used once, and an activation follows each convolution and `hid`, for any number of actions."""
    names = ("number of uses of each layer", "conv0 receives obs_t unchanged", *(f"between {pair}" for pair in BETWEEN))
    student.expect("network_other_actions", only(*names))


@points(1, question="forward")
def test_memory_of_one_game(student):
    """The memory is right for a single game, and for a different number of actions."""
    names = ("a second call returns the same", "a game alone gets the same outputs as in a batch", "new_state")
    student.expect("network_one_game", only(*names))
    student.expect("network_other_actions", only(*names))


@points(2, question="forward")
def test_heads_of_one_game(student):
    """Logits and values are right for a single game, and for a different number of actions."""
    student.expect("network_one_game", only("logits are computed from", "state_value is computed from"))
    student.expect("network_other_actions", only("logits are computed from", "state_value is computed from"))


@points(2, question="forward")
def test_gradients_of_the_network(student):
    """Gradients flow from each result through the memory to all layers before it; the inputs are not modified."""
    names = (
        f"layers and inputs that get a gradient from {name}" for name in ("the new h", "the new c", "logits", "state_value")
    )
    student.expect("network_other_actions", only(*names, "inputs that forward changed"))


# Going through the rollout


@points(2, question="train_on_rollout.memory")
def test_many_ends(student):
    """The memory is right with ends in the first and last column, in two games at once, and twice in one game."""
    student.expect("going_past_many_ends", HEARD)


@points(1, question="train_on_rollout.memory")
def test_one_tick(student):
    """The agent is called on each column of rollouts with two and with 25 columns."""
    for name in ("going_one_tick", "going_long"):
        student.expect(name, only("agent is called on column"))


@points(2, question="train_on_rollout.memory")
def test_gradient_through_a_long_time(student):
    """A gradient can flow back through 25 columns, and in rollouts with many ends."""
    student.expect("going_long", CONNECTED)
    student.expect("going_past_many_ends", CONNECTED)


@points(1, question="train_on_rollout.memory")
def test_one_game_with_an_end(student):
    """The memory is right in a rollout of one game, and in a rollout of 25 columns."""
    student.expect("going_one_game", HEARD)
    student.expect("going_long", HEARD)


# The losses


@points(2, question="train_on_rollout.policy")
def test_other_discount(student):
    """The policy loss is right for a different γ, and for more games and actions."""
    student.expect("losses_other_discount", only(POLICY))
    student.expect("losses_large", only(POLICY))


@points(2, question="train_on_rollout.policy")
def test_what_follows_another_rollout(student):
    """The policy loss is right if games go on after the rollout, even after one action, and if the last column has a reward."""
    student.expect("losses_large_to_be_continued", only(POLICY))
    student.expect("losses_with_another_last_reward", only(POLICY))
    student.expect("losses_one_tick", only(POLICY))


@points(2, question="train_on_rollout.policy")
def test_constant_advantage_of_a_large_rollout(student):
    """No gradient of the policy loss flows into the values."""
    for name in ("losses_large", "losses_other_discount"):
        student.expect(name, only("gradient of the policy loss -J with respect to the values"))


@points(2, question="train_on_rollout.policy")
def test_logits_farther_apart(student):
    """The policy loss is right for fourteen actions, some of them with probabilities as small as e^-200."""
    student.expect("logits_farther_apart", only(POLICY), also=not_known)


@points(2, question="train_on_rollout.value")
def test_value_with_another_discount(student):
    """The value loss is right for a different γ, for γ = 0, and for eight games."""
    for name in ("losses_other_discount", "losses_without_future", "losses_large"):
        inputs = student.case(name).inputs
        student.expect(name, only(VALUE), also=n_step_value_loss(inputs))


@points(2, question="train_on_rollout.value")
def test_last_target_of_a_large_rollout(student):
    """The value loss is right if games continue after the rollout, even in two columns, which have only one target."""
    for name in ("losses_large_to_be_continued", "losses_one_tick"):
        inputs = student.case(name).inputs
        student.expect(name, only(VALUE), also=n_step_value_loss(inputs))


@points(2, question="train_on_rollout.ends")
def test_policy_past_many_ends(student):
    """No return crosses an end in the first column, in two games at once, twice in one row, or in all games at once."""
    student.expect("losses_past_many_ends", ends_of("policy", BEFORE, OTHERS, AFTER))
    student.expect("losses_all_end_at_once", ends_of("policy", BEFORE, OTHERS, AFTER))


@points(2, question="train_on_rollout.ends")
def test_nothing_played_many_times(student):
    """With many ends, dead ticks add 0 to J, but the mean still divides by all games and columns."""
    student.expect("losses_past_many_ends", ends_of("policy", NOT_PLAYED, MEAN, QUIET))
    student.expect("losses_all_end_at_once", ends_of("policy", NOT_PLAYED))


@points(2, question="train_on_rollout.ends")
def test_values_past_many_ends(student):
    """With many ends, value targets contain no value of the next game; dead ticks add 0, all else is trained on."""
    student.expect("losses_past_many_ends", ends_of("value"))
    student.expect("losses_all_end_at_once", ends_of("value"))


@points(2, question="train_on_rollout.ends")
def test_ends_in_the_last_columns(student):
    """If a game ends with the last action, even for the second time, no loss uses its last frame's value; dead ticks add 0."""
    student.expect("losses_end_in_the_last_columns")


@points(2, question="train_on_rollout.entropy")
def test_entropy_of_other_rollouts(student):
    """The entropy is right for eight games and fourteen actions, for two columns, for a different discount, and with ends."""
    for name in ("losses_large", "losses_one_tick", "losses_other_discount"):
        inputs = student.case(name).inputs
        student.expect(name, only(ENTROPY), also=other_entropy(inputs), atol=1e-9)
    inputs = student.case("entropy_with_other_ends").inputs
    student.expect("entropy_with_other_ends", weights_of_entropies(inputs), rtol=2e-3)


@points(1, question="train_on_rollout.entropy")
def test_entropy_of_another_certain_policy(student):
    """If the policy over fourteen actions is almost deterministic, the loss is finite, and the entropy has a gradient."""
    student.expect("logits_farther_apart", only("the loss is finite"))


# The update


@points(2, question="train_on_rollout.step")
def test_second_step(student):
    """Each call takes one step of `opt`, using the gradient of only its own loss, even in rollouts with ends."""
    student.expect("two_updates_with_ends", steps_by_their_loss)


@points(1, question="train_on_rollout.step")
def test_nothing_else_changes(student):
    """Only `opt` changes the agent, and nothing changes the rollout."""
    student.expect("two_updates_with_ends", only("only opt changes agent, by call", "arguments that train_on_rollout changed"))
