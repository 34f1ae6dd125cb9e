import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "../gate/build.ts";
import { bundleHub, HUB_BUNDLE } from "../gate/bundle-hub.ts";
import { signIn } from "./hub-client.ts";
import { COOKIE, STAMP, TEMPLATE } from "./hub-template.ts";
import { ADMIN } from "./open-stage.ts";
import { startHub } from "./start-hub.ts";
import { ROOT } from "./start-process.ts";

/**
 * Prepares what test hubs and workers start from: one bundle each, and a hub data folder with schema, account and session. A
 * stage copies the folder, which saves migrations and password hashing.
 */

/** Lifetime of the template: shorter than a session, and than the time until a hub's daily work. */
const TEMPLATE_AGE_MS = 12 * 3_600_000;
const SOURCES = [
  "{server,protocol,storage,prisma}/**/*.{ts,sql}",
  "e2e/gate/bundle-hub.ts",
  "e2e/stage/prepare-hub.ts",
  "package-lock.json",
];

function digest(): string {
  const hash = createHash("sha256");
  for (const file of globSync(SOURCES, { cwd: ROOT }).toSorted()) {
    if (!file.endsWith(".test.ts")) hash.update(file).update(readFileSync(join(ROOT, file)));
  }
  return hash.digest("hex");
}

interface Stamp {
  digest: string;
  at: number;
}

const readStamp = (): Stamp | null => (existsSync(STAMP) ? (JSON.parse(readFileSync(STAMP, "utf8")) as Stamp) : null);

/** Bundles worker and hub and makes the template, unless they are up to date with the sources. */
export async function prepareHub(): Promise<void> {
  await build("dist/tidemark.mjs");
  const wanted = digest();
  const stamp = readStamp();
  if (stamp !== null && stamp.digest === wanted && Date.now() - stamp.at < TEMPLATE_AGE_MS) return;
  await bundleHub();
  const half = `${TEMPLATE}.half`;
  const hub = await startHub({ dataDir: half, admin: ADMIN, program: HUB_BUNDLE });
  try {
    writeFileSync(COOKIE, await signIn(hub.url, ADMIN));
  } finally {
    await hub.stop();
  }
  rmSync(join(half, "hub.lock"), { force: true, recursive: true });
  renameSync(half, TEMPLATE);
  writeFileSync(STAMP, JSON.stringify({ digest: wanted, at: Date.now() } satisfies Stamp));
}

/** Vitest and Playwright call this once before their first test. */
export default prepareHub;
