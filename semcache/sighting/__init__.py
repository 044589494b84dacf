"""Stored answers that met a question, and which of them somebody should look at.

Works beside requests and after them: nothing here delays or fails one.
"""
