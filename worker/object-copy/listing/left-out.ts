import { formatCount } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";

/**
 * What a walk or a listing came across and does not speak of. Nothing is left out in silence: how many there are of each kind and the first of
 * their names go into the end of every copy, in `--json` too.
 */

export type LeftOutKind = "linked-folder" | "empty-folder" | "pipe" | "socket" | "device" | "folder-mark" | "grown";

export interface LeftOut {
  kind: LeftOutKind;
  count: number;
  /** The first of them. */
  names: string[];
}

/** Keeps count of what is left out. */
export interface LeftOutCount {
  add(kind: LeftOutKind, name: string): void;
  /** Those of which there are any. */
  readonly all: readonly LeftOut[];
}

/** So many are named, each with so many characters at most. */
const NAMED = 3;
const MOST_NAME = 200;

/** `before`: what was left out already. */
export function countLeftOut(before: readonly LeftOut[] = []): LeftOutCount {
  const all = before.map((one) => ({ ...one, names: [...one.names] }));
  return {
    add: (kind, name) => {
      let one = all.find((known) => known.kind === kind);
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
  "folder-mark": ["mark of a folder", "marks of folders"],
};

/** Says what was left out, for people: `2 linked folders (a, b) and 1 socket (s)`; nothing where nothing was. */
export function sayLeftOut(all: readonly LeftOut[]): string {
  const parts = all.map(({ kind, count, names }) => {
    const [one, many] = WORDS[kind];
    const more = count > names.length ? ", …" : "";
    return `${formatCount(count)} ${count === 1 ? one : many} (${names.map(visibleText).join(", ")}${more})`;
  });
  const last = parts.pop();
  return last === undefined ? "" : parts.length === 0 ? last : `${parts.join(", ")} and ${last}`;
}

/** The clause of an end sentence: `, without 1 socket (s)`; nothing where nothing was left out. */
export const withoutLeftOut = (all: readonly LeftOut[]): string =>
  all.length === 0 ? "" : `, without ${sayLeftOut(all)}`;
