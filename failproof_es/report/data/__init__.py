"""The contents of a report as data: observations, analysis, conclusions."""
