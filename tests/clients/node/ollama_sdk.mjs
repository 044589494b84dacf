// The ollama library for Node.

import { Ollama } from "ollama";
import { GIVEN, PARAMETERS, RESULT, SCHEMA, TOOL, TOOL_WORDS, serve } from "./talk.mjs";

function take(part, seen) {
  seen.piece(part.message.content);
  for (const call of part.message.tool_calls ?? []) seen.called(call.function.name, call.function.arguments);
  if (part.done) {
    seen.finish = part.done_reason;
    seen.used(part.prompt_eval_count ?? 0, part.eval_count ?? 0);
  }
}

function messagesOf(job) {
  const user = { role: "user", content: job.question };
  if (!job.told) return [user];
  const said = { role: "assistant", content: "", tool_calls: [{ function: { name: TOOL, arguments: GIVEN } }] };
  return [user, said, { role: "tool", tool_name: TOOL, content: RESULT }];
}

async function ask(job, seen) {
  // The library has no timeout of its own: its users bring a fetch with one.
  const fetching = (url, options) =>
    fetch(url, {
      ...options,
      signal: AbortSignal.any(
        [options?.signal, AbortSignal.timeout(job.timeout * 1000)].filter((signal) => signal),
      ),
    });
  const client = new Ollama({
    host: job.origin,
    headers: { authorization: `Bearer ${job.key}`, ...job.headers },
    fetch: fetching,
  });
  const fields = { model: job.model, messages: messagesOf(job) };
  if (job.tools) {
    fields.tools = [
      { type: "function", function: { name: TOOL, description: TOOL_WORDS, parameters: PARAMETERS } },
    ];
  }
  if (job.schema) fields.format = SCHEMA;
  if (!job.stream) {
    take(await client.chat(fields), seen);
    seen.pieces = 0;
  } else {
    const stream = await client.chat({ ...fields, stream: true });
    for await (const part of stream) {
      take(part, seen);
      if (seen.leaves(job)) {
        stream.abort();
        return;
      }
    }
  }
  if (job.schema) seen.parsed = JSON.parse(seen.text);
}

await serve(ask, "ollama");
