import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readSession } from "../auth/session.ts";
import { fault } from "#server/testing/match-fault.ts";
import {
  addTestPerson,
  callAs,
  NOBODY,
  openTestHub,
  signedIn,
  TEST_PASSWORD,
  type TestHub,
} from "#server/testing/open-test-hub.ts";

let test: TestHub;
beforeEach(async () => {
  test = await openTestHub();
});
afterEach(() => test.close());

const codeIn = (link: string): string => link.slice(link.indexOf("#") + 1);
const invite = (email: string, role: "viewer" | "operator" | "admin" = "viewer") =>
  callAs(test.hub, "admin").invitations.create({ email, role });
const accept = (link: string, password = TEST_PASSWORD) =>
  callAs(test.hub, NOBODY).auth.acceptInvitation({ code: codeIn(link), password });
const signIn = (email: string, password = TEST_PASSWORD) =>
  signedIn(test.hub, (overrides) => callAs(test.hub, NOBODY, overrides).auth.signIn({ email, password }));
const users = () => callAs(test.hub, "admin").users.list();

describe("an invitation", () => {
  it("is a link that makes one account with its role, and signs it in", async () => {
    const { link, view } = await invite("Grace@Example.com", "operator");
    expect(link).toMatch(/^http:\/\/hub\.test\/invitation#tmi_[A-Za-z0-9_-]{43}$/);
    expect(view).toMatchObject({ kind: "invitation", email: "grace@example.com", role: "operator", usedAt: null });
    const joined = await signedIn(test.hub, (overrides) =>
      callAs(test.hub, NOBODY, overrides).auth.acceptInvitation({ code: codeIn(link), password: TEST_PASSWORD }),
    );
    expect(joined.caller.person).toMatchObject({ email: "grace@example.com", role: "operator" });
    expect((await users()).map(({ email, role, sessions }) => [email, role, sessions])).toEqual([
      ["grace@example.com", "operator", 1],
    ]);
    await expect(accept(link)).rejects.toEqual(fault("CODE_REFUSED"));
    await signIn("grace@example.com");
  });

  it("goes to one of two who use it at the same moment", async () => {
    const { link } = await invite("grace@example.com");
    const tries = await Promise.allSettled([accept(link, "the first password"), accept(link, "the other password")]);
    expect(tries.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(await test.hub.db.user.count()).toBe(1);
  });

  it("is kept as a hash, and shown once", async () => {
    const { link } = await invite("grace@example.com");
    const stored = JSON.stringify(await test.hub.db.oneTimeCode.findMany());
    expect(stored).not.toContain(codeIn(link));
    expect(JSON.stringify(await callAs(test.hub, "admin").invitations.list())).not.toContain("tmi_");
  });

  it("is over when it expires, is revoked, or a newer one was made", async () => {
    const old = await invite("grace@example.com");
    const newer = await invite("grace@example.com");
    await expect(accept(old.link)).rejects.toEqual(fault("CODE_REFUSED"));
    await callAs(test.hub, "admin").invitations.revoke({ id: newer.view.id });
    await expect(accept(newer.link)).rejects.toEqual(fault("CODE_REFUSED"));
    const late = await invite("grace@example.com");
    test.advance(3 * 86_400_000);
    await expect(accept(late.link)).rejects.toEqual(fault("CODE_REFUSED"));
    await expect(accept("http://hub.test/invitation#tmi_guessed")).rejects.toEqual(fault("CODE_REFUSED"));
    expect(await test.hub.db.user.count()).toBe(0);
  });

  it("cannot be guessed at speed", async () => {
    const { link } = await invite("grace@example.com");
    const guess = () => callAs(test.hub, NOBODY).auth.acceptInvitation({ code: "tmi_x", password: TEST_PASSWORD });
    for (let tries = 0; tries < 10; tries++) await expect(guess()).rejects.toEqual(fault("CODE_REFUSED"));
    await expect(accept(link)).rejects.toEqual(fault("TOO_MANY_TRIES"));
  });

  it("is refused for an address that has an account, and over when whoever made it is no admin any more", async () => {
    await addTestPerson(test.hub, "root@example.com", "admin");
    await expect(invite("root@example.com")).rejects.toEqual(fault("CONFLICT"));
    const mallory = await addTestPerson(test.hub, "mallory@example.com", "admin");
    const { link } = await callAs(test.hub, mallory.caller).invitations.create({
      email: "m2@example.com",
      role: "admin",
    });
    await callAs(test.hub, "admin").users.disable({ id: mallory.id });
    await expect(accept(link)).rejects.toEqual(fault("CODE_REFUSED"));
  });
});

describe("an account", () => {
  it("changes its role at once, in the session that is open", async () => {
    const grace = await addTestPerson(test.hub, "grace@example.com", "viewer");
    await callAs(test.hub, "admin").users.setRole({ id: grace.id, role: "operator" });
    expect((await readSession(test.hub, grace.caller.sessionHash))?.person.role).toBe("operator");
  });

  it("that is disabled has no session, signs in nowhere, and is told why only with its password", async () => {
    await addTestPerson(test.hub, "root@example.com", "admin");
    const grace = await addTestPerson(test.hub, "grace@example.com", "viewer");
    await callAs(test.hub, "admin").users.disable({ id: grace.id });
    expect(await readSession(test.hub, grace.caller.sessionHash)).toBeNull();
    await expect(signIn("grace@example.com")).rejects.toEqual(fault("ACCOUNT_DISABLED"));
    await expect(signIn("grace@example.com", "wrong")).rejects.toEqual(fault("SIGN_IN_FAILED"));
    await callAs(test.hub, "admin").users.enable({ id: grace.id });
    expect((await signIn("grace@example.com")).id).toBe(grace.id);
  });

  it("that is removed leaves its name in the record and nothing else", async () => {
    const grace = await addTestPerson(test.hub, "grace@example.com", "viewer");
    await callAs(test.hub, grace.caller).apiTokens.create({ name: "mine", role: "viewer" });
    await callAs(test.hub, "admin").users.remove({ id: grace.id });
    expect([await users(), await test.hub.db.session.count(), await test.hub.db.apiToken.count()]).toEqual([[], 0, 0]);
    const { rows } = await callAs(test.hub, "admin").audit.list({ actorId: grace.id });
    expect(rows.map(({ actor, actorNow }) => [actor, actorNow])).toContainEqual(["grace@example.com", null]);
  });
});

describe("the last admin that can sign in", () => {
  it("cannot be disabled, removed or given another role, by anybody", async () => {
    const root = await addTestPerson(test.hub, "root@example.com", "admin");
    const second = await addTestPerson(test.hub, "second@example.com", "admin");
    await callAs(test.hub, root.caller).users.disable({ id: second.id });
    const as = callAs(test.hub, root.caller).users;
    await expect(as.disable({ id: root.id })).rejects.toEqual(fault("LAST_ADMIN"));
    await expect(as.remove({ id: root.id })).rejects.toEqual(fault("LAST_ADMIN"));
    await expect(as.setRole({ id: root.id, role: "operator" })).rejects.toEqual(fault("LAST_ADMIN"));
    // One that is disabled already is nobody's last hope.
    await as.remove({ id: second.id });
    await as.setRole({ id: root.id, role: "admin" });
    expect((await users()).map(({ email }) => email)).toEqual(["root@example.com"]);
  });

  it("stays when two admins take each other's role at the same moment", async () => {
    const [one, two] = [
      await addTestPerson(test.hub, "one@example.com", "admin"),
      await addTestPerson(test.hub, "two@example.com", "admin"),
    ];
    const tries = await Promise.allSettled([
      callAs(test.hub, one.caller).users.setRole({ id: two.id, role: "viewer" }),
      callAs(test.hub, two.caller).users.remove({ id: one.id }),
    ]);
    expect(tries.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(await test.hub.db.user.count({ where: { role: "admin" } })).toBe(1);
  });
});

describe("a password", () => {
  it("is changed with the old one, and ends every other session", async () => {
    const here = await addTestPerson(test.hub, "grace@example.com", "viewer");
    const elsewhere = await signIn("grace@example.com");
    const change = (old: string) =>
      callAs(test.hub, here.caller).auth.changePassword({ old, password: "another long password" });
    await expect(change("not the old one")).rejects.toEqual(fault("PASSWORD_WRONG"));
    await change(TEST_PASSWORD);
    expect(await readSession(test.hub, here.caller.sessionHash)).not.toBeNull();
    expect(await readSession(test.hub, elsewhere.caller.sessionHash)).toBeNull();
    await expect(signIn("grace@example.com")).rejects.toEqual(fault("SIGN_IN_FAILED"));
    await signIn("grace@example.com", "another long password");
  });

  it("cannot be guessed in a browser that was left open", async () => {
    const { caller } = await addTestPerson(test.hub, "grace@example.com", "viewer");
    const guess = () => callAs(test.hub, caller).auth.changePassword({ old: "x", password: "another long password" });
    for (let tries = 0; tries < 5; tries++) await expect(guess()).rejects.toEqual(fault("PASSWORD_WRONG"));
    await expect(guess()).rejects.toEqual(fault("TOO_MANY_TRIES"));
  });

  it("is reset with a link of an admin, once, which ends all sessions of the account", async () => {
    const grace = await addTestPerson(test.hub, "grace@example.com", "operator");
    const { link, view } = await callAs(test.hub, "admin").users.resetPassword({ id: grace.id });
    expect(link).toMatch(/^http:\/\/hub\.test\/reset-password#tmr_[A-Za-z0-9_-]{43}$/);
    expect(view.kind).toBe("reset");
    const reset = (overrides = {}) =>
      callAs(test.hub, NOBODY, overrides).auth.resetPassword({ code: codeIn(link), password: "another long password" });
    const asInvitation = callAs(test.hub, NOBODY).auth.acceptInvitation({
      code: codeIn(link),
      password: TEST_PASSWORD,
    });
    await expect(asInvitation).rejects.toEqual(fault("CODE_REFUSED"));
    const back = await signedIn(test.hub, reset);
    expect(back.id).toBe(grace.id);
    expect(await readSession(test.hub, grace.caller.sessionHash)).toBeNull();
    await expect(reset()).rejects.toEqual(fault("CODE_REFUSED"));
    await signIn("grace@example.com", "another long password");
  });
});
