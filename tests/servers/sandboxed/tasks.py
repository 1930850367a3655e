"""Real attempts, each of which the kernel must refuse; and the ways in which a task does not end by itself."""

from __future__ import annotations

import ctypes
import fcntl
import gc
import os
import resource
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from servers.sandbox.protocol import Refused

Answer = tuple[dict[str, Any], bytes]
libc = ctypes.CDLL(None, use_errno=True)
x86 = os.uname().machine == "x86_64"


def attempt(how: str, path: str = "", process: int = 0) -> Answer:
    """The error number with which the attempt is refused; 0 when it succeeds."""
    try:
        ATTEMPTS[how](path, process)
    except OSError as error:
        return {"errno": error.errno}, b""
    except RuntimeError as error:  # threads know no error number
        return {"errno": 1 if "start new thread" in str(error) else 0}, b""
    return {"errno": 0}, b""


def _raw(number: int, *values: int) -> None:
    if libc.syscall(number, *values) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def _link(path: str, _: int) -> None:
    os.symlink("/", f"{path}/link")


def _thread() -> None:
    threading.Thread(target=int).start()


def _sibling() -> None:
    """Start a process that has the parent of this one as its own."""
    process = libc.syscall(56 if x86 else 220, 0x8000 | signal.SIGCHLD, 0, 0, 0, 0)
    if process == 0:
        os._exit(0)
    if process < 0:
        raise OSError(ctypes.get_errno(), "refused")


ATTEMPTS: dict[str, Callable[[str, int], object]] = {
    "write": lambda path, _: Path(path, "new").write_bytes(b"x"),
    "overwrite": lambda path, _: os.open(f"{path}/kept", os.O_WRONLY),
    "truncate": lambda path, _: os.truncate(f"{path}/kept", 0),
    "delete": lambda path, _: os.unlink(f"{path}/kept"),
    "rename": lambda path, _: os.rename(f"{path}/kept", f"{path}/gone"),
    "folder": lambda path, _: os.mkdir(f"{path}/new"),
    "link": _link,
    "mode": lambda path, _: os.chmod(f"{path}/kept", 0o777),
    "times": lambda path, _: os.utime(f"{path}/kept", (0, 0)),
    "attribute": lambda path, _: os.setxattr(f"{path}/kept", "user.x", b"1"),
    "read": lambda path, _: Path(path, "kept").read_bytes(),
    "list": lambda path, _: os.listdir(path),
    "environment": lambda _, process: Path(f"/proc/{process}/environ").read_bytes(),
    "tcp": lambda *_: socket.create_connection(("127.0.0.1", 9), 1),
    "udp": lambda *_: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    "unix": lambda *_: socket.socket(socket.AF_UNIX),
    "netlink": lambda *_: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "program": lambda *_: os.execv("/bin/sh", ["sh", "-c", "exit 0"]),
    "subprocess": lambda *_: subprocess.run(["/bin/true"], check=True),
    "fork": lambda *_: os.fork(),
    "thread": lambda *_: _thread(),
    "kill": lambda _, process: os.kill(process, signal.SIGCONT),
    "kill own group": lambda *_: os.killpg(0, signal.SIGCONT),
    "leave the group": lambda *_: os.setsid(),
    "trace": lambda _, process: _raw(101 if x86 else 117, 16, process, 0, 0),
    "limits": lambda _, process: resource.prlimit(process, resource.RLIMIT_NOFILE, (1, 1)),
    "namespace": lambda *_: _raw(272 if x86 else 97, 0x10000000),
    "sibling": lambda *_: _sibling(),
    "ring": lambda *_: _raw(425, 1, 0),
    "rules of Landlock": lambda *_: _raw(444, 0, 0, 1),
    "memory file": lambda *_: os.memfd_create("x"),
    "more files": lambda *_: [os.open("/dev/null", os.O_RDONLY) for _ in range(100)],
    "root": lambda *_: os.setuid(0),
    "old numbers": lambda *_: _raw(0x40000000 + 41, 2, 1, 0),
}


