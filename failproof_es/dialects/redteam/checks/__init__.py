"""What is found of a reply without asking anyone."""
