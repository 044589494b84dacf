"""The closed words by which a revised answer is refused. Knows nothing of how a flaw is found."""

from __future__ import annotations

from enum import StrEnum


class Flaw(StrEnum):
    """What speaks against a revised answer."""

    UNCHANGED = "unchanged"
    """The questions need different answers, and the answer says what it said."""
    STANCE = "stance"
    """The questions differ in what no exchange of words mends."""
    ASPECT = "aspect"
    """The questions ask for different sides of a thing: its symptoms, its treatment."""
    LEFTOVER = "leftover"
    """It still names what only the older question named."""
    MISSING = "missing"
    """It was changed, and does not name what the new question says where the older one said something else."""
    REORDERED = "reordered"
    """The questions hold the same words in another order, and the answer was changed: nothing shows to what."""
    UNMOVED = "unmoved"
    """Another amount is asked about, and all figures that the older answer gave stand as they were."""
    UNREAD = "unread"
    """It is too long, or too strange, to be read to its end."""
    LANGUAGE = "language"
    """It is not in the language of the question, or not in the one that the question asks for."""
    FORM = "form"
    """It has not the form that the question asks for."""
    COUNT = "count"
    """It has not as many items, words or sentences as the question asks for."""
    JSON = "json"
    """It is not the JSON object that the request asks for."""
    SCHEMA = "schema"
    """It does not keep to the request's schema, or nobody can tell at bounded cost whether it does."""
    REFUSAL = "refusal"
    """It refuses, or says that it cannot know."""
    MAKING = "making"
    """It speaks of how it was made: of an older answer, of its edits."""
    FOREIGN = "foreign"
    """It has got addresses, links, scripts or instructions that neither question nor older answer held."""
