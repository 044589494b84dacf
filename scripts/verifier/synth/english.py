"""English word forms: -ing, past participles, plurals, a/an, capitals."""

from __future__ import annotations

import re

_DOUBLE = {
    "set", "stop", "cut", "get", "put", "run", "plan", "chop", "drop", "mop", "wrap", "split", "trim", "ship",
    "spot", "tag", "swap", "let", "sit", "hit", "knit", "submit", "transfer", "cancel", "refer", "forget",
    "begin", "commit", "unclog", "dip", "scan", "log", "top", "jog", "tap", "pin", "fit", "scrap", "repot",
    "rub", "tip", "rip", "hug", "step", "skip", "grab", "bar", "reset", "sublet", "win", "whip", "strip", "dim",
    "debug", "zip", "unplug", "label", "plug", "quit", "opt", "shut", "shed", "pat", "dig", "swim", "mug", "hop",
    "sip", "slip", "snap", "beg", "rob", "rot", "prefer", "admit", "permit", "omit", "regret", "travel", "model",
    "signal", "fuel", "enrol", "kidnap", "format",
} - {"opt"}  # fmt: skip
_PAST = {
    "set": "set", "resell": "resold", "rewrite": "rewritten", "redo": "redone", "remake": "remade", "resit": "resat", "cut": "cut", "put": "put", "let": "let", "hit": "hit", "split": "split", "reset": "reset",
    "sublet": "sublet", "shut": "shut", "quit": "quit", "shed": "shed", "get": "got", "buy": "bought",
    "sell": "sold", "send": "sent", "lend": "lent", "spend": "spent", "build": "built", "rebuild": "rebuilt",
    "find": "found", "bind": "bound", "make": "made", "take": "taken", "retake": "retaken", "give": "given",
    "write": "written", "read": "read", "feed": "fed", "breed": "bred", "keep": "kept", "leave": "left",
    "lose": "lost", "hold": "held", "tell": "told", "say": "said", "pay": "paid", "lay": "laid", "teach": "taught",
    "think": "thought", "bring": "brought", "catch": "caught", "fight": "fought", "seek": "sought",
    "begin": "begun", "drink": "drunk", "sing": "sung", "swim": "swum", "run": "run", "win": "won", "grow": "grown",
    "throw": "thrown", "know": "known", "draw": "drawn", "withdraw": "withdrawn", "show": "shown", "see": "seen",
    "do": "done", "go": "gone", "drive": "driven", "ride": "ridden", "break": "broken", "choose": "chosen",
    "freeze": "frozen", "unfreeze": "unfrozen", "steal": "stolen", "speak": "spoken", "wear": "worn", "tear": "torn",
    "sew": "sewn", "mow": "mown", "eat": "eaten", "beat": "beaten", "hide": "hidden", "bite": "bitten",
    "forget": "forgotten", "meet": "met", "shoot": "shot", "light": "lit", "hang": "hung", "understand": "understood",
    "overcome": "overcome", "come": "come", "become": "become", "rise": "risen", "fall": "fallen", "cast": "cast",
    "sweep": "swept", "sleep": "slept", "deal": "dealt", "mean": "meant", "spread": "spread", "undo": "undone",
    "knit": "knitted", "wind": "wound", "stick": "stuck", "steer": "steered", "cope": "coped",
    "grind": "ground", "bend": "bent", "blow": "blown", "fly": "flown", "forgive": "forgiven", "shake": "shaken",
    "bear": "borne", "swear": "sworn", "slide": "slid", "sink": "sunk", "spin": "spun", "cost": "cost",
    "upset": "upset", "bet": "bet", "rid": "rid", "have": "had", "be": "been", "hear": "heard", "sit": "sat",
    "stand": "stood", "withstand": "withstood", "strike": "struck", "swell": "swollen", "weave": "woven",
    "hurt": "hurt", "burst": "burst", "foresee": "foreseen", "oversee": "overseen", "mislead": "misled",
    "lead": "led", "leap": "leapt", "lean": "leant", "dive": "dived", "wake": "woken", "undergo": "undergone",
    "undertake": "undertaken", "overtake": "overtaken", "mistake": "mistaken", "forbid": "forbidden",
    "wring": "wrung", "ring": "rung", "shrink": "shrunk", "spring": "sprung", "sting": "stung", "swing": "swung",
    "cling": "clung", "fling": "flung", "strive": "striven", "arise": "arisen", "bid": "bid", "shine": "shone",
    "slit": "slit", "thrust": "thrust", "weep": "wept", "creep": "crept", "kneel": "knelt", "dig": "dug",
}  # fmt: skip
_VOWELS = "aeiou"
_PLURALS = {
    "child": "children", "man": "men", "woman": "women", "foot": "feet", "tooth": "teeth", "mouse": "mice",
    "goose": "geese", "wife": "wives", "knife": "knives", "loaf": "loaves", "shelf": "shelves", "leaf": "leaves",
    "person": "people", "louse": "lice", "sheep": "sheep", "scarf": "scarves", "half": "halves", "life": "lives",
    "wolf": "wolves", "index": "indexes", "bacterium": "bacteria", "fungus": "fungi",
}  # fmt: skip
_HOUR_LIKE = ("hour", "honest", "honour", "heir", "mri", "ssd", "sd ", "sms", "sql", "x-ray", "rv", "lp", "hd ", "f5", "xml",
              "html", "http", "led ", "fm ", "llc", "ndt", "mp3", "hr ", "sim ".upper(), "sso", "ssh", "s3", "8", "11", "18")  # fmt: skip
