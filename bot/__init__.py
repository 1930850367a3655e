"""The composition room: settings, engine, cards and the command line; nobody imports it."""
