"""What the command `review` asks and reads: at a terminal or in a spreadsheet."""
