"""The words of a clause that carry its content, as units that two tellers of one case share.

A unit is a concept of the thesaurus, the base of an English word, or one Han character. Words
that only hold a sentence together, or that are too general to tell one case from another, are
no units. Knows nothing of clauses, turns or questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from semcache.decide.context import thesaurus
from semcache.decide.numerals import HAN_NUMERALS, cardinals, ordinals
from semcache.decide.order import stem
from semcache.decide.rereading import LONGEST_WORD, remembered
from semcache.decide.text import is_han, read
from semcache.decide.wordlist import split

_IRREGULAR = {
    "bought": "buy", "came": "come", "went": "go", "gone": "go", "got": "get", "gotten": "get", "left": "leave",
    "kept": "keep", "found": "find", "made": "make", "took": "take", "taken": "take", "gave": "give", "given": "give",
    "told": "tell", "said": "say", "sent": "send", "paid": "pay", "sold": "sell", "spent": "spend", "broke": "break",
    "wore": "wear", "worn": "wear", "ate": "eat", "eaten": "eat", "drank": "drink", "ran": "run", "began": "begin",
    "begun": "begin", "chose": "choose", "chosen": "choose", "wrote": "write", "written": "write", "built": "build",
    "flew": "fly", "flown": "fly", "drove": "drive", "driven": "drive", "froze": "freeze", "frozen": "freeze",
    "held": "hold", "lent": "lend", "met": "meet", "slept": "sleep", "stole": "steal", "stolen": "steal",
    "taught": "teach", "thought": "think", "threw": "throw", "thrown": "throw", "woke": "wake", "won": "win",
    "hurting": "hurt", "sizes": "size", "children": "child", "men": "man", "women": "woman", "feet": "foot",
    "teeth": "tooth", "fell": "fall", "fallen": "fall", "grew": "grow", "grown": "grow", "knew": "know",
    "forgot": "forget", "forgotten": "forget", "shipped": "ship", "shipping": "ship", "cancelled": "cancel",
    "canceled": "cancel", "cancelling": "cancel", "swapped": "swap", "spoke": "speak", "spoken": "speak",
    "brought": "bring", "caught": "catch", "led": "lead", "lost": "lose", "understood": "understand", "wives": "wife",
    "hid": "hide", "hidden": "hide", "rang": "ring", "rode": "ride", "sank": "sink", "shook": "shake", "stuck": "stick",
    "tore": "tear", "torn": "tear", "dug": "dig", "drew": "draw", "drawn": "draw", "blew": "blow", "blown": "blow",
    "bitten": "bite", "bit": "bit", "hung": "hang", "dying": "die", "died": "die", "lying": "lie", "used": "used",
}  # fmt: skip

# Words that hold sentences together.
_FUNCTION = """
a an the of is are was were be been being am do does did done doing can could should would will shall may might must have has
had having i me my mine myself we us our ours you your yours yourself he him his she her hers it its itself they them their
theirs this that these those there here what which who whom whose when where why how to from in on at by for with into onto
out up off down over under and or but so if then than as about around through during while until since because although
though however yet nor whether per via within upon toward towards not no never n't yes yeah yep ok okay please thanks thank
s t re ve ll d m us let am pm oh ah um uh hmm well hi hello hey sorry
"""
# Words too general to tell two cases apart; none names a thing, an action that can be undone, or a kind.
_GENERAL = """
thing things stuff item items product products article goods one ones something anything everything someone anyone everyone
somebody anybody way ways kind sort type lot lots bit couple number of course matter case situation issue issues problem
problems trouble question questions concern reason fact detail details information info point part idea option options
get getting got go going come coming make making take taking give giving put putting use using need needing want wanting
like love prefer wish hope try trying tried seem seems look looking looks see seeing saw seen know knowing known think thinking
thought feel feeling felt believe guess suppose supposed wonder wondering mean meant say saying said tell telling told ask
asking asked mention mentioned understand notice noticed realize realise realized happen happened help helping
able possible sure right good great nice fine perfect wonderful lovely really very quite pretty just only
simply actually basically literally honestly currently right-now now today already still again also too even ever always
recently lately earlier before after later soon ago once first last next time times moment day days week weeks month months
year years hour hours minute minutes much many more most less least few some any all both each every other another else
same different own such whole instead anyway maybe perhaps probably definitely exactly clearly obviously apparently
unfortunately luckily hopefully glad happy sad afraid worried upset annoyed frustrated disappointed curious  ready available regarding concerning been
back away along together alone ahead forward work works working worked show showed shows figure
please kindly simply certain particular specific general usual usually
normal normally typical typically little long big old new best better bad worse worst enough rather fairly almost nearly
whenever wherever whatever anytime sometime sometimes often wait waiting waited expect expected expecting appreciate
bummed excited thrilled nervous anxious stressed confused confusing ridiculous crazy insane weird strange odd annoying totally
kinda sorta gonna wanna gotta frankly tbh imo btw fyi asap guys folks man dude awesome cool mess nightmare hassle bummer shame pity fun
super completely absolutely extremely incredibly seriously somehow somewhat though ugh argh yikes oops whoops hmm gee geez anyways
wondering curious figured tell explain give given gave hoping guessing thrilled happy surprised shocked pleased concerned confirm
must require requires required manage managed attempt attempted discover discovered learn-that appear appears appeared turns
supposedly regard regards matter-of concerning thing-is remain remains leave-it proceed proceeding advice-on go-about assistance assist
additional further extra-info initial initially previous previously prior following actual current present brand exact entire-thing
note noted aware unaware involve involved include-d relate related arrange arranged deal dealing handle handled option-s
decide decided choose-to intend intended aim aiming mention hopeful eager keen able-to capable allowed-to willing
certainly perhaps possibly likely unlikely generally mainly mostly largely partly-because especially particularly specifically
instead meanwhile otherwise therefore thus hence moreover furthermore besides regardless overall total-of
finally favorite favourite aww ton relief truly literally somehow bunch whole-lot plenty several various multiple single double-check handful kinda pieces piece pair set
advance hear heard read wonder planning plan-to end-up able unable supposed able
"""
_RAW = frozenset(split("interested interesting"))
"""Too general in this form only."""
_MEASURES = frozenset(split("long much many far old big often soon large tall high fast"))
_HAN_FUNCTION = frozenset(
    "需谢的了呢吗吧啊呀哦嗯哈我你您他她它们这那哪个些是在有和与跟同或及就都也还又再很太非常比较把被让给对向从到为因所以但而且如果"
    "要想能可会该应请问一下上下中里外前后时候什么怎样么多少几谁为何吧嘛啦哟咱其之于以等着过得地来去做用着没不"
)


@lru_cache(maxsize=1)
def _ignored() -> frozenset[str]:
    return frozenset(base(word) for word in split(_FUNCTION + _GENERAL)) | frozenset(
        split(_FUNCTION + _GENERAL)
    )


@lru_cache(maxsize=1)
def _function() -> frozenset[str]:
    return frozenset(split(_FUNCTION))


def base(word: str) -> str:
    """Give one form for all forms of an English word."""
    return _base(word) if len(word) <= LONGEST_WORD else word


@lru_cache(maxsize=16_384)
def _base(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    hissing = word.endswith(("xes", "ches", "shes", "sses", "zes"))
    if word.endswith("es") and len(word) <= 6 and not hissing and not word.endswith("ies"):
        word = word[:-1]
    return stem(word)


@lru_cache(maxsize=1)
def _table() -> tuple[dict[tuple[str, ...], str], dict[str, int]]:
    """Phrases by their bases, and the length of the longest by first base."""
    phrases: dict[tuple[str, ...], str] = {}
    for words, concept in thesaurus.entries():
        phrases.setdefault(tuple(word if is_han(word) else base(word) for word in words), concept)
    longest: dict[str, int] = {}
    for phrase in phrases:
        longest[phrase[0]] = max(longest.get(phrase[0], 0), len(phrase))
    return phrases, longest


def content(words: Sequence[str]) -> Iterator[str]:
    """Yield the units of a token sequence, in order."""
    return (unit for unit, _, _ in _spans(words))


@remembered(lambda words: sum(map(len, words)))
def spans(words: tuple[str, ...]) -> tuple[tuple[str, int, int], ...]:
    """Give each unit of a token sequence with the place of its first word and the one behind its last."""
    return tuple(_spans(words))


def _spans(words: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    phrases, longest = _table()
    bases = [word if is_han(word) else base(word) for word in words]
    i = 0
    while i < len(bases):
        if i and words[i - 1] == "how" and words[i] in _MEASURES:
            # `how long` asks, it tells nothing.
            i += 1
            continue
        for size in range(min(longest.get(bases[i], 0), len(bases) - i), 0, -1):
            concept = phrases.get(tuple(bases[i : i + size]))
            if concept is not None:
                yield concept, i, i + size
                i += size
                break
        else:
            if is_content(words[i], bases[i]):
                yield bases[i], i, i + 1
            i += 1


def is_content(word: str, stemmed: str) -> bool:
    """True for a word, given with its base, that tells one case from another."""
    if is_han(word):
        return word not in _HAN_FUNCTION and word not in HAN_NUMERALS
    # Figures are compared as figures, whatever their spelling.
    if not word[0].isalpha() or word in cardinals() or word in ordinals():
        return False
    return word not in _ignored() and stemmed not in _ignored() and word not in _RAW


@remembered(len)
def words_of(text: str) -> tuple[str, ...]:
    """Give the folded words of a text; a sentence is looked at by many, and read once."""
    return read(text).words


def is_function(word: str) -> bool:
    """True for a word that only holds a sentence together."""
    return word in _function() or word in _HAN_FUNCTION


@remembered(len)
def spoken(text: str) -> frozenset[str]:
    """Give the bases of all words of a text but those that only hold it together: the strictest reading."""
    return frozenset(
        word if is_han(word) else base(word)
        for word in read(text).words
        if not is_function(word) and word[0].isalnum()
    )


@remembered(len)
def units(text: str) -> tuple[str, ...]:
    """Give the units of a text, in order."""
    return tuple(content(words_of(text)))
