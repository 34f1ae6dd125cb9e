import type { ProgramOver } from "../capture/detection/settle.ts";
import type { Descendants } from "../program/descendants.ts";
import { exitCodeOf, type ProgramEnd } from "../program/program.ts";

/** Exit code of a shell whose command was interrupted: 128 plus the number of SIGINT. */
const INTERRUPTED = 130;

/** Judges what the end of a program says about the checkpoint that it wrote last. */
export function judgeOver(
  end: ProgramEnd,
  about: {
    /** It was asked to end, and none of its processes is left. */
    isStop: boolean;
    descendants: Pick<Descendants, "hasEndedInOrder">;
    /** When SIGINT arrived, epoch ms. */
    interruptedAtMs: number | null;
  },
): ProgramOver {
  const { isStop, descendants, interruptedAtMs } = about;
  if (end.code === 0 || (isStop && descendants.hasEndedInOrder(end))) return "done";
  if (!isStop || exitCodeOf(end) !== INTERRUPTED || interruptedAtMs === null) return "crashed";
  return { interruptedAtMs };
}
