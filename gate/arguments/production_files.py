"""Which paths are production configuration by their names."""

from __future__ import annotations

import re

# Some argument ends like this. Repeats have bounds, so that no text takes long to search.
PRODUCTION = (
    r"(?i)(^|[/\\._-])prod(uction)?([/\\._-][\w./\\-]{0,90})?\.(ya?ml|json|toml|ini|conf|cfg|config|properties|env|"
    r"tf|tfvars|hcl|xml)$|(settings|environments)[/\\._-]prod(uction)?\.(py|rb|js|ts)$|^prod(uction)?$"
)
PRODUCTION_FILE = re.compile(PRODUCTION)
LONGEST_END = 150  # characters of a text that it can match, and a line break at the end
PRODUCTION_ENDS = "yaml yml json toml ini conf cfg config properties env tf tfvars hcl xml".split()
CODE_ENDS = ("py", "rb", "js", "ts")  # of settings
# Such paths, which a pattern of names may match.
PRODUCTION_NAMES = tuple(
    [f"{stem}.{end}" for stem in ("prod", "production") for end in PRODUCTION_ENDS]
    + [
        f"{folder}/{stem}.{end}"
        for folder in ("settings", "environments")
        for stem in ("prod", "production")
        for end in CODE_ENDS
    ]
)


def ends_as_production(text: str) -> bool:
    """Whether a text ends as such a path does; only its end is searched."""
    return PRODUCTION_FILE.search(text, max(0, len(text) - LONGEST_END)) is not None
