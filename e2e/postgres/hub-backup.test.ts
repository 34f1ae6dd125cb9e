import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { missingPostgres, startPostgres, type TestPostgres } from "../servers/start-postgres.ts";
import { createHubClient, signIn } from "../stage/hub-client.ts";
import { ADMIN, openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { startHub, testedUpkeep } from "../stage/start-hub.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

/** Backups of a hub on PostgreSQL, restored into both databases. `npm run prove -- postgres` runs this. */

const SECRET = "a secret of a hub with backups, long enough";
const run = runName.parse("kept");
let server: TestPostgres;
let stage: Stage;
let url = "";
const env: Record<string, string> = { TIDEMARK_SECRET: SECRET, TIDEMARK_BACKUP_EVERY: "1s", TIDEMARK_BACKUP_KEEP: "2" };
beforeAll(async () => {
  const missing = await missingPostgres();
  if (missing !== null) throw new Error(`PostgreSQL is missing: ${missing}`);
  server = await startPostgres({ isDurable: true });
  url = (await server.create("hub")).replace("tidemark@", "tidemark:planted-word@");
  env["TIDEMARK_DATABASE_URL"] = url;
  stage = await openStage({ hub: { env } });
});
afterAll(async () => {
  await stage.close();
  await server.close();
});

const save = (step: number) =>
  writeCheckpoint({ folder: stage.folderOf("gpu-1"), step, modelBytes: 200_000, optimizerBytes: 0, loss: 1 });
const command = (args: string[], variables: Record<string, string>) =>
  runOnce(testedUpkeep(), args, { env: { TIDEMARK_SECRET: SECRET, ...variables } });
const dataDir = () => join(stage.dir, "hub");
const onPostgres = () => ({ TIDEMARK_DATABASE_URL: url, TIDEMARK_DATA: dataDir() });
async function backUp(to: string, variables: Record<string, string>): Promise<string> {
  const made = await command(["backup", "--to", to, "--json", "--gzip"], variables);
  expect(made).toMatchObject({ code: 0, stderr: "" });
  return (JSON.parse(made.stdout) as { file: string }).file;
}
const stepsOf = async (client = stage.client) =>
  (await client.runs.get.query({ run })).checkpoints
    .filter(({ state }) => state === "complete")
    .map(({ step }) => step);

/** Returns the environment of the process that takes a backup into `folder`; null while there is none. */
function environmentOf(folder: string): string | null {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      if (line.includes("\0backup\0") && line.includes(folder))
        return readFileSync(`/proc/${pid}/environ`, "utf8") || null;
    } catch {
      // It ended meanwhile.
    }
  }
  return null;
}

test("the clock takes backups, keeps the newest, and the password of the database is nowhere", async () => {
  await stage.startNode({ name: "gpu-1", run });
  save(100);
  await waitComplete(stage, run, { step: 100 });
  const folder = join(dataDir(), "backups");
  const namesOf = () => (existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".db.gz")) : []);
  const first = await waitUntil("the first backup", () => namesOf().length > 0 && namesOf());
  // Other processes of the user can read the environment of the process that takes it.
  const environment = await waitUntil("a backup runs", () => environmentOf(folder), { everyMs: 5 });
  expect(environment).toContain(`TIDEMARK_DATA=${dataDir()}`);
  expect(environment).not.toContain("planted-word");
  await waitUntil(
    "it was replaced by two later ones",
    () => namesOf().length === 2 && !namesOf().includes(first[0] ?? ""),
  );
  const { lastBackup } = await stage.client.upkeep.status.query();
  expect(lastBackup).toMatchObject({ fault: null });
  expect(lastBackup?.file?.startsWith(folder)).toBe(true);
  expect(stage.hub.lines.filter((line) => line.includes("planted-word") || line.includes("backup failed"))).toEqual([]);
});

test("a backup restores into the same server: the bucket gives what came after, and the former rows are kept as a file", async () => {
  const file = await backUp(join(stage.dir, "elsewhere"), onPostgres());
  const refused = await command(["restore", file], onPostgres());
  expect(refused.code).toBe(4);
  save(200);
  await waitComplete(stage, run, { step: 200 });
  await stage.hub.stop();
  const restored = await command(["restore", file, "--json"], onPostgres());
  expect(restored).toMatchObject({ code: 0 });
  const { keptAt, masterKey } = JSON.parse(restored.stdout) as { keptAt: string; masterKey: string };
  expect([existsSync(keptAt), masterKey]).toEqual([true, "fits"]);
  await stage.startHubAgain();
  stage.client = createHubClient(stage.hub.url, await signIn(stage.hub.url, ADMIN));
  await waitUntil("the bucket was read", async () => (await stepsOf()).join() === "200,100");
  expect((await stage.client.upkeep.status.query()).mayDelete).toBe(false);
  // The worker was never stopped.
  save(300);
  await waitComplete(stage, run, { step: 300 });
});

test("a backup of either database restores into the other", async () => {
  const fromPostgres = await backUp(join(stage.dir, "elsewhere"), onPostgres());
  const folder = join(stage.dir, "on-sqlite");
  expect(await command(["restore", fromPostgres], { TIDEMARK_DATA: folder })).toMatchObject({ code: 0 });
  const open = async (dataFolder: string, more: Record<string, string>) => {
    const hub = await startHub({ dataDir: dataFolder, env: { TIDEMARK_SECRET: SECRET, ...more } });
    const steps = await stepsOf(createHubClient(hub.url, await signIn(hub.url, ADMIN)));
    await hub.stop();
    return steps;
  };
  expect(await open(folder, {})).toEqual([300, 200, 100]);

  const fromSqlite = await backUp(join(stage.dir, "elsewhere"), { TIDEMARK_DATA: folder });
  const other = { TIDEMARK_DATABASE_URL: await server.create("other") };
  const data = join(stage.dir, "other");
  expect(await command(["restore", fromSqlite], { ...other, TIDEMARK_DATA: data })).toMatchObject({ code: 0 });
  expect(await open(data, other)).toEqual([300, 200, 100]);
});
