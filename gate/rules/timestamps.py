"""Slack's timestamps, `1700000000.000100`: which of two messages came later."""

from __future__ import annotations


def is_later(one: str, other: str) -> bool:
    """Whether `one` came after `other`. Compared as the decimal numbers they are: floats lose their last digits."""
    return _parts(one) > _parts(other)


def _parts(ts: str) -> tuple[int, str]:
    seconds, _, rest = ts.partition(".")
    return (int(seconds) if seconds.isdigit() else 0), rest.ljust(6, "0")
