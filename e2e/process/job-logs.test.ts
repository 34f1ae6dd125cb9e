import { spawn } from "node:child_process";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JobDraft } from "#protocol/jobs/job-spec.ts";
import type { LogAnswer } from "#protocol/jobs/job-log.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { ROOT, commandOf } from "../stage/start-process.ts";
import { waitUntil } from "../stage/wait-until.ts";

/** Output of jobs over a real hub and store: it is shown while it is new, kept when its worker is killed, and read afterwards. */
let stage: Stage;
let env: Record<string, string>;
beforeAll(async () => {
  stage = await openStage();
  const { token } = await stage.client.apiTokens.create.mutate({ name: "logs", role: "operator" });
  env = { TIDEMARK_HUB: stage.hub.url, TIDEMARK_API_TOKEN: token };
});
afterAll(() => stage.close());

const SECRET = "hf_not-in-any-log";
const flag = (name: string): string => join(stage.dir, `go-${name}`);
const startWorker = (name: string) =>
  stage.startNode({ name, queue: name, flags: ["--work-folder", join(stage.dir, "nodes", name, "jobs")] });

async function submit(name: string, script: string, more: Partial<JobDraft> = {}): Promise<string> {
  const job = { name, queue: name, command: "sh", arguments: ["-c", script], secrets: { HF_TOKEN: SECRET }, ...more };
  return (await stage.client.jobs.submit.mutate({ jobs: [job] })).jobs[0]?.id ?? "";
}
const logOf = (id: string, attempt?: number): Promise<LogAnswer> =>
  stage.client.jobs.log.query({ id, ...(attempt !== undefined && { attempt }) });
const textOf = ({ pieces }: LogAnswer): string => pieces.map(({ text }) => text).join("");
const isDone = (id: string) => async () => (await stage.client.jobs.get.query({ id })).state === "done";
const jobs = (...args: string[]) => runOnce(testedWorker(), ["jobs", ...args], { env });

test("a person follows the output of a running program, without its secrets, to its end", async () => {
  const wait = `until test -e '${flag("live")}'; do sleep 0.1; done`;
  const id = await submit("live", `echo first; echo "token $HF_TOKEN" >&2; ${wait}; echo last`);
  const worker = await startWorker("live");
  const [program, ...before] = commandOf(testedWorker());
  const followed = spawn(program, [...before, "jobs", "logs", id, "-f"], {
    cwd: ROOT,
    env: { ...process.env, NO_COLOR: "1", ...env },
  });
  let out = "";
  followed.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => followed.once("close", resolve));
  await waitUntil(
    "the first lines are shown while it runs",
    () => out.includes("first\n") && out.includes("token ***"),
  );
  expect(await isDone(id)()).toBe(false);
  writeFileSync(flag("live"), "");
  expect(await ended).toBe(0);
  expect(out.split("\n").toSorted()).toEqual(["", "first", "last", "token ***"]);
  await waitUntil("it is done", isDone(id));
  const log = await logOf(id);
  expect(textOf(log)).not.toContain(SECRET);
  expect(log).toMatchObject({ isRunning: false, keptBytes: log.totalBytes, firstByte: 0, whyNotKept: null });
  await worker.stop();
  const found = await jobs("logs", id, "--find", "TOKEN");
  expect(found.stdout).toBe("token ***\n");
});

test("an attempt whose worker is killed keeps what was sent, and the next one has an output of its own", async () => {
  const id = await submit("killed", `echo "attempt on $PWD"; test -e '${flag("killed")}' || sleep 600`);
  const worker = await startWorker("killed");
  await waitUntil("its first output is in the bucket", async () => (await logOf(id)).keptBytes > 0);
  await worker.stop("SIGKILL");
  writeFileSync(flag("killed"), "");
  const again = await startWorker("killed");
  await waitUntil("it is done", isDone(id));
  const [first, second] = [await logOf(id, 1), await logOf(id, 2)];
  expect([textOf(first), textOf(second)]).toEqual([
    expect.stringContaining("attempt on"),
    expect.stringContaining("attempt on"),
  ]);
  expect(first.isRunning).toBe(false);
  await again.stop();
  const shown = await jobs("logs", id, "--attempt", "1");
  expect(shown).toMatchObject({ code: 0, stdout: textOf(first) });
});

test("of a program that prints more than its policy keeps the beginning and the end stay, and the gap is told", async () => {
  const script = `i=0; while [ $i -lt 60000 ]; do echo "line $i of a program that prints a lot"; i=$((i+1)); done`;
  const id = await submit("loud", script, { policy: { logBytes: 600_000 } });
  const worker = await startWorker("loud");
  await waitUntil("it is done", isDone(id));
  const log = await logOf(id);
  const total = Array.from({ length: 60_000 }, (_, i) => `line ${i} of a program that prints a lot\n`).join("").length;
  expect(log.totalBytes).toBe(total);
  expect(log.keptBytes).toBeLessThan(1_200_000);
  expect(log.firstByte).toBe(0);
  const { stdout, stderr } = await jobs("logs", id);
  expect(stdout).toContain("\nline 59999 of a program that prints a lot\n");
  expect(stderr).toMatch(/\[.* left out\]/);
  await worker.stop();
});
