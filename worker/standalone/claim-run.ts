import { stepText } from "#protocol/checkpoint/step-words.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { isSameBranch, type LineBranch } from "#protocol/checkpoint/line-branch.ts";
import { epochClaimKey } from "#protocol/checkpoint/keys.ts";
import type { EpochClaim } from "#protocol/checkpoint/checkpoint.ts";
import { LEASE_MS } from "#protocol/checkpoint/writer-lease.ts";
import type { ClaimAnswer, ClaimFrom, EarlierLine } from "#protocol/wire/hello.ts";
import type { NodeName, RunName } from "#protocol/base/names.ts";
import type { BucketCalls } from "./bucket-calls.ts";
import { doubtfulAfter, foundOf, newestOf, newestOfStep, type Choosing, type Chosen } from "./choose-checkpoint.ts";
import type { HubMarkWatch } from "./hub-mark.ts";
import { takeLease, type Lease, type LeaseParts } from "./writer-lease.ts";

/** Lines that the program of this node has left for newer ones, by epoch: their captures may still be sent. */
type EarlierLines = ReadonlyMap<number, EarlierLine>;

/** Runs that this node writes, with the lease of each. */
export interface RunClaims {
  parts: Omit<LeaseParts, "run">;
  leases: Map<RunName, { lease: Lease; epoch: number | null; earlier: EarlierLines }>;
  /** Runs `work` while no other call of this process claims the run. */
  inTurn<T>(run: RunName, work: () => Promise<T>): Promise<T>;
  /**
   * Checks that this node may still write the run. @throws Fault EPOCH_OVER when another node writes it, PREFIX_OF_HUB
   * when a hub manages the prefix
   */
  requireWriter(run: RunName, epoch: number): void;
  /** Returns the lowest epoch that this node may still send checkpoints of. */
  firstSendable(run: RunName, epoch: number): number;
  /** Returns the earlier line of an epoch that this node may still send checkpoints of; null: it is the present epoch. */
  earlierLine(run: RunName, epoch: number): EarlierLine | null;
  /**
   * Renews the lease of a run that was last renewed more than `olderMs` ago, and so detects another writer. @throws
   * Fault EPOCH_OVER, PREFIX_OF_HUB, those of the store
   */
  confirm(run: RunName, epoch: number, olderMs: number): Promise<void>;
  /** Renews all leases, and notes those that another writer has taken as lost. Never throws. */
  renewAll(): Promise<void>;
  giveBack(): Promise<void>;
}

/** Nobody takes a lease before `LEASE_MS`, so a lease renewed within this time is not checked again. */
export const SURE_MS = LEASE_MS / 2;

export function createRunClaims(parts: {
  calls: BucketCalls;
  prefix: string;
  node: { id: string; name: NodeName };
  isConditional: boolean;
  hubMark: Pick<HubMarkWatch, "seen">;
}): RunClaims {
  const leases: RunClaims["leases"] = new Map();
  const turns = new Map<RunName, Promise<unknown>>();
  const requireWriter = (run: RunName, epoch: number) => {
    if (parts.hubMark.seen !== null) throw parts.hubMark.seen;
    const held = leases.get(run);
    if (held?.lease.lost != null) throw held.lease.lost;
    if (held !== undefined && (held.epoch === epoch || held.earlier.has(epoch))) return;
    const detail = "this node has claimed another epoch";
    throw new Fault("EPOCH_OVER", { op: "writer", subject: run, detail });
  };
  return {
    parts,
    leases,
    inTurn: (run, work) => {
      const done = (turns.get(run) ?? Promise.resolve()).then(work);
      turns.set(
        run,
        done.catch(() => undefined),
      );
      return done;
    },
    requireWriter,
    firstSendable: (run, epoch) => Math.min(epoch, ...(leases.get(run)?.earlier.keys() ?? [])),
    earlierLine: (run, epoch) => leases.get(run)?.earlier.get(epoch) ?? null,
    confirm: async (run, epoch, olderMs) => {
      requireWriter(run, epoch);
      await leases.get(run)?.lease.renew(olderMs);
    },
    renewAll: async () => {
      await Promise.allSettled([...leases.values()].map(({ lease }) => lease.renew(0)));
    },
    giveBack: async () => {
      await Promise.all([...leases.values()].map(({ lease }) => lease.giveBack()));
    },
  };
}

const MOST_TRIES = 20;

/**
 * Writes the claim of an epoch unless another node has. Returns whether the claim is ours. Faults: those of the store.
 */
