"""Revising a stored answer for another question: what is asked of the reviser, what may be believed. Pure."""
