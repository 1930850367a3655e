"""Run by Alembic for each migration command, on the connection that storage/migrate.py opened."""

from alembic import context

from storage import api_tables, grant_tables, question_tables, review_tables, tables, task_tables
from storage.schema import metadata

# Each of them has filled it.
FILLED = {
    tables.actions, task_tables.tasks, grant_tables.grants, api_tables.tokens, review_tables.reviews,
    question_tables.server_questions,
}  # fmt: skip
assert metadata.tables.keys() >= {table.name for table in FILLED}
context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
