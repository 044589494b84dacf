"""Prices: those of the table, an operator's own before them, and none where nobody knows."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from genai_prices import Usage as Tokens
from genai_prices import calc_price
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import Usage
from semcache.cost import price_table
from semcache.cost.price_file import read_prices
from semcache.cost.prices import PriceBook, Rates, micro_usd
from semcache.cost.tariff import Rate, Tariff, rate_of
from semcache.errors import PolicyError

MODELS = ("gpt-4o", "gpt-5", "claude-sonnet-4-5", "claude-opus-4-1", "gemini-2.5-pro", "deepseek-chat", "o3")
AT = 1_790_000_000.0
counts = st.integers(0, 400_000)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    """Counts that fit each other."""
    prompt, completion = draw(counts), draw(counts)
    cached = draw(st.integers(0, prompt))
    written = draw(st.integers(0, prompt - cached))
    long, reasoning = draw(st.integers(0, written)), draw(st.integers(0, completion))
    return Usage(prompt, completion, cached, written, long, reasoning)


@pytest.fixture(scope="module")
def book() -> PriceBook:
    return PriceBook()


@given(st.sampled_from(MODELS), usages())
def test_the_table_is_read_as_its_library_does(model: str, usage: Usage) -> None:
    from datetime import UTC, datetime

    theirs = calc_price(
        Tokens(
            input_tokens=usage.prompt_tokens,
            cache_read_tokens=usage.cached_tokens,
            cache_write_tokens=usage.written_tokens,
            cache_write_1h_tokens=usage.written_long_tokens,
            output_tokens=usage.completion_tokens,
            output_reasoning_tokens=usage.reasoning_tokens,
        ),
        model_ref=model,
        genai_request_timestamp=datetime.fromtimestamp(AT, UTC),
    )
    ours = PriceBook().cost(model, usage, at=AT)
    assert ours is not None
    assert abs(ours - theirs.total_price * 1_000_000) <= Decimal("0.5")


@pytest.mark.parametrize(
    ("model", "usage", "cost"),
    [
        ("gpt-4o", Usage(10_000, 100, 8_000), 16_000),
        ("gpt-4o", Usage(10_000, 100), 26_000),
        ("gpt-4o-2024-08-06", Usage(1_000_000, 0), 2_500_000),
        ("claude-sonnet-4-5", Usage(1_000, 0, 0, 1_000), 3_750),
        ("claude-sonnet-4-5", Usage(1_000, 0, 0, 1_000, 1_000), 6_000),
        ("claude-sonnet-4-5", Usage(200_000, 0), 600_000),
        ("claude-sonnet-4-5", Usage(200_001, 0), 1_200_006),
        ("openai/gpt-4o", Usage(1_000, 0), 2_500),
        ("text-embedding-3-small", Usage(1_000, 0), 20),
        ("text-embedding-3-large", Usage(1_000, 0), 130),
        ("ft:gpt-4o-mini-2024-07-18:acme::1", Usage(1_000, 0), 300),
        ("gpt-4o", Usage(0, 0), 0),
    ],
)
def test_known_prices(book: PriceBook, model: str, usage: Usage, cost: int) -> None:
    assert book.cost(model, usage, at=AT) == cost


@pytest.mark.parametrize(
    "model",
    ["", "no-such-model-anywhere", "x" * 201, "a\x00b", "m", "/", "openai/", "a/b/c", "\ud800", "models/"],
)
def test_what_has_no_price_has_none(book: PriceBook, model: str) -> None:
    assert book.cost(model, Usage(1000, 1000)) is None
    assert book.rates(model) is None
    assert book.micro_usd(model, Usage(1000, 1000)) is None


def test_tokens_without_a_rate_have_no_price(book: PriceBook) -> None:
    assert book.micro_usd("gpt-4o", None) is None
    openai = PriceBook(urls={"api": "https://api.openai.com/v1"})
    assert openai.cost("text-embedding-3-small", Usage(1_000_000, 0), backend="api") == 20_000
    assert openai.cost("text-embedding-3-small", Usage(1_000_000, 1), backend="api") is None


def test_the_upstream_s_own_list_holds() -> None:
    book = PriceBook(urls={"router": "https://openrouter.ai/api/v1", "corp": "https://llm.corp.example/v1"})
    usage = Usage(1_000_000, 0)
    assert book.cost("deepseek-chat", usage, backend="corp", at=AT) == book.cost(
        "deepseek-chat", usage, at=AT
    )
    routed = book.cost("deepseek/deepseek-chat", usage, backend="router", at=AT)
    assert routed is not None
    assert book.cost("claude-sonnet-4-5-of-nobody", usage, backend="router") is None


def test_prices_change_with_the_hour_and_the_day(book: PriceBook) -> None:
    costs = {book.cost("deepseek-chat", Usage(1_000_000, 0), at=AT + hour * 3600) for hour in range(24)}
    assert len(costs) == 2, "DeepSeek's nights are cheaper"


@pytest.mark.parametrize("at", [float("nan"), float("inf"), 1e300, -1e300])
def test_a_senseless_time_is_now(book: PriceBook, at: float) -> None:
    assert book.cost("deepseek-chat", Usage(1_000_000, 0), at=at) is not None


def test_the_local_engine_is_in_no_table() -> None:
    book = PriceBook(local=frozenset({"local"}))
    assert book.cost("gpt-4o", Usage(1000, 1000), backend="local") is None
    assert book.cost("gpt-4o", Usage(1000, 1000), backend="other") is not None


def test_rates_are_what_a_million_tokens_cost(book: PriceBook) -> None:
    assert book.rates("gpt-4o") == Rates(2_500_000, 10_000_000)


def test_rates_follow_the_hour() -> None:
    now = [AT]
    book = PriceBook(now=lambda: now[0])
    found = set()
    for hour in range(24):
        now[0] = AT + hour * 3600
        found.add(book.rates("deepseek-chat"))
    assert len(found) == 2


@pytest.mark.parametrize("model", ["gpt-4o", "deepseek-chat", "nobody-s"])
def test_rates_are_fast_once_they_were_asked_for(book: PriceBook, model: str) -> None:
    book.rates(model, "api")
    best = min(_timed(lambda: book.rates(model, "api")) for _ in range(20))
    assert best < 2e-6


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    for _ in range(1000):
        call()
    return (time.perf_counter() - began) / 1000


def test_names_of_strangers_are_not_remembered_without_end(book: PriceBook) -> None:
    before = _remembered()
    for number in range(200):
        book.cost(f"gpt-stranger-{number}", Usage(1, 1))
        book.cost(f"stranger-{number}", Usage(1, 1))
    assert _remembered() == before


def _remembered() -> int:
    table = price_table.snapshot()
    return len(table._lookup_cache) + len(table._provider_cache) + len(table._provider_misses)


def test_the_table_is_loaded_by_who_asks_first() -> None:
    script = (
        "import sys\n"
        "from semcache.cost.prices import PriceBook\n"
        "book = PriceBook()\n"
        "assert 'genai_prices.data' not in sys.modules, 'not at import'\n"
        "book.load()\n"
        "assert 'genai_prices.data' in sys.modules\n"
        "print(book.version)"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=os.environ, check=True
    )
    assert told.stdout.startswith("genai-prices ")


def test_a_function_prices_by_the_table_alone() -> None:
    assert micro_usd("gpt-4o", Usage(10_000, 100)) == 26_000
    assert micro_usd("gpt-4o", None) is None


# -- rates --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "rate", "cost"),
    [(1, 499_999, 0), (1, 500_000, 1), (1, 1_499_999, 1), (1, 1_500_000, 2), (3, 500_000, 2), (0, 10**9, 0)],
)
def test_a_call_is_rounded_once_to_the_nearest(tokens: int, rate: int, cost: int) -> None:
    price = Rate(rate)
    tariff = Tariff(price, price, price, price, price)
    assert tariff.cost(Usage(tokens, 0)) == cost


def test_a_step_holds_for_all_tokens_of_a_call() -> None:
    rate = Rate(1, ((10, 2), (20, 3)))
    assert [rate.at(tokens) for tokens in (0, 10, 11, 20, 21)] == [1, 1, 2, 2, 3]


def test_dollars_become_rates() -> None:
    assert rate_of(Decimal("2.5")) == 2_500_000
    assert rate_of(Decimal("0.08333333333333334")) == 83_333


def test_the_long_write_is_twice_the_input_at_anthropic_only() -> None:
    paid, written = Rate(3, ((5, 6),)), Rate(4)
    assert price_table.long_write("claude-x", paid, written) == Rate(6, ((5, 12),))
    assert price_table.long_write("gpt-x", paid, written) == written


# -- an operator's own --------------------------------------------------------------------

OWN = """\
# Ours.
models:
  gpt-4o*:
    input: 2
    cached: 0.5
    output: 8.25
  "*":
    local: true
    input: 0.02
    output: 0.08
  claude-own:
    input: 4
    written: 5
    output: 20
  embedder: {input: 0.1}
