"""The interfaces of specification 003, implemented on the engine."""
