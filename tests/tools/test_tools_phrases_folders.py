"""Plain sentences about data, documents, secrets and what files say mean calls, and take nothing from the files."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gate.rules.planner_port import Propose
from gate.rules.tool import ToolSpec
from servers.data import server as data
from servers.document import server as document
from servers.filesystem import server as filesystem
from servers.knowledge import server as knowledge
from servers.security import server as security
from tests.tools.mcp_hosts import hosting
from tests.tools.phrases_setup import FILE, Listed, understood
from tools.mcp.server_config import ServerConfig
from tools.phrases.phrase_file import load_phrases
from tools.phrases.planner import Phrases, misfits

BILL = {"column": "id", "value": "2"}
PAID = {"column": "paid", "value": "1"}
TABLE: list[tuple[str, str, dict[str, Any]]] = [
    ("query b.sqlite: SELECT 1 FROM t", "data.query_sqlite", {"path": "b.sqlite", "sql": "SELECT 1 FROM t"}),
    ("which tables are in b.sqlite?", "data.describe_database", {"path": "b.sqlite"}),
    ("find duplicate records in a.csv", "data.deduplicate_records", {"path": "a.csv"}),
    ("deduplicate the table t of b.db", "data.deduplicate_records", {"path": "b.db", "table": "t"}),
    (
        "write a.csv without duplicates to b.csv",
        "data.write_without_duplicates",
        {"source": "a.csv", "destination": "b.csv"},
    ),
    ("what stands out in a.csv", "data.summarize_anomalies", {"path": "a.csv"}),
    ("what stands out in the table t of b.db", "data.summarize_anomalies", {"path": "b.db", "table": "t"}),
    (
        "write the columns name, sum and the row rent, 900 to costs.csv",
        "data.write_csv",
        {"path": "costs.csv", "columns": ["name", "sum"], "rows": [["rent", "900"]]},
    ),
    (
        "in the table bill of b.sqlite set paid to 1 where id is 2",
        "data.write_sqlite",
        {
            "path": "b.sqlite",
            "changes": [{"table": "bill", "op": "update", "where": [BILL], "values": [PAID]}],
        },
    ),
    (
        "in the table bill of b.sqlite delete the row where id is 2",
        "data.write_sqlite",
        {"path": "b.sqlite", "changes": [{"table": "bill", "op": "delete", "where": [BILL]}]},
    ),
    (
        "in the table bill of b.sqlite add a row where paid is 1",
        "data.write_sqlite",
        {"path": "b.sqlite", "changes": [{"table": "bill", "op": "insert", "values": [PAID]}]},
    ),
    ("put back the rows of the record r1", "data.restore_rows", {"record": "r1"}),
    ("extract the text of a.pdf", "document.extract_text", {"path": "a.pdf"}),
    ("compare the documents a.md and b.md", "document.diff_documents", {"first": "a.md", "second": "b.md"}),
    ("diff a.md and b.md", "document.diff_documents", {"first": "a.md", "second": "b.md"}),
    ("read the spreadsheet a.xlsx", "document.read_spreadsheet", {"path": "a.xlsx"}),
    ("show the sheet Costs of a.xlsx", "document.read_spreadsheet", {"path": "a.xlsx", "sheet": "Costs"}),
    ("which fields are in the form f.pdf", "document.list_form_fields", {"path": "f.pdf"}),
    ("convert a.md to b.pdf", "document.convert_format", {"source": "a.md", "destination": "b.pdf"}),
    ("create a pdf a.pdf: # Hi", "document.create_pdf", {"path": "a.pdf", "content": "# Hi"}),
    ("make a word file a.docx: Hi", "document.create_docx", {"path": "a.docx", "content": "Hi"}),
    (
        "merge a.pdf and b.pdf into c.pdf",
        "document.merge_pdfs",
        {"sources": ["a.pdf", "b.pdf"], "destination": "c.pdf"},
    ),
    (
        "fill the field name of f.pdf with Ann Lee and write g.pdf",
        "document.fill_pdf_form",
        {"path": "f.pdf", "values": [{"field": "name", "value": "Ann Lee"}], "destination": "g.pdf"},
    ),
    ("scan drafts for personal data", "security.scan_for_pii", {"path": "drafts"}),
    ("find secrets in drafts", "security.scan_for_secrets", {"path": "drafts"}),
    ("check a.env for passwords", "security.scan_for_secrets", {"path": "a.env"}),
    ("scan all files for secrets", "security.scan_for_secrets", {"path": "."}),
    ("check my files for passwords", "security.scan_for_secrets", {"path": "."}),
    ("scan everything for secrets", "security.scan_for_secrets", {"path": "."}),
    ("find the secrets in all my files", "security.scan_for_secrets", {"path": "."}),
    ("scan all files for personal data", "security.scan_for_pii", {"path": "."}),
    ("are there any personal data in my files?", "security.scan_for_pii", {"path": "."}),
    ("find duplicates in all files", "security.find_duplicates", {"path": "."}),
    ("propose a cleanup of all files", "security.propose_cleanup", {"path": "."}),
    ("index all files", "knowledge.index_folder", {"path": "."}),
    ("index everything", "knowledge.index_folder", {"path": "."}),
    ("find duplicates in reports", "security.find_duplicates", {"path": "reports"}),
    ("what can I delete in drafts?", "security.propose_cleanup", {"path": "drafts"}),
    ("show me your public key", "security.show_recipient", {}),
    ("encrypt a.txt", "security.encrypt_file", {"path": "a.txt"}),
    (
        "encrypt a.txt for age1x and age1y",
        "security.encrypt_file",
        {"path": "a.txt", "recipients": ["age1x", "age1y"]},
    ),
    ("decrypt a.txt.age", "security.decrypt_file", {"path": "a.txt.age"}),
    ("decrypt a.age to b.txt", "security.decrypt_file", {"path": "a.age", "destination": "b.txt"}),
    ("index reports", "knowledge.index_folder", {"path": "reports"}),
    ("update the index", "knowledge.update_index", {}),
    ("update the index of reports", "knowledge.update_index", {"path": "reports"}),
    ("search the documents for revenue", "knowledge.search_documents", {"query": "revenue"}),
    ("ask the files: when does it end?", "knowledge.ask_about_files", {"question": "when does it end?"}),
    ("what do my files say about rent?", "knowledge.ask_about_files", {"question": "rent"}),
    ("what is related to a.md#1", "knowledge.get_related_chunks", {"chunk": "a.md#1"}),
    ("check the index", "knowledge.check_index", {"path": "."}),
    ("put back the index of the record r1", "knowledge.restore_index", {"record": "r1"}),
    ("find *.md in drafts", "filesystem.search_files", {"path": "drafts", "pattern": "*.md"}),
    (
        "search reports for revenue",
        "filesystem.search_files",
        {"path": "reports", "pattern": "*", "contains": "revenue"},
    ),
    ("read document.md", "filesystem.read_file", {"path": "document.md"}),
    ("create a.md: # Hi", "filesystem.write_file", {"path": "a.md", "content": "# Hi"}),
    ("compare a.md and b.md", "document.diff_documents", {"first": "a.md", "second": "b.md"}),
    ("delete index.md", "filesystem.delete_file", {"path": "index.md"}),
]
# What is looked at for a card, or is the filesystem server's own.
UNSAID = {"check_rows", "get_metadata", "describe_paths", "preview_restore", "restore_file", "delete_file"}


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> Phrases:
    """The bundled phrases over the real tools of the servers over folders."""
    folder = tmp_path_factory.mktemp("folders")
    made = {
        "filesystem": filesystem,
        "data": data,
        "document": document,
        "security": security,
        "knowledge": knowledge,
    }
    apps = {name: server([folder]) for name, server in made.items()}

    async def listed() -> dict[str, ToolSpec]:
        configs = [ServerConfig(name=name, inproc="x") for name in apps]
        async with hosting(folder, *configs, inproc=apps) as host:
            return {spec.full_name: spec for spec in host.specs()}

    return Phrases(load_phrases(FILE), Listed(asyncio.run(listed())))


@pytest.mark.parametrize(("text", "tool", "args"), TABLE, ids=[text for text, *_ in TABLE])
def test_a_sentence_means_one_call(planner: Phrases, text: str, tool: str, args: dict[str, Any]) -> None:
    reply = understood(planner, text)
    assert isinstance(reply, Propose), reply
    assert [(f"{call.server}.{call.tool}", dict(call.args)) for call in reply.calls] == [(tool, args)]


def test_every_tool_can_be_reached_in_words(planner: Phrases) -> None:
    said = {tool for _, tool, _ in TABLE}
    left = {spec.full_name for spec in planner.tools.specs() if spec.server != "filesystem"} - said
    assert {
        name for name in left if ".preview_" not in name and name.partition(".")[2] not in UNSAID
    } == set()


def test_every_phrase_fits_its_tool_and_every_example_is_understood(planner: Phrases) -> None:
    assert misfits(planner.book, planner.tools) == []
    for phrase in planner.book.phrases:
        if phrase.example and planner.tools.find(phrase.server, phrase.tool):
            reply = understood(planner, phrase.example)
            assert isinstance(reply, Propose), phrase.example
            assert reply.calls[0].tool == phrase.tool
