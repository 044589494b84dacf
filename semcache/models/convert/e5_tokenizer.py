"""The tokenizer of multilingual-e5-small (XLM-RoBERTa, SentencePiece unigram) as a fast tokenizer.

SentencePiece normalises with its `nmt_nfkc` rules. They equal Unicode NFKC but for what is written
below: control characters vanish, zero-width and odd spaces become spaces, and the fullwidth tilde,
common in Chinese, stays. The slow tests compare the result with the table in the model's own file.

Does NOT know: weights, files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from semcache.models.convert.e5_file import SpecialIds

_VANISH: Final = r"[\u0001-\u0008\u000B\u000E-\u001F\u007F\u008F\u009F]"
_SPACES: Final = r"[\s\u1680\u200B-\u200F\u2028\u2029\u2581\uFEFF\uFFFD]+"
_TILDE: Final = "\uff5e"
_STAND_IN: Final = "\U0010fffd"
"""A private-use character that stands for the fullwidth tilde while NFKC runs."""


def e5_normalizer() -> normalizers.Normalizer:
    """Give SentencePiece's `nmt_nfkc` followed by the removal of superfluous spaces."""
    return normalizers.Sequence(
        [
            normalizers.Replace(Regex(_VANISH), ""),
            normalizers.Replace(_TILDE, _STAND_IN),
            normalizers.NFKC(),
            normalizers.Replace(_STAND_IN, _TILDE),
            normalizers.Replace(Regex(_SPACES), " "),
            normalizers.Strip(),
        ]
    )


def e5_tokenizer(pieces: Sequence[str], scores: Sequence[float], special: SpecialIds) -> Tokenizer:
    """Build the tokenizer; it neither cuts nor pads."""
    model = models.Unigram(
        list(zip(pieces, scores, strict=True)), unk_id=special.unknown, byte_fallback=False
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = e5_normalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always")
    begin, end = pieces[special.begin], pieces[special.end]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {end} {end} $B {end}",
        special_tokens=[(begin, special.begin), (end, special.end)],
    )
    reserved = [pieces[index] for index in (special.begin, special.pad, special.end, special.unknown)]
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in reserved])
    return tokenizer
