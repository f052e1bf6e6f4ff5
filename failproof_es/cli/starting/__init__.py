"""What commands that start a run have beside: which part they ask, telemetry, missing models."""
