"""A Maildir with a few mails, the mail server over it, and another mail server that takes what it is sent."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.headerregistry import Address
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, Envelope
from mcp.server import MCPServer

from servers.command_line import zone
from servers.email import server
from servers.email.smtp import Post
from tests.servers.gate_around_server import Gate, gated
from tests.servers.test_task_tools import Now

ME = Address("Ann Example", addr_spec="ann@example.com")
CLASSES = {
    **dict.fromkeys(
        "list_drafts search_emails summarize_thread read_email preview_draft preview_send preview_delete "
        "get_metadata describe_paths preview_restore".split(),
        "read",
    ),
    "draft_email": "write",
    "restore_file": "write",
    "delete_draft": "destructive",
    "delete_file": "destructive",
    "send_draft": "destructive",
}
INBOX = {
    "1.first.host:2,S": """From: Bob Builder <bob@example.com>
To: Ann Example <ann@example.com>
Cc: Cleo <cleo@example.com>
Subject: The Q3 report
Date: Wed, 18 Nov 2026 09:12:00 +0100
Message-ID: <one@example.com>

Hi Ann,

can you send me the figures? The board meets on Friday.
See https://example.com/?q=1 for the rest.

-- 
Bob? The builder
""",
    "2.second.host": """From: Cleo <cleo@example.com>
To: Bob Builder <bob@example.com>
Subject: Re: The Q3 report
Date: Thu, 19 Nov 2026 10:00:00 +0000
Message-ID: <two@example.com>
In-Reply-To: <one@example.com>
References: <one@example.com>
Content-Type: text/html; charset=utf-8

<html><head><style>p {color: red}</style></head><body><p>They are with Ann.</p>
<p>Is Friday fixed?</p><blockquote>On Wed, 18 Nov 2026 Bob wrote:</blockquote></body></html>
""",
    "3.other.host:2,RS": """From: =?utf-8?q?J=C3=BCrgen?= <juergen@example.org>
To: ann@example.com
Subject: =?utf-8?b?w4RyZ2Vy?=
Date: Fri, 20 Nov 2026 08:00:00 -0500
Message-ID: <three@example.org>

Lunch?
""",
}  # fmt: skip


def maildir(folder: Path) -> Path:
    """Three mails, two of them in one thread; one of those has not been read."""
    home = folder / "mail"
    for part in ("cur", "new", "tmp", ".Drafts/cur"):
        (home / part).mkdir(parents=True, exist_ok=True)
    for name, text in INBOX.items():
        (home / ("cur" if ":2," in name else "new") / name).write_text(text)
    return home


@dataclass
class Taken:
    """What the other mail server was sent, and what it refuses."""

    mails: list[Envelope] = field(default_factory=list)
    refuses: set[str] = field(default_factory=set)
    answer: str = "250 taken"
    vanishes: bool = False

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if address in self.refuses:
            return "550 nobody of that name"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Envelope) -> str:
        self.mails.append(envelope)
        if self.vanishes:
            server.transport.abort()
        return self.answer


@asynccontextmanager
async def listening(taken: Taken, tls: ssl.SSLContext | None = None, **options: Any) -> AsyncIterator[int]:
    """The port of a mail server of somebody else's making."""
    loop = asyncio.get_running_loop()
    running: list[SMTP] = []

    def made() -> SMTP:
        running.append(SMTP(taken, loop=loop, hostname="localhost", **options))
        return running[-1]

    listener = await loop.create_server(made, "127.0.0.1", 0, ssl=tls)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        for each in running:
            if each.transport:
                each.transport.abort()
        await listener.wait_closed()


def mail_app(home: Path, post: Post | None = None, clock: Callable[[], Any] | None = None) -> MCPServer:
    number = iter(range(1, 100))
    return server(home, ME, post, zone("UTC"), clock or Now(), lambda: f"id{next(number)}")


@asynccontextmanager
async def mailing(home: Path, post: Post | None = None) -> AsyncIterator[Gate]:
    async with gated(home.parent / "logs", "email", mail_app(home, post)) as gate:
        yield gate


@asynccontextmanager
async def posting(home: Path, taken: Taken) -> AsyncIterator[Gate]:
    """The mail server over this Maildir, with somebody who takes its mails."""
    async with listening(taken) as port, mailing(home, Post("127.0.0.1", port, "none")) as gate:
        yield gate
