"""The rules of the house as functions: a module in, the lines that break the rule out."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
# Whom a room may import besides itself. The workspace and the servers stand alone; nobody imports bot.
DIRECTIONS: dict[str, set[str]] = {
    "gate": set(),
    "views": {"gate"},
    "storage": {"gate"},
    "tools": {"gate"},
    "handlers": {"gate", "views"},
    "bot": {"gate", "views", "storage", "tools", "handlers", "servers", "workspace"},
    "servers": set(),
    "workspace": set(),
}
STAND_ALONE = {"servers", "workspace"}
# Inside of gate: whom a folder may import besides itself. What arguments say is read with the values of a call alone.
VALUES = {f"rules.{module}" for module in ("action", "tool", "templates", "diffs", "url_guard")}
FOLDERS: dict[str, set[str]] = {
    "sentences": {"arguments"},
    "arguments": VALUES,
    "rules": {"arguments", "sentences"},
}
FACING_SLACK = {"handlers", "bot"}  # elsewhere a `body` is no payload and `say` no Slack call
# The rooms that may know a library; bot, which wires them, may know all.
LIBRARIES = {
    "sqlalchemy": {"storage", "servers"},  # a server may read a database that is not its own
    "alembic": {"storage"},
    "psycopg": {"storage"},
    "aiosqlite": {"storage"},
    "redis": {"storage"},
    "mcp": {"tools", "servers", "handlers"},
    "slack_bolt": {"handlers"},
    "slack_sdk": {"handlers"},
}
# Libraries that take apart what others wrote, and the modules of ours that use them: these run in the sandbox alone.
PARSERS = set("pypdf pypdfium2 docx openpyxl PIL icalendar recurring_ical_events pytesseract mailbox".split())
PARSERS |= set("zipfile tarfile xml defusedxml lxml sqlite3".split())
MAIL_PARSER = re.compile(r"email(\.(?!headerregistry\.Address$|utils\.format_datetime$).*)?")
SANDBOXED = re.compile(
    r"servers/(formats/\w+|\w+/tasks|email/(complete_text|invitations|messages|rebuilt|sending|texts|wording)|sqlite/(?!files\b)\w+|data/(deduplicate|quality|table|values)|knowledge/text_parts|detection/personal)\.py"
)
# Who uses such a library for nothing of others: pictures of the screen, and databases of our own.
OWN = {
    "servers/system.py": {"PIL"},
    "servers/task/store.py": {"sqlite3"},
    "servers/clipboard.py": {"sqlite3"},
    "servers/email/search.py": {"sqlite3"},
}
# Inside handlers: Slack's edge and the API know nothing of each other.
API = "handlers/api/"
# And in handlers, only the gateway speaks MCP.
GATEWAY = "handlers/gateway/"
SLACKS = re.compile(r"slack_bolt|slack_sdk|views|handlers\.slack")
APIS = re.compile(r"pydantic|handlers\.(api|gateway)")
MODEL_LIBRARIES = {"pydantic_ai", "openai", "anthropic"}
ENGINE = {"bot/engine.py", "bot/heartbeats.py"}
IMPURE_MODULES = set("io os pathlib random secrets shutil socket ssl subprocess tempfile time".split())
IMPURE_CALL = re.compile(
    r"(.*\.)?(datetime|date)\.(now|utcnow|today)|(uuid\.)?uuid[14]|asyncio\.sleep|open|print|input|exec|eval"
)
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb", "putenv"}
SLACK_CALL = re.compile(r"(.*\.)?(chat_\w+|views_\w+|agents_sessions_\w+|api_call|respond)", re.DOTALL)
EMPTY_NAME = re.compile(r"(^|_)(utils?|helpers?|managers?)(_|$)|(Utils?|Helpers?|Managers?)$")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# What a comment or docstring may name as its source: an address, an RFC, a page of this repository, a promise.
PUBLIC = re.compile(r"https?://\S+|RFC \d+(, [Ss]ections? [\d.]+)?")
OURS = re.compile(
    r"[\w./-]+\.md\b(, [Ss]ections? [\d.]+)?|\b(?:ACT|TASK|VERB|GATE|REVIEW|API)-\d\d\b|\bADR \d+"
)
ELSEWHERE = re.compile(r"\b[Ss]pecs? \d+|\bT-\d\d\b|\b([Ss]ection|[Pp]itfall)s? \d[\d.]*")
# Files of examples that people work on, in sentences such as "move a.md to b.md": no documents.
EXAMPLE = re.compile(r"/*((expected\.)?\w+/)?([a-z]|notes|lease-2026|q3-\w+)\.md")
MODULE_LINES = 500
FUNCTION_LINES = 50
# "path:function" of those that may be longer, with the reason.
LONG_FUNCTIONS: dict[str, str] = {}


@dataclass(frozen=True)
class Module:
    """One source file: its path from the root, its text and its syntax tree."""

    path: str
    text: str
    tree: ast.Module

    @property
    def room(self) -> str:
        return top(self.path, "/")

    def at(self, node: ast.AST, what: str) -> str:
        return f"{self.path}:{getattr(node, 'lineno', 1)} {what}"

    @cached_property
    def of_kind(self) -> dict[type, list[Any]]:
        """Every node of the tree by its exact class: many rules ask for some of them."""
        found = dict[type, list[Any]]()
        for node in ast.walk(self.tree):
            found.setdefault(type(node), []).append(node)
        return found

    def nodes(self, *kinds: type) -> Iterator[Any]:
        """Those of concrete classes, such as `ast.Call` and not `ast.expr`, one class after the other."""
        return (node for kind in kinds for node in self.of_kind.get(kind, ()))


Rule = Callable[[Module], list[str]]


def modules(*folders: str) -> tuple[Module, ...]:
    """Every module of the folders; of all rooms when none is named."""
    return tuple(module for folder in folders or DIRECTIONS for module in in_folder(folder))


@cache
def in_folder(folder: str) -> tuple[Module, ...]:
    """Its modules, parsed once for all rules, whatever other folders a rule is about."""
    files = sorted((ROOT / folder).rglob("*.py"))
    return tuple(parse(file.relative_to(ROOT).as_posix(), file.read_text("utf-8")) for file in files)


def parse(path: str, text: str) -> Module:
    return Module(path, text, ast.parse(text, path))


def require(rule: Rule, *folders: str) -> None:
    """Fail with the lines that break the rule, one below the other."""
    if broken := [line for module in modules(*folders) for line in rule(module)]:
        pytest.fail("\n".join([f"{rule.__name__}:", *broken]), pytrace=False)


def top(name: str, separator: str = ".") -> str:
    return name.split(separator)[0]


def imports(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """Each import with the dotted name it loads; `from a import b` counts as a.b."""
    for node in module.nodes(ast.Import):
        yield from ((node, alias.name) for alias in node.names)
    for node in module.nodes(ast.ImportFrom):
        if node.level == 0:  # relative ones stay inside
            yield from ((node, f"{node.module}.{alias.name}") for alias in node.names)


def calls(module: Module) -> Iterator[tuple[ast.Call, str]]:
    """Each call with what is called, as in `client.chat_update`."""
    return ((node, ast.unparse(node.func)) for node in module.nodes(ast.Call))


def wrong_direction(module: Module) -> list[str]:
    closed = DIRECTIONS.keys() - DIRECTIONS[module.room] - {module.room}
    return [module.at(node, f"imports {name}") for node, name in imports(module) if top(name) in closed]


def wrong_direction_in_the_gate(module: Module) -> list[str]:
    folder = module.path.split("/")[1]
    if folder not in FOLDERS:
        return []
    inside = (
        (node, name.removeprefix("gate.")) for node, name in imports(module) if name.startswith("gate.")
    )
    open_to = FOLDERS[folder] | {folder}
    return [
        module.at(node, f"imports gate.{name}")
        for node, name in inside
        if not {top(name), ".".join(name.split(".")[:2])} & open_to
    ]


def foreign_library(module: Module) -> list[str]:
    closed = {name for name, rooms in LIBRARIES.items() if module.room not in {*rooms, "bot"}}
    return [module.at(node, f"imports {name}") for node, name in imports(module) if top(name) in closed]


def edges_that_meet(module: Module) -> list[str]:
    """The API speaks no Slack, and what speaks Slack has no part in the API."""
    if module.room != "handlers":
        return []
    closed = SLACKS if module.path.startswith((API, GATEWAY)) else APIS
    return [module.at(node, f"imports {name}") for node, name in imports(module) if closed.match(name)]


def mcp_outside_the_gateway(module: Module) -> list[str]:
    if module.room != "handlers" or module.path.startswith(GATEWAY):
        return []
    known = ((node, name) for node, name in imports(module) if top(name) in {"mcp", "mcp_types"})
    return [module.at(node, f"imports {name}") for node, name in known]


def parser_outside_the_sandbox(module: Module) -> list[str]:
    """Foreign files are parsed in the sandbox: who does so is imported by nobody who runs elsewhere."""
    if module.room != "servers" or SANDBOXED.fullmatch(module.path):
        return []
    closed = PARSERS - OWN.get(module.path, set())
    return [
        module.at(node, f"imports {name}")
        for node, name in imports(module)
        if top(name) in closed or MAIL_PARSER.fullmatch(name) or _sandboxed(name)
    ]


def _sandboxed(name: str) -> bool:
    """Whether what is imported is one of these modules, or something in it."""
    whole = f"{name.replace('.', '/')}.py"
    return bool(SANDBOXED.fullmatch(whole) or SANDBOXED.fullmatch(f"{whole.rpartition('/')[0]}.py"))


def engine_outside_its_port(module: Module) -> list[str]:
    if module.path in ENGINE:
        return []
    return [module.at(node, f"imports {name}") for node, name in imports(module) if top(name) == "dbos"]


def model_outside_its_line(module: Module) -> list[str]:
    if module.path == "tools/model/provider_client.py":
        return []
    known = ((node, name) for node, name in imports(module) if top(name) in MODEL_LIBRARIES)
    return [module.at(node, f"imports {name}") for node, name in known]


def impure_gate(module: Module) -> list[str]:
    pure = {*sys.stdlib_module_names, "gate"} - IMPURE_MODULES
    bad = [module.at(node, f"imports {name}") for node, name in imports(module) if top(name) not in pure]
    called = ((node, name) for node, name in calls(module) if IMPURE_CALL.fullmatch(name))
    return bad + [module.at(node, f"calls {name}()") for node, name in called]


def asynchronous_gate(module: Module) -> list[str]:
    if module.path.startswith(("gate/actions/", "gate/tasks/")):
        return []
    ports = {node for port in module.nodes(ast.ClassDef) if is_port(port) for node in port.body}
    free = (node for node in module.nodes(ast.AsyncFunctionDef) if node not in ports)
    return [module.at(node, f"async def {node.name}") for node in free]


def is_port(node: ast.ClassDef) -> bool:
    return any(top(ast.unparse(base), "[") == "Protocol" for base in node.bases)


def environment_outside_settings(module: Module) -> list[str]:
    if module.path == "bot/settings.py":
        return []
    of_os = (node for node in module.nodes(ast.Attribute) if ast.unparse(node.value) == "os")
    read = [node for node in of_os if node.attr in ENVIRONMENT]
    read += [node for node, name in imports(module) if name in {f"os.{word}" for word in ENVIRONMENT}]
    return [module.at(node, "reads the environment") for node in read]


def payload_outside_parse(module: Module) -> list[str]:
    if module.path == "handlers/slack/payloads.py" or module.room not in FACING_SLACK:
        return []
    keyed = (node for node in module.nodes(ast.Subscript) if ast.unparse(node.value) == "body")
    read = [node for node in keyed if not isinstance(node.slice, ast.Slice)]
    read += [node for node, name in calls(module) if name == "body.get"]
    return [module.at(node, "reads body[…]") for node in read]


def slack_call_outside_cards(module: Module) -> list[str]:
    if module.path in ("bot/slack_messages.py", "bot/message_streams.py") or module.room in STAND_ALONE:
        return []
    said = {"say"} if module.room in FACING_SLACK else set()
    called = ((node, name) for node, name in calls(module) if SLACK_CALL.fullmatch(name) or name in said)
    return [module.at(node, f"calls {name}()") for node, name in called]


def tool_call_outside_client(module: Module) -> list[str]:
    if module.path == "tools/mcp/client.py":
        return []
    return [module.at(node, f"calls {name}()") for node, name in calls(module) if name.endswith(".call_tool")]


def too_long_a_module(module: Module) -> list[str]:
    count = len(module.text.splitlines())
    return [f"{module.path} has {count} lines"] if count > MODULE_LINES else []


def too_long_a_function(module: Module) -> list[str]:
    sized = ((node, node.end_lineno - node.lineno + 1) for node in module.nodes(*FUNCTIONS))
    long = {f"{module.path}:{node.name}": size for node, size in sized if size > FUNCTION_LINES}
    known = {name for name in LONG_FUNCTIONS if name.startswith(module.path + ":")}
    return [
        *(f"{name} has {size} lines" for name, size in long.items() if name not in known),
        *(f"{name} is no longer long: take it off the list" for name in known - long.keys()),
    ]


def no_docstring(module: Module) -> list[str]:
    first = top(ast.get_docstring(module.tree) or "", "\n\n")
    return [] if first and "\n" not in first else [f"{module.path} does not say its job in a first line"]


def unresolvable_citation(module: Module) -> list[str]:
    """Whoever reads a comment or a docstring can open what it names: it is in the repository, or public."""
    if not (OURS.search(module.text) or ELSEWHERE.search(module.text)):
        return []
    cited = ((line, PUBLIC.sub("", text)) for line, text in _prose(module))
    return [f"{module.path}:{line} cites {name}" for line, text in cited for name in _unresolved(text)]


def _prose(module: Module) -> Iterator[tuple[int, str]]:
    """The comments and the docstrings, with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in module.nodes(ast.Expr):
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def _unresolved(text: str) -> list[str]:
    named = [found[0] for found in OURS.finditer(text) if not _is_here(found[0])]
    return named + [found[0] for found in ELSEWHERE.finditer(OURS.sub("", text))]


def _is_here(name: str) -> bool:
    """Whether the page, promise or decision is in the repository; a file of an example counts as no page."""
    page = top(name, ",")
    if page.endswith(".md"):
        return bool(EXAMPLE.fullmatch(page)) or (ROOT / page).is_file()
    if name.startswith("ADR "):
        return bool(list((ROOT / "docs/decisions").glob(f"{int(name[4:]):04d}-*.md")))
    return name in _promised()


@cache
def _promised() -> frozenset[str]:
    """The ids of docs/promises.md."""
    return frozenset(
        re.findall(r"^\| ([A-Z]+-\d\d) \|", (ROOT / "docs/promises.md").read_text("utf-8"), re.M)
    )


def empty_name(module: Module) -> list[str]:
    parts = [part for part in module.path.removesuffix(".py").split("/") if EMPTY_NAME.search(part)]
    bad = [node for node in module.nodes(ast.ClassDef, *FUNCTIONS) if EMPTY_NAME.search(node.name)]
    said = [f"{module.path} is called {part}" for part in parts]
    return said + [module.at(node, f"defines {node.name}") for node in bad]
