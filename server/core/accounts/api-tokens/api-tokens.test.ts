import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fault } from "#server/testing/match-fault.ts";
import { addTestPerson, callAs, openTestHub, type TestHub, type TestPerson } from "#server/testing/open-test-hub.ts";
import { readToken } from "./read-token.ts";

let test: TestHub;
let grace: TestPerson;
beforeEach(async () => {
  test = await openTestHub();
  await addTestPerson(test.hub, "root@example.com", "admin");
  grace = await addTestPerson(test.hub, "grace@example.com", "operator");
});
afterEach(() => test.close());

const make = (role: "viewer" | "operator" | "admin", by = grace) =>
  callAs(test.hub, by.caller).apiTokens.create({ name: "report", role });
const refused = (detail?: string) =>
  expect.objectContaining({ code: "API_TOKEN_REFUSED", context: detail === undefined ? {} : { detail } }) as unknown;

describe("an API token", () => {
  it("is shown once with a prefix that scanners know, and kept as a hash", async () => {
    const { token, view } = await make("viewer");
    expect(token).toMatch(/^tmk_[A-Za-z0-9_-]{43}$/);
    expect(view).toMatchObject({ name: "report", role: "viewer", email: "grace@example.com", lastUsedAt: null });
    expect(JSON.stringify(await test.hub.db.apiToken.findMany())).not.toContain(token);
    expect(JSON.stringify(await callAs(test.hub, grace.caller).apiTokens.list())).not.toContain(token);
  });

  it("can be its maker's role at most", async () => {
    await expect(make("admin")).rejects.toEqual(fault("ROLE_REQUIRED"));
    expect(await readToken(test.hub, (await make("operator")).token)).toMatchObject({
      kind: "token",
      tokenName: "report",
      person: { id: grace.id, role: "operator" },
    });
  });

  it("can do no more than its owner can now", async () => {
    const { token } = await make("operator");
    await callAs(test.hub, "admin").users.setRole({ id: grace.id, role: "viewer" });
    expect((await readToken(test.hub, token)).person.role).toBe("viewer");
    await callAs(test.hub, "admin").users.disable({ id: grace.id });
    await expect(readToken(test.hub, token)).rejects.toEqual(refused("the account it belongs to is disabled"));
  });

  it("is over when it expires or is revoked, and says so to whoever has it", async () => {
    const [old, revoked] = [await make("viewer"), await make("viewer")];
    await callAs(test.hub, grace.caller).apiTokens.revoke({ id: revoked.view.id });
    await expect(readToken(test.hub, revoked.token)).rejects.toEqual(refused("it was revoked"));
    test.advance(90 * 86_400_000);
    await expect(readToken(test.hub, old.token)).rejects.toEqual(refused("it has expired"));
    await expect(readToken(test.hub, "tmk_guessed")).rejects.toEqual(refused());
  });

  it("remembers its last use to within a minute", async () => {
    const { token } = await make("viewer");
    const lastUsedAt = async () => (await callAs(test.hub, grace.caller).apiTokens.list())[0]?.lastUsedAt;
    await readToken(test.hub, token);
    const first = await lastUsedAt();
    expect(first).toBeTypeOf("number");
    await readToken(test.hub, token);
    expect(await lastUsedAt()).toBe(first);
    test.advance(61_000);
    await readToken(test.hub, token);
    expect(await lastUsedAt()).toBeGreaterThan(first ?? 0);
  });

  it("is seen and revoked by its owner and by admins, and by nobody else", async () => {
    const { view } = await make("viewer");
    const ada = await addTestPerson(test.hub, "ada@example.com", "operator");
    expect(await callAs(test.hub, ada.caller).apiTokens.list()).toEqual([]);
    await expect(callAs(test.hub, ada.caller).apiTokens.revoke({ id: view.id })).rejects.toEqual(fault("NOT_FOUND"));
    expect(await callAs(test.hub, "admin").apiTokens.list()).toHaveLength(1);
    await callAs(test.hub, "admin").apiTokens.revoke({ id: view.id });
    expect((await callAs(test.hub, grace.caller).apiTokens.list())[0]?.revokedAt).toBeTypeOf("number");
  });

  it("stands in the record with its owner", async () => {
    const { token, view } = await make("operator");
    const caller = await readToken(test.hub, token);
    await callAs(test.hub, caller).apiTokens.revoke({ id: view.id });
    const { rows } = await callAs(test.hub, "admin").audit.list({ actorId: view.id });
    expect(rows).toMatchObject([
      {
        actorKind: "token",
        actorId: grace.id,
        tokenId: view.id,
        actor: "grace@example.com (API token report)",
        action: "revoke API token",
      },
    ]);
  });
});
