import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { killInside } from "#e2e/link/namespaces.ts";
import { createHubClient, type HubClient, signIn } from "#e2e/stage/hub-client.ts";
import { addProfile, addToken } from "#e2e/stage/provision.ts";
import { startHub } from "#e2e/stage/start-hub.ts";
import { type RunningProcess, startProcess } from "#e2e/stage/start-process.ts";
import { type RunningStore, startStore } from "#e2e/stage/start-store.ts";
import { waitUntil } from "#e2e/stage/wait-until.ts";
import type { EmulatedNode, StoreName } from "./emulated-fleet.ts";
import { STORE_NETWORK } from "./open-network.ts";

/** Starts hub, stores and workers of a fleet over its emulated links, each as a process in its own namespace. */

const ADMIN = { email: "admin@bench.local", password: "a-long-enough-password" };
const STORE_PORT = 9000;
const ONLINE_WITHIN_MS = 180_000;
/** Workers that start at a time. */
const AT_ONCE = 4;
/** Command prefix: the kernel kills the program when its parent dies. */
const TIED = ["setpriv", "--pdeathsig", "KILL"];

export interface FleetPlan {
  /** Folder for all files. */
  folder: string;
  /** The bundled worker. */
  program: string;
  /** PATH in which workers find other engines. */
  searchPath: string;
  hubAddress: string;
  nodes: readonly (EmulatedNode & { netnsName: string; netnsFile: string })[];
  stores: Readonly<Record<StoreName, { netnsFile: string; address: string }>>;
}

export interface Fleet {
  client: HubClient;
  stores: Readonly<Record<StoreName, RunningStore>>;
  profileIds: Readonly<Record<StoreName, string>>;
  /** Kills a node and all that it started, like a power failure; it does not come back. */
  kill: (node: string) => Promise<void>;
  [Symbol.asyncDispose]: () => Promise<void>;
}

/** Starts a fleet. Resolves when every node is online and every store has a benchmark key. */
export async function openFleet(plan: FleetPlan): Promise<Fleet> {
  await using undo = new AsyncDisposableStack();
  const start = async (store: StoreName): Promise<RunningStore> => {
    const { netnsFile, address } = plan.stores[store];
    const running = await startStore({
      dataDir: join(plan.folder, "stores", store),
      port: STORE_PORT,
      control: "bench-control-token",
      under: ["nsenter", `--net=${netnsFile}`, ...TIED],
      flags: ["--host", address, "--no-fsync"],
    });
    undo.defer(async () => void (await running.stop("SIGKILL")));
    return running;
  };
  const stores = {
    "eu-central": await start("eu-central"),
    "us-east": await start("us-east"),
    "us-west": await start("us-west"),
  };
  const hub = await startHub({
    dataDir: join(plan.folder, "hub"),
    admin: ADMIN,
    under: TIED,
    env: { TIDEMARK_HOST: plan.hubAddress, TIDEMARK_ALLOW_ENDPOINTS: STORE_NETWORK },
  });
  undo.defer(async () => void (await hub.stop()));
  const client = createHubClient(hub.url, await signIn(hub.url, ADMIN));
  const addBucket = async (name: StoreName): Promise<string> => {
    const store = stores[name];
    const profileId = await addProfile(client, { name, store, region: name });
    const key = { kind: "given", accessKeyId: store.accessKey, secretAccessKey: store.secretKey } as const;
    await client.benchmarks.setKey.mutate({ profileId, key, grant: null });
    return profileId;
  };
  const profileIds = {
    "eu-central": await addBucket("eu-central"),
    "us-east": await addBucket("us-east"),
    "us-west": await addBucket("us-west"),
  };
  const token = await addToken(client, { profileId: profileIds["us-east"], maxUses: plan.nodes.length });
  const workers: RunningProcess[] = [];
  undo.defer(async () => void (await Promise.all(workers.map((worker) => worker.stop("SIGKILL")))));
  const left = plan.nodes.values();
  const lane = async (): Promise<void> => {
    for (const node of left) {
      workers.push(await startNode(plan, { node, hubUrl: hub.url, token }));
      await waitUntil(
        `${node.name} is online`,
        async () =>
          (await client.nodes.list.query()).some(({ name, state }) => name === node.name && state === "online"),
        { withinMs: ONLINE_WITHIN_MS, everyMs: 500 },
      );
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  const kept = undo.move();
  return {
    client,
    stores,
    profileIds,
    kill: async (name) => {
      const node = plan.nodes.find((one) => one.name === name);
      if (node !== undefined) await killInside(node.netnsName);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function startNode(
  plan: FleetPlan,
  about: { node: FleetPlan["nodes"][number]; hubUrl: string; token: string },
): Promise<RunningProcess> {
  const { node, hubUrl, token } = about;
  const folder = join(plan.folder, "nodes", node.name);
  const [state, watch, scratch] = ["state", "checkpoints", "scratch"].map((name) => join(folder, name));
  for (const path of [state, watch, scratch]) if (path !== undefined) await mkdir(path, { recursive: true });
  const place = ["--hub", hubUrl, "--allow-http", "--state", state ?? "", "--watch", watch ?? "", "--run", node.name];
  return startProcess({
    title: `worker ${node.name}`,
    entry: plan.program,
    args: ["agent", ...place, "--name", node.name, "--label", `region=${node.region}`],
    under: ["nsenter", `--net=${node.netnsFile}`, ...TIED],
    env: { TIDEMARK_TOKEN: token, PATH: plan.searchPath, TMPDIR: scratch ?? "" },
  });
}
