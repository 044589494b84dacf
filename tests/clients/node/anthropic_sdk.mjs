// The anthropic SDK for Node.

import Anthropic from "@anthropic-ai/sdk";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { z } from "zod";
import { GIVEN, PARAMETERS, RESULT, TOOL, TOOL_WORDS, serve } from "./talk.mjs";

const Fact = z.object({ place: z.string(), days: z.number().int(), text: z.string() });

function message(answer, seen) {
  const texts = answer.content.filter((block) => block.type === "text");
  seen.text = texts.map((block) => block.text).join("");
  seen.finish = answer.stop_reason;
  for (const block of answer.content) if (block.type === "tool_use") seen.called(block.name, block.input);
  if (answer.parsed_output) seen.parsed = answer.parsed_output;
  seen.used(answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.semcache_saved);
}

function turnsOf(job) {
  const user = { role: "user", content: job.question };
  if (!job.told) return [user];
  const call = { type: "tool_use", id: "toolu_1", name: TOOL, input: GIVEN };
  const given = { type: "tool_result", tool_use_id: "toolu_1", content: RESULT };
  return [user, { role: "assistant", content: [call] }, { role: "user", content: [given] }];
}

async function ask(job, seen) {
  const client = new Anthropic({
    baseURL: job.origin,
    apiKey: job.key,
    maxRetries: job.retries,
    timeout: job.timeout * 1000,
    defaultHeaders: job.headers,
  });
  const fields = {
    model: job.model,
    max_tokens: 2000,
    messages: turnsOf(job),
  };
  if (job.tools) fields.tools = [{ name: TOOL, description: TOOL_WORDS, input_schema: PARAMETERS }];
  if (job.schema) fields.output_config = { format: zodOutputFormat(Fact) };
  if (!job.stream) {
    const call = job.schema ? client.messages.parse(fields) : client.messages.create(fields);
    const { data, response } = job.schema ? { data: await call } : await call.withResponse();
    if (response) seen.headed(response.headers);
    message(data, seen);
    return;
  }
  const stream = client.messages.stream(fields);
  stream.on("text", (text) => seen.piece(text));
  for await (const event of stream) {
    if (event.type === "content_block_delta" && seen.leaves(job)) {
      stream.abort();
      return;
    }
  }
  message(await stream.finalMessage(), seen);
}

await serve(ask, "@anthropic-ai/sdk");
