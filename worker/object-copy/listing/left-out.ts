import { formatCount } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";

/**
 * Counts entries that a walk or a listing skips, such as sockets. They are never skipped silently: the final report of a
 * copy, also with `--json`, has the number of each kind and the first names.
 */

export type LeftOutKind =
  | "linked-folder"
  | "empty-folder"
  | "pipe"
  | "socket"
  | "device"
  | "folder-mark"
  | "grown"
  | "repeated";

export interface LeftOut {
  kind: LeftOutKind;
  count: number;
  /** The first names. */
  names: string[];
  /** Set where DST has them and `sync --delete` leaves them there; left out: of SRC. */
  side?: "dst";
}

/** Counter of skipped entries. */
export interface LeftOutCount {
  add(kind: LeftOutKind, name: string): void;
  /** The kinds that occurred. */
  readonly all: readonly LeftOut[];
}

/** Number of names kept per kind, and the most characters of a name. */
const NAMED = 3;
const MOST_NAME = 200;

/** Creates a counter that starts with the counts in `before`. */
export function countLeftOut(before: readonly LeftOut[] = []): LeftOutCount {
  const all = before.map((one) => ({ ...one, names: [...one.names] }));
  return {
    add: (kind, name) => {
      let one = all.find((known) => known.kind === kind && known.side === undefined);
      if (one === undefined) all.push((one = { kind, count: 0, names: [] }));
      one.count++;
      if (one.names.length < NAMED) one.names.push(name.slice(0, MOST_NAME));
    },
    all,
  };
}

const WORDS: Readonly<Record<LeftOutKind, readonly [one: string, many: string]>> = {
  "linked-folder": ["linked folder", "linked folders"],
  "empty-folder": ["empty folder", "empty folders"],
  pipe: ["pipe", "pipes"],
  socket: ["socket", "sockets"],
  device: ["device", "devices"],
  grown: ["end of a log that was written meanwhile", "ends of logs that were written meanwhile"],
  repeated: ["repetition in the listing", "repetitions in the listing"],
  "folder-mark": ["mark of a folder", "marks of folders"],
};

/** Returns entries that a listing of DST skipped, as what `sync --delete` leaves there. Names that came twice are no entries. */
export const stayingAtDst = (all: readonly LeftOut[]): LeftOut[] =>
  all.flatMap((one) => (one.kind === "repeated" ? [] : [{ ...one, side: "dst" as const }]));

/**
 * Returns a text such as `2 linked folders (a, b) and 1 socket (s)`, and after a semicolon what stays at DST; empty when
 * nothing was left out.
 */
export function sayLeftOut(all: readonly LeftOut[]): string {
  const source = countsOf(all.filter(({ side }) => side === undefined));
  return [...(source === "" ? [] : [source]), ...stays(all)].join("; ");
}

const stays = (all: readonly LeftOut[]): string[] => {
  const counts = countsOf(all.filter(({ side }) => side === "dst"));
  return counts === "" ? [] : [`not looked into at DST, where it stays: ${counts}`];
};

function countsOf(all: readonly LeftOut[]): string {
  const parts = all.map(({ kind, count, names }) => {
    const [one, many] = WORDS[kind];
    const more = count > names.length ? ", …" : "";
    return `${formatCount(count)} ${count === 1 ? one : many} (${names.map(visibleText).join(", ")}${more})`;
  });
  const last = parts.pop();
  return last === undefined ? "" : parts.length === 0 ? last : `${parts.join(", ")} and ${last}`;
}

/** Returns the clause of a final sentence, such as `, without 1 socket (s)`; empty when nothing was left out. */
export function withoutLeftOut(all: readonly LeftOut[]): string {
  const source = countsOf(all.filter(({ side }) => side === undefined));
  return [source === "" ? "" : `, without ${source}`, ...stays(all)].join("; ");
}
