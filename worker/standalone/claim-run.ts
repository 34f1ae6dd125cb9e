import { Fault } from "#protocol/faults/fault.ts";
import { epochClaimKey } from "#protocol/checkpoint/keys.ts";
import type { EpochClaim } from "#protocol/checkpoint/checkpoint.ts";
import type { ClaimAnswer, ClaimFrom } from "#protocol/wire/hello.ts";
import type { NodeName, RunName } from "#protocol/base/names.ts";
import type { BucketCalls } from "./bucket-calls.ts";
import { doubtfulAfter, foundOf, newestOf, newestOfStep, type Chosen } from "./choose-checkpoint.ts";
import { takeLease, type Lease, type LeaseParts } from "./writer-lease.ts";

/** The runs that this node writes, with the lease of each. */
export interface RunClaims {
  parts: Omit<LeaseParts, "run">;
  leases: Map<RunName, { lease: Lease; epoch: number }>;
  /** @throws Fault EPOCH_OVER when another node was seen to write the run */
  requireWriter(run: RunName, epoch: number): void;
  /** Renews the lease of a run. @throws Fault EPOCH_OVER, those of the store */
  renew(run: RunName, epoch: number): Promise<void>;
  /** Renews all leases. Those that another writer has taken are known as lost afterwards. No faults. */
  renewAll(): Promise<void>;
  giveBack(): Promise<void>;
}

const overOf = (run: string): Fault =>
  new Fault("EPOCH_OVER", { op: "writer", subject: run, detail: "this node has claimed a later epoch" });

export function createRunClaims(parts: {
  calls: BucketCalls;
  prefix: string;
  node: { id: string; name: NodeName };
  isConditional: boolean;
}): RunClaims {
  const leases: RunClaims["leases"] = new Map();
  const requireWriter = (run: RunName, epoch: number) => {
    const held = leases.get(run);
    if (held?.lease.lost != null) throw held.lease.lost;
    if (held === undefined || held.epoch !== epoch) throw overOf(run);
  };
  return {
    parts,
    leases,
    requireWriter,
    renew: async (run, epoch) => {
      requireWriter(run, epoch);
      await leases.get(run)?.lease.renew();
    },
    renewAll: async () => {
      await Promise.allSettled([...leases.values()].map(({ lease }) => lease.renew()));
    },
    giveBack: async () => {
      await Promise.all([...leases.values()].map(({ lease }) => lease.giveBack()));
    },
  };
}

const MOST_TRIES = 20;

/** Writes the claim of an epoch unless somebody has. Returns whether it is ours. Faults: those of the store. */
async function writeClaim({ calls, prefix, isConditional }: RunClaims["parts"], claim: EpochClaim): Promise<boolean> {
  const key = epochClaimKey(prefix, claim);
  if (!isConditional && (await calls.read(key)) !== null) return false;
  const condition = isConditional ? ({ kind: "absent" } as const) : undefined;
  return (await calls.write(key, JSON.stringify(claim), condition)) !== null;
}

interface Wish {
  run: RunName;
  from: ClaimFrom | undefined;
  isLine: true | undefined;
  choosing: Parameters<typeof newestOf>[0];
}

type Parent = EpochClaim["parent"];
const parentOf = (chosen: Chosen | null): Parent =>
  chosen === null ? null : { epoch: chosen.listed.writerEpoch, step: chosen.listed.step };

/**
 * Claims a run as a hub would: the node of the latest epoch goes on with it; any other opens the next one, which starts from the
 * newest complete checkpoint. `from`: where a person has it start. `isLine`: the program began anew.
 * @throws Fault RUN_IN_USE, NOT_FOUND (no complete checkpoint of that step), CONFLICT, those of the store
 */
