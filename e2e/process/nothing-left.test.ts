import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { commandOf, descendantsOf, listProcesses, type ProcessEntry, stillRunning } from "../gate/process-tree.ts";
import { ROOT } from "../stage/start-process.ts";
import { waitUntil } from "../stage/wait-until.ts";

/** `npm run demo` with a store, a hub and a worker, ended in every way that a door can end. */

const DOOR = join(ROOT, "ready.mjs");
let dir = "";
let started: ChildProcess | null = null;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "left-"));
  mkdirSync(join(dir, "tmp"));
});
afterEach(() => {
  started?.kill("SIGKILL");
  rmSync(dir, { recursive: true, force: true });
});

const PARTS = [
  "ready.mjs",
  "supervise.ts",
  "store/main",
  "server/main",
  "signer/main",
  "http/main",
  "worker/main",
  "train.ts",
];

/** Starts a demo under `before` and resolves with all its processes once each part runs. */
async function startDemo(before: readonly string[] = []): Promise<ProcessEntry[]> {
  const command = [process.execPath, DOOR, "demo", "--nodes", "1", "--dir", join(dir, "demo")];
  const [program = "", ...args] = before.length === 0 ? command : [...before, command.join(" "), "/dev/null"];
  const child = spawn(program, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, TMPDIR: join(dir, "tmp") },
  });
  started = child;
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
  await waitUntil("the demo is ready", () => {
    if (child.exitCode !== null) throw new Error(said);
    return said.includes("demo is ready");
  });
  return waitUntil("every part of the demo runs", () => {
    const all = listProcesses();
    const tree = [...all.filter(({ pid }) => pid === child.pid), ...descendantsOf(child.pid ?? 0, all)];
    const commands = tree.map(({ pid }) => commandOf(pid));
    return PARTS.every((part) => commands.some((command) => command.includes(part))) && tree;
  });
}

/** The door among the processes of a demo. */
const doorOf = (tree: readonly ProcessEntry[]): number =>
  tree.find(({ pid }) => commandOf(pid).startsWith(`${process.execPath} ${DOOR}`))?.pid ?? 0;

/** Resolves when every process has ended, with the temporary files that are left. */
async function leftAfter(tree: readonly ProcessEntry[]): Promise<string[]> {
  await waitUntil("every process has ended", () => stillRunning(tree).length === 0);
  return readdirSync(join(dir, "tmp"));
}

describe.skipIf(process.platform === "win32")("no process and no temporary file of a demo is left", () => {
  test.each(["SIGTERM", "SIGINT", "SIGKILL"] as const)("after %s to the door", async (signal) => {
    const tree = await startDemo();
    process.kill(doorOf(tree), signal);
    expect(await leftAfter(tree)).toEqual([]);
  });

  test("of a program that ignores signals and has started another one in a session of its own", async () => {
    const stubborn = 'process.on("SIGTERM", () => undefined); setInterval(() => undefined, 1_000);';
    const other = `spawn(process.execPath, ["-e", ${JSON.stringify(stubborn)}], { detached: true, stdio: "ignore" });`;
    const program = join(dir, "stubborn.mjs");
    writeFileSync(
      program,
      `import { spawn } from "node:child_process";\n${other}\nconsole.log("ready", process.env.GATE_MEMORY);\n${stubborn}\n`,
    );
    const supervisor = spawn(process.execPath, [join(ROOT, "e2e/gate/supervise.ts"), program], {
      stdio: ["ignore", "pipe", "inherit", "pipe"],
      env: { ...process.env, TMPDIR: join(dir, "tmp") },
    });
    started = supervisor;
    let said = "";
    supervisor.stdout?.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const tree = await waitUntil("both run", () => {
      const found = descendantsOf(supervisor.pid ?? 0);
      return said.includes("ready") && found.length >= 2 && found;
    });
    const memory = /ready (\S+)/.exec(said)?.[1] ?? "";
    expect(existsSync(memory)).toBe(true);
    // It removes the temporary files when all others have ended.
    const ended = once(supervisor, "exit");
    supervisor.kill("SIGTERM");
    try {
      await ended;
      expect(await leftAfter(tree)).toEqual([]);
      expect(existsSync(memory)).toBe(false);
    } finally {
      for (const { pid } of stillRunning(tree)) process.kill(pid, "SIGKILL");
    }
  });

  // The door gets SIGHUP.
  test.skipIf(process.platform !== "linux")("after its terminal was closed", async () => {
    const tree = await startDemo(["script", "-qec"]);
    started?.kill("SIGKILL");
    expect(await leftAfter(tree)).toEqual([]);
  });
});
