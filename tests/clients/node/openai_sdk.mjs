// The openai SDK for Node; the kind is `chat` or `responses`.

import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { GIVEN, PARAMETERS, RESULT, TOOL, TOOL_WORDS, serve } from "./talk.mjs";

const Fact = z.object({ place: z.string(), days: z.number().int(), text: z.string() });

function messagesOf(job) {
  const user = { role: "user", content: job.question };
  if (!job.told) return [user];
  const call = { id: "call_1", type: "function", function: { name: TOOL, arguments: JSON.stringify(GIVEN) } };
  const said = { role: "assistant", content: null, tool_calls: [call] };
  return [user, said, { role: "tool", tool_call_id: "call_1", content: RESULT }];
}

function itemsOf(job) {
  if (!job.told) return job.question;
  const call = { type: "function_call", call_id: "call_1", name: TOOL, arguments: JSON.stringify(GIVEN) };
  const given = { type: "function_call_output", call_id: "call_1", output: RESULT };
  return [{ role: "user", content: job.question }, call, given];
}

const clientOf = (job) =>
  new OpenAI({
    baseURL: `${job.origin}/v1`,
    apiKey: job.key,
    maxRetries: job.retries,
    timeout: job.timeout * 1000,
    defaultHeaders: job.headers,
  });

function completion(answer, seen) {
  const [choice] = answer.choices;
  seen.text = choice.message.content ?? "";
  seen.finish = choice.finish_reason;
  if (choice.message.parsed) seen.parsed = choice.message.parsed;
  for (const call of choice.message.tool_calls ?? []) seen.called(call.function.name, call.function.arguments);
  const usage = answer.usage;
  if (usage) seen.used(usage.prompt_tokens, usage.completion_tokens, usage.semcache_saved);
}

async function chat(job, seen) {
  const client = clientOf(job);
  const fields = { model: job.model, messages: messagesOf(job) };
  if (job.tools) {
    fields.tools = [
      { type: "function", function: { name: TOOL, description: TOOL_WORDS, parameters: PARAMETERS } },
    ];
  }
  if (job.schema) fields.response_format = zodResponseFormat(Fact, "fact");
  if (!job.stream) {
    const call = job.schema ? client.chat.completions.parse(fields) : client.chat.completions.create(fields);
    const { data, response } = job.schema ? { data: await call } : await call.withResponse();
    if (response) seen.headed(response.headers);
    completion(data, seen);
    return;
  }
  const stream = client.chat.completions.stream({ ...fields, stream_options: { include_usage: true } });
  for await (const chunk of stream) {
    for (const choice of chunk.choices) seen.piece(choice.delta.content);
    if (seen.leaves(job)) {
      stream.abort();
      return;
    }
  }
  completion(await stream.finalChatCompletion(), seen);
}

function response(answer, seen) {
  seen.text = answer.output_text;
  seen.finish = answer.status;
  for (const item of answer.output) if (item.type === "function_call") seen.called(item.name, item.arguments);
  if (answer.output_parsed) seen.parsed = answer.output_parsed;
  const usage = answer.usage;
  if (usage) seen.used(usage.input_tokens, usage.output_tokens, usage.semcache_saved);
}

async function responses(job, seen) {
  const client = clientOf(job);
  const fields = { model: job.model, input: itemsOf(job), store: false };
  if (job.tools) {
    fields.tools = [
      { type: "function", name: TOOL, description: TOOL_WORDS, parameters: PARAMETERS, strict: true },
    ];
  }
  if (job.schema) fields.text = { format: zodTextFormat(Fact, "fact") };
  if (!job.stream) {
    const call = job.schema ? client.responses.parse(fields) : client.responses.create(fields);
    const { data, response: raw } = job.schema ? { data: await call } : await call.withResponse();
    if (raw) seen.headed(raw.headers);
    response(data, seen);
    return;
  }
  const stream = client.responses.stream(fields);
  for await (const event of stream) {
    if (event.type === "response.output_text.delta") seen.piece(event.delta);
    if (seen.leaves(job)) {
      stream.abort();
      return;
    }
  }
  response(await stream.finalResponse(), seen);
}

await serve((job, seen) => (job.kind === "chat" ? chat : responses)(job, seen), "openai");
