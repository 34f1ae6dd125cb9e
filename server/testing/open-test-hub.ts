import { rm } from "node:fs/promises";
import type { EnrolAnswer, NodeFacts } from "#protocol/wire/hello.ts";
import { nodeName } from "#protocol/base/names.ts";
import type { ProfileDraft, Role } from "#protocol/wire/requests.ts";
import { TEST_CREDENTIAL, folderForTests, spawnStore, type SpawnedStore } from "#storage/testing/spawn-store.ts";
import { readSession, secretInCookie } from "../core/accounts/auth/session.ts";
import { readSettings, type HubSettings } from "../platform/env.ts";
import type { Hub } from "../core/api/hub.ts";
import { createSigner } from "../signer/answer.ts";
import type { Signer } from "../signer/messages.ts";
import { deriveMasterKey, type MasterKey } from "../signer/seal.ts";
import { createLog } from "../platform/log.ts";
import type { Reach } from "../platform/reach.ts";
import { hashOf, newId } from "../platform/random-id.ts";
import { hubRouter } from "../router.ts";
import type { Context } from "../core/api/trpc.ts";
import { openHub } from "../http/open-hub.ts";
import { makeTestDatabase } from "./test-database.ts";
import type { Caller, SessionCaller } from "#server/core/api/caller.ts";

/** For tests: a hub in a folder of its own, with its signer in this process and a clock that can be moved. */

const SECRET = "a secret of at least thirty-two characters";

export interface TestHub {
  hub: Hub;
  folder: string;
  signer: Signer;
  printedCodes: string[];
  /** Moves the hub's clock. */
  advance: (ms: number) => void;
  startClosing: () => void;
  /** Ends this hub and starts another on the same data. */
  restart: () => Promise<void>;
  /** Ends this hub; `start` starts another on the same data. */
  stop: () => Promise<void>;
  start: () => Promise<void>;
  close: () => Promise<void>;
}

const derived = new Map<string, MasterKey>();

/** Derives each key once in a process: every hub of a test has the same secret. */
function deriveOnce(secret: string, version: number): MasterKey {
  const name = `${version} ${secret}`;
  const key = derived.get(name) ?? deriveMasterKey(secret, version);
  derived.set(name, key);
  return key;
}

