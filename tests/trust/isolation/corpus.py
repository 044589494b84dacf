"""What is asked: wishes in several wordings each, wishes that only look alike, and questions that lean on what was said.

Wordings of one wish must hit each other by meaning under the policies of `world`; those of two wishes must never,
and the traps among them differ in one word. Knows nothing of tenants or wires.
"""

from __future__ import annotations

from dataclasses import dataclass

_WISHES = (
    "rename a folder",
    "reset a router",
    "paint a wall",
    "book a meeting room",
    "change a bicycle tyre",
    "plant tomatoes",
    "tie a bow tie",
    "clean a cast iron pan",
    "sharpen a kitchen knife",
    "descale a kettle",
    "mute a group chat",
    "fold a fitted sheet",
    "make cold brew coffee",
    "tune a guitar",
    "pitch a tent",
    "write a cover letter",
    "polish leather shoes",
    "remove a wine stain",
    "wrap a gift",
    "build a birdhouse",
    "share a calendar",
    "train a puppy to sit",
    "iron a cotton shirt",
    "freeze bread dough",
)
_TRAPS = (
    "enable two-factor login",
    "disable two-factor login",
    "turn on dark mode",
    "turn off dark mode",
    "bake a cake with eggs",
    "bake a cake without eggs",
    "set a timer for 5 minutes",
    "set a timer for 15 minutes",
    "convert euros to dollars",
    "convert dollars to euros",
)
_FRAMES = ("How do I {}?", "How can I {}?", "What do I have to do to {}?", "How would I {}?")

TOPICS = {
    "orchids": "I have just bought a few orchids for the office.",
    "cactuses": "I have just bought a few cactuses for the office.",
    "ferns": "I have just bought a few ferns for the office.",
}
"""What is said before, by its topic."""
REPLY = "Very nice, they will look good there."
LEANING = ("How often should I water them?", "How often do I have to water them?")


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing that somebody wants to know: `name`, and how it may be worded; `leans` on what was said before."""

    name: str
    wordings: tuple[str, ...]
    leans: bool = False


WISHES: tuple[Wish, ...] = tuple(
    Wish(name, tuple(frame.format(name) for frame in _FRAMES)) for name in (*_TRAPS, *_WISHES)
)
LEANING_WISH = Wish("water them", LEANING, leans=True)
