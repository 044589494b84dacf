"""Erasing end users over the admin API: an operator's, a dry run first, told line by line."""

from __future__ import annotations

import io
import json

import pytest

from semcache.archive.errors import ArchiveError
from semcache.archive.reading import checked
from semcache.embed.fingerprint import subject_digest
from semcache.errors import StoreError
from semcache.review.access import Role
from tests.review.scene import ACME, Scene, entry

URL = f"/v1/tenants/{ACME}/erasures"


async def test_a_dry_run_tells_and_the_real_run_repeats_its_digest(at: Scene) -> None:
    async with at.client() as client:
        told = (await client.post(URL, json={"subject": "ann"})).json()
        assert (told["dry_run"], told["removed"]) == (True, {"entries": 2})
        assert told["subject"] == subject_digest(ACME, "ann")
        assert at.eraser.asked == []
        body = {"subject": "ann", "dry_run": False, "note": "ticket 7"}
        for digest in ("", "0" * 32):
            stale = await client.post(URL, json=body | {"digest": digest})
            assert (stale.status_code, stale.json()["digest"]) == (409, told["digest"])
        assert at.eraser.asked == []
        done = await client.post(URL, json=body | {"digest": told["digest"]})
        begun, receipt = map(json.loads, done.text.splitlines())
        assert (begun, receipt["tenant"]) == ({"begun": True}, ACME)
        assert at.eraser.asked == [(ACME, "ann", "operator-of-acme", "ticket 7")]
        shown = await client.get(f"{URL}/{receipt['id']}")
        assert shown.json() == {"id": receipt["id"], "tenant": ACME}
        for odd in ("er_1", "..%2f..%2fx", "x" * 300):
            assert (await client.get(f"{URL}/{odd}")).status_code == 404


@pytest.mark.parametrize(
    ("fault", "word"),
    [(StoreError("x", kind="late"), "late"), (OSError(28, "x"), "files"), (ArchiveError("x"), "files")],
)
async def test_what_fails_half_way_is_told(at: Scene, fault: Exception, word: str) -> None:
    at.eraser.fault = fault
    async with at.client() as client:
        digest = (await client.post(URL, json={"subject": "ann"})).json()["digest"]
        done = await client.post(URL, json={"subject": "ann", "dry_run": False, "digest": digest})
    assert json.loads(done.text.splitlines()[-1])["failed"] == word


async def test_nobody_is_no_subject(at: Scene) -> None:
    async with at.client() as client:
        for body in ({}, {"subject": ""}, {"subject": "x" * 513}, {"subject": "  "}, {"subject": 1}):
            assert (await client.post(URL, json=body)).status_code == 422
    async with at.client(Role.REVIEWER) as client:
        assert (await client.post(URL, json={"subject": "ann"})).status_code == 403


async def test_an_operator_takes_an_archive_that_can_be_imported(at: Scene) -> None:
    await at.put(entry("one"), entry("two", tags=("x",)))
    url = f"/v1/tenants/{ACME}/exports"
    async with at.client() as client:
        done = await client.post(url, json={"what": "archive"})
        found = checked(io.BytesIO(done.content))
        assert (found.head.tenant, found.foot.count) == (ACME, 2)
        narrow = await client.post(url, json={"what": "archive", "filter": {"tag": "x"}})
        assert checked(io.BytesIO(narrow.content)).foot.count == 1
        for odd in ({"text": "x"}, {"status": "approved"}, {"before": 1.0}, {"domain": "chat"}):
            refused = await client.post(url, json={"what": "archive", "filter": odd})
            assert (refused.status_code, refused.json()["type"]) == (422, "urn:semcache:problem:bad-filter")
    async with at.client(Role.REVIEWER) as client:
        assert (await client.post(url, json={"what": "archive"})).status_code == 403
    assert await at.words() == ["export", "export"]
