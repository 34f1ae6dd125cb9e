import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sentenceOf, toFault } from "#protocol/faults/fault.ts";
import { readFacts } from "../host/facts.ts";
import { systemClock } from "../base/clock.ts";
import { enrol, type Enrolment } from "./enrol.ts";
import { connectHub } from "./hub.ts";
import { readCredential } from "./node-credential.ts";

let server: Server;
let base: string;
let state: string;
let reply: { status: number; type: string; body: string };
let heard: { url: string | undefined; authorization: string | undefined }[];

beforeEach(async () => {
  heard = [];
  server = createServer((request, response) => {
    heard.push({ url: request.url, authorization: request.headers.authorization });
    request.resume().on("end", () => {
      response.writeHead(reply.status, { "content-type": reply.type });
      response.end(reply.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  state = await mkdtemp(join(tmpdir(), "tidemark-hub-"));
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await rm(state, { recursive: true, force: true });
});

const signal = new AbortController().signal;
const tryEnrol = async (change: Partial<Enrolment> = {}) => {
  const facts = await readFacts({ labels: [], machineId: null });
  const hub = connectHub(base, { credential: () => null, signal });
  return enrol(hub, {
    watches: [],
    base,
    token: "a-token-of-some-length",
    identity: null,
    name: "gpu-1",
    facts,
    state,
    clock: systemClock,
    signal,
    ...change,
  });
};
const json = (status: number, body: unknown) => ({ status, type: "application/json", body: JSON.stringify(body) });

test("a wrong token is one clear sentence", async () => {
  const fault = { code: "TOKEN_WRONG" };
  reply = json(401, {
    error: { code: -32001, message: "", data: { code: "UNAUTHORIZED", httpStatus: 401, path: "node.enrol", fault } },
  });
  const error = await tryEnrol().catch((thrown: unknown) => thrown);
  expect(sentenceOf(toFault(error).toData())).toBe(
    "The hub does not know this join token. Create a new one under Add node.",
  );
  expect(await readCredential(state)).toBeNull();
});

test("the credential is stored for this user only, and the token is not", async () => {
  reply = json(200, { result: { data: { nodeId: "node-id-1", name: "gpu-1-2", credential: "secret" } } });
  await tryEnrol();
  expect(await readCredential(state)).toEqual({
    hub: base,
    nodeId: "node-id-1",
    name: "gpu-1-2",
    credential: "secret",
  });
  expect((await stat(join(state, "node.json"))).mode & 0o777).toBe(0o600);
});

test("without a token it says where one comes from", async () => {
  await expect(tryEnrol({ token: null })).rejects.toThrow("TIDEMARK_TOKEN_FILE");
  expect(heard).toEqual([]);
});

test("a page instead of a hub is not taken for one", async () => {
  reply = { status: 200, type: "text/html", body: "<html>Welcome to the hotel</html>" };
  await expect(tryEnrol()).rejects.toMatchObject({ code: "HUB_NOT_TIDEMARK" });
});

test("a proxy without its hub counts as the hub being away", async () => {
  reply = { status: 502, type: "text/html", body: "<html>Bad gateway</html>" };
  const hub = connectHub(base, { credential: () => "secret", signal });
  const asked = hub.ask("goodbye", (client) => client.node.goodbye.mutate());
  await expect(asked).rejects.toMatchObject({ code: "HUB_UNREACHABLE", retry: "backoff" });
  expect(hub.isUp).toBe(false);
});

test("the credential travels in a header, never in the address", async () => {
  reply = json(200, { result: { data: { ok: true } } });
  const hub = connectHub(base, { credential: () => "node-secret", signal });
  await hub.ask("goodbye", (client) => client.node.goodbye.mutate());
  expect(heard).toEqual([{ url: "/api/trpc/node.goodbye", authorization: "Bearer node-secret" }]);
});
