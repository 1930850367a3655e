"""What a draft holds beside its texts and attachments: told as it is written, or refused where no program shows it."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from contextlib import suppress
from email.errors import CloseBoundaryNotFoundDefect, MissingHeaderBodySeparatorDefect
from email.message import EmailMessage
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from servers.lines import one_line

MOST = 200  # lines of what is told here
MADE = ("content-type", "content-disposition", "content-transfer-encoding", "content-id", "mime-version")
IDS = ("message-id", "references", "in-reply-to", "content-id")
PEOPLE = ("from", "sender", "reply-to", "to", "cc", "bcc")
AS_IT_IS = ("", "7bit", "8bit", "binary")
KINDS = ("multipart/mixed", "multipart/alternative", "multipart/related")
# Of a draft with one of these it is said that it is cut off.
HALF = (CloseBoundaryNotFoundDefect, MissingHeaderBodySeparatorDefect)
ID_LIST = re.compile(r"(?:<[^<>\s]{1,900}>\s*){0,1000}")
LONE_RETURN = re.compile(r"\r(?!\n)")
# What programs write before the first part, for those that know no parts.
PREAMBLES = {
    "this is a multi-part message in mime format",
    "this is a multipart message in mime format",
    "this is a mime-encoded message",
    "this is a mime formatted message",
}
REFUSED = "The draft has {what}, which nobody would see before it is sent. Write the mail anew as a draft."


def told(mail: EmailMessage) -> list[str]:
    """A line for each header of a part that says more than the line of an attachment, as it is written.

    Raises ToolError for what would be sent and cannot be told.
    """
    found: list[str] = []
    for part in mail.walk():
        assert isinstance(part, EmailMessage)
        _can_be_told(part)
        names = [name.lower() for name in part]
        if any(names.count(name) > 1 for name in MADE):
            raise ToolError(REFUSED.format(what="a part with one header twice"))
        for name, value in part.raw_items():
            if _says_more(part, name.lower(), str(value), top=part is mail):
                found.append(f"[{one_line(name)}: {one_line(_readable(part, str(value)))}]")
        if len(found) > MOST:
            raise ToolError(REFUSED.format(what=f"more than {MOST} headers in its parts"))
    return found


def _can_be_told(part: EmailMessage) -> None:
    """Raise ToolError for a part with something in it that the parser leaves out."""
    coding = str(part.get("Content-Transfer-Encoding", "")).strip().lower()
    written = part.get_payload()
    if any(not isinstance(defect, HALF) for defect in part.defects) or part.get_unixfrom():
        raise ToolError(REFUSED.format(what="a part that cannot be read"))
    if part.is_multipart() or not isinstance(written, str):
        if coding not in AS_IT_IS:
            raise ToolError(REFUSED.format(what="parts in an encoding"))
        before, behind = " ".join((part.preamble or "").split()), (part.epilogue or "").strip()
        if behind or (before and before.rstrip(".").lower() not in PREAMBLES):
            raise ToolError(REFUSED.format(what="text before or behind its parts"))
    elif coding == "base64":
        if not _is_base64("".join(written.split())):
            raise ToolError(REFUSED.format(what="a part with something in it that is no base64"))
    elif coding == "quoted-printable":
        if LONE_RETURN.search(written):
            raise ToolError(REFUSED.format(what="a part with line ends that are none"))
    elif coding not in AS_IT_IS:
        raise ToolError(REFUSED.format(what="a part in an encoding that is not usual"))


def _is_base64(text: str) -> bool:
    """Whether every sign of a text is decoded."""
    try:
        return b64encode(b64decode(text, validate=True)).decode() == text
    except ValueError:
        return False


def _says_more(part: EmailMessage, name: str, value: str, *, top: bool) -> bool:
    """Whether a header says something that is not told elsewhere."""
    if name in IDS and (top or name == "content-id"):
        return not ID_LIST.fullmatch(value.strip())
    if name == "mime-version":
        return value.strip() != "1.0"
    if name in ("content-type", "content-disposition"):
        return _has_more(part, name, value)
    if name == "content-transfer-encoding":  # one of those that are known
        return False
    if name in PEOPLE and top:  # a comment in it is not told with the addresses
        return "(" in _unquoted(value)
    return not top or name == "orig-date" or name.startswith("content-")


def _has_more(part: EmailMessage, name: str, value: str) -> bool:
    """Whether there is more in how a part is made than its kind, its charset and the name that is told."""
    field: Any = part[name]
    bare = _unquoted(value)
    first, *rest = bare.split(";")
    keys = [each.partition("=")[0].strip().lower() for each in rest if each.strip()]
    bases = {key.split("*")[0] for key in keys}
    twice = len(set(keys)) < len(keys) or any(key not in bases and key.split("*")[0] in keys for key in keys)
    if name == "content-disposition":
        usual = first.strip().lower() in ("inline", "attachment")
    else:
        usual = part.get_content_maintype() != "multipart" or part.get_content_type() in KINDS
    return bool(field.defects) or "(" in bare or twice or not usual or not bases <= _known(part, name)


def _known(part: EmailMessage, name: str) -> set[str]:
    """The parameters that are told, or say nothing to people."""
    if part.is_multipart():
        return {"boundary"} if part.get_content_maintype() == "multipart" else set()
    text, shown = part.get_content_maintype() == "text", part.get_content_subtype() in ("plain", "html")
    read = text and shown and part.get_content_disposition() != "attachment"
    of_text = {"charset", "format", "delsp"} if text and name == "content-type" else set()
    if read:
        return of_text
    return of_text | ({"name"} if name == "content-type" and _one_name(part) else {"filename"})


def _one_name(part: EmailMessage) -> bool:
    """Whether the two headers that may name an attachment give it the same name."""
    made, put = (getattr(part[name], "params", {}) for name in MADE[:2])
    return "filename" not in put or made.get("name", put["filename"]) == put["filename"]


def _unquoted(value: str) -> str:
    """A header without what stands in quotes."""
    return "".join(value.replace("\\\\", "").replace('\\"', "").split('"')[::2])


def _readable(part: EmailMessage, value: str) -> str:
    """As it is written, with encoded words decoded: as the header that it is, some of it might be left out."""
    with suppress(Exception):  # the header registry gives up on some values
        value = str(part.policy.header_fetch_parse("x", value))
    return " ".join(value.encode("utf-8", "surrogateescape").decode("utf-8", "replace").split())
