"""Every path argument of every bundled and reviewed tool: no spelling of a gated file is a click, or a read at once."""

from __future__ import annotations

import asyncio
import json
import os
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcp import Client
from mcp.server.mcpserver.exceptions import ToolError

from bot.wiring import SystemClock
from gate.actions.gated_results import MadeCall, without_gated_files
from gate.arguments.canonical_paths import canonical_path, with_canonical_paths
from gate.arguments.declared_targets import Targets, with_resolved_paths
from gate.arguments.form_count import COST_OF_A_FORM, MOST_WORK_OF_A_CALL
from gate.arguments.secret_files import SECRET_FILE, SECRET_NAMES
from gate.arguments.secret_patterns import MAX_ALTERNATIVES, _candidates, _secrets_of_name
from gate.arguments.secret_patterns import SECRETS as KNOWN_SECRETS
from gate.arguments.text_forms import PLAIN, _path_variants, path_variants, plain_variants
from gate.arguments.text_or_list import names_of_both
from gate.rules.action import CallClass, Decision, Json, Verdict
from gate.rules.always_gated import ALWAYS
from gate.rules.judging_turns import JudgingTurns
from gate.rules.policy import Policy, Rule, decide
from gate.rules.tool import Answer, Hints, ToolSpec, Trust
from servers.filesystem import paths
from servers.filesystem import server as filesystem
from servers.filesystem.paths import Roots
from tests.servers.all_servers import tools
from tests.servers.gate_around_server import META
from tools.mcp.catalogue import Catalogue
from tools.mcp.connection import Listing
from tools.mcp.schema import problems
from tools.mcp.server_config import ServerConfig
from tools.recipes.check import load_recorded_schemas
from tools.recipes.reader import load_recipes, read_recipe

MANIFESTS = Path(__file__).parents[2] / "manifests" / "tools"
POLICY = Policy("v", ALWAYS)
FILES = (".env", "config/prod.yaml", "id_rsa")
SECRETS = (".env", "id_rsa")  # these are gated for reads, too


def spellings(path: str, root: str = "/srv/files") -> list[str]:
    """Other ways to write a path, for one file system or another."""
    folder, _, name = path.rpartition("/")
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" and c != "/" else c for c in path)
    return [
        path,
        f"./{path}",
        f"././{path}",
        f"{path}/.",
        f"{path}/./.",
        f"{path}/",
        f"{path}//",
        f"{path}/.//",
        f".//{path}",
        f"a/../{path}",
        f"a/b/../../{path}",
        f"../files/{path}",
        f"{path}/../{name}",
        f"/{path}",
        f"//{path}",
        f"{root}/{path}",
        f"{root}/./{path}/.",
        f"a//b/{path}",
        path.upper(),
        path.title(),
        f"{path} ",
        f" {path}",
        f"{path}.",
        f"{path}. .",
        f"{path}\t",
        f"{path}\n",
        path.replace("/", "//"),
        path.replace("/", "\\"),
        f"C:\\x\\{name}" if not folder else f"C:\\x\\{folder}\\{name}",
        path.replace(".", "%2e").replace("/", "%2f"),
        path.replace(".", "%252e"),
        "".join(f"%{byte:02X}" for byte in path.encode()),
        f"{path}%00",
        f"{path}\0.png",
        f"{path}::$DATA",
        f"{path}:stream",
        f"file:///srv/{path}",
        f"FILE://localhost/srv/{path}",
        f"https://example.com/raw/{path}?raw=1",
        f"{path}#L1",
        f'"{path}"',
        wide,
        path.replace(".", "\u2024"),
        path.replace("/", "\u2215"),
        path.replace("/", "\uff0f"),
        path[0] + "\u200b" + path[1:],
        path + "\u2800",
        path + "\u00a0",
        path + "\ufeff",
        unicodedata.normalize("NFD", path),
        f"HEAD:{path}",
    ]


def placed(name: str, path: str) -> Json:
    """Arguments with this path at the place of a target: `call.sources`, `files[].path`."""
    step, _, rest = name.partition(".")
    inner = placed(rest, path) if rest else path
    if step.endswith("[]"):
        return {step[:-2]: [{"path": "a.md"}, inner]}
    return {step: inner}


