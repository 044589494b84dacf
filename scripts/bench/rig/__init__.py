"""What the benchmarks share: an upstream that answers at once, a load driver, a proxy under test."""
