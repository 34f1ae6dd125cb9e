import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { listProcesses } from "../../gate/process-tree.ts";
import { keysInEnv } from "../../stage/keys-in-env.ts";
import type { StoreAddress } from "../../stage/provision.ts";
import { ROOT, type RunningProcess } from "../../stage/start-process.ts";
import { startWorker } from "../../stage/start-worker.ts";

/** Where a run lies, and a folder for the files of its nodes. */
export interface Place {
  dir: string;
  /** Address of the store now; a store that was restarted may have another one. */
  address(): Pick<StoreAddress, "endpoint" | "accessKey" | "secretKey" | "bucket"> & { prefix: string; run: string };
  /** How far the store's clock is ahead of that of this machine, in milliseconds. */
  clockOffsetMs(): number;
}

/** One start of `tidemark run` around the training program. */
export interface Life {
  machine: string;
  number: number;
  worker: RunningProcess;
  /** Says where the program began; null before it did. */
  begun(): { step: number; loss: number; pid: number } | null;
  hasSaid(text: string): boolean;
  /** Exit code of the program, by the worker's message; null while it runs. */
  programEnd(): string | null;
  /** The last lines of the worker and its program, in one line. */
  tail(): string;
}

/** Folder that a machine watches. It exists. */
export function folderOf({ dir }: Place, machine: string): string {
  const folder = join(dir, "machines", machine, "checkpoints");
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** File in which the training program notes what it writes. */
export const logOf = ({ dir }: Place): string => join(dir, "written.jsonl");

export const toOf = (place: Place): string => {
  const { bucket, prefix } = place.address();
  return `s3://${bucket}/${prefix}`;
};

/** Starts a life. `seed`: lives with the same seed train the same model. */
export async function startLife(
  place: Place,
  { machine, number, seed }: { machine: string; number: number; seed: number },
): Promise<Life> {
  const folder = folderOf(place, machine);
  const program = join(ROOT, "e2e/prove/alone/train-linear-model.ts");
  const worker = await startWorker({
    hubUrl: null,
    stateDir: join(place.dir, "machines", machine, "state"),
    name: machine,
    run: place.address().run,
    watch: folder,
    flags: ["--to", toOf(place), "--settle", "200ms"],
    program: [process.execPath, program, folder, logOf(place), String(number), String(seed)],
    env: keysInEnv(place.address()),
  });
  const text = () => worker.lines.join("\n");
  return {
    machine,
    number,
    worker,
    begun: () => {
      const found = new RegExp(`life ${number} starts at (\\d+) with loss (\\S+) as process (\\d+)`).exec(text());
      if (found === null) return null;
      const [step = 0, loss = 0, pid = 0] = found.slice(1).map(Number);
      return { step, loss, pid };
    },
    hasSaid: (part) => text().includes(part),
    programEnd: () => /The program (?:ended with|was ended by) (\w+)/.exec(text())?.[1] ?? null,
    tail: () => worker.lines.slice(-12).join(" / "),
  };
}

/** Returns whether a process runs. */
export const isAlive = (pid: number): boolean => listProcesses().some((one) => one.pid === pid && !one.isZombie);
