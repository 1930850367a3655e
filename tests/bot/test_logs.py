"""No secret stands in a log line, and no text makes a line of its own."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.logs import HIDDEN, MAX_LINE, MAX_LINES, Redactor, secrets_of
from bot.settings import Settings

ROOT = Path(__file__).parent.parent.parent
CANARY = "CANARY0123456789"
LINES = [
    f'HTTP Request: POST https://mcp.example/{CANARY}/mcp "HTTP/1.1 200 OK"',
    f"GET https://hooks.example:8443/in?token={CANARY}&a=1 failed",
    f"connecting to postgresql+psycopg://bot:{CANARY}@db.example:5432/main",
    f"rediss://:{CANARY}@redis.example:6379/0 is away",
    f"https://user:pa%2Fss{CANARY}@host.example/x#{CANARY}",
    f"wss://wss-primary.slack.com/link/?ticket={CANARY}&app_id=A1",
    f"token xoxb-1-{CANARY} refused, xoxe.xoxp-1-{CANARY}, xapp-1-{CANARY}",
    f"headers: {{'Authorization': 'Bearer {CANARY}'}}",
    f"Authorization: Basic {CANARY}==",
    f"signed with whsec_{CANARY}+/=",
    f"cs_p_0000_{CANARY} and cs_agent_{CANARY}",
    f"key sk-proj-{CANARY}",
]


def shown(text: str, *args: object) -> str:
    return Redactor().format(logging.LogRecord("bot.x", logging.WARNING, "", 0, text, args, None))


@pytest.mark.parametrize("line", LINES)
def test_a_secret_in_an_address_or_of_a_known_shape_is_hidden(line: str) -> None:
    assert CANARY not in shown("%s", line)


def test_what_is_no_secret_stays() -> None:
    said = shown(
        "the server https://mcp.example:8443/mcp answers, https://mcp.example too; 3 runs of host:42"
    )
    assert "https://mcp.example:8443/… answers, https://mcp.example too; 3 runs of host:42" in said


def test_a_secret_in_a_traceback_is_hidden() -> None:
    try:
        raise ConnectionError(f"https://mcp.example/{CANARY}")
    except ConnectionError:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "failed", (), sys.exc_info())
    said = Redactor().format(record)
    assert "ConnectionError" in said
    assert CANARY not in said


@pytest.mark.parametrize("break_", ["\n", "\r\n", "\r", "\x85", "\u2028", "\x1b[2K", "\u202e", "\x0b"])
def test_a_text_from_outside_makes_no_line_of_its_own(break_: str) -> None:
    said = shown("no such channel: %s", f"x{break_}2026-01-01 INFO bot.wiring: all is well")
    assert len(said.splitlines()) == 1
    assert "\x1b" not in said
    assert "\u202e" not in said


def test_known_secrets_are_hidden_wherever_they_stand() -> None:
    redactor = Redactor()
    redactor.knows([CANARY, "abc"])
    assert redactor.clean(f"x{CANARY}y abc") == f"x{HIDDEN}y abc"


def test_a_long_message_is_cut_and_says_so() -> None:
    said = shown("the header `%s` is wrong", "a=b, \x80" * 40_000)
    assert len(said) < 6 * MAX_LINE
    assert said.endswith(" … [cut: 240,022 characters]")
    assert "the header `a=b, \\x80a=b," in said
    assert shown("x" * MAX_LINE).endswith("x" * MAX_LINE)


@pytest.mark.parametrize("secret", [CANARY, f"https://user:{CANARY}@host.example/", f"Bearer {CANARY}"])
@pytest.mark.parametrize("more", range(1, 45, 3))
def test_of_a_secret_that_is_cut_no_part_stays(secret: str, more: int) -> None:
    redactor = Redactor()
    redactor.knows([CANARY])
    text = f"{'x ' * MAX_LINE}"[: MAX_LINE - more] + " " + secret + " and more" * 20
    record = logging.LogRecord("x", logging.WARNING, "", 0, text, (), None)
    said = redactor.format(record)
    assert "cut:" in said
    assert "CANARY" not in said


def test_a_text_without_spaces_is_cut_before_it() -> None:
    assert "got … [cut: 250,004 characters]" in shown("got %s", "x" * 250_000)


BEFORE_ERROR = 3  # lines of the traceback


def traceback_of(text: str) -> str:
    try:
        raise ValueError(text)
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "failed", (), sys.exc_info())
    return Redactor().format(record)


def test_a_long_traceback_is_cut_and_says_so() -> None:
    said = traceback_of("a\n" * 100_000 + "the end")
    assert len(said.splitlines()) <= MAX_LINES + 2
    assert "Traceback" in said
    assert said.endswith("  a\n  the end")
    assert "\n  … [cut: 99,944 lines]\n" in said
    assert traceback_of("b " * 100_000).endswith("b … [cut: 200,012 characters]")
    assert len(traceback_of("b " * 100_000)) < 2 * MAX_LINE


@pytest.mark.parametrize("break_", ["\n", "\r\n", "\r", "\x85", "\u2028", "\n\x1b[2K"])
def test_what_an_error_quotes_looks_like_no_record(break_: str) -> None:
    first, *below = traceback_of(
        f"x{break_}2026-01-01 12:00:00,000 INFO bot.wiring: all is well"
    ).splitlines()
    assert first.startswith("20")
    assert all(line.startswith("  ") for line in below)
    assert "\x1b" not in "".join(below)


@pytest.mark.parametrize(("lines", "cut"), [(10, 0), (MAX_LINES, 0), (MAX_LINES + 1, 1), (MAX_LINES + 9, 9)])
def test_a_traceback_loses_lines_only_where_it_has_too_many(lines: int, cut: int) -> None:
    _, *below = traceback_of("\n".join(map(str, range(lines - BEFORE_ERROR)))).split("\n  ")
    told = [line for line in below if "cut" in line]
    assert told == ([f"… [cut: {cut} lines]"] if cut else [])
    assert len(below) - len(told) == lines - cut
    assert below[-1] == str(lines - BEFORE_ERROR - 1)


SAYS = """
import asyncio, logging, sys
from bot import logs
from bot.cli import main as cli
from bot.settings import Settings
async def does(settings):
    for name in sys.argv[2].split(","):
        for level in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
            logging.getLogger(name).log(level, "%s at %s", sys.argv[1], logging.getLevelName(level))
    logging.getLogger("bot.wiring").debug("our own words")
    raise RuntimeError(sys.argv[1])
