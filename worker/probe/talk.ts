import type { Verdict } from "#protocol/links/decide-link.ts";
import { sentenceOf, type Fault } from "#protocol/faults/fault.ts";
import type { LinkThresholds } from "#protocol/links/probe.ts";
import { formatRate } from "#protocol/base/units.ts";
import type { Terminal } from "../command-line/terminal.ts";
import type { ProbeResult } from "./probe.ts";
import { probeFacts, probeLines } from "./messages.ts";

/** Messages of a worker about its link at start. */
export interface ProbeTalk {
  measuring(thresholds: LinkThresholds): void;
  measured(result: ProbeResult): void;
  /** The verdict comes from earlier probes that the hub remembers. */
  remembered(verdict: Verdict): void;
  notMeasured(why: string): void;
  /** The link is too slow, but the worker stays on the machine. */
  stays(why: string): void;
  trouble(fault: Fault): void;
}

export function createProbeTalk(terminal: Terminal): ProbeTalk {
  return {
    measuring: (thresholds) => {
      const { up, down, rttMs } = thresholds;
      const asked = [
        up === null ? null : `${formatRate(up)} up`,
        down === null ? null : `${formatRate(down)} down`,
        rttMs === null ? null : `a round trip of ${Math.round(rttMs)} ms at most`,
      ];
      const text = `Measuring the link to the store; it must do ${asked.filter((one) => one !== null).join(" and ")}.`;
      terminal.say(text, { type: "probing", thresholds });
    },
    measured: (result) => terminal.say(probeLines(result).join(" "), { type: "probed", ...probeFacts(result) }),
    remembered: (verdict) => {
      const text =
        verdict.outcome === "accept"
          ? "The hub knows this machine: its link does what is asked of it."
          : `The hub knows this machine: ${verdict.reason}.`;
      terminal.say(text, { type: "machine-known", ...verdict });
    },
    notMeasured: (why) => terminal.say(`The link was not measured. ${why}`, { type: "not-probed", why }),
    stays: (why) =>
      terminal.say(`The link is too slow, and this machine stays: ${why.replace(/\.$/, "")}.`, { type: "stays", why }),
    trouble: (fault) => terminal.say(sentenceOf(fault.toData()), { type: "trouble", fault: fault.toData() }),
  };
}
