"""OpenTelemetry: a run as spans and events of the GenAI conventions, in a file or while it goes."""
