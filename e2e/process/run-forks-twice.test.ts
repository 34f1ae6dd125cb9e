import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandOf, descendantsOf, listProcesses } from "../gate/process-tree.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { WORKER_SOURCES } from "../stage/start-worker.ts";
import { waitUntil } from "../stage/wait-until.ts";

/** A program whose process forks twice, with a session of its own and an empty environment: nothing in it tells whose it is. */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const isAlive = (pid: number) => listProcesses().some((one) => one.pid === pid && !one.isZombie);

/** Goes on until KILL, and writes down its number; so does its own child. */
const DAEMON = `trap '' TERM; echo $$ >> "$1"; sh -c 'trap "" TERM; echo $$ >> "$1"; while :; do sleep 0.2; done' sh "$1" & while :; do sleep 0.2; done`;
/** Starts the daemon so that its parent ends at once. `goes-on` waits; otherwise the program ends when the daemon runs. */
const PROGRAM = `(setsid env -i PATH="$PATH" sh -c '${DAEMON.replaceAll("'", `'\\''`)}' sh "$1" > /dev/null 2>&1 < /dev/null &)
  if [ "$2" = goes-on ]; then while :; do sleep 0.2; done; fi
  while [ "$(grep -c . "$1" 2>/dev/null)" != 2 ]; do sleep 0.05; done`;

function programOf(name: string, kind: "goes-on" | "ends") {
  const log = join(stage.dir, `${name}.log`);
  const pids = () => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n").filter(Boolean).map(Number) : []);
  return { pids, program: ["/bin/sh", "-c", PROGRAM, "sh", log, kind] };
}

/** Whether the worker has written down the one that it was left, in the session that this one made. */
function isNoted(name: string, pids: readonly number[]): boolean {
  const folder = join(stage.dir, "nodes", name, "state", "programs");
  const texts = existsSync(folder) ? readdirSync(folder).map((file) => readFileSync(join(folder, file), "utf8")) : [];
  const noted = texts.flatMap(
    (text) => (JSON.parse(text) as { others?: { pid: number; session: number }[] }).others ?? [],
  );
  return pids.length === 2 && noted.some(({ pid, session }) => pids.includes(pid) && session === pid);
}

test("is ended when the program has ended, and no zombie of it stays", async () => {
  const { pids, program } = programOf("ends", "ends");
  const worker = await stage.startNode({
    entry: WORKER_SOURCES,
    name: "ends",
    run: "ends",
    flags: ["--grace", "1s"],
    program,
  });
  expect(await worker.exited).toMatchObject({ code: 0 });
  expect(pids()).toHaveLength(2);
  expect(pids().some(isAlive)).toBe(false);
  expect(worker.lines.join("\n")).toMatch(/sh \(process \d+\)/);
});

test("is ended with a worker that was killed", async () => {
  const { pids, program } = programOf("killed", "goes-on");
  const worker = await stage.startNode({
    entry: WORKER_SOURCES,
    name: "killed",
    run: "killed",
    flags: ["--grace", "1s"],
    program,
  });
  await waitUntil("it is noted", () => isNoted("killed", pids()));
  process.kill(worker.pid, "SIGKILL");
  await waitUntil("nothing of it is left", () => !pids().some(isAlive));
});

test("is found by the next start where nobody was left to end it", async () => {
  const { pids, program } = programOf("again", "goes-on");
  const node = { entry: WORKER_SOURCES, name: "again", run: "again", flags: ["--grace", "1s"] };
  const first = await stage.startNode({ ...node, program });
  await waitUntil("it is noted", () => isNoted("again", pids()));
  const left = pids();
  for (const { pid } of descendantsOf(first.pid))
    if (commandOf(pid).includes("tidemark-watchdog")) process.kill(pid, "SIGKILL");
  process.kill(first.pid, "SIGKILL");
  expect(left.every(isAlive)).toBe(true);
  const second = await stage.startNode({ ...node, program: ["true"] });
  expect(await second.exited).toMatchObject({ code: 0 });
  expect(second.lines.join("\n")).toContain("Still running from an earlier start");
  expect(left.some(isAlive)).toBe(false);
});

test("that ends long before the program leaves no zombie behind", async () => {
  const log = join(stage.dir, "zombie.log");
  const script = `(setsid env -i sh -c 'echo $$ >> "$1"; exec sleep 0.3' sh "$1" > /dev/null 2>&1 &) ; while :; do sleep 0.2; done`;
  const worker = await stage.startNode({
    name: "zombie",
    run: "zombie",
    program: ["/bin/sh", "-c", script, "sh", log],
  });
  await waitUntil("it ran", () => existsSync(log) && readFileSync(log, "utf8").includes("\n"));
  const pid = Number(readFileSync(log, "utf8"));
  await waitUntil("it is gone, its number too", () => !listProcesses().some((one) => one.pid === pid));
  await worker.stop();
});
