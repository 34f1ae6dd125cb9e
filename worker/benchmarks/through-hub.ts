import { randomUUID } from "node:crypto";
import { engineSpec, type EngineName } from "#protocol/benchmarks/engines.ts";
import type { BenchTarget } from "#protocol/benchmarks/own-bench.ts";
import { benchSettings, type BenchSettings } from "#protocol/benchmarks/plan-input.ts";
import { Fault, isFault, sentenceOf, toFault } from "#protocol/faults/fault.ts";
import type { Where } from "../engines/driver.ts";
import { joinHub, type JoinedHub } from "../hub-link/joined-hub.ts";
import { usage, type CommandContext } from "../command-line/command-context.ts";
import { askTurn, runTurn } from "./hub-turn.ts";
import { lookFor } from "./look-for.ts";
import { sayBegun, sayCase, sayTables, type BenchFacts } from "./say-bench.ts";
import { readBenchOptions, type BenchOptions } from "./options.ts";

/**
 * Runs `tidemark bench --profile`: a comparison on a node that has joined a hub, kept by the hub as a benchmark of one turn.
 * The hub signs for Tidemark and aria2c, lends the others the profile's benchmark key where an admin gave one, and empties the
 * bucket afterwards.
 * Faults: BAD_INPUT, ENGINE_MISSING for one that was named, PROFILE_NOT_THIS_NODES, BENCH_RUNNING, those of hub and store,
 * CANCELLED.
 */
export async function benchThroughHub(context: CommandContext & { where: Where }): Promise<number> {
  const { config, terminal, signal, where } = context;
  const named = config.text("profile") ?? "";
  const subject = `--profile ${named}`;
  const [own] = config.settings.filter(({ name, source }) => OF_THE_HUB.has(name) && source === `--${name}`);
  if (own !== undefined) throw usage(`--${own.name}`, "with --profile the hub knows the store and signs for it");
  const options = readBenchOptions(config);
  readSettings(options, options.engines ?? ["tidemark"]);
  const otherwise = "name a bucket instead (tidemark bench s3://bucket/prefix), or join one first";
  const joined = await joinHub(context, { command: subject, otherwise, signal });
  const target = await askTarget(joined, named);
  const looked = await lookFor({ options, where, terminal, unable: (name) => whyNot(target, name) });
  const id = randomUUID();
  const { profileId, profileName, bucket } = target;
  const page = `${joined.base}/benchmarks/${id}`;
  const about: BenchFacts = { id, place: `${profileName} (${bucket})`, profile: profileName, page, options };
  const engines = [...looked.keys()];
  const request = { id, profileId, settings: readSettings(options, engines), seed: options.seed };
  const { turnId } = await joined.hub.ask("benchStart", (client, limit) =>
    client.node.benchStart.mutate(request, { signal: limit }),
  );
  sayBegun(terminal, about, engines);
  try {
    const asked = await askTurn(joined, turnId, signal);
    const { scratchParent } = options;
    const ends = await runTurn(joined, {
      ...asked,
      looked,
      scratchParent,
      trying: { retryForMs: config.durationMs("retry-for"), idleMs: config.durationMs("stall-after") },
      signal,
      onCase: (end, at) => sayCase(terminal, end, at),
    });
    await tellEnd(context, { joined, turnId, fault: null });
    return sayTables(terminal, about, ends);
  } catch (error) {
    const fault = toFault(error, { op: "bench" });
    await tellEnd(context, { joined, turnId, fault });
    throw fault;
  }
}

/** Returns the bucket of a profile. Faults: PROFILE_NOT_THIS_NODES, PROTOCOL_MISMATCH of a hub that is too old to answer. */
async function askTarget({ hub, base }: JoinedHub, profile: string): Promise<BenchTarget> {
  try {
    return await hub.ask("benchTarget", (client, limit) =>
      client.node.benchTarget.query({ profile }, { signal: limit }),
    );
  } catch (error) {
    if (!isFault(error) || error.code !== "NOT_FOUND") throw error;
    throw new Fault("PROTOCOL_MISMATCH", { op: "bench", subject: base, detail: "the hub is older than this worker" });
  }
}

/**
 * Flags for the address and keys of the store. Their environment variables may be meant for other commands, so only typed ones
 * are refused.
 */
const OF_THE_HUB: ReadonlySet<string> = new Set([
  "endpoint",
  "region",
  "provider",
  "access-key-id",
  "secret-access-key",
  "session-token",
  "access-grant",
]);

/** Returns why an engine cannot run at this bucket; null: it can. */
function whyNot({ lends, profileName }: BenchTarget, name: EngineName): string | null {
  if (!engineSpec(name).needsKeys) return null;
  if (lends === "nothing") return `it needs a key, and no admin has given a benchmark key for ${profileName}`;
  const lacksGrant = name === "uplink" && lends !== "key-and-grant";
  return lacksGrant ? `it needs an access grant of Storj, and the benchmark key of ${profileName} has none` : null;
}

const FLAG_OF: Readonly<Record<string, string>> = {
  sizeBytes: "--size",
  partBytes: "--part-size",
  connections: "--concurrency",
  rounds: "--rounds",
  timeLimitMs: "--time-limit",
  memoryBytes: "--memory-limit",
};

/** Checks the settings against the bounds of a hub, which a comparison without one does not have. @throws Fault BAD_INPUT */
function readSettings(options: BenchOptions, engines: readonly EngineName[]): BenchSettings {
  const { directions, rounds, sizeBytes, partBytes, connections, limits } = options;
  const parsed = benchSettings.safeParse({
    engines,
    directions,
    rounds,
    sizeBytes,
    partBytes,
    connections,
    timeLimitMs: limits.timeMs,
    memoryBytes: limits.memoryBytes,
  });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const name = String(issue?.path[0] ?? "");
  throw usage(FLAG_OF[name] ?? name, `through a hub: ${issue?.message ?? "not taken"}`);
}

/** Time for telling the hub, also after a signal. */
const GOODBYE_MS = 15_000;

/** Tells the hub that the turn is over, so that it empties the bucket. Without this it finds out by itself. Never throws. */
async function tellEnd(
  context: CommandContext,
  about: { joined: JoinedHub; turnId: string; fault: Fault | null },
): Promise<void> {
  const { joined, turnId, fault } = about;
  const isCancelled = fault?.code === "CANCELLED";
  const outcome = fault === null ? "done" : isCancelled ? "cancelled" : "failed";
  const input = { turnId, outcome, fault: fault === null || isCancelled ? null : fault.toData() } as const;
  // Not the own signal of the command, which may have ended the turn.
  const limit = AbortSignal.timeout(GOODBYE_MS);
  try {
    const { hub } = await joinHub(context, { command: "bench", otherwise: "its credential is gone", signal: limit });
    await hub.ask("benchEnd", (client, most) => client.node.benchEnd.mutate(input, { signal: most }));
  } catch (error) {
    // Somebody ended the turn at the hub.
    if (isFault(error) && error.code === "CANCELLED" && !limit.aborted) return;
    const sentence = `${joined.base} was not told that it is over, and tidies up when it has waited long enough. ${sentenceOf(toFault(error).toData())}`;
    context.terminal.say(sentence, { type: "note", sentence });
  }
}
