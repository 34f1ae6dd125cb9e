import { PrismaPg } from "@prisma/adapter-pg";
import type { SqlDriverAdapter, SqlQuery } from "@prisma/driver-adapter-utils";
import type { Pool } from "pg";
import { inTurns, type Turns } from "../take-turns.ts";
import { toUnreachable } from "./pool.ts";

/**
 * Gives PostgreSQL the rules that the hub relies on with SQLite: one writer at a time, text that is searched without regard to
 * case, and no value before every other one. Reads run beside each other, as many as the pool has connections.
 */

/** Columns that may have no value, as `Table.column`. */
export type Nullable = ReadonlySet<string>;

const WRITE = /^\s*(INSERT|UPDATE|DELETE|VACUUM)\b/i;

/**
 * Searches text as SQLite does: without regard to case in ASCII (columns have the collation "C"), and without a character that
 * quotes others.
 */
const likeSqlite = (sql: string): string =>
  sql.includes(" LIKE ") ? sql.replaceAll(/ LIKE (\([^()]*\)|\$\d+)/g, " ILIKE $1 ESCAPE ''") : sql;

const SORTED = /"(\w+)"\."(\w+)"( ASC| DESC)(?! NULLS)/g;

/** Sorts rows without a value first, as SQLite does. Columns that always have one keep the order of their index. */
function nullsAsSqlite(sql: string, nullable: Nullable): string {
  const from = sql.lastIndexOf(" ORDER BY ");
  if (from === -1) return sql;
  const sorted = sql.slice(from).replaceAll(SORTED, (text, ...parts: string[]) => {
    const [table = "", column = "", order = ""] = parts;
    if (!nullable.has(`${table}.${column}`)) return text;
    return `${text} NULLS ${order === " ASC" ? "FIRST" : "LAST"}`;
  });
  return sql.slice(0, from) + sorted;
}

const rethrow = (error: unknown): never => {
  throw toUnreachable(error);
};

/** Replaces U+0000, which text of PostgreSQL cannot hold and SQLite can, by the character for what cannot be shown. */
const withoutZero = (value: unknown): unknown =>
  typeof value === "string" && value.includes("\0") ? value.replaceAll("\0", "\uFFFD") : value;

export interface Around {
  /** Decides whose write or transaction is next. */
  writes: Turns;
  /** Decides whose reads are next. */
  reads: Turns;
  nullable: Nullable;
}

/** Makes writes and transactions take turns, and rewrites statements. */
export class HubAdapter extends PrismaPg {
  readonly #around: Around;

  constructor(pool: Pool, around: Around) {
    super(pool);
    this.#around = around;
  }

  override async connect(): Promise<Awaited<ReturnType<PrismaPg["connect"]>>> {
    const adapter = await super.connect();
    const { writes, reads, nullable } = this.#around;
    const rewrite = (query: SqlQuery): SqlQuery => ({
      ...query,
      args: query.args.map(withoutZero),
      sql: nullsAsSqlite(likeSqlite(query.sql), nullable),
    });
    const rewriting = <Queryable extends Pick<SqlDriverAdapter, "queryRaw" | "executeRaw">>(inner: Queryable) => {
      const queryRaw = inner.queryRaw.bind(inner);
      const executeRaw = inner.executeRaw.bind(inner);
      const own: Pick<SqlDriverAdapter, "queryRaw" | "executeRaw"> = {
        queryRaw: (query) => queryRaw(rewrite(query)).catch(rethrow),
        executeRaw: (query) => executeRaw(rewrite(query)).catch(rethrow),
      };
      return Object.assign(inner, own);
    };
    rewriting(adapter);
    const startTransaction = adapter.startTransaction.bind(adapter);
    adapter.startTransaction = async (level) => rewriting(await startTransaction(level).catch(rethrow));
    const queryRaw = adapter.queryRaw.bind(adapter);
    inTurns(adapter, writes);
    const write = adapter.queryRaw.bind(adapter);
    adapter.queryRaw = (query) => (WRITE.test(query.sql) ? write(query) : reads.run(() => queryRaw(query)));
    return adapter;
  }
}
