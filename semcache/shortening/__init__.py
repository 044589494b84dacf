"""Histories trimmed for clients that ask for it: what is kept, what is left away, what is summed up."""
