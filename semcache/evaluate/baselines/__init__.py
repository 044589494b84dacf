"""What other semantic caches would do, each rule re-implemented from its documentation or paper.

All of them get the vectors of our encoders and the questions of our harness. They are here to be
compared with, not to be used.
"""
