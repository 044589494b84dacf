"""Who may look and who may decide: tokens with roles, bound to tenants, and how often somebody may fail.

Tokens are found by their SHA-256, compared in constant time. Knows no HTTP and no settings.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from semcache.core import TenantId
from semcache.errors import PolicyError
from semcache.review.problems import ForbiddenError, NotThereError
from semcache.review_rules import PUBLIC

EVERY = "*"
"""All tenants, that of public answers included."""
LEAST_SECRET = 16
"""Characters of a token; what is shorter can be guessed."""
MOST_SECRET = 512
TOKEN_FILE = "admin-token"  # noqa: S105 - a file's name
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_MOST_ADDRESSES = 10_000


class Role(StrEnum):
    """What a token may do; each role may what those before it may."""

    VIEWER = "viewer"
    REVIEWER = "reviewer"
    OPERATOR = "operator"

    @property
    def rank(self) -> int:
        """Higher may more."""
        return list(Role).index(self)


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Who is behind a token: its name, what it may do, and the tenants it sees (`*`: all)."""

    name: str
    role: Role
    tenants: frozenset[str]

    def may(self, role: Role) -> bool:
        """True when this role reaches."""
        return self.role.rank >= role.rank

    def sees(self, tenant: TenantId) -> bool:
        """True when the tenant's answers are this reviewer's business; public ones are for who sees all."""
        return EVERY in self.tenants or (tenant in self.tenants and tenant != PUBLIC)


def allow(who: Reviewer, tenant: TenantId, role: Role) -> None:
    """Let somebody go on.

    Raises:
        NotThereError: the tenant is not theirs to see.
        ForbiddenError: the role does not reach.
    """
    if not who.sees(tenant):
        raise NotThereError("tenant")
    if not who.may(role):
        raise ForbiddenError(role.value)


@dataclass(frozen=True, slots=True)
class TokenSpec:
    """A token as the settings state it, its secret resolved."""

    name: str
    secret: str
    role: Role
    tenants: tuple[str, ...]


class Tokens:
    """All tokens, by digest.

    Args:
        specs: what the settings say.

    Raises:
        PolicyError: two tokens of one name or secret, one too short, or one without tenants.
    """

    def __init__(self, specs: Iterable[TokenSpec]) -> None:
        self._known: list[tuple[bytes, Reviewer]] = []
        for spec in specs:
            self._add(spec)

    def __len__(self) -> int:
        return len(self._known)

    def find(self, secret: str) -> Reviewer | None:
        """Give whose token this is; all are compared, so that time tells nothing."""
        given = _digest(secret) if len(secret) <= MOST_SECRET else b""
        found: Reviewer | None = None
        for known, reviewer in self._known:
            if hmac.compare_digest(known, given):
                found = reviewer
        return found

    def _add(self, spec: TokenSpec) -> None:
        where = f"admin.tokens: {spec.name!r}"
        if not spec.name or not spec.name.isprintable():
            raise PolicyError("admin.tokens: every token needs a printable name")
        if not LEAST_SECRET <= len(spec.secret) <= MOST_SECRET:
            raise PolicyError(f"{where}: the secret must have {LEAST_SECRET} to {MOST_SECRET} characters")
        if not spec.tenants:
            raise PolicyError(f"{where}: name its tenants, or '*' for all")
        digest = _digest(spec.secret)
        for known, reviewer in self._known:
            if reviewer.name == spec.name:
                raise PolicyError(f"{where}: this name stands there twice")
            if known == digest:
                raise PolicyError(f"{where}: the same secret as {reviewer.name!r}")
        self._known.append((digest, Reviewer(spec.name, spec.role, frozenset(spec.tenants))))


@dataclass(frozen=True, slots=True)
class Opened:
    """The tokens in force; `link` is the secret for the screen's ready link, "" where tokens are configured."""

    tokens: Tokens
    link: str = ""


def open_tokens(specs: Sequence[TokenSpec], host: str, data: Path) -> Opened:
    """Give the tokens; without any, on loopback, one of an operator that is made once and kept.

    Raises:
        PolicyError: the listener would be open to the network without a token; a bad token.
    """
    if specs:
        return Opened(Tokens(specs))
    if not is_loopback(host):
        raise PolicyError(
            f"refusing to open the review pages on {host}: no token is configured. Make a secret "
            "(python -c 'import secrets; print(secrets.token_urlsafe(32))'), put it into a file or variable, name "
            "it under admin.tokens with a role and tenants; or listen on 127.0.0.1; or set admin.enabled: false"
        )
    secret = kept_token(data / TOKEN_FILE)
    return Opened(Tokens([TokenSpec("local", secret, Role.OPERATOR, (EVERY,))]), secret)


def is_loopback(host: str) -> bool:
    """True when only this machine can reach an address."""
    return host in _LOOPBACK


def kept_token(path: Path) -> str:
    """Give the token kept in a file that its owner alone can read; made when there is none.

    Raises:
        PolicyError: the file cannot be made or read, others can read it, or it holds no token.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _make(path)
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(handle, encoding="ascii") as file:
            mode = os.fstat(file.fileno()).st_mode
            secret = file.read(MOST_SECRET + 1).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"the review token cannot be kept: {type(error).__name__}", str(path)) from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise PolicyError(
            "others can read the review token: chmod 600, or delete it for a new one", str(path)
        )
    if not LEAST_SECRET <= len(secret) <= MOST_SECRET:
        raise PolicyError("holds no review token: delete it for a new one", str(path))
    return secret


def _make(path: Path) -> None:
    """Write a fresh token, whole or not at all: two processes may begin at once."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with suppress(FileExistsError):
        if path.exists():
            return
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
        try:
            os.link(draft, path)
        finally:
            draft.unlink()


@dataclass(slots=True)
class _Failures:
    count: int
    last: float


class Tries:
    """Counts failed tries by address; after some, each further one must wait twice as long as the one before.

    Args:
        now: seconds that never go back.
        free: failures that cost nothing.
        longest: the longest wait in seconds; after as long without a failure all is forgotten.
    """

    def __init__(self, now: Callable[[], float], *, free: int = 5, longest: float = 300.0) -> None:
        self._now = now
        self._free = free
        self._longest = longest
        self._failed: OrderedDict[str, _Failures] = OrderedDict()

    def wait(self, address: str) -> float:
        """Give the seconds until this address may try again, 0 when it may now."""
        failures = self._failed.get(address)
        if failures is None:
            return 0.0
        passed = self._now() - failures.last
        if passed >= self._longest:
            del self._failed[address]
            return 0.0
        if failures.count <= self._free:
            return 0.0
        due = min(2.0 ** min(failures.count - self._free - 1, 30), self._longest)
        return max(0.0, due - passed)

    def failed(self, address: str) -> None:
        """Note a failed try."""
        failures = self._failed.setdefault(address, _Failures(0, 0.0))
        failures.count += 1
        failures.last = self._now()
        self._failed.move_to_end(address)
        while len(self._failed) > _MOST_ADDRESSES:
            self._failed.popitem(last=False)

    def succeeded(self, address: str) -> None:
        """Forget the failures of an address."""
        self._failed.pop(address, None)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
