"""What a report says, as data: observations, analysis, conclusions."""
