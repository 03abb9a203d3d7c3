"""Nothing outlives the call: no process, thread, timer or lock of a submission is there when the next call begins."""

from __future__ import annotations

from .catalogue import attack


@attack("starts a child that goes on alone", says="may not start processes")
def forks_once(values, scale, known):
    import os
    import time

    if os.fork() == 0:
        time.sleep(1000)


@attack("starts a daemon: forks twice, in a session of its own")
def forks_twice(values, scale, known):
    import os
    import time

    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                time.sleep(1)
        os._exit(0)
    time.sleep(0.3)


@attack("starts a program that ignores every signal", says="may not start processes")
def starts_a_program(values, scale, known):
    import subprocess
    import sys

    ignore = "import signal, time; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 13, 15)]; time.sleep(999)"
    subprocess.Popen([sys.executable, "-c", ignore], start_new_session=True)


@attack("stops its own process, so that it cannot be asked to end", sees=("timeout", "failed"))
def stops_itself(values, scale, known):
    import os
    import signal

    os.kill(os.getpid(), signal.SIGSTOP)


@attack("stops its own process by another call", sees=("timeout", "failed"))
def stops_itself_by_raise(values, scale, known):
    import signal

    signal.raise_signal(signal.SIGSTOP)


@attack("ignores every signal and swallows every exception", sees=("timeout",))
def ignores_signals(values, scale, known):
    import signal

    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            continue
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue


@attack("blocks every signal and sleeps", sees=("timeout",))
def blocks_signals(values, scale, known):
    import signal
    import time

    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    time.sleep(1000)


@attack("hangs at the end of the process", sees=("failed", "timeout", "crashed"))
def hangs_at_exit(values, scale, known):
    import atexit
    import threading
    import time

    atexit.register(time.sleep, 1000)
    threading.Thread(target=time.sleep, args=(1000,)).start()
    raise SystemExit


@attack("replaces itself by another program", says="may not start processes")
def becomes_another_program(values, scale, known):
    import os

    os.execv("/bin/sleep", ["sleep", "1000"])


@attack("starts workers as libraries do: multiprocessing, DataLoader")
def uses_worker_processes(values, scale, known):
    import multiprocessing

    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(abs, values)


@attack("kills the server, the grader, and everything it may")
def kills_everything(values, scale, known):
    import os
    import signal

    done = 0
    for process in (os.getppid(), known["judge"], -1, 0, -os.getpgid(os.getppid())):
        try:
            os.kill(process, signal.SIGKILL)
            done += 1
        except OSError:
            continue
    print("LEAKED" if done else "refused")


@attack("starves the grader's priority and limits from outside")
def limits_the_grader(values, scale, known):
    import os
    import resource

    for process in (os.getppid(), known["judge"]):
        for act in (
            lambda p: resource.prlimit(p, resource.RLIMIT_CPU, (0, 0)),
            lambda p: os.setpriority(os.PRIO_PROCESS, p, 19),
            lambda p: os.sched_setscheduler(p, os.SCHED_IDLE, os.sched_param(0)),
        ):
            try:
                act(process)
                print("LEAKED")
            except OSError:
                print("refused")


@attack("lets the kernel signal the grader, by owning a pipe")
def signals_by_descriptor(values, scale, known):
    import fcntl
    import os
    import signal

    reading, writing = os.pipe()
    for process in (os.getppid(), known["judge"]):
        for command, value in ((fcntl.F_SETOWN, process), (10, signal.SIGKILL), (fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)):
            try:
                fcntl.fcntl(reading, command, value)
            except OSError:
                print("refused")
        os.write(writing, b"x")


@attack("wants to be told nothing of its server's end, to live on", sees=("failed", "timeout"))
def forgets_its_parent(values, scale, known):
    import ctypes

    syscall = ctypes.CDLL(None).syscall
    made = [syscall(ctypes.c_long(157), ctypes.c_ulong(option), ctypes.c_ulong(0), 0, 0, 0) for option in (1, 0x100000001)]
    print("LEAKED" if 0 in made else "refused")


@attack("leaves the kernel a list of locks that has no end, to be walked when it ends", sees=("crashed",))
def leaves_an_endless_list(values, scale, known):
    import ctypes
    import os

    memory = (ctypes.c_ulong * 8)()
    place = ctypes.addressof(memory)
    memory[0], memory[3] = place + 24, place + 24  # struct robust_list_head, and a lock that is followed by itself
    ctypes.CDLL(None).syscall(ctypes.c_long(273), ctypes.byref(memory), ctypes.c_ulong(24))
    os._exit(0)


@attack("sends itself every signal there is, and ignores what can be ignored", sees=("crashed", "failed"))
def signals_itself(values, scale, known):
    import os
    import signal

    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
            os.kill(os.getpid(), number)
        except (OSError, ValueError):
            continue
    os.abort()


@attack("calls its process and threads by what the grader reads in /proc, and makes them traceable", sees=("timeout",))
def renames_its_process(values, scale, known):
    import ctypes
    import threading
    import time

    libc = ctypes.CDLL(None)

    def rename():
        for option, value in ((15, b") Z 0 0 ("), (4, 1), (36, 1), (0x59616D61, ctypes.c_ulong(-1)), (1, 0)):  # <linux/prctl.h>
            libc.prctl(option, value, 0, 0, 0)
        time.sleep(1000)

    threading.Thread(target=rename, daemon=True).start()
    rename()
