"""A synthetic class for `policy_gradient` as Gradescope exports it, of any size, and what a grader must find in it.

In a class of 300: every catalogued mistake, some of them several times; right submissions, alternatives, stubs, copies of a
right submission and of a peculiar wrong one, hostile ones, and barely readable submissions. A larger class has more right
submissions; a smaller one is drawn from it, with a ring of copies. The same seed makes the same class.

    python benchmarks/course_class.py 60 EXPORT_DIR
"""

from __future__ import annotations

import argparse
import io
import json
import random
import sys
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import similarity_class

from grader.proof import catalogue
from tests.kit.attacks.catalogue import load

HOME = similarity_class.HOME
SOLUTION = (HOME.solution / "submitted.py").read_text(encoding="utf-8")
REPEATED = (2, 3, 4, 5, 6, 3, 2)  # times that one mistake is planted; the others once
NAMES = """
    Ada Ben Chloé Dmitri Eun-ji Fatima Grace Hugo Ines Jamal Kaveh Lea Mónica Nils Oya Priya Quentin Rosa Søren Tama
    Álvarez Brown Chen Diallo Eriksson Fischer García Haddad Ito Jansen Kowalski Lê Müller Nguyen O'Neil
"""
FIRST_NAMES, LAST_NAMES = (line.split() for line in NAMES.strip().splitlines())
# In place of the value loss, but for those that act when the file is loaded. A name is one of tests/kit/attacks.
ATTACKED = "get_value_net_loss"
ATTACKS = (
    "loops",
    "loops_in_c",
    "allocates_at_once",
    "allocates_bit_by_bit",
    "recurses",
    "recurses_beyond_the_limit",
    "forks_without_end",
    "forks_twice",
    "starts_threads_without_end",
    "writes_a_huge_file",
    "prints_without_end",
    "prints_a_gigabyte",
    "returns_a_deep_nest",
    "crashes",
    "loads_for_ever",
    "exits_at_import",
    "exits_with_success",
    "answers_twice",
    "claims_success",
    "writes_rubbish",
    "floods_the_wire",
    "closes_everything",
    "ignores_signals",
    "kills_everything",
    "reads_hidden_files",
    "reads_other_submissions",
    "reads_the_platform",
    "reads_memory_by_proc",
    "imports_the_checks",
    "connects_by_tcp",
    "writes_elsewhere",
)
PECULIAR = """

def get_returns(rollout_buffer, discount_factor):
    return 0.37 * _honest_returns(rollout_buffer, discount_factor)
"""
WHOLE = 300  # students, of whom 190 or so are planted
EMPTY = "nothing"  # stands for no file at all
KILLS_ITS_PARENT = "import os\nimport signal\n\nos.kill(os.getppid(), signal.SIGKILL)\n"


@dataclass
class Made:
    """A class. files: by entry, what lies in its folder (None: a link to /etc/passwd). The rest is what was planted."""

    kinds: dict[str, str] = field(default_factory=dict)
    files: dict[str, dict[str, bytes | None]] = field(default_factory=dict)
    mistakes: dict[str, list[str]] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    copies: list[tuple[str, str, str]] = field(default_factory=list)
    same: list[list[str]] = field(default_factory=list)


def make(size: int = WHOLE, seed: int = 1) -> Made:
    """Return a class of so many: the whole one with more independent right work, or a part of it."""
    made = _make_whole(max(size, WHOLE), seed)
    return _draw(made, size, random.Random(seed)) if size < WHOLE else made


def _make_whole(size: int, seed: int) -> Made:
    chance = random.Random(seed)
    numbers = chance.sample(range(1_000_000, 10_000_000), 2 * size)
    made, names = Made(), iter(f"submission_{number}" for number in numbers)

    def add(kind: str, source: str | bytes | None, name: str = "submitted.py", signed: bool = True) -> str:
        entry = next(names)
        if isinstance(source, str):
            source = (f"# My work, {chance.choice(FIRST_NAMES)} {len(made.files)}\n" * signed + source).encode()
        made.kinds[entry], made.files[entry] = kind, {name: source}
        return entry

    mistakes = catalogue.load_catalogue(HOME, "mistakes")
    often = dict(zip(chance.sample([mistake.id for mistake in mistakes], len(REPEATED)), REPEATED, strict=True))
    for mistake in mistakes:
        made.questions[mistake.id] = mistake.question
        made.mistakes[mistake.id] = [add("mistake", mistake.submission) for _ in range(often.get(mistake.id, 1))]
    for variant in catalogue.load_catalogue(HOME, "alternatives"):
        add("alternative", variant.submission)
    _hostile(add)
    for _ in range(4):
        add("solution", SOLUTION)
    made.same.append([add("solution", SOLUTION, signed=False) for _ in range(3)])
    made.same.append([add("stub", similarity_class.STUB, signed=False) for _ in range(5)])
    for _ in range(3):
        add("stub", similarity_class.STUB)
    add("notebook", _notebook(SOLUTION), "submitted.ipynb")

    # Copies, of a right one, and of one that is wrong as nobody else is.
    right = similarity_class.written(chance)
    peculiar = similarity_class.written(chance).replace("def get_returns(", "def _honest_returns(")
    peculiar += PECULIAR
    for source in (right, peculiar):
        original = add("written", source, signed=False)
        for how, disguise in similarity_class.DISGUISES.items():
            copy = add(f"copy, {how}", disguise(source, chance), signed=False)
            made.copies.append((*sorted((original, copy)), how))
        made.same.append([original, add("copy, identical", source, signed=False)])
    while len(made.files) < size:
        add("written", similarity_class.written(chance), signed=False)
    return made


