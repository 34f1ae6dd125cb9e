import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, chown, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { memoryFolder } from "#storage/testing/spawn-store.ts";
import { installPackages } from "../gate/install-debian.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { freePort } from "./run-binary.ts";

/** Starts a real PostgreSQL for tests: from Debian's package, on loopback, with a data folder of its own. */

const PROGRAMS = "/usr/lib/postgresql/15/bin";
const OWNER = "tidemark";
const run = promisify(execFile);

export interface TestPostgres {
  port: number;
  /** Returns the address of a database of this server; `postgres` exists. */
  urlOf: (database: string) => string;
  /** Creates an empty database and returns its address. */
  create: (database: string) => Promise<string>;
  /** Ends the server: `SIGINT` closes all sessions in order, `SIGKILL` leaves everything as it is. */
  kill: (signal: "SIGINT" | "SIGKILL") => Promise<void>;
  /** Starts it again on the same data and port. */
  start: () => Promise<void>;
  close: () => Promise<void>;
}

/** Returns why this machine has no PostgreSQL for tests; null after it is installed. */
export async function missingPostgres(): Promise<string | null> {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return "that needs root and apt-get";
  try {
    await installPackages(join(PROGRAMS, "initdb"), ["postgresql-15"]);
    return null;
  } catch (error) {
    return String(error instanceof Error ? error.message : error).split("\n", 1)[0] ?? "";
  }
}

/** Returns the user of the package, because servers of PostgreSQL refuse to run as root. */
export async function postgresUser(): Promise<{ uid: number; gid: number }> {
  const row = (await readFile("/etc/passwd", "utf8")).split("\n").find((line) => line.startsWith("postgres:"));
  const [, , uid, gid] = row?.split(":") ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}

/**
 * Starts a server. `isDurable` is for tests that kill it; others save the flushes to the disk. Text sorts by the rules of a
 * language unless a column says otherwise, as on many installed servers. `under`: a program that replaces itself by the server.
 */
export async function startPostgres({
  isDurable = false,
  under = [],
}: { isDurable?: boolean; under?: readonly string[] } = {}): Promise<TestPostgres> {
  // `initdb` refuses root.
  const user = await postgresUser();
  const folder = await mkdtemp(join(isDurable ? tmpdir() : memoryFolder(), "tidemark-postgres-"));
  await chown(folder, user.uid, user.gid);
  await chmod(folder, 0o700);
  const data = join(folder, "data");
  const port = await freePort();
  const form = ["--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en"];
  await run(join(PROGRAMS, "initdb"), ["-D", data, "-U", OWNER, ...form], { ...user, cwd: folder });
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: "200",
    shared_buffers: "64MB",
    fsync: isDurable ? "on" : "off",
    full_page_writes: isDurable ? "on" : "off",
    synchronous_commit: isDurable ? "on" : "off",
    autovacuum: isDurable ? "on" : "off",
  };
  const args = ["-D", data, "-p", String(port)];
  for (const [name, value] of Object.entries(settings)) args.push("-c", `${name}=${value}`);
  const urlOf = (database: string): string => `postgres://${OWNER}@127.0.0.1:${port}/${database}`;
  const [program = "", ...rest] = [...under, join(PROGRAMS, "postgres"), ...args];
  const launch = () => spawn(program, rest, { ...user, cwd: folder, stdio: "ignore" });
  let server = launch();
  const answers = async (): Promise<boolean> => {
    if (server.exitCode !== null) throw new Error(`PostgreSQL ended at once (${server.exitCode})`);
    const client = new Client({ connectionString: urlOf("postgres") });
    client.on("error", () => undefined);
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      return false;
    }
  };
  const ready = () => waitUntil("PostgreSQL answers", answers);
  const kill = async (signal: "SIGINT" | "SIGKILL"): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, "exit");
    server.kill(signal);
    await ended;
  };
  await ready();
  return {
    port,
    urlOf,
    create: async (database) => {
      const client = new Client({ connectionString: urlOf("postgres") });
      await client.connect();
      await client.query(`CREATE DATABASE "${database}"`);
      await client.end();
      return urlOf(database);
    },
    kill,
    start: async () => {
      server = launch();
      await ready();
    },
    close: async () => {
      await kill("SIGINT");
      await rm(folder, { recursive: true, force: true });
    },
  };
}
