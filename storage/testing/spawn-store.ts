import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/**
 * Returns a folder in memory where possible, because tests need not wait for a disk. That of the run of tests is removed at
 * its end, also when a test was killed.
 */
export const memoryFolder = (): string =>
  process.env["GATE_MEMORY"] ?? (existsSync("/dev/shm") ? "/dev/shm" : tmpdir());

/** Creates a folder in memory where possible. */
export const folderForTests = (name: string): Promise<string> => mkdtemp(join(memoryFolder(), name));

export const TEST_CREDENTIAL = { accessKeyId: "AKIATEST", secretAccessKey: "test-secret-key" };

export interface SpawnedStore {
  endpoint: string;
  /** Calls the control interface; for stores started with `--control CONTROL`. */
  control(method: string, path: string, body?: unknown): Promise<unknown>;
  close(): Promise<void>;
}

export const CONTROL = "control-of-a-test";

/** Reads the endpoint from the store's first line. @throws Error when the line has none */
function endpointOf(line: string): string {
  const said: unknown = JSON.parse(line);
  if (typeof said === "object" && said !== null && "endpoint" in said && typeof said.endpoint === "string") {
    return said.endpoint;
  }
  throw new Error(`the store began with ${line}`);
}

/** Starts the embedded store as a process, with its data in `folder` and these command-line flags. For tests. */
export async function spawnStore(folder: string, flags: readonly string[]): Promise<SpawnedStore> {
  const program = join(import.meta.dirname, "../../store/main.ts");
  const keys = ["--access-key", TEST_CREDENTIAL.accessKeyId, "--secret-key", TEST_CREDENTIAL.secretAccessKey];
  const child = spawn(process.execPath, [program, "--data", folder, ...keys, ...flags], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line]: unknown[] = await once(createInterface({ input: child.stdout }), "line");
  const endpoint = endpointOf(String(line));
  return {
    endpoint,
    control: async (method, path, body) => {
      const answer = await fetch(`${endpoint}/_control${path}`, {
        method,
        headers: { authorization: `Bearer ${CONTROL}` },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (!answer.ok) throw new Error(`the store's control answers ${answer.status}: ${await answer.text()}`);
      return answer.json();
    },
    close: async () => {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
