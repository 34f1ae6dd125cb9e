import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readSettings } from "../platform/env.ts";
import { addTestPerson, callAs, openTestHub, type TestHub } from "../testing/open-test-hub.ts";
import { serve, type Served } from "./serve.ts";

/** Callers of the Kelpie-compatible API, and the form of its errors. */

const GROUP = "group-1";
const MACHINE = "machine-1";
const pair = await generateKeyPair("RS256", { extractable: true });
const jwk = { ...(await exportJWK(pair.publicKey)), kid: "key-1", alg: "RS256", use: "sig" };
const { salad } = readSettings({
  TIDEMARK_DATA: "/tmp",
  TIDEMARK_SALAD_ORGANIZATIONS: "org-1",
  TIDEMARK_SALAD_WORKLOADS: `${GROUP},group-2`,
  TIDEMARK_SALAD_JWKS: JSON.stringify({ keys: [jwk] }),
});

let test: TestHub;
let served: Served;
let token: string;
beforeEach(async () => {
  test = await openTestHub({ salad });
  served = await serve(test.hub, async (_request, response) => void response.end("a page"), 0);
  const { caller } = await addTestPerson(test.hub, "grace@example.com", "operator");
  ({ token } = await callAs(test.hub, caller).apiTokens.create({ name: "kelpie", role: "operator" }));
});
afterEach(async () => {
  test.startClosing();
  await served.close(0);
  await test.close();
});

const jwt = (changes: Record<string, string> = {}): Promise<string> =>
  new SignJWT({ salad_machine_id: MACHINE, salad_organization_id: "org-1", salad_workload_id: GROUP, ...changes })
    .setProtectedHeader({ alg: "RS256", kid: "key-1" })
    .setSubject(MACHINE)
    .setAudience("org-1")
    .setIssuedAt(Math.floor(test.hub.now() / 1_000))
    .setExpirationTime(Math.floor(test.hub.now() / 1_000) + 300)
    .sign(pair.privateKey);

async function call(headers: Record<string, string>, way: string, body?: object | string) {
  const [method = "", path = ""] = way.split(" ");
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const init = body === undefined ? {} : { body: text };
  const answer = await fetch(`${served.url}/kelpie${path}`, { method, headers, ...init });
  expect(answer.headers.get("content-type")).toBe("application/json");
  return { status: answer.status, body: (await answer.json()) as unknown };
}
const withKey = (way: string, body?: object | string) => call({ "x-kelpie-key": token }, way, body);
const JOB = { command: "python", container_group_id: GROUP, sync: {} };
const WORK = `GET /work?machine_id=${MACHINE}&container_group_id=${GROUP}`;

describe("a caller", () => {
  it("without credentials, or with those of a browser, is refused, whatever it asks for", async () => {
    const refused = { status: 401, body: { error: "Unauthorized", message: "API Key or Bearer Token Required" } };
    for (const way of ["GET /jobs", "GET /no/such", WORK, "POST /jobs"]) expect(await call({}, way)).toEqual(refused);
    expect(await call({ cookie: "tidemark_session=x" }, "GET /jobs")).toEqual(refused);
  });

  it("with an unknown or a revoked token is refused, and on record", async () => {
    for (const key of ["c0ffee00-0000-4000-8000-000000000000", `tmk_${"x".repeat(43)}`]) {
      const said = await call({ "x-kelpie-key": key }, "GET /jobs");
      expect(said).toEqual({ status: 403, body: { error: "Forbidden", message: "Invalid API Key" } });
    }
    expect(await test.hub.db.audit.count({ where: { action: "api-token refused" } })).toBe(2);
  });

  it("with a token of this hub is let in, also where Kelpie takes a key of Salad or a bearer token", async () => {
    for (const headers of [{ "x-kelpie-key": token }, { "salad-api-key": token }, { authorization: `Bearer ${token}` }])
      expect((await call(headers, "GET /users/me")).status).toBe(200);
  });

  it("with a key of Salad is told to use a token of this hub", async () => {
    const headers = { "salad-api-key": "salad_cloud_user_abc", "salad-organization": "acme", "salad-project": "p" };
    const { status, body } = await call(headers, "GET /jobs");
    expect(status).toBe(403);
    expect(JSON.stringify(body)).toContain("X-Kelpie-Key");
    expect(JSON.stringify(body)).not.toContain("salad_cloud_user_abc");
  });

  it("that is refused too often waits, and others of its network do not", async () => {
    // The allowance fills again with time, and requests take some.
    vi.useFakeTimers({ toFake: ["Date"] });
    for (let tries = 0; tries < 60; tries++) await call({ "x-kelpie-key": "guess" }, "GET /jobs");
    expect((await call({ "x-kelpie-key": "guess" }, "GET /jobs")).status).toBe(429);
    const others = await Promise.all(Array.from({ length: 100 }, () => withKey("GET /jobs")));
    expect(new Set(others.map(({ status }) => status))).toEqual(new Set([200]));
    vi.useRealTimers();
  });
});

