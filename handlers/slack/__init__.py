"""Slack: events, buttons, modals, commands and App Home."""
