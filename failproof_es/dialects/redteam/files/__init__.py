"""Red-team case files: read and checked."""