_YOU_LIKE = (
    "uni",
    "use",
    "usu",
    "euro",
    "one",
    "once",
    "ukul",
    "us ",
    "uk ",
    "ufo",
    "usb",
    "url",
    "utensil",
    "eu ",
    "ewe",
)


def _head(phrase: str) -> tuple[str, str]:
    if phrase.startswith("factory reset"):
        return "reset", phrase.removeprefix("factory reset")
    word, space, rest = phrase.partition(" ")
    return word, space + rest


def gerund(phrase: str) -> str:
    """The -ing form of a verb phrase whose first word is the verb: "set up" -> "setting up"."""
    word, rest = _head(phrase)
    lead = "factory " if phrase.startswith("factory reset") else ""
    if word.endswith("ie"):
        form = word[:-2] + "ying"
    elif word in _DOUBLE:
        form = word + word[-1] + "ing"
    elif word.endswith("e") and not word.endswith(("ee", "oe", "ye")) and word != "be":
        form = word[:-1] + "ing"
    else:
        form = word + "ing"
    return lead + form + rest


def participle(phrase: str) -> str:
    """The past participle of a verb phrase whose first word is the verb."""
    word, rest = _head(phrase)
    lead = "factory " if phrase.startswith("factory reset") else ""
    if word in _PAST:
        form = _PAST[word]
    elif word in _DOUBLE:
        form = word + word[-1] + "ed"
    elif word.endswith("e"):
        form = word + "d"
    elif word.endswith("y") and word[-2:-1] not in _VOWELS:
        form = word[:-1] + "ied"
    else:
        form = word + "ed"
    return lead + form + rest


def plural(noun: str) -> str:
    """The plural of a noun phrase whose last word is the head."""
    head, space, word = noun.rpartition(" ")
    if word in _PLURALS:
        form = _PLURALS[word]
    elif word.endswith(("s", "x", "z", "ch", "sh")):
        form = word + "es"
    elif word.endswith("y") and word[-2:-1] not in _VOWELS:
        form = word[:-1] + "ies"
    elif word.endswith(("potato", "tomato")):
        form = word + "es"
    else:
        form = word + "s"
    return head + space + form


def article(word: str) -> str:
    """ "a" or "an" before a word."""
    low = word.lower()
    if low.startswith(_YOU_LIKE):
        return "a"
    if low.startswith(_HOUR_LIKE):
        return "an"
    return "an" if low[:1] in _VOWELS else "a"


def with_articles(text: str) -> str:
    """Corrects every a/an in a text."""

    def put(match: re.Match[str]) -> str:
        right = article(match.group(3))
        return (
            (right.capitalize() if match.group(1)[0].isupper() else right) + match.group(2) + match.group(3)
        )

    return re.sub(r"\b([Aa]n?)(\s+)([\w'-]+ ?)", put, text)


def bare(phrase: str) -> str:
    """A noun phrase without its determiner: "my old car" -> "old car"."""
    return re.sub(r"^(my|a|an|the|our|some)\s+", "", phrase)


def capital(text: str) -> str:
    """First letter as a capital, unless the word has its own shape (eSIM, iPhone)."""
    first = text.split(" ", 1)[0]
    if any(c.isupper() for c in first[1:]):
        return text
    return text[:1].upper() + text[1:]


def lower_first(text: str) -> str:
    """First letter small, unless it belongs to a name or to "I"."""
    first = re.split(r"[\s']", text, maxsplit=1)[0]
    if first == "I" or any(c.isupper() for c in first[1:]):
        return text
    return text[:1].lower() + text[1:]
