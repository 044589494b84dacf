"""Texts that are no question of their own: `and in Canada?`, `what about the second one?`, `那儿童呢`.

What they mean was said before, so without that nothing can be matched to them. A keyword query
(`weather Paris`) is a question of its own. Knows nothing of conversations.
"""

from __future__ import annotations

from collections.abc import Sequence

from semcache.decide.text import Token, is_han
from semcache.decide.wordlist import split

_SHORT, _HAN_SHORT, _PRONOUN_REACH = 9, 9, 7
_OPENINGS = ("what about", "how about", "and what about", "and how about", "but what about", "so what about", "same for",
             "same question", "same thing", "same but", "now for", "and for", "ditto", "tell me more", "more about", "say more",
             "go on", "keep going", "and then", "what else", "anything else", "what next", "why not", "how so", "and why",
             "and how", "and when", "and where", "and who", "like what", "such as", "as above", "as before", "try again",
             "do it again", "once more", "one more", "another one", "some more", "and also", "what happens then",
             "explain further", "explain more", "in more detail", "more detail", "more details", "can you elaborate",
             "please elaborate", "could you elaborate", "or what about", "the other one", "the same for", "the first one",
             "the second one", "the third one", "the last one", "the former", "the latter", "what does that mean",
             "what do you mean", "what was that", "are you sure", "is that all", "is that right", "is that correct", "which one",
             "which of them", "which of those", "which of these", "and the other", "what if not", "if not", "if so")  # fmt: skip
_REPLIES = frozenset(
    split(
        "yes yeah yep yup no nope nah ok okay sure maybe thanks thank you please continue more again next stop correct right exactly "
        "great good cool fine nice perfect agreed elaborate why how when where who what which really go ahead shorter longer simpler "
        "first second third last one not absolutely definitely of course alright got it i see very much so hi hello hey then well "
        "hmm and or but also too sounds do that it both neither either me"
    )
)
_WH = (["how"], ["why"], ["when"], ["where"], ["who"])
_BARE_WH = 3
_CONJUNCTIONS = frozenset(split("and or but also plus then so"))
_PREPOSITIONS = frozenset(split("in as for with without on at"))
_VERBS = frozenset(
    split(
        "is are was were am be do does did can could should would will shall may might must has have had how what why where who which "
        "when whose get make use need want tell give show list find explain write go take know help let"
    )
)
_PRONOUNS = frozenset(split("it that this those these them they he she him her its their his hers one ones"))
_LIGHT = frozenset(
    split(
        "a an the of to in on at for by with from and or but so as not no i me my we us our you your please there here too also then "
        "more less much many very really just still even again now ever else if up out about into than"
    )
)
_WEATHER = frozenset(
    split(
        "time day date late raining rain snowing snow sunny cold hot outside o'clock worth possible true necessary legal"
    )
)
_HAN_REPLIES = frozenset(
    split(
        "好 好的 好吧 好啊 是 是的 对 对的 不 不是 不对 不用 可以 行 嗯 嗯嗯 谢谢 谢谢你 多谢 继续 接着说 然后呢 还有呢 还有吗 再来一个 换一个 下一个 上一个 "
        "为什么 为什么呢 怎么办 什么意思 详细点 详细一点 再详细一点 具体点 具体一点 简单点 短一点 再短一点 长一点 举个例子 举例 真的吗 是吗 确定吗 你确定吗 "
        "哪个 哪一个 第一个 第二个 第三个 最后一个 前者 后者 都要 都不要 没有 有 知道了 明白了 懂了 好的谢谢 请继续 再说一遍 再试一次 重新来 换个说法"
    )
)
_HAN_POINTERS = ("那", "这", "它", "他", "她", "其中", "前者", "后者", "上面", "上述", "刚才", "还有", "另外", "再", "然后", "如果不")  # fmt: skip
_HAN_NAMES = ("他汀", "她理", "再生", "再婚", "再就业", "再贷款", "再保险", "再融资", "那不勒斯", "另外计算", "再入", "再审", "再教育", "他克莫司", "他莫昔芬")  # fmt: skip
_HAN_ASKS = ("怎么", "什么", "吗", "如何", "几", "哪", "谁", "多少", "多久", "为何", "能否", "是否", "怎样", "可以", "能不能")  # fmt: skip


def is_fragment(tokens: Sequence[Token]) -> bool:
    """True for a text that means nothing without what was said before it."""
    words = [token.low for token in tokens]
    if not words:
        return False
    if sum(1 for word in words if is_han(word)) * 2 > len(words):
        return _is_han_fragment("".join(words))
    return len(words) <= _SHORT and _is_short_fragment(words)


def _is_short_fragment(words: list[str]) -> bool:
    spaced = " ".join(words) + " "
    if words[0] == "which" and len(words) > 4:
        return False
    if words[0] in _CONJUNCTIONS and words[1:2] in _WH and len(words) > _BARE_WH and words[2] != "about":
        return _points_back(words)
    if all(word in _REPLIES for word in words) or spaced.startswith(tuple(o + " " for o in _OPENINGS)):
        return True
    has_verb = not _VERBS.isdisjoint(words)
    if words[0] in _CONJUNCTIONS and not has_verb:
        return True
    if words[0] in _PREPOSITIONS and len([word for word in words if word != "please"]) <= 2 and not has_verb:
        return True
    return _points_back(words)


def _points_back(words: list[str]) -> bool:
    """`Is it safe?`, `explain that`: a pronoun and at most one word with a meaning of its own."""
    if len(words) > _PRONOUN_REACH or _PRONOUNS.isdisjoint(words):
        return False
    content = [word for word in words if word not in _PRONOUNS and word not in _LIGHT and word not in _VERBS]
    return len(content) <= 1 and _WEATHER.isdisjoint(content)


def _is_han_fragment(text: str) -> bool:
    bare = text.rstrip("呢吗啊吧呀么")
    if text in _HAN_REPLIES or bare in _HAN_REPLIES:
        return True
    if len(text) > _HAN_SHORT or text.startswith(_HAN_NAMES):
        return False
    if text.startswith(_HAN_POINTERS):
        return True
    return text.endswith("呢") and not any(word in text for word in _HAN_ASKS)
