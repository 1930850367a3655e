"""What the kernel refuses a process: calls of it with ctypes, Landlock rules and seccomp filters."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import stat
import struct
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)

_DEATH_SIGNAL, _GET_SECCOMP, _SET_SECCOMP, _KEEP_CAPABILITIES, _NO_NEW_PRIVILEGES = 1, 21, 22, 8, 38
_CHILD_SUBREAPER = 36
_CAPABILITY_VERSION = 0x20080522
_DAC_READ_SEARCH = 2  # CAP_DAC_READ_SEARCH: read what the permission bits of files would refuse


def checked(result: int) -> int:
    """The result of a call. Raises OSError when it says that it failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(result)


def prctl(option: int, *values: int | ctypes.Array[ctypes.c_char]) -> int:
    wide = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in values]
    return int(libc.prctl(option, *wide, *[ctypes.c_ulong(0)] * (4 - len(wide))))


def die_with_parent(signal: int) -> None:
    """Send this process a signal when the thread that forked it ends. A change of user takes this back."""
    checked(prctl(_DEATH_SIGNAL, signal))


def adopt_orphans() -> None:
    """Become the parent of what a process below this one leaves behind, instead of the first process of the host."""
    checked(prctl(_CHILD_SUBREAPER, 1))


def no_new_privileges() -> None:
    checked(prctl(_NO_NEW_PRIVILEGES, 1))


def has_seccomp() -> bool:
    return prctl(_GET_SECCOMP) >= 0


def filter_calls(program: bytes) -> None:
    """Put a seccomp filter in force: `program` is classic BPF, eight bytes an instruction."""
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    checked(prctl(_SET_SECCOMP, 2, ctypes.create_string_buffer(head, len(head))))


def become(user: int, keep_reading: bool) -> None:
    """Become another user without any capability, but for reading files where `keep_reading` says so."""
    checked(prctl(_KEEP_CAPABILITIES, int(keep_reading)))
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    kept = 1 << _DAC_READ_SEARCH if keep_reading else 0
    head = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    sets = struct.pack("=6I", kept, kept, 0, 0, 0, 0)
    checked(libc.capset(ctypes.c_char_p(head), ctypes.c_char_p(sets)))


_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on every architecture
_VERSION = 1
_BELOW_A_PATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
TRUNCATE, IOCTL = 1 << 14, 1 << 15
_OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL
_MAKE_FILE = 1 << 8
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}  # that a version knows
_RIGHTS_SINCE_5 = (1 << 16) - 1
_TCP = 3  # to bind and to connect, since version 4
_SCOPES = 3  # signals and abstract sockets of processes outside, since version 6
READ = READ_FILE | READ_DIR
# No folder, link, pipe or device: whoever clears the scratch folder away has one level of plain files before it.
# Nothing is removed or renamed: a file without a name could be held open, or mapped, and would not be counted.
SCRATCH = READ | WRITE_FILE | TRUNCATE | _MAKE_FILE


