"""What the service is told from outside: the environment and countersign.yaml, read once, checked together."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from bot.config_file import DEFAULT, Config, read_config
from bot.http_limits import HttpLimits
from bot.planner import read_model
from bot.result_judge import BY_DEFAULT, BY_MODEL, unjudged
from gate.rules.ports import Limits
from gate.rules.sampling import SamplingBounds
from gate.rules.settings import Switches
from gate.rules.url_guard import Network
from handlers.api.ports import Bounds
from storage import file_modes
from storage.database import BadDatabaseUrl, parse
from tools.mcp.server_config import ServerConfig
from tools.model.model_port import ModelConfig
from tools.strict_config import ConfigError

SLACK_API = "https://slack.com/api/"
REDIS = ("redis://", "rediss://", "unix://")
KEY_LENGTH = 32  # bytes of a key that we make, and characters that COUNTERSIGN_AUDIT_KEY must at least have
BOT_TOKEN = (
    "SLACK_BOT_TOKEN is not set: copy the Bot User OAuth Token (xoxb-…) from the page “OAuth & Permissions” of "
    "your Slack app."
)
WAY_IN = (
    "Neither SLACK_APP_TOKEN nor SLACK_SIGNING_SECRET is set: for Socket Mode set SLACK_APP_TOKEN (xapp-…, with "
    "connections:write), for HTTP set SLACK_SIGNING_SECRET; both are on the page “Basic Information” of your app."
)


# A demo with these would take over the work of the service that they belong to.
OF_PRODUCTION = (
    "DATABASE_URL",
    "REDIS_URL",
    "SLACK_BOT_TOKEN",
    "SLACK_APP_TOKEN",
    "SLACK_SIGNING_SECRET",
    "SLACK_API_URL",
    "COUNTERSIGN_AUDIT_KEY",
    "COUNTERSIGN_AUDIT_KEY_OLD",
    "COUNTERSIGN_TOKEN",
    "COUNTERSIGN_URL",
)
ONE_KEY = (
    "COUNTERSIGN_AUDIT_KEY is not set: with PostgreSQL every replica needs the same key, so make one with "
    "`openssl rand -hex 32` and give it to all of them."
)


class SettingsError(Exception):
    """Everything that is missing or wrong in what we were told: one sentence each, saying how to mend it."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class Secret:
    """A text that does not show when it is printed or logged."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret(…)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one process. Addresses are kept out of the repr: they may hold passwords."""

    home: Path  # data of the embedded Redis and SQLite, logs, the audit key
    database_url: str = field(repr=False)  # for SQLAlchemy, with the driver
    redis_url: str | None = field(default=None, repr=False)  # None: the embedded one
    host: str = "0.0.0.0"
    port: int = 3000
    worker_nice: int = 10  # steps of nice that a process that is only a worker goes back
    bot_token: Secret | None = None
    signing_secret: Secret | None = None
    app_token: Secret | None = None  # set: Socket Mode
    api_url: str = SLACK_API  # with a slash at its end
    token: Secret | None = None  # of the API, for `gateway`
    service_url: str = "http://127.0.0.1:3000"  # where `gateway` reaches the service
    audit_secret: Secret | None = None  # None: the key is a file in `home`
    audit_retired: tuple[Secret, ...] = ()  # the keys of before its rotations
    namespace: str = DEFAULT.namespace
    limits: Limits = DEFAULT.limits
    servers: tuple[ServerConfig, ...] = ()
    policy: Path = DEFAULT.policy
    phrases: Path = DEFAULT.phrases
    recipes: Path = DEFAULT.recipes
    model: ModelConfig | None = None  # None: the phrases plan
    judge: str = BY_DEFAULT  # of the results of steps: one of bot.result_judge.JUDGES
    switches: Switches = DEFAULT.switches
    channel_switches: Mapping[str, Switches] = field(default_factory=dict)  # by channel id
    webhooks: tuple[Network, ...] = ()  # networks of the operator's own that webhooks may reach
    api: Bounds = DEFAULT.api
    http: HttpLimits = DEFAULT.http
    sampling: SamplingBounds = DEFAULT.sampling
    ignored: tuple[str, ...] = ()  # variables of a production that a demo leaves alone

    @classmethod
    def from_environment(cls, *, slack: bool = False, demo: bool = False) -> Settings:
        """The settings of this process; see `load` and `for_demo`."""
        if demo:
            return cls.for_demo(os.environ, Path.cwd())
        return cls.load(os.environ, Path.cwd(), slack=slack)

    @classmethod
    def for_demo(cls, environ: Mapping[str, str], cwd: Path) -> Settings:
        """The settings of a demo: without what names somebody's real database, Redis, Slack or audit key, and with a
        home of its own inside the home. Raises SettingsError."""
        left = {name: value for name, value in environ.items() if name not in OF_PRODUCTION}
        home = cwd / (left.get("COUNTERSIGN_HOME", "").strip() or "var") / "demo"
        settings = cls.load({**left, "COUNTERSIGN_HOME": str(home)}, cwd)
        return replace(
            settings, ignored=tuple(name for name in OF_PRODUCTION if environ.get(name, "").strip())
        )

    @classmethod
    def load(cls, environ: Mapping[str, str], cwd: Path, *, slack: bool = False) -> Settings:
        """Read the environment, and the file that COUNTERSIGN_CONFIG names. Relative paths begin at `cwd`.

        `slack`: the secrets of Slack are needed. Raises SettingsError with everything that is missing or wrong.
        """
        reader = _Reader(environ, cwd)
        home = cwd / reader.text("COUNTERSIGN_HOME", "var")
        config = reader.config()
        model, problems = read_model(environ, config.planner, config.model)
        problems += unjudged(config.judge, model) if not problems else []
        port = reader.whole("PORT", 3000, 65_535)
        settings = cls(
            home=home,
            database_url=reader.database(f"sqlite:///{home / 'countersign.db'}"),
            redis_url=reader.redis(),
            host=reader.text("HOST", "0.0.0.0"),
            port=port,
            worker_nice=reader.whole("WORKER_NICE", 10, 19),
            bot_token=reader.secret("SLACK_BOT_TOKEN", "xoxb-"),
            signing_secret=reader.secret("SLACK_SIGNING_SECRET"),
            app_token=reader.secret("SLACK_APP_TOKEN", "xapp-"),
            api_url=reader.url("SLACK_API_URL", SLACK_API) + "/",
            audit_secret=reader.audit_secret(),
            audit_retired=reader.retired(),
            token=reader.secret("COUNTERSIGN_TOKEN", "cs_"),
            service_url=reader.url("COUNTERSIGN_URL", f"http://127.0.0.1:{port}"),
            namespace=config.namespace,
            limits=config.limits,
            servers=config.servers,
            policy=config.policy,
            phrases=config.phrases,
            recipes=config.recipes,
            model=model and replace(model, output_tokens=config.output_tokens),
            judge=config.judge or (BY_MODEL if model else BY_DEFAULT),
            switches=config.switches,
            channel_switches=config.channel_switches,
            webhooks=config.webhooks,
            api=config.api,
            http=config.http,
            sampling=config.sampling,
        )
        problems = [*reader.problems, *problems, *(settings.missing_for_slack() if slack else ())]
        if problems:
            raise SettingsError(problems)
        return settings

    @property
    def alone(self) -> bool:
        """Whether one process does everything, because the database is a file of SQLite."""
        return self.database_url.startswith("sqlite")

    def switches_for(self, channel: str) -> Switches:
        """The switches of a channel that has its own; else those for all."""
        return self.channel_switches.get(channel, self.switches)

    def missing_for_slack(self) -> tuple[str, ...]:
        """What lacks before Slack can be spoken to; in HTTP mode also what shows that it is Slack."""
        token = () if self.bot_token else (BOT_TOKEN,)
        way_in = () if self.app_token or self.signing_secret else (WAY_IN,)
        return token + way_in

    def require_slack(self) -> None:
        """Raise SettingsError unless the secrets of Slack are there."""
        if problems := self.missing_for_slack():
            raise SettingsError(problems)

    def audit_key(self, *, make: bool = True) -> bytes:
        """The key that chains the audit log: COUNTERSIGN_AUDIT_KEY, else the file `audit.key` in the home.

        With `make` the file is made when it is not there. Raises SettingsError: there is none, it is no key of
        ours, or several replicas would each make one.
        """
        if self.audit_secret:
            return self.audit_secret.reveal().encode()
        if not self.alone:
            raise SettingsError([ONE_KEY])
        path = self.home / "audit.key"
        if make and not path.exists():
            make_key(path)
        if not path.exists():
            raise SettingsError(
                [f"There is no audit key {path}: set COUNTERSIGN_HOME to that of the service."]
            )
        key = path.read_bytes()
        if len(key) != KEY_LENGTH:
            raise SettingsError([f"{path} is not the key that was made: restore it from a backup."])
        return key


