"""What is logged: our own words at the level that was asked for, libraries' warnings; no secret, no forged line."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from bot.settings import Settings

OURS = ("bot", "gate", "handlers", "servers", "storage", "tools", "views", "workspace")
HIDDEN = "[hidden]"
# Characters of a message or of a line below it, and lines below it: some texts are of others, and long.
MAX_LINE, MAX_LINES = 2000, 60
BELOW = "  "  # before each line below a record: an error may quote one that looks like a record
SHORTEST = 6  # characters of a text that is looked for as a secret: shorter ones stand in usual words
# Of an address only the scheme, the host and the port are logged: each other part may hold a secret.
URL = re.compile(
    r"\b([a-zA-Z][a-zA-Z0-9+.-]{0,30}://)(?:[^\s/?#\"'<>@]{0,500}@)?([^\s/?#\"'<>@]*)([/?#][^\s\"'<>]*)?"
)
SHAPES = re.compile(
    r"\bxox[a-z](?:\.[a-z]+)?-[\w-]{4,}|\bxapp-[\w-]{4,}|\bwhsec_[\w+/=-]{4,}|\bcs_[a-z]+_[\w-]{4,}|\bsk-[\w-]{8,}"
    r"|(?<=Bearer )[^\s\"',]{4,}|(?<=Basic )[\w+/=]{4,}"
)
CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
SECRET_NAME = re.compile("key|token|secret|pass|pwd|auth|cred", re.IGNORECASE)


class Redactor(logging.Formatter):
    """Writes a record in one line, tracebacks below it, cut where they are long, without what is secret."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._known: tuple[str, ...] = ()

    def knows(self, secrets: Iterable[str]) -> None:
        """Hide these texts as well, wherever they stand."""
        found = {*self._known, *(one for one in secrets if len(one) >= SHORTEST)}
        self._known = tuple(sorted(found, key=lambda one: (-len(one), one)))

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = _visible(self._cut(record.message))
        return super().formatMessage(record)

    def format(self, record: logging.LogRecord) -> str:
        line, *below = super().format(record).split("\n", 1)
        cut = [line, *map(self._cut, _fewer(below[0] if below else ""))]
        first, *rest = self.clean("\n".join(cut)).split("\n")
        return "\n".join([first, *(BELOW + _visible(one) for one in rest)])

    def _cut(self, text: str) -> str:
        """The text up to the end of a word: half a secret would not be known as one."""
        if len(text) <= MAX_LINE:
            return text
        words = self.without_known(text[: 8 * MAX_LINE])[:MAX_LINE].rsplit(maxsplit=1)
        return f"{words[0] if len(words) > 1 else ''} … [cut: {len(text):,} characters]"

    def clean(self, text: str) -> str:
        """The text without secrets: those that are known, those of a known shape, and what may be one in an address."""
        return SHAPES.sub(HIDDEN, URL.sub(_bare, self.without_known(text)))

    def without_known(self, text: str) -> str:
        for one in self._known:
            text = text.replace(one, HIDDEN)
        return text


def _visible(line: str) -> str:
    return CONTROL.sub(lambda found: ascii(found[0])[1:-1], line)


def _fewer(text: str) -> list[str]:
    """The lines of a text, those in the middle of a long one left out."""
    first = text.split("\n", MAX_LINES // 2)
    if len(first) <= MAX_LINES // 2:
        return first if text else []
    last = first.pop().rsplit("\n", MAX_LINES // 2)
    if len(last) > MAX_LINES // 2:
        last[0] = f"… [cut: {last[0].count(chr(10)) + 1:,} lines]"
    return first + last


def _bare(found: re.Match[str]) -> str:
    return f"{found[1]}{found[2]}{'/…' if found[3] and len(found[3]) > 1 else found[3] or ''}"


def configure(level: str) -> Redactor:
    """Log to standard error. Libraries log at WARNING whatever was asked for: below that they tell whole requests,
    statements and their values. Where somebody has set up logging before, that stays."""
    redactor, handler = Redactor(), logging.StreamHandler()
    handler.setFormatter(redactor)
    if logging.getLogger().hasHandlers():
        return redactor
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    for name in OURS:
        logging.getLogger(name).setLevel(level)
    return redactor


def secrets_of(settings: Settings) -> Iterator[str]:
    """Every secret that the settings hold, also as a part of an address."""
    given = (
        settings.bot_token,
        settings.signing_secret,
        settings.app_token,
        settings.token,
        settings.audit_secret,
    )
    yield from (one.reveal() for one in (*given, *settings.audit_retired) if one)
    if settings.model:
        yield settings.model.key
    for server in settings.servers:
        yield from server.headers.values()
        yield from (value.rpartition(" ")[2] for value in server.headers.values())
        yield from (value for name, value in server.env.items() if SECRET_NAME.search(name))
        for text in (server.url, *server.args, *server.env.values()):
            yield from _within(text)
    for url in (settings.redis_url or "", settings.database_url):
        yield from _within(url, path=False)


def _within(url: str, *, path: bool = True) -> Iterator[str]:
    """What may be secret in an address: the password, and long parts of path and query."""
    try:
        parts = urlsplit(url if "://" in url else "")
        password = parts.password
    except ValueError:
        return
    if password:
        yield from (password, unquote(password))
    if path:
        long = (one for one in re.split("[/&=]", f"{parts.path}&{parts.query}") if len(one) >= 16)
        yield from (text for one in long for text in (one, unquote(one)))
