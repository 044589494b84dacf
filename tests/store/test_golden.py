"""Entries as earlier versions wrote them: a rolling upgrade reads what lies in the store, whole and with the right meaning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from semcache.core import ReviewStatus, Usage
from semcache.store import codec
from tests.store.servers import ACME

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.glob("*.bin"))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_what_an_earlier_version_wrote_means_the_same(file: Path) -> None:
    found = codec.decode(file.read_bytes(), ACME)
    assert (found.id, found.namespace, found.key) == ("e1", "aa" * 32, "bb" * 32)
    assert (found.domain, found.model, found.prompt, found.tags) == (
        "chat",
        "small",
        "what is 红?",
        ("kb", "v7"),
    )
    assert (found.status, found.version) == (ReviewStatus.APPROVED, 3)
    assert found.epochs.values == (("", 2), ("tag:kb", 1))
    assert b'"content":"red"' in found.completion.body
    assert (found.completion.usage, found.completion.has_tool_calls) == (Usage(3, 5), True)
    assert found.embedding is not None
    assert found.embedding.encoder == "minilm@1"
    assert np.allclose(found.embedding.vector[:2], (0.6, 0.8), atol=1e-3)
    context, review, native = (
        file.stem != "first",
        "review" in file.stem or "native" in file.stem,
        "native" in file.stem,
    )
    assert found.context == (b'{"said":["x"]}' if context else b"")
    assert (found.review.by, found.review.least, found.origin) == (
        ("ann", 0.97, "edit:e0") if review else ("", None, "")
    )
    assert found.completion.native == (b'{"type":"message"}' if native else None)
    # What came later is as if nobody had said anything.
    assert replace(found, subject="", holder="") == found


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_it_is_written_again_without_loss(file: Path) -> None:
    found = codec.decode(file.read_bytes(), ACME)
    again = codec.decode(codec.encode(found), ACME)
    assert replace(again, embedding=None) == replace(found, embedding=None)
