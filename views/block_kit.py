"""The pieces of Block Kit that we use, and the only escape() and clip().

Text of others goes through `visible` into rich text or plain text. `mrkdwn` is for our own sentences: it
escapes all but mentions, channels and dates, so that even a slip cannot make a link or call a channel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gate.rules.spelled_out import inline as inline
from gate.rules.spelled_out import visible as visible

Block = dict[str, Any]

PAGE = 3_000  # characters in one rich text block
SAID = 6_000  # characters of a text or an answer in one message
PARAGRAPHS = 20  # of a text that stand apart; Slack takes 50 blocks
GAP = re.compile(r"\n(?:[ \t]*\n)+")
ELEMENTS = 40  # elements in one rich text block
MOST_PIECES = 90  # Slack takes 100 in one section
AHEAD = 200  # characters behind a cut that tell how those before it are shown: the rest of a word, or of an escape
CODE = re.compile(r"`([^`\n]{1,200})`")
USER = re.compile(r"[UW][A-Z0-9_]+")
NAMED = re.compile(r"<@([UW][A-Z0-9_]+)>")
OWN = re.compile(
    r"<(?:@[UW][A-Z0-9_]+|!subteam\^S[A-Z0-9_]+|#[CG][A-Z0-9_]+|!date\^\d+\^[{}a-z_ ]+\|[A-Z0-9:\- ]+)>"
)


@dataclass(frozen=True, slots=True)
class Message:
    """What is posted: `text` for notifications and old clients, `blocks` for everybody else."""

    text: str
    blocks: list[Block]


def one_line(text: str) -> str:
    """A request of several lines on one, to name its task by: `list a / list b`."""
    return " / ".join(line.strip() for line in text.splitlines() if line.strip())


def clip(text: str, most: int, more: int = 0) -> str:
    """At most `most` characters; what is cut is counted, with `more` behind the text: `abc… (+1,234)`."""
    length = len(text) + more
    if length <= most:
        return text
    reserve = len(f"… (+{length:,})")
    if reserve >= most:
        return text[: most - 1] + "…"
    head = text[: most - reserve]
    return f"{head}… (+{length - len(head):,})"


def shortened(text: str, most: int, *, lines: bool = False) -> str:
    """The visible text, clipped, on one line without `lines`. Of a long one no more is gone through than that takes."""
    near = text[: most + AHEAD]
    return clip(visible(near, lines=lines), most, len(text) - len(near))


def fits_line(text: str, most: int) -> bool:
    """Whether one visible line of at most `most` characters holds all of it."""
    return len(text) <= most and len(inline(text)) <= most


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escaped(text: str, most: int) -> str:
    """One visible, escaped line of at most `most` characters, for the top-level text of a message."""
    short = escape(shortened(text, most))
    return short if len(short) <= most else escape(shortened(text, most // 5))  # "&amp;" is five characters


def mention(user: str) -> str:
    """A person in one of our sentences."""
    return f"<@{user}>" if USER.fullmatch(user) else "an unknown account"


def mentions(users: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    names = [mention(u) for u in users]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def mrkdwn(sentence: str) -> Block:
    """One of our own sentences."""
    kept, last = "", 0
    for match in OWN.finditer(sentence):
        kept += escape(visible(sentence[last : match.start()])) + match[0]
        last = match.end()
    return {"type": "mrkdwn", "text": kept + escape(visible(sentence[last:])), "verbatim": True}


def plain(text: str, most: int) -> Block:
    return {"type": "plain_text", "text": shortened(text, most) or "(empty)", "emoji": False}


def sentence(own: str) -> Block:
    """A section with one of our own sentences."""
    return {"type": "section", "text": mrkdwn(own)}


def header(own: str) -> Block:
    return {"type": "header", "text": plain(own, 150)}


def context(*elements: Block) -> Block:
    return {"type": "context", "elements": list(elements)}


def divider() -> Block:
    return {"type": "divider"}


def actions(*elements: Block) -> Block:
    return {"type": "actions", "elements": list(elements)}


def button(label: str, action_id: str, value: str, style: str = "") -> Block:
    """`style` is "primary", "danger" or nothing."""
    made = {"type": "button", "text": plain(label, 75), "action_id": action_id, "value": value}
    return {**made, "style": style} if style else made


def option(label: str, value: str) -> Block:
    return {"text": plain(label, 75), "value": value}


def overflow(action_id: str, options: Iterable[Block]) -> Block:
    return {"type": "overflow", "action_id": action_id, "options": list(options)}


def field(block_id: str, label: str, element: Block, *, hint: str = "", optional: bool = False) -> Block:
    """An input block."""
    made = {
        "type": "input",
        "block_id": block_id,
        "label": plain(label, 150),
        "element": element,
        "optional": optional,
    }
    return {**made, "hint": plain(hint, 500)} if hint else made


def text_input(action_id: str, start: str = "", *, multiline: bool = True, most: int = 3_000) -> Block:
    """An input for text of at most `most` characters, with `start` in it."""
    made = {"type": "plain_text_input", "action_id": action_id, "multiline": multiline, "max_length": most}
    return {**made, "initial_value": start} if start else made


def select(action_id: str, options: list[Block], chosen: Block | None = None) -> Block:
    """A menu of up to 100 options."""
    made: Block = {"type": "static_select", "action_id": action_id, "options": options}
    return {**made, "initial_option": chosen} if chosen else made


def words(text: str, *styles: str, most: int = 0) -> Block:
    """Text inside rich text, where nothing is parsed; `styles` among bold, italic, strike, code.

    With `most`: one line of at most so many characters.
    """
    shown = shortened(text, most) if most else visible(text)
    made: Block = {"type": "text", "text": shown or " "}
    return {**made, "style": dict.fromkeys(styles, True)} if styles else made


def coded(text: str) -> list[Block]:
    """What stands between backticks on one line as code; a style, which can call nobody and link nowhere."""
    pieces = CODE.split(text)
    if len(pieces) > MOST_PIECES:
        return [words(text)]
    return [words(piece, *(["code"] if i % 2 else [])) for i, piece in enumerate(pieces) if piece]


def person(user: str) -> Block:
    """A person inside rich text."""
    return {"type": "user", "user_id": user} if USER.fullmatch(user) else words(user, most=80)


def naming(own: str) -> list[Block]:
    """One of our own sentences inside rich text, with the people it names. Never for text of others: it calls them."""
    pieces = NAMED.split(own)
    return [person(piece) if i % 2 else words(piece) for i, piece in enumerate(pieces) if piece]


def link(label: str, address: str) -> list[Block]:
    """A link to a message of ours, behind something; nothing where its address is not known."""
    return [words("  "), {"type": "link", "url": address, "text": label}] if address else []


def line(*elements: Block) -> Block:
    """A paragraph of rich text."""
    return {"type": "rich_text_section", "elements": list(elements)}


def quote(text: str, most: int) -> Block:
    """Somebody's words, clipped."""
    shown = shortened(text, most, lines=True)
    return {"type": "rich_text_quote", "elements": [{"type": "text", "text": shown or " "}]}


