"""What leaves a deployment and comes back to it, and what must never come back: exports, imports, backups, erasures."""