def _owned(call: Callable[[int], object]) -> None:
    """Make a call on a pipe of our own."""
    ours, other = os.pipe()
    try:
        call(ours)
    finally:
        os.close(ours)
        os.close(other)


def _cut(path: str, flags: int) -> None:
    os.close(os.open(f"{path}/kept", flags | os.O_TRUNC))


def _room() -> None:
    """Take room on the disk that the size of a file does not tell."""
    file = os.open("new", os.O_CREAT | os.O_RDWR, 0o600)
    if libc.fallocate(file, 1, ctypes.c_long(0), ctypes.c_long(1 << 20)) < 0:
        raise OSError(ctypes.get_errno(), "refused")


# Refused by the filter of calls alone, whatever Landlock of this kernel knows.
FILTERED: dict[str, Callable[[str, int], object]] = {
    "cut by name": lambda path, _: os.truncate(f"{path}/kept", 0),
    "cut while reading": lambda path, _: _cut(path, os.O_RDONLY),
    "cut without opening": lambda path, _: _cut(path, os.O_ACCMODE),
    "folder": lambda *_: os.mkdir("new"),
    "link": lambda *_: os.symlink("/", "new"),
    "second name": lambda path, _: os.link(f"{path}/kept", "new"),
    "pipe with a name": lambda *_: os.mkfifo("new"),
    "room beyond a size": lambda *_: _room(),
    "signal from a pipe": lambda _, process: _owned(lambda pipe: fcntl.fcntl(pipe, fcntl.F_SETOWN, process)),
    "signal from a pipe to a thread": lambda _, process: _owned(
        lambda pipe: fcntl.fcntl(pipe, 15, struct.pack("ii", 0, process))  # F_SETOWN_EX
    ),
    "signal from a device": lambda _, process: _owned(
        lambda pipe: fcntl.ioctl(pipe, 0x8901, struct.pack("i", process))  # FIOSETOWN
    ),
    "signal from a folder": lambda *_: fcntl.fcntl(os.open("/usr/lib", os.O_RDONLY), fcntl.F_NOTIFY, 1),
    "flags of a file": lambda *_: _owned(
        lambda pipe: fcntl.ioctl(pipe, 0x40086602, bytes(8))
    ),  # FS_IOC_SETFLAGS
    "lock": lambda *_: _owned(lambda pipe: fcntl.flock(pipe, fcntl.LOCK_EX)),
    "semaphore": lambda *_: _raw(65 if x86 else 193, 0, 0, 0),
    "message": lambda *_: _raw(69 if x86 else 189, 0, 0, 0, 0),
    "outlive the parent": lambda *_: _raw(157 if x86 else 167, 1, 0, 0, 0, 0),  # PR_SET_PDEATHSIG
    "list of mounts": lambda *_: _raw(458, 0, 0, 0, 0),
}
WRITES = ("write", "overwrite", "delete", "rename")  # of ATTEMPTS


def filtered(how: str, path: str, process: int) -> Answer:
    """As `attempt` has it, of those in FILTERED."""
    try:
        FILTERED[how](path, process)
    except OSError as error:
        return {"errno": error.errno}, b""
    return {"errno": 0}, b""


def hang() -> Answer:
    while True:
        time.sleep(60)


def spin() -> Answer:
    while True:
        pass


def eat() -> Answer:
    return {"size": len(bytearray(4 << 30))}, b""


def flood() -> Answer:
    return {}, bytes(8 << 20)


def crash() -> Answer:
    os.abort()


def fail() -> Answer:
    raise KeyError("secret")


def refuse() -> Answer:
    raise Refused("has a reason.")


def nest() -> Answer:
    told: dict[str, Any] = {}
    for _ in range(400):
        told = {"": told}
    return told, b""


def lie(answer: str) -> Answer:
    """Write something else than an answer, as code that has taken over the process would."""
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, bytes.fromhex(answer))
        except OSError:
            continue
    os._exit(0)


