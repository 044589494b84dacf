"""Where keys and values lie: which slots of the pool are free, and copies of evicted runs on the host.

`allocator` hands out slots as runs, `host` is the optional second tier. Neither knows whose
tokens they hold, nor any model.
"""
