import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Command } from "#protocol/commands.ts";
import { Fault } from "#protocol/fault.ts";
import { runName } from "#protocol/names.ts";
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
  const hands: Taking["hands"] = {
    restore: () => void done.push("restore"),
    steer: async (transferId, wish) => {
      if (transferId === "transfer-lost") throw new Fault("NOT_FOUND");
      done.push(wish);
    },
  };
  taking = { memory, outbox, hands, now: () => 1 };
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
  expect(done).toEqual(["pause"]);
  expect(told()).toEqual(["command-accepted", "command-ended"]);
});

test("it is remembered across a restart", async () => {
  await takeCommand(taking, pause);
  const later = await openCommandMemory(join(folder, "commands.jsonl"));
  await takeCommand({ ...taking, memory: later }, pause);
  expect(done).toEqual(["pause"]);
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
