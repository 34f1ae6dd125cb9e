import {
  distancesOf,
  MOST_IN_TIMELINE,
  type RunTimeline,
  type TimelineLane,
} from "#protocol/checkpoint/run-timeline.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { Hub } from "../api/hub.ts";

const LETTERS: Readonly<Record<string, string>> = { complete: "c", uploading: "u", torn: "t" };
/** Order of states: the best of several attempts at one step counts. */
const BEST = "cut";

/**
 * Returns every step of a run with its state, epoch by epoch. Superseded and trashed checkpoints are left out. @throws Fault
 * NOT_FOUND
 */
export async function readTimeline(hub: Pick<Hub, "db">, run: string): Promise<RunTimeline> {
  if ((await hub.db.run.count({ where: { name: run } })) === 0) throw new Fault("NOT_FOUND", { subject: run });
  const where = { run, role: null, state: { in: Object.keys(LETTERS) } };
  const rows = await hub.db.checkpoint.findMany({
    where,
    select: { step: true, writerEpoch: true, state: true },
    orderBy: [{ writerEpoch: "desc" }, { step: "desc" }],
    take: MOST_IN_TIMELINE,
  });
  const total = rows.length < MOST_IN_TIMELINE ? rows.length : await hub.db.checkpoint.count({ where });
  const epochs = await hub.db.epoch.findMany({
    where: { run },
    include: { node: { select: { name: true } } },
    orderBy: { epoch: "asc" },
  });
  const losses = await hub.db.loss.groupBy({
    by: ["epoch"],
    where: { run },
    _sum: { lostSteps: true, lostMs: true },
  });
  const byEpoch = new Map<number, Map<number, string>>();
  for (const { step, writerEpoch, state } of rows.toReversed()) {
    const steps = byEpoch.get(writerEpoch) ?? new Map<number, string>();
    byEpoch.set(writerEpoch, steps);
    const letter = LETTERS[state] ?? "";
    const known = steps.get(Number(step));
    if (known === undefined || BEST.indexOf(letter) < BEST.indexOf(known)) steps.set(Number(step), letter);
  }
  const lanes = [...byEpoch].map(([epoch, steps]): TimelineLane => {
    const about = epochs.find((one) => one.epoch === epoch);
    const lost = losses.find((one) => one.epoch === epoch)?._sum;
    return {
      epoch,
      nodeName: about?.node.name ?? "",
      parent:
        about === undefined || about.parentEpoch === null || about.parentStep === null
          ? null
          : { epoch: about.parentEpoch, step: Number(about.parentStep) },
      steps: distancesOf([...steps.keys()]),
      states: [...steps.values()].join(""),
      lost:
        lost === undefined || Number(lost.lostMs ?? 0) === 0
          ? null
          : { steps: Number(lost.lostSteps ?? 0), ms: Number(lost.lostMs ?? 0) },
    };
  });
  return { lanes, omitted: total - rows.length };
}
