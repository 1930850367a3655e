"""A draft built anew: its headers, texts and attachments as they were read, and nothing else of its bytes.

Mail programs read odd headers, boundaries and encodings differently. None of those of a draft goes out.
"""

from __future__ import annotations

import hashlib
import re
from email.errors import MessageError
from email.message import EmailMessage, MIMEPart
from typing import cast

from mcp.server.mcpserver.exceptions import ToolError

from servers.email.messages import (
    STORED,
    content,
    header,
    header_ids,
    inside,
    is_text,
    message,
    name_of,
    payload,
)
from servers.email.models import ADDRESS, ENCODED
from servers.lines import one_line

# Python leaves out the quotation marks of a name when it divides a line within that.
LONG_LINES = STORED.clone(max_line_length=998)  # the most of RFC 5322
KINDS = ("mixed", "alternative", "related")
PEOPLE = ("from", "sender", "reply-to", "to", "cc", "bcc")
IDS = ("message-id", "in-reply-to", "references")
OF_PARTS = re.compile(r"content-.*|mime-version")
KIND = re.compile(r"[a-z]+/[a-z0-9][a-z0-9!#$&^_.+-]{0,70}")
CID = re.compile(r"<[!-;=?-~]{1,200}>")
REFUSED = "The draft has {what}, which cannot be sent from here as it is shown. Send it from a mail program."


def written(mail: EmailMessage) -> bytes:
    """The bytes. Raises ToolError for what cannot be carried over."""
    try:
        made = _part(mail)
        made["MIME-Version"] = "1.0"
        for name in {name.lower(): name for name in mail}.values():
            for value in _values(mail, name):
                made[name] = value
        _with_boundaries(made)
        built = (made.as_bytes(policy=policy) for policy in (STORED, LONG_LINES))
        data = next((one for one in built if _names_the_same(one, mail)), None)
    except (ValueError, LookupError, MessageError) as error:
        raise ToolError(REFUSED.format(what=f"something odd in it ({one_line(str(error))})")) from error
    if data is None:
        raise ToolError(REFUSED.format(what="names of people that would be read otherwise"))
    return data


def _names_the_same(data: bytes, mail: EmailMessage) -> bool:
    """Whether whoever reads these bytes finds the people that the mail names, each by the same name."""
    try:
        return _people_in(message(data, "The draft")) == _people_in(mail)
    except AttributeError:  # of Python's own reader, where it takes a name for a group
        return False


def _people_in(mail: EmailMessage) -> list[tuple[str, list[tuple[str, str]]]]:
    """Who is named in each header for people, as whoever reads the mail finds them."""
    found = ((name.lower(), field) for name, field in mail.items() if str(field).strip())
    return sorted(
        (name, [(" ".join(each.display_name.split()), each.addr_spec) for each in field.addresses])
        for name, field in found
        if name in PEOPLE
    )


def _values(mail: EmailMessage, name: str) -> list[object]:
    """What a header that is carried over says."""
    kind, found = name.lower(), mail.get_all(name, [])
    if OF_PARTS.fullmatch(kind):
        return []
    if kind in PEOPLE:
        return [_people(name, field) for field in found if str(field).strip()]
    if kind in IDS:
        return [" ".join(ids) for field in found if (ids := header_ids(str(field)))]
    said = [" ".join(str(field).split()) for field in found]
    if any(map(ENCODED.search, said)):  # which would be decoded once more
        raise ToolError(REFUSED.format(what=f"encoded words within its {name[:70]}"))
    return list(said)


def _people(name: str, field: object) -> object:
    """The addresses of a header that names nobody besides. Raises ToolError for any other one."""
    each = getattr(field, "addresses", ())
    groups = [group for group in getattr(field, "groups", ()) if group.display_name]
    wrong = getattr(field, "defects", ()) or groups or not each
    if wrong or not all(ADDRESS.fullmatch(one.addr_spec) and not ENCODED.search(str(one)) for one in each):
        raise ToolError(REFUSED.format(what=f"a {name[:70]} that cannot be read"))
    return tuple(each)


def _part(part: EmailMessage) -> MIMEPart:
    made = MIMEPart(policy=STORED)
    kind, sub = part.get_content_type(), part.get_content_subtype()
    if not KIND.fullmatch(kind) or inside(part) or part.get_content_maintype() == "message":
        raise ToolError(REFUSED.format(what=f"a part of the kind {one_line(kind[:70])}"))
    if part.get_content_maintype() == "multipart":
        return _parts(part, made)
    if is_text(part):
        made.set_content(content(part), subtype=sub)
        return made
    name = "" if name_of(part) == "no name" else name_of(part)
    if ENCODED.search(name):
        raise ToolError(REFUSED.format(what="encoded words within the name of an attachment"))
    how = "inline" if part.get_content_disposition() == "inline" else "attachment"
    cid = header(part, "Content-ID")
    made.set_content(payload(part), part.get_content_maintype(), sub, disposition=how, filename=name or None)
    if CID.fullmatch(cid):
        made["Content-ID"] = cid
    return made


def _parts(part: EmailMessage, made: MIMEPart) -> MIMEPart:
    if part.get_content_subtype() not in KINDS or not part.is_multipart():
        raise ToolError(REFUSED.format(what=f"parts of the kind {one_line(part.get_content_type()[:70])}"))
    made["Content-Type"] = part.get_content_type()
    made.set_payload([_part(cast(EmailMessage, each)) for each in part.iter_parts()])
    return made


def _with_boundaries(made: MIMEPart) -> None:
    """The same ones whenever the same mail is built, which nobody can write into it before."""
    digest = hashlib.sha256()
    for one in made.walk():
        if not one.is_multipart():
            digest.update(str(one.get_payload()).encode("utf-8", "surrogatepass"))
    for number, one in enumerate(one for one in made.walk() if one.is_multipart()):
        one.set_boundary(f"={digest.hexdigest()[:40]}={number}=")
