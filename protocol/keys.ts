import { Fault } from "./fault.ts";
import { attemptId, filePath, id, runName, type AttemptId, type FilePath, type RunName } from "./names.ts";

/**
 * Where things live in the bucket. Data keys carry run, writer epoch and attempt and are never used twice, so a late
 * write of an old node can only waste space. Manifests and epoch claims live beside, under prefixes no node is ever
 * signed for.
 *
 *   {prefix}runs/{run}/e000003/{attempt}/{path}                      data, written by the node of epoch 3
 *   {prefix}manifests/{run}/e000003/s000000004500-{checkpointId}-{attempt}.json   written by the hub, last
 *   {prefix}epochs/{run}/e000003.json                                 the claim, written by the hub, if-none-match
 *   {prefix}keeping/{run}/{checkpointId}/{recordId}-{kind}.json       what is said about keeping it, by the hub, never changed
 *   {prefix}_tidemark/probe/{nodeId}/{probeId}                        what a node moves to measure its link, deleted after
 */

export interface DataKey {
  run: RunName;
  epoch: number;
  attempt: AttemptId;
  path: FilePath;
}

const epochSegment = (epoch: number): string => `e${String(epoch).padStart(6, "0")}`;

/** Prefix of everything one attempt writes; ends with `/`. */
export const attemptPrefix = (prefix: string, at: Omit<DataKey, "path">): string =>
  `${prefix}runs/${at.run}/${epochSegment(at.epoch)}/${at.attempt}/`;

export const dataKey = (prefix: string, at: DataKey): string => attemptPrefix(prefix, at) + at.path;

/** One key per attempt: a manifest whose commit was never recorded cannot stand in the way of the next attempt's. */
export const manifestKey = (
  prefix: string,
  at: { run: RunName; epoch: number; step: number; checkpointId: string; attempt: AttemptId },
): string =>
  `${prefix}manifests/${at.run}/${epochSegment(at.epoch)}/s${String(at.step).padStart(12, "0")}-${at.checkpointId}-${at.attempt}.json`;

export const epochClaimKey = (prefix: string, at: { run: RunName; epoch: number }): string =>
  `${prefix}epochs/${at.run}/${epochSegment(at.epoch)}.json`;

/** The folder of what is said about keeping a checkpoint; ends with `/`. */
export const keepFolder = (prefix: string, at: { run: RunName; checkpointId: string }): string =>
  `${prefix}keeping/${at.run}/${at.checkpointId}/`;

/** One key per word: none is ever written twice. */
export const keepRecordKey = (
  prefix: string,
  at: { run: RunName; checkpointId: string; id: string; kind: string },
): string => `${keepFolder(prefix, at)}${at.id}-${at.kind}.json`;

/**
 * The parts of a data key, each checked again.
 * @throws Fault NOT_THIS_NODES when the key is not a data key under this prefix.
 */
export function parseDataKey(prefix: string, key: string): DataKey {
  const refuse = () => new Fault("NOT_THIS_NODES", { op: "sign", subject: key });
  if (!key.startsWith(`${prefix}runs/`)) throw refuse();
  const match = /^([^/]+)\/e(\d{6})\/([^/]+)\/(.+)$/s.exec(key.slice(prefix.length + "runs/".length));
  if (match === null) throw refuse();
  const run = runName.safeParse(match[1]);
  const attempt = attemptId.safeParse(match[3]);
  const path = filePath.safeParse(match[4]);
  if (!run.success || !attempt.success || !path.success) throw refuse();
  return { run: run.data, epoch: Number(match[2]), attempt: attempt.data, path: path.data };
}

const PROBES = "_tidemark/probe/";

/** What is moved to measure a link; `nodeId` null where there is no hub. Used once. */
export const probeKey = (prefix: string, at: { nodeId: string | null; probeId: string }): string =>
  `${prefix}${PROBES}${at.nodeId === null ? "" : `${at.nodeId}/`}${at.probeId}`;

/** The node that a probe key belongs to; null when it is no probe key of a node under this prefix. */
export function parseProbeKey(prefix: string, key: string): { nodeId: string; probeId: string } | null {
  if (!key.startsWith(`${prefix}${PROBES}`)) return null;
  const [nodeId, probeId, ...more] = key.slice(prefix.length + PROBES.length).split("/");
  const parsed = { nodeId: id.safeParse(nodeId), probeId: id.safeParse(probeId) };
  if (!parsed.nodeId.success || !parsed.probeId.success || more.length > 0) return null;
  return { nodeId: parsed.nodeId.data, probeId: parsed.probeId.data };
}

/** What Tidemark keeps under a profile's prefix; nobody else writes there. */
const OWN_FOLDERS = ["runs/", "manifests/", "epochs/", "keeping/", "_tidemark/", "tidemark-check/"];

/** Whether a key lies where Tidemark keeps its own things under one of these prefixes. */
export const liesInOwnFolder = (prefixes: readonly string[], key: string): boolean =>
  prefixes.some((prefix) => OWN_FOLDERS.some((folder) => key.startsWith(prefix + folder)));
