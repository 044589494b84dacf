"""Revising a stored answer for a new question: what is asked of a model, what is believed of its reply, and whether it pays."""