import types; sys.modules["says"] = types.SimpleNamespace(does=does)
old = cli.parser
def parser():
    top = old(); top.set_defaults(does="says:does", slack=False); return top
cli.parser = parser
sys.argv, said = sys.argv, ["--log", "DEBUG", "--traceback"]
sys.exit(cli.main(said))
"""


@pytest.mark.slow
def test_at_debug_no_library_and_no_traceback_says_a_secret(tmp_path: Path) -> None:
    """In a process of its own, as it is started, with every place where settings hold a secret."""
    names = (
        "httpx,httpx2,httpcore,aiohttp.client,mcp.client,openai,anthropic,urllib3.connectionpool,slack_sdk,"
    )
    names += "slack_bolt,sqlalchemy.engine,aiosqlite,dbos,redis,asyncio,bot.app,tools.mcp.transport"
    canaries = {
        name: f"CANARY-{name}-0123456789abcdef"
        for name in ("db", "redis", "url", "header", "env", "sign", "key")
    }
    servers = {
        "far": {
            "url": f"https://mcp.example/{canaries['url']}/mcp",
            "headers": {"X-Key": canaries["header"]},
        },
        "near": {"command": "true", "env": {"API_KEY": canaries["env"]}},
    }
    (tmp_path / "countersign.yaml").write_text(json.dumps({"mcpServers": servers}))
    environ = {
        "DATABASE_URL": f"postgresql://bot:{canaries['db']}@127.0.0.1:1/x",
        "REDIS_URL": f"redis://:{canaries['redis']}@127.0.0.1:1",
        "SLACK_BOT_TOKEN": "xoxb-CANARY-bot-0123",
        "SLACK_APP_TOKEN": "xapp-CANARY-app-0123",
        "SLACK_SIGNING_SECRET": canaries["sign"],
        "COUNTERSIGN_AUDIT_KEY": canaries["key"] + "x" * 20,
        "COUNTERSIGN_HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "PATH": os.environ["PATH"],
    }
    text = " ".join(environ.values()) + " " + " ".join(one for name, one in canaries.items() if name != "key")
    ran = subprocess.run(
        [sys.executable, "-c", SAYS, text, names],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert "our own words" in ran.stderr
    assert "CANARY" not in ran.stderr + ran.stdout
    assert "httpx at" not in ran.stderr
    assert " INFO httpx" not in ran.stderr
    assert " WARNING httpx2" in ran.stderr
    settings = Settings.load(environ, tmp_path)
    assert {*canaries.values()} - {canaries["key"]} <= {*secrets_of(settings)}
