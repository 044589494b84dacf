"""A file of requests sent in the order that reuses most, its answers put back in the order of the file."""
