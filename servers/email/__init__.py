"""An MCP server over a Maildir: search, threads, drafts, and sending what was shown to whom it was shown."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from email.headerregistry import Address
from pathlib import Path
from zoneinfo import ZoneInfo

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from servers.command_line import Arguments, Clock, utc_now, zone
from servers.days import Days
from servers.email import models
from servers.email.mailboxes import DRAFTS, OUTBOX, SENT, Account, Boxes
from servers.email.smtp import Post
from servers.email.tools import CARDS, Tools
from servers.filesystem import trash
from servers.folders import House
from servers.tool_metadata import mcp_server

__all__ = ["configured", "server"]
PARTS = ("cur", "new", "tmp")


def new_id() -> str:
    return secrets.token_hex(8)


def server(
    maildir: Path,
    sender: Address,
    post: Post | None = None,
    timezone: ZoneInfo | None = None,
    clock: Clock = utc_now,
    ids: Callable[[], str] = new_id,
) -> MCPServer:  # fmt: skip
    """The server over this Maildir, which is made when the folder is empty or not there.

    `post` None: drafts are kept and nothing can be sent. Raises ValueError with a sentence when the folder is
    something else.
    """
    _mailboxes(maildir)
    house, days = House.at([maildir], clock), Days(clock, timezone or zone("UTC"))
    desk = Account(Boxes(house.roots), sender, days, post, ids)
    owners = (Tools(desk), house.file_tools)
    about = (
        f"Mail in a Maildir, sent as {sender}. Messages and drafts have short ids. Deleted drafts stay "
        f"{trash.KEEP.days} days in the trash; a mail that was sent cannot be taken back."
    )
    return mcp_server("email", "Mail", about, CARDS, owners, house.roots.places)


def _mailboxes(maildir: Path) -> None:
    """Make the mailboxes that are needed. Raises ValueError with a sentence, also for one that is a link."""
    boxes = [Path(".", box) for box in (".", f".{DRAFTS}", f".{SENT}", f".{OUTBOX}")]
    needed = [box / part for box in boxes for part in PARTS]
    for inner in (*boxes, *needed):
        if (maildir / inner).is_symlink():
            raise ValueError(
                f"{maildir / inner} is a link. Name the folder itself: links are not followed here."
            )
    try:
        maildir.mkdir(exist_ok=True)
        if any(maildir.iterdir()) and not (maildir / "cur").is_dir():
            raise ValueError(
                f"{maildir} has no folder cur, so it is no Maildir. Name one, or an empty folder."
            )
        for inner in needed:
            (maildir / inner).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"{maildir} cannot be used as a Maildir: {error.strerror}.") from error


def configured(words: Sequence[str | Path]) -> MCPServer:
    """The server as its arguments say. Raises ValueError with a sentence."""
    parser = Arguments(prog="python -m servers.email", description="An MCP server over a Maildir.")
    parser.add_argument("--maildir", type=Path, required=True, help="made when it is not there")
    parser.add_argument("--from", dest="sender", required=True, help="who sends: Ann <ann@example.com>")
    parser.add_argument("--timezone", default="UTC", metavar="ZONE", help="like Europe/Berlin")
    parser.add_argument("--smtp-host", default="", help="the mail server; without it nothing can be sent")
    parser.add_argument("--smtp-port", type=int, default=587)
    parser.add_argument("--smtp-security", choices=["starttls", "tls", "none"], default="starttls")
    parser.add_argument("--smtp-user", default="")
    parser.add_argument("--smtp-password-file", type=Path, help="a file that holds the password alone")
    parser.add_argument("--smtp-ca", type=Path, help="certificates to trust besides those of the system")
    found = parser.parse_args([str(word) for word in words])
    post = Post(
        found.smtp_host, found.smtp_port, found.smtp_security, found.smtp_user, found.smtp_password_file,
        found.smtp_ca,
    )  # fmt: skip
    try:
        sender = models.sender(found.sender)
        return server(found.maildir, sender, post if found.smtp_host else None, zone(found.timezone))
    except ToolError as error:
        raise ValueError(str(error)) from error
