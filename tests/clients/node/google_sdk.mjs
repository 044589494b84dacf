// The @google/genai SDK for Node, on the Gemini API.

import { GoogleGenAI } from "@google/genai";
import { GIVEN, PARAMETERS, RESULT, SCHEMA, TOOL, TOOL_WORDS, serve } from "./talk.mjs";

function take(part, seen) {
  for (const candidate of part.candidates ?? []) {
    for (const piece of candidate.content?.parts ?? []) {
      seen.piece(piece.text);
      if (piece.functionCall) seen.called(piece.functionCall.name, piece.functionCall.args);
    }
    seen.finish = candidate.finishReason ?? seen.finish;
  }
  const usage = part.usageMetadata;
  if (usage) seen.used(usage.promptTokenCount ?? 0, usage.candidatesTokenCount ?? 0);
  if (part.sdkHttpResponse?.headers) seen.headed(part.sdkHttpResponse.headers);
}

function contentsOf(job) {
  if (!job.told) return job.question;
  return [
    { role: "user", parts: [{ text: job.question }] },
    { role: "model", parts: [{ functionCall: { name: TOOL, args: GIVEN } }] },
    { role: "user", parts: [{ functionResponse: { name: TOOL, response: { result: RESULT } } }] },
  ];
}

async function ask(job, seen) {
  const client = new GoogleGenAI({
    apiKey: job.key,
    vertexai: false,
    httpOptions: {
      baseUrl: job.origin,
      headers: job.headers,
      timeout: job.timeout * 1000,
      retryOptions: { attempts: 1 + job.retries },
    },
  });
  const leaving = new AbortController();
  const config = { abortSignal: leaving.signal };
  if (job.tools) {
    config.tools = [
      { functionDeclarations: [{ name: TOOL, description: TOOL_WORDS, parametersJsonSchema: PARAMETERS }] },
    ];
  }
  if (job.schema) {
    config.responseMimeType = "application/json";
    config.responseJsonSchema = SCHEMA;
  }
  const fields = { model: job.model, contents: contentsOf(job), config };
  if (!job.stream) {
    take(await client.models.generateContent(fields), seen);
    seen.pieces = 0;
  } else {
    for await (const part of await client.models.generateContentStream(fields)) {
      take(part, seen);
      if (seen.leaves(job)) {
        leaving.abort();
        return;
      }
    }
  }
  if (job.schema) seen.parsed = JSON.parse(seen.text);
}

await serve(ask, "@google/genai");
