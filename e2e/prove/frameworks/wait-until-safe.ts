import { runName } from "#protocol/base/names.ts";
import type { Stage } from "../../stage/open-stage.ts";
import { waitUntil } from "../../stage/wait-until.ts";
import type { Case } from "./case.ts";
import { type Folder, readFolder } from "./folders.ts";

/** When a node may be killed: the hub calls safe what the program wrote last. The run has the name of the case. */

const CONTENT = /\.(pt|pth|tar|ckpt|zip|pkl|h5|keras|ubj|safetensors|bin|distcp)$|_CHECKPOINT_METADATA$/;

interface Row {
  step: number;
  state: string;
  capturedAt: number;
}

/** Returns the checkpoints of a run as the hub has them; none of a run that it does not know. */
export async function rowsOf(stage: Stage, one: Case): Promise<Row[]> {
  try {
    const { checkpoints } = await stage.client.runs.get.query({ run: runName.parse(one.name) });
    return checkpoints;
  } catch {
    return [];
  }
}

/** Says what the hub has. */
export const describeRows = (rows: readonly Row[]): string =>
  rows.length === 0 ? "nothing" : rows.map(({ step, state }) => `step ${step} ${state}`).join(", ");

/** Returns the path of what the program wrote last of what a checkpoint consists of, and when (epoch ms); null: it has not. */
export function newestIn({ labels }: Case, folder: Folder): { path: string; writtenAt: number } | null {
  let newest: { path: string; writtenAt: number } | null = null;
  for (const [path, { kind, writtenAt }] of folder) {
    if (kind !== "file" || !CONTENT.test(path) || labels?.test(path) === true) continue;
    if (newest === null || writtenAt > newest.writtenAt) newest = { path, writtenAt };
  }
  return newest;
}

/** When the program last wrote what a checkpoint consists of, epoch ms; 0: it has not. */
export const lastWrite = (one: Case, folder: Folder): number => newestIn(one, folder)?.writtenAt ?? 0;

/** Times of files have fractions of a millisecond, those of checkpoints have none. */
const ROUNDING_MS = 2;

/** Whether the newest checkpoint of a folder is complete at the hub. */
export const isNewestSafe = (rows: readonly Row[], writtenAt: number): boolean =>
  rows.some(({ state, capturedAt }) => state === "complete" && capturedAt >= writtenAt - ROUNDING_MS);

/**
 * Resolves when the newest checkpoint of a folder is safe and the hub has heard nothing more for `quietMs`, which is longer
 * than the worker waits for a checkpoint to settle: what belongs to it or is named by it has arrived too. Returns null then,
 * else what the hub has after `withinMs`.
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
