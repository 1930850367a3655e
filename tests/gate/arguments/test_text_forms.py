"""No rule about arguments depends on how a path, an address of the web or one of mail is written."""

from __future__ import annotations

import encodings
import re
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any
from unittest.mock import patch

import pytest

from gate.arguments import production_files, secret_files
from gate.arguments.canonical_paths import with_canonical_paths
from gate.arguments.declared_targets import Root, Targets, with_resolved_paths
from gate.arguments.pattern_search import OF_ENDS
from gate.arguments.production_files import PRODUCTION, PRODUCTION_NAMES
from gate.arguments.secret_files import SECRET, SECRET_FILE, SECRET_NAMES
from gate.arguments.target_bounds import too_many_targets
from gate.arguments.text_forms import address, grows, path_variants, text_variants, web_address
from gate.rules.action import CallClass, Decision, Json, Verdict
from gate.rules.always_gated import ALWAYS
from gate.rules.policy import Policy, Rule, decide
from gate.rules.tool import Hints, Recipe, ToolSpec, Trust
from tests.cpu_time import seconds, within
from tools.mcp.schema import problems

LIMIT = 0.1  # seconds of processor time
RULES = (
    Rule("reads", ("s.read",), known=CallClass.READ),
    Rule("no metadata", ("*",), deny=True, texts=(r"^https?://169\.254\.169\.254(/|$)",)),
    Rule("no intranet", ("*",), deny=True, texts=(r"^https?://internal\.corp(/|:|$)",)),
    Rule("no rivals", ("*",), deny=True, texts=(r"@evil\.com$",)),
    Rule("own letters", ("*",), deny=True, texts=(r"(^|@|//)(bücher|straße)\.de(/|$)",)),
    Rule("hands off", ("*",), deny=True, texts=(r"(^|/)ledger\.db$",)),
    Rule("not in Europe", ("*",), deny=True, texts=(r"^eu-",)),
)


def judged(
    args: dict[str, Json], targets: Targets | None = None, only: dict[str, Json] | None = None
) -> Decision:
    """What the policy says of a read with these arguments; `only`: the schema of one more thing that is refused."""
    hints = Hints(True, False, True, False)
    recipe = Recipe(targets=targets)
    spec = ToolSpec("s", "read", "Read", "", {"type": "object"}, "d", hints=hints, recipe=recipe)
    more = (Rule("only", ("*",), deny=True, schema=only),) if only else ()
    rules = (*ALWAYS, *RULES, *more)
    return decide(Policy("p", rules=rules), spec, args, "C", lambda s, a: not problems(s, a))


def changed(args: dict[str, Json], targets: Targets | None = None) -> Decision:
    """What the policy says of a change with these arguments."""
    recipe = Recipe(cls=CallClass.WRITE, targets=targets)
    spec = ToolSpec("s", "store", "Store", "", {}, "d", trust=Trust.REVIEWED, reviewed=True, recipe=recipe)
    return decide(Policy("p", rules=ALWAYS), spec, args, "C", lambda s, a: not problems(s, a))


@pytest.mark.parametrize(
    "args",
    [
        {"glob": "{.env}"},
        {"glob": "{.env,a b}"},
        {"glob": "{.env," + "a" * 260 + "}"},
        {"glob": "**/{a,{.env}}"},
        {"glob": "[^x]env"},
        {"glob": ".en[[:alpha:]]"},
        {"glob": "@(.env|x)"},
        {"glob": "+(.env)"},
        {"path": "%252525252eenv"},
        {"query": {"path": ".env"}},
        {"content": [".env"]},
        {"messages": [{"file": "~/.ssh/id_rsa", "text": "look"}]},
        {"files": "a.md,.env,b.md"},
        {"files": "a.md\n.env\nb.md"},
        {"files": "a.md .env b.md"},
        {"files": "a.md\u3000.env\u3000b.md"},
        {"files": ",".join(["a.md"] * 40 + [".env", "b.md"])},
    ],
)
def test_a_secret_file_is_asked_about_however_an_undeclared_argument_names_it(args: dict[str, Json]) -> None:
    assert judged(args).verdict is Verdict.TYPED


