import { formatDuration } from "#protocol/units.ts";
import type { Terminal } from "../terminal.ts";

/** What a start says about a program that an earlier one left running. */
export interface OrphanNarrator {
  orphanFound(about: {
    name: string;
    pids: readonly number[];
    policy: "end" | "wait" | "refuse";
    patienceMs: number;
  }): void;
  orphanOver(about: { name: string; how: "ended" | "killed" }): void;
}

export const tellOrphans = (terminal: Terminal): OrphanNarrator => ({
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
});
