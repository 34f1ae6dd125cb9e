import { mkdtempSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getRawAsset, isSea } from "node:sea";
import { removeOwnedNow } from "./disk/change-disk.ts";

/** A native module: the executable carries it as `asset`; in a checkout it is a package. */
export interface NativeModule {
  package: string;
  asset: string;
}

export const KOFFI: NativeModule = { package: "koffi", asset: "koffi.node" };
export const NODE_RS_CRC32: NativeModule = { package: "@node-rs/crc32", asset: "crc32.node" };

/** Returns the module's exports, unchecked; null when the module is missing or cannot be loaded. */
export function loadNative({ package: name, asset }: NativeModule): unknown {
  try {
    return isSea() ? loadCarried(asset) : createRequire(import.meta.filename)(name);
  } catch {
    return null;
  }
}

/** Loads from a file, because the system loads libraries only so. Tries memory first, because no other folder may allow it. */
function loadCarried(asset: string): unknown {
  const bytes = new Uint8Array(getRawAsset(asset));
  for (const folder of ["/dev/shm", tmpdir()]) {
    try {
      return loadFrom(folder, { asset, bytes });
    } catch {
      // Read-only, full, or mounted noexec.
    }
  }
  throw new Error("no folder to load it from");
}

function loadFrom(folder: string, { asset, bytes }: { asset: string; bytes: Uint8Array }): unknown {
  const own = mkdtempSync(join(folder, "tidemark-"));
  try {
    const path = join(own, asset);
    writeFileSync(path, bytes, { mode: 0o700 });
    const holder = { exports: {} };
    process.dlopen(holder, path);
    return holder.exports;
  } finally {
    // A loaded library stays in memory when its file is gone.
    removeOwnedNow("scratch", own);
  }
}
