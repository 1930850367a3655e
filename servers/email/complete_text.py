"""A mail and what is attached to it as one text, for who looks through files. Runs in the sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import PurePosixPath

from mcp.server.mcpserver.exceptions import ToolError

from servers.email import messages, texts
from servers.formats import tasks as formats
from servers.sandbox.protocol import Refused
from servers.text_encoding import HEAD, detect

DOCUMENTS = {
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
MOST_NAMED = 5
LONGEST_NAME = 60


def complete_text(data: bytes, every: bool, attachments: bool = True) -> tuple[str, str]:
    """Its headers, text and attachments, and what is to be said of how they were read, as the end of a sentence.

    `every`: all headers, and where links lead to. Raises Refused.
    """
    try:
        mail = messages.message(data, "")
        text = texts.said(mail, links=every)
        said = [*_headers(mail, every), "", text]
        attached = [part for part in messages.attached(mail) if not messages.inside(part)]
        why, unread = [messages.unread(mail)], list[str]()
    except ToolError as error:
        raise Refused(str(error).strip()) from error
    why += [texts.half_read(texts.LONG_HTML)] if texts.LONG_HTML in text else []
    for part in attached:
        name = messages.name_of(part)[:LONGEST_NAME]
        found, guessed = _attached(part, name) if attachments else (None, "")
        if found is None:
            unread.append(name)
        else:
            said += [f"[attachment: {name}]", found]
            why += [f"has an attachment {name} that {guessed}"] if guessed else []
    return "\n".join(said), "; it ".join(filter(None, [*why, _unread(unread)]))


def _headers(mail: EmailMessage, every: bool) -> Iterator[str]:
    names = [name for name, _ in mail.raw_items()] if every else texts.HEADERS
    for name in dict.fromkeys(names):
        yield from (f"{name}: {value}" for value in messages.headers(mail, name) if value)


def _attached(part: EmailMessage, name: str) -> tuple[str | None, str]:
    """The text of an attachment, None where it has none that can be read; and what is to be said of it."""
    kind, data = part.get_content_type(), messages.payload(part)
    ending = PurePosixPath(name).suffix.lower()
    ending = ending if ending in DOCUMENTS else next((e for e, k in DOCUMENTS.items() if k == kind), "")
    if ending:
        try:
            told, made = formats.text(data, ending)
        except Exception:  # libraries over foreign bytes may raise anything
            return None, ""
        return (made.decode(), told["guessed"]) if made.strip() else (None, "")
    if part.get_content_maintype() == "text":
        return messages.content(part), ""
    encoding = detect(data[:HEAD], whole=len(data) < HEAD)
    return (encoding.decoded(data) if encoding else None), ""


def _unread(names: list[str]) -> str:
    if not names:
        return ""
    told = ", ".join(names[:MOST_NAMED]) + (
        f" and {len(names) - MOST_NAMED} more" if names[MOST_NAMED:] else ""
    )
    return f"has attachments that were not read: {told}"
