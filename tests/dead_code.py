"""`python -m tests.dead_code`: what the product defines and nothing in the product uses, found by vulture.

Prints each such function, method, parameter, constant and field, and exits with 1 where there is one. What only tests
use is dead. Three uses are by name in a string or by a base class, so they are read from the code: the keys of
mappings in `servers/` (the tools that a server offers), what `inproc` names, and the fields of pydantic models (they
are written out whole). Everything else that is used from outside stands in ALLOWED with its reason.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from vulture import Vulture

ROOT = Path(__file__).parents[1]
ROOMS = ["gate", "views", "storage", "tools", "handlers", "bot", "servers", "workspace", "benchmarks"]
BY_ALEMBIC = ["storage/migrations/versions/*"]  # it calls upgrade and downgrade, and reads the other names
MODELS = {"BaseModel", "RootModel"}
# What they decorate is called by pydantic, by SQLAlchemy, and by MCP clients.
REGISTERED = ["@model_validator", "@field_validator", "@compiles", "@made.tool"]
ALLOWED = {
    "SQLAlchemy reads them, or calls them": "impl cache_ok inherit_cache load_dialect_impl arraysize",
    "they set what another library reads": "isolation_level row_factory database_backed_queue "
    "validate_tool_result matching_blocks opcodes wss_uri data_type compress_type tesseract_cmd MAX_IMAGE_PIXELS "
    "tempdir val superscript evolve",
    "asyncio calls them of a protocol that brings its own buffer": "get_buffer buffer_updated sizehint",
    "html.parser and xml.sax call them": "handle_data handle_startendtag handle_endtag startElement endElement",
    "the MCP SDK calls it on the arguments of a tool": "pre_parse_json",
    "httpx2 calls it on a jar of cookies": "extract_cookies",
    "a parameter of aiohttp's AbstractResolver, and what its connector makes connections with": "family _factory",
    "bot.cli.main finds a command's function by its name": "doctor export rotate_key",
    "tools.mcp.schema_fast_path finds the check of a keyword by its name": "_ref _const _additionalProperties _anyOf _allOf "
    "_minLength _maxLength _minItems _maxItems _minimum _maximum",
    "benchmarks.slack finds a Web API method's answer by its name": "_auth_test _users_info _chat_postmessage "
    "_chat_update _chat_postephemeral _agents_sessions_setstatus",
    "a column of the table of grants": "revoked_by",
    "kinds of what is missing, by which a model's question names itself": "OUTPUTS CONSTRAINTS",
    "dataclasses.asdict writes it out (workspace.ui)": "usage_hint",
    "what the sandbox's probe found, for its tests": "other_user",
    "how tests drive the local Slack: people, forged requests, replicas, faults": "as_ forge invite deliver_to duplicate "
    "disconnect counted_ids by_app",
}


def trees() -> Iterator[tuple[str, ast.Module]]:
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("*.py")):
            yield room, ast.parse(file.read_text("utf-8"))


def named_in_strings() -> set[str]:
    """Keys of mappings in the servers, and the functions that `module:function` names anywhere."""
    found = set()
    for room, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict) and room == "servers":
                found |= {key.value for key in node.keys if isinstance(key, ast.Constant)}
            if (
                isinstance(node, ast.keyword)
                and node.arg == "inproc"
                and isinstance(node.value, ast.Constant)
            ):
                found.add(str(node.value.value).partition(":")[2])
    return found


def fields_of_models() -> set[str]:
    """The fields of every class that derives from a pydantic model."""
    classes = [node for _, tree in trees() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    models, before = set(MODELS), 0
    while len(models) > before:
        before = len(models)
        models |= {one.name for one in classes if models & {_name(base) for base in one.bases}}
    return {
        line.target.id
        for one in classes
        if one.name in models
        for line in one.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    }


def _name(base: ast.expr) -> str:
    base = base.value if isinstance(base, ast.Subscript) else base
    return base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")


def main() -> int:
    found = Vulture(ignore_decorators=REGISTERED)
    found.scavenge([str(ROOT / room) for room in ROOMS], exclude=[str(ROOT / one) for one in BY_ALEMBIC])
    allowed = {name for names in ALLOWED.values() for name in names.split()}
    covered = named_in_strings() | fields_of_models()
    unused = [one for one in found.get_unused_code(min_confidence=60) if one.name not in covered]
    dead = [one.get_report() for one in unused if one.name not in allowed]
    idle = [
        f"tests/dead_code.py need not allow {name}" for name in sorted(allowed - {one.name for one in unused})
    ]
    sys.stdout.writelines(f"{line}\n" for line in [*dead, *idle])
    return 1 if dead or idle else 0


if __name__ == "__main__":
    sys.exit(main())
