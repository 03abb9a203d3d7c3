"""The kill matrix: which check catches which mistake, and conclusions from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from grader.assignment import Assignment
from grader.proof.catalogue import Variant
from grader.proof.trials import RAISES, TrialTask, Verdict
from grader.report.model import CheckResult

FAILS, PASSES, NOT_RUN = "x", ".", " "


@dataclass(frozen=True)
class KillMatrix:
    """The outcome of every check for every mistake that it ran on."""

    assignment: Assignment
    checks: list[CheckResult]
    trials: dict[str, tuple[Variant, TrialTask, Verdict]]

    @cached_property
    def caught_by(self) -> dict[str, set[str]]:
        """The mistakes that fail each check."""
        return {
            check.id: {name for name, (_, _, verdict) in self.trials.items() if check.id in verdict.failed}
            for check in self.checks
        }

    def about(self, function: str) -> tuple[list[CheckResult], list[str]]:
        """Return the checks of a function's questions, and the mistakes in that function."""
        questions = {question.id for question in self.assignment.questions if question.function == function}
        checks = [check for check in self.checks if check.question in questions and not self._of_whole_agent(check)]
        return checks, [name for name, (variant, _, _) in self.trials.items() if variant.function == function]

    def mark(self, name: str, check: CheckResult) -> str:
        """Return one character: the mistake fails the check, passes it, or was not tried on it."""
        _, task, verdict = self.trials[name]
        return FAILS if check.id in verdict.failed else PASSES if self._passes(check, task, verdict) else NOT_RUN

    def vacuous(self) -> list[CheckResult]:
        """Return the checks that catch no mistake, or only mistakes that end in an exception, which any call would catch."""
        seen: set[str] = set()
        for _, _, verdict in self.trials.values():
            seen |= verdict.failed - {*verdict.lost.get(RAISES, ())}
        return [check for check in self.checks if check.id not in seen]

    def redundant(self) -> list[CheckResult]:
        """Return the checks whose mistakes are all caught by another check of the same question and suite, too."""

        def others(check: CheckResult) -> set[str]:
            near = [other for other in self.checks if (other.question, other.suite) == (check.question, check.suite)]
            return set().union(*(self.caught_by[other.id] for other in near if other.id != check.id))

        return [check for check in self.checks if self.caught_by[check.id] and self.caught_by[check.id] <= others(check)]

    def caught_once(self) -> list[tuple[str, str]]:
        """Return (mistake, check) for every mistake that a single check catches."""
        catching = {name: [check.id for check in self.checks if name in self.caught_by[check.id]] for name in self.trials}
        return [(name, checks[0]) for name, checks in catching.items() if len(checks) == 1]

    def confused(self) -> list[tuple[str, ...]]:
        """Return the groups of mistakes that look the same to all checks."""
        groups = {group for _, _, verdict in self.trials.values() for group in verdict.confused}
        return sorted(groups)

    def recognized(self, suite: str | None = None) -> list[str]:
        """Return the mistakes that are recognized by their own hint, in one suite or in any."""
        return [
            name
            for name, (_, _, verdict) in self.trials.items()
            if suite in verdict.recognized or (verdict.recognized and not suite)
        ]

    def caught_in(self, suite: str) -> list[str]:
        """Return the mistakes that a check of this suite catches."""
        return [
            name
            for name, (_, _, verdict) in self.trials.items()
            if any(check.startswith(f"{suite}/") for check in verdict.failed)
        ]

    def lines(self) -> list[str]:
        """Return the matrix as text, one block per function: rows are mistakes, columns are checks."""
        lines = []
        for function in dict.fromkeys(question.function for question in self.assignment.questions):
            checks, names = self.about(function)
            if not names:
                continue
            width = max(map(len, names))
            lines += ["", function]
            lines += [f"  {column:>2} {check.id} ({check.question})" for column, check in enumerate(checks, 1)]
            for tens in (True, False):
                digits = [str(column // 10 or " ") if tens else str(column % 10) for column in range(1, len(checks) + 1)]
                lines.append(f"  {'':{width}} {''.join(digits)}")
            lines += [f"  {name:{width}} {''.join(self.mark(name, check) for check in checks)}" for name in names]
        return lines

    def remarks(self) -> list[str]:
        """Return remarks that are not faults."""
        lines = []
        for question in self.assignment.questions:
            checks = [check.id for check in self.redundant() if check.question == question.id]
            if checks:
                lines.append(
                    f"{question.id}: every mistake of these checks is also caught by another check: {', '.join(checks)}"
                )
        lines += [f"{name} is caught by {check} alone" for name, check in self.caught_once()]
        lines += [f"not distinguished: {', '.join(group)}" for group in self.confused()]
        return lines

    def html(self) -> str:
        """Return the matrix and the remarks as one page without scripts."""
        import jinja2

        environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
        blocks = [
            (function, checks, [(self.trials[name][0], [self.mark(name, check) for check in checks]) for name in names])
            for function in dict.fromkeys(question.function for question in self.assignment.questions)
            for checks, names in [self.about(function)]
            if names
        ]
        return environment.from_string(PAGE).render(assignment=self.assignment, blocks=blocks, remarks=self.remarks())

    def _passes(self, check: CheckResult, task: TrialTask, verdict: Verdict) -> bool:
        return check.question in task.questions and not any(check.id in lost for lost in verdict.lost.values())

    def _of_whole_agent(self, check: CheckResult) -> bool:
        return bool(self.assignment.question(check.question).together)


PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{{ assignment.name }}: which check catches which mistake</title>
<style>
body { font: 14px/1.4 system-ui, sans-serif; margin: 2rem; color: #222; background: #fff; }
table { border-collapse: collapse; margin-bottom: 2rem; }
th { font-weight: normal; text-align: left; }
thead th { height: 17rem; vertical-align: bottom; }
thead span { writing-mode: vertical-rl; transform: rotate(180deg); }
td { width: 1.2rem; height: 1.4rem; border: 1px solid #ddd; text-align: center; }
td.fails { background: #1f6f50; color: #fff; }
tbody th { padding-right: 1rem; white-space: nowrap; }
</style>
<h1>{{ assignment.title }}</h1>
<p>Rows are mistakes, columns are checks; &times;: the check catches the mistake. Hover over a name for its hint or title.</p>
{% for function, checks, rows in blocks %}
<h2>{{ function }}</h2>
<table>
<thead><tr><th></th>{% for check in checks %}<th scope="col" title="{{ check.title }}"><span>{{ check.id }}</span></th>\
{% endfor %}</tr></thead>
<tbody>
{% for variant, marks in rows %}
<tr><th scope="row" title="{{ variant.hint }}{% if variant.source %} ({{ variant.source }}){% endif %}">{{ variant.id }}</th>\
{% for mark in marks %}{% if mark == "x" %}<td class="fails">&times;</td>{% else %}<td></td>{% endif %}{% endfor %}</tr>
{% endfor %}
</tbody>
</table>
{% endfor %}
<h2>Remarks</h2>
<ul>
{% for remark in remarks %}
<li>{{ remark }}</li>
{% endfor %}
</ul>
</html>
"""
