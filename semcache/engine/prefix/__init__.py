"""The prefix cache's index: which token prefixes have KV, where, whose it is and what goes next.

`tree` is the room's front door. Pure Python, owned by one thread: no torch, no clock, no randomness.
"""
