import { randomUUID } from "node:crypto";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import { Fault, sentenceOf } from "#protocol/faults/fault.ts";
import { probeKey } from "#protocol/checkpoint/keys.ts";
import { prefixForFolder } from "../command-line/address.ts";
import { systemClock } from "../base/clock.ts";
import { probeLink, type ProbeParts, type ProbeResult } from "../probe/probe.ts";
import { probeFacts, probeLines } from "../probe/messages.ts";
import { readProbeOptions } from "../probe/options.ts";
import { withStoreSession } from "../store-session/store-session.ts";
import { onePlace, type CommandContext } from "../command-line/command-context.ts";

/**
 * Implements `tidemark probe`: measures the link to a bucket with the transfer engine. Uses the keys of the
 * environment, or without an address the hub's signatures for this node. Ends with 4 when the link is too slow. Faults:
 * BAD_INPUT, CANCELLED; those of the store when nothing could be measured.
 */
export async function probe(context: CommandContext): Promise<number> {
  if (context.operands.length > 0) return say(context, await probePlace(context));
  const { probeThroughHub } = await import("./probe-through-hub.ts");
  return say(context, await probeThroughHub(context));
}

function probePlace(context: CommandContext): Promise<ProbeResult> {
  const { bucket, key } = onePlace(context, "probe");
  const { signal, config } = context;
  const prefix = key === "" ? "" : prefixForFolder({ key });
  return withStoreSession(context, { bucket, direction: "up" }, (up) =>
    withStoreSession(context, { bucket, direction: "down" }, (down) => {
      const parts: ProbeParts = {
        ...readProbeOptions(config),
        engines: { up: up.engine, down: down.engine },
        newKey: () => probeKey(prefix, { nodeId: null, probeId: randomUUID() }),
        endpoint: up.access.endpoint,
        clock: systemClock,
        signal,
      };
      return probeLink(parts);
    }),
  );
}

function say({ terminal, config }: CommandContext, result: ProbeResult): number {
  const { up, down, verdict } = result;
  // Nothing is known about this link, so the fault is the result.
  if ("fault" in up && "fault" in down) throw up.fault;
  const { thresholds } = readProbeOptions(config);
  const isRejected = verdict.outcome === "reject";
  const fault = isRejected ? new Fault("LINK_TOO_SLOW", { op: "probe", detail: verdict.reason }).toData() : null;
  const lines = [...probeLines(result), ...(fault === null ? [] : [sentenceOf(fault)])];
  terminal.result(lines, { type: "probe", ...probeFacts(result), thresholds, fault });
  return isRejected ? FAULTS.LINK_TOO_SLOW.exit : 0;
}
