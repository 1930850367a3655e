"""What an operator writes into countersign.yaml, read strictly."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path

from bot.judge import JUDGES
from bot.planner import PLANNERS
from bot.strict_yaml import File, Value
from gate.outside import Network
from gate.switches import SETTABLE, Switches, flaw, switched
from gate.world import Limits
from handlers.api.ports import Bounds
from tools.servers import BadServers, ServerConfig, read_servers

MANIFESTS = Path(__file__).parents[1] / "manifests"
SWITCHES = SETTABLE
FILES = ("policy", "phrases", "recipes")
TOP = (
    "mcpServers",
    "confirmation",
    "limits",
    "planner",
    "model",
    "judge",
    *FILES,
    "channels",
    "webhooks",
    "api",
    *SWITCHES,
)
CHANNEL = re.compile(r"[CGD][A-Z0-9_]+")
DAY = 86_400


@dataclass(frozen=True, slots=True)
class Config:
    """The whole file; where it leaves something out, the default."""

    limits: Limits = field(default_factory=Limits)
    namespace: str = "confirmation"
    servers: tuple[ServerConfig, ...] = ()
    policy: Path = MANIFESTS / "policy.yaml"
    phrases: Path = MANIFESTS / "phrases.yaml"
    recipes: Path = MANIFESTS / "tools"
    planner: str = ""  # one of PLANNERS; "" where it is not said
    model: str = ""
    judge: str = "none"  # one of JUDGES
    switches: Switches = field(default_factory=Switches)
    channel_switches: Mapping[str, Switches] = field(default_factory=dict)  # by channel id
    webhooks: tuple[Network, ...] = ()  # networks of the operator's own that webhooks may reach
    api: Bounds = field(default_factory=Bounds)


DEFAULT = Config()
# Each limit with how it is read: its bounds are what the gate and Slack can bear.
LIMITS: Mapping[str, Callable[[Value], float]] = {
    "undo_bar": lambda value: value.number(0, DAY),
    "call": lambda value: value.number(1, 3600),
    "claim": lambda value: value.number(5, 600),
    "decision": lambda value: value.number(0.1, 2.5),
    "pending_per_user": lambda value: value.integer(1, 1000),
    "calls_per_turn": lambda value: value.integer(1, 100),
    "turns_depth": lambda value: value.integer(1, 100),
    "steps": lambda value: value.integer(1, 100),
    "plan": lambda value: value.number(60, 30 * DAY),
    "question": lambda value: value.number(60, 30 * DAY),
    "settle": lambda value: value.number(60, 30 * DAY),
    "hold": lambda value: value.number(0, 3600),
    "proceed": lambda value: value.number(3, 3600),
}

# What one token of the API may take: the least and the most of each.
BOUNDS: Mapping[str, tuple[int, int]] = {
    "per_minute": (1, 100_000),
    "streams": (1, 1000),
    "webhooks": (0, 1000),
}


def read_config(path: Path, environ: Mapping[str, str]) -> Config:
    """The configuration in the file. Paths in it are relative to the file; `${NAME}` comes from `environ`.

    Raises BadFile with everything that is wrong.
    """
    file = File.read(path)
    top = file.top.mapping(TOP) if file.top else {}
    confirmation = top["confirmation"].mapping(("ttl", "namespace")) if "confirmation" in top else {}
    switches = _switches(Switches(), top)
    config = Config(
        limits=_limits(top.get("limits"), confirmation.get("ttl")),
        namespace=_namespace(confirmation.get("namespace")),
        servers=_servers(top.get("mcpServers"), environ),
        switches=switches,
        channel_switches=_channels(top.get("channels"), switches),
        webhooks=_allowed(top.get("webhooks")),
        api=_bounds(top.get("api")),
        planner=_named(top.get("planner"), PLANNERS, ""),
        judge=_named(top.get("judge"), JUDGES, "none"),
        model=top["model"].text() if "model" in top else "",
        **{key: path.parent / top[key].text() for key in FILES if key in top},
    )
    file.done()
    return config


def _limits(limits: Value | None, ttl: Value | None) -> Limits:
    read = {key: LIMITS[key](value) for key, value in (limits.mapping(LIMITS) if limits else {}).items()}
    if ttl:
        read["ttl"] = ttl.number(1, DAY)
    return Limits(**read)  # type: ignore[arg-type]  # each key is read as the kind that it is


def _bounds(value: Value | None) -> Bounds:
    """`api: {per_minute: 300, streams: 10, webhooks: 10}`: what one token may take."""
    keys = value.mapping(BOUNDS) if value else {}
    return Bounds(**{key: one.integer(*BOUNDS[key]) for key, one in keys.items()})


def _namespace(value: Value | None) -> str:
    name = value.text() if value else DEFAULT.namespace
    if value and not name.replace("_", "").replace("-", "").isalnum():
        value.wrong("must be letters, digits, _ and -")
    return name


def _named(value: Value | None, known: Sequence[str], default: str) -> str:
    """One of the known words; the default where nothing is said."""
    name = value.text() if value else default
    if value and name not in known:
        value.wrong(f"must be {' or '.join(known)}")
    return name


def _servers(value: Value | None, environ: Mapping[str, str]) -> tuple[ServerConfig, ...]:
    if value is None:
        return ()
    try:
        return read_servers(value.json(), environ)
    except BadServers as error:
        for problem in error.problems:
            value.file.wrong(value.line, problem)
        return ()


def _switches(base: Switches, keys: Mapping[str, Value]) -> Switches:
    """`base` with the switches among the keys."""
    changes = {key: keys[key].json() for key in SWITCHES if key in keys}
    wrong = {key: why for key, value in changes.items() if (why := flaw(key, value))}
    for key, why in wrong.items():
        keys[key].wrong(why)
    return base if wrong else switched(base, changes)


def _channels(value: Value | None, base: Switches) -> Mapping[str, Switches]:
    """The switches of each channel that has its own, on top of those for all."""
    found: dict[str, Switches] = {}
    for channel, own in (value.mapping() if value else {}).items():
        if not CHANNEL.fullmatch(channel):
            own.wrong("must be a channel ID (C…), not a name")
        found[channel] = _switches(base, own.mapping(SWITCHES))
    return found


def _allowed(value: Value | None) -> tuple[Network, ...]:
    """`webhooks: {allow: [10.1.0.0/16]}`: where webhooks may go besides the open internet."""
    keys = value.mapping(("allow",)) if value else {}
    found: list[Network] = []
    for one in keys["allow"].items() if "allow" in keys else ():
        try:
            found.append(ip_network(one.text()))
        except ValueError:
            one.wrong("must be a network such as 10.1.0.0/16")
    return tuple(found)
