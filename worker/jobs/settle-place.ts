import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { removeOwned } from "../base/disk/change-disk.ts";
import type { Agent } from "../agent/agent-assemble.ts";
import { lookAt } from "../capture/detection/look.ts";
import { findCandidates } from "../capture/detection/walk-watched.ts";
import { storedOf } from "../restore/confirm-stored.ts";
import { identityOf } from "../base/file-identity.ts";
import type { InputCache } from "./bytes/input-cache.ts";
import type { SavedFiles } from "./bytes/save-outputs.ts";
import type { JobPlace } from "./job-place.ts";

/** Returns whether a file is a link to an input, or an output that is in its bucket as it is now. */
async function isElsewhere(
  path: string,
  { cache, saved }: { cache: Pick<InputCache, "isInside">; saved: SavedFiles },
): Promise<boolean> {
  const stats = await lstat(path, { bigint: true });
  if (stats.isSymbolicLink()) return cache.isInside(await readlink(path));
  const identity = saved.get(path);
  return identity !== undefined && JSON.stringify(identityOf(stats)) === JSON.stringify(identity);
}

/**
 * Removes the own folder of a job after an attempt, when every file in it belongs to a checkpoint that the bucket has byte for
 * byte. Returns false when the folder stays because something in it is in no bucket; true also for a job without an own
 * folder. No faults: what cannot be read or removed stays.
 */
export async function settlePlace(
  agent: Pick<Agent, "ledger" | "hub">,
  { own, watches }: Pick<JobPlace, "own" | "watches">,
  { cache, saved }: { cache: Pick<InputCache, "isInside">; saved: SavedFiles },
): Promise<boolean> {
  if (own === null) return true;
  try {
    const stored = storedOf(agent);
    const files = new Set<string>();
    const checkpoints = new Set<string>();
    for (const watch of watches)
      for (const candidate of await findCandidates(watch, watch.takes)) {
        const look = await lookAt(candidate);
        const id = look === null ? null : stored.storedAs(candidate.path, look.fingerprint);
        if (look === null || id === null) return false;
        checkpoints.add(id);
        for (const { path } of look.files) files.add(path);
      }
    for (const entry of await readdir(own, { recursive: true, withFileTypes: true }))
      if (!entry.isDirectory() && !files.has(join(entry.parentPath, entry.name)))
        if (!(await isElsewhere(join(entry.parentPath, entry.name), { cache, saved }))) return false;
    const complete = await stored.confirm([...checkpoints]);
    if ([...checkpoints].some((id) => !complete.has(id))) return false;
    await removeOwned("job-folder", own);
    return true;
  } catch {
    return false;
  }
}
