import { describe, expect, it } from "vitest";
import { createReach, readReach } from "#server/platform/reach.ts";
import {
  addAccount,
  accountId,
  addGroup,
  groupsForEach,
  people,
  salad,
  test,
} from "#server/testing/groups/groups-for-each.ts";

/** Requests to SaladCloud: what is refused, what is tried again, and when nothing is sent. */

groupsForEach();

const ask = () => people().accounts.test({ id: accountId });
/** Requests since the last call. */
const sent = () => salad.requests.splice(0).length;

describe("the test of an account", () => {
  it("says what it saw", async () => {
    addGroup("trainers", 2);
    salad.quotas["container_replicas_used"] = 2;
    expect(await ask()).toEqual({
      ok: true,
      says: "The key works: 1 group, 2 of 100 instances of its quota in use.",
      fault: null,
    });
    expect((await people().accounts.list())[0]).toMatchObject({
      lastFault: null,
      seenAt: expect.any(Number) as number,
    });
  });

  it("tells a refused key, an unknown project and an unknown organization apart", async () => {
    const wrongKey = await addAccount("wrong-key", { key: "another-key" });
    const refused = await people().accounts.test({ id: wrongKey });
    expect(refused.fault).toMatchObject({ code: "GROUP_KEY_REFUSED", status: 401 });
    expect(JSON.stringify(refused)).not.toContain("another-key");
    const wrongProject = await addAccount("wrong-project", { project: "elsewhere" });
    const project = await people().accounts.test({ id: wrongProject });
    expect(project.fault).toMatchObject({ code: "GROUP_UNKNOWN", subject: "project elsewhere" });
    salad.organization = "renamed";
    expect((await ask()).fault).toMatchObject({ code: "GROUP_UNKNOWN", subject: "organization acme" });
    const stored = (await people().accounts.list()).find(({ id }) => id === wrongKey);
    expect(stored?.lastFault).toMatchObject({ code: "GROUP_KEY_REFUSED" });
  });

  it("shows hostile words of the provider escaped and cut", async () => {
    const detail = `\u001b[31mline one\nline two\u202e ${"x".repeat(5_000)}`;
    const body = JSON.stringify({ type: "x", title: "Bad <b>Request</b>", status: 400, detail });
    salad.failures.push({ status: 400, body, headers: { "content-type": "application/problem+json" } });
    const { fault } = await ask();
    expect(fault).toMatchObject({ code: "GROUP_REFUSED", status: 400 });
    expect(fault?.detail).toMatch(/^HTTP 400: Bad <b>Request<\/b>: \\u001b\[31mline one line two\\u202e x+…$/);
    expect(fault?.detail?.length).toBeLessThanOrEqual(300);
  });
});

describe("a request", () => {
  it.each([500, 503])(
    "is tried three times after %i",
    async (status) => {
      salad.failures.push({ status }, { status });
      expect((await ask()).ok).toBe(true);
      expect(sent()).toBe(4);
      salad.failures.push({ status }, { status }, { status });
      expect((await ask()).fault).toMatchObject({ code: "GROUP_UNREACHABLE", status });
      expect(sent()).toBe(3);
    },
    20_000,
  );

  it("is not sent again before the pause is over that a 429 asked for", async () => {
    salad.failures.push({ status: 429, headers: { "retry-after": "120" } });
    expect((await ask()).fault).toMatchObject({ code: "GROUP_PAUSED", detail: "no request is sent for 120 s" });
    expect(sent()).toBe(1);
    test.advance(100_000);
    expect((await ask()).fault?.code).toBe("GROUP_PAUSED");
    expect(sent()).toBe(0);
    expect((await people().accounts.list())[0]?.pausedUntil).toBeGreaterThan(test.hub.now());
    test.advance(20_001);
    expect((await ask()).ok).toBe(true);
    expect(sent()).toBe(2);
  });

  it("waits longer after each 429 that names no time, and as usual after an answer", async () => {
    const pauses: number[] = [];
    for (let count = 0; count < 3; count++) {
      salad.failures.push({ status: 429 });
      await ask();
      const until = (await people().accounts.list())[0]?.pausedUntil ?? 0;
      pauses.push(Math.round((until - test.hub.now()) / 1_000));
      test.advance(until - test.hub.now() + 1);
    }
    expect(pauses).toEqual([30, 60, 120]);
    expect((await ask()).ok).toBe(true);
    salad.failures.push({ status: 429, headers: { "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" } });
    await ask();
    expect((await people().accounts.list())[0]?.pausedUntil).toBeLessThanOrEqual(test.hub.now() + 1_000);
  });

  it("does not follow a redirect, which would carry the key elsewhere", async () => {
    salad.failures.push({ status: 302, headers: { location: `${salad.url}/organizations/acme/quotas` } });
    expect((await ask()).fault).toMatchObject({ code: "GROUP_REFUSED", status: 302 });
    expect(sent()).toBe(1);
  });

  it("does not take an endless or an odd answer", async () => {
    salad.failures.push({ status: 200, body: "x".repeat(5 * 1024 * 1024) });
    expect((await ask()).fault).toMatchObject({ code: "GROUP_REFUSED" });
    salad.failures.push({ status: 200, body: "<html>" });
    expect((await ask()).fault).toMatchObject({ code: "GROUP_REFUSED", detail: "its answer is no JSON" });
    addGroup("../../other", 0);
    expect((await ask()).fault?.detail).toBe("its answer has another form than this hub knows, at items.0.name");
  });

  it("goes to no address that the rules of the hub refuse, not even by a name that resolves to it", async () => {
    const rules = readReach({}, { isLoopback: false });
    const reach = createReach(rules);
    Object.assign(test.hub, { reach: { ...reach, resolve: () => Promise.resolve(["127.0.0.1"]) } });
    Object.assign(test.hub.settings, { saladApi: new URL(salad.url.replace("127.0.0.1", "api.example")) });
    expect((await ask()).fault?.code).toBe("ENDPOINT_REFUSED");
    expect(sent()).toBe(0);
  });
});
