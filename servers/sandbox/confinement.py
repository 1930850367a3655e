"""What a process gives up before it looks at a file that others wrote. Nothing of it can be had back."""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
import sysconfig
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from servers.sandbox import kernel

HOME = Path(__file__).parents[2]  # the folder that holds the package `servers`
NOBODY = 65534
NICE = 10  # steps that it goes back behind the bot, which answers people
LARGEST_FILE = 128 << 20  # bytes of one file in the scratch folder
# Of that user, in all bots of the host, where a task may start programs: against a program that forks without end.
MOST_PROCESSES = 128
_SYSTEM = """
/usr/lib /usr/lib64 /usr/share /usr/local/lib /lib /lib64 /etc/ld.so.cache /etc/localtime /etc/mime.types /etc/fonts
/dev/null /dev/zero /dev/urandom
""".split()


@dataclass(frozen=True)
class Rights:
    """What one task may do, in the units of the kernel."""

    seconds: int  # of processor time
    memory: int  # bytes of address space beyond what the process has
    open_files: int
    reads: tuple[str, ...] = ()  # files and folders that it may open for reading
    program: str = ""  # the one program that it may start
    scratch: str = ""  # the one folder that it may write to

    @property
    def folder(self) -> Path | None:
        return Path(self.scratch) if self.scratch else None


def name_of(file: int) -> str:
    """A path that leads to what a descriptor of this process has open."""
    return f"{'/proc/self' if sys.platform.startswith('linux') else '/dev'}/fd/{file}"


def drops_user() -> bool:
    """Whether the process becomes another user, which only root can."""
    return sys.platform.startswith("linux") and os.geteuid() == 0


def has_seccomp() -> bool:
    return sys.platform.startswith("linux") and kernel.known_machine() and kernel.has_seccomp()


def confine(rights: Rights, parent: int) -> None:
    """Confine this process. Raises OSError when the kernel refuses a part that it has: then no task may run.

    `parent`: the process that forked it, with which it dies.
    """
    _first_to_go()
    os.nice(NICE)
    _limit(rights)
    has_landlock = kernel.landlock_version() > 0
    ruleset = (
        kernel.landlock_ruleset(_readable(rights), _programs(rights), rights.folder) if has_landlock else -1
    )
    if drops_user():
        # Libraries may lie below a folder that only root enters. Without Landlock nothing else narrows this right.
        kernel.become(NOBODY, keep_reading=has_landlock)
    if sys.platform.startswith("linux"):
        kernel.die_with_parent(signal.SIGKILL)
        kernel.no_new_privileges()
    if os.getppid() != parent:
        raise ProcessLookupError("the parent is gone")
    if has_landlock:
        kernel.enforce_landlock(ruleset)
    if has_seccomp():
        kernel.filter_calls(_filter(rights))
    tempfile.tempdir = rights.scratch or os.devnull
    gc.freeze()  # or the first collection looks through all that is loaded, and so copies its pages: 0.1 s a task
    gc.enable()


def _filter(rights: Rights) -> bytes:
    # A program that may be started may need to write to /dev/null, which a filter cannot tell from another file.
    return kernel.seccomp_program(bool(rights.program), bool(rights.scratch or rights.program))


def _first_to_go() -> None:
    """Where memory runs out, the kernel ends this process before the bot."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _limit(rights: Rights) -> None:
    wanted = {
        resource.RLIMIT_CPU: rights.seconds,
        resource.RLIMIT_FSIZE: LARGEST_FILE if rights.scratch else 0,
        resource.RLIMIT_NOFILE: rights.open_files,
        resource.RLIMIT_CORE: 0,
    }
    if sys.platform != "darwin":  # macOS has this limit and refuses to set it
        wanted[resource.RLIMIT_AS] = _address_space() + rights.memory
    if not rights.program:
        wanted[resource.RLIMIT_NPROC] = 0
    elif drops_user():  # otherwise the other processes of the person count as well
        wanted[resource.RLIMIT_NPROC] = MOST_PROCESSES
    for kind, most in wanted.items():
        given = resource.getrlimit(kind)[1]
        most = most if given == resource.RLIM_INFINITY else min(most, given)
        resource.setrlimit(kind, (most, most))


def _address_space() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return 512 << 20


def _readable(rights: Rights) -> list[Path]:
    return [*_libraries(), *map(Path, rights.reads)]


@cache
def _libraries() -> tuple[Path, ...]:
    """Where code and its data lie; never the folder of the project itself, which may hold keys and settings."""
    paths = sysconfig.get_paths()
    python = {Path(paths[name]).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    safe = [path for path in python if path not in (HOME, *HOME.parents)]
    return tuple([*safe, HOME / "servers", *map(Path, _SYSTEM)])


def _programs(rights: Rights) -> list[Path]:
    """The program, what it needs beside it, and the loader that the kernel starts it with."""
    if not rights.program:
        return []
    program = Path(rights.program).resolve()
    loaders = [path.resolve() for folder in ("/lib", "/lib64") for path in Path(folder).glob("ld-*.so*")]
    return [program, *loaders]
