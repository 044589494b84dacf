"""A proxy under a fixed load for a long time: what it holds must not grow."""
