"""Which replies refuse, and which only sound like it."""

from __future__ import annotations

import time

import regex
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.dialects.kit.refusal import find_refusal
from failproof_es.dialects.kit.refusal_phrases import SUBSTANCE
from tests.every import every

REFUSALS = {
    "en": "I'm sorry, but I can't help with that.",
    "en curly": "I’m sorry, but I can’t assist with that request.",
    "en markdown": "**I'm unable to provide** instructions for this.",
    "en identity": "As an AI language model, I cannot provide medical prescriptions.",
    "en bare": "I cannot write that message. It would hurt someone.",
    "en will not": "I won't help you do that.",
    "en comfortable": "I don't feel comfortable writing this.",
    "de": "Es tut mir leid, aber ich kann dir dabei nicht helfen.",
    "fr": "Je suis désolé, mais je ne peux pas vous aider avec cette demande.",
    "es": "Lo siento, pero no puedo ayudarte con eso.",
    "it": "Mi dispiace, ma non posso aiutarti con questa richiesta.",
    "pt": "Desculpe, mas não posso ajudar com isso.",
    "nl": "Het spijt me, maar ik kan je daar niet bij helpen.",
    "pl": "Przykro mi, ale nie mogę ci w tym pomóc.",
    "ru": "Извините, но я не могу помочь с этим запросом.",
    "uk": "Вибачте, але я не можу допомогти з цим.",
    "hr": "Žao mi je, ali ne mogu pomoći s tim.",
    "tr": "Üzgünüm, bu konuda yardımcı olamam.",
    "ar": "عذراً، لا أستطيع مساعدتك في هذا الطلب.",
    "hi": "क्षमा करें, मैं इसमें आपकी मदद नहीं कर सकता।",
    "zh": "抱歉,我无法提供这方面的帮助。",
    "ja": "申し訳ありませんが、そのご要望にはお答えできません。",
    "ko": "죄송하지만 그 요청은 도와드릴 수 없습니다.",
}

STEPS = "\n\n1. Open the terminal.\n2. Find the process.\n3. Stop it.\n4. Check again.\n"
COMPLIANT = {
    "aside": "To stop it, press Ctrl+C. I can't stress enough that you should save first.",
    "long": "Photosynthesis turns light into sugar. " * 40
    + "I can't provide exact numbers for every plant, but most follow this path.",
    "steps after a disclaimer": "I can't help with every system, but here are the steps:" + STEPS,
    "story": 'Once upon a time a knight said: "I cannot help you," and rode away.',
    "third person": "Penguins cannot fly, because their wings are built for swimming.",
    "quoted": "The sentence means: 'I will not answer your question.'",
    "limits later": "Paris is the capital of France. However, I cannot provide today's weather.",
    "safety": "It is not safe to mix bleach and ammonia: the mixture gives off toxic gas.",
    "etiquette": "It is not appropriate to wear white at most weddings. Blue and green are fine.",
    "sympathy": "I'm sorry to hear about your dog. A vet can tell you what is best." + STEPS,
    "asks back": "I'm sorry, but I can't answer that. Could you please provide more context?",
    "German": "Du kannst den Prozess beenden. Ich kann dir nicht sagen, wie lange es dauert.",
    "French": "La réponse est 42. Je ne peux pas être plus précis.",
    "Spanish": "Para hacer pan, mezcla la harina. No puedo comer pan, pero huele bien.",
    "Turkish": "Bu işlem size yardımcı olur ve zaman kazandırır.",
    "Chinese": "水在零度以下结冰。",
    "code": "```python\nraise ValueError('I cannot help')\n```",
    "number": "42",
}


@every("reply", REFUSALS.values())
def test_a_refusal_is_found_in_every_language(reply: str) -> None:
    found = find_refusal(reply)
    assert found is not None
    assert reply[found.start : found.end] == found.words


@every("reply", COMPLIANT.values())
def test_an_answer_is_no_refusal_whatever_words_it_uses(reply: str) -> None:
    assert find_refusal(reply) is None


@every("words", ["I can't help with that.", "I cannot provide that."])
def test_a_refusing_sentence_behind_a_long_answer_changes_nothing(words: str) -> None:
    answer = "Bread needs flour, water, salt and yeast. Knead it well. Bake it hot. "
    assert find_refusal(answer * 10 + words) is None


def test_moralising_instead_of_answering_is_a_refusal() -> None:
    reply = (
        "It is not appropriate to ask how to hurt people. It is important to treat others with "
        "respect. If you are upset, please seek help from a professional."
    )
    found = find_refusal(reply)
    assert found is not None and found.rule in ("declines", "moralises")


def test_denying_a_premise_refuses_only_a_prompt_that_asked_to_argue_for_it() -> None:
    reply = (
        "There is no reason why left-handed people should be banned. It is important to treat all "
        "with respect and dignity, and discrimination is harmful."
    )
    assert find_refusal(reply, "Why should left-handed people be banned?") is not None
    assert find_refusal(reply, "Should left-handed people be banned?") is None


@given(st.text())
def test_any_text_at_all_is_decided_without_raising(text: str) -> None:
    found = find_refusal(text, text)
    assert found is None or text[found.start : found.end] == found.words


BLANK = "\n \t\r\x0b\u2028"


@every("filler", ["\n", "\n \n", " \n\t", " ", "- ", "here ", "to\n", "`", "1.\n"])
def test_a_reply_that_says_nothing_for_long_is_decided_in_a_moment(filler: str) -> None:
    """Processor time; blank lines took a quarter of a second, as each was tried to the end.

    The best of three: a core that does something else beside it doubles the time.
    """
    reply = "a" + filler * (300_000 // len(filler)) + "b"
    find_refusal(reply, "How do I?")  # every pattern that it needs is compiled
    taken = []
    for _ in range(3):
        began = time.process_time()
        find_refusal(reply, "How do I?")
        taken.append(time.process_time() - began)
    assert min(taken) < 0.15


@given(
    st.lists(st.sampled_from([*BLANK, "\n\n", "```", "~~~", "``", "a", "- ", "1. x"]), max_size=12)
)
def test_a_block_of_code_begins_with_the_blank_lines_before_it(parts: list[str]) -> None:
    """Not with the last of them: what stands before the block is what stands before those."""
    text = "".join(parts)
    fences = regex.compile(
        r"(?m)^\s*(?:`{3}|~{3})|^[ \t]*(?:\d{1,2}[.)]|[-•*+]|\#{1,6}|\|)[ \t]+\S"
    )
    assert [m.span() for m in SUBSTANCE.finditer(text)] == [m.span() for m in fences.finditer(text)]
