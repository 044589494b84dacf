"""Who wrote a log: one module a kind, each tells its rows by their fields and reads them."""
