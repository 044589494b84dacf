"""One spelling for Gemini's requests: protobuf's JSON takes names as `maxOutputTokens` and as `max_output_tokens`.

Pure. Only names that are known are respelled, and only where they mean that field: what a user named (arguments, properties of
a schema) and what nobody knows stays as it is. A single value may stand for a list of one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_DEEPEST = 64
"""Beyond that nothing is respelled."""
_SCHEMA_FIELDS = (
    "type format title description nullable enum required minItems maxItems minProperties maxProperties minimum maximum"
    " minLength maxLength pattern example propertyOrdering default additionalProperties ref defs"
)
_CONFIG_FIELDS = (
    "temperature topP topK maxOutputTokens stopSequences candidateCount presencePenalty frequencyPenalty seed"
    " responseLogprobs logprobs responseMimeType responseJsonSchema responseModalities mediaResolution speechConfig"
    " imageConfig audioTimestamp enableEnhancedCivicAnswers routingConfig modelSelectionConfig enableAffectiveDialog"
    " audioTranscriptionConfig translationConfig continuationToken responseFormat"
)
_TOOL_FIELDS = (
    "googleSearch googleSearchRetrieval codeExecution urlContext googleMaps fileSearch computerUse retrieval"
    " enterpriseWebSearch mcpServers parallelAiSearch exaAiSearch"
)


def _fields(names: str, **inner: str) -> dict[str, str]:
    return {**dict.fromkeys(names.split(), ""), **inner}


FORMS: Mapping[str, Mapping[str, str]] = {
    "request": _fields(
        "safetySettings cachedContent labels serviceTier store model",
        contents="content*",
        systemInstruction="content",
        tools="tool*",
        toolConfig="toolConfig",
        generationConfig="config",
    ),
    "content": _fields("role", parts="part*"),
    "part": _fields(
        "text thought thoughtSignature partMetadata mediaResolution",
        inlineData="blob",
        fileData="file",
        functionCall="call",
        functionResponse="response",
        executableCode="code",
        codeExecutionResult="result",
        videoMetadata="video",
    ),
    "blob": _fields("mimeType data displayName"),
    "file": _fields("mimeType fileUri displayName"),
    "call": _fields("id name args partialArgs willContinue"),
    "response": _fields("id name response willContinue scheduling parts"),
    "code": _fields("id language code"),
    "result": _fields("id outcome output"),
    "video": _fields("startOffset endOffset fps"),
    "tool": _fields(_TOOL_FIELDS, functionDeclarations="function*"),
    "function": _fields(
        "name description parametersJsonSchema response responseJsonSchema behavior", parameters="schema"
    ),
    "schema": _fields(_SCHEMA_FIELDS, items="schema", properties="schema%", anyOf="schema*"),
    "toolConfig": _fields(
        "retrievalConfig includeServerSideToolInvocations", functionCallingConfig="calling"
    ),
    "calling": _fields("mode allowedFunctionNames streamFunctionCallArguments"),
    "config": _fields(_CONFIG_FIELDS, responseSchema="schema", thinkingConfig="thinking"),
    "thinking": _fields("includeThoughts thinkingBudget thinkingLevel"),
}
"""Fields of messages by the name of their form: "" holds what is taken as it is, `*` a list of, `%` a map of."""
_CAPITAL = re.compile("[A-Z]")
_SNAKE: Mapping[str, Mapping[str, str]] = {
    form: {_CAPITAL.sub(lambda found: "_" + found[0].lower(), name): name for name in fields}
    for form, fields in FORMS.items()
}


def spelled(value: Any, form: str = "request", depth: int = 0) -> Any:
    """Give a value of this form in one spelling, without nulls; what has another shape stays as it is."""
    if not form or depth > _DEEPEST:
        return value
    if form.endswith("*"):
        items = [value] if isinstance(value, dict) else value
        return [spelled(item, form[:-1], depth + 1) for item in items] if isinstance(items, list) else items
    if not isinstance(value, dict):
        return value
    if form.endswith("%"):
        return {name: spelled(item, form[:-1], depth + 1) for name, item in value.items()}
    fields, snake = FORMS[form], _SNAKE[form]
    out: dict[str, Any] = {}
    for name, item in value.items():
        if item is None:
            continue
        camel = name if name in fields else snake.get(name)
        if camel is None or (camel != name and value.get(camel) is not None):
            out[name] = item  # nobody's, or said twice
        else:
            out[camel] = spelled(item, fields[camel], depth + 1)
    return out
