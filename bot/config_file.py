"""What an operator writes into countersign.yaml, read strictly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo

from bot.http_limits import HttpLimits
from bot.planner import PLANNERS
from bot.policy_file import ChannelId
from bot.result_judge import JUDGES
from gate.rules.ports import Limits
from gate.rules.sampling import SamplingBounds
from gate.rules.settings import Switches, switch_problem, with_switches
from gate.rules.url_guard import Network
from handlers.api.ports import Bounds
from tools.mcp.server_config import ENVIRONMENT, ServerConfig, Servers, server_configs
from tools.model.model_port import OUTPUT_TOKENS
from tools.strict_config import Document, Section, Text, fitting, one_of, within

MANIFESTS = Path(__file__).parents[1] / "manifests"
FILES = ("policy", "phrases", "recipes")
DAY = 86_400


@dataclass(frozen=True, slots=True)
class Config:
    """The whole file; where it leaves something out, the default."""

    limits: Limits = field(default_factory=Limits)
    namespace: str = "confirmation"
    servers: tuple[ServerConfig, ...] = ()
    policy: Path = MANIFESTS / "policy.yaml"
    phrases: Path = MANIFESTS / "phrases.yaml"
    recipes: Path = MANIFESTS / "tools"
    planner: str = ""  # one of PLANNERS; "" where it is not said
    model: str = ""
    output_tokens: int = OUTPUT_TOKENS  # of one response of the model
    judge: str = ""  # one of JUDGES; "" where it is not said
    switches: Switches = field(default_factory=Switches)
    channel_switches: Mapping[str, Switches] = field(default_factory=dict)  # by channel id
    webhooks: tuple[Network, ...] = ()  # networks of the operator's own that webhooks may reach
    api: Bounds = field(default_factory=Bounds)
    http: HttpLimits = field(default_factory=HttpLimits)
    sampling: SamplingBounds = field(default_factory=SamplingBounds)


DEFAULT = Config()


def _switch(value: Any, info: ValidationInfo) -> Any:
    if why := switch_problem(str(info.field_name), value):
        raise ValueError(why)
    return value


def _network(text: Any) -> Network:
    try:
        return ip_network(text if isinstance(text, str) else "")
    except ValueError:
        raise ValueError("must be a network such as 10.1.0.0/16") from None


Switch = Annotated[Any, AfterValidator(_switch)]
Namespace = Annotated[
    Text,
    fitting(
        lambda name: name.replace("_", "").replace("-", "").isalnum(), "must be letters, digits, _ and -"
    ),
]


class SwitchesSection(Section):
    """The switches, for all or for one channel; `gate.rules.settings` says what each may be."""

    preset: Switch = None
    intelligent_routing: Switch = None
    review: Switch = None
    satisfaction: Switch = None
    approval_mode: Switch = None
    confidence: Switch = None
    enable_planning: Switch = None
    plan_approval: Switch = None
    auto_approve_simple: Switch = None
    conversational: Switch = None
    allow_execution_transition: Switch = None
    pause_enabled: Switch = None

    def on(self, base: Switches) -> Switches:
        """`base` with the switches that are set here."""
        return with_switches(
            base, self.model_dump(include=set(SwitchesSection.model_fields), exclude_unset=True)
        )


class LimitsSection(Section):
    """The bounds are what the gate and Slack can bear. Times in seconds."""

    call: Annotated[float, within(1, 3600)] = DEFAULT.limits.call
    claim: Annotated[float, within(5, 600)] = DEFAULT.limits.claim
    begin: Annotated[float, within(10, 3600)] = DEFAULT.limits.begin
    decision: Annotated[float, within(0.1, 2.5)] = DEFAULT.limits.decision
    pending_per_user: Annotated[int, within(1, 1000, whole=True)] = DEFAULT.limits.pending_per_user
    calls_per_turn: Annotated[int, within(1, 100, whole=True)] = DEFAULT.limits.calls_per_turn
    turns_depth: Annotated[int, within(1, 100, whole=True)] = DEFAULT.limits.turns_depth
    steps: Annotated[int, within(1, 100, whole=True)] = DEFAULT.limits.steps
    plan: Annotated[float, within(60, 30 * DAY)] = DEFAULT.limits.plan
    question: Annotated[float, within(60, 30 * DAY)] = DEFAULT.limits.question
    settle: Annotated[float, within(60, 30 * DAY)] = DEFAULT.limits.settle
    hold: Annotated[float, within(0, 3600)] = DEFAULT.limits.hold
    proceed: Annotated[float, within(3, 3600)] = DEFAULT.limits.proceed
    server_question: Annotated[float, within(10, 1800)] = DEFAULT.limits.server_question
    server_questions: Annotated[int, within(0, 100, whole=True)] = DEFAULT.limits.server_questions
    follow: Annotated[float, within(5, 3600)] = DEFAULT.limits.follow


class ConfirmationSection(Section):
    ttl: Annotated[float, within(1, DAY)] = DEFAULT.limits.ttl
    namespace: Namespace = DEFAULT.namespace


class ApiSection(Section):
    """What one token of the API may take."""

    per_minute: Annotated[int, within(1, 100_000, whole=True)] = DEFAULT.api.per_minute
    streams: Annotated[int, within(1, 1000, whole=True)] = DEFAULT.api.streams
    webhooks: Annotated[int, within(0, 1000, whole=True)] = DEFAULT.api.webhooks
    requests: Annotated[int, within(1, 1000, whole=True)] = DEFAULT.api.requests


class HttpSection(Section):
    """What the HTTP port bears."""

    connections: Annotated[int, within(16, 100_000, whole=True)] = DEFAULT.http.connections
    per_address: Annotated[int, within(1, 100_000, whole=True)] = DEFAULT.http.per_address
    per_token: Annotated[int, within(20, 100_000, whole=True)] = DEFAULT.http.per_token
    headers: Annotated[float, within(1, 60)] = DEFAULT.http.headers
    slow: Annotated[float, within(1, 600)] = DEFAULT.http.slow


class WebhooksSection(Section):
    """Where webhooks may go besides the open internet."""

    allow: tuple[Annotated[Any, AfterValidator(_network)], ...] = ()


class SamplingSection(Section):
    """What servers with `sampling: true` may take of the model."""

    requests: Annotated[int, within(1, 100, whole=True)] = DEFAULT.sampling.requests
    answer_tokens: Annotated[int, within(16, 100_000, whole=True)] = DEFAULT.sampling.answer_tokens
    hour_tokens: Annotated[int, within(1000, 100_000_000, whole=True)] = DEFAULT.sampling.hour_tokens
    prompt_chars: Annotated[int, within(100, 1_000_000, whole=True)] = DEFAULT.sampling.prompt_chars
    seconds: Annotated[float, within(1, 600)] = DEFAULT.sampling.seconds


class ConfigSection(SwitchesSection):
    """The whole file."""

    mcpServers: Servers | None = None
    confirmation: ConfirmationSection = ConfirmationSection()
    limits: LimitsSection = LimitsSection()
    planner: Annotated[Text, one_of(PLANNERS)] = ""
    model: Text = ""
    output_tokens: Annotated[int, within(256, 1_000_000, whole=True)] = DEFAULT.output_tokens
    judge: Annotated[Text, one_of(JUDGES)] = DEFAULT.judge
    policy: Text = ""
    phrases: Text = ""
    recipes: Text = ""
    channels: dict[ChannelId, SwitchesSection] = Field(default_factory=dict)
    webhooks: WebhooksSection = WebhooksSection()
    api: ApiSection = ApiSection()
    http: HttpSection = HttpSection()
    sampling_bounds: SamplingSection = SamplingSection()


def read_config(path: Path, environ: Mapping[str, str]) -> Config:
    """The configuration in the file. Paths in it are relative to the file; `${NAME}` comes from `environ`.

    Raises ConfigError with everything that is wrong.
    """
    read = Document.read(path).validated(ConfigSection, {ENVIRONMENT: environ})
    switches = read.on(Switches())
    return Config(
        limits=Limits(ttl=read.confirmation.ttl, **read.limits.model_dump()),
        namespace=read.confirmation.namespace,
        servers=server_configs(read.mcpServers or {}),
        switches=switches,
        channel_switches={channel: own.on(switches) for channel, own in read.channels.items()},
        webhooks=read.webhooks.allow,
        api=Bounds(**read.api.model_dump()),
        http=HttpLimits(**read.http.model_dump()),
        sampling=SamplingBounds(**read.sampling_bounds.model_dump()),
        planner=read.planner,
        judge=read.judge,
        model=read.model,
        output_tokens=read.output_tokens,
        **{key: path.parent / getattr(read, key) for key in FILES if key in read.model_fields_set},
    )
