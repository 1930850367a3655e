"""What the arguments of a call touch and say: paths, addresses, statements, patterns, and the forms of a text."""
