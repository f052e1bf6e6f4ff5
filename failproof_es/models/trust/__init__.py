"""Decides which secret may go to which host (`models/http.py` adds it), and which class may run."""
