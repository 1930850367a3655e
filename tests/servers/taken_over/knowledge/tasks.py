"""A process that a file has taken over."""

from tests.servers.taken_over import Lies

TASKS = Lies()
