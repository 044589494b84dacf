"""What a user said that goes on holding: instructions, and facts about the asker.

`I'm allergic to nuts`, `only Java 8`, `answer in French`, `I live in Berlin`, `my budget is
small` bear on questions that never mention them. `told` is the widest sense: anything that a
user states at all. Every doubt is read as a standing fact. Knows nothing of the last question.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache

from semcache.decide.context.clauses import asks
from semcache.decide.context.words import words_of
from semcache.decide.text import is_han


class Standing(IntEnum):
    """How far a clause reaches: over nothing, the asker's own case, the asker's questions, all that touches a body, every question."""

    NOTHING = 0
    TOLD = 1
    PERSON = 2
    BODY = 3
    RULE = 4


_RULE = (
    # Instructions: how to answer, what to take for granted.
    r"\b(?:from now on|going forward|for the rest of (?:this|our|the)|in (?:the )?future|remember that|keep in mind|bear in mind|note that|for all (?:answers|questions)|each answer|every answer"
    r"|assume|assuming|pretend|imagine|act as|role ?play|your name is|call me|address me|speak to me|talk to me|talk like|your (?:answers?|replies|reply|responses?)|explain (?:everything|things)"
    r"|write in|speak in|keep (?:it|them|your|everything) (?:short|brief|simple|formal|casual|concise|answers?|replies|under|to)|be (?:brief|concise|short|honest|formal|polite|funny)|in plain|no jargon|no emojis?|bullet points?|markdown|json|one sentence|step by step"
    r"|(?:give|show|tell) me (?:everything|all|each|every)|as if i|like i am|like i m|for a (?:child|kid|beginner)|for kids|eli5|in (?:english|french|german|spanish|chinese|italian|japanese|korean|portuguese|russian|arabic|hindi|dutch)"
    r"|(?:answer|reply|respond|write|use|recommend|suggest|include|consider) only|only (?:answer|reply|respond|use|java|python|recommend|suggest|include|consider|eat|drink|speak|works? with|vegan|vegetarian|free|open source|standard)"
    r"|(?:do not|never|always|please|avoid) (?:use|using|mention|mentioning|include|including|recommend|recommending|suggest|suggesting|answer|explain|write|assume|give me|tell me|say)|without using"
    # The asker's place, skill and measures.
    r"|(?:i|we) live|based in|located in|in my country|beginner|novice|newbie|expert|new to (?:this|programming|cooking|python|linux)|metric|imperial|celsius|fahrenheit)\b"
    r"|^(?:please )?(?:always|never|use|avoid|answer|reply|respond|only|stick to|limit|speak)\b"
)
_BODY = (
    r"\b(?:allerg\w+|intoleran\w+|celiac|coeliac|vegan|vegetarian|halal|kosher|gluten|lactose|diabet\w+|pregnan\w+|breastfe\w+|keto|diet|medications?|blood pressure|asthma\w*"
    r"|kidney|heart (?:disease|condition|problem)|disab\w+|wheelchair|deaf|blind|years? old)\b"
)
"""The asker's body and diet."""
_PERSON = (
    r"\b(?:i am|we are|i have|we have|i use|we use|i own|i live|we live|i work|we work|i study|i speak|i need|we need|i want|we want|i would like|i prefer|i only|i just have|i do not|we do not|i can not|i could not|i can|i hate|i love|i like|i dislike|i take|i drink|i eat|i earn|i make|i run|we run|i drive|i will|i plan|we plan"
    r"|i was born|i grew up|my (?:\w+ ){1,3}(?:is|are|has|have|was|do|does|can|can not|will|runs|uses|lives|works)|our (?:\w+ ){1,3}(?:is|are|has|have|was|runs|uses)|budget|on a budget|for my|for our|with my|running|using|based in|located in|in my country|our team|my team)\b"
)
_EPISODE = (
    r"^(?:(?:hi|hello|hey|yes|no|so|well|and|but|ok|okay|sorry) )*(?:i am|i m|we are) (?!using|running|taking|living|working|studying|traveling|travelling|cooking|planning|thinking|driving|staying|expecting|trying to lose|looking for a|looking for something)(?:\w+ing|still \w+ing|having|just wondering|sorry|glad|happy|curious|not sure|confused|calling|back|afraid|unable)\b"
    r"|\b(?:i|we) (?:have|need|want) (?:a |an |some |another |one |your )?(?:few )?(?:question|questions|problem|problems|issue|issues|trouble|help|assistance|complaint|request|quick question|hand)\b"
    r"|\bi (?:would like|want|need) to (?:ask|know|check|find out|talk|report|complain|understand)\b"
)  # fmt: skip
_HAN_RULE = ("一直", "以后", "从现在", "记住", "记得", "始终", "总是", "永远", "每次都", "假设", "假装", "扮演", "你是", "叫我", "称呼我", "回答", "回复", "用中文",
             "用英文", "用英语", "用简", "简短", "不要用", "只用", "只能", "只吃", "只有", "只要", "只推荐", "只考虑", "不能", "不吃", "不喝", "不要", "别用", "别提", "避免", "必须", "过敏", "素食", "吃素",
             "清真", "糖尿病", "怀孕", "孕", "哺乳", "忌口", "高血压", "哮喘", "肾", "心脏病", "残疾", "初学", "新手", "小白", "岁", "零基础", "不超过", "最多", "至少", "以内")  # fmt: skip
