"""What the engine's benchmarks share: the two servers, prompts of exact length, a client, the rows of the table."""
