"""Run by Alembic for each migration command, on the connection that storage/migrate.py opened."""

from alembic import context

from storage.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
