"""The schema in a database: installed, migrated, checked, protected."""
