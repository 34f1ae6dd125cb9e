import { isHeard } from "#protocol/fleet/node-status.ts";
import { formatCount } from "#protocol/base/units.ts";
import type { CheckpointRow, NodeState } from "#protocol/wire/views.ts";
import type { Tone } from "../_ui/indicators/mark.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

/** Returns word and tone of a checkpoint's state. Only complete checkpoints can be restored. */
export function checkpointState(
  row: Pick<CheckpointRow, "state" | "bytesDone" | "sizeBytes" | "damage" | "writerEpoch" | "doubt" | "piece">,
  /** State of the writing node; null when unknown. */
  nodeState: NodeState | null,
): {
  tone: Tone;
  text: string;
} {
  switch (row.state) {
    case "complete":
      if (row.damage !== null) return { tone: "lost", text: "damaged" };
      if (row.doubt !== null) return { tone: "risk", text: pieceWord(row) ?? "doubtful" };
      // Epoch 0 marks checkpoints of other tools, whose completion nobody observed.
      if (row.writerEpoch === 0) return { tone: "quiet", text: "adopted" };
      return { tone: "safe", text: "complete" };
    case "uploading": {
      const percent = row.sizeBytes === 0 ? 0 : Math.min(99, Math.floor((100 * row.bytesDone) / row.sizeBytes));
      // The node does not report: the capture may still be uploading, or be lost with its disk.
      if (nodeState !== null && !isHeard(nodeState)) return { tone: "risk", text: `not confirmed, ${percent} %` };
      return { tone: "moving", text: `uploading ${percent} %` };
    }
    case "torn":
      return { tone: "risk", text: "incomplete" };
    case "superseded":
      return { tone: "quiet", text: "replaced" };
    case "trashed":
      return { tone: "quiet", text: "in the trash" };
    case "joined":
      return { tone: "quiet", text: "joined" };
  }
}

/** Returns `piece of node 1 of 4` for the piece of one node; null for whole checkpoints. */
export const pieceWord = ({ piece }: Pick<CheckpointRow, "piece">): string | null =>
  piece?.rank === undefined ? null : `piece of node ${piece.rank} of ${piece.of}`;

/** Returns up to three metrics, such as `loss 1.412`, without the step. */
export function metricWords(metrics: Record<string, number>): string {
  return Object.entries(metrics)
    .filter(([name]) => name !== "step")
    .slice(0, 3)
    .map(
      ([name, value]) => `${visibleText(name)} ${Number.isInteger(value) ? formatCount(value) : value.toPrecision(4)}`,
    )
    .join(", ");
}

/** Returns what distinguishes a checkpoint in its run; null when nothing does. */
export function checkpointNote({
  role,
  isNewest,
  isAbandoned,
}: Pick<CheckpointRow, "role" | "isNewest" | "isAbandoned">): string | null {
  if (role === "final-model") return "final model";
  if (isNewest) return "newest";
  return isAbandoned ? "abandoned" : null;
}
