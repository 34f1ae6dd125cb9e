import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { addTestProfile, openTestHub, type TestHub } from "#server/testing/open-test-hub.ts";
import { makeTestDatabase, type TestDatabase } from "#server/testing/test-database.ts";
import { createReach, readReach } from "#server/platform/reach.ts";
import { rekey } from "./rekey.ts";
import { openToolsAlone } from "./command-line/tools.ts";

const OLD = "an old master secret of more than enough letters 0123456789";
const NEW = "quite another master secret, also with letters enough 98765";

let test: TestHub;
let folder = "";
let database: TestDatabase;
const options = (secret: string | null, previous: string | null) => ({
  dataFolder: folder,
  ...database.settings,
  secret,
  previous,
  reach: createReach(readReach({}, { isLoopback: true })),
  now: Date.now,
});
const opensWith = async (secret: string | null) => {
  const tools = await openToolsAlone(options(secret, null));
  await tools.close();
};
beforeEach(async () => {
  test = await openTestHub();
  folder = join(test.folder, "other");
  await mkdir(folder);
  database = await makeTestDatabase(folder);
});
afterEach(async () => {
  await test.close();
  await database.drop();
});

it("replaces a key of the environment: the new one opens, the old one does not", async () => {
  await opensWith(OLD);
  expect(await rekey(options(NEW, OLD))).toEqual({ keyVersion: 2, rewrapped: 1 });
  await opensWith(NEW);
  await expect(opensWith(OLD)).rejects.toMatchObject({ code: "MASTER_KEY_WRONG" });
  expect(await rekey(options(NEW, OLD))).toEqual({ keyVersion: 2, rewrapped: 0 });
});

it("asks for the old key where it is not given, and changes nothing", async () => {
  await opensWith(OLD);
  await expect(rekey(options(NEW, null))).rejects.toMatchObject({ code: "BAD_INPUT" });
  await opensWith(OLD);
});

it("replaces a key file by a new one, and leaves only that", async () => {
  await opensWith(null);
  const before = await readFile(join(folder, "master.key"), "utf8");
  expect(await rekey(options(null, null))).toEqual({ keyVersion: 2, rewrapped: 1 });
  expect(await readFile(join(folder, "master.key"), "utf8")).not.toBe(before);
  expect(await readdir(folder)).not.toContain("master.key.previous");
  await opensWith(null);
});

it("leaves the data of a hub that runs alone", async () => {
  await addTestProfile(test.hub, "http://127.0.0.1:9");
  folder = test.folder;
  const names = await readdir(folder);
  await expect(rekey(options(null, null))).rejects.toMatchObject({ code: "FOLDER_IN_USE" });
  expect(await readdir(folder)).toEqual(names);
});
