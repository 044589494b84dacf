"""Questions made for the benchmark: stored ones, paraphrases of them, and others near to none.

Their median is 14 tokens with the encoder's own marks; that of public question collections is 13. They serve to
measure time; how well near questions are told apart is measured elsewhere, on people's questions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

_ACTIONS = (
    "export", "print", "share", "delete", "proofread", "archive", "translate", "rehearse", "download", "restore",
    "frame", "publish", "encrypt", "sign", "fold", "upload", "compress", "illustrate", "copy", "review",
    "approve", "schedule", "laminate", "shorten", "format", "lock", "read aloud", "hang up", "summarise", "decorate",
)  # fmt: skip
_OBJECTS = (
    "sales report", "guest list", "travel photos", "lecture notes", "wedding invitation", "payroll sheet",
    "project plan", "shopping list", "song lyrics", "cooking recipe", "garden calendar", "team roster",
    "support ticket", "training video", "meeting minutes", "price table", "book chapter", "floor plan",
    "garden photo", "contact card", "newsletter draft", "exam timetable", "budget forecast", "user manual",
    "train ticket", "podcast episode", "delivery note", "birthday card", "chess game", "weather map",
)  # fmt: skip
_PLACES = (
    "on my phone", "in the web browser", "on the office printer", "from my tablet", "in the desktop app",
    "on the shared drive", "in the reading room", "on a library computer",
    "in the evening class", "on the kitchen display", "from the car's screen", "in the calendar view",
    "on the meeting board", "in the dark theme", "from my watch", "on an old laptop", "in the guest account",
    "on the school network", "in the trial version",
)  # fmt: skip
_LIMITS = (
    "without losing comments", "before the deadline", "for all visitors", "in one step", "while offline",
    "with large margins", "without an account", "for a colleague", "in the background", "with a keyboard only",
    "during the lesson", "for the archive", "without colours", "as a backup", "with captions", "for beginners",
    "while travelling", "after the holidays", "in high quality", "on a slow connection",
)  # fmt: skip
_WHERE = (*_PLACES, *_LIMITS)
_STORED = "How do I {} the {} {}?"
_ASKED = (
    "How can I {} the {} {}?",
    "How could I {} the {} {}?",
    "Please, how do I {} the {} {}?",
    "how do i {} the {} {}",
    "How do I {} the {} {}, please?",
    "How would I {} the {} {}?",
    "Hello, how do I {} the {} {}?",
    "How does one {} the {} {}?",
)
_THINGS = (
    "anchor", "badger", "cello", "dune", "eclipse", "ferry", "glacier", "harvest", "igloo", "jasmine", "kettle",
    "lantern", "marble", "nebula", "orchard", "pepper", "quarry", "reef", "saddle", "tundra", "umbrella",
    "velvet", "walrus", "yeast", "zipper", "almond", "bridge", "candle", "desert", "engine", "falcon", "guitar",
    "hammer", "island", "jungle", "kernel", "ladder", "magnet", "needle", "oyster", "parrot", "quiver",
    "rocket", "sailor", "temple", "urchin", "violin", "window", "yogurt", "zebra", "acorn", "basil", "copper",
    "drum", "ember", "flute", "gravel", "honey", "iris", "jewel", "koala", "lemon", "moss", "nickel", "onion",
    "pillow", "quartz", "ribbon", "silk", "tulip", "urn", "vault", "willow", "yarn", "zinc", "apron", "bamboo",
    "cobalt", "dagger", "eagle", "fossil", "ginger", "heron", "ivory", "jacket", "kite", "lava", "mirror",
    "nutmeg", "opal", "pebble", "quilt", "raven", "salmon", "thunder", "unicorn", "vinegar", "whistle", "yacht",
)  # fmt: skip
_OTHER = (
    "What links a {} with the {} and a {}?",
    "Why would the {} follow a {} or some {}?",
    "Which came first, {}, {} or {}?",
    "Tell a story of a {}, the {} and a {}.",
    "Is a {} more like the {} or the {}?",
    "Could a {} ever replace a {} in the {}?",
)
_SEED = 7


def stored(count: int) -> list[str]:
    """Give `count` different questions to be stored, always the same ones."""
    return [_STORED.format(*words) for words in _words(count)]


def paraphrases(count: int) -> Iterator[tuple[str, str]]:
    """Give (asked, stored) pairs over the first `count` stored questions, no asked text twice."""
    words = _words(count)
    for number, form in enumerate(_ASKED):
        order = list(words)
        random.Random(_SEED + number).shuffle(order)
        for each in order:
            yield form.format(*each), _STORED.format(*each)


def others(seed: int) -> Iterator[str]:
    """Give questions without end that are near to nothing stored and to hardly any of their own kind."""
    rng = random.Random(seed)
    seen: set[str] = set()
    while True:
        question = rng.choice(_OTHER).format(*rng.sample(_THINGS, 3))
        if question not in seen:
            seen.add(question)
            yield question


def _words(count: int) -> list[tuple[str, str, str]]:
    rng = random.Random(_SEED)
    found: dict[tuple[str, str, str], None] = {}
    while len(found) < count:
        found[rng.choice(_ACTIONS), rng.choice(_OBJECTS), rng.choice(_WHERE)] = None
    return list(found)
