"""What workers share beside the log: the functions of the database."""
