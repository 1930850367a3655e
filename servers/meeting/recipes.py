"""What the gate must know of each tool: its class, how to show it before, and how to take it back (design.md 10)."""

from __future__ import annotations

from servers.cards import Card, reading
from servers.making import WAYS_BACK, makes

CARDS: dict[str, Card] = {
    "preview_minutes": reading("Preview minutes", "Look at the minutes"),
    "generate_minutes": makes(
        "Generate minutes",
        "Write",
        "Write minutes of {args.source} to {args.destination}",
        noun="{args.destination|name}",
        capture={"plan": {"tool": "preview_minutes", "args": {"call": "{args}"}}},
        bind={
            "expected_target": "{capture.plan.expected_target}",
            "expected_made": "{capture.plan.expected_made}",
        },
        preview={"kind": "text", "after": "{capture.plan.difference}"},
    ),
    **WAYS_BACK,
}
