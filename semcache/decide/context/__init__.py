"""Multi-turn chats: what a last question comes to, and whether two of them come to the same.

    reading = read(request.body["messages"], request.system)
    reading = settle(reading, cosine of reading.text and reading.background)
    reasons = agree(reading, stored, nearness, kin)

Pure and without a language model; English, Chinese and mixed. Knows nothing of stores, encoders
and requests.
"""

from semcache.decide.context.agreement import ALIKE, NEAR, RETOLD, Nearness, agree, alike
from semcache.decide.context.kin import Kin, Wording
from semcache.decide.context.resolve import APART, Kind, Reading, read, settle

__all__ = [
    "ALIKE",
    "APART",
    "NEAR",
    "RETOLD",
    "Kin",
    "Kind",
    "Nearness",
    "Reading",
    "Wording",
    "agree",
    "alike",
    "read",
    "settle",
]
