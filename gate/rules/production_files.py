"""Which paths are production configuration by their names."""

from __future__ import annotations

import re

# Some argument ends like this. Repeats have bounds, so that no text takes long to search.
PRODUCTION = (
    r"(?i)(^|[/\\._-])prod(uction)?([/\\._-][\w./\\-]{0,90})?\.(ya?ml|json|toml|ini|conf|cfg|config|properties|env|"
    r"tf|tfvars|hcl|xml)$|(settings|environments)[/\\._-]prod(uction)?\.(py|rb|js|ts)$|^prod(uction)?$"
)
PRODUCTION_FILE = re.compile(PRODUCTION)
_ENDS = "yaml yml json toml ini conf cfg config properties env tf tfvars hcl xml".split()
# Such paths, which a pattern of names may match.
PRODUCTION_NAMES = tuple(
    [f"{stem}.{end}" for stem in ("prod", "production") for end in _ENDS]
    + [
        f"{folder}/{stem}.{end}"
        for folder in ("settings", "environments")
        for stem in ("prod", "production")
        for end in ("py", "rb", "js", "ts")
    ]
)
