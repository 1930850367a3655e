"""A generated catalogue of realistic tools, and requests with a known tool, for measuring tool search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gate.rules.action import Json
from gate.rules.tool import Hints, ToolSpec, Trust

SERVICES = (
    (
        "github",
        (
            "issue",
            "pull request",
            "branch",
            "release",
            "workflow run",
            "review comment",
            "label",
            "milestone",
        ),
    ),
    ("jira", ("issue", "sprint", "board", "worklog", "comment", "version", "component", "epic")),
    ("gitlab", ("merge request", "pipeline", "project", "snippet", "runner", "tag", "wiki page", "issue")),
    ("slack", ("channel", "message", "reminder", "user group", "canvas", "bookmark", "pin", "emoji")),
    ("gdrive", ("file", "folder", "permission", "shared drive", "revision", "shortcut", "comment", "export")),
    (
        "calendar",
        ("event", "attendee", "free slot", "calendar", "recurrence", "room", "invitation", "reminder"),
    ),
    ("mail", ("message", "draft", "thread", "label", "filter", "attachment", "signature", "contact")),
    ("salesforce", ("lead", "opportunity", "account", "contact", "case", "campaign", "quote", "report")),
    (
        "stripe",
        ("customer", "invoice", "subscription", "refund", "payment intent", "payout", "coupon", "dispute"),
    ),
    (
        "zendesk",
        ("ticket", "macro", "organization", "article", "view", "trigger", "satisfaction rating", "agent"),
    ),
    ("postgres", ("table", "index", "schema", "role", "view", "extension", "replication slot", "query plan")),
    ("kubernetes", ("pod", "deployment", "service", "config map", "secret", "namespace", "ingress", "node")),
    ("aws", ("bucket", "instance", "function", "queue", "alarm", "stack", "security group", "log group")),
    (
        "datadog",
        ("monitor", "dashboard", "incident", "downtime", "metric", "log pipeline", "host", "synthetic test"),
    ),
    (
        "pagerduty",
        ("incident", "schedule", "escalation policy", "service", "override", "team", "note", "user"),
    ),
    ("notion", ("page", "database", "block", "comment", "user", "property", "template", "workspace")),
    ("hubspot", ("deal", "contact", "company", "pipeline", "task", "form", "list", "workflow")),
    (
        "shopify",
        ("product", "order", "customer", "collection", "discount", "fulfillment", "variant", "gift card"),
    ),
    ("figma", ("file", "component", "comment", "style", "variable", "project", "version", "webhook")),
    ("sentry", ("issue", "release", "project", "alert rule", "event", "team", "replay", "dsn")),
)


@dataclass(frozen=True)
class Verb:
    """An operation on a kind of object; {n} is replaced by the kind."""

    word: str
    says: str  # the server, of the tool
    query: str  # as a model may search for it
    other: str  # the same with another verb
    sentence: str  # as a person may ask for it
    reads: bool
    fields: tuple[str, ...]

    @property
    def plural(self) -> bool:
        return self.word in ("list", "search")


VERBS = (
    Verb(
        "list",
        "List {n}s, newest first.",
        "list {n}s",
        "show all {n}s",
        "what {n}s do we have",
        True,
        ("state", "cursor", "limit"),
    ),
    Verb(
        "get",
        "Get one {n} with all its fields.",
        "get {n} details",
        "read one {n}",
        "show me that {n}",
        True,
        ("id", "fields"),
    ),
    Verb(
        "create",
        "Create a new {n}.",
        "create new {n}",
        "add {n}",
        "open a {n} for this",
        False,
        ("title", "description", "owner"),
    ),
    Verb(
        "update",
        "Change an existing {n}.",
        "update {n} fields",
        "edit {n}",
        "adjust the {n}",
        False,
        ("id", "title", "owner"),
    ),
    Verb(
        "delete",
        "Delete a {n} for good.",
        "delete {n}",
        "remove {n}",
        "get rid of the {n}",
        False,
        ("id", "force"),
    ),
    Verb(
        "search",
        "Find {n}s by words.",
        "search {n}s",
        "look up {n} by text",
        "look for the {n} about payments",
        True,
        ("query", "limit"),
    ),
    Verb(
        "assign",
        "Give a {n} to somebody.",
        "assign {n} to person",
        "make somebody responsible for {n}",
        "hand the {n} to Ann",
        False,
        ("id", "assignee"),
    ),
)
FIELDS: dict[str, Json] = {
    "id": {
        "type": "string",
        "description": "The unique identifier, as returned by the list and search tools.",
    },
    "title": {"type": "string", "maxLength": 256, "description": "A short human-readable title."},
    "description": {
        "type": "string",
        "description": "The body, in Markdown. Mentions notify the people named.",
    },
    "owner": {
        "type": "string",
        "description": "Id or e-mail address of the owner; the caller when left out.",
    },
    "assignee": {"type": "string", "description": "Id or e-mail address of the person who is to have it."},
    "state": {"type": "string", "enum": ["open", "closed", "archived", "all"], "default": "open"},
    "cursor": {"type": ["string", "null"], "description": "Opaque cursor from the previous page."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 25, "description": "Page size."},
    "fields": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Only these fields; all when empty.",
    },
    "query": {
        "type": "string",
        "description": "Words to look for, with qualifiers such as owner:ann.",
    },
    "force": {"type": "boolean", "default": False, "description": "Also when other things depend on it."},
}
NEEDED = {"id", "title", "query", "assignee"}


@dataclass(frozen=True)
class Wanted:
    """A request with a known tool: as the search query of a model, and as a person's sentence."""

    tool: str  # full name
    query: str
    other_words: str
    sentence: str


def catalogue(count: int) -> tuple[list[ToolSpec], list[Wanted]]:
    """`count` tools, by kind of object and service, and one request for each."""
    made = [
        (_spec(service, noun, verb), _wanted(service, noun, verb))
        for noun_place in range(8)
        for service, noun in ((s, nouns[noun_place]) for s, nouns in SERVICES)
        for verb in VERBS
    ]
    if count > len(made):
        raise ValueError(f"only {len(made)} tools can be generated")
    chosen = made[:count]
    return [spec for spec, _ in chosen], [wanted for _, wanted in chosen]


def sampled(wanted: Sequence[Wanted], most: int) -> list[Wanted]:
    """At most `count` of them, evenly distributed."""
    step = max(1, len(wanted) // most)
    return list(wanted[::step])[:most]


def _name(noun: str, verb: Verb) -> str:
    return f"{verb.word}_{noun.replace(' ', '_')}{'s' if verb.plural else ''}"


def _spec(service: str, noun: str, verb: Verb) -> ToolSpec:
    name = _name(noun, verb)
    schema = {
        "type": "object",
        "properties": {field: FIELDS[field] for field in verb.fields},
        "required": [field for field in verb.fields if field in NEEDED],
        "additionalProperties": False,
    }
    text = f"{verb.says.format(n=noun)} Works on {service} with the rights of the connected account."
    hints = Hints(verb.reads, verb.word == "delete", None, None)
    title = name.replace("_", " ").capitalize()
    return ToolSpec(service, name, title, text, schema, name, hints, Trust.REVIEWED)


def _wanted(service: str, noun: str, verb: Verb) -> Wanted:
    query, other, sentence = (text.format(n=noun) for text in (verb.query, verb.other, verb.sentence))
    return Wanted(f"{service}.{_name(noun, verb)}", f"{service} {query}", f"{service} {other}", sentence)
