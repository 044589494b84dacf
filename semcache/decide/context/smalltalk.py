"""Talk by the way, by topic: the weather, the weekend, noisy pets, a compliment for the service.

A clause is an aside of some topics when it has their cues, tells an event rather than a state of
the asker, and holds no figure, wish or condition. Whether the chat is itself about one of the
topics is for those to judge who know the chat. Knows nothing of turns.
"""

from __future__ import annotations

import re
from functools import lru_cache

from semcache.decide.context.clauses import asks
from semcache.decide.context.words import base, words_of
from semcache.decide.text import is_han
from semcache.decide.wordlist import split

_TOPICS = {
    "weather": "weather sunny sunshine rain rainy raining snow snowing snowed cloudy windy humid heatwave storm stormy freezing scorching chilly drizzle forecast",
    "leisure": "weekend movie film movies netflix show series season episode music song concert playlist podcast game match football soccer basketball baseball tennis golf hockey hiking hike jogging "
    "gardening knitting yoga fishing camping picnic barbecue bbq beach pool lake park museum party parties karaoke dance dancing puzzle hobby hobbies novel binge",
    "family": "kids kid grandkids grandson granddaughter nephew niece cousin sister brother mom mum dad grandma grandpa aunt uncle toddler husband wife roommate neighbor neighbour neighbors neighbours friends in-laws",
    "pets": "dog dogs cat cats puppy kitten barking bark meow meowing hamster parrot pup",
    "food": "coffee tea caffeine lunch dinner breakfast snack snacks pizza tacos sandwich cookies cake donut donuts soup burger brunch espresso latte",
    "work": "monday mondays friday meeting meetings commute traffic office boss deadline shift overtime busy hectic errands chores laundry inbox desk coworkers coworker",
    "feast": "birthday christmas thanksgiving easter halloween holidays holiday anniversary new-year vacation",
    "guest": "lifesaver fan loyal chatbot robot bot human person typing typo typos autocorrect rambling ramble joke joking kidding lol haha hahaha hilarious laugh laughing funny doorbell brb hold-music",
}  # fmt: skip
_BLOCKERS = {"food": ("health", "cooking"), "family": ("health", "travel", "money"), "pets": ("health", "travel", "housing"), "work": ("law", "health", "money"), "weather": ("travel", "clothes", "garden"), "feast": ("money", "travel"), "leisure": ("health", "travel")}  # fmt: skip
_MATTERS = {
    "health": "pain fever symptom symptoms medicine medication dose doctor pill pills allergy allergic pregnant sick headache rash cough blood surgery ate eaten swallowed vomit vomiting bleeding bitten bite vet poisoned poison toxic emergency hospital diet sleep tablet hurt hurts weight calories vitamin injury disease",
    "cooking": "recipe cook bake oven ingredient ingredients meal calories protein grill fry boil restaurant menu eat",
    "travel": "flight hotel trip travel passport visa luggage train airport booking itinerary destination",
    "money": "insurance tax mortgage loan deduct deduction dependent pension inheritance plan tickets ticket",
    "housing": "apartment flat rent landlord lease house tenant room roommate",
    "law": "contract notice fired employer employment termination dismissal lawsuit",
    "clothes": "jacket coat wear shoes boots clothes dress",
    "garden": "plant plants garden lawn seeds tomatoes roof paint painting driving",
}  # fmt: skip
_STATE = re.compile(
    r"\b(?:i|we) (?:(?:also|only|just|really|currently|still) )?(?:have (?!been|had|got to run|to run|to say|to admit)|own|live|use|need|want|prefer|drive|take|can|can not|could not|do not|will|plan|must|should|would|hate)\b"
    r"|\b(?:i|we) (?:am|are) (?!(?:so |really |just |still |totally |super |very |also |too |back|a (?:big|huge|loyal)|in (?:a|such)|such|glad|happy|sorry|here|not (?:great|good|the best) (?:with|at)|\w+ing))"
    r"|\b(?:need|needs|must|only|before|because|unless|if|without|except|instead|allergic|already|since|until|by|them|these|those|refund|return|order|pay|cancel|exchange|buy|bought|broke|broken)\b"
)
_POINTS = re.compile(r"\bit\b(?! (?:is|was|has been|will be|feels) )|\bthis\b(?! (?:week|morning|weekend|store|shop|app|chat|song|year|month|time|company|brand|service|is (?:so|my|the)))|\bthat\b(?! (?:is|was|sounds|time|said))")  # fmt: skip
_AFFECT = re.compile(
    r"\b(?:(?:what|such) a (?:day|week|morning|month|year|time)|one of those (?:days|weeks)|(?:long|rough|crazy|busy|hectic|wild|slow) (?:day|week|morning|afternoon|night)|(?:you|your team|you guys|you all) (?:are|is|have been) (?:so |very |really |super |always |the |such a )*(?:great|awesome|helpful|kind|best|nice|sweet|patient|quick|amazing|wonderful|fast|good)"
    r"|(?:love|loved|loving|enjoy|enjoying) (?:your|this) (?:store|shop|app|service|company|site|website|place|brand|chat)|hope (?:you|your|all|that you)|how (?:is|was|are|about) (?:your|you)|nice (?:talking|chatting|to meet)|(?:great|good|terrible|bad|hopeless) (?:with|at) (?:technology|computers|phones|apps|this stuff|these things|tech)|not (?:so |very )?tech savvy|technology these days|fingers crossed|time flies|long story|had to (?:grab|answer|get) the (?:door|phone)|be right back|stepped away|good vibes|no offense|you know how it is|first world problems|lesson learned|story of my life|just my luck|of all days|i (?:swear|promise)|small world|life gets busy|life happens"
    r"|can (?:not|hardly) wait\b(?! (?:for|until|till|more|any|that|so|much|long))|(?:coffee|caffeine|tea) (?:has|have) (?:not|yet) (?:kicked|set)|(?:need|needed|time for) (?:another |more |a |my |some )?(?:coffee|caffeine|nap|vacation|weekend|drink|hug)$|deep breath|pouring (?:here|outside|down|cats)|(?:paperwork|bureaucracy|adulting|technology|mondays|traffic) (?:is|are) (?:the worst|so|such|always|not my)"
    r"|what a (?:way|mess|world|life|journey|ride|nightmare|start|treat|pleasure|surprise|coincidence|great|lovely|nice|beautiful|gorgeous|wonderful)|(?:it is|is) (?:so |really |very |super |been )?(?:hot|cold|sunny|rainy|windy|gorgeous|beautiful|freezing|boiling|lovely|nice) (?:here|outside|out|today|out here|out there)|(?:going|gonna) to be (?:so |such |a lot of )*(?:fun|great|amazing|awesome|epic|lovely)|(?:makes|made) me (?:laugh|smile|happy|hungry|so)"
    r"|(?:my|the) (?:dog|cat|kid|kids|baby|toddler|neighbor|neighbour|phone|doorbell) (?:is |are |was |just |keeps |will not stop |won t stop |started )*(?:barking|meowing|screaming|crying|yelling|running around|jumping|staring|snoring|sleeping|sitting on|walking (?:on|over|across)|going (?:crazy|nuts|wild)|ringing|rang|distracting|bugging|begging|driving me)"
    r"|(?:thank|thanks|bless|appreciate) (?:you |your |so |a |much |for )*(?:patience|time|understanding|bearing|listening|being)|(?:sorry|apologies|pardon) (?:for|about) (?:the|my|all|any|that|rambling|being|asking|bothering|so)|(?:you|u) (?:rock|rule)|(?:have|having|been having|had) (?:a|one of|such a|quite a|kind of a) .{0,20}(?:day|week|morning|month|night)$|(?:almost|nearly|finally) (?:lunchtime|friday|the weekend|bedtime|done)|(?:so|been|super|really) (?:busy|tired|sleepy|exhausted|swamped|forgetful|scatterbrained|clumsy)(?: (?:today|lately|these days|this week|right now|at work))?$"
    r"|no (?:rush|hurry)|not in a (?:rush|hurry)|take your time|(?:dumb|silly|stupid|weird|random|newbie) question|sorry to (?:bother|bug)|hate to (?:bother|be a bother)|first time (?:using|chatting|doing|trying|on|here)|(?:never|not) (?:done|tried|used) (?:this|a chat|chat|one of these)"
    r"|excuse (?:my|the) \w+|bear with me|where (?:was i|were we)|as i was saying|you (?:are|must be) (?:so |very |really )?busy|feel (?:so |a bit |kind of )?(?:silly|dumb|bad|old|terrible|awkward)|just venting|rant over|end rant|made my day|brighten\w*|how time flies|keep up the (?:good|great) work|best (?:customer|support|service)|five stars|love (?:you|this|it) guys|recommended (?:you|your)"
    r"|(?:typing|on) (?:this )?(?:on|from) my (?:phone|couch|bed)|auto ?correct|big thumbs|fat fingers|had (?:such )?a (?:great|good|bad|rough|long|terrible|lovely) (?:day|week|morning|time|weekend)|hope (?:the|it|things)|how are (?:you|things)|happy (?:monday|tuesday|wednesday|thursday|friday|weekend|holidays|new year)|good to (?:know|hear)|you know what i mean|if you know what i mean|believe it or not|to be honest|not gonna lie|real quick|weird (?:weather|day|week)|mind is (?:elsewhere|all over)|brain (?:is )?(?:fried|fog|dead)|scatter\w*|distract\w*|multitask\w*|in between meetings|(?:you|your) (?:are|re) (?:the best|a star|a legend|an angel|a lifesaver|awesome|great)|(?:that is|what) (?:a|such a) relief|(?:i am|i was|am|was|we are|we were) so (?:excited|happy|glad|thrilled|bummed|annoyed|frustrated|tired of this)|it is (?:finally|almost|only) (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|the weekend)|not (?:just|only) me|(?:losing|lose|lost) my mind|i hope you do not mind|me again|sorry for all the (?:questions|messages)|thanks (?:a )?(?:ton|bunch|million|heap|lot)|you know how (?:it is|that is|they are)|could be worse|it is what it is|i can imagine|talk about bad timing|murphy|on my (?:lunch|coffee) break|running around|spring cleaning|getting old|senior moment|mom brain|baby brain)\b"
)
_HAN = ("天气", "下雨", "下雪", "今天好热", "今天好冷", "好忙", "堵车", "吃饭了吗", "吃了吗", "看电影", "追剧", "心情", "最近怎么样", "过得怎么样", "狗在叫", "孩子在闹", "猫在", "周末愉快", "打工人", "周一", "摸鱼", "哈哈", "你真好", "你们真好", "态度真好", "服务真好")  # fmt: skip
_HAN_STATE = ("需要", "必须", "只", "不能", "不要", "如果", "因为", "这个", "那个", "退", "买", "订", "付", "过敏", "之前", "我有", "我是", "我想", "我要", "它")  # fmt: skip
_TAG = re.compile(r"(?:is|are|was|does|do) (?:not )?(?:it|you|they)$|how (?:is|was|are|about) (?:your|you|the weather)|right$|huh$|you know$")  # fmt: skip
GUEST = "guest"
_LONGEST_SOCIAL = 16


