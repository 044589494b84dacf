"""What scripts/bench/prefix_traces.py is made of: traces, replay through the tree, the optimum, a plot."""
