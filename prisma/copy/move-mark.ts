import { Fault } from "#protocol/faults/fault.ts";

/**
 * The mark of a move in a database, in a table of its own: whether the hub's data is here, or on its way here, or somewhere else.
 * The two databases of one move have the same id. A database that was never part of a move has no mark.
 */
export interface MoveMark {
  /** `arriving`: the copy is here, but the other one counts until it is marked. */
  state: "arriving" | "arrived" | "moved";
  move: string;
  /** The other database, without its password. */
  place: string;
  /** ISO 8601. */
  at: string;
}

/** Runs one statement and returns its rows as objects. */
export type RunSql = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** The name begins with an underscore, as all tables that are no part of the schema. */
const TABLE = `"_tidemark_move"`;

const IS_THERE = {
  sqlite: `SELECT 1 AS "one" FROM sqlite_master WHERE name = '_tidemark_move'`,
  postgres: `SELECT 1 AS "one" WHERE to_regclass('${TABLE}') IS NOT NULL`,
} as const;

const STATES = ["arriving", "arrived", "moved"] as const;

/** Returns the mark of a database; null where there is none. */
export async function readMark(run: RunSql, engine: "sqlite" | "postgres"): Promise<MoveMark | null> {
  if ((await run(IS_THERE[engine])).length === 0) return null;
  const [row] = await run(`SELECT "state", "move", "place", "at" FROM ${TABLE}`);
  const state = STATES.find((one) => one === row?.["state"]);
  if (row === undefined || state === undefined) return null;
  return { state, move: String(row["move"]), place: String(row["place"]), at: String(row["at"]) };
}

/** Returns the statements that set the mark; both databases understand them. */
export function markStatements({ state, move, place, at }: MoveMark): string[] {
  return [
    `CREATE TABLE IF NOT EXISTS ${TABLE} ("id" INTEGER PRIMARY KEY CHECK ("id" = 1), "state" TEXT NOT NULL, "move" TEXT NOT NULL, "place" TEXT NOT NULL, "at" TEXT NOT NULL)`,
    `INSERT INTO ${TABLE} ("id", "state", "move", "place", "at") VALUES (1, ${[state, move, place, at].map(quote).join(", ")})
      ON CONFLICT ("id") DO UPDATE SET "state" = excluded."state", "move" = excluded."move", "place" = excluded."place", "at" = excluded."at"`,
  ];
}

/** The statement that removes the mark, for a database that gets another content. */
export const WITHOUT_MARK = `DROP TABLE IF EXISTS ${TABLE}`;

/** Refuses a database that the hub does not work on. @throws Fault DATABASE_MOVED, which says where the data is */
export function assertHere(mark: MoveMark | null): void {
  if (mark === null || mark.state === "arrived") return;
  const detail =
    mark.state === "moved"
      ? `its data was moved to ${mark.place} at ${mark.at}`
      : `the move from ${mark.place}, begun at ${mark.at}, has not ended: run \`npm run hub -- move\` again`;
  throw new Fault("DATABASE_MOVED", { detail });
}
