"""The command line: what can be asked for, and every error as one sentence."""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
import traceback
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from typing import Any

from bot.logs import Redactor, configure, secrets_of

# What a command does is imported when it is called: `--help` answers at once.
DEMO = "bot.demo:demo"
Command = Callable[..., Awaitable[int | None]]
DESCRIPTION = "Countersign: the model proposes, a person countersigns. Without a command: serve."


class CommandError(Exception):
    """A command cannot do what it was asked for; the message says what to do."""


def main(arguments: Sequence[str]) -> int:
    """Carry out one command. Returns the exit code: 0 done, 1 not done or something found, 2 wrongly asked."""
    asked = parser().parse_args(arguments)
    redactor = configure(asked.log)
    try:
        return asyncio.run(_run(asked, redactor)) or 0
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output, `head` perhaps, has enough
        sys.stderr.close()
        return 1
    except Exception as error:
        if asked.traceback:
            sys.stderr.write(redactor.clean(traceback.format_exc()))
        sys.stderr.write(redactor.without_known(_sentence(error)) + "\n")
        return 1


async def _run(asked: argparse.Namespace, redactor: Redactor) -> int | None:
    gc.disable()  # all that is imported stays: to look through it again and again is a third of the start
    try:
        settings, command = _imported(asked)
    finally:
        gc.freeze()
        gc.enable()
    redactor.knows(secrets_of(settings))
    return await command(settings, *(getattr(asked, key) for key in asked.takes))


def _imported(asked: argparse.Namespace) -> tuple[Any, Command]:
    """The settings, and the command with all that it needs."""
    from bot.settings import Settings

    module, _, name = asked.does.partition(":")
    settings = Settings.from_environment(slack=asked.slack, demo=asked.does == DEMO)
    return settings, getattr(import_module(module), name)


def _sentence(error: Exception) -> str:
    """What the person at the keyboard is told. Our own errors are sentences already."""
    text = str(error).strip()
    if type(error).__module__.split(".")[0] in {"bot", "gate", "storage", "tools", "servers", "workspace"}:
        from gate.rules.spelled_out import visible

        return visible(text)  # it may quote a file
    first = text.splitlines()[0] if text else "no more is known"
    return f"{type(error).__name__}: {first} (where it happened: the same command with --traceback first)"


def parser() -> argparse.ArgumentParser:
    """Every command with its options."""
    top = argparse.ArgumentParser(prog="python -m bot", description=DESCRIPTION)
    top.add_argument("--traceback", action="store_true", help="show where an error happened")
    top.add_argument(
        "--log", default="INFO", choices=["DEBUG", "INFO", "WARNING", "ERROR"], help="how much to log"
    )
    commands = top.add_subparsers(metavar="COMMAND")
    top.set_defaults(does="bot.cli.serve:everything", takes=(), slack=True)
    _serving(commands)
    _tools(commands)
    _recipes(commands)
    _audit(commands)
    _tokens(commands)
    _webhooks(commands)
    return top


def _add(commands: Any, name: str, does: str, tells: str, **defaults: Any) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(name, help=tells, description=tells)
    made.set_defaults(**{"does": does, "takes": (), "slack": False, "log": "WARNING", **defaults})
    return made


def _group(commands: Any, name: str, tells: str) -> Any:
    group = commands.add_parser(name, help=tells, description=tells)
    return group.add_subparsers(metavar="COMMAND", required=True)


def _serving(commands: Any) -> None:
    for name, tells in {
        "serve": "serve Slack and carry out the work, in one process",
        "web": "only serve Slack; PostgreSQL and a worker are needed",
        "worker": "only carry out the work; PostgreSQL is needed",
    }.items():
        function = {"serve": "everything"}.get(name, name)
        _add(commands, name, f"bot.cli.serve:{function}", tells, slack=True, log="INFO")
    _add(commands, "demo", DEMO, "try it in a local Slack, in the browser", log="WARNING")
    _add(
        commands,
        "gateway",
        "bot.gateway:gateway",
        "serve an MCP client on standard input and output, through the running service",
    )
    _add(commands, "migrate", "bot.cli.serve:migrate", "bring the database to the tables of this version")
    _add(commands, "doctor", "bot.cli.doctor:doctor", "check everything, and say how to mend what is wrong")


