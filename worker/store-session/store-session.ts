import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sentenceOf, type Fault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { formatDuration, formatRate } from "#protocol/base/units.ts";
import { chooseStore } from "#storage/signing/choose-store.ts";
import { createDirectSource } from "#storage/signing/direct-source.ts";
import { locate, type StoreAccess } from "#storage/signing/signing.ts";
import type { CredentialSource } from "#storage/signing/sigv4.ts";
import type { Config } from "../command-line/config.ts";
import { systemClock } from "../base/clock.ts";
import { openKeys } from "../keys/open-keys.ts";
import { createEngine, type Engine } from "../transfer/engine.ts";
import { lookAhead } from "../transfer/http/socket/look-ahead.ts";
import { createRetrier } from "../transfer/store-session/retry.ts";
import { LITTLE_BYTES, keepWithin } from "../host/keep-within.ts";
import { stateFolder, temporaryState, unusualState } from "../host/state-folder.ts";
import { openMemory } from "../limits/learned.ts";
import { readLimits } from "../limits/read-limits.ts";
import { learnFrom, recollect } from "../limits/recollect.ts";
import { openThrottle } from "../limits/throttle.ts";
import type { CommandContext } from "../command-line/command-context.ts";

/** A session with a bucket: its keys, and the engine that moves bytes to and from it. */
export interface StoreSession {
  engine: Engine;
  /** Present address of the store, which may have named another region than the given one. */
  readonly access: StoreAccess;
  readonly keys: CredentialSource;
  /** Returns the time that dates signatures: epoch ms by the store's clock. */
  now(): number;
  /**
   * Returns how far the store's clock is ahead of this machine's, at most, ms; negative when it is behind. 0: they may be the
   * same.
   */
  aheadMs(): number;
}

/** A store may copy gigabytes by itself before it sends the first byte of its answer. */
const LONGEST_COPY_MS = 5 * 60_000;

export interface Bound {
  /** Empty for requests without a bucket (the list of buckets). */
  bucket: string;
  /** `within`: the store copies by itself. */
  direction: "up" | "down" | "within";
  /** Left out: facts about link and store are kept for the next command. */
  memory?: "none";
  /** Whether resident memory is limited to the buffer memory plus 80 MB even when that memory is not small. */
  isHeld?: boolean;
}

/** Runs `work` with a session for a bucket, and closes its connections afterwards. Faults: BAD_INPUT, those of `work`. */
export async function withStoreSession<T>(
  context: CommandContext,
  about: Bound,
  work: (storeSession: StoreSession) => Promise<T>,
): Promise<T> {
  const { storeSession, learn, close } = await openStoreSession(context, about);
  try {
    const result = await work(storeSession);
    await learn();
    return result;
  } finally {
    context.terminal.close();
    await close();
  }
}

/** Keys from the command line or the environment cannot be renewed; keys of other sources were renewed already. */
const FIXED_KEYS: ReadonlyMap<FaultCode, string> = new Map([
  ["CREDENTIALS_EXPIRED", "give new keys and start the same command again; it goes on where it was"],
]);

interface OpenStoreSession {
  storeSession: StoreSession;
  /** Keeps facts about the link and the store for the next command. */
  learn(): Promise<void>;
  close(): Promise<void>;
}

