"""What servers say is read by people and by agents: in plain words, without the ids of tools."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

SERVERS = Path("servers")
IDS = re.compile(r"[a-z]+(?:_[a-z]+)+")
CARD = re.compile(r'^    "([a-z_]+)": (?:reading|change|makes|_\w+|Card)\(', re.MULTILINE)
SUGGESTED = ("show the trash", "show me my tasks")


def constants(path: Path) -> Iterator[ast.Constant]:
    """The texts of a module that are no docstrings."""
    tree = ast.parse(path.read_text())
    scopes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {id(node.body[0].value) for node in ast.walk(tree)
            if isinstance(node, scopes) and node.body and isinstance(node.body[0], ast.Expr)}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node


def test_no_sentence_of_a_server_names_the_id_of_a_tool() -> None:
    modules = sorted(SERVERS.rglob("*.py"))
    ids = {name for path in modules for name in CARD.findall(path.read_text()) if "_" in name}
    assert len(ids) > 50
    wrong = [
        f"{path}:{text.lineno}: {text.value}"
        for path in modules
        for text in constants(path)
        if " " in text.value and ids.intersection(IDS.findall(text.value))
    ]
    assert wrong == []


def test_what_servers_suggest_to_write_is_an_example_of_the_demo() -> None:
    """All examples are tried in tests/workspace and tests/handlers."""
    sections = yaml.safe_load(Path("manifests/phrases.yaml").read_text())
    examples = re.findall(r"'example': '([^']*)'", str(sections))
    said = [text.value for path in SERVERS.rglob("*.py") for text in constants(path)]
    for phrase in SUGGESTED:
        assert phrase in examples
        assert any(f"“{phrase}”" in text for text in said)
