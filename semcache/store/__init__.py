"""Entries, epochs and the change stream in Redis or Valkey, and the embedded server.

`RedisStore` implements the `EntryStore` port; `ValkeyChild` runs the server that needs no set-up.
"""
