"""Review: what humans decide about stored answers, by an API and by pages of their own.

Knows ports, policies and how a match is explained; never a request on its way.
"""
