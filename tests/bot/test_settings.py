"""Settings: read once, secrets hidden, and everything that is wrong told together with how to mend it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bot.demo import local, of_production
from bot.http_limits import HttpLimits
from bot.settings import Secret, Settings, SettingsError
from gate.rules.ports import Limits
from gate.rules.settings import Switches
from gate.rules.tool import Trust
from workspace.server import Workspace

ROOT = Path(__file__).parents[2]
SLACK = {"SLACK_BOT_TOKEN": "xoxb-1-2", "SLACK_APP_TOKEN": "xapp-1-2"}


def problems(environ: dict[str, str], cwd: Path, *, slack: bool = False) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        Settings.load(environ, cwd, slack=slack)
    return caught.value.problems


def config(cwd: Path, text: str) -> dict[str, str]:
    (cwd / "countersign.yaml").write_text(text, "utf-8")
    return {}


def test_with_nothing_set_everything_is_embedded(tmp_path: Path) -> None:
    settings = Settings.load({}, tmp_path)
    assert settings.home == tmp_path / "var"
    assert settings.database_url == f"sqlite+aiosqlite:///{tmp_path}/var/countersign.db"
    assert settings.redis_url is None
    assert (settings.host, settings.port, settings.worker_nice) == ("0.0.0.0", 3000, 10)
    assert settings.api_url == "https://slack.com/api/"
    assert (settings.limits, settings.namespace, settings.servers) == (Limits(), "confirmation", ())


def test_the_manifests_that_come_along_are_found_from_anywhere(tmp_path: Path) -> None:
    settings = Settings.load({}, tmp_path)
    assert settings.policy.is_file()
    assert settings.recipes.is_dir()


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("postgres://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
        ("postgresql://u:p@h:5432/d", "postgresql+psycopg://u:p@h:5432/d"),
        ("postgresql+psycopg://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
        ("sqlite:///data/c.db", "sqlite+aiosqlite:///data/c.db"),
    ],
)
def test_the_usual_database_addresses_get_our_driver(given: str, used: str, tmp_path: Path) -> None:
    assert Settings.load({"DATABASE_URL": given}, tmp_path).database_url == used


@pytest.mark.parametrize(
    "given", ["http://127.0.0.1:8080/api", "http://127.0.0.1:8080/api/", "http://127.0.0.1:8080/api//"]
)
def test_the_address_of_slack_ends_with_one_slash(given: str, tmp_path: Path) -> None:
    assert Settings.load({"SLACK_API_URL": given}, tmp_path).api_url == "http://127.0.0.1:8080/api/"


def test_all_that_is_wrong_is_told_in_one_message(tmp_path: Path) -> None:
    environ = {
        "PORT": "three",
        "WORKER_NICE": "-5",
        "REDIS_URL": "localhost:6379",
        "DATABASE_URL": "mysql://h/d",
        "SLACK_BOT_TOKEN": "xoxp-not-shown",
        "SLACK_API_URL": "slack.com",
        "COUNTERSIGN_AUDIT_KEY": "short",
        "COUNTERSIGN_CONFIG": "elsewhere.yaml",
    }
    said = problems(environ, tmp_path, slack=True)
    begins = "PORT REDIS_URL DATABASE_URL SLACK_BOT_TOKEN SLACK_API_URL COUNTERSIGN_AUDIT_KEY elsewhere.yaml".split()
    for name in [*begins, "SLACK_APP_TOKEN", "WORKER_NICE"]:
        assert len([problem for problem in said if name in problem]) == 1, name
    assert len(said) == 9
    assert all(problem.endswith(".") for problem in said)
    assert "not-shown" not in "".join(said)
    assert "short" not in "".join(said)


def test_the_times_and_names_of_the_specs_are_the_defaults(tmp_path: Path) -> None:
    settings = Settings.load({}, tmp_path)
    limits = settings.limits
    assert (limits.ttl, limits.proceed) == (300, 10)
    assert settings.namespace == "confirmation"


def test_slack_needs_its_token_and_a_way_in(tmp_path: Path) -> None:
    assert len(problems({}, tmp_path, slack=True)) == 2
    with pytest.raises(SettingsError, match="SLACK_SIGNING_SECRET"):
        Settings.load({"SLACK_BOT_TOKEN": "xoxb-1"}, tmp_path).require_slack()
    Settings.load(SLACK, tmp_path, slack=True).require_slack()
    Settings.load({"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_SIGNING_SECRET": "s"}, tmp_path, slack=True)


def test_a_migration_needs_no_secrets_of_slack(tmp_path: Path) -> None:
    assert Settings.load({}, tmp_path).bot_token is None


def test_an_empty_variable_counts_as_not_set(tmp_path: Path) -> None:
    settings = Settings.load({"PORT": "", "REDIS_URL": " ", "SLACK_BOT_TOKEN": ""}, tmp_path)
    assert (settings.port, settings.redis_url, settings.bot_token) == (3000, None, None)


def test_no_secret_shows_when_settings_are_printed(tmp_path: Path) -> None:
    environ = {
        "SLACK_BOT_TOKEN": "xoxb-hidden",
        "SLACK_SIGNING_SECRET": "hidden",
        "COUNTERSIGN_AUDIT_KEY": "hidden" * 8,
        "REDIS_URL": "redis://:hidden@h",
        "DATABASE_URL": "postgresql://u:hidden@h/d",
    }
    settings = Settings.load(environ, tmp_path)
    assert "hidden" not in f"{settings!r} {settings} {settings.bot_token} {settings.bot_token!r}"
    assert settings.bot_token is not None
    assert settings.bot_token.reveal() == "xoxb-hidden"


def test_a_secret_is_not_told_by_formatting() -> None:
    secret = Secret("hidden")
    assert "hidden" not in "{0} {0!s} {0!r}".format(secret) + "%s" % secret + str({"a": secret})  # noqa: UP031, UP032


def test_without_a_key_one_is_made_once_and_only_for_us(tmp_path: Path) -> None:
    settings = Settings.load({}, tmp_path)
    assert not settings.home.exists()
    key = settings.audit_key()
    assert len(key) == 32
    assert settings.audit_key() == key
    assert Settings.load({}, tmp_path).audit_key() == key
    assert [path.name for path in settings.home.iterdir()] == ["audit.key"]
    assert (settings.home / "audit.key").stat().st_mode & 0o777 == 0o600


def test_a_key_from_outside_is_used_and_nothing_is_written(tmp_path: Path) -> None:
    settings = Settings.load({"COUNTERSIGN_AUDIT_KEY": "k" * 32}, tmp_path)
    assert settings.audit_key() == b"k" * 32
    assert not settings.home.exists()


def test_replicas_on_postgresql_never_make_a_key_each(tmp_path: Path) -> None:
    settings = Settings.load({"DATABASE_URL": "postgresql://h/d"}, tmp_path)
    with pytest.raises(SettingsError, match="COUNTERSIGN_AUDIT_KEY is not set"):
        settings.audit_key()


def test_a_damaged_key_stops_instead_of_starting_a_second_chain(tmp_path: Path) -> None:
    settings = Settings.load({}, tmp_path)
    settings.audit_key()
    (settings.home / "audit.key").write_bytes(b"half")
    with pytest.raises(SettingsError, match="restore it from a backup"):
        settings.audit_key()


def test_the_file_sets_limits_servers_and_paths(tmp_path: Path) -> None:
    text = """