def judged(spec: ToolSpec, args: Json) -> Decision:
    return decide(POLICY, spec, args, "C1", lambda schema, value: not problems(schema, value))


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> list[ToolSpec]:
    found: list[ToolSpec] = []
    for server, listed in asyncio.run(tools(tmp_path_factory.mktemp("bundled"))).items():
        made = Catalogue.of(
            ServerConfig(name=server, inproc="x", trust=Trust.BUNDLED), Listing(tuple(listed), {}), {}, {}
        )
        assert not made.problems
        found += made.specs.values()
    return found


def reviewed() -> Iterator[ToolSpec]:
    kept = load_recorded_schemas(MANIFESTS)
    for server, file in load_recipes(MANIFESTS).items():
        for name, data in file.tools.items():
            schema = kept[server].schemas[name].input_schema
            yield ToolSpec(
                server, name, name, "", schema, "d", trust=Trust.REVIEWED, recipe=read_recipe(data)
            )


def declared(specs: list[ToolSpec]) -> Iterator[tuple[ToolSpec, str]]:
    for spec in specs:
        for name in (spec.recipe.targets or Targets()).paths:
            yield spec, name


def loose(spec: ToolSpec, name: str) -> list[str]:
    """The spellings that this argument takes without a typed phrase."""
    reads = judged(spec, {}).cls is CallClass.READ
    return [
        f"{spec.full_name} {name}={text!r}"
        for path in (SECRETS if reads else FILES)
        for text in spellings(path)
        for args in (placed(name, text), placed(name, [text]))
        if judged(spec, args).verdict is not Verdict.TYPED
    ]


def test_there_are_thirty_spellings_and_more_of_each() -> None:
    assert all(len(set(spellings(path))) >= 40 for path in FILES)


@pytest.mark.slow
def test_no_spelling_passes_a_path_argument_of_a_bundled_tool(bundled: list[ToolSpec]) -> None:
    pairs = list(declared(bundled))
    assert len(pairs) >= 40
    assert [one for spec, name in pairs for one in loose(spec, name)] == []


@pytest.mark.slow
def test_no_spelling_passes_a_path_argument_of_a_reviewed_tool() -> None:
    pairs = list(declared(list(reviewed())))
    assert {spec.server for spec, _ in pairs} >= {
        "server-filesystem",
        "server-git",
        "server-github",
        "github-mcp-server",
    }
    assert [one for spec, name in pairs for one in loose(spec, name)] == []


def test_a_rule_about_a_path_is_about_every_argument_that_holds_one(bundled: list[ToolSpec]) -> None:
    """Also where a tool calls it otherwise, or takes a list of them."""
    pay = Rule(
        "pay",
        ("*",),
        deny=True,
        schema={"required": ["path"], "properties": {"path": {"const": "hr/pay.md"}}},
    )
    policy, passed = Policy("v", (pay,)), list[str]()
    for spec in (*bundled, *reviewed()):
        targets = spec.recipe.targets or Targets()
        for name in (*targets.paths, *targets.looks):
            for path in ("hr/pay.md", ["hr/pay.md"], ["a.md", "hr/pay.md"]):
                decision = decide(
                    policy, spec, placed(name, path), "C1", lambda s, value: not problems(s, value)
                )
                passed += [f"{spec.full_name} {name} {path}"] * (decision.verdict is not Verdict.DENY)
            other = decide(policy, spec, placed(name, "a.md"), "C1", lambda s, value: not problems(s, value))
            if spec.trust is Trust.BUNDLED:  # others refuse what a target that is missing may lead to
                passed += [f"{spec.full_name} {name} is refused"] * (other.verdict is Verdict.DENY)
    assert not passed


