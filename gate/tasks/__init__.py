"""One request: from a message to its answer."""
