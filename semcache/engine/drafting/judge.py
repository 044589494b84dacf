"""How far the model agrees with a proposed block of a draft, and what it says instead.

The rule of speculative sampling (Leviathan et al. 2022, arXiv 2211.17192; Chen et al. 2023,
arXiv 2302.01318) for a draft that is certain of its tokens: token t is kept with the model's
probability p(t), else another one is drawn from p without t. Drawing from p and comparing with t
is the same rule: the draw equals t with probability p(t), and is distributed as p without t
otherwise. It is the form used here, for what it gives beyond the distribution: each emitted token
costs exactly one draw from the very distribution that plain decoding would have drawn it from, so
with a seed (or at temperature 0) the tokens are those of plain decoding, one by one. Pure: what
a row of logits is and how one draws from it is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one verifying step gave.

    `tokens` are emitted, in order: `accepted` of the proposal, then the model's own one, unless
    the answer ended before. `rejected` counts the proposed tokens that were tried in vain.
    """

    tokens: tuple[int, ...]
    accepted: int
    rejected: int


def judge(
    proposal: Sequence[int], draw: Callable[[int], int], is_over: Callable[[], bool] = lambda: False
) -> Verdict:
    """Draw tokens from the rows of one step until one differs from the proposal.

    Row 0 stands behind the last token of the answer, row i behind the first i tokens of the
    proposal, so there are `len(proposal) + 1` of them. An empty proposal is plain decoding.

    Args:
        proposal: the tokens that were fed in advance.
        draw: draws from row i, after bias, penalties, constraint, temperature and cuts, and takes
            note of the token (counts, constraint, stop strings) before row i + 1 is asked for.
            Called for i = 0, 1, ... without gaps, only as long as the proposal was right.
        is_over: tells after each draw whether the answer has ended.
    """
    emitted: list[int] = []
    accepted = 0
    for row in range(len(proposal) + 1):
        token = draw(row)
        emitted.append(token)
        is_agreed = row < len(proposal) and token == proposal[row]
        accepted += is_agreed
        if not is_agreed or is_over():
            break
    return Verdict(tuple(emitted), accepted, len(proposal) - accepted)
