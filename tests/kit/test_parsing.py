"""Zips and notebooks are taken apart by workers: the processes that give points never parse them, however hostile they are."""

from __future__ import annotations

import contextlib
import io
import json
import re
import struct
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from grader.assignment import UsageError
from grader.course.results import ResultsFolder
from grader.sandbox import cells, parsing, zips
from grader.sandbox.parsing import FileParser, OwnParser, TooManyFiles, Unreadable
from grader.sandbox.reply import Reply
from grader.submission import AttachmentRules, read_submission
from tests.kit.toy_class import OTHER, SOLUTION, WRONG

pytestmark = [pytest.mark.attack, pytest.mark.recorded(kernel=True)]

OWN_SERVERS = True
INPUTS = {
    "*": ("tests/kit/toy/solutions/toy/submitted.py",),
    "test_a_class_is_graded_by_processes_that_parse_nothing": ("command:course", "tests/kit/toy/**"),
    "test_one_is_graded_by_a_process_that_parses_nothing": ("command:grade", "tests/kit/toy/**"),
}
ENTRY = struct.Struct("<4s4B4HL2L5H2L")  # of a zip's list of files
END = struct.Struct("<4s4H2LH")
LEVELS = ("full", "basic")


@pytest.fixture(scope="module", params=LEVELS)
def parser(request: pytest.FixtureRequest) -> Iterator[OwnParser]:
    """A parser whose sandbox, of each level, serves all tests."""
    with pytest.MonkeyPatch.context() as patch, OwnParser() as parser:
        patch.setenv("GRADER_LEVEL", request.param)
        assert parser._get_place()[0].isolation.level in (request.param, "process")
        yield parser


