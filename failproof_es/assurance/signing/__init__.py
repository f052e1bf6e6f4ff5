"""Growing the tree, signing it, and keeping what was signed outside the database."""
