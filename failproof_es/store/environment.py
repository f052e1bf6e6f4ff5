"""The environment variables that the store reads."""

DATABASE_URL = "FAILPROOF_ES_DATABASE_URL"
"""Names the database, where no option does."""
PASSWORD_FILE = "FAILPROOF_ES_DATABASE_PASSWORD_FILE"  # noqa: S105
"""Names a file with the password for a database URL that has none."""
