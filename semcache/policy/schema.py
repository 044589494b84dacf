"""The shape of a policy file: frozen pydantic models, one knob a field, unknown keys refused.

Knows the knobs, their limits and their built-in defaults. Does not know files, YAML, how a
domain inherits from `defaults:` (`effective`) or what several files may not both say (`loader`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from semcache.core import Mode
from semcache.policy.confirm_knobs import ConfirmationKnobs
from semcache.policy.cost_knobs import CostKnobs, LabelKnobs
from semcache.policy.gate_knobs import Gate
from semcache.policy.history_knobs import HistoryKnobs
from semcache.policy.parts import Knobs
from semcache.policy.patterns import compile_pattern
from semcache.policy.prefix_knobs import PrefixKnobs
from semcache.policy.review_knobs import DraftKnobs, ReviewKnobs
from semcache.policy.risk_knobs import Alone, Audit, Risk, ShortName, VerifierKnobs
from semcache.policy.values import Duration, Flag, RawCosine, Size, Threshold, as_list, hex_digest

OTHER = "other"
"""The classifier's class of ordinary questions; never the name of a domain."""

EMPTY_KEY_HASH = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"""SHA-256 of nothing: what a shell gives when the key variable was unset."""


def _not_reserved(name: str) -> str:
    if name == OTHER:
        raise ValueError(f"{OTHER!r} is the classifier's word for no domain: choose another name")
    return name


def _key_hash(value: str) -> str:
    digest = hex_digest(value, "(the SHA-256 of the key), never the key itself")
    if digest == EMPTY_KEY_HASH:
        raise ValueError("is the hash of an empty key")
    return digest


def _route(value: str) -> str:
    if not value.startswith("/"):
        raise ValueError('should begin with "/", and may end in "*" to mean every path that begins so')
    return value


def _regex(value: str) -> str:
    compile_pattern(value)
    return value


def _scope(value: object) -> object:
    if value == "public":
        raise ValueError(
            "should be user or tenant: an answer becomes public only when a human marks that entry, never by a policy"
        )
    return value


TenantName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
DomainName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$"), AfterValidator(_not_reserved)]
ClassName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]
EncoderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$")]
ModelPattern = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(min_length=1, max_length=4000)]
Strings = BeforeValidator(as_list)


class Key(Knobs):
    """One API key of the tenant."""

    name: ShortName = Field(description="Shown in records and reports instead of the key.")
    hash: Annotated[str, AfterValidator(_key_hash)] = Field(
        description='"sha256:" and the SHA-256 of the key in hex; the key itself is never written down.'
    )
    labels: LabelKnobs = Field(
        LabelKnobs(), description="Labels of all its requests, whatever the client says."
    )


class Access(Knobs):
    """Who may speak for this tenant."""

    keys: tuple[Key, ...] = Field((), max_length=1000, description="API keys of the tenant, by hash.")
    anonymous: Literal["never", "loopback"] = Field(
        "never",
        description="Whether a caller on this machine needs no key. One tenant at most may say loopback.",
    )
    unknown_keys: Literal["reject", "passthrough"] = Field(
        "reject",
        description="What becomes of a key that no file knows: refused, or passed to the upstream with a cache of"
        " its own. One tenant at most may say passthrough.",
    )


class EncoderBand(Knobs):
    """Raw cosines for one encoder that has no calibration table."""

    threshold: RawCosine = Field(description="Raw cosine that stands for the domain's threshold.")
    verified: RawCosine | None = Field(
        None, description="The same for verified_threshold; stated when that is."
    )
    draft: RawCosine | None = Field(None, description="The same for draft_threshold; stated when that is.")


class StoreKnobs(Knobs):
    """What may be kept."""

    enabled: Flag = Field(True, description="Whether new answers are stored.")
    max_entry_bytes: Size = Field(1 << 20, description="Answers longer than this are not stored.")
    tool_calls: Flag = Field(False, description="Whether answers that call tools are stored.")


class Sampling(Knobs):
    """Which randomness still allows reuse."""

    max_temperature: Annotated[float, Field(strict=True, ge=0, le=2, allow_inf_nan=False)] = Field(
        0.3, description="Requests above this temperature bypass the cache."
    )
    allow_unset: Flag = Field(True, description="Whether a request that names no temperature may be cached.")


