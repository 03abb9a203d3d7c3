"""Feed broken input to what reads files and frames from outside: `python -m tests.kit.fuzz TARGET --seconds N --seed S`.

Without a target it takes all of them in turn. A finding is an exception that the reader does not promise, more than two seconds
of computing, more than 1 GB of memory, or the end of the process, for one input; it is written to a folder, with its traceback.
atheris, where it is installed, leads the mutations by what of grader/ they reach; otherwise they are blind. pytest does not
collect this file: what it has found is kept in test_fuzz.py.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import io
import json
import mmap
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from grader.sandbox import kernel

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 2.0  # of computing, for one input
STUCK_SECONDS = 20.0  # without an end, in a function that listens to no signal
MEMORY = 1 << 30
LONGEST = 1 << 16
STATE = struct.Struct("<QI")  # how many inputs were run, and how long the one is that follows


class TooLong(BaseException):
    """An input took more than its seconds."""


class Target(NamedTuple):
    """What is fuzzed.

    Attributes:
        run: Takes an input.
        expected: The exceptions that it promises.
        corpus: Inputs to begin with.
        words: Parts that inputs are made of.
    """

    run: Callable[[bytes], object]
    expected: tuple[type[BaseException], ...]
    corpus: list[bytes]
    words: tuple[bytes, ...]


def make_wire(_: Path) -> Target:
    """A frame of a worker's: its header, or its two parts with a mark between them, which need no header that fits."""
    import numpy as np

    from grader.sandbox import reply, wire

    mark = b"\xff\xfe\xff"

    def run(data: bytes) -> None:
        text, found, blob = data.partition(mark)
        if not found:
            lengths = wire.read_lengths(data[: wire.HEADER.size])
            body = data[wire.HEADER.size :]
            text, blob = body[: lengths[0]], body[lengths[0] :]
        said = reply.read_reply(text, blob)  # raises nothing, whatever comes
        assert isinstance(said.status, str)
        assert all(isinstance(name, str) for name in (*said.imported, *said.entered))
        passed_on = reply.relay_frame(text, blob)
        tree = wire.decode(text, blob)
        with contextlib.suppress(wire.ValueRefused):
            again = wire.encode(tree)
            size = wire.read_lengths(again[: wire.HEADER.size])[0]
            wire.decode(again[wire.HEADER.size :][:size], again[wire.HEADER.size :][size:])
        assert passed_on is None or passed_on.startswith(wire.MAGIC)

    trees: list[Any] = [
        {
            "status": "ok",
            "facts": {"a": np.ones((2, 3), np.float32).view(wire.TensorArray), "b": [1, None, (2.5, float("nan"))]},
        },
        {"status": "raised", "type": "ValueError", "message": "x", "frames": [{"line": 1, "function": "f", "text": "x"}]},
        {"status": "ok", "facts": np.arange(3), "imported": ["matplotlib"], "entered": ["f", "g.h"]},
        {"status": "said", "facts": {"n": np.int64(3), "e": np.zeros((0, 2), bool)}},
    ]
    corpus = []
    for tree in trees:
        frame = wire.encode(tree)
        size = wire.read_lengths(frame[: wire.HEADER.size])[0]
        body = frame[wire.HEADER.size :]
        corpus += [frame, body[:size] + mark + body[size:]]
    words = (b'"$array"', b'"$tensor"', b'"$scalar"', b'"$tuple"', b'"$float"', b'"status"', b'"facts"', b'"a0"', b'"dtype":')
    return Target(run, (wire.ProtocolError,), corpus, (*words, b'"F64"', b'"shape":[', b'"data_offsets":[', b"[" * 99, mark))


