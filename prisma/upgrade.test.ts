import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connect } from "./connection.ts";
import { migrate, MigrationRefused, readMigrations } from "./migrate.ts";
import { openDatabase } from "./open.ts";
import { openFile } from "./snapshot.ts";

let folder = "";
let file = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-upgrade-"));
  file = join(folder, "hub.db");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const OLDER = "0005_probes";
const DATA = [
  `INSERT INTO "Profile" VALUES ('profile-1', 1, 'old', 'minio', 'training', 'us-east-1', '', 'http://127.0.0.1:9', NULL, NULL, 'path', 'abcd', 1, 1, NULL)`,
  `INSERT INTO "Run" ("name", "profileId", "createdAt") VALUES ('llama', 'profile-1', 1700000000000)`,
];

/** A database as an older version left it, with a run in it. */
async function writeOlder(): Promise<void> {
  const migrations = await readMigrations();
  const client = await connect(`file:${file}`);
  await migrate(client, migrations.slice(0, migrations.findIndex(({ name }) => name === OLDER) + 1));
  for (const sql of DATA) await client.execute(sql);
  await client.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  client.close();
}

/** A row of an older schema: what must not be null and is not said is empty. */
async function insert(client: Awaited<ReturnType<typeof connect>>, table: string, values: Record<string, unknown>) {
  const { rows } = await client.execute(`SELECT "name", "type" FROM pragma_table_info('${table}') WHERE "notnull" = 1`);
  const empty = Object.fromEntries(rows.map(({ name, type }) => [name, type === "TEXT" ? "" : 0]));
  const row = Object.entries({ ...empty, ...values });
  const quoted = row.map(([, value]) => (typeof value === "string" ? `'${value}'` : String(value)));
  await client.execute(`INSERT INTO "${table}" (${row.map(([name]) => `"${name}"`).join()}) VALUES (${quoted.join()})`);
}

const copies = async () => (await readdir(join(folder, "before-upgrade")).catch((): string[] => [])).toSorted();

async function valueIn(path: string, sql: string): Promise<unknown> {
  const client = await openFile(path);
  try {
    return (await client.execute(sql)).rows[0]?.[0];
  } finally {
    client.close();
  }
}

