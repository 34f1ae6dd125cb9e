import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Command } from "#protocol/wire/commands.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { runName } from "#protocol/base/names.ts";
import { openCommandMemory, type CommandMemory } from "./command-memory.ts";
import { openOutbox, type Outbox } from "./outbox.ts";
import { finishTaken, takeCommand, type Taking } from "./take-command.ts";

let folder: string;
let memory: CommandMemory;
let outbox: Outbox;
let done: string[];
let taking: Taking;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-commands-"));
  memory = await openCommandMemory(join(folder, "commands.jsonl"));
  outbox = await openOutbox(join(folder, "outbox.jsonl"), () => 1);
  done = [];
  const handlers: Taking["handlers"] = {
    wakeJobs: () => void done.push("restore"),
    handle: async (order) => {
      if ("transferId" in order && order.transferId === "transfer-lost") throw new Fault("NOT_FOUND");
      done.push(order.kind);
      return { detail: order.kind === "probe" ? { up: 5 } : null, afterwards: () => done.push(`after ${order.kind}`) };
    },
  };
  const signal = new AbortController().signal;
  taking = { memory, outbox, handlers, now: () => 1_000, signal, onTrouble: (error) => done.push(String(error)) };
});
afterEach(async () => {
  await Promise.all([memory.close(), outbox.close()]);
  await rm(folder, { recursive: true, force: true });
});

const pause: Command = { kind: "pause", id: "command-1", transferId: "transfer-1" };
const restore: Command = {
  kind: "restore",
  id: "command-2",
  transferId: "transfer-2",
  checkpointId: "checkpoint-2",
  run: runName.parse("llama"),
  step: 5,
  targetPath: "/out/checkpoint-5",
};
const told = () => outbox.next().map((event) => event.type);

test("a command that comes again and again takes effect once", async () => {
  for (let times = 0; times < 3; times++) await takeCommand(taking, pause);
  expect(done).toEqual(["pause", "after pause"]);
  expect(told()).toEqual(["command-accepted", "command-ended"]);
});

test("it is remembered across a restart", async () => {
  await takeCommand(taking, pause);
  const later = await openCommandMemory(join(folder, "commands.jsonl"));
  await takeCommand({ ...taking, memory: later }, pause);
  expect(done).toEqual(["pause", "after pause"]);
  await later.close();
});

test("a command for a transfer that is not here ends as failed, with the reason", async () => {
  await takeCommand(taking, { ...pause, transferId: "transfer-lost" });
  expect(outbox.next().at(-1)).toMatchObject({ outcome: "failed", fault: { code: "NOT_FOUND" } });
});

test("a restore under way when the process died waits to go on, and the hub hears that it was taken", async () => {
  await takeCommand(taking, restore);
  await memory.setState("command-2", "running", null);
  const later = await openCommandMemory(join(folder, "commands.jsonl"));
  expect(later.restores()).toMatchObject([{ state: "waiting", ended: false, command: { id: "command-2" } }]);
  await finishTaken({ ...taking, memory: later });
  expect(told()).toEqual(["command-accepted", "command-accepted"]);
  await later.close();
});

/** What an earlier life of the worker left, killed after `begun` or before. */
async function killedAfter(command: Command, at: "accepted" | "begun"): Promise<Taking> {
  await memory.accept(command, 1);
  if (at === "begun") await memory.start(command.id);
  await memory.close();
  memory = await openCommandMemory(join(folder, "commands.jsonl"));
  return { ...taking, memory };
}
const ends = () => outbox.next().filter((event) => event.type === "command-ended");
const probe: Command = { kind: "probe", id: "command-3" };
const stop: Command = { kind: "stop", id: "command-4", graceMs: 5 };

test("one that comes after its time is not carried out, and ends as expired", async () => {
  await takeCommand(taking, { ...probe, expiresAt: 1_000 });
  expect(done).toEqual([]);
  expect(told()).toEqual(["command-ended"]);
  expect(ends()).toMatchObject([{ outcome: "expired", fault: { code: "EXPIRED" } }]);
});

test("one that comes in time is carried out, and its end carries what was found", async () => {
  await takeCommand(taking, { ...probe, expiresAt: 1_001 });
  // Its end can be read in the outbox a moment before the node's own memory has it, and what comes afterwards waits for both.
  await expect.poll(() => done).toEqual(["probe", "after probe"]);
  expect(ends()).toMatchObject([{ outcome: "done", detail: { up: 5 } }]);
});

test("one that was accepted but not begun in time is not begun late after a kill", async () => {
  await finishTaken(await killedAfter({ ...stop, expiresAt: 1_000 }, "accepted"));
  expect(done).toEqual([]);
  expect(ends()).toMatchObject([{ outcome: "expired" }]);
});

test("a probe that was begun before a kill is not measured a second time, and says so", async () => {
  await finishTaken(await killedAfter(probe, "begun"));
  expect(done).toEqual([]);
  expect(ends()).toMatchObject([{ outcome: "failed", fault: { code: "INTERRUPTED" } }]);
});

test("a stop that was begun before a kill does not end the worker that came after it", async () => {
  await finishTaken(await killedAfter(stop, "begun"));
  expect(done).toEqual([]);
  expect(ends()).toMatchObject([{ outcome: "done" }]);
});

test("a cancellation that took effect before a kill is done, not failed", async () => {
  await finishTaken(await killedAfter({ kind: "cancel", id: "command-5", transferId: "transfer-lost" }, "begun"));
  expect(ends()).toMatchObject([{ outcome: "done", fault: null }]);
});

test("what ends the worker is done after its end is in the outbox", async () => {
  const order: string[] = [];
  const add = outbox.add;
  const watched: Outbox = {
    ...outbox,
    next: outbox.next,
    add: (event) => add(event).then(() => void order.push(event.type)),
  };
  const handlers = {
    ...taking.handlers,
    handle: async () => ({ detail: null, afterwards: () => order.push("effect") }),
  };
  await takeCommand({ ...taking, outbox: watched, handlers }, stop);
  expect(order).toEqual(["command-accepted", "command-ended", "effect"]);
});
