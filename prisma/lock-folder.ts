import { PrismaLibSql } from "@prisma/adapter-libsql";

/**
 * One hub per data folder. The lock is SQLite's own on a file made for it: the operating system drops it the moment its
 * holder dies, however it dies, so there is no stale lock to clear.
 */

/** Returns how to give the lock back, or null when another process holds it for longer than `waitMs`. */
export async function lockFolder(lockFile: string, waitMs: number): Promise<(() => Promise<void>) | null> {
  const url = `file:${lockFile}`;
  const client = new PrismaLibSql({ url }).createClient({ url });
  await client.execute(`PRAGMA busy_timeout = ${Math.round(waitMs)}`);
  try {
    await client.execute("BEGIN EXCLUSIVE");
    return async () => {
      await client.execute("ROLLBACK");
      client.close();
    };
  } catch {
    client.close();
    return null;
  }
}