def test_a_rule_about_an_argument_sees_each_text_of_a_list_where_one_may_stand_alone(
    bundled: list[ToolSpec],
) -> None:
    seen, passed = set[str](), list[str]()
    for spec in (*bundled, *reviewed()):
        for name in names_of_both(spec.schema, [spec.schema.get("properties", {})]):
            seen.add(spec.full_name)
            schema = {"required": [name], "properties": {name: {"const": "closed"}}}
            policy = Policy("v", (Rule("closed", (spec.full_name,), deny=True, schema=schema),))
            for value in ("closed", ["closed"], ["other", "closed"]):
                decision = decide(policy, spec, {name: value}, "C1", lambda s, v: not problems(s, v))
                passed += [f"{spec.full_name} {name} {value}"] * (decision.verdict is not Verdict.DENY)
    assert seen >= {"filesystem.purge_trash", "filesystem.describe_paths", "email.delete_file"}
    assert not passed


@pytest.mark.parametrize("name", ["store_blob", "get_blob"])
@pytest.mark.parametrize("argument", ["path", "anything", "options.where"])
def test_no_spelling_passes_a_tool_that_declares_nothing(name: str, argument: str) -> None:
    spec = ToolSpec("s", name, name, "", {}, "d", trust=Trust.DECLARED)
    paths = FILES if name == "store_blob" else SECRETS
    texts = [text for path in paths for text in spellings(path)]
    assert [t for t in texts if judged(spec, placed(argument, t)).verdict is not Verdict.TYPED] == []


async def test_ordinary_files_stay_a_click_and_a_read(bundled: list[ToolSpec]) -> None:
    told = {Verdict.RUN: 0, Verdict.CONFIRM: 0}
    for spec, name in declared(bundled):
        if judged(spec, {}).verdict is Verdict.TYPED:
            continue
        for path in ("reports/q3.md", ".env.example", "keyboard.md", "a b/product.yaml", "été/ночь.txt"):
            found = judged(spec, placed(name, path)).verdict
            assert found is judged(spec, {}).verdict, (spec.full_name, path)
            told[found] += 1
    assert min(told.values()) > 20


async def test_every_argument_of_a_bundled_tool_that_is_named_like_a_path_is_declared(
    bundled: list[ToolSpec],
) -> None:
    like = {
        "path",
        "paths",
        "source",
        "sources",
        "destination",
        "file",
        "files",
        "folder",
        "first",
        "second",
        "chunk",
    }
    missed = [
        f"{spec.full_name}.{name}"
        for spec in bundled
        for name in spec.schema.get("properties", {})
        if name in like and name not in {*(t := spec.recipe.targets or Targets()).paths, *t.looks}
    ]
    assert missed == []


def test_a_server_that_follows_links_and_reports_nothing_gets_a_typed_phrase_for_every_change() -> None:
    changing = [
        s for s in reviewed() if s.server == "server-filesystem" and s.recipe.cls is not CallClass.READ
    ]
    assert len(changing) == 4
    for spec in changing:
        found = judged(spec, {"path": "notes.md", "source": "a.md", "destination": "b.md"})
        assert found.verdict is Verdict.TYPED
        assert (
            found.rule == "links" or spec.name == "move_file"
        )  # which says what lies in a folder, and takes one anyhow


PATHS = [text for path in (*FILES, "reports/q3.md", ".", "a b/é") for text in spellings(path)]


@pytest.mark.parametrize("several", [False, True])
def test_the_gate_and_the_server_mean_the_same_place(several: bool, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in (("files", "mail") if several else ("files",))]
    for folder in folders:
        folder.mkdir()
    roots = Roots.at(folders)
    recipe = read_recipe({"targets": {"paths": ["path"], "roots": roots.places}})
    compared = 0
    for text in (one.replace("/srv/files", str(folders[0])) for one in PATHS):
        once = with_canonical_paths(recipe.targets, {"path": text})["path"]
        assert with_canonical_paths(recipe.targets, {"path": once})["path"] == once
        try:
            said = roots.find(text).said
        except ToolError:
            with pytest.raises(ToolError):  # and what the gate would send is refused, too
                roots.find(once)
            continue
        assert once.rstrip("/") == said.rstrip("/")
        compared += 1
    assert compared > 60