/** Opens a hub. `reach` replaces the connection rules of the settings and the resolver of this machine. */
export async function openTestHub(settings: Partial<HubSettings> = {}, reach?: Reach): Promise<TestHub> {
  const folder = await folderForTests("tidemark-hub-");
  const database = await makeTestDatabase(folder);
  let aheadMs = 0;
  const printedCodes: string[] = [];
  const signer = createSigner({ secret: SECRET, dataFolder: folder }, { derive: deriveOnce });
  const start = () =>
    openHub({
      settings: {
        ...readSettings({ TIDEMARK_DATA: folder, TIDEMARK_NO_UI: "1", TIDEMARK_PORT: "0" }),
        ...database.settings,
        ...settings,
      },
      signer,
      log: createLog("silent"),
      queriesHere: true,
      now: () => Date.now() + aheadMs,
      passwordCost: 10,
      printSetupCode: (code) => printedCodes.push(code),
      lockWaitMs: 3_000,
      ...(reach !== undefined && { reach }),
    });
  let opened = await start();
  const test: TestHub = {
    hub: opened.hub,
    folder,
    signer,
    printedCodes,
    advance: (ms) => {
      aheadMs += ms;
    },
    startClosing: () => opened.startClosing(),
    restart: async () => {
      await test.stop();
      await test.start();
    },
    stop: () => opened.close(),
    start: async () => {
      opened = await start();
      test.hub = opened.hub;
    },
    close: async () => {
      await opened.close();
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
  return test;
}

const contextOf = (hub: Hub, caller: Caller): Context => ({
  hub,
  caller,
  address: "192.0.2.1",
  agent: "",
  origin: "http://hub.test",
  crossSite: null,
  refusal: null,
  setCookie: () => undefined,
});

const personOf = (role: Role): Caller => ({
  kind: "person",
  person: { id: `id-${role}`, email: `${role}@example.com`, role },
  sessionHash: hashOf(role),
});

/** Returns the router as a caller sees it. `overrides` change the context of the call. */
export const callAs = (hub: Hub, who: Caller | Role, overrides: Partial<Context> = {}) =>
  hubRouter.createCaller({
    ...contextOf(hub, typeof who === "string" ? personOf(who) : who),
    ...overrides,
  });

export const NOBODY: Caller = { kind: "nobody" };

export const facts: NodeFacts = {
  hostname: "host",
  platform: "linux",
  cpus: 8,
  memoryBytes: 1_000_000,
  gpu: "RTX 4090",
  labels: {},
  machineId: null,
  workerVersion: "0.1.0",
};

export const TEST_PASSWORD = "correct horse battery";

export interface TestPerson {
  id: string;
  caller: SessionCaller;
  /** Cookie header of its browser: `tidemark=...`. */
  cookie: string;
}

/** Makes a call that signs somebody in; returns the cookie and the caller that it makes. */
export async function signedIn(hub: Hub, call: (overrides: Partial<Context>) => Promise<unknown>): Promise<TestPerson> {
  let cookie = "";
  await call({ setCookie: (value) => (cookie = value.split(";", 1)[0] ?? "") });
  const session = await readSession(hub, hashOf(secretInCookie("", cookie) ?? ""));
  if (session === null) throw new Error("nobody was signed in");
  const { person, hash } = session;
  return { id: person.id, cookie, caller: { kind: "person", person, sessionHash: hash } };
}

/** Adds an account that has accepted its invitation, with one open session. */
export async function addTestPerson(hub: Hub, email: string, role: Role): Promise<TestPerson> {
  const { link } = await callAs(hub, "admin").invitations.create({ email, role });
  const code = link.slice(link.indexOf("#") + 1);
  return signedIn(hub, (overrides) =>
    callAs(hub, NOBODY, overrides).auth.acceptInvitation({ code, password: TEST_PASSWORD }),
  );
}

export interface TestStore extends SpawnedStore {
  bucket: string;
}

/** Starts the embedded store as a separate process; `flags` are command-line options, for quirks and faults. */
export async function openTestStore(flags: readonly string[] = []): Promise<TestStore> {
  const folder = await folderForTests("tidemark-store-");
  const spawned = await spawnStore(folder, ["--bucket", "training", "--no-fsync", ...flags]);
  return { ...spawned, bucket: "training" };
}

export const profileFor = (endpoint: string, changes: Partial<ProfileDraft> = {}): ProfileDraft => ({
  name: "training",
  provider: "minio",
  bucket: "training",
  region: "us-east-1",
  prefix: "team/",
  endpoint,
  workerEndpoint: null,
  browserEndpoint: null,
  addressing: "path",
  ...changes,
});

/** Adds a profile at `endpoint`; returns its id. */
export async function addTestProfile(hub: Hub, endpoint: string, changes: Partial<ProfileDraft> = {}): Promise<string> {
  const created = await callAs(hub, "admin").profiles.create({
    profile: profileFor(endpoint, changes),
    credential: TEST_CREDENTIAL,
  });
  return created.id;
}

export interface TestNode extends EnrolAnswer {
  caller: Caller;
}

/** Enrolls a node with a token of its own. */
export async function addTestNode(hub: Hub, profileId: string, name: string): Promise<TestNode> {
  const { token } = await callAs(hub, "admin").tokens.create({ label: "", profileId, maxUses: 1, validMs: 3_600_000 });
  const answer = await callAs(hub, NOBODY).node.enrol({ token, name: nodeName.parse(name), protocol: 1, facts });
  return { ...answer, caller: { kind: "node", nodeId: answer.nodeId, name: answer.name, profileId } };
}

/** Puts nodes into one container group, whose nodes take runs over from each other while both are online. */
export async function joinGroup(hub: Hub, ...nodes: readonly TestNode[]): Promise<void> {
  for (const { nodeId } of nodes) {
    const identity = `salad:organization/group/${nodeId}`;
    await hub.db.node.update({ where: { id: nodeId }, data: { identity } });
    const live = hub.live.nodes.get(nodeId);
    if (live !== undefined) Object.assign(live, { identity });
  }
}

/** Makes a node the writer of a run without a bucket, as its first claim does. */
export async function addTestWriter(hub: Hub, run: string, nodeId: string): Promise<void> {
  const { profileId } = await hub.db.node.findUniqueOrThrow({ where: { id: nodeId } });
  const at = new Date(hub.now());
  await hub.db.run.create({ data: { name: run, profileId, createdAt: at } });
  await hub.db.epoch.create({ data: { run, epoch: 1, nodeId, claimedAt: at } });
}

let reports = 0;
/** Returns the required fields of a progress report, for tests that care about a few others only. */
export const report = (hub: Hub) => ({
  bootId: newId(),
  seq: (reports += 1),
  at: hub.now(),
  upBytesPerSecond: 0,
  downBytesPerSecond: 0,
  rttMs: null,
  disk: null,
  cpuPercent: null,
  runs: [],
  transfers: [],
});
