import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getRawAsset, isSea } from "node:sea";

/** What is used of Koffi, which calls functions of C libraries: https://koffi.dev. */
export interface Koffi {
  /** Null: what the process itself is linked with. */
  load(path: null): Library;
  /** Of the last call. */
  errno(): number;
}

interface Library {
  func(name: string, result: string, parameters: readonly string[]): Foreign;
}
type Foreign = (...values: readonly (number | bigint | Buffer)[]) => number;

/** The name under which the executable carries it. */
export const KOFFI_ASSET = "koffi.node";

/** Null where it is not there, or nowhere to be loaded from. */
export function loadKoffi(): Koffi | null {
  try {
    return isSea() ? loadCarried() : (createRequire(import.meta.filename)("koffi") as Koffi);
  } catch {
    return null;
  }
}

/** The system loads libraries from files only, and not from every folder; memory first, for there may be no other. */
function loadCarried(): Koffi {
  const bytes = new Uint8Array(getRawAsset(KOFFI_ASSET));
  for (const folder of ["/dev/shm", tmpdir()]) {
    try {
      return loadFrom(folder, bytes);
    } catch {
      // Read-only, full, or not for programs.
    }
  }
  throw new Error("no folder to load it from");
}

function loadFrom(folder: string, bytes: Uint8Array): Koffi {
  const own = mkdtempSync(join(folder, "tidemark-"));
  try {
    const path = join(own, KOFFI_ASSET);
    writeFileSync(path, bytes, { mode: 0o700 });
    const holder = { exports: {} };
    process.dlopen(holder, path);
    return holder.exports as Koffi;
  } finally {
    // What is loaded stays, without a name.
    rmSync(own, { recursive: true });
  }
}
