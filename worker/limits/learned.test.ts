import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openMemory, type LearnedKey } from "./learned.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-learned-"));
  path = join(folder, "links.json");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const DAY = 24 * 60 * 60 * 1000;
const NOW = Date.parse("2026-03-01T12:00Z");
const wallNow = () => NOW;
const key = (bucket: string): LearnedKey => ({ endpoint: "https://s3.example.com", bucket, direction: "up" });
const value = { connections: 32, bytesPerSecond: 12_000_000, baseRttMs: 118 };

test("what was learned is known after a restart, for that bucket and direction only", async () => {
  await (await openMemory(folder, wallNow)).learn(key("runs"), value);
  const memory = await openMemory(folder, wallNow);
  expect(memory.recall(key("runs"))).toEqual({ ...value, at: NOW });
  expect(memory.recall({ ...key("runs"), endpoint: "https://s3.example.com/" })).toEqual({ ...value, at: NOW });
  expect(memory.recall({ ...key("runs"), direction: "down" })).toBeNull();
  expect(memory.recall(key("other"))).toBeNull();
  expect(memory.recall({ ...key("runs"), endpoint: "https://s3.example.com:8443" })).toBeNull();
});

test("it is forgotten after 14 days, and by a clock that was set far back", async () => {
  await (await openMemory(folder, wallNow)).learn(key("runs"), value);
  expect((await openMemory(folder, () => NOW + 13 * DAY)).recall(key("runs"))?.connections).toBe(32);
  expect((await openMemory(folder, () => NOW + 15 * DAY)).recall(key("runs"))).toBeNull();
  expect((await openMemory(folder, () => NOW - 15 * DAY)).recall(key("runs"))).toBeNull();
});

test("64 links are kept, the newest ones", async () => {
  let now = NOW;
  const memory = await openMemory(folder, () => now++);
  for (let index = 0; index < 70; index++) await memory.learn(key(`bucket-${index}`), value);
  const reopened = await openMemory(folder, () => now);
  expect(reopened.recall(key("bucket-5"))).toBeNull();
  expect(reopened.recall(key("bucket-6"))).not.toBeNull();
  expect(reopened.recall(key("bucket-69"))).not.toBeNull();
});

test("two that learn at the same time keep both", async () => {
  const [one, other] = [await openMemory(folder, wallNow), await openMemory(folder, wallNow)];
  await one.learn(key("first"), value);
  await other.learn(key("second"), value);
  const memory = await openMemory(folder, wallNow);
  expect([memory.recall(key("first")), memory.recall(key("second"))]).not.toContain(null);
  expect(await readdir(folder)).toEqual(["links.json"]);
});

test.each(["", "{", "[]", '{"version":2,"links":{}}', '{"version":1,"entries":{"up s3.example.com runs":{"at":"x"}}}'])(
  "a file that says %j is an empty memory, and the next thing learned replaces it",
  async (text) => {
    await writeFile(path, text);
    const memory = await openMemory(folder, wallNow);
    expect(memory.recall(key("runs"))).toBeNull();
    await memory.learn(key("runs"), value);
    expect(JSON.parse(await readFile(path, "utf8"))).toMatchObject({ version: 1 });
    expect((await openMemory(folder, wallNow)).recall(key("runs"))?.connections).toBe(32);
  },
);

test("where nothing can be written it is known until the end of the process, and nothing fails", async () => {
  const memory = await openMemory(join(folder, "missing", "links.json"), wallNow);
  await memory.learn(key("runs"), value);
  expect(memory.recall(key("runs"))?.connections).toBe(32);
  expect(await readdir(folder)).toEqual([]);
});

test("where a name led is known for an hour, and written again only when it is old or wrong", async () => {
  const at = (ms: number) => openMemory(folder, () => NOW + ms);
  const MINUTE = 60_000;
  await (await at(0)).learnAddresses("store.example", ["10.0.0.1", "::1"]);
  expect((await at(59 * MINUTE)).recallAddresses("store.example")).toEqual(["10.0.0.1", "::1"]);
  expect((await at(61 * MINUTE)).recallAddresses("store.example")).toEqual([]);
  const written = await readFile(join(folder, "names.json"), "utf8");
  await (await at(9 * MINUTE)).learnAddresses("store.example", ["10.0.0.7", "10.0.0.1"]);
  expect(await readFile(join(folder, "names.json"), "utf8")).toBe(written);
  await (await at(9 * MINUTE)).learnAddresses("store.example", ["10.0.0.8"]);
  expect((await at(9 * MINUTE)).recallAddresses("store.example")).toEqual(["10.0.0.8"]);
});

test("what is no address is not remembered", async () => {
  const entries = { "store.example": { addresses: ["elsewhere.example"], at: NOW } };
  await writeFile(join(folder, "names.json"), JSON.stringify({ version: 1, entries }));
  expect((await openMemory(folder, wallNow)).recallAddresses("store.example")).toEqual([]);
});
