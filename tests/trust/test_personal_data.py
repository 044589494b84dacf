"""An answer with personal data is nobody's but the one who asked, through a real process; what is everybody's is shared."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.running import Proxy, Reply, running
from tests.e2e.tenants import bearer, policy
from tests.fakes.upstream_server import UpstreamServer, chat_json, chat_sse, in_thread

KEY = "sk-shop-1"
PRIVATE = {
    "mail": "Your contact is anna.schmidt@gmail.com.",
    "phone": "Please call (415) 867-4321.",
    "card": "The card on file is 4539 1488 0343 6467.",
    "account": "It was paid to DE75 5121 0800 1245 1261 99.",
    "identity": "The number on file is 219-09-8765.",
    "key": "Use sk-proj-a8Fk29dLq0Zx7Vb3Nm5Rt1Ws for that.",
    "han": "请联系13912345678。",
}
PUBLIC = {
    "office": "Write to support@acme-shop.com.",
    "hotline": "Call 1-800-273-8255.",
    "example": "Try 4242 4242 4242 4242 and you@example.com.",
}
ASKED, NEAR = "Who is my contact for a return?", "Who's my contact for a return?"


@pytest.fixture(scope="module")
def upstream() -> Iterator[UpstreamServer]:
    with in_thread(chat_json("x")) as server:
        yield server


@pytest.fixture(scope="module")
def shop(upstream: UpstreamServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("personal")
    (folder / "policies").mkdir()
    text = policy(
        "shop",
        KEY,
        defaults="  risk: {budget: 0.5, until_proven: serve}\n",
        domains="  own: {scope: user}\n",
        rules='    - {models: ["own-*"], domain: own}\n',
    )
    (folder / "policies" / "shop.yaml").write_text(text)
    with running(
        folder / "data", "--upstream", upstream.url, "--policies", str(folder / "policies")
    ) as proxy:
        yield proxy


@pytest.fixture
def proxy(shop: Proxy, upstream: UpstreamServer, request: pytest.FixtureRequest) -> Proxy:
    shop.namespace = request.node.name
    upstream.requests.clear()
    return shop


def asks(proxy: Proxy, user: str, question: str | list[dict[str, str]] = ASKED, **fields: object) -> str:
    named = {"user": user} if user else {}
    found: Reply = proxy.chat(question, bearer(KEY), temperature=0, **named, **fields)
    assert found.status == 200, found.body
    return found.headers["semcache-outcome"]


@pytest.mark.parametrize("kind", PRIVATE)
def test_personal_data_goes_to_the_one_who_asked_alone(
    proxy: Proxy, upstream: UpstreamServer, kind: str
) -> None:
    upstream.script = chat_json(PRIVATE[kind])
    assert asks(proxy, "anna") == "miss"
    assert asks(proxy, "anna") == "exact"
    assert asks(proxy, "ben") == "miss"
    assert asks(proxy, "carl", NEAR) == "miss"
    assert asks(proxy, "", "And who is my contact for a return?") == "miss"


def test_the_one_who_asked_finds_it_by_meaning_too(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = chat_json(PRIVATE["mail"])
    assert asks(proxy, "anna") == "miss"
    assert asks(proxy, "anna", NEAR) == "semantic"


def test_where_nobody_is_named_it_is_not_stored(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = chat_json(PRIVATE["mail"])
    assert [asks(proxy, "") for _ in range(3)] == ["miss"] * 3
    assert len(upstream.requests) == 3


def test_a_stream_is_read_like_any_answer(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = chat_sse(["Your contact is anna.sch", "midt@gm", "ail.com."])
    assert asks(proxy, "anna", stream=True) == "miss"
    assert asks(proxy, "ben", stream=True) == "miss"
    upstream.script = chat_json("never asked")
    assert asks(proxy, "ben", stream=True) == "exact"


@pytest.mark.parametrize("kind", PUBLIC)
def test_what_is_everybodys_is_shared(proxy: Proxy, upstream: UpstreamServer, kind: str) -> None:
    upstream.script = chat_json(PUBLIC[kind])
    assert asks(proxy, "anna") == "miss"
    assert asks(proxy, "ben") == "exact"
    assert asks(proxy, "carl", NEAR) == "semantic"


def test_what_the_system_prompt_tells_everybody_is_shared(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = chat_json("Bookings go to j.okafor@acme-shop.com.")
    told = [{"role": "system", "content": "J.Okafor@acme-shop.com takes bookings."}]
    messages = [*told, {"role": "user", "content": "Who takes bookings?"}]
    assert asks(proxy, "anna", messages) == "miss"
    assert asks(proxy, "ben", messages) == "exact"


def test_users_who_share_nothing_have_theirs_stored(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = chat_json(PRIVATE["mail"])
    assert asks(proxy, "anna", model="own-1") == "miss"
    assert asks(proxy, "anna", model="own-1") == "exact"
    assert asks(proxy, "ben", model="own-1") == "miss"
