"""Which MCP servers there are: `mcpServers`, in the usual `.mcp.json` form, read strictly."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gate.action import Json
from gate.tool import Trust

NAME = re.compile(r"[a-zA-Z0-9_-]{1,40}")
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
CATALOGUE = re.compile(r"sha256:[0-9a-f]{64}")
STDIO, HTTP, INPROC = "command", "url", "inproc"  # the key that says how a server is reached
COMMON = {"trust", "pin", "mode", "timeout", "concurrency", "recipes", "type"}
KEYS = {
    STDIO: {"command", "args", "env", "cwd", *COMMON},
    HTTP: {"url", "headers", *COMMON},
    INPROC: {"inproc", "args", *COMMON},
}
TYPES = {STDIO: {"stdio"}, HTTP: {"http", "streamable-http", "streamableHttp"}, INPROC: {"inproc"}}


class BadServers(Exception):
    """What is wrong in `mcpServers`: one sentence for each mistake, each naming its server and key."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """One server, and exactly one way to reach it: `command`, `url` or `inproc`."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    inproc: str = ""  # "servers.filesystem:server"; the composition root makes it an MCPServer
    trust: Trust = Trust.DECLARED
    package: str = ""  # what the operator reviewed, for people: "mcp-server-git@2026.10.19"
    catalogue: str = ""  # "sha256:…" over all definitions as reviewed; "" where nothing is pinned
    mode: str = "auto"  # or "legacy": never ask for the modern protocol
    timeout: float = 60.0  # seconds that one call may take
    concurrency: int = 8  # calls at once
    recipes: str = ""  # the file under manifests/tools that was written for this server

    @property
    def way(self) -> str:
        return STDIO if self.command else HTTP if self.url else INPROC


def read_servers(entries: Json, environment: Mapping[str, str]) -> tuple[ServerConfig, ...]:
    """The value of `mcpServers` to configurations; `${NAME}` comes from `environment`.

    Raises BadServers with everything that is wrong.
    """
    if entries is None:
        return ()
    if not isinstance(entries, dict):
        raise BadServers(["mcpServers must be a mapping from names to servers."])
    problems: list[str] = []
    configs = [_Reader(str(name), entry, environment, problems).read() for name, entry in entries.items()]
    if problems:
        raise BadServers(problems)
    return tuple(configs)


class _Reader:
    """Reads one entry; what is wrong goes to `problems` and the reading goes on."""

    def __init__(self, name: str, entry: Json, environment: Mapping[str, str], problems: list[str]) -> None:
        self.name, self.environment, self.problems = name, environment, problems
        self.entry: dict[str, Json] = entry if isinstance(entry, dict) else {}

    def read(self) -> ServerConfig:
        if not NAME.fullmatch(self.name):
            self._wrong("a name is 1 to 40 of the characters a-z, A-Z, 0-9, _ and -")
        way = self._way()
        pin = self._mapping("pin", {"package", "catalogue"})
        catalogue = pin.get("catalogue", "")
        if catalogue and not CATALOGUE.fullmatch(catalogue):
            self._wrong("`pin.catalogue` must be sha256: and 64 hexadecimal digits")
        return ServerConfig(
            name=self.name,
            command=self._text("command"),
            args=self._texts("args"),
            env=self._mapping("env"),
            cwd=self._text("cwd"),
            url=self._url(),
            headers=self._mapping("headers"),
            inproc=self._text("inproc"),
            trust=Trust(self._one_of("trust", [*Trust], Trust.BUNDLED if way == INPROC else Trust.DECLARED)),
            package=pin.get("package", ""),
            catalogue=catalogue,
            mode=self._one_of("mode", ["auto", "legacy"], "auto"),
            timeout=self._number("timeout", 60.0, lambda n: 0 < n <= 3600, "seconds, up to 3600"),
            concurrency=int(
                self._number("concurrency", 8, lambda n: n == int(n) and 1 <= n <= 100, "1 to 100")
            ),
            recipes=self._text("recipes"),
        )

    def _wrong(self, what: str) -> None:
        self.problems.append(f"mcpServers.{self.name}: {what}.")

    def _way(self) -> str:
        ways = [way for way in KEYS if way in self.entry]
        if len(ways) != 1:
            self._wrong("give exactly one of `command`, `url` and `inproc`")
            return STDIO
        for key in self.entry.keys() - KEYS[ways[0]]:
            known = ", ".join(sorted(KEYS[ways[0]]))
            self._wrong(f"the key `{key}` is not known with `{ways[0]}`; known are {known}")
        kind = self.entry.get("type")
        if kind is not None and kind not in TYPES[ways[0]]:
            self._wrong(f"`type: {kind}` does not go with `{ways[0]}`; leave it out")
        return ways[0]

    def _text(self, key: str) -> str:
        value = self.entry.get(key, "")
        if not isinstance(value, str) or (key in self.entry and not value):
            self._wrong(f"`{key}` must be text")
            return ""
        return self._filled(key, value)

    def _texts(self, key: str) -> tuple[str, ...]:
        value = self.entry.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self._wrong(f"`{key}` must be a list of texts")
            return ()
        return tuple(self._filled(key, item) for item in value)

    def _mapping(self, key: str, known: set[str] | None = None) -> dict[str, str]:
        value = self.entry.get(key, {})
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            self._wrong(f"`{key}` must be a mapping from names to texts")
            return {}
        for unknown in value.keys() - (known or value.keys()):
            self._wrong(f"the key `{key}.{unknown}` is not known")
        return {str(name): self._filled(f"{key}.{name}", text) for name, text in value.items()}

    def _url(self) -> str:
        url = self._text("url")
        if url and not url.startswith(("http://", "https://")):
            self._wrong("`url` must begin with http:// or https://")
        return url

    def _one_of(self, key: str, allowed: list[str], default: str) -> str:
        value = self.entry.get(key, default)
        if value not in allowed:
            self._wrong(f"`{key}` must be one of {', '.join(allowed)}")
            return default
        return str(value)

    def _number(self, key: str, default: float, fits: Callable[[float], bool], words: str) -> float:
        value = self.entry.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not fits(value):
            self._wrong(f"`{key}` must be a number: {words}")
            return default
        return float(value)

    def _filled(self, key: str, text: str) -> str:
        """The text with each `${NAME}` replaced. The values are secrets: no message repeats them."""
        for name in VARIABLE.findall(text):
            if name not in self.environment:
                self._wrong(f"`{key}` needs the environment variable {name}, which is not set")
        return VARIABLE.sub(lambda found: self.environment.get(found[1], ""), text)
