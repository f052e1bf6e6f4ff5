"""What every request passes: methods, lengths, hosts, the token; the headers of every answer."""
