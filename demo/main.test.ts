import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createHubClient, signIn } from "#e2e/stage/hub-client.ts";
import { runOnce } from "#e2e/stage/run-once.ts";
import { type RunningProcess, startProcess } from "#e2e/stage/start-process.ts";
import { waitUntil } from "#e2e/stage/wait-until.ts";

const dir = mkdtempSync(join(tmpdir(), "tidemark-demo-"));
let demo: RunningProcess | null = null;
afterAll(async () => {
  await demo?.stop();
  rmSync(dir, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function startDemo(args: string[]) {
  await demo?.stop();
  demo = await startProcess({
    title: "demo",
    entry: "demo/main.ts",
    args: ["--dir", dir, ...args],
    readyWithinMs: 120_000,
    readReady: (line) => /^ {2}password +(\S+)$/.exec(line)?.[1] ?? null,
  });
  const url = demo.lines.flatMap((line) => /ready at (http:\/\/\S+)/.exec(line)?.[1] ?? [])[0] ?? "";
  const client = createHubClient(url, await signIn(url, { email: "you@demo.local", password: demo.ready }));
  return { client, url, password: demo.ready, process: demo };
}

test("prints address and sign-in, makes checkpoints safe, stops as a whole, and keeps its data", async () => {
  const port = String(await freePort());
  const first = await startDemo(["--nodes", "2", "--port", port]);
  expect((await fetch(first.url)).status).toBe(200);
  const step = await waitUntil(
    "a checkpoint of the first node is complete",
    async () =>
      (await first.client.runs.list.query()).find((run) => run.name === "llama-8b-sft" && run.complete > 0)?.newestStep,
  );
  expect(step).toBeGreaterThanOrEqual(100);
  const nodes = (await first.client.nodes.list.query()).map((node) => node.id).toSorted();
  expect(nodes).toHaveLength(2);
  expect(await first.process.stop("SIGINT")).toEqual({ code: 0, signal: null });
  await expect(fetch(first.url)).rejects.toThrow();

  const second = await startDemo(["--nodes", "2", "--port", port]);
  expect(second.password).toBe(first.password);
  expect((await second.client.nodes.list.query()).map((node) => node.id).toSorted()).toEqual(nodes);
  const run = (await second.client.runs.list.query()).find((one) => one.name === "llama-8b-sft");
  expect(run?.complete).toBeGreaterThanOrEqual(1);
});

test("a worker that is killed is started again on an empty disk and goes on from its newest complete checkpoint", async () => {
  const { client, process: running } = await startDemo(["--nodes", "1", "--port", String(await freePort()), "--reset"]);
  const run = async () => (await client.runs.list.query()).find(({ name }) => name === "llama-8b-sft");
  const before = await waitUntil("a checkpoint is complete", async () => (await run())?.newestStep);
  const pid = Number(running.lines.flatMap((line) => /gpu-1 +worker (\d+)/.exec(line)?.[1] ?? [])[0]);
  process.kill(pid, "SIGKILL");
  await waitUntil("it is said", () => running.lines.some((line) => line.includes("gpu-1 died (SIGKILL)")));
  await waitUntil("it is back", () => running.lines.some((line) => /gpu-1 is back, worker \d+/.test(line)));
  const asked = { nodeId: null, run: null, cursor: null, limit: 50, kinds: ["restore-done"] };
  const restored = await waitUntil(
    "its checkpoint is restored",
    async () => (await client.events.list.query(asked)).rows[0],
  );
  expect(restored.step).toBeGreaterThanOrEqual(before);
  await waitUntil("it goes on", async () => ((await run())?.newestStep ?? 0) > (restored.step ?? 0));
  expect(await running.stop("SIGINT")).toEqual({ code: 0, signal: null });
});

test("refuses what it does not understand with a sentence", async () => {
  const outcome = await runOnce("demo/main.ts", ["--nodes", "many"]);
  expect(outcome.code).toBe(2);
  expect(outcome.stderr).toContain("choose a number from 1 to 24");
});
