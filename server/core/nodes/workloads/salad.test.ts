import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from "jose";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { nodeName } from "#protocol/base/names.ts";
import { readSettings } from "#server/platform/env.ts";
import { fault } from "#server/testing/match-fault.ts";
import { addTestProfile, callAs, facts, NOBODY, openTestHub, type TestHub } from "#server/testing/open-test-hub.ts";
import { readReach } from "#server/platform/reach.ts";
import { readSaladSettings } from "#server/platform/settings/read-salad-settings.ts";

/** The platform in small: two keys, as it publishes them, and the claims it documents. */

const KID = "salad-workload-2026-11-20T16:59:51.0020098Z";
const [ORGANIZATION, WORKLOAD, MACHINE] = ["org-1", "group-1", "machine-1"];

let privateKey: CryptoKey;
let jwk: JWK;
let strangersKey: CryptoKey;
beforeAll(async () => {
  const pair = await generateKeyPair("RS256", { extractable: true });
  ({ privateKey } = pair);
  jwk = { ...(await exportJWK(pair.publicKey)), kid: KID, alg: "RS256", use: "sig" };
  strangersKey = (await generateKeyPair("RS256")).privateKey;
});

let served: { body: string; status: number; location: string | null };
let asked = 0;
let server: Server;
let test: TestHub;
const variables = () => ({
  TIDEMARK_SALAD_ORGANIZATIONS: ORGANIZATION,
  TIDEMARK_SALAD_WORKLOADS: `${WORKLOAD}, group-2`,
  TIDEMARK_SALAD_FLEET: "gpus",
  TIDEMARK_SALAD_JWKS_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`,
});
const saladFrom = (texts: Record<string, string>) => readSettings({ TIDEMARK_DATA: "/tmp", ...texts }).salad;

beforeEach(async () => {
  asked = 0;
  served = { body: JSON.stringify({ keys: [jwk] }), status: 200, location: null };
  server = createServer((_request, response) => {
    asked += 1;
    const headers = served.location === null ? {} : { location: served.location };
    response.writeHead(served.status, { "content-type": "application/json", ...headers }).end(served.body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  test = await openTestHub({ salad: saladFrom(variables()) });
  await addTestProfile(test.hub, "http://127.0.0.1:9");
});
afterEach(async () => {
  await test.close();
  server.closeAllConnections();
  server.close();
});

const claims = {
  salad_machine_id: MACHINE,
  salad_organization_id: ORGANIZATION,
  salad_organization_name: "acme",
  salad_workload_id: WORKLOAD,
  salad_workload_name: "training",
};
interface Forgery {
  key?: CryptoKey;
  kid?: string;
  audience?: string;
  issuedAgoS?: number;
}
function sign(changes: Partial<typeof claims> = {}, how: Forgery = {}): Promise<string> {
  const issued = Math.floor(test.hub.now() / 1_000) - (how.issuedAgoS ?? 0);
  return new SignJWT({ ...claims, ...changes })
    .setProtectedHeader({ alg: "RS256", kid: how.kid ?? KID })
    .setSubject(changes.salad_machine_id ?? MACHINE)
    .setAudience(how.audience ?? changes.salad_organization_id ?? ORGANIZATION)
    .setIssuer("https://matrix-rest-api.salad.com")
    .setIssuedAt(issued)
    .setNotBefore(issued)
    .setExpirationTime(issued + 300)
    .sign(how.key ?? privateKey);
}
const enrol = async (jwt: Promise<string> | string, more: { token?: string } = {}) =>
  callAs(test.hub, NOBODY).node.enrol({
    saladJwt: await jwt,
    name: nodeName.parse("gpu"),
    protocol: 1,
    facts,
    ...more,
  });
const REFUSED = fault("WORKLOAD_REFUSED");

describe("a workload of SaladCloud", () => {
  it("joins by the platform's word alone, in the fleet and the bucket that the settings say", async () => {
    const { nodeId, credential } = await enrol(sign());
    expect(credential).toMatch(/^tmn_/);
    expect(await callAs(test.hub, "viewer").nodes.get({ id: nodeId })).toMatchObject({
      fleet: "gpus",
      identity: `salad:${ORGANIZATION}/${WORKLOAD}/${MACHINE}`,
      profileName: "training",
      tokenId: null,
    });
    await test.restart();
    expect(await callAs(test.hub, "viewer").nodes.get({ id: nodeId })).toMatchObject({ fleet: "gpus" });
    const { rows } = await callAs(test.hub, "admin").audit.list({ actorId: nodeId });
    expect(rows.map(({ action }) => action)).toEqual(["enrol with workload identity"]);
  });

  it.each([
    ["another customer of the platform", { salad_organization_id: "org-2" }, {}],
    ["another customer who writes our audience", { salad_organization_id: "org-2" }, { audience: ORGANIZATION }],
    ["another container group of ours", { salad_workload_id: "group-9" }, {}],
    ["a token for somebody else", {}, { audience: "org-2" }],
    ["a token that is over", {}, { issuedAgoS: 400 }],
    ["a token of tomorrow", {}, { issuedAgoS: -86_400 }],
    ["a key that the platform does not publish", {}, { kid: "another" }],
    ["hostile text for a name", { salad_machine_id: "../../etc" }, {}],
  ])("is refused as %s", async (_, changes, how) => {
    await expect(enrol(sign(changes, how))).rejects.toEqual(REFUSED);
    expect(await test.hub.db.node.count()).toBe(0);
  });

  it("is refused with a signature that is not the platform's, or none", async () => {
    await expect(enrol(sign({}, { key: strangersKey }))).rejects.toEqual(REFUSED);
    const [, body] = (await sign()).split(".");
    const header = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url");
    await expect(enrol(`${header}.${body}.`)).rejects.toEqual(REFUSED);
    const shared = new TextEncoder().encode(jwk.n);
    const confused = new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256", kid: KID })
      .setExpirationTime("5m")
      .sign(shared);
    await expect(enrol(confused)).rejects.toEqual(REFUSED);
    await expect(enrol("not-a-token-at-all")).rejects.toEqual(REFUSED);
  });

  it("comes a few times as one machine, not a thousand times with one token", async () => {
    const jwt = await sign();
    const tries = [];
    for (let number = 0; number < 25; number++)
      tries.push(
        await enrol(jwt).then(
          () => "in",
          () => "refused",
        ),
      );
    expect(tries.indexOf("refused")).toBe(20);
  });

  it("shows one thing, not two", async () => {
    await expect(enrol(sign(), { token: "tmj_a-token-of-some-length" })).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });

  it("has no bucket when the settings do not say which of several", async () => {
    await addTestProfile(test.hub, "http://127.0.0.1:9", { name: "another" });
    await expect(enrol(sign())).rejects.toEqual(REFUSED);
  });
});

describe("the platform's keys", () => {
  it("are fetched once for many", async () => {
    await Promise.all([1, 2, 3].map((number) => enrol(sign({ salad_machine_id: `machine-${number}` }))));
    await enrol(sign());
    expect(asked).toBe(1);
  });

  it.each([
    ["are away", { status: 500, body: "{}", location: null }],
    ["lead elsewhere", { status: 302, body: "", location: "http://127.0.0.1:9/" }],
    ["are no keys", { status: 200, body: "<html>", location: null }],
    [
      "are far too many",
      { status: 200, body: JSON.stringify({ keys: [], more: "x".repeat(100_000) }), location: null },
    ],
  ])("that %s let nobody in, for now", async (_, answer) => {
    served = answer;
    await expect(enrol(sign())).rejects.toEqual(fault("WORKLOAD_KEYS_AWAY"));
  });

  it("are not looked for at a private address, unless that is allowed", async () => {
    const salad = saladFrom(variables());
    const other = await openTestHub({ salad, reach: readReach({}, { isLoopback: false }) });
    await other.hub.workloads.verify(await sign()).then(
      () => expect.unreachable(),
      (error: unknown) => expect(error).toMatchObject({ code: "WORKLOAD_KEYS_AWAY" }),
    );
    expect(asked).toBe(0);
    await other.close();
  });

  it("can be fixed ones", async () => {
    const fixed = { ...variables(), TIDEMARK_SALAD_JWKS: JSON.stringify({ keys: [jwk] }) };
    const other = await openTestHub({ salad: saladFrom(fixed) });
    expect(await other.hub.workloads.verify(await sign())).toEqual({
      organizationId: ORGANIZATION,
      workloadId: WORKLOAD,
      machineId: MACHINE,
    });
    expect(asked).toBe(0);
    await other.close();
  });

  it("are not enough where the settings ask for another issuer", async () => {
    const strict = { ...variables(), TIDEMARK_SALAD_ISSUER: "https://another.example" };
    const other = await openTestHub({ salad: saladFrom(strict) });
    await expect(other.hub.workloads.verify(await sign())).rejects.toMatchObject({ code: "WORKLOAD_REFUSED" });
    await other.close();
  });
});

it("a hub that was told of no organization takes no workload in", async () => {
  const other = await openTestHub();
  await expect(other.hub.workloads.verify(await sign())).rejects.toMatchObject({ code: "WORKLOAD_REFUSED" });
  await other.close();
});

it.each([
  ["TIDEMARK_SALAD_WORKLOADS", { TIDEMARK_SALAD_ORGANIZATIONS: "org-1" }],
  ["TIDEMARK_SALAD_ORGANIZATIONS", { TIDEMARK_SALAD_WORKLOADS: "group-1" }],
  ["TIDEMARK_SALAD_JWKS_URL", { TIDEMARK_SALAD_JWKS_URL: "http://keys.example.com" }],
  ["TIDEMARK_SALAD_JWKS", { TIDEMARK_SALAD_JWKS: '{"keys":[]}' }],
  ["TIDEMARK_SALAD_FLEET", { TIDEMARK_SALAD_FLEET: "my gpus" }],
])("a bad %s is refused by its name", (name, texts) => {
  const both = { TIDEMARK_SALAD_ORGANIZATIONS: "org-1", TIDEMARK_SALAD_WORKLOADS: "group-1" };
  const given: Record<string, string> = name.endsWith("S") && !name.endsWith("JWKS") ? texts : { ...both, ...texts };
  const read = () => readSaladSettings((variable) => given[variable] ?? null);
  expect(read).toThrow(expect.objectContaining({ context: expect.objectContaining({ subject: name }) }));
});
