"""Replies that are kept on this machine: believed only where all that decides about them is as it was."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader import hashing
from grader.proof.reply_cache import ReplyCache, ReplyStore
from grader.sandbox import open_sandbox
from grader.sandbox.forked import ForkedSandbox
from grader.sandbox.places import make_readable, make_temporary_folder
from grader.sandbox.reply import Reply
from grader.submission import stage_submission

OWN_SERVERS = True
DRIVERS = "def double(submitted, number):\n    return submitted.double(number)\n"
SUBMISSION = "def double(number):\n    return 2 * number\n"


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder with drivers, a support file and a submission."""
    folder = make_temporary_folder()
    for name, text in {"drivers.py": DRIVERS, "helper.py": "TWO = 2\n", "submitted.py": SUBMISSION}.items():
        (folder / name).write_text(text)
    make_readable(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def make(place: Path) -> Callable[..., ReplyCache]:
    """Make a cache whose replies lie in a file of this test."""

    def make(finds: bool = True, memory_mb: int = 512) -> ReplyCache:
        store = ReplyStore(place / "kept" / "replies.sqlite")
        return ReplyCache(store, place / "drivers.py", [place / "helper.py"], [memory_mb], finds)

    return make


def ask(place: Path, **changed: Any) -> dict[str, Any]:
    request = {"do": "call", "driver": "double", "inputs": {"number": 3}, "submission": str(place / "submitted.py"), "seed": 0}
    return request | changed


def submit(place: Path) -> Path:
    """Place the submission in a folder of its own."""
    (place / "student").mkdir()
    return stage_submission(SUBMISSION.encode(), place / "student" / "submitted.py")


KNOWN = (Reply("ok", facts=6, seconds=0.1),)


def test_the_same_call_is_found(place: Path, make: Callable[..., ReplyCache]) -> None:
    """Catches: a cache that never finds anything, and one that forgets with its process."""
    make().keep(ask(place), 5.0, KNOWN)
    assert make().find(ask(place), 5.0) == KNOWN


@pytest.mark.parametrize("file", ["drivers.py", "helper.py", "submitted.py"])
def test_a_changed_file_is_another_call(place: Path, make: Callable[..., ReplyCache], file: str) -> None:
    """Catches: a reply that is believed although a driver, a support file or the submission has changed."""
    make().keep(ask(place), 5.0, KNOWN)
    (place / file).write_text((place / file).read_text() + "changed = True\n")
    assert make().find(ask(place), 5.0) is None


@pytest.mark.parametrize(
    "changed", [{"inputs": {"number": 4}}, {"seed": 1}, {"driver": "triple"}, {"submission": None}, {"trace": True}]
)
def test_another_request_is_another_call(place: Path, make: Callable[..., ReplyCache], changed: dict) -> None:
    """Catches: a reply to other inputs, to another seed, or with another choice of what is asked."""
    make().keep(ask(place), 5.0, KNOWN)
    assert make().find(ask(place, **changed), 5.0) is None


def test_limits_and_the_sandbox_decide(place: Path, make: Callable[..., ReplyCache], monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a reply that is believed under another limit, level, or with another sandbox."""
    make().keep(ask(place), 5.0, KNOWN)
    assert make().find(ask(place), 4.0) is None
    assert make(memory_mb=256).find(ask(place), 5.0) is None
    with monkeypatch.context() as patch:
        patch.setenv("GRADER_LEVEL", "process")
        assert make().find(ask(place), 5.0) is None
    monkeypatch.setattr(hashing, "hash_sandbox", lambda: "another")
    assert make().find(ask(place), 5.0) is None


@pytest.mark.parametrize(
    "reply",
    [
        *(Reply(status) for status in ("timeout", "crashed", "disk", "protocol", "memory", "starved")),
        replace(KNOWN[0], disturbed=True),
        replace(KNOWN[0], seconds=4.0),
    ],
    ids=lambda reply: f"{reply.status} {reply.seconds:g} s{' disturbed' * reply.disturbed}",
)
def test_what_the_moment_decides_is_not_kept(place: Path, make: Callable[..., ReplyCache], reply: Reply) -> None:
    """Catches: a busy moment that is believed for ever."""
    make().keep(ask(place), 5.0, (reply,))
    assert make().find(ask(place), 5.0) is None


def test_a_damaged_file_knows_nothing(place: Path, make: Callable[..., ReplyCache]) -> None:
    """Catches: a proof that ends in a traceback because a file of conveniences is damaged."""
    make().keep(ask(place), 5.0, KNOWN)
    for path in (place / "kept").iterdir():
        path.write_bytes(b"not a database" * 1000)
    assert make().find(ask(place), 5.0) is None
    make().keep(ask(place), 5.0, KNOWN)


def test_a_sandbox_makes_each_call_once(place: Path, make: Callable[..., ReplyCache], monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: requests of which the cache is not asked, and replies that differ when they come from it."""
    path = submit(place)
    replies = []
    for _ in range(2):
        with open_sandbox(place / "drivers.py", [path.parent], torch=False) as sandbox:
            assert isinstance(sandbox, ForkedSandbox)
            sandbox.cache = make()
            sandbox.warm_up()
            looked, loaded = sandbox.open(path, ["double"], lambda _: True)
            assert loaded is not None
            found = [looked, loaded, sandbox.inspect(path), sandbox.load(path), sandbox.call("double", {"number": 3}, path)]
            replies.append([(reply.status, reply.facts, reply.details.get("fingerprints")) for reply in found])
            monkeypatch.setattr(sandbox, "_run", None)  # to make a call would fail now
            sandbox.call("double", {"number": 3}, path)
        monkeypatch.setattr(ForkedSandbox, "_run", None)
        monkeypatch.setattr(ForkedSandbox, "_examine", ForkedSandbox.start)
    assert replies[0] == replies[1]
    assert replies[0][-1][:2] == ("ok", 6)


def test_what_need_not_be_loaded_is_not(place: Path, make: Callable[..., ReplyCache]) -> None:
    """Catches: a stub that counts as loaded because another question asked for it before."""
    path = stage_submission(b"raise ValueError\n", submit(place))
    with open_sandbox(place / "drivers.py", [path.parent], torch=False) as sandbox:
        sandbox.cache = make()
        sandbox.warm_up()
        for wanted, status in ((False, "ok"), (True, "import"), (False, "ok"), (True, "import")):
            looked, loaded = sandbox.open(path, ["double"], lambda _, wanted=wanted: wanted)  # type: ignore[misc]
            assert (looked.status, loaded and loaded.status) == ("ok", status)


def test_a_cache_that_only_keeps(place: Path, make: Callable[..., ReplyCache]) -> None:
    """Catches: `verify --all`, or a drawn trial, that believes what was seen before."""
    make(finds=False).keep(ask(place), 5.0, KNOWN)
    assert make(finds=False).find(ask(place), 5.0) is None
    assert make().find(ask(place), 5.0) == KNOWN
