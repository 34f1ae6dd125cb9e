import { missingPostgres, startPostgres } from "../servers/start-postgres.ts";

/** Starts PostgreSQL for the unit tests of the hub where TEST_DATABASE=postgres asks for it. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env["TEST_DATABASE"] !== "postgres") return undefined;
  const missing = await missingPostgres();
  if (missing !== null) throw new Error(`PostgreSQL is missing: ${missing}`);
  const server = await startPostgres();
  process.env["TEST_POSTGRES_URL"] = server.urlOf("postgres");
  return server.close;
}
