"""Units of measure and currencies: what they are called, and when two texts disagree in them.

Units of one dimension with a fixed factor (90 minutes, 1.5 hours) are compared by what they
measure, temperatures too. Currencies have no fixed factor: each is only equal to itself. Knows
nothing of how numbers are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from semcache.decide.marks import longest_of

# dimension: canonical unit, factor to the dimension's base (0: not convertible), written forms.
# Forms behind `;` are read only directly behind a number: alone they are ordinary words.
_TABLE = {
    "time": """
s 1 second seconds sec secs 秒 秒钟; s
min 60 minute minutes mins 分钟; min
h 3600 hour hours hourly hr hrs 小时 钟头 个小时; h
d 86400 day days daily per_day 每天 每日; 天 日
wk 604800 week weeks weekly 每周 每星期; 周 星期 个星期 礼拜
mo 2629746 month months monthly 每月 每个月; 个月
yr 31556952 year years yearly annual annually 每年 年度; 年 岁 周岁
fortnight 1209600 fortnight fortnights
quarterhour 900 刻钟
ms 0.001 millisecond milliseconds 毫秒; ms""",
    "length": """
mm 0.001 mm millimeter millimeters millimetre millimetres 毫米
cm 0.01 cm centimeter centimeters centimetre centimetres 厘米 公分
m 1 meter meters metre metres; m 米
km 1000 km kilometer kilometers kilometre kilometres kms 公里 千米
in 0.0254 inch inches 英寸; in 寸
ft 0.3048 foot feet 英尺; ft
yd 0.9144 yard yards
mi 1609.344 mile miles 英里; mi
nmi 1852 nautical_mile nautical_miles 海里""",
    "mass": """
mcg 0.000001 mcg microgram micrograms 微克; ug
mg 0.001 mg milligram milligrams 毫克
g 1 gram grams gramme grammes 克; g
kg 1000 kg kilogram kilograms kilo kilos kgs 公斤 千克
t 1000000 ton tons tonne tonnes 吨
jin 500 斤
lb 453.59237 pound pounds lb lbs 磅
oz 28.349523 ounce ounces oz 盎司""",
    "volume": """
ml 0.001 ml milliliter milliliters millilitre millilitres 毫升; cc
m3 1000 cubic_meter cubic_meters cubic_metre cubic_metres 立方米; m_3
l 1 liter liters litre litres 公升; l 升
gal 3.785411784 gallon gallons 加仑
cup 0 cups 杯; cup
tbsp 0 tablespoon tablespoons tbsp
tsp 0 teaspoon teaspoons tsp
pt 0 pints; pint
qt 0 quart quarts""",
    "area": """
m2 1 square_meter square_meters square_metre square_metres sqm 平方米 平米; 平 m_2
km2 1000000 square_kilometer square_kilometers square_kilometre square_kilometres 平方公里 平方千米; km_2
cm2 0.0001 square_centimeter square_centimeters 平方厘米; cm_2
ft2 0.09290304 square_foot square_feet sqft 平方英尺; ft_2
ha 10000 hectare hectares 公顷
acre 4046.8564224 acre acres 英亩
mu 0 亩""",
    "temperature": """
c 0 celsius centigrade degrees_celsius degrees_centigrade degrees_c 摄氏度 摄氏
f 0 fahrenheit degrees_fahrenheit degrees_f 华氏度 华氏
k 0 kelvin""",
    "money": """
usd 0 dollar dollars usd bucks 美元 美金 美刀; $ buck
eur 0 euro euros eur 欧元; €
gbp 0 gbp sterling 英镑 quid; £
jpy 0 yen jpy 日元 日圆
cny 0 yuan cny rmb renminbi 人民币; 元 块 块钱 ¥
hkd 0 hkd 港币 港元
twd 0 twd 台币 新台币
krw 0 krw 韩元; ₩
inr 0 rupee rupees inr 卢比; ₹
cad 0 cad 加元 加币
aud 0 aud 澳元 澳币
chf 0 chf francs franc 瑞士法郎 法郎
rub 0 ruble rubles rub 卢布
mxn 0 peso pesos
btc 0 bitcoin bitcoins btc 比特币
eth 0 ethereum 以太币
cent 0 cents; cent 分钱 ¢""",
    "data": """
