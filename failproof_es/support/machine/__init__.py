"""What this program finds on the machine, and runs there beside itself."""
