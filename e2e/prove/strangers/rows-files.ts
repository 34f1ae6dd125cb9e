import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { runName } from "#protocol/base/names.ts";
import { createControlClient } from "#storage/s3/client.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import { keysInEnv } from "../../stage/keys-in-env.ts";
import type { Stage } from "../../stage/open-stage.ts";
import { runOnce } from "../../stage/run-once.ts";
import { waitUntil } from "../../stage/wait-until.ts";
import { writeCheckpoint } from "../../stage/write-checkpoint.ts";
import { ask } from "./ask.ts";
import type { Row } from "./row.ts";

/** Attacks through file types, contents and names. */

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return [...bytes, rest];
}

/** Returns an OCDBT manifest whose prefix compression expands to 60,000 paths of 60,000 characters each. */
function prefixTable(rows: number): Buffer {
  const length = 60_000;
  const repeated = Array.from({ length: rows - 1 }, () => varint(length)).flat();
  const nothing = (count: number) => Array.from({ length: count }, () => 0);
  const table = [...varint(rows), ...repeated, ...varint(length), ...nothing(rows - 1), ...nothing(rows)];
  const body = [...Array.from({ length: 16 }, () => 1), 0, 1, 1, 1, 0, ...table, ...Array.from({ length }, () => 97)];
  const bytes = Buffer.alloc(18 + body.length);
  bytes.writeUInt32BE(0x0cdb3a2a, 0);
  bytes.writeBigUInt64LE(BigInt(bytes.length), 4);
  Buffer.from(body).copy(bytes, 14);
  return bytes;
}

const BOMBS: Readonly<Record<string, () => Buffer>> = {
  "orbax/manifest.ocdbt": () => prefixTable(60_000),
  "nested/config.json": () => Buffer.from("[".repeat(100_000)),
  "nested/model.safetensors.index.json": () =>
    Buffer.from(`{"weight_map":${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}}`),
  "dims/model.gguf": () => Buffer.from(`GGUF\u0003\0\0\0${"\u007f".repeat(16)}`.padEnd(4_096, "\u007f"), "latin1"),
  "pickle/model.pkl": () => Buffer.from(`]q\u0000${"(h\u0000h\u0000l".repeat(50_000)}.`, "latin1"),
};

async function bombs(stage: Stage): Promise<string[]> {
  const { endpoint, accessKey, secretKey, bucket } = stage.store;
  const client = createControlClient({
    access: { endpoint, region: "us-east-1", bucket, addressing: "path", traits: traitsOf("minio") },
    credential: { accessKeyId: accessKey, secretAccessKey: secretKey },
  });
  const problems: string[] = [];
  const looks = Object.entries(BOMBS).map(async ([key, make]) => {
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: make() }));
    const place = { profileId: stage.profileId, key, etag: null };
    const headers = { origin: stage.hub.url, cookie: stage.cookie };
    const answer = await ask({
      url: stage.hub.url,
      path: "inspect.file",
      type: "query",
      headers,
      body: JSON.stringify({ place }),
    });
    if (answer === null || answer.status >= 500 || answer.status === 0 || answer.tookMs > 20_000)
      problems.push(`${key}: ${answer?.status} after ${Math.round(answer?.tookMs ?? 0)} ms`);
  });
  await Promise.all(looks);
  client.destroy();
  return problems;
}

async function links(stage: Stage): Promise<string[]> {
  const problems: string[] = [];
  const run = runName.parse("linked");
  const secret = join(stage.dir, "for-root-only");
  writeFileSync(secret, "a secret that nobody asked to save", { mode: 0o600 });
  const folder = stage.folderOf("linker");
  mkdirSync(folder, { recursive: true });
  writeCheckpoint({ folder, step: 1, modelBytes: 100_000, optimizerBytes: 0, loss: 1 });
  symlinkSync(secret, join(folder, "checkpoint-1", "notes.txt"));
  // The owner of the folder may save their own files, so the folder must belong to another user than the worker's, which is
  // root.
  if (process.getuid?.() === 0) giveAway(folder);
  const worker = await stage.startNode({ name: "linker", run, flags: ["--settle", "100ms"] });
  const completeOf = async () =>
    (await stage.client.runs.get.query({ run }).catch(() => null))?.checkpoints.find(
      ({ state }) => state === "complete",
    );
  const isDecided = async () =>
    (await completeOf()) !== undefined || worker.lines.some((line) => line.includes("notes.txt"));
  await waitUntil("the checkpoint is safe or refused", isDecided, { withinMs: 120_000 });
  const complete = await completeOf();
  if (complete !== undefined) {
    const files = await stage.client.checkpoints.files.query({ checkpointId: complete.id });
    if (JSON.stringify(files).includes("notes.txt"))
      problems.push("a link out of the watched folder was followed and its target saved");
  }
  await worker.stop();
  // Only root can change the owner of a folder.
  return process.getuid?.() === 0 ? [...problems, ...(await foreignState(stage))] : problems;
}

function giveAway(folder: string): void {
  lchownSync(folder, STRANGER, STRANGER);
  for (const entry of readdirSync(folder, { recursive: true, encoding: "utf8" }))
    lchownSync(join(folder, entry), STRANGER, STRANGER);
}

/** Uid without an account on this machine. */
const STRANGER = 64_003;

async function foreignState(stage: Stage): Promise<string[]> {
  const state = join(stage.dir, "foreign-state");
  mkdirSync(state);
  chownSync(state, STRANGER, STRANGER);
  chmodSync(state, 0o777);
  const planted = join(stage.dir, "planted");
  symlinkSync(planted, join(state, "local.token"));
  const args = ["agent", "--hub", stage.hub.url, "--name", "foreign", "--state", state, "--watch", stage.dir];
  const env = { TIDEMARK_TOKEN: stage.token };
  // A refused worker exits by itself; an accepted one runs until it is killed.
  const { code } = await runOnce("worker/main.ts", [...args, "--local-port", "0"], { env, withinMs: 120_000 });
  const problems = code === null ? ["a state folder of another user that everybody may write to is used"] : [];
  if (existsSync(planted)) problems.push("a planted link in a state folder is written through");
  return problems;
}

async function escapes(stage: Stage): Promise<string[]> {
  const problems: string[] = [];
  const hostile = "\u001b[2J\u001b]0;owned\u0007\u202egnp.exe";
  const env = { ...keysInEnv(stage.store), TIDEMARK_STATE: join(stage.dir, "state-escapes") };
  const to = `s3://${stage.store.bucket}/a`;
  for (const args of [
    ["cp", join(stage.dir, hostile), to],
    ["cp", `s3://${stage.store.bucket}/${hostile}`, stage.dir],
    ["sync", join(stage.dir, hostile), to],
    ["agent", "--hub", stage.hub.url, "--name", hostile],
    ["inspect", join(stage.dir, hostile)],
  ]) {
    const { code, stdout, stderr } = await runOnce("worker/main.ts", args, { env, withinMs: 60_000 });
    if (code === 0) problems.push(`${args[0]} takes a name of escapes`);
    if (/[\u001b\u0007\u202e]/.test(stdout + stderr)) problems.push(`${args[0]} says raw escapes`);
  }
  return problems;
}

export const FILE_ROWS: readonly Row[] = [
  { row: "2", says: "small files that describe much are looked into: a sentence, and the hub goes on", run: bombs },
  { row: "12", says: "links out of a watched folder are not followed, state folders of others not used", run: links },
  { row: "13", says: "no sentence of cp, sync, agent and inspect has a raw escape", run: escapes },
];
