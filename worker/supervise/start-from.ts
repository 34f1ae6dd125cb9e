import { Fault } from "#protocol/faults/fault.ts";
import type { ClaimAnswer, ClaimFrom } from "#protocol/wire/hello.ts";
import type { Agent } from "../agent/agent-assemble.ts";
import { usage } from "../command-line/command-context.ts";
import type { ResumeChoice } from "../agent/choose-resume.ts";

/**
 * Starting point that a person chooses with `--from`. For a step or the beginning, the hub opens a new epoch; later
 * checkpoints stay in the bucket, but are no longer the newest. A second start with the same value resumes from what was
 * written since, so that a restarted container does not lose its work.
 */
export type StartFrom =
  | { kind: "newest" }
  | { kind: "bucket" }
  | { kind: "step"; step: number }
  | { kind: "beginning" };

/** Reads --from. @throws Fault BAD_INPUT */
export function readStartFrom(text: string | null, watchedFolders: number): StartFrom {
  if (text === null) return { kind: "newest" };
  if (text === "latest-complete") return { kind: "bucket" };
  if (text === "none") return { kind: "beginning" };
  if (!/^\d{1,12}$/.test(text)) throw usage(`--from ${text}`, "a step (for example 500), latest-complete or none");
  if (watchedFolders > 1) throw usage(`--from ${text}`, "it names a step of one run, and several folders are watched");
  return { kind: "step", step: Number(text) };
}

/**
 * Claims the run from the chosen point. `start`: id of this start of the program, the same for every try.
 * @throws Fault NOT_FOUND (no complete checkpoint of that step), PROTOCOL_MISMATCH (the hub is too old), those of the claim
 */
export async function claimFrom(
  { runs, reporter }: Pick<Agent, "runs" | "reporter">,
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
    reporter.chosenBefore({ run, from: wanted, step: claim.newest?.step ?? null });
  return claim;
}

/** Returns the point to claim, null if there is none. `latest-complete` is claimed by its step to outrank local checkpoints. */
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
 * Returns how checkpoints on this disk are treated. `doneFor`: the epoch for which later checkpoints were already moved aside
 * here; what was written since counts as usual. After a kill between claim and moving, the next start moves them, whatever
 * its own --from.
 */
export function resumeChoiceOf(from: StartFrom, claim: ClaimAnswer, doneFor: number | null): ResumeChoice {
  if (from.kind === "bucket") return { kind: "bucket" };
  const isDone = claim.isChosen !== true || (claim.from?.isNew !== true && doneFor === claim.epoch);
  if (isDone) return { kind: "newest" };
  return { kind: claim.newest === null ? "beginning" : "bucket" };
}