async function writeClaim({ calls, prefix, isConditional }: RunClaims["parts"], claim: EpochClaim): Promise<boolean> {
  const key = epochClaimKey(prefix, claim);
  const text = JSON.stringify(claim);
  if (isConditional) return (await calls.write(key, text, { kind: "absent" })) !== null;
  if ((await calls.read(key)) !== null) return false;
  await calls.write(key, text);
  // Another node may have written it at the same moment; the later write wins.
  return (await calls.read(key))?.text === text;
}

interface ClaimRequest {
  run: RunName;
  from: ClaimFrom | undefined;
  isLine: true | undefined;
  /** With `isLine`: where the line branches off. */
  branch: LineBranch | undefined;
  /** Reads the bucket's record of the run now. */
  read(): Promise<Choosing>;
}

type Parent = EpochClaim["parent"];
const parentOf = (chosen: Chosen | null): Parent =>
  chosen === null ? null : { epoch: chosen.listed.writerEpoch, step: chosen.listed.step };

/**
 * Claims a run as a hub would. The node of the latest epoch continues it; any other node opens the next epoch, from the
 * newest complete checkpoint. Takes the lease first, so that no other node writes while the bucket is read. `from`:
 * checkpoint that a person chose. `isLine`: the program began anew. @throws Fault RUN_IN_USE, NOT_FOUND (no complete
 * checkpoint of that step), CONFLICT, those of the store
 */
export function claimRun(claims: RunClaims, request: ClaimRequest): Promise<ClaimAnswer> {
  return claims.inTurn(request.run, async () => {
    const held = await hold(claims, request.run);
    try {
      return await claimUnder(held, claims, request);
    } catch (error) {
      // A node that cannot write the run, for example because it lacks the encryption key, must not block other nodes.
      if (claims.leases.get(request.run)?.epoch === null) {
        claims.leases.delete(request.run);
        await held.giveBack();
      }
      throw error;
    }
  });
}

async function claimUnder(held: Lease, claims: RunClaims, request: ClaimRequest): Promise<ClaimAnswer> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const choosing = await request.read();
    const { claim, newest, said } = await decide(claims, request, choosing);
    if (claim === null) continue;
    const isFirst = claims.leases.get(request.run)?.epoch === null;
    await (isFirst ? setFirstEpoch(held, { run: request.run, epoch: claim.epoch }) : held.setEpoch(claim.epoch));
    const earlier = earlierLines([...choosing.record.claims, claim], claims.parts.node.id);
    claims.leases.set(request.run, { lease: held, epoch: claim.epoch, earlier });
    return { ...(await answerOf(request.run, choosing, { claim, newest })), ...said };
  }
  const detail = "other nodes claim it at the same time";
  throw new Fault("CONFLICT", { op: "claimEpoch", subject: request.run, detail });
}

/**
 * Writes the epoch of a new claim into the lease. On a store without conditional writes two nodes can take a lease at
 * the same moment. The one whose lease was overwritten has written nothing of the run yet, and waits. @throws Fault
 * RUN_IN_USE, those of the store
 */
async function setFirstEpoch(held: Lease, { run, epoch }: { run: RunName; epoch: number }): Promise<void> {
  try {
    await held.setEpoch(epoch);
  } catch (error) {
    if (!isFault(error) || error.code !== "EPOCH_OVER") throw error;
    const { detail = "another node took it at the same time" } = error.context;
    throw new Fault("RUN_IN_USE", { op: "claimEpoch", subject: run, detail });
  }
}

/** Continues with the lease that this node holds, or takes the lease. @throws Fault RUN_IN_USE, those of the store */
async function hold(claims: RunClaims, run: RunName): Promise<Lease> {
  const held = claims.leases.get(run);
  if (held !== undefined) {
    try {
      await held.lease.renew(SURE_MS);
      return held.lease;
    } catch (error) {
      // The node that took it may have ended meanwhile.
      if (!isFault(error) || error.code !== "EPOCH_OVER") throw error;
    }
  }
  const lease = await takeLease({ ...claims.parts, run });
  claims.leases.set(run, { lease, epoch: null, earlier: new Map() });
  return lease;
}

/**
 * Returns the epochs of a node before its present one, back to the one from which its lines branched. The last claim is
 * the present one.
 */
