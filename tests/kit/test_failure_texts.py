"""What students read when something is wrong: forty failures, kept as text in failure_texts.txt to be read and criticised.

UPDATE_TEXTS=1 python -m pytest tests/kit/test_failure_texts.py     writes the file anew
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.assignment import AssignmentFiles
from grader.judge.run import Grader
from grader.proof.catalogue import load_catalogue
from grader.proof.merging import merge_changes
from grader.report import terminal

pytestmark = pytest.mark.recorded

INPUTS = ("solutions/policy_gradient/mistakes.py",)

KEPT = Path(__file__).with_name("failure_texts.txt")
IN_THE_CATALOGUE = (
    "returns_run_into_the_next_episode",
    "cut_to_integers",
    "returns_have_no_columns",
    "vanilla_uphill",
    "vanilla_loss_is_rebuilt",
    "next_observation_stored",
    "takes_the_likeliest_action",
    "resets_only_once",
    "value_every_row_with_every_other",
    "advantages_carry_a_gradient",
    "never_steps",
    "critic_detached",
    "not_shuffled",
    "whole_buffer_as_advantages",
    "ppo_clamps_around_zero",
)
OTHERWISE = {
    "an unknown mistake": ("get_advantages", "return 0.3 * returns"),
    "a typing error": ("get_returns", "retrun = []\nfor reward in rollout_bufer.rewards:\n    pass"),
    "nothing is returned": ("get_PPO_policy_gradient_loss", "print('ratio is', 1.25)"),
    "an endless loop": ("get_value_net_loss", "while True:\n    observation = observation + 1"),
    "the blank is left below the code": (
        "get_returns",
        "returns = torch.zeros(1, 1)\nraise NotImplementedError('get_returns: return R_t for every row')",
    ),
}
# Two mistakes of the catalogue in one function.
TOGETHER = (
    ("takes_the_likeliest_action", "ends_not_stored"),
    ("resets_only_once", "takes_the_likeliest_action"),
    ("ends_not_stored", "rewards_of_one_rollout_only"),
    ("not_shuffled", "old_logits_of_today"),
    ("multiplier_ignored", "values_of_the_policy"),
    ("vanilla_uphill", "vanilla_sum"),
    ("ppo_ratio_upside_down", "ppo_sum"),
    ("never_steps", "final_reward_of_the_buffer"),
    ("critic_never_trained", "values_of_the_policy"),
    ("steps_before_backward", "another_policy_collects"),
    ("advantages_of_each_minibatch", "critic_losses_not_kept"),
    ("next_observation_stored", "policy_left_without_gradient"),
)
EXCEPTIONS = {
    "shapes that do not broadcast": ("get_advantages", "return returns[:-1] - value_net(observations)"),
    "shapes that do not multiply": ("get_value_net_loss", "return torch.ones(2, 7) @ observation"),
    "a column for a number": ("get_returns", "return torch.tensor([float(rollout_buffer.rewards)])"),
    "a condition on many": (
        "get_returns",
        "if rollout_buffer.terminateds:\n    return rollout_buffer.rewards\nreturn rollout_buffer.rewards[:, None]",
    ),
    "an index too far": ("get_returns", "return rollout_buffer.rewards[rollout_buffer.final_size]"),
    "a step with four values": ("collect_rollouts", "env.reset()\nobservation, reward, done, info = env.step(0)"),
    "a gradient for NumPy": ("get_advantages", "return torch.from_numpy(value_net(observations).numpy())"),
    "backward without a gradient": ("get_value_net_loss", "loss = observation.mean()\nloss.backward()\nreturn loss"),
    "a list with arithmetic": ("get_advantages", "return returns.tolist() - value_net(observations).tolist()"),
    "a method of the other library": ("get_returns", "return rollout_buffer.rewards.astype('float32')[:, None]"),
}


def texts(home: AssignmentFiles, replaced) -> Iterator[str]:
    """Yield name and report of each failure, as a student sees it who grades the one question."""
    variants = {variant.id: variant for variant in load_catalogue(home, "mistakes")}
    with Grader(home) as grader:
        for name in IN_THE_CATALOGUE:
            path = replaced()
            path.write_text(variants[name].submission, encoding="utf-8")
            yield _text(grader, name, path, {variants[name].question})
        for one, other in TOGETHER:
            path, solution = replaced(), (home.solution / home.assignment.submission).read_text(encoding="utf-8")
            path.write_text(merge_changes(solution, variants[one].submission, variants[other].submission), encoding="utf-8")
            yield _text(grader, f"{one}, {other}", path, {variants[one].question})
        for name, (function, body) in (OTHERWISE | EXCEPTIONS).items():
            yield _text(grader, name, replaced(**{function: body}), {function})


def _text(grader: Grader, name: str, path: Path, select: set[str]) -> str:
    report = terminal.render_plain(grader.grade(path, select).for_student())
    report = re.sub(r"used \d+\.\d s of", "used (time) of", report)
    return f"{'=' * 20} {name}\n\n" + re.sub(r" +\d+\.\d\d s ", "  (time) ", report)


def rounded(text: str) -> str:
    """Return the text with all numbers rounded, whose last digits differ between machines, and line numbers left out.

    A line more in a docstring of the solution moves the latter.
    """
    text = re.sub(r"\bline \d+, in", "line N, in", text)
    return re.sub(r"-?\d+\.\d+(e-?\d+)?", lambda number: f"{float(number[0]):.3g}", text)


def test_texts_are_those_that_were_read(home: AssignmentFiles, replaced) -> None:
    """A change to what students read is seen, and read, before it is made."""
    found = "\n".join(texts(home, replaced))
    if os.environ.get("UPDATE_TEXTS"):
        KEPT.write_text(found, encoding="utf-8")
    assert rounded(found) == rounded(KEPT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("part", IN_THE_CATALOGUE)
def test_each_known_mistake_has_its_hint_in_the_text(home: AssignmentFiles, part: str) -> None:
    """Of these fifteen every student must read what a tutor would ask."""
    (hint,) = [variant.hint for variant in load_catalogue(home, "mistakes") if variant.id == part]
    section = KEPT.read_text(encoding="utf-8").split(f" {part}\n")[1].split("=" * 20)[0]
    assert f"Ask yourself: {hint}" in section
