import type { JobDraft, JobSpec } from "#protocol/jobs/job-spec.ts";
import { scheduleName } from "#protocol/jobs/schedules.ts";
import { id as jobId } from "#protocol/base/names.ts";
import { readCommand, writeCommand } from "./command-text.ts";
import { inputLine, outputLine, readInputLine, readOutputLine } from "./place-lines.ts";

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
  secrets: string;
  /** One `NAME=a, b` or `NAME=1..9` a line. */
  matrix: string;
  /** One `BUCKET: PREFIX -> FOLDER` a line, and `FOLDER -> BUCKET: PREFIX`. */
  inputs: string;
  outputs: string;
  /** Ids of jobs, divided by spaces. */
  after: string;
  /** Cron expression; empty: the job is submitted once, now. */
  cron: string;
  timeZone: string;
  /** Name of the schedule; empty: the name of the job. */
  schedule: string;
  overlaps: boolean;
}

/** A schedule that the form describes, without its job. */
export interface ScheduleDraft {
  name: string;
  cron: string;
  timeZone: string;
  overlaps: boolean;
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
  secrets: "",
  matrix: "",
  inputs: "",
  outputs: "",
  after: "",
  cron: "",
  timeZone: "UTC",
  schedule: "",
  overlaps: false,
};

const GB = 1_000_000_000;

/**
 * Returns the fields of a job like an earlier one. Its run is left out, because two jobs of one run follow each other, and so are the jobs that it followed. Values of the
 * environment are empty where the person may not read them, those of secrets always.
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
    secrets: spec.secrets.map((name) => `${name}=`).join("\n"),
    matrix: "",
    inputs: spec.inputs.map(inputLine).join("\n"),
    outputs: spec.outputs.map(outputLine).join("\n"),
    after: "",
    cron: "",
    timeZone: "UTC",
    schedule: "",
    overlaps: false,
  };
}

const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

type Errors = Partial<Record<keyof JobFields, string>>;

/** Returns names and values of lines `NAME=value`; null when a line is something else. */
function readPairs(text: string): [name: string, value: string][] | null {
  const pairs = linesOf(text).map((line) => /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(line));
  return pairs.includes(null) ? null : pairs.map((found) => [found?.[1] ?? "", found?.[2] ?? ""]);
}

function secretsError(secrets: readonly [string, string][] | null, environment: readonly [string, string][] | null) {
  if (secrets === null) return { secrets: "One NAME=value on each line." };
  const empty = secrets.find(([, value]) => value === "");
  if (empty !== undefined) return { secrets: `Fill in ${empty[0]}: the hub does not show the values of earlier jobs.` };
  const twice = secrets.find(([name]) => environment?.some(([other]) => other === name) === true);
  return twice === undefined ? {} : { secrets: `${twice[0]} is in the environment too: name it once.` };
}

/** Returns the values of each parameter: a list, or a range of whole numbers. */
function matrixOf(rows: readonly [name: string, text: string][]): NonNullable<JobDraft["matrix"]> {
  return Object.fromEntries(
    rows.map(([name, text]) => {
      const [, from, to] = /^(-?\d+)\.\.(-?\d+)$/.exec(text) ?? [];
      const isRange = from !== undefined && to !== undefined;
      return [name, isRange ? { from: Number(from), to: Number(to) } : text.split(",").map((value) => value.trim())];
    }),
  );
}

function scheduleErrors(fields: JobFields): Errors {
  if (fields.cron.trim() === "") return {};
  const name = nameOfSchedule(fields);
  return {
    ...(fields.cron.trim().split(/\s+/).length !== 5 && {
      cron: "Five parts: minute, hour, day of the month, month, day of the week. For example 0 3 * * 1-5",
    }),
    ...(!scheduleName.safeParse(name).success && {
      schedule: "1 to 64 letters, digits, '.', '_' or '-', the first a letter or digit.",
    }),
    ...(fields.after.trim() !== "" && { after: "A job of a schedule cannot follow others." }),
  };
}

const nameOfSchedule = ({ schedule, name }: JobFields): string => (schedule.trim() === "" ? name : schedule).trim();

/** Returns the schedule of the fields; null when the job is submitted once. */
export const scheduleOf = (fields: JobFields): ScheduleDraft | null =>
  fields.cron.trim() === ""
    ? null
    : {
        name: nameOfSchedule(fields),
        cron: fields.cron.trim(),
        timeZone: fields.timeZone.trim() === "" ? "UTC" : fields.timeZone.trim(),
        overlaps: fields.overlaps,
      };

