"""Replays: derive every recorded decision again. No model is asked, nothing is written."""
