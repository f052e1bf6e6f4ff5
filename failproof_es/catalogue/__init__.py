"""Relations that every surface renders: a row type for each, whose fields are its columns."""