def _tools(commands: Any) -> None:
    policy = _group(commands, "policy", "ask the policy")
    explain = _add(
        policy,
        "explain",
        "bot.cli.tools:explain",
        "what stands between one call and its tool, and why",
        takes=("tool", "args", "channel", "user"),
    )
    explain.add_argument("tool", metavar="SERVER.TOOL")
    explain.add_argument("--args", default="{}", metavar="JSON", help="the arguments of the call")
    explain.add_argument("--channel", default="", help="the channel it is asked in, as an ID")
    explain.add_argument("--user", default="", help="who asks, as a member ID")
    tools = _group(commands, "tools", "look at the tools of the MCP servers")
    _add(tools, "list", "bot.cli.tools:listing", "every tool with its class and trust")
    review = _add(
        tools,
        "review",
        "bot.cli.tools:review",
        "read the new and changed definitions of a server, and note that they were read",
        takes=("server", "yes", "by"),
    )
    review.add_argument("server", metavar="SERVER")
    review.add_argument("--yes", action="store_true", help="do not ask")
    review.add_argument("--by", default="operator", metavar="NAME", help="who has read them")


def _recipes(commands: Any) -> None:
    recipes = _group(commands, "recipes", "draft and check the recipes for other people's servers")
    new = _add(
        recipes,
        "new",
        "bot.cli.tools:new",
        "a draft of recipes for one server, to be read by a person",
        takes=("server", "schemas"),
    )
    new.add_argument("server", metavar="SERVER")
    new.add_argument("--schemas", action="store_true", help="instead: what its recipes are checked against")
    _add(recipes, "test", "bot.cli.tools:test", "check every recipe file against the tools it is for")


def _audit(commands: Any) -> None:
    audit = _group(commands, "audit", "prove and export the audit log")
    verify = _add(
        audit,
        "verify",
        "bot.cli.audit:verify",
        "check that every entry is as it was written and follows from the one before",
        takes=("head", "count"),
    )
    verify.add_argument(
        "--head", default="", metavar="HEX", help="an earlier head, which `audit head` had shown"
    )
    verify.add_argument(
        "--count", type=int, default=0, metavar="N", help="the number of entries at that time"
    )
    _add(audit, "head", "bot.cli.audit:head", "the end of the log, to be kept elsewhere")
    _add(audit, "rotate-key", "bot.cli.audit:rotate_key", "chain the log with a new key from now on")
    _add(audit, "export", "bot.cli.audit:export", "all entries as JSON, one on each line")


def _tokens(commands: Any) -> None:
    tokens = _group(commands, "tokens", "let programs and people use the HTTP API")
    new = _add(
        tokens,
        "new",
        "bot.cli.tokens:new",
        "make a token and show it, this once",
        takes=("kind", "user", "team", "channel", "name", "days"),
    )
    new.add_argument("kind", choices=["agent", "person"], help="an agent proposes; a person also decides")
    new.add_argument("--user", required=True, metavar="ID", help="the Slack member it acts for (U…)")
    new.add_argument("--team", required=True, metavar="ID", help="their workspace (T…)")
    new.add_argument(
        "--channel", action="append", default=[], metavar="ID", help="where it may propose; may be repeated"
    )
    new.add_argument("--name", default="", help="what it is for, as people are told")
    new.add_argument("--days", type=int, default=30, metavar="N", help="for how long it counts, at most 90")
    _add(tokens, "list", "bot.cli.tokens:listing", "every token, without its secret")
    revoke = _add(tokens, "revoke", "bot.cli.tokens:revoke", "end a token now", takes=("token",))
    revoke.add_argument("token", metavar="ID", help="its id, as `tokens list` shows it")


def _webhooks(commands: Any) -> None:
    hooks = _group(commands, "webhooks", "tell others over HTTP of what happens")
    does = "bot.cli.webhooks"
    add = _add(hooks, "add", f"{does}:add", "tell a URL, and show its secret, this once")
    add.set_defaults(takes=("url", "team", "channel", "kind"))
    add.add_argument("url", metavar="URL", help="https, port 443, on the open internet")
    add.add_argument("--team", required=True, metavar="ID", help="the workspace (T…)")
    add.add_argument("--channel", action="append", default=[], metavar="ID", help="only of this channel")
    add.add_argument("--kind", action="append", default=[], metavar="EVENT", help="only this kind of event")
    _add(hooks, "list", f"{does}:listing", "every webhook, and what came of its last delivery")
    for name, tells in {
        "remove": "tell it nothing more",
        "rotate": "give it a new secret; the old one signs, too, until the next rotation",
    }.items():
        one = _add(hooks, name, f"{does}:{name}", tells, takes=("webhook",))
        one.add_argument("webhook", metavar="ID", help="its id, as `webhooks list` shows it")