@pytest.mark.parametrize(
    "path",
    """a.zip!.env a.zip#.env a.zip?.env a.zip>.env a.zip!id_rsa a.jar!b.zip!x.pem a.tar.gz#.ssh/config a#.env a>.env
    $X.env ${X}.env $HOME.env %X%.env .e${X}nv .e$@nv $(true).env a/$X.pem +.env !.env ^.env ~.env <.env >.env (.env)
    :(top).env :!.env :(top,icase)!.env /proc/self/environ /proc/1/environ /proc/*/environ /proc/self/env*
    /proc/self/task/1/environ /proc/thread-self/environ /proc/self/../self/environ /proc/self/* /proc/s*/environ
    /proc/$$/environ /proc/self/mem a.zip!%2eenv""".split(),
)
@pytest.mark.parametrize("targets", [None, Targets(paths=("path",))])
def test_a_secret_file_is_found_in_archives_behind_signs_and_where_variables_are_empty(
    path: str, targets: Targets | None
) -> None:
    assert judged({"path": path}, targets).verdict is Verdict.TYPED


@pytest.mark.parametrize(
    "path", [".e\tnv", ".e\nnv", "a/.e\r\nnv", ".e%09nv", "%2e%65\tnv", "id_\nrsa", "a b/.e\tnv?x"]
)
@pytest.mark.parametrize("targets", [None, Targets(paths=("path",))])
def test_a_secret_file_is_found_where_a_parser_of_addresses_leaves_breaks_out(
    path: str, targets: Targets | None
) -> None:
    found = judged({"path": path}, targets)
    assert found.verdict is Verdict.TYPED
    assert found.secret
    assert changed({"path": "config/pr\tod.yaml"}, targets).rule == "production configuration"


@pytest.mark.parametrize(
    "path",
    """.env:/x:ro ./.env:/x /r/.env:/app/cfg:ro id_rsa:/k ~/.ssh/id_rsa:/k:ro C:\\r\\.env:C:\\x .env:C:\\x ./.env:~/x
    -v=.env:/x type=bind,source=.env,target=/x source=~/.ssh/id_rsa,readonly,target=/x src=server.key,dst=/k
    id=a,src=/r/x.pem,mode=0400 .env@HEAD config/.env@origin/main id_rsa@v1.2 .env@example.com /dev/fd/../environ
    /dev/fd/../mem /dev/./fd//../task/1/environ /dev/shm/../fd/../environ /proc/net/../../1/environ
    /proc/self/fd/../../1/root/x \\proc\\net\\..\\..\\1\\environ""".split(),
)
@pytest.mark.parametrize("targets", [None, Targets(paths=("path",))])
def test_a_secret_file_is_found_where_it_is_mounted_taken_of_a_revision_or_behind_a_link_of_processes(
    path: str, targets: Targets | None
) -> None:
    assert judged({"path": path}, targets).secret
    assert judged({"paths": [path]}, targets and Targets(paths=("paths",))).secret


@pytest.mark.parametrize(
    "path",
    [
        "my files/.env:/x:ro",
        "/my files/.env:/app/cfg",
        "./my keys/id_rsa:/k:ro",
        "C:\\my files\\.env:C:\\x",
        "-v my files/.env:/x",
        "--volume=my files/.env:./x",
        "type=bind,source=/my files/.env,target=/x",
        "src=my keys/server.key,dst=/k,readonly",
        "my files/.env@HEAD",
        "/my files/keys/id_rsa@origin/main",
    ],
)
@pytest.mark.parametrize("targets", [None, Targets(paths=("at",))])
def test_a_secret_file_is_found_where_the_path_of_a_mount_has_a_blank(
    path: str, targets: Targets | None
) -> None:
    assert judged({"at": path}, targets).secret


@pytest.mark.parametrize("path", ["my files/.env", "/srv/my files/.env", "/srv//my files/./.env", "b/.env"])
def test_a_root_whose_name_has_a_blank_hides_no_secret_file(path: str) -> None:
    roots = (Root("my files", ("/srv/my files",)), Root("b", ("/srv/b",)))
    targets = Targets(paths=("path",), roots=roots)
    assert judged({"path": path}, targets).secret
    assert judged(with_canonical_paths(targets, {"path": path}), targets).secret


