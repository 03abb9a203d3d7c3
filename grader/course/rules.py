"""The files that scores are made by: a policy, the table of extensions that it names, and adjustments by hand."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from grader.assignment import UsageError
from grader.course import adjustments as by_hand
from grader.course.adjustments import QuestionAdjustment
from grader.course.extensions import parse_extensions
from grader.course.gradebook import GRADEBOOKS
from grader.course.policy import Policy, parse_policy, read_policy_text


class RuleFiles(NamedTuple):
    """The texts of these files; "" for each that is missing, which then changes no score.

    Attributes:
        policy: The text of the policy.
        extensions: The text of the table of extensions that the policy names.
        adjustments: The text of the adjustments.
    """

    policy: str = ""
    extensions: str = ""
    adjustments: str = ""

    def parse_policy(self, name: str) -> Policy:
        """Return the policy with all its extensions.

        Args:
            name: The name of the policy, for error messages.

        Raises:
            UsageError: Names the field, or the line of the table, at fault.
        """
        policy = parse_policy(self.policy, name)
        if not policy.late or not policy.late.extensions_file:
            return policy
        if policy.late.extensions_file in (*GRADEBOOKS, by_hand.NAME):
            raise UsageError(
                f"{name}: late.extensions_file: {policy.late.extensions_file} is a file that the kit writes; "
                "give the table of extensions another name"
            )
        rows = parse_extensions(self.extensions, policy.late.extensions_file, policy)
        return policy.model_copy(update={"extensions": (*policy.extensions, *rows)})

    def parse_adjustments(self, name: str = by_hand.NAME) -> tuple[QuestionAdjustment, ...]:
        """Return the adjustments, in the order of the file.

        Args:
            name: The name of the file, for error messages.

        Raises:
            UsageError: Names the lines and columns at fault.
        """
        return by_hand.parse_adjustments(self.adjustments, name)


def read_rule_files(policy: Path | None = None, adjustments: Path | None = None) -> RuleFiles:
    """Return the texts of the files, to the byte; the table of extensions lies beside the policy.

    Args:
        policy, adjustments: The files; None for no such file.

    Raises:
        UsageError: If the policy is wrong, or a file cannot be read.
    """
    rows = by_hand.read_adjustments_text(adjustments) if adjustments else ""
    if not policy:
        return RuleFiles(adjustments=rows)
    text, extensions = read_policy_text(policy), ""
    late = parse_policy(text, str(policy)).late
    if late and late.extensions_file:
        beside = policy.with_name(late.extensions_file)
        extensions = read_policy_text(beside, "a file of extensions, see docs/policy.md")
    return RuleFiles(text, extensions, rows)
