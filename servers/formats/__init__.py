"""Formats of files that others wrote: reading and writing them. All of it runs in the sandbox."""
