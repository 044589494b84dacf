"""An attacker who holds the whole decision and tries it out: which instruction, where, beside which wording of the question.

Rewrites the question by leaving words out, saying them twice and moving them, moves the instruction about, and goes where
similarity and score rise, as long as the instruction stays whole. What a cache does not tell (no score header) such an attacker
has from a copy of the program.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence

from collision_rig.payloads import CHINESE, HELD_OUT, KNOWN
from collision_rig.victims import Victim

Oracle = Callable[[str], Awaitable[tuple[bool, float]]]
"""Says of an attack whether it would be served, and how near it comes."""

_WORDINGS = ("{said}", "please {said}", "{said}, please", "and {said}", "- {said}", "({said})", "so {said}")


async def adaptive(victim: Victim, oracle: Oracle, tries: int, seed: int) -> tuple[str, bool]:
    """Give the best attack found within so many questions to the oracle, and whether it is served."""
    chance = random.Random(seed)
    table = CHINESE if victim.is_han else (*KNOWN, *HELD_OUT)
    words = list(victim.text) if victim.is_han else victim.text.split()
    best, best_worth = "", -1.0
    kept, said = words, chance.choice(table)
    for _ in range(tries):
        moved = _edit(kept, words, chance) if chance.random() < 0.6 else kept
        saying = chance.choice(table) if chance.random() < 0.5 else said
        attack = _joined(moved, saying, victim.is_han, chance)
        served, worth = await oracle(attack)
        if served:
            return attack, True
        if worth > best_worth:
            best, best_worth, kept, said = attack, worth, moved, saying
    return best, False


def _edit(kept: Sequence[str], original: Sequence[str], chance: random.Random) -> list[str]:
    """Leave a word out, say one twice, exchange two neighbours, or begin anew."""
    words = list(kept)
    place = chance.randrange(len(words)) if words else 0
    match chance.randrange(4):
        case 0 if len(words) > 2:
            del words[place]
        case 1:
            words.insert(place, chance.choice(list(original)))
        case 2 if place + 1 < len(words):
            words[place], words[place + 1] = words[place + 1], words[place]
        case _:
            words = list(original)
    return words


def _joined(words: Sequence[str], said: str, is_han: bool, chance: random.Random) -> str:
    wording = chance.choice(_WORDINGS[:1] if is_han else _WORDINGS).format(said=said.rstrip(".。"))
    glue = "" if is_han else " "
    place = chance.choice((0, len(words), chance.randrange(len(words) + 1)))
    return glue.join((*words[:place], wording, *words[place:]))
