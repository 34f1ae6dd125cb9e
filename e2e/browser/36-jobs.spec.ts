import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createKelpieClient } from "../stage/kelpie-client.ts";
import { ROOT } from "../stage/start-process.ts";
import { expect, expectSound, openSignedIn, test } from "./story.ts";

/**
 * Jobs by hand: submitted, found by filters, held by a paused queue and canceled by the dozen without a node; and one that is
 * trained by two nodes, because the first is killed.
 */

test("a job is submitted, the next form is like it, a queue is paused, and jobs are canceled after their number was shown", async ({
  page,
  stage,
}) => {
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/jobs`);
  await expect(page.getByText("No jobs yet")).toBeVisible();
  await expectSound(page);

  await page.getByRole("button", { name: "Submit a job" }).click();
  const form = page.getByRole("dialog", { name: "Submit a job" });
  await form.getByRole("textbox", { name: "Command" }).fill("python train.py --name 'open");
  await form.getByRole("button", { name: "Submit" }).click();
  await expect(form.getByText("A quotation mark is not closed.")).toBeVisible();
  await form.getByRole("textbox", { name: "Command" }).fill("python train.py --name 'two words'");
  await form.getByLabel("Watched folder").fill("out");
  await form.getByLabel("Name").fill("llama");
  await form.getByText("run, working folder, environment, secrets").click();
  await form.getByLabel("Inputs").fill("data/train");
  await form.getByRole("button", { name: "Submit" }).click();
  await expect(form.getByText("One PREFIX -> FOLDER on each line.")).toBeVisible();
  await form.getByLabel("Inputs").fill("stage bucket: data/train -> data");
  await form.getByLabel("Outputs").fill("out -> results/llama");
  await form.getByLabel("Secrets").fill("HF_TOKEN=");
  await form.getByRole("button", { name: "Submit" }).click();
  await expect(form.getByText("Fill in HF_TOKEN")).toBeVisible();
  await form.getByLabel("Secrets").fill("HF_TOKEN=hf_of-the-story");
  await form.getByText("The same on a command line").click();
  await expect(form.getByLabel("job.json", { exact: true })).toContainText('"HF_TOKEN"');
  await expect(form.getByLabel("job.json", { exact: true })).not.toContainText("hf_of-the-story");
  await expect(form.getByLabel("job.json", { exact: true })).toContainText('"two words"');
  await expectSound(page);
  await form.getByRole("button", { name: "Submit" }).click();

  await expect(page).toHaveURL(/\/jobs\/[0-9a-f-]{36}$/);
  await expect(page.getByRole("heading", { name: "llama", level: 1 })).toBeVisible();
  await expect(page.getByText("No node has taken the job so far.")).toBeVisible();
  await expect(page.getByText("Waits: no node asks for jobs of the queue default now")).toBeVisible();
  await expect(page.getByText("The owner of its machine can read them.")).toBeVisible();
  const spec = page.getByRole("region", { name: "What it runs" });
  await expect(spec.getByText("stage bucket: data/train -> data")).toBeVisible();
  await expect(spec.getByText("out -> results/llama")).toBeVisible();
  await expect(page.getByLabel("command", { exact: true })).toContainText("python train.py --name 'two words'");
  await expectSound(page);

  const { jobs } = stage.client;
  const many = Array.from({ length: 30 }, (_, at) => ({ queue: "night", name: `sweep-${at}`, command: "true" }));
  await jobs.submit.mutate({ jobs: many });
  await page.goto(`${stage.hub.url}/jobs`);
  const list = page.getByRole("table", { name: "Jobs" });
  await expect(list.getByRole("link", { name: "sweep-29" })).toBeVisible();
  await page.getByRole("button", { name: "Submit a job" }).click();
  // Like the newest job.
  await expect(form.getByRole("textbox", { name: "Command" })).toHaveValue("true");
  await expect(form.getByLabel("Queue")).toHaveValue("night");
  await form.getByText("run, working folder, environment, secrets").click();
  await form.getByLabel("Queue").fill("sweep");
  await form.getByLabel("Name").fill("swept");
  await form.getByLabel("Matrix").fill("lr=1e-4, 3e-4\nseed=1..2");
  await form.getByRole("button", { name: "Submit" }).click();
  await expect(page).toHaveURL(/queue=sweep/);
  await expect(list.getByRole("link", { name: "swept-4" })).toBeVisible();
  const [train] = (await jobs.list.query({ queue: "sweep", limit: 1 })).rows;
  await jobs.submit.mutate({ jobs: [{ name: "evaluate", queue: "sweep", command: "true", after: [train?.id ?? ""] }] });
  await list.getByRole("link", { name: "evaluate" }).click();
  await expect(page.getByText("it waits until the job swept-4 is done")).toBeVisible();
  await page.getByRole("region", { name: "Order" }).getByRole("link", { name: "swept-4" }).click();
  await expect(page.getByText("followed by")).toBeVisible();
  await expectSound(page);
  await page.goto(`${stage.hub.url}/jobs`);

  await page.getByRole("button", { name: "Submit a job" }).click();
  await form.getByText("Schedule", { exact: true }).first().click();
  await form.getByLabel("Times").fill("0 3 * *");
  await form.getByLabel("Name").fill("");
  await form.getByRole("button", { name: "Set schedule" }).click();
  await expect(form.getByText("Five parts: minute")).toBeVisible();
  await form.getByLabel("Times").fill("0 3 * * *");
  await form.getByLabel("Schedule", { exact: true }).fill("nightly");
  await form.getByText("run, working folder, environment, secrets").click();
  await form.getByLabel("Secrets").fill("HF_TOKEN=hf_of-the-schedule");
  await form.getByText("The same on a command line").click();
  await expect(form.getByLabel("command line", { exact: true })).toContainText(
    "jobs schedule nightly --cron '0 3 * * *'",
  );
  await expectSound(page);
  await form.getByRole("button", { name: "Set schedule" }).click();
  await expect(page.getByText(/^Schedule nightly: its next job is submitted on .+ at \d\d:00/)).toBeVisible();
  const schedules = page.getByRole("region", { name: "Schedules" });
  await expect(schedules.getByText("0 3 * * * UTC")).toBeVisible();
  await expect(schedules.getByText("secrets: HF_TOKEN")).toBeVisible();
  await expectSound(page);
  await schedules.getByRole("button", { name: "Pause schedule nightly" }).click();
  await expect(schedules.getByText("paused", { exact: true })).toBeVisible();
  await schedules.getByRole("button", { name: "Remove schedule nightly" }).click();
  const removal = page.getByRole("dialog", { name: "Remove the schedule nightly?" });
  await expectSound(page);
  await removal.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(schedules).toHaveCount(0);

  const queues = page.getByRole("table", { name: "Queues" });
  await queues.getByRole("button", { name: "Caps of queue night" }).click();
  const caps = page.getByRole("dialog", { name: "Caps of night" });
  await caps.getByLabel("Running").fill("0");
  await caps.getByRole("button", { name: "Save" }).click();
  await expect(caps.getByText("A whole number from 1, or nothing.")).toBeVisible();
  await caps.getByLabel("Running").fill("8");
  await caps.getByLabel("Of one person").fill("2");
  await expectSound(page);
  await caps.getByRole("button", { name: "Save" }).click();
  await expect(queues.getByText("8 run at most, 2 of one person")).toBeVisible();
  const size = page.viewportSize();
  await page.setViewportSize({ width: 390, height: 900 });
  await expectSound(page);
  if (size !== null) await page.setViewportSize(size);
  await queues.getByRole("button", { name: "Pause queue night" }).click();
  await expect(queues.getByText("paused")).toBeVisible();
  await expect(queues.getByRole("button", { name: "Resume queue night" })).toBeVisible();

  await queues.getByRole("button", { name: "night", exact: true }).click();
  await expect(page).toHaveURL(/queue=night/);
  await expect(list.getByRole("link", { name: "llama" })).toHaveCount(0);
  await page.getByRole("searchbox", { name: "Search jobs" }).fill("sweep-1");
  // sweep-1 and sweep-10 to sweep-19.
  await expect(list.getByRole("row")).toHaveCount(12);
  await page.getByRole("button", { name: "Cancel…" }).click();
  const question = page.getByRole("dialog", { name: "Cancel 11 jobs?" });
  await expect(question).toBeVisible();
  await expectSound(page);
  await question.getByRole("button", { name: "Cancel", exact: true }).click();
  await expect(page.getByText("11 jobs are canceled.")).toBeVisible();
  await expect(list.getByText("canceled", { exact: true })).toHaveCount(11);
  const { rows } = await jobs.list.query({ states: ["waiting"], queue: "night" });
  expect(rows).toHaveLength(19);

  await page.getByRole("button", { name: "Clear" }).click();
  await page.emulateMedia({ colorScheme: "dark" });
  await page.screenshot({ path: "test-results/jobs-dark.png", fullPage: true });
  await page.setViewportSize({ width: 390, height: 900 });
  await expect(list.getByRole("link", { name: "llama" })).toBeVisible();
  await expectSound(page);
});

test("a job is watched while it trains; its node is killed, and it goes on at another from the safe step", async ({
  page,
  stage,
}) => {
  const workFolder = (node: string): string => join(stage.dir, "nodes", node, "jobs");
  const start = (name: string) =>
    stage.startNode({ name, queue: "default", flags: ["--work-folder", workFolder(name)] });
  const held = join(stage.dir, "held");
  writeFileSync(held, "");
  const program = join(ROOT, "e2e/stage/training-program.ts");
  // The program stops after its next step while `ckpt/hold` is there.
  const training = `mkdir -p ckpt; test -e ${held} && touch ckpt/hold; WITH_LOSS=1 exec ${process.execPath} ${program} "$PWD/ckpt" 3`;
  const one = await start("one");
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/jobs?do=submit`);
  const form = page.getByRole("dialog", { name: "Submit a job" });
  await form.getByRole("textbox", { name: "Command" }).fill(`sh -c '${training}'`);
  await form.getByLabel("Watched folder").fill("ckpt");
  await form.getByLabel("Name").fill("llama");
  await form.getByRole("button", { name: "Submit" }).click();

  await expect(page.getByRole("heading", { name: "llama", level: 1 })).toBeVisible();
  const attempts = page.getByRole("table", { name: "Attempts" });
  const first = attempts.getByRole("row").filter({ hasText: "epoch 1" });
  await expect(first.getByText("running")).toBeVisible();
  await expect(first.getByText("from the beginning to 10, safe up to 10", { exact: true })).toBeVisible();
  await expectSound(page);

  await one.stop("SIGKILL");
  const id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  await expect(first.getByText("interrupted")).toBeVisible();
  await start("two");
  const second = attempts.getByRole("row").filter({ hasText: "epoch 2" });
  await expect(second.getByText("from 10 to 20", { exact: false }).last()).toBeVisible();
  const hold = join(workFolder("two"), id, "ckpt/hold");
  await expect.poll(() => existsSync(hold)).toBe(true);
  rmSync(held);
  rmSync(hold);
  await expect(second.getByText("completed")).toBeVisible();
  await expect(second.getByText("from 10 to 40, safe up to 40", { exact: true })).toBeVisible();
  await expect(page.getByText("done", { exact: true })).toBeVisible();
  await expect(page.getByRole("figure", { name: "loss" }).getByText("0.025")).toBeVisible();
  await expectSound(page);
  await page.screenshot({ path: "test-results/job-light.png", fullPage: true });
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize({ width: 390, height: 900 });
  await expectSound(page);
  await page.screenshot({ path: "test-results/job-narrow.png", fullPage: true });

  await stage.client.jobs.submit.mutate({ jobs: [{ command: "true", queue: "nobody" }] });
  await page.goto(stage.hub.url);
  const counts = page.getByRole("region", { name: "Jobs" });
  await expect(counts.getByRole("listitem").filter({ hasText: "waiting" })).toContainText("1");
  await expectSound(page);
  await counts.getByRole("link").nth(1).click();
  await expect(page).toHaveURL(/\/jobs\?show=waiting$/);
  await page.goBack();
  await page.goto(`${stage.hub.url}/jobs/${id}`);
  await page.getByRole("link", { name: "Checkpoints" }).click();
  await expect(page.getByRole("heading", { name: "llama", level: 1 })).toBeVisible();
});

test("a job of Kelpie is marked as not verified, with the machine of its worker and without a run", async ({
  page,
  stage,
}) => {
  const { token } = await stage.client.apiTokens.create.mutate({ name: "kelpie", role: "operator" });
  const kelpie = createKelpieClient({ url: stage.hub.url, token, group: "salad" });
  const id = await kelpie.submit({ command: "false" });
  await kelpie.workOnce("machine-7");
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/jobs?queue=salad`);
  const list = page.getByRole("table", { name: "Jobs" });
  await expect(list.getByText("machine-7", { exact: true })).toBeVisible();
  await page.goto(`${stage.hub.url}/jobs/${id}`);
  await expect(page.getByText("Synced by Kelpie, not verified")).toBeVisible();
  await expect(page.getByRole("table", { name: "Attempts" })).toContainText("machine-7");
  await expect(page.getByLabel("Nodes that are not given this job")).toContainText("machine-7");
  await expect(page.getByRole("link", { name: "Checkpoints" })).toHaveCount(0);
  await expectSound(page);
});
