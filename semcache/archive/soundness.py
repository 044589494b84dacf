"""Can an answer that is to be imported be given to anybody? Pure.

What a proxy stores was judged on its way from an upstream; what a file brings may have any shape, and would fail the requests that
it is served to. So it is judged alike. Streams and documents of other dialects beside it are looked at when they are
to be repeated (`dialects.repeating`).
"""

from __future__ import annotations

import orjson

from semcache.core import Completion
from semcache.dialects.chat.answer import complete
from semcache.dialects.embeddings.answer import kept


def is_sound(completion: Completion) -> bool:
    """True for a whole chat answer, or a whole list of vectors."""
    if isinstance(complete(orjson.loads(completion.body)), Completion):
        return True
    return completion.native is not None and isinstance(kept(orjson.loads(completion.native)), Completion)
