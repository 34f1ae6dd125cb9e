import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ADMIN } from "../stage/open-stage.ts";
import { startHub } from "../stage/start-hub.ts";

/** Starts the hub on a disk that is full, and again when there is room. */

const dir = mkdtempSync(join(tmpdir(), "tidemark-full-"));
const disk = join(dir, "disk");
beforeAll(() => {
  mkdirSync(disk);
});
afterAll(() => {
  spawnSync("umount", [disk]);
  rmSync(dir, { recursive: true, force: true });
});

const start = () => startHub({ dataDir: join(disk, "hub"), admin: ADMIN });

test("a hub whose disk is full at its start says so, and starts when there is room", async () => {
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=32m", "tmpfs", disk]).status === 0;
  const first = await start();
  await first.stop();
  const lock = join(disk, "hub/hub.lock");
  if (mounted) spawnSync("dd", ["if=/dev/zero", `of=${join(disk, "fill")}`, "bs=4k"]);
  else {
    // Without the right to mount, the lock file is a folder, which fails in the same call.
    rmSync(lock);
    mkdirSync(lock);
  }
  const refused = await start().catch((error: unknown) => String(error));
  expect(refused).toContain(mounted ? "The disk of the hub is full" : "Tidemark did not start");
  expect(refused).not.toContain("Another");
  if (mounted) writeFileSync(join(disk, "fill"), "");
  else rmSync(lock, { recursive: true });
  const second = await start();
  expect((await fetch(`${second.url}/healthz`)).status).toBe(200);
  await second.stop();
});
