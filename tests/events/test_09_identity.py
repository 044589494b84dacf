"""Who somebody says to be: keys, claims, labels, and the doors of the reviewers. Real processes with tenants and roles."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.running import Proxy, Reply, running
from tests.e2e.tenants import ALPHA, BETA, bearer, policy
from tests.events.answers import CHAT
from tests.events.raw import connected, drained, post, replies
from tests.events.test_01_requests import question
from tests.fakes.upstream_server import UpstreamServer, chat_json

_LINK = re.compile(r"review answers on\s+(http://[^/\s]+)")
SECRETS = {"viewer": "v" * 40, "reviewer": "r" * 40, "operator": "o" * 40}
A, B = bearer(ALPHA), bearer(BETA)


@pytest.fixture(scope="module")
def keyed(upstream: UpstreamServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder: Path = tmp_path_factory.mktemp("identity")
    policies = folder / "policies"
    policies.mkdir()
    for tenant, key in (("alpha", ALPHA), ("beta", BETA)):
        (policies / f"{tenant}.yaml").write_text(policy(tenant, key))
    tokens = [
        {"name": role, "secret": f"env:TEST_{role.upper()}", "role": role, "tenants": ["alpha"]}
        for role in SECRETS
    ]
    config = folder / "semcache.yaml"
    config.write_text(
        json.dumps({"upstreams": {"main": {"base_url": upstream.url}}, "admin": {"tokens": tokens}})
    )
    environment = {f"TEST_{role.upper()}": secret for role, secret in SECRETS.items()}
    arguments = ("--config", str(config), "--policies", str(policies), "--admin-port", "0")
    with running(folder / "data", *arguments, **environment) as started:
        started.wait_until(lambda: _LINK.search("".join(started.stderr)), 60)
        yield started


@pytest.fixture
def admin(keyed: Proxy) -> tuple[str, int]:
    found = _LINK.search("".join(keyed.stderr))
    assert found is not None
    host, _, port = found[1].removeprefix("http://").partition(":")
    return host, int(port)


# -- keys -----------------------------------------------------------------------------------


@pytest.mark.event(10)
def test_hostile_keys_are_refused_like_any_other(keyed: Proxy, upstream: UpstreamServer) -> None:
    keys = {
        "none": [],
        "wrong": ["authorization: Bearer sk-alpha-9"],
        "SQL": ["authorization: Bearer ' UNION SELECT token FROM keys; --"],
        "a command of the store's": ["authorization: Bearer *1\\r\\n$8\\r\\nFLUSHALL\\r\\n"],
        "a beginning": [f"authorization: Bearer {ALPHA[:-1]}"],
        "one letter more": [f"authorization: Bearer {ALPHA}1"],
        "a space more": [f"authorization: Bearer {ALPHA} x"],
        "no ASCII": ["authorization: Bearer sk-\xe4lpha-1"],
        "no UTF-8": ["authorization: Bearer \xff\xfe\x80"],
        "a pattern": ["authorization: Bearer *"],
        "a template": ["authorization: Bearer {{7*7}} ${jndi:ldap://x} %s %n"],
        "sixty kilobytes": [f"authorization: Bearer {'x' * 60_000}"],
        "the hash itself": ["authorization: Bearer sha256:" + "0" * 64],
        "as another header": ["x-api-key: nothing"],
    }
    refusals = set()
    for name, lines in keys.items():
        with connected(keyed) as connection:
            connection.sendall(post(CHAT, question("Let me in?"), *lines))
            got = replies(drained(connection, 5.0, 0.1)[0])[0]
        assert (got.status, got.headers["www-authenticate"]) == (401, "Bearer"), name
        refusals.add(got.body)
    assert len(refusals) == 1, "one text for all"
    for lines in (
        [f"authorization: Bearer {'x' * (1 << 20)}"],
        ["authorization: Bearer a\x00b"],
        ["authorization: Bearer a\rx: y"],
    ):
        with connected(keyed) as connection, contextlib.suppress(ConnectionError):
            connection.sendall(post(CHAT, question("Let me in?"), *lines))
            got_all = replies(drained(connection, 5.0, 0.5)[0])
            assert {one.status for one in got_all} <= {431, 400}
    assert upstream.calls == 0
    written = "".join([*keyed.stdout, *keyed.stderr])
    for text in ("UNION", "jndi", "FLUSHALL", ALPHA[:-1], "xxxxxxxx"):
        assert text not in written


@pytest.mark.event(10)
def test_a_refusal_takes_the_same_time_for_every_key(keyed: Proxy) -> None:
    """Near or far, right in the beginning or the end: medians lie within what a network hides anyway."""
    keys = {"far": "x" * len(ALPHA), "near": ALPHA[:-1] + "~", "none": ""}
    took: dict[str, list[float]] = {name: [] for name in keys}
    host, _, port = keyed.url.removeprefix("http://").partition(":")
    line = http.client.HTTPConnection(host, int(port), timeout=10)
    for turn in range(150):
        for name, key in keys.items():
            headers = bearer(f"{key}{turn % 10}") if key else {}
            began = time.perf_counter()
            line.request("POST", CHAT, question("Let me in?"), headers)
            reply = line.getresponse()
            reply.read()
            took[name].append(time.perf_counter() - began)
            assert reply.status == 401
    line.close()
    medians = [statistics.median(times) for times in took.values()]
    assert max(medians) - min(medians) < 0.003, medians


# -- claims ---------------------------------------------------------------------------------


@pytest.mark.event(9)
def test_what_a_client_claims_counts_for_nothing(keyed: Proxy, upstream: UpstreamServer) -> None:
    assert keyed.outcome("Whose answer is this?", A) == "miss"
    claims = {
        "semcache-tenant": "alpha",
        "semcache-scope": "public",
        "semcache-role": "operator",
        "semcache-key-name": "key0",
        "semcache-verified": "?1",
        "x-forwarded-for": "127.0.0.1",
        "x-forwarded-user": "alpha",
        "x-forwarded-host": "alpha",
        "x-real-ip": "127.0.0.1",
        "x-original-url": "/semcache/explain",
        "x-rewrite-url": "/metrics",
        "x-http-method-override": "DELETE",
        "x-litellm-api-key": ALPHA,
        "openai-organization": "alpha",
        "cookie": f"key={ALPHA}",
    }
    assert keyed.outcome("Whose answer is this?", {**B, **claims}) == "miss"
    assert keyed.records()[-1]["tenant"] == "beta"
    seen = {name.decode().lower() for name, _ in upstream.requests[-1].headers}
    assert not seen & {"cookie", "x-forwarded-for", "x-real-ip", "x-forwarded-host"}
    assert not any(name.startswith("semcache-") for name in seen)
    assert keyed.request("GET", "/metrics", headers={"x-forwarded-for": "127.0.0.1"}).status == 401
    told = {"content-type": "application/json", "x-forwarded-for": "127.0.0.1", **A}
    assert keyed.request("POST", "/semcache/explain", question("Why?"), told).status == 403
    page = {"content-type": "application/json", "origin": "https://evil.example", **A}
    assert keyed.request("POST", "/semcache/explain", question("Why?"), page).status == 403


@pytest.mark.event(38)
def test_labels_neither_break_a_header_nor_multiply_metrics(keyed: Proxy, upstream: UpstreamServer) -> None:
    def series() -> int:
        lines = keyed.request("GET", "/metrics").body.decode().splitlines()
        return sum(not line.startswith("#") for line in lines)

    upstream.script = chat_json("Labelled.")
    assert keyed.chat("Warm up?", {**A, "semcache-labels": "project=a"}, model="m-0").status == 200
    before = series()
    for number in range(25):
        headers = {
            **A,
            "semcache-labels": f"project=p{number}, env=e{number}, made-up-{number}=x",
            "semcache-user": f"u{number}",
            "semcache-namespace": f"n{number}",
            "semcache-tags": f"t{number}",
        }
        assert keyed.chat("Labelled?", headers, model=f"m-{number}").status == 200
    assert series() - before < 10
    bad = (
        "a=b\\nset-cookie: x",
        "a=\xff",
        "A=b",
        "a=" + "x" * 5_000,
        "=",
        ", ".join(f"l{n}=v" for n in range(2000)),
    )
    for label in bad:
        with connected(keyed) as connection:
            lines = (f"authorization: Bearer {ALPHA}", f"semcache-labels: {label}")
            connection.sendall(post(CHAT, question("Labelled?"), *lines))
            got = replies(drained(connection, 5.0, 0.2)[0])[0]
        assert got.status in (200, 400, 431), label
        assert "set-cookie" not in got.headers
    lines = [line for line in keyed.stdout if line.strip()]
    assert all(line.startswith("{") and json.loads(line) for line in lines), (
        "one record a line, whatever is in it"
    )


# -- the reviewers' doors -------------------------------------------------------------------


def ask(
    admin: tuple[str, int], method: str, path: str, role: str = "", body: bytes = b"", **headers: str
) -> Reply:
    line = http.client.HTTPConnection(*admin, timeout=10)
    sent = {"authorization": f"Bearer {SECRETS[role]}"} if role else {}
    line.putrequest(method, path, skip_host="host" in headers)
    for name, value in {**sent, "content-length": str(len(body)), **headers}.items():
        line.putheader(name, value)
    line.endheaders(body)
    reply = line.getresponse()
    told: dict[str, str] = {}
    for name, value in reply.getheaders():
        told[name.lower()] = f"{told[name.lower()]}\n{value}" if name.lower() in told else value
    found = Reply(reply.status, told, reply.read())
    line.close()
    return found


KIND = {"content-type": "application/json"}


@pytest.mark.event(39)
def test_the_admin_api_is_closed_to_who_should_not_see_it(keyed: Proxy, admin: tuple[str, int]) -> None:
    keyed.chat("Whose entry is it?", B)
    keyed.wait_until(lambda: keyed.outcome("Whose entry is it?", B) == "exact")
    theirs = keyed.chat("Whose entry is it?", B).headers["semcache-entry"]
    keyed.chat("And this one?", A)
    keyed.wait_until(lambda: keyed.outcome("And this one?", A) == "exact")
    mine = keyed.chat("And this one?", A).headers["semcache-entry"]
    own = f"/v1/tenants/alpha/entries/{mine}"
    assert ask(admin, "GET", own, "viewer").status == 200
    # No token, a wrong one, one of a client's.
    assert ask(admin, "GET", own).status == 401
    assert ask(admin, "GET", own, authorization=f"Bearer {ALPHA}").status == 401
    # A role that may not.
    verdict = json.dumps({"verdict": "reject"}).encode()
    assert ask(admin, "POST", f"{own}/verdicts", "viewer", verdict, **KIND).status == 403
    everything = json.dumps({"everything": True}).encode()
    assert ask(admin, "POST", "/v1/tenants/alpha/invalidations", "reviewer", everything, **KIND).status == 403
    # Another tenant's, by its own name and under ours.
    for place in (
        f"/v1/tenants/beta/entries/{theirs}",
        f"/v1/tenants/alpha/entries/{theirs}",
        "/v1/tenants/beta/queue",
    ):
        got = ask(admin, "GET", place, "operator")
        assert (got.status, b"Whose entry" in got.body) == (404, False)
    # Paths that would lead elsewhere.
    for path in (
        f"/v1/tenants/alpha/../beta/entries/{theirs}",
        f"/v1/tenants/alpha/%2e%2e/beta/entries/{theirs}",
        "/v1/tenants/alpha/entries/..%2f..%2fetc%2fpasswd",
        f"/v1/tenants/*/entries/{theirs}",
        "/v1/tenants/beta%00/queue",
        "//v1/tenants/beta/queue",
        "/static/..%2f..%2fsettings.py",
        "/static/../../settings.py",
        "/openapi.json/../v1/tenants/beta/queue",
    ):
        assert ask(admin, "GET", path, "operator").status in (400, 401, 404, 422), path
    assert keyed.chat("Whose entry is it?", B).headers["semcache-outcome"] == "exact"
    assert keyed.chat("And this one?", A).headers["semcache-outcome"] == "exact"


@pytest.mark.event(39)
def test_a_form_of_another_site_changes_nothing(keyed: Proxy, admin: tuple[str, int]) -> None:
    page = ask(admin, "GET", "/login")
    assert page.status == 200
    assert "default-src" in page.headers["content-security-policy"]
    assert "unsafe-inline" not in page.headers["content-security-policy"]
    assert (
        page.headers["x-frame-options"].upper() == "DENY"
        or "frame-ancestors 'none'" in page.headers["content-security-policy"]
    )
    cookie = page.headers["set-cookie"]
    assert "httponly" in cookie.lower()
    assert "samesite=strict" in cookie.lower() or "samesite=lax" in cookie.lower()
    form = {"content-type": "application/x-www-form-urlencoded"}
    guessed = f"token={SECRETS['operator']}&csrf=guessed".encode()
    assert ask(admin, "POST", "/login", "", guessed, **form, origin="http://evil.example").status in (
        400,
        403,
    )
    assert ask(admin, "POST", "/t/alpha/queue/dismiss", "", b"ids=x", **form).status in (
        302,
        303,
        401,
        403,
        404,
        405,
    )
    for host in ("evil.example", "localhost.evil.example", "169.254.169.254"):
        assert ask(admin, "GET", "/v1/me", "operator", host=host).status in (400, 403, 421), (
            "a name that was bent to us"
        )


@pytest.mark.event(39)
def test_stored_text_runs_nowhere(keyed: Proxy, admin: tuple[str, int], upstream: UpstreamServer) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    upstream.script = chat_json(evil)
    keyed.chat(f"What is {evil}?", A)
    keyed.wait_until(lambda: keyed.outcome(f"What is {evil}?", A) == "exact")
    entry = keyed.chat(f"What is {evil}?", A).headers["semcache-entry"]
    whole = ask(admin, "GET", f"/v1/tenants/alpha/entries/{entry}", "viewer")
    assert whole.headers["content-type"].startswith("application/json")
    assert whole.headers["x-content-type-options"] == "nosniff"
    login = ask(admin, "GET", "/login")
    csrf = re.search(r'name="csrf" value="([^"]+)"', login.body.decode())
    assert csrf is not None
    cookie = login.headers["set-cookie"].partition(";")[0]
    form = {"content-type": "application/x-www-form-urlencoded", "cookie": cookie}
    body = f"token={SECRETS['reviewer']}&csrf={csrf[1]}".encode()
    entered = ask(admin, "POST", "/login", "", body, **form)
    assert entered.status in (302, 303)
    cookies = [one.partition(";")[0] for one in entered.headers["set-cookie"].split("\n")]
    session = next(one for one in cookies if not one.startswith("semcache_login"))
    page = ask(admin, "GET", f"/t/alpha/entries/{entry}", "", cookie=session)
    assert page.status == 200
    assert b"<script>alert" not in page.body
    assert b"<img src=x" not in page.body
    assert b"&lt;script&gt;alert" in page.body