@pytest.mark.parametrize(
    "text",
    [
        "my files/a.md:/x:ro",
        "Ask for the file: see the notes",
        "name=my notes,key=item.key,id=1",
        "see a/b or mail .env to m@example.com",
        "the time is 12:30, the file .env:example",
    ],
)
def test_other_mounts_and_sentences_with_colons_are_read_at_once(text: str) -> None:
    assert judged({"at": text}).verdict is Verdict.RUN


@pytest.mark.parametrize(
    "path", ["./config/prod.yaml:/c:ro", "type=bind,source=config/prod.yaml,target=/x", "prod.yaml@HEAD"]
)
@pytest.mark.parametrize("targets", [None, Targets(paths=("path",))])
def test_production_configuration_is_found_where_it_is_mounted_or_taken_of_a_revision(
    path: str, targets: Targets | None
) -> None:
    assert changed({"path": path}, targets).rule == "production configuration"


@pytest.mark.parametrize(
    "text",
    [
        *"""https://example.com/a:/b http://h.st:80/x 12:30/13:45 prod:/data web-prod:/data env=prod,region=eu
        a=1,key=item.key,id=item.id env=production,tier=web a:/b data:/var/lib/x credentials@example.com m@example.com
        server.key@example.com pkg@1.2.3 @scope/credentials@^1.0 user@host:/srv HEAD@{1} src/../a.md ../proc.md
        src/process/../x /procs/../x ./dev/../a.md dev/fd.md proc/a.md image:1.2 acme/app@sha256:0a1b
        name=a.md,mode=0644 C:/Users/x file:///srv/a.md redis://h.st/0 ssh://git@h.st/a.git .github/a.yml@main""".split(),
        "Ask m@example.com about prod :/",
        "The ratio is 3:/4, see a.md",
        "Mail server.key@example.com or id_rsa@example.org.",
        "def f(key=item.key, env=prod): return a:/b",
        "It is at /proc/.../x, and .. is up",
        "Turn the credentials off",
        "See the part on credentials 2",
        "return item.key - 1",
    ],
)
def test_addresses_times_labels_and_code_are_changed_by_one_click(text: str) -> None:
    assert changed({"path": text}).verdict is Verdict.CONFIRM
    assert changed({"new": text + "\n", "old": f"'{text}'"}).verdict is Verdict.CONFIRM


@pytest.mark.parametrize("path", ["notes\t.md", "a\x01b", "folder\nname/a.md", "a\x7f", "\x85"])
def test_a_change_of_a_declared_path_with_a_control_character_takes_a_typed_phrase(path: str) -> None:
    assert changed({"path": path}, Targets(paths=("path",))).verdict is Verdict.TYPED
    assert changed({"files": [path]}, Targets(looks=("files",))).verdict is Verdict.TYPED
    assert changed({"text": path}, Targets(ids=("text",))).verdict is Verdict.CONFIRM


@pytest.mark.parametrize(
    "text",
    [
        "First line.\nSecond line",
        "a\tb\tc\n1\t2\t3\n",
        "def f():\n\treturn x.name\n",
        "Dear all,\r\n\r\nbye\r\n",
    ],
)
def test_text_of_several_lines_is_changed_by_one_click(text: str) -> None:
    assert changed({"new": text}).verdict is Verdict.CONFIRM


@pytest.mark.parametrize(
    "path",
    """config/pro?.yaml config/{prod,x}.yaml config/pro[d].yaml config/{x,prod}uction.yml conf*/prod* config/prod*.json
    config/prod-*.yaml settings/pr*.py config/[p]rod.toml @(prod|x).env a.zip!prod.yaml config/pr%6f?.yaml""".split(),
)
@pytest.mark.parametrize("targets", [None, Targets(paths=("path",))])
def test_a_pattern_that_can_mean_production_configuration_counts_as_it(
    path: str, targets: Targets | None
) -> None:
    assert changed({"path": path}, targets).rule == "production configuration"


