import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openOutbox } from "./outbox.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-outbox-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));
const open = () => openOutbox(join(folder, "outbox.jsonl"), () => 7);
const event = { type: "command-accepted", commandId: "command-1" } as const;

test("events survive a kill, keep their numbers, and are forgotten only when the hub has them", async () => {
  const before = await open();
  await before.add(event);
  await before.add(event);
  await before.add(event);
  await before.accepted(1);
  const after = await open();
  expect(after.next().map(({ seq }) => seq)).toEqual([2, 3]);
  await after.accepted(3);
  await after.add(event);
  expect(after.next().map(({ seq }) => seq)).toEqual([4]);
  await before.close();
  await after.close();
});

test("numbers go on where the hub stands, even when this folder forgot", async () => {
  const outbox = await open();
  await outbox.accepted(40);
  await outbox.add(event);
  expect(outbox.next().map(({ seq }) => seq)).toEqual([41]);
  await outbox.close();
});

test("at most a hundred are handed over at once", async () => {
  const outbox = await open();
  await Promise.all(Array.from({ length: 130 }, () => outbox.add(event)));
  expect(outbox.next()).toHaveLength(100);
  await outbox.close();
});
