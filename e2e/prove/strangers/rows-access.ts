import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { runName } from "#protocol/base/names.ts";
import { signIn } from "../../stage/hub-client.ts";
import { ADMIN, type Stage } from "../../stage/open-stage.ts";
import { announce, enrolRogue, manifestOf, putOf, refusal, send, signOne } from "../../stage/rogue-node.ts";
import { waitUntil } from "../../stage/wait-until.ts";
import { ask } from "./ask.ts";
import type { Row } from "./row.ts";

/** Attacks on things of others: runs, accounts, secrets, and the machine behind the pages. */

async function takeover(stage: Stage): Promise<string[]> {
  const problems: string[] = [];
  const run = runName.parse("llama");
  const owner = await enrolRogue(stage, { name: "owner" });
  const { epoch } = await owner.node.claimEpoch.mutate({ run });
  const other = await enrolRogue(stage, { name: "thief" });
  const claimed = await refusal(other.node.claimEpoch.mutate({ run }));
  if (claimed === null) problems.push("a node of the same profile takes a run whose writer is online");
  const staged = await announce(owner, { run, epoch, step: 1 }).catch(() => null);
  if (staged === null) problems.push("the writer that was there cannot save any more");
  else {
    const { etag } = await send(await signOne(owner, putOf(staged)), staged.body);
    const saved = await refusal(owner.node.commit.mutate({ manifest: manifestOf(stage, owner, { staged, etag }) }));
    if (saved !== null) problems.push(`the writer that was there does not commit any more: ${saved}`);
  }
  const { rows } = await stage.client.events.list.query({ nodeId: null, run, cursor: null, limit: 50 });
  const isTold = rows.some(({ kind, nodeName }) => kind === "claim-refused" && nodeName === "thief");
  if (claimed !== null && !isTold) problems.push("nobody is told that a run was to be taken");
  return problems;
}

const address = (index: number) => `10.${index >> 8}.${index & 255}.1`;

function tryPassword(stage: Stage, about: { password: string; from: string }) {
  return ask({
    url: stage.hub.url,
    path: "auth.signIn",
    type: "mutation",
    headers: { origin: stage.hub.url, "x-forwarded-for": about.from },
    body: JSON.stringify({ email: ADMIN.email, password: about.password }),
  });
}

async function wrongPasswords(stage: Stage): Promise<string[]> {
  const problems: string[] = [];
  const home = "192.0.2.7";
  const first = await tryPassword(stage, { password: ADMIN.password, from: home });
  if (first?.status !== 200) problems.push(`the right password is refused at once: ${first?.code}`);
  for (let index = 0; index < 84; index++)
    await tryPassword(stage, { password: "not-this-password-at-all", from: address(index % 4) });
  const known = await tryPassword(stage, { password: ADMIN.password, from: home });
  if (known?.status !== 200) problems.push(`84 wrong passwords lock out who was here before: ${known?.code}`);
  const crowd = Array.from({ length: 36 }, (_, index) =>
    tryPassword(stage, { password: "not-this-password-at-all", from: address(100 + index) }),
  );
  const among = await tryPassword(stage, { password: ADMIN.password, from: home });
  await Promise.all(crowd);
  if (among?.status !== 200) problems.push(`36 tries at once keep the right password out: ${among?.code}`);
  return problems;
}

async function environments(stage: Stage): Promise<string[]> {
  const treeOf = (pid: number): number[] => {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean);
    return [pid, ...children.flatMap((child) => treeOf(Number(child)))];
  };
  const pids = treeOf(stage.hub.pid);
  const shown = pids.map((pid) => readFileSync(`/proc/${pid}/environ`, "utf8"));
  const problems = pids.length < 3 ? ["fewer processes than a hub has were found"] : [];
  for (const secret of [ADMIN.password, STRANGER_SECRETS.TIDEMARK_SECRET, STRANGER_SECRETS.TIDEMARK_SECRET_PREVIOUS])
    if (shown.some((text) => text.includes(secret)))
      problems.push(`a secret is in an environment: ${secret.slice(0, 12)}`);
  return problems;
}

/** Secrets in the environment of the attacked hub. */
export const STRANGER_SECRETS = {
  TIDEMARK_SECRET: "planted-master-key-of-the-attacked-hub-1",
  TIDEMARK_SECRET_PREVIOUS: "planted-previous-key-of-the-attacked-hub",
};

async function imagePaths(stage: Stage): Promise<string[]> {
  const problems: string[] = [];
  const query = "?url=%2F_next%2Fstatic%2Fmedia%2Fa.png&w=640&q=75";
  const paths = [
    "/./_next/image",
    "//_next/image",
    "/%2e/_next/image",
    "/_next/./image",
    "/a/../_next/image",
    "/_next//image",
    "/\\_next/image",
  ];
  for (const path of paths) {
    const { promise, resolve } = Promise.withResolvers<number>();
    const { hostname, port } = new URL(stage.hub.url);
    request({ hostname, port, path: path + query }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    })
      .on("error", () => resolve(0))
      .end();
    const status = await promise;
    if (status !== 400) problems.push(`${path} answers ${status}`);
  }
  return problems;
}

