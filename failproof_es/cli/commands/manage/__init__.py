"""The commands that manage the database, models, suites, prompts and projections."""
