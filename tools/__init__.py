"""What makes the documentation from the code, and the site from the documentation."""
