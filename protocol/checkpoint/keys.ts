import { Fault } from "../faults/fault.ts";
import { attemptId, filePath, id, runName, type AttemptId, type FilePath, type RunName } from "../base/names.ts";

/**
 * Layout of the bucket. Data keys contain run, writer epoch and attempt and are never reused, so a late write of a replaced
 * node can only waste space. Manifests and epoch claims lie under separate prefixes that are never signed for a node.
 *
 *   {prefix}runs/{run}/e000003/{attempt}/{path}                      data, written by the node of epoch 3
 *   {prefix}manifests/{run}/e000003/s000000004500-{checkpointId}-{attempt}.json   written by the hub, last
 *   {prefix}epochs/{run}/e000003.json                                 claim of an epoch, written by the hub, if-none-match
 *   {prefix}keeping/{run}/{checkpointId}/{recordId}-{kind}.json       retention records, written by the hub, immutable
 *   {prefix}_tidemark/findings/{run}/{checkpointId}/{id}.json         results of verification, written by the hub, immutable
 *   {prefix}_tidemark/job-logs/{run}/{jobId}/...                      output of the programs of jobs, see jobs/job-log.ts
 *   {prefix}_tidemark/probe/{nodeId}/{probeId}                        data of a link measurement, deleted afterwards
 *   {prefix}tidemark-check/{id}/...                                   data of a test of the bucket, deleted afterwards
 *   {prefix}_tidemark/bench/{benchId}/...                             data of an engine benchmark, deleted afterwards
 */

/** Folders under a profile's prefix that belong to Tidemark; nothing else writes there. */
export const OWN_FOLDERS = {
  data: "runs/",
  manifests: "manifests/",
  claims: "epochs/",
  keeping: "keeping/",
  own: "_tidemark/",
  /** Data of tests of a bucket; each test removes its own. */
  checks: "tidemark-check/",
} as const;
export type OwnFolder = (typeof OWN_FOLDERS)[keyof typeof OWN_FOLDERS];

export interface DataKey {
  run: RunName;
  epoch: number;
  attempt: AttemptId;
  path: FilePath;
}

const epochSegment = (epoch: number): string => `e${String(epoch).padStart(6, "0")}`;

/** Returns the prefix of everything that one attempt writes; ends with `/`. */
export const attemptPrefix = (prefix: string, at: Omit<DataKey, "path">): string =>
  `${prefix}${OWN_FOLDERS.data}${at.run}/${epochSegment(at.epoch)}/${at.attempt}/`;

export const dataKey = (prefix: string, at: DataKey): string => attemptPrefix(prefix, at) + at.path;

/** Returns the manifest's key. It contains the attempt, so an unrecorded manifest never blocks the next attempt. */
export const manifestKey = (
  prefix: string,
  at: { run: RunName; epoch: number; step: number; checkpointId: string; attempt: AttemptId },
): string =>
  `${prefix}${OWN_FOLDERS.manifests}${at.run}/${epochSegment(at.epoch)}/s${String(at.step).padStart(12, "0")}-${at.checkpointId}-${at.attempt}.json`;

export const epochClaimKey = (prefix: string, at: { run: RunName; epoch: number }): string =>
  `${prefix}${OWN_FOLDERS.claims}${at.run}/${epochSegment(at.epoch)}.json`;

/** Returns the folder of a checkpoint's retention records; ends with `/`. */
export const keepFolder = (prefix: string, at: { run: RunName; checkpointId: string }): string =>
  `${prefix}${OWN_FOLDERS.keeping}${at.run}/${at.checkpointId}/`;

/** Returns the key of one retention record; each key is written once. */
export const keepRecordKey = (
  prefix: string,
  at: { run: RunName; checkpointId: string; id: string; kind: string },
): string => `${keepFolder(prefix, at)}${at.id}-${at.kind}.json`;

/** Folder of all verification findings. */
export const FINDINGS = `${OWN_FOLDERS.own}findings`;

/** Returns the folder of a checkpoint's verification findings; ends with `/`. */
export const findingFolder = (prefix: string, at: { run: RunName; checkpointId: string }): string =>
  `${prefix}${FINDINGS}/${at.run}/${at.checkpointId}/`;

export const findingKey = (prefix: string, at: { run: RunName; checkpointId: string; id: string }): string =>
  `${findingFolder(prefix, at)}${at.id}.json`;

/**
 * Splits a data key into its parts and validates each.
 * @throws Fault NOT_THIS_NODES when the key is not a data key under this prefix.
 */
export function parseDataKey(prefix: string, key: string): DataKey {
  const found = dataKeyOrNull(prefix, key);
  if (found === null) throw new Fault("NOT_THIS_NODES", { op: "sign", subject: key });
  return found;
}

/** Returns the parts of a data key; null when the key is not a data key under this prefix. */
export function dataKeyOrNull(prefix: string, key: string): DataKey | null {
  const folder = prefix + OWN_FOLDERS.data;
  if (!key.startsWith(folder)) return null;
  const match = /^([^/]+)\/e(\d{6})\/([^/]+)\/(.+)$/s.exec(key.slice(folder.length));
  if (match === null) return null;
  const run = runName.safeParse(match[1]);
  const attempt = attemptId.safeParse(match[3]);
  const path = filePath.safeParse(match[4]);
  if (!run.success || !attempt.success || !path.success) return null;
  return { run: run.data, epoch: Number(match[2]), attempt: attempt.data, path: path.data };
}

/** Folder of all probes of a profile. */
export const PROBES = `${OWN_FOLDERS.own}probe/`;

/** Returns the key of the data that measures a link; `nodeId` null without a hub. Used once. */
export const probeKey = (prefix: string, at: { nodeId: string | null; probeId: string }): string =>
  `${prefix}${PROBES}${at.nodeId === null ? "" : `${at.nodeId}/`}${at.probeId}`;

/** Returns the folder of everything that one benchmark moves; ends with `/`. */
export const benchFolder = (prefix: string, benchId: string): string => `${prefix}${OWN_FOLDERS.own}bench/${benchId}/`;

/** Returns whether a path is the folder of one benchmark, under any prefix. */
export const isBenchFolder = (folder: string): boolean =>
  /^([A-Za-z0-9!_.'()-]+\/)*_tidemark\/bench\/[A-Za-z0-9-]{1,64}\/$/.test(folder);

/** Returns the node and the probe of a probe key; null when it is no probe key of a node under this prefix. */
export function parseProbeKey(prefix: string, key: string): { nodeId: string; probeId: string } | null {
  if (!key.startsWith(`${prefix}${PROBES}`)) return null;
  const [nodeId, probeId, ...more] = key.slice(prefix.length + PROBES.length).split("/");
  const parsed = { nodeId: id.safeParse(nodeId), probeId: id.safeParse(probeId) };
  if (!parsed.nodeId.success || !parsed.probeId.success || more.length > 0) return null;
  return { nodeId: parsed.nodeId.data, probeId: parsed.probeId.data };
}

/** Returns whether a key lies in one of Tidemark's own folders under one of these prefixes. */
export const liesInOwnFolder = (prefixes: readonly string[], key: string): boolean =>
  ownFolderOf(prefixes, key) !== null;

/** Returns Tidemark's folder that contains a key, and the prefix it is under; null when there is none. */
export function ownFolderOf(prefixes: readonly string[], key: string): { prefix: string; folder: OwnFolder } | null {
  for (const prefix of prefixes) {
    const folder = Object.values(OWN_FOLDERS).find((one) => key.startsWith(prefix + one));
    if (folder !== undefined) return { prefix, folder };
  }
  return null;
}
