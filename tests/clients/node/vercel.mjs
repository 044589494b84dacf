// The Vercel AI SDK; the kind is its provider: chat and responses (of @ai-sdk/openai), compatible, anthropic, google.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Output, generateText, jsonSchema, streamText, tool } from "ai";
import { z } from "zod";
import { GIVEN, PARAMETERS, RESULT, TOOL, TOOL_WORDS, serve } from "./talk.mjs";

const Fact = z.object({ place: z.string(), days: z.number().int(), text: z.string() });
globalThis.AI_SDK_LOG_WARNINGS = false;

function modelOf(job) {
  const options = { apiKey: job.key, headers: job.headers };
  const openai = { ...options, baseURL: `${job.origin}/v1` };
  switch (job.kind) {
    case "chat":
      return createOpenAI(openai).chat(job.model);
    case "responses":
      return createOpenAI(openai).responses(job.model);
    case "compatible":
      return createOpenAICompatible({
        ...openai,
        name: "semcache",
        includeUsage: true,
        supportsStructuredOutputs: true,
      })(job.model);
    case "anthropic":
      return createAnthropic({ ...options, baseURL: `${job.origin}/v1` })(job.model);
    default:
      return createGoogle({ ...options, baseURL: `${job.origin}/v1beta` })(job.model);
  }
}

function promptOf(job) {
  if (!job.told) return { prompt: job.question };
  const named = { toolCallId: "call_1", toolName: TOOL };
  const said = { type: "tool-call", ...named, input: GIVEN };
  const given = { type: "tool-result", ...named, output: { type: "text", value: RESULT } };
  return {
    messages: [
      { role: "user", content: job.question },
      { role: "assistant", content: [said] },
      { role: "tool", content: [given] },
    ],
  };
}

async function ask(job, seen) {
  const leaving = new AbortController();
  const fields = {
    model: modelOf(job),
    ...promptOf(job),
    maxRetries: job.retries,
    abortSignal: AbortSignal.any([leaving.signal, AbortSignal.timeout(job.timeout * 1000)]),
  };
  if (job.kind === "responses") fields.providerOptions = { openai: { store: false } };
  if (job.tools) {
    fields.tools = { [TOOL]: tool({ description: TOOL_WORDS, inputSchema: jsonSchema(PARAMETERS) }) };
  }
  if (job.schema) fields.output = Output.object({ schema: Fact });
  if (!job.stream) {
    const answer = await generateText(fields);
    await take(answer, job, seen);
    return;
  }
  let failed = null;
  const answer = streamText({ ...fields, onError: ({ error }) => (failed = error) });
  for await (const piece of answer.textStream) {
    seen.piece(piece);
    if (seen.leaves(job)) {
      leaving.abort();
      return;
    }
  }
  if (failed) throw failed;
  const pieces = seen.pieces;
  await take(answer, job, seen);
  seen.pieces = pieces;
}

async function take(answer, job, seen) {
  seen.text = await answer.text;
  seen.finish = await answer.finishReason;
  for (const call of await answer.toolCalls) seen.called(call.toolName, call.input);
  const usage = await answer.usage;
  seen.used(usage.inputTokens, usage.outputTokens);
  const response = await answer.response;
  seen.headed(response.headers);
  if (job.schema) seen.parsed = (await answer.output) ?? null;
}

await serve(ask, "ai", "@ai-sdk/openai", "@ai-sdk/openai-compatible", "@ai-sdk/anthropic", "@ai-sdk/google", "zod");