@pytest.fixture
def forbid_parsing(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let whatever parses zips or notebooks in this process, or in one that it forks, fail from now on."""

    def forbid() -> None:
        def fail(*_: Any, **__: Any) -> None:
            raise AssertionError("a trusted process has parsed what a student made")

        for name in ("ZipFile", "ZipExtFile", "ZipInfo", "_EndRecData", "is_zipfile"):
            monkeypatch.setattr(zipfile, name, fail)
        monkeypatch.setattr(zips, "_open_zip", fail)
        monkeypatch.setattr(cells, "json", SimpleNamespace(loads=fail))
        monkeypatch.setattr(cells, "read_code_cells", fail)

    return forbid


def pack(files: Mapping[str, bytes | str], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", kind) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def make_notebook(*texts: str) -> bytes:
    return json.dumps({"cells": [{"cell_type": "code", "source": text} for text in texts]}).encode()


def list_entry(name: bytes, start: int = 0, packed: int = 1, size: int = 1, method: int = 0) -> bytes:
    return ENTRY.pack(b"PK\1\2", 20, 3, 20, 0, 0, method, 0, 33, 0, packed, size, len(name), 0, 0, 0, 0, 0, start) + name


def end_of(count: int, size: int, start: int) -> bytes:
    return END.pack(b"PK\5\6", 0, 0, count & 0xFFFF, count & 0xFFFF, size, start, 0)


def overlapping() -> bytes:
    """Return a zip with 9,000 names for one large content."""
    data = pack({"submitted.py": b"x" * (1 << 20)})
    local = data[: data.index(b"PK\1\2")]
    (about,) = zipfile.ZipFile(io.BytesIO(data)).infolist()
    entries = b"".join(
        list_entry(b"%d/submitted.py" % number, 0, about.compress_size, about.file_size, 8) for number in range(9_000)
    )
    return local + entries + end_of(9_000, len(entries), len(local))


def with_wrong_sizes(name: bytes, packed: int, size: int) -> bytes:
    """Return a zip whose list says other sizes of its one file than it has."""
    data = bytearray(pack({name.decode(): b"#" * 1_000_000}))
    at = data.index(b"PK\1\2")
    data[at + 20 : at + 28] = struct.pack("<2L", packed, size)
    return bytes(data)


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "a list of more files than there may be": (
        lambda: (many := list_entry(b"a") * 20_000) + end_of(20_000, len(many), 0),
        "more than 10,000 files",
    ),
    "a list that fills the memory": (
        lambda: (many := list_entry(b"a") * 100_000) + end_of(100_000, len(many), 0),
        "more than 10,000 files",
    ),
    "a list that is longer than the zip": (lambda: list_entry(b"a") + end_of(1, 1 << 31, 0), "cannot be read as a zip"),
    "more files in the list than it says": (
        lambda: (two := list_entry(b"a") * 2) + end_of(1, len(two) - 3, 0),
        "cannot be read as a zip",
    ),
    "a list of zeros": (lambda: bytes(4096) + end_of(50, 4096, 0), "cannot be read as a zip"),
    "names over one another": (overlapping, "9000 possible submissions"),
    "a file that begins beyond the end": (
        lambda: (one := list_entry(b"submitted.py", 1 << 30)) + end_of(1, len(one), 0),
        "cannot be read as a zip",
    ),
    "a size that is too small": (lambda: with_wrong_sizes(b"submitted.py", 1000, 10), "cannot be read as a zip"),
    "a deflated bomb": (lambda: pack({"submitted.py": bytes(300 << 20)}), "larger than 1 MB"),
    "a bzip2 bomb": (lambda: pack({"submitted.py": bytes(300 << 20)}, zipfile.ZIP_BZIP2), "larger than 1 MB"),
    "a lzma bomb": (lambda: pack({"submitted.py": bytes(300 << 20)}, zipfile.ZIP_LZMA), "larger than 1 MB"),
    "a bomb of a notebook": (lambda: pack({"a.ipynb": bytes(300 << 20)}), "larger than 64 MB; clear its outputs"),
    "a method that nobody knows": (
        lambda: pack({"submitted.py": "x = 1"}).replace(b"PK\1\2\x14\x03\x14\0\0\0\x08\0", b"PK\1\2\x14\x03\x14\0\0\0\x63\0"),
        "cannot be read as a zip",
    ),
    "nothing at all": (lambda: b"", "cannot be read as a zip"),
    "a name that is not text": (
        lambda: pack({"submitted.pyé": "x"}).replace("é".encode(), b"\xff\xff"),
        "cannot be read as a zip",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_zip_costs_a_sentence(
    parser: OwnParser, tmp_path: Path, forbid_parsing: Callable[[], None], case: str
) -> None:
    """Catches: memory or minutes of the judge, or a traceback, for a zip that was made for that."""
    make, words = HOSTILE[case]
    path = tmp_path / "work.zip"
    path.write_bytes(make())
    forbid_parsing()
    tracemalloc.start()
    try:
        with pytest.raises(UsageError, match=words) as refused:
            read_submission(path, "submitted.py", parser=parser)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (256 << 20 if "notebook" in case else 32 << 20)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 1_000


@pytest.mark.parametrize(("packed", "size"), [(1000, (1 << 32) - 2), ((1 << 32) - 2, 1_000_000)])
def test_sizes_of_4_gb_are_only_words(parser: OwnParser, tmp_path: Path, packed: int, size: int) -> None:
    """Catches: memory that is taken because a zip says so; what is really in it may be read, or refused."""
    path = tmp_path / "work.zip"
    path.write_bytes(with_wrong_sizes(b"submitted.py", packed, size))
    read = []
    with contextlib.suppress(UsageError):
        read = [handed.content for handed in read_submission(path, "submitted.py", parser=parser)]
    assert read in ([], [b"#" * 1_000_000])


@pytest.mark.parametrize("kind", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("size", [0, 1, 50_000, 99_999, 100_000, 100_001, 250_000])
def test_a_file_that_crosses_in_parts_is_whole(
    parser: OwnParser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: int, size: int
) -> None:
    """Catches: a byte lost or doubled where a part ends; a notebook has several."""
    monkeypatch.setattr(parsing, "PART", 50_000)
    content = np.random.default_rng(size).integers(0, 9, size, np.uint8).tobytes()
    path = tmp_path / "work.zip"
    path.write_bytes(pack({"a.ipynb": content, "policy.bin": content[:1000]}, kind))
    (handed,) = read_submission(path, "submitted.py", AttachmentRules(("policy.bin",)), parser)
    assert handed.content == content
    assert handed.attachments == {"policy.bin": content[:1000]}


def test_a_damaged_attachment_costs_nothing_else(parser: OwnParser, tmp_path: Path) -> None:
    """What cannot be read beside the work is refused alone, in words."""
    data = bytearray(pack({"submitted.py": "x = 1", "policy.bin": b"0123456789"}, zipfile.ZIP_STORED))
    data[data.index(b"0123456789")] ^= 1
    (tmp_path / "work.zip").write_bytes(data)
    (handed,) = read_submission(tmp_path / "work.zip", "submitted.py", AttachmentRules(("policy.bin",)), parser)
    assert handed.content == b"x = 1"
    assert "policy.bin cannot be read: Bad CRC-32" in str(handed.attachments["policy.bin"])


def test_code_of_a_notebook(parser: OwnParser, forbid_parsing: Callable[[], None]) -> None:
    """Catches: a cell that is graded and not compared; a file that is not a notebook, without a reason."""
    notebook, long = make_notebook("x = 1", "y = '\ud800ä'"), make_notebook("#" * (cells.MAX_CODE + 5))
    deep = b"[" * 100_000
    forbid_parsing()
    assert parser.list_code(notebook) == "x = 1\ny = '?ä'"
    assert len(parser.list_code(long)) == cells.MAX_CODE
    for content, words in ((b"{", "it is not valid JSON"), (deep, "nested too deeply"), (b"[]", "has no cells")):
        with pytest.raises(Unreadable, match=words):
            parser.list_code(content)


@pytest.mark.parametrize("level", LEVELS)
def test_a_class_is_graded_by_processes_that_parse_nothing(
    built_toy: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command_line: Callable[..., int],
    forbid_parsing: Callable[[], None],
    level: str,
) -> None:
    """Catches: a zip or a notebook that is parsed by the coordinator, for a hash or to be compared, or by a judge."""
    monkeypatch.setenv("GRADER_LEVEL", level)
    export = tmp_path / "export"
    export.mkdir()
    (export / "ann.zip").write_bytes(pack({"hw/submitted.py": WRONG}))
    (export / "bea.ipynb").write_bytes(make_notebook(OTHER))
    (export / "cem.zip").write_bytes(pack({"hw.ipynb": make_notebook(SOLUTION)}))
    (export / "dan.py").write_text(SOLUTION)
    (export / "eve.zip").write_bytes(b"PK\x03\x04torn")
    forbid_parsing()
    assert command_line("course", "toy", str(export), "-o", str(tmp_path / "out"), "--workers", "1", root=built_toy) == 0
    folder = ResultsFolder(tmp_path / "out")
    results = folder.of(folder.course())
    points = {name: result.report.points for name, result in results.items() if result is not None}
    assert points["cem"] == points["dan"] == 6
    assert 0 < points["ann"] == points["bea"] < 6
    assert results["eve"] is not None
    assert results["eve"].status == "refused"
    pairs = [(pair["first"], pair["second"]) for pair in json.loads((tmp_path / "out" / "similarity.json").read_text())]
    assert pairs == [("ann", "bea")]


@pytest.mark.parametrize("level", LEVELS)
def test_one_is_graded_by_a_process_that_parses_nothing(
    built_toy: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command_line: Callable[..., int],
    forbid_parsing: Callable[[], None],
    level: str,
) -> None:
    """Catches the same of the command that grades single submissions, and of the judge behind it."""
    monkeypatch.setenv("GRADER_LEVEL", level)
    path = tmp_path / "work.zip"
    path.write_bytes(pack({"hw.ipynb": make_notebook(SOLUTION)}))
    forbid_parsing()
    assert command_line("grade", "toy", str(path), root=built_toy) == 0
    assert re.search(r"6/6 points", capsys.readouterr().out)


def test_what_needs_no_parser_starts_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: a class of files that pays for a sandbox which none of them needs."""
    monkeypatch.setattr(parsing, "open_sandbox", lambda *_, **__: pytest.fail("a sandbox was started"))
    (tmp_path / "submitted.py").write_text("x = 1")
    (tmp_path / "hw.ipynb").write_bytes(make_notebook("x = 1"))
    with OwnParser() as parser:
        assert len(read_submission(tmp_path, "submitted.py", parser=parser)) == 2


def test_nothing_is_left_of_a_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its server nor its folder, also when what it was asked for has failed."""
    made = iter([folder := tmp_path / "home"])
    folder.mkdir()
    monkeypatch.setattr(parsing, "make_temporary_folder", lambda: next(made))
    (tmp_path / "work.zip").write_bytes(b"PK\x03\x04torn")
    with contextlib.suppress(UsageError), OwnParser() as parser:
        read_submission(tmp_path / "work.zip", "submitted.py", parser=parser)
    assert not list(made)
    assert not folder.exists()
    assert parser._opened is None


CLAIMS: dict[str, tuple[str, object]] = {
    "nothing": ("ok", None),
    "numbers": ("ok", {"names": 3, "kinds": [0]}),
    "more names than kinds": ("ok", {"names": np.frombuffer(b"a\0b\0", np.uint8), "kinds": np.zeros(1, np.uint8)}),
    "a kind that is none": ("ok", {"names": np.frombuffer(b"a\0", np.uint8), "kinds": np.array([9], np.uint8)}),
    "more than was allowed": ("ok", {"names": np.frombuffer(b"a\0" * 6, np.uint8), "kinds": np.zeros(6, np.uint8)}),
    "a crash": ("crashed", None),
    "no end": ("timeout", None),
    "no memory": ("memory", None),
    "not an answer": ("protocol", None),
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_worker_may_claim_anything(tmp_path: Path, claim: str) -> None:
    """Catches: an exception in the judge for what a worker says about a zip that has got the better of it."""
    status, facts = CLAIMS[claim]
    lying: Any = SimpleNamespace(parse=lambda *_, **__: Reply(status, facts))
    with pytest.raises(Unreadable), FileParser(lying, tmp_path).open_zip(io.BytesIO(b"zip"), 5):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_content_longer_than_was_asked_for_is_cut(tmp_path: Path) -> None:
    """The limit is kept here, and not where it can be lied about."""
    answers = {
        "list_zip": {"names": np.frombuffer(b"a\0", np.uint8), "kinds": np.zeros(1, np.uint8)},
        "read_zip": {"content": np.zeros(100, np.uint8)},
    }
    lying: Any = SimpleNamespace(parse=lambda do, *_, **__: Reply("ok", answers[do]))
    with FileParser(lying, tmp_path).open_zip(io.BytesIO(b"zip"), 5) as archive:
        assert archive.read(archive.entries[0], 7) == bytes(7)
    refused: Any = SimpleNamespace(parse=lambda *_, **__: Reply("refused"))
    with pytest.raises(TooManyFiles), FileParser(refused, tmp_path).open_zip(io.BytesIO(b"zip"), 5):
        pass
