"""A question that an MCP server asks in the middle of a call (elicitation): its states, its form and its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from gate.rules.action import Action, Json, Person, Session
from gate.rules.permissions import Ruling, Verb, account, may
from gate.rules.policy import Policy
from gate.rules.states import State

MOST_MESSAGE = 2_000  # characters of a server's message that are kept
MOST_FIELDS = 20
MOST_OPTIONS = 100  # of one field
MOST_LABEL = 75  # characters of an option that Slack shows
MOST_NAME = 200
MOST_TEXT = 3_000  # characters that Slack's text input takes
MOST_SCHEMA = 40_000  # characters of names, labels and descriptions in all


class QuestionState(StrEnum):
    WAITING = "waiting"
    ANSWERED = "answered"
    DECLINED = "declined"
    EXPIRED = "expired"


class QuestionEvent(StrEnum):
    ANSWER = "answer"
    DECLINE = "decline"
    EXPIRE = "expire"  # its time is over, its call has ended, or its task was stopped


S, E = QuestionState, QuestionEvent
ARROWS: dict[tuple[QuestionState, QuestionEvent], QuestionState] = {
    (S.WAITING, E.ANSWER): S.ANSWERED,
    (S.WAITING, E.DECLINE): S.DECLINED,
    (S.WAITING, E.EXPIRE): S.EXPIRED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerQuestion:
    """One question of a server to the person in the thread, as it stands in the ledger."""

    id: str
    version: int  # goes up by one with each change
    state: QuestionState
    session: Session
    requester: str
    server: str
    tool: str
    action: str  # id of the action, or of the read, whose call asks
    task: str
    about: str  # what the call does, in words
    is_read: bool  # it runs without anybody's yes, so that its requester answers
    private: bool
    message: str  # the server's words, bounded
    schema: Mapping[str, Json]
    created_at: datetime
    until: datetime
    actor: str = ""  # who answered or declined it
    reason: str = ""  # why it is over without either, as a sentence
    answer: str = ""  # JSON, encrypted in the database, until the call has taken it

    @property
    def button(self) -> str:
        """What its buttons carry."""
        return f"{self.id}.{self.version}.0"


@dataclass(frozen=True, slots=True)
class FormRequest:
    """What a server asks. `url`: it asks to open this address instead of a form."""

    server: str
    message: str
    schema: Mapping[str, Json] = field(default_factory=dict)
    url: str = ""


@dataclass(frozen=True, slots=True)
class FormReply:
    """What the server is told: `accept` with the content, `decline`, or `cancel`; `reason` says why in words."""

    action: str
    content: Mapping[str, Json] | None = None
    reason: str = ""


# Asks the person behind the call at hand; None where nobody can be asked.
PersonAsker = Callable[[FormRequest], Awaitable[FormReply]]
ASK_PERSON: ContextVar[PersonAsker | None] = ContextVar("ask person", default=None)


class FieldKind(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    YES_NO = "yes_no"
    ONE_OF = "one_of"
    SOME_OF = "some_of"


@dataclass(frozen=True, slots=True)
class FormField:
    """One property of a flat schema. `options`: values with their labels. `default`: None where there is none."""

    name: str
    kind: FieldKind
    schema: Mapping[str, Json]
    required: bool
    title: str = ""
    description: str = ""
    options: tuple[tuple[str, str], ...] = ()
    default: Json = None


class Unfit(Exception):
    """A schema cannot be shown as a form. Its text says why, after "it"."""


def form_fields(schema: Mapping[str, Json]) -> tuple[FormField, ...]:
    """The fields of a flat schema. Raises Unfit."""
    properties = schema.get("properties")
    if schema.get("type", "object") != "object" or not isinstance(properties, dict):
        raise Unfit("asks for something that is no form")
    if len(properties) > MOST_FIELDS:
        raise Unfit(f"has {len(properties):,} fields, and a form has {MOST_FIELDS} at most")
    required = schema.get("required", [])
    names = (
        set(required) if isinstance(required, list) and all(isinstance(n, str) for n in required) else None
    )
    if names is None or not names <= set(properties):
        raise Unfit("requires fields that it does not describe")
    found = tuple(_field(name, declared, name in names) for name, declared in properties.items())
    size = sum(
        len(one.name + one.title + one.description) + sum(len(v + label) for v, label in one.options)
        for one in found
    )
    if size > MOST_SCHEMA:
        raise Unfit("is too long for a form")
    return found


def _field(name: str, declared: Json, required: bool) -> FormField:
    if not isinstance(declared, dict) or not name or len(name) > MOST_NAME:
        raise Unfit("has a field that is not described, or a name that is too long")
    kind, options = _kind(declared)
    if len(options) > MOST_OPTIONS:
        raise Unfit(f"has a field with more than {MOST_OPTIONS} choices")
    if any(not label or len(label) > MOST_LABEL for _, label in options):
        raise Unfit(f"has a choice that is empty or longer than {MOST_LABEL} characters")
    if len({value for value, _ in options}) < len(options) or len({text for _, text in options}) < len(
        options
    ):
        raise Unfit("has a field with two choices of the same name")
    title, description = declared.get("title"), declared.get("description")
    made = FormField(
        name, kind, declared, required,
        title if isinstance(title, str) else "", description if isinstance(description, str) else "", options,
    )  # fmt: skip
    default = declared.get("default")
    usable = default is not None and not problem(made, default) and len(str(default)) <= MOST_TEXT
    return FormField(
        made.name,
        kind,
        declared,
        required,
        made.title,
        made.description,
        options,
        default if usable else None,
    )


def _kind(declared: Mapping[str, Json]) -> tuple[FieldKind, tuple[tuple[str, str], ...]]:
    kind = declared.get("type")
    if kind == "array":
        items = declared.get("items")
        options = _options(items) if isinstance(items, dict) else ()
        if options:
            return FieldKind.SOME_OF, options
        raise Unfit("asks for a list that is no choice among given texts")
    options = _options(declared)
    if options:
        return FieldKind.ONE_OF, options
    kinds = {
        "string": FieldKind.TEXT,
        "number": FieldKind.NUMBER,
        "integer": FieldKind.INTEGER,
        "boolean": FieldKind.YES_NO,
    }
    if not isinstance(kind, str) or kind not in kinds:
        raise Unfit("has a field that is not a text, number, yes or no, or choice")
    return kinds[kind], ()


def _options(declared: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    """The choices of an enum, with `enumNames` as their labels, or of a union of constants with titles."""
    for key in ("oneOf", "anyOf"):
        ways = declared.get(key)
        if ways is not None:
            if not isinstance(ways, list) or not all(_is_choice(way) for way in ways):
                raise Unfit("has a field with alternatives that are no choices")
            return tuple((way["const"], way.get("title") or way["const"]) for way in ways)
    values = declared.get("enum")
    if values is None:
        return ()
    if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
        raise Unfit("has a choice among something else than texts")
    names = declared.get("enumNames")
    if isinstance(names, list) and len(names) == len(values) and all(isinstance(name, str) for name in names):
        return tuple(zip(values, names, strict=True))
    return tuple((value, value) for value in values)


def _is_choice(way: Json) -> bool:
    return (
        isinstance(way, dict)
        and isinstance(way.get("const"), str)
        and isinstance(way.get("title", ""), str)
        and set(way) <= {"const", "title", "description"}
    )


def problems(fields: tuple[FormField, ...], content: Mapping[str, Json]) -> dict[str, str]:
    """What is wrong with an answer, by the name of the field, in sentences; empty where it can be sent."""
    found = {one.name: "This needs a value." for one in fields if one.required and one.name not in content}
    for one in fields:
        wrong = problem(one, content[one.name]) if one.name in content else ""
        if wrong:
            found[one.name] = wrong
    return found


def problem(one: FormField, value: Any) -> str:
    """What is wrong with one value, as a sentence; "" where nothing is."""
    match one.kind:
        case FieldKind.TEXT:
            return _text_problem(one.schema, value)
        case FieldKind.YES_NO:
            return "" if isinstance(value, bool) else "This is yes or no."
        case FieldKind.ONE_OF:
            return "" if value in [known for known, _ in one.options] else "Please choose one of the options."
        case FieldKind.SOME_OF:
            return _choice_problem(one, value)
    return _number_problem(one, value)


def _text_problem(schema: Mapping[str, Json], value: Any) -> str:
    if not isinstance(value, str):
        return "This must be a text."
    least, most = schema.get("minLength"), schema.get("maxLength")
    if isinstance(least, int) and len(value) < least:
        return f"This must have {least} characters at least."
    if isinstance(most, int) and len(value) > most:
        return f"This must have {most} characters at most."
    form = schema.get("format")
    return "" if _has_format(form, value) else FORMATS[str(form)]


FORMATS = {
    "email": "This must be an email address.",
    "uri": "This must be a whole address, such as https://example.com.",
    "date": "This must be a date, such as 2026-11-23.",
    "date-time": "This must be a date with its time and zone, such as 2026-11-23T09:30:00Z.",
}


def _has_format(form: Json, value: str) -> bool:
    try:
        match form:
            case "email":
                local, _, domain = value.partition("@")
                spaced = any(char.isspace() for char in value)
                return bool(local) and "." in domain.strip(".") and "@" not in domain and not spaced
            case "uri":
                parts = urlsplit(value)
                return (
                    bool(parts.scheme)
                    and bool(parts.netloc or parts.path)
                    and not any(c.isspace() for c in value)
                )
            case "date":
                return len(value) == 10 and bool(date.fromisoformat(value))
            case "date-time":
                return "T" in value.upper() and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False
    return True


def _choice_problem(one: FormField, value: Any) -> str:
    known = [option for option, _ in one.options]
    if (
        not isinstance(value, list)
        or not all(each in known for each in value)
        or len(set(value)) < len(value)
    ):
        return "Please choose among the options."
    least, most = one.schema.get("minItems"), one.schema.get("maxItems")
    if isinstance(least, int) and len(value) < least:
        return f"Please choose {least} at least."
    if isinstance(most, int) and len(value) > most:
        return f"Please choose {most} at most."
    return ""


def _number_problem(one: FormField, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "This must be a number, such as 12 or 0.5."
    if one.kind is FieldKind.INTEGER and not isinstance(value, int):
        return "This must be a whole number."
    least, most = one.schema.get("minimum"), one.schema.get("maximum")
    if isinstance(least, int | float) and value < least:
        return f"This must be {least} at least."
    if isinstance(most, int | float) and value > most:
        return f"This must be {most} at most."
    return ""


def may_answer(
    policy: Policy, question: ServerQuestion, action: Action | None, person: Person | None
) -> Ruling:
    """Whether this person may answer or decline: whoever may confirm the action that runs; of a read its requester."""
    if not question.is_read:
        if action is None or action.state is not State.EXECUTING:
            return Ruling(False, "The call that asked this is over.")
        return may(policy, Verb.CONFIRM, action, person)
    usable = account(person)
    if not usable.allowed or person is None or person.id == question.requester:
        return usable
    return Ruling(False, f"Only <@{question.requester}>, who asked for this, can answer it.")