def make_cells(_: Path) -> Target:
    """A notebook, from the bytes of the file to the source of its definitions."""
    from grader.sandbox import cells

    def run(data: bytes) -> None:
        found = cells.extract_definitions(data, ["total", "Box", "train.step"], "submitted")
        found.source.encode("utf-8", "surrogatepass")
        assert len(found.lines) <= found.source.count("\n")

    def notebook(*sources: str) -> bytes:
        made = [{"cell_type": "code", "execution_count": 1, "source": source.splitlines(True)} for source in sources]
        return json.dumps({"cells": made, "nbformat": 4}).encode()

    corpus = [
        notebook(
            "import numpy as np\n%matplotlib inline\n", "def total(values):\n    return np.sum(values) * scale\n", "scale = 2"
        ),
        notebook(
            "class Box:\n    gamma = 1\n    def get(self): return [x for x in range(self.gamma)]\n",
            "Box.gamma = 3",
            "!ls\nx = !ls",
        ),
        notebook(
            "%%writefile submitted.py\ndef total(v):\n    return v\n", "%%bash\nls", "from submitted import *\ntotal([1])"
        ),
        notebook(
            "@decorate(1)\ndef total(values, *, a=lambda: scale): return a\n",
            "scale, *rest = 1, 2\nscale += 1\n",
            "setattr(total, 'x', 1)",
        ),
        b'{"worksheets": [{"cells": [{"cell_type": "code", "input": "def total(): pass"}]}]}',
    ]
    words = (
        b"def total",
        b"class Box",
        b"%%time",
        b"%run a.py",
        b"\\n",
        b"\\u0000",
        b"\\ud800",
        b"\\r",
        b'"source":',
        b'"cells":',
    )
    return Target(
        run, (cells.NotANotebook,), corpus, (*words, b"lambda: ", b"(" * 200, b"match x:\\n case ", b"9" * 5000, b"# coding: x")
    )


def make_intake(folder: Path) -> Target:
    """A submission; its first byte says what kind: a file, a notebook, a zip, a zip or a folder made of names and contents."""
    from grader import submission
    from grader.assignment import UsageError

    allowed = submission.AttachmentRules(("policy.safetensors",))

    def run(data: bytes) -> None:
        kind, rest = data[:1], data[1:]
        path = folder / {b"p": "a.py", b"n": "a.ipynb"}.get(kind, "a.zip")
        if kind == b"m":
            made = io.BytesIO()
            with zipfile.ZipFile(made, "w") as archive:
                for line in rest.split(b"\n\n")[:20]:
                    name, _, content = line.partition(b"\n")
                    entry = zipfile.ZipInfo(name.decode("utf-8", "replace") or "x")
                    entry.external_attr = len(content) << 16
                    archive.writestr(entry, content)
            rest = made.getvalue()
        path.write_bytes(rest)
        for file in submission.read_submission(path, "submitted.py", allowed):
            assert isinstance(file.content, bytes)

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("work/submitted.py", "# coding: latin-1\nx = 1\n")
        archive.writestr("work/policy.safetensors", b"x" * 100)
        archive.writestr("__MACOSX/submitted.py", b"x")
    corpus = [
        b"p# -*- coding: cp1252 -*-\ndef f():\n    return '\x80'\n",
        b"p\xef\xbb\xbfx = 1\n",
        b"p\xff\xfex\x00",
        b'n{"cells": []}',
        b"z" + packed.getvalue(),
        b"msubmitted.py\nx = 1\n\nwork/submitted.py\nx = 2\n\nwork\\policy.safetensors\nabc",
    ]
    words = (
        b"# coding: ",
        b"utf-8",
        b"utf-7",
        b"idna",
        b"rot13",
        b"koi8-r",
        b"submitted.py",
        b"../",
        b"PK\x01\x02",
        b"PK\x05\x06",
    )
    return Target(run, (UsageError,), corpus, (*words, b"PK\x06\x06", b"PK\x06\x07", b"\xff\xff\xff\xff", b"\n\n", b"\r"))


def make_policy(_: Path) -> Target:
    """A policy in TOML."""
    from grader.assignment import UsageError
    from grader.course import policy

    def run(data: bytes) -> None:
        read = policy.parse_policy(data.decode("utf-8", "replace"), "policy.toml")
        due = read.deadline()
        assert due is None or due.tzinfo is not None or read.zone is None
        repr(read)

    text = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8").partition("```toml\n")[2].partition("```")[0]
    parts = [part.encode() for part in text.split("\n[")]
    corpus = [text.encode(), parts[0], *(b"[" + part for part in parts[1:])]
    words = (
        b"nan",
        b"inf",
        b"1e999999999",
        b"1e-999999999",
        b"0001-01-01T00:00:00",
        b"9999-12-31T23:59:59-12:00",
        b'"../../etc"',
    )
    return Target(
        run, (UsageError,), corpus, (*words, b"[[", b"]]", b"true", b"= 9" + b"9" * 50, b'zone = "', b"0x", b"-1", b"\x00")
    )