async def test_whatever_the_filesystem_server_would_do_to_a_secret_file_was_typed_for(
    tmp_path: Path, bundled: list[ToolSpec]
) -> None:
    """Every spelling is really sent, as the gate would send it: what changed a gated file was no click."""
    spec = next(one for one in bundled if one.full_name == "filesystem.write_file")
    (tmp_path / "config").mkdir()
    os.symlink(".env", tmp_path / "link")
    changed = 0
    async with Client(filesystem([tmp_path])) as client:
        for text in [
            *(t for path in FILES for t in spellings(path, str(tmp_path))),
            "link",
            "config/../link",
            "a/../.env",
        ]:
            for path in FILES:
                (tmp_path / path).write_text("kept")
            args = with_canonical_paths(spec.recipe.targets, {"path": text, "content": "gone"})
            await client.call_tool("write_file", args)
            if any((tmp_path / path).read_text() != "kept" for path in FILES):
                changed += 1
                assert judged(spec, args).verdict is Verdict.TYPED, text
    assert changed > 20


async def test_a_restored_or_decrypted_secret_file_is_known_by_what_the_preview_tells(
    bundled: list[ToolSpec],
) -> None:
    by_name = {spec.full_name: spec for spec in bundled}
    for name, args, capture in (
        ("filesystem.restore_file", {"trash_id": "x"}, {"plan": {"touched": ["a.md", ".env"]}}),
        ("security.decrypt_file", {"path": "dotenv.age"}, {"plan": {"touched": [".env"]}}),
        ("data.restore_rows", {"record": "x"}, {"plan": {"path": "config/secrets.json", "tables": []}}),
        (
            "filesystem.move_file",
            {"source": "a", "destination": "b"},
            {"plan": {"touched": ["a", "b/.env"]}},
        ),
    ):
        spec = by_name[name]
        assert judged(spec, args).verdict is Verdict.CONFIRM
        told = replace(spec.recipe, targets=with_resolved_paths(spec.recipe.targets, args, capture))
        assert judged(replace(spec, recipe=told), args).verdict is Verdict.TYPED


def test_gate_and_servers_know_the_same_secret_files() -> None:
    assert paths.SECRET.pattern == SECRET_FILE


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        (".env/.", ".env"),
        ("./a//b/", "a/b/"),
        ("/srv/files/a", "a"),
        ("/srv/filesystem/a", "/srv/filesystem/a"),
        ("a/../b", "a/../b"),
        ("a\0", "a\0"),
        ("%2eenv", "%2eenv"),
        ("É", "É"),
        ("", ""),
        (".", "."),
    ],
)
def test_a_path_is_sent_in_one_form_and_never_as_another_file(path: str, canonical: str) -> None:
    targets = read_recipe({"targets": {"paths": ["path"], "roots": {"files": ["/srv/files"]}}}).targets
    assert targets is not None
    assert canonical_path(path, targets.roots) == canonical


def test_a_reading_of_a_long_text_takes_no_long_time() -> None:
    """Counted by growth: twice the text makes at most twice the forms' length."""
    for piece in ("a/./b ", "é/./b ", "%2525", "::", "../", "\u2024/", "{a,b}", "[*?", "{a,"):
        lengths = [sum(map(len, path_variants(piece * n))) for n in (1000, 2000, 4000)]
        assert lengths[1] <= 2 * lengths[0] + 64
        assert lengths[2] <= 2 * lengths[1] + 64


def undeclared(name: str) -> ToolSpec:
    return ToolSpec(
        "else",
        name,
        name,
        "",
        {"type": "object"},
        "d",
        Hints(name != "store", False),
        Trust.REVIEWED,
        reviewed=True,
    )


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("path", FILES)
def test_a_path_that_is_the_name_of_a_field_is_a_target_as_well(path: str) -> None:
    for spelling in spellings(path):
        for args in ({"files": {spelling: "x"}}, {"files": [{spelling: "x"}]}, {spelling: "x"}):
            assert judged(undeclared("store"), args).verdict is Verdict.TYPED, args
            if path in SECRETS:
                assert judged(undeclared("read_files"), args).verdict is Verdict.TYPED, args


@pytest.mark.parametrize(
    "form", ["{}\x85", "{}\u2028", "{}\u3000", "a.md,{}", "{},a.md", "a.md; {}", "{};v=1", "{}&x=1", "@{}"]
)
@pytest.mark.parametrize("path", FILES)
def test_lists_of_paths_and_any_blank_behind_one_hide_no_target(path: str, form: str) -> None:
    if path == FILES[1] and form.startswith("@"):
        return  # production configuration is found behind any separator, and @ is none
    args = {"path": form.format(path)}
    assert judged(undeclared("store"), args).verdict is Verdict.TYPED


