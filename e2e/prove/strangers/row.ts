import type { Stage } from "../../stage/open-stage.ts";

/** A known attack, which was made on a hub once and held it, ended it or got what was not its own. */
export interface Row {
  row: string;
  says: string;
  /** Returns what did not hold. */
  run: (stage: Stage) => Promise<string[]>;
}