confirmation: {ttl: 60, namespace: ops}
limits: {proceed: 5, pending_per_user: 3}
policy: rules/policy.yaml
mcpServers:
  notes: {command: npx, args: [-y, notes], env: {TOKEN: "${NOTES_TOKEN}"}, trust: reviewed}
"""
    settings = Settings.load({**config(tmp_path, text), "NOTES_TOKEN": "t"}, tmp_path)
    assert settings.limits == Limits(ttl=60, proceed=5, pending_per_user=3)
    assert settings.namespace == "ops"
    assert settings.policy == tmp_path / "rules/policy.yaml"
    (notes,) = settings.servers
    assert (notes.name, notes.trust, dict(notes.env)) == ("notes", Trust.REVIEWED, {"TOKEN": "t"})


def test_paths_in_the_file_begin_where_the_file_is(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/c.yaml").write_text("phrases: p.yaml")
    assert Settings.load({"COUNTERSIGN_CONFIG": "etc/c.yaml"}, tmp_path).phrases == tmp_path / "etc/p.yaml"


def test_without_switches_in_the_file_they_are_the_defaults(tmp_path: Path) -> None:
    settings = Settings.load({}, tmp_path)
    assert settings.switches == settings.switches_for("C1") == Switches()
    assert settings.channel_switches == {}


def test_a_channel_has_its_switches_on_top_of_those_for_all(tmp_path: Path) -> None:
    text = """
preset: complex
review: none
satisfaction: changes
channels:
  C0123: {preset: simple, pause_enabled: no}
  D0456: {review: before_step}
