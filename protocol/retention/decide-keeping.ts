import { stepWords } from "../checkpoint/step-words.ts";
import { byNewest, type CheckpointState } from "../checkpoint/checkpoint.ts";
import { NO_RULES, type KeepPolicy, type KeepReason, type PreviewRow } from "./keeping.ts";
import { formatBytes, formatDuration } from "../base/units.ts";

/**
 * Decides what a retention policy keeps, as a pure function that also returns the reasons. Two promises hold under every
 * policy. A protected checkpoint is never removed, neither for another rule nor for the size limit. Only complete
 * checkpoints can be removed: uploading, torn or superseded ones are left to the janitor.
 */

export interface KeepCandidate {
  id: string;
  step: number;
  writerEpoch: number;
  state: CheckpointState;
  /** Epoch ms. */
  capturedAt: number;
  sizeBytes: number;
  metrics: Readonly<Record<string, number>>;
  /** Time of the last successful verification, epoch ms; null: never. */
  verifiedAt: number | null;
  /** Whether wrong bytes were found, and no full verification has succeeded since. */
  isDamaged: boolean;
  isPinned: boolean;
  tags: readonly string[];
  /** Whether a node is reading it, or was asked to. */
  isRestoring: boolean;
  /** Buckets with undamaged copies of it; absent: only the run's one bucket. */
  homes?: readonly string[];
  /** Whether somebody took it out of the trash: a policy does not move it there again. */
  wasBroughtBack: boolean;
  /** Number of the watched folder, for a run with several: each is kept by the rules for itself. Absent: its only one. */
  root?: number | undefined;
}

export interface KeepHistory {
  checkpoints: readonly KeepCandidate[];
  /** Checkpoints from which epochs of the run started. */
  parents: readonly { epoch: number; step: number }[];
  /** Epochs in which training started fresh. Absent: none. */
  fresh?: readonly number[];
  /** Restored checkpoints that programs did not continue from, while that matters. Absent: none. */
  passedOver?: readonly { epoch: number; step: number }[];
}

/** Describes a reason, to follow "kept: " or "goes: ". Tags and metrics are untrusted text. */
export function reasonWords(reason: KeepReason): string {
  switch (reason.kind) {
    case "newest":
      return "the newest complete one";
    case "newest-in-folder":
      return "the newest one of its watched folder";
    case "newest-there":
      return "the newest one in one of its buckets";
    case "line":
      return "the newest one before training began anew";
    case "passed-over":
      return `of a line that its program did not continue from (${stepWords(reason.step)}); dismiss that on the run's page first`;
    case "whole":
      return "the newest one that is not damaged";
    case "only":
      return "the only complete one";
    case "pinned":
      return "pinned";
    case "tagged":
      return `tagged ${reason.tags.join(", ")}`;
    case "verified":
      return "the last verified one";
    case "restoring":
      return "a node restores it";
    case "uploading":
      return "still uploading";
    case "parent":
      return "an epoch started from it";
    case "brought-back":
      return "brought back from the trash";
    case "no-rule":
      return "no rule is set";
    case "room":
      return "there is room for it";
    case "last":
      return reason.count === 1 ? "the last one" : `one of the last ${reason.count}`;
    case "steps":
      return `one every ${reason.every} steps`;
    case "time":
      return `one every ${formatDuration(reason.everyMs)}`;
    case "best":
      return `number ${reason.rank} by ${reason.metric}`;
    case "unneeded":
      return "no rule keeps it";
    case "bytes":
      return `more than ${formatBytes(reason.mostBytes)}`;
  }
}

/** Splits checkpoints by watched folder, in the order given. */
const byRoot = (all: readonly KeepCandidate[]): KeepCandidate[][] => [
  ...Map.groupBy(all, ({ root = 0 }) => root).values(),
];