b 1 byte bytes 字节
kb 1000 kb kilobyte kilobytes
mb 1000000 mb megabyte megabytes
gb 1000000000 gb gigabyte gigabytes gigs
tb 1000000000000 tb terabyte terabytes
bit 0; bits
mbps 0 mbps; mbit
gbps 0 gbps""",
    "speed": """
kmh 1 km_h kmh kph km_per_hour kilometers_per_hour kilometres_per_hour kilometer_per_hour 公里每小时 千米每小时
mps 3.6 m_s meters_per_second metres_per_second 米每秒
mph 1.609344 mph miles_per_hour miles_an_hour 英里每小时""",
    "energy": """
kcal 1 kcal calorie calories 卡路里 大卡 千卡
kj 0.239005736 kj kilojoule kilojoules 千焦
kwh 0 kwh 千瓦时 度电
w 0 watt watts 瓦; w
kw 0 kw kilowatt kilowatts 千瓦
v 0 volt volts 伏; v""",
    "share": """
pct 1 percent percentage 百分比; %
tenth 10; 成
permille 0 permille; ‰""",
    "dose": """
iu 0 iu
mmol 0 mmol
tablet 0; tablets pills 片剂 片 粒 pill tablet
drop 0; drops 滴""",
    "count": """
wordcount 0; words word 字 个字
charcount 0; characters character 字符
page 0; pages page 页
sentence 0; sentences sentence 句 句话
paragraph 0; paragraphs paragraph 段 段话
line 0; lines line 行""",
}


_CELSIUS: dict[str, Callable[[float], float]] = {
    "c": lambda degrees: degrees,
    "f": lambda degrees: (degrees - 32.0) / 1.8,
    "k": lambda degrees: degrees - 273.15,
}


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: its dimension, canonical name, and factor to the base (0 when there is none)."""

    dimension: str
    name: str
    factor: float

    def measure(self, value: float) -> tuple[str, float]:
        """Give (what is measured, amount) so that equal amounts in different units are equal."""
        if self.dimension == "temperature":
            return (self.dimension, _nine_digits(_CELSIUS[self.name](value)))
        if self.factor == 0:
            return (self.name, _nine_digits(value))
        return (self.dimension, _nine_digits(value * self.factor))


def _nine_digits(value: float) -> float:
    return float(f"{value:.9g}")


@lru_cache(maxsize=1)
def _forms() -> tuple[dict[str, Unit], dict[str, Unit]]:
    """Give (forms read anywhere, forms read only behind a number)."""
    free: dict[str, Unit] = {}
    bound: dict[str, Unit] = {}
    for dimension, lines in _TABLE.items():
        for line in lines.strip().split("\n"):
            anywhere, _, behind = line.partition(";")
            name, factor, *forms = anywhere.split()
            unit = Unit(dimension, name, float(factor))
            free |= {form.replace("_", " "): unit for form in forms}
            bound |= {form.replace("_", " "): unit for form in behind.split()}
    return free, bound


def free_units() -> Mapping[str, Unit]:
    """Give written form -> unit for the forms that mean a unit wherever they stand."""
    return _forms()[0]


def bound_units() -> Mapping[str, Unit]:
    """Give written form -> unit for the forms that mean a unit only next to a number."""
    return _forms()[1]


@lru_cache(maxsize=1)
def longest_forms() -> dict[str, int]:
    """Give for each first token the length of the longest unit form that begins with it."""
    return longest_of((*free_units(), *bound_units()))


def conflict(one: frozenset[Unit], other: frozenset[Unit], *, money: bool) -> bool:
    """True when the texts name different units, of money or of everything else.

    Nothing follows from a unit that only one text names: the other may leave it to context.
    """
    only_one, only_other = one - other, other - one
    if {"lb", "gbp"} == {unit.name for unit in (*only_one, *only_other)}:
        # A pound is either.
        return False
    if not only_one or not only_other:
        return False
    of_money = [unit.dimension == "money" for unit in (*only_one, *only_other)]
    return any(of_money) if money else not all(of_money)
