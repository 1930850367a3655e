"""Lists of names in one text of an undeclared tool are judged name by name, and sentences are left alone."""

from __future__ import annotations

import json

import pytest

from gate.arguments.listed_names import LONGEST, secret_names
from gate.arguments.notations import is_file_argument
from gate.arguments.secret_files import SECRET_NAMES
from gate.rules.action import Json, Verdict
from gate.rules.always_gated import ALWAYS
from gate.rules.policy import Policy, Rule, decide
from gate.rules.tool import Hints, ToolSpec, Trust
from tests.cpu_time import cpu_seconds
from tests.gate.arguments.test_text_forms import changed, judged
from tools.mcp.schema import problems

MANY = "\n".join(f"notes {number}.md" for number in range(40))
LISTS = [
    "my notes.md\nconfig/.env\nz.md",
    "my notes.md\r\nconfig/.env\r\nz.md",
    "my notes\nconfig/.env\nyour notes",
    f"{MANY}\nconfig/.env\nz.md",
    "\n".join([*(f"{n}.md" for n in range(20)), "config/.env", "z.md"]),
    ",".join([*(f"{n}.md" for n in range(20)), "config/.env", "my notes.md"]),
    " ".join(["a.md"] * 70 + ["config/.env", "b.md"]),
    "README config/.env LICENSE",
    '"a.md", "config/.env", "b.md"',
    "'a.md' 'config/.env' 'b.md'",
    "`a.md`\n`config/.env`\n`z.md`",
    "\u201ca.md\u201d, \u201cconfig/.env\u201d, \u201cb.md\u201d",
    "- a.md\n- config/.env\n- b.md",
    "* a.md\n* config/.env\n* b.md",
    "+ a.md\n+ config/.env\n+ b.md",
    "\u2022 a.md\n\u2022 config/.env\n\u2022 b.md",
    "1. a.md\n2. config/.env\n3. b.md",
    "1) a.md\n2) config/.env\n3) b.md",
    "a) a.md\nb) config/.env\nc) b.md",
    "- [ ] a.md\n- [x] config/.env\n- [ ] b.md",
    "  - a.md\n  -   config/.env\n  - b.md",
    "- `a.md`\n- `config/.env`\n- `b.md`",
    "a.md|config/.env|b.md",
    "a.md | config/.env | b.md",
    "a.md:config/.env:b.md",
    "a b.md;config/.env;c.md",
    "a b.md; config/.env; c.md",
    "a b.md, config/.env, c.md",
    "a b.md\u3001config/.env\u3001c.md",
    "a b.md\tconfig/.env\tc.md",
    "a b.md\0config/.env\0c.md",
    "a b.md\x1econfig/.env\x1ec.md",
    "a b.md\u2028config/.env\u2028c.md",
    "my a.md\nmy config/.env\nmy b.md",
    "my a.md,my keys/id_rsa,my b.md",
    'look at ["config/.env", "a.md"] now',
    "files = ['a.md', 'config/.env', 'b.md']",
    "see [the notes](config/.env) and more",
    "[x](<config/.env>) [y](b.md)",
    "open('config/.env').read()",
    'x = open( "config/.env", "r").read()',
    "fs.readFileSync(`config/.env`, 'utf8')",
    "look @config/.env now",
    "@config/.env explain it",
    "see file:///r/config/.env there",
    "get FILE:/r/config/.env and go",
    "(file:config/.env)",
    "my notes.md\nserver.key\nz.md",
    "a.md|server.key|b.md",
    "~/.aws/credentials\nmy notes.md\na",
    "/etc/shadow\nmy notes.md\na",
    "my notes.md\nterraform.tfvars\na b",
    "a b.md%0Aconfig/.env%0Ac.md",
    "these are the words that say nothing\nconfig/.env\nand here are some more of them",
]
SENTENCES = [
    "please do not commit .env files",
    "Read .env first, then start the server again",
    "Copy .env.example to .env and run make",
    "We use Postgres, .env and Docker here, and nothing else",
    "We keep it simple: a database, .env, and Docker beside it",
    "The key is in id_rsa, but do not open it",
    "Rotate credentials, tokens and keys every month",
    "user,credentials,token and more of the same",
    "Ignore .env, .env.local and all the other files of this kind",
    "Add .env to .gitignore before you push it",
    "The file .env holds the tokens. It is not in git.",
    "Is .env read before or after config.yaml?",
    "Store it in config/.env on the server, please",
    "ERROR: .env not found while starting the app",
    "Fix: load .env only once (#123)",
    "feat(config): read .env files lazily",
    "Who can read config/.env and who may change it, and why?",
    "Use `.env` for local settings only, and `vault` for all others",
    "| name | key |\n|---|---|\n| a b c | item.key |",
    "name,key\nrow 1,item.key\nrow 2,b.key\nrow 3,none",
    "const a = item.key;\nconst b = other.key;",
    "for (const x of items) { use(x.key); }",
    "foo(process.env, x)",
    "const env = process.env;\nuse(env)",
    "t('item.key')",
    "labels: ['item.key', 'other.key']",
    "import os\nos.environ['HOME']\n",
    "SELECT key, credentials FROM users",
    "npm install @aws-sdk/credentials dotenv",
    "@scope/credentials is a package",
    "Hello @ann, see the notes (a.md) and [the page](https://example.com/env)",
    "1. Open the page\n2. Turn the credentials off\n3. Close it",
    "- Copy the example\n- Fill in the token\n- Run make",
    "The ratio is 3:4, the time 12:30, the path a:b",
    "Dear all,\n\nthe .env file moves next week; please tell me what breaks.\n\nAnn",
    "Meeting notes\n- Ann: rotate the key\n- Ben: document .env handling\n- all: done",
    "a.md, b.md and c.md",
    "a.md\nb.md\nc.md",
    "README LICENSE Makefile",
    '{"a": "b.md", "c": 1}',
    "open('a.md').read()",
    "file:///srv/a.md and @notes.md",
    "x.key = y.key + 1",
    "Please look at the deck keynote.key of last week and tell me",
    "Key, env, pem: these are words",
]


