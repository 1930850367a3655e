"""Weekdays as people say them, from every day of a week, in the zone where the day begins."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from servers.days import WEEKDAYS, Days

MONDAY = date(2026, 11, 23)
WEEK = [MONDAY + timedelta(days=n) for n in range(7)]


def days(now: datetime, zone: str = "Europe/Berlin") -> Days:
    return Days(lambda: now, ZoneInfo(zone))


def noon(day: date) -> Days:
    return days(datetime(day.year, day.month, day.day, 12, tzinfo=UTC))


@pytest.mark.parametrize("today", WEEK, ids=WEEKDAYS)
@pytest.mark.parametrize("name", WEEKDAYS)
def test_a_weekday_is_the_next_such_day_after_today(today: date, name: str) -> None:
    for said in (name, name[:3], f"on {name}", name[:3].upper()):
        found = noon(today).day(said)
        assert found
        assert found.weekday() == WEEKDAYS.index(name)
        assert 1 <= (found - today).days <= 7


@pytest.mark.parametrize("said", ["end of month", "end of the month", "the end of this month"])
def test_the_end_of_the_month_is_its_last_day(said: str) -> None:
    for today, last in (
        ("2028-02-01", "2028-02-29"),
        ("2026-12-31", "2026-12-31"),
        ("2027-02-28", "2027-02-28"),
    ):
        assert noon(date.fromisoformat(today)).day(said) == date.fromisoformat(last)


@pytest.mark.parametrize("today", WEEK, ids=WEEKDAYS)
@pytest.mark.parametrize("name", WEEKDAYS)
def test_with_next_it_is_the_one_of_the_coming_week(today: date, name: str) -> None:
    for said in (f"next {name}", f"next {name[:3]}", f"on next {name}"):
        assert noon(today).day(said) == MONDAY + timedelta(days=7 + WEEKDAYS.index(name))


def test_the_week_begins_where_the_day_begins() -> None:
    """On Sunday evening in Berlin it is Monday in Auckland, so that its coming week is another one."""
    evening = datetime(2026, 11, 22, 18, tzinfo=UTC)
    assert days(evening).day("next friday") == date(2026, 11, 27)
    assert days(evening, "Pacific/Auckland").day("next friday") == date(2026, 12, 4)
