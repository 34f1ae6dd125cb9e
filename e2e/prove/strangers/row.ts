import type { Stage } from "../../stage/open-stage.ts";

/** A known attack that once blocked or crashed a hub, or got data that it must not get. */
export interface Row {
  row: string;
  says: string;
  /** Returns the problems. */
  run: (stage: Stage) => Promise<string[]>;
}