class DomainKnobs(Knobs):
    """Everything a domain may say; what it leaves out comes from `defaults:`, then from here."""

    mode: Mode = Field(
        Mode.EXACT,
        description="off: no part. shadow: decide and record, serve nothing. exact: equal requests only."
        " semantic: also by meaning.",
    )
    threshold: Threshold | None = Field(
        None, description="Least similarity for serving, on the reference scale; higher is stricter."
    )
    verified_threshold: Threshold | None = Field(
        None, description="The same for answers a human approved. Absent: as threshold."
    )
    draft_threshold: Threshold | None = Field(
        None, description="From here up to threshold an answer is a draft. Absent: no drafts."
    )
    alone: Alone | None = Field(
        None,
        description="Serving below threshold where no other stored question is near. Absent: not done.",
    )
    encoder_thresholds: Mapping[EncoderName, EncoderBand] = Field(
        {},
        max_length=32,
        description="Raw cosines by encoder name, for encoders without a calibration table.",
    )
    scope: Annotated[Literal["user", "tenant"], BeforeValidator(_scope)] = Field(
        "tenant", description="Who shares answers: all callers of the tenant, or each end user alone."
    )
    ttl: Duration = Field(
        86_400.0, description='Lifetime of a stored answer: seconds, or "15m", "24h", "7d".'
    )
    ttl_jitter: Annotated[float, Field(strict=True, ge=0, le=0.5, allow_inf_nan=False)] = Field(
        0.1, description="Lifetimes vary by up to this share, so that not all end at once."
    )
    volatile_ttl: Duration = Field(
        300.0, description="Lifetime at most for questions about the present (today, now, latest, current)."
    )
    max_age: Duration | None = Field(
        None, description="Stored answers older than this are not served. null: only ttl counts."
    )
    store: StoreKnobs = Field(StoreKnobs(), description="What may be kept.")
    sampling: Sampling = Field(Sampling(), description="Which randomness still allows reuse.")
    max_user_turns: Annotated[int, Field(strict=True, ge=1, le=1000)] = Field(
        20, description="Conversations with more user turns are never matched by meaning."
    )
    conversations: Literal["resolved", "equal"] = Field(
        "resolved",
        description="Whether a question in a conversation is matched by what the conversation comes to, or only after"
        " equal turns.",
    )
    tools: Literal["exact", "off"] = Field(
        "exact", description="Requests with tools: exact matches only, or no cache at all."
    )
    gate: Gate = Field(Gate(), description="What differences between two questions do.")
    verifier: VerifierKnobs = Field(VerifierKnobs(), description="How likely an answer must be right.")
    risk: Risk = Field(Risk(), description="How many wrong answers are allowed, and until that is known.")
    audit: Audit = Field(Audit(), description="How hits are checked afterwards.")
    drafts: DraftKnobs = Field(DraftKnobs(), description="How a near answer helps to make the new one.")
    review: ReviewKnobs = Field(
        ReviewKnobs(), description="What humans get to see, and what their word counts."
    )
    confirmation: ConfirmationKnobs = Field(
        ConfirmationKnobs(), description="What an answer needs before others than its author get it."
    )
    commons: Flag = Field(
        False,
        description="Whether answers that an operator made public are served here, and those of here may be made public.",
    )
    usage_on_hit: Literal["zero", "original"] = Field(
        "zero", description="Tokens reported with a hit: none, or those the answer once cost."
    )
    neighbours: Annotated[int, Field(strict=True, ge=1, le=64)] = Field(
        8, description="How many nearest entries are looked at."
    )

    @field_validator("threshold", mode="before")
    @classmethod
    def _threshold_is_never_null(cls, value: object) -> object:
        if value is None:
            raise ValueError("should be a number from 0 to 1; leave the key out to inherit")
        return value


class SystemPrompt(Knobs):
    """A condition on the system prompt; one of the two is enough."""

    contains: Annotated[tuple[Text, ...], Strings] = Field(
        (), max_length=100, description="Any of these texts occurs (letter case ignored)."
    )
    regex: Annotated[str, AfterValidator(_regex)] | None = Field(
        None, description="This pattern is found (letter case ignored; plain dialect, time limit)."
    )

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.contains and self.regex is None:
            raise ValueError("should state contains or regex")
        return self


class Rule(Knobs):
    """Assigns a domain when every condition it states holds."""

    domain: DomainName = Field(description="The domain it assigns.")
    name: ShortName | None = Field(None, description="Shown by explain.")
    routes: Annotated[tuple[Annotated[str, AfterValidator(_route)], ...], Strings] = Field(
        (), max_length=100, description='Any of these paths; a final "*" means every path that begins so.'
    )
    models: Annotated[tuple[ModelPattern, ...], Strings] = Field(
        (), max_length=100, description='Any of these models; a final "*" means every name that begins so.'
    )
    system_prompt: SystemPrompt | None = Field(None, description="A condition on the system prompt.")

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.routes and not self.models and self.system_prompt is None:
            raise ValueError(
                "should state routes, models or system_prompt; for everything else there is default_domain"
            )
        return self


