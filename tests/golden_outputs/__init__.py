"""What every reading command, and every page as data, says of six recorded runs."""
