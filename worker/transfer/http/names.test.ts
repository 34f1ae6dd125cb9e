import { describe, expect, it, onTestFinished, vi } from "vitest";
import { TRIAL_TLS_BY_NAME } from "#storage/testing/trial-certificate.ts";
import type { Resolving } from "./socket/resolve-addresses.ts";
import { openPeer } from "#worker/testing/scripted-peer.ts";
import { get, OK, httpClient } from "#worker/testing/http-client-tester.ts";

/** A store that listens on IPv6 alone; `tls` or not. */
async function storeAt(host: string, tls?: typeof TRIAL_TLS_BY_NAME) {
  const opened = await openPeer(
    async (link) => {
      while ((await link.request()) !== null) await link.write(OK);
    },
    tls,
    host,
  );
  onTestFinished(() => opened.close());
  return { port: new URL(opened.url).port, opened };
}

const ca = TRIAL_TLS_BY_NAME.cert;
const resolverOf = (lookup: Resolving["lookup"]): Resolving => ({
  lookup,
  refine: async (_, addresses) => ({ addresses, ttlMs: 60_000 }),
});

describe("a store that has an IPv6 address alone", () => {
  it.each([
    ["plain", "http", {}],
    ["encrypted here", "https", {}],
    ["encrypted by Node", "https", { calls: null }],
  ] as const)("is reached by its address and by its name, %s", async (_, scheme, way) => {
    const { port } = await storeAt("::1", scheme === "https" ? TRIAL_TLS_BY_NAME : undefined);
    const resolver = resolverOf(async () => ["::1"]);
    for (const host of ["[::1]", "store.test"]) {
      const one = httpClient({ ca, naming: { resolver }, ...way });
      expect((await one.send(get(`${scheme}://${host}:${port}/key`))).status).toBe(200);
    }
  });

  it("is reached though its name has an IPv4 address first, where nobody is", async () => {
    const { port } = await storeAt("::1");
    const one = httpClient({ naming: { resolver: resolverOf(async () => ["127.0.0.9", "::1"]) } });
    expect((await one.send(get(`http://store.test:${port}/key`))).status).toBe(200);
    expect(one.spread.get("::1")).toBe(1);
  });
});

describe("a resolver that is slow", () => {
  it("is asked once for all connections, and again only when it has answered", async () => {
    const { port, opened } = await storeAt("127.0.0.1");
    const answer = Promise.withResolvers<readonly string[]>();
    const lookup = vi.fn(() => answer.promise);
    const one = httpClient({ naming: { resolver: resolverOf(lookup) } });
    const sending = [1, 2, 3].map(() => one.send(get(`http://store.test:${port}/key`)));
    await vi.waitFor(() => expect(one.open).toBe(3));
    expect(opened.connections).toBe(0);
    answer.resolve(["127.0.0.1"]);
    for (const { status } of await Promise.all(sending)) expect(status).toBe(200);
    expect(lookup).toHaveBeenCalledTimes(1);
  });

  it("that answers after a connection was given up serves the next one", async () => {
    const { port } = await storeAt("127.0.0.1");
    const answer = Promise.withResolvers<readonly string[]>();
    const lookup = vi.fn(() => answer.promise);
    const one = httpClient({ connectMs: 100, naming: { resolver: resolverOf(lookup) } });
    const url = `http://store.test:${port}/key`;
    await expect(one.send(get(url))).rejects.toMatchObject({ code: "LINK_DOWN" });
    const again = one.send(get(url));
    answer.resolve(["127.0.0.1"]);
    expect((await again).status).toBe(200);
    expect(lookup).toHaveBeenCalledTimes(1);
  });
});