def make_worklist(folder: Path) -> Target:
    """An export of a platform: its first byte says whether the rest is metadata, or names of files."""
    import shutil

    from grader.assignment import UsageError
    from grader.course import worklist

    export = folder / "export"

    def run(data: bytes) -> None:
        shutil.rmtree(export, ignore_errors=True)
        (export / "submission_1").mkdir(parents=True)
        kind, rest = data[:1], data[1:]
        if kind == b"y":
            (export / worklist.METADATA).write_bytes(rest)
        else:
            (export / "submission_1").rmdir()
            for name in rest.split(b"\n")[:20]:
                with contextlib.suppress(OSError, ValueError):
                    os.mknod(os.fsencode(export) + b"/" + name.replace(b"/", b"_"))
        layout, entries = worklist.read_export(export, "canvas" if kind == b"c" else None)
        worklist.find_unread_files(export, layout, entries)
        for entry in entries:
            again = worklist.WorklistEntry.model_validate_json(entry.model_dump_json())
            assert again == entry, (again, entry)
            str(entry.who)

    yaml = b"""y---
submission_1:
  :submitters:
  - :name: Ada
    :email: ada@x.edu
    :sid: '007'
  :created_at: 2026-03-01 10:00:00.123 +01:00
  :history:
  - :created_at: &a 2026-02-01 10:00:00 UTC
  - *a
"""
    names = b"cdoejane_LATE_1234_567890_submitted-2.py\ndoejane_1234_567891_submitted.py\nanon_ab1cd_99_x.ipynb"
    corpus = [yaml, names, b"f" + names[1:], b"fada.py\nada.ipynb\n\xff\xfe.zip\n.hidden"]
    words = (b"!ruby/object:Foo", b"!!timestamp", b"!!binary", b"<<: *a", b"&a", b"*a", b"{" * 50, b": ", b"? ", b"9999-12-31")
    return Target(
        run,
        (UsageError,),
        corpus,
        (*words, b"_LATE_", b"_1_2_", b"\xed\xa0\x80", "\u0661\u00b2".encode(), b"- ", b"!!float 1e9"),
    )


def make_stored(folder: Path) -> Target:
    """A stored file; its first byte says which: a report, a result, a class, scores, mistakes and answers."""
    from grader import answers
    from grader.assignment import AssignmentFiles, UsageError
    from grader.course.rescore import ScoresFile
    from grader.course.results import Course, ResultFingerprints, SubmissionResult
    from grader.judge.run import _whole
    from grader.report import terminal
    from grader.report.model import CheckResult, Outcome, Report
    from grader.stored import StoredModel, read_stored

    path = folder / "stored.json"
    kinds: dict[bytes, type[StoredModel]] = {b"r": Report, b"s": SubmissionResult, b"c": Course, b"o": ScoresFile}

    def run(data: bytes) -> None:
        path.write_bytes(data[1:])
        if data[:1] == b"a":
            _whole(answers.read_answers, path, "toy")
        elif data[:1] == b"m":
            _whole(answers.read_mistakes, path, "toy")
        else:
            read = read_stored(path, kinds.get(data[:1], Report))
            again = type(read).model_validate_json(read.model_dump_json())
            assert type(again) is type(read)
            if isinstance(read, Report):
                terminal.render_plain(read.for_student()).encode()

    home = AssignmentFiles(ROOT, "policy_gradient")
    check = CheckResult(id="visible/test_x", question="get_returns", suite="visible", title="It adds", max_points=2.0)
    failed = check.model_copy(update={"outcome": Outcome.FAILED, "message": "expected 1", "curves": {"a": [1.0]}})
    report = Report(
        assignment="policy_gradient",
        title="T",
        suite_version="1",
        suites=("visible",),
        isolation="full",
        isolation_layers=("a",),
    )
    report.checks = [check, failed]
    report.summarize(home.assignment)
    old = report.model_dump(mode="json") | {"schema_version": 1, "note": "The grader failed, not the submission: x"}
    keys = ResultFingerprints(submission="a", suite="b", environment="c")
    result = SubmissionResult(entry="e", key=keys, status="graded", report=report)
    course = Course(
        assignment=home.assignment, suites=("visible",), export="x", layout="folder", suite="a", environment="b",
        submissions={"e": "a"}, entries=[],
    )  # fmt: skip
    corpus = [b"r" + report.model_dump_json().encode(), b"r" + json.dumps(old).encode()]
    corpus += [b"s" + result.model_dump_json().encode(), b"c" + course.model_dump_json().encode(), b'o{"scores": []}']
    corpus += [b'a{"toy": {"cases": {"x": {"driver": "total", "inputs": {"values": [1.0]}, "answer": {"total": 1.0}}}}}']
    corpus += [b'm{"toy": {"product": {"question": "total", "hint": "h", "shows": {}}}}']
    words = (
        b"null",
        b"true",
        b"NaN",
        b"1e999",
        b"[]",
        b"{}",
        b'"schema_version":1',
        b'"schema_version":0',
        b'"\\ud800"',
        b'"\\u0000"',
    )
    return Target(
        run, (UsageError,), corpus, (*words, b'"checks":', b'"note":', b'"cause":"', b"-0", b"9" * 400, b'"array":"float64[2]"')
    )


