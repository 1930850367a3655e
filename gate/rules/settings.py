"""The presets and switches: how much is asked before, between and after steps."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gate.arguments.unicode_safety import quoted
from gate.rules.action import Json
from gate.rules.close_names import close_matches


@dataclass(frozen=True, slots=True)
class Switches:
    """How a task is handled. None of them opens the gate before a call."""

    # Ask only where it cannot go on; "aggressive": whenever something is missing
    intelligent_routing: str = "minimal"
    review: str = "none"  # "before_step", "after_step", "both"; docs/promises.md TASK-08
    enable_planning: bool = True
    plan_approval: bool = True
    auto_approve_simple: bool = True
    conversational: bool = False
    allow_execution_transition: bool = True
    pause_enabled: bool = True
    satisfaction: str = "every"  # change and every plan; "changes": only where something was changed; "never"
    approval_mode: str = "auto"  # who lets it go on after a step; "manual", "confidence_threshold"
    confidence: float = 0.8  # the threshold of the last


CHOICES: Mapping[str, tuple[str, ...]] = {
    "intelligent_routing": ("aggressive", "minimal"),
    "review": ("none", "before_step", "after_step", "both"),
    "satisfaction": ("every", "changes", "never"),
    "approval_mode": ("auto", "manual", "confidence_threshold"),
}
FLAGS = (
    "enable_planning",
    "plan_approval",
    "auto_approve_simple",
    "conversational",
    "allow_execution_transition",
    "pause_enabled",
)
# A preset names the flow that a task takes, so the two others also end what a channel says of conversation.
PRESETS: Mapping[str, Mapping[str, Json]] = {
    "complex": {
        "intelligent_routing": "aggressive",
        "review": "both",
        "enable_planning": True,
        "plan_approval": True,
        "auto_approve_simple": False,
        "conversational": False,
    },
    "simple": {
        "intelligent_routing": "minimal",
        "review": "after_step",
        "enable_planning": False,
        "auto_approve_simple": True,
        "conversational": False,
    },
    "conversational": {
        "conversational": True,
        "allow_execution_transition": True,
        "pause_enabled": True,
    },
}
MODE, THRESHOLD = "approval_mode", "confidence"
# How much people see of a task and are asked, by switch and value; of a threshold, its number says it.
SHOWN: Mapping[str, Mapping[str | bool, frozenset[str]]] = {
    "intelligent_routing": {"minimal": frozenset(), "aggressive": frozenset({"questions"})},
    "review": {
        "none": frozenset(),
        "before_step": frozenset({"before"}),
        "after_step": frozenset({"after"}),
        "both": frozenset({"before", "after"}),
    },
    "enable_planning": {False: frozenset(), True: frozenset({"plan"})},
    "plan_approval": {False: frozenset(), True: frozenset({"plan"})},
    "auto_approve_simple": {True: frozenset(), False: frozenset({"plan"})},
    "conversational": {False: frozenset(), True: frozenset({"talk"})},
    "allow_execution_transition": {True: frozenset(), False: frozenset({"talk"})},
    "pause_enabled": {False: frozenset(), True: frozenset({"pause"})},
    "satisfaction": {
        "never": frozenset(),
        "changes": frozenset({"changes"}),
        "every": frozenset({"changes", "reads"}),
    },
    "approval_mode": {
        "auto": frozenset(),
        "confidence_threshold": frozenset({"unsure"}),
        "manual": frozenset({"unsure", "sure"}),
    },
}
MIN_CONFIDENCE = 0.5  # below it lie steps of which something is known to be wrong, or destroyed
SETTABLE = ("preset", *CHOICES, THRESHOLD, *FLAGS)
BARE = {
    **{preset: "preset" for preset in PRESETS},
    **{mode: MODE for mode in CHOICES[MODE]},
}  # words that need no key
WORDS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
BRACKET = re.compile(r"\[([^\[\]\n]{1,300})\]\s+(?=\S)")
LABEL = re.compile(r"\[\s*([^\W\d_][\w-]{0,40})\s*\]\s+(?=\S)")
NUMBER = re.compile(r"[01]?\.?[0-9]{1,6}", re.A)
PART = re.compile(r"([A-Za-z][\w-]*)(?:\s*=\s*[\"'“”‘’]?([\w.-]+)[\"'“”‘’]?)?(?:[\s,;]+|\Z)")


class BadSwitches(ValueError):
    """A switch or a value that there is not. Its text is a sentence for people."""


def with_switches(base: Switches, changes: Mapping[str, Json]) -> Switches:
    """`base` with the changes: first the preset that they name, then each single switch.

    Raises BadSwitches with one sentence that names every wrong key and value, and what is allowed.
    """
    wrong = [
        f"“{quoted(key, 40)}” {why}" for key, value in changes.items() if (why := switch_problem(key, value))
    ]
    if wrong:
        raise BadSwitches("; ".join(wrong) + ".")
    preset = PRESETS[str(changes["preset"]).lower()] if "preset" in changes else {}
    single = {key: _read(key, value) for key, value in changes.items() if key != "preset"}
    if THRESHOLD in single:  # who names a threshold wants it to count
        single.setdefault(MODE, "confidence_threshold")
    fields: dict[str, Any] = {**preset, **single}
    return replace(base, **fields)


def weakened_switches(base: Switches, other: Switches) -> tuple[str, ...]:
    """The switches by which people see less of a task, or are asked less, with `other` than with `base`."""
    less = [key for key, shown in SHOWN.items() if shown[getattr(base, key)] - shown[getattr(other, key)]]
    return (*less, THRESHOLD) if other.confidence < base.confidence else tuple(less)


def switch_problem(key: str, value: Json) -> str:
    """What is wrong with this switch, to be said after its name; "" for nothing."""
    if key == MODE and value in CHOICES["review"]:
        return f"is called “review” here: write “review” with {_shown(value)}"
    if key not in SETTABLE:
        return f"is not known{_hint(key, SETTABLE)}"
    if key == THRESHOLD:
        return (
            ""
            if _number(value) is not None
            else f"must be a number from {MIN_CONFIDENCE} to 1, not {_shown(value)}"
        )
    if key in FLAGS:
        fits = isinstance(value, bool) or (isinstance(value, str) and value.lower() in WORDS)
        return "" if fits else f"must be yes or no, not {_shown(value)}"
    allowed = tuple(PRESETS) if key == "preset" else CHOICES[key]
    if isinstance(value, str) and value.lower() in allowed:
        return ""
    close = close_matches(str(value).lower(), allowed, 1)
    meant = f" (did you mean “{close[0]}”?)" if close else ""
    return f"must be one of {', '.join(allowed)}, not {_shown(value)}{meant}"


def parse_header(text: str) -> tuple[Mapping[str, str], str]:
    """The switches in brackets that a request begins with, as written, and the request without them.

    `[complex] move …`, `[review=both plan_approval=no] …`. What a bracket holds must be presets and `key=value`
    pairs, one of them at least known or nearly so; anything else is part of the request.
    """
    found = BRACKET.match(text.lstrip())
    parts = list(_parts(found[1])) if found else []
    if not found or not parts or not all(key for key, _ in parts):
        return {}, text
    if not any(close_matches(key, SETTABLE, 1, 0.75) for key, _ in parts):
        return {}, text
    said: dict[str, str] = {}
    for key, value in parts:  # what stands there twice is no value that is allowed, and so told
        said[key] = f"{said[key]}, {value}" if key in said else value
    return said, text.lstrip()[found.end() :]


def unknown_label(text: str) -> str:
    """A sentence about the word in brackets that a request begins with, where it sets nothing; "" for no such word."""
    found = LABEL.match(text.lstrip())
    if not found or parse_header(text)[0]:
        return ""
    known = ", ".join(f"[{word}]" for word in BARE)
    return (
        f"I do not know [{found[1]}] in front of a request: there are {known}. "
        "Nothing was done. Write the request once more with one of these, or without the brackets."
    )


def _parts(inside: str) -> Iterator[tuple[str, str]]:
    """What stands in a bracket as pairs; one with the key "" where something is neither preset nor pair."""
    at, inside = 0, inside.strip()
    while at < len(inside):
        found = PART.match(inside, at)
        name = found[1].lower().replace("-", "_") if found else ""
        if not found or (found[2] is None and name not in BARE):
            yield "", ""
            return
        yield (BARE[name], name) if found[2] is None else (name, found[2].replace("-", "_"))
        at = found.end()


def _read(key: str, value: Json) -> str | bool | float:
    if key == THRESHOLD:
        return _number(value) or MIN_CONFIDENCE
    word = value.lower() if isinstance(value, str) else value
    return bool(WORDS.get(word, word)) if key in FLAGS else str(word)


def _number(value: Json) -> float | None:
    """A threshold, also as it is written in a request; None for what is none."""
    if isinstance(value, str):
        value = float(value) if NUMBER.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if MIN_CONFIDENCE <= value <= 1 else None


def _shown(value: Json) -> str:
    word = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return f"“{quoted(word, 40)}”"


def _hint(key: str, known: Collection[str]) -> str:
    close = close_matches(key, known, 1)
    return f" (did you mean “{close[0]}”?)" if close else f" (known are {', '.join(known)})"
