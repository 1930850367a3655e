"""One person at the keyboard: writes, clicks, fills in, commands. Tests and the page drive the same code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workspace import events, modals, payloads, posting, values
from workspace.composer import commanded, composed
from workspace.delivery import Answer
from workspace.errors import NotPossible, SlackError
from workspace.gesture import action_of
from workspace.parts import Parts
from workspace.state import Channel, Message, Values, View

Given = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Outcome:
    """What became of it. `error` is the sentence that the person sees, empty when all went well.
    `answer` is the app's own, None when nothing was sent to it. `fields` are the errors shown in a form."""

    ok: bool
    error: str = ""
    answer: Answer | None = None
    fields: Mapping[str, str] = field(default_factory=dict)


class Person:
    """`ws.as_("U_ANN")`."""

    def __init__(self, parts: Parts, user: str) -> None:
        self._parts, self._state, self.id = parts, parts.state, user
        self.name = parts.state.people[user].name

    def __repr__(self) -> str:
        return f"<Person {self.id}>"

    # -- messages ---------------------------------------------------------------------------------------

    async def say(self, channel: str, text: str, thread_ts: str | None = None) -> Message:
        """Writes in a channel, in a thread of it, or to the app (`ann.im`). Raises NotPossible."""
        place = self._place(channel)
        if text.startswith("/"):
            raise NotPossible(f"{text.split()[0]} is a command; {self._why_no_command(thread_ts)}")
        if not text.strip():
            raise NotPossible("Write something first.")
        if thread_ts is not None:
            thread_ts = self._root(channel, thread_ts)
        bot = self._state.app.bot_user
        said, blocks = composed(self._state, text, self._parts.rules.autolink)
        message = Message(channel, self._state.next_ts(), self.id, said, thread_ts, blocks)
        self._state.add(message)
        if f"<@{bot}>" in said and bot not in place.members:
            self._state.warn(self.id, f"{self._state.app.name} is not in this channel.")
        events.posted(self._parts, message)
        return message

    def _root(self, channel: str, ts: str) -> str:
        parent = self._state.message(channel, ts)
        if parent is None or parent.visible_to is not None:
            raise NotPossible("This message is gone; there is no thread to reply in.")
        return parent.thread_ts or parent.ts

    async def edit(self, message: Message, text: str) -> None:
        """Changes one's own message. The app hears of it as message_changed."""
        self._own(message)
        before = payloads.message_json(self._state, message)
        message.text, message.blocks = composed(self._state, text, self._parts.rules.autolink)
        message.edited = True
        self._state.changed()
        events.changed(self._parts, message, before)

    async def delete(self, message: Message) -> None:
        self._own(message)
        posting.delete(self._parts, message)

    def _own(self, message: Message) -> None:
        if message.user != self.id:
            raise NotPossible("Only your own messages can be changed.")

    @property
    def im(self) -> str:
        """The channel of this person's direct messages with the app."""
        channel = self._state.im_of(self.id)
        if channel is None:
            raise NotPossible(f"{self.name} cannot write to the app directly.")
        return channel.id

    def sees(self, channel: str) -> list[Message]:
        """The messages this person sees there, oldest first."""
        return list(self._state.visible(channel, self.id))

    # -- buttons and menus ------------------------------------------------------------------------------

    async def click(
        self, target: Message | View | str, action_id: str, block_id: str | None = None, **given: Any
    ) -> Outcome:
        """Uses a button, menu or input of a message (or its ts), a modal or App Home.

        Given beside it: `choose="value"` picks an option (a list of them in checkboxes), `state` fills
        other fields first, and Slack's own names (`selected_option=…`, `value=…`) are taken as they are.
        """
        surface = self._surface(target)
        found = values.find(surface.blocks or [], action_id, block_id)
        if found is None:
            raise NotPossible(f"There is no {action_id} to use here any more.")
        block, element = found
        if block["type"] == "input" and not block.get("dispatch_action"):
            raise NotPossible("This field travels with the form, not by itself.")
        typed = surface.values if isinstance(surface, View) else surface.values_of(self.id)
        values.fill(typed, given.pop("state", None) or {})
        action = {**action_of(block, element, given), "action_ts": self._state.next_ts()}
        self._remember(typed, block, element, action)
        if isinstance(surface, View):
            payload = payloads.view_click(self._parts, self.id, surface, action)
        else:
            payload = payloads.message_click(self._parts, self.id, surface, action)
        return self._outcome(await self._parts.delivery.ask("interactive", payload))

    def _surface(self, target: Message | View | str) -> Message | View:
        if isinstance(target, str):
            target = self._state.message_at(target) or self._view(target)
        if isinstance(target, View):
            return self._view(target.id)
        alive = self._state.message(target.channel, target.ts)
        if alive is None or not self._state.may_see(alive, self.id):
            raise NotPossible("This message is gone.")
        return alive

    def _view(self, view_id: str | None) -> View:
        view = self.home if view_id == "home" else self._state.view(view_id) if view_id else self.modal
        if view is None or view.user != self.id:
            raise NotPossible("This window is closed.")
        return view

    def _remember(self, typed: Values, block: Any, element: Any, action: dict[str, Any]) -> None:
        if element["type"] in values.FIELDS:
            values.fill(typed, {block["block_id"]: {element["action_id"]: action}})
            self._state.changed()

    # -- modals and home --------------------------------------------------------------------------------

    @property
    def modal(self) -> View | None:
        """The window on top of this person's screen."""
        return self._state.top(self.id)

    @property
    def home(self) -> View | None:
        return self._state.homes.get(self.id)

    async def submit(self, view: View | str | None = None, given: Given | None = None) -> Outcome:
        """Fills the form in and presses its submit. Field errors appear in `view.errors`, and in the outcome."""
        shown = self._view(view.id if isinstance(view, View) else view)
        values.fill(shown.values, given or {})
        if shown.busy:
            raise NotPossible("This is being submitted already.")
        shown.errors = values.complaints(shown.blocks, shown.values)
        if shown.errors:
            self._state.changed()
            return _with_errors(shown, None)
        payload = payloads.submission(self._parts, self.id, shown)
        shown.busy = True
        self._state.changed()
        try:
            answer = await self._parts.delivery.ask("interactive", payload)
        finally:
            shown.busy = False
        outcome = self._outcome(answer)
        return self._apply(shown, outcome) if outcome.ok else outcome

    def _apply(self, view: View, outcome: Outcome) -> Outcome:
        """Lets the app's answer act on the window."""
        try:
            modals.submitted(self._parts, view, outcome.answer.body if outcome.answer else None)
        except SlackError as refusal:
            return self._failed(
                f"{self._state.app.name} answered something Slack refuses ({refusal}).", outcome.answer
            )
        if view.errors:
            return _with_errors(view, outcome.answer)
        return outcome

    async def close(self, view: View | str | None = None, all_of_them: bool = False) -> Outcome:
        """Closes a window, or the whole stack. The app hears of it where it asked to."""
        shown = self._view(view.id if isinstance(view, View) else view)
        stack = self._state.stacks[self.id]
        gone = list(stack) if all_of_them or shown.body.get("clear_on_close") else [shown]
        self._state.stacks[self.id] = [v for v in stack if v not in gone]
        self._state.changed()
        outcome = Outcome(True)
        for each in (v for v in gone if v.body.get("notify_on_close")):
            payload = payloads.closing(self._parts, self.id, each, cleared=len(gone) > 1)
            answer = await self._parts.delivery.ask("interactive", payload)
            outcome = Outcome(True, answer=answer)
        return outcome

    async def open_home(self) -> None:
        """Opens the App Home tab."""
        _ = self.im
        events.home_opened(self._parts, self.id)

    # -- the rest ---------------------------------------------------------------------------------------

    async def command(
        self, command: str, text: str = "", channel: str | None = None, thread_ts: str | None = None
    ) -> Outcome:
        """Uses a slash command, in a channel or (the default) in the direct messages."""
        place = self._place(channel or self.im)
        if thread_ts is not None:
            raise NotPossible(f"{command} is not supported in threads. Sorry!")
        if command not in {c.command for c in self._parts.installed.commands}:
            raise NotPossible(f"{command} is not a valid command.")
        said = commanded(self._state, text)
        payload = payloads.slash(self._parts, self.id, place.id, command, said)
        answer = await self._parts.delivery.ask("slash_commands", payload)
        if not answer.ok:
            return self._failed(f"{command} failed because {self._state.app.name} did not respond.", answer)
        return self._answered(command, place, answer)

    def _answered(self, command: str, place: Channel, answer: Answer) -> Outcome:
        said = {"text": answer.body} if isinstance(answer.body, str) else answer.body
        if said and (said.get("text") or said.get("blocks")):
            try:
                posting.answer(self._parts, command, said, self.id, place)
            except SlackError as refusal:
                return self._failed(f"{command} failed with the error {refusal}.", answer)
        return Outcome(True, answer=answer)

    async def stop(self, channel: str, thread_ts: str | None) -> None:
        """Presses the native Stop, which is there only while the session's status is processing."""
        self._place(channel)
        if self._state.statuses.get((channel, thread_ts)) != "processing":
            raise NotPossible("Nothing is running here.")
        events.session_stopped(self._parts, self.id, channel, thread_ts)

    def _place(self, channel_id: str) -> Channel:
        channel = self._state.channels.get(channel_id)
        if self._state.people[self.id].kind == "deleted":
            raise NotPossible(f"{self.name}'s account is deactivated.")
        if channel is None or self.id not in channel.members:
            raise NotPossible("You are not in this channel.")
        return channel

    def _why_no_command(self, thread_ts: str | None) -> str:
        return "it does not work in threads." if thread_ts else "use the command, not a message."

    def _outcome(self, answer: Answer) -> Outcome:
        if answer.ok:
            return Outcome(True, answer=answer)
        return self._failed(f"{self._state.app.name} did not respond.", answer)

    def _failed(self, sentence: str, answer: Answer | None) -> Outcome:
        self._state.warn(self.id, sentence)
        return Outcome(False, sentence, answer)


def _with_errors(view: View, answer: Answer | None) -> Outcome:
    return Outcome(False, "; ".join(view.errors.values()), answer, view.errors)
