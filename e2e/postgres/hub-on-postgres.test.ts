import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { startPgbouncer } from "../servers/start-pgbouncer.ts";
import { missingPostgres, startPostgres, type TestPostgres } from "../servers/start-postgres.ts";
import { faultOf } from "../stage/hub-client.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { startHub, testedUpkeep } from "../stage/start-hub.ts";
import { runOnce } from "../stage/run-once.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";

/** A hub whose database is PostgreSQL, with a real worker and store. `npm run prove -- postgres` runs this. */

let server: TestPostgres;
let stage: Stage;
let url = "";
beforeAll(async () => {
  const missing = await missingPostgres();
  if (missing !== null) throw new Error(`PostgreSQL is missing: ${missing}`);
  server = await startPostgres({ isDurable: true });
  url = await server.create("hub");
  // A secret of its own keeps the stage from the prepared data folder, whose session only its own database knows.
  stage = await openStage({ hub: { env: { TIDEMARK_DATABASE_URL: url, TIDEMARK_SECRET: SECRET } } });
});
afterAll(async () => {
  await stage.close();
  await server.close();
});

const SECRET = "a secret of a hub on PostgreSQL, long enough";
const run = runName.parse("on-postgres");
const save = (step: number) => {
  const about = { folder: stage.folderOf("gpu-1"), step, modelBytes: 2_000_000, optimizerBytes: 500_000, loss: 1 };
  return writeCheckpoint(about);
};

test("a checkpoint is captured, committed and restored byte for byte, also after the hub was killed", async () => {
  await stage.startNode({ name: "gpu-1", run });
  const written = save(100);
  await waitComplete(stage, run, { step: 100 });

  await stage.killHub();
  save(200);
  await stage.startHubAgain();
  const newest = await waitComplete(stage, run, { step: 200 });
  const { checkpoints } = await stage.client.runs.get.query({ run });
  expect(checkpoints.map(({ step, state }) => [step, state])).toEqual([
    [200, "complete"],
    [100, "complete"],
  ]);

  const first = checkpoints.find(({ step }) => step === 100);
  const targetPath = join(stage.dir, "restored");
  await stage.client.restores.create.mutate({
    requestId: crypto.randomUUID(),
    checkpointId: first?.id ?? "",
    nodeId: newest.nodeId,
    targetPath,
  });
  const whole = hashFolder(written);
  await waitUntil("the restore is there", () => {
    try {
      expect(hashFolder(targetPath)).toEqual(whole);
      return true;
    } catch {
      return false;
    }
  });
});

const readiness = () => fetch(`${stage.hub.url}/readyz`);

test("PostgreSQL is killed and comes back: the hub goes on by itself, and nothing that it acknowledged is lost", async () => {
  const before = await stage.client.runs.get.query({ run });
  await server.kill("SIGKILL");
  try {
    const refused: unknown = await stage.client.runs.get.query({ run }).catch((error: unknown) => error);
    expect(faultOf(refused)?.code).toBe("DATABASE_UNREACHABLE");
    // The answer may be a second old.
    await waitUntil("it is not ready", async () => (await readiness()).status === 503);
    expect(await (await readiness()).json()).toMatchObject({
      missing: expect.arrayContaining(["database"]) as string[],
    });
    expect((await fetch(`${stage.hub.url}/healthz`)).status).toBe(200);
    save(300);
  } finally {
    await server.start();
  }
  await waitComplete(stage, run, { step: 300 });
  await waitUntil("it is ready", async () => (await readiness()).status === 200);
  const { checkpoints } = await stage.client.runs.get.query({ run });
  const ids = new Set(checkpoints.map(({ id }) => id));
  expect(before.checkpoints.filter(({ id }) => !ids.has(id))).toEqual([]);
  expect(stage.hub.lines.filter((line) => line.includes("has ended"))).toEqual([]);
});

test("a second hub on the same database is refused in one sentence that names the first", async () => {
  const second = startHub({
    dataDir: join(stage.dir, "second"),
    env: { TIDEMARK_DATABASE_URL: url, TIDEMARK_SECRET: SECRET },
  });
  const said = await second.then(
    async (hub) => {
      await hub.stop();
      return "it started";
    },
    (error: unknown) => String(error).replaceAll(/[│\s]+/g, " "),
  );
  expect(said).toContain("Another hub is using this database (by a hub at 127.0.0.1, since ");
});

test("connections are counted, within the limit that was set", async () => {
  const text = await (await fetch(`${stage.hub.url}/metrics`)).text();
  const count = (state: string) =>
    Number(new RegExp(`^tidemark_database_connections\\{state="${state}"\\} (\\d+)`, "m").exec(text)?.[1]);
  expect(count("busy") + count("idle") + count("unopened")).toBe(10);
  expect(text).toMatch(/^tidemark_database_waiting \d+$/m);
});

const command = (args: string[]) => {
  const env = { TIDEMARK_DATABASE_URL: url, TIDEMARK_DATA: join(stage.dir, "hub"), TIDEMARK_SECRET: SECRET };
  return runOnce(testedUpkeep(), args, { env });
};

test("commands for an operator use this database", async () => {
  const users = await command(["user", "list"]);
  expect([users.code, users.stdout]).toEqual([0, expect.stringContaining("admin@stage.local  admin")]);
});

test("an address that does not answer is told at the start, without its password", async () => {
  const env = { TIDEMARK_DATABASE_URL: "postgres://hub:planted-word@127.0.0.1:9/hub", TIDEMARK_SECRET: SECRET };
  const said = await startHub({ dataDir: join(stage.dir, "third"), env }).then(
    async (hub) => {
      await hub.stop();
      return "it started";
    },
    (error: unknown) => String(error).replaceAll(/[│\s]+/g, " "),
  );
  expect(said).toContain("The hub cannot reach its database");
  expect(said).not.toContain("planted-word");
});

test("through a pooler in transaction mode the hub works, with the direct address for its lock and schema", async () => {
  const direct = await server.create("pooled");
  const pooler = await startPgbouncer({ port: server.port, user: "tidemark" });
  const pooled = await openStage({
    hub: {
      env: {
        TIDEMARK_DATABASE_URL: pooler.urlOf("pooled"),
        TIDEMARK_DATABASE_DIRECT_URL: direct,
        TIDEMARK_SECRET: SECRET,
      },
    },
  });
  try {
    await pooled.startNode({ name: "gpu-2", run });
    const folder = pooled.folderOf("gpu-2");
    for (const step of [1, 2, 3]) {
      writeCheckpoint({ folder, step, modelBytes: 100_000, optimizerBytes: 0, loss: 1 });
      await waitComplete(pooled, run, { step });
    }
    const lists = Array.from({ length: 40 }, () => pooled.client.runs.get.query({ run }));
    expect((await Promise.all(lists)).map(({ checkpoints }) => checkpoints.length)).toEqual(lists.map(() => 3));
  } finally {
    await pooled.close();
    await pooler.close();
  }
});
