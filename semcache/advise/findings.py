"""What an analysis found: one frozen object, which the screen, JSON and the page print.

Shares are in [0, 1], money is micro-USD, times are Unix seconds, durations seconds. Tokens are guessed from texts (`tokens`)
unless a field says otherwise. A part that was not asked for, or could not be made, is None. Holds no text of a log but in
`Semantic.examples`, for which somebody must ask.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from semcache.cost_port import LintFinding

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class FileRead:
    """One file: its form (`jsonl`, `json`, `csv`, `text`), whose logs (`openai`, `litellm` ...), and how much of it was read."""

    name: str
    form: str
    sources: tuple[tuple[str, int], ...]
    bytes: int
    rows: int
    skipped: int


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read. `order` is `time`, or `file` where no row has a time; `sorted` says that rows had to be put in order.

    `untimed` rows stand where they stood in their file. `reasons` counts what was skipped, `examples` are the first of it.
    """

    files: tuple[FileRead, ...]
    rows: int
    skipped: int
    reasons: tuple[tuple[str, int], ...]
    examples: tuple[str, ...]
    first: float | None
    last: float | None
    untimed: int
    order: str
    sorted: bool
    limited: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and money of some requests, as the log says, or guessed (`estimated` requests) where it does not.

    `cost` is what is known: `logged` requests say it themselves, others by list prices; `unpriced` have no part in it.
    """

    requests: int = 0
    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0
    reasoning: int = 0
    cost: int = 0
    logged: int = 0
    unpriced: int = 0
    estimated: int = 0
    failed: int = 0
    from_cache: int = 0


@dataclass(frozen=True, slots=True)
class Spending:
    """What all requests used: in all, by model, tenant and day; the largest, the others under `~other`."""

    total: Spent
    by_model: tuple[tuple[str, Spent], ...]
    by_tenant: tuple[tuple[str, Spent], ...]
    by_day: tuple[tuple[str, Spent], ...]
    seconds_p50: float | None
    seconds_p95: float | None
    timed: int
    price_version: str = ""


@dataclass(frozen=True, slots=True)
class Shared:
    """Tokens of some group, and how many of them an earlier prompt began with too."""

    name: str
    requests: int
    tokens: int
    reused: int

    @property
    def share(self) -> float:
        """Part of the tokens that need not be computed again."""
        return self.reused / self.tokens if self.tokens else 0.0


@dataclass(frozen=True, slots=True)
class Head:
    """A beginning that many prompts share: a digest that names it, its tokens, and how many prompts begin with it."""

    digest: str
    part: str
    tokens: int
    prompts: int
    model: str
    tenant: str


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much of the prompts is a beginning that came before (same tenant, same model), in blocks of `block` tokens.

    `by_depth` tells tokens apart by how deep in the prompt they stand, `by_part` by what they belong to (`tools`, `system`,
    `history`, `documents`, `question`). `provider` is what a provider's prompt cache takes of it, by its rules: at least
    `provider_least` tokens, last used at most `provider_life` seconds ago; None without times. `forgotten` beginnings fell out of
    bounded memory: then shares are lower bounds.
    """

    all: Shared
    provider: Shared | None
    by_depth: tuple[Shared, ...]
    by_part: tuple[Shared, ...]
    by_model: tuple[Shared, ...]
    by_tenant: tuple[Shared, ...]
    heads: tuple[Head, ...]
    block: int
    nodes: int
    forgotten: int
    provider_least: int = 1024
    provider_life: float = 300.0


@dataclass(frozen=True, slots=True)
class Exact:
    """Requests whose meaning-bearing body came before (the product's own keys), as an unlimited cache would serve them.

    `repeats` came before at all, `hits` within the policy's lifetime (`ttl` of the default domain); `out_of_reach` are kept
    from the cache by what they say or by policy, for `reasons`. Saved tokens and money are those of the hits.
    """

    requests: int
    cacheable: int
    repeats: int
    hits: int
    out_of_reach: int
    reasons: tuple[tuple[str, int], ...]
    ttl: float
    saved_input: int
    saved_output: int
    saved_cost: int
    unpriced: int
    saved_seconds: float
    by_tenant: tuple[tuple[str, int, int], ...] = ()
    """Tenant, requests, hits."""
    forgotten: int = 0


@dataclass(frozen=True, slots=True)
class Size:
    """What a cache must hold for a share of all that an unlimited one would give, oldest out first.

    `items` are entries (answers) or tokens (prefixes), `bytes` what they take.
    """

    share: float
    items: int
    bytes: int


@dataclass(frozen=True, slots=True)
class SizeCurve:
    """Sizes for shares of the gain. `curve` has points (items, share of the unlimited gain), both rising, for a plot.

    `rate` below 1 says that distances were measured on this part of all items only (spatial sampling).
    """

    sizes: tuple[Size, ...]
    curve: tuple[tuple[int, float], ...]
    item_bytes: int
    distinct: int
    rate: float


