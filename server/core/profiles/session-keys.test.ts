import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { KeyBy } from "#protocol/wire/requests.ts";
import { CONTROL, TEST_CREDENTIAL, folderForTests, spawnStore } from "#storage/testing/spawn-store.ts";
import { callAs, openTestHub, type TestHub } from "#server/testing/open-test-hub.ts";

/** A profile whose key is used by role, at an embedded store, with a service that gives out the keys of sessions. */
type Store = Awaited<ReturnType<typeof spawnStore>>;
let store: Store;
let server: Server;
let service: string;
let asked: { authorization: string; form: URLSearchParams; body: string }[] = [];
let refuses = false;
let lifeMs = 3_600_000;
let hub: TestHub;

beforeAll(async () => {
  store = await spawnStore(await folderForTests("tidemark-session-"), [
    "--bucket",
    "training",
    "--no-fsync",
    "--control",
    CONTROL,
  ]);
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    asked.push({ authorization: request.headers.authorization ?? "", form: new URLSearchParams(body), body });
    if (refuses) {
      response
        .writeHead(403)
        .end("<ErrorResponse><Error><Code>AccessDenied</Code><Message>not this role</Message></Error></ErrorResponse>");
      return;
    }
    const number = asked.length;
    const key = {
      accessKey: `ASIA${number}`,
      secretKey: `session-secret-${number}`,
      sessionToken: `session-token-${number}`,
    };
    const ends = Date.now() + lifeMs;
    await store.control("PUT", "/credentials", { ...key, expiresAtMs: ends });
    const made = {
      AccessKeyId: key.accessKey,
      SecretAccessKey: key.secretKey,
      SessionToken: key.sessionToken,
      Expiration: new Date(ends).toISOString(),
    };
    if (request.url?.includes("temp-access") === true) {
      const result = { accessKeyId: key.accessKey, secretAccessKey: key.secretKey, sessionToken: key.sessionToken };
      response.end(JSON.stringify({ success: true, result }));
      return;
    }
    const xml = Object.entries(made)
      .map(([name, value]) => `<${name}>${value}</${name}>`)
      .join("");
    response.end(
      `<AssumeRoleResponse><AssumeRoleResult><Credentials>${xml}</Credentials></AssumeRoleResult></AssumeRoleResponse>`,
    );
  };
  server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  service = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await store.close();
});
beforeEach(async () => {
  [asked, refuses, lifeMs] = [[], false, 3_600_000];
  hub = await openTestHub();
});
afterEach(() => hub.close());

const role = (): KeyBy => ({
  call: "sts",
  endpoint: service,
  roleArn: "arn:aws:iam::123456789012:role/tidemark",
  externalId: "ours",
});

async function makeProfile(keyBy: KeyBy | null) {
  const { accessKeyId, secretAccessKey } = TEST_CREDENTIAL;
  return callAs(hub.hub, "admin").profiles.create({
    profile: {
      name: "by role",
      provider: "minio",
      bucket: "training",
      region: "us-east-1",
      prefix: "",
      endpoint: store.endpoint,
      workerEndpoint: null,
      browserEndpoint: null,
      addressing: "path",
    },
    credential: { accessKeyId, secretAccessKey },
    keyBy,
  });
}

const signed = async (profileId: string) => {
  const opened = await hub.hub.stores.open(profileId);
  const [request] = await opened.signForNode([{ op: "head", key: "runs/a/file" }]);
  if (request === undefined) throw new Error("nothing was signed");
  return { request, url: new URL(request.url) };
};
const put = async (profileId: string) => {
  const opened = await hub.hub.stores.open(profileId);
  const [request] = await opened.signForNode([
    { op: "put", key: `runs/a/${profileId}`, sizeBytes: 1, crc32: "e8b7be43", nonce: "n" },
  ]);
  const { "content-length": _, ...headers } = request?.headers ?? {};
  return (await fetch(request?.url ?? "", { method: "PUT", headers, body: "a" })).status;
};

