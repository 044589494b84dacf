"""Is a question, or its stored answer, about one person? Then the answer is nobody else's business. Pure.

Looks for plain signs only, in English and Chinese: numbers and addresses of somebody (`identifiers`); the asker
saying who they or theirs are, where they live, what their password is; an answer that greets its reader by name or
tells them a fact of their own (`your balance is $120`). `my order` alone is no sign: `how do I cancel my
order` is everybody's question. Nor is a name alone: `who was Marie Curie`. A name in the greeting of a question is
that of the assistant, so greetings count in answers only; an introduction counts in questions only, since in
an answer it is the assistant's. Telephone numbers in answers are mostly those of hotels. What is told under a condition (`if your balance is $50`) is told to everybody.

Reads the beginning of each text. Errs to both sides: what it does not find is not proven to be fit for all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from semcache.decide.identifiers import Sign, found
from semcache.decide.text import fold
from semcache.decide.wordlist import split

LONGEST = 6_000
"""Characters of a text that are read."""
_GREETED = 160
"""Characters of an answer in which it may greet its reader."""

_NAME = r"[A-Z\u00c0-\u00de][a-z\u00df-\u00ff]{1,20}(?:[-'][A-Z][a-z]{1,20})?"
_TITLE = r"(?:(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Doctor|Sir|Frau|Herr)\.? )?"
_KIN = (
    "wife|husband|son|daughter|mother|father|mom|mum|dad|brother|sister|boss|manager|supervisor|colleague|coworker|co-worker|friend"
    "|girlfriend|boyfriend|partner|fianc[eé]e?|doctor|dentist|therapist|lawyer|landlord|tenant|teacher|neighbou?r|client|patient|baby"
    "|child|kid|uncle|aunt|cousin|nephew|niece|grandmother|grandfather|grandma|grandpa|roommate|assistant|employee"
)
_NOBODY = frozenset(
    split(
        "customer customers user users sir madam team all everyone everybody there folks friend friends world hiring valued parents parent "
        "colleagues colleague guest guests member members student students reader readers santa diary god lord kitty traveler traveller "
        "support admin manager recipient editor committee board staff again back now yes no well thanks thank you the a an for so to and "
        "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october "
        "november december christmas easter claude chatgpt gpt gemini siri alexa copilot llama grok bard assistant bot chatbot cortana "
        "google python java internet i what who when where why how is are can could please not just only also name first last applicant "
        "candidate neighbor neighbour sirs client clients partner partners subscriber subscribers shopper investor patient patients"
    )
)
_NATIONS = frozenset(split("german french dutch swiss greek czech thai arab turk iraqi israeli"))
_IANS = frozenset(
    split(
        "brian adrian julian vivian ian christian gillian lilian lillian damian fabian sebastian florian marian"
    )
)
_SURNAMES = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金"
    "陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段钱汤尹黎易常武乔贺赖龚文"
)
_HAN_NAME = rf"(?:[{_SURNAMES}](?!什么|不)[\u4e00-\u9fff]{{1,2}}|[小阿][\u4e00-\u9fff])"
_HAN_END = r"(?=$|[^\u4e00-\u9fff]|今年|是|在|有|和|想|要|的|从)"
_HAN_KIN = "儿子|女儿|老婆|老公|妻子|丈夫|爸爸|妈妈|父亲|母亲|爸|妈|哥哥|姐姐|弟弟|妹妹|爷爷|奶奶|朋友|同事|老板|经理|孩子|宝宝|女朋友|男朋友|室友|房东"
_HAN_ADDRESS = "先生|女士|小姐|老师|经理|总|同学|医生|律师|教授"


def signs_of_question(text: str) -> frozenset[Sign]:
    """Give the signs that a question is about one person."""
    folded = fold(text[:LONGEST])
    return frozenset((*found(folded), *_introduced(folded)))


def signs_of_answer(text: str) -> frozenset[Sign]:
    """Give the signs that an answer is for one person."""
    folded = fold(text[:LONGEST])
    return frozenset((*found(folded, listed=True), *_told(folded)))


def is_told_to_one(asked: str, answer: str) -> bool:
    """True when an answer tells its reader what nobody said before: a fact of their own, or their name.

    Args:
        asked: all that the model was given to read.
        answer: what it says.
    """
    folded = fold(answer[:LONGEST])
    signs = frozenset(_told(folded))
    return Sign.TOLD in signs or (Sign.GREETING in signs and not _is_given(folded, fold(asked)))


def _is_given(answer: str, asked: str) -> bool:
    """True when the name in a greeting was in the request: a letter that was asked for."""
    head = answer[:_GREETED].lstrip(" \n\t*#>_\"'“")
    greeted = _greetings().match(head)
    if greeted is not None:
        return next(filter(None, greeted.groups()), "") in asked
    han = re.findall(rf"[{_SURNAMES}][\u4e00-\u9fff]{{0,2}}?(?={_HAN_ADDRESS}|[,，!！:：])", head)
    return any(name in asked for name in han)


def is_personal(question: str, answer: str) -> bool:
    """True when question or answer are about one person."""
    return bool(signs_of_question(question) or signs_of_answer(answer))


def _introduced(text: str) -> Iterator[Sign]:
    """What somebody says of themselves."""
    if any(_is_name(match) for match in _names().finditer(text)) or _han_names().search(text):
        yield Sign.NAME
    if _places().search(text):
        yield Sign.PLACE
    if _secrets().search(text):
        yield Sign.SECRET


def _told(text: str) -> Iterator[Sign]:
    """What somebody is told."""
    head = text[:_GREETED].lstrip(" \n\t*#>_\"'“")
    greeted = _greetings().match(head)
    if (greeted is not None and _is_name(greeted)) or _han_greetings().match(head):
        yield Sign.GREETING
    told = chain(_facts().finditer(text), _han_facts().finditer(text))
    if any(match["if"] is None for match in told):
        yield Sign.TOLD


def _is_name(match: re.Match[str]) -> bool:
    """A capital does not make a name: weekdays, nations, `everyone`."""
    word = next(filter(None, match.groups()), "").lower()
    nation = word in _NATIONS or (word.endswith(("ese", "ish", "ist", "ian", "ican")) and word not in _IANS)
    return bool(word) and word not in _NOBODY and not nation


@lru_cache(maxsize=1)
def _names() -> re.Pattern[str]:
    return re.compile(
        rf"(?i:\bmy (?:full |first |last |middle |real |legal )?name(?: is|'s|:)? ){_TITLE}({_NAME})"
        rf"|(?i:\bmy (?:\w{{1,12}} )?(?:{_KIN})(?: is called| is named| named| called|,)? ){_TITLE}({_NAME})\b(?!'s name)"
        rf"|(?i:\bmy (?:{_KIN})'s (?:full |first )?name is )({_NAME})"
        rf"|(?i:\b(?:hi|hello|hey|good (?:morning|afternoon|evening))(?: there| team| all| everyone)?[,.!]? (?:i'm|i am|this is|it's) )({_NAME})"
        rf"(?=(?: {_NAME})?(?:[,.!]| from | here\b| speaking\b| and (?:i|my)\b))"
        rf"|(?i:\bthis is )({_NAME})(?= (?:{_NAME} )?(?:speaking|calling|writing)\b)"
        rf"|(?i:\b(?:regards|sincerely|yours truly|best wishes|thank you|thanks|cheers)[,.!]?)\s{{0,3}}\n\s{{0,4}}({_NAME})(?: {_NAME})?\s{{0,9}}$"
    )


@lru_cache(maxsize=1)
def _han_names() -> re.Pattern[str]:
    return re.compile(
        rf"我(?:叫|的名字(?:是|叫)|名叫){_HAN_NAME}{_HAN_END}|我姓[{_SURNAMES}](?=$|[^\u4e00-\u9fff])|(?:本人|我)姓名(?:是|为|:) ?{_HAN_NAME}"
        rf"|姓名: ?{_HAN_NAME}{_HAN_END}|我的?(?:{_HAN_KIN})(?:名叫|叫|的名字(?:是|叫)){_HAN_NAME}{_HAN_END}|本人{_HAN_NAME}(?=[,，])"
    )


@lru_cache(maxsize=1)
def _places() -> re.Pattern[str]:
    return re.compile(
        r"(?i:\bmy (?:home |street |mailing |postal |billing |shipping |delivery |current |new |old )?address(?: is|:) )[^.\n]{0,20}\d"
        r"|(?i:\bi (?:live|reside|am staying|stay) (?:at|on) )(?:number )?\d{1,5}[A-Za-z]? [A-Z]"
        r"|(?:我|本人)(?:家)?(?:现)?住(?:在|址(?:是|为|:)).{2,20}?\d{1,5}(?:号|栋|幢|单元|室|弄|楼)|我的?(?:收货|家庭|邮寄)?地址(?:是|为|:).{2,30}?\d"
    )


@lru_cache(maxsize=1)
def _secrets() -> re.Pattern[str]:
    return re.compile(
        r"(?i:\bmy (?:\w{1,12} ){0,2}(?:password|passcode|pin|pin code|pin number|api key|access token|security code|cvv)(?: is| was|:) )"
        r"(?=\S*\d)\S{3,}"
        r"|我的?[^,。\n]{0,8}(?:密码|验证码|口令)(?:是|为|:) ?(?=[\x21-\x7e]*\d)[\x21-\x7e]{3,}"
    )


@lru_cache(maxsize=1)
def _greetings() -> re.Pattern[str]:
    return re.compile(
        rf"(?:(?:Dear|Hi|Hello|Hey|Good (?:morning|afternoon|evening)|Welcome(?: back)?|Thank you|Thanks|Nice to meet you),? ){_TITLE}"
        rf"({_NAME})(?: {_NAME}){{0,2}} {{0,2}}(?:[,!:.—-]|\n)"
    )


@lru_cache(maxsize=1)
def _han_greetings() -> re.Pattern[str]:
    return re.compile(
        rf"(?:尊敬的|亲爱的|您好|你好)[,!， ]{{0,2}}[{_SURNAMES}][\u4e00-\u9fff]{{0,2}}(?:{_HAN_ADDRESS})"
        rf"|[{_SURNAMES}](?:[\u4e00-\u9fff]{{0,2}}(?:{_HAN_ADDRESS})|[\u4e00-\u9fff]{{1,2}})[,， ]?(?:您好|你好|早上好|下午好|晚上好)"
        rf"|亲爱的{_HAN_NAME}[,!，:]"
    )


@lru_cache(maxsize=1)
def _facts() -> re.Pattern[str]:
    condition = (
        r"(?P<if>(?i:\b(?:if|when|unless|whether|once|suppose|supposing|say|assume|assuming|until|after|before|example|where|imagine)),? "
        r"(?:that )?)?"
    )
    amount = r"(?:(?:only|about|approximately|exactly|currently|now|still) )?[$€£¥-]?\d"
    return re.compile(
        rf"{condition}(?:(?i:\byour (?:\w{{1,12}} ){{0,2}}(?:balance|salary|income|debt|bill|credit score|credit limit|test results?|test score"
        rf"|blood pressure|bonus|pension|paycheck|grade) (?:is|was|comes to|stands at|of) ){amount}"
        r"|(?i:\byour (?:\w{1,12} ){0,2}(?:appointment|booking|reservation|flight|interview|surgery|delivery|order|package|parcel) "
        r"(?:is|was|has been|will be) (?:already )?(?:scheduled|booked|confirmed|set|moved|shipped|delivered|cancelled|canceled|delayed)"
        r"(?: to arrive)? (?:for|on|at|to|by|until) )[^.\n]{0,24}\d)"
    )


@lru_cache(maxsize=1)
def _han_facts() -> re.Pattern[str]:
    return re.compile(
        r"(?P<if>(?:如果|若|假如|假设|倘若|当|例如|比如)[^,。\n]{0,6})?(?:您|你)的(?:当前|可用|账户|账号|剩余|信用卡|本月|上月|总|最近){0,3}"
        r"(?:余额|工资|薪资|额度|账单|欠款|积分|订单|预约|快递|包裹|检查结果|体检结果|成绩|航班)(?:是|为|:|共|还有|剩余|已|有)[^。,\n]{0,12}?\d"
    )
