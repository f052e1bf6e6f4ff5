"""The engine: starts, resumes and replays runs."""
