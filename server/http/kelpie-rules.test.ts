import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { startSaladEmulator, type SaladEmulator } from "#storage/testing/salad-emulator.ts";
import { nodeName } from "#protocol/base/names.ts";
import { callAs } from "../testing/open-test-hub.ts";
import { addTestPerson, openTestHub, type TestHub } from "../testing/open-test-hub.ts";
import { serve, type Served } from "./serve.ts";

/** Kelpie's calls about scaling rules, over the rules of groups at an emulated SaladCloud. */

let salad: SaladEmulator;
let test: TestHub;
let served: Served;
let tokens: { operator: string; viewer: string };
beforeEach(async () => {
  salad = await startSaladEmulator();
  test = await openTestHub({ saladApi: new URL(salad.url) });
  served = await serve(test.hub, async (_request, response) => void response.end("a page"), 0);
  const { caller } = await addTestPerson(test.hub, "grace@example.com", "operator");
  const make = async (role: "operator" | "viewer") =>
    (await callAs(test.hub, caller).apiTokens.create({ name: role, role })).token;
  tokens = { operator: await make("operator"), viewer: await make("viewer") };
});
afterEach(async () => {
  test.startClosing();
  await served.close(0);
  await test.close();
  await salad.close();
});

async function addAccount(name = "main"): Promise<string> {
  const { organization, project, key } = salad;
  const account = { name: nodeName.parse(name), provider: "salad" as const, organization, project };
  const { id } = await callAs(test.hub, "admin").groups.accounts.create({ account, key });
  // The hub's own rounds would meet what a test prepares for a call.
  test.hub.groups.roundAt.set(id, Infinity);
  return id;
}

async function call(way: string, body?: object, role: keyof typeof tokens = "operator") {
  const [method = "", path = ""] = way.split(" ");
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  const headers = { "x-kelpie-key": tokens[role] };
  const answer = await fetch(`${served.url}/kelpie/scaling-rules${path}`, { method, headers, ...init });
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? null : (JSON.parse(text) as unknown) };
}

const LIMITS = { min_replicas: 1, max_replicas: 4, idle_threshold_seconds: 300 };

it("a rule is set, read, changed and removed as at Kelpie, and is the rule of the group on the pages", async () => {
  const accountId = await addAccount();
  const { id, name } = salad.addGroup("trainers");
  const rule = { container_group_id: id, ...LIMITS };
  const shown = { ...rule, org_name: salad.organization, project_name: salad.project, container_group_name: name };
  expect(await call("POST ", rule)).toEqual({ status: 201, body: shown });
  expect(await call("GET ", undefined, "viewer")).toEqual({ status: 200, body: { _count: 1, rules: [shown] } });
  const ofGroup = async () => (await callAs(test.hub, "admin").groups.list({ accountId })).groups[0]?.rule;
  expect(await ofGroup()).toMatchObject({ queue: id, limits: { min: 1, max: 4, idleMs: 300_000 }, isEnabled: true });

  expect(await call(`PATCH /${id}`, { max_replicas: 9 })).toEqual({ status: 200, body: { ...shown, max_replicas: 9 } });
  expect(await ofGroup()).toMatchObject({ limits: { min: 1, max: 9 } });
  expect((await call(`PATCH /${id}`, { max_replicas: 0 })).status).toBe(400);
  expect(await call(`DELETE /${id}`)).toEqual({ status: 204, body: null });
  expect(await ofGroup()).toBeNull();
  expect((await call(`GET /${id}`)).status).toBe(404);
  expect((await call(`PATCH /${id}`, {})).status).toBe(404);
  expect((await call(`DELETE /${id}`)).status).toBe(204);
});

it("a rule of another queue is none of Kelpie's", async () => {
  const accountId = await addAccount();
  salad.addGroup("trainers");
  const limits = { min: 0, max: 1, idleMs: 0, cooldownMs: 0 };
  await callAs(test.hub, "admin").groups.setRule({ accountId, group: "trainers", queue: "default", limits });
  expect(await call("GET ")).toEqual({ status: 200, body: { _count: 0, rules: [] } });
});

it("a group that no account has is refused, and an account that does not answer is named", async () => {
  const { id } = salad.addGroup("trainers");
  const rule = { container_group_id: id, ...LIMITS };
  expect(await call("POST ", rule)).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining("Groups") },
  });
  await addAccount();
  salad.failures.push(...Array.from({ length: 5 }, () => ({ status: 401 })));
  const refused = await call("POST ", rule);
  expect(refused.status).not.toBe(201);
  expect(JSON.stringify(refused.body)).toContain("main");
  expect(await test.hub.db.groupRule.count()).toBe(0);
});

it("limits that are no limits, and a viewer, change nothing", async () => {
  await addAccount();
  const { id } = salad.addGroup("trainers");
  const rule = { container_group_id: id, ...LIMITS };
  for (const wrong of [
    { min_replicas: 5 },
    { max_replicas: 501 },
    { idle_threshold_seconds: 3_601 },
    { min_replicas: -1 },
  ])
    expect((await call("POST ", { ...rule, ...wrong })).status).toBe(400);
  expect((await call("POST ", { ...rule, container_group_id: "../x" })).status).toBe(400);
  expect((await call("POST ", rule, "viewer")).status).toBe(403);
  expect(await test.hub.db.groupRule.count()).toBe(0);
});

it("all accounts are asked at once", async () => {
  for (const name of ["a", "b", "c", "d", "e", "f"]) await addAccount(name);
  const { id } = salad.addGroup("trainers");
  const { promise: allAreAsked, resolve } = Promise.withResolvers<void>();
  salad.requests.splice(0);
  salad.beforeAnswer = () => {
    if (salad.requests.length === 6) resolve();
    return allAreAsked;
  };
  expect((await call("POST ", { container_group_id: id, ...LIMITS })).status).toBe(201);
});

it("an account that does not answer in time is named", async () => {
  await addAccount("slow");
  const { id } = salad.addGroup("trainers");
  const isOver = new AbortController();
  salad.beforeAnswer = () => {
    isOver.abort();
    return new Promise(() => undefined);
  };
  const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(isOver.signal);
  const made = callAs(test.hub, "admin").groups.importRules({
    rules: [{ container_group_id: id, ...LIMITS }],
    dryRun: false,
  });
  await expect(made).rejects.toMatchObject({
    cause: { code: "GROUP_UNREACHABLE", context: { subject: "slow", detail: "no answer within 20 s" } },
  });
  timeout.mockRestore();
});
