"""What stands on record of runs that end, are refused or are given up, and by whom."""
