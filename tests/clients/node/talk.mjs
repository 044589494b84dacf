// What every Node program of the clients shares: jobs come in as lines of JSON, what was seen goes out as lines.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

export const TOOL = "look_up";
export const TOOL_WORDS = "Looks a subject up.";
export const PARAMETERS = {
  type: "object",
  properties: { subject: { type: "string" }, limit: { type: "integer" } },
  required: ["subject", "limit"],
  additionalProperties: false,
};
export const SCHEMA = {
  type: "object",
  properties: { place: { type: "string" }, days: { type: "integer" }, text: { type: "string" } },
  required: ["place", "days", "text"],
  additionalProperties: false,
};

export const GIVEN = { subject: "France", limit: 3 };
export const RESULT = "It is done.";

export class Seen {
  text = "";
  pieces = 0;
  finish = null;
  usage = null;
  calls = [];
  parsed = null;
  error = null;
  headers = {};
  left = false;

  piece(text) {
    if (text) {
      this.text += text;
      this.pieces += 1;
    }
  }

  used(given, made, saved) {
    this.usage = { input: given ?? null, output: made ?? null, saved: Boolean(saved) };
  }

  called(name, given) {
    this.calls.push({ name, arguments: typeof given === "string" ? JSON.parse(given) : given });
  }

  headed(headers) {
    const pairs = headers instanceof Headers ? [...headers] : Object.entries(headers ?? {});
    this.headers = Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), String(value)]));
  }

  leaves(job) {
    this.left = job.leave_after > 0 && this.pieces >= job.leave_after;
    return this.left;
  }
}

// Names of classes: some SDKs set `name`, some only the class.
const nameOf = (error) => {
  const own = error?.constructor?.name;
  return own && own !== "Error" && own !== "_RetryError" ? own : error?.name;
};

function failure(error) {
  const causes = [];
  for (let cause = error?.cause; cause && causes.length < 8; cause = cause.cause) causes.push(nameOf(cause));
  const data = error?.data?.error ?? error?.error?.error ?? error?.error ?? {};
  return {
    class: nameOf(error),
    name: error?.name ?? null,
    status: error?.status ?? error?.statusCode ?? error?.status_code ?? null,
    type: error?.type ?? data?.type ?? null,
    code: error?.code ?? data?.code ?? null,
    param: error?.param ?? data?.param ?? null,
    message: String(error?.message ?? error),
    causes,
  };
}

const versionOf = (name) =>
  JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), "utf8")).version;

export async function serve(ask, ...packages) {
  const versions = Object.fromEntries(packages.map((name) => [name, versionOf(name)]));
  console.log(JSON.stringify({ ...versions, node: process.versions.node }));
  for await (const line of createInterface({ input: process.stdin })) {
    const job = JSON.parse(line);
    const seen = new Seen();
    const begun = performance.now();
    try {
      await ask(job, seen);
    } catch (error) {
      seen.error = failure(error);
    }
    seen.seconds = (performance.now() - begun) / 1000;
    console.log(JSON.stringify(seen));
  }
}
