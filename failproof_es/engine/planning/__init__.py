"""Makes a run's plan from case files and collections."""
