import { afterEach, beforeEach, describe, expect, it } from "vitest";
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
import type { Context } from "#server/core/api/trpc.ts";
import { readSession } from "./session.ts";
import type { Caller } from "../../api/caller.ts";

let test: TestHub;
beforeEach(async () => {
  test = await openTestHub();
});
afterEach(() => test.close());

const email = "grace@example.com";
const signIn = (from: Partial<Context> = {}, caller: Caller = NOBODY) =>
  signedIn(test.hub, (overrides) =>
    callAs(test.hub, caller, { ...from, ...overrides }).auth.signIn({ email, password: TEST_PASSWORD }),
  );
const agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

describe("the sessions of an account", () => {
  it("are listed with where they were opened from and with what, and which one is this", async () => {
    const first = await addTestPerson(test.hub, email, "viewer");
    test.advance(1_000);
    await signIn({ address: "198.51.100.7", agent });
    const list = await callAs(test.hub, first.caller).sessions.list({});
    expect(list.map(({ address, browser, system, isThis }) => ({ address, browser, system, isThis }))).toEqual([
      { address: "198.51.100.7", browser: "Firefox", system: "Linux", isThis: false },
      { address: "192.0.2.1", browser: null, system: null, isThis: true },
    ]);
    expect(JSON.stringify(list)).not.toContain(first.caller.sessionHash);
  });

  it("show nothing of a stranger's text", async () => {
    const { caller } = await addTestPerson(test.hub, email, "viewer");
    await signIn({ agent: `<script>alert(1)</script>\u001b[31m${"x".repeat(10_000)}` });
    expect(JSON.stringify(await callAs(test.hub, caller).sessions.list({}))).not.toMatch(/script|31m|xxx/);
    const [longest] = (await test.hub.db.session.findMany()).map((row) => row.agent.length).toSorted((a, b) => b - a);
    expect(longest).toBe(256);
  });

  it("are ended one by one, or all others at once", async () => {
    const here = await addTestPerson(test.hub, email, "viewer");
    const [one, two, three] = [await signIn(), await signIn(), await signIn()];
    const list = await callAs(test.hub, one.caller).sessions.list({});
    const idOfOne = list.find(({ isThis }) => isThis)?.id ?? "";
    const as = callAs(test.hub, here.caller).sessions;
    await as.end({ id: idOfOne });
    expect(await readSession(test.hub, one.caller.sessionHash)).toBeNull();
    expect(await as.endOthers({})).toEqual({ ended: 2 });
    for (const gone of [two, three]) expect(await readSession(test.hub, gone.caller.sessionHash)).toBeNull();
    expect(await readSession(test.hub, here.caller.sessionHash)).not.toBeNull();
  });

  it("are nobody else's, but an admin's", async () => {
    const grace = await addTestPerson(test.hub, email, "operator");
    const ada = await addTestPerson(test.hub, "ada@example.com", "operator");
    const root = await addTestPerson(test.hub, "root@example.com", "admin");
    const others = callAs(test.hub, ada.caller).sessions;
    await expect(others.list({ userId: grace.id })).rejects.toEqual(fault("ROLE_REQUIRED"));
    await expect(others.endOthers({ userId: grace.id })).rejects.toEqual(fault("ROLE_REQUIRED"));
    const [session] = await callAs(test.hub, root.caller).sessions.list({ userId: grace.id });
    if (session === undefined) throw new Error("no session");
    await expect(others.end({ id: session.id })).rejects.toEqual(fault("ROLE_REQUIRED"));
    expect(await readSession(test.hub, grace.caller.sessionHash)).not.toBeNull();
    await callAs(test.hub, root.caller).sessions.end({ id: session.id });
    expect(await readSession(test.hub, grace.caller.sessionHash)).toBeNull();
  });
});

it("signing in again takes the place of the session that the browser had", async () => {
  const before = await addTestPerson(test.hub, email, "viewer");
  const after = await signIn({}, before.caller);
  expect(after.cookie).not.toBe(before.cookie);
  expect(await readSession(test.hub, before.caller.sessionHash)).toBeNull();
  expect(await test.hub.db.session.count()).toBe(1);
});
