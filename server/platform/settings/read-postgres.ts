import { Fault } from "#protocol/faults/fault.ts";

/** Where the hub's database is when it is not the file in the data folder. */
export interface PostgresSettings {
  url: string;
  /** The same database without a pooler. */
  directUrl: string;
  /** Most connections of the hub's pool. */
  connections: number;
}

type Variables = Readonly<Record<string, string | undefined>>;

const FORM = "it looks like postgres://user:password@host:5432/database";
const MOST_CONNECTIONS = 200;

/** Checks an address without repeating it: it may hold a password. @throws Fault BAD_INPUT */
export function addressOf(name: string, text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) {
    const isOther = /^(file|sqlite|mysql|mariadb|mongodb|sqlserver):/i.test(text);
    const detail = isOther ? `${FORM}; for SQLite leave it out, and set TIDEMARK_DATA` : FORM;
    throw new Fault("BAD_INPUT", { subject: name, detail });
  }
  if (url.pathname.length < 2) throw new Fault("BAD_INPUT", { subject: name, detail: `it names no database; ${FORM}` });
  return text;
}

/** Reads the settings of PostgreSQL; null without TIDEMARK_DATABASE_URL. @throws Fault BAD_INPUT, naming the variable */
export function readPostgres(variables: Variables, secretOf: (name: string) => string | null): PostgresSettings | null {
  const url = secretOf("TIDEMARK_DATABASE_URL");
  const directUrl = secretOf("TIDEMARK_DATABASE_DIRECT_URL");
  const connections = variables["TIDEMARK_DATABASE_CONNECTIONS"]?.trim() ?? "";
  if (url === null) {
    for (const [name, text] of [
      ["TIDEMARK_DATABASE_DIRECT_URL", directUrl],
      ["TIDEMARK_DATABASE_CONNECTIONS", connections],
    ] as const) {
      if (text !== null && text !== "")
        throw new Fault("BAD_INPUT", { subject: name, detail: "it needs TIDEMARK_DATABASE_URL beside it" });
    }
    return null;
  }
  const most = Number(connections === "" ? "10" : connections);
  if (!Number.isInteger(most) || most < 2 || most > MOST_CONNECTIONS) {
    const detail = `it is a number from 2 to ${MOST_CONNECTIONS}`;
    throw new Fault("BAD_INPUT", { subject: "TIDEMARK_DATABASE_CONNECTIONS", detail });
  }
  return {
    url: addressOf("TIDEMARK_DATABASE_URL", url),
    directUrl: addressOf("TIDEMARK_DATABASE_DIRECT_URL", directUrl ?? url),
    connections: most,
  };
}