class Assign(Knobs):
    """How a request finds its domain."""

    header: Flag = Field(
        True,
        description="Whether callers may name a further domain by Semcache-Domain; the stricter of both holds.",
    )
    rules: tuple[Rule, ...] = Field(
        (), max_length=500, description="In order; the first that matches assigns."
    )


class ClassifierKnobs(Knobs):
    """Finds the domain of a question by meaning; can only make the policy stricter."""

    enabled: Flag = Field(False, description="Whether questions are classified.")
    exemplars: Mapping[ClassName, Annotated[tuple[Text, ...], Field(min_length=1, max_length=500)]] = Field(
        {},
        max_length=64,
        description='Typical questions by domain, and "other" for ordinary ones; a list given here replaces the'
        " built-in list of that name (medical, legal, code, other).",
    )
    min_similarity: Threshold = Field(
        0.2, description="Least likeness to a domain; 0 is unrelated, 1 is equal, on every encoder."
    )
    margin: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)] = Field(
        0.02, description="By how much a domain must lead every other one."
    )


class Quotas(Knobs):
    """How much one tenant may keep, so that none can push out another."""

    max_entries: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        None, description="Stored answers. null: 100,000."
    )
    max_bytes: Size | None = Field(None, description='Bytes of stored answers, or "2GiB". null: 1 GiB.')
    max_near_per_author: Annotated[int, Field(strict=True, ge=1, le=1000)] | None = Field(
        20,
        description="Unreviewed answers of one author that may be found by meaning within a similarity of 0.9 of each"
        " other. null: no limit.",
    )
    max_share_per_key: Annotated[float, Field(strict=True, gt=0, lt=1, allow_inf_nan=False)] | None = Field(
        0.5,
        description="Where room is short, who holds more than this share of it (one API key, or one end user) gives way"
        " first. null: no such rule.",
    )


class CallKnobs(Knobs):
    """How much of the upstreams one tenant may take up at once; stored answers are served whatever it says."""

    concurrent_calls: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        None, description="Calls to upstreams under way at once, a worker. null: no limit."
    )
    queue: Annotated[int, Field(strict=True, ge=0, le=100_000)] = Field(
        100, description="How many more may wait for one of these to end."
    )
    queue_seconds: Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)] = Field(
        5.0, description="How long they wait; then, as where too many wait, 429."
    )


class Trial(Knobs):
    """A pair of questions that the policy must match or must keep apart."""

    a: Text = Field(description="The stored question.")
    b: Text = Field(description="The asked question.")
    domain: DomainName | None = Field(None, description="Under which domain. Absent: the default domain.")
    expect: Literal["match", "differ"] = Field(description="Whether the answer to a may be served for b.")
    note: str = Field("", max_length=500, description="Why.")


class PolicyFile(Knobs):
    """One file: one tenant."""

    schema_version: Literal[1] = Field(description="Version of this format.")
    tenant: TenantName = Field(description="Whose policy this is; unique over all files.")
    access: Access = Field(Access(), description="Who may speak for this tenant.")
    upstream: ShortName | None = Field(
        None, description="Name of an upstream of the main configuration. Absent: the first one."
    )
    models: Annotated[tuple[ModelPattern, ...], Strings, Field(min_length=1, max_length=1000)] | None = Field(
        None,
        description='Models this tenant may ask for; a final "*" means every name that begins so. Absent: all.',
    )
    default_domain: DomainName = Field(description="The domain of requests that no rule matches.")
    defaults: DomainKnobs = Field(DomainKnobs(), description="What domains inherit.")
    domains: Mapping[DomainName, DomainKnobs] = Field(
        min_length=1, max_length=64, description="The kinds of questions, each with its knobs."
    )
    assign: Assign = Field(Assign(), description="How a request finds its domain.")
    classifier: ClassifierKnobs = Field(ClassifierKnobs(), description="Finds the domain by meaning.")
    quotas: Quotas = Field(Quotas(), description="How much may be kept.")
    limits: CallKnobs = Field(CallKnobs(), description="How many calls may be under way at once.")
    prefix: PrefixKnobs = Field(PrefixKnobs(), description="Reuse of computed prompts in the local engine.")
    costs: CostKnobs = Field(CostKnobs(), description="Budgets, and what hits are charged at.")
    history: HistoryKnobs = Field(HistoryKnobs(), description="Trimming of long histories.")
    tests: tuple[Trial, ...] = Field((), max_length=2000, description="Pairs that must match or must differ.")


def json_schema() -> Mapping[str, Any]:
    """Give the JSON Schema of a policy file, for editors."""
    return PolicyFile.model_json_schema()
