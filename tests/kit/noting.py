"""Note what a program uses, for tests/kit/watching.py: every Python that a test starts runs this first.

A line for each event goes to the file that the environment names: which Python files of the
repository were opened, to import or to read them, which programs were started, and which processes
began. Each line is written at once, because a process can be killed or end without handlers. This
module imports only what Python has imported by then, so that it does not slow down small programs.
"""

import os
import sys

NOTES, NOTED_BY = "TEST_NOTES", "TEST_NOTED_BY"  # environment variables: where to, and this file
BEGAN, STARTS, UNWATCHED = "began", "starts", "unwatched"  # programs
FORKS, FORKED = "forks", "forked"  # processes: in the parent, in the child
OPENS = "opens"
# Audit events of programs that are started: where their words, their folder and their environment stand.
EVENTS = {"subprocess.Popen": (1, 2, 3), "os.exec": (1, None, 2), "os.posix_spawn": (1, None, 2), "os.system": (0, None, None)}


def write(notes: str, *line: object) -> bool:
    """Append a line, and return whether that was possible. A process that gives up the right to write does it unseen."""
    try:
        file = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, f"{line!r}\n".encode("utf-8", "backslashreplace"))
        finally:
            os.close(file)
    except OSError:
        return False
    return True


def describe_start(event: str, details: tuple) -> tuple[str, tuple[str, ...]]:
    """Return whether a program that is started can note what it uses (STARTS or UNWATCHED), and its command."""
    words, folder, environment = (None if place is None else details[place] for place in EVENTS[event])
    lacks_notes = environment is not None and NOTES not in environment and os.fsencode(NOTES) not in environment
    return UNWATCHED if lacks_notes else STARTS, describe_command(words, folder)


def describe_command(words, folder) -> tuple[str, ...]:
    """Return the folder in which a command is started and its words, in one form for who starts it and for what begins."""
    words = [words] if isinstance(words, (str, bytes)) else words
    return os.path.realpath(os.fsdecode(folder or "")), *map(os.fsdecode, words)


def note(notes: str, root: str) -> None:
    """Note from now on what this process and its forks do with the files below the folder `root`."""
    seen = set()
    libraries = os.path.join(sys.prefix, "")

    def hear(event: str, details: tuple) -> None:
        if event == "open":
            path, _, flags = details
            if not isinstance(path, str) or not path.endswith((".py", ".pyc")) or flags & os.O_WRONLY:
                return
            if path in seen or path.startswith(libraries):
                return
            full = os.path.realpath(path)
            if not full.startswith(root) or write(notes, OPENS, full):
                seen.add(path)
        elif event in EVENTS:
            write(notes, *describe_start(event, details))

    sys.addaudithook(hear)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lambda: write(notes, FORKS), after_in_child=lambda: write(notes, FORKED))
    write(notes, BEGAN, describe_command(sys.orig_argv, None))


# A Python with another folder of bytecode opens no file of the repository. Where lib64 is lib, .pth files are read twice.
if NOTES in os.environ and sys.pycache_prefix is None and not hasattr(sys, NOTED_BY):
    setattr(sys, NOTED_BY, __file__)
    note(os.environ[NOTES], os.path.realpath(__file__).rpartition(os.path.join("tests", "kit"))[0])
