"""What a log says about reuse: read, replayed, and put into a report."""
