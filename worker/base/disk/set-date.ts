import { setFileDate } from "../adaptive-sync-io.ts";

/** Gives a file the date it had, epoch ms. No faults: on a disk that keeps no dates the file is there anyway. */
export async function setDate(path: string, mtimeMs: number): Promise<void> {
  await setFileDate(path, mtimeMs / 1000).catch(() => undefined);
}