# What those who serve say to it.
_SOCIAL = re.compile(
    r"^(?:oh |aw+ |haha |ha |wow |hey |well )*(?:enjoy|sounds? (?:like|fun|great|lovely|delicious|amazing|wonderful|exciting|nice|relaxing|busy|hectic|stressful)|that sounds|how (?:fun|lovely|exciting|sweet|nice|cute|wonderful)|stay (?:warm|cool|dry|safe|hydrated)|good luck|hope (?:you|your|the|it|that|they)|i hope|have a (?:great|good|lovely|wonderful|nice|fantastic|safe)|i can (?:relate|imagine)|been there|tell me about it|no judg\w+|it happens|we have all been|who does not|congrat\w*|glad|love (?:it|that)|lucky you|poor thing|hang in there|cheers|no (?:rush|hurry|worries)|take your time|weekends?|the weather|what a)\b"
)  # fmt: skip


def is_social(sentence: str) -> bool:
    """True for a short answer to small talk, without a figure in it."""
    words = words_of(sentence)
    return (
        len(words) <= _LONGEST_SOCIAL
        and not any(word[0].isdigit() for word in words)
        and bool(_SOCIAL.search(" ".join(words)))
    )


@lru_cache(maxsize=1)
def _cues() -> dict[str, str]:
    return {base(word): topic for topic, words in _TOPICS.items() for word in split(words)}


