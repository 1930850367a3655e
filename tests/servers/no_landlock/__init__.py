"""Tasks for a fork server of their own, as on a kernel with less."""
