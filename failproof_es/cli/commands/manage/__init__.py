"""The commands that manage the database, models, suites, prompts, projections and the console."""
