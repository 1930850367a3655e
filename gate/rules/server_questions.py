"""A question that an MCP server asks in the middle of a call (elicitation): its states, its form and its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from urllib.parse import urlsplit

from gate.rules.action import Action, Json, Person, Session
from gate.rules.action_states import State
from gate.rules.permissions import Ruling, Verb, account, may
from gate.rules.policy import Policy
from gate.rules.tool import Problem

MOST_MESSAGE = 2_000  # characters of a server's message that are kept
MOST_FIELDS = 20
MOST_OPTIONS = 100  # of one field
MOST_LABEL = 75  # characters of an option that Slack shows
MOST_NAME = 200
MOST_SCHEMA = 40_000  # characters of all texts in a schema, other values counted as one
LIMITS = ("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems")
KINDS = ("string", "number", "integer", "boolean", "array")
CHOICES = frozenset(["type", "enum", "enumNames", "oneOf", "anyOf"])
KEYWORDS = frozenset("type title description default enum enumNames oneOf anyOf items format".split()) | {
    *LIMITS
}
SAME_NAME = "has a field with two choices of the same name"

Check = Callable[[Mapping[str, Json], Json], Sequence[Problem]]


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


class NoForm(Exception):
    """A schema cannot be shown as a form. Its text says why, after "it"."""


def form_of(schema: Mapping[str, Json]) -> dict[str, Json]:
    """A flat schema with what a form can ask, and nothing else of it. Raises NoForm."""
    if _is_long(schema):
        raise NoForm("is too long for a form")
    properties, required = schema.get("properties"), schema.get("required", [])
    if schema.get("type", "object") != "object" or not isinstance(properties, dict):
        raise NoForm("asks for something that is no form")
    if len(properties) > MOST_FIELDS:
        raise NoForm(f"has {len(properties):,} fields, and a form has {MOST_FIELDS} at most")
    if not isinstance(required, list) or not all(isinstance(n, str) and n in properties for n in required):
        raise NoForm("requires fields that it does not describe")
    fields = {name: _field(name, declared) for name, declared in properties.items()}
    return {"type": "object", "properties": fields, "required": required}


def _is_long(schema: Json) -> bool:
    """Whether it says more than MOST_SCHEMA."""
    size, rest = 0, [schema]
    while rest and size <= MOST_SCHEMA:
        one = rest.pop()
        size += len(one) if isinstance(one, str) else 1
        rest += [*one, *one.values()] if isinstance(one, dict) else one if isinstance(one, list) else ()
    return size > MOST_SCHEMA


def _field(name: str, declared: Json) -> dict[str, Json]:
    if not isinstance(declared, dict) or not name or len(name) > MOST_NAME:
        raise NoForm("has a field that is not described, or a name that is too long")
    found = _choices(declared)
    if len(found) > MOST_OPTIONS:
        raise NoForm(f"has a field with more than {MOST_OPTIONS} choices")
    if any(not label or len(label) > MOST_LABEL for label in found.values()):
        raise NoForm(f"has a choice that is empty or longer than {MOST_LABEL} characters")
    if len(set(found.values())) < len(found):
        raise NoForm(SAME_NAME)
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in _limits(declared)):
        raise NoForm("has a field with a limit that is no number")
    kept = {key: value for key, value in declared.items() if key in KEYWORDS}
    if isinstance(items := declared.get("items"), dict):
        kept["items"] = {key: value for key, value in items.items() if key in CHOICES}
    return kept


def _choices(declared: Mapping[str, Json]) -> dict[str, str]:
    """The choices of a field, which only a text and a list of texts have; empty for any other. Raises NoForm."""
    kind, items, found = declared.get("type"), declared.get("items"), labels(declared)
    if kind not in KINDS or (found and kind != "string"):
        raise NoForm("has a field that is not a text, number, yes or no, or choice")
    if kind != "array":
        return found
    found = labels(items) if isinstance(items, dict) and items.get("type", "string") == "string" else {}
    if not found:
        raise NoForm("asks for a list that is no choice among given texts")
    return found


def _limits(declared: Mapping[str, Json]) -> list[Json]:
    return [declared[key] for key in LIMITS if key in declared]


def labels(declared: Mapping[str, Json]) -> dict[str, str]:
    """The choices of a field with what people read for each: an enum, with `enumNames`, or a union of constants with
    titles. Empty where it is no choice. Raises NoForm."""
    told = [key for key in ("oneOf", "anyOf", "enum") if key in declared]
    if len(told) > 1:
        raise NoForm("has a field whose choices are told in two ways")
    if not told:
        return {}
    values, names = declared[told[0]], declared.get("enumNames")
    if told != ["enum"]:
        if not isinstance(values, list) or not values or not all(map(_is_choice, values)):
            raise NoForm("has a field with alternatives that are no choices")
        return _by_value(
            [way["const"] for way in values], [way.get("title") or way["const"] for way in values]
        )
    if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
        raise NoForm("has a choice among something else than texts")
    if isinstance(names, list) and len(names) == len(values) and all(isinstance(name, str) for name in names):
        return _by_value(values, names)
    return _by_value(values, values)


def _by_value(values: list[str], names: list[str]) -> dict[str, str]:
    if len(set(values)) < len(values):
        raise NoForm(SAME_NAME)
    return dict(zip(values, names, strict=True))


def _is_choice(way: Json) -> bool:
    return (
        isinstance(way, dict)
        and isinstance(way.get("const"), str)
        and isinstance(way.get("title", ""), str)
        and set(way) <= {"const", "title", "description"}
    )


def is_typed(schema: Mapping[str, Json]) -> bool:
    """Whether an answer to this form has words or numbers of who answers, and not only what the server lets choose."""
    fields = schema.get("properties", {}).values()
    return any(one.get("type") not in ("boolean", "array") and not _choices(one) for one in fields)


def problems(schema: Mapping[str, Json], content: Mapping[str, Json], check: Check) -> tuple[Problem, ...]:
    """What is wrong with an answer, each at its field; empty where it can be sent. `check`: finds the ways in which a
    value breaks a schema."""
    found: list[Problem] = []
    for name, declared in schema["properties"].items():
        if name in content:
            told = [one.text for one in check(declared, content[name])] or _wrong_format(
                declared, content[name]
            )
            found += [Problem((name,), text) for text in told]
        elif name in schema.get("required", ()):
            found.append(Problem((name,), "This needs a value."))
    return tuple(found)


def defaults(schema: Mapping[str, Json], check: Check) -> dict[str, Json]:
    """What stands in the form at first: the defaults that keep their own rules. A list that has to be given begins
    empty, which is an answer."""
    found: dict[str, Json] = {}
    for name, declared in schema["properties"].items():
        default = declared.get("default", [] if declared.get("type") == "array" else None)
        needed = "default" in declared or name in schema.get("required", ())
        if (
            needed
            and default is not None
            and not problems({"properties": {name: declared}}, {name: default}, check)
        ):
            found[name] = default
    return found


FORMATS = {
    "email": "This must be an email address.",
    "uri": "This must be a whole address, such as https://example.com.",
    "date": "This must be a date, such as 2026-11-23.",
    "date-time": "This must be a date with its time and zone, such as 2026-11-23T09:30:00Z.",
}


def _wrong_format(declared: Mapping[str, Json], value: Json) -> list[str]:
    form = declared.get("format")
    if not isinstance(form, str) or form not in FORMATS or not isinstance(value, str):
        return []
    return [] if _has_format(form, value) else [FORMATS[form]]


def _has_format(form: str, value: str) -> bool:
    spaced = any(char.isspace() for char in value)
    try:
        match form:
            case "email":
                local, _, domain = value.partition("@")
                return bool(local) and "." in domain.strip(".") and "@" not in domain and not spaced
            case "uri":
                parts = urlsplit(value)
                return bool(parts.scheme) and bool(parts.netloc or parts.path) and not spaced
            case "date":
                return len(value) == 10 and bool(date.fromisoformat(value))
        return "T" in value.upper() and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


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
