"""The audit key: never made anew for a log that is there, exchanged by `audit rotate-key`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.audit_key import fitting_key, keyring
from bot.cli.audit import rotate_key
from bot.row_sealing import noted_head, seal_once
from bot.settings import Secret, Settings, SettingsError
from gate.rules.access import IssuedToken, Token, TokenKind
from gate.rules.action import EARLIER
from gate.rules.action_states import State
from gate.rules.audit import GENESIS, Entry, Keyring, mac
from gate.rules.ports import Unavailable
from gate.rules.webhooks import Webhook
from storage import reseal
from storage.api_tables import tokens, webhooks
from storage.audit_log import Chain, append, last, verify
from storage.database import DatabaseInUse, open_engine, serve_alone
from storage.ledger import SqlLedger
from storage.migrate import migrate
from storage.reseal import SEALED, adopt
from storage.row_macs import row_macs_of
from storage.rows import entry_row
from storage.tables import audit_head, audit_log
from storage.tokens import TokenStore
from storage.webhooks import HookStore
from tests.storage.samples import action

OLD, NEW = "o" * 40, "n" * 40


def given(tmp_path: Path, **environ: str) -> Settings:
    return Settings.load({"COUNTERSIGN_HOME": str(tmp_path), **environ}, tmp_path)


async def filled(settings: Settings, count: int = 3) -> None:
    await migrate(settings.database_url)
    engine = open_engine(settings.database_url)
    key = (await fitting_key(settings, engine)).current
    async with engine.begin() as connection:
        entries = [
            Entry(event="confirmed", session="T1:C1:1.1", actor="U1", reason=str(n)) for n in range(count)
        ]
        await append(connection, Chain(key), entries, timedelta())
    await engine.dispose()


async def with_engine(settings: Settings, ask: Callable[[AsyncEngine], Awaitable[Any]]) -> Any:
    engine = open_engine(settings.database_url)
    try:
        return await ask(engine)
    finally:
        await engine.dispose()


async def test_a_missing_key_with_a_log_is_an_error_and_no_new_key(tmp_path: Path) -> None:
    settings = given(tmp_path)
    await filled(settings)
    (tmp_path / "audit.key").unlink()
    with pytest.raises(
        SettingsError, match=r"has 3 entries, but their key .*audit\.key is missing: restore it"
    ):
        await with_engine(settings, lambda engine: fitting_key(settings, engine))
    assert not (tmp_path / "audit.key").exists()


async def test_a_key_that_does_not_fit_the_log_is_an_error(tmp_path: Path) -> None:
    settings = given(tmp_path)
    await filled(settings)
    (tmp_path / "audit.key").write_bytes(b"x" * 32)
    with pytest.raises(SettingsError, match=r"audit\.key is not the key that the audit log ends with"):
        await with_engine(settings, lambda engine: fitting_key(settings, engine))
    other = given(tmp_path, COUNTERSIGN_AUDIT_KEY=NEW)
    with pytest.raises(SettingsError, match=r"COUNTERSIGN_AUDIT_KEY is not the key"):
        await with_engine(other, lambda engine: fitting_key(other, engine))


async def test_after_a_rotation_all_entries_verify_and_rows_count(tmp_path: Path) -> None:
    settings = given(tmp_path)
    await filled(settings)
    old = settings.audit_key()

    async def told(engine: AsyncEngine) -> None:
        store = TokenStore(engine, row_macs_of(old))
        now = await store.now()
        await store.add(
            Token("t", TokenKind.PERSON, "me", "T1", "U1", (), now, now + timedelta(days=1)), "secret"
        )
        await HookStore(engine, row_macs_of(old)).add(
            Webhook("h", "https://a/", "whsec_x", "", "T1", (), (), 0, now)
        )

    await with_engine(settings, told)
    await rotate_key(settings)
    new = settings.audit_key()
    assert new != old
    await filled(settings, 2)

    async def found(engine: AsyncEngine) -> None:
        verified = await verify(engine, keyring(settings))
        assert (verified.count, verified.broken_at) == (6, None)
        assert (await verify(engine, old)).broken_at == 5
        assert await TokenStore(engine, row_macs_of(old)).find(IssuedToken("t", "secret")) is None
        assert await TokenStore(engine, row_macs_of(new)).find(IssuedToken("t", "secret"))
        (hook,) = await HookStore(engine, row_macs_of(new)).all()
        assert hook.secret == "whsec_x"
        assert await HookStore(engine, row_macs_of(old)).all() == ()

    await with_engine(settings, found)
    await rotate_key(settings)
    await with_engine(settings, lambda engine: fitting_key(settings, engine))
    assert len(keyring(settings).retired) == 2


@pytest.mark.parametrize("has_written", [False, True], ids=["new to the log", "has written to it"])
async def test_a_process_that_has_read_the_key_before_a_rotation_writes_nothing_after_it(
    database_url: str, has_written: bool
) -> None:
    """A replica that was starting, or `tools review` at its question: the log could never be verified again."""
    entry = Entry(event="confirmed", session="T1:C1:1.1", actor="U1")
    await migrate(database_url)
    engine = open_engine(database_url)
    try:
        process = SqlLedger(engine, lambda _, run: None, b"old")
        if has_written:
            async with process.begin() as tx:
                tx.audit(entry)
        await reseal.rotate(engine, b"old", b"new")
        with pytest.raises(Unavailable, match="rotated after this process had begun"):
            async with process.begin() as tx:
                tx.audit(entry)
        async with SqlLedger(engine, lambda _, run: None, b"new").begin() as tx:
            tx.audit(entry)
        found = await verify(engine, Keyring(b"new", (b"old",)))
        assert (found.count, found.broken_at) == (2 + has_written, None)
    finally:
        await engine.dispose()


async def test_whoever_has_the_old_key_cannot_go_on_with_it(tmp_path: Path) -> None:
    settings = given(tmp_path)
    await filled(settings)
    old = settings.audit_key()
    await rotate_key(settings)

    async def forged(engine: AsyncEngine) -> None:
        async with engine.begin() as connection:
            await connection.execute(update(audit_head).values(key=""))  # or it would be refused
            await append(
                connection,
                Chain(old),
                [Entry(event="confirmed", session="T1:C1:1.1", actor="U1")],
                timedelta(),
            )
        assert (await verify(engine, keyring(settings))).broken_at == 5
        with pytest.raises(SettingsError):
            await fitting_key(settings, engine)

    await with_engine(settings, forged)


@pytest.mark.slow
async def test_a_rotation_that_was_cut_off_is_finished_or_forgotten_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = given(tmp_path)
    await filled(settings)
    old = settings.audit_key()

    def killed(path: Path, seq: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("bot.audit_key._exchanged", killed)
        with pytest.raises(KeyboardInterrupt):
            await rotate_key(settings)
    assert settings.audit_key() == old  # the entry is written, the key not yet exchanged
    keys = await with_engine(settings, lambda engine: fitting_key(settings, engine))
    assert keys.current != old
    assert keys.retired == (old,)
    assert (await with_engine(settings, lambda engine: verify(engine, keys))).broken_at is None
    (tmp_path / "audit.key.next").write_bytes(b"z" * 32)  # of one whose entry was never written
    assert (await with_engine(settings, lambda engine: fitting_key(settings, engine))).current == keys.current
    await rotate_key(settings)
    assert not (tmp_path / "audit.key.next").exists()


async def test_a_key_of_the_environment_is_rotated_as_the_refusal_says(tmp_path: Path) -> None:
    settings = given(tmp_path, COUNTERSIGN_AUDIT_KEY=OLD)
    await filled(settings)
    with pytest.raises(
        SettingsError, match=r"set COUNTERSIGN_AUDIT_KEY to a new key .* COUNTERSIGN_AUDIT_KEY_OLD"
    ):
        await rotate_key(settings)
    both = given(tmp_path, COUNTERSIGN_AUDIT_KEY=NEW, COUNTERSIGN_AUDIT_KEY_OLD=OLD)
    with pytest.raises(SettingsError):  # not before it was rotated
        await with_engine(both, lambda engine: fitting_key(both, engine))
    await rotate_key(both)
    assert (await with_engine(both, lambda engine: fitting_key(both, engine))).current == NEW.encode()
    assert (await with_engine(both, lambda engine: verify(engine, keyring(both)))).count == 4
    wrong = replace(both, audit_retired=(Secret("w" * 40),))
    assert (await with_engine(wrong, lambda engine: verify(engine, keyring(wrong)))).broken_at == 1


async def test_a_key_is_not_rotated_while_the_service_runs(tmp_path: Path) -> None:
    settings = given(tmp_path)
    await filled(settings)
    held = serve_alone(settings.database_url)
    assert held is not None
    try:
        with pytest.raises(DatabaseInUse, match="Another Countersign is serving"):
            await rotate_key(settings)
    finally:
        held.close()
    newest = await with_engine(settings, last)
    assert newest is not None
    assert newest.entry.event == "confirmed"


async def of_before(engine: AsyncEngine, key: bytes) -> None:
    """Make the database one of a version that made no MACs and chained entries of format 1."""
    async with engine.begin() as connection:
        for what in ("update", "delete", "replace"):
            await connection.execute(text(f"DROP TRIGGER audit_log_no_{what}"))
        for table in SEALED:
            await connection.execute(update(table).values(mac=""))
        await connection.execute(update(webhooks).values(secret="whsec_x"))
    await of_before_only_log(engine, key)


async def of_before_only_log(engine: AsyncEngine, key: bytes) -> None:
    entry, at = Entry(event="confirmed", session="T1:C1:1.1", actor="U1"), datetime(2026, 1, 1, tzinfo=UTC)
    value = mac(key, GENESIS, 1, at, entry, 1)
    row = {**entry_row(entry), "seq": 1, "timestamp": at, "prev": GENESIS, "mac": value, "team": "T1"}
    async with engine.begin() as connection:
        await connection.execute(delete(audit_log))
        await connection.execute(insert(audit_log).values({**row, "format": 1, "requester": None}))
        await connection.execute(update(audit_head).values(seq=1, mac=value))


async def test_rows_of_an_earlier_version_are_adopted_once_but_not_what_waits(tmp_path: Path) -> None:
    settings = given(tmp_path)
    await migrate(settings.database_url)
    key = settings.audit_key()
    seals = row_macs_of(key)

    async def story(engine: AsyncEngine) -> None:
        ledger, store = SqlLedger(engine, lambda _, run: None, key), TokenStore(engine, seals)
        now = await store.now()
        async with ledger.begin() as tx:
            await tx.insert(action("done", now, state=State.SUCCEEDED))
            await tx.insert(action("waits", now))
        await store.add(
            Token("t", TokenKind.PERSON, "me", "T1", "U1", (), now, now + timedelta(days=1)), "secret"
        )
        await HookStore(engine, seals).add(Webhook("h", "https://a/", "whsec_x", "", "T1", (), (), 0, now))
        await of_before(engine, key)
        assert await store.find(IssuedToken("t", "secret")) is None
        assert await adopt(engine, key)
        assert await store.find(IssuedToken("t", "secret"))
        (hook,) = await HookStore(engine, seals).all()
        assert hook.secret == "whsec_x"
        async with engine.connect() as connection:
            assert "whsec_x" not in str((await connection.execute(select(webhooks))).all())
        flaws = [found.flaw for one in ("done", "waits") if (found := await ledger.action(one))]
        assert flaws == ["", EARLIER]
        assert (await verify(engine, key)).broken_at is None
        await of_before_only_rows(engine)
        assert not await adopt(engine, key)  # a second time it would be somebody else's rows
        assert await store.find(IssuedToken("t", "secret")) is None

    await with_engine(settings, story)


@pytest.mark.parametrize("environ", [{}, {"COUNTERSIGN_AUDIT_KEY": OLD}], ids=["key file", "key given"])
async def test_a_log_cut_back_to_version_1_does_not_get_forged_rows_sealed(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    """By somebody who kept a copy of the database from before the upgrade, and can write to it, but not to the home."""
    settings = given(tmp_path, **environ)
    await migrate(settings.database_url)
    key = settings.audit_key()

    async def story(engine: AsyncEngine) -> None:
        store = TokenStore(engine, row_macs_of(key))
        now = await store.now()
        await of_before(engine, key)
        assert await seal_once(settings, engine, key)
        assert not await seal_once(settings, engine, key)
        await of_before_only_log(engine, key)
        forged = Token("t", TokenKind.PERSON, "me", "T1", "U1", (), now, now + timedelta(days=1))
        await TokenStore(engine, row_macs_of(b"another key")).add(forged, "secret")
        await of_before_only_rows(engine)
        with pytest.raises(
            SettingsError, match=r"audit\.sealed says that its rows were sealed before, at entry 2"
        ):
            await seal_once(settings, engine, key)
        assert await store.find(IssuedToken("t", "secret")) is None
        assert (await verify(engine, key)).broken_at is None  # the note tells what the log alone does not
        assert (await verify(engine, key, noted_head(settings))).broken_at == 2
        (tmp_path / "audit.sealed").unlink()  # as the sentence says, by who put the database back themselves
        assert await seal_once(settings, engine, key)

    await with_engine(settings, story)


async def test_a_new_home_is_noted_as_sealed_and_a_damaged_note_counts(tmp_path: Path) -> None:
    settings = given(tmp_path)
    await migrate(settings.database_url)
    key = settings.audit_key()

    async def story(engine: AsyncEngine) -> None:
        assert not await seal_once(settings, engine, key)
        assert (tmp_path / "audit.sealed").stat().st_mode & 0o777 == 0o600
        assert noted_head(settings).seq == 0
        await of_before(engine, key)
        (tmp_path / "audit.sealed").write_text("")
        with pytest.raises(SettingsError, match="at entry unknown"):
            await seal_once(settings, engine, key)

    await with_engine(settings, story)


async def test_rows_get_their_macs_before_a_rotation_writes_to_the_log(tmp_path: Path) -> None:
    settings = given(tmp_path)
    await filled(settings)

    async def story(engine: AsyncEngine) -> None:
        store = TokenStore(engine, row_macs_of(settings.audit_key()))
        now = await store.now()
        await store.add(
            Token("t", TokenKind.PERSON, "me", "T1", "U1", (), now, now + timedelta(days=1)), "secret"
        )
        await of_before(engine, settings.audit_key())

    await with_engine(settings, story)
    await rotate_key(settings)
    seals = row_macs_of(settings.audit_key())
    assert await with_engine(
        settings, lambda engine: TokenStore(engine, seals).find(IssuedToken("t", "secret"))
    )


async def of_before_only_rows(engine: AsyncEngine) -> None:
    async with engine.begin() as connection:
        await connection.execute(update(tokens).values(mac=""))
