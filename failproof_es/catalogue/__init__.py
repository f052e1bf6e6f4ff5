"""Relations that surfaces render: a row type for each, whose fields are its columns."""