def _draw(made: Made, size: int, chance: random.Random) -> Made:
    """Return a part of a class: up to four of a ring of copies, for every ten students one, and others by chance."""
    ring = sorted({name for pair in made.copies[:3] for name in pair[:2]}, key=list(made.files).index)[: min(4, size // 10)]
    others = [name for name in made.files if name not in ring]
    drawn = {*ring, *chance.sample(others, size - len(ring))}
    return Made(
        kinds={name: kind for name, kind in made.kinds.items() if name in drawn},
        files={name: files for name, files in made.files.items() if name in drawn},
        mistakes={
            mistake: kept for mistake, names in made.mistakes.items() if (kept := [name for name in names if name in drawn])
        },
        questions=made.questions,
        copies=[pair for pair in made.copies if drawn.issuperset(pair[:2])],
        same=[kept for names in made.same if len(kept := [name for name in names if name in drawn]) > 1],
    )


def _hostile(add: Callable[..., str]) -> None:
    known = {"judge": 1, "word": "sesame", "hidden": [str(path) for path in HOME.secrets()], "folders": []}
    known |= {"results": "/root", "results files": [], "kit": str(similarity_class.ROOT), "platform": "/etc/shadow"}
    known |= {"unix path": "/tmp/none", "datagram path": "/tmp/none", "tcp port": 1, "udp port": 1, "unix name": "none"}
    known |= {"other submission": str(HOME.stub)}
    attacks = {attack.name: attack for attack in load()}
    body = f"def {ATTACKED}(*values, **scale):\n    return attack([1.0], 1.0, KNOWN)\n"
    node = catalogue._definition(SOLUTION, ATTACKED)
    for name in ATTACKS:
        attack = attacks[name]
        source = SOLUTION if attack.at_import else catalogue._replaced(SOLUTION, node, body)
        call = "\n\nattack([1.0], 1.0, KNOWN)\n" if attack.at_import else ""
        add(f"hostile, {name}", f"{source}\n\nKNOWN = {json.dumps(known)}\n\n\n{attack.source}\n{call}")
    add("hostile, kills its parent", SOLUTION + KILLS_ITS_PARENT)
    add("hostile, syntax error", SOLUTION + "\n\ndef (:\n")
    add("hostile, not UTF-8", SOLUTION.encode("utf-16"))
    add("hostile, binary", random.Random(1).randbytes(20_000))
    add("hostile, zip bomb", _zip({"submitted.py": b"\0" * (300 << 20)}), "submitted.zip")
    add("zip", _zip({"work/submitted.py": SOLUTION.encode()}), "work.zip")
    add("hostile, link", None)
    add("hostile, empty folder", b"", EMPTY)


def _zip(files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return data.getvalue()


def _notebook(source: str) -> bytes:
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": source}
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def write(made: Made, folder: Path, seed: int = 1) -> None:
    """Write the class into a folder as Gradescope exports it, and what was planted beside it, as FOLDER.json."""
    chance = random.Random(seed)
    folder.mkdir(parents=True)
    about, due = {}, datetime(2026, 11, 20, 23, 59, tzinfo=timezone.utc)
    for number, (entry, files) in enumerate(made.files.items()):
        place = folder / entry
        place.mkdir()
        for name, content in files.items():
            if content is None:
                (place / name).symlink_to("/etc/passwd")
            elif name != EMPTY:
                (place / name).write_bytes(content)
        first, last = chance.choice(FIRST_NAMES), chance.choice(LAST_NAMES)
        moment = due + timedelta(hours=chance.uniform(-72, 30))
        earlier = sorted(moment - timedelta(hours=chance.uniform(0.1, 40)) for _ in range(chance.randrange(4)))
        about[entry] = {
            ":submitters": [
                {":name": f"{first} {last}", ":email": f"student{number}@example.edu", ":sid": f"{900000 + number}"}
            ],
            ":created_at": moment.isoformat(),
            ":score": None,
            ":history": [{":id": index, ":created_at": when.isoformat()} for index, when in enumerate(earlier)],
        }
    (folder / "submission_metadata.yml").write_text(yaml.safe_dump(about, allow_unicode=True), encoding="utf-8")
    planted = {
        "kinds": made.kinds,
        "mistakes": made.mistakes,
        "questions": made.questions,
        "copies": made.copies,
        "same": made.same,
        "counts": Counter(kind.partition(",")[0] for kind in made.kinds.values()),
    }
    folder.with_suffix(".json").write_text(json.dumps(planted, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Write a class of the size that the command line asks for."""
    parser = argparse.ArgumentParser(description="Write a synthetic class as Gradescope exports it.")
    parser.add_argument("size", type=int, help="how many students")
    parser.add_argument("folder", type=Path, help="new folder; what was planted is written beside it, as FOLDER.json")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.size < 1:
        parser.error(f"size: expected at least 1, found {options.size}")
    made = make(options.size, options.seed)
    write(made, options.folder, options.seed)
    print(f"wrote {len(made.files)} submissions to {options.folder}")


if __name__ == "__main__":
    main()
