import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openDatabase } from "#prisma/open.ts";
import { saidLines } from "#protocol/base/visible-text.ts";
import { folderForTests } from "#storage/testing/spawn-store.ts";
import { callAs, openTestHub, type TestHub } from "#server/testing/open-test-hub.ts";
import { readCommand } from "./read-command.ts";
import { runHubCommand } from "./run-command.ts";
import type { Surroundings } from "./scope.ts";

let test: TestHub;
let target: string;
beforeEach(async () => {
  test = await openTestHub();
  target = await folderForTests("tidemark-target-");
});
afterEach(async () => {
  await test.close();
  await rm(target, { recursive: true, force: true });
});

const SECRET = "a secret of at least thirty-two characters";
const told: string[] = [];
const around: Surroundings = {
  variables: {},
  secret: SECRET,
  previous: null,
  now: Date.now,
  passwordCost: 10,
  readLine: async () => "",
  tell: (line: string) => void told.push(line),
};
/** Runs a command line on the data of the hub. */
const hub = (line: string[], changes: Partial<Surroundings> = {}) => {
  const { postgres } = test.hub.settings;
  const variables = postgres === null ? {} : { TIDEMARK_DATABASE_URL: postgres.url };
  const options = { ...around, ...changes, variables: { ...variables, ...changes.variables } };
  return runHubCommand(readCommand([...line, "--data", test.folder]), options);
};
const move = (to: string, changes: Partial<Surroundings> = {}) => hub(["move", "--to", to], changes);
const failureOf = async (work: Promise<unknown>): Promise<string> =>
  String(await work.catch((error: unknown) => error));

describe("hub move", () => {
  it("is refused while the hub runs, and changes nothing", async () => {
    await expect(move(target)).rejects.toMatchObject({ code: "FOLDER_IN_USE" });
    expect(await callAs(test.hub, "viewer").profiles.list()).toEqual([]);
  });

  it("moves accounts and everything else; the hub starts where the data went, and not where it was", async () => {
    await hub(["user", "create", "ada@example.com", "--role", "admin"]);
    await test.stop();
    told.length = 0;
    const { result, text } = await move(`file:${join(target, "hub.db")}`);
    expect(result).toMatchObject({ to: join(target, "hub.db"), keptAt: null });
    expect(saidLines(text)).toContain("count and hash of each are the same");
    expect(saidLines(text)).toContain("without TIDEMARK_DATABASE_URL");
    expect(told).toContain("User: 1 rows");
    await expect(test.start()).rejects.toMatchObject({
      code: "DATABASE_MOVED",
      message: expect.stringContaining(`moved to ${join(target, "hub.db")}`) as string,
    });
    const { db, close } = await openDatabase(`file:${join(target, "hub.db")}`, { inThisThread: true });
    expect(await db.user.findMany({ select: { email: true } })).toEqual([{ email: "ada@example.com" }]);
    await close();
    for (const line of [["user", "list"], ["backup"], ["janitor"], ["confirm"]])
      expect(await failureOf(hub(line))).toContain("This is not the database that the hub works on");

    // Back again, by the address in a variable.
    const back = { TIDEMARK_MOVE_TO: test.hub.settings.postgres?.url ?? test.folder };
    const moved = await runHubCommand(readCommand(["move", "--data", target]), { ...around, variables: back });
    expect(saidLines(moved.text)).toContain("count and hash of each are the same");
    expect(JSON.stringify(moved)).not.toContain("password");
    await test.start();
    expect(await test.hub.db.user.count()).toBe(1);
  });

  it("does not move under another master key, nor to a folder that lacks the key file", async () => {
    await test.stop();
    const wrong = { secret: "another secret of thirty-two characters" };
    await expect(move(target, wrong)).rejects.toMatchObject({ code: "MASTER_KEY_WRONG" });
    await test.start();
    await test.stop();
    await writeFile(join(test.folder, "master.key"), SECRET, { mode: 0o600 });
    const folder = join(target, "data");
    const byFile = (to: string) => move(to, { secret: null });
    expect(await failureOf(byFile(folder))).toContain(`copy master.key there first, from ${test.folder}`);
    await cp(join(test.folder, "master.key"), join(folder, "master.key"));
    expect((await byFile(folder)).exitCode).toBe(0);
    const variables = { TIDEMARK_MOVE_TO: test.hub.settings.postgres?.url ?? test.folder };
    await runHubCommand(readCommand(["move", "--data", folder]), { ...around, secret: null, variables });
    await test.start();
  });

  it.each([
    ["", "it is missing"],
    ["mysql://db/hub", "a postgres:// address or a data folder"],
    ["postgres://db.example.com", "it names no database"],
    ["FILE", "this is a file"],
  ])("says what is wrong with --to %s", async (to, said) => {
    await test.stop();
    await mkdir(target, { recursive: true });
    await writeFile(join(target, "notes.txt"), "");
    const line = to === "" ? hub(["move"]) : move(to === "FILE" ? join(target, "notes.txt") : to);
    const failed = await line.catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: "BAD_INPUT" });
    expect(String(failed)).toContain(said);
    await test.start();
  });

  it("does not move onto itself", async () => {
    await test.stop();
    const own = test.hub.settings.postgres?.url ?? test.folder;
    expect(await failureOf(move(own))).toContain("the hub works on this database already");
    await test.start();
  });
});
