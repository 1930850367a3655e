"""One way to open files that others wrote: in a process of its own, confined, and killed at its limits.

A server calls `calling.run("formats.text", "a.pdf", [data], ending=".pdf")`. The function `text` in TASKS of
`servers.formats.tasks` is then called with the bytes and `ending` in such a process, and gives facts and bytes, or
raises `wire.Refused`. Nothing is imported here, so that this process loads what the tasks need and no more.
"""
