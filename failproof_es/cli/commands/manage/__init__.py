"""The commands beside runs: the database, models, suites, prompts, projections."""
