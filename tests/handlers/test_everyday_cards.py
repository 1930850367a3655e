"""Cards of the demo's servers as people read them: everyday words, and nothing twice."""

from __future__ import annotations

import pytest

from tests.handlers.test_budgets_of_planners import asks_for_phrase, left, press, said
from tests.handlers.test_budgets_of_planners import product as product
from tests.product import Product
from tests.slack_app import ANN
from tests.views.samples import shown

pytestmark = pytest.mark.slow
SECONDS = 40.0
RAW = ("_id", "_at", "kept_", "sha256", ".countersign", ".Drafts", "absent", ".ics")  # what programs use


async def result(product: Product, ts: str, begins: str) -> str:
    """The card once it says that it is done."""

    def done() -> str:
        return next((shown(m.blocks) for m in left(product, ts) if m.text.startswith(begins)), "")

    return await product.ws.wait_for(done, SECONDS)


async def typed(product: Product, ts: str) -> None:
    await press(product, ts, "review")
    person = product.ws.as_(ANN)
    form = await product.ws.wait_for(lambda: asks_for_phrase(person), SECONDS)
    pending = await product.parts.world.ledger.pending("T1")
    (phrase,) = [one.phrase for one in pending if one.session.thread == ts]
    await person.submit(form, {"phrase": {"phrase": phrase}})


async def test_the_result_of_a_deletion_says_until_when_it_is_kept_and_no_ids(product: Product) -> None:
    ts = await said(product, "delete archive/q2-summary.md")
    await typed(product, ts)
    told = await result(product, ts, "Deleted")
    assert "kept until  " in told
    assert not [raw for raw in RAW if raw in told]
    assert "count" not in told


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ('write a mail to bob@example.com about "figures": "They are late."', "Drafted a mail"),
        ("schedule Lunch with Bob for friday at 12:30", "Created the event"),
        ("remind me tomorrow to send the invoice", "Created the task"),
        ("task 1 is done", "Updated task 1"),
    ],
)
async def test_the_result_of_a_change_has_no_ids_of_programs(
    product: Product, text: str, begins: str
) -> None:
    ts = await said(product, text)
    await press(product, ts, "confirm")
    told = await result(product, ts, begins)
    assert not [raw for raw in RAW if raw in told]
    assert " id " not in f" {told} "


async def waiting(product: Product, ts: str) -> list[str]:
    """The lines of the first card."""
    await product.ws.wait_for(lambda: left(product, ts), SECONDS)
    return shown(left(product, ts)[0].blocks).split("\n")


async def test_the_card_of_a_mail_is_the_mail_and_no_list_of_its_parts(product: Product) -> None:
    ts = await said(product, 'write a mail to bob@example.com about "figures": "They are late."')
    lines = await waiting(product, ts)
    assert lines[1:6] == [
        "From: Ann Example <ann@example.com>",
        "To: bob@example.com",
        "Subject: figures",
        "",
        "They are late.",
    ]
    assert lines[6].startswith("Nothing is sent")


async def test_the_card_of_a_task_says_once_when_it_is_due(product: Product) -> None:
    ts = await said(product, "remind me tomorrow to send the invoice")
    lines = await waiting(product, ts)
    assert lines[1].startswith("+ due: 20")
    assert lines[2].startswith("Nothing else is changed")


async def test_a_step_that_could_not_be_looked_at_repeats_no_argument_of_its_line(product: Product) -> None:
    calls = [
        "filesystem.create_folder path=trip",
        "filesystem.copy_file source=archive/no.md destination=reports",
        "filesystem.create_folder path=bills",
    ]
    ts = await said(product, "\n".join(calls))
    lines = await waiting(product, ts)
    place = lines.index("2. Copy archive/no.md to reports")
    assert "archive/no.md does not exist" in lines[place + 1]
    assert lines[place + 2].startswith("3. ")


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("delete archive/q2-summary.md", "This deletes 1 file. Undo for 30 days."),
        ("delete task 1", "This deletes 1 task. Undo for 30 days."),
    ],
)
async def test_a_deletion_says_what_is_lost_and_for_how_long_it_can_be_undone(
    product: Product, text: str, warning: str
) -> None:
    ts = await said(product, text)
    assert (await waiting(product, ts))[1].strip() == warning
