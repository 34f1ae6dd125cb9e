import { afterEach, beforeEach, expect, it } from "vitest";
import { USUAL_SETTINGS } from "#protocol/benchmarks/plan-input.ts";
import { benchFolder } from "#protocol/checkpoint/keys.ts";
import { serveCanned, type Canned, type CannedServer } from "#storage/testing/canned-server.ts";
import {
  openTestHub,
  addTestNode,
  addTestProfile,
  callAs,
  type TestHub,
  type TestNode,
} from "#server/testing/open-test-hub.ts";
import { newId } from "#server/platform/random-id.ts";

/** Keys that a store makes for one turn: who is asked, for what, and what a node is lent. */

let test: TestHub;
let service: CannedServer;
let profileId: string;
let node: TestNode;
let answer: Canned;
const TOKEN = "a-session-token";
const SECRET = "a-secret-that-ends";
const key = (expiration = "2026-11-22T12:00:00Z") =>
  `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIATURN</AccessKeyId><SecretAccessKey>${SECRET}</SecretAccessKey><SessionToken>${TOKEN}</SessionToken><Expiration>${expiration}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`;

beforeEach(async () => {
  answer = { body: key() };
  service = await serveCanned(() => answer);
  test = await openTestHub();
  profileId = await addTestProfile(test.hub, "http://127.0.0.1:1", { name: "east", prefix: "team/" });
  node = await addTestNode(test.hub, profileId, "gpu-1");
});
afterEach(async () => {
  await test.close();
  await service[Symbol.asyncDispose]();
});

const admin = () => callAs(test.hub, "admin").benchmarks;
const allow = () =>
  admin().setKey({
    profileId,
    key: { kind: "temporary", way: { call: "sts", endpoint: service.endpoint, roleArn: null } },
    grant: null,
  });
const asNode = () => callAs(test.hub, node.caller).node;
const begin = async (...engines: (typeof USUAL_SETTINGS)["engines"]) => {
  const settings = { ...USUAL_SETTINGS, engines };
  return asNode().benchStart({ id: newId(), profileId, settings, seed: 7 });
};
const asked = (index: number) => new URLSearchParams(service.seen[index]?.body.toString() ?? "");

it("is tried when it is allowed, and shown without anything that opens a bucket", async () => {
  await allow();
  expect(asked(0).get("Action")).toBe("AssumeRole");
  expect(asked(0).get("Policy")).toMatch(/team\/_tidemark\/bench\/[A-Za-z0-9-]+\/\*/);
  expect(await admin().keys()).toMatchObject([{ kind: "temporary", accessKeyHint: null, hasGrant: false }]);
  expect(await test.hub.db.audit.findMany({ where: { action: "allow temporary benchmark keys" } })).toHaveLength(1);
});

it("is not allowed where the service refuses, does not answer, or may not be spoken to", async () => {
  answer = { status: 403, body: "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>" };
  await expect(allow()).rejects.toMatchObject({ cause: { code: "ACCESS_DENIED" } });
  answer = { hangUp: true };
  await expect(allow()).rejects.toMatchObject({ cause: { code: "LINK_DOWN" } });
  const way = { call: "sts", endpoint: "http://169.254.169.254", roleArn: null } as const;
  const metadata = admin().setKey({ profileId, key: { kind: "temporary", way }, grant: null });
  await expect(metadata).rejects.toMatchObject({ cause: { code: "ENDPOINT_REFUSED" } });
  expect(await admin().keys()).toMatchObject([{ kind: null }]);
});

it("is made for the folder of the turn and lent with its end, a new one each time it is asked for", async () => {
  await allow();
  const { turnId } = await begin("tidemark", "sdk");
  const job = await asNode().benchTurn({ turnId });
  expect(job.credential).toEqual({ accessKeyId: "ASIATURN", secretAccessKey: SECRET, sessionToken: TOKEN });
  // Asked for just before the answer: a key that is thought to end late would end within a case.
  const wanted = job.cases.length * USUAL_SETTINGS.timeLimitMs + 600_000;
  const left = (job.credentialEndsAt ?? 0) - job.hubTimeMs;
  expect(left).toBeLessThanOrEqual(wanted);
  expect(left).toBeGreaterThan(wanted - 60_000);
  expect(JSON.parse(asked(1).get("Policy") ?? "").Statement[0].Resource).toEqual([
    expect.stringContaining(`:::training/${benchFolder("team/", turnId)}*`),
  ]);
  await asNode().benchTurn({ turnId });
  expect(service.seen).toHaveLength(3);
  const kept = JSON.stringify([
    await test.hub.db.profileBenchKey.findMany(),
    await test.hub.db.benchTurn.findMany(),
    await test.hub.db.audit.findMany(),
  ]);
  expect(kept).not.toContain(SECRET);
  expect(kept).not.toContain(TOKEN);
});

it("is not asked for by a turn whose engines need none", async () => {
  await allow();
  const { turnId } = await begin("tidemark", "aria2");
  expect(await asNode().benchTurn({ turnId })).toMatchObject({ credential: null, credentialEndsAt: null });
  expect(service.seen).toHaveLength(1);
});

it("is asked of Cloudflare by its own API, with a token that is shown to nobody", async () => {
  const credential = { accessKeyId: "r2key", secretAccessKey: SECRET, sessionToken: TOKEN };
  answer = { body: JSON.stringify({ success: true, errors: [], result: credential }) };
  const way = {
    call: "r2",
    url: `${service.endpoint}/accounts/a/r2`,
    parentAccessKeyId: "parent",
    apiToken: "cf-token",
  } as const;
  await admin().setKey({ profileId, key: { kind: "temporary", way }, grant: null });
  const { turnId } = await begin("sdk");
  expect(await asNode().benchTurn({ turnId })).toMatchObject({ credential });
  const [, last] = service.seen;
  expect(last).toMatchObject({ method: "POST", path: "/accounts/a/r2", headers: { authorization: "Bearer cf-token" } });
  expect(JSON.parse(last?.body.toString() ?? "")).toMatchObject({
    bucket: "training",
    parentAccessKeyId: "parent",
    permission: "object-read-write",
    prefixes: [benchFolder("team/", turnId)],
  });
  answer = {
    status: 403,
    body: JSON.stringify({ success: false, errors: [{ code: 9109, message: "Invalid access token" }] }),
  };
  await expect(asNode().benchTurn({ turnId })).rejects.toMatchObject({ cause: { code: "ACCESS_DENIED" } });
  const shown = JSON.stringify([
    await admin().keys(),
    await test.hub.db.audit.findMany(),
    await test.hub.db.profileBenchKey.findMany(),
  ]);
  expect(shown).not.toContain("cf-token");
});
