import { PrismaLibSql } from "@prisma/adapter-libsql";
import { databaseFailure } from "./database-failure.ts";
import { fileUrl } from "./file-url.ts";

/**
 * Allows one hub per data folder. The lock is SQLite's own lock on a separate file. The operating system releases it when
 * the holder dies in any way, so no stale lock can remain.
 */

/**
 * Returns a function that releases the lock, or null when another process holds it for longer than `waitMs`.
 * @throws Error of SQLite when the file cannot be written, for example on a full disk
 */
export async function lockFolder(lockFile: string, waitMs: number): Promise<(() => Promise<void>) | null> {
  const url = fileUrl(lockFile);
  const client = new PrismaLibSql({ url }).createClient({ url });
  await client.execute(`PRAGMA busy_timeout = ${Math.round(waitMs)}`);
  try {
    await client.execute("BEGIN EXCLUSIVE");
    return async () => {
      await client.execute("ROLLBACK");
      client.close();
    };
  } catch (error) {
    client.close();
    if (databaseFailure(error) === "HUB_BUSY") return null;
    throw error;
  }
}
