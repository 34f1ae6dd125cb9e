import type { HubOptions } from "../../stage/start-hub.ts";
import { ACCESS_ROWS, STRANGER_SECRETS } from "./rows-access.ts";
import { FILE_ROWS } from "./rows-files.ts";
import { NUMBER_ROWS } from "./rows-numbers.ts";
import type { Row } from "./row.ts";

/** Options of the attacked hub. It trusts proxy headers, so that callers can choose their network address. */
export const STRANGER_HUB: Partial<HubOptions> = {
  env: { TIDEMARK_TRUST_PROXY: "1", TIDEMARK_LOG: "error", ...STRANGER_SECRETS },
};

const orderOf = ({ row }: Row): number => Number(row) || Infinity;

/** Attacks that once succeeded against a hub, in the order of their numbers. */
export const ROWS: readonly Row[] = [...NUMBER_ROWS, ...ACCESS_ROWS, ...FILE_ROWS].toSorted(
  (a, b) => orderOf(a) - orderOf(b),
);
