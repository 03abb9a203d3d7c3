"""Draw the pictures of README.md from real output: a report, watch mode, and the page of a class.

    python benchmarks/pictures.py [-o docs/pictures]

Report and watch mode run in a pseudo-terminal, in a student's folder in which only `get_returns` is written. The class is a
small one of benchmarks/course_class.py, graded with the visible checks; this takes minutes. `--class-page` uses a page that
`course` has written before.
"""

from __future__ import annotations

import argparse
import io
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
from html.entities import name2codepoint
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grader.assignment import AssignmentFiles
from grader.packing.release import collect_student_files

NAME, QUESTION = "policy_gradient", "get_returns"
GRADE = [sys.executable, "grade.py"]
GUARD = "        if terminated:\n            future_return = 0.0\n"  # without it, returns run on into the next episode
COLUMNS, LINES = 100, 30
CLEARED = "\x1b[2J"
STUDENTS = 24  # in the class
PAGE_SIZE = 960, 1000  # pixels of the class page that the picture shows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "docs" / "pictures")
    parser.add_argument("--class-page", type=Path, help="class.html of a graded class (default: grade one)")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        draw_terminals(Path(temporary, NAME), options.output)
        page = options.class_page or grade_class(Path(temporary))
        (options.output / "class.svg").write_text(draw_page(page.read_text(encoding="utf-8")), encoding="utf-8")
    for picture in sorted(options.output.glob("*.svg")):
        print(f"{picture.name}: {picture.stat().st_size / 1024:.0f} kB")


def draw_terminals(folder: Path, output: Path) -> None:
    """Write the pictures of a report and of watch mode, which run in a student's folder."""
    for name, content in collect_student_files(AssignmentFiles(ROOT, NAME)).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    path, right = folder / "submitted.py", write_returns()
    path.write_text(right.replace(GUARD, ""), encoding="utf-8")
    report = run_in_terminal([*GRADE, QUESTION], folder)
    save_screen(report, f"python grade.py {QUESTION}", output / "report.svg")
    screen = run_in_terminal([*GRADE, "--watch"], folder, right)
    save_screen(screen, "python grade.py --watch", output / "watch.svg")


def write_returns() -> str:
    """Return the stub in which `get_returns` is the solution's."""
    stub = (ROOT / "assignments" / NAME / "submitted.py").read_text(encoding="utf-8")
    solution = (ROOT / "solutions" / NAME / "submitted.py").read_text(encoding="utf-8")
    found = re.search(rf"    # BEGIN SOLUTION {QUESTION}\n(.*?)    # END SOLUTION\n", solution, re.DOTALL)
    assert found is not None
    assert GUARD in found[1]
    blank = rf"    # YOUR CODE HERE[^\n]*\n    raise NotImplementedError\(\s*\"{QUESTION}: .*?\)\n(?=\n\n)"
    text, count = re.subn(blank, lambda _: found[1], stub, count=1, flags=re.DOTALL)
    assert count == 1
    return text


def run_in_terminal(command: list[str], folder: Path, text: str | None = None) -> str:
    """Return what a command in a student's folder leaves on its terminal, with the codes of colors.

    Args:
        text: For watch mode: the text to save as submitted.py after the first grading.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ.update(TERM="xterm-256color", COLORTERM="", COLUMNS=str(COLUMNS), LINES=str(LINES))
        os.environ.pop("NO_COLOR", None)
        os.execv(command[0], command)
    if text is None:
        written = read_until(terminal)
    else:
        waiting = "waiting for the next save"
        read_until(terminal, waiting)
        (folder / "submitted.py").write_text(text, encoding="utf-8")
        written = read_until(terminal, f"{QUESTION}: passed", waiting)
        os.write(terminal, b"q")
    os.waitpid(pid, 0)
    return written.rpartition(CLEARED)[2]


def read_until(terminal: int, *words: str, seconds: float = 300.0) -> str:
    """Return what the terminal gets until all words have come, in this order; without words, until the end."""
    written, wanted, end = "", re.compile(".*".join(map(re.escape, words)) or r"(?!)", re.DOTALL), time.monotonic() + seconds
    while not wanted.search(written):
        if time.monotonic() > end:
            raise TimeoutError(f"{words} never came: {written[-1000:]}")
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                data = os.read(terminal, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not data:
                break
            written += data.decode("utf-8", "replace")
    return written


def save_screen(written: str, title: str, path: Path) -> None:
    """Save what is on a terminal as an SVG."""
    lines = [line.rpartition("\r")[2] for line in written.replace("\r\n", "\n").split("\n")]
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-ln-z]", "", "\n".join(lines)).strip("\n")
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), highlight=False, force_terminal=True)
    console.print(Text.from_ansi(shown), soft_wrap=True)
    console.save_svg(str(path), title=title, theme=DIMMED_MONOKAI)


def grade_class(folder: Path) -> Path:
    """Return class.html of a new class, graded with the visible checks."""
    export, results = str(folder / "export"), str(folder / "results")
    course = ["-m", "grader", "course", NAME, export, "-o", results, "--suite", "visible"]
    for command in (["benchmarks/course_class.py", str(STUDENTS), export], course):
        subprocess.run([sys.executable, *command], cwd=ROOT, check=True)
    return Path(results, "class.html")


def draw_page(page: str) -> str:
    """Return an SVG that holds the page as XHTML, cut at the bottom. Its scripts are left out: a picture runs none."""
    width, height = PAGE_SIZE
    style = "".join(re.findall(r"<style>(.*?)</style>", page, re.DOTALL))
    body = re.search(r"<body[^>]*>(.*)</body>", page, re.DOTALL)
    assert body is not None
    content = re.sub(r"<script.*?</script>", "", body[1], flags=re.DOTALL)
    content = re.sub(r"<(br|hr|img|input|meta|col|wbr)\b([^>]*?)/?>", r"<\1\2/>", content)
    content = content.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ')
    content = re.sub(r"&(\w+);", as_number, content)
    content = re.sub(r"(<\w[^>]*?\s)(open|hidden|disabled|checked|readonly)(?=[\s>])(?!=)", r'\1\2=""', content)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        f'<foreignObject width="{width}" height="{height}"><html xmlns="http://www.w3.org/1999/xhtml">\n'
        f"<style><![CDATA[{style}]]></style><body>{content}</body></html></foreignObject></svg>\n"
    )


def as_number(entity: re.Match[str]) -> str:
    """Return an entity of HTML as one that XML knows."""
    name = entity[1]
    return entity[0] if name in ("amp", "lt", "gt", "quot", "apos") else f"&#{name2codepoint[name]};"


if __name__ == "__main__":
    main()