class _Reader:
    """Reads one variable at a time; what is wrong goes to `problems`, never with the value of a secret."""

    def __init__(self, environ: Mapping[str, str], cwd: Path) -> None:
        self._environ, self._cwd = environ, cwd
        self.problems: list[str] = []

    def text(self, name: str, default: str = "") -> str:
        """The variable; an empty one counts as not set."""
        return self._environ.get(name, "").strip() or default

    def config(self) -> Config:
        """The file; without one, and without COUNTERSIGN_CONFIG, the defaults."""
        path = self._cwd / self.text("COUNTERSIGN_CONFIG", "countersign.yaml")
        if not self.text("COUNTERSIGN_CONFIG") and not path.exists():
            return DEFAULT
        try:
            return read_config(path, self._environ)
        except ConfigError as error:
            self.problems += error.problems
            return DEFAULT

    def secret(self, name: str, prefix: str = "") -> Secret | None:
        value = self.text(name)
        if value and not value.startswith(prefix):
            self.problems.append(f"{name} must begin with {prefix}: another kind of token was given.")
        return Secret(value) if value else None

    def audit_secret(self) -> Secret | None:
        secret = self.secret("COUNTERSIGN_AUDIT_KEY")
        if secret and len(secret.reveal()) < KEY_LENGTH:
            self.problems.append(
                f"COUNTERSIGN_AUDIT_KEY must have {KEY_LENGTH} characters or more: `openssl rand -hex 32` makes one."
            )
        return secret

    def retired(self) -> tuple[Secret, ...]:
        """The audit keys of before, with spaces between."""
        return tuple(map(Secret, self.text("COUNTERSIGN_AUDIT_KEY_OLD").split()))

    def database(self, default: str) -> str:
        try:
            return parse(self.text("DATABASE_URL", default)).render_as_string(hide_password=False)
        except BadDatabaseUrl as error:
            self.problems.append(str(error))
            return default

    def redis(self) -> str | None:
        url = self.text("REDIS_URL")
        if url and not url.startswith(REDIS):
            self.problems.append(f"REDIS_URL must begin with {', '.join(REDIS[:-1])} or {REDIS[-1]}.")
        elif url and not _has_whole_port(url):  # what the parser says of it may quote a password
            self.problems.append(
                "REDIS_URL has no number for its port. Write / and @ of a password as %2F and %40."
            )
        return url or None

    def whole(self, name: str, default: int, most: int) -> int:
        """A number from 0 to `most`."""
        value = self.text(name, str(default))
        if not (value.isascii() and value.isdigit() and len(value) < 10 and int(value) <= most):
            self.problems.append(f"{name} must be a whole number from 0 to {most}.")
            return default
        return int(value)

    def url(self, name: str, default: str) -> str:
        """An address without a slash at its end."""
        url = self.text(name, default)
        if not url.startswith(("https://", "http://")):
            self.problems.append(f"{name} must begin with https://, as in {default}.")
        return url.rstrip("/")


def _has_whole_port(url: str) -> bool:
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False


def make_key(path: Path) -> None:
    """Write a new key, whole or not at all; where another process was first, its key stays."""
    file_modes.folder(path.parent)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(secrets.token_bytes(KEY_LENGTH))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
