"""`make run`: a local Slack in the browser, with the bot, a sample folder and the bundled servers, in one process."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bot import data_folder
from bot.demo_servers import demo_servers, sample_desk
from bot.demo_stories import sample_stories, story_servers
from bot.settings import Secret, Settings
from bot.wiring import build
from gate.rules.tool import Trust
from tools.mcp.server_config import ServerConfig
from workspace.context import Installation, Options
from workspace.mail_server import MailServer
from workspace.server import Workspace
from workspace.state import archived

SAMPLE = Path(__file__).parent.parent / "manifests" / "sample"
PORTS = (8765, 0)  # the usual one, else any that is free
IGNORED = "The demo ignores {names} and keeps its own data in {home}.\n"
OTHERS = "From countersign.yaml, there run as well: {names}. What is confirmed for these happens where they lead.\n"
EXAMPLES = (  # a read, a change that can be undone, and a plan
    "what is in reports",
    "move the Q3 summary to the archive",
    "run sort-downloads for downloads",
)
WELCOME = """
  Countersign is running in a local workspace:  {url}

  Write in #ops, for example:  @Countersign what is in reports
  Then:  @Countersign move reports/q3-summary.md to archive/q3-summary.md
  Or:    @Countersign brief me   -   what is on my calendar   -   what is in my inbox   -   help
  Whole stories, several servers each:
         @Countersign run clean-up-secrets for private
         @Countersign run sort-downloads for downloads
         @Countersign run compare-contracts for contracts/lease-2026.md   (it asks for the rest)
         @Countersign run reconcile-receipts for receipts
  The files are in {files}. Mail is sent to {mails} and no further. Ctrl-C stops everything.
"""


async def demo(settings: Settings) -> None:
    """Run until Ctrl-C or SIGTERM, then stop cleanly. Data stays in the home between runs."""
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    data_folder.prepare(settings)
    workspace = Workspace(key=secrets.token_urlsafe(16), options=Options(examples=EXAMPLES))
    postbox = MailServer(settings.home / "mails")
    url = await _start(workspace)
    try:
        files = sample_stories(sample_files(settings.home / "files"))
        desk = demo_servers(sample_desk(settings.home / "desk", datetime.now(UTC)), await postbox.start())
        servers = (*desk, *story_servers(files))
        turned = local(settings, url, workspace.installation, files, servers)
        async with archived(workspace.state, settings.home / "messages.jsonl"), build(turned):
            sys.stdout.write(of_production(settings, turned))
            sys.stdout.write(WELCOME.format(url=workspace.page_url, files=files, mails=postbox.folder))
            sys.stdout.flush()
            await stop.wait()
    finally:
        await postbox.stop()
        await workspace.stop()


def sample_files(folder: Path) -> Path:
    """The folder to play in: the sample when it is not there yet, else as the last run left it."""
    if not folder.exists():
        shutil.copytree(SAMPLE, folder)
    return folder


def local(
    settings: Settings, url: str, installed: Installation, files: Path, desk: Sequence[ServerConfig] = ()
) -> Settings:
    """The same settings, turned to the local workspace; servers of countersign.yaml stay, but for those here."""
    filesystem = ServerConfig(
        name="filesystem", inproc="servers.filesystem:server", args=(str(files),), trust=Trust.BUNDLED
    )
    bundled = (filesystem, *desk)
    others = tuple(
        server for server in settings.servers if server.name not in {mine.name for mine in bundled}
    )
    return replace(
        settings,
        bot_token=Secret(installed.bot_token),
        app_token=Secret(installed.app_token),
        signing_secret=Secret(installed.signing_secret),
        api_url=f"{url}/api/",
        servers=(*bundled, *others),
    )


def of_production(settings: Settings, turned: Settings) -> str:
    """What of somebody's real settings the demo leaves alone, and what of them runs in it, as `turned` has it."""
    told = IGNORED.format(names=", ".join(settings.ignored), home=settings.home) if settings.ignored else ""
    others = [one.name for one in turned.servers if one in settings.servers]
    return told + (OTHERS.format(names=", ".join(others)) if others else "")


async def _start(workspace: Workspace) -> str:
    for port in PORTS:
        try:
            return await workspace.start(port=port)
        except OSError:
            continue
    raise OSError("no port is free")
