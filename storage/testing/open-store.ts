import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { StoreTraits } from "#protocol/operations.ts";
import { PRESETS } from "../providers.ts";
import type { Credential, StoreAccess } from "../signing.ts";

/** For tests: the embedded store as a process of its own, with its control interface. */
export interface OpenedStore {
  access: StoreAccess;
  credential: Credential;
  /** Arms a fault; see store/fault-rules.ts for what a rule may say. */
  arm: (rule: Record<string, unknown>) => Promise<void>;
  /** How often an operation was asked for, and how often with success. */
  asked: (operation: string) => Promise<{ requests: number; succeeded: number }>;
  resetCounters: () => Promise<void>;
  close: () => Promise<void>;
}

const CONTROL = "control-of-a-test";

export async function openStore(traits: Partial<StoreTraits> = {}): Promise<OpenedStore> {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-store-"));
  const program = join(import.meta.dirname, "../../store/main.ts");
  const credential = { accessKeyId: "AKIATEST", secretAccessKey: "test-secret-key" };
  const keys = ["--access-key", credential.accessKeyId, "--secret-key", credential.secretAccessKey];
  const args = ["--data", folder, "--bucket", "training", ...keys, "--no-fsync", "--control", CONTROL];
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const control = async (endpoint: string, at: { method: string; path: string; body?: unknown }): Promise<unknown> => {
    const answer = await fetch(`${endpoint}/_control${at.path}`, {
      method: at.method,
      headers: { authorization: `Bearer ${CONTROL}` },
      ...(at.body === undefined ? {} : { body: JSON.stringify(at.body) }),
    });
    if (!answer.ok) throw new Error(`the store's control answers ${answer.status}: ${await answer.text()}`);
    return answer.json();
  };
  for await (const line of createInterface({ input: child.stdout })) {
    const { endpoint } = JSON.parse(line) as { endpoint: string };
    return {
      access: {
        endpoint,
        region: "us-east-1",
        bucket: "training",
        addressing: "path",
        traits: { ...PRESETS.minio.traits, ...traits },
      },
      credential,
      arm: async (rule) => {
        await control(endpoint, { method: "POST", path: "/rules", body: rule });
      },
      asked: async (operation) => {
        const path = `/counters?op=${operation}`;
        const { targets } = (await control(endpoint, { method: "GET", path })) as {
          targets: { requests: number; succeeded: number }[];
        };
        const sum = (name: "requests" | "succeeded") => targets.reduce((total, target) => total + target[name], 0);
        return { requests: sum("requests"), succeeded: sum("succeeded") };
      },
      resetCounters: async () => {
        await control(endpoint, { method: "DELETE", path: "/counters" });
        await control(endpoint, { method: "DELETE", path: "/rules" });
      },
      close: async () => {
        const ended = once(child, "exit");
        child.kill("SIGKILL");
        await ended;
        await rm(folder, { recursive: true, force: true });
      },
    };
  }
  throw new Error("the store did not start");
}
