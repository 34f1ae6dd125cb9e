import type { CheckpointRow, EpochView } from "#protocol/wire/views.ts";
import type { Tone } from "../_ui/indicators/mark.tsx";

/**
 * The steps of a run as lanes: one per epoch, oldest on top, each beginning under the step it went on from. What an
 * older epoch had beyond that step and never made complete is lost; a complete step is never shown as lost.
 */

interface StepMark {
  id: string;
  step: number;
  tone: Tone;
  word: string;
}

export interface StepLane {
  epoch: number;
  nodeName: string;
  /** Where it branched off, or null when it started fresh. */
  from: { epoch: number; step: number } | null;
  marks: StepMark[];
}

export interface StepLanes {
  lanes: StepLane[];
  first: number;
  last: number;
  /** Steps that an interruption cost, over all lanes shown. */
  lostMarks: number;
  /** Checkpoints left out because there are more than fit. */
  omitted: number;
}

interface Input {
  epochs: readonly EpochView[];
  checkpoints: readonly Pick<CheckpointRow, "id" | "writerEpoch" | "step" | "state" | "nodeName" | "doubt">[];
  /** At most so many marks, the newest ones. */
  most: number;
  /** Whether the node that writes the newest epoch is heard: what is uploading moves only there. Default: heard. */
  writer?: "heard" | "unheard";
}

export function stepLanes({ epochs, checkpoints, most, writer = "heard" }: Input): StepLanes {
  const newest = [...checkpoints]
    .filter((row) => row.state !== "superseded")
    .sort((a, b) => b.writerEpoch - a.writerEpoch || b.step - a.step)
    .slice(0, most);
  const followers = new Map(
    epochs.filter((epoch) => epoch.parent !== null).map((epoch) => [epoch.parent?.epoch, epoch.parent?.step ?? 0]),
  );
  const lastEpoch = Math.max(0, ...epochs.map((epoch) => epoch.epoch), ...newest.map((row) => row.writerEpoch));
  const lanes = new Map<number, StepLane>();
  for (const row of newest.toReversed()) {
    const epoch = epochs.find((one) => one.epoch === row.writerEpoch);
    const lane = lanes.get(row.writerEpoch) ?? {
      epoch: row.writerEpoch,
      nodeName: epoch?.nodeName ?? row.nodeName,
      from: epoch?.parent ?? null,
      marks: [],
    };
    const wentOnFrom = followers.get(row.writerEpoch);
    const over = row.writerEpoch < lastEpoch;
    const beyond = over && (wentOnFrom === undefined || row.step > wentOnFrom);
    const mark = row.writerEpoch === 0 ? ADOPTED : markOf(row, beyond ? "lost" : writer);
    lane.marks.push({ id: row.id, step: row.step, ...mark });
    lanes.set(row.writerEpoch, lane);
  }
  const steps = newest.map((row) => row.step);
  const all = [...lanes.values()];
  return {
    lanes: all,
    first: Math.min(...steps),
    last: Math.max(...steps),
    lostMarks: all.flatMap((lane) => lane.marks).filter((mark) => mark.tone === "lost").length,
    omitted: checkpoints.filter((row) => row.state !== "superseded").length - newest.length,
  };
}

/** Ids of the checkpoints that were captured and lost with an interrupted node. */
export function lostIds(run: Pick<Input, "epochs" | "checkpoints">): ReadonlySet<string> {
  const { lanes } = stepLanes({ epochs: run.epochs, checkpoints: run.checkpoints, most: Infinity });
  return new Set(lanes.flatMap((lane) => lane.marks.filter((mark) => mark.tone === "lost").map((mark) => mark.id)));
}

/** What another tool wrote, before every epoch. */
const ADOPTED = { tone: "quiet", word: "adopted" } as const;

function markOf(
  { state, doubt }: Pick<CheckpointRow, "state" | "doubt">,
  fate: "lost" | "heard" | "unheard",
): { tone: Tone; word: string } {
  switch (state) {
    case "complete":
      return doubt === null ? { tone: "safe", word: "complete" } : { tone: "risk", word: "doubtful" };
    case "trashed":
      return { tone: "quiet", word: "trashed" };
    case "superseded":
      return { tone: "quiet", word: "replaced" };
    case "joined":
      return { tone: "quiet", word: "joined" };
    case "uploading":
    case "torn":
      if (fate === "lost") return { tone: "lost", word: "lost" };
      if (state === "torn") return { tone: "risk", word: "incomplete" };
      return fate === "heard" ? { tone: "moving", word: "uploading" } : { tone: "risk", word: "not confirmed" };
  }
}
