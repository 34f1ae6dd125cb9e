import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { openLink, type LinkSettings } from "#e2e/link/open-link.ts";
import { ROOT } from "#e2e/stage/start-process.ts";
import { BenchError } from "../bench-error.ts";
import { percentile } from "../fleet/percentile.ts";
import { describeMachine } from "../report/describe-machine.ts";
import { measuredTurns, type MeasuredTurn } from "./turn.ts";

/**
 * `npm run bench -- packs`: one checkpoint of many small files, saved by a worker and restored by it across an emulated
 * link, packed and file by file in turns. Hub and store are at the far end, so that every question to either costs a round trip.
 */

const PACKS_HELP = `npm run bench -- packs [--files N] [--bytes N] [--rounds N] [--packed] [--save]

  --files N    files of the checkpoint (50000)
  --bytes N    bytes of each (4096)
  --rounds N   rounds, in each of which both ways have their turn (3)
  --packed     without the turns file by file, which take most of the time
  --save       keep the results in bench/results/packs.json`;

const LINK: LinkSettings = { rttMs: 120, upMbit: 500, downMbit: 500 };

interface Counts {
  files: number;
  bytes: number;
  rounds: number;
  ways: MeasuredTurn["way"][];
  save: boolean;
}

function readCounts(args: readonly string[]): Counts | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      files: { type: "string", default: "50000" },
      bytes: { type: "string", default: "4096" },
      rounds: { type: "string", default: "3" },
      packed: { type: "boolean", default: false },
      save: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  const count = (name: "files" | "bytes" | "rounds"): number => {
    const number = Number(values[name]);
    if (Number.isInteger(number) && number >= 1) return number;
    throw new BenchError(`--${name} takes a whole number from 1, not "${values[name]}".`);
  };
  const ways: Counts["ways"] = values.packed ? ["packed"] : ["file by file", "packed"];
  return { files: count("files"), bytes: count("bytes"), rounds: count("rounds"), ways, save: values.save };
}

function tell(turns: readonly MeasuredTurn[]): void {
  for (const what of ["saveSeconds", "restoreSeconds"] as const) {
    const of = (way: MeasuredTurn["way"]) =>
      percentile(
        turns.filter((turn) => turn.way === way).map((turn) => turn[what]),
        0.5,
      );
    const [alone, packed] = [of("file by file"), of("packed")];
    console.log(
      `${what}: ${alone.toFixed(1)} s file by file, ${packed.toFixed(1)} s packed: ${(alone / packed).toFixed(1)} times`,
    );
  }
}

/** @throws BenchError that says what was not understood, CannotRun where no link can be emulated */
export async function benchPacks(args: readonly string[]): Promise<void> {
  const options = readCounts(args);
  if (options === "help") {
    console.log(PACKS_HELP);
    return;
  }
  const { files, bytes, rounds, ways, save } = options;
  const folder = await mkdtemp(join(tmpdir(), "tidemark-packs-"));
  await using undo = new AsyncDisposableStack();
  undo.defer(() => rm(folder, { recursive: true, force: true }));
  const link = await openLink(LINK, "cubic");
  undo.defer(() => link.close());
  const results = join(folder, "turns.json");
  const given = { client: link.clientNetns, address: link.serverAddress, files, bytes, rounds, ways, results };
  const inside = [`--net=${link.serverNetns}`, process.execPath, "bench/packs/inside.ts", JSON.stringify(given)];
  const child = spawn("nsenter", inside, { cwd: ROOT, stdio: "inherit" });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new BenchError(`The measurement ended with ${code}.`);
  const turns = measuredTurns.parse(JSON.parse(await readFile(results, "utf8")));
  if (ways.length > 1) tell(turns);
  const { up, down } = await link.counts();
  if (up.refused + down.refused > 0) console.log("The emulator could not keep up; do not trust this.");
  if (!save) return;
  const machine = await describeMachine({ congestion: "cubic", link: LINK, server: "minio" });
  const place = join(ROOT, "bench/results/packs.json");
  await mkdir(dirname(place), { recursive: true });
  await writeFile(place, `${JSON.stringify({ ...machine, files, bytes, turns }, null, 2)}\n`);
}
