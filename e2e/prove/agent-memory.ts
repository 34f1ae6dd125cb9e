import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { executableBeside } from "../faults/bundle.ts";
import { openStage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeManyFiles } from "../stage/write-many-files.ts";
import type { Measure } from "./measure.ts";
import { MOST_RESIDENT_BYTES, watchResident } from "./watch-resident.ts";

const FILES = 20_000;
const MODEL_BYTES = 1_000_000_000;
const status = z.object({
  pending: z.number(),
  runs: z.array(z.object({ safeStep: z.number().nullable() })).default([]),
});

/** Peak resident memory of a worker that saves a checkpoint of very many files, and of another one that restores it. */
export const agentMemory: Measure = {
  name: "agent-memory",
  row: 29,
  says: `a checkpoint of ${FILES.toLocaleString("en-US")} files and one of 1 GB, made safe by a worker and put back by another`,
  run: async (program) => {
    const stage = await openStage();
    const problems: string[] = [];
    const figures: string[] = [];
    const judge = (title: string, bytes: number) => {
      const megabytes = Math.round(bytes / 1e6);
      figures.push(`${title}: ${megabytes} MB resident at most`);
      if (bytes > MOST_RESIDENT_BYTES) problems.push(`${title}: ${megabytes} MB resident`);
    };
    try {
      const entry = executableBeside(program);
      const folder = stage.folderOf("sender");
      const sender = await stage.startNode({ name: "sender", run: "heavy", entry, flags: ["--settle", "100ms"] });
      const sending = watchResident(sender.pid);
      const bytesOf = () => 4_000;
      writeManyFiles({ folder, step: 10, files: FILES, bytesOf, content: "random", modelBytes: MODEL_BYTES });
      const isSafe = async () => {
        const { stdout } = await runOnce(program, [
          "status",
          "--state",
          join(stage.dir, "nodes/sender/state"),
          "--json",
        ]);
        const said = status.safeParse(JSON.parse(stdout));
        return said.success && said.data.pending === 0 && said.data.runs.some(({ safeStep }) => safeStep === 10);
      };
      await waitUntil("the checkpoint is safe", isSafe, { withinMs: 600_000 });
      judge("sent", sending());
      await sender.stop("SIGKILL");
      const back = await stage.startNode({ name: "receiver", run: "heavy", entry, program: ["true"] });
      const receiving = watchResident(back.pid);
      const { code } = await back.exited;
      judge("put back", receiving());
      const place = join(stage.folderOf("receiver"), "checkpoint-10");
      if (code !== 0) problems.push(`the other worker ended with ${code}`);
      else if (!existsSync(place) || readdirSync(place, { recursive: true }).length < FILES)
        problems.push("not all is back");
    } finally {
      await stage.close();
    }
    return { runs: 2, problems, figures };
  },
};