async function openStoreSession(context: CommandContext, about: Bound): Promise<OpenStoreSession> {
  const { config, terminal } = context;
  const { bucket } = about;
  const direction = about.direction === "within" ? null : about.direction;
  const keys = openKeys(config);
  const source = createDirectSource({ access: readAccess(config, bucket), credential: keys });
  const { traits, endpoint } = source.access;
  const resolver = lookAhead(locate(source.access, "k").origin);
  const state = direction === null || about.memory === "none" ? null : await findState(context);
  const memory = state === null ? null : await openMemory(state, Date.now);
  const key = direction === null ? null : { endpoint, bucket, direction };
  const limits = readLimits(config);
  const throttle = await openThrottle({
    limits,
    state,
    onChange: (limited, bytesPerSecond) => {
      if (limited !== direction) return;
      const limit = bytesPerSecond === 0 ? "none" : formatRate(bytesPerSecond, "bytes");
      terminal.say(`Limit ${limited}: ${limit}.`, { type: "limit", direction: limited, bytesPerSecond });
    },
  });
  const connections = config.count("concurrency");
  const memoryBytes = config.size("memory");
  const isHeld = memoryBytes !== null && memoryBytes >= LITTLE_BYTES && about.isHeld === true;
  const stopWatch = isHeld ? keepWithin(memoryBytes) : () => undefined;
  const stallMs = config.durationMs("stall-after");
  const engine = createEngine({
    source,
    traits,
    trust: source.access.trust,
    resolver,
    rememberedOf: (host) => memory?.recallAddresses(host) ?? [],
    direction: direction ?? "down",
    connections: connections === 0 ? null : connections,
    ...(memory === null || key === null ? {} : recollect(memory, key)),
    ...(memoryBytes === null ? {} : { memoryBytes }),
    limitBytesPerSecond: throttle.limits()[direction ?? "down"],
    signerNow: source.now,
    retrier: createRetrier(systemClock, config.durationMs("retry-for")),
    idleMs: direction === null ? Math.max(stallMs, LONGEST_COPY_MS) : stallMs,
  });
  engine.retrier.onTrouble = createTrouble(context);
  engine.retrier.hopeless = FIXED_KEYS;
  engine.store.onSay = (sentence) => terminal.say(sentence, { type: "note", sentence });
  // The first connection is then open when the files have been listed.
  if (direction === "up") engine.httpClient.warm(locate(source.access, "k").origin, 1);
  try {
    // Missing keys are reported before anything is read or written.
    await keys.fresh();
  } catch (error) {
    stopWatch();
    throttle.close();
    await engine.close();
    throw error;
  }
  if (direction !== null) throttle.govern({ ...engine, direction, endpoint: () => source.access.endpoint });
  const storeSession: StoreSession = {
    engine,
    get access() {
      return source.access;
    },
    keys,
    now: source.now,
    aheadMs: source.aheadMs,
  };
  return {
    storeSession,
    learn: async () => {
      if (memory === null || key === null) return;
      const wasFree = connections === 0 && engine.limiter.bytesPerSecond === 0 && limits.shareForOthers === null;
      await learnFrom(memory, key, { engine, wasFree, wallNowMs: Date.now() });
      const { origin } = locate(source.access, "k");
      if (origin.startsWith("https:"))
        await memory.learnAddresses(new URL(origin).hostname, engine.httpClient.addressesOf(origin));
    },
    close: async () => {
      stopWatch();
      throttle.close();
      await engine.close();
    },
  };
}

/** Returns the folder for remembered facts; null when there is none, or when nothing may be left behind. */
async function findState(context: CommandContext): Promise<string | null> {
  return keepsState(context) ? stateFolder(context.config.text("state"), context.home).catch(() => null) : null;
}

/** Returns whether the command keeps state: some commands have no state folder, and a dry run leaves nothing behind. */
export const keepsState = ({ config }: CommandContext): boolean =>
  config.settings.some(({ name }) => name === "state") && !config.isOn("dry-run");

/** Below this RTT a speculative request is not worth its cost. */
export const FAR_MS = 20;

/**
 * Opens connections for later downloads while the store still answers which objects to fetch. When the round trip is long,
 * calls `onFar` with the number of connections that pays off.
 */
export const warmAll = ({ engine, access }: StoreSession, onFar?: (width: number) => void): void =>
  engine.controller.expect({ count: Infinity, size: "large" }, (width) => {
    engine.httpClient.warm(locate(access, "k").origin, width);
    if ((engine.httpClient.rttMs() ?? 0) >= FAR_MS) onFar?.(width);
  });

export interface Journal {
  /** The same for the same copy, so that it finds what an earlier attempt left. */
  copyId: string;
  journalPath: string;
}

/** Returns the place of the journal of a copy between two places. Faults: FOLDER_UNWRITABLE. */
export async function journalOf(context: CommandContext, storeSession: StoreSession, name: string): Promise<Journal> {
  const state = await stateOfCopy(context);
  // The endpoint as given: a region that the store names must not make it another copy.
  const { endpoint } = readAccess(context.config, storeSession.access.bucket);
  const copyId = createHash("sha256").update(`${endpoint} ${name}`).digest("hex").slice(0, 16);
  return { copyId, journalPath: join(state, "copies", `${copyId}.jsonl`) };
}

/** Returns the state folder; for a user without a home it lies among the temporary files. @throws Fault FOLDER_UNWRITABLE */
async function stateOfCopy({ config, home, terminal }: CommandContext): Promise<string> {
  const requested = config.text("state");
  const state = await stateFolder(requested, home, [temporaryState(tmpdir())]);
  const sentence = unusualState(state, { requested, home });
  if (sentence !== null) terminal.say(sentence, { type: "note", sentence });
  return state;
}

/** The same fault is printed again only after this long. */
const QUIET_MS = 60_000;

/** Prints at once why nothing moves, and how long it will be retried, because silence would look like a hang. */
function createTrouble({ terminal, config }: CommandContext): (fault: Fault) => void {
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

/**
 * Returns the store that the options describe. Commands replace existing objects, as every `cp` does; the agent's checkpoints
 * never do. Faults: BAD_INPUT.
 */
export function readAccess(config: Config, bucket: string): StoreAccess {
  const { endpoint, region, addressing, traits } = chooseStore({
    provider: config.text("provider"),
    endpoint: config.text("endpoint"),
    region: config.text("region"),
  });
  const requested = config.text("addressing");
  const style = requested === "path" || requested === "virtual-host" ? requested : addressing;
  return { endpoint, region, bucket, addressing: style, traits: { ...traits, conditionalWrites: false } };
}
