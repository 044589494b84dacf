"""Answers of a given form: JSON objects, and JSON after a schema, token by token.

The grammar engine is llguidance (Earley parser over a lazily built lexer, one bit mask over the
vocabulary a step). Compiling and every step are bounded in work, not in time, so that the same
schema is taken or refused alike on any machine. Its own error texts quote the schema and go no
further. Knows no model and no HTTP.
"""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import orjson
import torch
from llguidance import LLMatcher, LLParserLimits, LLTokenizer
from torch import Tensor

from semcache.engine.fields import ResponseFormat
from semcache.engine.generation import Constraint, overloaded
from semcache.engine.json_schema import constraints_of, refused
from semcache.engine.schema import unsupported
from semcache.errors import EngineError, RequestError

MAX_KEPT = 32
"""Compiled forms that are remembered."""

COMPILE_PATIENCE = 5.0
"""Seconds that a request waits for others' schemas to be compiled before it is sent away."""

_BLANKS = r"( |\n[ \t]{0,24})"
"""One blank, or a line break with an indent, as JSON is commonly printed. Bounded, since a small model
may find nothing better to say than blanks until its tokens end."""

_REASONS = (
    ("Unsatisfiable", "no value can satisfy the schema"),
    ("retrieving it failed", "the schema refers to something outside of itself"),
    ("Pointer", "the schema refers to something that it does not have"),
    ("look-around", "look-around in patterns is not supported"),
    ("regex", "a pattern of the schema is not valid or too complex"),
    ("not disjoint", "patterns of patternProperties must not overlap"),
    ("fuel", "the schema is too complex"),
    ("too large", "the schema is too complex"),
    ("too many", "the schema is too complex"),
    ("NoExtension", "no value can satisfy the schema"),
    ("Unknown format", "the schema has a format that is not known"),
    ("Invalid type", "the schema has a type that JSON does not"),
)


class GrammarConstraint:
    """One choice's place in a grammar."""

    def __init__(self, matcher: LLMatcher) -> None:
        self._matcher = matcher

    def apply(self, logits: Tensor) -> Tensor:
        """Give float32 [vocab] logits with minus infinity for every token that may not come next.

        Raises:
            EngineError: this place in the form takes too much work, or nothing may follow.
        """
        mask = self._matcher.compute_bitmask()
        if self._matcher.is_error():
            raise EngineError("the form of the answer takes too much work at this place")
        bits = np.unpackbits(np.frombuffer(mask, np.uint8), count=logits.numel(), bitorder="little")
        allowed = torch.from_numpy(bits.view(np.bool_))
        return torch.where(allowed, logits, -torch.inf)

    def accept(self, token: int) -> None:
        """Take note of the token that was drawn.

        Raises:
            EngineError: the form does not allow it.
        """
        if not self._matcher.consume_token(token):
            raise EngineError("the answer left its form")

    @property
    def is_complete(self) -> bool:
        """True when the answer so far is whole; it may also go on (`1`, `12`)."""
        return self._matcher.is_accepting() and not self._matcher.is_error()


class Forms:
    """Compiles forms for one tokenizer; the methods may be called from several threads.

    Args:
        tokenizer: A fast tokenizer of transformers.
        vocabulary_size: Length of a row of logits.
        ends: The tokens that end an answer.
    """

    def __init__(self, tokenizer: Any, vocabulary_size: int, ends: frozenset[int]) -> None:
        self._tokenizer = tokenizer
        self._size = vocabulary_size
        self._ends = sorted(ends)
        self._wrapped: LLTokenizer | None = None
        self._known: OrderedDict[bytes, LLMatcher] = OrderedDict()
        self._turn = threading.Lock()

    def maker(self, asked: ResponseFormat | None) -> Callable[[], Constraint] | None:
        """Give what makes the constraint of one choice; None where any text will do.

        Blocks, up to half a second for a schema at the limits, and once for the tokenizer.

        Raises:
            RequestError: 400: the schema cannot be kept to, is too large, or asks for too much
                work; 503: too many schemas are being compiled already.
        """
        if asked is None or asked.type == "text":
            return None
        if asked.json_schema is None:
            matcher = self._compiled({"type": "object"}, is_strict=True)
        else:
            given = asked.json_schema
            matcher = self._compiled(constraints_of(given.schema_), is_strict=given.strict or False)
        return lambda: GrammarConstraint(matcher.deep_copy())

    def _compiled(self, schema: dict[str, Any], *, is_strict: bool) -> LLMatcher:
        key = orjson.dumps([schema, is_strict])
        # One at a time: compiling takes memory, and the processor from those who generate.
        if not self._turn.acquire(timeout=COMPILE_PATIENCE):
            raise overloaded("other schemas are being compiled", retry_after=2)
        try:
            matcher = self._known.get(key) or self._compile(schema, is_strict=is_strict)
            self._known[key] = matcher
            self._known.move_to_end(key)
            if len(self._known) > MAX_KEPT:
                self._known.popitem(last=False)
            return matcher
        finally:
            self._turn.release()

    def _compile(self, schema: dict[str, Any], *, is_strict: bool) -> LLMatcher:
        try:
            grammar = LLMatcher.grammar_from_json_schema(
                orjson.dumps(schema).decode(),
                overrides={"whitespace_pattern": _BLANKS, "coerce_one_of": True, "lenient": not is_strict},
            )
        except ValueError:
            raise refused("the schema cannot be compiled") from None
        matcher = LLMatcher(self._wrap(), grammar, log_level=0, limits=_limits())
        if not matcher.is_error():
            matcher.compute_bitmask()  # finds forms that are stuck at once; every copy has the result
        if matcher.is_error():
            raise _refusal(matcher.get_error())
        return matcher

    def _wrap(self) -> LLTokenizer:
        """Prepare the vocabulary for masks; half a second for 50,000 tokens, once."""
        if self._wrapped is None:
            try:
                self._wrapped = LLTokenizer(
                    self._tokenizer.backend_tokenizer.to_str(),
                    n_vocab=self._size,
                    eos_token=self._ends,
                    slices=LLTokenizer.json_slices(),
                )
            except ValueError:
                raise unsupported("response_format") from None
        return self._wrapped


def _limits() -> LLParserLimits:
    """Bound the work of compiling (some 100 ms at most) and of a step (some ms)."""
    return LLParserLimits(
        max_items_in_row=2000,
        initial_lexer_fuel=300_000,
        step_lexer_fuel=100_000,
        step_max_items=20_000,
        max_lexer_states=20_000,
        max_grammar_size=100_000,
        precompute_large_lexemes=False,
        verbose_errors=False,
    )


def _refusal(reason: str) -> RequestError:
    """Say in own words why a schema was not taken; of the client's, only standard keywords appear."""
    if reason.startswith("Unimplemented keys:"):
        found = re.search(r"\[.*?\]", reason)
        keys = [key for key in json.loads(found.group()) if key in _KNOWN_KEYWORDS] if found else []
        listed = ", ".join(sorted(keys)) or "some"
        return refused(f"these keywords of the schema cannot be enforced: {listed}")
    words = next((words for sign, words in _REASONS if sign in reason), "the schema cannot be compiled")
    return refused(words)


_KNOWN_KEYWORDS = frozenset(
    [
        "not",
        "if",
        "then",
        "else",
        "uniqueItems",
        "contains",
        "minContains",
        "maxContains",
        "dependentRequired",
        "dependentSchemas",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
        "minProperties",
        "maxProperties",
        "dependencies",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "$dynamicRef",
        "$dynamicAnchor",
    ]
)
