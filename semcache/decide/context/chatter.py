"""Sayings that bear on nothing: greetings, thanks, apologies, offers to help.

Sure of its kind whatever stands around it, other than small talk (see `smalltalk`). Knows
nothing of questions.
"""

from __future__ import annotations

from functools import lru_cache

from semcache.decide.context.words import is_function, words_of
from semcache.decide.text import is_han
from semcache.decide.wordlist import split

# Words of which a clause may be made up altogether and still say nothing.
_COURTESY = """
thanks thank thankyou thx ty cheers appreciate appreciated appreciative grateful welcome pleasure hello hi hey greetings morning
afternoon evening day good great lovely awesome amazing fantastic brilliant excellent cool wow nice sweet neat super perfect fine
sorry terribly apologies apologize apologise apology inconvenience understand understood understandable understandably totally
frustrating patience patient happy glad assist assistance help helpful helping helped absolutely certainly definitely course sure
worries worry hear sounds sound luck hope hoping bye goodbye farewell care awaiting anytime sir madam mr ms lol haha hahaha hehe ha
oh wonderful yay phew gosh goodness question questions quick quickly fast ask asking moment sec hang hold bother bothering noted right
indeed exactly agree agreed fair true clear makes sense feel free kind kindly congratulations congrats enjoy reply response god bless
support team friendly chat chatting talk talking know everything second so very really too just all always again okay ok yes well
"""
# And what only those say who serve.
_SERVICE = """
frustration frustrated annoying annoyed completely delighted gladly assisting helps problem problems issue issues concern concerns heard
wish bear else today while minute let reach check checking look looking see give sorted got get getting it replying responding service
anything something need want would like love way back here there much now ready wait waiting time trouble situation must tell more provide
share happen happened information info details detail pull up bit one thing best better work working on try trying take make trust
how may can could will shall do did going go ahead move along hesitate further
"""
_DENIALS = frozenset(split("not never nor neither without"))
_GREETINGS = frozenset(split("hi hello hey dear greetings"))
_SHORT_GREETING = 3
_HAN_COURTESY = (
    "谢谢", "多谢", "感谢", "你好", "您好", "早上好", "晚上好", "下午好", "不客气", "没关系", "没事", "抱歉", "不好意思", "对不起", "辛苦了",
    "麻烦你了", "麻烦您了", "好的", "好呀", "嗯嗯", "哈哈", "太好了", "太棒了", "真棒", "明白了", "知道了", "了解了", "收到", "再见", "拜拜",
    "很高兴为您服务", "很高兴帮助您", "有什么可以帮您", "有什么可以帮你", "请问", "想问一下", "打扰了", "理解您的心情", "没问题", "当然", "可以的",
    "祝您", "祝你", "愉快", "客气", "多谢了", "非常", "哈喽", "在吗", "嗨",
)  # fmt: skip
_HAN_FILLER = frozenset("您你我啊呀哦呢吧了的很真太是们先谢哈嗯")


@lru_cache(maxsize=2)
def _courtesy(*, user: bool) -> frozenset[str]:
    return frozenset(split(_COURTESY if user else _COURTESY + _SERVICE))


def is_courtesy(sentence: str, *, user: bool) -> bool:
    """True for a clause that is nothing but courtesy, of a user or of those who serve."""
    words = words_of(sentence)
    if any(is_han(word) for word in words):
        return _is_han_courtesy("".join(words))
    if words[:1] and words[0] in _GREETINGS and len(words) <= _SHORT_GREETING:
        return True
    if user and sentence.rstrip().endswith("?") and "you" not in words:
        # `What do I have to do?` is made of small words and asks for everything.
        return False
    known = _courtesy(user=user)
    return _DENIALS.isdisjoint(words) and all(word in known or is_function(word) for word in words)


def _is_han_courtesy(text: str) -> bool:
    for phrase in sorted(_HAN_COURTESY, key=len, reverse=True):
        text = text.replace(phrase, "")
    return all(character in _HAN_FILLER for character in text)
