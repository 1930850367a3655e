"""A secret file that one text of an undeclared tool names in the notation of a request, or by escapes."""

from __future__ import annotations

import json

import pytest

from gate.rules import escapes, json_texts
from gate.rules.action import Json, Verdict
from gate.rules.canonical_targets import with_parsed_json
from gate.rules.listed_names import secret_names
from gate.rules.policy import Policy, Rule, decide
from gate.rules.text_forms import plain_variants
from gate.rules.tool import Hints, ToolSpec
from tests.gate.rules.test_text_forms import changed, judged
from tests.patterns import seconds
from tools.mcp.schema import problems

ESCAPED = '{"path": "\\u002eenv"}'
NOTATIONS = {
    "JSON": ESCAPED,
    "JSON lines, the first": f'{ESCAPED}\n{{"path": "a.md"}}',
    "JSON lines, the last": f'{{"path": "a.md"}}\r\n{ESCAPED}\r\n',
    "JSON lines behind one that is broken": f'{{"path": \n{ESCAPED}',
    "JSON lines behind words": f"here they are:\n{ESCAPED}",
    "JSON values without a break": f'{{"path": "a.md"}}{ESCAPED}',
    "a sequence of JSON texts": f"\x1e{ESCAPED}\n\x1e[1]\n",
    "JSON behind a byte order mark": f"\ufeff{ESCAPED}",
    "JSON behind a zero byte": f"\0{ESCAPED}",
    "JSON before a semicolon": f"{ESCAPED};",
    "JSON before words": f"{ESCAPED} as agreed",
    "JSON under a name": f"data: {ESCAPED}",
    "a JSON string": '"\\u002eenv"',
    "a JSON string that holds JSON": json.dumps(json.dumps({"path": ".env"})),
    "a JSON string that holds JSON twice": json.dumps(json.dumps(ESCAPED)),
    "lines of JSON strings that hold JSON": "\n".join([json.dumps(ESCAPED), json.dumps('{"path": "a.md"}')]),
    "a list of JSON strings that hold JSON": json.dumps([json.dumps({"path": ".env"})]),
    "an escape of JSON": "\\u002eenv",
    "an escape of JavaScript": "\\u{2e}env",
    "an escape of Python": "\\U0000002eenv",
    "an escape of YAML": 'path: "\\x2eenv"',
    "an octal escape": "\\056env",
    "an escape of old addresses": "%u002eenv",
    "an element": "<path>.env</path>",
    "an element in others": "<records><path>a.md</path><path>config/.env</path></records>",
    "an element beside words": "<get><path> .env </path><note>as we have agreed in our last call</note></get>",
    "an element with attributes": '<s:file encoding="utf-8">~/.ssh/id_rsa</s:file>',
    "an element with character data": "<path><![CDATA[.env]]></path>",
    "an element with an entity": "<path>&#46;env</path>",
    "an element with another entity": "<path>&#x2E;env</path>",
    "an element that is escaped": "&lt;path&gt;.env&lt;/path&gt;",
    "a query, the first": "path=.env&ref=main",
    "a query, between": "ref=main&path=.env&raw=1",
    "a query with semicolons": "ref=main;path=.env;raw=1",
    "a query, encoded": "ref=main&path=%2eenv&raw=1",
    "a query, encoded twice": "ref=main&path=%252eenv&raw=1",
    "a query with a list": "ref=main&paths[]=a.md&paths[]=.env&raw=1",
    "a query with a key": "ref=main&path=keys/server.pem&raw=1",
    "a query with what may be code": "ref=main&key_file=server.key&raw=1",
    "a query with a word": "ref=main&path=credentials&raw=1",
    "the query of an address": "https://x.example/raw?ref=main&path=.env&raw=1",
    "the query of an address among words": "see https://x.example/raw?ref=main&path=.env&raw=1 please, as it is old",
    "the query of an address, to its end": "https://x.example/raw?ref=main&path=.env#L3",
    "a query with many names": "&".join([*(f"a{n}=b.md" for n in range(60)), "path=.env", "c=d"]),
    "matrix parameters": "get;path=.env;v=1",
    "an address of a style sheet": "url(.env)",
}
ORDINARY = [
    "<p>Do not commit <code>.env</code> to the repository.</p>",
    "<ul><li>Copy <code>.env.example</code> to <code>.env</code></li></ul>",
    "<td><code>.env</code></td><td>what the server needs when it starts up</td>",
    "We use <b>.env</b> and <kbd>id_rsa</kbd>, as <a href='/x'>the docs</a> say.",
    "Keep `.env` &amp; `id_rsa` out of the image; they are mounted.",
    "for (let i = 0; i < n; i++) { total += item.key; last = x.key; }",
    "const at = list.find(x => x.key==y.key&&x.name==y.name)",
    "if (a.key&&b.key) return a.key<b.key",
    "ratio=process.env.A&mask;next=import.meta.env;",
    'He said "look at .env first" and \'then at id_rsa\', "not before".',
    '"name","credentials"\n"ann","none"\n',
    '{"text": "Do not commit .env files"}\n{"text": "nor your id_rsa, please"}',
    '"Do not commit .env files"',
    "https://x.example/search?q=env&page=2&sort=name",
    "The pattern is \\\\.env$ in the ignore file, and \\t is a tab.",
    "C:\\Users\\ann\\notes.md\nC:\\temp\\x64\\u0.txt",
    "<config><name>shop</name><kind>an .env like file</kind></config>",
]


