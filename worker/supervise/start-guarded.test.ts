import { readdirSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Agent } from "../agent/agent-assemble.ts";
import { listProcesses, readCommandLine } from "../host/list-processes.ts";
import { isWatchdogOf } from "../program/end-with-worker.ts";
import { startGuarded } from "./start-guarded.ts";

let state: string;
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), "tidemark-guarded-"));
});
afterEach(() => rm(state, { recursive: true, force: true }));

/** Lists the watchdogs of programs that have a record in the state folder. */
function watchdogs(ids: readonly string[]): number[] {
  const own = listProcesses().filter(({ parent }) => parent === process.pid);
  return own.map(({ pid }) => pid).filter((pid) => ids.some((id) => isWatchdogOf(readCommandLine(pid), id)));
}

test("a program that cannot be started leaves no record, no watchdog and no timer", async () => {
  const timers = vi.spyOn(globalThis, "setInterval");
  const agent = { state, options: { watches: [] }, reporter: { waitingFor: () => undefined } };
  let ids: string[] = [];
  let guarded: number[] = [];
  const started = startGuarded(agent as unknown as Agent, {
    command: ["no-such-program-anywhere"],
    name: "no-such-program-anywhere",
    options: { env: {}, out: new PassThrough(), err: new PassThrough(), onSaid: () => undefined, hasOwnSession: true },
    policy: "end",
    patienceMs: 1_000,
    onStart: () => {
      ids = readdirSync(join(state, "programs")).map((name) => name.replace(/\.json$/, ""));
      guarded = watchdogs(ids);
    },
  });
  await expect(started).rejects.toMatchObject({ code: "PROGRAM_NOT_FOUND" });
  expect(await readdir(join(state, "programs"))).toEqual([]);
  // A watchdog was there before the start, and has ended.
  expect(guarded).toHaveLength(1);
  await expect.poll(() => watchdogs(ids)).toEqual([]);
  // Others in this process have timers too.
  expect(timers.mock.calls.filter(([act]) => String(act).includes("adopted"))).toEqual([]);
  timers.mockRestore();
});