/** Returns what protects each checkpoint from any policy or request. Unprotected checkpoints are absent. */
export function protectedBy(history: KeepHistory): Map<string, KeepReason[]> {
  const reasons = new Map<string, KeepReason[]>();
  const protect = (one: KeepCandidate | undefined, reason: KeepReason) => {
    if (one !== undefined) reasons.set(one.id, [...(reasons.get(one.id) ?? []), reason]);
  };
  const complete = history.checkpoints.filter(({ state }) => state === "complete").toSorted(byNewest);
  const [newest] = complete;
  protect(newest, { kind: "newest" });
  if (complete.length === 1) protect(newest, { kind: "only" });
  // Each bucket keeps its newest checkpoint, so that the loss of one bucket never takes everything.
  for (const home of new Set(complete.flatMap(({ homes = [] }) => homes))) {
    const there = complete.find(({ homes = [] }) => homes.includes(home));
    if (there !== newest) protect(there, { kind: "newest-there" });
  }
  // A person who restarted training by mistake goes back to this checkpoint.
  for (const epoch of history.fresh ?? []) {
    protect(
      complete.find(({ writerEpoch }) => writerEpoch > 0 && writerEpoch < epoch),
      { kind: "line" },
    );
  }
  // Until a person has seen that a program passed a restored checkpoint over, everything it could go back to stays.
  const [over] = (history.passedOver ?? []).toSorted((a, b) => b.epoch - a.epoch);
  if (over !== undefined) {
    for (const one of complete)
      if (one.writerEpoch > 0 && one.writerEpoch <= over.epoch) protect(one, { kind: "passed-over", step: over.step });
  }
  // Restores fall back to this one when the newest is damaged.
  for (const inRoot of byRoot(complete)) {
    const [newestThere] = inRoot;
    if (newestThere !== newest) protect(newestThere, { kind: "newest-in-folder" });
    const whole = inRoot.find(({ isDamaged }) => !isDamaged);
    if (whole !== newestThere) protect(whole, { kind: "whole" });
  }
  const verified = complete.filter(({ verifiedAt }) => verifiedAt !== null);
  const lastAt = Math.max(...verified.map(({ verifiedAt }) => verifiedAt ?? 0));
  for (const one of verified) {
    // Protects the newest verified checkpoint and the most recently verified one, which may differ.
    if (one === verified[0] || one.verifiedAt === lastAt) protect(one, { kind: "verified" });
  }
  const parents = new Set(history.parents.map(({ epoch, step }) => `${epoch}/${step}`));
  for (const one of history.checkpoints) {
    if (one.state === "uploading") protect(one, { kind: "uploading" });
    if (one.isPinned) protect(one, { kind: "pinned" });
    if (one.tags.length > 0) protect(one, { kind: "tagged", tags: one.tags });
    if (one.isRestoring) protect(one, { kind: "restoring" });
    if (parents.has(`${one.writerEpoch}/${one.step}`)) protect(one, { kind: "parent" });
  }
  return reasons;
}

type Add = (one: KeepCandidate, reason: KeepReason) => void;

/**
 * Keeps the first checkpoint of each interval in the highest epoch that has one there. A later checkpoint of the same epoch
 * never replaces it, so a checkpoint kept once stays kept.
 */
function firstOfEach(
  complete: readonly KeepCandidate[],
  stretchOf: (one: KeepCandidate) => number,
  keep: (one: KeepCandidate) => void,
): void {
  const first = new Map<number, KeepCandidate>();
  for (const one of complete) {
    const stretch = stretchOf(one);
    const known = first.get(stretch);
    if (known === undefined || one.writerEpoch >= known.writerEpoch) first.set(stretch, one);
  }
  for (const one of first.values()) keep(one);
}

function keepBest(complete: readonly KeepCandidate[], best: NonNullable<KeepPolicy["best"]>, add: Add): void {
  const { metric, want, count } = best;
  const sign = want === "min" ? 1 : -1;
  complete
    .flatMap((one) => {
      const value = Object.hasOwn(one.metrics, metric) ? one.metrics[metric] : undefined;
      return value !== undefined && Number.isFinite(value) ? [{ one, value }] : [];
    })
    .toSorted((a, b) => sign * (a.value - b.value) || byNewest(a.one, b.one))
    .slice(0, count)
    .forEach(({ one }, index) => add(one, { kind: "best", rank: index + 1, metric }));
}

