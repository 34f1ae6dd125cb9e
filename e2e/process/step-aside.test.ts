import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { getPriority } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const isWhole = process.platform === "linux" && spawnSync("ionice").error === undefined;

/** What its threads have: `nice` of every one, and the I/O priority of the process. */
function prioritiesOf(pid: number): { nice: number[]; io: string } {
  const threads = readdirSync(`/proc/${pid}/task`);
  const stat = (thread: string) => readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8");
  const nice = threads.map((thread) => Number(stat(thread).split(") ").at(-1)?.split(" ")[16]));
  return { nice: [...new Set(nice)], io: execFileSync("ionice", ["-p", String(pid)], { encoding: "utf8" }).trim() };
}

/** The tests themselves may have been started with a lower priority, which a worker does not raise. */
const OWN_NICE = getPriority();
const OWN_IO = isWhole ? execFileSync("ionice", { encoding: "utf8" }).trim() : "";
const ASIDE = { nice: [Math.max(OWN_NICE, 5)], io: OWN_IO === "idle" ? OWN_IO : "best-effort: prio 7" };
const isAside = (pid: number) => JSON.stringify(prioritiesOf(pid)) === JSON.stringify(ASIDE);

test.runIf(isWhole)("an agent steps aside with all of its threads", async () => {
  const { pid } = await stage.startNode({ name: "aside", run: "aside" });
  await waitUntil("it has stepped aside", () => isAside(pid));
});

test.runIf(isWhole)("however many cores there are, one thread works, and few help it", async () => {
  const { pid } = await stage.startNode({ name: "few", run: "few", flags: ["--concurrency", "96"] });
  writeCheckpoint({ folder: stage.folderOf("few"), step: 1, modelBytes: 8 << 20, optimizerBytes: 0, loss: 1 });
  await waitUntil("it has saved one", async () =>
    (await stage.client.runs.get.query({ run: runName.parse("few") })).checkpoints.some(
      ({ state }) => state === "complete",
    ),
  );
  const of = readdirSync(`/proc/${pid}/task`).map((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/comm`, "utf8").trim(),
  );
  // Four for files and names, four for V8's collector and compiler, one for its timers, one for signals.
  expect(of.length, of.join(", ")).toBeLessThanOrEqual(11);
});

const CAP_SYS_NICE = 1n << 23n;
/** Without it a worker that may have to start its program again keeps its own share: what it gave away could not be taken back. */
function mayComeBack(): boolean {
  const capabilities = /^CapEff:\s*([0-9a-f]+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
  return (BigInt(`0x${capabilities}`) & CAP_SYS_NICE) !== 0n;
}

test.runIf(isWhole)("a program has its whole share, also when it is started again", async () => {
  const go = join(stage.dir, "go");
  const says = `echo "began at $(cut -d' ' -f19 /proc/self/stat) $(ionice)"`;
  const program = ["sh", "-c", `${says}; until rm ${go} 2>/dev/null; do sleep 0.05; done; exit 3`];
  const flags = ["--restart", "on-failure:1"];
  const worker = await stage.startNode({ name: "again", run: "again", flags, program });
  const began = () => worker.lines.filter((line) => line.startsWith("began at"));
  for (const starts of [1, 2]) {
    await waitUntil(`start ${starts}`, () => began().length === starts);
    if (mayComeBack()) await waitUntil("the worker has stepped aside", () => isAside(worker.pid));
    writeFileSync(go, "");
  }
  expect(await worker.exited).toMatchObject({ code: 3 });
  expect(new Set(began())).toEqual(new Set([`began at ${OWN_NICE} ${OWN_IO}`]));
});
