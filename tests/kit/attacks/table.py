"""The table of attack classes and situations in SECURITY.md, made from what was seen (benchmarks/results/isolation.json)."""

from __future__ import annotations

from typing import Any

from .catalogue import load
from .situations import SITUATIONS

CONTAINED, NOT_RUN = "contained", "not run"

ABOUT = {
    "steal": "nothing to steal",
    "forge": "nothing to forge",
    "outlive": "nothing outlives the call",
    "starve": "nothing starves the grader",
    "escape": "nothing gets out",
    "inject": "nothing is injected",
    "harmless": "honest submissions are not hurt",
}
HEADINGS = {
    "root": "Linux, root",
    "container": "root with Docker's capabilities",
    "user": "Linux, ordinary user",
    "basic": "cannot fork",
}


def table(seen: dict[str, dict[str, Any]]) -> str:
    """Return the table in Markdown. seen: by situation, the isolation and what was seen of each attack, in a word."""
    headings = [f"{HEADINGS[name]}: `{seen[name]['isolation']['level']}`" for name in SITUATIONS]
    lines = [f"| | {' | '.join(headings)} |", f"| --- |{' --- |' * len(SITUATIONS)}"]
    groups = {attack.name: attack.group for attack in load()}
    for group, about in ABOUT.items():
        cells = [
            _cell([word for name, word in seen[situation]["attacks"].items() if groups[name] == group])
            for situation in SITUATIONS
        ]
        lines.append(f"| {about} | {' | '.join(cells)} |")
    return "\n".join(lines)


def said(found: dict[str, Any]) -> str:
    """Return in a word what run.py saw of an attack."""
    return NOT_RUN if not found["run"] else CONTAINED if found["contained"] else "; ".join(found["why"])


def _cell(attacks: list[str]) -> str:
    run = [word for word in attacks if word != NOT_RUN]
    left_out = f"; {len(attacks) - len(run)} not run" if len(run) < len(attacks) else ""
    return f"{run.count(CONTAINED)} of {len(run)}{left_out}"
