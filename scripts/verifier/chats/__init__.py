"""Chats told twice, and what is fitted on them: see `scenes` and `__main__`."""