def test_every_name_that_patterns_are_held_against_is_one_of_a_secret_file() -> None:
    assert [name for name in SECRET_NAMES if not paths.is_secret(name)] == []


GLOBS = """
.en* .e?v id_r?a id_rs[a] {.env,x} {.e,a}nv *.pem *.k?y *.{pem,p12} [.]env [i][d]_[r][s][a] .ssh/* .ssh/c* **/.env*
cred*.json s*rets.yml %2een* ｉd_r＊ .??? src/../.en* .git-cred* .s?h/config
*.tfvars .bash_h* logins.* key?.db cookies.sq* secrets.*.yaml access_t*.db azurePro* .ssh/id_w* .gnupg/*
server.pe* server.ke? tls.k?y private.p[ef]m prod.tfvar? vault.kdb? .env.st* .env.sta?ing app.en? app.env* secrets.ya*
terraform.tfstat* db_credentials.js* service-account-prod.js* .ssh/my_key* id_ed25519_s* ssh_host_rsa_k* .fish_hist*
.e{m..o}v .authinf* .smbcred* .yarnrc.y* prod.keystor* id_rs?.bak *.pem.bak
*_credentials.json server*.key */tls*.key priv*.key app*.env conf?g.env .en?.production secret*.toml secret?.txt
secrets.tx* db_cred*.json app-secret*.yml service-acc*-prod.json client_sec*_123.json kaggl*.json ssh_host_ed*_key
.git/conf* .sqlite_hist* prod.kubeconf* secrets-pr*.yaml etc/gshad*
id_rsa.* id_rsa.b* id_rsa-* server.key.ba? .npmrc.* .netrc.ba* secrets.yaml.* terraform.tfstate.* kubeconfig.b*
secrets-*.yml secrets-de*.yml secrets-sta*.yml secret-stag*.json .m2/sett*.xml .huggingface/stored*
prod*secrets.yml prod*secret*.yml my*secrets.yaml gcp*credentials.json app*credentials.csv credentials/pro*.enc
server[12].key
""".split()
# Patterns that people write for other files
ORDINARY = """
*.py *.js* config.js* *.y*ml docker-compose.y*ml main.p* report.p* package*.json src/**/*.tsx data[0-9].cs* keys*
README.* nginx.conf* pyproject.to* test_*.json **/*.key.ts server.js* a.{1..10}.json credits*.md environment*.yml
dev*.yml *-dev.yaml config-*.json *stage*.json settings*.xml app.log.* README*.md *.test.* logs-prod.* prod.api.*
Contents[].Key issues[].key issues[0].key .[].key .spec.containers[*].env {.items[*].spec.containers[*].env}
$.items[*].key .services[].env a?.b?.key a[0]?.key [dbo].[Users].key import.meta?.env
""".split()


@pytest.mark.parametrize(
    "pattern", [*GLOBS, "cat .en*", "a.md,.en*", "x=.en*", "{" + ",".join("a" * 99) + "}"]
)
def test_a_pattern_that_can_match_a_secret_file_counts_as_one(pattern: str) -> None:
    for args in ({"path": pattern}, {"include": ["a.md", pattern]}, {"where": f'{{"glob": "{pattern}"}}'}):
        assert judged(undeclared("store"), args).verdict is Verdict.TYPED, args
        assert judged(undeclared("read_files"), args).verdict is Verdict.TYPED, args


@pytest.mark.parametrize(
    "pattern",
    "app-p?od.yml app-*rod.yml values-[p]rod.yaml app-prod.y* app-pro?.yml values-production.ya?l values-pro*ion.yaml docker-compose.pro?.yml "
    "appsettings.Pro*.json application-pr?d.properties pr{a..z}d.yaml values*prod.yaml docker-compose*prod.yml "
    "app*production.json my*prod.yml settings_prod*.py settings/produc*.py".split(),
)
def test_a_pattern_that_can_match_production_configuration_counts_as_it(pattern: str) -> None:
    assert judged(undeclared("store"), {"path": pattern}).verdict is Verdict.TYPED