@dataclass(frozen=True, slots=True)
class Sizes:
    """Cache sizes: of answers (entries), and of prefixes (tokens of KV, `kv_bytes` of some models a token)."""

    answers: SizeCurve | None
    prefixes: SizeCurve | None
    kv_bytes: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class DomainReplay:
    """What the replay served in one domain; wrong hits are expected ones, with an interval.

    `wrong` is the likely number of wrong ones among the `semantic` hits, `wrong_interval` the 95 % interval of that number, both
    None where nothing can be said; `wrong_method` says what they rest on (`advise.wrong.Method`). `would_be` hits were kept back
    by the evidence alone, `held_back` the policy's word for it. `reasons` say why there were misses and bypasses. `compared` counts
    hits by meaning whose two answers the log holds: right, wrong, undecided. `repeated` the same of exact hits: whose answers
    disagree, the answers of this domain change with time. Of `looked` requests `personal` tell something of a person and `volatile`
    ask about the present. Savings are those of exact and semantic hits together.
    """

    domain: str
    requests: int
    exact: int
    semantic: int
    drafts: int
    wrong: float | None = None
    wrong_interval: Interval | None = None
    saved_cost: int = 0
    saved_seconds: float = 0.0
    wrong_method: str = "unknown"
    would_be: int = 0
    held_back: str = ""
    reasons: tuple[tuple[str, int], ...] = ()
    compared: tuple[int, int, int] = (0, 0, 0)
    repeated: tuple[int, int, int] = (0, 0, 0)
    saved_by_exact: int = 0
    saved_input: int = 0
    saved_output: int = 0
    unpriced: int = 0
    asked_seconds: float = 0.0
    timed: int = 0
    personal: int = 0
    volatile: int = 0
    looked: int = 0
    budget: float = 0.0
    ttl: float = 0.0

    @property
    def hits(self) -> int:
        """Answers from the cache, exact and by meaning."""
        return self.exact + self.semantic


@dataclass(frozen=True, slots=True)
class Semantic:
    """What the real pipeline would have served, request after request in time order.

    `requests` were counted, of `of` in the log. `sampled`: not all of them; `sample` says which, `hit_interval` is the 95 %
    interval of the share of hits in the whole log then. `examples` are questions of hits by meaning with those whose answer
    they would get, if they were asked for. `answers` of them came with the model's answer. `embedded` texts took
    `embed_seconds` of processor time each, a decision `decide_seconds` of wall time in the mean.
    """

    requests: int
    sampled: bool
    domains: tuple[DomainReplay, ...]
    exact: int
    semantic: int
    drafts: int
    wrong: float | None
    wrong_interval: Interval | None
    saved_cost: int
    saved_seconds: float
    unpriced: int = 0
    notes: tuple[str, ...] = ()
    of: int = 0
    sample: str = ""
    hit_interval: Interval | None = None
    would_be: int = 0
    answers: int = 0
    embedded: int = 0
    embed_seconds: float = 0.0
    decide_seconds: float = 0.0
    seconds: float = 0.0
    wrong_method: str = "unknown"
    examples: tuple[str, ...] = ()

    @property
    def hits(self) -> int:
        """Answers from the cache, exact and by meaning."""
        return self.exact + self.semantic


@dataclass(frozen=True, slots=True)
class DomainWorth:
    """What reuse is worth in one domain, a day: of all requests of the log, scaled up where only a sample was replayed.

    `saved` by exact repeats and by meaning, `extra` for audits and embedding; micro-USD, None where nothing in the domain has a
    price. `seconds` is the waiting that callers are spared.
    """

    domain: str
    requests: float
    hits: float
    by_exact: int | None
    by_meaning: int | None
    audits: int | None
    embedding: int
    seconds: float
    input: float
    output: float

    @property
    def net(self) -> int | None:
        """What remains a day, in micro-USD; None without prices."""
        if self.by_exact is None or self.by_meaning is None:
            return None
        return self.by_exact + self.by_meaning - (self.audits or 0) - self.embedding


@dataclass(frozen=True, slots=True)
class Worth:
    """What reuse is worth, a day of `days` in the log (`days` 0: no times, then all figures are those of the whole log).

    `by_provider` is what the provider's own prompt cache would take off besides, if it is not used yet; None without times or prices.
    `unpriced` is the share of hits without a price. `core_seconds` of processor time embedding takes.
    """

    days: float
    domains: tuple[DomainWorth, ...]
    total: DomainWorth
    unpriced: float
    core_seconds: float
    by_provider: int | None = None
    provider_already: int = 0
    notes: tuple[str, ...] = ()

    @property
    def month(self) -> int | None:
        """Net worth of thirty days, in micro-USD; None without times or prices."""
        return None if self.total.net is None or not self.days else self.total.net * 30


@dataclass(frozen=True, slots=True)
class LevelAdvice:
    """What to do with one level of reuse in one domain ("" for all): `verdict` is `on`, `shadow`, `off` or `unknown`.

    `level` is `exact`, `meaning`, `prefix` (the local engine's) or `provider` (the provider's prompt cache). `why` gives the figures
    that led there.
    """

    domain: str
    level: str
    verdict: str
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do: `switch_on` None is undecided. `reasons` in the order of their weight; `policy` is a policy file's text."""

    switch_on: bool | None
    reasons: tuple[str, ...]
    steps: tuple[str, ...]
    policy: str = ""
    levels: tuple[LevelAdvice, ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """All of it."""

    reading: Reading
    spending: Spending
    overlap: Overlap
    exact: Exact
    sizes: Sizes
    lint: tuple[LintFinding, ...] | None = None
    semantic: Semantic | None = None
    worth: Worth | None = None
    advice: Advice | None = None
    notes: tuple[str, ...] = field(default=())
