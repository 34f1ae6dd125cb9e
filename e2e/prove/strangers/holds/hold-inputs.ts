import { USUAL_SETTINGS } from "#protocol/benchmarks/plan-input.ts";
import type { CallerName } from "../callers.ts";
import type { JsonSchema } from "../make-input.ts";
import { checkpointId, nodeId, runOf } from "./fill-large.ts";

/** Makes the calls whose event-loop time is measured. Inputs ask for as much as possible, about the things with the most data. */

export interface Call {
  path: string;
  type: "query" | "mutation" | "subscription";
  as: CallerName;
  input: unknown;
}

interface Known {
  profileId: string;
  /** Id of a checkpoint of 50,000 files; `manyFilesToo` is another one of the same run. */
  manyFiles: string;
  manyFilesToo: string;
  now: number;
}

const DAY_MS = 86_400_000;

/** Returns the largest input of a schema: highest numbers, no filters, existing names. */
export function widestOf(schema: JsonSchema | boolean, named: Readonly<Record<string, unknown>>, name = ""): unknown {
  if (name in named) return named[name];
  if (typeof schema === "boolean") return null;
  if ("const" in schema) return schema.const;
  if (schema.enum !== undefined) return schema.enum.at(-1);
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches !== undefined)
    return branches.some(({ type }) => type === "null") ? null : widestOf(branches[0] ?? {}, named, name);
  if (schema.allOf !== undefined) {
    return Object.assign({}, ...schema.allOf.map((part) => widestOf(part, named, name))) as object;
  }
  switch (schema.type) {
    case "object":
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(([inner]) => schema.required?.includes(inner) === true || inner in named)
          .map(([inner, of]) => [inner, widestOf(of, named, inner)]),
      );
    case "array":
      return Array.from({ length: schema.minItems ?? 0 }, () => widestOf(schema.items ?? {}, named, name));
    case "integer":
    case "number":
      return schema.maximum ?? 1;
    case "boolean":
      return true;
    default:
      return "";
  }
}

