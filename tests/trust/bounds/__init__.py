"""What one tenant, key or client can take up, against real processes."""