@pytest.mark.parametrize("pattern", ["app-p*.yml", "product*.md", "docs/p*.yaml", "profile-?.json", "*.y*ml"])
def test_a_pattern_of_other_files_counts_as_none_of_production(pattern: str) -> None:
    assert judged(undeclared("store"), {"path": pattern}).verdict is Verdict.CONFIRM


@pytest.mark.parametrize("pattern", ORDINARY)
def test_a_pattern_of_other_files_counts_as_none_of_a_secret_file(pattern: str) -> None:
    assert judged(undeclared("read_files"), {"pattern": pattern}).verdict is Verdict.RUN


MANY = "{a,b}{c,d}{e,f}{g,h}{i,j}{k,l}"  # 64 names


@pytest.mark.parametrize(
    "args",
    [
        {"paths": [f"{MANY}{number}" for number in range(1_500)]},
        {"paths": [f"%257Ba,b}}{{c*,d}}{{e,f}}{{g,h}}{{i,j}}{{k,l}}{number}" for number in range(1_200)]},
        {"where": json.dumps([f"{MANY}{number}*" for number in range(1_400)])},
        {f"{MANY}{number}": number for number in range(1_400)},
    ],
    ids=["list", "percent signs", "JSON", "names of fields"],
)
@pytest.mark.parametrize("tool", ["store", "read_files"])
def test_a_call_that_stands_for_more_names_than_can_be_checked_runs_no_pattern_of_them(
    tool: str, args: dict[str, Any]
) -> None:
    _secrets_of_name.cache_clear()
    decision = judged(undeclared(tool), args)
    assert decision.verdict is Verdict.DENY
    assert "name fewer at a time" in decision.reason
    assert _secrets_of_name.cache_info().misses == 0


@pytest.mark.parametrize("pattern", ["{number}/[a-z0-9][a-z0-9]e[{number}]*", "{{a{number},[b]e*}}"])
def test_a_call_has_at_most_some_hundred_patterns_held_against_the_names_of_secret_files(
    pattern: str,
) -> None:
    few, many = ([pattern.format(number=number) for number in range(count)] for count in (100, 260))
    spec = undeclared("store")
    _secrets_of_name.cache_clear()
    assert "name fewer at a time" not in judged(spec, {"paths": few}).reason
    assert _secrets_of_name.cache_info().misses >= 100
    assert "name fewer at a time" in judged(spec, {"paths": many}).reason


MANY_FORMS = [f"%2525{number}?a#b:c,d" for number in range(2_500)]  # 14 forms each, 50 kB


@pytest.mark.parametrize(
    "args",
    [
        {"paths": MANY_FORMS},
        {"where": json.dumps(MANY_FORMS)},
        {"paths": [json.dumps([text]) for text in MANY_FORMS[:1_500]]},
        dict.fromkeys(MANY_FORMS, 1),
        {"paths": [f"HTTP://u@h{number}.st:80/a/../b?c#d" for number in range(1_500)]},
        {"paths": [f":{number}" for number in range(6_000)]},
        {"command": MANY_FORMS},
    ],
    ids=["list", "JSON", "JSON in each text", "names of fields", "addresses", "colons", "command"],
)
def test_a_call_with_more_forms_of_targets_than_can_be_checked_is_refused_before_they_are_made(
    args: dict[str, Any],
) -> None:
    spec = undeclared("store")
    memories = (plain_variants, _path_variants)
    for memory in memories:
        memory.clear()
    decision = judged(spec, args)
    assert decision.verdict is Verdict.DENY
    assert "name fewer at a time" in decision.reason
    made = sum(memory.made for memory in memories)
    assert made <= MOST_WORK_OF_A_CALL / COST_OF_A_FORM


def test_declared_targets_with_more_forms_than_can_be_checked_are_refused() -> None:
    spec = undeclared("store")
    for targets in (Targets(paths=("paths",)), Targets(addresses=("paths",))):  # an id has two forms at most
        declared = replace(spec, recipe=replace(spec.recipe, targets=targets))
        given = {"paths": [f"ｂen＠x.co {text}" for text in MANY_FORMS]}
        assert judged(declared, given).verdict is Verdict.DENY, targets


