import { createHash, randomBytes } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import type { ProfileDraft } from "#protocol/wire/requests.ts";
import { ADMIN, openStage, type Stage } from "../stage/open-stage.ts";
import { announce, enrolRogue, putOf, send, signOne, type RogueNode } from "../stage/rogue-node.ts";
import type { RunningProcess } from "../stage/start-process.ts";
import { armFault, clearFaults } from "../stage/store-control.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

/**
 * Secrets that can be recognised are planted everywhere a secret goes in; then all that works and all that fails is done
 * once, and everything that was written or said is searched for them. What may hold one is listed, with its reason.
 */

const plant = (what: string): string => `canary-${what}-${randomBytes(18).toString("base64url")}`;
const planted = {
  master: plant("master"),
  bucket: plant("bucket"),
  typed: plant("typed"),
  moved: plant("moved"),
  metrics: plant("metrics"),
  job: plant("job"),
  group: plant("group"),
  password: ADMIN.password,
  wrongPassword: plant("password"),
};
const run = runName.parse("watched");

let stage: Stage;
let worker: RunningProcess;
let jobWorker: RunningProcess;
let rogue: RogueNode;
/** By name; filled as they come into being. */
const secrets = new Map<string, string>(Object.entries(planted));
/** Everything that was answered to what went wrong, and all that came down the streams. */
const heard: string[] = [];
const streams = new AbortController();

beforeAll(async () => {
  stage = await openStage({
    store: { secretKey: planted.bucket },
    hub: {
      env: {
        TIDEMARK_SECRET: planted.master,
        TIDEMARK_LOG: "debug",
        TIDEMARK_METRICS_TOKEN: planted.metrics,
        // Nobody listens there.
        TIDEMARK_SALAD_API_URL: "http://127.0.0.1:9",
      },
    },
  });
  secrets.set("session", stage.cookie.split("=")[1] ?? "");
  secrets.set("join token", stage.token);
  rogue = await enrolRogue(stage, { name: "rogue" });
  secrets.set("node credential", rogue.credential);
});
afterAll(() => stage.close());

const hubLines: string[] = [];
/** A hub that ends takes its lines along. */
const keepLines = () => hubLines.push(...stage.hub.lines);

async function listen(path: string, headers: Record<string, string>): Promise<void> {
  const url = `${stage.hub.url}/api/trpc/${path}`;
  const answer = await fetch(url, { headers: { accept: "text/event-stream", ...headers }, signal: streams.signal });
  expect(answer.status).toBe(200);
  const decoder = new TextDecoder();
  const read = async () => {
    for await (const chunk of answer.body ?? []) heard.push(decoder.decode(chunk, { stream: true }));
  };
  read().catch(() => undefined);
}

async function ask(path: string, init: RequestInit = {}): Promise<number> {
  const answer = await fetch(`${stage.hub.url}${path}`, init);
  heard.push(JSON.stringify([...answer.headers]), await answer.text());
  return answer.status;
}

const change = (procedure: string, body: string, headers: Record<string, string> = {}) =>
  ask(`/api/trpc/${procedure}`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: stage.hub.url, cookie: stage.cookie, ...headers },
    body,
  });

const draft = (endpoint: string, name: string): ProfileDraft => ({
  name,
  provider: "minio",
  bucket: stage.store.bucket,
  region: "us-east-1",
  prefix: "",
  endpoint,
  workerEndpoint: null,
  browserEndpoint: null,
  addressing: "path",
});

const files = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

/** The forms a secret may hide in. */
const formsOf = (secret: string): string[] => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString("base64").replace(/=+$/, ""),
  Buffer.from(secret).toString("hex"),
];

/** What is found in the bytes: the names of planted secrets, and the forms that only signatures and bearers have. */
function found(bytes: Buffer): string[] {
  const names = [...secrets].filter(([, secret]) => formsOf(secret).some((form) => bytes.includes(form)));
  const text = bytes.toString("latin1");
  const shapes = {
    "a signed URL": /X-Amz-Signature=[0-9a-f]{64}/i,
    "a signature": /Signature=[0-9a-f]{64}/,
    "a bearer": /Bearer tm[a-z]_[A-Za-z0-9_-]{16}/,
  };
  const shaped = Object.entries(shapes).filter(([, shape]) => shape.test(text));
  return [...names, ...shaped].map(([name]) => name);
}

