"""Who decides besides, or instead of, whoever asks, and what rules that name people come to together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Named:
    """The people and user groups that one rule names."""

    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()

    def includes(self, user: str, groups: frozenset[str]) -> bool:
        """Whether it names this person, who is in these groups."""
        return user in self.users or bool(self.groups & groups)

    def is_within(self, other: Named) -> bool:
        """Whether the other names everybody whom this one names."""
        return self.users <= other.users and self.groups <= other.groups


@dataclass(frozen=True, slots=True)
class Approvers:
    """Who may decide besides, or instead of, the requester: people whom this names, and each of `also` as well."""

    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    needed: int = 1  # distinct people; with named approvers the requester never counts
    also: tuple[Named, ...] = ()

    @property
    def named(self) -> bool:
        return bool(self.users or self.groups)

    @property
    def lists(self) -> tuple[Named, ...]:
        """Those each of which names whoever decides."""
        return (Named(self.users, self.groups), *self.also)

    @property
    def are_too_few(self) -> bool:
        """Whether so many people as are needed cannot be in each of its lists, as far as these name people alone."""
        of_people = [one.users for one in self.lists if not one.groups]
        return self.named and bool(of_people) and len(frozenset.intersection(*of_people)) < self.needed


def combined(some: Sequence[Approvers]) -> Approvers:
    """What several rules want together: whoever decides is named by each of them, and the highest number counts. A list
    of which another one names a part alone adds nothing."""
    lists = list(dict.fromkeys(part for one in some if one.named for part in one.lists))
    strict = [one for one in lists if not any(other != one and other.is_within(one) for other in lists)]
    first, *others = strict or [Named()]
    return Approvers(first.users, first.groups, max((one.needed for one in some), default=1), tuple(others))
