import { basename, join } from "node:path";
import type { Ledger } from "../upload/ledger.ts";
import { lookAt } from "../upload/look.ts";
import type { Layout } from "./layout.ts";

/** Returns how to look at a restored checkpoint: at `target`, or in `staging` before it has its name. */
function restoredAt(target: string, layout: Layout, staging: string | null): Parameters<typeof lookAt>[0] {
  if (layout.kind === "folder") return { path: staging ?? target, kind: "folder" };
  return { path: staging === null ? target : join(staging, basename(target)), kind: "files", names: layout.names };
}

/** Keeps the watcher from capturing a restored checkpoint: its content is in the bucket already. */
export async function rememberRestored(
  ledger: Ledger,
  { staging, target, layout }: { staging: string; target: string; layout: Layout },
): Promise<void> {
  const look = await lookAt(restoredAt(target, layout, staging));
  if (look === null) return;
  await ledger.remember(target, look.fingerprint);
  await ledger.rememberSet(target, look);
}

/**
 * Notes that all of it came from the bucket. Under a name that a restore made up, it tells nothing of what the program calls its
 * own checkpoints. Faults: NO_SPACE, WRITE_FAILED.
 */
export async function noteRestored(
  ledger: Ledger,
  { target, layout, checkpointId }: { target: string; layout: Layout; checkpointId: string },
): Promise<void> {
  const look = await lookAt(restoredAt(target, layout, null));
  if (look === null) return;
  await ledger.noteStored(target, { fingerprint: look.fingerprint, checkpointId });
  if (!layout.isOwnName) await ledger.noteRestored(target);
}
