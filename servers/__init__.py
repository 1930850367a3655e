"""The MCP servers that come with Countersign. They import none of its rooms."""

import gc
import sys

if sys.argv[:1] == ["-m"]:  # what Python says while it looks for the module behind `python -m servers.NAME`
    gc.disable()  # until it serves: to look through all that is imported, again and again, is a quarter of its start
