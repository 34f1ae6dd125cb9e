import { runName } from "#protocol/base/names.ts";
import { startSaladEmulator, type SaladEmulator } from "#storage/testing/salad-emulator.ts";
import { enrolRogue } from "../stage/rogue-node.ts";
import { expect, expectSound, openSignedIn, showAs, test as base } from "./story.ts";

/** Groups by hand against an emulated SaladCloud: an account, instances beside nodes, an action that would lose work, a rule. */

const test = base.extend<{ salad: SaladEmulator }>({
  salad: async ({ browserName }, use) => {
    const salad = await startSaladEmulator();
    salad.organization = `acme-${browserName}`;
    await use(salad);
    await salad.close();
  },
  stageOptions: async ({ salad }, use) => use({ hub: { env: { TIDEMARK_SALAD_API_URL: salad.url } } }),
});

test("an account is tested, an instance is recreated although work is lost, and a rule stops what nobody needs", async ({
  page,
  stage,
  salad,
}) => {
  salad.gpuClasses = [{ id: "gpu-a", name: "RTX 4090", prices: [{ priority: "medium", price: "0.24" }] }];
  const group = salad.addGroup("trainers", { replicas: 2, gpuClasses: ["gpu-a"] });
  const [machine, idle] = ["machine-0001", "machine-0002"];
  for (const one of [machine, idle]) salad.addInstance(group, { machine_id: one });
  const node = await enrolRogue(stage, { name: "gpu-1", machineId: machine });
  const now = Date.now();
  const tell = (unsafeCheckpoints: number) => tellRun(node, { unsafeCheckpoints, now });
  await tell(3);

  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/groups`);
  await expect(page.getByText("No account yet")).toBeVisible();
  await expectSound(page);
  await page.getByRole("button", { name: "Add account" }).click();
  const form = page.getByRole("dialog", { name: "Add account" });
  await form.getByLabel("Organization").fill("a/b");
  await form.getByRole("button", { name: "Add account" }).click();
  await expect(form.getByText("an organization's name has", { exact: false })).toBeVisible();
  await form.getByLabel("Organization").fill(salad.organization);
  await form.getByLabel("Project").fill(salad.project);
  await form.getByLabel("API key").fill("not-the-key");
  await expectSound(page);
  await form.getByRole("button", { name: "Add account" }).click();
  const account = page.getByRole("region", { name: "Account salad" });
  await account.getByRole("button", { name: "Test salad" }).click();
  await expect(account.getByText("The provider refused the key of this account", { exact: false })).toBeVisible();
  await account.getByRole("button", { name: "Edit salad" }).click();
  const edit = page.getByRole("dialog", { name: "Edit salad" });
  await edit.getByLabel("API key").fill(salad.key);
  await edit.getByRole("button", { name: "Save" }).click();
  await expect(edit).toBeHidden();
  await account.getByRole("button", { name: "Test salad" }).click();
  await expect(account.getByRole("status")).toHaveText(
    "The key works: 1 group, 0 of 100 instances of its quota in use.",
  );

  const instances = page.getByRole("table", { name: "Instances of trainers" });
  const row = instances.getByRole("row").filter({ hasText: machine });
  await expect(row.getByRole("link", { name: "gpu-1" })).toBeVisible();
  await expect(row).toContainText("no job, 3 checkpoints that are not safe");
  await expect(instances.getByRole("row").filter({ hasText: idle })).toContainText("no job, nothing to lose");
  await expect(account).toContainText("RTX 4090, 0.24 USD an hour each");
  await expectSound(page);
  await page.screenshot({ path: "test-results/groups-light.png", fullPage: true });

  await page.getByRole("button", { name: "Recreate all of trainers" }).click();
  const question = page.getByRole("dialog", { name: "Recreate 2 instances?" });
  await expect(question.getByRole("list", { name: "What would be lost" })).toContainText(
    "gpu-1: 3 checkpoints that are not safe",
  );
  await expectSound(page);
  await page.screenshot({ path: "test-results/groups-question.png" });
  await question.getByRole("button", { name: "Keep them" }).click();
  expect(salad.requests.filter((one) => one.endsWith("recreate"))).toEqual([]);
  await row.getByRole("button", { name: `Recreate the instance on ${machine}` }).click();
  const single = page.getByRole("dialog", { name: "Recreate 1 instance?" });
  await single.getByRole("button", { name: "Recreate and lose it" }).click();
  await expect(page.getByText("1 instance is recreated.")).toBeVisible();
  expect(salad.requests.filter((one) => one.endsWith("recreate"))).toHaveLength(1);

  for (const one of group.instances) one.state = "running";

  await page.getByRole("button", { name: "Rule of trainers" }).click();
  const rule = page.getByRole("dialog", { name: "Rule of trainers" });
  await rule.getByLabel("At least").fill("5");
  await rule.getByLabel("At most").fill("2");
  await rule.getByRole("button", { name: "Save" }).click();
  await expect(rule.getByText("the most is at least the least")).toBeVisible();
  await rule.getByLabel("At least").fill("0");
  await rule.getByLabel("Cooldown").fill("0");
  await rule.getByLabel("Idle time").fill("0");
  await expectSound(page);
  await rule.getByRole("button", { name: "Save" }).click();
  const section = page.getByRole("region", { name: "Group trainers" });
  // The node still reports three checkpoints that are not safe: one instance stays.
  await expect(section).toContainText("Keeps 1: 1 instance has something that is not safe.", { timeout: 60_000 });
  expect(group).toMatchObject({ status: "running", replicas: 1 });
  await showAs(page, "narrow");
  await expectSound(page);
  await page.screenshot({ path: "test-results/groups-narrow.png", fullPage: true });
  await tell(0);
  await expect.poll(() => group.status, { timeout: 60_000 }).toBe("stopped");
  await expect(section).toContainText("Stopped: no job waits or runs.", { timeout: 30_000 });
});

/** Reports a run with this many unsafe checkpoints. */
async function tellRun(
  node: Awaited<ReturnType<typeof enrolRogue>>,
  { unsafeCheckpoints, now }: { unsafeCheckpoints: number; now: number },
): Promise<void> {
  await node.node.progress.mutate({
    bootId: crypto.randomUUID(),
    seq: 1,
    at: Date.now(),
    upBytesPerSecond: 0,
    downBytesPerSecond: 0,
    rttMs: null,
    disk: null,
    cpuPercent: null,
    transfers: [],
    runs: [
      {
        run: runName.parse("llama"),
        writerEpoch: 1,
        unsafeCheckpoints,
        unsafeFiles: unsafeCheckpoints,
        unsafeBytes: unsafeCheckpoints * 1_000,
        movedBytes: 0,
        oldestUnsafeAt: unsafeCheckpoints === 0 ? null : now,
        safeStep: 1,
        safeAt: now,
        safeBytes: 1,
        localStep: 1,
        localAt: now,
        startedAt: now,
        intervalMs: null,
        idleMs: 86_400_000,
      },
    ],
  });
}