def test_there_are_forty_of_both() -> None:
    assert min(len(set(LISTS)), len(set(SENTENCES))) >= 40


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("argument", ["value", "input", "files"])
def test_a_secret_file_is_asked_about_wherever_it_stands_in_a_list(argument: str) -> None:
    for text in LISTS:
        assert judged({argument: text}).secret, text
        assert judged({"options": {argument: [text]}}).secret, text
        assert changed({argument: text}).verdict is Verdict.TYPED, text


def test_a_sentence_a_table_or_code_is_no_list() -> None:
    for text in SENTENCES:
        assert judged({"value": text}).verdict is Verdict.RUN, text
        assert judged({"new": text + "\n", "note": f"{text}\n\nThanks"}).verdict is Verdict.RUN, text


@pytest.mark.parametrize(
    "args",
    [
        {"path": "the file .env of this folder"},
        {"sourceFiles": "README then .env then LICENSE"},
        {"target_path": "a.md -> .env"},
        {"files": "{a.md} {.env} {b.md}"},
        {"include": "src .en* docs"},
        {"call": {"paths": {"first": "see <.env> there"}}},
        {"urls": "a b https://example.com/raw/.env c"},
        {"files": "x" * (LONGEST + 1)},
    ],
)
def test_each_word_of_an_argument_that_is_called_after_files_is_a_name(args: dict[str, Json]) -> None:
    assert judged(args).verdict is not Verdict.RUN


@pytest.mark.parametrize("name", "path filePath source_files targetURI globs SRC destDir".split())
def test_an_argument_is_called_after_files(name: str) -> None:
    assert is_file_argument(name)


@pytest.mark.parametrize("name", "profile empathy name value resource filed dirty curl outsource".split())
def test_an_argument_that_only_holds_such_letters_is_not(name: str) -> None:
    assert not is_file_argument(name)


def test_words_under_a_name_for_words_are_not_looked_at() -> None:
    for name in ("body", "query", "message", "text"):
        assert judged({name: "a.md\n.env\nb.md"}).verdict is Verdict.RUN


def test_a_text_beyond_what_is_looked_through_counts_as_one_that_names_a_secret_file() -> None:
    assert secret_names("a " * LONGEST) == SECRET_NAMES[:1]
    assert secret_names("a\n" * 10_000) == ()


@pytest.mark.parametrize(
    "piece",
    ["a.md,", ".env\n", "- a b\n", "[x](", "open('", '["a"', "((((", "@a ", "file:", "1. ", "a:b:", "'a' "],
)
def test_eight_times_the_text_takes_about_eight_times_the_time(piece: str) -> None:
    def looked_at(size: int) -> float:
        text = piece * (size // len(piece))
        return cpu_seconds(lambda: (secret_names(text), secret_names(text, of_files=True)))

    assert looked_at(80_000) < 24 * looked_at(10_000) + 0.05  # it would be 64 times the time


def tool_of_github(name: str) -> ToolSpec:
    """A tool of a server for GitHub that no recipe is written for."""
    hints = Hints(name.startswith("get"), False)
    return ToolSpec("hub", name, name, "", {}, "d", hints, Trust.REVIEWED, reviewed=True)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("get_file_contents", {"path": "config/.env", "ref": "main"}),
        ("get_file_contents", {"path": "the file config/.env of it"}),
        ("get_file_contents", {"paths": "README config/.env LICENSE and more"}),
        ("get_file_contents", {"filePath": "a <config/.env>"}),
        ("push_files", {"files": [{"path": "a.md -> .env", "content": "x"}], "message": "m"}),
        ("push_files", {"files": {"config/.env": "x"}, "message": "m"}),
        ("create_or_update_file", {"path": "config/prod.yaml", "content": "x"}),
        ("delete_file", {"path": "config/.env", "message": "m"}),
    ],
)
def test_a_path_is_judged_by_its_argument_where_no_recipe_declares_it(
    name: str, args: dict[str, Json]
) -> None:
    here: dict[str, Json] = {"owner": "acme", "repo": "app", **args}
    assert decide(
        Policy("p", rules=ALWAYS), tool_of_github(name), here, "C", lambda s, a: not problems(s, a)
    ).always_gated


