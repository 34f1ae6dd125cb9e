import * as z from "zod";
import { addressText } from "../base/bounded.ts";
import { DEFAULT_POLICY, jobSpec, MOST_SPEC_CHARS, queueName, type JobSpec } from "./job-spec.ts";
import type { JobState } from "./job-states.ts";

/**
 * The interface of Salad's Kelpie, as its clients and workers use it. Field names and values are Kelpie's. Unknown fields are
 * dropped. docs/kelpie.md lists what differs.
 */

const MOST_KELPIE_BATCH = 1_000;
const MOST_SYNCS = 32;
const SHORTEST_HEARTBEAT_S = 1;
const LONGEST_HEARTBEAT_S = 86_400;

/** The id that a worker gives for its machine. Two workers with one id are one worker. */
export const machineId = addressText(128).min(1);

const bucket = addressText(255).min(1);
const prefix = addressText(1_024)
  .transform((text) => (text.endsWith("/") ? text : `${text}/`))
  .pipe(z.string().max(1_024));
const webhookAddress = addressText(2_048)
  .min(1)
  .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), "it is not an http or https address");

/** Source of a JavaScript RegExp without flags: a worker that is given a bad one ends. */
const pattern = addressText(1_024).refine((text) => {
  try {
    return new RegExp(text) instanceof RegExp;
  } catch {
    return false;
  }
}, "it is not a JavaScript regular expression");

const syncOf = (direction: "download" | "upload", place: string) =>
  z
    .array(
      z.object({
        bucket,
        prefix,
        local_path: addressText(1_024).min(1),
        direction: z.literal(direction, `sync.${place}.direction must be "${direction}"`),
        pattern: pattern.optional(),
      }),
    )
    .max(MOST_SYNCS);

const sync = z.object({
  before: syncOf("download", "before").optional(),
  during: syncOf("upload", "during").optional(),
  after: syncOf("upload", "after").optional(),
});

/** The older form: all six or none. */
const legacy = {
  input_bucket: bucket,
  input_prefix: prefix,
  checkpoint_bucket: bucket,
  checkpoint_prefix: prefix,
  output_bucket: bucket,
  output_prefix: prefix,
};
const legacyFields = z.object(legacy);
const LEGACY_NAMES = legacyFields.keyof().options;

/** Fields that the hub stores and returns unchanged. */
export const kelpieStorage = z.union([
  z.object({ compression: z.boolean(), sync }),
  legacyFields.extend({ compression: z.boolean() }),
]);
export type KelpieStorage = z.infer<typeof kelpieStorage>;

/** Longest name that is made from a command. */
const NAME_CHARS = 60;

const { command, arguments: argumentList, environment } = jobSpec.shape;

const rawSubmission = z
  .object({
    command,
    arguments: argumentList,
    environment,
    container_group_id: queueName,
    max_failures: z.number().int().min(1).max(100).default(DEFAULT_POLICY.mostFailures),
    heartbeat_interval: z.number().int().min(SHORTEST_HEARTBEAT_S).max(LONGEST_HEARTBEAT_S).default(30),
    webhook: webhookAddress.nullable().optional(),
    compression: z.boolean().default(false),
    sync: sync.optional(),
    ...legacyFields.partial().shape,
  })
  .superRefine((one, context) => {
    const given = LEGACY_NAMES.filter((name) => one[name] !== undefined);
    const refuse = (message: string) => context.addIssue({ code: "custom", message });
    if (one.sync !== undefined && given.length > 0) refuse("Cannot use both sync and bucket/prefix");
    if (one.sync === undefined && given.length < LEGACY_NAMES.length) refuse("Must use either sync or bucket/prefix");
    const rules = [one.sync?.before, one.sync?.during, one.sync?.after].flatMap((some) => some ?? []);
    const texts = [
      one.command,
      ...one.arguments,
      ...Object.entries(one.environment).flat(),
      ...rules.flatMap((rule) => [rule.bucket, rule.prefix, rule.local_path, rule.pattern ?? ""]),
      ...LEGACY_NAMES.map((name) => one[name] ?? ""),
    ];
    // A page of a thousand jobs is one answer.
    if (texts.reduce((sum, text) => sum + text.length, 0) > MOST_SPEC_CHARS) {
      refuse(
        `command, arguments, environment, sync, buckets and prefixes have more than ${MOST_SPEC_CHARS} characters together`,
      );
    }
  });

export interface KelpieSubmission {
  spec: JobSpec;
  heartbeatSeconds: number;
  webhook: string | null;
  storage: KelpieStorage;
}