describe("an upgrade", () => {
  it("keeps what is stored, and a copy from before of which only its owner can read", async () => {
    await writeOlder();
    const { db, close } = await openDatabase(`file:${file}`);
    expect(await db.run.findMany()).toMatchObject([{ name: "llama", highestSeen: 0 }]);
    await close();
    const [copy, ...more] = await copies();
    expect(more).toEqual([]);
    expect(copy).toMatch(/^hub-\d{8}T\d{9}Z-before-\d{4}_\w+\.db$/);
    const path = join(folder, "before-upgrade", copy ?? "");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await valueIn(path, `SELECT "name" FROM "Run"`)).toBe("llama");
    expect(await valueIn(path, `SELECT max("migration_name") FROM "_prisma_migrations"`)).toBe(OLDER);
  });

  it("weighs the checkpoints that were complete before, packed and compressed ones by what lies there", async () => {
    await writeOlder();
    const client = await connect(`file:${file}`);
    const before = (await readMigrations()).filter(({ name }) => name < "0022_bucket_usage");
    await migrate(client, before);
    await insert(client, "Node", { id: "node-1", profileId: "profile-1", name: "gpu" });
    const files = [
      {
        extents: [
          { key: "a", length: 10 },
          { key: "b", length: 5 },
        ],
      },
      { extents: [{ key: "pack", length: 100, stored: { length: 40 } }] },
      { extents: [{ key: "pack", length: 7 }] },
      { extents: [] },
    ];
    const manifest = JSON.stringify({ files });
    for (const id of ["safe", "torn"]) {
      const row = { id, run: "llama", attempt: id, nodeId: "node-1", profileId: "profile-1" };
      await insert(client, "Checkpoint", row);
      const content = { checkpointId: id, files: "[]" };
      await insert(client, "CheckpointContent", id === "safe" ? { ...content, manifest } : content);
    }
    client.close();
    const { db, close } = await openDatabase(`file:${file}`);
    const rows = await db.checkpoint.findMany({ orderBy: { id: "asc" } });
    expect(rows.map(({ objectCount, objectBytes }) => [objectCount, objectBytes])).toEqual([
      [4, BigInt(62 + manifest.length)],
      [null, null],
    ]);
    await close();
  });

  it("copies nothing when there is nothing to change, and nothing of a new database", async () => {
    await (await openDatabase(`file:${file}`)).close();
    await (await openDatabase(`file:${file}`)).close();
    expect(await copies()).toEqual([]);
  });

  it("that fails leaves the database byte for byte, and says which migration and where the copy lies", async () => {
    await writeOlder();
    const before = await readFile(file);
    const broken = [
      { name: "9998_fine", sql: "CREATE TABLE fine (x INTEGER);" },
      { name: "9999_broken", sql: "CREATE TABLE half (x INTEGER);\nCREATE TABLE half (x INTEGER);" },
    ];
    const refused = await openDatabase(`file:${file}`, { migrations: [...(await readMigrations()), ...broken] }).catch(
      (error: unknown) => error,
    );
    expect(refused).toBeInstanceOf(MigrationRefused);
    expect(refused).toMatchObject({ message: "Migration 9999_broken failed; the database is as it was before." });
    expect((refused as MigrationRefused).fix).toContain(join(folder, "before-upgrade", "hub-"));
    expect((await readFile(file)).equals(before)).toBe(true);
  });

  it("is refused when it would leave rows that refer to nothing", async () => {
    await writeOlder();
    const orphans = { name: "9999_orphans", sql: `DELETE FROM "Profile";` };
    await expect(openDatabase(`file:${file}`, { migrations: [...(await readMigrations()), orphans] })).rejects.toThrow(
      "9999_orphans",
    );
    expect(await valueIn(file, `SELECT count(*) FROM "Profile"`)).toBe(1);
  });

  it("does not take a table's dependents along when the table is made anew", async () => {
    await writeOlder();
    const anew = {
      name: "9999_anew",
      sql: `CREATE TABLE "new_Profile" AS SELECT * FROM "Profile"; DROP TABLE "Profile"; ALTER TABLE "new_Profile" RENAME TO "Profile"; CREATE UNIQUE INDEX "Profile_id" ON "Profile"("id");`,
    };
    await (await openDatabase(`file:${file}`, { migrations: [...(await readMigrations()), anew] })).close();
    expect(await valueIn(file, `SELECT count(*) FROM "Run"`)).toBe(1);
  });

  it("that is killed at any moment leaves the version before or the new one, with all that is stored", async () => {
    await writeOlder();
    const client = await openFile(file);
    await client.execute(`CREATE TABLE "ballast" AS WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
      SELECT i, randomblob(2000) AS b FROM n`);
    client.close();
    const script = `import { openDatabase } from "#prisma/open.ts"; console.log("begins"); await (await openDatabase("file:" + process.argv[1])).close(); console.log("done");`;
    const root = join(import.meta.dirname, "..");
    for (const delayMs of [0, 15, 30, 60, 90, 130, 180]) {
      const child = spawn(process.execPath, ["--eval", script, file], {
        cwd: root,
        stdio: ["ignore", "pipe", "inherit"],
      });
      const ended = once(child, "exit");
      for await (const chunk of child.stdout) if (String(chunk).includes("begins")) break;
      await sleep(delayMs);
      child.kill("SIGKILL");
      await ended;
      expect(await valueIn(file, "PRAGMA integrity_check")).toBe("ok");
      expect(await valueIn(file, `SELECT count(*) FROM "ballast"`)).toBe(3000);
    }
    const { db, close } = await openDatabase(`file:${file}`);
    expect(await db.run.count()).toBe(1);
    await close();
  });

  it("keeps the last three copies", async () => {
    await writeOlder();
    const steps = Array.from({ length: 5 }, (_, index) => ({
      name: `999${index}_more`,
      sql: `CREATE TABLE more_${index} (x INTEGER);`,
    }));
    for (const count of steps.keys()) {
      await (
        await openDatabase(`file:${file}`, { migrations: [...(await readMigrations()), ...steps.slice(0, count + 1)] })
      ).close();
    }
    expect((await copies()).map((name) => /before-(.+)\.db/.exec(name)?.[1])).toEqual([
      "9992_more",
      "9993_more",
      "9994_more",
    ]);
  });
});