@pytest.mark.parametrize("name", NOTATIONS)
def test_a_secret_file_is_seen_in_each_notation(name: str) -> None:
    for args in ({"spec": NOTATIONS[name]}, {"calls": [{"spec": NOTATIONS[name]}]}):
        assert judged(args).secret  # type: ignore[arg-type]
        assert changed(args).verdict is Verdict.TYPED  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_words_markup_and_code_are_left_alone(text: str) -> None:
    assert judged({"spec": text}).verdict is Verdict.RUN


@pytest.mark.parametrize(
    "text",
    [
        '{"path": "\\u0068r/pay.md"}\n{"path": "a.md"}',
        json.dumps(json.dumps({"path": "hr/pay.md"})),
        '\ufeff{"path": "hr/pay.md"}',
        "ref=main&path=hr/pay.md&raw=1",
        "https://x.example/raw?ref=main&path=hr%2Fpay.md&raw=1",
        "<get><path>hr/pay.md</path></get>",
    ],
)
def test_a_rule_of_an_operator_sees_the_path_in_a_request(text: str) -> None:
    policy = Policy("p", rules=(Rule("pay", ("*",), deny=True, texts=("^hr/",)),))
    tool = ToolSpec("s", "read", "Read", "", {"type": "object"}, "d", hints=Hints(True, False, True, False))
    assert decide(policy, tool, {"spec": text}, "C", lambda s, a: not problems(s, a)).verdict is Verdict.DENY


def test_what_no_character_is_written_by_stays() -> None:
    for text in ("\\ud800", "\\u{110000}", "&#9999999;", "\\u00", "%u12", "&nope;", "a\\b", "50%"):
        assert escapes.unescaped(text) == text


@pytest.mark.parametrize(
    "piece",
    ['{"a":1}\n', "{", '{"a":\n', '"a" ', '"', "[1],", "\\", "\\u002e", "&#4", "&a=", "&a", "?a=b;", "<a>", "<a ", "<path>x", "&lt;"],
)  # fmt: skip
def test_eight_times_the_text_takes_about_eight_times_the_time(piece: str) -> None:
    def looked_at(size: int) -> float:
        text = piece * (size // len(piece))
        args: dict[str, Json] = {"x": text}
        return seconds(lambda: (secret_names(text), with_parsed_json(args), plain_variants(text)))

    assert looked_at(80_000) < 24 * looked_at(10_000) + 0.05  # it would be 64 times the time


def test_a_text_that_is_too_long_for_json_stays_as_it_is() -> None:
    text = '{"a": "' + "x" * json_texts.LONGEST_JSON + '"}'
    assert json_texts.parsed(text) == text