/** Returns what the rules keep; `complete` is sorted newest first. */
function keptByRules(policy: KeepPolicy, complete: readonly KeepCandidate[]): Map<string, KeepReason[]> {
  const kept = new Map<string, KeepReason[]>();
  const add: Add = (one, reason) => kept.set(one.id, [...(kept.get(one.id) ?? []), reason]);
  const { last, everySteps, everyMs, best, mostBytes } = policy;
  if (last !== null) for (const one of complete.slice(0, last)) add(one, { kind: "last", count: last });
  if (everySteps !== null) {
    firstOfEach(
      complete,
      ({ step }) => Math.floor(step / everySteps),
      (one) => add(one, { kind: "steps", every: everySteps }),
    );
  }
  if (everyMs !== null) {
    const byCapture = complete.toSorted((a, b) => b.capturedAt - a.capturedAt || byNewest(a, b));
    firstOfEach(
      byCapture,
      ({ capturedAt }) => Math.floor(capturedAt / everyMs),
      (one) => add(one, { kind: "time", everyMs }),
    );
  }
  if (best !== null) keepBest(complete, best, add);
  if (last === null && everySteps === null && everyMs === null && best === null) {
    for (const one of complete) add(one, { kind: mostBytes === null ? "no-rule" : "room" });
  }
  return kept;
}

/**
 * Returns which checkpoints stay and which go, newest first, with the reasons of each. Leaves out those already in the
 * trash.
 */
export function decideKeeping(policy: KeepPolicy | null, history: KeepHistory): PreviewRow[] {
  const { mostBytes, ...rules } = policy ?? NO_RULES;
  const rows = history.checkpoints
    .filter(({ state }) => state === "complete" || state === "uploading")
    .toSorted(byNewest);
  const complete = rows.filter(({ state }) => state === "complete");
  const guarded = protectedBy(history);
  const whole = complete.filter(({ isDamaged }) => !isDamaged);
  // A damaged checkpoint must not take the place of a whole one, so the rules are applied with and without damaged ones.
  const kept = new Map(
    [...byRoot(complete), ...byRoot(whole)].flatMap((inRoot) => [...keptByRules({ ...rules, mostBytes }, inRoot)]),
  );
  const broughtBack: KeepReason = { kind: "brought-back" };
  const stays = new Map<string, KeepReason[]>();
  for (const one of rows) {
    const fixed = [...(guarded.get(one.id) ?? []), ...(one.wasBroughtBack ? [broughtBack] : [])];
    const because = [...fixed, ...(kept.get(one.id) ?? [])];
    if (because.length > 0) stays.set(one.id, because);
  }
  const tooMany = mostBytes === null ? new Set<string>() : beyond(mostBytes, { complete, stays, guarded });
  return rows.map((one) => {
    const { id, step, writerEpoch, sizeBytes, capturedAt } = one;
    const shown = { id, step, writerEpoch, sizeBytes, capturedAt };
    if (mostBytes !== null && tooMany.has(id))
      return { ...shown, fate: "goes", because: [{ kind: "bytes", mostBytes }] };
    const because = stays.get(id);
    if (because !== undefined) return { ...shown, fate: "stays", because };
    return { ...shown, fate: "goes", because: [{ kind: "unneeded" }] };
  });
}

/** Returns what must go to meet the size limit: oldest first, the best by metric last, never a protected one. */
function beyond(
  mostBytes: number,
  known: {
    complete: readonly KeepCandidate[];
    stays: ReadonlyMap<string, readonly KeepReason[]>;
    guarded: ReadonlyMap<string, unknown>;
  },
): Set<string> {
  const { complete, stays, guarded } = known;
  const staying = complete.filter(({ id }) => stays.has(id));
  const isBest = ({ id }: KeepCandidate): boolean => stays.get(id)?.some(({ kind }) => kind === "best") === true;
  const mayGo = staying
    .filter((one) => !guarded.has(one.id) && !one.wasBroughtBack)
    .toSorted((a, b) => Number(isBest(a)) - Number(isBest(b)) || byNewest(b, a));
  let total = staying.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const going = new Set<string>();
  for (const one of mayGo) {
    if (total <= mostBytes) break;
    going.add(one.id);
    total -= one.sizeBytes;
  }
  return going;
}
