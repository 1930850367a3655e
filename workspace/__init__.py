"""A local Slack: small enough to read, strict enough to test against."""