/** Returns a checked body as a spec of a job and the rest. */
export function planSubmission(one: z.infer<typeof rawSubmission>): KelpieSubmission {
  // Names reach events and alerts, and further arguments may hold keys.
  const [first = "-"] = one.arguments;
  const own = one.command.slice(one.command.lastIndexOf("/") + 1);
  const words = first.startsWith("-") ? [own] : [own, first];
  const title = words.join(" ").trim().slice(0, NAME_CHARS).toWellFormed();
  const spec = jobSpec.parse({
    queue: one.container_group_id,
    ...(title.trim() === "" ? {} : { name: title }),
    command: one.command,
    arguments: one.arguments,
    environment: one.environment,
    policy: { mostFailures: one.max_failures },
  });
  const { compression } = one;
  const storage =
    one.sync === undefined ? { ...legacyFields.parse(one), compression } : { compression, sync: one.sync };
  return { spec, heartbeatSeconds: one.heartbeat_interval, webhook: one.webhook ?? null, storage };
}

/** Body of `POST /jobs`. */
export const kelpieSubmission = rawSubmission.transform(planSubmission);

/** Longest time after an import before a job is handed out. */
const LONGEST_WAIT_S = 2 * LONGEST_HEARTBEAT_S;

/** Jobs of another Kelpie, for `jobs.importKelpie`. A job whose `id` was imported before is not stored again. */
export const importKelpieInput = z.object({
  jobs: z
    .array(
      z.object({
        /** Id of the job at the other Kelpie. */
        id: addressText(100).min(1),
        failures: z.number().int().min(0).max(100).default(0),
        /** Not handed out for this long: a worker of the other Kelpie may still run the job. */
        waitSeconds: z.number().int().min(0).max(LONGEST_WAIT_S).default(0),
        submission: rawSubmission,
      }),
    )
    .min(1)
    .max(MOST_KELPIE_BATCH),
  /** Only tells which jobs are known. */
  dryRun: z.boolean().default(false),
});
/** Input of `jobs.importKelpie`, as a client writes it. */
export type ImportedKelpieJob = z.input<typeof importKelpieInput>["jobs"][number];

/** Answer for one imported job; `id` null with `dryRun` when it is new. */
export interface KelpieImport {
  kelpieId: string;
  id: string | null;
  isNew: boolean;
}

/** Body of `POST /jobs/batch`. Its jobs are checked one by one, so that the first bad one is named. */
export const kelpieBatch = z.array(z.unknown()).min(1).max(MOST_KELPIE_BATCH);

/** Query of `GET /work`, and body of the three reports of a worker. */
export const kelpieWorker = z.object({ machine_id: machineId, container_group_id: queueName });
export type KelpieWorker = z.infer<typeof kelpieWorker>;

export const KELPIE_STATUSES = ["pending", "running", "completed", "canceled", "failed"] as const;
export type KelpieStatus = (typeof KELPIE_STATUSES)[number];

const STATUS_OF: Readonly<Record<JobState, KelpieStatus>> = {
  waiting: "pending",
  running: "running",
  done: "completed",
  canceled: "canceled",
  failed: "failed",
};
export const kelpieStatusOf = (state: JobState): KelpieStatus => STATUS_OF[state];

const STATE_OF: Readonly<Record<KelpieStatus, JobState>> = {
  pending: "waiting",
  running: "running",
  completed: "done",
  canceled: "canceled",
  failed: "failed",
};

/** Rows up to the end of a page. The database walks over all rows before a page. */
const MOST_LISTED = 1_000_000;

/** Query of `GET /jobs`; all values of a query are text. */
export const kelpieListQuery = z
  .object({
    status: z
      .enum(KELPIE_STATUSES)
      .transform((status) => STATE_OF[status])
      .optional(),
    container_group_id: queueName.optional(),
    page_size: z.coerce.number().int().min(1).max(1_000).default(100),
    page: z.coerce.number().int().min(1).max(MOST_LISTED).default(1),
    // Python's requests writes True and False.
    asc: z
      .string()
      .max(5)
      .toLowerCase()
      .pipe(z.enum(["true", "false"]))
      .default("false")
      .transform((word) => word === "true"),
  })
  .refine(
    ({ page, page_size: size }) => page * size <= MOST_LISTED,
    `page times page_size is more than ${MOST_LISTED}: list the jobs of one status or container_group_id`,
  );

/** A job, as Kelpie's clients and workers read it. Times that are unset are absent. */
export type KelpieJobView = {
  id: string;
  user_id: string;
  status: KelpieStatus;
  created: string;
  started?: string;
  completed?: string;
  canceled?: string;
  failed?: string;
  heartbeat?: string;
  num_failures: number;
  num_heartbeats: number;
  machine_id: string | null;
  container_group_id: string;
  command: string;
  arguments: string[];
  environment: Record<string, string>;
  max_failures: number;
  heartbeat_interval: number;
  webhook: string | null;
} & KelpieStorage;

/** Body of a call of a webhook. */
export interface KelpieWebhook {
  status: "running" | "failed" | "completed";
  job_id: string;
  machine_id: string;
  container_group_id: string;
}
