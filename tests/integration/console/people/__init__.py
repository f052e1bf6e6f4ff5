"""People at the console: logins, sessions, forms, and what attackers try with them."""
