"""Multi-turn chats: what a last question comes to, and whether two of them come to the same.

    reading = read(request.body["messages"], request.system)
    reading = settle(reading, cosine of reading.text and reading.background)
    reasons = agree(reading, stored, nearness, judge, small talk among open_texts)

Pure and without a language model; English, Chinese and mixed. Knows nothing of stores, encoders
and requests.
"""

from semcache.decide.context.agreement import ALIKE, NEAR, RETOLD, Nearness, agree, alike, open_texts
from semcache.decide.context.judge import ChatJudge, open_judge
from semcache.decide.context.kin import Judge, Kin
from semcache.decide.context.resolve import APART, Kind, Reading, read, settle

__all__ = [
    "ALIKE",
    "APART",
    "NEAR",
    "RETOLD",
    "ChatJudge",
    "Judge",
    "Kin",
    "Kind",
    "Nearness",
    "Reading",
    "agree",
    "alike",
    "open_judge",
    "open_texts",
    "read",
    "settle",
]
