"""What callers of the admin API send: strict shapes, and the values that they become. Knows no HTTP."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from semcache.core import EntryId
from semcache.review.bulk import Target
from semcache.review.verdicts import (
    LONGEST_NOTE,
    Approve,
    Bar,
    Edit,
    Narrow,
    Note,
    Publish,
    Purge,
    Raise,
    Reject,
    Reopen,
    Unbar,
    Verdict,
)
from semcache.review.views import Filter

_NAME = 256
NoteText = Annotated[str, Field(max_length=LONGEST_NOTE, description="Kept in the log.")]
Time = Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False, description="Unix seconds.")]
Name = Annotated[str, Field(max_length=_NAME)]
Asked = Annotated[
    str, Field(max_length=64, description="Digest of a question, as the entry's questions name it.")
]


class Body(BaseModel):
    """Base of all: nothing unknown, nothing turned into another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ApproveBody(Body):
    """The answer is right."""

    verdict: Literal["approve"]
    until: Time | None = None
    asked: Asked = ""
    note: NoteText = ""

    def told(self) -> Verdict:
        """Give the verdict."""
        return Approve(self.until, self.asked)


class EditBody(Body):
    """The right answer is this text."""

    verdict: Literal["edit"]
    text: str
    until: Time | None = None
    note: NoteText = ""

    def told(self) -> Verdict:
        """Give the verdict."""
        return Edit(self.text, self.until)


class PlainBody(Body):
    """A verdict that needs no more words: rejected and kept, purged, made public, unreviewed again, or a mere note."""

    verdict: Literal["reject", "purge", "publish", "reopen", "note"]
    note: NoteText = ""

    def told(self) -> Verdict:
        """Give the verdict."""
        match self.verdict:
            case "reject":
                return Reject()
            case "purge":
                return Purge()
            case "publish":
                return Publish()
            case "reopen":
                return Reopen()
            case "note":
                return Note()


class PairBody(Body):
    """Never answer this question by this entry, or take that back; `*` stands for every question."""

    verdict: Literal["bar", "unbar"]
    asked: Asked
    note: NoteText = ""

    def told(self) -> Verdict:
        """Give the verdict."""
        return Bar(self.asked) if self.verdict == "bar" else Unbar(self.asked)


class ScopeBody(Body):
    """Only who asked first may get the answer (`narrow`), or everybody in its namespace again (`widen`)."""

    verdict: Literal["narrow", "widen"]
    note: NoteText = ""

    def told(self) -> Verdict:
        """Give the verdict."""
        return Narrow(on=self.verdict == "narrow")


class RaiseBody(Body):
    """The entry asks for at least this similarity; null takes that back."""

    verdict: Literal["raise"]
    least: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None
    note: NoteText = ""

    def told(self) -> Verdict:
        """Give the verdict."""
        return Raise(self.least)


VerdictBody = Annotated[
    ApproveBody | EditBody | PlainBody | PairBody | ScopeBody | RaiseBody, Field(discriminator="verdict")
]


class FilterBody(Body):
    """Which entries: all given fields must match."""

    text: Annotated[str, Field(max_length=500, description="Stands in question or answer.")] = ""
    tag: Name = ""
    model: Name = ""
    domain: Name = ""
    status: Literal["", "unreviewed", "approved", "edited", "rejected"] = ""
    namespace: Name = ""
    before: Time | None = None

    def told(self) -> Filter:
        """Give the filter."""
        return Filter(self.text, self.tag, self.model, self.domain, self.status, self.namespace, self.before)


class FoundQuery(FilterBody):
    """A filter, and which page of what it finds."""

    # Queries are text: numbers among it are read as such.
    model_config = ConfigDict(extra="forbid", strict=False, frozen=True)

    cursor: Annotated[str, Field(max_length=512)] = ""
    limit: Annotated[int, Field(ge=1, le=200)] = 50


class BulkBody(Body):
    """One verdict about all entries that a filter finds; `digest` as the dry run gave it."""

    filter: FilterBody
    verdict: VerdictBody
    dry_run: bool = True
    digest: Annotated[str, Field(max_length=64)] = ""


class TargetBody(Body):
    """What is to be invalidated: all given fields must match, or everything."""

    ids: Annotated[list[Name], Field(max_length=1000)] = Field(default_factory=list)
    tag: Name = ""
    namespace: Name = ""
    model: Name = ""
    everything: bool = False
    dry_run: bool = True
    note: NoteText = ""

    def told(self) -> Target:
        """Give the target."""
        ids = tuple(EntryId(name) for name in self.ids)
        return Target(ids, self.tag, self.namespace, self.model, self.everything)


class DismissBody(Body):
    """Entries that leave the queue without a verdict."""

    ids: Annotated[list[Name], Field(min_length=1, max_length=1000)]


class QuestionBody(Body):
    """A question that nobody asked yet."""

    question: Annotated[str, Field(min_length=1, max_length=20_000)]


class ExportBody(Body):
    """What to export: entries that match the filter (vectors only where asked for), an archive, or the whole audit log."""

    what: Literal["entries", "log", "archive"]
    filter: FilterBody = FilterBody()
    vectors: bool = False


class ErasureBody(Body):
    """Which end user is to be erased, as callers name them; `digest` as the dry run gave it."""

    subject: Annotated[str, Field(min_length=1, max_length=512)]
    dry_run: bool = True
    digest: Annotated[str, Field(max_length=64)] = ""
    note: NoteText = ""


class Problem(BaseModel):
    """What every refusal looks like (RFC 9457); `type` is stable, other texts are for people."""

    type: str
    title: str
    status: int
    detail: str
    etag: str | None = None
    digest: str | None = None
    errors: list[dict[str, str]] | None = None
