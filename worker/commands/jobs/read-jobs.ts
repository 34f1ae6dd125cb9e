import { createReadStream } from "node:fs";
import { jobNeeds, jobPolicy, jobSubmission, type JobDraft, type JobSubmission } from "#protocol/jobs/job-spec.ts";
import { submitJobsInput } from "#protocol/jobs/job-views.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { Environment } from "../../base/environment.ts";
import type { Config } from "../../command-line/config.ts";
import type { FlagName } from "../../command-line/flags.ts";
import { closest } from "../../command-line/suggest.ts";
import { usage, type CommandContext } from "../../command-line/command-context.ts";
import { diskFault } from "../../base/disk-fault.ts";

/** Most bytes of a file of jobs; the hub takes no more in one submission. */
const MOST_BYTES = 4 * 1024 * 1024;

/** Returns the values of a setting that was given as a flag: a variable of the environment may be meant for a worker. */
export function flagged(config: Config, name: FlagName): readonly string[] {
  const setting = config.settings.find((one) => one.name === name);
  return setting?.source === `--${name}` ? setting.values : [];
}

const SECRETS_GO =
  "Nodes that take these jobs get their secrets, and the owner of a machine can read what runs on it. Use keys that open one thing and can be revoked.";

/**
 * Reads the jobs to submit: from a file in YAML or JSON, from stdin (`-`), or one from flags and the command after `--`. Warns
 * when they have secrets. @throws Fault BAD_INPUT that names the job and the field, READ_FAILED
 */
export async function readJobs(
  context: CommandContext,
  operands: readonly string[],
  env: Environment,
): Promise<JobSubmission[]> {
  const jobs = await readChecked(context, operands, env);
  if (jobs.some(({ secrets }) => Object.keys(secrets).length > 0))
    context.terminal.say(SECRETS_GO, { type: "note", sentence: SECRETS_GO });
  return jobs;
}

async function readChecked(
  context: CommandContext,
  operands: readonly string[],
  env: Environment,
): Promise<JobSubmission[]> {
  const [first, second, ...rest] = operands;
  if (first === undefined || (first === "--" && second === undefined))
    throw usage(
      "jobs submit",
      "it takes a file of jobs, - for stdin, or a command: tidemark jobs submit -- python train.py",
    );
  const named = flagged(context.config, "secret");
  if (first === "--") {
    const draft = draftOf(context.config, { command: second ?? "", arguments: rest });
    return check([{ ...draft, secrets: secretsOf(named, env) }], "the job");
  }
  const [unused] = named;
  if (unused !== undefined) throw usage("--secret", "a file of jobs names its secrets itself: secrets: [HF_TOKEN]");
  if (second !== undefined) throw usage(second, "jobs submit takes one file; a command stands after --");
  const read = await readYamlFile(context, first);
  const jobs = Array.isArray(read) ? read : [read];
  const queue = flagged(context.config, "queue")[0];
  return check(
    jobs.map((job: unknown) => {
      if (!isRecord(job)) return job;
      const { secrets } = job;
      const isNamed = Array.isArray(secrets) && secrets.every((one) => typeof one === "string");
      return {
        ...(queue !== undefined && { queue }),
        ...job,
        ...(isNamed && { secrets: secretsOf(secrets, env) }),
      };
    }),
    first,
  );
}

/** Returns the values that the environment of this command has for these names. @throws Fault BAD_INPUT without any value */
function secretsOf(names: readonly string[], env: Environment): Record<string, string> {
  return Object.fromEntries(
    names.map((name) => {
      const at = name.indexOf("=");
      if (at >= 0)
        throw usage(
          `--secret ${name.slice(0, at)}=…`,
          "it takes a name alone; the value is taken from the environment, which others on this machine cannot read",
        );
      const value = env[name];
      if (value === undefined || value === "")
        throw usage(`the secret ${name}`, `its value is taken from the environment, which has no ${name}`);
      return [name, value];
    }),
  );
}

/** Reads a file in YAML, of which JSON is a part; `-` is stdin. @throws Fault BAD_INPUT, READ_FAILED */
export async function readYamlFile(context: CommandContext, file: string): Promise<unknown> {
  const { readYaml } = await import("./read-yaml.ts");
  const text = await readText(context, file);
  try {
    return readYaml(text);
  } catch (error) {
    const why = error instanceof Error ? (error.message.split("\n")[0] ?? "") : "unreadable";
    throw usage(file, `it is not YAML: ${why}`);
  }
}

