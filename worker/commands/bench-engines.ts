import { randomUUID } from "node:crypto";
import { sentenceOf, toFault, type Fault } from "#protocol/faults/fault.ts";
import { benchFolder } from "#protocol/checkpoint/keys.ts";
import { planCases } from "#protocol/benchmarks/plan-cases.ts";
import type { BenchCaseEnd } from "#protocol/benchmarks/turn.ts";
import { lookFor } from "../benchmarks/look-for.ts";
import { runMatrix } from "../benchmarks/run-matrix.ts";
import { sayBegun, sayCase, sayTables } from "../benchmarks/say-bench.ts";
import { directSide, removeAll } from "../benchmarks/store-side.ts";
import { readBenchOptions } from "../benchmarks/options.ts";
import type { PlatformFacts } from "../command-line/config.ts";
import { prefixForFolder } from "../command-line/address.ts";
import type { Where } from "../engines/driver.ts";
import { whereOf } from "../engines/find-program.ts";
import { listObjects } from "../object-copy/listing/list-objects.ts";
import { withStoreSession, type StoreSession } from "../store-session/store-session.ts";
import { onePlace, shownPlace, usage, type StorePlace, type CommandContext } from "../command-line/command-context.ts";

/**
 * Implements `tidemark bench`: compares the engines on this machine over the same link and bucket. Uses the keys of the
 * environment, or with `--profile` the hub that this node has joined. Ends with 8 when some cases failed. Faults:
 * BAD_INPUT, ENGINE_MISSING for a named engine, those of the store and the hub, CANCELLED.
 */
export async function benchEngines(command: CommandContext & { platform: PlatformFacts }): Promise<number> {
  const context = { ...command, where: whereOf(command.platform) };
  // With an address, or when it comes from a variable of AWS, `--profile` names a profile of the AWS files.
  const source = context.config.settings.find(({ name }) => name === "profile")?.source ?? "AWS";
  if (context.operands.length > 0 || source.startsWith("AWS")) return benchPlace(context);
  const { benchThroughHub } = await import("../benchmarks/through-hub.ts");
  return benchThroughHub(context);
}

async function benchPlace(context: CommandContext & { where: Where }): Promise<number> {
  const { terminal, signal, where, config, operands } = context;
  if (operands.length === 0) {
    throw usage("bench", "it takes one address: tidemark bench s3://bucket/key, or --profile NAME on a node of a hub");
  }
  const place = onePlace(context, "bench");
  const options = readBenchOptions(config);
  const found = await lookFor({
    options,
    where,
    terminal,
    unable: (name) =>
      name === "uplink" && options.grant === null ? "it needs an access grant of Storj: --access-grant" : null,
  });
  return withStoreSession(context, { bucket: place.bucket, direction: "up", memory: "none" }, async (bench) => {
    const { directions, rounds, seed } = options;
    const id = randomUUID();
    const engines = [...found.keys()];
    const about = { id, place: shownPlace(place), profile: null, page: null, options };
    sayBegun(terminal, about, engines);
    const folder = benchFolder(place.key === "" ? "" : prefixForFolder(place), id);
    // Finds a useless key or a wrong region before any file is created.
    await listObjects(bench, { prefix: folder, signal });
    const ends: BenchCaseEnd[] = [];
    try {
      await runMatrix(directSide(bench), {
        ...options,
        found,
        folder,
        cases: planCases({ engines, directions, rounds, seed }),
        signal,
        onCase: (end, at) => {
          ends.push(end);
          sayCase(terminal, end, at);
        },
      });
    } finally {
      await tidyUp(context, { bench, folder, place });
    }
    return sayTables(terminal, about, ends);
  });
}

/** Longest time for the cleanup, also after a signal. */
const CLEAN_UP_MS = 20_000;

/**
 * Removes the benchmark's objects from the bucket, also after a signal, and reports those that it cannot remove. Never
 * throws.
 */
async function tidyUp(
  { terminal }: CommandContext,
  about: { bench: StoreSession; folder: string; place: StorePlace },
): Promise<void> {
  const { bench, folder, place } = about;
  const say = (left: string, fault: Fault | null) => {
    const why = fault === null ? "" : ` ${sentenceOf(fault.toData())}`;
    const sentence = `${left} may still be in s3://${place.bucket}/${folder}: remove it with tidemark rm --recursive.${why}`;
    terminal.say(sentence, { type: "note", sentence });
  };
  try {
    const left = await removeAll(bench, { folder, signal: AbortSignal.timeout(CLEAN_UP_MS) });
    if (left > 0) say(`${left} objects`, null);
  } catch (error) {
    say("Something", toFault(error));
  }
}
