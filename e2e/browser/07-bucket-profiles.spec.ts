import { join } from "node:path";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { addProfile } from "../stage/provision.ts";
import { runOnce } from "../stage/run-once.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, openSignedIn, seriousFaults, showAs, test } from "./story.ts";

test("the CORS rule is shown, written and answers a browser, on a wide and on a narrow page", async ({
  page,
  stage,
}) => {
  await openSignedIn(page, stage);
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width: theme === "light" ? 1440 : 390, height: 900 });
    await page.goto(`${stage.hub.url}/buckets`);
    await page.getByRole("button", { name: "CORS of stage bucket" }).click();
    await expect(page.getByRole("list", { name: "CORS rules" })).toContainText(stage.hub.url);
    expect(await seriousFaults(page)).toEqual([]);
    if (theme === "dark") continue;
    await page.getByRole("button", { name: "Write CORS" }).click();
    await expect(page.getByText("Written, read back, and confirmed by a browser's preflight request.")).toBeVisible();
    await page.getByRole("button", { name: "Close" }).last().click();
  }
  await expect(page.getByText("The bucket already lets")).toBeVisible();
});

test("a pasted configuration becomes a bucket, and its secret never comes back", async ({ page, stage }) => {
  const { endpoint, accessKey, secretKey, bucket } = stage.store;
  const text = `[lab]\ntype = s3\nprovider = Minio\nendpoint = ${endpoint}\naccess_key_id = ${accessKey}\nsecret_access_key = ${secretKey}\n\nrclone copyto ./x lab:${bucket}/x --transfers 10\n`;
  await openSignedIn(page, stage);
  const answers: string[] = [];
  page.on("response", (answer) => {
    if (answer.url().includes("/api/trpc/profiles.")) void answer.text().then((body) => answers.push(body));
  });
  await page.setViewportSize({ width: 390, height: 900 });
  await page.goto(`${stage.hub.url}/buckets?add=1`);
  await page.getByText("Import from rclone, AWS files or variables").click();
  await page.getByLabel("Text").fill(text);
  await page.getByRole("button", { name: "Read", exact: true }).click();
  await expect(page.getByRole("list", { name: "About the rclone flags" })).toContainText("--s3-upload-concurrency");
  expect(await seriousFaults(page)).toEqual([]);
  await page.getByRole("button", { name: "Use lab" }).click();
  await expect(page.getByText("from the pasted text")).toBeVisible();
  await expect(page.getByLabel("Bucket", { exact: true })).toHaveValue(bucket);
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await expect(page.getByText("Everything Tidemark needs works.")).toBeVisible();
  await page.getByRole("button", { name: "Add bucket", exact: true }).last().click();
  await expect(page.getByRole("region", { name: "lab" })).toBeVisible();
  expect(answers.length).toBeGreaterThan(2);
  expect(answers.join("\n")).not.toContain(secretKey);
});

test("what is packed is set in the bucket's form, and a number that cannot be is said at its field", async ({
  page,
  stage,
}) => {
  await openSignedIn(page, stage);
  for (const look of ["wide", "narrow"] as const) {
    await showAs(page, look);
    await page.goto(`${stage.hub.url}/buckets`);
    await page.getByRole("button", { name: "Edit stage bucket" }).click();
    const threshold = page.getByLabel("Pack files below");
    if (look === "wide") await page.getByText("Advanced", { exact: true }).click();
    await expect(threshold).toHaveValue(look === "wide" ? "256" : "64");
    await threshold.fill("5000");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await expect(page.getByText("a whole number of KiB from 0 to 4096")).toBeVisible();
    expect(await seriousFaults(page)).toEqual([]);
    await threshold.fill("64");
    await page.getByRole("combobox", { name: "Packed files are" }).click();
    await page.getByRole("option", { name: /^compressed/ }).click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await expect(threshold).toBeHidden();
  }
  const [view] = await stage.client.profiles.list.query();
  expect(view?.about.packing).toEqual({ belowBytes: 65_536, zstd: true });
});

test("runs that a node wrote without a hub are taken over by a button, and nothing is moved", async ({
  page,
  stage,
}) => {
  const { store, dir } = stage;
  const shape = { modelBytes: 64 * 1024, optimizerBytes: 0, loss: 1 };
  const path = writeCheckpoint({ folder: join(dir, "lonely"), step: 5, ...shape });
  const to = ["--to", `s3://${store.bucket}/lonely`, "--state", join(dir, "lonely-state")];
  const saved = await runOnce(testedWorker(), ["save", path, "--run", "lonely", ...to], { env: keysInEnv(store) });
  expect(saved.code, saved.stderr).toBe(0);
  await addProfile(stage.client, { name: "lonely bucket", store, prefix: "lonely/" });
  await openSignedIn(page, stage);
  for (const look of ["wide", "narrow"] as const) {
    await showAs(page, look);
    await page.goto(`${stage.hub.url}/buckets`);
    await page.getByRole("button", { name: "Take runs over in lonely bucket" }).click();
    const taken =
      look === "wide"
        ? "1 run in the bucket, 1 checkpoint taken over. No byte was moved."
        : "1 run in the bucket, with no checkpoint that was not known.";
    await expect(page.getByText(taken)).toBeVisible();
    expect(await seriousFaults(page)).toEqual([]);
  }
  await page.goto(`${stage.hub.url}/runs/lonely`);
  await expect(page.getByText("complete", { exact: true }).first()).toBeVisible();
});
