"""Slack's events, buttons, modals and commands: payloads in, one flow each, a Reply out."""
