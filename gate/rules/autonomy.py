"""Autonomy: what follows after a step: go on, show it for a moment, stop and ask, or take it as failed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from gate.rules.confidence import HIGH, LOW, MEDIUM, Confidence
from gate.rules.settings import Switches


class ApprovalMode(StrEnum):
    """Who lets a task go on after a step (docs/promises.md GATE-03 to GATE-05). None of them opens the gate before a
    call."""

    AUTO = "auto"  # the four bands
    MANUAL = "manual"  # a person, always
    THRESHOLD = "confidence_threshold"  # a person, below the task's own threshold


class Band(StrEnum):
    """What happens after a step."""

    GO = "go on"
    SHOW = "show"  # and go on by itself, unless somebody holds it
    ASK = "ask"
    ABORT = "abort"  # the step counts as failed; a person decides what becomes of it


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSignals:
    """What counts besides the score."""

    gated: bool = False  # destructive, or on the always-gate list
    tainted: bool = False  # something from outside of the workspace was read in this thread
    last: bool = False  # no step is left that it would go on to
    wrong: bool = False  # something speaks against the result itself
    pausing: bool = False  # somebody has it wait here anyway
    matches: bool = False  # approved with its plan, and its target was read back as it should be


@dataclass(frozen=True, slots=True)
class BandDecision:
    """The decision, with its reason in sentences for people: without the score, which is on record."""

    band: Band
    reason: str


def band(score: float) -> Band:
    """The band that a score falls into (docs/promises.md GATE-15 to GATE-18)."""
    if score >= HIGH:
        return Band.GO
    if score >= MEDIUM:
        return Band.SHOW
    return Band.ASK if score >= LOW else Band.ABORT


def decide_band(switches: Switches, found: Confidence, seen: StepSignals) -> BandDecision:
    """What follows after a step that has run. Whatever cannot be told is asked."""
    mode, told = ApprovalMode(switches.approval_mode), found.sentence
    if not found.score >= LOW:  # also where it is no number
        return BandDecision(Band.ABORT, told)
    if mode is ApprovalMode.MANUAL:
        return BandDecision(Band.ASK, f"Every step waits for a person here. {told}".strip())
    follows = _by_threshold if mode is ApprovalMode.THRESHOLD else _by_band
    decided = follows(switches, found, seen)
    return replace(decided, reason=f"{told} {decided.reason}".strip())


def _by_threshold(switches: Switches, found: Confidence, seen: StepSignals) -> BandDecision:
    threshold = max(switches.confidence, HIGH) if seen.tainted else switches.confidence
    if seen.gated:
        return BandDecision(Band.ASK, GATED)
    if found.score >= threshold:
        return BandDecision(Band.GO, f"This task waits below a confidence of {threshold:.2f}.")
    return BandDecision(Band.ASK, f"This task waits below a confidence of {threshold:.2f}.")


def _by_band(switches: Switches, found: Confidence, seen: StepSignals) -> BandDecision:
    kind = Band.ASK if seen.gated else band(found.score)
    if kind is Band.GO or (seen.last and _must_ask(switches, kind, seen)):
        return BandDecision(Band.GO, "")
    if seen.gated:
        return BandDecision(Band.ASK, GATED)
    if kind is Band.SHOW and seen.tainted:
        return BandDecision(Band.ASK, TAINTED)
    if kind is Band.SHOW and seen.matches and not seen.wrong:
        return BandDecision(Band.GO, READ_BACK)
    return BandDecision(Band.GO if kind is Band.SHOW and seen.pausing else kind, "")


def _must_ask(switches: Switches, kind: Band, seen: StepSignals) -> bool:
    """After the last step nothing is kept from beginning, and the task's own question comes next."""
    return kind is Band.SHOW or (not seen.wrong and switches.satisfaction != "never")


GATED = "What destroys something, or is always gated, is looked at by a person."
READ_BACK = "It was approved with its plan, and its target was read back as it should be."
TAINTED = "This thread has read something from outside, so nothing goes on by itself where it is not sure."
