"""What it costs: one module per benchmark, each printed with its goal and its baseline."""