test("what a node is given is signed with a session's key, and that opens the bucket", async () => {
  const made = await makeProfile(role());
  expect(made.keyBy).toEqual(role());
  expect(await put(made.id)).toBe(200);
  const { url } = await signed(made.id);
  expect(url.searchParams.get("X-Amz-Security-Token")).toBe("session-token-1");
  expect(asked).toHaveLength(1);
  const { authorization, form } = asked[0] ?? { authorization: "", form: new URLSearchParams() };
  // The long key signs the question for the service, and nothing else.
  expect(authorization).toMatch(/Credential=AKIATEST\/\d+\/us-east-1\/sts\/aws4_request/);
  expect(Object.fromEntries(form)).toMatchObject({
    Action: "AssumeRole",
    RoleArn: "arn:aws:iam::123456789012:role/tidemark",
    ExternalId: "ours",
  });
  expect(JSON.parse(form.get("Policy") ?? "{}")).toMatchObject({
    Statement: [{ Resource: ["arn:aws:s3:::training", "arn:aws:s3:::training/*"] }],
  });
});

test("the hub's own calls are signed with it too, and every operation of the profile test works", async () => {
  const { id } = await makeProfile(role());
  const view = await callAs(hub.hub, "admin").profiles.test({ id, profile: null, credential: null });
  expect(view.checks.filter(({ outcome }) => outcome === "failed" || outcome === "refused")).toEqual([]);
});

test("a session is renewed when half of it is over, and no signature outlives its key", async () => {
  const { id } = await makeProfile(role());
  const first = await signed(id);
  expect(first.request.expiresAt).toBeLessThanOrEqual(hub.hub.now() + 3_600_000);
  hub.advance(31 * 60_000);
  // The old key still signs while the next one is on its way.
  const meanwhile = await signed(id);
  expect(meanwhile.url.searchParams.get("X-Amz-Security-Token")).toBe("session-token-1");
  expect(meanwhile.request.expiresAt).toBeLessThanOrEqual(hub.hub.now() + 29 * 60_000);
  await vi.waitFor(async () =>
    expect((await signed(id)).url.searchParams.get("X-Amz-Security-Token")).toBe("session-token-2"),
  );
});

test("a service that refuses is a sentence with what it said, in the test and to nodes", async () => {
  refuses = true;
  const { id } = await makeProfile(role());
  const refused = { code: "KEYS_REFUSED", message: expect.stringContaining("not this role") };
  await expect(signed(id)).rejects.toMatchObject(refused);
  const tested = callAs(hub.hub, "admin").profiles.test({ id, profile: null, credential: null });
  await expect(tested).rejects.toThrow(/not this role/);
});

test("Cloudflare is asked for a key of the bucket with the token", async () => {
  const { id } = await makeProfile({ call: "r2", url: `${service}/r2/temp-access-credentials` });
  expect(await put(id)).toBe(200);
  expect(asked[0]?.authorization).toBe(`Bearer ${TEST_CREDENTIAL.secretAccessKey}`);
  expect(JSON.parse(asked[0]?.body ?? "{}")).toMatchObject({ bucket: "training", parentAccessKeyId: "AKIATEST" });
});

test("a stored key is not used at another service unless it is typed again", async () => {
  const { id, version, profile } = await makeProfile(role());
  const elsewhere = { ...role(), endpoint: "http://127.0.0.2:9" };
  const change = { id, version, profile, credential: null, keyBy: elsewhere };
  await expect(callAs(hub.hub, "admin").profiles.update(change)).rejects.toThrow(/type the key again/);
  const trial = callAs(hub.hub, "admin").profiles.test({ id, profile, credential: null, keyBy: elsewhere });
  await expect(trial).rejects.toThrow(/type the key again/);
  // Left out it stays as it is; null takes it away.
  const renamed = await callAs(hub.hub, "admin").profiles.update({
    id,
    version,
    profile: { ...profile, name: "b" },
    credential: null,
  });
  expect(renamed.keyBy).toEqual(role());
  const plain = await callAs(hub.hub, "admin").profiles.update({ ...change, version: renamed.version, keyBy: null });
  expect(plain.keyBy).toBeNull();
  expect((await signed(id)).url.searchParams.has("X-Amz-Security-Token")).toBe(false);
});
