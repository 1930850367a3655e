"""Views: opening, pushing, updating, publishing, and what a submission's answer does to them."""

from __future__ import annotations

from typing import Any

from workspace import check
from workspace.errors import SlackError
from workspace.parts import Parts
from workspace.payloads import view_json
from workspace.state import View
from workspace.values import initial, named

Args = dict[str, Any]
DEPTH = 3


def _body(parts: Parts, method: str, body: Any, kind: str) -> dict[str, Any]:
    """The checked view. Raises invalid_arguments or view_too_large."""
    problems = check.view(body)
    if not problems and body["type"] != kind:
        problems = [f"a {kind} view is needed here [json-pointer:/view/type]"]
    parts.insist(method, {"view": body}, problems, "invalid_arguments")
    if check.size_of_view(body) > check.VIEW_BYTES:
        parts.insist(method, {"view": body}, ["the view is larger than 250 KB"], "view_too_large")
    checked: dict[str, Any] = body
    named(checked["blocks"], parts.state.ids)
    return checked


def _new(parts: Parts, user: str, body: dict[str, Any], below: View | None = None) -> View:
    external = body.get("external_id")
    if external and find(parts, None, external):
        raise SlackError("duplicate_external_id")
    view_id, mark = parts.state.ids("V"), parts.state.ids("hash.")
    root, previous = (below.root, below.id) if below else (view_id, None)
    return View(view_id, user, body, mark, root, previous, initial(body["blocks"]))


def find(parts: Parts, view_id: object, external_id: object) -> View | None:
    if view_id:
        return parts.state.view(str(view_id))
    open_views = (view for stack in parts.state.stacks.values() for view in stack)
    return next((v for v in open_views if v.body.get("external_id") == external_id), None)


def open_modal(parts: Parts, args: Args) -> Args:
    """views.open: the checks come before the trigger is used up."""
    body = _body(parts, "views.open", args.get("view"), "modal")
    user = parts.passes.pull(args.get("trigger_id"))
    if user not in parts.state.stacks:
        raise SlackError("invalid_trigger_id")
    view = _new(parts, user, body)
    parts.state.stacks[user] = [view]
    return _shown(parts, view)


def push_modal(parts: Parts, args: Args) -> Args:
    """views.push: on top of the person's open modal, at most three deep."""
    body = _body(parts, "views.push", args.get("view"), "modal")
    user = parts.passes.pull(args.get("trigger_id"))
    return _shown(parts, push(parts, user, body))


def push(parts: Parts, user: str, body: dict[str, Any]) -> View:
    stack = parts.state.stacks.get(user, [])
    if not stack:
        raise SlackError("not_found")
    if len(stack) >= DEPTH:
        raise SlackError("push_limit_reached")
    view = _new(parts, user, body, below=stack[-1])
    stack.append(view)
    return view


def update_modal(parts: Parts, args: Args) -> Args:
    """views.update: by view_id or external_id; with a hash only if nothing changed since."""
    view = find(parts, args.get("view_id"), args.get("external_id"))
    if view is None:
        raise SlackError("not_found")
    _same_hash(args, view)
    replace(parts, view, _body(parts, "views.update", args.get("view"), view.body["type"]))
    return _shown(parts, view)


def replace(parts: Parts, view: View, body: dict[str, Any]) -> None:
    view.body, view.hash, view.errors = body, parts.state.ids("hash."), {}
    view.values = initial(body["blocks"], view.values)


def publish_home(parts: Parts, args: Args) -> Args:
    """views.publish: the App Home of one person."""
    user = str(args.get("user_id"))
    if parts.state.im_of(user) is None:
        raise SlackError("invalid_arguments", [f"no such user: {user} [json-pointer:/user_id]"])
    body = _body(parts, "views.publish", args.get("view"), "home")
    view = parts.state.homes.get(user)
    if view is None:
        view = parts.state.homes[user] = _new(parts, user, body)
    else:
        _same_hash(args, view)
        replace(parts, view, body)
    return _shown(parts, view)


def _same_hash(args: Args, view: View) -> None:
    if args.get("hash") and args["hash"] != view.hash:
        raise SlackError("hash_conflict")


def _shown(parts: Parts, view: View) -> Args:
    parts.state.changed()
    return {"view": view_json(parts.state, view)}


def submitted(parts: Parts, view: View, answer: Any) -> None:
    """Does what the app's answer to a submission says; nothing said closes the view.

    Raises SlackError when the answer is none that Slack knows.
    """
    action = answer.get("response_action") if isinstance(answer, dict) else None
    stack = parts.state.stacks[view.user]
    if action == "errors":
        view.errors = _errors(parts, view, answer.get("errors"))
    elif action == "update":
        replace(parts, view, _body(parts, "response_action", answer.get("view"), "modal"))
    elif action == "push":
        push(parts, view.user, _body(parts, "response_action", answer.get("view"), "modal"))
    elif action == "clear":
        stack.clear()
    elif action is not None:
        parts.insist("response_action", answer, [f"unknown response_action: {action}"], "invalid_arguments")
    elif view in stack:
        stack.remove(view)
    parts.state.changed()


def _errors(parts: Parts, view: View, errors: Any) -> dict[str, str]:
    inputs = {b["block_id"] for b in view.blocks if b["type"] == "input"}
    problems = ["errors must name at least one block"] if not isinstance(errors, dict) or not errors else []
    if not problems:
        problems = [f"{name} is no input block of the view" for name in errors if name not in inputs]
        problems += [
            f"the error of {n} must be a text" for n, e in errors.items() if not isinstance(e, str) or not e
        ]
    parts.insist("response_action", {"errors": errors}, problems, "invalid_arguments")
    found: dict[str, str] = errors
    return found
