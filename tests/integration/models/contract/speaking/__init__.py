"""What servers of providers really say: examples of each, from its vendor's public reference."""
