import { mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { SqlClient } from "./connection.ts";
import { findPending, migrate, MigrationRefused, type Migration } from "./migrate.ts";
import { snapshotDatabase, sweepUnfinished } from "./snapshot.ts";

/**
 * Every upgrade first copies the database as the previous version left it into `before-upgrade/` beside it. Without that
 * copy nothing is changed.
 */

const FOLDER = "before-upgrade";
const COPIES_KEPT = 3;
const COPY = /^hub-\d{8}T\d{9}Z-.+\.db$/;

/** Returns a time such as `20261122T001852123Z`, whose text order is its time order. */
export const timeInName = (at: number): string => new Date(at).toISOString().replace(/[-:.]/g, "");

async function copyBefore(file: string, last: string): Promise<string> {
  const folder = join(dirname(file), FOLDER);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await sweepUnfinished(folder);
  const copy = join(folder, `hub-${timeInName(Date.now())}-before-${last}.db`);
  await snapshotDatabase(file, copy);
  const copies = (await readdir(folder)).filter((name) => COPY.test(name)).toSorted();
  for (const name of copies.slice(0, -COPIES_KEPT)) await rm(join(folder, name), { force: true });
  return copy;
}

/**
 * Brings the database of `client`, stored in `file`, to the present schema. A new database is made without a copy.
 * @returns the path of the copy; null when there was nothing to change, or nothing to copy
 * @throws MigrationRefused
 */
export async function upgrade(
  client: SqlClient,
  file: string | null,
  migrations: readonly Migration[],
): Promise<string | null> {
  const { done, pending } = await findPending(client, migrations);
  const last = pending.at(-1);
  if (last === undefined) return null;
  if (done === 0 || file === null) {
    await migrate(client, migrations);
    return null;
  }
  const copy = await copyBefore(file, last.name).catch((cause: unknown) => {
    throw new MigrationRefused("The database could not be copied before the upgrade, so it was not upgraded.", {
      why: cause instanceof Error ? cause.message : String(cause),
      fix: `Make room beside ${file} for one more copy of it and start again; the version before starts as it did.`,
      cause,
    });
  });
  try {
    await migrate(client, migrations);
  } catch (error) {
    if (!(error instanceof MigrationRefused)) throw error;
    const { message, why, fix, cause } = error;
    throw new MigrationRefused(message, { why, fix: `${fix} A copy from before lies at ${copy}.`, cause });
  }
  return copy;
}