# Each takes a folder for the files that it reads.
TARGETS: dict[str, Callable[[Path], Target]] = {
    "wire": make_wire,
    "cells": make_cells,
    "intake": make_intake,
    "policy": make_policy,
    "worklist": make_worklist,
    "stored": make_stored,
}


class Findings:
    """The folder of what was found; of findings that end at the same line, only the first is kept."""

    def __init__(self, folder: Path, target: str) -> None:
        self.folder = folder
        self.target = target

    def keep(self, data: bytes, what: str, trace: str = "") -> None:
        name = f"{self.target}-{hashlib.sha256(what.encode()).hexdigest()[:8]}"
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / f"{name}.bin").exists():
            (self.folder / f"{name}.bin").write_bytes(data)
            (self.folder / f"{name}.txt").write_text(f"{what}\n\n{trace}", encoding="utf-8", errors="backslashreplace")
            print(f"FOUND {name}: {what}", flush=True)


class Runner:
    """Runs inputs, and notes which one it is at, for a parent to see.

    Args:
        state: Memory that the parent shares.
    """

    def __init__(self, target: Target, findings: Findings, state: mmap.mmap) -> None:
        self.target = target
        self.findings = findings
        self.state = state
        self.most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + MEMORY
        signal.signal(signal.SIGVTALRM, self._stop)

    def _stop(self, _signal: int, _frame: object) -> None:
        raise TooLong

    def run(self, data: bytes) -> None:
        """Run one input, and keep it if it is a finding."""
        data = data[:LONGEST]
        count = STATE.unpack_from(self.state)[0]
        STATE.pack_into(self.state, 0, count, len(data))
        self.state[STATE.size : STATE.size + len(data)] = data
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            self.target.run(data)
        except self.target.expected:
            pass
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            own = [frame for frame in traceback.extract_tb(error.__traceback__) if "/grader/" in frame.filename]
            at = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "the target itself"
            self.findings.keep(data, f"{type(error).__name__} at {at}", traceback.format_exc())
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if (peak := resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024) > self.most:
            self.findings.keep(data, f"{peak >> 20} MB of memory")
            self.most = peak + (1 << 26)
        STATE.pack_into(self.state, 0, count + 1, 0)


def mutate(chance: random.Random, corpus: list[bytes], words: tuple[bytes, ...]) -> bytes:
    """Return one of the corpus with some changes."""
    data = bytearray(chance.choice(corpus))
    for _ in range(1 << chance.randrange(5)):
        at = chance.randrange(len(data) + 1)
        end = min(at + (1 << chance.randrange(8)), len(data))
        match chance.randrange(7):
            case 0:
                data[at:at] = chance.choice(words)
            case 1:
                del data[at:end]
            case 2:
                data[at:at] = data[at:end] * chance.choice((1, 1, 2, 30))
            case 3 if at < len(data):
                data[at] = chance.randrange(256)
            case 4 if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case 5:
                other = chance.choice(corpus)
                start = chance.randrange(len(other) + 1)
                data[at:end] = other[start : start + (1 << chance.randrange(9))]
            case 6:
                data[at:end] = chance.choice((b"0", b"-1", b"1e400", b"null", b"[]", b"{}", b'""', b"4294967295", b"\xff" * 4))
    return bytes(data)


