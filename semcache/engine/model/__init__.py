"""The network of the local engine: loading a Llama-shaped model, and forward passes over a pool of KV slots.

Knows tensors, transformers' checkpoints and torch's kernels; knows nothing of requests, text,
owners or the order in which work is done.
"""
