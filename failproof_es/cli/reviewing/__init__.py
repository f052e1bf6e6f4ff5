"""The input of `review`: at a terminal or in a spreadsheet."""
