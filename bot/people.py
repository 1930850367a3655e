"""Who is who: Slack's answers about accounts and user groups, kept for as long as they may be believed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, Protocol

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from gate.action import Person
from gate.world import Unavailable

log = logging.getLogger(__name__)

KEPT = 24 * 3600.0  # seconds for which a click may lean on what is known; the effect asks again
MOST = 10_000  # accounts in memory
UNKNOWN = ("user_not_found", "user_not_visible", "users_not_found")


class Store(Protocol):
    """What was learnt, for the other replicas and for after a restart."""

    async def get(self, team: str, user: str, seconds: float) -> Person | None: ...
    async def put(self, person: Person) -> None: ...


class SlackPeople:
    """Implements gate.world.People. `groups` are the user groups that the policy names."""

    def __init__(
        self,
        client: AsyncWebClient,
        store: Store,
        groups: frozenset[str],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._store = store
        self._groups = groups
        self._monotonic = monotonic
        self._known: dict[tuple[str, str], tuple[float, Person]] = {}
        self._members: tuple[float, dict[str, frozenset[str]]] | None = None
        self._asking: dict[tuple[str, str], asyncio.Task[Person | None]] = {}

    async def known(self, team: str, user: str) -> Person | None:
        """What memory or the store has, without asking Slack."""
        return self._recent(team, user, KEPT) or await self._store.get(team, user, KEPT)

    async def fresh(self, team: str, user: str, seconds: float = 60) -> Person | None:
        """No older than `seconds`. None when Slack knows no such account; raises Unavailable when it is silent."""
        recent = self._recent(team, user, seconds)
        if recent:
            return recent
        task = self._asking.get((team, user))
        if task is None:  # several runs about one person ask once
            task = asyncio.create_task(self._ask(team, user, seconds))
            self._asking[team, user] = task
            task.add_done_callback(lambda _: self._asking.pop((team, user), None))
        return await asyncio.shield(task)

    def _recent(self, team: str, user: str, seconds: float) -> Person | None:
        at, person = self._known.get((team, user), (0.0, None))
        return person if person and self._monotonic() - at <= seconds else None

    async def _ask(self, team: str, user: str, seconds: float) -> Person | None:
        try:
            response = await self._client.users_info(user=user)
            groups = await self._groups_of(user, seconds)
        except SlackApiError as error:
            if error.response.get("error") in UNKNOWN:
                return None
            raise Unavailable(f"Slack does not say who {user} is: {error.response.get('error')}") from error
        except Exception as error:
            raise Unavailable(f"Slack does not say who {user} is: {type(error).__name__}") from error
        person = person_of(team, response["user"], groups)
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[team, user] = (self._monotonic(), person)
        await self._store.put(person)
        return person

    async def _groups_of(self, user: str, seconds: float) -> frozenset[str]:
        if not self._groups:
            return frozenset()
        if self._members is None or self._monotonic() - self._members[0] > seconds:
            found = {group: await self._list(group) for group in sorted(self._groups)}
            self._members = (self._monotonic(), found)
        return frozenset(group for group, members in self._members[1].items() if user in members)

    async def _list(self, group: str) -> frozenset[str]:
        response = await self._client.usergroups_users_list(usergroup=group)
        return frozenset(response["users"])


def person_of(team: str, user: dict[str, Any], groups: frozenset[str]) -> Person:
    """Slack's user object as a Person who acts in `team`."""
    profile = user.get("profile") or {}
    home = "" if user.get("is_stranger") else str(user.get("team_id") or "")
    return Person(
        team=team,
        id=str(user["id"]),
        name=str(profile.get("display_name") or user.get("real_name") or user.get("name") or ""),
        home=home,
        is_bot=bool(user.get("is_bot") or user.get("is_workflow_bot")),
        is_guest=bool(user.get("is_restricted") or user.get("is_ultra_restricted")),
        is_deleted=bool(user.get("deleted")),
        groups=groups,
    )
