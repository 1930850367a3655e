"""Run by Alembic for each migration command, on the connection that storage/migrate.py opened."""

from alembic import context

from storage import learnt_tables, tables, task_tables
from storage.schema import metadata

# Each of them has filled it.
assert metadata.tables.keys() >= {tables.actions.name, task_tables.tasks.name, learnt_tables.grants.name}
context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
