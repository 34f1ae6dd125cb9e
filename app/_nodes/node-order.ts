import type { NodeRow } from "#protocol/wire/views.ts";
import { compareNames } from "../_hub/compare-names.ts";
import { byBacklogAge } from "../_hub/risk-words.ts";

/** Sort orders of the node list, as in the address: a column, or `-` and a column for the reverse. */

type Compare = (a: NodeRow, b: NodeRow) => number;

const byName: Compare = (a, b) => compareNames(a.name, b.name);
/** Placeholder for missing measurements, which come last in both directions (`unknown`). */
const LAST = Number.POSITIVE_INFINITY;

/** States by urgency. */
const STATES: readonly NodeRow["state"][] = ["silent", "unconfirmed", "online", "offline", "revoked"];

interface SortColumn {
  words: string;
  compare: Compare;
  /** True for columns that start ascending. */
  rises?: true;
  unknown?: (node: NodeRow) => boolean;
}

/** Columns with their first direction: names ascending, numbers descending. */
const COLUMNS: Readonly<Record<string, SortColumn>> = {
  node: { words: "by name", rises: true, compare: byName },
  backlog: { words: "by bytes not safe", compare: (a, b) => b.risk.bytes - a.risk.bytes },
  up: { words: "by upload rate", compare: (a, b) => b.upBytesPerSecond - a.upBytesPerSecond },
  down: { words: "by download rate", compare: (a, b) => b.downBytesPerSecond - a.downBytesPerSecond },
  rtt: {
    words: "by round trip",
    compare: (a, b) => (b.rttMs ?? -LAST) - (a.rttMs ?? -LAST),
    unknown: (node) => node.rttMs === null,
  },
  state: {
    words: "by state",
    rises: true,
    compare: (a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state),
  },
};

export const SORTABLE: ReadonlySet<string> = new Set(Object.keys(COLUMNS));

/** Choices of a sort menu, for tiles without column heads. */
export const ORDER_CHOICES: readonly { value: string; label: string }[] = [
  { value: "", label: "by backlog age" },
  ...Object.entries(COLUMNS).map(([value, { words }]) => ({ value, label: words })),
];

export interface NodeOrder {
  /** Null sorts by the age of the backlog, oldest first. */
  column: string | null;
  isReversed: boolean;
  direction: "ascending" | "descending";
  /** Description, such as `by upload rate`. */
  words: string;
  compare: Compare;
}

/** Returns the order for a value of the address; unknown values give the default order. */
export function nodeOrderOf(word: string): NodeOrder {
  const isReversed = word.startsWith("-");
  const column = isReversed ? word.slice(1) : word;
  const found = Object.hasOwn(COLUMNS, column) ? COLUMNS[column] : undefined;
  if (found === undefined) {
    return {
      column: null,
      isReversed: false,
      direction: "descending",
      words: "by backlog age",
      compare: byBacklogAge,
    };
  }
  const { words, compare, rises = false, unknown = () => false } = found;
  const direction = rises === isReversed ? "descending" : "ascending";
  const turned: Compare = (a, b) =>
    Number(unknown(a)) - Number(unknown(b)) || (isReversed ? compare(b, a) : compare(a, b)) || byName(a, b);
  return { column, isReversed, direction, words: isReversed ? `${words}, reversed` : words, compare: turned };
}

/** Returns the value after another click on a column head: sorted, then reversed, then the default order. */
export function nextOrder(order: NodeOrder, column: string): string {
  if (order.column !== column) return column;
  return order.isReversed ? "" : `-${column}`;
}
