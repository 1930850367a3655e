"""Jira and GitHub as far as the tests need them: a local HTTP server that answers their REST calls and counts them."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Answer = tuple[int, Any]
REPO = "/repos/acme/app/"
AT = "2026-11-20T09:00:00.000+0000"


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    body: Any
    query: dict[str, str] = field(default_factory=dict)


@dataclass
class Rest:
    """One REST service. `answers`: what it says to a method and a path; anything else is 404."""

    answers: Callable[[Rest, Call], Answer | None]
    calls: list[Call] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    url: str = ""

    @property
    def changes(self) -> list[Call]:
        """The calls that are meant to change something, in order."""
        return [call for call in self.calls if call.method != "GET"]

    async def handle(self, request: web.Request) -> web.Response:
        text = await request.text()
        call = Call(request.method, request.path, json.loads(text) if text else None, dict(request.query))
        self.calls.append(call)
        status, body = self.answers(self, call) or (404, {"message": "Not Found"})
        return web.json_response(body, status=status) if body is not None else web.Response(status=status)


@asynccontextmanager
async def serving(rest: Rest) -> AsyncIterator[Rest]:
    """The service on a port of its own; also as a forward proxy, which gets whole addresses."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", rest.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    rest.url = str(site.name)
    try:
        yield rest
    finally:
        await runner.cleanup()


def person(account: str, name: str) -> dict[str, Any]:
    return {
        "accountId": account,
        "displayName": name,
        "active": True,
        "emailAddress": f"{account}@example.com",
    }


PEOPLE = {
    "123abc": person("123abc", "Ahmad Asiyanbola"),
    "u-ann": person("u-ann", "Ann Lee"),
    "u-bot": person("u-bot", "Countersign"),
}


def jira() -> Rest:
    """A Jira Cloud with the issues SCRUM-2 and, once created, PROJ-456."""
    rest = Rest(_jira)
    rest.state["status"] = "To Do"
    rest.state["watchers"] = [PEOPLE["u-ann"]]
    return rest


def _jira(rest: Rest, call: Call) -> Answer | None:
    _, _, path = call.path.partition("/rest/api/")
    match call.method, path.split("/")[1:]:
        case "GET", ["user"]:
            found = PEOPLE.get(call.query.get("accountId", ""))
            return (200, found) if found else None
        case "GET", ["issue", "SCRUM-2" | "PROJ-456" as key]:
            return 200, _issue(rest, key)
        case "GET", ["issue", _, "watchers"]:
            found = rest.state["watchers"]
            return 200, {"watchCount": len(found), "isWatching": False, "watchers": found}
        case "GET", ["issue", _, "transitions"]:
            moves = [("11", "To Do"), ("21", "In Progress"), ("31", "Done")]
            return 200, {"transitions": [{"id": i, "name": n, "to": {"name": n}} for i, n in moves]}
        case "POST", ["issue"]:
            return 201, {"id": "10456", "key": "PROJ-456", "self": "/rest/api/3/issue/10456"}
        case "POST", ["issue", "SCRUM-2", "comment"]:
            return 201, {"id": "77", "body": call.body["body"], "created": AT, "author": PEOPLE["u-bot"]}
        case "POST", ["issue", "SCRUM-2", "transitions"]:
            rest.state["status"] = {"31": "Done"}[call.body["transition"]["id"]]
            return 204, None
        case "DELETE", ["issue", "PROJ-456"]:
            return 204, None
    return None


def _issue(rest: Rest, key: str) -> dict[str, Any]:
    fields = {
        "summary": "Login page crashes on mobile Safari",
        "status": {"name": rest.state["status"], "id": "1"},
        "issuetype": {"name": "Bug", "id": "1"},
        "assignee": PEOPLE["u-ann"],
        "reporter": PEOPLE["u-bot"],
        "created": AT,
        "updated": AT,
    }
    return {"id": "10002", "key": key, "self": f"/rest/api/2/issue/{key}", "fields": fields}


