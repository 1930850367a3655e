"""The modals: typed confirmation, edit form, reason of a rejection, everything, trust in a tool, and short messages.

Each carries which action and version it is about, and no fact. The ids are for the handlers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from gate.rules.action import Action, CallClass, Json, Verdict, Vote
from gate.rules.audit import Entry, Line
from gate.rules.tool import ToolSpec
from views import edit_form, preview, result_review_card
from views.block_kit import (
    Block,
    boxes,
    bullets,
    clip,
    context,
    field,
    line,
    mention,
    mrkdwn,
    option,
    pack,
    plain,
    rich,
    select,
    sentence,
    words,
)
from views.buttons import tagged
from views.card import SAID, about, confirmable, ending, head, waiting
from views.form_fields import Form
from views.wording import loses, may_confirm, moment

View = dict[str, Json]

TYPED = "typed"
EDIT = "edit"
REJECT = "reject"
FULL = "full"
GRANT = "grant"
ONLY_READS = "only_reads"
HELD_CHANGE = "held_change"
HELD_REJECT = "held_reject"
LOADING = "loading"
MESSAGE = "message"

PHRASE = "phrase"  # block and action id of the input of the typed modal
REASON = "reason"  # and of the rejection's
REASON_LENGTH = 500

VIEW_BLOCKS = 95
VIEW_BYTES = 240 * 1024
BLIND = "There is nothing here to confirm: the card says how it stands."
TOO_LONG = "This result is too long for Slack's input: it can be changed through the API, or rejected here."
DECIDED = "Its result does not wait for a review any more: the card says how it stands."
ANSWER = 100_000  # characters of a tool's answer, to begin with
MOST_SAMPLED = 4  # requests that are shown whole
SAMPLED_PROMPT, SAMPLED_ANSWER = 1500, 800  # characters
SURE = "only_reads_sure"  # block and action id of the menu with the one answer
DESCRIBED = 40  # arguments that are described
DESCRIPTION = 300  # characters of the description of one
ONLY_READS_ABOUT = (
    "Its server says that this tool only reads, and nobody has checked that. Once you say so, too, *everybody's* calls "
    "of it run without a card, with any arguments, until its server changes it. Where you may confirm this call, this "
    "confirms it."
)


def review(action: Action, votes: Sequence[Vote] = ()) -> View:
    """What its card shows, or where a phrase is needed the whole preview and the phrase; a message where it cannot be
    confirmed. `votes`: those on this version."""
    if not confirmable(action):
        return message(BLIND)
    blocks = _typed(action) if action.verdict is Verdict.TYPED else waiting(action, votes)
    return modal(TYPED, "Review", blocks, action, submit=action.preview.verb or "Confirm")


def _typed(action: Action) -> list[Block]:
    told = action.preview
    destroys = action.cls is CallClass.DESTRUCTIVE
    what = loses(action) if destroys else "This cannot go by one click."
    sequel = preview.sequel(told) if destroys else preview.consequences(told)
    return [
        sentence(f":warning: *{what}* Please read all of it."),
        head(action),
        context(mrkdwn(f"Asked by {mention(action.requester)}.")),
        *pack(preview.reviewed(told, action.cls)),
        *pack([*preview.warnings(told), *sequel]),
        *pack(preview.prose(action.prose)),
        rich(line(words("To go on, type exactly:", "bold")), *boxes(action.phrase)),
        field(PHRASE, "The phrase", {"type": "plain_text_input", "action_id": PHRASE}),
        context(mrkdwn(f"Expires {moment(action.expires_at)}.")),
    ]


def edit(action: Action, form: Form) -> View:
    """The form of the arguments."""
    blocks = edit_form.blocks(form)
    fields = any(block["type"] == "input" for block in blocks)
    note = sentence(
        "Nothing runs yet: a changed call gets a new preview, and a yes given before no longer counts."
    )
    return modal(EDIT, "Edit", [head(action), note, *blocks], action, "Preview again" if fields else "")


def reject(action: Action) -> View:
    element = {
        "type": "plain_text_input",
        "action_id": REASON,
        "multiline": True,
        "max_length": REASON_LENGTH,
    }
    hint = "People in the thread and the assistant will read it."
    blocks = [head(action), field(REASON, "Why not?", element, hint=hint)]
    return modal(REJECT, "Reject", blocks, action, "Reject")


def result_change(action: Action) -> View:
    """What the call gave, to be changed for whoever gets it; a message where there is no room."""
    blocks = result_review_card.change(action) if action.under_review else []
    if not blocks:
        return message(TOO_LONG if action.under_review else DECIDED)
    return modal(HELD_CHANGE, "Change the result", [head(action), *blocks], action, "Release this")


def result_rejection(action: Action) -> View:
    """Why nobody is to get what the call gave."""
    if not action.under_review:
        return message(DECIDED)
    return modal(
        HELD_REJECT, "Reject the result", [head(action), *result_review_card.refuse(action)], action, "Reject"
    )


def full(action: Action, votes: Sequence[Vote] = (), asked: Sequence[Line] = ()) -> View:
    """Everything that is known of an action, in pages; what even a modal cannot hold is counted. `asked`: what servers
    asked a model for it."""
    told = action.preview
    facts = preview.whole(told) if preview.reviewable(action) else preview.short(told)
    blocks = [
        head(action),
        about(action),
        *_decision(action),
        *pack(facts),
        *pack([*preview.warnings(told), *preview.consequences(told), *preview.prose(action.prose)]),
        *pack(_sampled(asked)),
    ]
    answer = ANSWER
    while True:
        made = modal(FULL, "Everything", [*blocks, *ending(action, votes, answer)], action)
        if _holds(made) or answer < SAID:
            return made
        answer //= 2


def _sampled(found: Sequence[Line]) -> list[Block]:
    """What servers asked a model in the calls of an action, with the answers, as rich text.

    Those after the first ones are counted.
    """
    told = [element for each in found[:MOST_SAMPLED] for element in _one_sampled(each.entry)]
    left = len(found) - MOST_SAMPLED
    return [*told, *([line(words(f"… and {left} more: see the audit log", "italic"))] if left > 0 else [])]


def _one_sampled(entry: Entry) -> Iterator[Block]:
    yield line(words(f"{entry.tool} asked the model ({entry.reason})", "bold", most=300))
    prompt = json.loads(entry.arguments).get("prompt")
    if prompt is None:
        yield line(words("Neither the question nor the answer is kept.", "italic"))
        return
    yield from boxes(clip(prompt, SAMPLED_PROMPT))
    if entry.result:
        yield line(words("It answered:"))
        yield from boxes(clip(entry.result, SAMPLED_ANSWER))


def _decision(action: Action) -> list[Block]:
    """Why it is asked, by which rule, who may decide until when, and the digests that its receipt is made of."""
    rule = action.proposal.decision.rule
    who = f"May confirm: {may_confirm(action)}. Expires {moment(action.expires_at)}."
    digests = f"Definition {action.definition} · policy {action.proposal.policy} · receipt {action.receipt}"
    return [
        context(plain(f"Why: {action.reason} (rule: {rule})", 500)),
        context(mrkdwn(who)),
        context(plain(digests, 600)),
    ]


def only_reads(action: Action, spec: ToolSpec) -> View:
    """The window in which an admin says that a tool only reads: all that the tool says of itself in words."""
    told = [
        line(words(spec.title, "bold", most=200), words(f", of the server {spec.server}", most=100)),
        *(boxes(spec.description) or [line(words("It does not say what it does.", "italic"))]),
        line(words("What it is given", "bold")),
        *_arguments(spec),
    ]
    sure = option("It only reads, whatever it is given", "yes")
    question = field(SURE, "What does this tool do?", select(SURE, [sure]))
    blocks = [sentence(ONLY_READS_ABOUT), *pack(told), question]
    return modal(ONLY_READS, "Only reads?", blocks, action, "Do not ask again")


def _arguments(spec: ToolSpec) -> Iterator[Block]:
    properties = spec.schema.get("properties")
    found = list(properties.items()) if isinstance(properties, Mapping) else []
    if found:
        yield bullets(line(*_argument(str(name), described)) for name, described in found[:DESCRIBED])
    if len(found) > DESCRIBED:
        yield line(words(f"… and {len(found) - DESCRIBED:,} more", "italic"))
    if not found:
        yield line(words("Nothing", "italic"))


def _argument(name: str, schema: object) -> Iterator[Block]:
    yield words(name, "bold", most=100)
    described = schema.get("description") if isinstance(schema, Mapping) else None
    if isinstance(described, str) and described:
        yield words(f": {described}", most=DESCRIPTION)


def loading() -> View:
    """Opened at once, because a trigger lives three seconds; replaced as soon as there is something to show."""
    return _view(LOADING, "One moment", [sentence("Fetching the latest…")])


def message(own: str) -> View:
    """One of our own sentences, and nothing to do but close."""
    return _view(MESSAGE, "Countersign", [sentence(own)])


def _holds(view: View) -> bool:
    return len(view["blocks"]) <= VIEW_BLOCKS and len(json.dumps(view)) <= VIEW_BYTES


def modal(kind: str, title: str, blocks: list[Block], action: Action, submit: str = "") -> View:
    """A window about an action; without `submit` there is nothing to do but close it."""
    view = _view(kind, title, blocks, "Cancel" if submit else "Close")
    view["private_metadata"] = tagged(kind, action.button)
    return {**view, "submit": plain(submit, 24)} if submit else view


def _view(kind: str, title: str, blocks: list[Block], close: str = "Close") -> View:
    return {
        "type": "modal",
        "callback_id": kind,
        "title": plain(title, 24),
        "blocks": blocks,
        "close": plain(close, 24),
    }
