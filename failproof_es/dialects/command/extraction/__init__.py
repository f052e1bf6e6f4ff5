"""The command in a reply, and what stands around it."""
