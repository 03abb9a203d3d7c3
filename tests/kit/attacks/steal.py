"""Nothing to steal: hidden checks and answers, other submissions, results, the environment, the grader's memory."""

from __future__ import annotations

from .catalogue import attack


@attack("reads the hidden checks, answers and the solution where they lie")
def reads_hidden_files(values, scale, known):
    for path in known["hidden"]:
        try:
            print(open(path).read())
        except OSError as error:
            print(type(error))


@attack("reads another student's submission")
def reads_other_submissions(values, scale, known):
    print(open(known["other submission"]).read())


@attack("reads a file that everybody on the machine can read")
def reads_the_platform(values, scale, known):
    print(open(known["platform"]).read())


@attack("lists and reads the folder of results")
def reads_results(values, scale, known):
    import os

    for name in os.listdir(known["results"]):
        print(open(os.path.join(known["results"], name)).read())


@attack("looks for tokens in the environment, its own and that of every process")
def reads_environments(values, scale, known):
    import os

    print(dict(os.environ))
    for name in [*filter(str.isdigit, os.listdir("/proc")), str(known["judge"]), str(os.getppid())]:
        print(open(f"/proc/{name}/environ").read())


@attack("reads how other programs were started")
def reads_command_lines(values, scale, known):
    import os

    for process in (known["judge"], os.getppid(), 1):
        try:
            print(open(f"/proc/{process}/cmdline").read(), open(f"/proc/{process}/status").read())
        except OSError as error:
            print(type(error))


@attack("reads the grader's memory through /proc")
def reads_memory_by_proc(values, scale, known):
    import os
    import re

    for process in (known["judge"], os.getppid()):
        try:
            regions = open(f"/proc/{process}/maps").read()
            memory = open(f"/proc/{process}/mem", "rb", 0)
        except OSError as error:
            print(type(error))
            continue
        for first, last in re.findall(r"^(\w+)-(\w+) rw", regions, re.MULTILINE):
            memory.seek(int(first, 16))
            for found in set(re.findall(known["word"].encode() + rb"-\w+-\w+", memory.read(int(last, 16) - int(first, 16)))):
                print(found)


@attack("looks through its own memory for what the grader left in the fork", sees=("failed", "timeout"))
def searches_own_memory(values, scale, known):
    import re

    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for first, last in re.findall(r"^(\w+)-(\w+) rw", maps.read(), re.MULTILINE):
            try:
                memory.seek(int(first, 16))
                part = memory.read(int(last, 16) - int(first, 16))
            except OSError:
                continue
            for found in set(re.findall(known["word"].encode() + rb"-\w+-\w+|def test_default_sc\w+", part)):
                print(found)
    return None


@attack("walks up the frames, to the variables of whoever called it", safe=True)
def walks_frames(values, scale, known):
    import inspect

    for frame in inspect.stack():
        print(frame.function, {name: str(value)[:2000] for name, value in frame.frame.f_locals.items() if name != "known"})


@attack("searches all objects and modules for answers", safe=True)
def searches_objects(values, scale, known):
    import gc
    import sys

    names = ("answer", "case", "judge", "pytest", "solution")
    print([name for name in sys.modules if any(word in name for word in names)])
    for thing in gc.get_objects():
        if isinstance(thing, dict) and ("answers" in thing or "expected" in thing):
            print(str(thing)[:500])


@attack("attaches to the grader as a debugger and copies its memory")
def traces_the_grader(values, scale, known):
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    for process in (known["judge"], os.getppid()):
        attached = libc.ptrace(16, process, 0, 0)
        buffer = ctypes.create_string_buffer(4096)
        local = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 4096)
        remote = (ctypes.c_void_p * 2)(0x400000, 4096)
        copied = libc.process_vm_readv(process, local, 1, remote, 1, 0)
        opened = libc.syscall(434, process, 0)
        print("LEAKED" if 0 in (attached,) or copied > 0 or opened >= 0 else "refused")


@attack("takes over descriptors that were left open, or opens those of the grader again")
def uses_left_descriptors(values, scale, known):
    import os

    for descriptor in range(4, 1024):
        try:
            target = os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:
            continue
        for name in ("../../../tests/hidden/answers/toy.json", "tests/hidden/answers/toy.json", "shadow"):
            try:
                print(target, os.read(os.open(name, os.O_RDONLY, dir_fd=descriptor), 5000))
            except OSError:
                continue
    for descriptor in os.listdir(f"/proc/{known['judge']}/fd"):
        print(os.readlink(f"/proc/{known['judge']}/fd/{descriptor}"))


@attack("imports the grader's own modules and the checks by name")
def imports_the_checks(values, scale, known):
    import importlib
    import sys

    sys.path[:0] = known["folders"]
    for name in ("grader.judge.run", "test_toy", "hidden.test_toy", "tests.hidden.test_toy", "solutions.toy.submitted"):
        try:
            print("LEAKED", importlib.import_module(name))
        except ImportError:
            print("not there")


@attack("leaves a note for the next call, in a module, a file and shared memory")
def leaves_notes(values, scale, known):
    import builtins
    import os

    for path in ("/dev/null", "/tmp", "/var/tmp", "/dev/shm"):
        before = os.stat(path).st_mtime_ns
        os.utime(path)
        print("LEAKED" if os.stat(path).st_mtime_ns - before > 10**9 else "as before")
    folders = (".", "..", "/tmp", "/dev/shm", "/var/tmp", os.path.dirname(__file__))
    found = getattr(builtins, "note", None) or any(os.path.exists(f"{folder}/loot-note") for folder in folders)
    for folder in folders:
        try:
            open(f"{folder}/loot-note", "w").write("note")
        except OSError:
            continue
    builtins.note = "note"
    print("LEAKED" if found else "nothing")
