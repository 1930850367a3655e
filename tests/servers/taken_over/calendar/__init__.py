"""Its tasks."""