/** Returns the job, or why the fields describe none, by field. */
export function readFields(fields: JobFields): { job: JobDraft } | { errors: Errors } {
  const words = readCommand(fields.command);
  const [command = "", ...given] = words ?? [];
  const variables = readPairs(fields.environment);
  const secrets = readPairs(fields.secrets);
  const rows = readPairs(fields.matrix);
  const inputs = linesOf(fields.inputs).map(readInputLine);
  const outputs = linesOf(fields.outputs).map(readOutputLine);
  const after = fields.after.split(/\s+/).filter((word) => word !== "");
  const wrong = after.find((word) => !jobId.safeParse(word).success);
  const [priority, mostFailures, gpuGb] = [fields.priority, fields.mostFailures, fields.gpuGb].map(Number);
  const errors: Errors = {
    ...(words === null && { command: "A quotation mark is not closed." }),
    ...(words !== null && command === "" && { command: "Name the program, for example: python train.py" }),
    ...(!isWhole(priority, { from: -100, to: 100 }) && { priority: "A whole number from -100 to 100." }),
    ...(!isWhole(mostFailures, { from: 1, to: 100 }) && { mostFailures: "A whole number from 1 to 100." }),
    ...(fields.gpuGb.trim() !== "" && !(Number(gpuGb) > 0) && { gpuGb: "A number of gigabytes, for example 24." }),
    ...(variables === null && { environment: "One NAME=value on each line." }),
    ...((rows === null || rows.some(([, values]) => values === "")) && {
      matrix: "One NAME=a, b or NAME=1..9 on each line.",
    }),
    ...(inputs.includes(null) && { inputs: "One PREFIX -> FOLDER on each line." }),
    ...(outputs.includes(null) && { outputs: "One FOLDER -> PREFIX on each line." }),
    ...(wrong !== undefined && { after: `${wrong} is not the id of a job.` }),
    ...secretsError(secrets, variables),
    ...scheduleErrors(fields),
  };
  if (Object.keys(errors).length > 0) return { errors };
  const environment = Object.fromEntries(variables ?? []);
  const sealed = Object.fromEntries(secrets ?? []);
  return {
    job: {
      queue: fields.queue.trim(),
      ...(fields.name.trim() !== "" && { name: fields.name.trim() }),
      ...(fields.run.trim() !== "" && { run: fields.run.trim() }),
      command,
      arguments: given,
      ...(Object.keys(environment).length > 0 && { environment }),
      ...(rows !== null && rows.length > 0 && { matrix: matrixOf(rows) }),
      ...(inputs.length > 0 && { inputs: inputs.filter((one) => one !== null) }),
      ...(outputs.length > 0 && { outputs: outputs.filter((one) => one !== null) }),
      ...(after.length > 0 && { after }),
      ...(Object.keys(sealed).length > 0 && { secrets: sealed }),
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

/**
 * Returns the job as a file for `tidemark jobs submit`. JSON is YAML too. It has only the names of secrets: the command takes their
 * values from its environment.
 */
export const asFile = ({ secrets, ...job }: JobDraft): string =>
  JSON.stringify({ ...job, ...(secrets !== undefined && { secrets: Object.keys(secrets) }) }, null, 2);

/** Returns the command that submits the file of a job, or sets its schedule. */
export function asCommand(schedule: ScheduleDraft | null): string {
  if (schedule === null) return "tidemark jobs submit job.json";
  const { name, cron, timeZone, overlaps } = schedule;
  const options = `${timeZone === "UTC" ? "" : ` --time-zone ${writeCommand([timeZone])}`}${overlaps ? " --overlap" : ""}`;
  return `tidemark jobs schedule ${name} --cron ${writeCommand([cron])}${options} job.json`;
}

/**
 * Returns the submission, or the schedule, as a call with curl. The token is read from a variable, and values of secrets are left
 * out.
 */
export function asCurl(
  { secrets, ...job }: JobDraft,
  { schedule, origin }: { schedule: ScheduleDraft | null; origin: string },
): string {
  const blank = Object.fromEntries(Object.keys(secrets ?? {}).map((name) => [name, `value of ${name}`]));
  const shown = { ...job, ...(secrets !== undefined && { secrets: blank }) };
  const [procedure, input] =
    schedule === null ? ["jobs.submit", { jobs: [shown] }] : ["jobs.setSchedule", { ...schedule, job: shown }];
  const body = JSON.stringify(input).replaceAll("'", String.raw`'\''`);
  return [
    `curl -H "authorization: Bearer $TIDEMARK_API_TOKEN" -H 'content-type: application/json' \\`,
    `  -d '${body}' ${origin}/api/trpc/${procedure}`,
  ].join("\n");
}
