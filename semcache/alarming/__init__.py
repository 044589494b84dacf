"""Alarms about money and reuse: when they are raised, when they are over, and who is told."""
