"""A secret file that one text of an undeclared tool names in the notation of a request, or by escapes."""

from __future__ import annotations

import json

import pytest

from gate.arguments import escapes, json_texts
from gate.arguments.listed_names import secret_names
from gate.arguments.target_texts import with_parsed_json
from gate.arguments.text_forms import MOST_NAMES, plain_variants
from gate.rules.action import Json, Verdict
from gate.rules.always_gated import ALWAYS
from gate.rules.policy import Policy, Rule, decide
from gate.rules.tool import Hints, ToolSpec
from tests.cpu_time import cpu_seconds
from tests.gate.arguments.test_text_forms import changed, judged
from tools.mcp.schema import problems

ESCAPED = '{"path": "\\u002eenv"}'
WORDS = "please write this to the disk"
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
    "an element with a blank in the path": "<path>My Documents/.env</path>",
    "an element with blanks in character data": "<path><![CDATA[ .env ]]></path>",
    "an element with a comment": "<path><!-- the file --> .env</path>",
    "an element with many blanks": f"<path>{' ' * 60}.env</path>",
    "an element with divided character data": "<path><![CDATA[.en]]><![CDATA[v]]></path>",
    "pairs with blanks": "mode=read; path=.env; x=1",
    "pairs with words": "note=as agreed; path=.env; x=1",
    "a query with words": "note=as we have agreed&path=.env",
    "a call with named arguments": f"write_file(path='.env', content='{WORDS}')",
    "a call with named arguments and colons": f'write(path: ".env", content: "{WORDS}")',
    "a call of GraphQL": 'mutation { write(path: ".env", text: "x") { id size } }',
    "an object with comments": f'/* c */ {{"note": "{WORDS}", "path": ".env"}}',
    "a call with an object": f'cb({{"note": "{WORDS}", "path": ".env"}})',
    "an object of Python": f"{{'note': '{WORDS}', 'path': '.env'}}",
    "settings": "[a]\npath = .env\nx = 1",
    "settings without blanks": "[a]\r\nnote=as we have agreed\r\npath=.env\r\nx=1",
    "JSON behind null": f'null {{"note": "{WORDS}", "file": "\\u002eenv"}}',
    "JSON behind a number": f'1 {{"note": "{WORDS}", "file": "\\u002eenv"}}',
    "JSON behind a carriage return": f'x\r{{"note": "{WORDS}", "a": ".env"}}',
    "JSON behind a number and a carriage return": f'1\r{{"note": "{WORDS}", "a": ".env"}}',
    "a difference": "--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-KEY=a\n+KEY=b\n",
    "a difference with times": "--- .env\t2024-01-01 10:00\n+++ .env\t2024-01-02 10:00\n@@ -1 +1 @@\n-a\n+b\n",
    "a difference with carriage returns": "--- a/.env\r\n+++ b/.env\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n",
    "a difference of git": "diff --git a/.env b/.env\nindex 1..2 100644\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-a\n+b\n",
    "a difference of git without lines": "diff --git a/.env b/.env\nindex 1..2 100644",
    "a difference that renames": "diff --git a/a.md b/.env\nrename from a.md\nrename to .env",
    "a patch": "*** Begin Patch\n*** Update File: .env\n@@\n-KEY=a\n+KEY=b\n*** End Patch",
    "a patch that adds": "*** Begin Patch\n*** Add File: config/.env\n+KEY=b\n*** End Patch",
    "a patch that moves": "*** Begin Patch\n*** Update File: a.md\n*** Move to: .env\n@@\n-a\n+b\n*** End Patch",
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
    "<note>as it is in the file .env of the server</note>",
    "<note>Store it in config/.env</note>",
    "const label = {name: 'the .env file', size: 1};",
    "name: the .env file of the server\nsize: 1",
    "Two ways: a = item.key; b = process.env; both work.",
    "--- notes ---\nDo not commit .env files\n+++ and more",
    "rename the .env file, please\ncopy it from the old server",
    "null and void, as .env files are",
    "/**\n * A comment of code,\n * which goes on.\n */\nx.y();",
    "return f(x)\n.key, g['.'], h('*.')",
    "42 of the .env files were found",
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
        "<path>hr/my pay.md</path>",
        "<path><![CDATA[ hr/pay.md ]]></path>",
        '<get path="hr/pay.md"/>',
        "mode=read; path=hr/pay.md; x=1",
        "note=a b&path=hr/pay.md",
        "- hr/pay.md\n- a.md",
        "1. a.md\n2. hr/my pay.md",
        "@hr/pay.md",
        "read('hr/pay.md')",
        f"write(path='hr/pay.md', content='{WORDS}')",
        "[a]\npath = hr/pay.md\nx = 1",
        "\\u0068r/pay.md",
        "<path>&#104;r/pay.md</path>",
        "--- a/hr/pay.md\n+++ b/hr/pay.md\n@@ -1 +1 @@\n-a\n+b\n",
        "*** Begin Patch\n*** Delete File: hr/pay.md\n*** End Patch",
        "null " + json.dumps({"note": WORDS, "path": "hr/pay.md"}),
    ],
)
def test_a_rule_of_an_operator_sees_the_path_in_a_request(text: str) -> None:
    assert read_under_rule(text) is Verdict.DENY