def test_the_words_of_a_commit_are_no_path() -> None:
    args: dict[str, Json] = {
        "path": "a.md",
        "content": "Copy .env here\n",
        "message": "Say that .env is read",
    }
    here = decide(
        Policy("p", rules=ALWAYS), tool_of_github("create_file"), args, "C", lambda s, a: not problems(s, a)
    )
    assert here.verdict is Verdict.CONFIRM


def in_layers(value: Json, layers: int) -> Json:
    """The value as a text of JSON, in a text of JSON, and so on."""
    return in_layers(json.dumps(value), layers - 1) if layers else value


def test_json_that_is_deeper_than_can_be_gone_through_may_say_anything_so_it_is_refused():
    """Some servers go through all of it, and a rule that denies would be passed where the gate does not."""
    for deep in ("[" * 2_000 + "]" * 2_000, '{"a":' * 2_000 + "1" + "}" * 2_000, in_layers({"a": 1}, 4)):
        assert judged({"data": deep}).verdict is Verdict.DENY
        assert judged({"data": [{"b": deep}]}).verdict is Verdict.DENY
        assert judged({"title": deep}).verdict is Verdict.DENY
        spec = tool_of_github("add_blocks")
        calm = decide(Policy("p", rules=ALWAYS), spec, {"data": deep}, "C", lambda s, a: not problems(s, a))
        assert calm.verdict is Verdict.TYPED  # nobody denies anything there
    lines = '{"a": 1} and\n{"b": "[1]"}\n\n"in quotes", [2] and words'
    for shallow in ("[" * 20 + "]" * 20, '{"a":' * 20 + "1" + "}" * 20, in_layers({"a": 1}, 3), lines):
        assert judged({"data": shallow}).verdict is Verdict.RUN
    quoted = f"This is what we got:\n{in_layers({'a': 1}, 4)}\nAny idea?"  # words are opened as a whole
    assert judged({"title": quoted}).verdict is Verdict.RUN


def test_what_a_rule_denies_is_found_in_as_many_layers_of_json_as_are_let_through():
    """Notion's own server unwraps a text in a text in a text, and what texts in that hold again."""
    denies = Policy("p", rules=(Rule(name="no payroll", tools=("*",), texts=("payroll",), deny=True),))
    spec = ToolSpec("s", "add_blocks", "add_blocks", "", {}, "d", trust=Trust.REVIEWED, reviewed=True)
    within: Json = [{"paragraph": '{"content": "\\u0070ayroll of May"}'}]
    for layers in range(5):
        found = decide(denies, spec, {"children": in_layers(within, layers)}, "C", lambda s, a: True)
        assert found.verdict is Verdict.DENY


def test_what_a_rule_denies_is_found_beside_a_number_that_python_does_not_read():
    """Other languages read one of 5,000 digits, and so the text that it stands in."""
    denies = Policy("p", rules=(Rule(name="no payroll", tools=("*",), texts=("payroll",), deny=True),))
    spec = ToolSpec("s", "add_blocks", "add_blocks", "", {}, "d", trust=Trust.REVIEWED, reviewed=True)
    for number in ("7", "-" + "7" * 5_000, "7" * 5_000):
        for name in ("children", "title"):
            text = f'[{{"content": "\\u0070ayroll of May"}}, {number}]'
            assert decide(denies, spec, {name: text}, "C", lambda s, a: True).verdict is Verdict.DENY


@pytest.mark.parametrize("name", ["title", "description", "content"])
def test_what_a_rule_denies_is_found_in_json_where_words_are_expected(name: str):
    """Notion's own server takes a list for a title, also as a text of JSON. No file is named by it."""
    denies = Policy(
        "p", rules=(Rule(name="no payroll", tools=("*",), texts=("payroll",), deny=True), *ALWAYS)
    )
    spec = ToolSpec("s", "add_page", "add_page", "", {}, "d", trust=Trust.REVIEWED, reviewed=True)

    def verdict(text: str) -> Verdict:
        return decide(denies, spec, {name: text}, "C", lambda s, a: not problems(s, a)).verdict

    assert verdict('[{"text": {"content": "\\u0070ayroll of May"}}]') is Verdict.DENY
    assert verdict('[{"text": {"content": "Put it into .env"}}]') is Verdict.CONFIRM
    assert verdict('[{"text": {"content": ".env"}}]') is Verdict.CONFIRM
