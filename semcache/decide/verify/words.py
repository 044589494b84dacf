"""A text as the verifier compares it: words in order, which of them carry content, how they are written.

English words come from the gate's own reading; runs of Han characters are cut into the longest words
that the Chinese lexicon knows. Knows nothing of what words mean to each other.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from semcache.decide.order import stem
from semcache.decide.text import Token, is_han, read
from semcache.decide.verify.surplus import Clause, Said, breaks, clause_of
from semcache.decide.wordlist import split

MAX_WORDS = 192
"""Words that are compared; longer texts are not the verifier's to judge."""
_LONGEST_INITIALS = 6


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text: `forms` as written in lower case, `stems` to compare them by.

    `content` marks the words that carry content; `named` holds those written with a capital inside
    a sentence. `whole` is False when the text has more words than are compared.
    """

    forms: tuple[str, ...]
    stems: tuple[str, ...]
    content: tuple[bool, ...]
    named: frozenset[str]
    has_han: bool
    whole: bool


@lru_cache(maxsize=1)
def _function_words() -> frozenset[str]:
    return frozenset(
        split(
            """
            a an the this that these those some any there here it its itself he him his she her hers they them their theirs we us
            our ours i me my mine myself you your yours yourself one ones who whom whose which what when where why how
            is am are was were be been being do does did done doing have has had having can could may might must shall should
            will would ought need needs want wants wanted like get gets got getting go goes going let lets make makes
            and or but so if then than as at by for from in into of off on onto out over to too under until up upon with
            about again also already always am just only very really quite please pls plz kindly thanks thank thx hi hello hey dear
            ok okay yes yeah no not nor help tell know explain show give question questions ask asking wondering wonder
            possible possibly able way ways best good right proper properly correctly exactly actually currently now today
            quick quickly easily simple easy someone somebody anyone anybody something anything everything people person
            anyway basically maybe perhaps well still even ever much many more most lot bit kind sort thing things
            trying try tried find figure
            的 了 吗 呢 吧 啊 呀 嘛 哦 哈 么 着 过 地 得 之 我 你 您 他 她 它 我们 你们 您们 他们 咱们 大家 自己 这 那 这个 那个 这些 那些
            是 在 有 和 与 跟 及 或 或者 还是 把 被 给 让 叫 对 对于 关于 从 到 向 往 为 为了 因为 所以 但是 但 而 而且 就 都 也 还 又 再 才 只
            很 太 更 最 比较 非常 请 请问 麻烦 谢谢 你好 您好 帮 帮忙 帮我 一下 一个 个 想 想要 要 能 能否 能不能 可以 可不可以 可否 会
            应该 需要 怎么 怎样 如何 怎么样 怎么办 什么 啥 哪 哪里 哪儿 哪个 哪些 谁 几 多少 多 为什么 为何 为啥 吗 是否 是不是 有没有
            问 问题 告诉 知道 说 说明 解释 介绍 办 做 弄 搞 办法 方法 方式 好 行 呗 啦 嗯 那么 这样 那样 样 些 点 下
            """
        )
    )


def words_of(text: str, han: Container[str], longest: int) -> Words:
    """Read a text; `han` knows Chinese words of up to `longest` characters. Never raises, linear time."""
    seen = read(text)
    forms: list[str] = []
    named: set[str] = set()
    whole = not seen.tail
    for form, is_named in _forms(seen.words, [token.raw for token in seen.tokens], han, longest):
        if len(forms) == MAX_WORDS:
            whole = False
            break
        forms.append(form)
        if is_named:
            named.add(form)
    # What begins a sentence is written with a capital whatever it is.
    named -= {token.low for token in seen.tokens if token.first}
    return Words(
        forms=tuple(forms),
        stems=tuple(stem(form) if form.isascii() else form for form in forms),
        content=tuple(form not in _function_words() for form in forms),
        named=frozenset(named),
        has_han=any(is_han(word) for word in seen.words),
        whole=whole,
    )


def said_of(text: str, han: Container[str], longest: int) -> Said:
    """Read what a text says, clause by clause; the arguments are those of `words_of`. Never raises, linear time."""
    clauses: list[Clause] = []
    words: list[str] = []
    tokens = read(text).tokens
    for i, token in enumerate(tokens):
        # Between Han characters a blank is a stop.
        han_stop = bool(words) and " " in token.gap and is_han(token.low) and is_han(words[-1])
        if words and (han_stop or breaks(token.gap)):
            clauses.append(_clause(words, han, longest))
            words = []
        if not _is_initials(tokens, i):
            words.append(token.low)
    if words:
        clauses.append(_clause(words, han, longest))
    return Said.of(clauses)


def _is_initials(tokens: Sequence[Token], i: int) -> bool:
    """True for an abbreviation in parentheses behind the words that it stands for."""
    letters = tokens[i].low.removesuffix("s")
    if not tokens[i].gap.endswith("(") or not 2 <= len(letters) <= min(_LONGEST_INITIALS, i):
        return False
    return letters == "".join(token.low[0] for token in tokens[i - len(letters) : i])


def _clause(words: list[str], han: Container[str], longest: int) -> Clause:
    forms = list(_rejoined([form for form, _ in _forms(tuple(words), words, han, longest)]))
    content = [
        form not in _function_words() or (form == "tell" and forms[i + 1 : i + 2] not in (["me"], ["us"]))
        for i, form in enumerate(forms)
    ]
    return clause_of(forms, content)


def _rejoined(forms: Sequence[str]) -> Iterator[str]:
    """Join characters in a row that the lexicon does not know as words: together they are one that it has not."""
    run = ""
    for form in forms:
        if is_han(form) and form not in _function_words():
            run += form
            continue
        if run:
            yield run
        run = ""
        yield form
    if run:
        yield run


def _forms(
    words: tuple[str, ...], raws: list[str], han: Container[str], longest: int
) -> Iterator[tuple[str, bool]]:
    """Yield (word, written with a capital), runs of Han characters cut into known words."""
    i = 0
    while i < len(words):
        if not is_han(words[i]):
            # `I` is written with a capital and names nobody.
            yield words[i], raws[i][:1].isupper() and words[i] != "i"
            i += 1
            continue
        end = i + 1
        while end < len(words) and is_han(words[end]):
            end += 1
        run = "".join(words[i:end])
        yield from ((word, False) for word in _cut(run, han, longest))
        i = end


def _cut(run: str, han: Container[str], longest: int) -> Iterator[str]:
    """Cut a run into the longest known words from the left; unknown characters stand alone."""
    i = 0
    while i < len(run):
        size = min(longest, len(run) - i)
        while size > 1 and run[i : i + size] not in han:
            size -= 1
        yield run[i : i + size]
        i += size
