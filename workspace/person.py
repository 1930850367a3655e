"""The actions of one person in Slack's client: messages, clicks, forms, commands. Used by tests and by the page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workspace import modals, payloads, posting, streams, values
from workspace.context import Context
from workspace.delivery import AppResponse
from workspace.faults import NotPossible, SlackError
from workspace.state import Channel, Message, State, Values, View

# Bare host names become links. `.md`, `.py` and `.sh` are top-level domains, so a file name may become a link:
# the event then has <http://notes.md|notes.md>.
TOP_LEVEL = "com|org|net|io|dev|app|edu|gov|ai|co|de|uk|info|md|me|py|sh"
CODE = r"(?P<code>```.*?```|`[^`\n]+`)"
MENTION = r"|<@(?P<id>\w+)(?:\|[^<>]*)?>|(?<!\w)@(?P<name>\w+)"
CHANNEL = r"|(?<!\w)#(?P<channel>[\w-]+)"
URL = r"|(?P<url>https?://[^\s<>|]+[^\s<>|.,;:!?)'\"])"
HOST = rf"|(?<![\w@/.\-])(?P<host>(?:[\w-]+\.)+(?:{TOP_LEVEL})(?![\w-])(?:/[^\s<>|]*[\w/])?)"
TOKEN = re.compile(CODE + MENTION + CHANNEL + URL + HOST, re.DOTALL | re.IGNORECASE)
Element = dict[str, Any]
Inputs = Mapping[str, Mapping[str, Any]]


def escape(text: str) -> str:
    """The text with &, < and > escaped, as Slack does."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def compose(state: State, typed: str, autolink: bool = True) -> tuple[str, list[Element]]:
    """The `text` and the `blocks` of a message event for this input.

    `@Ann` and `<@U_ANN>` become mentions if the person exists, `#ops` a channel link; everything else is escaped.
    `autolink`: turn URLs and host names into links.
    """
    text, elements, done = "", [], 0
    for token in TOKEN.finditer(typed):
        found = _entity(state, token, autolink)
        if found is None:
            continue
        plain = typed[done : token.start()]
        text += escape(plain) + found[0]
        elements += [{"type": "text", "text": plain}] if plain else []
        elements.append(found[1])
        done = token.end()
    rest = typed[done:]
    text += escape(rest)
    elements += [{"type": "text", "text": rest}] if rest else []
    section = {"type": "rich_text_section", "elements": elements}
    return text, [{"type": "rich_text", "block_id": state.ids("b"), "elements": [section]}]


def escape_command(state: State, typed: str) -> str:
    """The text of a slash command with `should_escape`: mentions include the name, URLs are not linked."""
    text, done = "", 0
    for token in TOKEN.finditer(typed):
        user = _person(state, token)
        if user is not None:
            name = state.people[user].name.lower()
            text += escape(typed[done : token.start()]) + f"<@{user}|{name}>"
            done = token.end()
    return text + escape(typed[done:])


def _person(state: State, token: re.Match[str]) -> str | None:
    if token["id"]:
        return token["id"] if token["id"] in state.people else None
    name = (token["name"] or "").lower()
    return next((p.id for p in state.people.values() if p.name.lower() == name), None)


def _entity(state: State, token: re.Match[str], autolink: bool) -> tuple[str, Element] | None:
    """The token's text and rich text element, or None for plain text."""
    if token["channel"]:
        found = next(
            (c for c in state.channels.values() if c.name == token["channel"] and not c.im_with), None
        )
        return (f"<#{found.id}|>", {"type": "channel", "channel_id": found.id}) if found else None
    if token["url"] and autolink:
        return f"<{escape(token['url'])}>", {"type": "link", "url": token["url"]}
    if token["host"] and autolink:
        link = {"type": "link", "url": f"http://{token['host']}", "text": token["host"]}
        return f"<http://{escape(token['host'])}|{escape(token['host'])}>", link
    user = _person(state, token)
    return (f"<@{user}>", {"type": "user", "user_id": user}) if user else None


@dataclass(frozen=True)
class Outcome:
    """The result of an action. `error`: the message that the person sees, or "". `response`: the app's, None when
    nothing was delivered. `fields`: the errors shown in a form."""

    ok: bool
    error: str = ""
    response: AppResponse | None = None
    fields: Mapping[str, str] = field(default_factory=dict)


