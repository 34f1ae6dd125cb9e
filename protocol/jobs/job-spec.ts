import * as z from "zod";
import { addressText, byteCount, MOST_LABELS, rate, recordOf } from "../base/bounded.ts";
import { runName } from "../base/names.ts";
import { draftPlaces, storedPlaces } from "./job-places.ts";

/** Describes a job: a command that a node runs under the supervisor of `tidemark run`, and the policy for its ends. */

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
export const DEFAULT_QUEUE = "default";
/** A UUID of a Salad container group is a queue's name too. */
export const queueName = z
  .string()
  .regex(NAME, "a queue's name has 1 to 64 letters, digits, '.', '_' or '-' and starts with a letter or digit");

/** Returns the schema of a text that becomes an argument or a variable of a process; NUL would end it early. */
const processText = (mostLength: number) =>
  addressText(mostLength).refine((text) => !text.includes("\0"), "it contains a NUL character");

/** A folder on the node: absolute, or relative to the working folder. */
const folder = processText(1024).min(1);
const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "not a name of an environment variable");

const MOST_ARGUMENTS = 256;
const MOST_VARIABLES = 256;
/** Bound on the characters of command, arguments and environment together: 1,000 of them fit into one request. */
export const MOST_SPEC_CHARS = 32_768;

const MOST_AFTER = 16;
/** Bounds on a matrix. Its jobs together are bounded by those of a submission. */
const MOST_PARAMETERS = 16;
const MOST_VALUES = 1_000;
const MOST_SECRETS = 64;
/** Bound on the bytes of a job's secrets as JSON. */
export const MOST_SECRET_BYTES = 8_192;

export const jobLabels = recordOf(z.string().min(1).max(32), z.string().max(128), MOST_LABELS);

/** Requirements for a node that takes the job. */
export const jobNeeds = z.object({
  /** Memory of one GPU. A node that reports none does not fit. */
  gpuMemoryBytes: byteCount.optional(),
  /** Free bytes on the node's disk. A node that does not report its disk fits. */
  diskBytes: byteCount.optional(),
  /** Measured upload rate to the bucket of the node. A node without a measurement fits. */
  uplinkBytesPerSecond: rate.optional(),
  /** Labels that the node must have with these values. */
  labels: jobLabels.default({}),
});

/** Bytes of output that the bucket keeps of each attempt when the policy says nothing, and at most. */
export const DEFAULT_LOG_BYTES = 8 * 1024 * 1024;
const MOST_LOG_BYTES = 64 * 1024 * 1024;

const exitCodes = z.array(z.number().int().min(1).max(255)).max(255).default([]);
const LONGEST_SECONDS = 366 * 86_400;

export const jobPolicy = z.object({
  /** The job fails when it has failed this often. Interruptions are never counted. */
  mostFailures: z.number().int().min(1).max(100).default(3),
  exitCodes: z
    .object({
      /** The job waits again. An attempt that made a newer step safe is not counted as a failure. */
      retry: exitCodes,
      /** The job fails at once. */
      fail: exitCodes,
      /** Counted as a failure, and this node is not given the job again for an hour. */
      banMachine: exitCodes,
    })
    .default({ retry: [], fail: [], banMachine: [] }),
  /** Longest duration of one attempt. */
  longestSeconds: z.number().int().min(1).max(LONGEST_SECONDS).optional(),
  /** Longest time of an attempt without a newer safe step. */
  noProgressSeconds: z.number().int().min(60).max(LONGEST_SECONDS).optional(),
  /** Bytes of output that the bucket keeps of each attempt: the first half and the last half of them. 0: nothing. */
  logBytes: z.number().int().min(0).max(MOST_LOG_BYTES).default(DEFAULT_LOG_BYTES),
});
export type JobPolicy = z.infer<typeof jobPolicy>;

export const DEFAULT_POLICY: JobPolicy = {
  mostFailures: 3,
  exitCodes: { retry: [], fail: [], banMachine: [] },
  logBytes: DEFAULT_LOG_BYTES,
};

