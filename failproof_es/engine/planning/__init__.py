"""From case files and collections to a run's plan."""
