"""What makes a command unsafe: one module for each kind of harm."""
