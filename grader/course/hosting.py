"""Runs in a Dask worker: passes shards to a grading process, see `host`.

Neither student code nor a judge ever runs in the Dask worker's own process; this module imports neither.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

_host: tuple[str, subprocess.Popen[str]] | None = None  # the grading process, and its job
_lock = threading.Lock()


def run_shard(about: str, ids: list[str]) -> dict[str, Any]:
    """Return the answer of this Dask worker's grading process to a shard; the first shard of a job starts the process."""
    global _host
    with _lock:
        if _host is None or _host[0] != about or _host[1].poll() is not None:
            end_grading_process()
            command = [sys.executable, "-m", "grader.course.host", str(os.getpid())]
            process = subprocess.Popen(
                command, cwd=ROOT, start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            _host = about, process
        process = _host[1]
        assert process.stdin is not None  # a pipe, as is stdout
        assert process.stdout is not None
        try:
            print(json.dumps({"job": json.loads(about), "entries": ids}), file=process.stdin, flush=True)
            answer = process.stdout.readline()
        except OSError:
            answer = ""
        if not answer:
            raise RuntimeError(f"a grading process exited with {process.wait(60)}; see the log of its Dask worker")
        read: dict[str, Any] = json.loads(answer)
        return read


def end_grading_process(about: str | None = None) -> None:
    """End this Dask worker's grading process, if it belongs to this job; by default, whatever its job."""
    global _host
    if _host is not None and about in (None, _host[0]):
        _host[1].terminate()
        _host = None