def github() -> Rest:
    """A GitHub with the repository acme/app, the branch feature/new-ui and the file README.md."""
    rest = Rest(_github)
    rest.state["head"] = "1f2e3d4c"
    rest.state["files"] = {"README.md": "one\ntwo\n"}
    return rest


def _github(rest: Rest, call: Call) -> Answer | None:
    if not call.path.startswith(REPO):
        return None
    match call.method, call.path.removeprefix(REPO).split("/"):
        case "GET", ["commits"]:
            return 200, [_commit(rest.state["head"], "Draw the new user interface")]
        case "POST", ["pulls"]:
            return 201, _pull(rest, call.body)
        case "GET", ["issues", "7"]:
            return 200, {**_pull(rest, {"title": "x", "head": "h", "base": "main"}), "labels": []}
        case "PATCH", ["issues", "7"]:
            return 200, {"number": 7, "state": call.body["state"]}
        case "GET", ["contents", name]:
            return (200, _file(rest, name)) if name in rest.state["files"] else None
        case "PUT", ["contents", name]:
            return _put(rest, name, call.body)
    return None


def _put(rest: Rest, name: str, body: dict[str, Any]) -> Answer:
    there = rest.state["files"].get(name)
    if body.get("sha") != (sha(there) if there is not None else None):
        return 409, {"message": f"{name} does not match {body.get('sha')}"}
    rest.state["files"][name] = base64.b64decode(body["content"]).decode()
    commit = _commit("c0ffee", body["message"])
    made = {**commit["commit"], "sha": "c0ffee", "node_id": "n", "html_url": "h", "parents": []}
    return 200, {"content": _file(rest, name), "commit": made}


def sha(text: str) -> str:
    """The name that git gives to a file of this text."""
    data = text.encode()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def _file(rest: Rest, name: str) -> dict[str, Any]:
    text = rest.state["files"][name]
    links = {"self": "s", "git": "g", "html": "h"}
    return {
        **{key: "u" for key in ("url", "html_url", "git_url", "download_url")},
        **{"name": name, "path": name, "sha": sha(text), "size": len(text.encode()), "type": "file"},
        **{"content": base64.b64encode(text.encode()).decode(), "encoding": "base64", "_links": links},
    }


def _commit(name: str, message: str) -> dict[str, Any]:
    who = {"name": "Ann Lee", "email": "ann@example.com", "date": AT}
    tree = {"sha": "7ree", "url": "u"}
    inner = {
        "author": who,
        "committer": who,
        "message": message,
        "tree": tree,
        "url": "u",
        "comment_count": 0,
    }
    return {"sha": name, "node_id": "n", "commit": inner, "url": "u", "html_url": "h", "comments_url": "c"}


def _pull(rest: Rest, body: dict[str, Any]) -> dict[str, Any]:
    ann = {"login": "ann", "id": 1, "avatar_url": "a", "url": "u", "html_url": "h"}
    owner = {**ann, "node_id": "n", "type": "User"}
    urls = "html_url url created_at updated_at pushed_at git_url ssh_url clone_url node_id".split()
    repo = dict.fromkeys(urls, "u") | {"id": 1, "name": "app", "full_name": "acme/app", "private": False}
    repo |= {"owner": owner, "description": None, "fork": False, "default_branch": "main"}
    texts = "url node_id html_url diff_url patch_url issue_url created_at updated_at".split()
    nothing = "closed_at merged_at merge_commit_sha assignee".split()

    def end(branch: str, commit: str) -> dict[str, Any]:
        return {"label": f"acme:{branch}", "ref": branch, "sha": commit, "user": ann, "repo": repo}

    return {
        **dict.fromkeys(texts, "u"),
        **dict.fromkeys(nothing),
        **{"id": 70, "number": 7, "state": "open", "locked": False, "title": body["title"], "user": ann},
        **{"body": body.get("body"), "assignees": [], "requested_reviewers": [], "labels": []},
        **{"head": end(body["head"], rest.state["head"]), "base": end(body["base"], "ba5e")},
    }
