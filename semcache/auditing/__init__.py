"""Evidence from live traffic: what hits were served, and whether the backend would have said the same.

Works beside requests and after them: nothing here delays or fails one.
"""