class Person:
    """`ws.as_("U_ANN")`."""

    def __init__(self, context: Context, user: str) -> None:
        self._context, self._state, self.id = context, context.state, user
        self.name = context.state.people[user].name

    def __repr__(self) -> str:
        return f"<Person {self.id}>"

    # -- messages ---------------------------------------------------------------------------------------

    async def say(self, channel: str, text: str, thread_ts: str | None = None) -> Message:
        """Posts in a channel, a thread, or the direct messages with the app (`ann.im`). Raises NotPossible."""
        destination = self._channel(channel)
        if text.startswith("/"):
            raise NotPossible(f"{text.split()[0]} is a command; {self._why_no_command(thread_ts)}")
        if not text.strip():
            raise NotPossible("Write something first.")
        if thread_ts is not None:
            thread_ts = self._root(channel, thread_ts)
        bot = self._state.app.bot_user
        sent, blocks = compose(self._state, text, self._context.options.autolink)
        message = Message(channel, self._state.next_ts(), self.id, sent, thread_ts, blocks)
        self._state.add(message)
        if f"<@{bot}>" in sent and bot not in destination.members:
            self._state.warn(self.id, f"{self._state.app.name} is not in this channel.", channel)
        payloads.message_posted(self._context, message)
        return message

    def _root(self, channel: str, ts: str) -> str:
        parent = self._state.message(channel, ts)
        if parent is None or parent.visible_to is not None:
            raise NotPossible("This message is gone; there is no thread to reply in.")
        return parent.thread_ts or parent.ts

    async def edit(self, message: Message, text: str) -> None:
        """Edits one's own message; the app gets message_changed. Raises NotPossible."""
        self._check_author(message)
        before = payloads.message_json(self._state, message)
        message.text, message.blocks = compose(self._state, text, self._context.options.autolink)
        message.edited = True
        self._state.changed()
        payloads.message_changed(self._context, message, before)

    async def delete(self, message: Message) -> None:
        self._check_author(message)
        posting.delete(self._context, message)

    def _check_author(self, message: Message) -> None:
        if message.user != self.id:
            raise NotPossible("Only your own messages can be changed.")

    @property
    def im(self) -> str:
        """The id of the direct message channel with the app. Raises NotPossible."""
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
        """Uses a button, menu or input of a message (or its ts), a modal or App Home. Raises NotPossible.

        `given`: `choose="value"` picks an option (checkboxes take a list), `state` fills other fields first, and
        Slack's field names (`selected_option=…`, `value=…`) are passed on.
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
        action = {**values.block_action(block, element, given), "action_ts": self._state.next_ts()}
        self._remember(typed, block, element, action)
        if isinstance(surface, View):
            payload = payloads.view_click(self._context, self.id, surface, action)
        else:
            payload = payloads.message_click(self._context, self.id, surface, action)
        response = await self._context.delivery.send_interaction("interactive", payload)
        return self._outcome(response, surface.channel if isinstance(surface, Message) else "")

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
        """The topmost open modal."""
        return self._state.top(self.id)

    @property
    def home(self) -> View | None:
        return self._state.homes.get(self.id)

    async def submit(self, view: View | str | None = None, given: Inputs | None = None) -> Outcome:
        """Fills in the form and submits it. Field errors are in `view.errors` and the outcome. Raises NotPossible."""
        form = self._view(view.id if isinstance(view, View) else view)
        values.fill(form.values, given or {})
        if form.busy:
            raise NotPossible("This is being submitted already.")
        form.errors = values.validation_errors(form.blocks, form.values)
        if form.errors:
            self._state.changed()
            return _with_errors(form, None)
        payload = payloads.view_submission(self._context, self.id, form)
        form.busy = True
        self._state.changed()
        try:
            response = await self._context.delivery.send_interaction("interactive", payload)
        finally:
            form.busy = False
        outcome = self._outcome(response)
        return self._apply(form, outcome) if outcome.ok else outcome

    def _apply(self, view: View, outcome: Outcome) -> Outcome:
        """Applies the app's response to the modal."""
        try:
            modals.apply_response(self._context, view, outcome.response.body if outcome.response else None)
        except SlackError as refusal:
            return self._failed(
                f"{self._state.app.name} answered something Slack refuses ({refusal}).", outcome.response
            )
        if view.errors:
            return _with_errors(view, outcome.response)
        return outcome

    async def close(self, view: View | str | None = None, all_of_them: bool = False) -> Outcome:
        """Closes a modal, or all of them. The app gets view_closed where `notify_on_close` is set."""
        form = self._view(view.id if isinstance(view, View) else view)
        stack = self._state.stacks[self.id]
        closed_views = list(stack) if all_of_them or form.body.get("clear_on_close") else [form]
        self._state.stacks[self.id] = [v for v in stack if v not in closed_views]
        self._state.changed()
        outcome = Outcome(True)
        for each in (v for v in closed_views if v.body.get("notify_on_close")):
            payload = payloads.view_closed(self._context, self.id, each, cleared=len(closed_views) > 1)
            response = await self._context.delivery.send_interaction("interactive", payload)
            outcome = Outcome(True, response=response)
        return outcome

    async def open_home(self) -> None:
        """Opens the App Home tab. Raises NotPossible."""
        _ = self.im  # raises for people without direct messages
        payloads.app_home_opened(self._context, self.id)

    # -- the rest ---------------------------------------------------------------------------------------

    async def command(
        self, command: str, text: str = "", channel: str | None = None, thread_ts: str | None = None
    ) -> Outcome:
        """Uses a slash command in a channel, by default in the direct messages. Raises NotPossible."""
        destination = self._channel(channel or self.im)
        if thread_ts is not None:
            raise NotPossible(f"{command} is not supported in threads. Sorry!")
        if command not in {c.command for c in self._context.installation.commands}:
            raise NotPossible(f"{command} is not a valid command.")
        sent = escape_command(self._state, text)
        payload = payloads.slash_command(self._context, self.id, destination.id, command, sent)
        response = await self._context.delivery.send_interaction("slash_commands", payload)
        if not response.ok:
            return self._failed(
                f"{command} failed because {self._state.app.name} did not respond.", response, destination.id
            )
        return self._answered(command, destination, response)

    def _answered(self, command: str, destination: Channel, response: AppResponse) -> Outcome:
        sent = {"text": response.body} if isinstance(response.body, str) else response.body
        if sent and (sent.get("text") or sent.get("blocks")):
            try:
                posting.respond_to_user(self._context, command, sent, self.id, destination)
            except SlackError as refusal:
                return self._failed(f"{command} failed with the error {refusal}.", response, destination.id)
        return Outcome(True, response=response)

    async def stop(self, channel: str, thread_ts: str | None) -> None:
        """Presses Slack's Stop button: streams end. Raises NotPossible unless the session's status is processing, or
        a message is being streamed."""
        self._channel(channel)
        streaming = streams.open_in(self._context, channel, thread_ts)
        if not streaming and self._state.statuses.get((channel, thread_ts)) != "processing":
            raise NotPossible("Nothing is running here.")
        for message in streaming:
            message.stream = {**(message.stream or {}), "stopped": True}
        self._state.changed()
        stopped = [message.ts for message in streaming]
        payloads.agent_session_stopped(self._context, self.id, channel, thread_ts, stopped)

    def _channel(self, channel_id: str) -> Channel:
        channel = self._state.channels.get(channel_id)
        if self._state.people[self.id].kind == "deleted":
            raise NotPossible(f"{self.name}'s account is deactivated.")
        if channel is None or self.id not in channel.members:
            raise NotPossible("You are not in this channel.")
        return channel

    def _why_no_command(self, thread_ts: str | None) -> str:
        return "it does not work in threads." if thread_ts else "use the command, not a message."

    def _outcome(self, response: AppResponse, channel: str = "") -> Outcome:
        if response.ok:
            return Outcome(True, response=response)
        return self._failed(f"{self._state.app.name} did not respond.", response, channel)

    def _failed(self, message: str, response: AppResponse | None, channel: str = "") -> Outcome:
        self._state.warn(self.id, message, channel)
        return Outcome(False, message, response)


def _with_errors(view: View, response: AppResponse | None) -> Outcome:
    return Outcome(False, "; ".join(view.errors.values()), response, view.errors)