/** Returns whether a stream was accepted: a refused one reports an error as its first event. */
async function isStream(answer: Response): Promise<boolean> {
  const reader = answer.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  if (answer.status !== 200 || reader === undefined) return false;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return false;
    text += decoder.decode(value, { stream: true });
    if (text.includes("event: serialized-error")) return false;
    if (/^id: |"type":"nodes"/m.test(text)) return true;
  }
}

async function records(stage: Stage): Promise<string[]> {
  const problems: string[] = [];
  await tryPassword(stage, { password: "not-this-password-at-all", from: "192.0.2.99" });
  await fetch(`${stage.hub.url}/api/trpc/node.hello`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: "Bearer tmn_0123456789abcdef0123456789",
      "x-forwarded-for": "192.0.2.98",
    },
    body: "{}",
  });
  const audit = JSON.stringify(await stage.client.audit.list.query({ cursor: null, limit: 50 }));
  for (const from of ["192.0.2.99", "192.0.2.98"])
    if (!audit.includes(from)) problems.push(`${from} is in no row of the audit`);
  const metrics = await (await fetch(`${stage.hub.url}/metrics`)).text();
  if (!/^tidemark_refused_credentials_total\{by="password"\} [1-9]/m.test(metrics))
    problems.push("/metrics counts no refusal");
  const answer = await fetch(`${stage.hub.url}/api/trpc/auth.signIn`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      origin: stage.hub.url.replace("http:", "https:"),
      "x-forwarded-proto": "https",
      "x-forwarded-for": "192.0.2.7",
    },
    body: JSON.stringify(ADMIN),
  });
  if (!/;\s*Secure/i.test(answer.headers.getSetCookie()[0] ?? ""))
    problems.push("the cookie lacks Secure behind a proxy that says https");
  const cookie = await signIn(stage.hub.url, ADMIN);
  const streams = new AbortController();
  const opened = await Promise.all(
    Array.from({ length: 30 }, () =>
      fetch(`${stage.hub.url}/api/trpc/live.watch`, {
        headers: { cookie, accept: "text/event-stream" },
        signal: streams.signal,
      }),
    ),
  );
  const open = (await Promise.all(opened.map(isStream))).filter(Boolean).length;
  streams.abort();
  if (open > 20) problems.push(`${open} streams are open for one session`);
  return problems;
}

async function foreignPlaces(stage: Stage): Promise<string[]> {
  // Emptied, because the stage sets it.
  const worker = await stage.startNode({ name: "gpu-1", run: "watched", env: { TIDEMARK_RESTORE_TO: "" } });
  const rogue = await enrolRogue(stage, { name: "maker" });
  const run = runName.parse("made");
  const { epoch } = await rogue.node.claimEpoch.mutate({ run });
  const staged = await announce(rogue, { run, epoch, step: 1 });
  const { etag } = await send(await signOne(rogue, putOf(staged)), staged.body);
  await rogue.node.commit.mutate({ manifest: manifestOf(stage, rogue, { staged, etag }) });
  const nodeOf = async () => (await stage.client.nodes.list.query()).find(({ name }) => name === "gpu-1");
  await waitUntil("the node is there", async () => (await nodeOf())?.state === "online");
  const nodeId = (await nodeOf())?.id ?? "";
  const targetPath = join(stage.dir, "elsewhere", ".ssh");
  const options = { requestId: crypto.randomUUID(), checkpointId: staged.checkpointId, nodeId, targetPath };
  const why = await refusal(stage.client.restores.create.mutate(options));
  const problems: string[] = [];
  if (why === null) {
    const hasEnded = async () => {
      const filter = { nodeId, run: null, states: [], cursor: null, limit: 50 };
      return (await stage.client.transfers.list.query(filter)).rows.some(({ state }) =>
        ["done", "failed", "cancelled"].includes(state),
      );
    };
    await waitUntil("the restore ended", hasEnded, { withinMs: 120_000 });
    if (readdirSync(stage.dir).includes("elsewhere"))
      problems.push("an order restores into a folder that nobody allowed");
  }
  await worker.stop();
  return problems;
}

export const ACCESS_ROWS: readonly Row[] = [
  { row: "3", says: "a node of the same profile claims a run whose writer is online: refused and told", run: takeover },
  { row: "8", says: "without --restore-to an order restores beside the watched folders alone", run: foreignPlaces },
  { row: "9", says: "the image optimiser is behind no spelling of its path", run: imagePaths },
  { row: "10", says: "84 wrong passwords and 36 at once keep nobody out who was here before", run: wrongPasswords },
  { row: "11", says: "no process of the hub shows a secret", run: environments },
  { row: "15", says: "failed sign-ins are on record, cookies Secure, streams counted", run: records },
];
