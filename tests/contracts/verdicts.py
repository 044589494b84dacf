"""A store on which verdicts are given: on Valkey (one server, a cluster) and in the fake alike."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

from semcache.core import (
    Completion,
    Entry,
    EntryId,
    ExactKey,
    ReviewStatus,
    TenantId,
)
from semcache.review_port import Act
from semcache.store.embedded import ValkeyChild
from semcache.store.keys import PUBLIC_TENANT
from semcache.store.link import LinkRules
from semcache.store.redis_store import Quota, RedisStore, StoreRules
from semcache.store.verdicts import RedisVerdicts, VerdictRules
from tests.fakes.entry_store import FakeEntryStore
from tests.fakes.verdicts import FakeVerdicts
from tests.store.servers import WallClock, cluster, valkey

__all__ = ["at", "clock", "cluster", "valkey"]  # fixtures, used by name

OTHER = TenantId("other {tenant}: 名")
QUOTA = Quota(entries=40, bytes=400_000)
KEPT = VerdictRules(lines=30, versions=4)


@dataclass
class Subject:
    """A store, and two who give verdicts on it."""

    store: RedisStore | FakeEntryStore
    verdicts: RedisVerdicts | FakeVerdicts
    second: RedisVerdicts | FakeVerdicts


@pytest.fixture(params=["fake", "valkey", "cluster"])
async def at(
    request: pytest.FixtureRequest, clock: WallClock, valkey: ValkeyChild, cluster: str
) -> AsyncIterator[Subject]:
    if request.param == "fake":
        store = FakeEntryStore(clock, lambda _: QUOTA)
        verdicts = FakeVerdicts(store, KEPT)
        yield Subject(store, verdicts, verdicts)
        return
    url = {"valkey": valkey.url, "cluster": cluster}[request.param]
    rules = StoreRules(LinkRules(deadline=5.0), f"t-{uuid.uuid4().hex}", quota_of=lambda _: QUOTA)
    real = Subject(
        RedisStore(url, clock, rules),
        RedisVerdicts(url, clock, rules, KEPT),
        RedisVerdicts(url, clock, rules, KEPT),
    )
    yield real
    for one in (real.store, real.verdicts, real.second):
        await one.aclose()


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


def act(what: str = "approve", **changes: object) -> Act:
    fields: dict[str, object] = {"who": "kim", "at": time.time(), "what": what, "entry": EntryId("e1")}
    return Act(**{**fields, **changes})  # type: ignore[arg-type] # a table of any fields


def changed(made: Entry, status: ReviewStatus = ReviewStatus.APPROVED, **changes: object) -> Entry:
    """The next version of an entry."""
    return replace(made, status=status, version=made.version + 1, **changes)  # type: ignore[arg-type] # any fields


def edited(made: Entry, text: str) -> Entry:
    return changed(made, ReviewStatus.EDITED, completion=Completion(text.encode(), None))


async def seen(at: Subject, made: Entry) -> Entry:
    found = await at.verdicts.show(made.tenant, made.id)
    assert found is not None
    return found


def published(made: Entry, **changes: object) -> Entry:
    fields: dict[str, object] = {"tenant": PUBLIC_TENANT, "key": ExactKey("public"), "namespace": "cc" * 32}
    return replace(changed(made), **{**fields, **changes})  # type: ignore[arg-type] # any fields