def landlock_version() -> int:
    """The version of the kernel's interface; 0 where there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, int(libc.syscall(_CREATE, None, 0, _VERSION)))


def landlock_ruleset(reads: Iterable[Path], programs: Iterable[Path], scratch: Path | None) -> int:
    """A ruleset as an open descriptor, for `enforce`. Paths that are not there are left out."""
    known = landlock_version()
    rights = _RIGHTS.get(known, _RIGHTS_SINCE_5)
    size = 8 if known < 4 else 16 if known < 6 else 24
    attributes = struct.pack("=QQQ", rights, _TCP, _SCOPES)[:size]
    ruleset = checked(libc.syscall(_CREATE, ctypes.c_char_p(attributes), size, 0))
    for path in reads:
        _allow(ruleset, path, READ)
    for path in programs:
        _allow(ruleset, path, READ | EXECUTE)
    if scratch:
        _allow(ruleset, scratch, rights & SCRATCH)
    _allow(ruleset, Path(os.devnull), READ_FILE | WRITE_FILE)
    return ruleset


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _OF_A_FILE
        rule = ctypes.c_char_p(struct.pack("=Qi", rights, place))
        checked(libc.syscall(_ADD, ruleset, _BELOW_A_PATH, rule, 0))
    finally:
        os.close(place)


def enforce_landlock(ruleset: int) -> None:
    """From now on, for this process and all that it starts. Needs no_new_privs."""
    checked(libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)


# Name: number on x86_64 and on aarch64; -1 where there is none.
_ALWAYS = """
socket 41 198, socketpair 53 199, connect 42 203, bind 49 200, listen 50 201, accept 43 202, accept4 288 242,
sendto 44 206, sendmsg 46 211, sendmmsg 307 269,
ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440, kcmp 312 272,
pidfd_open 434 434, pidfd_getfd 438 438, pidfd_send_signal 424 424,
kill 62 129, tkill 200 130, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, setsid 112 157, setpgid 109 154,
setpriority 141 140, sched_setparam 142 118, sched_setscheduler 144 119, sched_setattr 314 274,
sched_setaffinity 203 122, ioprio_set 251 30, migrate_pages 256 238, move_pages 279 239,
chmod 90 -1, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, chown 92 -1, lchown 94 -1, fchown 93 55,
fchownat 260 54, utime 132 -1, utimes 235 -1, futimesat 261 -1, utimensat 280 88,
setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7, setxattrat 463 463,
removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16, removexattrat 466 466,
name_to_handle_at 303 264, open_by_handle_at 304 265, file_setattr 469 469,
fanotify_init 300 262, inotify_add_watch 254 27, quotactl 179 60, quotactl_fd 443 443,
mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, unshare 272 97, setns 308 268, open_tree 428 428,
move_mount 429 429, fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, mount_setattr 442 442,
bpf 321 280, perf_event_open 298 241, userfaultfd 323 282, memfd_create 319 279, memfd_secret 447 447,
io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427,
add_key 248 217, request_key 249 218, keyctl 250 219, syslog 103 116, acct 163 89, swapon 167 224, swapoff 168 225,
reboot 169 142, kexec_load 246 104, kexec_file_load 320 294, init_module 175 105, finit_module 313 273,
landlock_create_ruleset 444 444, landlock_add_rule 445 445, landlock_restrict_self 446 446,
delete_module 176 106, settimeofday 164 170, adjtimex 159 171, clock_settime 227 112, clock_adjtime 305 266,
personality 135 92, iopl 172 -1, ioperm 173 -1, modify_ldt 154 -1,
shmget 29 194, shmat 30 196, shmctl 31 195, semget 64 190, semop 65 193, semtimedop 220 192, semctl 66 191,
msgget 68 186, msgsnd 69 189, msgrcv 70 188, msgctl 71 187, mq_open 240 180, mq_unlink 241 181,
truncate 76 45, mkdir 83 -1, mkdirat 258 34, mknod 133 -1, mknodat 259 33, link 86 -1, linkat 265 37,
symlink 88 -1, symlinkat 266 36, flock 73 32, sync 162 81, syncfs 306 267, vhangup 153 58,
fallocate 285 47,
rename 82 -1, renameat 264 38, renameat2 316 276, unlink 87 -1, unlinkat 263 35, rmdir 84 -1,
process_mrelease 448 448, statmount 457 457, listmount 458 458, open_tree_attr 467 467, listns 470 470
"""
_WITHOUT_SCRATCH = """
creat 85 -1, ftruncate 77 46
"""
_WITHOUT_PROGRAMS = "execve 59 221, execveat 322 281, fork 57 -1, vfork 58 -1, clone 56 220"
_ABSENT = (
    (435, 435),
    (437, 437),
)  # clone3 and openat2: their flags lie in memory, which no filter can look at
_CLONE, _TGKILL, _PRLIMIT, _PRCTL = (56, 220), (234, 131), (302, 261), (157, 167)
_FCNTL, _IOCTL, _OPEN, _OPENAT = (72, 25), (16, 29), (2, -1), (257, 56)
# CLONE_NEWNS, …CGROUP, …UTS, …IPC, …USER, …PID, …NET and …TIME; and CLONE_PARENT, whose process has the fork server as
# its parent, which waits for those alone that it has started.
_NOT_CLONED = 0x7E020080 | 0x8000
# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC, F_GETPIPE_SZ, F_GET_SEALS. The others lock files, change what
# is shared with the caller, or let a signal be sent.
_OF_DESCRIPTORS = (0, 1, 2, 3, 1030, 1032, 1034)
# TCGETS, TCGETS2, TIOCGPGRP, TIOCGWINSZ, FIONREAD, FIONCLEX, FIOCLEX. Many others change a file open for reading only.
_OF_DEVICES = (0x5401, 0x802C542A, 0x540F, 0x5413, 0x541B, 0x5450, 0x5451)
_WITHOUT_NAME = 0x400000  # what O_TMPFILE has besides O_DIRECTORY
_TO_WRITE = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column above, AUDIT_ARCH_…
_X32 = 0x40000000  # numbers from here on are those calls once more, for another ABI

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND, _THIRD = (
    0,
    4,
    16,
    24,
    32,
)  # offsets in struct seccomp_data, little-endian
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000


def known_machine() -> bool:
    return platform.machine() in _MACHINES


def seccomp_program(may_execute: bool, may_write: bool) -> bytes:
    """The filter for this very process, as classic BPF.

    `may_execute`: it may start other programs, too. `may_write`: it may open files for writing.
    """
    column, architecture = _MACHINES[platform.machine()]
    code = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, architecture, 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
        _step(_AT_LEAST, _X32, 0, 1),
        _REFUSE,
    ]
    names = [
        _ALWAYS,
        *([] if may_execute else [_WITHOUT_PROGRAMS]),
        *([] if may_write else [_WITHOUT_SCRATCH]),
    ]
    for number in _numbers(",".join(names), column):
        code += [_step(_EQUAL, number, 0, 1), _REFUSE]
    for absent in _ABSENT:  # the C library then uses clone and openat, whose flags are arguments
        code += [_step(_EQUAL, absent[column], 0, 1), _step(_RETURN, _ERRNO | errno.ENOSYS)]
    code += _when(_CLONE[column], _FIRST, [_step(_ANY_BIT, _NOT_CLONED, 0, 1)])
    code += _when(_TGKILL[column], _FIRST, _only([os.getpid()]))  # abort() signals itself
    code += _when(_PRLIMIT[column], _FIRST, _only([0]))
    code += _when(_PRCTL[column], _FIRST, [_step(_EQUAL, _DEATH_SIGNAL, 0, 1)])
    code += _when(_FCNTL[column], _SECOND, _only(_OF_DESCRIPTORS))
    code += _when(_IOCTL[column], _SECOND, _only(_OF_DEVICES))
    code += _opening(_OPEN[column], _SECOND, may_write) + _opening(_OPENAT[column], _THIRD, may_write)
    return b"".join([*code, _step(_RETURN, _ALLOW)])


def _numbers(calls: str, column: int) -> list[int]:
    found = [int(call.split()[1 + column]) for call in calls.split(",")]
    return [number for number in found if number >= 0]


def _opening(number: int, flags: int, may_write: bool) -> list[bytes]:
    """Refuse flags that write where nothing may be written; always those that cut a file not opened for writing, or
    that make one without a name."""
    if not may_write:
        return _when(number, flags, [_step(_ANY_BIT, _TO_WRITE, 0, 1)])
    neither = [_step(_AND, os.O_ACCMODE), _step(_EQUAL, os.O_ACCMODE, 0, 1)]
    cuts = [_step(_AND, os.O_ACCMODE | os.O_TRUNC), _step(_EQUAL, os.O_TRUNC, 0, 1)]
    nameless = [_step(_ANY_BIT, _WITHOUT_NAME, 0, 1)]
    return [step for tests in (neither, cuts, nameless) for step in _when(number, flags, tests)]


def _when(number: int, argument: int, tests: list[bytes]) -> list[bytes]:
    """For this call alone: refuse it when the tests on the lower half of an argument fall through to their end."""
    if number < 0:
        return []
    skip = _step(_EQUAL, number, 0, len(tests) + 3)
    return [skip, _step(_LOAD, argument), *tests, _REFUSE, _step(_LOAD, _NUMBER)]


def _only(allowed: Sequence[int]) -> list[bytes]:
    """Tests that fall through for every value but these."""
    return [_step(_EQUAL, value, len(allowed) - place, 0) for place, value in enumerate(allowed)]


def _step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)


_REFUSE = _step(_RETURN, _ERRNO | errno.EPERM)
