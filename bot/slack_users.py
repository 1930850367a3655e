"""Who is who: Slack's answers about accounts and user groups, kept for as long as they may be believed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack_retry import code_of
from gate.rules.action import Person
from gate.rules.policy import Policy
from gate.rules.ports import Unavailable
from storage.slack_users import PeopleStore

log = logging.getLogger(__name__)

KEPT = timedelta(hours=24)  # for which a click may lean on what is known; the effect asks again
REWRITTEN = timedelta(hours=1)  # after which it is written down again though nothing of it has changed
RECENT = 60.0  # seconds for which an answer of Slack needs no look at the record, nor another question
WAIT = 1.0  # seconds that a click waits for Slack to say who somebody new is
MOST = 10_000  # accounts in memory
SLACKBOT = "USLACKBOT"  # in every workspace
NO_GROUP = "no_such_subteam"
UNKNOWN = ("user_not_found", "user_not_visible", "users_not_found")


def utc_now() -> datetime:
    return datetime.now(UTC)


class SlackPeople:
    """Implements gate.rules.ports.People. `groups` are the user groups that the policy names."""

    def __init__(
        self,
        client: AsyncWebClient,
        store: PeopleStore,
        groups: frozenset[str],
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._client = client
        self._store = store
        self._groups = groups
        self._now = now
        self._recent: dict[tuple[str, str], tuple[datetime, Person]] = {}
        self._written: dict[tuple[str, str], tuple[datetime, Person]] = {}
        self._members: dict[str, tuple[datetime, frozenset[str]]] = {}
        self._asking: dict[tuple[str, str], asyncio.Task[Person | None]] = {}

    async def known(self, team: str, user: str) -> Person | None:
        """What Slack said here just now, else what is on record; of somebody new, what Slack says within a second. None
        when nothing is known.

        Raises Unavailable when the record cannot be read.
        """
        if recent := self._said_recently(team, user, RECENT):
            return recent
        kept = await self._store.get(team, user)
        if kept and self._now() - kept.at <= KEPT:
            return kept.person
        try:
            async with asyncio.timeout(WAIT):
                return await self.fresh(team, user)
        except (TimeoutError, Unavailable) as error:
            log.warning("nothing is known of %s yet: %s", user, error)
            return None

    async def fresh(self, team: str, user: str, seconds: float = RECENT) -> Person | None:
        """No older than `seconds`. None when Slack knows no such account; raises Unavailable when it is silent."""
        if recent := self._said_recently(team, user, seconds):
            return recent
        task = self._asking.get((team, user))
        if task is None:  # several runs about one person ask once
            task = asyncio.create_task(self._ask(team, user, seconds))
            self._asking[team, user] = task
            task.add_done_callback(lambda done: self._asked((team, user), done))
        return await asyncio.shield(task)

    def _said_recently(self, team: str, user: str, seconds: float) -> Person | None:
        at, person = self._recent.get((team, user), (None, None))
        return person if at and self._now() - at < timedelta(seconds=seconds) else None

    def _asked(self, who: tuple[str, str], task: asyncio.Task[Person | None]) -> None:
        self._asking.pop(who, None)
        if not task.cancelled():
            task.exception()  # whoever still waits hears of it; that nobody does is no fault

    async def _ask(self, team: str, user: str, seconds: float) -> Person | None:
        asked = self._now()
        try:
            response = await self._client.users_info(user=user)
            groups = await self._groups_of(user, seconds)
            person = person_of(team, response["user"], groups)
        except SlackApiError as error:
            if code_of(error) in UNKNOWN:
                return None
            raise Unavailable(f"Slack does not say who {user} is: {code_of(error)}") from error
        except Exception as error:  # the SDK lets transport and decoding errors of many kinds through
            raise Unavailable(f"Slack does not say who {user} is: {type(error).__name__}") from error
        if len(self._recent) >= MOST:
            self._recent.clear()
            self._written.clear()
        self._recent[team, user] = (asked, person)
        await self._write_down(person, asked)
        return person

    async def _write_down(self, person: Person, asked: datetime) -> None:
        """Put it on record, unless this process has written just this within the last hour. What another process has
        written since is then believed for no longer than any record."""
        at, written = self._written.get((person.team, person.id), (None, None))
        if at is None or written != person or asked - at >= REWRITTEN:
            await self._store.put(person, asked)
            self._written[person.team, person.id] = (asked, person)

    async def _groups_of(self, user: str, seconds: float) -> frozenset[str]:
        return frozenset([g for g in sorted(self._groups) if user in await self._list(g, seconds)])

    async def _list(self, group: str, seconds: float) -> frozenset[str]:
        asked = self._now()
        at, members = self._members.get(group, (None, frozenset[str]()))
        if at is None or asked - at >= timedelta(seconds=seconds):
            members = await self._ask_group(group)
            self._members[group] = (asked, members)
        return members

    async def _ask_group(self, group: str) -> frozenset[str]:
        try:
            response = await self._client.usergroups_users_list(usergroup=group)
        except SlackApiError as error:
            if code_of(error) != NO_GROUP:
                raise
            log.error(
                "the policy names the user group %s, which Slack does not know: it has no members", group
            )
            return frozenset()
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
        is_bot=_is_program(user),
        is_guest=bool(user.get("is_restricted") or user.get("is_ultra_restricted")),
        is_deleted=bool(user.get("deleted")),
        groups=groups,
    )


def _is_program(user: dict[str, Any]) -> bool:
    """Whether nobody stands behind an account. Slackbot is no bot by Slack's own word. `is_app_user` says nothing of
    it: it is true of people who have authorised the app that asks."""
    kinds = ("is_bot", "is_workflow_bot", "is_connector_bot")
    return user["id"] == SLACKBOT or any(user.get(kind) for kind in kinds)


def groups_of(policy: Policy) -> frozenset[str]:
    """Every user group that the policy names."""
    return frozenset().union(*(rule.approvers.groups for rule in policy.rules if rule.approvers))
