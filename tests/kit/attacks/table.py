"""The table of attack classes and situations in SECURITY.md, made from what was seen (benchmarks/results/isolation.json)."""

from __future__ import annotations

from typing import Any

from .situations import SITUATIONS

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
    """Return the table in Markdown. seen: by situation, what run.py wrote."""
    headings = [f"{HEADINGS[name]}: `{seen[name]['isolation']['level']}`" for name in SITUATIONS]
    lines = [f"| | {' | '.join(headings)} |", f"| --- |{' --- |' * len(SITUATIONS)}"]
    for group, about in ABOUT.items():
        cells = [_cell([found for found in seen[name]["attacks"].values() if found["group"] == group]) for name in SITUATIONS]
        lines.append(f"| {about} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(attacks: list[dict[str, Any]]) -> str:
    run = [found for found in attacks if found["run"]]
    held = sum(found["contained"] for found in run)
    left_out = f"; {len(attacks) - len(run)} not run" if len(run) < len(attacks) else ""
    return f"{held} of {len(run)}{left_out}"
