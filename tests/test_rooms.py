"""The rooms keep their doors: every rule of the house, over every module that is there."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tests import rooms
from tests.rooms import Rule, parse, require


@pytest.fixture(scope="module", autouse=True)
def _let_go_of_the_trees() -> Iterator[None]:
    """The trees of all modules are millions of nodes. Kept, they cost every test behind these seconds at a time: the
    garbage collector looks at each of them."""
    gc.disable()
    yield
    rooms.in_folder.cache_clear()
    gc.enable()


# promise: REVIEW-32
def test_rooms_import_only_in_their_direction() -> None:
    require(rooms.wrong_direction)


def test_the_folders_of_the_gate_import_only_in_their_direction() -> None:
    require(rooms.wrong_direction_in_the_gate, "gate")


def test_each_library_is_known_in_its_own_room() -> None:
    require(rooms.foreign_library)


def test_the_api_and_slacks_edge_know_nothing_of_each_other() -> None:
    require(rooms.edges_that_meet)


def test_among_the_edges_only_the_gateway_speaks_mcp() -> None:
    require(rooms.mcp_outside_the_gateway)


def test_files_of_others_are_parsed_in_the_sandbox_alone() -> None:
    require(rooms.parser_outside_the_sandbox, "servers")


def test_only_the_engine_knows_dbos() -> None:
    require(rooms.engine_outside_its_port)


def test_only_the_line_to_the_model_knows_its_libraries() -> None:
    require(rooms.model_outside_its_line)


def test_the_gate_is_pure() -> None:
    require(rooms.impure_gate, "gate")


def test_the_gate_waits_only_in_actions_and_tasks() -> None:
    require(rooms.asynchronous_gate, "gate")


def test_the_environment_is_read_only_in_settings() -> None:
    require(rooms.environment_outside_settings)


def test_a_slack_payload_is_read_only_in_parse() -> None:
    require(rooms.payload_outside_parse)


def test_only_cards_speaks_to_slack() -> None:
    require(rooms.slack_call_outside_cards)


# promise: ACT-08
def test_only_the_client_calls_tools() -> None:
    require(rooms.tool_call_outside_client)


def test_modules_are_short() -> None:
    require(rooms.too_long_a_module, *rooms.DIRECTIONS, "benchmarks")


def test_functions_are_short() -> None:
    require(rooms.too_long_a_function, *rooms.DIRECTIONS, "benchmarks")


def test_every_module_says_its_job() -> None:
    require(rooms.no_docstring, *rooms.DIRECTIONS, "benchmarks", "tests")


def test_comments_and_docstrings_cite_only_what_a_reader_can_open() -> None:
    require(rooms.unresolvable_citation, *rooms.DIRECTIONS, "benchmarks", "tests")


def test_names_say_what_a_thing_is() -> None:
    require(rooms.empty_name, *rooms.DIRECTIONS, "benchmarks", "tests")


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (rooms.wrong_direction, "gate/x.py", "from storage.ledger import Ledger"),
        (rooms.wrong_direction, "views/x.py", "import tools.mcp.client"),
        (rooms.wrong_direction, "handlers/x.py", "def f():\n    from bot import engine"),
        (rooms.wrong_direction, "workspace/x.py", "from gate.rules import action"),
        (rooms.wrong_direction_in_the_gate, "gate/rules/x.py", "from gate.actions import undo"),
        (rooms.wrong_direction_in_the_gate, "gate/arguments/x.py", "from gate.rules.policy import decide"),
        (rooms.wrong_direction_in_the_gate, "gate/sentences/x.py", "from gate.rules import task"),
        (rooms.wrong_direction, "servers/x.py", "import workspace"),
        (rooms.foreign_library, "handlers/x.py", "import redis.asyncio as r"),
        (rooms.foreign_library, "storage/x.py", "from mcp import ClientSession"),
        (rooms.edges_that_meet, "handlers/api/x.py", "from slack_sdk.errors import SlackApiError"),
        (rooms.edges_that_meet, "handlers/api/x.py", "from views.card import card"),
        (rooms.edges_that_meet, "handlers/api/x.py", "from handlers.slack.listener import Reply"),
        (rooms.edges_that_meet, "handlers/x.py", "from handlers.api.models import Action"),
        (rooms.mcp_outside_the_gateway, "handlers/api/actions.py", "from mcp_types import Tool"),
        (rooms.parser_outside_the_sandbox, "servers/email/tools.py", "import email.policy"),
        (
            rooms.parser_outside_the_sandbox,
            "servers/email/tools.py",
            "from email import message_from_bytes",
        ),
        (rooms.parser_outside_the_sandbox, "servers/email/tools.py", "from servers.email import messages"),
        (
            rooms.parser_outside_the_sandbox,
            "servers/email/tools.py",
            "from servers.email.messages import header",
        ),
        (rooms.parser_outside_the_sandbox, "servers/calendar/events.py", "from icalendar import Calendar"),
        (rooms.parser_outside_the_sandbox, "servers/ocr.py", "def f():\n    import PIL.Image"),
        (
            rooms.parser_outside_the_sandbox,
            "servers/data/sources.py",
            "from servers.formats.tables import records",
        ),
        (rooms.parser_outside_the_sandbox, "servers/system.py", "import pypdf"),
        (rooms.parser_outside_the_sandbox, "servers/data/writing.py", "from sqlite3 import connect"),
        (
            rooms.parser_outside_the_sandbox,
            "servers/data/sources.py",
            "from servers.sqlite.reading import opened",
        ),
        (
            rooms.parser_outside_the_sandbox,
            "servers/knowledge/indexing.py",
            "from servers.knowledge import tasks",
        ),
        (rooms.engine_outside_its_port, "bot/wire.py", "from dbos import DBOS"),
        (rooms.model_outside_its_line, "tools/model/planner.py", "from pydantic_ai import Agent"),
        (rooms.model_outside_its_line, "bot/planner.py", "def f():\n    import openai"),
        (rooms.impure_gate, "gate/x.py", "from os.path import join"),
        (rooms.impure_gate, "gate/x.py", "import yaml"),
        (rooms.impure_gate, "gate/actions/x.py", "import datetime\nx = datetime.datetime.now()"),
        (rooms.impure_gate, "gate/x.py", "from uuid import uuid4\nx = uuid4()"),
        (rooms.impure_gate, "gate/x.py", "x = open('y')"),
        (rooms.impure_gate, "gate/actions/x.py", "import asyncio\nasync def f(): await asyncio.sleep(1)"),
        (rooms.asynchronous_gate, "gate/x.py", "async def f(): ..."),
        (rooms.asynchronous_gate, "gate/x.py", "class A:\n    async def f(self): ..."),
        (rooms.environment_outside_settings, "servers/x.py", "import os\nx = os.environ['A']"),
        (rooms.environment_outside_settings, "bot/x.py", "from os import getenv"),
        (rooms.payload_outside_parse, "handlers/x.py", "def f(body): return body['user']"),
        (rooms.payload_outside_parse, "bot/x.py", "def f(body): return body.get('user')"),
        (
            rooms.slack_call_outside_cards,
            "handlers/x.py",
            "async def f(c): await c.chat_postMessage(text='')",
        ),
        (rooms.slack_call_outside_cards, "handlers/x.py", "async def f(respond): await respond('')"),
        (rooms.slack_call_outside_cards, "handlers/x.py", "async def f(say): await say('')"),
        (rooms.slack_call_outside_cards, "bot/x.py", "async def f(c): await c.api_call('chat.update')"),
        (rooms.tool_call_outside_client, "tools/x.py", "async def f(s): await s.call_tool('t', {})"),
        (rooms.too_long_a_module, "gate/x.py", "x = 1\n" * 501),
        (rooms.too_long_a_function, "gate/x.py", "def f():\n" + "    x = 1\n" * 50),
        (rooms.no_docstring, "gate/x.py", "x = 1"),
        (rooms.no_docstring, "gate/x.py", '"""\nA job\nin two lines."""'),
        (rooms.unresolvable_citation, "gate/x.py", "x = 1  # as design.md says"),
        (rooms.unresolvable_citation, "gate/x.py", '"""A job (docs/no-such-page.md)."""'),
        (rooms.unresolvable_citation, "gate/x.py", 'def f():\n    """Reads (spec 003)."""'),
        (rooms.unresolvable_citation, "gate/x.py", 'class A:\n    """Strict: T-04."""'),
        (rooms.unresolvable_citation, "gate/x.py", "x = 1  # see section 3.1"),
        (rooms.unresolvable_citation, "gate/x.py", "x = 1  # docs/promises.md GATE-99"),
        (rooms.unresolvable_citation, "gate/x.py", "x = 1  # ADR 99"),
        (rooms.empty_name, "gate/utils.py", "x = 1"),
        (rooms.empty_name, "gate/x.py", "class LeaseManager: ..."),
        (rooms.empty_name, "gate/x.py", "def ask_helper(): ..."),
    ],
)
def test_each_rule_catches_who_breaks_it(rule: Rule, path: str, text: str) -> None:
    assert len(rule(parse(path, text))) == 1


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (rooms.wrong_direction, "bot/x.py", "import gate, views, storage, tools, handlers"),
        (rooms.wrong_direction, "handlers/x.py", "from gate.tasks import inbox as ask"),
        (rooms.edges_that_meet, "handlers/api/x.py", "from handlers.api import models"),
        (rooms.edges_that_meet, "handlers/x.py", "from handlers.slack.listener import Reply"),
        (rooms.parser_outside_the_sandbox, "servers/email/messages.py", "import email.policy"),
        (rooms.parser_outside_the_sandbox, "servers/data/tasks.py", "import openpyxl"),
        (rooms.parser_outside_the_sandbox, "servers/system.py", "from PIL import Image"),
        (rooms.parser_outside_the_sandbox, "servers/task/store.py", "import sqlite3"),
        (
            rooms.parser_outside_the_sandbox,
            "servers/data/sources.py",
            "from servers.sqlite.files import HEADER",
        ),
        (
            rooms.parser_outside_the_sandbox,
            "servers/email/mailboxes.py",
            "from email.headerregistry import Address",
        ),
        (
            rooms.parser_outside_the_sandbox,
            "servers/email/mailboxes.py",
            "from servers.email import mailboxes",
        ),
        (rooms.engine_outside_its_port, "bot/engine.py", "from dbos import DBOS"),
        (
            rooms.model_outside_its_line,
            "tools/model/provider_client.py",
            "from pydantic_ai.direct import model_request",
        ),
        (rooms.impure_gate, "gate/x.py", "import hashlib\nfrom datetime import datetime"),
        (rooms.impure_gate, "gate/actions/x.py", "async def f(world): return world.clock.now()"),
        (rooms.asynchronous_gate, "gate/actions/x.py", "async def f(world): ..."),
        (rooms.asynchronous_gate, "gate/x.py", "class A(Protocol[T]):\n    async def f(self): ..."),
        (rooms.environment_outside_settings, "bot/settings.py", "import os\nx = os.environ"),
        (rooms.payload_outside_parse, "handlers/slack/payloads.py", "def f(body): return body['user']"),
        (rooms.payload_outside_parse, "handlers/x.py", "def f(body): return body[:10]"),
        (rooms.payload_outside_parse, "views/x.py", "def f(body): return body['text']"),
        (rooms.slack_call_outside_cards, "gate/actions/x.py", "def f(say): say('a word')"),
        (rooms.slack_call_outside_cards, "bot/slack_messages.py", "async def f(c): await c.chat_update()"),
        (
            rooms.slack_call_outside_cards,
            "bot/message_streams.py",
            "async def f(c): await c.chat_startStream()",
        ),
        (rooms.tool_call_outside_client, "tools/mcp/client.py", "async def f(s): await s.call_tool('t', {})"),
        (rooms.unresolvable_citation, "gate/x.py", "x = 1  # docs/promises.md GATE-07, ADR 6"),
        (
            rooms.unresolvable_citation,
            "gate/x.py",
            "x = 1  # https://example.com/design.md, RFC 9457, section 3",
        ),
        (rooms.unresolvable_citation, "gate/x.py", '"""A job (docs/decisions/0006-undo.md)."""'),
        (rooms.unresolvable_citation, "gate/x.py", "x = 1  # as in move a.md to archive/a.md"),
        (rooms.unresolvable_citation, "gate/x.py", "x = 'design.md'"),
        (rooms.empty_name, "gate/x.py", "from contextlib import contextmanager"),
    ],
)
def test_each_rule_accepts_code_that_follows_it(rule: Rule, path: str, text: str) -> None:
    assert rule(parse(path, text)) == []
