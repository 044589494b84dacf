"""A text that an answer may resemble, and where the answer is in it: what to guess next.

One draft belongs to one choice. It is only ever a guess: whatever it proposes, the model judges.
Knows no model, no scheduler and no text. Pure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from semcache.engine.drafting.align import Aligner, Alignment
from semcache.engine.drafting.pace import Pace, Stakes


class Draft:
    """Follows one answer through a draft of it.

    As long as they agree, it proposes the next tokens of the draft, more or fewer as the pace
    says. After a disagreement it looks for the tokens just observed in the draft and goes on from
    there; while they are not found it proposes nothing. Each find that leads nowhere raises what
    the next one must show, so that a text that repeats itself cannot have the same vain guess made
    for ever. Work for each token is bounded, whatever the draft's length.

    Args:
        tokens: the draft; may be empty, or longer than the answer.
        alignment: what counts as having found the place again.
        stakes: what guessing costs.
    """

    def __init__(
        self, tokens: Sequence[int], alignment: Alignment | None = None, stakes: Stakes | None = None
    ) -> None:
        self._tokens = tuple(tokens)
        self._rules = alignment or Alignment()
        self._aligner = Aligner(self._tokens, self._rules)
        self._pace = Pace(stakes or Stakes())
        self._recent: deque[int] = deque(maxlen=self._rules.longest)
        self._place: int | None = 0
        self._home = 0
        self._elapsed = 0
        self._in_a_row = 0
        self._vain = 0

    def propose(self, limit: int) -> tuple[int, ...]:
        """Give at most `limit` tokens to try next; none when the place is lost or none would pay."""
        if self._place is None:
            return ()
        length = self._pace.length(min(limit, len(self._tokens) - self._place))
        return self._tokens[self._place : self._place + length]

    def observe(self, token: int) -> None:
        """Follow the answer by one token, whether it was proposed or not.

        Every token for which the draft has an opinion teaches what its opinion is worth: a draft
        that is not worth a guess now can earn it again.
        """
        self._recent.append(token)
        self._elapsed += 1
        if self._place is None:
            self._search()
            return
        is_agreed = self._tokens[self._place : self._place + 1] == (token,)
        if self._place < len(self._tokens):
            self._pace.note(is_agreed)
        if is_agreed:
            self._advance_to(self._place + 1)
        else:
            self._vain = 0 if self._in_a_row else self._vain + 1
            self._search()

    def _advance_to(self, place: int) -> None:
        self._place = place
        self._in_a_row += 1
        if self._in_a_row >= self._rules.sure:
            self._home, self._elapsed = place, 0

    def _search(self) -> None:
        rules = self._rules
        # By halves: a find may fail because one edit follows another. Never so much that nothing could do.
        doubt = min(self._vain // 2, rules.longest - rules.shortest)
        self._in_a_row = 0
        self._place = self._aligner.locate(tuple(self._recent), self._home, self._elapsed, doubt)