def test_reads_that_report_more_targets_than_can_be_checked_refuse_the_call() -> None:
    spec = undeclared("store")
    targets = Targets(paths=("path",), reported=("{{capture.place}}",), resolved_to=tuple(MANY_FORMS))
    spec = replace(spec, recipe=replace(spec.recipe, targets=targets))
    assert judged(spec, {"path": "a.md"}).verdict is Verdict.DENY


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "args",
    [
        {"paths": [f"reports/2026/file {number}.txt" for number in range(2_000)]},
        {
            "rows": [
                {"at": "2026-11-25T10:00:00Z", "who": f"ben{number}@example.org"} for number in range(600)
            ]
        },
        {"urls": [f"https://example.org/page/{number}" for number in range(500)]},
        {"html": "<p style='color: red'>50% of it, see https://example.org/a?b=c#d</p>" * 800},
    ],
    ids=["paths", "rows", "addresses", "a long text"],
)
def test_a_large_call_as_people_make_them_is_not_refused(args: dict[str, Any]) -> None:
    assert judged(undeclared("store"), args).verdict is Verdict.CONFIRM


def test_no_plain_text_has_another_form() -> None:
    for text in ("a", "/srv/a b/c-d.e_f", "report 2026.md", "A-1"):
        assert PLAIN.fullmatch(text)
        assert _path_variants(text) == ()
    for text in (".env", "a//b", "a/.", "a/./b", "a.", " a", "a/", "a..b", "é", "a:b", "*", "a\n"):
        assert not PLAIN.fullmatch(text)


def test_no_matcher_is_made_for_a_pattern_whose_letters_are_in_no_secret_name() -> None:
    for pattern in ("123*", "*7[ab]?x*", "row[0]", "src/*.tsx"):
        assert _candidates(pattern, KNOWN_SECRETS) == ()
    for pattern in (".en*", "id_[rd]sa", "[!q]d_rsa", "*.p?m", "*", ".ssh/conf*"):
        assert _candidates(pattern, KNOWN_SECRETS)


def test_a_call_with_more_patterns_than_matchers_are_made_for_is_denied() -> None:
    spec = undeclared("store")
    few, many = ([f"[{number}a]*[{number}b]" for number in range(n)] for n in (200, 300))
    assert judged(spec, {"path": few}).verdict is not Verdict.DENY
    assert judged(spec, {"path": many}).verdict is Verdict.DENY
    assert judged(spec, {"path": [f"{number}*" for number in range(1_800)]}).verdict is not Verdict.DENY


def test_the_words_of_a_command_that_stand_for_too_many_names_are_not_looked_at_one_by_one() -> None:
    _secrets_of_name.cache_clear()
    words = " ".join(f"{MANY}{number}" for number in range(1_500))
    assert judged(undeclared("run_command"), {"command": f"ls {words}"}).verdict is Verdict.TYPED
    assert _secrets_of_name.cache_info().misses <= MAX_ALTERNATIVES


@pytest.mark.slow
def test_a_thousand_patterns_with_a_choice_of_two_endings_are_looked_at() -> None:
    args = {"paths": [f"src/module{number}/*.{{ts,js}}" for number in range(900)]}
    assert judged(undeclared("read_files"), args).verdict is not Verdict.DENY


@pytest.mark.parametrize(
    "pattern",
    """* ** **/* .* *.* *.md *.json *.yml *.txt src/**/*.ts test_*.py *.env.example **/config.json a[1] {name}
    {a,b}.md index.* what? **bold** config.* data/*.csv access* log* login*.ts key* cookie* *.prod.yaml .ssh/*.pub""".split(),
)
def test_a_pattern_that_says_nothing_of_a_secret_file_is_no_target(pattern: str) -> None:
    assert (
        judged(undeclared("read_files"), {"path": pattern, "where": f'["{pattern}"]'}).verdict is Verdict.RUN
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"path": ".env"}',
        ' [["a", ".env"]]',
        '{".env": "x"}',
        r'{"path": "\u002eenv"}',
        '{"path": ".env", "path": "a.md"}',
        '["{\\"path\\": \\".env\\"}"]',
        '{"path": "a/%2eenv"}',
    ],
)
def test_a_text_that_is_json_is_looked_through(text: str) -> None:
    for args in ({"args": text}, {"calls": [text]}):
        assert judged(undeclared("store"), args).verdict is Verdict.TYPED, args
        assert judged(undeclared("read_files"), args).verdict is Verdict.TYPED, args


