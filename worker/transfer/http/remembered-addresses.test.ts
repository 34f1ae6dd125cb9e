import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { TRIAL_TLS_BY_NAME } from "#storage/testing/trial-certificate.ts";
import { createAddresses } from "./socket/addresses.ts";
import type { Resolving } from "./socket/resolve-addresses.ts";
import { faultOf, get, keeping, httpClient } from "#worker/testing/http-client-tester.ts";

/** A look-up that ends when the test says so. */
function resolverOf() {
  const answer = Promise.withResolvers<readonly string[]>();
  const lookup = vi.fn(() => answer.promise);
  const resolver: Resolving = { lookup, refine: async (_, addresses) => ({ addresses, ttlMs: 60_000 }) };
  return { answer: (addresses: readonly string[]) => answer.resolve(addresses), lookup, resolver };
}

/** A store at 127.0.0.1, by name. */
async function store(tls?: typeof TRIAL_TLS_BY_NAME) {
  const { port } = new URL((await keeping(tls)).server.url);
  return { url: `${tls === undefined ? "http" : "https"}://localhost:${port}/key`, port: Number(port) };
}

/** Whoever has the address 127.0.0.2 by now. */
async function stranger(port: number, serve: (socket: Socket) => void) {
  const open = new Set<Socket>();
  const met = { count: 0 };
  const server = createServer((socket) => {
    met.count++;
    open.add(socket);
    serve(socket.on("error", () => undefined));
  }).listen(port, "127.0.0.2");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return met;
}

const ca = TRIAL_TLS_BY_NAME.cert;
const httpClientOf = (resolver: Resolving, remembered: readonly string[]) =>
  httpClient({ ca, naming: { resolver }, rememberedOf: () => remembered });

describe("addresses of an earlier run", () => {
  it("serve while the name is looked up", async () => {
    const { url } = await store(TRIAL_TLS_BY_NAME);
    const { resolver, lookup } = resolverOf();
    const answer = await httpClientOf(resolver, ["127.0.0.1"]).send(get(url));
    expect(answer.status).toBe(200);
    expect(lookup).toHaveBeenCalledTimes(1);
  });

  it("are not used without TLS: nobody proves there who he is", async () => {
    const { url, port } = await store();
    const met = await stranger(port, (socket) => void socket.end());
    const { resolver, answer } = resolverOf();
    answer(["127.0.0.1"]);
    expect((await httpClientOf(resolver, ["127.0.0.2"]).send(get(url))).status).toBe(200);
    expect(met.count).toBe(0);
  });

  it("are left for what the look-up finds when nobody is there any more", async () => {
    const { url } = await store(TRIAL_TLS_BY_NAME);
    const { resolver, answer } = resolverOf();
    const sending = httpClientOf(resolver, ["127.0.0.9"]).send(get(url));
    // So much time for the refusal that the answer does not come before it.
    await new Promise((resolve) => setTimeout(resolve, 20));
    answer(["127.0.0.1"]);
    expect((await sending).status).toBe(200);
  });

  it.each([
    ["closes the connection", (socket: Socket) => void socket.end()],
    ["speaks no TLS", (socket: Socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")],
  ])("are left when somebody else has them, who %s", async (_, serve) => {
    const { url, port } = await store(TRIAL_TLS_BY_NAME);
    await stranger(port, serve);
    for (const way of [{}, { calls: null }]) {
      const { resolver, answer } = resolverOf();
      answer(["127.0.0.1"]);
      const one = httpClient({ ca, naming: { resolver }, rememberedOf: () => ["127.0.0.2"], ...way });
      expect((await one.send(get(url))).status).toBe(200);
    }
  });

  it("are not asked once more by Node when a handshake failed there", async () => {
    const { url, port } = await store(TRIAL_TLS_BY_NAME);
    const { resolver, answer } = resolverOf();
    const met = await stranger(port, (socket) => {
      socket.on("close", () => answer(["127.0.0.1"])).end("HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    expect((await httpClientOf(resolver, ["127.0.0.2"]).send(get(url))).status).toBe(200);
    expect(met.count).toBe(1);
  });

  it("count for nothing once the name was found to lead there: then the store fails as always", async () => {
    const { url, port } = await store(TRIAL_TLS_BY_NAME);
    await stranger(port, (socket) => void socket.end());
    const { resolver, answer } = resolverOf();
    answer(["127.0.0.2"]);
    expect((await faultOf(httpClientOf(resolver, ["127.0.0.2"]).send(get(url)))).code).toBe("LINK_DOWN");
  });
});

describe("an attempt that went to an address of an earlier run", () => {
  afterEach(() => void vi.useRealTimers());

  /** An attempt that went to the remembered address while the name is being looked up. */
  async function begin() {
    vi.useFakeTimers();
    const { resolver, answer } = resolverOf();
    const addresses = createAddresses("store.example", { now: () => 0, resolver, remembered: ["10.0.0.1"] });
    const onOther = vi.fn();
    const attempt = addresses.attempt(onOther);
    const tried = Promise.withResolvers<unknown>();
    attempt.lookup("store.example", {}, (_error, address) => tried.resolve(address));
    expect(await tried.promise).toBe("10.0.0.1");
    return { addresses, attempt, answer, onOther };
  }

  it.each([
    ["another one than the name has", ["10.0.0.2"], true],
    ["one that the name still has", ["10.0.0.2", "10.0.0.1"], false],
  ])("is told a while after the look-up that it is %s", async (_, found, isOther) => {
    const { addresses, attempt, answer, onOther } = await begin();
    answer(found);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(onOther).toHaveBeenCalledTimes(isOther ? 1 : 0);
    expect(attempt.isOther()).toBe(isOther);
    expect(addresses.lookedUp).toEqual(found);
  });

  it("is told nothing when it has ended before", async () => {
    const { attempt, answer, onOther } = await begin();
    answer(["10.0.0.2"]);
    await vi.advanceTimersByTimeAsync(100);
    attempt.ended();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(onOther).not.toHaveBeenCalled();
  });
});
