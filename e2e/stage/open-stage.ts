import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHubClient, type HubClient, signIn } from "./hub-client.ts";
import { copyTemplate } from "./hub-template.ts";
import { addProfile, addToken } from "./provision.ts";
import { type HubOptions, type RunningHub, startHub } from "./start-hub.ts";
import type { RunningProcess } from "./start-process.ts";
import { type RunningStore, startStore, type StoreOptions } from "./start-store.ts";
import { startWorker, type WorkerOptions } from "./start-worker.ts";

export const ADMIN = { email: "admin@stage.local", password: "a-long-enough-password" };

type NodeOptions = Omit<WorkerOptions, "hubUrl" | "stateDir"> & Partial<Pick<WorkerOptions, "hubUrl">>;

/** A store, a hub with an account and a profile, and as many workers as a test needs, in a temporary folder. */
export interface Stage {
  dir: string;
  store: RunningStore;
  hub: RunningHub;
  /** Client signed in as admin. */
  client: HubClient;
  cookie: string;
  profileId: string;
  token: string;
  /** Kills the hub and all its child processes, like a power failure. */
  killHub: () => Promise<void>;
  /** Restarts the hub with its data and port. */
  startHubAgain: () => Promise<void>;
  /** Starts a worker. Its folders are `nodes/<name>/{state,checkpoints}` under `dir`. */
  startNode: (options: NodeOptions) => Promise<RunningProcess>;
  folderOf: (name: string) => string;
  close: () => Promise<void>;
}

export interface StageOptions {
  store?: Partial<StoreOptions>;
  hub?: Partial<HubOptions>;
}

export async function openStage(options: StageOptions = {}): Promise<Stage> {
  const dir = mkdtempSync(join(tmpdir(), "tidemark-stage-"));
  const workers: RunningProcess[] = [];
  const store = await startStore({ dataDir: join(dir, "store"), control: "stage-control-token", ...options.store });
  const hubOptions: HubOptions = { dataDir: join(dir, "hub"), admin: ADMIN, ...options.hub };
  const { admin, dataDir, env = {} } = options.hub ?? {};
  // The template is sealed with the key of its own hub and contains its own account.
  const fits = admin === undefined && dataDir === undefined && !("TIDEMARK_SECRET" in env);
  const session = fits ? copyTemplate(hubOptions.dataDir) : null;
  const hub = await startHub(hubOptions);
  const enter = async () => {
    const cookie = session ?? (await signIn(hub.url, ADMIN));
    const client = createHubClient(hub.url, cookie);
    const profileId = await addProfile(client, { name: "stage bucket", store });
    return { cookie, client, profileId, token: await addToken(client, { profileId, maxUses: 100 }) };
  };
  const { cookie, client, profileId, token } = await enter().catch(async (error: unknown) => {
    // The caller gets no stage to close, so everything is stopped here.
    await Promise.all([hub.stop(), store.stop()]);
    throw error;
  });
  const folderOf = (name: string) => join(dir, "nodes", name, "checkpoints");
  const stage: Stage = {
    dir,
    store,
    hub,
    client,
    cookie,
    profileId,
    token,
    folderOf,
    killHub: async () => {
      await stage.hub.stop("SIGKILL");
    },
    startHubAgain: async () => {
      stage.hub = await startHub({ ...hubOptions, port: hub.port });
    },
    startNode: async (node) => {
      mkdirSync(folderOf(node.name), { recursive: true });
      const worker = await startWorker({
        hubUrl: hub.url,
        stateDir: join(dir, "nodes", node.name, "state"),
        token,
        watch: folderOf(node.name),
        ...node,
        env: { TIDEMARK_RESTORE_TO: dir, ...node.env },
      });
      workers.push(worker);
      return worker;
    },
    close: async () => {
      await Promise.all(workers.map((worker) => worker.stop()));
      await stage.hub.stop();
      await stage.store.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
  return stage;
}
