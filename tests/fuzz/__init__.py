"""Inputs that nobody thought of: generated ones, and a corpus of those that once went wrong."""
