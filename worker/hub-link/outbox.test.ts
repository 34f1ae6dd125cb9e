import { mkdtemp, rm, stat, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { runName } from "#protocol/base/names.ts";
import { ENDED_UNSAFE } from "#protocol/wire/reports.ts";
import { systemClock } from "../base/clock.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import { openOutbox, type Outbox } from "./outbox.ts";
import { deliver, keepDelivering } from "./report.ts";

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

const numbers = (outbox: Outbox) => outbox.next().map(({ seq }) => seq);
const named = (commandId: string) => ({ type: "command-accepted", commandId }) as const;
const names = (outbox: Outbox) =>
  outbox.next().map((told) => (told.type === "command-accepted" ? [told.seq, told.commandId] : []));

test("numbers go on where the hub stands, even when this folder forgot", async () => {
  const outbox = await open();
  await outbox.meet(40);
  await outbox.add(event);
  expect(numbers(outbox)).toEqual([41]);
  await outbox.close();
});

test.each([[40], [2], [1]])(
  "what was added before the hub said %i, on a folder that forgot, is numbered again",
  async (stand) => {
    const first = await open();
    await first.add(named("command-1"));
    const killed = await open();
    await killed.add(named("command-2"));
    const adding = killed.add(named("command-3"));
    await killed.meet(stand);
    await adding;
    const begin = Math.max(3, stand);
    const told = [1, 2, 3].map((n) => [begin + n, `command-${n}`]);
    expect(names(killed)).toEqual(told);
    const after = await open();
    expect(names(after)).toEqual(told);
    await after.accepted(begin + 3);
    expect(names(after)).toEqual([]);
    await Promise.all([first, killed, after].map((outbox) => outbox.close()));
  },
);

test("what the hub took before a kill and what is new are told apart, each is told once", async () => {
  const before = await open();
  await before.meet(0);
  await before.add(named("command-1"));
  await before.add(named("command-2"));
  before.next();
  const after = await open();
  await after.add(named("command-3"));
  await after.meet(2);
  expect(names(after)).toEqual([[3, "command-3"]]);
  // Sent, and the answer was lost: another hello says that it arrived.
  await after.meet(3);
  expect(names(after)).toEqual([]);
  await Promise.all([before.close(), after.close()]);
});

test("the end of a file that is cut off costs what was in it, and nothing that came later", async () => {
  const path = join(folder, "outbox.jsonl");
  const before = await open();
  await before.meet(0);
  await before.add(named("command-1"));
  const whole = (await stat(path)).size;
  await before.add(named("command-2"));
  await before.close();
  await truncate(path, whole);
  const after = await open();
  await after.add(named("command-3"));
  await after.meet(2);
  expect(names(after)).toEqual([[3, "command-3"]]);
  await after.close();
});

test("an event that could not be written is not sent: its number may be used again", async () => {
  const outbox = await open();
  await outbox.close();
  await expect(outbox.add(event)).rejects.toMatchObject({ code: "WRITE_FAILED" });
  expect(numbers(outbox)).toEqual([]);
});

test("nothing is sent before it is on disk, nor before the hub has said how far it is", async () => {
  const outbox = await open();
  const adding = outbox.add(event);
  expect(numbers(outbox)).toEqual([]);
  await adding;
  const hub = createFakeHub({ record: () => ({ acceptedThrough: 1 }) });
  await deliver(outbox, hub);
  expect(hub.asked).toEqual([]);
  const over = new AbortController();
  const delivering = keepDelivering(outbox, { hub, clock: systemClock, signal: over.signal });
  await outbox.meet(0);
  await expect.poll(() => numbers(outbox)).toEqual([]);
  expect(hub.asked).toEqual(["record"]);
  over.abort();
  await delivering;
  await outbox.close();
});

test("the same refusal again and again, while the hub is away, is one", async () => {
  const outbox = await open();
  const refused = (run: string, code: "NO_SPACE" | "READ_FAILED", path: string) =>
    outbox.add({ type: "capture-refused", run: runName.parse(run), path, fault: new Fault(code).toData() });
  await outbox.meet(0);
  for (let step = 1; step <= 50; step++) await refused("story", "NO_SPACE", `/checkpoints/${step}`);
  await refused("story", "READ_FAILED", "/checkpoints/1");
  await refused("other", "NO_SPACE", "/checkpoints/1");
  expect(numbers(outbox)).toEqual([1, 2, 3]);
  // They may have arrived: what comes now is news.
  await refused("story", "NO_SPACE", "/checkpoints/51");
  expect(numbers(outbox)).toEqual([1, 2, 3, 4]);
  await outbox.close();
});

test("that a program ended with nothing safe is told beside a file that was not taken, also while the hub is away", async () => {
  const outbox = await open();
  await outbox.meet(0);
  for (const op of ["capture", ENDED_UNSAFE, ENDED_UNSAFE]) {
    const fault = new Fault("NO_CHECKPOINT", { op }).toData();
    await outbox.add({ type: "capture-refused", run: runName.parse("story"), path: "/w/notes.bin", fault });
  }
  expect(outbox.next().map((one) => one.type === "capture-refused" && one.fault.op)).toEqual(["capture", ENDED_UNSAFE]);
  await outbox.close();
});

test("at most a hundred are handed over at once", async () => {
  const outbox = await open();
  await Promise.all(Array.from({ length: 130 }, () => outbox.add(event)));
  expect(outbox.next()).toHaveLength(100);
  await outbox.close();
});