function earlierLines(known: readonly EpochClaim[], nodeId: string): EarlierLines {
  const byEpoch = new Map(known.map((claim) => [claim.epoch, claim]));
  const lines = new Map<number, EarlierLine>();
  let later = known.at(-1);
  while (later?.branch !== undefined && later.isChosen !== true && later.node.id === nodeId) {
    // A claim that could not be read may belong to another node.
    const before = byEpoch.get(later.epoch - 1);
    if (before === undefined || before.node.id !== nodeId || before.groupOf !== undefined) break;
    const { parent, branch } = before;
    lines.set(before.epoch, { parent, ...(branch !== undefined && { branch }), next: later.branch });
    later = before;
  }
  return lines;
}

interface Decided {
  /** Opens an epoch. Returns null when another node has written the claim with that number. */
  claim: EpochClaim | null;
  newest: Chosen | null;
  said: Pick<ClaimAnswer, "from">;
}

async function decide(claims: RunClaims, request: ClaimRequest, choosing: Choosing): Promise<Decided> {
  const { from, isLine, branch } = request;
  const { claims: known, highestEpoch } = choosing.record;
  const last = known.at(-1) ?? null;
  const newest = await newestOf(choosing);
  const open = async (start: Chosen | null, about: Pick<EpochClaim, "isChosen" | "branch">) =>
    openEpoch(claims, { run: request.run, epoch: highestEpoch + 1, start, about });
  const isOwn = last !== null && last.node.id === claims.parts.node.id && last.groupOf === undefined;
  if (isLine === true) {
    // A repeated request, whose answer was lost, gets the line that is open already.
    const isOpen = isOwn && last.epoch >= highestEpoch && isSameBranch(last.branch, branch);
    if (!isOpen && branch !== undefined && branch.after.epoch !== highestEpoch) {
      const detail = `the line follows epoch ${branch.after.epoch}, and the run is at ${highestEpoch}`;
      throw new Fault("EPOCH_OVER", { op: "claimEpoch", subject: request.run, detail });
    }
    const claim = isOpen ? last : await open(null, branch === undefined ? {} : { branch });
    return { claim, newest, said: {} };
  }
  if (from !== undefined) {
    const startedAt = known.findLast(({ isChosen }) => isChosen === true);
    const before = startedAt === undefined ? undefined : (startedAt.parent?.step ?? "beginning");
    if (before !== from) {
      const start = from === "beginning" ? null : await requireStep(request.run, choosing, from);
      return { claim: await open(start, { isChosen: true }), newest: start, said: { from: { isNew: true } } };
    }
  }
  const said = from === undefined ? {} : { from: { isNew: false } };
  if (isOwn && last.epoch >= highestEpoch) return { claim: last, newest, said };
  return { claim: await open(newest, {}), newest, said };
}

/** Returns the checkpoint from which the run starts. @throws Fault NOT_FOUND */
async function requireStep(run: RunName, choosing: Choosing, step: number): Promise<Chosen> {
  const chosen = await newestOfStep(choosing, step);
  if (chosen !== null) return chosen;
  const steps = [...new Set(choosing.record.checkpoints.map((one) => one.step))].slice(0, 8).join(", ");
  const there = steps === "" ? "it has none at all" : `the newest are ${steps}`;
  const detail = `it has no complete checkpoint of ${stepText(step)}; ${there}`;
  throw new Fault("NOT_FOUND", { op: "claimEpoch", subject: run, detail });
}

async function openEpoch(
  { parts }: RunClaims,
  at: { run: RunName; epoch: number; start: Chosen | null; about: Pick<EpochClaim, "isChosen" | "branch"> },
): Promise<EpochClaim | null> {
  const { run, epoch, start, about } = at;
  const claim: EpochClaim = {
    format: "tidemark.epoch",
    version: 1,
    run,
    epoch,
    parent: parentOf(start),
    node: parts.node,
    claimedAt: Math.round(parts.calls.now()),
    ...about,
  };
  return (await writeClaim(parts, claim)) ? claim : null;
}

async function answerOf(
  run: RunName,
  choosing: Choosing,
  { claim, newest }: { claim: EpochClaim; newest: Chosen | null },
): Promise<ClaimAnswer> {
  const doubtful = await doubtfulAfter(choosing, newest);
  const why = doubtful !== null && "doubt" in doubtful.manifest ? (doubtful.manifest.doubt ?? "") : "";
  return {
    epoch: claim.epoch,
    parent: claim.parent,
    newest: newest === null ? null : foundOf(run, newest),
    ...(claim.isChosen === true && { isChosen: true }),
    ...(claim.branch !== undefined && { branch: claim.branch }),
    ...(doubtful !== null && { doubtful: { step: doubtful.listed.step, why } }),
  };
}
