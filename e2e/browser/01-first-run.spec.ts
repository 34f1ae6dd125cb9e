import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunningHub, startHub } from "../stage/start-hub.ts";
import { ROOT } from "../stage/start-process.ts";
import { type RunningStore, startStore } from "../stage/start-store.ts";
import { ADMIN } from "../stage/open-stage.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, test } from "./story.ts";

/** From an empty hub to the first safe checkpoint, on one path, pasting only what the page shows. */

let dir = "";
let store: RunningStore;
let hub: RunningHub;
test.beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "tidemark-first-run-"));
  store = await startStore({ dataDir: join(dir, "store") });
  hub = await startHub({ dataDir: join(dir, "hub"), pages: "served" });
});
test.afterEach(async ({ page }) => {
  // What it still loads ahead would fail with the hub.
  await page.close();
  await hub.stop();
  await store.stop();
  rmSync(dir, { recursive: true, force: true });
});

test("account, bucket, node, first checkpoint", async ({ page }) => {
  await page.goto(hub.url);
  await expect(page).toHaveURL(/first-run/);

  const code = hub.lines.map((line) => line.trim()).find((line) => /^([A-Z2-9]{4}-){7}[A-Z2-9]{4}$/.test(line)) ?? "";
  await page.getByLabel("Setup code").fill(code);
  await page.getByLabel("E-mail").fill(ADMIN.email);
  await page.getByLabel("Password").fill(ADMIN.password);
  await page.getByRole("button", { name: "Create account" }).click();

  await page.getByLabel("Name").fill("first bucket");
  await page.getByRole("combobox", { name: "Provider" }).click();
  await page.getByRole("option", { name: /MinIO/ }).click();
  await page.getByLabel("Endpoint").first().fill(store.endpoint);
  await page.getByLabel("Bucket", { exact: true }).fill(store.bucket);
  await page.getByLabel("Access key id").fill(store.accessKey);
  await page.getByLabel("Secret key").fill(store.secretKey);
  await page.getByRole("button", { name: "Test" }).click();
  await expect(page.getByText("UploadPart", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Save and continue" }).click();

  await page.getByRole("button", { name: "Create token" }).click();
  const checkpoints = join(dir, "checkpoints");
  mkdirSync(checkpoints);
  await page.getByLabel("Watched folder").fill(checkpoints);
  await page.getByRole("tab", { name: "plain Node" }).click();
  const line = (await page.getByLabel("repository line", { exact: true }).textContent()) ?? "";
  expect(line).toContain("npm run tidemark -- agent");
  const pasted = line.replace("./tidemark-state", join(dir, "state"));
  const worker = spawn("sh", ["-c", `exec ${pasted}`], { cwd: ROOT, detached: true, stdio: "ignore" });
  try {
    await expect(page.getByText("has joined.")).toBeVisible();
    await page.getByRole("link", { name: "Go to the overview" }).click();
    writeCheckpoint({ folder: checkpoints, step: 100, modelBytes: 4 * 1024 ** 2, optimizerBytes: 0, loss: 2 });
    await expect(page.getByText(/saved my-run step 100/)).toBeVisible();
    await expect(page.getByRole("heading", { level: 1 })).toContainText("you would lose");
  } finally {
    process.kill(-(worker.pid ?? 0), "SIGTERM");
    await new Promise((resolve) => worker.once("exit", resolve));
  }
});
