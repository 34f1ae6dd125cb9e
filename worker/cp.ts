import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { Fault, isFault, sentenceOf } from "#protocol/fault.ts";
import { findCollision } from "#protocol/names.ts";
import { provider as providerName } from "#protocol/requests.ts";
import { formatBytes, formatCount, formatDuration, formatRate } from "#protocol/units.ts";
import { checkRange, readHead } from "#storage/answers.ts";
import { PRESETS } from "#storage/providers.ts";
import { createDirectSource, type StoreAccess } from "#storage/signing.ts";
import type { Credential } from "#storage/sigv4.ts";
import type { Config } from "./config.ts";
import { assertSafePath, keyForFile, parseAddress, prefixForFolder, type Address } from "./copy/address.ts";
import { downloadFiles, isFolder, type FileToDownload } from "./copy/download.ts";
import { listObjects } from "./copy/list-objects.ts";
import { uploadFiles, type FileToUpload } from "./copy/upload.ts";
import { walkFolder } from "./copy/walk.ts";
import { systemClock } from "./engine/clock.ts";
import { callStore, createEngine, type Engine } from "./engine/engine.ts";
import { readIdentity } from "./engine/identity.ts";
import { createPatience, createRetrier, withRetry } from "./engine/retry.ts";
import type { Tally } from "./engine/tally.ts";
import { stateFolder } from "./host/state-folder.ts";
import { tideLine, transferFacts, transferSentence } from "./sentence.ts";
import type { Terminal } from "./terminal.ts";

/** `tidemark cp`: plain objects in either direction, with the keys of the environment. Speaks of no checkpoint. */
export interface CopyCommand {
  config: Config;
  operands: readonly string[];
  terminal: Terminal;
  signal: AbortSignal;
  home: string | null;
}

type StorePlace = Extract<Address, { kind: "store" }>;

/** Faults: BAD_INPUT, those of the store and the disk, CANCELLED. */
export async function copy(command: CopyCommand): Promise<void> {
  const [source, target, extra] = command.operands;
  if (source === undefined || target === undefined || extra !== undefined) {
    throw new Fault("BAD_INPUT", {
      op: "usage",
      subject: "cp",
      detail: "it takes a source and a destination: tidemark cp SRC DST",
    });
  }
  const from = parseAddress(source);
  const to = parseAddress(target);
  if (from.kind === "local" && to.kind === "store") await upload(command, { from: from.path, to });
  else if (from.kind === "store" && to.kind === "local") await download(command, { from, to: to.path });
  else
    throw new Fault("BAD_INPUT", {
      op: "usage",
      subject: "cp",
      detail: "one side is a local path, the other s3://bucket/key",
    });
}

async function upload(command: CopyCommand, ends: { from: string; to: StorePlace }): Promise<void> {
  const { from, to } = ends;
  const files = await filesToUpload(from, to);
  const bench = await setUp(command, {
    bucket: to.bucket,
    name: `up ${resolve(from)} ${to.bucket}/${to.key}`,
    direction: "up",
  });
  const place = `s3://${to.bucket}/${files.length === 1 ? (files[0]?.key ?? "") : to.key}`;
  await follow(command, { ...bench, from, to: place }, (onStart) =>
    uploadFiles(bench.engine, {
      files,
      journalPath: bench.journalPath,
      partBytes: command.config.size("part-size"),
      signal: command.signal,
      onStart,
    }),
  );
}

async function filesToUpload(from: string, to: StorePlace): Promise<FileToUpload[]> {
  const stats = await stat(from).catch(() => null);
  if (stats === null) throw new Fault("NOT_FOUND", { op: "cp", subject: from });
  if (!stats.isDirectory())
    return [{ path: resolve(from), identity: await readIdentity(from), key: keyForFile(to, from) }];
  const found = await walkFolder(resolve(from));
  if (found.length === 0) throw new Fault("NOT_FOUND", { op: "cp", subject: from, detail: "the folder has no files" });
  return found.map(({ relative, path, identity }) => ({
    path,
    identity,
    key: prefixForFolder(to) + assertSafePath(relative),
  }));
}