const jobFields = z.object({
  queue: queueName.default(DEFAULT_QUEUE),
  /** Shown to people. */
  name: addressText(128).trim().min(1).optional(),
  /** Run that the job writes and resumes. Default: the name if no run or job has it, else one made from the job's id. */
  run: runName.optional(),
  /** Executed without a shell. */
  command: processText(4_096).min(1),
  arguments: z.array(processText(8_192)).max(MOST_ARGUMENTS).default([]),
  /** Laid over the node's environment. It is not sealed: nodes and operators read it; `secrets` are. */
  environment: recordOf(variableName, processText(8_192), MOST_VARIABLES).default({}),
  /** Absolute, or below the folder that the worker makes for the job. Default: that folder. */
  workingFolder: folder.optional(),
  /** The folder whose checkpoints are captured, if any. A list, because `tidemark run` watches several. */
  watch: z.array(folder).max(1, "a job watches one folder: the one in which its run saves").default([]),
  /** Jobs that have to be done before it is handed out: their ids, or names of earlier jobs of the same submission. */
  after: z.array(addressText(128).trim().min(1)).max(MOST_AFTER).default([]),
  /** A job with a higher priority is handed out first. */
  priority: z.number().int().min(-100).max(100).default(0),
  labels: jobLabels.default({}),
  needs: jobNeeds.default({ labels: {} }),
  policy: jobPolicy.default(DEFAULT_POLICY),
  /** A second submission by the same person with the same key is the same job. */
  idempotencyKey: addressText(128).min(1).optional(),
});

const isShort = (spec: { command: string; arguments: string[]; environment: Record<string, string> }): boolean =>
  charsOf(spec) <= MOST_SPEC_CHARS;
const TOO_LONG = `command, arguments and environment have more than ${MOST_SPEC_CHARS} characters together`;

/** The worker creates and reads nothing outside of the job's own folder. */
const staysInside = (spec: { workingFolder?: string | undefined; inputs: unknown[]; outputs: unknown[] }): boolean => {
  const at = spec.workingFolder ?? ".";
  const isInside = !at.startsWith("/") && !at.split("/").includes("..");
  return isInside || (spec.inputs.length === 0 && spec.outputs.length === 0);
};
const OUTSIDE = "inputs and outputs lie in the job's own folder: leave workingFolder out, or name a folder below it";

/** A job as the hub stores it, and as nodes and people read it: of its secrets it has the names. */
export const jobSpec = jobFields
  .extend({ secrets: z.array(variableName).max(MOST_SECRETS).default([]), ...storedPlaces })
  .refine(isShort, TOO_LONG)
  .refine(staysInside, OUTSIDE);
export type JobSpec = z.infer<typeof jobSpec>;

/** Values of secrets by the names of their variables. They are sealed, and only the node that has the lease is given them. */
export const jobSecrets = recordOf(
  variableName,
  processText(MOST_SECRET_BYTES).min(1, "a secret has no value"),
  MOST_SECRETS,
).refine(
  (secrets) => new TextEncoder().encode(JSON.stringify(secrets)).length <= MOST_SECRET_BYTES,
  `the secrets of a job have more than ${MOST_SECRET_BYTES} bytes together`,
);
export type JobSecrets = z.infer<typeof jobSecrets>;

const parameterName = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,31}$/, "not a name of a parameter");
const wholeNumber = z.number().int().min(-1_000_000_000).max(1_000_000_000);
const parameter = z.union([
  z
    .array(z.union([addressText(128), z.number().min(-1e100).max(1e100), z.boolean()]))
    .min(1)
    .max(MOST_VALUES),
  z
    .object({ from: wholeNumber, to: wholeNumber })
    .refine(({ from, to }) => to >= from, "a range ends before it begins"),
]);

/** A job as people submit it, with the values of its secrets. */
export const jobSubmission = jobFields
  .extend({
    secrets: jobSecrets.default({}),
    ...draftPlaces,
    /** Values by parameter. One job is made for each combination; `{{name}}` in its texts is replaced by the value. */
    matrix: recordOf(parameterName, parameter, MOST_PARAMETERS).optional(),
  })
  .refine(isShort, TOO_LONG)
  .refine(staysInside, OUTSIDE)
  .refine(
    ({ environment, secrets }) => Object.keys(secrets).every((name) => !(name in environment)),
    "a name is in both environment and secrets",
  );
export type JobSubmission = z.infer<typeof jobSubmission>;
/** A job as people write it, without the defaults. */
export type JobDraft = z.input<typeof jobSubmission>;

/** Returns what the hub stores of a job in the clear. `profileIds`: of the bucket profiles by their names. */
export function specOf(
  { secrets, matrix: _matrix, inputs, outputs, ...job }: JobSubmission,
  profileIds: ReadonlyMap<string, string> = new Map(),
): JobSpec {
  const placed = <Place extends { profile?: string | undefined }>(place: Place) => ({
    ...place,
    profileId: place.profile === undefined ? null : (profileIds.get(place.profile) ?? null),
  });
  return {
    ...job,
    secrets: Object.keys(secrets).toSorted(),
    inputs: inputs.map(placed),
    outputs: outputs.map(placed),
  };
}

function charsOf(spec: { command: string; arguments: string[]; environment: Record<string, string> }): number {
  const variables = Object.entries(spec.environment).flat();
  return [spec.command, ...spec.arguments, ...variables].reduce((sum, text) => sum + text.length, 0);
}
