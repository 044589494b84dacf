"""Drafts on the model that ships: at temperature 0 the tokens are those of plain decoding, whatever the draft.

The draft of a question is the model's own answer to another, near one, as it comes from a cache: text that was
tokenised anew. Tokens and the bits of their log probabilities are compared.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from semcache.engine.model.loading import Settings, load_model
from semcache.engine.scheduling.runner import PagedRunner
from tests.engine.drafting.answers import DATA, Asking, differing, hostile, pairs, with_draft

NEAR = [
    ("What is the capital of France?", "What's the capital of France?"),
    ("How many legs does a spider have?", "How many legs does an ant have?"),
    ("怎么修改收货地址？", "如何修改收货地址？"),
]


@pytest.fixture(scope="module")
def desk(real_folder: Path) -> Iterator[Asking]:
    model = load_model(real_folder, Settings(kv_bytes=6_000 * 46_080), lambda _: None)
    runner = PagedRunner(model, checks=True)
    yield Asking(model, runner)
    runner.check_integrity()
    runner.close()


@pytest.mark.timeout(300)
def test_the_answer_to_a_near_question_as_draft_changes_no_token(desk: Asking) -> None:
    stored = desk.all([desk.request(question, 16) for question, _ in NEAR])
    requests = [desk.request(question, 16) for _, question in NEAR]
    plain = desk.all(requests)
    drafts = [desk.ids(answer.text) for answer in stored]
    drafted = desk.all([with_draft(request, draft) for request, draft in zip(requests, drafts, strict=True)])
    assert differing(plain, drafted) == []
    accepted = [answer.done.accepted_draft for answer in drafted]
    steps = [answer.done.steps for answer in drafted]
    assert sum(accepted) >= 8, "what was to be tried was not"
    assert all(few <= answer.done.steps for few, answer in zip(steps, plain, strict=True))
    assert [answer.done.accepted_draft for answer in plain] == [0] * len(NEAR)


@pytest.mark.timeout(300)
def test_no_bad_draft_changes_a_token(desk: Asking) -> None:
    """All kinds at once, so that they are each other's company too."""
    request = desk.request(NEAR[0][0], 10)
    (plain,) = desk.all([request])
    kinds = dict(hostile(desk.ids(plain.text), desk, random.Random(3)))
    drafted = desk.all([with_draft(request, draft) for draft in kinds.values()])
    changed = differing([plain] * len(kinds), drafted)
    assert [list(kinds)[at] for at in changed] == []
    assert sum(answer.done.rejected_draft for answer in drafted) > 20
    assert drafted[list(kinds).index("empty")].done.rejected_draft == 0


@pytest.mark.slow
@pytest.mark.timeout(7_200)
@pytest.mark.skipif(not DATA.exists(), reason="the question pairs are not here")
def test_hundreds_of_answers_stay_as_they_are(desk: Asking, capsys: pytest.CaptureFixture[str]) -> None:
    """Every pair's own draft, and a bad one by turns; three hundred pairs of five collections."""
    found = pairs(300, seed=5)
    assert len(found) == 300
    stored = desk.all([desk.request(question, 64) for question, _ in found])
    requests = [desk.request(question, 64) for _, question in found]
    plain = desk.all(requests)
    texts = [desk.ids(answer.text) for answer in stored]
    drafted = desk.all([with_draft(request, draft) for request, draft in zip(requests, texts, strict=True)])
    wrong = differing(plain, drafted)
    rng = random.Random(8)
    bad = []
    for at, (request, said) in enumerate(zip(requests, plain, strict=True)):
        kinds = list(hostile(desk.ids(said.text), desk, rng))
        bad.append(with_draft(request, kinds[at % len(kinds)][1]))
    wrong_bad = differing(plain, desk.all(bad))
    made = sum(len(answer.tokens) for answer in plain)
    taken = sum(answer.done.accepted_draft for answer in drafted)
    steps = [sum(answer.done.steps for answer in side) for side in (plain, drafted)]
    with capsys.disabled():
        print(f"\n{len(found)} pairs, {made} tokens: {len(wrong)} and {len(wrong_bad)} differ;")  # noqa: T201 - its purpose
        print(f"{taken} tokens of drafts taken, {steps[0]} steps without, {steps[1]} with them")  # noqa: T201 - its purpose
    assert (wrong, wrong_bad) == ([], [])
    assert taken > made / 20
