"""Every text that people may read, by room: `python -m tests.wording` writes docs/wording.md from the modules.

A text counts that reads like a sentence or a label: it has a blank, and begins with a capital letter or ends with a
mark. Docstrings, patterns, SQL and what goes to the log or to a model are not for people.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOMS = ("gate", "views", "handlers", "bot", "tools", "servers", "storage")
PAGE = Path("docs/wording.md")
HEAD = """# What people read

Made by `python -m tests.wording`; `tests/test_wording.py` keeps it up to date, and has the words that may not occur.
`…` stands for what is filled in.
"""
TELLING = re.compile(r"[A-Z“*`…][^\n]*? |.* [^\n]*[.!?…:]$")
FOR_PROGRAMS = re.compile(
    r"SELECT |INSERT |UPDATE |DELETE |CREATE |PRAGMA |[(]\?|\\[bsdw.(]|^[A-Z_ ]+$|%\(|\{\w+!"
)
NOT_FOR_PEOPLE = ("tools/model/", "bot/cli/", "servers/formats/", "servers/sandbox/", "servers/detection/")
LOGGING = ("debug", "info", "warning", "error", "exception", "critical")


def texts(path: Path) -> Iterator[str]:
    """What a module may say, each text once, in its order."""
    tree = ast.parse(path.read_text())
    hidden = set(_hidden(tree))
    found = (_text(node) for node in _walk(tree, hidden))
    seen: dict[str, None] = {}
    for text in found:
        plain = " ".join(text.split())
        if " " in plain and plain.isprintable() and TELLING.match(plain) and not FOR_PROGRAMS.search(text):
            seen[plain] = None
    yield from seen


def _walk(tree: ast.AST, hidden: set[int]) -> Iterator[ast.AST]:
    """Texts, those with placeholders as one, in the order of the module."""
    for child in ast.iter_child_nodes(tree):
        if id(child) in hidden:
            continue
        if isinstance(child, ast.JoinedStr) or (
            isinstance(child, ast.Constant) and isinstance(child.value, str)
        ):
            yield child
            continue
        yield from _walk(child, hidden)


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    parts = node.values if isinstance(node, ast.JoinedStr) else []
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)


def _hidden(tree: ast.AST) -> Iterator[int]:
    """Docstrings, and what is logged."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            yield id(body[0])
        logs = (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOGGING
        )
        if logs and "log" in ast.unparse(node.func).lower():
            yield id(node)


def catalogue() -> dict[str, dict[str, list[str]]]:
    """Room -> module -> texts."""
    return {
        room: {
            str(path): said
            for path in sorted(Path(room).rglob("*.py"))
            if not str(path).startswith(NOT_FOR_PEOPLE) and (said := list(texts(path)))
        }
        for room in ROOMS
    }


def page() -> str:
    parts = [HEAD]
    for room, modules in catalogue().items():
        parts.append(f"\n## {room}\n")
        for module, said in modules.items():
            parts.append(f"\n`{module}`\n\n" + "".join(f"- {text}\n" for text in said))
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
