"""“It”, “them” and “that file” in a thread: the files of the last thing that was read or done in it, and nothing else."""

from __future__ import annotations

import pytest

from tests.handlers.test_sentences import SECONDS, buttons, shown
from tests.handlers.test_sentences import product as product
from tests.product import OPS, Product
from workspace.state import Message

pytestmark = pytest.mark.slow

MOVED = "Move drafts/q3-draft.md to archive"
NOTHING = "There is no file or folder “it”"


async def answers(product: Product, words: str, thread: str = "", user: str = "U_ANN") -> tuple[str, Message]:
    """The thread, and what is written in it next."""
    before = len(product.ws.by_app(OPS, thread)) if thread else 0
    said = await product.ws.as_(user).say(
        OPS, f"<@UBOT> {words}", **({"thread_ts": thread} if thread else {})
    )
    thread = thread or said.ts

    def new() -> list[Message]:
        return product.ws.by_app(OPS, thread)[before:]

    return thread, (await product.ws.wait_for(new, SECONDS))[-1]


@pytest.mark.parametrize("word", ["it", "that file", "this one", "the file"])
async def test_a_word_after_a_read_stands_for_the_file_that_was_read(product: Product, word: str) -> None:
    thread, _ = await answers(product, "read q3-draft.md")
    _, card = await answers(product, f"move {word} to archive", thread)
    assert shown(card).startswith(MOVED)


async def test_a_word_after_a_finished_action_stands_for_the_file_where_it_is_now(product: Product) -> None:
    thread, _ = await answers(product, "read q3-draft.md")
    _, card = await answers(product, "move it to archive", thread)
    await product.ws.as_("U_ANN").click(card, "confirm")
    await product.ws.wait_for(lambda: shown(card).startswith("Moved"), SECONDS)
    _, again = await answers(product, "rename it to old.md", thread)
    assert shown(again).startswith("Move archive/q3-draft.md to archive/old.md")


async def test_a_word_beside_a_card_that_waits_stands_for_nothing(product: Product) -> None:
    thread, _ = await answers(product, "move q3-draft.md to archive")
    _, told = await answers(product, "delete it", thread)
    assert NOTHING in shown(told)
    assert not buttons(told)


async def test_a_word_stands_for_nothing_of_another_kind_and_for_nothing_of_somebody_else(
    product: Product,
) -> None:
    thread, _ = await answers(product, "show task 1")
    assert NOTHING in shown((await answers(product, "delete it", thread))[1])
    thread, _ = await answers(product, "read q3-draft.md")
    assert NOTHING in shown((await answers(product, "delete it", thread, "U_BEN"))[1])


async def test_them_stands_for_no_single_folder(product: Product) -> None:
    thread, _ = await answers(product, "what is in reports")
    _, told = await answers(product, "delete them", thread)
    assert "I do not know what “them” stands for here." in shown(told)
