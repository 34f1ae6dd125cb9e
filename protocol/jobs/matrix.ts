import { formatCount } from "../base/units.ts";
import { jobSubmission, type JobSubmission } from "./job-spec.ts";
import { MOST_SUBMITTED } from "./job-views.ts";

/** Makes one job for each combination of the parameters of a job. */

/** A job of a submission, after its parameters were filled in. */
export interface ExpandedJob {
  job: JobSubmission;
  /** Place of the job that it was made from, from 0, and the name as that job has it. */
  index: number;
  written: string | undefined;
}

export type Expansion = { jobs: ExpandedJob[] } | { index: number; wrong: string };

type Values = Record<string, string>;
type Matrix = NonNullable<JobSubmission["matrix"]>;

const valuesOf = (row: Matrix[string]): string[] =>
  Array.isArray(row)
    ? row.map(String)
    : Array.from({ length: row.to - row.from + 1 }, (_, at) => String(row.from + at));

const sizeOf = (row: Matrix[string]): number => (Array.isArray(row) ? row.length : row.to - row.from + 1);

/** Returns how many jobs a matrix makes. */
export const countOf = (matrix: Matrix | undefined): number =>
  Object.values(matrix ?? {}).reduce((product, row) => product * sizeOf(row), 1);

/** Returns every combination; the last parameter changes fastest. */
function combinationsOf(matrix: Matrix): Values[] {
  let all: Values[] = [{}];
  for (const [name, row] of Object.entries(matrix)) {
    const values = valuesOf(row);
    all = all.flatMap((before) => values.map((value) => ({ ...before, [name]: value })));
  }
  return all;
}

const PLACEHOLDER = /\{\{\s*([A-Za-z][A-Za-z0-9_]*)\s*\}\}/g;
const hasPlaceholder = (text: string): boolean => text.search(PLACEHOLDER) >= 0;

/** Returns the first placeholder of a job that is no parameter of its matrix; null when there is none. */
function findUnknown(job: object, matrix: Matrix): string | null {
  for (const [, name = ""] of JSON.stringify(job).matchAll(PLACEHOLDER)) if (!Object.hasOwn(matrix, name)) return name;
  return null;
}

/** Fills the values into all texts of a job. */
function fill<T>(part: T, values: Values): T {
  if (typeof part === "string") return part.replaceAll(PLACEHOLDER, (_, name: string) => values[name] ?? "") as T;
  if (Array.isArray(part)) return part.map((one: unknown) => fill(one, values)) as T;
  if (typeof part !== "object" || part === null) return part;
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, fill(value, values)])) as T;
}

/** Returns the text as it is when it tells the jobs apart, and otherwise with the number of the job. */
const apart = (text: string | undefined, number: number): string | undefined =>
  text === undefined || hasPlaceholder(text) ? text : `${text}-${number}`;

function expandOne(submitted: JobSubmission): JobSubmission[] | string {
  const { matrix, secrets, ...job } = submitted;
  if (matrix === undefined) return [submitted];
  const count = countOf(matrix);
  if (count > MOST_SUBMITTED)
    return `matrix: it makes ${formatCount(count)} jobs; a submission has ${formatCount(MOST_SUBMITTED)} at most`;
  const unknown = findUnknown(job, matrix);
  if (unknown !== null) return `{{${unknown}}} is no parameter of its matrix`;
  if (job.run !== undefined && count > 1)
    return "run: all jobs of the matrix would write one run; leave it out, and each writes the run of its name";
  const made: JobSubmission[] = [];
  for (const [at, values] of combinationsOf(matrix).entries()) {
    const filled = fill(
      { ...job, name: apart(job.name, at + 1), idempotencyKey: apart(job.idempotencyKey, at + 1) },
      values,
    );
    const parsed = jobSubmission.safeParse({ ...filled, labels: { ...values, ...filled.labels }, secrets });
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      return `job ${at + 1} of its matrix: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? "not valid"}`;
    }
    made.push(parsed.data);
  }
  return made;
}

/** Makes the jobs of a submission: one for each combination of parameters of each job, in their order. */
export function expandJobs(submitted: readonly JobSubmission[]): Expansion {
  const jobs: ExpandedJob[] = [];
  for (const [index, one] of submitted.entries()) {
    const made = expandOne(one);
    if (typeof made === "string") return { index, wrong: made };
    jobs.push(...made.map((job) => ({ job, index, written: one.name })));
    if (jobs.length > MOST_SUBMITTED)
      return { index, wrong: `with it there are more than ${formatCount(MOST_SUBMITTED)} jobs in the submission` };
  }
  return { jobs };
}
