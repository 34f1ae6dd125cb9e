import type { NodeRow } from "#protocol/wire/views.ts";
import { compareNames } from "../_hub/compare-names.ts";
import { byBacklogAge } from "../_hub/risk-words.ts";

/** The orders a list of nodes can stand in, as words of the address: a column, and `-` before it for the other way round. */

type Compare = (a: NodeRow, b: NodeRow) => number;

const byName: Compare = (a, b) => compareNames(a.name, b.name);
/** What nobody measured comes last, whichever way round. */
const LAST = Number.POSITIVE_INFINITY;

/** Those a person looks for first. */
const STATES: readonly NodeRow["state"][] = ["silent", "unconfirmed", "online", "offline", "revoked"];

interface SortColumn {
  words: string;
  compare: Compare;
  /** From A, not from the largest. */
  rises?: true;
  unknown?: (node: NodeRow) => boolean;
}

/** Each the way round that is asked for first: names from A, numbers from the largest. */
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

/** The orders by name, for where no column can be pressed. */
export const ORDER_CHOICES: readonly { value: string; label: string }[] = [
  { value: "", label: "by backlog age" },
  ...Object.entries(COLUMNS).map(([value, { words }]) => ({ value, label: words })),
];

export interface NodeOrder {
  /** Null: by the age of the backlog, the oldest first. */
  column: string | null;
  isReversed: boolean;
  direction: "ascending" | "descending";
  /** `by upload rate`. */
  words: string;
  compare: Compare;
}

/** The order a word of the address names; one that it does not know is the usual one. */
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

/** The word after another press of a column's head: its order, then the other way round, then the usual one. */
export function nextOrder(order: NodeOrder, column: string): string {
  if (order.column !== column) return column;
  return order.isReversed ? "" : `-${column}`;
}