test("people sign in, profiles are made and tested, checkpoints go up and come back", async () => {
  await listen("live.watch", { cookie: stage.cookie });
  const sealed = await stage.client.sealing.set.mutate({ id: stage.profileId, sealing: "content", understood: true });
  const [key] = sealed.keys;
  const wanted = { profileId: stage.profileId, keyId: key?.id ?? "", password: ADMIN.password };
  const { text } = await stage.client.sealing.exportKey.mutate(wanted);
  secrets.set("wrapping key", text.split(".")[2] ?? "");
  await stage.client.sealing.set.mutate({ id: stage.profileId, sealing: "off", understood: false });
  const boot = encodeURIComponent(JSON.stringify({ bootId: crypto.randomUUID() }));
  await listen(`node.stream?input=${boot}`, { authorization: `Bearer ${rogue.credential}` });
  worker = await stage.startNode({ name: "gpu-1", run, env: { TIDEMARK_LOG: "debug" } });
  writeCheckpoint({ folder: stage.folderOf("gpu-1"), step: 1, modelBytes: 6 << 20, optimizerBytes: 0, loss: 1 });
  const checkpoint = await waitComplete(stage, run);
  const targetPath = join(stage.dir, "restored", "checkpoint-1");
  const options = {
    requestId: crypto.randomUUID(),
    checkpointId: checkpoint.id,
    nodeId: checkpoint.nodeId,
    targetPath,
  };
  await stage.client.restores.create.mutate(options);
  await waitUntil("it is restored", async () => files(stage.dir).some((file) => file.startsWith(targetPath)));
  const credential = { accessKeyId: stage.store.accessKey, secretAccessKey: stage.store.secretKey };
  const profile = draft(stage.store.endpoint, "tested");
  expect((await stage.client.profiles.test.mutate({ id: null, profile, credential })).ok).toBe(true);
  const other = await runFor("rogues-own");
  const request = await signOne(rogue, putOf(other));
  secrets.set("signature", new URL(request.url).searchParams.get("X-Amz-Signature") ?? "");
  expect((await send(request, other.body)).status).toBe(200);
  expect(await ask("/metrics", { headers: { authorization: `Bearer ${planted.metrics}` } })).toBe(200);
});

test("a job with a secret runs, prints it and fails, and the program alone has it", async () => {
  const proof = join(stage.dir, "secret-of-the-job");
  const print = `echo "a $HF_TOKEN b"; printf %s "$HF_TOKEN" >&2; printf %s "$HF_TOKEN" | sha256sum > '${proof}'; exit 3`;
  const job = {
    name: "secret",
    queue: "secret",
    run: runName.parse("with-secret"),
    command: "sh",
    arguments: ["-c", print],
    watch: ["out"],
    policy: { mostFailures: 1 },
    secrets: { HF_TOKEN: planted.job },
  };
  const made = await stage.client.jobs.submit.mutate({ jobs: [job] });
  const { id = "" } = made.jobs[0] ?? {};
  const folder = join(stage.dir, "nodes", "worker-1", "jobs");
  const flags = ["--work-folder", folder];
  jobWorker = await stage.startNode({ name: "worker-1", queue: "secret", flags, env: { TIDEMARK_LOG: "debug" } });
  await waitUntil("it failed", async () => (await stage.client.jobs.get.query({ id })).state === "failed");
  expect(readFileSync(proof, "utf8")).toContain(createHash("sha256").update(planted.job).digest("hex"));
  await waitUntil("what it printed was passed on", () => jobWorker.lines.some((line) => line.includes("a *** b")));
  await stage.client.jobs.retry.mutate({ which: { ids: [id] } });
  await stage.client.jobs.cancel.mutate({ which: { ids: [id] } });
  const cookie = { cookie: stage.cookie };
  for (const path of ["jobs.list?input={}", `jobs.get?input=${encodeURIComponent(JSON.stringify({ id }))}`])
    expect(await ask(`/api/trpc/${path}`, { headers: cookie })).toBe(200);
  const events = encodeURIComponent(JSON.stringify({ nodeId: null, run: null, cursor: null, limit: 50 }));
  expect(await ask(`/api/trpc/events.list?input=${events}`, { headers: cookie })).toBe(200);
  for (const wrong of [{ secrets: [planted.job] }, { secrets: { HF_TOKEN: planted.job.repeat(400) } }])
    expect(await change("jobs.submit", JSON.stringify({ jobs: [{ ...job, ...wrong }] }))).toBe(400);
});

