import { randomUUID } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";
import { assertHere, type MoveMark } from "./move-mark.ts";
import type { Place } from "./place.ts";
import { copyRows, type TableChecksum } from "./rows.ts";
import { presentTables, type Table } from "./tables.ts";

/**
 * Moves the data of a hub to another database. The caller keeps hubs out of both. The order of the steps makes every
 * interruption harmless:
 * 1. The copy is made, compared and marked as arriving, in one step that is there whole or not at all. A hub does not start on it.
 * 2. The old database is marked as moved. From here on no hub starts on it, and the same command only does step 3.
 * 3. The copy is marked as arrived.
 */

export interface MoveOptions {
  from: Place;
  to: Place;
  /** Epoch ms. */
  now: number;
  /** Brings the old database to the present schema and checks the master key, before anything is changed. */
  prepare: () => Promise<void>;
  /** Path for the file that the copy replaces. */
  keepAs: string;
  onTable?: (checksum: TableChecksum) => void;
}

export interface Moved {
  from: string;
  to: string;
  /** Empty when the copy was made by an earlier command, which was interrupted. */
  tables: TableChecksum[];
  /** Path of the file that lay there before; null when there was none to keep. */
  keptAt: string | null;
}

const refuse = (detail: string): Fault => new Fault("BAD_INPUT", { op: "move", subject: "--to", detail });

/** Refuses a database whose rows the move would lose. Returns whether its former content is worth keeping. */
async function assertFree(
  to: Place,
  before: MoveMark | null,
  options: { from: MoveMark | null; tables: readonly Table[] },
) {
  // An earlier move did not get past its copy.
  if (before?.state === "arriving") return { keeps: false };
  // The data was moved from there to where it is now: what is left there is older.
  if (before?.state === "moved" && options.from?.state === "arrived" && options.from.move === before.move)
    return { keeps: true };
  if (before?.state === "moved" || (await to.hasRows(options.tables))) {
    throw refuse(`${to.name} holds the data of a hub already; give an empty database, or take that one away first`);
  }
  return { keeps: false };
}

/**
 * Moves the data of a hub, or completes a move that was interrupted.
 * @throws Fault BAD_INPUT when the data cannot go there, NOT_FOUND, DATABASE_MOVED, DATABASE_COPY_DIFFERS, and those of `prepare`
 */
export async function moveDatabase({ from, to, now, prepare, keepAs, onTable }: MoveOptions): Promise<Moved> {
  const at = new Date(now).toISOString();
  if (!(await from.exists())) {
    throw new Fault("NOT_FOUND", { op: "move", subject: from.name, detail: "there is no hub's database there" });
  }
  const there = await to.readMark();
  const here = await from.readMark();
  const arrive = (move: string) => to.writeMark({ state: "arrived", move, place: from.name, at });
  if (here?.state === "moved" && there?.state === "arriving" && there.move === here.move) {
    await arrive(here.move);
    return { from: from.name, to: to.name, tables: [], keptAt: null };
  }
  assertHere(here);
  await prepare();
  const tables = await presentTables();
  const { keeps } = await assertFree(to, there, { from: here, tables });
  const move = randomUUID();
  const copied = await from.read((source) =>
    to.replace({
      tables,
      fill: (target) => copyRows({ from: source, to: target, tables, ...(onTable !== undefined && { onTable }) }),
      mark: { state: "arriving", move, place: from.name, at },
      keepAs: keeps ? keepAs : null,
    }),
  );
  await from.writeMark({ state: "moved", move, place: to.name, at });
  await arrive(move);
  return { from: from.name, to: to.name, tables: copied, keptAt: keeps && to.folder !== null ? keepAs : null };
}
