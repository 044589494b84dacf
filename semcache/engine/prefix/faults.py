"""What may go wrong with the prefix tree, by name. Every one of them leaves the tree as it was."""

from __future__ import annotations

from semcache.errors import EngineError


class TreeError(EngineError):
    """Base of the tree's refusals: the caller broke a contract."""

    code = "prefix_tree_error"


class TokensError(TreeError):
    """Tokens are not whole int32 numbers, or layers do not grow."""


class StaleMatchError(TreeError):
    """The tree changed after the match, and what is asked for is not there any more: match again."""


class HandleError(TreeError):
    """A handle that was used already, or that another tree gave."""


class ForgottenError(TreeError):
    """The handle's prefix was computed by a model that is gone: only `unlock` is left for it."""


class InsertError(TreeError):
    """What is to be inserted does not fit: wrong number of slots, slots in use, or another prefix."""


class IntegrityError(TreeError):
    """The tree contradicts itself. Nothing it says may be trusted any more."""
