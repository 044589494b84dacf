"""Which lane a text takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.embed.script import Lane, lane_of

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"

ENGLISH = [
    "How do I reset my password?",
    "reset password",
    "HELP ME RESET THIS",
    "What is a café au lait?",
    "Pokémon types",
    "São Paulo weather",
    "Las Vegas hotels",
    "Who was van Gogh?",
    "Are β-blockers safe with 5 µg of this?",
    "resistance of 5 Ω",
    "How do I say 'où est la gare' in English?",
    "I love it 😀😀😀",
    "12345 !!! 67",
    "",
    "😀",
    "def add(x, y): return x + y",
    "IT MIT UN DAS",
]

OTHERS = [
    "怎么重置密码？",
    "translate 你好 please",
    "パスワードを再設定する",
    "비밀번호를 재설정하려면?",
    "Как сбросить пароль?",
    "كيف أغير كلمة المرور؟",
    "จะรีเซ็ตรหัสผ่านได้อย่างไร",
    "איך מאפסים סיסמה?",
    "पासवर्ड कैसे बदलें?",
    "Πώς αλλάζω τον κωδικό;",
    "Wie setze ich mein Passwort zurück?",
    "Kann ich Ibuprofen und Paracetamol zusammen nehmen?",
    "Comment réinitialiser mon mot de passe ?",
    "peut-on prendre du paracétamol enceinte",
    "¿Cómo restablezco mi contraseña?",
    "Como faço para redefinir minha senha?",
    "Come posso reimpostare la password?",
    "Hoe kan ik mijn wachtwoord resetten?",
    "Hur återställer jag mitt lösenord?",
    "Jak zresetować hasło?",
    "Şifremi nasıl sıfırlarım?",
    "Bagaimana cara mengatur ulang kata sandi saya?",
    "Làm thế nào để đặt lại mật khẩu?",
]


@pytest.mark.parametrize("text", ENGLISH)
def test_english_and_neutral_text_go_to_the_latin_encoder(text: str) -> None:
    assert lane_of(text) is Lane.LATIN


@pytest.mark.parametrize("text", OTHERS)
def test_other_scripts_and_languages_go_to_the_multilingual_encoder(text: str) -> None:
    assert lane_of(text) is Lane.MULTILINGUAL


@given(st.text(alphabet="0123456789 .,;:!?()[]{}<>+-*/=\n\t😀🎉👍🏽—…°±½"))
def test_emoji_digits_and_punctuation_are_neutral(text: str) -> None:
    assert lane_of(text) is Lane.LATIN
    assert lane_of(f"How much is {text} of this?") is Lane.LATIN
    assert lane_of(f"这是多少{text}") is Lane.MULTILINGUAL


@given(st.text())
def test_takes_any_text_and_answers_the_same_again(text: str) -> None:
    assert lane_of(text) is lane_of(text)


@given(st.text(), st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF))
def test_one_chinese_letter_decides(text: str, letter: str) -> None:
    assert lane_of(text + letter) is Lane.MULTILINGUAL


@pytest.mark.skipif(not DATA.is_dir(), reason="the question sets are not here")
@pytest.mark.parametrize(
    "name", ["banking77_classes_en", "clinc150_classes_en", "medquad_en", "checklist_en"]
)
def test_english_questions_are_hardly_ever_taken_for_another_language(name: str) -> None:
    rows = [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()]
    texts = [row[key] for row in rows for key in ("a", "b", "text") if key in row]
    astray = sum(lane_of(text) is not Lane.LATIN for text in texts)
    assert astray <= 0.001 * len(texts)