@pytest.mark.parametrize(
    "text",
    [
        *"""*.yaml **/*.json config/*.yml *.{ts,js} package*.json src/**/*.py p*.json {dev,test}.json #prod proc/a.md
        reproduce-*.json {prod} [prod] $prod ${prod} prod-* products/*.md environ src/proc/environ.py config?.environment
        a.zip!notes.md a.zip b.zip#readme page.md#credentials $item.key x=>x.length !.gitignore /proc/cpuinfo pr*
        /proc/self/status /proc/*/status import.meta?.env ./env ${x}.md .eslintrc.{js,cjs} product-*.yaml""".split(),
        "is it in backup.zip? credentials are not",
        "x = [a for a in prod]",
        "if (!x.env) { use(config?.key) }",
        "const url = `${base}/prod`\nreturn {prod, url}",
        "- see {x} in prod",
        "run.sh > out.json # for prod.*",
        "const {prod} = await import('./{prod,dev}.json')",
        "$scope.env && $item.key",
    ],
)
def test_other_patterns_signs_and_code_are_changed_by_one_click(text: str) -> None:
    assert changed({"path": text}).verdict is Verdict.CONFIRM
    assert changed({"new": text + "\n", "old": f"'{text}'"}).verdict is Verdict.CONFIRM


@pytest.mark.parametrize(
    "args",
    [
        {"query": "where is .env read"},
        {"messages": [{"role": "user", "content": "what is in .env"}]},
        {"glob": "src/*.{ts,js}"},
        {"code": "def f(x) { return {x}; }"},
        {"paths": "a.md,b.md;c.md"},
        {"find": "a = b.key\nc = d"},
        {"find": "user_id | session.key | count"},
        {"find": "f'{self.key}'\n"},
        {"find": "import.meta.env && x"},
        {"new": "return {item.key, 1}"},
        {"new": "Copy .env.example to .env and run make"},
        {"new": "    session=action.session.key,\n    team=team,\n"},
        {"data": "name,key\n" + "\n".join(f"row {n},x.key,1" for n in range(9))},
        {"to": "m@good.com"},
        {"url": "https://example.com/a?b=c"},
    ],
)
def test_what_names_none_of_it_is_read_at_once(args: dict[str, Json]) -> None:
    assert judged(args).verdict is Verdict.RUN


@pytest.mark.parametrize(
    "url",
    [
        "http://2852039166/x",
        "http://0xa9fea9fe/x",
        "http://169.254.43518/x",
        "http://0251.0376.0251.0376/",
        "http://[::ffff:169.254.169.254]/x",
        "http://169.254.169.254./x",
        "http:\\\\internal.corp\\x",
        "http:/internal.corp/x",
        "http:internal.corp",
        "//internal.corp/x",
        " http://internal.corp/x",
        "ht\ttp://internal.corp/x",
        "\u00a0http://internal.corp/x",
        "\u2003\x85http://internal.corp/x\u3000",
        "http://internal.corp\\@ok.com/",
        "http://u:p@INTERNAL.corp:80/x",
        "http://internal%2ecorp/x",
        "wss://x@ok.com@evil.com",
    ],
)
def test_an_address_of_the_web_is_judged_as_browsers_read_it(url: str) -> None:
    assert judged({"url": url}).verdict is Verdict.DENY


@pytest.mark.parametrize(
    "written",
    [
        "M <m@evil.com>",
        "m@EVIL.com",
        "m@evil(x).com",
        "x@ok.com,m@evil.com,y@ok.com",
        "mailto:m@evil.com?subject=x",
        "m@[evil.com]",
        "=?utf-8?q?m=40evil=2Ecom?=",
        "m@evil\u200b.com",
        "m @ evil.com",
        "m@ evil.com",
        "M <m@evil . com>",
        "m@(x(y)z)evil.com",
        "m@evil.com (who",
        '"m"@EVIL.com',
        '"m m"@EVIL.com',
        "write to m@evil.com. Thanks",
    ],
)
@pytest.mark.parametrize("targets", [None, Targets(addresses=("to",))])
def test_an_address_of_mail_is_judged_by_what_it_reaches(written: str, targets: Targets | None) -> None:
    assert judged({"to": written}, targets).verdict is Verdict.DENY