async function download(command: CopyCommand, ends: { from: StorePlace; to: string }): Promise<void> {
  const { from, to } = ends;
  const bench = await setUp(command, {
    bucket: from.bucket,
    name: `down ${from.bucket}/${from.key} ${resolve(to)}`,
    direction: "down",
  });
  const files = await filesToDownload(bench, { ...ends, signal: command.signal });
  await follow(command, { ...bench, from: `s3://${from.bucket}/${from.key}`, to }, (onStart) =>
    downloadFiles(bench.engine, {
      files,
      journalPath: bench.journalPath,
      copyId: bench.copyId,
      partBytes: command.config.size("part-size"),
      signal: command.signal,
      onStart,
    }),
  );
}

async function filesToDownload(
  bench: Bench,
  ends: { from: StorePlace; to: string; signal: AbortSignal },
): Promise<FileToDownload[]> {
  const { from, signal } = ends;
  const to = resolve(ends.to);
  if (from.key !== "" && !from.key.endsWith("/") && (await exists(bench, from.key, signal))) {
    const into = ends.to.endsWith("/") || (await isFolder(to));
    return [{ key: from.key, path: into ? join(to, assertSafePath(basename(from.key))) : to }];
  }
  const prefix = prefixForFolder(from);
  const listed = await listObjects(bench.engine, bench, { prefix, signal });
  const objects = listed.filter(({ key }) => !key.endsWith("/"));
  if (objects.length === 0) throw new Fault("NO_SUCH_KEY", { op: "cp", subject: `s3://${from.bucket}/${from.key}` });
  const relatives = objects.map(({ key }) => assertSafePath(key.slice(prefix.length)));
  const collision = findCollision(relatives);
  if (collision !== null) {
    throw new Fault("HOSTILE_NAME", {
      op: "cp",
      subject: collision[0],
      detail: `it would land on the same file as ${collision[1]}`,
    });
  }
  return objects.map(({ key }, index) => ({ key, path: join(to, relatives[index] ?? "") }));
}

async function exists(bench: Bench, key: string, signal: AbortSignal): Promise<boolean> {
  const { engine } = bench;
  const patience = createPatience(engine.retrier.clock);
  try {
    await withRetry(engine.retrier, { signal, patience }, () =>
      callStore(engine, { operation: { op: "head", key }, signal }, readHead),
    );
    return true;
  } catch (error) {
    if (!isFault(error)) throw error;
    if (error.code === "NO_SUCH_KEY" || error.code === "NOT_FOUND") return false;
    throw error.code === "ACCESS_DENIED" ? await reasonOfRefusal(bench, { key, signal, fault: error }) : error;
  }
}

/** The answer to a HEAD has no body, so it cannot say why; a GET of one byte can. */
async function reasonOfRefusal(
  { engine }: Bench,
  about: { key: string; signal: AbortSignal; fault: Fault },
): Promise<Fault> {
  const { key, signal, fault } = about;
  try {
    const operation = { op: "get", key, offset: 0, length: 1, etag: null } as const;
    await callStore(engine, { operation, signal }, (answer) =>
      checkRange(answer, { offset: 0, length: 1, subject: key }),
    );
    return fault;
  } catch (error) {
    return isFault(error) && error.code !== "NO_SUCH_KEY" ? error : fault;
  }
}

interface Bench {
  engine: Engine;
  access: StoreAccess;
  credential: Credential;
  journalPath: string;
  copyId: string;
}

async function setUp(
  command: CopyCommand,
  about: { bucket: string; name: string; direction: "up" | "down" },
): Promise<Bench> {
  const { config } = command;
  const credential = readCredential(config);
  const access = readAccess(config, about.bucket);
  const state = await stateFolder(config.text("state"), command.home);
  const copyId = createHash("sha256").update(`${access.endpoint} ${about.name}`).digest("hex").slice(0, 16);
  const engine = createEngine({
    source: createDirectSource({ access, credential }),
    traits: access.traits,
    connections: config.count("concurrency"),
    limitBytesPerSecond: config.size(about.direction === "up" ? "limit-up" : "limit-down") ?? 0,
    signerNow: Date.now,
    retrier: createRetrier(systemClock, config.durationMs("retry-for")),
    idleMs: config.durationMs("stall-after"),
  });
  engine.retrier.onTrouble = createTrouble(command);
  return { engine, access, credential, copyId, journalPath: join(state, "copies", `${copyId}.jsonl`) };
}

