"""A database of version 1, and the test that today's code goes on with it."""
