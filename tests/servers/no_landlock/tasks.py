"""Tasks as they run on a kernel without Landlock. For a fork server of their own."""

from __future__ import annotations

from servers.sandbox import kernel
from tests.servers.sandboxed.tasks import TASKS as TASKS

kernel.landlock_version = lambda: 0
