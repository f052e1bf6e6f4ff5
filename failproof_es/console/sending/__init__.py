"""Long answers: read ahead of whoever takes them slowly, and only so many at the same time."""