embedding: 0.01
"""


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "prices.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_own_prices_come_first(tmp_path: Path) -> None:
    path = written(tmp_path, OWN)
    book = PriceBook(path, local=frozenset({"local"}))
    assert book.cost("gpt-4o-mini", Usage(10_000, 100, 8_000)) == 4_000 + 4_000 + 825
    assert book.cost("GPT-4o", Usage(1_000, 0)) == 2_000, "letters' case says nothing"
    assert book.cost("gpt-5", Usage(1_000_000, 0), at=AT) == 1_250_000, (
        "the table's, since `*` is for the engine"
    )
    assert book.cost("anything", Usage(10_000, 100, 8_000), backend="local") == 48, (
        "computed before, for nothing"
    )
    assert book.cost("gpt-4o", Usage(1_000, 0), backend="local") == 20
    assert book.cost("claude-own", Usage(3_000, 0, 0, 2_000, 1_000)) == 4_000 + 5_000 + 8_000
    assert book.cost("embedder", Usage(1_000_000, 0)) == 100_000
    assert book.cost("embedder", Usage(1_000_000, 1)) is None
    assert book.embedding(1_000_000) == 10_000
    assert book.version.startswith("genai-prices ")
    assert book.version.endswith("+" + read_prices(path).digest)


def test_without_a_price_of_embedding_it_has_none(book: PriceBook, tmp_path: Path) -> None:
    assert book.embedding(1000) is None
    assert PriceBook(written(tmp_path, "")).embedding(1000) is None


def test_versions_tell_files_apart(tmp_path: Path) -> None:
    first = PriceBook(written(tmp_path, OWN)).version
    assert PriceBook(written(tmp_path, OWN + "\n")).version != first
    assert PriceBook(None).version == price_table.table_version()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("models:\n  m:\n    input: -1\n", 3, "models.m.input"),
        ("models:\n  m:\n    input: .nan\n", 3, "models.m.input"),
        ("models:\n  m:\n    input: .inf\n", 3, "models.m.input"),
        ("models:\n  m:\n    input: yes\n", 3, "models.m.input"),
        ("models:\n  m:\n    input: cheap\n", 3, "models.m.input"),
        ("models:\n  m:\n    input: 1e300\n", 3, "models.m.input"),
        ("models:\n  m:\n    input: 0.00000001\n", 3, "models.m.input"),
        ("models:\n  m:\n    input: [1]\n", 3, "models.m.input"),
        ("models:\n  m:\n    output: 1\n", 2, "models.m.input"),
        ("models:\n  m:\n    input: 1\n    local: 3\n", 4, "models.m.local"),
        (
            "models:\n  m: {input: 1}\n  n:\n    input: 1\n    inptu: 1\n",
            5,
            "models.n.inptu: there is no such setting",
        ),
        ("models:\n  m: {input: 1}\n  m: {input: 2}\n", 3, "m: stands there twice"),
        ("models:\n  m: {input: 1}\nfees: 3\n", 3, "fees: there is no such setting"),
        ("models: 7\n", 1, "models"),
        ("models:\n  '': {input: 1}\n", 2, "models"),
        ("- a\n", 1, "the file: should hold settings, such as models:"),
        ("embedding: -1\n", 1, "embedding"),
        ("models:\n  m: {input: 1\n", 3, "is not valid YAML"),
        ("a: !!python/object/apply:os.system ['x']\n", 1, "is not valid YAML"),
    ],
)
@pytest.mark.event(36)
def test_mistakes_are_told_with_their_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(PolicyError) as caught:
        PriceBook(path)
    assert f"{path}:{line}" in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"#" * (1 << 21), b"[" * 5_000, b"a: " * 5_000, b"\x00"], ids=range(5)
)
def test_no_file_at_all_is_told_too(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(PolicyError):
        PriceBook(written(tmp_path, content))
    with pytest.raises(PolicyError):
        PriceBook(tmp_path / "absent.yaml")


@given(usages(), st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_cost_is_never_negative(usage: Usage, one: int, other: int) -> None:
    tariff = Tariff(Rate(one), Rate(other), Rate(one), Rate(other), Rate(one), Rate(other), call=3)
    cost = tariff.cost(usage)
    assert cost is not None
    assert cost >= 3
