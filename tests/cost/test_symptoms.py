"""Answers in a loop are told from good ones; the same asked again at once is told from the same asked later."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.cost.symptoms import REPETITIVE, Retries, repetition

ROOT = Path(__file__).parents[2]
PROSE = (ROOT / "docs/architecture.md").read_text()
CODE = (ROOT / "semcache/parts.py").read_text()
CHINESE = (
    "高血压患者应当坚持低盐饮食，每天食盐摄入量不超过五克，同时保持适量运动，避免熬夜和情绪激动。"
    "如果血压持续高于一百四十，应及时就医，由医生决定是否需要服药。常见的药物有利尿剂、钙通道阻滞剂等，"
    "不同的药物适合不同的人群，切勿自行停药或换药。定期测量血压并做好记录，有助于医生调整治疗方案。"
)
RECORDS = [
    {"id": at, "status": "ok", "error": None, "retries": 0, "tags": ["a", "b"], "price": at * 1.37}
    for at in range(120)
]
TABLE = "| name | a | b | c |\n|---|---|---|---|\n" + "\n".join(
    f"| row {at} | 0 | 0 | 0 |" for at in range(100)
)
LOG = "\n".join(
    f"10:{at // 60:02d}:{at % 60:02d} connection accepted by worker main; waiting for the next request"
    for at in range(200)
)
PIECE = CODE[:2500]

GOOD = {
    "prose": PROSE[:6000],
    "code": CODE,
    "chinese": CHINESE,
    "records": json.dumps(RECORDS, indent=2),
    "compact records": json.dumps(RECORDS),
    "table": TABLE,
    "log": LOG,
    "numbers": ", ".join(map(str, range(2000))),
    "csv": "\n".join(f"2024-01-{at % 28 + 1:02d},{at},0,0,0,ok" for at in range(400)),
    "code, and the same mended": f"Here it is:\n{PIECE}\nMended:\n{PIECE.replace('clock', 'watch')}",
    "quoted": f"{PIECE}\n\nYou wrote:\n\n{PIECE}",
    "refrain": "Row, row, row your boat,\nGently down the stream.\nMerrily, merrily, merrily, merrily,\nLife is but a dream.\n",
    "empty": "",
    "yes": "Yes. Yes. Yes. Yes.",
    "laughter": "ha" * 30,
    "spaces": " " * 100_000,
}
LOOPS = {
    "word": "The answer is " + "the " * 300,
    "sentence": "Paris is the capital of France. " * 40,
    "paragraph": PROSE[:700] + PROSE[700:1100] * 8,
    "good, then a loop": PROSE[:1500] + "I hope this helps! " * 80,
    "one letter": "!" * 1000,
    "chinese": "我不知道该怎么回答这个问题。" * 30,
    "chinese, good at first": CHINESE[:100] + "请咨询医生。" * 60,
    "short": "I am sorry, I cannot. " * 8,
    "with line breaks": "\n\nWait, let me check again. 12 * 7 = 84.   So the answer is 84." * 60,
    "a long one": PROSE[:4000] * 200,
    "lone surrogates": "a\ud800b" * 400,
}


@pytest.mark.parametrize("name", GOOD)
def test_good_answers_do_not_repeat_themselves(name: str) -> None:
    assert repetition(GOOD[name]) < REPETITIVE / 3


@pytest.mark.parametrize("name", LOOPS)
def test_loops_do(name: str) -> None:
    assert REPETITIVE <= repetition(LOOPS[name]) <= 1


@given(st.text(max_size=400), st.integers(1, 30))
def test_it_is_a_share_of_any_text(text: str, times: int) -> None:
    assert 0.0 <= repetition(text * times) <= 1.0


@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=0x24F), min_size=12, max_size=40))
def test_whatever_is_said_a_hundred_times_is_a_loop(text: str) -> None:
    assert repetition(f"{text} " * 100) >= 0.9


def test_work_is_bounded() -> None:
    text = PROSE[:6000] * 1000
    begun = time.perf_counter()
    for _ in range(10):
        repetition(text)
    assert (time.perf_counter() - begun) / 10 < 0.05


def test_asked_again_at_once() -> None:
    retries = Retries(within=60.0)
    assert not retries.seen("acme", "d", began=0, now=2)
    assert retries.seen("acme", "d", began=10, now=12)
    assert retries.seen("acme", "d", began=72, now=73)
    assert not retries.seen("acme", "d", began=133.5, now=134)


def test_others_and_other_questions_are_apart() -> None:
    retries = Retries()
    assert not retries.seen("acme", "d", 0, 1)
    assert not retries.seen("other", "d", 2, 3)
    assert not retries.seen("acme", "e", 4, 5)


def test_what_was_asked_before_the_answer_came_is_no_retry() -> None:
    retries = Retries()
    assert not retries.seen("acme", "d", began=0, now=5)
    assert not retries.seen("acme", "d", began=1, now=6)


def test_what_nobody_asks_again_is_forgotten() -> None:
    retries = Retries(within=60.0, longest=120.0)
    for at in range(1000):
        assert not retries.seen("acme", f"d{at}", at, at)
    assert retries.held == 181
    assert retries.seen("acme", "d950", began=1000, now=1100)  # it took a while
    assert not retries.seen("acme", "new", began=1200, now=1200)
    assert retries.held == 2
    assert not retries.seen("acme", "d951", began=1000, now=1201)


def test_what_is_remembered_is_bounded() -> None:
    retries = Retries(within=1000, most=3)
    for at in range(4):
        assert not retries.seen("acme", f"d{at}", at, at)
    assert retries.seen("acme", "d1", 10, 11)
    assert not retries.seen("acme", "d0", 10, 11)
