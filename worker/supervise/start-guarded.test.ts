import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Agent } from "../agent/agent-assemble.ts";
import { startGuarded } from "./start-guarded.ts";

const { over } = vi.hoisted(() => ({ over: vi.fn() }));
vi.mock("../program/end-with-worker.ts", async (original) => ({
  ...(await original<object>()),
  startWatchdog: () => ({ watch: () => undefined, watchOthers: () => undefined, over }),
}));

let state: string;
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), "tidemark-guarded-"));
});
afterEach(() => rm(state, { recursive: true, force: true }));

test("a program that cannot be started leaves no record, no watchdog and no timer", async () => {
  const timers = vi.spyOn(globalThis, "setInterval");
  const agent = { state, options: { watches: [] }, reporter: { waitingFor: () => undefined } };
  const started = startGuarded(agent as unknown as Agent, {
    command: ["no-such-program-anywhere"],
    name: "no-such-program-anywhere",
    options: { env: {}, out: new PassThrough(), err: new PassThrough(), onSaid: () => undefined, hasOwnSession: true },
    policy: "end",
    patienceMs: 1_000,
    onStart: () => undefined,
  });
  await expect(started).rejects.toMatchObject({ code: "PROGRAM_NOT_FOUND" });
  expect(await readdir(join(state, "programs"))).toEqual([]);
  expect(over).toHaveBeenCalledOnce();
  // Others in this process have timers too.
  expect(timers.mock.calls.filter(([act]) => String(act).includes("adopted"))).toEqual([]);
  timers.mockRestore();
});
