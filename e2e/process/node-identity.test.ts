import { readFileSync } from "node:fs";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterEach, expect, test } from "vitest";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { type RunningImds, startImds } from "../stage/start-imds.ts";
import { waitUntil } from "../stage/wait-until.ts";

/** A worker's own side of who it is: the identity of its platform, and a credential that is replaced while it works. */

let stage: Stage | null = null;
let imds: RunningImds | null = null;
afterEach(async () => {
  await stage?.close();
  await imds?.stop();
  [stage, imds] = [null, null];
});

const storedBy = (open: Stage, name: string) =>
  JSON.parse(readFileSync(join(open.dir, "nodes", name, "state", "node.json"), "utf8")) as {
    credential: string;
    next?: string;
  };
const stateOf = async (open: Stage, name: string) =>
  (await open.client.nodes.list.query()).find((node) => node.name === name)?.state;

test("a container of SaladCloud joins with the identity that its platform gives it, and no token", async () => {
  const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: "key-1", alg: "RS256" };
  const opened = await openStage({
    hub: {
      env: {
        TIDEMARK_SALAD_ORGANIZATIONS: "org-1",
        TIDEMARK_SALAD_WORKLOADS: "group-1",
        TIDEMARK_SALAD_JWKS: JSON.stringify({ keys: [jwk] }),
      },
    },
  });
  const platform = await startImds();
  [stage, imds] = [opened, platform];
  const sign = (organization: string) =>
    new SignJWT({
      salad_machine_id: "machine-1",
      salad_organization_id: organization,
      salad_workload_id: "group-1",
    })
      .setProtectedHeader({ alg: "RS256", kid: "key-1" })
      .setSubject("machine-1")
      .setAudience(organization)
      .setIssuedAt()
      .setExpirationTime("5m")
      .sign(privateKey);
  const start = (name: string) =>
    opened.startNode({
      name,
      flags: ["--salad-identity"],
      env: { TIDEMARK_TOKEN: "", TIDEMARK_IMDS_URL: platform.url },
    });
  await platform.identify(await sign("org-2"));
  const stranger = await start("stranger");
  expect((await stranger.exited).code).toBe(4);
  expect(stranger.lines.join("\n")).toContain("The hub does not accept this workload");
  await platform.identify(await sign("org-1"));
  await start("salad-1");
  await waitUntil("it is online", async () => (await stateOf(opened, "salad-1")) === "online");
  const [node] = await opened.client.nodes.list.query();
  expect(node).toMatchObject({ name: "salad-1", fleet: "salad", identity: "salad:org-1/group-1/machine-1" });
});

test("a worker replaces its credential when a person asks for it, and goes on without a word lost", async () => {
  const opened = await openStage();
  stage = opened;
  const worker = await opened.startNode({ name: "gpu-1" });
  await waitUntil("it is online", async () => (await stateOf(opened, "gpu-1")) === "online");
  const before = await waitUntil("it has its credential", () => storedBy(opened, "gpu-1"));
  const [node] = await opened.client.nodes.list.query();
  await opened.client.nodes.rotateCredential.mutate({ id: node?.id ?? "" });
  const use = { action: "use new credential" };
  await waitUntil("the new one is used", async () => (await opened.client.audit.list.query(use)).rows.length === 1);
  const after = storedBy(opened, "gpu-1");
  expect(after.credential).not.toBe(before.credential);
  expect(after.next).toBeUndefined();
  const asOld = await fetch(`${opened.hub.url}/api/trpc/node.goodbye`, {
    method: "POST",
    headers: { authorization: `Bearer ${before.credential}`, "content-type": "application/json" },
    body: "{}",
  });
  expect(asOld.status).toBe(401);
  const reports = async () => (await opened.client.nodes.list.query())[0]?.lastSeenAt ?? 0;
  const seenAt = await reports();
  await waitUntil("it is heard again", async () => (await reports()) > seenAt);
  expect(worker.lines.join("\n")).not.toContain(after.credential);
  expect(await stateOf(opened, "gpu-1")).toBe("online");
});
