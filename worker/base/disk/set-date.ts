import { setFileDate } from "../adaptive-sync-io.ts";

/** Gives a file the date it had, epoch ms. A disk that keeps no dates has the file all the same: no faults. */
export async function setDate(path: string, mtimeMs: number): Promise<void> {
  await setFileDate(path, mtimeMs / 1000).catch(() => undefined);
}
