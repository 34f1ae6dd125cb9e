import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import type { ManifestFile } from "#protocol/checkpoint/checkpoint.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { codeOf, diskFault } from "#worker/base/disk-fault.ts";

/**
 * Refuses a partial restore that would replace anything but itself. The target must not exist, or be empty, or hold only chosen
 * files (of an earlier attempt). Faults: TARGET_EXISTS, READ_FAILED.
 */
export async function assertTargetUnused(target: string, files: readonly Pick<ManifestFile, "path">[]): Promise<void> {
  const chosen = new Set<string>(files.map(({ path }) => path));
  try {
    for (const entry of await readdir(target, { recursive: true, withFileTypes: true })) {
      if (entry.isDirectory()) continue;
      const name = relative(target, join(entry.parentPath, entry.name));
      if (chosen.has(name)) continue;
      throw new Fault("TARGET_EXISTS", { op: "restore", subject: target, detail: `${name} lies there` });
    }
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    if (codeOf(error) === "ENOTDIR")
      throw new Fault("TARGET_EXISTS", { op: "restore", subject: target, detail: "it is a file" });
    throw diskFault(error, { op: "restore", subject: target, otherwise: "READ_FAILED" });
  }
}
