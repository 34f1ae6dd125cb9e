import type { ShownPlace } from "./place.ts";

/** A folder of a run that holds a sequence of checkpoints: `lightning_logs/version_1/checkpoints`. */
export interface FolderLine {
  /** Below the watched folder; "" is that folder itself. */
  folder: string;
  /** Of the checkpoint that was written last. */
  step: number;
  stepFrom?: ShownPlace["stepFrom"];
  /** When that was written, epoch ms. */
  at: number;
  checkpoints: number;
}

export interface Placed {
  path: string;
  step: number;
  stepFrom?: ShownPlace["stepFrom"];
  at: number;
}

/** Returns the lines of a run by the folders in which its checkpoints lie. The first one is what is trained now: it was written last. Pure. */
export function linesOf(checkpoints: readonly Placed[]): FolderLine[] {
  const lines = new Map<string, FolderLine>();
  for (const { path, step, stepFrom, at } of checkpoints) {
    const folder = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
    const known = lines.get(folder);
    const count = (known?.checkpoints ?? 0) + 1;
    if (known !== undefined && known.at >= at) lines.set(folder, { ...known, checkpoints: count });
    else lines.set(folder, { folder, step, at, checkpoints: count, ...(stepFrom !== undefined && { stepFrom }) });
  }
  return [...lines.values()].toSorted((a, b) => b.at - a.at);
}