def quoted(text: str, most: int) -> Block:
    """The same, with what stands between backticks as code."""
    return {"type": "rich_text_quote", "elements": coded(clip(text, most)) or [words("")]}


def bullets(items: Iterable[Block]) -> Block:
    return {"type": "rich_text_list", "style": "bullet", "elements": list(items)}


def boxes(text: str) -> list[Block]:
    """The text as preformatted boxes, one for each page of it; together they hold every character."""
    return framed(visible(text))


def framed(shown: str) -> list[Block]:
    """Boxes around text whose characters have been made visible already."""
    return [
        {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": part}]}
        for part in parts(shown)
    ]


def parts(text: str) -> Iterator[str]:
    """Pieces of at most a page, broken after a line where that wastes little."""
    start = 0
    while len(text) - start > PAGE:
        cut = text.rfind("\n", start + PAGE // 2, start + PAGE) + 1 or start + PAGE
        yield text[start:cut]
        start = cut
    if start < len(text):
        yield text[start:]


def rich(*elements: Block) -> Block:
    return {"type": "rich_text", "elements": list(elements)}


def table(rows: Iterable[Iterable[str]]) -> Block:
    """A table of text whose characters have been made visible already, the head first: at most 100 rows of 20 cells,
    and one table in a message."""
    cells = [[{"type": "raw_text", "text": cell or " "} for cell in row] for row in rows]
    return {"type": "table", "rows": cells}


def weight(element: Block) -> int:
    """How many characters of text are in a piece of rich text."""
    own = element.get("text")
    return (len(own) if isinstance(own, str) else 0) + sum(map(weight, element.get("elements", ())))


def pack(elements: Iterable[Block]) -> list[Block]:
    """Rich text elements in as few blocks as keep to a page and a number of elements each."""
    blocks: list[Block] = []
    room = 0
    for element in elements:
        size = weight(element)
        if not blocks or size > room or len(blocks[-1]["elements"]) == ELEMENTS:
            blocks.append(rich())
            room = PAGE
        blocks[-1]["elements"].append(element)
        room -= size
    return blocks


def paragraphs(text: str) -> list[Block]:
    """A block for each paragraph of somebody's words: nothing in them is parsed."""
    shown, hidden = beginning(text)
    told = (part for one in GAP.split(shown, PARAGRAPHS - 1) for part in parts(one))
    return [rich(each) for each in (*(line(*coded(part)) for part in told), *hidden)]


def beginning(text: str) -> tuple[str, list[Block]]:
    """As much as one message holds, and a line that counts the rest."""
    shown = text[:SAID]
    while len(visible(shown)) > SAID + 1000:
        shown = shown[: len(shown) * 3 // 4]
    hidden = len(text) - len(shown)
    return shown, [line(words(f"… {hidden:,} more characters", "italic"))] if hidden else []