/** The same trouble is said again only after this long. */
const QUIET_MS = 60_000;

/** Says at once why nothing moves, and for how long it will be tried: silence would look like a hang. */
function createTrouble({ terminal, config }: CopyCommand): (fault: Fault) => void {
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

function readCredential(config: Config): Credential {
  const accessKeyId = config.text("access-key-id");
  const secretAccessKey = config.text("secret-access-key");
  if (accessKeyId === null || secretAccessKey === null) {
    throw new Fault("BAD_INPUT", {
      op: "usage",
      subject: "cp",
      detail: "the keys are missing: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    });
  }
  const sessionToken = config.text("session-token");
  return { accessKeyId, secretAccessKey, ...(sessionToken === null ? {} : { sessionToken }) };
}

/** `cp` replaces an existing object, as every `cp` does; the checkpoints of the agent never do. */
function readAccess(config: Config, bucket: string): StoreAccess {
  const region = config.text("region") ?? "us-east-1";
  const endpoint = config.text("endpoint");
  const named = providerName.safeParse(endpoint === null ? "aws" : config.text("provider"));
  if (!named.success) {
    throw new Fault("BAD_INPUT", {
      op: "usage",
      subject: `--provider ${config.text("provider")}`,
      detail: `one of ${Object.keys(PRESETS).join(", ")}`,
    });
  }
  const preset = PRESETS[named.data];
  const url = endpoint ?? preset.endpointTemplate.replace("{region}", region);
  if (!URL.canParse(url))
    throw new Fault("BAD_INPUT", {
      op: "usage",
      subject: `--endpoint ${url}`,
      detail: "an endpoint looks like https://s3.example.com",
    });
  return {
    endpoint: url,
    region,
    bucket,
    addressing: preset.addressing,
    traits: { ...preset.traits, conditionalWrites: false },
  };
}

const TICK_MS = 100;

async function follow(
  command: CopyCommand,
  about: { engine: Engine; from: string; to: string },
  work: (onStart: (tally: Tally) => void) => Promise<Tally>,
): Promise<void> {
  const { terminal } = command;
  const { engine, from, to } = about;
  const startedAt = performance.now();
  let timer: NodeJS.Timeout | null = null;
  try {
    const tally = await work((started) => {
      const moving = () => ({ from, to, tally: started, bytesPerSecond: engine.meter.bytesPerSecond() });
      const files = started.filesTotal === 1 ? "" : `${formatCount(started.filesTotal)} files, `;
      const began = `${from} -> ${to}: ${files}${formatBytes(started.bytesTotal)}`;
      if (!terminal.isLive) terminal.say(began, { type: "started", ...transferFacts(moving()) });
      let quarters = 0;
      timer = setInterval(() => {
        terminal.draw([transferSentence(moving()), tideLine(started)], () => ({
          type: "progress",
          ...transferFacts(moving()),
        }));
        const now = Math.floor((4 * started.bytesSure) / Math.max(1, started.bytesTotal));
        if (now > quarters && now < 4 && !terminal.isLive) {
          terminal.say(transferSentence(moving()), { type: "milestone", ...transferFacts(moving()) });
        }
        quarters = now;
      }, TICK_MS);
    });
    const tookMs = performance.now() - startedAt;
    const rate = tally.sentBytes / Math.max(0.001, tookMs / 1000);
    const files = tally.filesTotal === 1 ? "" : `${formatCount(tally.filesTotal)} files, `;
    const again = tally.retries === 0 ? "" : `, ${formatCount(tally.retries)} parts tried again`;
    const kept =
      tally.bytesTotal - tally.sentBytes > 0
        ? `, ${formatBytes(tally.bytesTotal - tally.sentBytes)} were there already`
        : "";
    terminal.result(
      `${from} -> ${to}: ${files}${formatBytes(tally.bytesTotal)} in ${formatDuration(tookMs)}, ${formatRate(rate, "bytes")}${again}${kept}, verified`,
      {
        type: "done",
        from,
        to,
        bytes: tally.bytesTotal,
        sentBytes: tally.sentBytes,
        files: tally.filesTotal,
        tookMs: Math.round(tookMs),
        retries: tally.retries,
      },
    );
  } finally {
    if (timer !== null) clearInterval(timer);
    terminal.close();
    await engine.wire.close();
  }
}
