"""How the work of readers grows with what they read: hostile texts, readers, measuring."""
