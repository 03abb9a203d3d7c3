"""Run a program of the kit as on another system: what only Linux has is taken away from all modules of the kit.

`write_python` writes a program to be called as `python` is. In it modules of the kit, and of its
tests, see a `sys` that says win32, an `os` and a `signal` without what Windows lacks, no fcntl,
resource, termios and the like, and no /proc; to open a file without an encoding, which Windows
would make cp1252, is an error. Libraries see the system as it is. What the kit starts with
`sys.executable` runs in the same way.
"""

from __future__ import annotations

import builtins
import io
import os
import runpy
import signal
import stat
import sys
import types
from pathlib import Path
from typing import Any

KIT = ("grader", "tests", "__main__")
MISSING_MODULES = ("fcntl", "resource", "termios", "tty", "pty", "pwd", "grp", "pyseccomp")
MISSING = {
    "os": (
        "chown", "eventfd", "fork", "forkpty", "getegid", "geteuid", "getgid", "getloadavg", "getpgid", "getuid", "killpg",
        "memfd_create", "mkfifo", "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "pidfd_open", "register_at_fork",
        "sched_getaffinity", "setgid", "setgroups", "setresuid", "setsid", "setuid", "statvfs", "sysconf", "uname", "wait3",
        "waitid",
    ),
    "signal": (
        "alarm", "pthread_sigmask", "setitimer", "SIGALRM", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGSTOP",
        "SIGUSR1", "SIGWINCH", "sigwait",
    ),
}  # fmt: skip


class Altered(types.ModuleType):
    """A module in which some names are missing and some are other values; what is set is set in the module itself."""

    def __init__(self, module: types.ModuleType, missing: tuple[str, ...] = (), **other: Any) -> None:
        super().__init__(module.__name__)
        object.__setattr__(self, "_parts", (module, missing, other))

    def __getattribute__(self, name: str) -> Any:
        module, missing, other = object.__getattribute__(self, "_parts")
        if name in missing:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r} elsewhere")
        return other[name] if name in other else getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "_parts")[0], name, value)


def take_away(python: str) -> None:
    """Take away from all modules of the kit that are imported from now on.

    Args:
        python: A program that runs its arguments as this one does.
    """
    altered = {
        "os": Altered(os, MISSING["os"], name="nt", O_BINARY=0, supports_dir_fd=frozenset()),
        "signal": Altered(signal, MISSING["signal"]),
        "sys": Altered(sys, platform="win32", executable=python),
        "msvcrt": types.SimpleNamespace(setmode=lambda *_: 0, kbhit=lambda: False, getwch=lambda: ""),
    }
    real_import, real_open = builtins.__import__, io.open

    def import_elsewhere(name: str, globals: Any = None, *rest: Any, **more: Any) -> Any:  # noqa: A002 - as Python calls it
        importer = str((globals or {}).get("__name__", "")).partition(".")[0]
        if importer in KIT:
            if name in MISSING_MODULES:
                raise ModuleNotFoundError(f"No module named {name!r} elsewhere", name=name)
            if name in altered:
                return altered[name]
        return real_import(name, globals, *rest, **more)

    def open_elsewhere(
        file: Any, mode: str = "r", buffering: int = -1, encoding: str | None = None, *rest: Any, **more: Any
    ) -> Any:
        if str(file).startswith(("/proc/", "/sys/")):
            raise FileNotFoundError(2, "there is no such file elsewhere", str(file))
        caller = sys._getframe(1)
        while caller.f_back is not None and caller.f_globals["__name__"].startswith("pathlib"):
            caller = caller.f_back
        if "b" not in mode and encoding in (None, "locale") and caller.f_globals["__name__"].partition(".")[0] == "grader":
            raise AssertionError(f"{caller.f_code.co_filename}:{caller.f_lineno} opens {file} without an encoding")
        return real_open(file, mode, buffering, encoding, *rest, **more)

    builtins.__import__ = import_elsewhere
    builtins.open = io.open = open_elsewhere


def main() -> None:
    """Run what the command line names: first the program that stands for this one, then as Python does."""
    take_away(sys.argv[1])
    arguments = sys.argv[2:]
    while arguments[0] in ("-s", "-B"):  # which the kit gives to a Python of its own
        del arguments[0]
    if arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__"})
    elif arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = str(Path(arguments[0]).resolve().parent)
        runpy.run_path(arguments[0], run_name="__main__")


def write_python(folder: Path) -> Path:
    """Write a program that is a Python elsewhere, and return its path: call it as `python` is called."""
    program, own = folder / "python", Path(__file__).resolve()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{own}" "$0" "$@"\n', encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


if __name__ == "__main__":
    main()