@pytest.mark.parametrize("reported", ["m@evil.com", "m@EVIL.com", "Mallory <m@Evil.COM>"])
def test_an_address_that_a_read_reports_is_judged_as_one(reported: str) -> None:
    declared = Targets(ids=("draft_id",), reported=("{capture.plan.addresses}",))
    capture: dict[str, Any] = {"plan": {"addresses": ["x@ok.com", reported]}}
    assert judged({"draft_id": "1"}, with_resolved_paths(declared, {}, capture)).verdict is Verdict.DENY


def test_every_entry_of_a_list_in_a_text_is_held_against_the_rules_of_operators() -> None:
    assert judged({"paths": "x,ledger.db,y"}).verdict is Verdict.DENY
    assert judged({"body": {"path": "./a/../ledger.db"}}).verdict is Verdict.DENY


@pytest.mark.parametrize(
    "path",
    [
        "/eu-1/a",
        "//eu-1/a",
        "/./eu-1/a",
        "\\eu-1\\a",
        ".\\eu-1",
        "%2feu-1",
        "/x/../eu-1",
        "x:/eu-1",
        " /eu-1",
    ],
)
@pytest.mark.parametrize("targets", [None, Targets(paths=("path",))])
def test_a_rule_about_how_a_path_begins_holds_whatever_slashes_stand_before_it(
    path: str, targets: Targets | None
) -> None:
    assert judged({"path": path}, targets).verdict is Verdict.DENY


@pytest.mark.parametrize("path", ["https://eu-1.example.com/a", "/a/eu-1", "a/eu-1"])
def test_it_does_not_hold_for_what_begins_otherwise(path: str) -> None:
    assert judged({"path": path}).verdict is Verdict.RUN


def test_a_schema_about_how_a_path_begins_holds_as_well() -> None:
    there: dict[str, Any] = {"properties": {"path": {"pattern": "^us-"}}, "required": ["path"]}
    assert judged({"path": "/us-1"}, Targets(paths=("path",)), there).verdict is Verdict.DENY


@pytest.mark.parametrize("pattern", ["^/srv/data/", r"^\/srv/data/", "^(/srv/data|/srv/more)/"])
def test_a_rule_that_spares_a_folder_by_its_absolute_path_still_spares_it(pattern: str) -> None:
    elsewhere: dict[str, Any] = {"properties": {"path": {"not": {"pattern": pattern}}}, "required": ["path"]}
    assert judged({"path": "/srv/data/a.md"}, only=elsewhere).verdict is Verdict.RUN
    assert judged({"path": "/srv/a.md"}, only=elsewhere).verdict is Verdict.DENY


@pytest.mark.parametrize(
    "name",
    ".env|.env (copy)|.env copy|.env - Copy|.env-old|prod.eu.env|id_rsa.bak.gz|server.key-old|"
    "server.key.20260101|server.key.1234|key.pem.asc|.env.bak.zip".split("|"),
)
def test_the_usual_copies_of_a_file_with_secrets_are_taken_for_it(name: str) -> None:
    assert SECRET.search(f"a/{name}")


@pytest.mark.parametrize(
    "name", ".env.example|app.example.env|copy of notes.md|environment|key.md".split("|")
)
def test_other_names_are_not(name: str) -> None:
    assert not SECRET.search(f"a/{name}")


@pytest.mark.slow
@pytest.mark.parametrize("pattern", OF_ENDS)
def test_a_long_text_is_found_by_its_end_where_all_of_it_would_be_searched_in_vain(pattern: str) -> None:
    ends = [
        f"{name}{more}" for name in (*SECRET_NAMES, *PRODUCTION_NAMES) for more in ("", "\n", " ", ".bak")
    ]
    long = [
        "w" * 99 + ".e" * 3 + ".env" + ".1" * 3,
        "run/secrets" + f"/{'s' * 90}" * 4 + "._12345678901234" * 3,
    ]
    for end in (*ends, *long):
        for before in (
            "",
            "/",
            "x",
            ".key ",
            "//.*' " * 300 + "/",
            "sample.",
            "x" * 2_000,
            "prod/" * 300,
            "login/",
        ):
            text = before + end
            assert bool(OF_ENDS[pattern](text)) is bool(re.search(pattern, text)), text


