"""Question pairs with labels by construction: what the verifier is trained on beside the public files.

A pair starts from a *meaning* (a schema of questions, a class of the schema, values of its slots). The second
question comes from the same meaning in other words (label: same) or from a meaning that differs in one or two
places (label: different), with as many other words. Knows nothing of the files that semcache is measured on.
"""
