"""An action's parts, each in one column, in place of a column for every field of them.

What was prepared before has a receipt that does not cover all of its proposal: it loses its MAC, so that it counts as
prepared by an earlier version, and is asked anew."""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "r013"
down_revision = "r012"
branch_labels = None
depends_on = None

CHUNK = 500
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PARTS = "proposal resolution execution result_review undo".split()
DROPPED = (
    "args cls risk verdict reason rule policy approvers always_gated preview capture phrase decided_by decision "
    "claim outcome inverse undo_open private tries edited_by checkable grant proposed judged"
).split()
READ = ["id", "server", "tool", "definition", "review", "held", "created_at", "expires_at", *DROPPED]


def upgrade() -> None:
    for part in PARTS:
        op.add_column("actions", sa.Column(part, sa.Text(), nullable=False, server_default=""))
    old = sa.table("actions", *map(sa.column, [*READ, *PARTS]))
    written = {name: sa.bindparam(f"new_{name}", type_=sa.Text()) for name in PARTS}
    put = sa.update(old).where(old.c.id == sa.bindparam("of", type_=sa.Text())).values(written)
    connection = op.get_bind()
    for rows in _chunks(connection, old):
        parts = [
            {"of": row["id"]} | {f"new_{name}": _dumps(part) for name, part in _parts(row).items()}
            for row in rows
        ]
        connection.execute(put, parts)
    op.execute("UPDATE actions SET mac = '' WHERE mac != 'altered'")
    for name in DROPPED:
        op.drop_column("actions", name)


def downgrade() -> None:
    raise NotImplementedError("receipts cover parts: nothing takes those apart")


def _chunks(connection: sa.Connection, table: Any) -> Iterator[Sequence[Any]]:
    page = sa.select(*(table.c[name] for name in READ)).order_by(table.c.id).limit(CHUNK)
    found = connection.execute(page).mappings().all()
    while found:
        yield found
        found = connection.execute(page.where(table.c.id > found[-1]["id"])).mappings().all()


def _parts(row: Any) -> dict[str, Any]:
    """The parts of an action as storage/codec.py writes them."""
    preview = _loads(row["preview"])
    decision: dict[str, Any] = {
        name: _text(row[name]) for name in ("verdict", "cls", "risk", "reason", "rule")
    }
    decision |= {"approvers": _loads(row["approvers"])}
    decision |= {name: bool(row[name]) for name in ("always_gated", "private")}
    source: dict[str, Any] = {"at": _moment(row["created_at"]), "prose": preview.pop("prose", "")}
    source |= {name: _text(row[name]) for name in ("review", "edited_by", "proposed")}
    proposal: dict[str, Any] = {
        name: _text(row[name]) for name in ("server", "tool", "definition", "policy", "phrase")
    }
    proposal |= {"args": bytes(row["args"]).decode("latin-1"), "capture": _loads(row["capture"])}
    proposal |= {"preview": preview, "decision": decision, "source": source}
    proposal["expires_at"] = _moment(row["expires_at"])
    resolution = {"by": _text(row["decided_by"]), "reason": _text(row["decision"])}
    return {
        "proposal": proposal,
        "resolution": resolution | {"grant": _text(row["grant"]), "tries": row["tries"]},
        "execution": {name: _loads(row[name]) for name in ("claim", "outcome")},
        "result_review": {"awaits": _text(row["held"]), "judged": _loads(row["judged"])},
        "undo": {"inverse": _loads(row["inverse"]), "open": bool(row["undo_open"])},
    }


# As storage/codec.py and storage/columns.py wrote these columns when this migration was made.


def _text(value: str) -> str:
    return re.sub("\x1b([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), value)


def _loads(text: str) -> Any:
    return json.loads(_text(text))


def _dumps(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return re.sub("[\x00\x1b\ud800-\udfff]", lambda found: f"\x1b{ord(found[0]):04x}", text)


def _moment(value: Any) -> str:
    moment = value if isinstance(value, datetime) else EPOCH + int(value) * timedelta(microseconds=1)
    return moment.astimezone(UTC).isoformat()
