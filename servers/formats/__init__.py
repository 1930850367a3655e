"""Formats of files that others wrote. All but `patterns` and `encodings` runs in the sandbox."""

from __future__ import annotations
