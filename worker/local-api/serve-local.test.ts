import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import { askLocal } from "./ask-local.ts";
import { serveLocal, type LocalListener, type LocalParts, type LocalRequest } from "./serve-local.ts";
import { socketOf } from "./socket-path.ts";

let state: string;
let asked: LocalRequest[];
const listeners: LocalListener[] = [];
const stop = new AbortController();

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), "tidemark-local-"));
  asked = [];
});
afterEach(async () => {
  for (const listener of listeners.splice(0)) await listener.close();
  rmSync(state, { recursive: true });
});

async function open(parts: Partial<LocalParts> = {}): Promise<LocalListener> {
  const listener = await serveLocal({
    state,
    port: null,
    signal: stop.signal,
    answer: (request) => {
      asked.push(request);
      return Promise.resolve({ status: 200, type: "application/json", text: JSON.stringify({ path: request.path }) });
    },
    ...parts,
  });
  listeners.push(listener);
  return listener;
}

const ask = (path: `/${string}`, body?: unknown) =>
  askLocal(state, {
    asked: `POST ${path}`,
    body,
    answer: z.object({ path: z.string() }),
    signal: AbortSignal.timeout(10_000),
  });

test("answers on a socket that only its owner may open", async () => {
  await open();
  expect(await ask("/v1/x", { a: 1 })).toEqual({ path: "/v1/x" });
  expect(asked[0]).toMatchObject({ method: "POST", path: "/v1/x", body: '{"a":1}' });
  expect(statSync(socketOf(state)).mode & 0o777).toBe(0o600);
});

test("takes the place of a socket that a killed worker left, and leaves none behind", async () => {
  writeFileSync(socketOf(state), "");
  const listener = await open();
  expect(await ask("/again")).toEqual({ path: "/again" });
  await listener.close();
  expect(existsSync(socketOf(state))).toBe(false);
  await expect(ask("/gone")).rejects.toMatchObject({ code: "NO_WORKER" });
});

test.each([null, 0])("removes the token that a killed worker left, and its own at the end (port %s)", async (port) => {
  const file = join(state, "local.token");
  writeFileSync(file, "old\n");
  const listener = await open({ port });
  expect(existsSync(file)).toBe(port !== null);
  if (port !== null) expect(readFileSync(file, "utf8")).not.toContain("old");
  await listener.close();
  expect(existsSync(file)).toBe(false);
});

test("a fault arrives as the same fault", async () => {
  await open({
    answer: () => Promise.reject(new Fault("NOT_FINISHED", { op: "save", subject: "/c", detail: "half" })),
  });
  await expect(ask("/v1/save")).rejects.toMatchObject({
    code: "NOT_FINISHED",
    context: { op: "save", subject: "/c", detail: "half" },
  });
});

test("on loopback nobody is answered without the token, nor for another host's name, nor for a page of a browser", async () => {
  const listener = await open({ port: 0 });
  const url = `${listener.url}/v1/state`;
  const token = readFileSync(listener.tokenFile ?? "", "utf8").trim();
  const authorization = `Bearer ${token}`;
  expect(statSync(listener.tokenFile ?? "").mode & 0o777).toBe(0o600);
  expect((await fetch(url)).status).toBe(401);
  expect((await fetch(url, { headers: { authorization: "Bearer wrong" } })).status).toBe(401);
  expect((await fetch(url, { headers: { authorization, origin: "https://evil.example" } })).status).toBe(401);
  expect(asked).toEqual([]);
  const answer = await fetch(url, { headers: { authorization } });
  expect([answer.status, await answer.json()]).toEqual([200, { path: "/v1/state" }]);
  const body = (await (await fetch(url)).json()) as { fault: { code: string; sentence: string } };
  expect(body.fault.code).toBe("NOT_ADMITTED");
  expect(body.fault.sentence).toContain("local.token");
});

test("a body that is far too long is refused", async () => {
  await open();
  await expect(ask("/v1/save", "x".repeat(70_000))).rejects.toMatchObject({ code: "TOO_LARGE" });
  expect(asked).toEqual([]);
});

test("an asker that leaves is not waited for", async () => {
  const left = Promise.withResolvers<void>();
  const came = Promise.withResolvers<void>();
  await open({
    answer: ({ signal }) => {
      came.resolve();
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => {
          left.resolve();
          reject(signal.reason);
        }),
      );
    },
  });
  const leaving = new AbortController();
  const answer = askLocal(state, { asked: "POST /v1/flush", answer: z.unknown(), signal: leaving.signal });
  await came.promise;
  leaving.abort();
  await expect(answer).rejects.toMatchObject({ code: "CANCELLED" });
  await left.promise;
});

test("a port that is taken is said", async () => {
  const other = createServer();
  const port = await new Promise<number>((resolve) => {
    other.listen(0, "127.0.0.1", () => {
      const address = other.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
  await expect(open({ port })).rejects.toMatchObject({ code: "PORT_IN_USE" });
  other.close();
});

const deep = () => {
  const folder = join(state, "x".repeat(100));
  mkdirSync(folder);
  return folder;
};

test("a state folder whose path is too long for a socket has it in a short private folder, where commands find it", async () => {
  const folder = deep();
  const temporary = join(state, "tmp");
  mkdirSync(temporary);
  const about = { state: folder, temporaries: [join(state, "missing"), temporary] };
  const listener = await open(about);
  const socket = listener.socket ?? "";
  expect(socket.startsWith(temporary)).toBe(true);
  expect(statSync(dirname(socket)).mode & 0o777).toBe(0o700);
  expect(statSync(socket).mode & 0o777).toBe(0o600);
  const asking = () =>
    askLocal(folder, { asked: "GET /v1/x", answer: z.object({ path: z.string() }), signal: stop.signal });
  expect(await asking()).toEqual({ path: "/v1/x" });
  await listener.close();
  expect(readdirSync(dirname(socket))).toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
  await expect(asking()).rejects.toMatchObject({ code: "NO_WORKER" });
  // A killed worker leaves both behind.
  writeFileSync(socket, "");
  symlinkSync(socket, socketOf(folder));
  await open(about);
  expect(await asking()).toEqual({ path: "/v1/x" });
});

test("where no short private folder can be had either there is no socket, and loopback serves alone", async () => {
  const folder = deep();
  const temporary = join(state, "tmp");
  mkdirSync(temporary);
  // Others may write to it.
  mkdirSync(join(temporary, `tidemark-run-${process.getuid?.() ?? 0}`));
  chmodSync(join(temporary, `tidemark-run-${process.getuid?.() ?? 0}`), 0o777);
  const listener = await open({ state: folder, port: 0, temporaries: [folder, temporary] });
  expect(listener.socket).toBeNull();
  const authorization = `Bearer ${readFileSync(listener.tokenFile ?? "", "utf8").trim()}`;
  expect((await fetch(`${listener.url}/v1/state`, { headers: { authorization } })).status).toBe(200);
  const asking = askLocal(folder, { asked: "GET /v1/state", answer: z.unknown(), signal: stop.signal });
  await expect(asking).rejects.toMatchObject({ code: "NO_WORKER" });
});
