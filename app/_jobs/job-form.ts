import type { JobDraft, JobSpec } from "#protocol/jobs/job-spec.ts";
import { readCommand, writeCommand } from "./command-text.ts";

/** Fields of the form that submits a job, and the job that they describe. */
export interface JobFields {
  command: string;
  queue: string;
  name: string;
  run: string;
  watch: string;
  workingFolder: string;
  priority: string;
  mostFailures: string;
  gpuGb: string;
  /** One `NAME=value` a line. */
  environment: string;
}

export const EMPTY_FIELDS: JobFields = {
  command: "",
  queue: "default",
  name: "",
  run: "",
  watch: "",
  workingFolder: "",
  priority: "0",
  mostFailures: "3",
  gpuGb: "",
  environment: "",
};

const GB = 1_000_000_000;

/**
 * Returns the fields of a job like an earlier one. Its run is left out: two jobs of one run follow each other. Values of the
 * environment are empty where the person may not read them.
 */
export function fieldsLike(spec: JobSpec): JobFields {
  const { command, policy, needs, environment } = spec;
  return {
    command: writeCommand([command, ...spec.arguments]),
    queue: spec.queue,
    name: spec.name ?? "",
    run: "",
    watch: spec.watch[0] ?? "",
    workingFolder: spec.workingFolder ?? "",
    priority: String(spec.priority),
    mostFailures: String(policy.mostFailures),
    gpuGb: needs.gpuMemoryBytes === undefined ? "" : String(needs.gpuMemoryBytes / GB),
    environment: Object.entries(environment)
      .map(([name, value]) => `${name}=${value}`)
      .join("\n"),
  };
}

const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

type Errors = Partial<Record<keyof JobFields, string>>;

/** Returns the job, or why the fields describe none, by field. */
export function readFields(fields: JobFields): { job: JobDraft } | { errors: Errors } {
  const words = readCommand(fields.command);
  const [command = "", ...given] = words ?? [];
  const variables = linesOf(fields.environment).map((line) => /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(line));
  const [priority, mostFailures, gpuGb] = [fields.priority, fields.mostFailures, fields.gpuGb].map(Number);
  const errors: Errors = {
    ...(words === null && { command: "A quotation mark is not closed." }),
    ...(words !== null && command === "" && { command: "Name the program, for example: python train.py" }),
    ...(!isWhole(priority, { from: -100, to: 100 }) && { priority: "A whole number from -100 to 100." }),
    ...(!isWhole(mostFailures, { from: 1, to: 100 }) && { mostFailures: "A whole number from 1 to 100." }),
    ...(fields.gpuGb.trim() !== "" && !(Number(gpuGb) > 0) && { gpuGb: "A number of gigabytes, for example 24." }),
    ...(variables.includes(null) && { environment: "One NAME=value on each line." }),
  };
  if (Object.keys(errors).length > 0) return { errors };
  const environment = Object.fromEntries(variables.flatMap((found) => (found === null ? [] : [[found[1], found[2]]])));
  return {
    job: {
      queue: fields.queue.trim(),
      ...(fields.name.trim() !== "" && { name: fields.name.trim() }),
      ...(fields.run.trim() !== "" && { run: fields.run.trim() }),
      command,
      arguments: given,
      ...(Object.keys(environment).length > 0 && { environment }),
      ...(fields.workingFolder.trim() !== "" && { workingFolder: fields.workingFolder.trim() }),
      watch: fields.watch.trim() === "" ? [] : [fields.watch.trim()],
      ...(priority !== 0 && { priority }),
      ...(mostFailures !== 3 && { policy: { mostFailures } }),
      ...(fields.gpuGb.trim() !== "" && { needs: { gpuMemoryBytes: Math.round(Number(gpuGb) * GB) } }),
    },
  };
}

const isWhole = (value: number | undefined, { from, to }: { from: number; to: number }): boolean =>
  Number.isInteger(value) && Number(value) >= from && Number(value) <= to;

/** Returns the job as a file for `tidemark jobs submit`. JSON is YAML too. */
export const asFile = (job: JobDraft): string => JSON.stringify(job, null, 2);

/** Returns the submission as a call with curl; the token is read from a variable. */
export function asCurl(job: JobDraft, origin: string): string {
  const body = JSON.stringify({ jobs: [job] }).replaceAll("'", String.raw`'\''`);
  return [
    `curl -H "authorization: Bearer $TIDEMARK_API_TOKEN" -H 'content-type: application/json' \\`,
    `  -d '${body}' ${origin}/api/trpc/jobs.submit`,
  ].join("\n");
}
