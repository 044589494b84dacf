"""Budgets of requests: what a call may cost is set aside before it and settled after it."""
