"""Measuring the cache on labelled questions: the real pipeline with a stand-in for the model alone.

Stands above the pipeline, below the command line. Knows files of labels, nothing of wire formats.
"""
