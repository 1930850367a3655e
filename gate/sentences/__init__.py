"""What people's sentences say in a thread, and the sentences that are made of a call."""
