"""One call: from its preview to its result and its undo."""
