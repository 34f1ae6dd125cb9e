import { lstatSync, mkdirSync } from "node:fs";
import { join } from "node:path";

/** Returns a folder below a temporary one to which only this user can write, and creates it; null where there is none. */
export function ownTemporaryFolder(temporary: string): string | null {
  const uid = process.getuid?.() ?? 0;
  const path = join(temporary, `tidemark-run-${uid}`);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch {
    // The folder exists, or cannot be created; the check below decides.
  }
  try {
    const found = lstatSync(path);
    return found.isDirectory() && found.uid === uid && (found.mode & 0o022) === 0 ? path : null;
  } catch {
    return null;
  }
}
