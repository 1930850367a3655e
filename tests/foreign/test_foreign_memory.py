"""The story with @modelcontextprotocol/server-memory: remember, take back exactly that, forget by typing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.foreign.thread import Thread
from tests.product import Product

pytestmark = [pytest.mark.node, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
ProductAndFolder = tuple[Product, Path]

ANN = {"name": "Ann", "entityType": "person", "observations": ["likes tea"]}
BEN = {"name": "Ben", "entityType": "person", "observations": []}
KNOWS = {"from": "Ann", "to": "Ben", "relationType": "knows"}


def kept(memory: Path) -> list[dict[str, Any]]:
    if not memory.exists():
        return []
    return [json.loads(line) for line in memory.read_text().splitlines() if line]


async def remembered(product: Product, *entities: dict[str, Any]) -> Thread:
    thread = await Thread.ask(product, "memory.create_entities", entities=list(entities))
    await thread.confirm()
    return thread


async def test_what_is_remembered_is_shown_first(memory_product: ProductAndFolder):
    product, memory = memory_product
    thread = await Thread.ask(product, "memory.create_entities", entities=[ANN])
    assert "likes tea" in thread.shown
    assert "cannot be undone" in thread.shown
    assert kept(memory) == []
    await thread.confirm()
    assert [entity["name"] for entity in kept(memory)] == ["Ann"]
    read = await Thread.ask(product, "memory.search_nodes", query="tea")
    assert "Ann" in read.shown
    assert read.buttons == []


async def test_an_undo_removes_exactly_what_was_new(memory_product: ProductAndFolder):
    product, memory = memory_product
    await remembered(product, ANN)
    said = [{"entityName": "Ann", "contents": ["likes tea", "lives in Lisbon"]}]
    thread = await Thread.ask(product, "memory.add_observations", observations=said)
    assert "can be undone" in thread.shown
    await thread.confirm()
    assert kept(memory)[0]["observations"] == ["likes tea", "lives in Lisbon"]
    await thread.undo_by_a_card()
    assert kept(memory)[0]["observations"] == ["likes tea"]


async def test_a_relation_goes_and_comes_back(memory_product: ProductAndFolder):
    product, memory = memory_product
    await remembered(product, ANN, BEN)
    thread = await Thread.ask(product, "memory.create_relations", relations=[KNOWS])
    await thread.confirm()
    assert {"type": "relation", **KNOWS} in kept(memory)
    await thread.undo_by_a_card()
    assert {"type": "relation", **KNOWS} not in kept(memory)


async def test_forgetting_wants_a_phrase(memory_product: ProductAndFolder):
    product, memory = memory_product
    await remembered(product, ANN, BEN)
    thread = await Thread.ask(product, "memory.delete_entities", entityNames=["Ann"])
    assert thread.buttons == ["review", "edit", "cancel", "more"]
    assert "Affected" in thread.shown
    assert len(kept(memory)) == 2
    await thread.type_phrase()
    assert [entity["name"] for entity in kept(memory)] == ["Ben"]
    assert "undo" not in thread.buttons


async def test_an_entity_that_a_rule_keeps_is_found_by_no_other_words(memory_product: ProductAndFolder):
    product, memory = memory_product
    pay = {"type": "entity", "name": "Ann salary", "entityType": "pay", "observations": ["98,000"]}
    ben = {"type": "entity", **BEN}
    memory.write_text("\n".join(map(json.dumps, (pay, ben))))
    for tool, args in (
        ("read_graph", {}),
        ("search_nodes", {"query": ""}),
        ("search_nodes", {"query": "sala"}),
        ("search_nodes", {"query": "98"}),
    ):
        told = (await Thread.ask(product, f"memory.{tool}", **args)).shown
        assert ("“pay”" in told, "98,000" in told) == (True, False)
    assert "Ben" in (await Thread.ask(product, "memory.search_nodes", query="Ben")).shown
