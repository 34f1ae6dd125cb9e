import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, request as httpRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createTRPCClient, httpSubscriptionLink } from "@trpc/client";
import { EventSource } from "eventsource";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PROTOCOL_VERSION } from "#protocol/base/version.ts";
import type { LiveMessage } from "#protocol/wire/views.ts";
import { memoryFolder } from "#storage/testing/spawn-store.ts";
import type { HubRouter } from "./router.ts";

/** The hub as real processes, started the way `npm start` does. */

const SOURCES = join(import.meta.dirname, "main.ts");
/** The bundle that tests start where there is one; some tests below start the sources. */
const PROGRAM = process.env["GATE_HUB"] ?? SOURCES;
const SECRET = "planted-canary-master-key-of-this-test";
const ADMIN = { email: "admin@example.com", password: "a-long-enough-password" };

interface Started {
  child: ChildProcess;
  out: () => string;
  err: () => string;
  exited: Promise<number | null>;
}

let folder = "";
const started: Started[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(memoryFolder(), "tidemark-main-"));
});
afterEach(async () => {
  for (const { child, exited } of started.splice(0)) {
    child.kill("SIGKILL");
    await exited;
  }
  rmSync(folder, { recursive: true, force: true });
});

function start(variables: Record<string, string> = {}, program = PROGRAM): Started {
  const child = spawn(process.execPath, [program], {
    env: {
      NODE_ENV: "test",
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      TIDEMARK_DATA: folder,
      TIDEMARK_PORT: "0",
      TIDEMARK_NO_UI: "1",
      TIDEMARK_LOG: "silent",
      TIDEMARK_SECRET: SECRET,
      ...variables,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, err] = ["", ""];
  child.stdout?.on("data", (chunk) => (out += String(chunk)));
  child.stderr?.on("data", (chunk) => (err += String(chunk)));
  const exited = once(child, "close").then(([code]) => code as number | null);
  const one = { child, out: () => out, err: () => err, exited };
  started.push(one);
  return one;
}

/** Polls until `look` gives something; fails with the test's own time limit. */
async function until<T>(look: () => T | null | undefined | false): Promise<T> {
  for (;;) {
    const found = look();
    if (found !== null && found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function ready(one: Started): Promise<string> {
  const match = await until(
    () => /Tidemark is ready at (http:\S+)\n/.exec(one.out()) ?? /did not start/.exec(one.err()),
  );
  if (match[1] === undefined) throw new Error(one.err());
  return match[1];
}

const withAdmin = { TIDEMARK_ADMIN_EMAIL: ADMIN.email, TIDEMARK_ADMIN_PASSWORD: ADMIN.password };

async function signIn(url: string): Promise<string> {
  const answer = await fetch(`${url}/api/trpc/auth.signIn`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: url },
    body: JSON.stringify(ADMIN),
  });
  return answer.headers.getSetCookie()[0]?.split(";")[0] ?? "";
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
/** A process and all that it started. */
const treeOf = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(treeOf)];
const isAlive = (pid: number): boolean => {
  try {
    // A process that ended and was not collected yet is still listed, as a zombie.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};
const commandOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, "utf8");
/** Where the program of each child lies. */
const FOLDERS = { hub: "http", signer: "signer" } as const;
const childOf = (one: Started, name: keyof typeof FOLDERS): number => {
  const pid = childrenOf(one.child.pid ?? 0).find((child) => commandOf(child).includes(`${FOLDERS[name]}/main.`));
  if (pid === undefined) throw new Error(`no ${name}`);
  return pid;
};
const environmentOf = (pid: number): string => readFileSync(`/proc/${pid}/environ`, "utf8");

/** Follows the live stream with the client browsers use; `whole` counts how often it began anew. */
function follow(url: string, cookie: string) {
  const seen = { whole: 0, errors: [] as string[], completed: false };
  const withCookie: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("cookie", cookie);
    return fetch(input, { ...init, headers });
  };
  class SignedInEventSource extends EventSource {
    constructor(address: string | URL, init: object = {}) {
      super(address, { ...init, fetch: withCookie });
    }
  }
  const client = createTRPCClient<HubRouter>({
    links: [httpSubscriptionLink({ url: `${url}/api/trpc`, EventSource: SignedInEventSource })],
  });
  const subscription = client.live.watch.subscribe(undefined, {
    onData: (message: LiveMessage) => {
      if (message.type === "nodes") seen.whole++;
    },
    onError: (error) => seen.errors.push(error.message),
    onComplete: () => {
      seen.completed = true;
    },
  });
  return { seen, end: () => subscription.unsubscribe() };
}

describe("starting", () => {
  it("prints one line, after the setup code of a hub without an account", async () => {
    const hub = start({}, SOURCES);
    const url = await ready(hub);
    expect(hub.out()).toMatch(/setup code.*\n\n\s+([A-Z2-9]{4}-){7}[A-Z2-9]{4}\n\nTidemark is ready at http:\S+\n$/s);
    expect(await (await fetch(`${url}/healthz`)).json()).toMatchObject({ ok: true, protocol: PROTOCOL_VERSION });
    hub.child.kill("SIGTERM");
    expect(await hub.exited).toBe(0);
    const again = start(withAdmin);
    await ready(again);
    expect(again.out()).toMatch(/^Tidemark is ready at http:\S+\n$/);
  });

  it("keeps every secret out of the environment of all of its processes, and the master key from the one that serves pages", async () => {
    const token = "a-planted-token-for-the-metrics";
    const previous = "planted-canary-of-the-previous-master-key";
    const more = { TIDEMARK_METRICS_TOKEN: token, TIDEMARK_SECRET_PREVIOUS: previous };
    const hub = start({ ...withAdmin, ...more }, SOURCES);
    const url = await ready(hub);
    const pids = treeOf(hub.child.pid ?? 0);
    expect(pids).toEqual(expect.arrayContaining([hub.child.pid, childOf(hub, "hub"), childOf(hub, "signer")]));
    for (const pid of pids) {
      const shown = environmentOf(pid);
      expect(shown).toContain("NODE_ENV=");
      for (const secret of [SECRET, previous, token, ADMIN.password])
        expect(shown, commandOf(pid)).not.toContain(secret);
    }
    // They arrived anyway.
    expect(await signIn(url)).toMatch(/^tidemark=tms_/);
    const asked = (headers: Record<string, string>) => fetch(`${url}/metrics`, { headers });
    expect((await asked({})).status).toBe(401);
    expect((await asked({ authorization: `Bearer ${token}` })).status).toBe(200);
  });

  it.runIf(process.getuid?.() === 0)("runs the signer and the hub as two users where root says so", async () => {
    chmodSync(folder, 0o711);
    const data = join(folder, "data");
    mkdirSync(data, { mode: 0o700 });
    chownSync(data, 64_001, 64_001);
    const key = join(folder, "key");
    writeFileSync(key, SECRET, { mode: 0o400 });
    chownSync(key, 64_002, 64_002);
    const users = { TIDEMARK_HUB_UID: "64001", TIDEMARK_KEEPER_UID: "64002:64002" };
    const hub = start({ ...withAdmin, ...users, TIDEMARK_SECRET: "", TIDEMARK_SECRET_FILE: key, TIDEMARK_DATA: data });
    await ready(hub);
    expect(statSync(`/proc/${childOf(hub, "hub")}`).uid).toBe(64_001);
    expect(statSync(`/proc/${childOf(hub, "signer")}`).uid).toBe(64_002);
    const alone = start({ TIDEMARK_KEEPER_UID: "64002" });
    expect(await alone.exited).toBe(2);
    expect(alone.err()).toContain("are set together");
  });

  it("refuses a master key that is wrong, missing or weak, and says how to mend it", async () => {
    const first = start();
    await ready(first);
    first.child.kill("SIGTERM");
    await first.exited;
    const wrong = start({ TIDEMARK_SECRET: "another secret of thirty-two characters" });
    expect(await wrong.exited).toBe(4);
    expect(wrong.err()).toContain("The master key does not fit this database");
    const missing = start({ TIDEMARK_SECRET: "" });
    expect(await missing.exited).toBe(4);
    expect(missing.err()).toContain("there is no master key");
    const weak = start({ TIDEMARK_SECRET: "short" });
    expect(await weak.exited).toBe(2);
    expect(weak.err()).toContain("openssl rand -base64 32");
    for (const { err, out } of [wrong, missing, weak]) {
      expect(err()).toMatch(/^┌─+┐\n(│ .* │\n)+└─+┘\n$/);
      expect(out()).toBe("");
    }
    await ready(start());
  });

  it("refuses a setting it cannot read, a port that is taken and a folder that cannot be written", async () => {
    const setting = start({ TIDEMARK_PORT: "http" });
    expect(await setting.exited).toBe(2);
    expect(setting.err()).toContain("TIDEMARK_PORT");
    const holder: Server = createServer();
    holder.listen(0, "127.0.0.1");
    await once(holder, "listening");
    const { port } = holder.address() as AddressInfo;
    const taken = start({ TIDEMARK_PORT: String(port) });
    expect(await taken.exited).toBe(1);
    expect(taken.err()).toContain(`127.0.0.1:${port}: The port is already in use`);
    holder.close();
    const file = join(folder, "a-file");
    writeFileSync(file, "");
    const unwritable = start({ TIDEMARK_DATA: join(file, "data") });
    expect(await unwritable.exited).toBe(1);
    expect(unwritable.err()).toContain("The folder cannot be written");
  });

  it("refuses a data folder that another hub uses", async () => {
    await ready(start(withAdmin));
    const second = start(withAdmin);
    expect(await second.exited).toBe(4);
    expect(second.err()).toContain("Another Tidemark process is using this folder");
  });
});

describe("ending", () => {
  it("ends with an open stream, cleanly, and the stream comes back by itself", async () => {
    const hub = start(withAdmin);
    const url = await ready(hub);
    const stream = follow(url, await signIn(url));
    await until(() => stream.seen.whole === 1);
    hub.child.kill("SIGTERM");
    expect(await hub.exited).toBe(0);
    const again = start({ ...withAdmin, TIDEMARK_PORT: new URL(url).port });
    await ready(again);
    await until(() => stream.seen.whole === 2);
    expect(stream.seen.completed).toBe(false);
    stream.end();
  });

  it("stops cleanly when its whole group is told to, more than once", async () => {
    const hub = start(withAdmin);
    const url = await ready(hub);
    const stream = follow(url, await signIn(url));
    await until(() => stream.seen.whole === 1);
    for (const pid of [childOf(hub, "hub"), childOf(hub, "signer")]) process.kill(pid, "SIGTERM");
    // Each parent passes the signal on; apart from each other, or the system would make one of them.
    let told = 0;
    await until(() => !hub.child.kill("SIGTERM") || ++told === 5);
    expect(await hub.exited).toBe(0);
    // A clean end folds the write-ahead log in.
    const log = statSync(join(folder, "hub.db-wal"), { throwIfNoEntry: false });
    expect(log?.size ?? 0).toBe(0);
    stream.end();
  });

  it("takes its children along when it is killed, and starts again at once", async () => {
    const hub = start(withAdmin);
    const url = await ready(hub);
    const children = [childOf(hub, "hub"), childOf(hub, "signer")];
    hub.child.kill("SIGKILL");
    const again = start({ ...withAdmin, TIDEMARK_PORT: new URL(url).port });
    expect(await ready(again)).toBe(url);
    await until(() => children.every((pid) => !isAlive(pid)));
    expect(await signIn(url)).toMatch(/^tidemark=tms_/);
  });

  it.each(["hub", "signer"] as const)("says so when its %s dies, and takes the other along", async (name) => {
    const hub = start(withAdmin);
    await ready(hub);
    const children = [childOf(hub, "hub"), childOf(hub, "signer")];
    process.kill(childOf(hub, name), "SIGKILL");
    expect(await hub.exited).toBe(1);
    expect(hub.err().trimEnd().split("\n")).toHaveLength(1);
    expect(hub.err()).toContain("Start it again.");
    await until(() => children.every((pid) => !isAlive(pid)));
  });
});

describe("the border", () => {
  let url = "";
  beforeEach(async () => {
    url = await ready(start(withAdmin));
  });
  const post = (path: string, init: RequestInit) => fetch(`${url}/api/trpc/${path}`, { method: "POST", ...init });
  const json = { "content-type": "application/json" };
  const codeOf = async (answer: Response) =>
    ((await answer.json()) as { error: { data: { fault: { code: string } } } }).error.data.fault.code;

  it("refuses a change that another site asks for, before it looks at who asks", async () => {
    const foreign = await post("auth.signIn", {
      headers: { ...json, origin: "https://evil.example" },
      body: JSON.stringify(ADMIN),
    });
    expect([foreign.status, await codeOf(foreign)]).toEqual([403, "CROSS_SITE"]);
    expect(foreign.headers.getSetCookie()).toEqual([]);
    const cookie = await signIn(url);
    const form = await post("auth.signOut", { headers: { cookie }, body: new FormData() });
    expect(form.ok).toBe(false);
    const still = await fetch(`${url}/api/trpc/auth.status`, { headers: { cookie } });
    expect(await still.text()).toContain(ADMIN.email);
  });

  it("does not change anything by GET", async () => {
    const cookie = await signIn(url);
    const answer = await fetch(`${url}/api/trpc/auth.signOut`, { headers: { cookie } });
    expect(answer.ok).toBe(false);
  });

  it("gives a fault its own status and no inner details", async () => {
    const answer = await post("auth.signIn", { headers: json, body: JSON.stringify({ email: 1 }) });
    expect(answer.status).toBe(400);
    const text = await answer.text();
    expect(text).toContain('"code":"BAD_INPUT"');
    expect(text).not.toMatch(/stack|node_modules|server\//);
  });

  it("caps bodies and batches", async () => {
    const large = await post("auth.signIn", { headers: json, body: JSON.stringify({ email: "x".repeat(5_000_000) }) });
    expect([large.status, await codeOf(large)]).toEqual([413, "TOO_LARGE"]);
    const many = Array.from({ length: 21 }, () => "auth.status").join(",");
    expect((await fetch(`${url}/api/trpc/${many}?batch=1`)).status).toBe(400);
  });

  it("opens no web socket", async () => {
    const request = httpRequest(url, { headers: { connection: "upgrade", upgrade: "websocket" } });
    request.end();
    const [answer] = (await once(request, "response")) as [{ statusCode: number }];
    expect(answer.statusCode).toBe(400);
  });

  it("says in one sentence that it serves no pages, with the headers every answer has", async () => {
    const answer = await fetch(`${url}/nodes`);
    expect(answer.status).toBe(503);
    expect(await answer.text()).toMatch(/^This hub serves no pages.*Its API works\.\n$/);
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect(answer.headers.get("x-frame-options")).toBe("DENY");
  });

  it("gives metrics as text", async () => {
    const answer = await fetch(`${url}/metrics`);
    expect(answer.headers.get("content-type")).toContain("version=0.0.4");
    expect(await answer.text()).toContain("# TYPE tidemark_nodes gauge");
  });
});
