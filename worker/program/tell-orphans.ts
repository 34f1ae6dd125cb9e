import { formatDuration } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import type { Terminal } from "../command-line/terminal.ts";
import type { LeftProcess } from "./find-orphans.ts";

/** Messages about processes of a program that are still running. */
export interface OrphanReporter {
  orphanFound(about: {
    name: string;
    pids: readonly number[];
    policy: "end" | "wait" | "refuse";
    patienceMs: number;
  }): void;
  orphanOver(about: { name: string; how: "ended" | "killed" }): void;
  /** The program has ended, but processes that it started run on. `patienceMs` null: they are left alone. */
  leftRunning(about: { left: readonly LeftProcess[]; patienceMs: number | null }): void;
  /** Processes were killed at the end of the grace period of a stop. */
  graceOver(about: { left: readonly LeftProcess[]; graceMs: number }): void;
}

const MOST_NAMED = 5;

/** Returns names and pids: `python3 (process 12), tee (process 13) and 4 more`. */
function nameAll(left: readonly LeftProcess[]): string {
  const named = left.slice(0, MOST_NAMED).map(({ name, pid }) => `${visibleText(name)} (process ${pid})`);
  const rest = left.length - named.length;
  return rest > 0 ? `${named.join(", ")} and ${rest} more` : named.join(", ");
}

export const tellOrphans = (terminal: Terminal): OrphanReporter => ({
  orphanFound: ({ name: program, pids, policy, patienceMs }) => {
    const does = {
      end: `It is ended first: TERM now, KILL after ${formatDuration(patienceMs)}.`,
      wait: "Its checkpoints are kept safe until it ends; then it is started again.",
      refuse: "",
    }[policy];
    const which = pids.length === 1 ? `process ${pids[0]}` : `processes ${pids.join(", ")}`;
    terminal.say(`Still running from an earlier start: ${program} (${which}). ${does}`, {
      type: "orphan-found",
      program,
      pids,
      policy,
    });
  },
  orphanOver: ({ name: program, how }) =>
    terminal.say(`${program} of the earlier start ${how === "killed" ? "was killed" : "has ended"}.`, {
      type: "orphan-over",
      program,
      how,
    }),
  leftRunning: ({ left, patienceMs }) => {
    const does =
      patienceMs === null
        ? "It is left alone (--orphan)."
        : `It is ended too: TERM now, KILL after ${formatDuration(patienceMs)}.`;
    terminal.say(`Still running after the program ended: ${nameAll(left)}. ${does}`, {
      type: "left-running",
      processes: left,
      patienceMs,
    });
  },
  graceOver: ({ left, graceMs }) =>
    terminal.say(
      `${nameAll(left)} did not end within --grace ${formatDuration(graceMs)} and ${left.length === 1 ? "was" : "were"} killed; what was saved in that time may not be safe. Give a longer --grace, below what the platform gives.`,
      { type: "grace-over", processes: left, graceMs },
    ),
});
