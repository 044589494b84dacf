"""The local model server: an OpenAI-shaped chat API over one small model, with its own decode loop.

`generation` holds the words that its parts exchange, `runner` decodes, `server` speaks HTTP,
`child` is the parent's handle on the whole as a child process. Knows nothing of caches, tenants
or policies. torch is imported only by what runs inside the child.
"""