"""
    settings = Settings.load(config(tmp_path, text), tmp_path)
    everywhere = settings.switches_for("C9")
    assert (everywhere.intelligent_routing, everywhere.review, everywhere.satisfaction) == (
        "aggressive",
        "none",
        "changes",
    )
    own = settings.switches_for("C0123")
    assert (own.intelligent_routing, own.review, own.enable_planning) == ("minimal", "after_step", False)
    assert (own.pause_enabled, own.satisfaction) == (False, "changes")
    assert settings.switches_for("D0456").review == "before_step"
    assert settings.switches_for("D0456").intelligent_routing == "aggressive"


def test_words_that_yaml_takes_for_no_are_kept_apart(tmp_path: Path) -> None:
    text = "review: none\nsatisfaction: never\nplan_approval: no\nconversational: 'yes'"
    found = Settings.load(config(tmp_path, text), tmp_path).switches
    assert (found.review, found.satisfaction, found.plan_approval, found.conversational) == (
        "none",
        "never",
        False,
        True,
    )


def test_an_empty_file_means_the_defaults(tmp_path: Path) -> None:
    assert Settings.load(config(tmp_path, "# nothing yet\n"), tmp_path).limits == Limits()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "confirmation:\n  tll: 3",
            "countersign.yaml, line 2: “confirmation.tll” is not known; did you mean “ttl”.",
        ),
        ("polcy: x", "countersign.yaml, line 1: “polcy” is not known; did you mean “policy”."),
        ("policy: a\n\npolicy: b", "countersign.yaml, line 3: “policy” stands there twice: remove one."),
        ("confirmation: {ttl: soon}", "line 1: “confirmation.ttl” must be a number from 1 to 86400."),
        ("confirmation: {ttl: true}", "line 1: “confirmation.ttl” must be a number from 1 to 86400."),
        ("confirmation: {ttl: .nan}", "line 1: “confirmation.ttl” must be text, a number, true"),
        ("confirmation: {namespace: 'a:b'}", "“confirmation.namespace” must be letters, digits, _ and -."),
        ("limits:\n - 3", "line 1: “limits” must be a mapping of `key: value` lines."),
        ("limits: {turns_depth: 1.5}", "“limits.turns_depth” must be a whole number from 1 to 100."),
        ("policy: 3", "line 1: “policy” must be text: put it into quotes."),
        ("policy: &a x\nphrases: *a", "line 2: aliases (*name) are not used here: write it out."),
        ("a: [", "countersign.yaml, line 1: did not find expected node content."),
        ("[]", "countersign.yaml, line 1: the file must be a mapping of `key: value` lines."),
        ("1: 2", "line 1: the file has a key that is no text: put it into quotes."),
        ("presett: simple", "countersign.yaml, line 1: “presett” is not known; did you mean “preset”."),
        (
            "\npreset: simpel",
            "line 2: “preset” must be one of complex, simple, conversational, not “simpel” (did you mean “simple”?).",
        ),
        ("pause_enabled: 3", "line 1: “pause_enabled” must be yes or no, not “3”."),
        ("review: [both]", "line 1: “review” must be one of none, before_step, after_step, both"),
        ("approval_mode: before_step", "line 1: “approval_mode” is called “review” here: write “review”"),
        (
            "channels:\n  C1:\n    reviw: both",
            "line 3: “channels.C1.reviw” is not known; did you mean “review”.",
        ),
        ("channels:\n  C1: {review: bth}", "line 2: “channels.C1.review” must be one of none"),
        ("channels:\n  ops: {review: both}", "line 2: “channels.ops” must be a channel ID (C…), not a name."),
        ("channels: [C1]", "line 1: “channels” must be a mapping of `key: value` lines."),
        ("channels: {C1: simple}", "line 1: “channels.C1” must be a mapping of `key: value` lines."),
        ("mcpServers: {x: {trust: reviewed}}", "line 1: “mcpServers.x” must have exactly one of"),
        (
            "mcpServers:\n  x:\n    command: y\n    command: z",
            "line 4: “mcpServers.x.command” stands there twice",
        ),
        ("a: 1\n---\nb: 2", "line 2: only one document can be in a file."),
        ("mcpServers: {x: {command: y, args: [2020-01-01]}}", "put it into quotes."),
        ("mcpServers: {x: {url: 'http://h', headers: {a: '${NO}'}}}", "the environment variable NO"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_line(text: str, said: str, tmp_path: Path) -> None:
    assert said in "\n".join(problems(config(tmp_path, text), tmp_path))


def test_mistakes_are_told_in_the_order_of_their_lines(tmp_path: Path) -> None:
    said = problems(config(tmp_path, "zzz: 1\nlimits: {call: x}\nconfirmation: {ttl: x}\naaa: 1"), tmp_path)
    assert [problem.split(":")[0] for problem in said] == [
        f"countersign.yaml, line {n}" for n in (1, 2, 3, 4)
    ]


@pytest.mark.parametrize("bad", [b"\xff\xfe\x00", b"a: \x00", b"[" * 5000, b"a: !!python/object:os.system x"])
def test_no_file_breaks_the_reader(bad: bytes, tmp_path: Path) -> None:
    (tmp_path / "countersign.yaml").write_bytes(bad)
    assert problems({}, tmp_path)


def test_a_directory_in_place_of_the_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "countersign.yaml").mkdir()
    assert "cannot be read" in problems({}, tmp_path)[0]


def test_what_the_http_port_bears_is_set_in_the_file(tmp_path: Path) -> None:
    assert Settings.load({}, tmp_path).http == HttpLimits()
    config(tmp_path, "http: {connections: 50, per_address: 5, per_token: 20, headers: 2.5, slow: 3}")
    assert Settings.load({}, tmp_path).http == HttpLimits(50, 5, 20, 2.5, 3)


MODEL = {"COUNTERSIGN_MODEL": "openai:small-1", "OPENAI_API_KEY": "sk-secret"}


def test_without_a_model_the_phrases_plan(tmp_path: Path) -> None:
    assert Settings.load({}, tmp_path).model is None
    config(tmp_path, "planner: phrases")
    assert Settings.load(MODEL, tmp_path).model is None  # stated, so the model that is named waits


@pytest.mark.parametrize("text", ["", "planner: model", "planner: model\nmodel: anthropic:other"])
def test_a_model_of_the_environment_plans_with_its_key(text: str, tmp_path: Path) -> None:
    config(tmp_path, text or "limits: {steps: 3}")
    model = Settings.load({**MODEL, "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, tmp_path).model
    assert model is not None
    assert (model.full_name, model.key, model.base_url) == (
        "openai:small-1",
        "sk-secret",
        "http://127.0.0.1:1/v1",
    )
    assert "sk-secret" not in repr(model)


def test_a_model_of_the_file_plans(tmp_path: Path) -> None:
    config(tmp_path, "model: anthropic:large-2")
    model = Settings.load({"ANTHROPIC_API_KEY": "k"}, tmp_path).model
    assert model is not None
    assert (model.provider, model.name, model.base_url) == ("anthropic", "large-2", "")


@pytest.mark.parametrize(
    ("text", "environ", "told"),
    [
        ("planner: model", {}, "none is named: set COUNTERSIGN_MODEL"),
        ("planner: thought", {}, "must be one of phrases, model"),
        ("model: gpt", {}, "`model` must name a provider and a model"),
        ("", {"COUNTERSIGN_MODEL": "openai:"}, "COUNTERSIGN_MODEL must name a provider and a model"),
        ("", {"COUNTERSIGN_MODEL": "mail:x", "MAIL_API_KEY": "k"}, "must name a provider"),
        ("", {"COUNTERSIGN_MODEL": "openai:x"}, "OPENAI_API_KEY is not set: the model openai:x needs it"),
        ("", {**MODEL, "OPENAI_BASE_URL": "localhost:1"}, "OPENAI_BASE_URL must begin with https://"),
    ],
)
def test_a_model_that_cannot_be_used_is_told_of_at_the_start(
    text: str, environ: dict[str, str], told: str, tmp_path: Path
) -> None:
    config(tmp_path, text or "limits: {steps: 3}")
    (problem,) = problems(environ, tmp_path)
    assert told in problem


@pytest.mark.parametrize(
    ("text", "environ", "judge"),
    [
        ("limits: {steps: 3}", {}, "rules"),
        ("limits: {steps: 3}", MODEL, "model"),
        ("planner: phrases", MODEL, "rules"),
        ("judge: none", MODEL, "none"),
        ("judge: rules", MODEL, "rules"),
        ("judge: rules", {}, "rules"),
        ("judge: model", MODEL, "model"),
    ],
)
def test_results_are_judged_by_the_model_that_plans_or_by_rules_unless_it_is_said_otherwise(
    text: str, environ: dict[str, str], judge: str, tmp_path: Path
) -> None:
    config(tmp_path, text)
    assert Settings.load(environ, tmp_path).judge == judge


@pytest.mark.parametrize(
    ("text", "environ", "told"),
    [
        ("judge: model", {}, "phrases plan: name a model"),
        ("judge: model\nplanner: phrases", MODEL, "phrases plan: name a model"),
        ("judge: everyone", {}, "“judge” must be one of none, rules, model"),
    ],
)
def test_a_judge_that_there_is_not_is_told_of_at_the_start(
    text: str, environ: dict[str, str], told: str, tmp_path: Path
) -> None:
    config(tmp_path, text)
    (problem,) = problems(environ, tmp_path)
    assert told in problem


def test_what_one_token_of_the_api_may_take_is_set_in_the_file(tmp_path: Path) -> None:
    assert Settings.load({}, tmp_path).api.per_minute == 300
    config(tmp_path, "api: {per_minute: 20, streams: 2, webhooks: 0}")
    found = Settings.load({}, tmp_path).api
    assert (found.per_minute, found.streams, found.webhooks) == (20, 2, 0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("api: {per_minute: 0}", "“api.per_minute” must be a whole number from 1 to 100000"),
        ("api: {permin: 5}", "“api.permin” is not known; did you mean “per_minute”"),
        ("api: 300", "“api” must be a mapping"),
        ("api: {requests: 0}", "“api.requests” must be a whole number from 1 to 1000"),
        ("http: {connections: 4}", "“http.connections” must be a whole number from 16 to 100000"),
        ("http: {header: 4}", "“http.header” is not known; did you mean “headers”"),
    ],
)
def test_a_wrong_rate_is_told_with_its_line(text: str, told: str, tmp_path: Path) -> None:
    (problem,) = problems(config(tmp_path, text), tmp_path)
    assert told in problem


@pytest.mark.slow
def test_who_plans_by_phrases_does_not_load_what_models_need() -> None:
    code = "import bot.wiring, sys; sys.exit(any(m.startswith(('pydantic_ai', 'openai', 'anthropic')) for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_a_demo_leaves_everything_of_a_production_alone(tmp_path: Path) -> None:
    production = {
        "DATABASE_URL": "postgresql://bot:secret@db.example/prod",
        "REDIS_URL": "rediss://redis.example",
        "SLACK_BOT_TOKEN": "xoxb-real",
        "SLACK_APP_TOKEN": "xapp-real",
        "SLACK_SIGNING_SECRET": "real",
        "SLACK_API_URL": "https://slack.example",
        "COUNTERSIGN_AUDIT_KEY": "k" * 40,
        "COUNTERSIGN_HOME": str(tmp_path / "prod"),
        "COUNTERSIGN_TOKEN": "cs_p_real",
    }
    settings = Settings.for_demo(production, tmp_path)
    assert settings.alone
    assert settings.home == tmp_path / "prod" / "demo"
    assert str(settings.home) in settings.database_url
    assert settings.redis_url is None
    kept = (
        settings.bot_token,
        settings.app_token,
        settings.signing_secret,
        settings.audit_secret,
        settings.token,
    )
    assert kept == (None,) * 5
    assert set(settings.ignored) == production.keys() - {"COUNTERSIGN_HOME"}
    assert Settings.for_demo({}, tmp_path).ignored == ()


def test_a_demo_names_the_servers_of_others_that_run_in_it(tmp_path: Path) -> None:
    where = config(
        tmp_path, "mcpServers: {github: {command: github-mcp-server}, filesystem: {command: other}}\n"
    )
    settings = Settings.for_demo({**where, "DATABASE_URL": "postgresql://db.example/prod"}, tmp_path)
    turned = local(settings, "http://127.0.0.1:1", Workspace().installation, tmp_path)
    told = of_production(settings, turned)
    assert "ignores DATABASE_URL" in told
    assert "From countersign.yaml, there run as well: github." in told
    assert of_production(Settings.for_demo({}, tmp_path / "empty"), turned) == ""


def test_a_demo_does_not_even_read_a_variable_that_it_ignores(tmp_path: Path) -> None:
    assert Settings.for_demo({"DATABASE_URL": "nonsense", "REDIS_URL": "x"}, tmp_path).alone


def test_what_servers_may_take_of_the_model_is_set_in_the_file(tmp_path: Path) -> None:
    config(
        tmp_path,
        "mcpServers: {a: {command: x, sampling: true}, b: {inproc: 'servers.y:server'}}\nsampling_bounds: {requests: 2}",
    )
    found = Settings.load({}, tmp_path)
    assert [server.sampling for server in found.servers] == [True, False]
    assert (found.sampling.requests, found.sampling.hour_tokens) == (2, 200_000)
    config(tmp_path, "\nsampling_bounds: {requests: 0}")
    with pytest.raises(SettingsError, match=r"line 2.*“sampling_bounds.requests” must be a whole number"):
        Settings.load({}, tmp_path)


def test_a_password_of_redis_with_a_slash_is_not_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as raised:
        Settings.load({"REDIS_URL": "redis://:pwSE/CRET@127.0.0.1:9/0"}, tmp_path)
    assert "%2F" in str(raised.value)
    assert "pwSE" not in str(raised.value)
