import type { EpochView } from "#protocol/checkpoint/lineage.ts";
import type { CheckpointRow } from "#protocol/wire/views.ts";
import type { Tone } from "../_ui/indicators/mark.tsx";

/**
 * Lays out the steps of a run in lanes, one per epoch, oldest on top. Each lane begins at the step from which its epoch
 * continued. Later steps that the older epoch had not completed are lost; complete steps never are.
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
  /** Epoch and step from which it continued; null when it started fresh. */
  from: { epoch: number; step: number } | null;
  marks: StepMark[];
}

export interface StepLanes {
  lanes: StepLane[];
  first: number;
  last: number;
  /** Number of lost steps over all lanes shown. */
  lostMarks: number;
  /** Number of checkpoints left out because they do not fit. */
  omitted: number;
}

interface Input {
  epochs: readonly EpochView[];
  checkpoints: readonly Pick<CheckpointRow, "id" | "writerEpoch" | "step" | "state" | "nodeName" | "doubt">[];
  /** Most marks; the newest ones are shown. */
  most: number;
  /** Whether the node of the newest epoch reports; otherwise nothing counts as uploading. Default: heard. */
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

/** Returns the ids of checkpoints that were captured and lost with an interrupted node. */
export function lostIds(run: Pick<Input, "epochs" | "checkpoints">): ReadonlySet<string> {
  const { lanes } = stepLanes({ epochs: run.epochs, checkpoints: run.checkpoints, most: Infinity });
  return new Set(lanes.flatMap((lane) => lane.marks.filter((mark) => mark.tone === "lost").map((mark) => mark.id)));
}

/** Mark of epoch 0, which holds checkpoints of other tools. */
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
