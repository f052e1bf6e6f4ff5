"""The environment variables that the store reads."""

DATABASE_URL = "FAILPROOF_ES_DATABASE_URL"
"""Names the database, where no option does."""
