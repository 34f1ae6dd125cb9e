import { runName } from "#protocol/base/names.ts";
import type { Stage } from "../../stage/open-stage.ts";
import { waitUntil } from "../../stage/wait-until.ts";
import type { Case } from "./case.ts";
import { type Folder, readFolder } from "./folders.ts";

/** Decides when a node may be killed: when the hub reports the last written checkpoint as safe. Runs are named after cases. */

const CONTENT = /\.(pt|pth|tar|ckpt|zip|pkl|h5|keras|ubj|safetensors|bin|distcp)$|_CHECKPOINT_METADATA$/;

interface Row {
  step: number;
  state: string;
  capturedAt: number;
}

/** Returns the checkpoints of a run at the hub; none for an unknown run. */
export async function rowsOf(stage: Stage, one: Case): Promise<Row[]> {
  try {
    const { checkpoints } = await stage.client.runs.get.query({ run: runName.parse(one.name) });
    return checkpoints;
  } catch {
    return [];
  }
}

/** Describes the hub's checkpoints. */
export const describeRows = (rows: readonly Row[]): string =>
  rows.length === 0 ? "nothing" : rows.map(({ step, state }) => `step ${step} ${state}`).join(", ");

/** Returns the last written file of a checkpoint with its time (epoch ms); null when there is none. */
export function newestIn({ labels }: Case, folder: Folder): { path: string; writtenAt: number } | null {
  let newest: { path: string; writtenAt: number } | null = null;
  for (const [path, { kind, writtenAt }] of folder) {
    if (kind !== "file" || !CONTENT.test(path) || labels?.test(path) === true) continue;
    if (newest === null || writtenAt > newest.writtenAt) newest = { path, writtenAt };
  }
  return newest;
}

/** Returns when the program last wrote a file of a checkpoint, epoch ms; 0 when it has not. */
export const lastWrite = (one: Case, folder: Folder): number => newestIn(one, folder)?.writtenAt ?? 0;

/** File times have fractions of a millisecond, checkpoint times do not. */
const ROUNDING_MS = 2;

/** Returns whether the newest checkpoint of a folder is complete at the hub. */
export const isNewestSafe = (rows: readonly Row[], writtenAt: number): boolean =>
  rows.some(({ state, capturedAt }) => state === "complete" && capturedAt >= writtenAt - ROUNDING_MS);

/**
 * Resolves when the newest checkpoint of a folder is safe and the hub's list has not changed for `quietMs`. Related files have
 * arrived then too, because `quietMs` exceeds the settling of a checkpoint. Returns null then, otherwise the hub's list after
 * `withinMs`.
 */
export async function waitUntilSafe(
  stage: Stage,
  one: Case,
  about: { watched: string; withinMs: number; quietMs: number },
): Promise<string | null> {
  const { watched, withinMs, quietMs } = about;
  const writtenAt = lastWrite(one, readFolder(watched));
  let seen = { text: "", at: performance.now() };
  try {
    await waitUntil(
      "the newest checkpoint is safe",
      async () => {
        const rows = await rowsOf(stage, one);
        const text = JSON.stringify(rows.map(({ step, state, capturedAt }) => [step, state, capturedAt]));
        if (text !== seen.text) seen = { text, at: performance.now() };
        const isMoving = rows.some(({ state }) => state === "uploading");
        return isNewestSafe(rows, writtenAt) && !isMoving && performance.now() - seen.at >= quietMs;
      },
      { withinMs, everyMs: 200 },
    );
    return null;
  } catch {
    return describeRows(await rowsOf(stage, one));
  }
}
