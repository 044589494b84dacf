"""The admin API: every route against every role, and what hostile or careless callers send."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from fastapi.routing import APIRoute

from semcache.errors import StoreError
from semcache.review.access import Role
from semcache.review.api import review_app
from semcache.review.guard import Guard, GuardRules, Message
from semcache.review.looking import etag_of
from tests.review.scene import ACME, ASKED, OTHER, SECRETS, Scene, entry

V1 = f"/v1/tenants/{ACME}"


def routes(at: Scene) -> list[tuple[str, str, Role]]:
    """Method, path and least role of every route under the API, as the application has them."""
    found = []
    for route in _all(review_app(at.service, at.costing, at.eraser).router):
        if route.path.startswith("/v1/") and route.path != "/v1/openapi.json":
            role = Role((route.openapi_extra or {})["x-role"])
            found += [(method, route.path, role) for method in route.methods or ()]
    return found


def _all(router: Any) -> Iterator[APIRoute]:
    for route in router.routes:
        if isinstance(route, APIRoute):
            yield route
        elif (inner := getattr(route, "original_router", None)) is not None:
            yield from _all(inner)


@pytest.mark.event(39)
async def test_every_route_is_closed_to_lower_roles_strangers_and_other_tenants(at: Scene) -> None:
    await at.put(entry("one"), entry("two", tenant=OTHER))
    known = routes(at)
    assert len(known) >= 18, "the matrix is made from the routes; it must not be empty"
    for method, path, least in known:
        own = path.format(tenant=ACME, id="one")
        stranger = at.client(None)
        assert (await stranger.request(method, own, json={})).status_code == 401, path
        at.clock.time += 1000  # failed tries are forgotten
        for role in Role:
            reply = await at.client(role).request(method, own, json={})
            assert (reply.status_code == 403) is (role.rank < least.rank), (method, path, role)
            assert reply.status_code not in (401, 500, 503), (method, path, role)
        if "{tenant}" in path:
            for foreign in (OTHER, "nobody", "*", "~public"):
                reply = await at.client().request(method, path.format(tenant=foreign, id="two"), json={})
                assert reply.status_code == 404, (method, path, foreign)
        if "{id}" in path:
            reply = await at.client().request(
                method,
                path.format(tenant=ACME, id="two"),
                json={"verdict": "reject", "question": "x"} if method == "POST" else None,
                headers={"if-match": '"two.1"'},
            )
            assert reply.status_code in (404, 422), (method, path)


@pytest.mark.parametrize("verdict", ["purge", "publish"])
async def test_what_cannot_be_taken_back_is_an_operators(at: Scene, verdict: str) -> None:
    await at.put(entry("one"))
    head = {"if-match": '"one.1"'}
    for role, status in ((Role.VIEWER, 403), (Role.REVIEWER, 403), (Role.OPERATOR, 200)):
        reply = await at.client(role).post(
            f"{V1}/entries/one/verdicts", json={"verdict": verdict}, headers=head
        )
        assert reply.status_code == status


async def test_reading_and_deciding_with_etags(at: Scene) -> None:
    await at.put(entry("one"))
    async with at.client(Role.REVIEWER) as client:
        read = await client.get(f"{V1}/entries/one")
        etag = read.headers["etag"]
        assert (read.status_code, etag, read.json()["text"]) == (200, '"one.1"', "Paris.")
        assert "vector" not in read.json()
        same = await client.get(f"{V1}/entries/one", headers={"if-none-match": f'"x", W/{etag}'})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", etag)
        url, body = f"{V1}/entries/one/verdicts", {"verdict": "edit", "text": "Paris!", "note": "n"}
        none = await client.post(url, json=body)
        assert (none.status_code, none.json()["type"]) == (428, "urn:semcache:problem:precondition-required")
        for wrong in ("*", f"W/{etag}", f'{etag}, "b"', '"one.9"', "one.1", "\xff"):
            stale = await client.post(url, json=body, headers={"if-match": wrong.encode("latin-1")})
            assert (stale.status_code, stale.json()["type"]) == (412, "urn:semcache:problem:stale-etag"), (
                wrong
            )
        done = await client.post(url, json=body, headers={"if-match": etag})
        assert (done.status_code, done.headers["etag"], done.json()["line"]["what"]) == (
            200,
            '"one.2"',
            "edit",
        )
        again = await client.post(url, json=body, headers={"if-match": etag})
        assert (again.status_code, again.headers["etag"], again.json()["etag"]) == (412, '"one.2"', '"one.2"')
        view = (await client.get(f"{V1}/entries/one/view")).json()
        assert [old["text"] for old in view["versions"]] == ["Paris."]
        assert view["entry"]["status"] == "edited"
    assert len(await at.words()) == 1


@pytest.mark.event(40)
async def test_two_reviewers_at_once_over_http(at: Scene) -> None:
    await at.put(entry("one"))
    clients = [at.client(Role.REVIEWER), at.client(Role.OPERATOR)]
    bodies = [{"verdict": "approve"}, {"verdict": "reject"}]
    replies = await asyncio.gather(
        *(
            client.post(f"{V1}/entries/one/verdicts", json=body, headers={"if-match": '"one.1"'})
            for client, body in zip(clients, bodies, strict=True)
        )
    )
    assert sorted(reply.status_code for reply in replies) == [200, 412]


HOSTILE: list[Any] = [
    {}, [], "x", 1, None, {"verdict": "explode"}, {"verdict": "approve", "extra": 1}, {"verdict": "edit"},
    {"verdict": "edit", "text": 5}, {"verdict": "edit", "text": None}, {"verdict": ["approve"]},
    {"verdict": "approve", "until": "tomorrow"}, {"verdict": "approve", "until": 1e300}, {"verdict": "approve", "until": True},
    {"verdict": "raise", "least": 2}, {"verdict": "raise", "least": "0.9"}, {"verdict": "raise"},
    {"verdict": "bar", "asked": "x" * 100}, {"verdict": "bar", "asked": "../../etc"}, {"verdict": "bar"},
    {"verdict": "approve", "note": "n" * 501}, {"verdict": "approve", "note": {"a": 1}},
]  # fmt: skip


@pytest.mark.parametrize("body", HOSTILE, ids=range(len(HOSTILE)))
async def test_wrong_shapes_are_told_without_repeating_them(at: Scene, body: Any) -> None:
    await at.put(entry("one"))
    head = {"if-match": '"one.1"', "content-type": "application/json"}
    reply = await at.client().post(f"{V1}/entries/one/verdicts", content=json.dumps(body), headers=head)
    assert reply.status_code == 422
    told = reply.json()
    assert reply.headers["content-type"] == "application/problem+json"
    assert told["type"].startswith("urn:semcache:problem:")
    for sent in ("explode", "tomorrow", "etc", "nnnn"):
        assert sent not in reply.text
    assert (await at.now("one")).version == 1


@pytest.mark.parametrize(
    ("content", "head", "status"),
    [
        (b"{", {"content-type": "application/json"}, 422),
        (b'{"verdict": "approve", "until": NaN}', {"content-type": "application/json"}, 422),
        (b"\xff\xfe", {"content-type": "application/json"}, 422),
        (b"[" * 100_000, {"content-type": "application/json"}, 400),
        (b'{"verdict": "approve"}', {"content-type": "text/plain"}, 415),
        (b'{"verdict": "approve"}', {}, 415),
        (b"verdict=approve", {"content-type": "application/x-www-form-urlencoded"}, 415),
        (b"x", {"content-type": "application/json", "content-encoding": "gzip"}, 415),
        (b" " * 3000, {"content-type": "application/json"}, 413),
    ],
)
async def test_bodies_that_are_none(at: Scene, content: bytes, head: dict[str, str], status: int) -> None:
    await at.put(entry("one"))
    limits = GuardRules(body=2500 if status == 413 else 1 << 20)
    async with at.client(rules=limits) as client:
        reply = await client.post(
            f"{V1}/entries/one/verdicts", content=content, headers={"if-match": '"one.1"', **head}
        )
    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/problem+json"


async def test_an_edit_too_large_for_the_policy_is_413(at: Scene) -> None:
    await at.put(entry("one"))
    body = {"verdict": "edit", "text": "x" * 2000}
    reply = await at.client().post(f"{V1}/entries/one/verdicts", json=body, headers={"if-match": '"one.1"'})
    assert (reply.status_code, reply.json()["type"]) == (413, "urn:semcache:problem:too-large")


@pytest.mark.parametrize(
    "path",
    [
        f"/v1/tenants/{ACME}/entries/..%2f..%2fother%2fentries%2ftwo", f"/v1/tenants/{ACME}/entries/%00",
        f"/v1/tenants/{ACME}/entries/two", f"/v1/tenants/{ACME}%2f..%2fother/entries/two", "/v1/tenants/%2e%2e/log",
        f"/v1/tenants/{ACME}/entries/%23one", f"/v1/tenants/{ACME}/entries/{'x' * 3000}", "/v1/nothing", "/v1/",
        f"/v1/tenants/{ACME.upper()}/log", f"/v1//tenants/{ACME}/log", f"/v1/tenants/{ACME}/log/",
        f"/v1/tenants/{ACME}/entries/%ff%fe", f"/v1/tenants/{ACME}/entries/one%0d%0aX-Evil:1",
    ],
)  # fmt: skip
@pytest.mark.event(39)
async def test_paths_lead_nowhere_else(at: Scene, path: str) -> None:
    await at.put(entry("one"), entry("two", tenant=OTHER))
    reply = await at.client().get(path)
    assert reply.status_code == 404
    assert reply.json()["type"] == "urn:semcache:problem:not-found"
    assert "x-evil" not in reply.headers


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=201", "limit=x", "status=odd", f"text={'x' * 501}", "odd=1", "before=nan", "cursor=zzz",
     "limit=1e9", "before=-1"],
)  # fmt: skip
async def test_queries_that_are_none(at: Scene, query: str) -> None:
    reply = await at.client().get(f"{V1}/entries?{query}")
    assert reply.status_code == 422, reply.text


async def test_methods_heads_and_options(at: Scene) -> None:
    await at.put(entry("one"))
    async with at.client() as client:
        got = await client.get(f"{V1}/entries/one")
        head = await client.head(f"{V1}/entries/one")
        assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", got.headers["etag"])
        assert head.headers["content-length"] == got.headers["content-length"]
        for method in ("DELETE", "PUT", "PATCH", "TRACE"):
            reply = await client.request(
                method, f"{V1}/entries/one", headers={"content-type": "application/json"}
            )
            assert (reply.status_code, reply.headers["allow"]) == (405, "GET")
            assert reply.json()["type"] == "urn:semcache:problem:method-not-allowed"
        options = await client.options(
            f"{V1}/entries/one",
            headers={"origin": "https://evil.example", "access-control-request-method": "GET"},
        )
        assert options.status_code == 405
        for reply in (got, head, options):
            assert not [name for name in reply.headers if name.startswith("access-control")]
            assert reply.headers["cache-control"] == "no-store"
            assert reply.headers["x-content-type-options"] == "nosniff"


async def test_failed_tries_slow_down_by_address(at: Scene) -> None:
    good, bad = at.client(Role.VIEWER), at.client(None)
    async with good, bad:
        app = bad._transport
        good._transport = app  # one guard for both
        codes = [
            (await bad.get("/v1/me", headers={"authorization": "Bearer wrong"})).status_code for _ in range(8)
        ]
        assert codes[:6] == [401] * 6
        assert codes[6:] == [429] * 2
        slow = await good.get("/v1/me")
        assert slow.status_code == 429
        assert int(slow.headers["retry-after"]) >= 1
        at.clock.time += 2
        assert (await good.get("/v1/me")).status_code == 200
        assert (await bad.get("/v1/me")).status_code == 401, "and the count began anew"


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Basic YTpi", f"bearer {SECRETS[Role.VIEWER]}x", "Bearer " + "x" * 5000, SECRETS[Role.VIEWER]],
)  # fmt: skip
async def test_tokens_that_are_none(at: Scene, header: str) -> None:
    reply = await at.client(None).get("/v1/me", headers={"authorization": header})
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"].startswith("Bearer")
    in_query = await at.client(None).get(f"/v1/me?token={SECRETS[Role.OPERATOR]}")
    assert in_query.status_code == 401


async def test_the_store_away_is_503_and_a_defect_500_without_words(
    at: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    await at.put(entry("one"))
    at.store.fault = StoreError("secret place", kind="down")
    reply = await at.client().get(f"{V1}/entries/one")
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "2")
    assert "secret" not in reply.text
    at.store.fault = None

    async def broken(*_: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(at.verdicts, "show", broken)
    reply = await at.client().get(f"{V1}/entries/one")
    assert (reply.status_code, reply.json()["type"]) == (500, "urn:semcache:problem:internal-error")
    assert "secret" not in reply.text


async def test_what_takes_too_long_is_ended(at: Scene) -> None:
    await at.put(entry("one"))
    at.store.delay = 5.0
    reply = await at.client(rules=GuardRules(deadline=0.05)).get(f"{V1}/entries/one")
    assert (reply.status_code, reply.json()["type"]) == (503, "urn:semcache:problem:late")


async def test_a_body_that_trickles_is_refused(at: Scene) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b" ", "more_body": True}

    async def send(message: Message) -> None:
        sent.append(message)

    client = at.client(rules=GuardRules(patience=0.1))
    guard: Guard = client._transport.app  # type: ignore[attr-defined]
    head = [
        (b"authorization", f"Bearer {SECRETS[Role.OPERATOR]}".encode()),
        (b"content-type", b"application/json"),
    ]
    scope = {
        "type": "http", "method": "POST", "path": f"{V1}/bulk", "headers": head, "query_string": b"",
        "client": ("127.0.0.1", 1), "raw_path": b"", "root_path": "", "scheme": "http", "http_version": "1.1",
    }  # fmt: skip
    await guard(scope, receive, send)
    assert sent[0]["status"] == 408


async def test_hosts(at: Scene) -> None:
    rules = GuardRules(hosts=frozenset(("127.0.0.1", "[::1]", "review.example")))
    async with at.client(rules=rules) as client:
        for host, status in (
            ("127.0.0.1:8081", 200), ("[::1]:8081", 200), ("review.example", 200), ("REVIEW.example:443", 200),
            ("evil.example", 421), ("127.0.0.1.evil.example", 421), ("", 421), ("[::2]", 421),
        ):  # fmt: skip
            assert (await client.get("/v1/me", headers={"host": host})).status_code == status, host


async def test_bulk_over_http(at: Scene) -> None:
    await at.put(*(entry(f"e{number}") for number in range(3)))
    body: dict[str, Any] = {
        "filter": {"status": "unreviewed"},
        "verdict": {"verdict": "reject", "note": "all"},
    }
    async with at.client(Role.REVIEWER) as client:
        dry = (await client.post(f"{V1}/bulk", json=body)).json()
        assert (dry["count"], dry["is_whole"]) == (3, True)
        body["filter"]["before"] = dry["before"]
        wrong = await client.post(f"{V1}/bulk", json={**body, "dry_run": False, "digest": "x"})
        assert (wrong.status_code, wrong.json()["digest"]) == (409, dry["digest"])
        real = await client.post(f"{V1}/bulk", json={**body, "dry_run": False, "digest": dry["digest"]})
    lines = [json.loads(line) for line in real.text.splitlines()]
    assert lines[-1] == {"finished": True, "counts": {"done": 3}}
    assert [line["result"] for line in lines[:-1]] == ["done"] * 3
    assert await at.words() == ["reject"] * 3


async def test_invalidation_and_export_over_http(at: Scene) -> None:
    two = entry("two")
    native = replace(two, completion=replace(two.completion, native=b'{"type":"message"}'))
    await at.put(entry("one", tags=("t",)), native, entry("theirs", tenant=OTHER))
    async with at.client() as client:
        dry = (await client.post(f"{V1}/invalidations", json={"tag": "t"})).json()
        assert (dry["dry_run"], dry["count"]) == (True, 1)
        export = await client.post(f"{V1}/exports", json={"what": "entries"})
        found = [json.loads(line) for line in export.text.splitlines()]
        assert {one["id"] for one in found} == {"one", "two"}
        assert all("vector" not in one for one in found)
        assert found[0]["answer"]["choices"]
        assert {one["id"]: one.get("native") for one in found} == {"one": None, "two": {"type": "message"}}
        real = (await client.post(f"{V1}/invalidations", json={"tag": "t", "dry_run": False})).json()
        assert (real["count"], real["line"]["what"]) == (1, "invalidate")
        log = await client.post(f"{V1}/exports", json={"what": "log"})
        told = [json.loads(line)["what"] for line in log.text.splitlines()]
        assert told == ["export", "invalidate", "export"]
        page = (await client.get(f"{V1}/log?limit=2")).json()
        assert (len(page["lines"]), bool(page["cursor"])) == (2, True)
        rest = (await client.get(f"{V1}/log?limit=2&cursor={page['cursor']}")).json()
        assert [line["number"] for line in page["lines"] + rest["lines"]] == [3, 2, 1]
        assert (await client.get(f"{V1}/log/check")).json() == {"whole": True, "first_broken": None}


async def test_the_queue_over_http(at: Scene) -> None:
    one = entry("one")
    await at.put(one)
    await at.sighted(one)
    async with at.client(Role.REVIEWER) as client:
        queue = (await client.get(f"{V1}/queue")).json()
        row = queue["waiting"][0]
        assert (row["entry"], row["etag"], row["question"]["asked"]) == ("one", '"one.1"', ASKED)
        why = await client.post(f"{V1}/entries/one/why", json={"question": "What is two?"})
        assert why.status_code == 200
        assert (await client.post(f"{V1}/queue/dismiss", json={"ids": ["one"]})).status_code == 204
        assert not (await client.get(f"{V1}/queue")).json()["waiting"]
        for path in ("numbers", "policies", "judges", "what-if?domain=chat&threshold=0.9"):
            assert (await client.get(f"{V1}/{path}")).status_code == 200, path
        assert (await client.get("/v1/me")).json()["role"] == "reviewer"
        assert (await client.get("/v1/tenants")).json() == {"tenants": [ACME]}


async def test_the_description_is_true(at: Scene) -> None:
    async with at.client(None) as client:
        assert (await client.get("/livez")).json() == {"status": "alive"}
        told = (await client.get("/v1/openapi.json")).json()
    described = {
        (method.upper(), path, operation["x-role"])
        for path, operations in told["paths"].items()
        for method, operation in operations.items()
    }
    assert described == {(method, path, role.value) for method, path, role in routes(at)}
    for operations in told["paths"].values():
        for operation in operations.values():
            assert "4XX" in operation["responses"]
            assert "application/problem+json" in operation["responses"]["4XX"]["content"]
            assert operation["description"] or operation["summary"]


async def test_text_that_is_no_unicode_is_shown_all_the_same(at: Scene) -> None:
    one = entry("one", prompt="caf\u00e9 \x00 <script>alert(1)</script>")
    await at.put(one)
    reply = await at.client().get(f"{V1}/entries/one")
    assert reply.json()["question"] == one.prompt
    assert reply.headers["content-type"] == "application/json"
    assert etag_of(one) == reply.headers["etag"]


def test_every_pair_of_roles_is_ordered() -> None:
    for low, high in itertools.pairwise(Role):
        assert low.rank < high.rank
