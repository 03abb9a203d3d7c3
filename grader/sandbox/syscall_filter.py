"""Refuse system calls of a worker by seccomp (libseccomp, through pyseccomp).

On x86_64 two lists decide. A call that is not in `allowed_calls.ALLOWED` fails with ENOSYS, as on a kernel that does not know
it, and libraries do without. A named danger, in `REFUSED` below or by its arguments, fails with EPERM, which Python raises as
PermissionError, so that a student reads of a limit. The judge hears of the calls that are on neither list (refusals.py).
On other machines, for which nothing was recorded, only the dangers are refused.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource
import signal
import socket
import struct

import pyseccomp

from grader.sandbox.allowed_calls import ALLOWED, RECORDED, make_gate
from grader.sandbox.kernel import PR_SET_PDEATHSIG, load_notifying_filter, load_syscall_filter

CLONE_THREAD = 0x00010000  # <linux/sched.h>
F_SETOWN_EX = 15  # <fcntl.h>; Python knows the others
# The first three make the kernel send signals, the others watch and hold up whoever uses a file.
CONTROLLING = (fcntl.F_SETOWN, fcntl.F_SETSIG, F_SETOWN_EX, fcntl.F_SETLEASE, fcntl.F_NOTIFY)
# A lock on a file that every submission may open, as /dev/null, is a note that the one beside it could read.
LOCKS = (fcntl.F_SETLK, fcntl.F_SETLKW, getattr(fcntl, "F_OFD_SETLK", 37), getattr(fcntl, "F_OFD_SETLKW", 38))
HINTS = (1036, 1038)  # F_SET_RW_HINT, F_SET_FILE_RW_HINT, which stay with a file: <linux/fcntl.h>
RWF_NOWAIT = 8  # <linux/fs.h>; a Python made for older systems has no name for it
OWN_PROCESS = 0x5E1F1D00  # in a filter that is made, the number of the process that will load it
UNKNOWN = -1  # <seccomp.h>, __NR_SCMP_ERROR: this libseccomp is older than the call

REFUSED = (
    # other programs and processes
    *("fork", "vfork", "execve", "execveat", "unshare", "setns"),
    # other processes' memory, descriptors and lives
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp"),
    *("pidfd_open", "pidfd_getfd", "pidfd_send_signal", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"),
    *("migrate_pages", "move_pages", "ioprio_set"),
    "timer_create",  # whose timer may send any signal; setitimer, which Python uses, sends three that can be handled
    # the network; the one socket of the worker is open already
    *("socket", "bind", "connect", "listen", "accept", "accept4"),
    # memory that outlives the process, or that RLIMIT_AS does not count
    *("memfd_create", "memfd_secret", "shmget", "shmat", "shmctl", "semget", "semctl", "semop", "semtimedop"),
    *("msgget", "msgctl", "msgsnd", "msgrcv", "mq_open", "mq_unlink", "add_key", "request_key", "keyctl"),
    # ways round these lists, and much used for attacks on the kernel
    *("io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "perf_event_open", "userfaultfd", "seccomp"),
    *("mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "open_tree_attr", "mount_setattr"),
    *("fsopen", "fsconfig", "fsmount", "fspick", "name_to_handle_at", "open_by_handle_at", "quotactl", "quotactl_fd"),
    *("fanotify_init", "fanotify_mark", "inotify_init", "inotify_init1", "lookup_dcookie", "modify_ldt", "personality"),
    *("init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff"),
    *("acct", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname", "syslog"),
    *("iopl", "ioperm", "vhangup", "mincore", "cachestat", "sync", "syncfs"),
)
OF_OTHERS = ("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr")
# Of its own these do nothing, and say that all went well: a call that gives way to all others is not charged for waiting.
GIVING_WAY = ("sched_setscheduler", "sched_setparam", "sched_setattr")
# A worker of the judge's own user could use these on any file of that user; Landlock does not know them. They are not refused,
# because honest code copies and touches files of its own: they do nothing, and say that all went well.
OWNERSHIP = (
    *("chmod", "fchmod", "fchmodat", "chown", "lchown", "fchown", "fchownat"),
    *("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr"),
    *("fchmodat2", "setxattrat", "removexattrat", "file_setattr"),
)
# Allowed to anyone who may write to a file, as to /dev/null and /tmp: a time is a note that every later call could read.
TIMES = ("utime", "utimes", "utimensat", "futimesat")
# Younger than the libseccomp of many systems; these numbers are the same on every architecture (<asm-generic/unistd.h>).
YOUNG = {
    "close_range": 436,
    "openat2": 437,
    "faccessat2": 439,
    "process_madvise": 440,
    "epoll_pwait2": 441,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "memfd_secret": 447,
    "process_mrelease": 448,
    "futex_waitv": 449,
    "cachestat": 451,
    "fchmodat2": 452,
    "futex_wake": 454,
    "futex_wait": 455,
    "futex_requeue": 456,
    "mseal": 462,
    "setxattrat": 463,
    "removexattrat": 466,
    "open_tree_attr": 467,
    "file_setattr": 469,
}


class WorkerFilter:
    """The rules about the calls above, made once: to make them takes a worker longer than anything else that confines it.

    Args:
        own_user, landlock: See `_make_rules`.
    """

    def __init__(self, own_user: bool, landlock: int) -> None:
        rules = _make_rules(own_user, landlock)
        if not RECORDED:
            for number, action in rules.always.items():
                rules.made.add_rule(action, number)
        by_arguments = _export(rules.made)
        self._silent, self._notifying = _split(by_arguments), list[bytes]()
        if RECORDED:
            decisions = {number: pyseccomp.ALLOW for name in ALLOWED if (number := _resolve(name)) >= 0}
            decisions |= rules.always | dict.fromkeys(rules.conditional, None)
            self._silent = _split(make_gate(decisions, pyseccomp.ERRNO(errno.ENOSYS)) + by_arguments)
            self._notifying = _split(make_gate(decisions, pyseccomp.NOTIFY) + by_arguments)

    def load(self) -> int | None:
        """Refuse this process, for good, what the rules say.

        Returns:
            A descriptor for `refusals.Refusals`. None where nobody can be asked about the calls that are not listed; these
            then fail unheard.
        """
        own = struct.pack("=I", os.getpid())
        if self._notifying:
            # Older kernels, gVisor, and containers whose engine listens itself.
            with contextlib.suppress(OSError):
                return load_notifying_filter(own.join(self._notifying))
        load_syscall_filter(own.join(self._silent))
        return None


def _split(program: bytes) -> list[bytes]:
    """Return the parts between which a program has the number of the process that will load it."""
    operands = range(4, len(program), 8)  # of struct sock_filter, <linux/filter.h>
    places = [place for place in operands if struct.unpack_from("=I", program, place) == (OWN_PROCESS,)]
    return [program[start:end] for start, end in zip([0, *(p + 4 for p in places)], [*places, len(program)], strict=True)]


class _Rules:
    """What is decided about calls: always, or by their arguments.

    Attributes:
        always: The action for each number.
        conditional: The numbers of calls about which arguments decide.
        made: The rules about these.
    """

    def __init__(self) -> None:
        self.always: dict[int, int] = {}
        self.conditional: set[int] = set()
        self.made = pyseccomp.SyscallFilter(pyseccomp.ALLOW)

    def add(self, action: int, name: str, *conditions: pyseccomp.Arg) -> None:
        number = _resolve(name)
        if number == UNKNOWN:
            return
        if conditions:
            self.made.add_rule(action, number, *conditions)
            self.conditional.add(number)
        else:
            self.always[number] = action

    def add_all_but(self, action: int, name: str, number: int, mask: int, value: int) -> None:
        """Decide about a call unless the bits of an argument that are in the mask have this value.

        This adds one rule for each bit that differs.
        """
        for bit in range(mask.bit_length()):
            if mask >> bit & 1:
                self.add(action, name, pyseccomp.Arg(number, pyseccomp.MASKED_EQ, 1 << bit, ~value & 1 << bit))


def _make_rules(own_user: bool, landlock: int) -> _Rules:
    """Return the rules for a process that is called OWN_PROCESS.

    Args:
        own_user: Whether the process has a user id that owns nothing else.
        landlock: The version of Landlock that confines it; 0 for none.
    """
    made = _Rules()
    refuse, ignore = pyseccomp.ERRNO(errno.EPERM), pyseccomp.ERRNO(0)
    for name in REFUSED:
        made.add(refuse, name)
    if landlock < 3:  # which does not know it before; open files are made shorter by ftruncate
        made.add(refuse, "truncate")
    for name in TIMES if own_user else (*TIMES, *OWNERSHIP):
        made.add(ignore, name)
    # A thread may be started, a process may not. clone3 hides its flags behind a pointer, so it fails with ENOSYS; the C
    # library then falls back to clone.
    made.add(refuse, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, CLONE_THREAD, 0))
    made.add(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    # A pair of connected streams, as event loops need; a datagram socket of a pair could send to any other by its path.
    made.add(refuse, "socketpair", pyseccomp.Arg(0, pyseccomp.NE, socket.AF_UNIX))
    made.add_all_but(refuse, "socketpair", 1, 0xF, socket.SOCK_STREAM)
    for name in OF_OTHERS:
        made.add(refuse, name, pyseccomp.Arg(0, pyseccomp.NE, 0))
    for name in GIVING_WAY:
        made.add(ignore, name, pyseccomp.Arg(0, pyseccomp.EQ, 0))
    for number in (0, 1):  # of this process only
        made.add(refuse, "setpriority", pyseccomp.Arg(number, pyseccomp.NE, 0))
    made.add(ignore, "setpriority", pyseccomp.Arg(0, pyseccomp.EQ, 0), pyseccomp.Arg(1, pyseccomp.EQ, 0))
    made.add(refuse, "prctl", _low(0, PR_SET_PDEATHSIG))
    for command in CONTROLLING:
        made.add(refuse, "fcntl", _low(1, command))
    made.add(ignore, "flock")
    for command in (*LOCKS, *HINTS):  # honest code locks its own files, so this says that all went well
        made.add(ignore, "fcntl", _low(1, command))
    # Of a terminal's, which libraries ask whether there is one, and of descriptors; none of file systems, sockets and devices.
    made.add_all_but(refuse, "ioctl", 1, 0xFF00, ord("T") << 8)
    # Whether a page of a file is in memory is a note that every later call could read.
    made.add(ignore, "fadvise64", _low(3, os.POSIX_FADV_DONTNEED))
    made.add(refuse, "preadv2", pyseccomp.Arg(5, pyseccomp.MASKED_EQ, RWF_NOWAIT, RWF_NOWAIT))
    # abort() and the like signal the own process; no other. What ends or stops it at once must come from outside, so that the
    # judge can tell a submission from an operator, and from a kernel that is short of memory.
    for name, place in (("kill", 1), ("tgkill", 2)):
        made.add(refuse, name, pyseccomp.Arg(0, pyseccomp.NE, OWN_PROCESS))
        for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
            made.add(refuse, name, _low(place, number))
    # Beyond a limit of processor time the kernel sends SIGKILL as well; a worker's is set already.
    made.add(refuse, "setrlimit", _low(0, resource.RLIMIT_CPU))
    made.add(refuse, "prlimit64", _low(1, resource.RLIMIT_CPU), pyseccomp.Arg(2, pyseccomp.NE, 0))
    return made


def _export(rules: pyseccomp.SyscallFilter) -> bytes:
    """Return the program that the kernel takes, for this architecture; it is smaller than a pipe."""
    reader, writer = os.pipe()
    with open(reader, "rb") as made, open(writer, "wb") as wanted:
        rules.export_bpf(wanted)
        wanted.close()
        return made.read()


def _resolve(name: str) -> int:
    return YOUNG.get(name) or pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name)


def _low(number: int, value: int) -> pyseccomp.Arg:
    """Return the condition that an argument has this value for the kernel, which looks at its lower half only."""
    return pyseccomp.Arg(number, pyseccomp.MASKED_EQ, 0xFFFFFFFF, value)
