"""Confine a worker to its own resources (Linux).

The server determines once which layers the system supports; each worker applies them. The judge gets the list of these layers
and the reason for each missing one. The list alone proves nothing: probes.py tests the confinement from within a worker.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from grader.sandbox import kernel, limits
from grader.sandbox.allowed_calls import RECORDED
from grader.sandbox.kernel import READ, USE, LandlockAccess
from grader.sandbox.places import get_required_mode, is_reachable, list_world_writable_folders
from grader.sandbox.scratch import remove_folder

# Users of containers, of systemd's and of podman's own making lie below (systemd.io/UIDS-GIDS); nobody's files are here.
USERS = range(0x70000000, 0x7FFE0000)
USERS_OF_SMALL_SYSTEMS = range(20_000, 60_000)  # where only the first 65,536 exist, in a container without root
MOST_CLONES = 1023  # of one server at the same time
POWERS = {"CAP_CHOWN": 0, "CAP_DAC_OVERRIDE": 1, "CAP_FOWNER": 3, "CAP_KILL": 5, "CAP_SETGID": 6, "CAP_SETUID": 7}
"""Capabilities that root needs to change users and clean up after them; <linux/capability.h>. Docker keeps all of them."""

# Beside the interpreter and its libraries: what a library may read when it is used for the first time.
SYSTEM = (
    *("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share", "/usr/local/share"),
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/timezone", "/etc/fonts", "/etc/mime.types", "/etc/passwd", "/etc/group"),
    *("/etc/nsswitch.conf", "/etc/ssl/openssl.cnf", "/etc/os-release"),
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/sys/devices/system", "/sys/fs/cgroup"),
    *("/dev/zero", "/dev/urandom", "/dev/random", "/nix/store", "/gnu/store"),
)


class Confinement:
    """The confinement that this system allows for the workers of one server.

    Args:
        settings: The server's settings.

    Attributes:
        layers: The layers in use.
        missing: The layers not in use, and why.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self.layers = ["separate process", "clean environment", "limits", "no new privileges", "not dumpable", "kill of all"]
        self.missing: dict[str, str] = {}
        self._server = os.getpid()
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if hard != resource.RLIM_INFINITY and hard < limits.MAX_OPEN_FILES * 2:
            raise OSError(f"only {hard} files may be open here (ulimit -n); {limits.MAX_OPEN_FILES * 2} are needed")
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard == resource.RLIM_INFINITY else min(hard, 4096), hard))
        self._home: str = settings["home"]
        self._second: bool = settings["second"]
        self._without = set(settings["without"])
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)  # no orphan slips away by forking twice
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        self._users: Iterator[int] = iter(())
        self._own_user = self._try("own user", self._choose_users)
        self._refuse_calls = self._try("seccomp", self._filter)
        if self._refuse_calls and not RECORDED:
            self.layers[-1] += " (deny-list)"
        self._try("network namespace", self._private_network)
        self._mounts = self._try("mount namespace", self._private_mounts)
        self._landlock = self._try("landlock", kernel.read_landlock_version)
        self._readable = list(_list_readable((*settings["readable"], *SYSTEM)))
        if (null := _opened(os.devnull)) is not None:
            self._readable.append((null, kernel.limit_access(null, READ | LandlockAccess.WRITE_FILE)))
        self._threads = limits.MAX_THREADS
        if not self._own_user:
            self._threads = limits.count_threads(os.getuid()) + limits.MAX_MORE_THREADS

    def _try(self, layer: str, what: Any) -> Any:
        """Return what a layer needs, or None where the system does not allow it."""
        try:
            if layer in self._without:
                raise OSError("left out on request (GRADER_WITHOUT)")
            found = what()
        except (OSError, ImportError, RuntimeError, AttributeError) as error:
            self.missing[layer] = str(error)
            return None
        self.layers.append(f"{layer} {found}" if type(found) is int else layer)
        return found

    def _choose_users(self) -> bool:
        if os.geteuid() != 0:
            raise OSError("needs root")
        for path, bits in ((self._home, 0o001), *((path, get_required_mode(path)) for path in sys.path)):
            if os.path.exists(path) and not is_reachable(path, bits):
                raise OSError(f"another user cannot read {path}")
        powers = kernel.read_capabilities()
        if lacking := [name for name, number in POWERS.items() if not powers >> number & 1]:
            raise OSError(f"root has no {', '.join(lacking)} here")
        known = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
        size = max(int(first) + int(count) for first, _, count in known)
        choice = USERS if size > USERS.stop else USERS_OF_SMALL_SYSTEMS
        if size < choice.stop:
            raise OSError(f"there are only {size} users in this container")
        # Workers of servers that are alive at the same time share no user: those of the second have odd places, and each copy
        # has places of its own.
        start = int.from_bytes(os.urandom(8), "little") & ~1
        self._every: Callable[[int, int], Iterator[int]] = lambda step, first: (
            choice[(start + index) % len(choice)] for index in range(first, 1 << 62, step)
        )
        self._users = self._every(2 * (MOST_CLONES + 1), int(self._second))
        return True

    def _filter(self) -> Callable[[], int | None]:
        syscall_filter = importlib.import_module("grader.sandbox.syscall_filter")
        landlock = 0
        with contextlib.suppress(OSError):
            landlock = 0 if "landlock" in self._without else kernel.read_landlock_version()
        made: Callable[[], int | None] = syscall_filter.WorkerFilter(bool(self._own_user), landlock).load
        return made

    def separate(self, number: int, folders: list[str], home: str, second: bool) -> None:
        """Separate a copy of the server from other copies, with its own folders and users.

        Args:
            number: The number of the judge that it serves, less than MOST_CLONES.
            home: A folder in that of the server that was copied.
        """
        self._server, self._home = os.getpid(), home
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)  # neither is passed on to a copy
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        self._readable += _list_readable(folders)
        if self._own_user:
            self._users = self._every(2 * (MOST_CLONES + 1), 2 * (number + 1) + second)

    def _private_network(self) -> bool:
        """Give this process and its workers a network, queues and a host name of their own."""
        kernel.unshare(kernel.Namespace.NETWORK | kernel.Namespace.IPC | kernel.Namespace.UTS)
        return True

    def _private_mounts(self) -> bool:
        """Make everything but the scratch folders read-only for this process and its workers."""
        kernel.unshare(kernel.Namespace.MOUNT)
        kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
        kernel.mount("trial", self._home, "tmpfs", 0, "size=1m")
        kernel.unmount(self._home)
        kernel.mount(self._home, self._home, flags=kernel.MS_BIND)
        kernel.set_read_only("/", True, recursive=True)
        try:
            kernel.set_read_only(self._home, False)
        except OSError:
            kernel.set_read_only("/", False, recursive=True)
            raise
        return True

    def prepare(self, scratch: str) -> int | None:
        """Make the folder ready for the next worker, and return its user; None for the server's own."""
        user = next(self._users) if self._own_user else None
        if self._mounts:
            # A file system in memory, of bounded size, which vanishes whole, whatever was put into it.
            size = f"size={limits.MAX_SCRATCH_BYTES},nr_inodes={limits.MAX_SCRATCH_FILES}"
            owner = f",uid={user},gid={user}" if user else ""
            flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
            kernel.mount("scratch", scratch, "tmpfs", flags, f"mode=0700,{size}{owner}")
        elif user:
            os.chown(scratch, user, user)
        return user

    def clear(self, scratch: str, user: int | None) -> None:
        """Remove leftovers of the worker of this folder and user, after all its processes have ended."""
        if self._mounts:
            kernel.unmount(scratch)
        if user and not self._landlock:
            for entry in (entry for folder in list_world_writable_folders() for entry in os.scandir(folder)):
                with contextlib.suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_uid == user:
                        remove_folder(entry.path)

    def apply(self, scratch: str, user: int | None, memory_mb: int, cpu_seconds: int) -> int | None:
        """Confine this process, a worker, for good.

        Returns:
            A descriptor for the judge, see `syscall_filter.WorkerFilter.load`.

        Raises:
            OSError: If a layer fails that worked before.
        """
        limits.limit_process(memory_mb, cpu_seconds, self._threads)
        if user:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        elif os.geteuid() == 0:
            kernel.drop_capabilities()
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        # A change of user takes this back, so it comes after it; a server that is gone by now will not be noticed otherwise.
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != self._server:
            os._exit(1)
        if self._landlock:
            folder, process = _opened(scratch), _opened("/proc/self")
            if folder is None or process is None:
                raise OSError("the worker's own folders cannot be opened")
            kernel.apply_landlock(self._landlock, [*self._readable, (folder, USE), (process, READ)])
        refused: int | None = self._refuse_calls() if self._refuse_calls else None
        return refused

    def kill(self, user: int | None) -> None:
        """Kill every process of the worker's user at once, which no amount of forking evades."""
        if user and (helper := os.fork()) == 0:
            with contextlib.suppress(BaseException):
                resource.setrlimit(resource.RLIMIT_NPROC, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                os.setresuid(user, user, user)
                os.kill(-1, signal.SIGKILL)  # of this user only, and not this process
            os._exit(0)
        elif user:
            os.waitpid(helper, 0)


def _list_readable(paths: Iterable[str]) -> Iterator[tuple[int, LandlockAccess]]:
    """Yield a descriptor of each path that is there, with the access by which it can be read."""
    for path in paths:
        if (opened := _opened(path)) is not None:
            yield opened, kernel.limit_access(opened, READ)


def _opened(path: str) -> int | None:
    """Return a descriptor that only names a file or folder, out of the way of a worker's own; None if it is not there."""
    try:
        low = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, 64)
    finally:
        os.close(low)
