"""Reads the YAML of recipes and phrases, by libyaml where it was built in: a start reads some 2,000 lines."""

from __future__ import annotations

from pathlib import Path

import yaml

from gate.action import Json

__all__ = ["NotYaml", "read_yaml"]

NotYaml = yaml.YAMLError
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: Path) -> Json:
    """What the file says: mappings, lists, text, numbers. Raises NotYaml, or OSError where it cannot be read."""
    data: Json = yaml.load(path.read_text("utf-8"), _LOADER)
    return data
