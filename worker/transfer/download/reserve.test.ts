import { mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { createFakeClock } from "#worker/testing/fake-clock.ts";
import { reserve, waitForRoom } from "./reserve.ts";
import { createPatience } from "../store-session/retry.ts";

const MIB = 1024 * 1024;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-reserve-"));
});
afterAll(() => rm(folder, { recursive: true }));

test.each([1, 5 * MIB, 40 * MIB])("a file of %d bytes has its length before its bytes come", async (sizeBytes) => {
  const path = join(folder, `file-${sizeBytes}`);
  const handle = await open(path, "w+");
  await reserve(handle, { path, sizeBytes });
  await handle.close();
  expect((await stat(path)).size).toBe(sizeBytes);
});

function waiting(bytes: number) {
  const clock = createFakeClock();
  const patience = createPatience(clock);
  const stop = new AbortController();
  const full = new Fault("NO_SPACE", { subject: "file" });
  const about = { path: join(folder, "file"), bytes, clock, patience, patienceMs: 5_000, signal: stop.signal };
  return { clock, stop, full, done: waitForRoom(full, about) };
}

test("a full disk is waited for until there is room", async () => {
  const { clock, done } = waiting(1);
  await clock.pass(1_000);
  await expect(done).resolves.toBeUndefined();
});

/** Moves time on as long as `done` is open: looking at the disk takes real time. */
async function passUntil(clock: ReturnType<typeof createFakeClock>, done: Promise<unknown>) {
  const state = { isOpen: true };
  const end = () => {
    state.isOpen = false;
  };
  const ended = done.then(end, end);
  while (state.isOpen) {
    await clock.pass(1_000);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  await ended;
}

test("and given up with its own fault when the transfer has no patience left", async () => {
  const { clock, full, done } = waiting(Number.MAX_SAFE_INTEGER);
  await passUntil(clock, done);
  await expect(done).rejects.toBe(full);
});

test("or when it is cancelled", async () => {
  const { clock, stop, done } = waiting(Number.MAX_SAFE_INTEGER);
  await clock.pass(500);
  stop.abort();
  await expect(done).rejects.toMatchObject({ code: "CANCELLED" });
});
