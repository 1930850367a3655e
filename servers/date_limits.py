"""Moments that others wrote, kept to those that have a date in every time zone."""

from __future__ import annotations

from datetime import UTC, datetime

FIRST, LAST = datetime(1, 1, 3, tzinfo=UTC), datetime(9999, 12, 29, tzinfo=UTC)


def in_utc(moment: datetime) -> datetime:
    """The moment in UTC; beyond the years 1 to 9999, and within a day or two of their ends, the nearest one that has a
    date in every zone."""
    try:
        return min(max(moment.astimezone(UTC), FIRST), LAST)
    except OverflowError:
        return nearest(moment.year - LAST.year // 2)


def nearest(side: float) -> datetime:
    """The first of them for what is far before them, the last for what is far behind."""
    return LAST if side > 0 else FIRST
