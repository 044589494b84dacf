"""Names of diseases: one disease has many, and no spelling tells whether two names are one disease.

So names that stand in such a term say less than other names do: the verifier decides. Knows
nothing of which names belong together.
"""

from __future__ import annotations

from collections.abc import Sequence

from semcache.decide.text import Token
from semcache.decide.wordlist import split

_NOUNS = frozenset(
    split(
        "syndrome syndromes disease diseases disorder disorders deficiency anemia anaemia dystrophy dysplasia cancer cancers tumor "
        "tumour palsy fever malformation sclerosis ataxia epilepsy neuropathy nephropathy retinopathy cardiomyopathy immunodeficiency "
        "carcinoma lymphoma leukemia leukaemia sarcoma deletion duplication trisomy monosomy dementia infection virus "
        "retardation acidemia aciduria hypoplasia aplasia atrophy edema hernia cyst cysts phenotype mutation mutations "
        "thrombocytopenia tetraplegia paraplegia diabetes"
    )
)
_ENDINGS = (
    "itis", "osis", "emia", "aemia", "oma", "opathy", "uria", "plasia", "trophy", "algia", "lepsy", "sclerosis", "ectasia", "cytosis",
    "penia", "plegia", "phalia", "dactyly", "keratoma", "ichthyosis", "toxicosis", "stenosis", "iasis", "oxia", "blastoma", "parathyroidism",
    "thyroidism", "pituitarism", "trichosis", "melia", "somia", "cephaly", "cele", "opia", "opsia", "genesis", "derma", "lysis", "rexia",
)  # fmt: skip
# What a question about a disease asks for.
_MEDICAL = frozenset(
    split("symptom symptoms treatments inherited diagnose diagnosed diagnosis genetic prognosis")
)
_REACH = 5


def places(tokens: Sequence[Token]) -> frozenset[int]:
    """Give the places of the tokens that stand near the name of a disease, or all where a disease is asked about."""
    words = [token.low for token in tokens]
    if not _MEDICAL.isdisjoint(words):
        return frozenset(range(len(words)))
    found: set[int] = set()
    for i, word in enumerate(words):
        if word in _NOUNS or (len(word) > 6 and word.endswith(_ENDINGS)):
            found.update(range(max(0, i - _REACH), i + _REACH + 1))
    return frozenset(found)
