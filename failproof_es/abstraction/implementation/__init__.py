"""The interfaces of specification 003 on the engine."""
