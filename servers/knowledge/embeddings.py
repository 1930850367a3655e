"""What texts mean as vectors, by the small model that comes with the optional package wordllama. Nothing is downloaded.

Only the sandbox loads it: that takes half a second and 100 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

DIMENSIONS = 256
SIZE = 2 * DIMENSIONS  # bytes of a vector: half-precision numbers


def installed() -> bool:
    """Whether the package is there."""
    return find_spec("wordllama") is not None


@cache
def _model() -> Any:
    import wordllama

    # Seen with wordllama 0.4.0: the tokenizer that comes along is looked for only where a downloaded one would be.
    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(dim=DIMENSIONS, cache_dir=folder, disable_download=True)


def _embedded(texts: Sequence[str]) -> Any:
    """An array of unit vectors, one row for each text; zeros for a text without a word."""
    import numpy as np

    with np.errstate(invalid="ignore", divide="ignore"):
        return np.nan_to_num(_model().embed(list(texts), norm=True))


def vectors(texts: Sequence[str]) -> list[bytes]:
    """The vector of each text, as it is stored."""
    return [row.tobytes() for row in _embedded(texts).astype("<f2")] if texts else []


def similarities(text: str, stored: Sequence[bytes]) -> list[float]:
    """How near the text is to each stored vector: the cosine, from -1 to 1."""
    import numpy as np

    rows = np.frombuffer(b"".join(stored), "<f2").reshape(-1, DIMENSIONS).astype(np.float32)
    rows = np.nan_to_num(rows, posinf=0, neginf=0)
    return [float(near) for near in rows @ _embedded([text])[0]]
