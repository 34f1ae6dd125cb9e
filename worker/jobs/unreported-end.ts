import { join } from "node:path";
import { endJobInput } from "#protocol/jobs/node-jobs.ts";
import { isFault, type Fault } from "#protocol/faults/fault.ts";
import { removeOwned, renameOwned } from "../base/disk/change-disk.ts";
import { diskFault } from "../base/disk-fault.ts";
import type { Hub } from "../hub-link/hub.ts";
import { isFatal } from "../hub-link/stream.ts";
import { readStateFile, writeStateFile } from "../host/state-file.ts";
import { endJob, type AttemptReport } from "./job-calls.ts";
import type { JobMessages } from "./job-messages.ts";

/**
 * End of an attempt that the hub has not acknowledged, in the state folder. It is written before it is sent, so that a worker
 * killed in between does not run a complete job again. The worker asks for no other job before it is sent. It is in memory
 * too, because a full disk must not lose it.
 */
export interface UnreportedEnd {
  /** Keeps the end, in memory at least. @throws Fault NO_SPACE, WRITE_FAILED when it is in memory alone */
  keep(report: AttemptReport): Promise<void>;
  /** Removes the end, because the hub has ended the attempt. @throws Fault WRITE_FAILED */
  forget(): Promise<void>;
  /**
   * Sends the end that is kept, if there is one, and removes it once the hub has answered. An end that the hub refuses for
   * good is put aside, so that it does not block all jobs after it. @throws Faults of the hub, READ_FAILED, WRITE_FAILED
   */
  send(hub: Hub): Promise<void>;
}

/** Faults that are no answer of the hub to this end. */
const NO_ANSWER: ReadonlySet<string> = new Set(["CANCELLED", "HUB_NOT_TIDEMARK", "TLS_FAILED"]);
/** An error inside the hub may be over at the next try. */
const MOST_TRIES = 5;

export function createUnreportedEnd(state: string, messages: Pick<JobMessages, "ended" | "endRefused">): UnreportedEnd {
  const path = join(state, "job-end.json");
  let held: AttemptReport | null = null;
  let failedInside = 0;

  const changeFile = async (change: () => Promise<void>) => {
    try {
      await change();
    } catch (error) {
      throw diskFault(error, { op: "write", subject: path, otherwise: "WRITE_FAILED" });
    }
  };
  const forget = async () => {
    held = null;
    failedInside = 0;
    await changeFile(() => removeOwned("state-file", path));
  };
  const isRefusal = (error: unknown): error is Fault => {
    if (!isFault(error) || isFatal(error) || error.retry !== "never" || NO_ANSWER.has(error.code)) return false;
    return error.code !== "INTERNAL" || ++failedInside >= MOST_TRIES;
  };
  return {
    keep: async (report) => {
      held = validEnd(report);
      failedInside = 0;
      await writeStateFile(path, held);
    },
    forget,
    send: async (hub) => {
      const report = held ?? (await readStateFile(path, endJobInput));
      if (report === null) return;
      let accepted: boolean;
      try {
        ({ accepted } = await endJob(hub, report));
      } catch (error) {
        if (!isRefusal(error)) throw error;
        const aside = join(state, "job-end-refused.json");
        messages.endRefused(report, { fault: error, aside });
        // It may be in memory alone.
        await writeStateFile(path, report).catch(() => undefined);
        await changeFile(() => renameOwned("state-file", path, aside)).catch(() => undefined);
        return forget();
      }
      messages.ended({ ...report, accepted });
      await forget();
    },
  };
}

const NO_STEPS = { fromStep: null, toStep: null, safeStep: null };
const MOST_WHY = 1_024;

/** Returns a report that the hub can read: an end without its steps, or without its reason, is better than none. */
function validEnd(report: AttemptReport): AttemptReport {
  const { exit } = report;
  const short = "why" in exit ? { ...exit, why: exit.why.slice(0, MOST_WHY) } : exit;
  const lost: AttemptReport["exit"] = exit.kind === "killed" ? { kind: "exited", code: 255 } : short;
  for (const one of [
    { ...report, exit: short },
    { ...report, ...NO_STEPS, exit: short },
    { ...report, ...NO_STEPS, exit: lost },
  ]) {
    const parsed = endJobInput.safeParse(one);
    if (parsed.success) return parsed.data;
  }
  return { ...report, ...NO_STEPS, exit: { kind: "interrupted", why: "its worker cannot describe how it ended" } };
}
