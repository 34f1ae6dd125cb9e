import { createHash } from "node:crypto";
import { join } from "node:path";
import { sentenceOf, type Fault } from "#protocol/fault.ts";
import { formatDuration } from "#protocol/units.ts";
import { PRESETS, type ProviderPreset } from "#storage/providers.ts";
import { createDirectSource, type StoreAccess } from "#storage/signing.ts";
import type { Credential } from "#storage/sigv4.ts";
import type { Config } from "../config.ts";
import { systemClock } from "../engine/clock.ts";
import { createEngine, type Engine } from "../engine/engine.ts";
import { createRetrier } from "../engine/retry.ts";
import { stateFolder } from "../host/state-folder.ts";
import { usage, type Verb } from "./verb.ts";

/** A bucket, the keys to it, and what moves bytes to and from it. */
export interface Bench {
  engine: Engine;
  access: StoreAccess;
  credential: Credential;
}

/** A store may copy gigabytes on its own before it says a word. */
const LONGEST_COPY_MS = 5 * 60_000;

export interface Bound {
  /** Empty where there is none yet (the list of buckets). */
  bucket: string;
  /** `within`: the store copies by itself. */
  direction: "up" | "down" | "within";
}

/** Runs `work` with the means to reach a bucket, and closes its connections afterwards. Faults: BAD_INPUT, those of `work`. */
export async function withBench<T>(verb: Verb, about: Bound, work: (bench: Bench) => Promise<T>): Promise<T> {
  const bench = openBench(verb, about);
  try {
    return await work(bench);
  } finally {
    verb.terminal.close();
    await bench.engine.close();
  }
}

function openBench(verb: Verb, about: Bound): Bench {
  const { config } = verb;
  const credential = readCredential(config);
  const access = readAccess(config, about.bucket);
  const connections = config.count("concurrency");
  const memoryBytes = config.size("memory");
  const limit = about.direction === "up" ? "limit-up" : "limit-down";
  const stallMs = config.durationMs("stall-after");
  const engine = createEngine({
    source: createDirectSource({ access, credential }),
    traits: access.traits,
    connections: connections === 0 ? null : connections,
    ...(memoryBytes === null ? {} : { memoryBytes }),
    limitBytesPerSecond: config.size(limit) ?? 0,
    signerNow: Date.now,
    retrier: createRetrier(systemClock, config.durationMs("retry-for")),
    idleMs: about.direction === "within" ? Math.max(stallMs, LONGEST_COPY_MS) : stallMs,
  });
  engine.retrier.onTrouble = createTrouble(verb);
  return { engine, access, credential };
}

export interface Journal {
  /** The same for the same copy, so that it finds what an earlier try left. */
  copyId: string;
  journalPath: string;
}

/** Where a copy between two places keeps what it has done. Faults: FOLDER_UNWRITABLE. */
export async function journalOf(verb: Verb, bench: Bench, name: string): Promise<Journal> {
  const state = await stateFolder(verb.config.text("state"), verb.home);
  const copyId = createHash("sha256").update(`${bench.access.endpoint} ${name}`).digest("hex").slice(0, 16);
  return { copyId, journalPath: join(state, "copies", `${copyId}.jsonl`) };
}

/** The same trouble is said again only after this long. */
const QUIET_MS = 60_000;

/** Says at once why nothing moves, and for how long it will be tried: silence would look like a hang. */
function createTrouble({ terminal, config }: Verb): (fault: Fault) => void {
  const said = new Map<string, number>();
  return (fault) => {
    const { code } = fault;
    if (performance.now() - (said.get(code) ?? -Infinity) < QUIET_MS) return;
    said.set(code, performance.now());
    const data = fault.toData();
    const patience = formatDuration(config.durationMs("retry-for"));
    terminal.say(`${sentenceOf(data)} Trying again until nothing has moved for ${patience} (--retry-for).`, {
      type: "trouble",
      fault: data,
    });
  };
}

export function readCredential(config: Config): Credential {
  const accessKeyId = config.text("access-key-id");
  const secretAccessKey = config.text("secret-access-key");
  if (accessKeyId === null || secretAccessKey === null) {
    throw usage("keys", "they are missing: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  }
  const sessionToken = config.text("session-token");
  return { accessKeyId, secretAccessKey, ...(sessionToken === null ? {} : { sessionToken }) };
}

/** The verbs replace an existing object, as every `cp` does; the checkpoints of the agent never do. */
export function readAccess(config: Config, bucket: string): StoreAccess {
  const region = config.text("region") ?? "us-east-1";
  const endpoint = config.text("endpoint");
  const preset = presetNamed(endpoint === null ? "aws" : (config.text("provider") ?? "other"));
  const url = endpoint ?? preset.endpointTemplate.replace("{region}", region);
  if (!/^https?:\/\/[^/]/i.test(url) || !URL.canParse(url)) {
    throw usage(`--endpoint ${url}`, "an endpoint looks like https://s3.example.com");
  }
  return {
    endpoint: url,
    region,
    bucket,
    addressing: preset.addressing,
    traits: { ...preset.traits, conditionalWrites: false },
  };
}

function presetNamed(name: string): ProviderPreset {
  const presets: Readonly<Record<string, ProviderPreset>> = PRESETS;
  const preset = Object.hasOwn(presets, name) ? presets[name] : undefined;
  if (preset === undefined) throw usage(`--provider ${name}`, `one of ${Object.keys(presets).join(", ")}`);
  return preset;
}
