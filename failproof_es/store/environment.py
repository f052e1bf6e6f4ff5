"""The environment variables that the store reads."""

DATABASE_URL = "FAILPROOF_ES_DATABASE_URL"
"""URL of the database, if no option names one."""
PASSWORD_FILE = "FAILPROOF_ES_DATABASE_PASSWORD_FILE"  # noqa: S105
"""Path of a file with the password for a database URL without one."""
