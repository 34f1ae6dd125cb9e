import { mkdtempSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getRawAsset, isSea } from "node:sea";
import { removeOwnedNow } from "./disk/change-disk.ts";

/** A module that is machine code: the executable carries it under this name; in a checkout it is a package. */
export interface NativeModule {
  package: string;
  asset: string;
}

export const KOFFI: NativeModule = { package: "koffi", asset: "koffi.node" };
export const NODE_RS_CRC32: NativeModule = { package: "@node-rs/crc32", asset: "crc32.node" };

/** What the module exports, unchecked. Null where it is not there, or nowhere to be loaded from. */
export function loadNative({ package: name, asset }: NativeModule): unknown {
  try {
    return isSea() ? loadCarried(asset) : createRequire(import.meta.filename)(name);
  } catch {
    return null;
  }
}

/** The system loads libraries from files only, and not from every folder; memory first, for there may be no other. */
function loadCarried(asset: string): unknown {
  const bytes = new Uint8Array(getRawAsset(asset));
  for (const folder of ["/dev/shm", tmpdir()]) {
    try {
      return loadFrom(folder, { asset, bytes });
    } catch {
      // Read-only, full, or not for programs.
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
    // What is loaded stays, without a name.
    removeOwnedNow("scratch", own);
  }
}
