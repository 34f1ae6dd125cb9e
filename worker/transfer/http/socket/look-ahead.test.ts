import { afterEach, expect, it } from "vitest";
import { readNetwork, setNetwork } from "#storage/network/network.ts";
import { lookAhead } from "./look-ahead.ts";
import type { Resolving } from "./resolve-addresses.ts";

afterEach(() => setNetwork());

function counting() {
  const asked: string[] = [];
  const resolver: Resolving = {
    lookup: async (host) => {
      asked.push(host);
      return [`127.0.0.${asked.length}`];
    },
    refine: async (_, addresses) => ({ addresses, ttlMs: 1 }),
  };
  return { asked, resolver };
}

it("a name is looked up at once, for the first who asks", async () => {
  const { asked, resolver } = counting();
  const ahead = lookAhead("https://store.example:9000/bucket", resolver);
  expect(asked).toEqual(["store.example"]);
  expect(await ahead.lookup("other.example")).toEqual(["127.0.0.2"]);
  expect(await ahead.lookup("store.example")).toEqual(["127.0.0.1"]);
  expect(await ahead.lookup("store.example")).toEqual(["127.0.0.3"]);
});

it("addresses, and names that a proxy looks up, are not", () => {
  const { asked, resolver } = counting();
  lookAhead("https://[::1]:9000", resolver);
  setNetwork(readNetwork({ env: { HTTPS_PROXY: "http://127.0.0.1:1" } }));
  lookAhead("https://store.example", resolver);
  expect(asked).toEqual([]);
});

it("a look-up that fails is told to whoever asks, and to nobody else", async () => {
  const { resolver } = counting();
  const failing = { ...resolver, lookup: () => Promise.reject(new Error("no such name")) };
  const ahead = lookAhead("https://store.example", failing);
  await new Promise(setImmediate);
  await expect(ahead.lookup("store.example")).rejects.toThrow("no such name");
});
