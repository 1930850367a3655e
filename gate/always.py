"""The always-gate list that comes along: calls that a person types for, whatever mode, grant or confidence.

An operator can add to it and never shorten it. The path rules spare what only reads (see policy.decide); the
shell and SQL rules spare nothing, because what such a tool does stands in its arguments.
"""

from __future__ import annotations

from collections.abc import Iterable

from gate.action import Class, Json
from gate.policy import Rule

DELETING = "delete remove unlink erase destroy purge wipe trash rm rmdir"
SHELLS = "shell bash command cmd exec terminal console powershell script process run"
DATABASES = "sql query execute statement database db run"
INSTALLING = "install uninstall"
DROPPING = "drop truncate"

SECRET_FILES = (
    r"(?i)(^|[/\\=\s])(\.env(\.(?!example$|sample$|template$|dist$)[\w-]{1,40})?|\.envrc|\.netrc|\.pgpass|\.npmrc|"
    r"\.pypirc|\.htpasswd|id_(rsa|dsa|ecdsa|ed25519)|[\w.-]{0,60}\.(pem|key|p12|pfx|jks|keystore|kdbx)|"
    r"credentials(\.\w{1,10})?|secrets?\.(ya?ml|json|toml|ini|txt|env)|service[_-]account[\w-]{0,40}\.json)$"
)
PRODUCTION = (
    r"(?i)(^|[/\\._-])prod(uction)?([/\\._-][\w./\\-]{0,90})?\.(ya?ml|json|toml|ini|conf|cfg|config|properties|env|tf|"
    r"tfvars|hcl|xml)$|^(prod|production)$"
)
DESTROYING_COMMAND = (
    r"(?i)(^|[;&|(`\s/])(rm|rmdir|unlink|shred|truncate|dd|mkfs(\.\w{1,10})?|wipefs|fdisk|parted|del|erase|format|"
    r"remove-item|kill|killall|pkill|shutdown|reboot|halt|chmod|chown|crontab|iptables|userdel)($|[\s;&|)])|"
    r"\s-delete\b|\sof=/|>\s?/dev/|(curl|wget)\b[^|]{0,90}\|\s?(sudo\s)?(ba|z|da)?sh\b|"
    r"git\s(reset\s--hard|clean\b|push\b.{0,90}(\s-f\b|--force)|branch\s-D)|"
    r"(kubectl|docker|podman|helm|terraform|aws|gcloud|az)\b.{0,90}\b(delete|destroy|rm|rmi|prune|uninstall|terminate)"
)
INSTALLING_COMMAND = (
    r"(?i)\b(pip[\d.]{0,4}|pipx|uv|poetry|conda|npm|pnpm|yarn|bun|gem|cargo|go|brew|apt|apt-get|aptitude|dnf|yum|"
    r"apk|pacman|zypper|snap|choco|winget|dpkg|rpm)\b.{0,90}(\b(un)?(install|add|remove|get)\b|\s-(S|i|Uvh)\b)"
)
DROPPING_STATEMENT = (
    r"(?i)\b(drop|truncate)\b.{0,90}\b(table|database|schema|view|index|collection|role|user|column)?|"
    r"\bdelete\s{1,9}from\b|\balter\s{1,9}table\b"
)


def has_text(*patterns: str) -> dict[str, Json]:
    """The JSON Schema of arguments in which, for each pattern, some text fits, at whatever depth."""
    found = {str(number): _somewhere(str(number), pattern) for number, pattern in enumerate(patterns)}
    return {"$defs": found, "allOf": [{"$ref": f"#/$defs/{name}"} for name in found]}


def _somewhere(name: str, pattern: str) -> dict[str, Json]:
    again = {"$ref": f"#/$defs/{name}"}
    return {
        "if": {"type": "string"},
        "then": {"pattern": pattern},
        "else": {
            "anyOf": [
                {"type": "array", "contains": again},
                {"type": "object", "not": {"additionalProperties": {"not": again}}},
            ]
        },
    }


def tool_words(words: str, where: Iterable[str] = ("{}", "{}_*", "{}-*", "{}[A-Z]*")) -> tuple[str, ...]:
    """Patterns for tools one of whose words is among these, at the beginning or after another word."""
    raise NotImplementedError
