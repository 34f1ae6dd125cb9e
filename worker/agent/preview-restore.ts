import { readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { CommandDetail } from "#protocol/wire/commands.ts";
import { isFault, sentenceOf } from "#protocol/faults/fault.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { Unreadable } from "#storage/answers/archived-fault.ts";
import { isSealed } from "#storage/encryption/open-manifest.ts";
import { tensorFiles } from "#storage/tensors/tensor-files.ts";
import type { Agent } from "./agent-assemble.ts";
import { assertTargetUnused } from "../restore/placement/assert-target-unused.ts";
import { assertPlace } from "../restore/placement/assert-place.ts";
import type { StoredFile, StoredManifest } from "#protocol/checkpoint/adopted.ts";
import type { Engine } from "../transfer/engine.ts";
import { createPatience } from "../transfer/store-session/retry.ts";
import { assertReadable, wantedOfTensors } from "../restore/assert-readable.ts";
import { chooseFiles } from "../restore/choose-files.ts";
import { planTensors } from "../restore/tensors/plan-tensors.ts";
import { readCheckpoint } from "../restore/read-checkpoint.ts";
import { assertRoom, readRoom } from "../base/room.ts";
import { placeUnder, readTarget } from "../restore/placement/safe-place.ts";

export interface Preview {
  checkpointId: string;
  run: RunName;
  step: number;
  targetPath: string;
  files?: string[] | null | undefined;
  tensors?: string[] | null | undefined;
  /** A person or program of this machine asks: the folders that the hub may write to do not bind it. */
  isOwn?: true;
}

const LONGEST_MS = 30_000;

/**
 * Returns what a restore would do on this node, without doing it: size, free space, what lies at the target, and whether it is
 * refused. The verdict is `unknown` until the hub has named a bucket. Faults: those of the hub.
 */
export async function previewRestore(agent: Agent, wanted: Preview): Promise<CommandDetail> {
  const engine = agent.storeSessions.aside()?.engine ?? null;
  if (engine === null) return { verdict: "unknown", says: "the hub has not said yet where the bytes lie" };
  const signal = AbortSignal.any([agent.signal, AbortSignal.timeout(LONGEST_MS)]);
  const about = { command: { checkpointId: wanted.checkpointId }, hub: agent.hub, signal, withArchived: true };
  const { manifest: whole, archived } = await readCheckpoint(engine.retrier.clock, about);
  const facts: CommandDetail = { files: 0, bytes: 0, verdict: "ok", says: "" };
  try {
    const {
      files: landing,
      bytes: moved,
      room,
      tensors,
      isAtMost,
    } = await amountsOf(engine, { whole, archived }, { wanted, signal });
    Object.assign(facts, { files: landing.length, bytes: moved }, tensors, isAtMost ? { atMost: true } : {});
    assertReadable({ files: landing }, archived);
    const target = readTarget(wanted.targetPath);
    const { files, bytes, kind } = await lookThere(target);
    Object.assign(facts, { there: kind, thereFiles: files, thereBytes: bytes });
    if (wanted.isOwn !== true) await assertPlace(target, agent.places);
    for (const { path } of landing) placeUnder(target, path);
    if (wanted.files != null || wanted.tensors != null) await assertTargetUnused(target, landing);
    const parent = await nearestFolder(dirname(target));
    facts["freeBytes"] = (await readRoom(parent)).freeBytes;
    await assertRoom(parent, room);
  } catch (error) {
    if (!isFault(error)) throw error;
    facts["verdict"] = error.code;
    facts["says"] = sentenceOf(error.toData()).slice(0, 1024);
  }
  return facts;
}

interface Amounts {
  files: StoredFile[];
  /** Bytes to transfer. */
  bytes: number;
  /** Peak of disk space that the restore needs, bytes. */
  room: number;
  /** Null for whole files, and when the tensors are encrypted. */
  tensors: { tensors: number; tensorBytes: number; writtenBytes: number } | null;
  /** Whether `bytes` is an upper limit, because the exact number cannot be known yet. */
  isAtMost: boolean;
}

async function amountsOf(
  engine: Engine,
  { whole, archived }: { whole: StoredManifest; archived: readonly Unreadable[] },
  { wanted, signal }: { wanted: Preview; signal: AbortSignal },
): Promise<Amounts> {
  if (wanted.tensors == null) {
    const { files, sizeBytes } = chooseFiles(whole, wanted.files);
    return { files, bytes: sizeBytes, room: sizeBytes, tensors: null, isAtMost: false };
  }
  assertReadable(wantedOfTensors(whole, wanted.files ?? null), archived);
  if (isSealed(whole)) {
    // Only a node that restores gets the key to read the tensors. The space that it needs is found when it begins.
    const { shards, indexes } = tensorFiles(whole, wanted.files ?? null);
    const files = [...shards, ...indexes];
    const bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    return { files, bytes, room: 0, tensors: null, isAtMost: true };
  }
  const patience = createPatience(engine.retrier.clock);
  const plan = await planTensors(engine, whole, {
    patterns: wanted.tensors,
    files: wanted.files ?? null,
    watch: { signal, patience, onRetry: () => undefined, onWrong: () => undefined },
  });
  const { tensors, tensorBytes, movedBytes, landedBytes } = plan;
  return {
    files: [...plan.shards, ...plan.indexes].map(({ file }) => file),
    bytes: movedBytes,
    room: movedBytes + landedBytes,
    tensors: { tensors, tensorBytes, writtenBytes: landedBytes },
    isAtMost: false,
  };
}

async function lookThere(target: string): Promise<{ kind: string; files: number; bytes: number }> {
  const stats = await stat(target).catch(() => null);
  if (stats === null) return { kind: "nothing", files: 0, bytes: 0 };
  if (!stats.isDirectory()) return { kind: "a file", files: 1, bytes: stats.size };
  let files = 0;
  let bytes = 0;
  for (const entry of await readdir(target, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    files++;
    bytes += (await stat(join(entry.parentPath, entry.name)).catch(() => null))?.size ?? 0;
  }
  return { kind: files === 0 ? "an empty folder" : "a folder", files, bytes };
}

async function nearestFolder(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    const stats = await stat(at).catch(() => null);
    if (stats?.isDirectory() === true || dirname(at) === at) return at;
  }
}
