"""Questions whose answer changes by itself: about today, the latest, the weather, a rate.

A relative day (`tomorrow`, `去年`) counts too: the same words mean another day later on. Knows
nothing of lifetimes (see `admission`).
"""

from __future__ import annotations

from semcache.decide.features import features
from semcache.decide.text import read
from semcache.decide.wordlist import split

_WORDS = frozenset(
    split(
        "latest newest current recent recently nowadays live weather forecast news headlines score scores stock stocks traffic "
        "breaking trending upcoming tonight up-to-date ongoing"
    )
)
_HAN = (
    "最新",
    "最近",
    "近期",
    "实时",
    "天气",
    "股价",
    "汇率",
    "新闻",
    "行情",
    "今晚",
    "刚刚",
    "金价",
    "油价",
    "路况",
    "比分",
    "热搜",
)
_PHRASES = ("exchange rate", "up to date", "price of gold", "what time is it", "what day is it")


def is_volatile(prompt: str) -> bool:
    """True when the words of a prompt tie its answer to the moment it is asked."""
    dates = features(prompt).dates
    if dates.words or dates.told:
        return True
    words = read(prompt).words
    if not _WORDS.isdisjoint(words):
        return True
    running, spaced = "".join(words), " ".join(words)
    return any(word in running for word in _HAN) or any(phrase in spaced for phrase in _PHRASES)