export async function claimRun(claims: RunClaims, wish: Wish): Promise<ClaimAnswer> {
  const { run, from, isLine, choosing } = wish;
  const { claims: known } = choosing.record;
  const last = known.at(-1) ?? null;
  const isOwn = last !== null && last.node.id === claims.parts.node.id && last.groupOf === undefined;
  const newest = await newestOf(choosing);
  if (isLine === true) return open(claims, { wish, start: null, newest, isChosen: false });
  if (from !== undefined) {
    const startedAt = known.findLast(({ isChosen }) => isChosen === true);
    const before = startedAt === undefined ? undefined : (startedAt.parent?.step ?? "beginning");
    if (before !== from) {
      const start = from === "beginning" ? null : await requireStep(wish, from);
      return { ...(await open(claims, { wish, start, newest: start, isChosen: true })), from: { isNew: true } };
    }
  }
  const said = from === undefined ? {} : { from: { isNew: false } };
  if (!isOwn) return { ...(await open(claims, { wish, start: newest, newest, isChosen: false })), ...said };
  await hold(claims, run, last.epoch);
  return { ...(await answerOf(wish, last, newest)), ...said };
}

/** @throws Fault NOT_FOUND */
async function requireStep({ run, choosing }: Wish, step: number): Promise<Chosen> {
  const chosen = await newestOfStep(choosing, step);
  if (chosen !== null) return chosen;
  const steps = [...new Set(choosing.record.checkpoints.map((one) => one.step))].slice(0, 8).join(", ");
  const there = steps === "" ? "it has none at all" : `the newest are ${steps}`;
  const detail = `it has no complete checkpoint of step ${step}; ${there}`;
  throw new Fault("NOT_FOUND", { op: "claimEpoch", subject: run, detail });
}

/** Takes the lease, or goes on with the one that is held. @throws Fault RUN_IN_USE, EPOCH_OVER, those of the store */
async function hold(claims: RunClaims, run: RunName, epoch: number): Promise<void> {
  const held = claims.leases.get(run);
  if (held !== undefined && held.lease.lost === null) await held.lease.setEpoch(epoch);
  const lease =
    held !== undefined && held.lease.lost === null ? held.lease : await takeLease({ ...claims.parts, run }, epoch);
  claims.leases.set(run, { lease, epoch });
}

/** Opens the next epoch. The lease comes first: two nodes that begin at the same time do not both open one. */
async function open(
  claims: RunClaims,
  at: { wish: Wish; start: Chosen | null; newest: Chosen | null; isChosen: boolean },
): Promise<ClaimAnswer> {
  const { wish, start, newest, isChosen } = at;
  const { run, choosing } = wish;
  const { parts } = claims;
  const { calls, node } = parts;
  const first = (choosing.record.claims.at(-1)?.epoch ?? 0) + 1;
  // Manifests of epochs whose claims are gone (a hub could not write them) count too.
  const above = choosing.record.checkpoints.reduce((most, one) => Math.max(most, one.writerEpoch + 1), first);
  for (let epoch = above; epoch < above + MOST_TRIES; epoch++) {
    await hold(claims, run, epoch);
    const claim: EpochClaim = {
      format: "tidemark.epoch",
      version: 1,
      run,
      epoch,
      parent: parentOf(start),
      node,
      claimedAt: calls.now(),
      ...(isChosen && { isChosen: true }),
    };
    if (await writeClaim(parts, claim)) return answerOf(wish, claim, newest);
  }
  throw new Fault("CONFLICT", { op: "claimEpoch", subject: run, detail: "other nodes claim it at the same time" });
}

async function answerOf({ run, choosing }: Wish, claim: EpochClaim, newest: Chosen | null): Promise<ClaimAnswer> {
  const doubtful = await doubtfulAfter(choosing, newest);
  const why = doubtful !== null && "doubt" in doubtful.manifest ? (doubtful.manifest.doubt ?? "") : "";
  return {
    epoch: claim.epoch,
    parent: claim.parent,
    newest: newest === null ? null : foundOf(run, newest),
    ...(claim.isChosen === true && { isChosen: true }),
    ...(doubtful !== null && { doubtful: { step: doubtful.listed.step, why } }),
  };
}