@pytest.mark.parametrize("text", ["[" * 100, '{"a": 1', "{}", "[1, 2]", '{"path": "a.md"}'])
def test_a_text_that_is_no_json_or_names_no_secret_is_judged_as_before(text: str) -> None:
    assert judged(undeclared("read_files"), {"args": text}).verdict is Verdict.RUN


@pytest.mark.parametrize(
    ("folder", "file"),
    [
        (".kube", "config"),
        ("run/secrets", "db_password"),
        (".ssh", "deploy"),
        (".docker", "config.json"),
        ("gh", "hosts.yml"),
        (".ssh", "%64eploy"),
    ],
)
@pytest.mark.parametrize("several", [False, True])
async def test_a_served_folder_does_not_hide_what_its_own_name_says(
    tmp_path: Path, folder: str, file: str, several: bool
) -> None:
    served = tmp_path / folder
    served.mkdir(parents=True)
    (tmp_path / "notes").mkdir()
    async with Client(filesystem([served, tmp_path / "notes"][: 1 + several])) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    for name, args in (("read_file", {}), ("write_file", {"content": "x"})):
        tool = listed[name]
        recipe = read_recipe((tool.meta or {})[META])
        spec = ToolSpec(
            "filesystem", name, "", "", tool.input_schema, "d", trust=Trust.BUNDLED, recipe=recipe
        )
        start = f"{served.name}/" if several else ""
        for path in (f"{start}{file}", f"{served}/{file}"):
            asked = with_canonical_paths(recipe.targets, {**args, "path": path})
            assert judged(spec, asked).verdict is Verdict.TYPED, (name, path)
    restore = read_recipe((listed["restore_file"].meta or {})[META])
    told = with_resolved_paths(restore.targets, {}, {"plan": {"touched": [f"{start}{file}"]}})
    spec = replace(spec, name="restore_file", recipe=replace(restore, targets=told))
    assert judged(spec, {"trash_id": "1"}).verdict is Verdict.TYPED


@pytest.mark.parametrize("several", [False, True])
async def test_a_search_gives_nothing_of_what_a_rule_keeps_by_the_name_of_the_served_folder(
    tmp_path: Path, several: bool
) -> None:
    for folder in ("hr", "notes"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "pay.csv").write_text(f"{folder}: Ben earns 98,000\n")
    policy = Policy(
        "v", (*ALWAYS, Rule("hr is private", ("*.read_file",), texts=(r"(^|/)hr/",), private=True))
    )
    async with Client(filesystem([tmp_path / "hr", tmp_path / "notes"][: 1 + several])) as client:
        listed = (await client.list_tools()).tools
        specs = [
            ToolSpec(
                "filesystem", tool.name, "", "", tool.input_schema, "d", trust=Trust.BUNDLED, recipe=recipe
            )
            for tool in listed
            for recipe in [read_recipe((tool.meta or {})[META])]
        ]
        search = next(spec for spec in specs if spec.name == "search_files")
        tools = SimpleNamespace(specs=lambda: specs, problems=lambda schema, value: ())
        world: Any = SimpleNamespace(policy=policy, tools=tools, clock=SystemClock(), judging=JudgingTurns())
        for path, given in [("hr" if several else ".", False), *[("notes", True)] * several]:
            args = with_canonical_paths(
                search.recipe.targets, {"path": path, "pattern": "*", "contains": "Ben"}
            )
            made = await client.call_tool("search_files", dict(args))
            answer = Answer(str(made.structured_content), structured=made.structured_content)
            told = await without_gated_files(world, MadeCall(search, args, "C"), answer)
            assert ("98,000" in str(told)) == given
