"""Arguments that plainly say a change, of a tool that is said to only read: `delete: true`, `action: "approve"`.

A filter says the same words: of a log, `action: "delete"` is what happened. What tells them apart is what the tool is
about, what its schema says of the argument, and what stands beside it. Where nothing does, the call asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from gate.arguments.change_words import LONGEST_WORD, MODES, acts, readable, switches_a_change_on
from gate.arguments.json_texts import pairs_of, parsed
from gate.arguments.schema_defaults import with_defaults
from gate.arguments.text_cache import Remembered
from gate.arguments.tool_names import LONGEST, THINGS, words
from gate.rules.action import Json
from gate.rules.tool import ToolSpec

ACTION = frozenset(
    "act action actions cmd command commands do op operation operations ops subcommand verb verbs".split()
)
METHOD = frozenset({"method", "methods"})
OF_HTTP = frozenset("api call http https override req request rest x".split())  # no method of payment
KINDS_OF_METHOD = THINGS - {"merge"}  # `method: "transfer"`
HTTP = frozenset(
    "acl bind delete label link lock mkactivity mkcalendar mkcol mkredirectref mkworkspace orderpatch patch post "
    "proppatch put rebind unbind uncheckout unlink unlock update updateredirectref".split()
)  # and of WebDAV, as registered with IANA
NUMBERED = frozenset({"count", "id", "ids"})  # `operationId` names what is looked up
# What holds data to look for or to show, whatever words these have
SELECTING = frozenset(
    "agg aggregation aggregations aggregator aggs column columns condition conditions criteria exclude expand facets "
    "field fields filter filters include label labels matcher matchers match matching must orderby pipeline predicate "
    "predicates projection query select selector selectors sort tags term terms where".split()
)
BY = frozenset({"all", "any", "by", "expression", "expressions", "in"})  # behind one: `filterBy`
FILTER = frozenset(
    {"exclude", "filter", "filters", "include", "where"}
)  # in the name of an argument: `action_filter`
# Tools about what was done. There an action is a filter, but for what is done to the records themselves.
AUDITS = frozenset("audit auditing audits changelog trail".split())
AUDITED = AUDITS | frozenset(
    "activities activity histories history journal log logs span spans timeline trace traces".split()
)
SOURCES = frozenset("access admin api auth login security system webhook webhooks".split())  # of events
FILTERING = frozenset("count filter find list lists lookup query search searches".split())
EMPTYING = frozenset(
    "clean cleanup clear drain empty erase expunge flush format prune purge reset rotate truncate vacuum wipe".split()
)
HAPPENING = frozenset(
    "add change create edit insert login logout modify move rename update upload write".split()
)
# Tools that look for requests by their method, and those that tell what a method does
REQUESTED = frozenset("deliveries endpoints operations requests routes".split())
DESCRIBED = frozenset(
    "definition definitions example examples openapi reference schema schemas spec specification swagger".split()
)
PERMITTING = frozenset(
    "access clusterroles permission permissions privileges rbac role roles".split()
)  # by verb
RULES = frozenset("acl acls firewall policies policy rule rules waf".split())
OF_RULES = frozenset("accept allow block deny drop forward log redirect reject".split())
CALCULATING = frozenset({"calculate", "calculator", "compute", "math"})
NAMES = frozenset({"dns", "domain", "host", "hostname", "ip", "library", "symbol"})  # that are resolved
OF_NUMBERS = frozenset({"add", "decrease", "decrement", "increase", "increment", "raise"})
OWN_IDS = frozenset(
    {("id",), ("ids",), *((a, b) for a in ("log", "event", "entry") for b in ("id", "ids"))}
)  # of one record
TEXTS = frozenset("body comment content message text".split())
SENT = frozenset("body content data payload values".split())
ASKED = frozenset(
    "count describe fetch find get list lookup query retrieve search show".split()
)  # among the choices for an action: it says what the tool does
FILTERS = re.compile(r"(?i)\bfilter")
NAMED, VALUE = ("name", "key"), "value"
OF_ACT = frozenset({"kind", "name", "type"})  # of an object that stands for an act: which one it is


def says_change(spec: ToolSpec, args: Json) -> str:
    """The name of the first argument that plainly says a change; "" where there is none. An argument that is left out
    is what the schema says that it is then. Raises TooManyParts."""
    given = parsed(with_defaults(spec.schema, args) if isinstance(args, Mapping) else args)
    call = _Call(spec, given)
    for name, value, outer in _fields(given):
        if switches_a_change_on(name, value) or (isinstance(value, str) and call.does(name, value, outer)):
            return name
    return ""


def is_of_records(tool: frozenset[str]) -> bool:
    """Whether a tool with these words in its name looks through what was done, or asked for."""
    return bool(tool & AUDITED or (tool & REQUESTED and tool & FILTERING))


class _Call:
    """A call, and what is known of its arguments that name what is to be done: each is asked about once."""

    def __init__(self, spec: ToolSpec, args: Json) -> None:
        self.tool = frozenset(words(spec.name))
        self._schema, self._required = spec.schema, spec.required
        self._args = args
        self._names_what: bool | None = None
        self._has_text: bool | None = None
        self._instructing: dict[str, bool | None] = {}

    def does(self, name: str, text: str, outer: bool) -> bool:
        """Whether an argument says that something is changed, and not that such a change is looked for."""
        read_as = _read_as(name)
        done = read_as(text) if read_as else None
        if not done or (self.tool & RULES and done <= OF_RULES):
            return False
        if (self.tool & CALCULATING and done <= OF_NUMBERS) or (self.tool & NAMES and done <= {"resolve"}):
            return False
        if done <= {"comment"} and not self._brings_text():
            return False
        instructs = self._instructs(name) if outer else None
        if instructs or self._has_one_record():
            return True
        return instructs is None and not _is_looked_for(self.tool, words(name[:LONGEST_WORD]), done)

    def _instructs(self, name: str) -> bool | None:
        """Whether the schema says that an argument tells the tool what to do, or (False) what to look for."""
        if name not in self._instructing:
            self._instructing[name] = name in self._required or _instructs(self._schema, name)
        return self._instructing[name]

    def _has_one_record(self) -> bool:
        """Whether the call names the one record that it is about, or brings what is to become one."""
        if self._names_what is None:
            args = self._args.items() if isinstance(self._args, Mapping) else ()
            self._names_what = any(_names_record(name, value) for name, value in args)
        return self._names_what

    def _brings_text(self) -> bool:
        """Whether the call names an object and has a text for it."""
        if self._has_text is None:
            names = self._args if isinstance(self._args, Mapping) else ()
            said = [frozenset(words(name[:LONGEST_WORD])) for name in names]
            numbered = any(one & NUMBERED or "number" in one for one in said)
            self._has_text = numbered and any(one & TEXTS for one in said)
        return self._has_text


def _names_record(name: str, value: Json) -> bool:
    said = words(name[:LONGEST_WORD])
    return bool(value) and (
        tuple(said) in OWN_IDS or (isinstance(value, (Mapping, list)) and not SENT.isdisjoint(said))
    )


def _instructs(schema: Mapping[str, Json], name: str) -> bool | None:
    declared = schema.get("properties")
    about = declared.get(name) if isinstance(declared, Mapping) else None
    if not isinstance(about, Mapping):
        return None
    choices = about.get("enum")
    texts = [one for one in choices if isinstance(one, str)] if isinstance(choices, list) else []
    if any(ASKED.intersection(words(one[:LONGEST_WORD])[:1]) for one in texts):
        return True
    return False if FILTERS.search(str(about.get("description", ""))[:LONGEST]) else None


def _is_looked_for(tool: frozenset[str], name: Sequence[str], done: frozenset[str]) -> bool:
    """Whether a tool with these words looks for what was done in this way, by an argument with these words."""
    searches = bool(tool & FILTERING)
    if (
        done <= HTTP
        and not (METHOD | {"verb"}).isdisjoint(name)
        and (tool & DESCRIBED or is_of_records(tool))
    ):
        return True
    if "verb" in name and tool & PERMITTING:
        return True
    if tool & AUDITS or (searches and (tool & AUDITED or ("events" in tool and tool & SOURCES))):
        return not done & EMPTYING
    return bool(tool & AUDITED) and done <= HAPPENING


def _fields(value: Json) -> Iterator[tuple[str, Json, bool]]:
    """Each field at whatever depth, each item of its lists, but not what is in one that selects, and whether it is an
    argument itself. The type of an action counts as the action: `{"action": {"type": "delete"}}`."""
    left: list[tuple[str, Json, bool]] = [("", value, True)]
    while left:
        name, one, outer = left.pop()
        if name:
            yield name, one, outer
        if not isinstance(one, (Mapping, list)) or name.startswith("$") or _selects(name):
            continue
        pairs = _pairs(one)
        if pairs is None:
            left += ((name, item, outer) for item in one)
        else:
            acting = bool(name) and _read_as(name) is not None
            for field, item in pairs:
                left.append((name, item, outer) if acting and field in OF_ACT else (field, item, not name))


def _pairs(value: Json) -> Sequence[tuple[str, Json]] | None:
    """The fields of an object, or of one of JSON in a text. `{"name": "a", "value": 1}` is a field a."""
    named = pairs_of(value)
    if named is None:
        return None
    called = next(
        (item for name, item in named if name.lower() in NAMED and isinstance(item, str) and item), None
    )
    return [(called if called and name.lower() == VALUE else name, item) for name, item in named]


@Remembered  # a list may have many items
def _selects(name: str) -> bool:
    said = words(name[:LONGEST_WORD])
    return bool(said) and (said[-1] in SELECTING or (said[0] in SELECTING and said[-1] in BY))


@Remembered
def _read_as(name: str) -> Callable[[str], frozenset[str]] | None:
    """How a text under this name is read for what is to be done; None where it does not say that."""
    said = frozenset(words(name[:LONGEST_WORD]))
    if said & FILTER or said & NUMBERED:
        return None
    if said & ACTION:
        return acts
    if "mode" in said:
        return _modes
    return _methods if said & METHOD and OF_HTTP.issuperset(said - METHOD) else None


def _modes(text: str) -> frozenset[str]:
    return acts(text) & MODES


def _methods(text: str) -> frozenset[str]:
    word = readable(text).lower()
    if word in HTTP:
        return frozenset({word})
    return frozenset() if word in KINDS_OF_METHOD else acts(text)
