import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { installPackages } from "../gate/install-debian.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { freePort } from "./run-binary.ts";
import { postgresUser } from "./start-postgres.ts";

const PROGRAM = "/usr/sbin/pgbouncer";

export interface TestPgbouncer {
  /** Returns the address of a database behind the pooler. */
  urlOf: (database: string) => string;
  close: () => Promise<void>;
}

/** Starts PgBouncer in transaction mode, with fewer connections than its callers have, before a server on this machine. */
export async function startPgbouncer(before: { port: number; user: string }): Promise<TestPgbouncer> {
  await installPackages(PROGRAM, ["pgbouncer"]);
  // It refuses to run as root.
  const user = await postgresUser();
  const folder = await mkdtemp(join(tmpdir(), "tidemark-pgbouncer-"));
  await chown(folder, user.uid, user.gid);
  await chmod(folder, 0o700);
  const port = await freePort();
  const users = join(folder, "users.txt");
  const settings = join(folder, "pgbouncer.ini");
  await writeFile(users, `"${before.user}" ""\n`);
  await writeFile(
    settings,
    [
      "[databases]",
      `* = host=127.0.0.1 port=${before.port}`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${port}`,
      "unix_socket_dir =",
      "auth_type = trust",
      `auth_file = ${users}`,
      "pool_mode = transaction",
      "default_pool_size = 3",
      "max_client_conn = 100",
      "",
    ].join("\n"),
  );
  for (const file of [users, settings]) await chown(file, user.uid, user.gid);
  const pooler = spawn(PROGRAM, [settings], { ...user, cwd: folder, stdio: "ignore" });
  const urlOf = (database: string): string => `postgres://${before.user}@127.0.0.1:${port}/${database}`;
  await waitUntil("PgBouncer answers", async () => {
    if (pooler.exitCode !== null) throw new Error(`PgBouncer ended at once (${pooler.exitCode})`);
    const client = new Client({ connectionString: urlOf("postgres") });
    client.on("error", () => undefined);
    await client.connect();
    await client.end();
    return true;
  });
  return {
    urlOf,
    close: async () => {
      if (pooler.exitCode === null && pooler.signalCode === null) {
        const ended = once(pooler, "exit");
        pooler.kill("SIGINT");
        await ended;
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}
