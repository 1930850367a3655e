"""Which model, and how to reach it: said by the operator, known without loading any provider's library."""

from __future__ import annotations

from dataclasses import dataclass, field

PROVIDERS = ("openai", "anthropic")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """One model of one provider. `base_url` "" stands for the provider's own address."""

    provider: str  # one of PROVIDERS
    name: str
    key: str = field(repr=False)
    base_url: str = field(default="", repr=False)
    seconds: float = 60.0  # for one request
    output_tokens: int = 4096  # of one response

    @property
    def full_name(self) -> str:
        return f"{self.provider}:{self.name}"
