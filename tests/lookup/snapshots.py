"""What the tests of snapshots share: small files of vectors, and how a writer and a reader see them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from semcache.core import EncoderId, EntryId, Namespace, TenantId
from semcache.lookup.snapshot_format import Block, Header, Reader, Writer
from semcache.lookup.snapshot_shelf import Shelf

E5, MINILM = EncoderId("e5@1"), EncoderId("minilm@1")
HEADER = Header("one store", 41, ((E5, 4), (MINILM, 3)))


def rows(count: int, dimension: int, seed: int = 0) -> np.ndarray:
    made = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


def block(
    count: int, *, encoder: EncoderId = E5, tenant: str = "acme", digest: str = "aa", seed: int = 0
) -> Block:
    ids = tuple(EntryId(f"{seed}-{number}") for number in range(count))
    dimension = dict(HEADER.generations)[encoder]
    return Block(Namespace(TenantId(tenant), digest), encoder, ids, rows(count, dimension, seed))


def written(*blocks: Block, header: Header = HEADER) -> bytes:
    file = io.BytesIO()
    writer = Writer(file, header)
    for one in blocks:
        writer.write(one)
    writer.finish()
    assert writer.size == len(file.getvalue())
    return file.getvalue()


def read(raw: bytes) -> tuple[Header, list[Block]]:
    reader = Reader(io.BytesIO(raw), len(raw))
    return reader.header, list(reader.blocks())


def saved(folder: Path, *blocks: Block, header: Header = HEADER) -> None:
    """Put a snapshot on the shelf in `folder`."""
    shelf = Shelf(folder)
    draft = None
    try:
        draft = shelf.draft(header)
        assert draft is not None
        for one in blocks:
            draft.writer.write(one)
        draft.publish()
    finally:
        if draft is not None:
            draft.drop()
        shelf.close()


def loaded(folder: Path) -> tuple[Header, list[Block]] | None:
    """Read what is on the shelf; None when nothing is."""
    opened = Shelf(folder).open()
    if opened is None:
        return None
    try:
        return opened.header, list(opened.blocks())
    finally:
        opened.close()
