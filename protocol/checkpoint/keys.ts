import { Fault } from "../faults/fault.ts";
import { attemptId, filePath, id, runName, type AttemptId, type FilePath, type RunName } from "../base/names.ts";

/**
 * Where things live in the bucket. Data keys carry run, writer epoch and attempt and are never used twice, so a late
 * write of an old node can only waste space. Manifests and epoch claims live beside, under prefixes no node is ever
 * signed for.
 *
 *   {prefix}runs/{run}/e000003/{attempt}/{path}                      data, written by the node of epoch 3
 *   {prefix}manifests/{run}/e000003/s000000004500-{checkpointId}-{attempt}.json   written by the hub, last
 *   {prefix}epochs/{run}/e000003.json                                 the claim, written by the hub, if-none-match
 *   {prefix}keeping/{run}/{checkpointId}/{recordId}-{kind}.json       what is said about keeping it, by the hub, never changed
 *   {prefix}_tidemark/findings/{run}/{checkpointId}/{id}.json         what reading it back found, by the hub, never changed
 *   {prefix}_tidemark/probe/{nodeId}/{probeId}                        what a node moves to measure its link, deleted after
 *   {prefix}tidemark-check/{id}/...                                   what a test of the bucket writes, deleted after
 *   {prefix}_tidemark/bench/{benchId}/...                             what engines move to be compared, deleted after
 */

/** What Tidemark keeps under a profile's prefix, a folder for each; nobody else writes there. */
export const OWN_FOLDERS = {
  data: "runs/",
  manifests: "manifests/",
  claims: "epochs/",
  keeping: "keeping/",
  own: "_tidemark/",
  /** Of tests of a bucket, which remove it. */
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

/** Prefix of everything one attempt writes; ends with `/`. */
export const attemptPrefix = (prefix: string, at: Omit<DataKey, "path">): string =>
  `${prefix}${OWN_FOLDERS.data}${at.run}/${epochSegment(at.epoch)}/${at.attempt}/`;

export const dataKey = (prefix: string, at: DataKey): string => attemptPrefix(prefix, at) + at.path;

/** One key per attempt: a manifest whose commit was never recorded cannot stand in the way of the next attempt's. */
export const manifestKey = (
  prefix: string,
  at: { run: RunName; epoch: number; step: number; checkpointId: string; attempt: AttemptId },
): string =>
  `${prefix}${OWN_FOLDERS.manifests}${at.run}/${epochSegment(at.epoch)}/s${String(at.step).padStart(12, "0")}-${at.checkpointId}-${at.attempt}.json`;

export const epochClaimKey = (prefix: string, at: { run: RunName; epoch: number }): string =>
  `${prefix}${OWN_FOLDERS.claims}${at.run}/${epochSegment(at.epoch)}.json`;

/** The folder of what is said about keeping a checkpoint; ends with `/`. */
export const keepFolder = (prefix: string, at: { run: RunName; checkpointId: string }): string =>
  `${prefix}${OWN_FOLDERS.keeping}${at.run}/${at.checkpointId}/`;

/** One key per word: none is ever written twice. */
export const keepRecordKey = (
  prefix: string,
  at: { run: RunName; checkpointId: string; id: string; kind: string },
): string => `${keepFolder(prefix, at)}${at.id}-${at.kind}.json`;

/** Where what was found of checkpoints lies. */
export const FINDINGS = `${OWN_FOLDERS.own}findings`;

/** The folder of what reading a checkpoint back found; ends with `/`. */
export const findingFolder = (prefix: string, at: { run: RunName; checkpointId: string }): string =>
  `${prefix}${FINDINGS}/${at.run}/${at.checkpointId}/`;

export const findingKey = (prefix: string, at: { run: RunName; checkpointId: string; id: string }): string =>
  `${findingFolder(prefix, at)}${at.id}.json`;

/**
 * The parts of a data key, each checked again.
 * @throws Fault NOT_THIS_NODES when the key is not a data key under this prefix.
 */
export function parseDataKey(prefix: string, key: string): DataKey {
  const refuse = () => new Fault("NOT_THIS_NODES", { op: "sign", subject: key });
  const folder = prefix + OWN_FOLDERS.data;
  if (!key.startsWith(folder)) throw refuse();
  const match = /^([^/]+)\/e(\d{6})\/([^/]+)\/(.+)$/s.exec(key.slice(folder.length));
  if (match === null) throw refuse();
  const run = runName.safeParse(match[1]);
  const attempt = attemptId.safeParse(match[3]);
  const path = filePath.safeParse(match[4]);
  if (!run.success || !attempt.success || !path.success) throw refuse();
  return { run: run.data, epoch: Number(match[2]), attempt: attempt.data, path: path.data };
}

/** All probes of a profile lie below this. */
export const PROBES = `${OWN_FOLDERS.own}probe/`;

/** What is moved to measure a link; `nodeId` null where there is no hub. Used once. */
export const probeKey = (prefix: string, at: { nodeId: string | null; probeId: string }): string =>
  `${prefix}${PROBES}${at.nodeId === null ? "" : `${at.nodeId}/`}${at.probeId}`;

/** The folder of all that one comparison of engines moves; ends with `/`. */
export const benchFolder = (prefix: string, benchId: string): string => `${prefix}${OWN_FOLDERS.own}bench/${benchId}/`;

/** Whether it is the folder of one comparison of engines, under whatever prefix. */
export const isBenchFolder = (folder: string): boolean =>
  /^([A-Za-z0-9!_.'()-]+\/)*_tidemark\/bench\/[A-Za-z0-9-]{1,64}\/$/.test(folder);

/** The node that a probe key belongs to; null when it is no probe key of a node under this prefix. */
export function parseProbeKey(prefix: string, key: string): { nodeId: string; probeId: string } | null {
  if (!key.startsWith(`${prefix}${PROBES}`)) return null;
  const [nodeId, probeId, ...more] = key.slice(prefix.length + PROBES.length).split("/");
  const parsed = { nodeId: id.safeParse(nodeId), probeId: id.safeParse(probeId) };
  if (!parsed.nodeId.success || !parsed.probeId.success || more.length > 0) return null;
  return { nodeId: parsed.nodeId.data, probeId: parsed.probeId.data };
}

/** Whether a key lies where Tidemark keeps its own things under one of these prefixes. */
export const liesInOwnFolder = (prefixes: readonly string[], key: string): boolean =>
  ownFolderOf(prefixes, key) !== null;

/** The folder of Tidemark's that a key lies in, and the prefix under which it does; null when it is in none. */
export function ownFolderOf(prefixes: readonly string[], key: string): { prefix: string; folder: OwnFolder } | null {
  for (const prefix of prefixes) {
    const folder = Object.values(OWN_FOLDERS).find((one) => key.startsWith(prefix + one));
    if (folder !== undefined) return { prefix, folder };
  }
  return null;
}
