import type { JobSpec } from "#protocol/jobs/job-spec.ts";
import { rankOf } from "./job-rank.ts";

/** Makes the columns of new jobs. */

/** Bound variables of one statement, and rows of one insert. */
const AT_ONCE = 500;

/** Returns the elements in pieces that one statement takes. */
export function* inPieces<T>(all: readonly T[]): Generator<T[]> {
  for (let from = 0; from < all.length; from += AT_ONCE) yield all.slice(from, from + AT_ONCE);
}

/** A job that is to be stored. */
export interface Planned {
  id: string;
  run: string;
  spec: JobSpec;
}

/** Returns the row of a new job. */
export const rowOf = ({ id, run, spec }: Planned, about: { owner: { id: string; email: string }; at: Date }) => ({
  id,
  queue: spec.queue,
  name: spec.name ?? run,
  run,
  state: "waiting",
  priority: spec.priority,
  rank: rankOf(spec.priority, false),
  dueAt: about.at,
  ownerId: about.owner.id,
  owner: about.owner.email,
  idempotencyKey: spec.idempotencyKey ?? null,
  spec: JSON.stringify(spec),
  needGpuBytes: BigInt(spec.needs.gpuMemoryBytes ?? 0),
  needDiskBytes: BigInt(spec.needs.diskBytes ?? 0),
  needUplink: spec.needs.uplinkBytesPerSecond ?? 0,
  needLabels: JSON.stringify(spec.needs.labels),
  mostFailures: spec.policy.mostFailures,
  longestSeconds: spec.policy.longestSeconds ?? null,
  noProgressSeconds: spec.policy.noProgressSeconds ?? null,
  createdAt: about.at,
});