def work(name: str, seconds: float, seed: int, runner: Callable[[Target], Runner], scratch: Path) -> None:
    """Run inputs for so long; in a process of its own."""
    warnings.simplefilter("ignore")  # of the compiler, about what it is given
    try:
        atheris: Any = importlib.import_module("atheris")
    except ImportError:
        atheris = None
    with atheris.instrument_imports(include=["grader"]) if atheris else contextlib.nullcontext():
        target = TARGETS[name](scratch)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # before the machine suffers
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    run = runner(target).run
    for data in target.corpus:
        run(data)
    if atheris:
        kept = scratch / "corpus"
        kept.mkdir(exist_ok=True)
        for number, data in enumerate(target.corpus):
            (kept / str(number)).write_bytes(data)
        (scratch / "corpus.dict").write_text(
            "".join(f'"{"".join(f"{chr(92)}x{byte:02x}" for byte in word)}"\n' for word in target.words)
        )
        options = (
            f"-max_total_time={int(seconds)}",
            f"-seed={seed + 1}",
            f"-dict={kept}.dict",
            "-timeout=86400",
            "-rss_limit_mb=0",
        )
        atheris.Setup(["fuzz", *options, f"-max_len={LONGEST}", "-verbosity=0", "-print_final_stats=0", str(kept)], run)
        atheris.Fuzz()
        return
    chance, until = random.Random(seed), time.monotonic() + seconds
    while time.monotonic() < until:
        run(mutate(chance, target.corpus, target.words))


def fuzz(name: str, seconds: float, seed: int, folder: Path) -> tuple[int, float]:
    """Fuzz one target, in a new process each time one is stuck or ends; return how many inputs were run, and the seconds."""
    state, findings = mmap.mmap(-1, STATE.size + LONGEST), Findings(folder, name)
    began = time.monotonic()
    until = began + seconds
    while (left := until - time.monotonic()) > 1:
        with tempfile.TemporaryDirectory(prefix="fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as scratch:
            child = os.fork()
            if child == 0:
                try:
                    work(name, left, seed, lambda target: Runner(target, findings, state), Path(scratch))
                except BaseException:
                    traceback.print_exc()
                    os._exit(1)
                os._exit(0)
            for ended in _watch(child, until):
                size = STATE.unpack_from(state)[1]
                if size:
                    findings.keep(state[STATE.size : STATE.size + size], ended)
                else:
                    raise RuntimeError(f"the target {name} cannot be set up, or atheris has ended it: {ended}")
        seed += 1_000
        STATE.pack_into(state, 0, STATE.unpack_from(state)[0], 0)
    return STATE.unpack_from(state)[0], time.monotonic() - began


def _watch(child: int, until: float) -> Iterator[str]:
    """Wait for a process, and yield how it ended where it ended before its time; kill one that is stuck."""
    while True:
        time.sleep(0.5)
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            if status and time.monotonic() < until - 1:
                yield f"status {os.waitstatus_to_exitcode(status)}"
            return
        if time.monotonic() > until + STUCK_SECONDS:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            yield "it is stuck"
            return


def main() -> None:
    """Fuzz what was asked for, and print how much was run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target", nargs="?", choices=TARGETS, help="all of them, if it is left out")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "grader-fuzz", help="for what is found")
    options = parser.parse_args()
    for name in [options.target] if options.target else TARGETS:
        count, seconds = fuzz(name, options.seconds, options.seed, options.folder)
        print(f"{name}: {count:,} inputs in {seconds:.0f} s", flush=True)
        if not count:
            sys.exit(f"{name}: it takes longer to start: give it more than --seconds {options.seconds:g}")
    found = sorted(options.folder.glob("*.txt")) if options.folder.is_dir() else []
    print(f"{len(found)} findings in {options.folder}" if found else "nothing found")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
