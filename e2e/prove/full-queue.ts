import { readFileSync, statSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { medianOf } from "#protocol/base/robust.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { startProcess } from "../stage/start-process.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeManyFiles } from "../stage/write-many-files.ts";
import type { Measure } from "./measure.ts";

const FILES = 10_000;
const FILE_BYTES = 1_000;
const ASKED = 20;
const MOST = { openMs: 1_000, grownMb: 50, statusMs: 200 };

const status = z.object({
  running: z.boolean(),
  pending: z.number(),
  runs: z.array(z.object({ risk: z.object({ files: z.number() }) })).default([]),
});

const rssMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_000;

interface Node {
  stage: Stage;
  program: string;
  home: string;
}

/** Starts a worker whose uplink is so slow that captures stay in the queue. */
function startNode({ stage, program, home }: Node) {
  const is = ["--hub", stage.hub.url, "--state", join(home, "state"), "--name", "full", "--run", "full"];
  const watches = ["--watch", join(home, "checkpoints"), "--settle", "100ms", "--limit-up", "1000B"];
  return startProcess({
    title: "worker full",
    entry: program,
    args: ["agent", ...is, ...watches],
    env: { TIDEMARK_TOKEN: stage.token },
  });
}

async function ask({ program, home }: Node) {
  const startedAt = performance.now();
  const { code, stdout } = await runOnce(program, ["status", "--state", join(home, "state"), "--json"]);
  const said = status.safeParse(code === 0 || code === 3 ? JSON.parse(stdout) : null);
  return { tookMs: performance.now() - startedAt, said: said.success ? said.data : null };
}

const queuedFiles = async (node: Node): Promise<number> =>
  (await ask(node)).said?.runs.reduce((sum, { risk }) => sum + risk.files, 0) ?? 0;

/** Cost of a full queue on a stalled uplink: memory, next start, and answers to `status`. */
export const fullQueue: Measure = {
  name: "full-queue",
  row: 33,
  says: `${FILES.toLocaleString("en-US")} files of ${FILE_BYTES} bytes captured, none sent; then kill -9 and a new start`,
  run: async (program) => {
    const home = await mkdtemp(join(tmpdir(), "tidemark-full-queue-"));
    const stage = await openStage();
    const node: Node = { stage, program, home };
    const problems: string[] = [];
    try {
      const folder = join(home, "checkpoints");
      await mkdir(folder, { recursive: true });
      const first = await startNode(node);
      await waitUntil("the worker answers", async () => (await ask(node)).said?.running === true);
      const emptyMb = rssMb(first.pid);
      writeManyFiles({ folder, step: 10, files: FILES, bytesOf: () => FILE_BYTES, content: "random", modelBytes: 0 });
      await waitUntil("all of it is in the queue", async () => (await queuedFiles(node)) >= FILES, {
        withinMs: 120_000,
      });
      const grownMb = rssMb(first.pid) - emptyMb;
      const asked: number[] = [];
      for (let count = 0; count < ASKED; count++) asked.push((await ask(node)).tookMs);
      await first.stop("SIGKILL");
      const ledgerBytes = statSync(join(home, "state", "ledger.jsonl")).size;
      const unowned = await ask(node);
      if (unowned.said?.pending !== 1) problems.push("after the kill the queue is not on the disk");
      const startedAt = performance.now();
      const second = await startNode(node);
      await waitUntil("it is told again", async () => (await queuedFiles(node)) >= FILES);
      const toldMs = performance.now() - startedAt;
      await second.stop("SIGKILL");
      if (unowned.tookMs > MOST.openMs) problems.push(`its ledger was read in ${unowned.tookMs.toFixed(0)} ms`);
      if (grownMb > MOST.grownMb) problems.push(`memory grew by ${grownMb.toFixed(0)} MB`);
      const middle = medianOf(asked);
      if (middle > MOST.statusMs) problems.push(`status took ${middle.toFixed(0)} ms`);
      return {
        runs: 1,
        problems,
        figures: [
          `memory ${emptyMb.toFixed(0)} MB, grown by ${grownMb.toFixed(0)} MB`,
          `\`tidemark status\` ${middle.toFixed(0)} ms, its start included (longest of ${ASKED}: ${Math.max(...asked).toFixed(0)})`,
          `a ledger of ${ledgerBytes} bytes, read by \`status\` without a worker in ${unowned.tookMs.toFixed(0)} ms, its start included`,
          `${toldMs.toFixed(0)} ms from the worker's next start until it tells the whole queue`,
        ],
      };
    } finally {
      await stage.close();
      await rm(home, { recursive: true, force: true });
    }
  },
};
