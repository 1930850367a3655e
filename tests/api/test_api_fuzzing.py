"""schemathesis against the running API, with every role: it finds nothing."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gate.rules.access import TokenKind
from tests.api.api_server import Api
from tests.api.test_api_actions import proposed
from tests.gate.gate_setup import ANN, BEN, CLEO, GIL

# A refusal by the policy, a schema or the state of things is no fault of the request's form.
UNASKED = "positive_data_acceptance"
# What is too large is refused before anybody reads it, as the document says; schemathesis would have it read first.
CONFIG = """\
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, "5xx"]
"""
ROLES = {
    "an agent": (TokenKind.AGENT, ANN),
    "who asks": (TokenKind.PERSON, ANN),
    "an approver": (TokenKind.PERSON, BEN),
    "an admin": (TokenKind.PERSON, CLEO),
    "a guest": (TokenKind.PERSON, GIL),
    "nobody": None,
}


async def tried(api: Api, folder: Path, role: str, *options: str) -> None:
    """Run schemathesis, and fail with what it has found."""
    api.gate.world = replace(api.gate.world, limits=replace(api.gate.world.limits, pending_per_user=10_000))
    api.gate.rule(admins=frozenset({CLEO}))
    await proposed(api, await api.agent())
    whose = ROLES[role]
    headers = (await api.client(whose[0], whose[1])).headers if whose else {}
    sent = [part for name, value in headers.items() for part in ("--header", f"{name}: {value}")]
    (folder / "schemathesis.toml").write_text(CONFIG)
    program = str(Path(sys.executable).parent / "schemathesis")
    process = await asyncio.create_subprocess_exec(
        program, "run", f"{api.base}/openapi.json", *sent,
        "--exclude-path", "/events",  # a stream has no end
        "--exclude-checks", UNASKED,
        "--warnings", "off", "--no-color", "--generation-deterministic",
        "--suppress-health-check", "all", "--no-shrink", "--max-failures", "3",
        "--request-timeout", "60",  # the machine may be busy with others
        *options,
        cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()[-6000:]


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("role", ROLES)
async def test_fuzzing_finds_no_fault(api: Api, tmp_path: Path, role: str) -> None:
    await tried(api, tmp_path, role, "--phases", "fuzzing", "--max-examples", "2")


@pytest.mark.soak
@pytest.mark.parametrize("role", ROLES)
async def test_long_fuzzing_finds_no_fault(api: Api, tmp_path: Path, role: str) -> None:
    await tried(api, tmp_path, role, "--max-examples", "25")
