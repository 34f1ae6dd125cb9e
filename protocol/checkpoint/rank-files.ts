import { Fault } from "../faults/fault.ts";

/**
 * Which files of a checkpoint one rank loads, by names that say whose they are: DeepSpeed's ZeRO partitions, random states
 * of the Hugging Face Trainer, and shards called after a rank. What names no rank all of them load. Where names do not tell
 * (PyTorch DCP keeps what ranks share in the file of one of them), nothing is guessed.
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

/** @throws Fault BAD_INPUT where the names do not tell, and when there are shards of more ranks than `of` */
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
