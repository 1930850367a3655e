"""Where things are kept: the ledger in SQL, the leases in Redis."""
