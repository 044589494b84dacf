"""What the simulations of the risk bound are made of: worlds, ways of choosing the cut, runs."""
