import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { createRandom } from "../faults/random.ts";
import { missingPostgres, startPostgres, type TestPostgres } from "../servers/start-postgres.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { startHub, testedUpkeep } from "../stage/start-hub.ts";
import { startProcess } from "../stage/start-process.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

/** A hub in use moves from SQLite to PostgreSQL and back, with a real worker that goes on. `npm run prove -- postgres` runs this. */

const SECRET = "a secret of a hub that moves, long enough";
const run = runName.parse("moving-house");
let server: TestPostgres;
let stage: Stage;
let url = "";
/** The environment of the hub at its next start. */
const env: Record<string, string> = { TIDEMARK_SECRET: SECRET };
beforeAll(async () => {
  const missing = await missingPostgres();
  if (missing !== null) throw new Error(`PostgreSQL is missing: ${missing}`);
  server = await startPostgres({ isDurable: true });
  url = await server.create("hub");
  stage = await openStage({ hub: { env } });
});
afterAll(async () => {
  await stage.close();
  await server.close();
});

const dataDir = () => join(stage.dir, "hub");
const save = (step: number) =>
  writeCheckpoint({ folder: stage.folderOf("gpu-1"), step, modelBytes: 1_000_000, optimizerBytes: 0, loss: 1 });
const onSqlite = () => ({ TIDEMARK_SECRET: SECRET, TIDEMARK_DATA: dataDir() });
const onPostgres = () => ({ ...onSqlite(), TIDEMARK_DATABASE_URL: url });
const command = (args: string[], variables: Record<string, string>) =>
  runOnce(testedUpkeep(), args, { env: variables });
const stepsOf = async () => (await stage.client.runs.get.query({ run })).checkpoints.map(({ step }) => step);
const refusalOf = (variables: Record<string, string>): Promise<string> =>
  startHub({ dataDir: dataDir(), env: variables }).then(
    async (hub) => {
      await hub.stop();
      return "it started";
    },
    (error: unknown) => String(error).replaceAll(/[│\s]+/g, " "),
  );

test("to PostgreSQL: nodes and sign-ins go on, and the old side refuses with a sentence that says where the data is", async () => {
  await stage.startNode({ name: "gpu-1", run });
  save(100);
  await waitComplete(stage, run, { step: 100 });
  expect((await command(["move"], { ...onSqlite(), TIDEMARK_MOVE_TO: url })).stderr).toContain("using this folder");

  await stage.hub.stop();
  save(200);
  const moved = await command(["move", "--to", url, "--json"], onSqlite());
  expect(moved).toMatchObject({ code: 0 });
  const { tables } = JSON.parse(moved.stdout) as { tables: { table: string; rows: number; hash: string }[] };
  expect(tables.find(({ table }) => table === "Checkpoint")).toMatchObject({
    rows: 1,
    hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
  });
  expect(await refusalOf({ TIDEMARK_SECRET: SECRET })).toMatch(
    /its data was moved to postgres:\/\/tidemark@127\.0\.0\.1:\d+\/hub at /,
  );

  env["TIDEMARK_DATABASE_URL"] = url;
  await stage.startHubAgain();
  // The same cookie, credential and epoch as before.
  await waitComplete(stage, run, { step: 200 });
  expect(await stepsOf()).toEqual([200, 100]);
});

test("killed at any moment, in both directions: never two databases that a hub takes, and the same command completes it", async () => {
  await stage.hub.stop();
  save(300);
  const random = createRandom(11);
  const sides = {
    postgres: { variables: onPostgres(), move: ["move", "--to", dataDir()] },
    sqlite: { variables: onSqlite(), move: ["move", "--to", url] },
  };
  const isTaken = async ({ variables }: { variables: Record<string, string> }) =>
    (await command(["user", "list"], variables)).code === 0;
  let at: "postgres" | "sqlite" = "postgres";
  for (let count = 0; count < 12; count++) {
    const { move, variables } = sides[at];
    const running = await startProcess({ title: "hub move", entry: testedUpkeep(), args: move, env: variables });
    const until = performance.now() + 400 + random.next() * 2_000;
    await waitUntil("the moment of the kill", () => performance.now() >= until, { everyMs: 5 });
    await running.stop("SIGKILL");
    const taken = { postgres: await isTaken(sides.postgres), sqlite: await isTaken(sides.sqlite) };
    expect(taken).not.toEqual({ postgres: true, sqlite: true });
    if (taken.postgres) at = "postgres";
    else if (taken.sqlite) at = "sqlite";
  }
  if (at === "postgres")
    expect(await command(sides.postgres.move, sides.postgres.variables)).toMatchObject({ code: 0 });
  else if (!(await isTaken(sides.sqlite))) {
    // Killed between the two marks of a move to PostgreSQL: it has to be completed before it can go back.
    expect(await command(sides.sqlite.move, sides.sqlite.variables)).toMatchObject({ code: 0 });
    expect(await command(sides.postgres.move, sides.postgres.variables)).toMatchObject({ code: 0 });
  }
  expect(await refusalOf(onPostgres())).toContain("its data was moved to");
  delete env["TIDEMARK_DATABASE_URL"];
  await stage.startHubAgain();
  await waitComplete(stage, run, { step: 300 });
  expect(await stepsOf()).toEqual([300, 200, 100]);
});
