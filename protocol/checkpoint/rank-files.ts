import { Fault } from "../faults/fault.ts";

/**
 * Selects the files that one rank loads, by names that contain a rank. Examples are DeepSpeed's ZeRO partitions, random
 * states of the Hugging Face Trainer, and shards named after a rank. All ranks load the files without a rank. Where names do
 * not tell (PyTorch DCP stores shared data in the file of one rank), it refuses instead of guessing.
 */

const OWNED: readonly RegExp[] = [
  /(?:^|[/._-])zero_pp_rank_(\d+)_mp_rank_\d+_/,
  /(?:^|\/)rng_state_(\d+)\.pth$/,
  /(?:^|[/._-])(?<!(?:mp|pp|tp|cp|ep)_)rank[_-]?(\d+)(?=[._-]|$)/,
];
const SHARED_BETWEEN: readonly RegExp[] = [/(?:^|\/)__\d+_\d+\.distcp$/, /(?:^|\/)mp_rank_\d+(?:_\d+)?\//];

const ownerOf = (path: string): number | null => {
  for (const pattern of OWNED) {
    const found = pattern.exec(path)?.[1];
    if (found !== undefined) return Number(found);
  }
  return null;
};

/** Returns the files for one rank. @throws Fault BAD_INPUT when names do not tell, or shards of more ranks than `of` exist */
export function filesOfRank<P extends string>(paths: readonly P[], { rank, of }: { rank: number; of: number }): P[] {
  const unclear = paths.find((path) => SHARED_BETWEEN.some((pattern) => pattern.test(path)));
  if (unclear !== undefined) {
    const detail = "ranks read each other's shards in this layout; restore all files";
    throw new Fault("BAD_INPUT", { op: "restore", subject: unclear, detail });
  }
  const owned = paths.map((path) => ({ path, owner: ownerOf(path) }));
  if (owned.every(({ owner }) => owner === null)) {
    const detail = "no name of a file says which rank it belongs to; restore all files";
    throw new Fault("BAD_INPUT", { op: "restore", subject: `rank ${rank} of ${of}`, detail });
  }
  const most = Math.max(...owned.map(({ owner }) => owner ?? 0));
  if (most >= of) {
    const detail = `there are shards of rank ${most}, so there are more than ${of} ranks`;
    throw new Fault("BAD_INPUT", { op: "restore", subject: `rank ${rank} of ${of}`, detail });
  }
  return owned.filter(({ owner }) => owner === null || owner === rank).map(({ path }) => path);
}
