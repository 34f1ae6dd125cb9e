import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { addProfile } from "../stage/provision.ts";
import { createHubClient, signIn } from "../stage/hub-client.ts";
import { type RunningHub, startHub, testedHub } from "../stage/start-hub.ts";
import { startProcess } from "../stage/start-process.ts";
import { type RunningStore, startStore } from "../stage/start-store.ts";

/** A hub whose master key is changed, and that is killed while it is. */

const OLD = "the first text that nobody else could know";
const NEW = "another text that nobody else could know";
const admin = { email: "admin@stage.local", password: "a-long-enough-password" };
const PROFILES = 12;

const dir = mkdtempSync(join(tmpdir(), "tidemark-master-key-"));
const dataDir = join(dir, "hub");
let store: RunningStore | null = null;
afterAll(async () => {
  await store?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const start = (secret: string, previous = ""): Promise<RunningHub> =>
  startHub({ dataDir, admin, env: { TIDEMARK_SECRET: secret, TIDEMARK_SECRET_PREVIOUS: previous } });

/** The versions of the master key that the sealed texts and the canary say. */
function versions(): number[] {
  const database = new DatabaseSync(join(dataDir, "hub.db"));
  try {
    const rows = database
      .prepare("SELECT keyVersion AS v FROM ProfileSecret UNION SELECT keyVersion FROM Canary")
      .all();
    return rows.map((row) => Number(row["v"]));
  } finally {
    database.close();
  }
}

test("killed at any moment of the change, everything is under one key, and the same two keys end it", async () => {
  store = await startStore({ dataDir: join(dir, "store") });
  const first = await start(OLD);
  const client = createHubClient(first.url, await signIn(first.url, admin));
  for (let index = 0; index < PROFILES; index++) await addProfile(client, { name: `bucket ${index}`, store });
  await first.stop();
  expect(versions()).toEqual([1]);

  const startedAt = performance.now();
  const whole = await start(NEW, OLD);
  const tookMs = performance.now() - startedAt;
  expect(whole.lines.join("\n")).toContain("everything is sealed with the new master key");
  await whole.stop();
  expect(versions()).toEqual([2]);

  // And back again, killed at moments spread over a start.
  let version = 2;
  for (const share of [0.5, 0.7, 0.9]) {
    const env = { TIDEMARK_DATA: dataDir, TIDEMARK_PORT: "0", TIDEMARK_NO_UI: "1" };
    const hub = await startProcess({
      title: "hub",
      entry: testedHub(),
      env: { ...env, TIDEMARK_SECRET: OLD, TIDEMARK_SECRET_PREVIOUS: NEW },
    });
    await setTimeout(tookMs * share);
    await hub.stop("SIGKILL");
    const now = versions();
    expect(now, `killed after ${share} of a start`).toHaveLength(1);
    version = now[0] ?? 0;
  }
  expect([2, 3]).toContain(version);
  const ended = await start(OLD, NEW);
  await ended.stop();
  expect(versions()).toEqual([3]);
  await expect(start(NEW)).rejects.toThrow("The master key does not fit this database");
  const alone = await start(OLD);
  const again = createHubClient(alone.url, await signIn(alone.url, admin));
  const [profile] = await again.profiles.list.query();
  const tested = await again.profiles.test.mutate({ id: profile?.id ?? "", profile: null, credential: null });
  expect(tested.ok).toBe(true);
  await alone.stop();
  await store.stop();
});