@pytest.mark.parametrize(
    "text",
    [
        "I work on hr/pay.md today, and on the rest of it tomorrow",
        "See hr/pay.md first. Then ask Ann",
        "1. hr/pay.md is old\n2. Make a new one",
        "Dear all,\n\nthe file hr/pay.md moves next week.\n\nAnn",
        "<p>Do not change <code>hr/pay.md</code>.</p>",
        "version,hr\n1.2.3,4.5\n",
    ],
)
def test_a_rule_of_an_operator_does_not_take_words_for_a_path(text: str) -> None:
    assert read_under_rule(text) is Verdict.RUN


def read_under_rule(text: str) -> Verdict:
    """What a rule that denies the folder `hr` says of a read that is given this text."""
    policy = Policy("p", rules=(*ALWAYS, Rule("pay", ("*",), deny=True, texts=("^hr/",))))
    tool = ToolSpec("s", "read", "Read", "", {"type": "object"}, "d", hints=Hints(True, False, True, False))
    return decide(policy, tool, {"spec": text}, "C", lambda s, a: not problems(s, a)).verdict


def listed(number: int, last: str) -> dict[str, str]:
    """Lists of so many names before the last, each in another notation."""
    names = [*(f"a{n}.md" for n in range(number)), last]
    return {
        "lines": "\n".join(names),
        "commas": ",".join(names),
        "bullets": "\n".join(f"- {name}" for name in names),
        "a query": "&".join(f"f={name}" for name in names),
        "elements": "".join(f"<f>{name}</f>" for name in names),
        "calls": "\n".join(f"read('{name}') as it is now" for name in names),
        "settings of mounts": ",".join(f"source={name}" for name in names),
    }


@pytest.mark.parametrize("number", [3, 16, 100, 600])
@pytest.mark.parametrize("notation", listed(1, "x"))
def test_a_rule_is_held_against_all_names_of_a_list(notation: str, number: int) -> None:
    assert read_under_rule(listed(number, "hr/pay.md")[notation]) is Verdict.DENY
    gated = changed({"spec": listed(number, "deploy/production.yml")[notation]})
    assert gated.verdict is Verdict.TYPED


@pytest.mark.parametrize("notation", listed(1, "x"))
def test_a_list_of_more_names_than_are_looked_at_is_never_read_at_once(notation: str) -> None:
    text = listed(MOST_NAMES + 1, "hr/pay.md")[notation]
    assert read_under_rule(text) in (Verdict.TYPED, Verdict.DENY)
    assert changed({"spec": text}).verdict in (Verdict.TYPED, Verdict.DENY)


def test_what_json_says_is_judged_value_by_value_however_many_there_are() -> None:
    versions = {f"package-{n}": {"version": f"{n}.0.1", "file": f"a{n}.tgz"} for n in range(800)}
    told = json.dumps({**versions, "note": 'They say "a" and\nthen "b".'})
    assert changed({"spec": told}).verdict is Verdict.CONFIRM
    assert (
        changed({"spec": "\n".join(f"{n}.5,2.{n},words of it" for n in range(2_000))}).verdict
        is Verdict.CONFIRM
    )


def test_what_no_character_is_written_by_stays() -> None:
    for text in ("\\ud800", "\\u{110000}", "&#9999999;", "\\u00", "%u12", "&nope;", "a\\b", "50%"):
        assert escapes.unescaped(text) == text


@pytest.mark.slow(but=5)
@pytest.mark.parametrize(
    "piece",
    ['{"a":1}\n', "{", '{"a":\n', '"a" ', '"', "[1],", "\\", "\\u002e", "&#4", "&a=", "&a", "?a=b;", "<a>", "<a ", "<path>x", "&lt;", "?a=", "; a=b.c", "a='", "a.b = c\n", "a.b\r", "1 ", "null ", "<!--", "<![CDATA[", "--- a\n", "*** Add File: a\n", "diff --git a/x b/x\n", 'copy to "'],
)  # fmt: skip
def test_eight_times_the_text_takes_about_eight_times_the_time(piece: str) -> None:
    def looked_at(size: int) -> float:
        texts = (f"{piece * (size // len(piece))} {number}" for number in range(3))  # what was seen is kept
        return cpu_seconds(lambda: look(next(texts)), 3)

    def look(text: str) -> None:
        args: dict[str, Json] = {"x": text}
        secret_names(text), with_parsed_json(args), plain_variants(text)

    assert looked_at(80_000) < 24 * looked_at(10_000) + 0.05  # it would be 64 times the time


def test_a_text_that_is_too_long_for_json_stays_as_it_is() -> None:
    text = '{"a": "' + "x" * json_texts.LONGEST_JSON + '"}'
    assert json_texts.parsed(text) == text