async function runFor(name: string) {
  const own = runName.parse(name);
  const { epoch } = await rogue.node.claimEpoch.mutate({ run: own });
  return announce(rogue, { run: own, epoch, step: 1 });
}

test("everything that can fail fails once", async () => {
  const typed = { accessKeyId: "AKIATYPED", secretAccessKey: planted.typed };
  const json = JSON.stringify;
  // Wrong words.
  expect(await change("auth.signIn", json({ email: ADMIN.email, password: planted.wrongPassword }))).toBe(401);
  expect(await change("auth.signIn", `{"email": "${planted.wrongPassword}`)).toBe(400);
  expect(await change("auth.signIn", json({ email: planted.wrongPassword, password: { planted } }))).toBe(400);
  for (const authorization of [`Bearer ${rogue.credential}x`, `Basic ${rogue.credential}`, planted.typed]) {
    expect(await change("node.hello", "{}", { authorization })).toBe(401);
  }
  await ask(`/api/trpc/node.stream?input=${encodeURIComponent(stage.token)}`);
  expect(await ask(`/metrics?token=${planted.metrics}`)).toBeGreaterThanOrEqual(400);
  expect(await ask(`/no-such-page?secret=${planted.typed}`)).toBe(503);
  // Malformed inputs with a key in them.
  const profile = draft(stage.store.endpoint, "typed");
  for (const wrong of [
    { profile: { ...profile, endpoint: `https://${planted.typed}:x@h` }, credential: typed },
    { profile: { ...profile, name: "" }, credential: typed },
    { profile, credential: { ...typed, secretAccessKey: planted.typed.repeat(100) } },
    { profile, credential: { accessKeyId: planted.typed.repeat(40), secretAccessKey: "" } },
    { profile, credential: [planted.typed] },
    { profile: { ...profile, endpoint: "http://169.254.169.254" }, credential: typed },
    { profile: { ...profile, name: "stage bucket" }, credential: typed },
  ]) {
    expect(await change("profiles.create", json(wrong))).toBeGreaterThanOrEqual(400);
  }
  expect(await change("node.enrol", json({ token: stage.token, name: "..", protocol: 1, facts: {} }))).toBe(400);
  // A wrong key, a store that refuses, one that says secrets back, and none at all.
  const test = (endpoint: string) =>
    change("profiles.test", json({ id: null, profile: draft(endpoint, "typed"), credential: typed }));
  expect(await test(stage.store.endpoint)).toBe(200);
  expect(await test("http://127.0.0.1:9")).toBe(200);
  const made = await stage.client.profiles.create.mutate({
    profile: draft("http://127.0.0.1:9", "moved"),
    credential: { accessKeyId: "AKIAMOVED", secretAccessKey: planted.moved },
  });
  expect(await change("profiles.test", json({ id: made.id, profile: null, credential: null }))).toBe(200);
  await armFault(stage.store, { op: "PutObject", times: 5, action: { kind: "error", code: "InternalError" } });
  expect(await change("profiles.test", json({ id: stage.profileId, profile: null, credential: null }))).toBe(200);
  await clearFaults(stage.store);
  const account = { name: "salad", provider: "salad", organization: "acme", project: "training" };
  expect(await change("groups.accounts.create", json({ account, key: planted.group }))).toBe(200);
  expect(await change("groups.accounts.create", json({ account, key: planted.group }))).toBe(409);
  expect(await change("groups.accounts.create", json({ account, key: `${planted.group} `.repeat(30) }))).toBe(400);
  const [added] = await stage.client.groups.accounts.list.query();
  expect(await change("groups.accounts.test", json({ id: added?.id }))).toBe(200);
  await ask("/api/trpc/groups.accounts.list", { headers: { cookie: stage.cookie } });
  const mine = await runFor("never-there");
  const { requests } = await rogue.node.sign.mutate({ operations: [putOf(mine), { op: "head", key: mine.key }] });
  expect(requests).toHaveLength(2);
});

