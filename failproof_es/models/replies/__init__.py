"""What providers share to read a reply."""
