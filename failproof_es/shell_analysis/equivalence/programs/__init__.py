"""The arguments of one program each, in normal form."""
