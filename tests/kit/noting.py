"""Note what a program uses, for tests/kit/watching.py, which has every Python that a test starts run this first.

A line for each event goes to the file that the environment names: which Python files were opened, to import them or to
read them, which programs were started, and which processes began. A line is written at once, since a process can be
killed, or end without any handlers. It imports nothing that Python has not imported by now: a program that only adds two
numbers must not get slower.
"""

import os
import sys

NOTES, NOTED_BY = "TEST_NOTES", "TEST_NOTED_BY"  # environment variables: where to, and this file
BEGAN, FORKED, STARTS, FORKS, OPENS = "began", "forked", "starts", "forks", "opens"


def write(notes: str, *line: object) -> None:
    """Append a line. A process that cannot, since it is confined, cannot read the files of the repository either."""
    try:
        file = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, f"{line!r}\n".encode("utf-8", "backslashreplace"))
        finally:
            os.close(file)
    except OSError:
        pass


def describe_command(command, folder) -> tuple[str, ...]:
    """Return the folder in which a command is started and its words, in one form for who starts it and for what begins."""
    words = [command] if isinstance(command, (str, bytes)) else command
    return os.path.realpath(os.fsdecode(folder or "")), *map(os.fsdecode, words)


def note(notes: str, root: str) -> None:
    """Note from now on what this process and its forks do with the files below the folder `root`."""
    seen = set()

    def hear(event: str, details: tuple) -> None:
        if event == "open":
            path, _, flags = details
            if isinstance(path, str) and path.endswith((".py", ".pyc")) and not flags & os.O_WRONLY:
                full = os.path.abspath(path)
                if full not in seen and full.startswith(root):
                    seen.add(full)
                    write(notes, OPENS, full)
        elif event == "subprocess.Popen":
            write(notes, STARTS, describe_command(*details[1:3]))
        elif event in ("os.fork", "os.forkpty"):
            write(notes, FORKS)

    write(notes, BEGAN, describe_command(sys.orig_argv, None))
    os.register_at_fork(after_in_child=lambda: write(notes, FORKED))
    sys.addaudithook(hear)


if NOTES in os.environ and not hasattr(sys, NOTED_BY):  # lib64 may be lib once more, and be searched for .pth files, too
    setattr(sys, NOTED_BY, __file__)
    note(os.environ[NOTES], os.path.realpath(__file__).rpartition(os.sep + os.path.join("tests", "kit"))[0] + os.sep)
