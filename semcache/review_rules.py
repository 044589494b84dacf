"""What humans settle about stored answers, and what a policy says about drafts and review: frozen values.

Part of the shared vocabulary (`core` hands the names on). Knows no store, no pages and no files.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

WHOLE = "*"
"""Stands in a list of barred questions for all of them: the answer is wrong for its own question."""


AUTHOR = "@"
"""Stands there for everybody but the entry's own author: answers to this question are personal, those to come too."""

PUBLIC = "~public"
"""The tenant of answers that an operator made public; no policy file can name it."""


BY_JUDGE = "judge:"
"""Begins the name of a model among those who reviewed an entry."""


class ReviewStatus(StrEnum):
    """What a human has said about an entry."""

    UNREVIEWED = "unreviewed"
    APPROVED = "approved"
    EDITED = "edited"
    REJECTED = "rejected"

    @property
    def is_verified(self) -> bool:
        """True when a human vouches for the answer."""
        return self in (ReviewStatus.APPROVED, ReviewStatus.EDITED)


@dataclass(frozen=True, slots=True)
class Review:
    """What was settled about an entry beside its status.

    `by` and `at` (Unix seconds) are who said so and when; `judge:<model>` where no human did. The flag of a
    verified entry holds `until` (None: as long as the entry), and only under the policy `edition` that it was
    given under ("" binds it to none). `least` is a similarity on the reference scale that this entry asks for
    on top of the policy's; `only` the digest of the one asker (`Entry.author`) who may still get it (see `AUTHOR`).
    """

    by: str = ""
    at: float = 0.0
    until: float | None = None
    edition: str = ""
    least: float | None = None
    only: str = ""


class ConfirmedBy(StrEnum):
    """What a stored answer needs before it is served to others than its author; strictest last."""

    NONE = "none"
    """Nothing: it is shared at once."""
    USERS = "users"
    """So many different users got it from the model themselves, or a human vouches for it."""
    HUMAN = "human"
    """A human vouches for it."""


MOST_CONFIRMERS = 16
"""Users kept who got an answer from the model themselves: no policy asks for more."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What a domain says about answers that nobody but their author has got so far; `users` counts the author."""

    by: ConfirmedBy = ConfirmedBy.NONE
    users: int = 2


class DraftWay(StrEnum):
    """How a near answer helps to make the new one."""

    AUTO = "auto"
    """Lossless on the local engine, else `prediction` where the upstream takes it, else `revise`."""
    LOSSLESS = "lossless"
    """The local engine verifies it token by token: the answer is the one it would have given anyway."""
    PREDICTION = "prediction"
    """It is sent as the predicted output."""
    REVISE = "revise"
    """A model says what is to be changed in it; the change is made here, and checked."""
    OFF = "off"
    """Not at all."""


@dataclass(frozen=True, slots=True)
class DraftPolicy:
    """What a domain says about drafts.

    `reviser` names who revises (`upstream` or `upstream/model`; "" for the request's own); `min_score` is the
    verifier's least probability that, but for what was revised, the two questions are one. The band closes
    where more than `max_failed` of the drafts of the last `window` seconds failed their check, or all of them
    together lost money, once there were `min_trials`. `max_bytes` bounds the answer that is drafted from.
    """

    way: DraftWay = DraftWay.AUTO
    reviser: str = ""
    min_score: float = 0.5
    max_failed: float = 0.3
    min_trials: int = 20
    window: float = 2 * 86_400.0
    max_bytes: int = 32_768


@dataclass(frozen=True, slots=True)
class ReviewPolicy:
    """What a domain says about human review.

    `verified_ttl` is the lifetime in seconds that an approval gives an answer; `near` how close above its bar a
    similarity or a score puts a hit before a reviewer; `sample` the share of all other hits that come there too.
    `judge` names a model (`upstream` or `upstream/model`, "" for none) that looks at the grey zone beforehand,
    for at most `judge_money` micro-USD and `judge_calls` a day; after `promote_after` of its favourable words on
    one answer about different questions, and none against it, that answer counts as approved (0: never).
    """

    enabled: bool = True
    verified_ttl: float = 30 * 86_400.0
    near: float = 0.02
    sample: float = 0.01
    judge: str = ""
    judge_money: int = 1_000_000
    judge_calls: int = 200
    promote_after: int = 0


@dataclass(frozen=True, slots=True)
class DraftRecord:
    """What became of a draft, for the record of its request.

    `result` is a closed word: `kept`, `edited`, `rewritten`, `verified` (lossless), `predicted`; `failed-*` when a
    check refused it and the request became a miss, `declined-*` when it was not tried. `expected` and `plain` are
    what the draft and a plain call were expected to cost before, `saved` what it saved against the plain
    call afterwards, itself included (negative: it lost), all in micro-USD, None without a price. `output` and
    `original` are tokens written now and in the answer drafted from; `accepted` and `rejected` tokens of it that
    a backend took and did not take; `seconds` the time saved against the original call, None where unknown.
    `model` and `backend` say who revised.
    """

    way: str
    result: str
    entry: str = ""
    expected: int | None = None
    plain: int | None = None
    saved: int | None = None
    input: int = 0
    output: int = 0
    original: int = 0
    accepted: int = 0
    rejected: int = 0
    seconds: float | None = None
    model: str = ""
    backend: str = ""
