"""Which system calls a worker may make on x86_64, and the instructions that refuse all others.

The list was recorded with strace on Linux 6.18 and glibc 2.36: the graded solutions of all assignments, and a script that uses
the standard library, NumPy, SciPy, torch, gymnasium, MuJoCo, ale-py, OpenCV, matplotlib, safetensors, stable_baselines3 and
IPython, with Python 3.10 to 3.13. Beside each recorded call stand those that another libc or a newer kernel has for the same.
Nothing is listed that reaches beyond the process, its files and its threads. `benchmarks/record_calls.py` records it anew.

Many of these calls have rules about their arguments too: see syscall_filter.py.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Mapping
from itertools import pairwise

FAMILIES: dict[str, tuple[str, ...]] = {
    # At a place, into several pieces; NumPy's memmap lengthens files. NumPy and SQLite give the kernel advice.
    "reading and writing": (
        *("read", "write", "pread64", "pwrite64", "readv", "writev", "preadv", "pwritev", "preadv2", "pwritev2", "lseek"),
        *("ftruncate", "truncate", "fallocate", "fsync", "fdatasync", "fadvise64", "sendfile", "copy_file_range"),
    ),
    # The same few calls under the names that older and newer libcs use.
    "looking at files": (
        *("open", "openat", "openat2", "creat", "close", "close_range", "readlink", "readlinkat"),
        *("stat", "fstat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "statfs", "fstatfs"),
        *("getdents", "getdents64", "getcwd", "chdir", "fchdir"),
    ),
    # os.mkfifo is mknod, whose devices need root.
    "names of files": (
        *("mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2", "umask"),
        *("link", "linkat", "symlink", "symlinkat", "mknod", "mknodat"),
    ),
    # shutil.copy2 copies times, permissions and attributes.
    "attributes of files": (
        *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchown", "fchownat", "flock"),
        *("utime", "utimes", "utimensat", "futimesat"),
        *("getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr"),
        *("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr"),
    ),
    "descriptors": ("dup", "dup2", "dup3", "pipe", "pipe2", "fcntl", "ioctl"),
    # Event loops; the newest libcs have only the last call of each line.
    "waiting for descriptors": (
        *("select", "pselect6", "poll", "ppoll"),
        *("epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2"),
    ),
    # os.eventfd, and os.timerfd_create of Python 3.13
    "descriptors of events and timers": ("eventfd", "eventfd2", "timerfd_create", "timerfd_settime", "timerfd_gettime"),
    # asyncio wakes its loop through a pair of sockets, and the wire is a socket. Nothing needs setsockopt.
    "connected sockets": (
        *("socketpair", "sendto", "recvfrom", "sendmsg", "recvmsg", "shutdown"),
        *("getsockname", "getpeername", "getsockopt"),
    ),
    "clocks": ("nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday", "time", "times", "pause"),
    "interval timers": ("alarm", "setitimer", "getitimer"),
    # mseal: a newer loader seals its own pages
    "memory": ("mmap", "munmap", "mremap", "mprotect", "madvise", "brk", "msync", "mseal"),
    # OpenBLAS asks for memory near its processor.
    "memory policy": ("mbind", "get_mempolicy", "set_mempolicy"),
    # clone starts threads alone; clone3 has a rule that makes libcs use clone. The later futex calls are parts of futex.
    "threads": (
        *("clone", "futex", "futex_wait", "futex_wake", "futex_requeue", "futex_waitv", "membarrier"),
        *("set_robust_list", "get_robust_list", "rseq", "set_tid_address", "exit", "exit_group"),
    ),
    # There is no child to wait for.
    "the process itself": (
        *("gettid", "getpid", "getppid", "getpgid", "getpgrp", "getsid", "wait4", "waitid", "prctl", "arch_prctl"),
        *("getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid", "getgroups", "uname", "getrandom"),
    ),
    # libgomp, OpenCV, torch and psutil count processors and ask for priorities.
    "processors and limits": (
        *("sched_yield", "sched_getaffinity", "sched_setaffinity", "getcpu", "getpriority", "setpriority", "ioprio_get"),
        *("sched_getscheduler", "sched_setscheduler", "sched_getparam", "sched_setparam", "sched_getattr", "sched_setattr"),
        *("sched_get_priority_max", "sched_get_priority_min", "sched_rr_get_interval"),
        *("getrlimit", "setrlimit", "prlimit64", "getrusage", "sysinfo"),
    ),
    "signals to itself": (
        *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigtimedwait", "rt_sigsuspend"),
        *("sigaltstack", "kill", "tgkill", "restart_syscall"),
    ),
}
"""The allowed calls, by purpose. The attacks in tests/kit/attacks try each family."""
ALLOWED = tuple(name for names in FAMILIES.values() for name in names)
RECORDED = platform.machine() == "x86_64"
"""Whether the allow-list applies to this machine; others use a deny-list instead."""

AUDIT_ARCH_X86_64 = 0xC000003E  # <linux/audit.h>
X32_BIT = 0x40000000  # of the numbers of another architecture that x86_64 carries along
# <linux/filter.h>
_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_LARGER, _RETURN = 0x20, 0x15, 0x35, 0x06
# <linux/seccomp.h>
NUMBER_OFFSET, ARCH_OFFSET = 0, 4  # in struct seccomp_data


def make_gate(decisions: Mapping[int, int | None], otherwise: int) -> bytes:
    """Return instructions for seccomp that decide about a call by its number.

    The numbers are searched as ranges in a tree, so a call passes some ten instructions; the kernel, which tries every number
    when it loads a filter, is quick with it.

    Args:
        decisions: The action for each number. None, or another architecture, goes on to the
            instructions that are put behind these.
        otherwise: The action for every other number.
    """
    starts = sorted({edge for number in decisions for edge in (number, number + 1)} | {0})
    ranges = [(start, decisions.get(start, otherwise)) for start in starts]
    ranges = [ranges[0], *(now for before, now in pairwise(ranges) if before[1] != now[1])]
    actions = [action for action in {action: None for _, action in ranges} if action is not None]
    # Each instruction with the places where it goes on, if a condition holds and if not. A place of an action counts from the
    # end, as -1 does, which is the first behind these instructions.
    made = [
        (_LOAD, 1, 1, ARCH_OFFSET),
        (_JUMP_IF_EQUAL, 2, -1, AUDIT_ARCH_X86_64),
        (_LOAD, 3, 3, NUMBER_OFFSET),
        (_JUMP_IF_LARGER, -1, 4, X32_BIT),
    ]

    def search(low: int, high: int) -> int:
        """Return the place where a number that is in one of these ranges is decided about."""
        if high - low == 1:
            action = ranges[low][1]
            return -1 if action is None else -2 - actions.index(action)
        place, middle = len(made), (low + high) // 2
        made.append((0, 0, 0, 0))
        no = search(low, middle)
        made[place] = (_JUMP_IF_LARGER, search(middle, high), no, ranges[middle][0])
        return place

    search(0, len(ranges))
    end = len(made) + len(actions)
    code = b""
    for place, (kind, yes, no, value) in enumerate(made):
        steps = [0, 0] if kind == _LOAD else [target % (end + 1) - place - 1 for target in (yes, no)]
        code += struct.pack("=HBBI", kind, *steps, value)  # a step further than 255 is an error here
    return code + b"".join(struct.pack("=HBBI", _RETURN, 0, 0, action) for action in reversed(actions))
