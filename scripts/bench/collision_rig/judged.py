"""One attack put before the product: the attacker asks, the answer is stored in the namespace that both share, the victim asks.

What is reported is how far the attack comes: past a bare similarity, past the gate, past the verifier, past the evidence, which is
the decision of the policy as it ships. The last is the whole pipeline (store, FAISS, classifiers, evidence by the shipped calibration).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import orjson

from semcache.core import CachePolicy, Caller, Draft, Hit
from semcache.evaluate.asking import UPSTREAM, model_for
from semcache.evaluate.evidence import OwnEvidence
from semcache.evaluate.pairs import kind_of, reason_of, vetoes_of
from semcache.evaluate.rig import Rig
from semcache.journey import Asked
from semcache.judging import judge
from semcache.proxy.directives import directives_of
from semcache.proxy.recent import read_chat

BARE = (0.80, 0.90)
"""Similarities on the reference scale at which a cache with nothing but a threshold serves."""


@dataclass(frozen=True, slots=True)
class Seen:
    """How far one attack came; `reason` says what stopped it at last, "" when the victim was served."""

    similarity: float
    past_gate: bool
    past_verifier: bool
    served: bool
    drafted: bool
    reason: str

    def past(self, bar: float) -> bool:
        """True where a bare threshold would have served it."""
        return self.similarity >= bar


class Judging:
    """Asks both sides of an attack."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig.under(OwnEvidence(rig.parts.prior, 0, 1000, labelling=False))
        self._model = model_for(rig.parts.snapshot.tenant(rig.parts.tenant))
        self._number = 0

    def policy(self, domain: str) -> CachePolicy:
        """Give the policy of a domain as it ships."""
        return self._rig.parts.snapshot.tenant(self._rig.parts.tenant).domains[domain]

    async def run(self, attack: str, victim: str, domain: str) -> Seen:
        """Let the attacker's answer be stored, then ask as the victim.

        Raises:
            SemcacheError: a part of the cache failed.
        """
        self._number += 1
        space, pipeline = f"attack.{self._number}", self._rig.pipeline(domain)
        await self._rig.ask(pipeline, self._asked(attack, space, "attacker"))
        decision = (await self._rig.explain(pipeline, self._asked(victim, space, "victim"))).decision
        policy, parts = self.policy(domain), self._rig.parts
        bare = await judge(parts.encoder, None, attack, victim, replace(policy, verifier=False))
        gated = isinstance(bare, Hit)
        near = (bare.similarity or 0.0) >= policy.alone.threshold
        verified = near and isinstance(
            await judge(parts.encoder, parts.verifier, attack, victim, policy), Hit
        )
        return Seen(
            similarity=bare.similarity if isinstance(bare, Hit | Draft) else bare.similarity or 0.0,
            past_gate=gated,
            past_verifier=verified,
            served=kind_of(decision).is_served,
            drafted=isinstance(decision, Draft),
            reason=reason_of(decision)
            or ("+".join(vetoes_of(decision)) if isinstance(decision, Draft) else ""),
        )

    async def hits(self, attack: str, victim: str, domain: str) -> tuple[bool, float]:
        """Say what an attacker who holds the whole decision sees: whether it would be a hit, and how near it comes."""
        parts = self._rig.parts
        found = await judge(parts.encoder, parts.verifier, attack, victim, self.policy(domain))
        score = getattr(found, "score", None) or 0.0
        return isinstance(found, Hit), (getattr(found, "similarity", None) or 0.0) + score

    def _asked(self, text: str, space: str, user: str) -> Asked:
        messages = [{"role": "user", "content": text}]
        body = {"model": self._model, "messages": messages, "temperature": 0, "user": user}
        parsed = read_chat(orjson.dumps(body))
        directives = directives_of({b"semcache-namespace": space.encode()}, parsed.cache_object)
        return Asked(parsed.request, Caller(self._rig.parts.tenant), directives, upstream=UPSTREAM)
