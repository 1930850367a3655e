"""Owner, group and rights of a file that takes the place of another: never more for anybody than before."""

from __future__ import annotations

import errno
import os
import struct
from contextlib import suppress
from functools import reduce
from operator import and_
from typing import NamedTuple

_ACL = "system.posix_acl_access"
_HEAD, _ENTRY = struct.Struct("<I"), struct.Struct("<HHI")
_OWNER, _USER, _GROUP, _NAMED_GROUP, _MASK, _OTHER = 1, 2, 4, 8, 16, 32
_NONE = {errno.ENODATA, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


class Entry(NamedTuple):
    """Who may do what: a line of a POSIX access list."""

    tag: int
    may: int
    id: int = 0xFFFFFFFF


def keep(file: int, original: int) -> None:
    """Give a new file or folder the owner, group and rights of another; fewer rights where this process cannot."""
    info = os.fstat(original)
    _own(file, info)
    entries = _access_list(original) or _of_mode(info.st_mode)
    if os.fstat(file).st_gid != info.st_gid:
        entries = _with_least(entries, {_NAMED_GROUP})
    if len(entries) > 3:
        if _set(file, entries):
            return
        entries = _with_least(entries, {_USER, _NAMED_GROUP})
    _drop(file)
    os.fchmod(file, _mode(entries))


def _own(file: int, like: os.stat_result) -> None:
    now = os.fstat(file)
    for owner in (like.st_uid, -1):
        if (owner in (now.st_uid, -1)) and now.st_gid == like.st_gid:
            return
        with suppress(OSError):
            return os.fchown(file, owner, like.st_gid)


def _access_list(file: int) -> list[Entry]:
    """What a file says beyond its mode. Empty: nothing."""
    if not hasattr(os, "getxattr"):  # macOS
        return []
    try:
        data = os.getxattr(file, _ACL)
    except OSError as error:
        if error.errno not in _NONE:
            raise
        return []
    return [Entry(*entry) for entry in _ENTRY.iter_unpack(data[_HEAD.size :])]


def _of_mode(mode: int) -> list[Entry]:
    return [Entry(_OWNER, mode >> 6 & 7), Entry(_GROUP, mode >> 3 & 7), Entry(_OTHER, mode & 7)]


def _mode(entries: list[Entry]) -> int:
    may = {entry.tag: entry.may for entry in entries}
    return may[_OWNER] << 6 | (may[_GROUP] & may.get(_MASK, 7)) << 3 | may[_OTHER]


def _with_least(entries: list[Entry], tags: set[int]) -> list[Entry]:
    """The list where the group and all others, who may now be any of those, may do only what each of them might."""
    least = reduce(and_, (entry.may for entry in entries if entry.tag in {_GROUP, _MASK, _OTHER, *tags}))
    return [entry._replace(may=least) if entry.tag in {_GROUP, _OTHER} else entry for entry in entries]


def _set(file: int, entries: list[Entry]) -> bool:
    """Whether the file takes this list."""
    try:
        os.setxattr(file, _ACL, _HEAD.pack(2) + b"".join(_ENTRY.pack(*entry) for entry in entries))
    except OSError:
        return False
    return True


def _drop(file: int) -> None:
    """Take away the list that a new file has from its folder."""
    if hasattr(os, "removexattr"):
        try:
            os.removexattr(file, _ACL)
        except OSError as error:
            if error.errno not in _NONE:
                raise
