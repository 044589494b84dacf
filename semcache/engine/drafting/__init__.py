"""Speculative drafts: a text that the answer may resemble, offered to the model in blocks.

`draft` says what to guess next, with `align` finding the place again after a disagreement and
`pace` deciding how much to risk; `judge` says how far the model agreed. Knows no model, no KV and
no scheduler: tokens in, tokens out. Pure.
"""
