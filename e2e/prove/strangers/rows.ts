import type { HubOptions } from "../../stage/start-hub.ts";
import type { Stage } from "../../stage/open-stage.ts";

/** A known attack, which was made on a hub once and held it, ended it or got what was not its own. */
export interface Row {
  row: string;
  says: string;
  /** Returns what did not hold. */
  run: (stage: Stage) => Promise<string[]>;
}

/** Callers choose the network they come from, as behind a proxy. */
export const STRANGER_HUB: Partial<HubOptions> = { env: { TIDEMARK_TRUST_PROXY: "1", TIDEMARK_LOG: "error" } };

export const ROWS: readonly Row[] = [];
