import { setTimeout as pause } from "node:timers/promises";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { READY, type ToolCommand } from "./driver.ts";
import { runTool } from "./run-tool.ts";

const shell = (script: string, rest: Partial<ToolCommand> = {}): ToolCommand => ({
  program: "/bin/sh",
  args: ["-c", script],
  env: { PATH: "/usr/bin:/bin", HOME: tmpdir() },
  ...rest,
});

const MIB = 1024 * 1024;
const limits = (rest: { timeMs?: number; memoryBytes?: number; signal?: AbortSignal } = {}) => ({
  timeMs: 60_000,
  memoryBytes: 1024 * MIB,
  signal: new AbortController().signal,
  secrets: ["hunter2"],
  ...rest,
});

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** A killed process whose parent is gone may stay a moment until the system has taken note of it. */
async function whenGone(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 200 && isAlive(pid); tries++) await pause(50);
  return !isAlive(pid);
}

test("what a program is given and says comes through, without secrets, and nothing of our own environment does", async () => {
  const end = await runTool(shell("cat; env; echo key hunter2 >&2; exit 7", { stdin: "through stdin\n" }), limits());
  expect(end).toMatchObject({ code: 7, signal: null, endedBy: "itself", readyMs: null });
  expect(end.out).toContain("through stdin");
  expect(end.log).toContain("key [secret]");
  expect(end.log).not.toContain("hunter2");
  expect(end.log).not.toContain("VITEST");
});

test("what takes too long is ended with all that it started", async () => {
  const end = await runTool(shell("sleep 300 & echo $!; wait"), limits({ timeMs: 1_500 }));
  expect(end).toMatchObject({ code: null, signal: "SIGKILL", endedBy: "time" });
  expect(await whenGone(Number(end.out))).toBe(true);
});

test("what a program leaves behind is ended with it", async () => {
  const end = await runTool(shell("sleep 300 > /dev/null 2>&1 & echo $!"), limits());
  expect(end).toMatchObject({ code: 0, endedBy: "itself" });
  expect(await whenGone(Number(end.out))).toBe(true);
});

test("what takes too much memory is ended, and the most that it had is told", async () => {
  const greedy = shell("", {
    program: process.execPath,
    args: ["-e", "const held = []; setInterval(() => held.push(Buffer.alloc(8e6, 1)), 20)"],
  });
  const end = await runTool(greedy, limits({ memoryBytes: 150 * MIB }));
  expect(end.endedBy).toBe("memory");
  expect(end.peakBytes).toBeGreaterThan(150 * MIB);
});

test("what nobody wants any more is ended", async () => {
  const controller = new AbortController();
  const ended = runTool(shell("sleep 300"), limits({ signal: controller.signal }));
  controller.abort();
  expect(await ended).toMatchObject({ endedBy: "cancelled" });
});

test("a library says when it is loaded", async () => {
  const end = await runTool(shell(`sleep 0.5; echo '${READY}'; sleep 0.2`), limits());
  expect(end.readyMs).toBeGreaterThan(400);
  expect(end.wallMs).toBeGreaterThan(end.readyMs ?? Infinity);
});

test("a program that is not there is a fault", async () => {
  const nothing = runTool(shell("", { program: "/nowhere/at-all" }), limits());
  await expect(nothing).rejects.toMatchObject({ code: "PROGRAM_NOT_FOUND" });
});
