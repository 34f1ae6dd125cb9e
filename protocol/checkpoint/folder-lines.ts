import type { StepSource } from "./place.ts";

/** A folder of a run with a sequence of checkpoints: `lightning_logs/version_1/checkpoints`. */
export interface FolderLine {
  /** Path below the watched folder; "" is the watched folder itself. */
  folder: string;
  /** Step of the checkpoint that was written last. */
  step: number;
  stepFrom?: StepSource | undefined;
  /** Time at which that checkpoint was written, epoch ms. */
  at: number;
  checkpoints: number;
}

export interface Placed {
  path: string;
  step: number;
  stepFrom?: StepSource | undefined;
  at: number;
}

/** Groups a run's checkpoints by folder, latest write first: the program trains into the first one now. Pure. */
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
