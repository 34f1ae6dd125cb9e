import { afterEach, beforeEach, expect, it } from "vitest";
import { runName } from "#protocol/names.ts";
import type { Caller } from "../trpc.ts";
import { callAs, openTestHub, type TestHub } from "./open-test-hub.ts";

let test: TestHub;
beforeEach(async () => {
  test = await openTestHub();
});
afterEach(() => test.close());

const person = { id: "id-viewer", email: "viewer@example.com", role: "viewer" as const };
const PAIRS: [string, (name: string) => Caller][] = [
  ["session", (name) => ({ kind: "person", person, sessionHash: name })],
  ["token", (name) => ({ kind: "token", person, tokenId: name, tokenName: "one" })],
  ["node", (name) => ({ kind: "node", nodeId: name, name: "gpu", profileId: "none" })],
];

it.each(PAIRS)("a %s that asks for much delays another one by few statements", async (kind, make) => {
  const asking = (name: string) => () => {
    const asked = callAs(test.hub, make(name));
    if (kind !== "node") return asked.apiTokens.list();
    // Nobody has written this run: it is refused after the database was asked.
    return expect(asked.node.findCheckpoint({ run: runName.parse("r") })).rejects.toThrow("written this run");
  };
  let answered = 0;
  const greedy = asking("greedy");
  const all = Promise.all(
    Array.from({ length: 200 }, async () => {
      await greedy();
      answered++;
    }),
  );
  await asking("other")();
  expect(answered).toBeLessThan(20);
  await all;
  expect(answered).toBe(200);
});
