import { mkdir, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { runName } from "#protocol/base/names.ts";
import type { Packing } from "#protocol/checkpoint/packing.ts";
import type { TrialStore } from "./trial-store.ts";
import type { Capture } from "../capture/capture.ts";
import { lookAt } from "../capture/detection/look.ts";
import { takeSnapshot } from "../capture/snapshot.ts";
import { STAGED_DATE_MS } from "./stage-stored.ts";

/** Writes `contents` as step 500 of run llama below `folder`, and captures it. For tests. */
export async function takeFolder(
  contents: ReadonlyMap<string, Buffer>,
  about: { folder: string; store: TrialStore; packing: Packing; partBytes: number | null; minPartBytes?: number },
): Promise<Capture> {
  const { folder, store, packing, partBytes } = about;
  const { traits } = store.access;
  const path = join(folder, "checkpoint-500");
  for (const [name, bytes] of contents) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), bytes);
    await utimes(join(path, name), STAGED_DATE_MS / 1000, STAGED_DATE_MS / 1000);
  }
  const look = await lookAt({ path, kind: "folder" });
  if (look === null) throw new Error("the checkpoint is gone");
  return takeSnapshot({
    candidate: { path, name: "checkpoint-500", step: 500, kind: "folder" },
    look,
    run: runName.parse("llama"),
    epoch: null,
    captures: join(folder, "captures"),
    traits: { ...traits, minPartBytes: about.minPartBytes ?? traits.minPartBytes },
    partBytes,
    packing,
    startedBy: "queue",
    wallNow: Date.now,
  });
}
