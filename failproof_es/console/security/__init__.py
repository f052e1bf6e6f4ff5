"""What every request passes: methods, lengths, hosts, the token; and the headers of every answer."""