@lru_cache(maxsize=1)
def _areas() -> dict[str, str]:
    return {base(word): area for area, words in _MATTERS.items() for word in split(words)}


def topics(sentence: str) -> frozenset[str]:
    """Give the topics of a clause that is an aside; none for one that is not."""
    words = words_of(sentence)
    joined = " ".join(words)
    if any(word[0].isdigit() for word in words) or (asks(sentence) and not _TAG.search(joined)):
        return frozenset()
    if any(is_han(word) for word in words):
        text = "".join(words)
        plain = any(cue in text for cue in _HAN) and not any(mark in text for mark in _HAN_STATE)
        return frozenset((GUEST,)) if plain else frozenset()
    stems = {base(word) for word in words}
    if _STATE.search(joined) or _POINTS.search(joined) or not stems.isdisjoint(_areas()):
        return frozenset()
    found = frozenset(_cues()[stem] for stem in stems if stem in _cues())
    return found | {GUEST} if _AFFECT.search(joined) else found


_OF_BODIES = frozenset(("health", "cooking", "travel"))


def concerns_bodies(text: str) -> bool:
    """True for a text about health, food or travelling, or one about nothing that is known here but the asker."""
    words = words_of(text)
    stems = {base(word) for word in words}
    areas = {_areas()[stem] for stem in stems if stem in _areas()}
    return bool(areas & _OF_BODIES) or any(_cues().get(stem) in ("food", "leisure") for stem in stems)


def touches(aside: frozenset[str], matter: str) -> bool:
    """True when a text is about one of the topics, or about an area on which they bear."""
    stems = {base(word) for word in words_of(matter)}
    own = {_cues()[stem] for stem in stems if stem in _cues()} - {GUEST}
    areas = {_areas()[stem] for stem in stems if stem in _areas()}
    return any(topic in own or areas.intersection(_BLOCKERS.get(topic, ())) for topic in aside)
