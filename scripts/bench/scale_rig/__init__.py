"""What `scripts/bench/scale.py` measures with."""
