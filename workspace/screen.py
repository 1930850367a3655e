"""What one person sees: the answer of /ui/state."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from workspace.parts import Parts
from workspace.person import Person
from workspace.state import Message, State, View

Json = dict[str, Any]


def screen(parts: Parts, person: Person) -> Json:
    """Everything the page draws for this person."""
    state = parts.state
    mine = [c for c in state.channels.values() if c.im_with in (None, person.id)]
    seen = [c for c in mine if not c.private or person.id in c.members]
    people = [{"id": p.id, "name": p.name, "kind": p.kind} for p in state.people.values()]
    rooms = [
        {
            "id": c.id,
            "name": state.app.name if c.im_with else c.name,
            "is_im": c.type == "im",
            "is_private": c.private,
            "member": person.id in c.members,
        }
        for c in seen
    ]
    return {
        "me": {"id": person.id, "name": person.name},
        "people": people,
        "bot": {"id": state.app.bot_user, "name": state.app.name},
        "channels": rooms,
        "usergroups": [asdict(g) for g in state.usergroups.values()],
        "messages": {
            c.id: [_message(state, m, person.id) for m in state.visible(c.id, person.id)] for c in seen
        },
        "statuses": [
            {"channel": channel, "thread_ts": thread_ts, "status": status}
            for (channel, thread_ts), status in state.statuses.items()
            if person.id in state.channels[channel].members
        ],
        "modal": _modal(person.modal),
        "home": person.home.blocks if person.home else None,
        "home_id": person.home.id if person.home else None,
        "warnings": [asdict(w) for w in state.warnings[person.id][-10:]],
        "commands": [asdict(c) for c in parts.installed.commands],
        "connected": bool(parts.delivery.transport.receivers()),
        "rev": state.rev,
    }


def _message(state: State, message: Message, reader: str) -> Json:
    mine = message.user == state.app.bot_user
    return {
        "ts": message.ts,
        "thread_ts": message.thread_ts,
        "user": message.user,
        "name": state.people[message.user].name,
        "is_bot": state.people[message.user].kind == "bot",
        "text": message.text,
        # What people write is drawn from its text; blocks are the app's.
        "blocks": message.blocks if mine else None,
        "values": message.values_of(reader),
        "ephemeral": message.visible_to is not None,
        "edited": message.edited,
        "reactions": message.reactions,
        "reply_count": len(state.replies(message)),
    }


def _modal(view: View | None) -> Json | None:
    if view is None:
        return None
    return {
        "id": view.id,
        "title": view.body["title"]["text"],
        "submit": view.body.get("submit", {}).get("text"),
        "close": view.body.get("close", {}).get("text"),
        "callback_id": view.body.get("callback_id"),
        "blocks": view.blocks,
        "values": view.values,
        "errors": view.errors,
        "busy": view.busy,
    }