@pytest.mark.parametrize(
    ("pattern", "longest"),
    [(SECRET_FILE, secret_files.LONGEST_END), (PRODUCTION, production_files.LONGEST_END)],
)
def test_what_is_searched_of_a_long_text_is_longer_than_any_match(pattern: str, longest: int) -> None:
    parsed = parser.parse(pattern)
    branches = parsed[0][1][1] if parsed[0][0] is sre.BRANCH else [parsed]
    assert parsed.getwidth()[1] < longest
    assert {branch[-1] for branch in branches} == {(sre.AT, sre.AT_END)}


def test_what_is_no_address_has_no_form_of_one() -> None:
    assert web_address("a/b") == web_address("http://") == web_address("C:/x") == ()
    assert web_address("http://[::1/x") == ()
    assert web_address("http://1.2.3.4.5/x") == ()
    assert address("=?utf-9?q?x?=") == address("@evil.com") == ()


LONG = {
    "one": "\ufdfa" * 10_000,
    "coded": "%ef%b7%ba" * 7_000,
    "coded words": "=?utf-8?b?" + "77e6" * 15_000 + "?=",
    "entries": ",".join(["\ufdfa" * 20] * 1_000),
    "halves": "\u00bd" * 30_000,
    "ligatures": "\ufb03" * 20_000,
    "letters in a square": "\U0001f12a" * 16_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
@pytest.mark.parametrize("targets", [None, Targets(paths=("at",)), Targets(addresses=("at",), ids=("at",))])
def test_a_text_that_grows_when_it_is_composed_is_refused_without_work(
    text: str, targets: Targets | None
) -> None:
    with within(LIMIT):
        found = judged({"at": text}, targets)
    assert found.rule == "too many names"


@pytest.mark.parametrize("text", ["\ufdfa " * 40, "\u00bd" * 500, "Stra\u00dfe " * 5_000, "\uac01" * 20_000])
def test_a_small_text_or_one_of_ordinary_letters_may_grow(text: str) -> None:
    assert judged({"at": text}).verdict is not Verdict.DENY


@pytest.mark.parametrize(
    "text",
    [
        "a@\u00fc " * 12_000,
        ("a@" + "\u00fc" * 250 + " ") * 120,
        "\u0390" * 32_000,
        "a@xn--bcher-kva.de " * 3_000,
        "xn--" * 16_000,
    ],
)
def test_no_host_or_letter_takes_long_to_be_folded(text: str) -> None:
    fresh = (
        f"{text}{number}" for number in range(3)
    )  # the forms of a text are kept: each look is at one of its own

    def judge() -> None:
        args: dict[str, Json] = {"at": next(fresh)}
        judged(args)
        judged(args, Targets(addresses=("at",), ids=("at",)))

    assert seconds(judge, 3, LIMIT) < LIMIT


@pytest.mark.parametrize(
    "url", ["http://" + "%ef%b7%ba" * 7_000, "//" + "\ufdfa" * 20_000 + "/x", ".env " * 13_000]
)
def test_no_text_makes_its_forms_long_work(url: str) -> None:
    with within(0.3):
        judged({"url": url})


REPORTED = {
    "one long path": ("\ufdfa" * 250_000,),
    "very many that are long together": tuple(f"é{i}" * 30 for i in range(1_000)),
    "very many plain ones": tuple(f"a{i}" for i in range(3_001)),
}


@pytest.mark.parametrize("told", REPORTED.values(), ids=REPORTED)
def test_targets_that_a_read_reports_are_counted_before_their_forms_are_made(told: tuple[str, ...]) -> None:
    targets = Targets(paths=("path",), reported=("{capture.x.y}",), resolved_to=told)
    with patch("gate.arguments.target_bounds.too_many_forms", side_effect=AssertionError):
        assert too_many_targets(targets, {"path": "a"})


def test_a_thousand_ordinary_paths_are_not_too_many_to_be_reported() -> None:
    told = tuple(f"a/folder/with/a/name/of/its/own/and/a/few/more/words/in/it/{i}.md" for i in range(1_500))
    assert not too_many_targets(Targets(paths=("path",), resolved_to=told), {"path": "a"})


@pytest.mark.parametrize(
    "written",
    [
        "team@corp:boss@corp.com, ann@x.com;",
        "x@a:boss@corp.com;",
        '"b\\oss"@corp.com',
        '"\\b\\o\\s\\s"@corp.com',
        "x<y@z:boss@corp.com>",
        "boss@corp.com:25",
    ],
)
def test_a_mail_address_in_a_group_or_with_quoted_pairs_is_the_one_that_libraries_read(written: str) -> None:
    assert "boss@corp.com" in address(written)


def test_an_address_of_numbers_keeps_its_colons() -> None:
    assert "a@2001:db8::1" in address("<a@[2001:db8::1]>")


def test_a_byte_order_mark_before_an_address_is_left_out_as_programs_of_typescript_do() -> None:
    assert judged({"at": "\ufeffhttp://internal.corp/x"}).verdict is Verdict.DENY


@pytest.mark.parametrize("invisible", "\u200b\u2060\u00ad\u034f\ufe0f\U000e0041\u202e\u3164")
def test_no_invisible_character_hides_an_address_of_the_web(invisible: str) -> None:
    plain = "http://internal.corp/x"
    for at in (0, 2, 6, 12):
        assert judged({"at": plain[:at] + invisible + plain[at:]}).verdict is Verdict.DENY


@pytest.mark.parametrize(
    "written",
    [
        "HTTP://INTERNAL.corp/x",
        "http:\\\\internal.corp\\x",
        "http://u@internal.corp:80/x",
        " http:internal.corp/x",
    ],
)
def test_a_declared_address_is_judged_as_a_browser_reads_it(written: str) -> None:
    """As one that nobody has declared is."""
    for targets in (None, Targets(addresses=("at",))):
        assert judged({"at": written}, targets).verdict is Verdict.DENY


@pytest.mark.parametrize("host", ["bücher.de", "xn--bcher-kva.de", "XN--BCHER-KVA.DE", "xn--strae-oqa.de"])
def test_a_host_is_judged_in_its_own_letters_where_it_is_written_in_ascii(host: str) -> None:
    for written in (f"x@{host}", f"Ann <x@{host}>"):
        assert judged({"to": written}).rule == "own letters"
        assert judged({"to": written}, Targets(addresses=("to",))).rule == "own letters"
    for written in (host.lower(), f"https://{host}/a", f"https://u@{host}:443/"):
        assert judged({"at": written}).rule == "own letters"


@pytest.mark.parametrize(
    "host", ["xn--bcher-kvb.de", "xn--", "xn--bücher.de", "xn--" + "9" * 59 + ".de", "xn--a.de"]
)
def test_another_host_in_ascii_is_not_refused(host: str) -> None:
    assert judged({"to": f"x@{host}"}).verdict is Verdict.RUN


@pytest.mark.parametrize(
    "text",
    [
        *(
            ":(top)hr/pay.txt",
            ":(top,glob)hr/pay.txt",
            ":!hr/pay.txt",
            "+hr/pay.txt",
            "=hr/pay.txt",
            "#hr/pay.txt",
        ),
        *(
            "${X}hr/pay.txt",
            "%X%hr/pay.txt",
            "${X:-}hr/pay.txt",
            "$(x)hr/pay.txt",
            "^hr/pay.txt",
            "-hr/pay.txt",
        ),
    ],
)
def test_a_path_behind_signs_or_an_empty_variable_is_a_form(text: str) -> None:
    assert "hr/pay.txt" in path_variants(text)
    assert "/hr/pay.txt" in path_variants("$X/hr/pay.txt")
    assert "/hr/pay.txt" in path_variants(":(top)/hr/pay.txt")
    assert "hr/pay.txt" in path_variants(":(top)hr\\pay.txt")


@pytest.mark.parametrize("text", ["$item.key", "a+b", "#note", "-5", "100%", "x ${Y} z/y"])
def test_what_is_code_or_prose_names_no_path_behind_signs(text: str) -> None:
    assert path_variants(text) == () or "#" in text


@pytest.mark.parametrize(
    "text",
    [
        *("ß" + "=?a?b?x" * 9_000 + sign + "=?a?b?x?=" for sign in "\n\r\x0b\x0c\x1c\x85\u2028\u2029"),
        "ß" + "=?a?b?x" * 9_000,
        "=?a?b?ß" * 9_000 + "?=",
        "?==?a?b?" * 8_000,
        "=?" * 32_000,
        "=?a?q?x?=" * 7_000,
    ],
)
def test_encoded_words_without_an_end_are_decoded_in_linear_time(text: str) -> None:
    assert seconds(lambda: grows("ß" + text), tries=3, enough=0.15) < 0.15


@pytest.mark.parametrize(
    "text", ["=?ß?q?x?= a@b.de", "=?utf-8?b?é?=", "=??q?x?=", "=?x\ud800?q?=80?=", "=?utf-8?b?a?="]
)
def test_encoded_words_that_nobody_can_decode_stay_as_they_are(text: str) -> None:
    assert not grows(text)
    assert isinstance(address(text), tuple)


@pytest.mark.parametrize(
    "text",
    [
        "ß\n=?punycode?q?" + "a" * 60_000 + "?=",
        "=?punycode*en?Q?" + "a" * 60_000 + "?=\nßa@b.c",
        "\n".join(f"=?a{number}?q??=" for number in range(5_600)),
    ],
    ids=["punycode", "with a language", "unknown names"],
)
def test_a_charset_that_is_none_of_mail_is_not_asked_for(text: str) -> None:
    address("ßa@bücher.c")  # whose host asks for codecs of its own
    before = {*encodings._cache}  # type: ignore[attr-defined]
    assert seconds(lambda: address(f"{text}ß"), tries=3, enough=0.15) < 0.15
    assert {*encodings._cache} == before  # type: ignore[attr-defined]


def test_addresses_in_encoded_words_are_found_beside_words_of_no_charset() -> None:
    for charset in ("utf-8", "UTF-8*en", "iso-8859-15", "windows-1252", "utf-7"):
        assert "eve@evil.com" in address(f"=?punycode?q?x?= =?{charset}?q?eve=40evil.com?=")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "internal.corp", "bücher.example"])