/** Returns the job that the flags describe. @throws Fault BAD_INPUT */
function draftOf(config: Config, words: { command: string; arguments: string[] }): JobDraft {
  const [name, run, cwd, key, priority] = (["title", "run", "cwd", "idempotency-key", "job-priority"] as const).map(
    (one) => flagged(config, one)[0],
  );
  const failures = config.count("most-failures");
  return {
    ...words,
    ...(config.text("queue") !== null && { queue: config.text("queue") ?? "" }),
    ...(name !== undefined && { name }),
    ...(run !== undefined && { run }),
    ...(cwd !== undefined && { workingFolder: cwd }),
    ...(key !== undefined && { idempotencyKey: key }),
    ...(priority !== undefined && { priority: Number(priority) }),
    ...(failures > 0 && { policy: { mostFailures: failures } }),
    watch: [...flagged(config, "watch")],
    after: [...flagged(config, "after")],
    ...matrixOf(flagged(config, "matrix")),
    environment: pairsOf("env", flagged(config, "env")),
    labels: pairsOf("label", flagged(config, "label")),
  };
}

/** Reads `NAME=a,b` and `NAME=1..9` of the flag. @throws Fault BAD_INPUT */
function matrixOf(texts: readonly string[]): Pick<JobDraft, "matrix"> {
  if (texts.length === 0) return {};
  const rows = Object.entries(pairsOf("matrix", texts)).map(([name, text]) => {
    const [, from, to] = /^(-?\d+)\.\.(-?\d+)$/.exec(text) ?? [];
    return [name, from === undefined || to === undefined ? text.split(",") : { from: Number(from), to: Number(to) }];
  });
  return { matrix: Object.fromEntries(rows) as JobDraft["matrix"] };
}

/** Reads `KEY=VALUE` of a flag. @throws Fault BAD_INPUT */
export function pairsOf(flag: string, texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf("=");
      if (at < 1) throw usage(`--${flag} ${text}`, "KEY=VALUE");
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Checks jobs as the hub does, and refuses fields that nothing reads. @throws Fault BAD_INPUT */
function check(jobs: readonly unknown[], from: string): JobSubmission[] {
  for (const [index, job] of jobs.entries()) {
    const subject = `${from}, job ${index + 1}`;
    if (!isRecord(job)) throw usage(subject, "a job has fields, for example `command: python`");
    assertKnown(job, { subject, known: Object.keys(jobSubmission.shape), inside: "" });
    for (const [name, schema] of [["policy", jobPolicy] as const, ["needs", jobNeeds] as const]) {
      const part = job[name];
      if (isRecord(part)) assertKnown(part, { subject, known: Object.keys(schema.shape), inside: `${name}.` });
    }
  }
  const parsed = submitJobsInput.safeParse({ jobs });
  if (parsed.success) return parsed.data.jobs;
  const [issue] = parsed.error.issues;
  const [, index, ...path] = issue?.path ?? [];
  const subject = typeof index === "number" ? `${from}, job ${index + 1}` : from;
  throw usage(subject, `${path.length === 0 ? "" : `${path.join(".")}: `}${issue?.message ?? "not valid"}`);
}

function assertKnown(
  fields: Record<string, unknown>,
  { subject, known, inside }: { subject: string; known: readonly string[]; inside: string },
): void {
  const unknown = Object.keys(fields).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const near = closest(unknown, known);
  const rest = near === null ? `it has ${known.join(", ")}` : `did you mean ${inside}${near}?`;
  throw usage(subject, `it has no field ${inside}${unknown}; ${rest}`);
}

async function readText(context: CommandContext, path: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of path === "-" ? context.input() : (createReadStream(path) as AsyncIterable<Buffer>)) {
      bytes += chunk.length;
      if (bytes > MOST_BYTES)
        throw new Fault("BAD_INPUT", {
          op: "usage",
          subject: path,
          detail: "it has more than 4 MiB; submit it in parts",
        });
      // The next chunk may use the same memory.
      chunks.push(Buffer.from(chunk));
    }
  } catch (error) {
    if (isFault(error)) throw error;
    throw diskFault(error, { op: "read", subject: path, otherwise: "READ_FAILED" });
  }
  return Buffer.concat(chunks).toString("utf8");
}
