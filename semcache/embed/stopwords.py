"""Function words: of English, and of other languages where they are no English word. Data only.

Own lists, from general knowledge of the languages.
"""

from __future__ import annotations

from typing import Final


def _words(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in text.split())


ENGLISH: Final = _words(
    """
    a about after all also am an and any are as at be because been before being between both but by can
    can't cannot could did didn't do does doesn't doing don't down during each explain few find for from
    further get give had has have having he help her here hers him his how how's i i'd i'll i'm i've if in
    into is isn't it it's its just know let let's list make many may me mean might more most much must my
    need no nor not now of off on once one only or other our out over own please say same she should show so
    some such take tell than thank thanks that that's the their them then there these they this those through
    to too under until up us use very want was we were what what's when where which while who whom whose why
    will with without won't work would write yes yet you your yours
    """
)

_GERMAN = """
    aber auch auf aus bei bin bist das dass dem den der des deine dich dir doch durch ein eine einem einen
    einer eines er es für gegen gibt habe haben hat ich ihr im ist ja kann kein keine können mein meine
    meiner meinen mich mir mit muss nach nicht noch nur oder ohne schon sehr sein seine sich sie sind soll
    sollte über um und uns unter viel vom von vor wann warum wenn wer werden wie wieviel wird wir wo zu zum zur zwischen
"""
_FRENCH = """
    au aux avec ce ces cette comment combien d'un d'une dans de des du elle elles en est est-ce et être faire
    il ils j'ai je l'on la le les leur leurs ma mais mes mon n'est ne nous où ou par pas peut plus pourquoi
    puis-je qu'est qu'il quand que quel quelle quelles quels qui quoi sa sans ses sont sur ta tes ton tu un une vos
    votre vous
"""
_SPANISH_PORTUGUESE = """
    al ao aos às así cómo como con cual cuál cuáles cuando cuándo cuánto cuántos da das del desde do dónde donde
    dos e ela el ele em é eles ella ellos en entre es esta está están este esto eu fazer hacer hay isso la las
    lo los mais mas más meu mi minha mis muito muy na não nas nos nossa nosso o onde os para pela pelo
    pero pode podem podría por porque posso puede puedo qual quais quando quanto que qué quem quién quiero são
    se sem ser seu sin sobre son soy su sua sus também también tem tengo tiene uma una unas você y ya yo
"""
_ITALIAN = """
    alla alle anche che chi ci cosa cos'è come con da dal dalla degli dei del della delle dello di dove è
    fare gli ho il io la le lo mia mio nel nella non per perché più posso può qual quale quali quando quanto
    questa questo sono su sul tra una uno
"""
_DUTCH = """
    aan als bij dan dat de deze dit een en er geen heb hebben heeft het hoe hoeveel ik je kan kunnen maar mag
    met mijn moet naar niet nog om ook op uit van voor waar waarom wanneer wat welke wie worden wordt zijn zonder
"""
_NORDIC = """
    att av blir de den det där du eller en ett finns för från ha hade han har hur hva hvad hvem hvor hvordan hvorfor
    hvornår ikke inte jag jeg kan kommer man med men mig min mitt måste mycket når när och og også om på
    skal ska som till til vad var vem vilken ville være är på ett
"""
_SLAVIC_LATIN = """
    aby ale bez bo być był co czy dla dlaczego dlouho gdy gdzie i ile ja jak jaka jaki jakie jako je jest jestem
    jsem jsou kde kdo kdy kiedy która które który kto má mám mogę można mohu mi moje może musí nie není od po pod
    pro proč przez przy są se się tak też tego tej tylko ve więc za ze że
"""
_TURKISH_INDONESIAN_ROMANIAN = """
    acest ada adalah apa apakah bagaimana bana ben berapa bir bu cum cât cea cel çok dan dari daha dengan di
    için ile ini itu karena kapan ke ki mengapa mi mı mu nasıl ne neden nerede olan pada pentru sau saya sen
    siapa sunt și tidak untuk var ve veya yang
"""

_ALSO_ENGLISH = _words(
    """
    ale ben bin chi co come con das den dos dove e em er es et eu ha han hat hut i ik il ile in io is ist ja ke ki
    ma mag man mas med mes met mia min mine mit mon na nasa ne net nie non o och od om op os pa par past per pin
    plus po pod por pour pro qui ret sa sans se sent ser si sin so som son sub sum sur ta tag tan te tem ten tes
    ti til ton tot tu uit um unter us var ve vem via wat wie wir y ya ye za ze
    """
)
"""Words of the lists that are English words, abbreviations or first names too: no sign of anything."""

NAME_PARTS: Final = _words(
    "al da de del della den der des di do du el en la las le les los san são un una van von"
)
"""Foreign articles and prepositions that live on in English names (Los Angeles, van Gogh): weak signs."""

FOREIGN: Final = (
    _words(
        _GERMAN,
        _FRENCH,
        _SPANISH_PORTUGUESE,
        _ITALIAN,
        _DUTCH,
        _NORDIC,
        _SLAVIC_LATIN,
        _TURKISH_INDONESIAN_ROMANIAN,
    )
    - ENGLISH
    - _ALSO_ENGLISH
    - NAME_PARTS
)
