"""Programs that this program finds on the machine, and runs beside itself."""