test("a store that is away and a hub whose procedures crash say nothing they should not", async () => {
  await stage.store.stop("SIGKILL");
  writeCheckpoint({ folder: stage.folderOf("gpu-1"), step: 2, modelBytes: 6 << 20, optimizerBytes: 0, loss: 1 });
  await waitUntil("the worker has tried", async () => {
    const filter = { nodeId: null, run, states: [], cursor: null, limit: 50 };
    const { rows } = await stage.client.transfers.list.query(filter);
    return rows.some((one) => one.step === 2);
  });
  await change("profiles.test", JSON.stringify({ id: stage.profileId, profile: null, credential: null }));
  keepLines();
  // A row that cannot be read fails no list: a column that is gone does.
  const database = new DatabaseSync(join(stage.dir, "hub", "hub.db"), { timeout: 60_000 });
  database.exec("ALTER TABLE Profile RENAME COLUMN prices TO lost");
  expect(await ask("/api/trpc/profiles.list", { headers: { cookie: stage.cookie } })).toBe(500);
  await waitUntil("the crash was logged", async () => stage.hub.lines.some((line) => line.includes("a call failed")));
  keepLines();
  database.exec("ALTER TABLE Profile RENAME COLUMN lost TO prices");
  database.exec(`UPDATE ProfileSecret SET sealed = 'tm1.1.a.b.c.d' WHERE profileId = '${stage.profileId}'`);
  database.close();
  await stage.killHub();
  await stage.startHubAgain();
  const operations = { operations: [{ op: "head", key: "x" }] };
  const headers = { authorization: `Bearer ${rogue.credential}`, cookie: "" };
  expect(await change("node.sign", JSON.stringify(operations), headers)).toBeGreaterThanOrEqual(400);
  await change("profiles.test", JSON.stringify({ id: stage.profileId, profile: null, credential: null }));
});

const stateFolder = () => join(stage.dir, "nodes", "gpu-1", "state");
const jobFolder = () => join(stage.dir, "nodes", "worker-1");

test("a canary that is there is found, in whatever form it is written", () => {
  expect(found(Buffer.from("nothing"))).toEqual([]);
  for (const form of formsOf(planted.bucket)) expect(found(Buffer.from(`x${form}y`))).toEqual(["bucket"]);
  expect(found(Buffer.from(`GET /?X-Amz-Signature=${"0".repeat(64)}`))).toEqual(["a signed URL", "a signature"]);
  expect(heard.join("").length).toBeGreaterThan(2000);
  expect(secrets.size).toBe(Object.keys(planted).length + 5);
});

test("no log has one", () => {
  keepLines();
  expect(hubLines.length).toBeGreaterThan(10);
  expect(found(Buffer.from(hubLines.join("\n")))).toEqual([]);
  expect(worker.lines.length).toBeGreaterThan(0);
  expect(found(Buffer.from(worker.lines.join("\n")))).toEqual([]);
  expect(found(Buffer.from(jobWorker.lines.join("\n")))).toEqual([]);
});

test("no stream and no answer to what went wrong has one", () => {
  streams.abort();
  expect(found(Buffer.from(heard.join("\n")))).toEqual([]);
});

test("no file of the hub has one: database, write-ahead log, whatever else lies there", async () => {
  const looked: string[] = [];
  const look = () => {
    for (const file of files(join(stage.dir, "hub"))) {
      looked.push(relative(stage.dir, file));
      expect(found(readFileSync(file)), file).toEqual([]);
    }
  };
  look();
  await stage.killHub();
  look();
  expect(looked).toContain("hub/hub.db");
  expect(looked).toContain("hub/hub.db-wal");
});

test("the worker's folder has its own credential, in one file that its owner alone may read, and nothing else", () => {
  const holders = files(stateFolder()).filter((file) => /tmn_[A-Za-z0-9_-]{16}/.test(readFileSync(file, "latin1")));
  expect(holders).toHaveLength(1);
  for (const holder of holders) expect(statSync(holder).mode & 0o077, holder).toBe(0);
  for (const file of files(stateFolder())) expect(found(readFileSync(file)), file).toEqual([]);
  for (const file of files(jobFolder())) expect(found(readFileSync(file)), file).toEqual([]);
});
