"""What any floor may use, without knowing of evaluations: files, text, statistics, plugins."""
