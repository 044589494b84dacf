"""Answers made from a near one: how a draft is used, checked, paid for, and given up."""