describe("a container with a signed identity", () => {
  const bearer = async (changes: Record<string, string> = {}) => ({ authorization: `Bearer ${await jwt(changes)}` });
  const worker = { machine_id: MACHINE, container_group_id: GROUP };

  it("takes, reports and ends the jobs of its group", async () => {
    const { id } = (await withKey("POST /jobs", JOB)).body as { id: string };
    expect(await call(await bearer(), WORK)).toMatchObject({ status: 200, body: [{ id, machine_id: MACHINE }] });
    const beat = await call(await bearer(), `POST /jobs/${id}/heartbeat`, worker);
    expect(beat).toEqual({ status: 200, body: { status: "running" } });
    await call(await bearer(), `POST /jobs/${id}/completed`, worker);
    expect((await withKey(`GET /jobs/${id}`)).body).toMatchObject({ status: "completed" });
  });

  it("speaks for no other machine and no other group, and makes no call of a person", async () => {
    const { id } = (await withKey("POST /jobs", JOB)).body as { id: string };
    const other = await bearer({ salad_machine_id: "machine-2" });
    expect((await call(other, WORK)).status).toBe(403);
    expect((await call(await bearer({ salad_workload_id: "group-2" }), WORK)).status).toBe(403);
    await call(await bearer(), WORK);
    expect((await call(other, `POST /jobs/${id}/failed`, worker)).status).toBe(403);
    for (const way of ["GET /jobs", `GET /jobs/${id}`, `DELETE /jobs/${id}`, "GET /users/me"])
      expect((await call(await bearer(), way)).status).toBe(403);
    expect((await call(await bearer(), "POST /jobs", JOB)).status).toBe(403);
    expect((await withKey(`GET /jobs/${id}`)).body).toMatchObject({ status: "running", num_failures: 0 });
  });

  it("is refused when it is of another customer of the platform, or signed by nobody", async () => {
    expect((await call(await bearer({ salad_organization_id: "org-2" }), WORK)).status).toBe(401);
    const [head = "", claims = ""] = (await jwt()).split(".");
    expect((await call({ authorization: `Bearer ${head}.${claims}.AAAA` }, WORK)).status).toBe(401);
    expect((await call({ authorization: "Basic eDp5" }, WORK)).status).toBe(401);
  });
});

describe("an answer", () => {
  it("reveals nothing of an unexpected error, and does not count it as a refusal of the caller", async () => {
    const broken = vi.spyOn(test.hub.db.apiToken, "findUnique").mockRejectedValue(new Error("no such table: Secret"));
    const refused = await withKey("GET /jobs");
    broken.mockRestore();
    expect(refused.status).toBe(500);
    expect(JSON.stringify(refused.body)).not.toContain("Secret");
    expect(await test.hub.db.audit.count({ where: { action: { endsWith: "refused" } } })).toBe(0);
  });

  it("with a job for a worker does not contain the address of its webhook", async () => {
    const webhook = "https://hooks.example.com/a-secret";
    const { id } = (await withKey("POST /jobs", { ...JOB, webhook })).body as { id: string };
    expect((await withKey(WORK)).body).toMatchObject([{ id, webhook: null }]);
    expect((await withKey(`GET /jobs/${id}`)).body).toMatchObject({ webhook });
  });

  it("to a machine that asks for work without a pause is 429, and others are not held up by it", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    for (let tries = 0; tries < 60; tries++) expect((await withKey(WORK)).status).toBe(200);
    expect((await withKey(WORK)).status).toBe(429);
    expect((await withKey(WORK.replace(MACHINE, "machine-2"))).status).toBe(200);
    vi.useRealTimers();
  });

  it("to a wrong path, a wrong method and a wrong body is JSON too", async () => {
    expect(await withKey("GET /no/such")).toMatchObject({ status: 404, body: { error: "Route Not Found" } });
    expect((await withKey("PUT /jobs", {})).status).toBe(404);
    expect((await withKey("GET /")).status).toBe(404);
    expect(await withKey("POST /jobs", "{")).toMatchObject({ status: 400, body: { error: "Bad Request" } });
    expect(await withKey("POST /jobs", "[".repeat(400_000))).toMatchObject({ status: 400 });
    expect((await withKey("POST /jobs", `"${"x".repeat(1_100_000)}"`)).status).toBe(413);
    expect(await withKey(`GET /scaling-rules/${GROUP}`)).toMatchObject({ status: 404 });
  });

  it("of a path that only begins alike is a page", async () => {
    expect(await (await fetch(`${served.url}/kelpies`)).text()).toBe("a page");
  });
});
