"""Nearest neighbours inside one namespace, and the follower that keeps them equal to the store.

`FaissIndex` implements the `VectorIndex` port; `Follower` feeds it from an `EntryStore`.
"""
