"""Tasks that try to break out of the sandbox that they run in."""