def echo(*blobs: bytes, word: str = "") -> Answer:
    return {"word": word, "sizes": [len(blob) for blob in blobs]}, b"".join(blobs)


def held() -> Answer:
    """What the process has of others: descriptors and variables."""
    there = []
    for descriptor in range(256):
        try:
            os.fstat(descriptor)
        except OSError:
            continue
        there.append(descriptor)
    return {"open": there, "variables": sorted(key for key, _ in _variables()), "user": os.getuid()}, b""


def garbage() -> Answer:
    """Whether garbage is collected, and how many objects the next collection looks at or leaves alone."""
    return {
        "collects": gc.isenabled(),
        "looks_at": len(gc.get_objects()),
        "leaves": gc.get_freeze_count(),
    }, b""


def _variables() -> list[tuple[str, str]]:
    return list(os.environ.items())


def scratch(name: str) -> Answer:
    """A file in the working folder, and whether the folder was empty before."""
    before = os.listdir(".")
    Path(name).write_bytes(b"kept")
    return {"before": before, "folder": os.getcwd()}, Path(name).read_bytes()


def given(files: list[int]) -> Answer:
    """What is in a file that was passed open, and whether it can be written to."""
    found = os.read(files[0], 100)
    try:
        os.write(files[0], b"x")
    except OSError as error:
        return {"errno": error.errno}, found
    return {"errno": 0}, found


def unlock(files: list[int]) -> Answer:
    """The error numbers for giving up the caller's lock on a file, and for changing how the caller writes to it."""
    free = struct.pack("@hhqqi", fcntl.F_UNLCK, os.SEEK_SET, 0, 0, 0)
    return {
        "errno": [_number(files[0], fcntl.F_OFD_SETLK, free), _number(files[0], fcntl.F_SETFL, os.O_APPEND)]
    }, b""


def _number(file: int, command: int, value: int | bytes) -> int:
    try:
        fcntl.fcntl(file, command, value)
    except OSError as error:
        return error.errno or 0
    return 0


def fill() -> Answer:
    """Files of a megabyte each, without end."""
    for number in range(100_000):
        Path(str(number)).write_bytes(bytes(1 << 20))
    return {}, b""


def unname(how: str) -> Answer:
    """Try to have a file of the scratch folder that has no name there."""
    Path("held").write_bytes(b"held")
    Path("other").write_bytes(b"other")
    attempts: dict[str, Callable[[], object]] = {
        "remove": lambda: os.unlink("held"),
        "rename": lambda: os.rename("other", "held"),
        "remove a folder": lambda: os.rmdir("."),
        "make none": lambda: os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600),
    }
    try:
        attempts[how]()
    except OSError as error:
        return {"errno": error.errno, "there": sorted(os.listdir("."))}, b""
    return {"errno": 0, "there": sorted(os.listdir("."))}, b""


def litter() -> Answer:
    """Files with nothing in them, fewer than take up the room there is."""
    for number in range(60_000):
        Path(str(number)).touch()
    return {}, b""


def dig() -> Answer:
    """Folders in folders, deeper than a recursion goes."""
    depth = 0
    try:
        while depth < 2_000:
            os.mkdir("d")
            os.chdir("d")
            depth += 1
    except OSError:
        pass
    return {"depth": depth}, b""


def start(program: str, *words: str) -> Answer:
    done = subprocess.run([program, *words], capture_output=True, check=False)
    return {"status": done.returncode}, done.stdout


def start_and_hang(program: str) -> Answer:
    subprocess.Popen([program, "-c", "while :; do :; done"])
    return hang()


def nice() -> Answer:
    return {"nice": os.getpriority(os.PRIO_PROCESS, 0)}, b""


TASKS = {
    one.__name__: one
    for one in (
        attempt, hang, spin, eat, flood, crash, fail, refuse, nest, lie, echo, held, scratch, given, start,
        start_and_hang, filtered, unlock, fill, unname, litter, dig, garbage, nice,
    )
}  # fmt: skip
