"""What is at stake with one revision: what it and the plain call will about take, and what it saved. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from semcache.core import ChatRequest, Draft
from semcache.decide.revision.worth import FAILED_SHARE, Prices, Saved, Spent, Worth, expected, saved
from semcache.revising.revision import Revised, Unrevised
from semcache.revising.worth import original_tokens, tokens_before
from semcache.tokens import tokens_of


@dataclass(frozen=True, slots=True)
class Stakes:
    """`worth` before; `original` tokens of the old answer, `plain` those of the plain call; prices of model and reviser."""

    worth: Worth
    original: int
    plain: Spent
    prices: Prices | None
    reviser: Prices | None

    def gain(self, found: Revised | Unrevised) -> Saved:
        """Say what a revision saved; negative when it lost."""
        failed = isinstance(found, Unrevised)
        if isinstance(found, Unrevised) and found.reason == "late":
            # What was not waited for is billed all the same.
            money = self.worth.draft
            return Saved(None if money is None else -money, -self.worth.draft_weight)
        used = (
            Spent() if found.used is None else Spent(found.used.prompt_tokens, found.used.completion_tokens)
        )
        if found.used is None and not failed:
            # Nobody counted: nothing can be said.
            return Saved(None, 0)
        return saved(self.plain, used, self.prices, self.reviser, failed=failed)


def stakes_of(
    draft: Draft,
    text: str,
    request: ChatRequest,
    prices: tuple[Prices | None, Prices | None],
    failed_share: float | None,
) -> Stakes:
    """Weigh a draft against the plain call.

    Args:
        draft: the near answer.
        text: what it says.
        request: what is asked.
        prices: of the request's own model, and of the reviser.
        failed_share: of the domain's revisions; None: too few to tell.
    """
    question, original = tokens_of(request.prompt or ""), original_tokens(draft, text)
    before = tokens_before(request.body["messages"])
    worth = expected(
        question,
        original,
        prices[0],
        reviser=prices[1],
        stored_question_tokens=tokens_of(draft.entry.prompt),
        before_tokens=before,
        failed_share=FAILED_SHARE if failed_share is None else failed_share,
    )
    return Stakes(worth, original, Spent(before + question, original), *prices)
