import { join } from "node:path";
import * as z from "zod";
import { readStateFile, writeStateFile } from "#worker/host/state-file.ts";
import { EVERY_RUN } from "#worker/capture/ledger.ts";

/**
 * What a person wants of this node as long as nobody says otherwise, in a file of the state folder: a node that is drained
 * or held stays so over a restart. Held uploads stand in the ledger, beside what they are.
 */
export interface Stand {
  /** Takes no more captures and no more restores. */
  readonly isDrained: boolean;
  /** Faults: NO_SPACE, WRITE_FAILED. */
  setDrained(state: "drained" | "in service"): Promise<void>;
  /** Restores of a run (null: of all) wait. Faults: NO_SPACE, WRITE_FAILED. */
  holdDown(run: string | null, state: "held" | "free"): Promise<void>;
  isDownHeld(run: string): boolean;
}

const file = z.object({ isDrained: z.boolean(), heldDown: z.array(z.string()).max(10_000) });

/** Faults: READ_FAILED. */
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
