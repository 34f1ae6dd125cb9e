import type { RunsTaken } from "#protocol/wire/upkeep.ts";
import { takenWords } from "./taken-runs.ts";

/** Shows what was taken over from a bucket; loaded when somebody asked for it. */
export function TakenNote({ taken }: { taken: RunsTaken }) {
  return <output className="text-soft">{takenWords(taken)}</output>;
}
