"""System calls that Python does not offer: prctl, Landlock, namespaces and mounts. Linux only.

Numbers and structures are those of the kernel's own headers, named beside them. The numbers of system calls above 423 are the
same on every architecture. Each function raises OSError with the kernel's reason; none decides anything.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable
from enum import IntFlag
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)

# <linux/prctl.h>
PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38


PR_SET_SECCOMP = 22
# <linux/seccomp.h>; the number of seccomp(2) is that of x86_64
_SECCOMP = 317
_SECCOMP_MODE_FILTER = 2
_SECCOMP_SET_MODE_FILTER = 1
_SECCOMP_FILTER_FLAG_NEW_LISTENER = 8


class Namespace(IntFlag):
    """What a process can have of its own. <linux/sched.h>"""

    MOUNT = 0x00020000
    UTS = 0x04000000
    IPC = 0x08000000
    NETWORK = 0x40000000


# <linux/mount.h>, <sys/mount.h>
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
MNT_DETACH = 2
MOUNT_ATTR_RDONLY = 1
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
_MOUNT_SETATTR = 442


LARGE_PAGE = 2 << 20
_MADV_COLLAPSE = 25  # <linux/mman.h>


class LandlockAccess(IntFlag):
    """What Landlock can refuse below a folder. <linux/landlock.h>, with the version of its interface that brought it."""

    EXECUTE = 1 << 0  # 1
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13  # 2
    TRUNCATE = 1 << 14  # 3
    IOCTL_DEV = 1 << 15  # 5


OF_FILES = (
    LandlockAccess.EXECUTE
    | LandlockAccess.WRITE_FILE
    | LandlockAccess.READ_FILE
    | LandlockAccess.TRUNCATE
    | LandlockAccess.IOCTL_DEV
)
READ = LandlockAccess.READ_FILE | LandlockAccess.READ_DIR
USE = READ | LandlockAccess.WRITE_FILE | LandlockAccess.TRUNCATE | LandlockAccess.REMOVE_DIR | LandlockAccess.REMOVE_FILE
USE |= (
    LandlockAccess.MAKE_DIR
    | LandlockAccess.MAKE_REG
    | LandlockAccess.MAKE_FIFO
    | LandlockAccess.MAKE_SYM
    | LandlockAccess.REFER
)
_FILE_RIGHTS = ((5, (1 << 16) - 1), (3, (1 << 15) - 1), (2, (1 << 14) - 1), (1, (1 << 13) - 1))
_NET_TCP = 0b11  # bind, connect; version 4
_SCOPES = 0b11  # abstract Unix sockets, signals; version 6
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1


class _Ruleset(ctypes.Structure):
    _fields_ = (("handled_access_fs", ctypes.c_uint64), ("handled_access_net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


class _MountAttributes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("attr_set", "attr_clr", "propagation", "userns_fd"))


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _syscall(number: int, what: str, *arguments: object) -> int:
    return _checked(_libc.syscall(ctypes.c_long(number), *arguments), what)


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process."""
    _checked(_libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0)), "prctl")


class _SyscallProgram(ctypes.Structure):
    """struct sock_fprog, <linux/filter.h>"""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def load_syscall_filter(program: bytes) -> None:
    """Let a program of instructions for seccomp, eight bytes each, decide about the calls of this process, for good."""
    asked = _SyscallProgram(len(program) // 8, program)
    _checked(_libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(_SECCOMP_MODE_FILTER), ctypes.byref(asked)), "prctl")


def load_notifying_filter(program: bytes) -> int:
    """Do the same, and return a descriptor that is asked about the calls which the program leaves to it. x86_64, Linux 5.0."""
    asked = _SyscallProgram(len(program) // 8, program)
    operation, flags = ctypes.c_uint(_SECCOMP_SET_MODE_FILTER), ctypes.c_uint(_SECCOMP_FILTER_FLAG_NEW_LISTENER)
    return _syscall(_SECCOMP, "seccomp", operation, flags, ctypes.byref(asked))


def collapse_pages(address: int) -> None:
    """Put LARGE_PAGE bytes of this process's memory, from this multiple of it on, into one page. Linux 6.1."""
    _checked(_libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(LARGE_PAGE), _MADV_COLLAPSE), "madvise")


def read_capabilities() -> int:
    """Return the powers of root's that this process has, a bit each."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("CapEff:")[2].split()[0], 16)


def drop_capabilities() -> None:
    """Take every power of root's from this process for good; it keeps root's files. <linux/capability.h>, version 3."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    _checked(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def unshare(namespaces: Namespace) -> None:
    """Give this process, and those it starts, namespaces of its own."""
    _checked(_libc.unshare(ctypes.c_int(int(namespaces))), "unshare")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount `source`, or a new file system of this kind, at `target`."""
    texts = (source.encode(), os.fsencode(target), kind.encode() or None)
    _checked(_libc.mount(*texts, ctypes.c_ulong(flags), options.encode() or None), f"mount {target}")


def unmount(target: str) -> None:
    """Take a mount away at once, whoever uses it."""
    _checked(_libc.umount2(os.fsencode(target), ctypes.c_int(MNT_DETACH)), f"umount {target}")


def set_read_only(target: str, on: bool, recursive: bool = False) -> None:
    """Change whether the mount at `target`, or also everything below it, is writable."""
    attributes = _MountAttributes(attr_set=MOUNT_ATTR_RDONLY * on, attr_clr=MOUNT_ATTR_RDONLY * (not on))
    path, flags = os.fsencode(target), ctypes.c_uint(AT_RECURSIVE * recursive)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _syscall(_MOUNT_SETATTR, f"mount_setattr {target}", ctypes.c_int(AT_FDCWD), path, flags, ctypes.byref(attributes), size)


def read_landlock_version() -> int:
    """Return the version of Landlock's interface.

    Raises:
        OSError: If the kernel has none.
    """
    return _syscall(_CREATE_RULESET, "landlock", None, ctypes.c_size_t(0), ctypes.c_uint(1))


def limit_access(descriptor: int, access: LandlockAccess) -> LandlockAccess:
    """Return the part of an access that the file or folder can have."""
    return access if stat.S_ISDIR(os.fstat(descriptor).st_mode) else access & OF_FILES


def apply_landlock(version: int, allowed: Iterable[tuple[int, LandlockAccess]]) -> None:
    """Refuse this process, for good, all files but the allowed, all TCP, and signals to others.

    It needs no_new_privs.

    Args:
        version: From `read_landlock_version`; rights that this version does not know are left out.
        allowed: Descriptors of files or folders (O_PATH will do) and the access that is allowed
            there or below; `limit_access` says which a file can have.

    Source: Documentation/userspace-api/landlock.rst.
    """
    handled = next(rights for since, rights in _FILE_RIGHTS if version >= since)
    ruleset = _Ruleset(handled, _NET_TCP * (version >= 4), _SCOPES * (version >= 6))
    size = 8 if version < 4 else 16 if version < 6 else 24
    created = _syscall(_CREATE_RULESET, "landlock", ctypes.byref(ruleset), ctypes.c_size_t(size), ctypes.c_uint(0))
    try:
        for descriptor, access in allowed:
            rule = _PathBeneath(handled & access, descriptor)
            kind = ctypes.c_int(_RULE_PATH_BENEATH)
            _syscall(_ADD_RULE, "landlock rule", ctypes.c_int(created), kind, ctypes.byref(rule), ctypes.c_uint(0))
        _syscall(_RESTRICT_SELF, "landlock", ctypes.c_int(created), ctypes.c_uint(0))
    finally:
        os.close(created)
