"""Hidden checks of `recurrent_a2c`: other sizes, several ends, one game, one tick. Only a grader has them."""

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

HEARD = only("h before each column, by game", "c before each column, by game")


# The network


@points(3, question="forward")
def test_one_game(student):
    """One game has a batch axis as well, also in its state value."""
    student.expect("network_one_game", outputs_of_a_step)


@points(2, question="forward")
def test_other_actions(student):
    """Another number of actions."""
    student.expect("network_other_actions", outputs_of_a_step)
    names = ("the new memory is", "logits are made of", "state_value is made of")
    student.expect("network_other_actions", only(*names))


@points(2, question="forward")
def test_gradients_of_the_network(student):
    """Gradients go from each result through the memory to all layers before it; nothing that was given is changed."""
    names = (f"a gradient goes from {name} to" for name in ("new h", "new c", "logits", "state_value"))
    student.expect("network_other_actions", only(*names, "changed by the call"))


# Going through the rollout


@points(4, question="train_on_rollout.memory")
def test_many_ends(student):
    """Ends in the first and the last column, in two games at once, twice in one game."""
    student.expect("going_past_many_ends", HEARD)


@points(2, question="train_on_rollout.memory")
def test_one_tick(student):
    """A rollout of two columns, and one of twenty-five."""
    student.expect("going_one_tick")
    student.expect("going_long")


@points(2, question="train_on_rollout.memory")
def test_one_game_with_an_end(student):
    """A rollout of one game."""
    student.expect("going_one_game", HEARD)
    student.expect("going_one_game", only("memory was changed in place"))


@points(2, question="train_on_rollout.memory")
def test_mask_of_integers(student):
    """A mask of integers instead of booleans."""
    student.expect("going_with_numbers_as_mask", HEARD)
    student.expect("going_with_numbers_as_mask", only("memory was changed in place"))


# The losses


@points(3, question="train_on_rollout.policy")
def test_other_discount(student):
    """Another γ."""
    student.expect("losses_other_discount", only(POLICY, "gradient of the policy loss, for the values"))


@points(3, question="train_on_rollout.policy")
def test_large_rollout(student):
    """Sixteen games, seventeen columns, fourteen actions."""
    student.expect("losses_large", only(POLICY))


@points(2, question="train_on_rollout.policy")
def test_policy_of_one_tick(student):
    """A rollout of two columns has one tick to learn from."""
    student.expect("losses_one_tick", only("policy loss", POLICY))


@points(2, question="train_on_rollout.policy")
def test_numbers_of_other_rollouts(student):
    """The policy's part of the loss that is returned."""
    student.expect("losses_other_discount", only("policy loss"))
    student.expect("losses_large", only("policy loss"))


@points(3, question="train_on_rollout.value")
def test_value_with_another_discount(student):
    """Another γ."""
    inputs = student.case("losses_other_discount").inputs
    student.expect("losses_other_discount", only("value loss", VALUE), also=n_step_value_loss(inputs))


@points(2, question="train_on_rollout.value")
def test_value_of_a_large_rollout(student):
    """Sixteen games, seventeen columns."""
    inputs = student.case("losses_large").inputs
    student.expect("losses_large", only("value loss", VALUE), also=n_step_value_loss(inputs))


@points(1, question="train_on_rollout.value")
def test_value_of_one_tick(student):
    """A rollout of two columns."""
    inputs = student.case("losses_one_tick").inputs
    student.expect("losses_one_tick", only("value loss", VALUE), also=n_step_value_loss(inputs))


@points(4, question="train_on_rollout.ends")
def test_policy_past_many_ends(student):
    """Ends in the first and the last columns, in two games at once, twice in one game."""
    student.expect("losses_past_many_ends", only(POLICY, "policy loss"))
    student.expect("losses_all_end_at_once", only(POLICY))


@points(2, question="train_on_rollout.ends")
def test_values_past_many_ends(student):
    """The same for values."""
    for name in ("losses_past_many_ends", "losses_all_end_at_once"):
        inputs = student.case(name).inputs
        student.expect(name, value_gradient(inputs), also=n_step_value_loss(inputs))


@points(2, question="train_on_rollout.ends")
def test_end_in_the_first_column(student):
    """The rollout begins with the last frames of two games."""
    inputs = student.case("losses_end_in_the_first_column").inputs
    student.expect("losses_end_in_the_first_column", only(POLICY))
    student.expect("losses_end_in_the_first_column", value_gradient(inputs), also=n_step_value_loss(inputs))


@points(2, question="train_on_rollout.entropy")
def test_entropy_of_a_large_rollout(student):
    """Sixteen games, seventeen columns, fourteen actions."""
    inputs = student.case("losses_large").inputs
    student.expect("losses_large", only("entropy loss", ENTROPY), also=other_entropy(inputs), atol=1e-7)


@points(2, question="train_on_rollout.entropy")
def test_entropy_of_one_tick(student):
    """A rollout of two columns, and another discount."""
    for name in ("losses_one_tick", "losses_other_discount"):
        inputs = student.case(name).inputs
        student.expect(name, only("entropy loss", ENTROPY), also=other_entropy(inputs), atol=1e-7)


# The update


@points(2, question="train_on_rollout.step")
def test_second_step(student):
    """Nothing of one rollout's gradient comes into the next step."""
    student.expect("two_updates_with_ends", steps_by_their_loss)


@points(2, question="train_on_rollout.step")
def test_nothing_else_changes(student):
    """The agent is changed by opt alone, and the rollout not at all."""
    student.expect("two_updates_with_ends", only("the agent is changed by opt alone", "arrays that were changed"))
