import { describe, expect, it } from "vitest";
import { announce, keyOf, upload } from "#server/testing/stage-checkpoint.ts";
import { claim, node, other, pairForEach, test } from "#server/testing/pair-for-each.ts";
import { addTestPerson, callAs, NOBODY, openTestHub, signedIn, TEST_PASSWORD } from "#server/testing/open-test-hub.ts";

pairForEach();

const list = async (wanted: Parameters<ReturnType<typeof callAs>["audit"]["list"]>[0] = {}) =>
  callAs(test.hub, "admin").audit.list(wanted);

describe("the record of who did what", () => {
  it("is found by who, what, on what and when, and comes in pages", async () => {
    const root = await addTestPerson(test.hub, "root@example.com", "admin");
    const from = test.hub.now();
    test.advance(1_000);
    for (const name of ["a", "b", "c"]) await callAs(test.hub, root.caller).apiTokens.create({ name, role: "viewer" });
    test.advance(1_000);
    const until = test.hub.now();
    await callAs(test.hub, root.caller).nodes.revoke({ id: other.nodeId });
    const subjects = async (wanted: Parameters<typeof list>[0]) =>
      (await list(wanted)).rows.map(({ subject }) => subject);
    expect(await subjects({ action: "create API token (viewer)" })).toEqual(["c", "b", "a"]);
    expect(await subjects({ actorId: root.id, from, until })).toEqual(["c", "b", "a"]);
    expect(await subjects({ subject: other.nodeId, action: "revoke node" })).toEqual([other.name]);
    expect(await subjects({ subject: other.name.slice(1), action: "revoke node" })).toEqual([other.name]);
    expect(await subjects({ actorId: root.id, until: from })).toEqual(["root@example.com"]);
    const first = await list({ actorId: root.id, limit: 2 });
    const second = await list({ actorId: root.id, limit: 3, cursor: first.nextCursor });
    expect([...first.rows, ...second.rows].map(({ subject }) => subject)).toEqual([
      other.name,
      "c",
      "b",
      "a",
      "root@example.com",
    ]);
    expect(second.nextCursor).toBeNull();
  });

  it("knows an account by its id when its name has changed", async () => {
    const root = await addTestPerson(test.hub, "root@example.com", "admin");
    await callAs(test.hub, root.caller).apiTokens.create({ name: "a", role: "viewer" });
    await test.hub.db.user.update({ where: { id: root.id }, data: { email: "renamed@example.com" } });
    const { rows } = await list({ actorId: root.id, action: "create API token (viewer)" });
    expect(rows).toMatchObject([{ actor: "root@example.com", actorNow: "renamed@example.com" }]);
  });

  it("has the first account, and who signs in and out, with the address", async () => {
    const first = await openTestHub({ firstAdmin: { email: "ada@example.com", password: TEST_PASSWORD } });
    const person = await signedIn(first.hub, (overrides) =>
      callAs(first.hub, NOBODY, { ...overrides, address: "198.51.100.7" }).auth.signIn({
        email: "ada@example.com",
        password: TEST_PASSWORD,
      }),
    );
    await callAs(first.hub, person.caller, { address: "198.51.100.9" }).auth.signOut();
    const { rows } = await callAs(first.hub, "admin").audit.list({ actorId: person.id });
    expect(rows.map(({ action, address }) => [action, address])).toEqual([
      ["sign out", "198.51.100.9"],
      ["sign in", "198.51.100.7"],
      ["create first account", null],
    ]);
    await first.close();
  });

  it("has from where a person and a token acted, also where the change is one transaction with its row", async () => {
    const root = await addTestPerson(test.hub, "far@example.com", "admin");
    const from = { address: "203.0.113.4" };
    await callAs(test.hub, root.caller, from).apiTokens.create({ name: "a", role: "admin" });
    const token = { kind: "token" as const, person: root.caller.person, tokenId: "t", tokenName: "a" };
    await callAs(test.hub, token, { address: "203.0.113.5" }).drills.set({ run: null, everyMs: 86_400_000 });
    const { rows } = await list({ actorId: root.id });
    expect(rows.slice(0, 2).map(({ actorKind, address }) => [actorKind, address])).toEqual([
      ["token", "203.0.113.5"],
      ["person", "203.0.113.4"],
    ]);
  });

  it("has what nodes had signed as one row of a kind and an hour, with how often", async () => {
    await claim(node);
    const staged = await announce(test.hub, node, { epoch: 1, step: 1 });
    const key = keyOf(staged, "model.safetensors");
    const sign = (parts: number) =>
      callAs(test.hub, node.caller).node.sign({
        operations: Array.from({ length: parts }, (_, index) => ({
          op: "part" as const,
          key,
          uploadId: "upload",
          partNumber: index + 1,
          sizeBytes: 5,
          crc32: "00000000",
        })),
      });
    const rows = async () => (await list({ actorId: node.nodeId, action: "sign writes" })).rows;
    await sign(3);
    // The first use is there before anything was signed, counted or not.
    expect(await rows()).toMatchObject([{ actorKind: "node", actor: node.name, subject: "training", times: 3 }]);
    await Promise.all([sign(5), sign(7)]);
    await test.hub.keyUses.flush();
    expect((await rows()).map(({ times }) => times)).toEqual([15]);
    test.advance(3_600_000);
    await sign(1);
    await sign(1);
    await test.restart();
    expect((await rows()).map(({ times }) => times)).toEqual([2, 15]);
  });

  it("has what the hub itself does with the key", async () => {
    await claim(node);
    const staged = await announce(test.hub, node, { epoch: 1, step: 1 });
    await upload(test.hub, node, staged);
    await test.hub.keyUses.flush();
    const { rows } = await list({ action: "use key" });
    expect(rows).toMatchObject([{ actorKind: "hub", actorId: null, actor: "hub", subject: "training" }]);
  });

  it("signs nothing when the use cannot be put on record", async () => {
    await claim(node);
    const staged = await announce(test.hub, node, { epoch: 1, step: 1 });
    await test.hub.db.$executeRaw`ALTER TABLE "Audit" RENAME TO "Away"`;
    const operations = [{ op: "head" as const, key: keyOf(staged, "model.safetensors") }];
    await expect(callAs(test.hub, node.caller).node.sign({ operations })).rejects.toMatchObject({
      code: "INTERNAL_SERVER_ERROR",
    });
    await test.hub.db.$executeRaw`ALTER TABLE "Away" RENAME TO "Audit"`;
    await callAs(test.hub, node.caller).node.sign({ operations });
  });
});
