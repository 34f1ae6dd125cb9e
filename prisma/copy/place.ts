import type { MoveMark } from "./move-mark.ts";
import type { RowSource, RowTarget } from "./rows.ts";
import type { Table } from "./tables.ts";

/** A database of a hub, of either engine, as the commands for whole databases use it. */
export interface Place {
  /** For people and marks: a path, or an address without its password. */
  name: string;
  /** The data folder that the database lies in; null for a server. */
  folder: string | null;
  /** Keeps hubs out until the returned function is called; for a file the lock of its folder does that. @throws Fault DATABASE_IN_USE */
  lock: () => Promise<() => Promise<void>>;
  exists: () => Promise<boolean>;
  readMark: () => Promise<MoveMark | null>;
  /** Sets the mark; it is on the disk when this resolves. */
  writeMark: (mark: MoveMark) => Promise<void>;
  hasRows: (tables: readonly Table[]) => Promise<boolean>;
  /** Gives one consistent state of the database to `work`. */
  read: <T>(work: (source: RowSource) => Promise<T>) => Promise<T>;
  /** Replaces all content by what `fill` writes, and the mark: all of it, or nothing when `fill` fails or the process ends. */
  replace: <T>(options: ReplaceOptions<T>) => Promise<T>;
}

export interface ReplaceOptions<T> {
  tables: readonly Table[];
  fill: (target: RowTarget) => Promise<T>;
  mark: MoveMark | null;
  /** Path for the former file; null: it is removed. A server keeps nothing. */
  keepAs: string | null;
}
