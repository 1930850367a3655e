"""What git is told in the environment of a server's process, so that a folder among files names no program to it.

Git takes a folder with HEAD, `objects` and `refs` for a repository, also where these are plain files of a commit, an
archive or a copy, and runs what its `config` and `hooks` name, even for a difference or a status.
"""

from __future__ import annotations

from collections.abc import Mapping

COUNT = "GIT_CONFIG_COUNT"
ALL = {"safe.bareRepository": "explicit", "core.fsmonitor": "false"}  # of any server that may call git
GIT_RECIPES = "server-git"
# A status runs a hook of its own. Before a commit this server looks for hooks by itself, and runs them.
NO_HOOKS = {"core.hooksPath": "/dev/null"}
# Differences are as rules know them, whatever the user of the server prefers to see.
USUAL_NAMES = {
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    "diff.srcPrefix": "a/",
    "diff.dstPrefix": "b/",
    "diff.submodule": "short",
    "diff.suppressBlankEmpty": "false",
    "color.ui": "false",
}


def with_safe_git(env: Mapping[str, str], recipes: str) -> dict[str, str]:
    """The environment with these settings behind the operator's own; what the operator has set stays."""
    try:
        count = int(env.get(COUNT) or "0")
    except ValueError:
        return dict(env)  # git refuses to run with it
    counted = (f"GIT_CONFIG_KEY_{number}" for number in range(min(count, len(env))))  # git reads no others
    own = {env[name].lower() for name in counted if name in env}
    settings = ALL | (NO_HOOKS | USUAL_NAMES if recipes == GIT_RECIPES else {})
    added = [(key, value) for key, value in settings.items() if key.lower() not in own]
    result = dict(env)
    for number, (key, value) in enumerate(added, count):
        result |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return result | {COUNT: str(count + len(added))}
