"""The views.* methods, and the `response_action` of a submission."""

from __future__ import annotations

from typing import Any

from workspace import check
from workspace.context import Context
from workspace.faults import SlackError
from workspace.payloads import view_json
from workspace.state import View
from workspace.values import initial_values, with_ids

Args = dict[str, Any]
MAX_DEPTH = 3


def _checked_view(context: Context, method: str, body: Any, kind: str) -> dict[str, Any]:
    """The validated view, with ids. Raises SlackError invalid_arguments or view_too_large."""
    problems = check.view_problems(body)
    if not problems and body["type"] != kind:
        problems = [f"a {kind} view is needed here [json-pointer:/view/type]"]
    context.raise_for_problems(method, {"view": body}, problems, "invalid_arguments")
    if check.view_bytes(body) > check.MAX_VIEW_BYTES:
        context.raise_for_problems(
            method, {"view": body}, ["the view is larger than 250 KB"], "view_too_large"
        )
    checked: dict[str, Any] = body
    with_ids(checked["blocks"], context.state.ids)
    return checked


def _create_view(context: Context, user: str, body: dict[str, Any], below: View | None = None) -> View:
    external = body.get("external_id")
    if external and find(context, None, external):
        raise SlackError("duplicate_external_id")
    view_id, view_hash = context.state.ids("V"), context.state.ids("hash.")
    root, previous = (below.root, below.id) if below else (view_id, None)
    return View(view_id, user, body, view_hash, root, previous, initial_values(body["blocks"]))


def find(context: Context, view_id: object, external_id: object) -> View | None:
    if view_id:
        return context.state.view(str(view_id))
    open_views = (view for stack in context.state.stacks.values() for view in stack)
    return next((v for v in open_views if v.body.get("external_id") == external_id), None)


def open_modal(context: Context, args: Args) -> Args:
    """views.open. An invalid view does not use up the trigger_id."""
    body = _checked_view(context, "views.open", args.get("view"), "modal")
    trigger = context.triggers.use_trigger(args.get("trigger_id"))
    if trigger.user not in context.state.stacks:
        raise SlackError("invalid_trigger_id")
    view = _create_view(context, trigger.user, body)
    view.tab = trigger.tab
    context.state.stacks[trigger.user] = [view]
    return _view_response(context, view)


def push_modal(context: Context, args: Args) -> Args:
    """views.push: on top of the person's open modal, at most three views."""
    body = _checked_view(context, "views.push", args.get("view"), "modal")
    trigger = context.triggers.use_trigger(args.get("trigger_id"))
    return _view_response(context, push(context, trigger.user, body))


def push(context: Context, user: str, body: dict[str, Any]) -> View:
    stack = context.state.stacks.get(user, [])
    if not stack:
        raise SlackError("not_found")
    if len(stack) >= MAX_DEPTH:
        raise SlackError("push_limit_reached")
    view = _create_view(context, user, body, below=stack[-1])
    view.tab = stack[-1].tab
    stack.append(view)
    return view


def update_modal(context: Context, args: Args) -> Args:
    """views.update: by view_id or external_id. Raises hash_conflict when the hash is not the current one."""
    view = find(context, args.get("view_id"), args.get("external_id"))
    if view is None:
        raise SlackError("not_found")
    _check_hash(args, view)
    replace(context, view, _checked_view(context, "views.update", args.get("view"), view.body["type"]))
    return _view_response(context, view)


def replace(context: Context, view: View, body: dict[str, Any]) -> None:
    view.body, view.hash, view.errors = body, context.state.ids("hash."), {}
    view.values = initial_values(body["blocks"], view.values)


def publish_home(context: Context, args: Args) -> Args:
    """views.publish: the App Home of one person."""
    user = str(args.get("user_id"))
    if context.state.im_of(user) is None:
        raise SlackError("invalid_arguments", [f"no such user: {user} [json-pointer:/user_id]"])
    body = _checked_view(context, "views.publish", args.get("view"), "home")
    view = context.state.homes.get(user)
    if view is None:
        view = context.state.homes[user] = _create_view(context, user, body)
    else:
        _check_hash(args, view)
        replace(context, view, body)
    return _view_response(context, view)


def _check_hash(args: Args, view: View) -> None:
    if args.get("hash") and args["hash"] != view.hash:
        raise SlackError("hash_conflict")


def _view_response(context: Context, view: View) -> Args:
    context.state.changed()
    return {"view": view_json(context.state, view)}


def apply_response(context: Context, view: View, response: Any) -> None:
    """Applies the app's response to a submission; without a response_action the view closes.

    Raises SlackError when Slack would reject the response.
    """
    action = response.get("response_action") if isinstance(response, dict) else None
    stack = context.state.stacks[view.user]
    if action == "errors":
        view.errors = _field_errors(context, view, response.get("errors"))
    elif action == "update":
        replace(context, view, _checked_view(context, "response_action", response.get("view"), "modal"))
    elif action == "push":
        push(context, view.user, _checked_view(context, "response_action", response.get("view"), "modal"))
    elif action == "clear":
        stack.clear()
    elif action is not None:
        context.raise_for_problems(
            "response_action", response, [f"unknown response_action: {action}"], "invalid_arguments"
        )
    elif view in stack:
        stack.remove(view)
    context.state.changed()


def _field_errors(context: Context, view: View, errors: Any) -> dict[str, str]:
    inputs = {b["block_id"] for b in view.blocks if b["type"] == "input"}
    problems = ["errors must name at least one block"] if not isinstance(errors, dict) or not errors else []
    if not problems:
        problems = [f"{name} is no input block of the view" for name in errors if name not in inputs]
        problems += [
            f"the error of {n} must be a text" for n, e in errors.items() if not isinstance(e, str) or not e
        ]
    context.raise_for_problems("response_action", {"errors": errors}, problems, "invalid_arguments")
    found: dict[str, str] = errors
    return found
