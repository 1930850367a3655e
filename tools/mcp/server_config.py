"""The MCP servers of the configuration: `mcpServers`, in the usual `.mcp.json` form, validated strictly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainValidator, ValidationInfo, model_validator

from gate.rules.tool import Trust
from tools.strict_config import Maybe, Place, Section, Wrong, fitting

NAME = re.compile(r"[a-zA-Z0-9_-]{1,40}")
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
CATALOGUE_PIN = re.compile(r"sha256:[0-9a-f]{64}")
STDIO, HTTP, INPROC = "command", "url", "inproc"  # the key that names the transport
COMMON = {"trust", "pin", "mode", "timeout", "concurrency", "elicitation", "recipes", "sampling", "type"}
KEYS = {
    STDIO: {"command", "args", "env", "cwd", *COMMON},
    HTTP: {"url", "headers", *COMMON},
    INPROC: {"inproc", "args", *COMMON},
}
ENVIRONMENT = "environment"  # the key of the validation context for the values of `${NAME}`
BUNDLED = re.compile(r"(?:servers\.[a-z_]{1,40}:[a-z_]{1,40})?")  # in this process, with all its rights
TYPES = {STDIO: {"stdio"}, HTTP: {"http", "streamable-http", "streamableHttp"}, INPROC: {"inproc"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """One server with exactly one transport: `command`, `url` or `inproc`."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    inproc: str = ""  # "servers.filesystem:server", from which the composition root makes an MCPServer
    trust: Trust = Trust.DECLARED
    package: str = ""  # the version that the operator reviewed, for people: "mcp-server-git@2026.10.19"
    catalogue: str = ""  # "sha256:…" over all reviewed definitions; "" where nothing is pinned
    mode: str = "auto"  # or "legacy": never probe for the modern protocol
    timeout: float = 60.0  # seconds for one call
    concurrency: int = 8  # calls at once
    elicitation: bool = True  # it may ask the person in the thread in the middle of a call
    recipes: str = ""  # the file under manifests/tools for this server
    sampling: bool = False  # whether it may ask the configured model in the middle of a call

    @property
    def transport(self) -> str:
        return STDIO if self.command else HTTP if self.url else INPROC

    @property
    def is_bundled(self) -> bool:
        """Whether the server is part of this program. The trust `bundled` alone does not say so: a configuration may
        give it to any server."""
        return self.trust is Trust.BUNDLED and self.transport == INPROC


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 3600:
        raise ValueError("must be a number: seconds, more than 0 and up to 3600")
    return float(value)


def _calls(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in range(1, 101):
        raise ValueError("must be a whole number from 1 to 100")
    return int(value)


def _yes_or_no(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _expand_variables(text: str, info: ValidationInfo) -> str:
    """The text with each `${NAME}` replaced. The values are secrets, so no message contains them."""
    environment: Mapping[str, str] = (info.context or {}).get(ENVIRONMENT, {})
    missing = [name for name in VARIABLE.findall(text) if name not in environment]
    if missing:
        raise ValueError(f"needs the environment variable {' and '.join(missing)}, which is not set")
    return VARIABLE.sub(lambda match: environment[match[1]], text)


Expanded = Annotated[str, AfterValidator(_expand_variables)]
Text = Annotated[str, fitting(bool, "must be text"), AfterValidator(_expand_variables)]


class PinSection(Section):
    """What the operator reviewed: `ServerConfig.package` and `ServerConfig.catalogue`."""

    package: Expanded = ""
    catalogue: Annotated[
        Expanded,
        fitting(
            lambda text: not text or CATALOGUE_PIN.fullmatch(text),
            "must be sha256: and 64 hexadecimal digits",
        ),
    ] = ""


class ServerSection(Section):
    """One entry of `mcpServers`, with the fields of ServerConfig."""

    command: Text = ""
    args: tuple[Expanded, ...] = ()
    env: dict[str, Expanded] = Field(default_factory=dict)
    cwd: Text = ""
    url: Annotated[
        Text,
        fitting(
            lambda url: (
                not url or (url.startswith(("http://", "https://")) and url.isprintable() and " " not in url)
            ),
            "must begin with http:// or https://, and hold no blanks",
        ),
    ] = ""
    headers: dict[
        str, Annotated[Expanded, fitting(str.isprintable, "must be one line of visible characters")]
    ] = Field(default_factory=dict)
    inproc: Annotated[
        Text,
        fitting(BUNDLED.fullmatch, "must name a server that comes along, such as servers.filesystem:server"),
    ] = ""
    type: str | None = None
    trust: Maybe[Trust] = None
    pin: PinSection = PinSection()
    mode: Literal["auto", "legacy"] = "auto"
    timeout: Annotated[float, PlainValidator(_seconds)] = 60.0
    concurrency: Annotated[int, PlainValidator(_calls)] = 8
    elicitation: Annotated[bool, PlainValidator(_yes_or_no)] = True
    recipes: Text = ""
    sampling: bool = False

    @model_validator(mode="after")
    def _one_transport(self) -> ServerSection:
        transports = [transport for transport in KEYS if transport in self.model_fields_set]
        if len(transports) != 1:
            raise ValueError("must have exactly one of `command`, `url` and `inproc`")
        allowed = KEYS[transports[0]]
        problems: list[tuple[Place, str]] = [
            ((key,), f"is not known with `{transports[0]}`; known are {', '.join(sorted(allowed))}")
            for key in sorted(self.model_fields_set - allowed)
        ]
        if self.type is not None and self.type not in TYPES[transports[0]]:
            problems.append((("type",), f"does not go with `{transports[0]}`: leave it out"))
        if problems:
            raise Wrong(*problems)
        return self

    def config(self, name: str) -> ServerConfig:
        fields = self.model_dump(exclude={"type", "trust", "pin"})
        trust = self.trust or (Trust.BUNDLED if INPROC in self.model_fields_set else Trust.DECLARED)
        return ServerConfig(name=name, trust=trust, **self.pin.model_dump(), **fields)


ServerName = Annotated[
    str,
    fitting(NAME.fullmatch, "is no name of a server: it is 1 to 40 of the characters a-z, A-Z, 0-9, _ and -"),
]
Servers = dict[ServerName, ServerSection]


def server_configs(servers: Servers) -> tuple[ServerConfig, ...]:
    return tuple(server.config(name) for name, server in servers.items())
