"""Numbers in Chinese numerals, where a measure word says that they are numerals.

Knows nothing of digits.
"""

from __future__ import annotations

from semcache.decide import clock, numerals
from semcache.decide.quantities import Number
from semcache.decide.reader import Reader, unit_at
from semcache.decide.units import bound_units

_MEASURE_WORDS = frozenset(
    "个只条件次天年月日号周岁分秒小点元块毛斤公克毫片升粒颗杯瓶盒支张份页字句段章节人位名家间套台部辆本种类级层楼倍成折季度期型米里吨"
    "厘平行列步届代胎室厅美欧英港礼星刻者样遍趟针回门科项组排栋座亩寸尺箱包袋根棵头匹口钟"
)


# `两者` points back at two things that the text names anyway.
_POINTING = frozenset("人者边国侧地")


def han(reader: Reader, i: int) -> int:
    """Read a run of Chinese numerals, only where a measure word or `第` says that it is one."""
    words = reader.text.words
    if words[i] == "半":
        return reader.note(i, i + 1, 0.5, "0.5", soft=True) if unit_at(words, i + 1)[0] is not None else i
    end = i
    while reader.word(end) in numerals.HAN_NUMERALS:
        end += 1
    run = "".join(words[i:end])
    part = _part(reader, i, end, run)
    if part is not None:
        return part
    if not _is_numeral(reader, i, end, run):
        return end
    value = numerals.chinese(run)
    taken = clock.han(words, i, end, value)
    if taken is not None:
        return reader.take(taken, i)
    if words[max(0, i - 3) : i] == ("百", "分", "之"):
        reader.found.numbers.append(Number(str(value), bound_units()["%"].measure(value), at=(i, end)))
        reader.found.units.append((bound_units()["%"], bound_units()["%"].measure(value)))
        return end
    if reader.text.words[end : end + 2] == ("个", "半"):
        return reader.note(i, end + 2, value + 0.5, f"{value + 0.5:.15g}")
    return reader.note(i, end, float(value), str(value), soft=value == 1 or reader.word(end) in _POINTING)


def _part(reader: Reader, i: int, end: int, run: str) -> int | None:
    """Read `一半` and `三分之一`."""
    if run == "一" and reader.word(end) == "半" and unit_at(reader.text.words, end + 1)[0] is None:
        return reader.note(i, end + 1, 0.5, "0.5")
    last = end + 2
    while reader.word(last) and reader.word(last) in numerals.HAN_NUMERALS:
        last += 1
    if run == "百" or reader.text.words[end : end + 2] != ("分", "之") or last == end + 2:
        return None
    whole, count = numerals.chinese(run), numerals.chinese("".join(reader.text.words[end + 2 : last]))
    return reader.note(i, last, count / whole, f"{count / whole:g}") if whole else None


def _is_numeral(reader: Reader, i: int, end: int, run: str) -> bool:
    """True when a run of numeral characters counts something; `四五天` only estimates."""
    before, after = reader.word(i - 1), reader.word(end)
    if before in ("周", "期", "拜") or (before == "个" and reader.word(i - 2) == "每"):
        # A day of the week.
        return False
    percent = reader.text.words[max(0, i - 3) : i] == ("百", "分", "之")
    if reader.text.words[end : end + 2] == ("分", "之") or (run == "百" and reader.word(end) == "分"):
        return False
    if len(run) == 2 and run in "一二三四五六七八九" and before != "第":
        return False
    return after in _MEASURE_WORDS or percent or before == "第" or (len(run) > 1 and run[0] not in "千万亿百")
