"""What an undo tells: to nobody, and nothing, that the call which it takes back would not have told."""

from __future__ import annotations

from dataclasses import replace

from gate.rules.action import Action, Decision, Fact, Json, Outcome, Preview
from gate.rules.approvers import Approvers
from gate.rules.canonical_json import leaves, stored_args
from gate.rules.previews import (
    COVERED,
    HELD_NOTES,
    NOTIFIES_UNSEEN,
    covered_by_facts,
    measured,
    named_by,
    text_of,
)

NOT_QUOTED = "What its tool answered is not kept: it may quote a secret file."
HELD_NOT_QUOTED = "What its tool answered is not kept: it may quote what a rule or a review holds."
NOT_SEEN = "I cannot show what this would change. Why is not told: it may quote what is kept from others."
HELD = "What it puts back is not shown: it comes from what a rule or a review holds."


def decision_on_undo(own: Decision, *earlier: Decision | None) -> Decision:
    """The decision on an undo. It belongs to whoever asks for it, also where the policy names approvers for the tool,
    and is as private and as secret as `earlier`: what it takes back, as it was asked for and as the rules stand now,
    and its own version before."""
    known = [one for one in (own, *earlier) if one]
    return replace(
        own,
        approvers=Approvers(),
        private=any(one.private for one in known),
        secret=any(one.secret for one in known),
    )


def preview_of_undo(shown: Preview, decision: Decision, args: Json, original: Action | None) -> Preview:
    """Its preview. Of a secret file, and where a rule or a review holds what `original`, which it takes back, has read
    or given, it tells only the arguments that `original` was called with and so has told; of all others, since they
    come from there, only how long they are and their hash, and nothing that a look with them has found."""
    if not decision.secret and not (original and has_held_words(original)):
        return shown
    why = COVERED if decision.secret else HELD
    told = {text_of(value) for _, value in leaves(stored_args(original.args))} if original else set()
    kept: set[str] = set()
    hidden = []
    for name, value in args.items():
        found = {path: text_of(leaf) for path, leaf in leaves({name: value})}
        if told.issuperset(found.values()):
            kept |= found.keys()
        else:
            hidden.append(Fact(name, measured(value)))
    facts = (*(fact for fact in shown.facts if fact.label in kept), *hidden)
    if not hidden and not decision.secret:
        return shown
    covered = replace(covered_by_facts(shown, why), facts=facts, problem=shown.problem and NOT_SEEN)
    if not hidden:
        return covered
    # What else is told of the look was made of these values, or found by them.
    return replace(
        covered,
        affected=named_by(told, shown.affected),
        notifies=shown.notifies and NOTIFIES_UNSEEN,
        recoverable="",
        notes=tuple(dict.fromkeys([*covered.notes, why])),
    )


def has_held_words(action: Action) -> bool:
    """Whether what its way back is made of, its reads and its result, was not let out as it was."""
    judged = action.judged
    let_out = not action.under_review if judged is None else judged.kept and judged.revised is None
    return not let_out or not HELD_NOTES.isdisjoint(action.preview.notes)


def is_confidential(action: Action) -> bool:
    """Whether what it gives is told to its requester alone: it is private, or of a secret file."""
    return action.private or action.proposal.decision.secret


def keeps_values(action: Action) -> bool:
    """Whether its arguments are told only as its card tells them."""
    return bool(action.undoes) and (action.proposal.decision.secret or HELD in action.preview.notes)


def told_args(action: Action) -> dict[str, Json]:
    """The arguments of an action as people, programs and the log are told them."""
    if keeps_values(action):
        return {fact.label: fact.value for fact in action.preview.facts}
    return stored_args(action.args)


def told_outcome(action: Action, outcome: Outcome) -> Outcome:
    """What is kept of what came of an action: of an undo whose values are kept not what its tool answered."""
    if not keeps_values(action) or outcome.kind not in ("success", "error"):
        return outcome
    said = NOT_QUOTED if action.proposal.decision.secret else HELD_NOT_QUOTED
    return replace(outcome, text=said, structured=None)
