"""The base class of the errors after which nothing is signed."""


class NotSigned(Exception):
    """The log, its tree, a checkpoint or a key is invalid: nothing was signed."""
