import { randomUUID } from "node:crypto";
import { Fault, sentenceOf, toFault } from "#protocol/faults/fault.ts";
import type { LinkThresholds, ProbeTarget } from "#protocol/links/probe.ts";
import { recall } from "#protocol/links/recall-machine.ts";
import { jitter } from "../base/breaker.ts";
import type { Clock } from "../base/clock.ts";
import type { Imds } from "../host/imds.ts";
import type { Hub } from "../hub-link/hub.ts";
import { isFatal } from "../hub-link/stream.ts";
import { askedOf, isNothing } from "./thresholds-of.ts";
import { askTarget } from "./node-link.ts";
import { reportOf, type ProbeResult } from "./probe.ts";
import type { ProbeTalk } from "./talk.ts";

/**
 * Checks the link of this machine before a worker restores anything. Earlier probes that the hub remembers may decide
 * without a measurement. On a platform that exchanges machines, a machine that is too slow is given back if the hub's
 * reallocation limits permit it. Otherwise the worker continues, because a slow link is better than no training. If the
 * machine was given back before and is assigned again, the platform is asked again and the worker ends. Without such a
 * platform the worker ends with the reason.
 */
export interface StartParts {
  hub: Hub;
  imds: Imds;
  machineId: string | null;
  /** Thresholds of this worker's flags; the hub's apply where a flag is not given. */
  thresholds: LinkThresholds;
  clock: Clock;
  signal: AbortSignal;
  talk: ProbeTalk;
  measure(target: ProbeTarget, thresholds: LinkThresholds): Promise<ProbeResult>;
}

const TRIES = 3;

/** Checks the link. @throws Fault LINK_TOO_SLOW when the worker has to end; NODE_UNKNOWN, NODE_REVOKED, CANCELLED */
export async function probeAtStart(parts: StartParts): Promise<void> {
  const { talk } = parts;
  const isAskedHere = !isNothing(parts.thresholds);
  const ask = () => askTarget(parts.hub, parts.machineId);
  // Without own thresholds, the hub is asked only once whether it has any.
  const target = await (isAskedHere ? insist(parts, ask) : ask()).catch(unlessOver(parts));
  const thresholds = target instanceof Fault ? parts.thresholds : askedOf(parts.thresholds, target.thresholds);
  if (isNothing(thresholds)) return;
  if (target instanceof Fault || target.store === null) {
    const why = target instanceof Fault ? sentenceOf(target.toData()) : "The hub has no bucket for this node.";
    return talk.notMeasured(why);
  }
  const known = recall(target.machine, thresholds);
  if (known?.outcome === "accept") return talk.remembered(known);
  if (known !== null) {
    talk.remembered(known);
    return reject(parts, { reason: `${known.reason}, as it was found before`, probeId: null });
  }
  talk.measuring(thresholds);
  const result = await parts.measure(target, thresholds);
  talk.measured(result);
  const report = reportOf(result, { machineId: parts.machineId, thresholds });
  const told = await insist(parts, () =>
    parts.hub.ask("probed", (client, signal) => client.node.probed.mutate(report, { signal })),
  ).catch(unlessOver(parts));
  if (told instanceof Fault) talk.trouble(told);
  const { outcome, reason } = result.verdict;
  if (outcome === "reject") await reject(parts, { reason, probeId: result.id });
}

/** Gives the machine back. `probeId` null: the hub remembers it as given back before, so no permission is needed. */
async function reject(parts: StartParts, about: { reason: string; probeId: string | null }): Promise<void> {
  const { hub, imds, machineId, talk } = parts;
  const { reason, probeId } = about;
  const tooSlow = (detail: string) => new Fault("LINK_TOO_SLOW", { op: "probe", detail });
  if (machineId === null && (await imds.status()) === null) throw tooSlow(reason);
  const question = { requestId: randomUUID(), machineId, probeId };
  const answer = await insist(parts, () =>
    hub.ask("mayReallocate", (client, signal) => client.node.mayReallocate.mutate(question, { signal })),
  ).catch(unlessOver(parts));
  const isHereAgain = probeId === null || (!(answer instanceof Fault) && answer.isHereAgain === true);
  if (!isHereAgain && answer instanceof Fault) {
    return talk.stays(`the hub could not be asked whether it may go: ${sentenceOf(answer.toData())}`);
  }
  if (!isHereAgain && !(answer instanceof Fault) && !answer.allowed) return talk.stays(answer.reason);
  const moved = await insist(parts, () => imds.reallocate(`tidemark: ${reason}`)).catch(unlessOver(parts));
  if (!isHereAgain && moved instanceof Fault) return talk.stays(sentenceOf(moved.toData()));
  const why = isHereAgain ? `${reason}; this machine was given back before and is here again` : reason;
  if (moved instanceof Fault) throw tooSlow(`${why}; ${sentenceOf(moved.toData())}`);
  throw tooSlow(`${why}; the platform was asked for another machine`);
}

/** Retries temporary Faults a few times. */
async function insist<T>({ clock, signal }: StartParts, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      const fault = toFault(error, { op: "probe" });
      if (fault.retry === "never" || tries >= TRIES || signal.aborted) throw fault;
      await clock.sleep(200 + jitter(clock, tries), signal);
    }
  }
}

/** Turns an error into a result, so that the worker continues, unless the hub rejects the node or the worker is stopping. */
const unlessOver =
  ({ signal }: StartParts) =>
  (error: unknown): Fault => {
    if (signal.aborted || isFatal(error)) throw toFault(error);
    return toFault(error);
  };
