"""Asking models beside requests: whole answers with a deadline, at a pace, within an allowance.

For those who look at answers afterwards (`auditing`, `sighting`). Knows nothing of what they ask for.
"""
