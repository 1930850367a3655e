"""What the recipes of other people's servers expect of results: a good one of each tool, and one that changed nothing.

The texts are those of the reviewed versions: @modelcontextprotocol/server-filesystem and server-memory 2026.8.31,
mcp-server-git 2026.10.19, mcp-server-sqlite 2025.4.25.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.rules.action import CallClass, Json, Outcome
from gate.rules.confidence import verdict
from gate.rules.tool import Recipe
from tests.storage.samples import action
from tools.recipes.reader import load_recipes
from tools.recipes.validation import judge_by_rules

FILES = load_recipes(Path(__file__).parents[2] / "manifests" / "tools")


def recipe(file: str, tool: str) -> Recipe:
    return FILES[file].recipe(tool)


# Changing tools of these servers with a good result of each, as its source gives it, and a bad one.
WROTE, STAGED = "Successfully wrote to a.md", "Files staged successfully"
RESULTS: dict[str, tuple[dict[str, Json], dict[str, Json]]] = {
    "server-filesystem.write_file": ({"text": WROTE}, {"text": "Nothing to write"}),
    "server-filesystem.edit_file": (
        {"text": "```diff\n@@ -1,1 +1,1 @@\n-a\n+b\n```"},
        {"text": "```diff\n```"},
    ),
    "server-filesystem.move_file": ({"text": "Successfully moved a to b"}, {"text": ""}),
    "server-filesystem.create_directory": (
        {"text": "Successfully created directory a"},
        {"text": "a is there"},
    ),
    "server-git.git_add": (
        {"text": STAGED},
        {"text": "No changes were staged: the given paths had nothing new."},
    ),
    "server-git.git_commit": (
        {"text": "Changes committed successfully with hash 1a"},
        {"text": "Nothing to commit"},
    ),
    "server-git.git_create_branch": (
        {"text": "Created branch 'b' from 'main'"},
        {"text": "Created branch 'c'"},
    ),
    "server-git.git_checkout": (
        {"text": "Switched to branch 'b'"},
        {"text": "HEAD is now detached at 1a2b3c4"},
    ),
    "server-git.git_reset": ({"text": "All staged changes reset"}, {"text": ""}),
    "server-memory.create_entities": ({"entities": [{"name": "Ann"}]}, {"entities": []}),
    "server-memory.create_relations": ({"relations": [{"from": "Ann"}]}, {"relations": []}),
    "server-memory.add_observations": (
        {"results": [{"entityName": "Ann", "addedObservations": ["tea"]}]},
        {"results": [{"entityName": "Ann", "addedObservations": []}]},
    ),
    "server-memory.delete_entities": ({"success": True}, {"success": False}),
    "server-memory.delete_observations": ({"success": True}, {"success": False}),
    "server-memory.delete_relations": ({"success": True}, {}),
    "server-sqlite.write_query": ({"text": "[{'affected_rows': 1}]"}, {"text": "[{'affected_rows': 0}]"}),
    "server-sqlite.create_table": (
        {"text": "Table created successfully"},
        {"text": "Database error: no such"},
    ),
    "server-sqlite.append_insight": ({"text": "Insight added to memo"}, {"text": "Error: Missing arguments"}),
}
KNOWN = {name.partition(".")[0] for name in RESULTS}


def judged(name: str, result: dict[str, Json]) -> str:
    """How the rules of a recipe judge a result of its tool, called with the branch b."""
    file, _, tool = name.partition(".")
    fields = {key: value for key, value in result.items() if key != "text"} or None
    outcome = Outcome("success", str(result.get("text", "")), fields)
    return verdict(
        judge_by_rules(recipe(file, tool).expect, action(args=b'{"branch_name":"b"}', outcome=outcome))
    )


def test_each_change_of_a_server_whose_results_are_known_says_what_to_expect() -> None:
    changing = {
        f"{file}.{tool}"
        for file in KNOWN
        for tool in FILES[file].tools
        if recipe(file, tool).cls is not CallClass.READ
    }
    assert changing == RESULTS.keys()


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_of_another_server_that_changed_nothing_is_not_taken_for_good(name: str) -> None:
    good, bad = RESULTS[name]
    assert judged(name, good) == "judged good by the recipe's rule"
    assert judged(name, bad) in ("judged doubtful by the recipe's rule", "judged failed by the recipe's rule")


def test_an_error_that_a_database_tells_as_a_result_counts_as_failed() -> None:
    told: dict[str, Json] = {"text": "Database error: no such table: a"}
    assert judged("server-sqlite.write_query", told) == "judged failed by the recipe's rule"
