import { Fault } from "#protocol/faults/fault.ts";
import type { ClaimAnswer, ClaimFrom } from "#protocol/wire/hello.ts";
import type { Agent } from "../agent/agent-assemble.ts";
import { usage } from "../command-line/verb.ts";
import type { ResumeWish } from "../agent/choose-resume.ts";

/**
 * `--from`: where a run starts, when a person chooses. A step and the beginning are told to the hub, which opens a new epoch
 * there: what lies beyond stays in the bucket and is not the newest any more. A second start with the same value goes on from
 * what was written since, so that a container that is started again does not lose its work.
 */
export type StartFrom =
  | { kind: "newest" }
  | { kind: "bucket" }
  | { kind: "step"; step: number }
  | { kind: "beginning" };

/** @throws Fault BAD_INPUT */
export function readStartFrom(text: string | null, watchedFolders: number): StartFrom {
  if (text === null) return { kind: "newest" };
  if (text === "latest-complete") return { kind: "bucket" };
  if (text === "none") return { kind: "beginning" };
  if (!/^\d{1,12}$/.test(text)) throw usage(`--from ${text}`, "a step (for example 500), latest-complete or none");
  if (watchedFolders > 1) throw usage(`--from ${text}`, "it names a step of one run, and several folders are watched");
  return { kind: "step", step: Number(text) };
}

/**
 * Claims the run, from where a person chose. `start`: of a program that starts, the same for each try. Faults: NOT_FOUND (no complete checkpoint of that step), PROTOCOL_MISMATCH (the
 * hub is too old to go back), those of the claim.
 */
export async function claimFrom(
  { runs, narrator }: Pick<Agent, "runs" | "narrator">,
  { run, ...start }: { run: string; start?: string },
  from: StartFrom,
): Promise<ClaimAnswer> {
  if (from.kind === "newest") return runs.askAnew(run, start);
  const wanted = await wantedOf({ runs }, run, from);
  if (wanted === null) return runs.askAnew(run, start);
  const claim = await runs.askAnew(run, { from: wanted, ...start });
  if (claim.from === undefined) {
    const detail = "the hub is older than this worker and cannot start a run from a chosen step; update it first";
    throw new Fault("PROTOCOL_MISMATCH", { op: "run", subject: run, detail });
  }
  if (!claim.from.isNew && from.kind !== "bucket")
    narrator.chosenBefore({ run, from: wanted, step: claim.newest?.step ?? null });
  return claim;
}

/** What is newer on this disk must not come behind: the newest of the bucket is chosen by its step. Null: it has none. */
async function wantedOf(
  { runs }: Pick<Agent, "runs">,
  run: string,
  from: Exclude<StartFrom, { kind: "newest" }>,
): Promise<ClaimFrom | null> {
  if (from.kind === "step") return from.step;
  if (from.kind === "beginning") return "beginning";
  return (await runs.askAnew(run)).newest?.step ?? null;
}

/**
 * Returns what it means for the checkpoints on this disk. `doneFor`: the epoch for which they were moved out of the way here
 * already; what was written since counts as it always does. A kill between the claim and that leaves it to the next start,
 * whatever that is asked for.
 */
export function resumeWishOf(from: StartFrom, claim: ClaimAnswer, doneFor: number | null): ResumeWish {
  if (from.kind === "bucket") return { kind: "bucket" };
  const isDone = claim.isChosen !== true || (claim.from?.isNew !== true && doneFor === claim.epoch);
  if (isDone) return { kind: "newest" };
  return { kind: claim.newest === null ? "beginning" : "bucket" };
}
