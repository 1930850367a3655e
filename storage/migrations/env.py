"""Run by Alembic for each migration command, on the connection that storage/migrate.py opened."""

from alembic import context

from storage import tables, task_tables
from storage.schema import metadata

assert metadata.tables.keys() >= {tables.actions.name, task_tables.tasks.name}  # both have filled it
context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
