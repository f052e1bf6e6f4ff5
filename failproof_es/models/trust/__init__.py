"""Decides which secret may go to which host, and which classes may run."""
