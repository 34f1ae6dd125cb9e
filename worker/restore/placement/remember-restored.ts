import { basename, join } from "node:path";
import type { Ledger } from "#worker/capture/ledger.ts";
import { lookAt } from "#worker/capture/detection/look.ts";
import type { Layout } from "./layout.ts";

/** Returns the candidate with which a restored checkpoint is looked at before it has its name. */
function stagedAt(target: string, layout: Layout, staging: string): Parameters<typeof lookAt>[0] {
  if (layout.kind === "folder") return { path: staging, kind: "folder" };
  return { path: join(staging, basename(target)), kind: "files", names: layout.names };
}

/**
 * Keeps the watcher from capturing a restored checkpoint, whose content is in the bucket already. Returns its fingerprint from
 * before a program can write at the target.
 */
export async function rememberRestored(
  ledger: Ledger,
  { staging, target, layout }: { staging: string; target: string; layout: Layout },
): Promise<string | undefined> {
  const look = await lookAt(stagedAt(target, layout, staging));
  if (look === null) return undefined;
  await ledger.remember(target, look.fingerprint);
  await ledger.rememberSet(target, look);
  return look.fingerprint;
}

interface Noted {
  target: string;
  layout: Layout;
  checkpointId: string;
  /** Fingerprint of what was placed there; a program may have written since. */
  fingerprint: string;
}

/**
 * Records that all of it came from the bucket. A name that a restore made up says nothing about how the program names its own
 * checkpoints. Faults: NO_SPACE, WRITE_FAILED.
 */
export async function noteRestored(
  ledger: Ledger,
  { target, layout, checkpointId, fingerprint }: Noted,
): Promise<void> {
  await ledger.noteStored(target, { fingerprint, checkpointId });
  if (!layout.isOwnName) await ledger.noteRestored(target);
}
