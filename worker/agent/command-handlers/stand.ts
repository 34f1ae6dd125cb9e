import { join } from "node:path";
import * as z from "zod";
import { readStateFile, writeStateFile } from "#worker/host/state-file.ts";
import { EVERY_RUN } from "#worker/capture/ledger.ts";

/**
 * Standing instructions of a person for this node, kept in the state folder: a drained or held node stays so after a restart.
 * Held uploads are recorded in the ledger instead, beside the captures.
 */
export interface Stand {
  /** Whether the node takes no more captures and no more restores. */
  readonly isDrained: boolean;
  /** Starts or ends a drain. Faults: NO_SPACE, WRITE_FAILED. */
  setDrained(state: "drained" | "in service"): Promise<void>;
  /** Holds or frees the restores of a run (null: of all runs). Faults: NO_SPACE, WRITE_FAILED. */
  holdDown(run: string | null, state: "held" | "free"): Promise<void>;
  isDownHeld(run: string): boolean;
}

const file = z.object({ isDrained: z.boolean(), heldDown: z.array(z.string()).max(10_000) });

/** Reads the instructions of an earlier process. Faults: READ_FAILED. */
export async function openStand(state: string): Promise<Stand> {
  const path = join(state, "stand.json");
  const known = await readStateFile(path, file);
  let isDrained = known?.isDrained ?? false;
  const heldDown = new Set(known?.heldDown ?? []);
  const write = () => writeStateFile(path, { isDrained, heldDown: [...heldDown] });
  return {
    get isDrained() {
      return isDrained;
    },
    setDrained: async (wanted) => {
      if (isDrained === (wanted === "drained")) return;
      isDrained = wanted === "drained";
      await write();
    },
    holdDown: async (run, wanted) => {
      const name = run ?? EVERY_RUN;
      if (heldDown.has(name) === (wanted === "held")) return;
      if (wanted === "held") heldDown.add(name);
      else heldDown.delete(name);
      await write();
    },
    isDownHeld: (run) => isDrained || heldDown.has(EVERY_RUN) || heldDown.has(run),
  };
}