@pytest.mark.parametrize("end", ["\u3002", "\uff0e", "\uff61", "%E3%80%82", ".\u3002", "\u3002.", "."])
def test_a_full_stop_of_any_script_at_the_end_of_a_host_hides_none(host: str, end: str) -> None:
    plain = f"http://{host.encode('idna').decode()}/a"
    assert plain in web_address(f"http://{host}{end}/a")
    assert plain in (
        f"http://{host}/a",
        *web_address(f"http://{host.replace('.', end[-1] if end[-1] != '2' else '.')}/a"),
    )


@pytest.mark.parametrize("host", ["straße.de", "STRAßE.de", "STRA\u1e9eE.de", "stra%C3%9Fe.de"])
def test_a_host_with_a_sharp_s_is_known_in_both_of_its_forms(host: str) -> None:
    found = text_variants(f"http://{host}/a")
    assert {"http://strasse.de/a", "http://xn--strae-oqa.de/a", "http://straße.de/a"} <= {
        f"http://{host}/a",
        *found,
    }
    assert "eve@evil.com" in address("eve@evil.com\u3002")


@pytest.mark.parametrize(
    "path", ["hr/1:1 with Bob.md", "hr/10:30 meeting/pay.md", "hr/Re: raise.md", "hr/a.md"]
)
def test_a_path_behind_a_revision_begins_at_the_first_colon(path: str) -> None:
    assert path in path_variants(f"main:{path}")
