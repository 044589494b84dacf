"""Who waits: bounded, in order within a tenant, tenants in turn. Safe from any thread.

Every operation takes constant time, however many wait. Knows nothing of the model.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from semcache.engine.generation import overloaded
from semcache.engine.scheduling.job import Job

RETRY_AFTER = 2
"""Seconds after which a refused client should come back."""


class WaitingQueue:
    """Holds at most `limit` requests; a tenant under its fair share of them still gets in when it is full.

    Without that, one tenant that fills the queue would shut all others out. The reserve is as
    large as the queue again, so that memory stays bounded.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._tenants: OrderedDict[str, OrderedDict[Job, None]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def push(self, job: Job) -> None:
        """Queue a request behind its tenant's others.

        Raises:
            RequestError: no place (503 `overloaded`, with Retry-After).
        """
        with self._lock:
            own = self._tenants.get(job.tenant)
            if not self._has_place(0 if own is None else len(own)):
                raise overloaded(f"{self._count} requests are waiting already", retry_after=RETRY_AFTER)
            if own is None:
                own = self._tenants[job.tenant] = OrderedDict()
            own[job] = None
            self._count += 1

    def head(self) -> Job | None:
        """Give the request whose turn it is, without taking it."""
        with self._lock:
            for jobs in self._tenants.values():
                return next(iter(jobs))
            return None

    def take(self, job: Job) -> bool:
        """Remove the head; its tenant is last now. False when it was cancelled in the meantime."""
        with self._lock:
            found = self._remove(job)
            if job.tenant in self._tenants:
                self._tenants.move_to_end(job.tenant)
            return found

    def remove(self, job: Job) -> bool:
        """Take a request out wherever it stands; False when it does not wait."""
        with self._lock:
            return self._remove(job)

    def drain(self) -> list[Job]:
        """Empty the queue; give who waited."""
        with self._lock:
            left = [job for jobs in self._tenants.values() for job in jobs]
            self._tenants.clear()
            self._count = 0
            return left

    def _has_place(self, own: int) -> bool:
        if self._count < self._limit:
            return True
        fair = self._limit // (len(self._tenants) + (own == 0))
        return own < fair and self._count < 2 * self._limit

    def _remove(self, job: Job) -> bool:
        jobs = self._tenants.get(job.tenant)
        if jobs is None or job not in jobs:
            return False
        del jobs[job]
        self._count -= 1
        if not jobs:
            del self._tenants[job.tenant]
        return True
