"""What the gate must know of each tool: its class, how to show it before, and how to take it back (design.md 10)."""

from __future__ import annotations

from servers.cards import Card, reading
from servers.making import WAYS_BACK, makes


def _crypt(title: str, verb: str, preview: str) -> Card:
    return makes(
        title,
        verb,
        f"{verb} {{args.path}} to {{capture.plan.path}}",
        noun="{args.path|name}",
        capture={"plan": {"tool": preview, "args": {"call": "{args}"}}},
        bind={
            "expected_source": "{capture.plan.expected_source}",
            "expected_target": "{capture.plan.expected_target}",
        },
        preview={"kind": "affected", "items": "{capture.plan.items}"},
    )


CARDS: dict[str, Card] = {
    "scan_for_pii": reading("Find personal data", "Look for personal data in {args.path}"),
    "scan_for_secrets": reading("Find secrets", "Look for secrets in {args.path}"),
    "find_duplicates": reading("Find duplicates", "Look for twins in {args.path}"),
    "propose_cleanup": reading("Propose a clean-up", "Look what could go in {args.path}"),
    "show_recipient": reading("Show public key", "Show the public key"),
    "preview_encrypt": reading("Preview encrypting", "Look at what would be encrypted"),
    "preview_decrypt": reading("Preview decrypting", "Look at what would be decrypted"),
    "encrypt_file": _crypt("Encrypt file", "Encrypt", "preview_encrypt"),
    "decrypt_file": _crypt("Decrypt file", "Decrypt", "preview_decrypt"),
    **WAYS_BACK,
}
