"""Countries, regions, large cities and their adjectives and languages, English and Chinese.

Needed because lower-case and Chinese text show no names. France, French and 法语 are one
member: a question about one is not about another, and an answer in one language is not an
answer in another. Unlike the groups of `kinds`, a place may not be missing on one side. Knows
nothing of small places (capital letters tell them, see `names`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from semcache.decide.marks import Found, Mark
from semcache.decide.spelling import is_edit
from semcache.decide.text import Token

FAMILY = "place"

# One place a line; `|` between written forms. Words that are also common English words are left
# to the capital-letter rule (turkey, china, jordan, chad, polish, georgia, mobile, reading).
_PLACES = """
united states|u s|usa|us citizen|us citizens|america|american|americans|美国
united kingdom|uk|u k|britain|british|great britain|英国
england|英格兰
scotland|scottish|苏格兰
wales|welsh|威尔士
ireland|irish|爱尔兰
english|英语|英文
france|french|法国|法语|法文
germany|german|germans|德国|德语|德文
spain|spanish|西班牙|西班牙语|西语
portugal|portuguese|葡萄牙|葡萄牙语|葡语
italy|italian|italians|意大利|意大利语|意语
netherlands|dutch|holland|荷兰|荷兰语
belgium|belgian|比利时
switzerland|swiss|瑞士
austria|austrian|奥地利
sweden|swedish|瑞典
norway|norwegian|挪威
denmark|danish|丹麦
finland|finnish|芬兰
iceland|icelandic|冰岛
poland|波兰|波兰语
czech|czech republic|捷克
hungary|hungarian|匈牙利
romania|romanian|罗马尼亚
bulgaria|bulgarian|保加利亚
greece|greek|希腊|希腊语
ukraine|ukrainian|乌克兰
russia|russian|russians|俄罗斯|俄国|俄语
turkish|土耳其|土耳其语
israel|israeli|hebrew|以色列
egypt|egyptian|埃及
saudi arabia|saudi|沙特|沙特阿拉伯
arabic|阿拉伯语
dubai|uae|united arab emirates|emirates|阿联酋|迪拜
iran|iranian|伊朗
iraq|iraqi|伊拉克
syria|syrian|叙利亚
afghanistan|afghan|阿富汗
pakistan|pakistani|巴基斯坦
india|indian|印度
hindi|印地语
bangladesh|bangladeshi|孟加拉国
sri lanka|sri lankan|斯里兰卡
nepal|nepalese|尼泊尔
chinese|mainland china|中国|大陆|内地|中文|汉语|普通话
cantonese|粤语|广东话
hong kong|香港
macau|macao|澳门
taiwan|taiwanese|台湾
japan|japanese|日本|日语|日文
korea|korean|south korea|韩国|韩语|韩文
north korea|朝鲜
mongolia|mongolian|蒙古
vietnam|vietnamese|越南|越南语
thailand|thai|泰国|泰语
malaysia|malaysian|malay|马来西亚
singapore|singaporean|新加坡
indonesia|indonesian|印度尼西亚|印尼
philippines|filipino|菲律宾
australia|australian|澳大利亚|澳洲
new zealand|新西兰
canada|canadian|加拿大
mexico|mexican|墨西哥
brazil|brazilian|巴西
argentina|argentine|argentinian|阿根廷
chilean|智利
colombia|colombian|哥伦比亚
peru|peruvian|秘鲁
cuba|cuban|古巴
south africa|south african|南非
nigeria|nigerian|尼日利亚
kenya|kenyan|肯尼亚
ethiopia|ethiopian|埃塞俄比亚
ghana|ghanaian|加纳
morocco|moroccan|摩洛哥
algeria|algerian|阿尔及利亚
europe|european|欧洲
european union|eu|欧盟
peking university|北大|北京大学
asia|asian|亚洲
africa|african|非洲
south america|南美|南美洲
north america|北美|北美洲
antarctica|南极
california|californian|加州|加利福尼亚
texas|texan|德州|得克萨斯
florida|佛罗里达
new york|nyc|纽约
washington dc|华盛顿
illinois|伊利诺伊
ohio|俄亥俄
michigan|密歇根
pennsylvania|宾夕法尼亚
massachusetts|马萨诸塞|麻省
new jersey|新泽西
virginia|弗吉尼亚
arizona|亚利桑那
colorado|科罗拉多
nevada|内华达
oregon|俄勒冈
utah|犹他
hawaii|夏威夷
alaska|阿拉斯加
minnesota|明尼苏达
wisconsin|威斯康星
ontario|安大略
quebec|魁北克
british columbia
los angeles|洛杉矶
san francisco|旧金山
chicago|芝加哥
boston|波士顿
seattle|西雅图
houston|休斯敦
miami|迈阿密
toronto|多伦多
vancouver|温哥华
london|伦敦
paris|巴黎
berlin|柏林
munich|慕尼黑
madrid|马德里
barcelona|巴塞罗那
rome|罗马
milan|米兰
vienna|维也纳
zurich|苏黎世
geneva|日内瓦
amsterdam|阿姆斯特丹
brussels|布鲁塞尔
moscow|莫斯科
istanbul|伊斯坦布尔
tokyo|东京
osaka|大阪
kyoto|京都
seoul|首尔
bangkok|曼谷
mumbai|孟买
delhi|new delhi|德里|新德里
sydney|悉尼
melbourne|墨尔本
beijing|北京
shanghai|上海
guangzhou|广州
shenzhen|深圳
hangzhou|杭州
nanjing|南京
suzhou|苏州
chengdu|成都
chongqing|重庆
wuhan|武汉
xian|西安
tianjin|天津
qingdao|青岛
dalian|大连
xiamen|厦门
changsha|长沙
zhengzhou|郑州
kunming|昆明
harbin|哈尔滨
shenyang|沈阳
jinan|济南
ningbo|宁波
sanya|三亚
lhasa|拉萨
guangdong|广东
zhejiang|浙江
jiangsu|江苏
sichuan|四川
hunan|湖南
hubei|湖北
henan|河南
hebei|河北
shandong|山东
shanxi|山西
shaanxi|陕西
yunnan|云南
fujian|福建
hainan|海南
xinjiang|新疆
tibet|西藏
inner mongolia|内蒙古
guangxi|广西
guizhou|贵州
anhui|安徽
jiangxi|江西
jilin|吉林
liaoning|辽宁
heilongjiang|黑龙江
gansu|甘肃
latin
"""


def entries() -> Iterator[tuple[str, Mark]]:
    """Yield the table: concept = first form of the line."""
    for line in _PLACES.strip().split("\n"):
        phrases = line.split("|")
        for phrase in phrases:
            yield phrase, Mark(FAMILY, phrases[0])


# Short forms that are names in capitals only.
_CAPITALS = {
    "US": "united states", "LA": "los angeles", "NY": "new york", "SF": "san francisco", "HK": "hong kong", "NZ": "new zealand",
    "DC": "washington dc", "UK": "united kingdom", "EU": "european union",
}  # fmt: skip


def of(found: Sequence[Found], tokens: Sequence[Token]) -> frozenset[str]:
    """Give the places of a text."""
    named = {item.mark.name for item in found}
    if any(token.raw in _CAPITALS for token in tokens) and any(token.raw.islower() for token in tokens):
        named |= {_CAPITALS[token.raw] for token in tokens if token.raw in _CAPITALS}
    return frozenset(named)


def conflict(
    one: frozenset[str], other: frozenset[str], one_words: frozenset[str], other_words: frozenset[str]
) -> bool:
    """True when a place of either text is not in the other, not even misspelt."""
    return bool(odd(one, other, other_words) or odd(other, one, one_words))


def odd(one: frozenset[str], other: frozenset[str], other_words: frozenset[str]) -> list[str]:
    """Give the places of `one` that the other text does not name."""
    return [place for place in one - other if not _is_misspelt(place, other_words)]


@lru_cache(maxsize=1)
def _forms() -> dict[str, tuple[tuple[str, ...], ...]]:
    forms: dict[str, list[tuple[str, ...]]] = {}
    for phrase, mark in entries():
        if phrase.isascii():
            forms.setdefault(mark.name, []).append(tuple(phrase.split()))
    return {name: tuple(phrases) for name, phrases in forms.items()}


def _is_misspelt(place: str, words: frozenset[str]) -> bool:
    return any(
        all(part in words or any(is_edit(part, word) for word in words) for part in form)
        for form in _forms().get(place, ())
    )
