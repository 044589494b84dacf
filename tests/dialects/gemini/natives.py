"""Random requests and answers in Gemini's own words."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.dialects.answers import arguments, texts
from tests.dialects.ollama.natives import plain_json

SCHEMA = {"type": "OBJECT", "properties": {"max_items": {"type": "STRING", "nullable": True}}}
MODEL = "gemini-3-flash"
WHOLE = f"/v1beta/models/{MODEL}:generateContent"
STREAM = f"/v1beta/models/{MODEL}:streamGenerateContent"

text_parts = st.fixed_dictionaries({"text": texts})
user_parts = st.one_of(
    text_parts,
    text_parts,
    st.fixed_dictionaries({"text": texts, "videoMetadata": plain_json}),
    st.sampled_from(
        (
            {"inlineData": {"mimeType": "image/png", "data": "QUJD"}},
            {"inlineData": {"mimeType": "audio/wav", "data": "QUJD"}},
            {"inlineData": {"mimeType": "application/pdf", "data": "QUJD"}},
            {"fileData": {"mimeType": "video/mp4", "fileUri": "https://files.example/1"}},
            {"functionResponse": {"name": "f", "response": {"output": "x"}}},
            {"functionResponse": {"id": "call_0", "name": "f", "response": {"a": 1}}},
        )
    ),
    st.fixed_dictionaries({"x_new": plain_json}),
)
model_parts = st.one_of(
    text_parts,
    text_parts,
    st.fixed_dictionaries({"text": texts, "thought": st.just(True)}),
    st.fixed_dictionaries({"text": texts, "thoughtSignature": texts}),
    st.fixed_dictionaries(
        {"functionCall": st.fixed_dictionaries({"name": st.sampled_from(("f", "g")), "args": arguments})}
    ),
    st.just({"executableCode": {"language": "PYTHON", "code": "1"}}),
    st.just({"functionCall": {"id": "call_0", "name": "f"}}),
)
contents = st.one_of(
    st.fixed_dictionaries({"role": st.just("user"), "parts": st.lists(text_parts, min_size=1, max_size=2)}),
    st.fixed_dictionaries({"role": st.just("user"), "parts": st.lists(user_parts, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"role": st.just("model"), "parts": st.lists(model_parts, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"parts": st.lists(text_parts, min_size=1, max_size=1)}),
    st.fixed_dictionaries({"role": texts, "parts": plain_json, "x_new": plain_json}),
)
configs = st.fixed_dictionaries(
    {},
    optional={
        "temperature": st.sampled_from((0, 0.7, "0.5")),
        "topP": st.floats(0, 1),
        "topK": st.integers(1, 40),
        "maxOutputTokens": st.integers(1, 99),
        "stopSequences": st.lists(texts, max_size=2),
        "candidateCount": st.integers(2, 4),
        "seed": st.integers(0, 9),
        "responseMimeType": st.sampled_from(("text/plain", "application/json", "text/x.enum")),
        "responseSchema": st.just(SCHEMA),
        "responseJsonSchema": st.just({"type": "object"}),
        "responseLogprobs": st.booleans(),
        "logprobs": st.integers(1, 5),
        "responseModalities": st.sampled_from((["TEXT"], ["TEXT", "IMAGE"])),
        "thinkingConfig": st.fixed_dictionaries(
            {},
            optional={
                "thinkingBudget": st.sampled_from((-1, 0, 512)),
                "thinkingLevel": st.sampled_from(("LOW", "HIGH", "NONE", "low")),
                "includeThoughts": st.booleans(),
            },
        ),
        "x_new": plain_json,
    },
)
functions = st.fixed_dictionaries(
    {"name": st.sampled_from(("f", "g"))},
    optional={
        "description": texts,
        "parameters": st.just(SCHEMA),
        "parametersJsonSchema": st.just({"type": "object"}),
        "response": plain_json,
    },
)
tools = st.one_of(
    st.fixed_dictionaries({"functionDeclarations": st.lists(functions, min_size=1, max_size=2)}),
    st.sampled_from(({"googleSearch": {}}, {"codeExecution": {}}, {"urlContext": {}}, {"x_new": {}})),
)
requests = st.fixed_dictionaries(
    {"contents": st.lists(contents, min_size=1, max_size=4)},
    optional={
        "systemInstruction": st.fixed_dictionaries({"parts": st.lists(user_parts, min_size=1, max_size=2)}),
        "generationConfig": configs,
        "tools": st.lists(tools, max_size=2),
        "toolConfig": st.sampled_from(
            (
                {"functionCallingConfig": {"mode": "ANY"}},
                {"functionCallingConfig": {"mode": "NONE"}},
                {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
                {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f", "g"]}},
                {"functionCallingConfig": {"mode": "VALIDATED"}},
            )
        ),
        "safetySettings": st.sampled_from(
            (
                [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
                [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_LOW_AND_ABOVE"}],
            )
        ),
        "cachedContent": texts,
        "x_new": plain_json,
        "messages": plain_json,
        "metadata": plain_json,
        "query": plain_json,
        "model": texts,
    },
)

answer_parts = st.one_of(
    text_parts,
    text_parts,
    st.fixed_dictionaries({"text": texts, "thought": st.just(True)}),
    st.fixed_dictionaries({"text": texts, "thoughtSignature": texts}),
    st.fixed_dictionaries(
        {
            "functionCall": st.fixed_dictionaries({"name": st.just("f"), "args": arguments}),
            "thoughtSignature": texts,
        }
    ),
    st.sampled_from(
        (
            {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
            {"inlineData": {"mimeType": "image/png", "data": "QUJD"}},
            {"text": ""},
        )
    ),
)


@st.composite
def answers(draw: st.DrawFn) -> dict[str, Any]:
    """Draw an answer as Gemini gives it."""
    count = draw(st.sampled_from((1, 1, 2)))
    candidates = []
    for index in range(count):
        parts = [{"text": "x"}, *draw(st.lists(answer_parts, max_size=4))]
        candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "finishReason": "STOP"}
        if index or draw(st.booleans()):
            candidate["index"] = index
        if draw(st.booleans()):
            candidate["groundingMetadata"] = {"webSearchQueries": ["a"]}
            candidate["avgLogprobs"] = -0.25
        candidates.append(candidate)
    return {
        "candidates": candidates,
        "usageMetadata": {
            "promptTokenCount": draw(st.integers(0, 99)),
            "candidatesTokenCount": 7,
            "totalTokenCount": 12,
            "thoughtsTokenCount": draw(st.integers(0, 9)),
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 5}],
        },
        "modelVersion": "gemini-3-flash-001",
        "responseId": "r1",
    }