_HAN_PERSON = ("我是", "我们是", "我在", "我们在", "我有", "我们有", "我用", "我们用", "我住", "我的", "我们的", "我想", "我要", "我们要", "我需要", "我喜欢", "我不", "我讨厌", "我会",
               "我家", "我爸", "我妈", "我儿子", "我女儿", "我老婆", "我老公", "我孩子", "我打算", "我们打算", "预算", "公司用", "版本", "系统是", "用的是", "我只", "我学", "我每")  # fmt: skip


_PROMISE = re.compile(
    r"\b(?:from now on|going forward|henceforth|in (?:all|every|each|any) (?:answers?|repl(?:y|ies)|responses?|messages?)|(?:every|each) (?:answer|reply|response|message|question)"
    r"|all (?:of )?(?:my |your |our |the )?(?:future |further |next |following |other |coming )?(?:answers|replies|responses|messages|questions)|whatever you ask|no matter what you ask|whenever you ask|as instructed|as you (?:told|asked|instructed) me"
    r"|(?:end|begin|start|close|finish) (?:my|all|each|every|the next) (?:answers?|repl(?:y|ies)|responses?))\b"
    r"|从现在|从今以后|以后(?:我|每|的)|(?:每|所有|任何|之后|接下来)[^。！？\n]{0,6}(?:回答|回复|答复|消息|问题)|无论(?:你|您)问|不管(?:你|您)问|按(?:照)?(?:你|您)的?(?:指示|要求)",
    re.IGNORECASE,
)


def promises(text: str) -> bool:
    """True when what an assistant said binds what it says next. Clients send its turns, and may have written them themselves."""
    return _PROMISE.search(text) is not None


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    return re.compile(_RULE), re.compile(_BODY), re.compile(_PERSON), re.compile(_EPISODE)


_TROUBLE = r"\bmy (?:\w+ ){1,3}(?:is|are|has|have|was|does|do|did|will|can)(?: \w+){0,3} (?:wrong|broken|late|missing|damaged|lost|delayed|cancelled|canceled|stuck|slow|not \w+|crash\w*|locked|declined|expired|flicker\w*|leak\w*|arrived|come|gone|stolen|empty|blank|frozen|incorrect|defective|faulty|torn|dirty|dead|hurt\w*|blocked|charged|failed|failing|stopped)\b"
_HAN_EPISODE = re.compile(
    "我(?:们)?(?:想|要)(?:问|知道|了解|查|修改|改|退|换|取消|投诉|咨询|反馈|预约|预订|申请)|我的.{1,8}(?:坏|碎|丢|没到|没收到|不见|错|晚点|被锁|失败|打不开|用不了)"
)


@lru_cache(maxsize=4096)
def standing(sentence: str) -> Standing:
    """Say how far a user's clause reaches beyond its own subject."""
    words = words_of(sentence)
    if any(is_han(word) for word in words):
        return _han("".join(words), sentence)
    joined = " ".join(words)
    rule, body, person, episode = _patterns()
    if rule.search(joined):
        return Standing.RULE
    if body.search(joined):
        return Standing.BODY
    stripped = re.sub(_TROUBLE, " ", episode.sub(" ", joined))
    if person.search(stripped):
        # `Do I have to ...?` asks; `I have an old phone, what now?` tells as well.
        return Standing.PERSON if not asks(sentence) or _tells_first(stripped) else Standing.NOTHING
    return Standing.NOTHING if asks(sentence) else Standing.TOLD


def _tells_first(joined: str) -> bool:
    return (
        re.search(r"^(?:so |well |and |hi |hello |hey )*(?:i|we|my|our|as a|since|given|if) ", joined)
        is not None
    )


def _han(text: str, sentence: str) -> Standing:
    if any(mark in text for mark in _HAN_RULE):
        return Standing.RULE
    if any(mark in _HAN_EPISODE.sub("", text) for mark in _HAN_PERSON):
        return Standing.PERSON
    return Standing.NOTHING if asks(sentence) else Standing.TOLD
