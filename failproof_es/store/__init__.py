"""The log in PostgreSQL: appending and reading events, its schema, the embedded server."""
