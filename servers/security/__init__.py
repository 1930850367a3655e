"""An MCP server that looks after files: personal data, secrets, twins, what could go, and encryption with age."""

from servers.security.app import server

__all__ = ["server"]