/** Returns inputs that cannot be derived from a schema. */
function ownInputs({ profileId, manyFiles, manyFilesToo, now }: Known): Record<string, unknown> {
  const month = { from: now - 30 * DAY_MS, to: now };
  const list = {
    ...month,
    profileId: null,
    region: null,
    engine: null,
    nodeId: null,
    kinds: [],
    outcome: null,
    cursor: null,
  };
  const within = {
    ...month,
    measures: ["rtt", "up", "down"],
    sources: null,
    nodeIds: null,
    profileId: null,
    provider: null,
    region: null,
    engine: null,
  };
  const ofPlace = { checkpointId: manyFiles, path: "layer-0/part-0.bin" };
  const bench = {
    targets: { scope: { kind: "all" }, sample: null, profileIds: [profileId] },
    settings: USUAL_SETTINGS,
  };
  return {
    "nodes.get": { id: nodeId(1) },
    "nodes.lines": { id: nodeId(1) },
    "nodes.continueFrom": { id: nodeId(1) },
    "nodes.words": { id: nodeId(1) },
    "nodes.samples": { id: nodeId(1), minutes: 10_080 },
    "checkpoints.get": { id: manyFiles },
    "checkpoints.files": { checkpointId: manyFiles, words: "part", sort: "size", offset: 0, limit: 1_000 },
    "checkpoints.list": { run: runOf(0), states: [], kept: null, cursor: checkpointId(2_500), limit: 200 },
    "checkpoints.search": { words: `${runOf(0)} 1000` },
    "runs.metrics": { run: runOf(0), names: [], steps: null, points: 1_000 },
    "keeping.preview": { run: null, policy: null },
    "keeping.policy": { run: null },
    "keeping.trash": { run: null },
    "adoptions.takeRuns": { id: profileId },
    "sealing.get": { id: profileId },
    "benchmarks.get": { id: "bench-large" },
    "benchmarks.cases": { id: "bench-large", turnId: null, offset: 0, limit: 500 },
    "benchmarks.export": { id: "bench-large", format: "json" },
    "benchmarks.preview": bench,
    "history.list": { ...list, limit: 500 },
    "history.export": { what: "records", query: { ...list, limit: 500 } },
    "history.percentiles": { ...within, by: "node", limit: 30_000 },
    "history.series": { ...within, by: "all", step: "hour" },
    "bucket.describe": { profileId, key: "no-such-object" },
    "bucket.image": { profileId, key: "no-such-object" },
    "bucket.job": { id: "no-such-job-0001" },
    "browserTransfers.parts": { id: "no-such-upload-0001" },
    "jobs.list": {
      states: [],
      queue: null,
      run: null,
      label: null,
      owner: null,
      words: "",
      cursor: null,
      limit: 200,
    },
    "jobs.get": { id: "no-such-job-0001" },
    "jobs.log": { id: "no-such-job-0001" },
    "jobs.findInLog": { id: "no-such-job-0001", words: "error" },
    "jobs.submit": { jobs: Array.from({ length: 1_000 }, (_, index) => ({ command: "true", name: `job-${index}` })) },
    "jobs.importKelpie": {
      jobs: Array.from({ length: 1_000 }, (_, index) => ({
        id: `job-${index}`,
        submission: { command: "true", container_group_id: "imported", sync: {} },
      })),
      dryRun: true,
    },
    "jobs.cancel": { which: { filter: {} }, dryRun: true },
    "jobs.retry": { which: { filter: {} }, dryRun: true },
    "jobs.setSchedule": { name: "nightly", cron: "0 3 * * *", job: { command: "true", queue: "paused" } },
    "jobs.pauseSchedule": { name: "no-such-schedule", isPaused: true },
    "jobs.removeSchedule": { name: "no-such-schedule" },
    "jobs.setQueueCaps": { queue: "paused", mostRunning: 1_000, mostPerOwner: null },
    "jobs.pauseQueue": { queue: "paused" },
    "jobs.resumeQueue": { queue: "paused" },
    "groups.list": { accountId: "no-such-account-1" },
    "groups.act": {
      accountId: "no-such-account-1",
      group: "trainers",
      instanceIds: Array.from({ length: 1_000 }, (_, index) => `instance-${index}`),
      action: "restart",
      dryRun: true,
      mayLose: Array.from({ length: 1_000 }, (_, index) => `instance-${index}`),
    },
    "groups.setRule": {
      accountId: "no-such-account-1",
      group: "trainers",
      queue: "default",
      limits: { min: 0, max: 500, idleMs: 0, cooldownMs: 0 },
      isEnabled: true,
    },
    "groups.importRules": {
      rules: [
        {
          container_group_id: "3f6c1f2e-8f7e-4c39-9a4b-0b6f1a5f9a01",
          min_replicas: 0,
          max_replicas: 1,
          idle_threshold_seconds: 300,
        },
      ],
      dryRun: true,
    },
    "groups.removeRule": { accountId: "no-such-account-1", group: "trainers" },
    "groups.accounts.create": {
      account: { name: "main", provider: "salad", organization: "acme", project: "training" },
      key: "k".repeat(512),
    },
    "groups.accounts.update": {
      id: "no-such-account-1",
      version: 1,
      account: { name: "main", provider: "salad", organization: "acme", project: "training" },
      key: null,
    },
    "node.takeJob": { bootId: "boot-0000-0001", queue: "default", holds: [], waitSeconds: 0 },
    "node.nextJob": { queue: "default" },
    "node.jobStates": { bootId: "boot-0000-0001", jobs: [] },
    "node.signForJob": {
      jobId: "no-such-job-0001",
      attempt: 1,
      epoch: 1,
      part: { kind: "log" },
      operations: [{ op: "head", key: "a" }],
    },
    "node.readJobPlace": { jobId: "no-such-job-0001", attempt: 1, epoch: 1, part: { kind: "input", index: 0 } },
    "node.keepLogPart": {
      jobId: "no-such-job-0001",
      attempt: 1,
      epoch: 1,
      totalBytes: 1,
      fromByte: 0,
      bytes: 1,
      packedBytes: 1,
    },
    "node.endJob": {
      jobId: "no-such-job-0001",
      attempt: 1,
      epoch: 1,
      exit: { kind: "exited", code: 0 },
      fromStep: null,
      toStep: null,
      safeStep: null,
    },
    "node.benchTurn": { turnId: "no-such-turn-0001" },
    "node.benchTarget": { profile: "stage bucket" },
    "thresholds.starts": { over: { of: "days", days: 30 }, profileId: null },
    "restores.plan": { checkpointId: manyFiles, nodeId: null, choice: null },
    "inspect.compare": { from: { checkpointId: manyFiles }, to: { checkpointId: manyFilesToo } },
    "inspect.file": { place: ofPlace },
    "inspect.curve": { checkpointId: manyFiles },
    "browserTransfers.folder": { checkpointId: manyFiles },
    "advice.list": { nodeId: null },
    "node.readCheckpoint": { checkpointId: manyFiles },
    "node.confirmComplete": { checkpointIds: [manyFiles, manyFilesToo] },
    "node.findCheckpoint": { run: "many-files" },
    "node.homes": { run: "many-files" },
  };
}

const BY_NAME = (known: Known): Record<string, unknown> => ({
  run: runOf(0),
  profileId: known.profileId,
  checkpointId: known.manyFiles,
});

/** Returns the call to measure for a procedure, with a permitted caller. */
export function callFor(
  procedure: { path: string; type: Call["type"]; who: string; input: JsonSchema | null },
  known: Known,
): Call {
  const { path, type, who, input } = procedure;
  const own = ownInputs(known)[path];
  const made = own ?? (input === null ? undefined : widestOf(input, BY_NAME(known)));
  return { path, type, as: who === "node" ? "node" : who === "open" ? "nobody" : "admin", input: made };
}
