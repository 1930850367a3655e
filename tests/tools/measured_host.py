"""Calls a server in a process of its own, and prints how the call ended and how much memory it took.

`measured_host.py flood COUNT`: the answer has COUNT characters; `measured_host.py dense COUNT`: COUNT empty lists.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
from pathlib import Path

from gate.rules.tool import OutcomeUnknown
from tests.tools.mcp_hosts import hosting, raw


async def main(kind: str, count: int) -> None:
    with tempfile.TemporaryDirectory() as logs:
        async with hosting(Path(logs), raw(**{kind: count})) as host:
            await host.call("raw", "echo", b"{}", 20)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            try:
                answer = await host.call("raw", "flood", b"{}", 60)
                error_text, characters = "", len(answer.text)
            except OutcomeUnknown as error:
                error_text, characters = str(error), 0
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            sys.stdout.write(
                json.dumps({"error": error_text, "characters": characters, "mebibytes": peak / 1024})
            )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
