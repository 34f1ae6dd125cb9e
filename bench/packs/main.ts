import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { LinkSettings } from "#e2e/link/emulator.ts";
import { openLink } from "#e2e/link/open-link.ts";
import { runInside } from "#e2e/link/run-inside.ts";
import { ROOT } from "#e2e/stage/start-process.ts";
import { BenchError } from "../bench-error.ts";
import { readCount } from "../read-count.ts";
import { describeMachine } from "../report/describe-machine.ts";
import { commandOf } from "../report/measured-with.ts";
import { keptPacks } from "./result.ts";
import { measuredTurns, type MeasuredTurn } from "./turn.ts";
import { packsPage } from "./write-page.ts";

/**
 * `npm run bench -- packs`: one checkpoint of many small files, saved and restored by a worker across an emulated link, in
 * turns as packs and file by file. Hub and store are at the far end, so that every request to either takes a round trip.
 */

const PACKS_HELP = `npm run bench -- packs [--files N] [--bytes N] [--rounds N] [--packed] [--save | --report]

  --files N    files of the checkpoint (50000)
  --bytes N    bytes of each (4096)
  --rounds N   rounds, in each of which both ways have their turn (3)
  --packed     without the turns file by file, which take most of the time
  --save       keep the results in bench/results/packs.json and write docs/packs.md
  --report     only write docs/packs.md again`;

const PAGE = join(ROOT, "docs/packs.md");

const LINK: LinkSettings = { rttMs: 120, upMbit: 500, downMbit: 500 };

interface Counts {
  files: number;
  bytes: number;
  rounds: number;
  ways: MeasuredTurn["way"][];
  save: boolean;
}

function readCounts(args: readonly string[]): Counts | "help" | "report" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      files: { type: "string", default: "50000" },
      bytes: { type: "string", default: "4096" },
      rounds: { type: "string", default: "3" },
      packed: { type: "boolean", default: false },
      save: { type: "boolean", default: false },
      report: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  if (values.report) return "report";
  const count = (name: "files" | "bytes" | "rounds"): number => readCount(`--${name}`, values[name]);
  const ways: Counts["ways"] = values.packed ? ["packed"] : ["file by file", "packed"];
  return { files: count("files"), bytes: count("bytes"), rounds: count("rounds"), ways, save: values.save };
}

async function writePage(): Promise<void> {
  await writeFile(PAGE, packsPage(await keptPacks.read()));
  console.log("docs/packs.md is written.");
}

/** Runs the benchmark. @throws BenchError that says what was not understood, CannotRun where no link can be emulated */
export async function benchPacks(args: readonly string[]): Promise<void> {
  const options = readCounts(args);
  if (options === "help") {
    console.log(PACKS_HELP);
    return;
  }
  if (options === "report") {
    await writePage();
    return;
  }
  const machine = await describeMachine({ congestion: "cubic", link: LINK, server: "store" });
  const { files, bytes, rounds, ways, save } = options;
  const folder = await mkdtemp(join(tmpdir(), "tidemark-packs-"));
  await using undo = new AsyncDisposableStack();
  undo.defer(() => rm(folder, { recursive: true, force: true }));
  const link = await openLink(LINK, "cubic");
  undo.defer(() => link.close());
  const results = join(folder, "turns.json");
  const given = { client: link.clientNetns, address: link.serverAddress, files, bytes, rounds, ways, results };
  const code = await runInside(link.serverNetns, "bench/packs/inside.ts", given);
  if (code !== 0) throw new BenchError(`The measurement ended with ${code}.`);
  const turns = measuredTurns.parse(JSON.parse(await readFile(results, "utf8")));
  const { up, down } = await link.counts();
  const command = commandOf("packs", args);
  const result = { ...machine, command, link: LINK, files, bytes, turns, refused: up.refused + down.refused };
  console.log(packsPage(result));
  if (!save) return;
  await keptPacks.save(result);
  await writePage();
}
