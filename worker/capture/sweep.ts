import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { removeOwned } from "../base/disk/change-disk.ts";
import { OWNED_PATHS } from "../base/disk/owned-paths.ts";
import type { Capture } from "./capture.ts";
import type { Ledger } from "./ledger.ts";

/** Removes copies that no capture in the ledger owns: the process was killed between the copy and its entry. */
export async function sweepCaptures(
  captures: string,
  ledger: Pick<Ledger, "all">,
  copies: readonly Pick<Capture, "folder">[] = [],
): Promise<void> {
  const owned = new Set([...ledger.all(), ...copies].map(({ folder }) => folder));
  for (const name of await readdir(captures).catch(() => [])) {
    const folder = join(captures, name);
    // Only names that Tidemark itself gives are removed; others may be somebody else's.
    if (!owned.has(folder) && OWNED_PATHS.capture.fits(folder)) await removeOwned("capture", folder);
  }
}
