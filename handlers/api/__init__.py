"""The HTTP API: requests in, the same flows as behind Slack's buttons, JSON out."""
