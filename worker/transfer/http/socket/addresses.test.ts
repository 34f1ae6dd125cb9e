import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { createAddresses } from "./addresses.ts";
import { withTtl, type Resolving } from "./resolve-addresses.ts";
import { collect, get, httpClient } from "#worker/testing/http-client-tester.ts";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** Answers with these addresses, and says how often it was asked. */
function resolverOf(addresses: readonly string[], ttlMs = 60_000) {
  const told = { addresses, asked: 0, ttlMs };
  const resolver: Resolving = {
    lookup: async () => {
      told.asked++;
      return told.addresses;
    },
    refine: async (_host, found) => ({ addresses: found, ttlMs: told.ttlMs }),
  };
  return { told, resolver };
}

/** Long enough to be measured, and too short for that. */
const MEASURED_BYTES = 512 * 1024;
const SHORT_BYTES = 64 * 1024;

/** A store on several loopback addresses of one port; an address answers after its delay. */
async function storeOn(delays: Readonly<Record<string, number>>, bytes = MEASURED_BYTES) {
  const head = Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\n\r\n`);
  const served = new Map<string, number>();
  const open = new Set<Socket>();
  let port = 0;
  const listening: Server[] = [];
  for (const [address, delayMs] of Object.entries(delays)) {
    const server = createServer((socket) => {
      open.add(socket);
      socket.on("error", () => undefined).on("close", () => open.delete(socket));
      socket.on("data", () => {
        served.set(address, (served.get(address) ?? 0) + 1);
        void wait(delayMs).then(() => socket.write(Buffer.concat([head, Buffer.alloc(bytes)])));
      });
    });
    server.listen(port, address);
    await once(server, "listening");
    port = (server.address() as AddressInfo).port;
    listening.push(server);
  }
  closers.push(async () => {
    for (const socket of open) socket.destroy();
    await Promise.all(listening.map((server) => new Promise((resolve) => server.close(resolve))));
  });
  return { url: `http://store.example:${port}/key`, served };
}

/** Fetches `count` times, so many at a time as there are connections. */
async function fetchMany(
  one: ReturnType<typeof httpClient>,
  url: string,
  { count, lanes }: { count: number; lanes: number },
) {
  let left = count;
  const lane = async () => {
    while (left-- > 0) await one.fetch({ ...get(url), sink: collect() });
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

describe("a store of many addresses", () => {
  it("is reached over all of them, with one look-up of its name", async () => {
    // On a busy machine one address looks slow for a moment, and would have fewer connections.
    const store = await storeOn({ "127.0.0.2": 1, "127.0.0.3": 1, "127.0.0.4": 1 }, SHORT_BYTES);
    const { told, resolver } = resolverOf(["127.0.0.2", "127.0.0.3", "127.0.0.4"]);
    const one = httpClient({ connections: 6, naming: { resolver } });
    await fetchMany(one, store.url, { count: 60, lanes: 6 });
    expect(told.asked).toBe(1);
    expect(Object.fromEntries(one.spread)).toEqual({ "127.0.0.2": 2, "127.0.0.3": 2, "127.0.0.4": 2 });
  });

  it("is reached past an address that is dead, which is then tried last", async () => {
    const store = await storeOn({ "127.0.0.3": 1 });
    const { resolver } = resolverOf(["127.0.0.2", "127.0.0.3"]);
    const one = httpClient({ connections: 4, naming: { resolver } });
    await fetchMany(one, store.url, { count: 12, lanes: 4 });
    expect(one.spread.get("127.0.0.3")).toBe(4);
    expect(one.spread.get("127.0.0.2") ?? 0).toBe(0);
  });

  it("gives fewer connections to an address that is much slower", async () => {
    const store = await storeOn({ "127.0.0.2": 150, "127.0.0.3": 5 });
    const { resolver } = resolverOf(["127.0.0.2", "127.0.0.3"]);
    const one = httpClient({ connections: 8, naming: { resolver } });
    await fetchMany(one, store.url, { count: 200, lanes: 8 });
    // The last one there may just have been closed: then the slow one has none.
    const [slow = 0, fast = 0] = ["127.0.0.2", "127.0.0.3"].map((address) => one.spread.get(address));
    expect(fast).toBeGreaterThan(slow);
  });

  it("is asked for again when the time to live is over, and when an address fails", async () => {
    let nowMs = 0;
    const { told, resolver } = resolverOf(["127.0.0.2"], 5_000);
    const addresses = createAddresses("store.example", { now: () => nowMs, resolver });
    const look = () =>
      new Promise<unknown>((resolve) => {
        addresses.attempt().lookup("store.example", { all: true }, (_error, found) => resolve(found));
      });
    expect(await look()).toEqual([{ address: "127.0.0.2", family: 4 }]);
    nowMs = 4_999;
    await look();
    expect(told.asked).toBe(1);
    told.addresses = ["127.0.0.9"];
    nowMs = 5_001;
    // The connection that asks does not wait for the answer.
    expect(await look()).toEqual([{ address: "127.0.0.2", family: 4 }]);
    await expect.poll(look).toEqual([{ address: "127.0.0.9", family: 4 }]);
    expect(told.asked).toBe(2);
    addresses.attempt().failed("127.0.0.9");
    await look();
    await expect.poll(() => told.asked).toBe(3);
  });

  it("never leads to a metadata service, whatever the name is said to be", async () => {
    const { resolver } = resolverOf(["127.0.0.2", "169.254.169.254"]);
    const one = httpClient({ naming: { resolver } });
    await expect(one.send(get("http://store.example:9/key"))).rejects.toMatchObject({ code: "ENDPOINT_REFUSED" });
  });

  it("tries an address of the other family where the first ones are many of one", async () => {
    const { resolver } = resolverOf(["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4", "192.0.2.1"]);
    const addresses = createAddresses("store.example", { now: () => 0, resolver });
    const found = await new Promise<unknown>((resolve) => {
      addresses.attempt().lookup("store.example", { all: true }, (_error, list) => resolve(list));
    });
    expect(found).toMatchObject([{ family: 6 }, { family: 6 }, { family: 6 }, { address: "192.0.2.1" }]);
  });
});

describe("what DNS adds to a look-up", () => {
  it.each([
    // The hosts file says something else: DNS is not asked for more.
    [["10.0.0.1"], [{ address: "192.0.2.1", ttl: 5 }], { addresses: ["10.0.0.1"], ttlMs: 60_000 }],
    [["192.0.2.1"], [], { addresses: ["192.0.2.1"], ttlMs: 60_000 }],
    [
      ["192.0.2.1"],
      [
        { address: "192.0.2.1", ttl: 20 },
        { address: "192.0.2.2", ttl: 30 },
        { address: "2001:db8::1", ttl: 30 },
      ],
      { addresses: ["192.0.2.1", "192.0.2.2"], ttlMs: 20_000 },
    ],
    [["192.0.2.1"], [{ address: "192.0.2.1", ttl: 0 }], { addresses: ["192.0.2.1"], ttlMs: 4_000 }],
    [["192.0.2.1"], [{ address: "192.0.2.1", ttl: 86_400 }], { addresses: ["192.0.2.1"], ttlMs: 300_000 }],
  ])("%j and %j", (found, answered, expected) => expect(withTtl(found, answered)).toEqual(expected));
});
