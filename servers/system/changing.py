"""The tools that start an application of the allow list: exactly the command, and the file, that were shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import disk
from servers.filesystem.answers import spoken
from servers.filesystem.roots import Roots
from servers.system.applications import Application, allowed, start
from servers.system.models import ApplicationArg, ExpectedCommand, ExpectedFile, FileArg, Opened
from servers.system.reading import looked


@dataclass(frozen=True)
class Changing:
    """The tools that open something."""

    applications: Mapping[str, Application]
    roots: Roots

    @spoken
    def open_application(
        self, application: ApplicationArg, expected_command: ExpectedCommand = None
    ) -> Opened:
        """Open an application of the allow list on the host where this server runs."""
        found = self._agreed(application, expected_command)
        return Opened(application=found.name, command=found.command, pid=start(found))

    @spoken
    def open_file_with(
        self,
        path: FileArg,
        application: ApplicationArg,
        expected_command: ExpectedCommand = None,
        expected_sha256: ExpectedFile = None,
    ) -> Opened:
        """Open a file in an application of the allow list on the host where this server runs."""
        found = self._agreed(application, expected_command)
        place, seen = looked(self.roots, path)
        disk.agree(place.said, seen, expected_sha256)
        pid = start(found, place.root.path.joinpath(*place.parts))
        return Opened(application=found.name, command=found.command, pid=pid)

    def _agreed(self, name: str, expected: str | None) -> Application:
        found = allowed(self.applications, name)
        if expected is not None and found.command != expected:
            raise ToolError(
                f"{name} has changed since it was shown: it means {found.command} now. Ask again."
            )
        return found
