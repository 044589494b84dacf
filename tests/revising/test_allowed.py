"""What is not revised though it could be: where a domain is to learn, what was revised before, and what proved wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from semcache.core import CachePolicy, Draft, ReviewStatus
from semcache.decide.decision import Serving
from semcache.review_rules import DraftWay
from semcache.revising.band import Bands
from semcache.revising.ways import Declined, way_of
from tests.fakes.evidence import FakeEvidence
from tests.revising.scene import POLICY, Now, Scene, draft_of


def from_revised(status: ReviewStatus) -> Draft:
    draft = draft_of()
    return replace(draft, entry=replace(draft.entry, origin="draft:e0", status=status))


@pytest.mark.parametrize("way", [DraftWay.AUTO, DraftWay.REVISE])
def test_a_domain_that_is_to_learn_hears_the_backend_freely(way: DraftWay) -> None:
    scene = Scene()
    policy = scene.with_drafts(way=way)
    found = way_of(scene.step(policy=policy), draft_of(reasons=("risk",)), refused=False)
    assert found == Declined("learning")
    found = way_of(scene.step(policy=policy), draft_of(reasons=("verifier",)), refused=False)
    assert found is DraftWay.REVISE


def test_what_only_the_evidence_stands_against_may_be_guessed_from() -> None:
    scene = Scene()
    step = scene.step(backend=scene.engine())
    assert way_of(step, draft_of(reasons=("risk",)), refused=False) is DraftWay.LOSSLESS
    step = scene.step(backend=scene.predicting())
    assert way_of(step, draft_of(reasons=("risk",)), refused=False) is DraftWay.PREDICTION


def test_errors_do_not_add_up() -> None:
    scene = Scene()
    step = scene.step(policy=scene.with_drafts(way=DraftWay.REVISE))
    assert way_of(step, from_revised(ReviewStatus.UNREVIEWED), refused=False) == Declined("revised")
    assert way_of(step, from_revised(ReviewStatus.APPROVED), refused=False) is DraftWay.REVISE


class Allowance:
    def __init__(self, fine: bool) -> None:
        self.fine = fine
        self.asked: list[str] = []

    async def serving(self, policy: CachePolicy) -> Serving:
        self.asked.append(policy.domain)
        return Serving(cut=None, trusts_humans=self.fine)


@pytest.mark.parametrize("fine", [True, False])
async def test_a_domain_whose_revised_answers_proved_wrong_makes_no_more(fine: bool) -> None:
    allowance, scene = Allowance(fine), Scene()
    bands = Bands(FakeEvidence(), scene.count, Now(), scene.spawn, allowance)
    assert await bands.may_revise(POLICY) is fine
    assert allowance.asked == [f"{POLICY.domain}~drafts"]
    scene.revising._bands = bands
    step = scene.step(policy=scene.with_drafts(way=DraftWay.REVISE))
    status, _ = await scene.run(step)
    assert status == 200
    assert step.trace.draft is not None
    assert (step.trace.draft.result == "declined-wrong") is not fine
