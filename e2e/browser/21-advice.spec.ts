import { randomUUID } from "node:crypto";
import { runName } from "#protocol/base/names.ts";
import { NO_THRESHOLDS } from "#protocol/links/probe.ts";
import type { Stage } from "../stage/open-stage.ts";
import { enrolRogue } from "../stage/rogue-node.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { expect, expectSound, openSignedIn, seriousFaults, showAs, test } from "./story.ts";

/** A change against an earlier version of the thresholds is refused. */
test.use({ expectedErrors: [/409 \(Conflict\).*thresholds\.set/] });

/** What links did is kept; people read from it what to do, and choose what to ask of the links of tomorrow. */

/** A node that measured its link at its start, and made six uploads of half a minute. */
async function nodeThat(stage: Stage, about: { name: string; up: number; down: number; late: number; rttMs: number }) {
  const { name, up, down, late, rttMs } = about;
  const { node } = await enrolRogue(stage, { name });
  const found = { rttMs, clockSkewMs: 0, up, down, attempts: 1, tookMs: 20_000, thresholds: NO_THRESHOLDS };
  const probe = { id: randomUUID(), machineId: `machine-of-${name}`, outcome: "accept", reason: "" } as const;
  await node.probed.mutate({ ...probe, ...found });
  const at = Date.now();
  const run = runName.parse(`run-${name}`);
  const events = Array.from({ length: 6 }, (_, index) => ({
    type: "transfer-ended" as const,
    seq: index + 1,
    at,
    transferId: randomUUID(),
    direction: "upload" as const,
    state: "done" as const,
    checkpointId: randomUUID(),
    run,
    step: index,
    bytes: up * 30,
    files: 1,
    sentBytes: up * 30,
    startedAt: at - 30_000,
    retries: 0,
    connections: 8,
    startedBy: "queue" as const,
    fault: null,
    measured: {
      engine: "tidemark",
      tookMs: 30_000,
      sentBytes: up * 30,
      steadyBytesPerSecond: up,
      rampMs: 500,
      isSteady: true,
      parts: 8,
      partBytes: 8_388_608,
      rttMs,
      burst: { firstBytesPerSecond: up, lateBytesPerSecond: late },
    },
  }));
  await node.record.mutate({ events });
}

const MBIT = 125_000;

test("thresholds are tried on the past, asked of every node, and advice is read, put aside and brought back", async ({
  page,
  stage,
}) => {
  const rates = [8, 24, 40, 80, 120, 160, 300];
  for (const [index, rate] of rates.entries()) {
    const up = rate * MBIT;
    const usual = { name: `gpu-${index + 1}`, up, down: up * 3, late: up, rttMs: 20 + index * 10 };
    await nodeThat(stage, index === 3 ? { ...usual, late: up / 5 } : index === 6 ? { ...usual, rttMs: 230 } : usual);
  }
  await openSignedIn(page, stage);
  await page.getByRole("link", { name: "Advice" }).first().click();
  const advice = page.getByRole("list", { name: "Advice" }).getByRole("listitem");
  await expect(advice.filter({ hasText: "gpu-4 is throttled going up" })).toContainText(
    "first seconds 80.0 Mbps · last quarter 16.0 Mbps · transfers that show it 100 % · from 6 values of one node; needs at least 5",
  );
  await expect(advice.filter({ hasText: "gpu-7 is far from" })).toContainText("230 ms");
  await expect(advice).toHaveCount(2);
  const times = page.getByRole("table", { name: "Expected times" });
  await expect(times.getByRole("row", { name: /Made safe in/ })).toContainText("7 nodes");
  await page.getByLabel("Size").fill("30GB");
  await page.keyboard.press("Enter");
  // 30 GB at 80 Mbit/s.
  await expect(times.getByRole("row", { name: /Made safe in/ })).toContainText("50 min");
  await expect(page).toHaveURL(/size=30GB/);
  expect(await seriousFaults(page)).toEqual([]);

  const far = advice.filter({ hasText: "gpu-7 is far from" });
  await far.getByRole("button", { name: "Dismiss…" }).click();
  await far.getByRole("button", { name: "Dismiss", exact: true }).click();
  await expect(far.getByText("Say why, for the others.")).toHaveCount(1);
  await expect(far.getByLabel("Why")).toBeFocused();
  await far.getByLabel("Why").fill("rented for a week");
  await expect(far.getByText("Say why, for the others.")).toHaveCount(0);
  expect(await seriousFaults(page)).toEqual([]);
  await far.getByRole("button", { name: "Dismiss", exact: true }).click();
  await expect(advice).toHaveCount(1);
  await page.getByText("1 dismissed").click();
  const aside = page.getByRole("list", { name: "Dismissed" });
  await expect(aside).toContainText("rented for a week");
  await aside.getByRole("button", { name: "Bring back" }).click();
  await expect(advice).toHaveCount(2);

  await advice.filter({ hasText: "gpu-4" }).getByRole("link", { name: "Node" }).click();
  await expect(page.getByRole("region", { name: "Advice" })).toContainText("gpu-4 is throttled going up");

  await page.goto(`${stage.hub.url}/advice?show=thresholds`);
  const sums = page.getByRole("table", { name: "Results of the replay" });
  await expect(sums.getByRole("row", { name: /^Rejected/ })).toContainText("0 (0.0 %)");
  const up = page.getByRole("slider", { name: "Minimum upload" });
  // Each press is a tenth more: from nothing to 20 Mbit/s. Begun again where the page had not yet heard the first ones.
  await expect(async () => {
    await up.press("Home");
    for (let presses = 0; presses < 27; presses++) await up.press("ArrowRight");
    await expect(up).toHaveAttribute("aria-valuetext", "20.0 Mbps", { timeout: 5_000 });
  }).toPass();
  await expect(sums.getByRole("row", { name: /^Rejected/ })).toContainText("1 (14.3 %)");
  await expect(sums.getByRole("row", { name: /given back/ })).toContainText("1");
  await expect(sums.getByRole("row", { name: /restarts/ })).toContainText("10 min");
  const which = page.getByRole("table", { name: "Measurements" });
  await expect(which.getByRole("row").filter({ hasText: "gpu-1" })).toContainText("given back");
  await page.getByRole("slider", { name: "Maximum round trip" }).focus();
  await page.keyboard.press("Home");
  await expect(sums.getByRole("row", { name: /^Rejected/ })).toContainText("7 (100.0 %)");
  await expect(sums.getByRole("row", { name: /the hub refused/ })).toContainText("6");
  await page.keyboard.press("End");
  await expectSound(page);
  await showAs(page, "narrow");
  await expectSound(page);

  await page.getByRole("button", { name: "Ask this of every node" }).click();
  await expect(page.getByText("now 20.0 Mbps up, set by admin@stage.local")).toBeVisible();
  expect(await stage.client.thresholds.get.query()).toMatchObject({ up: 20 * MBIT, down: null, rttMs: null });
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByText("Every node that starts is asked for nothing again.")).toBeVisible();
  expect(await stage.client.thresholds.get.query()).toMatchObject({ up: null, down: null, rttMs: null });
  await expect(up).toHaveAttribute("aria-valuetext", "not asked for");
  await expect(page.getByRole("button", { name: "Ask this of every node" })).toBeDisabled();
  await up.focus();
  await page.keyboard.press("ArrowRight");
  // Another person applies others meanwhile: they are shown, and the change stays.
  const { version } = await stage.client.thresholds.get.query();
  const others = { up: null, down: 5 * MBIT, rttMs: null };
  const later = await stage.client.thresholds.set.mutate({ thresholds: others, version });
  await page.getByRole("button", { name: "Ask this of every node" }).click();
  await page.getByRole("button", { name: "Look again" }).click();
  await expect(page.getByText("now 5.0 Mbps down, set by admin@stage.local")).toBeVisible();
  await expect(page.getByRole("slider", { name: "Minimum download" })).toHaveAttribute("aria-valuetext", "5.0 Mbps");
  await expect(up).not.toHaveAttribute("aria-valuetext", "not asked for");
  await stage.client.thresholds.set.mutate({ thresholds: { ...others, down: null }, version: later.version });
  await expect(page.getByRole("button", { name: "Look again" })).toHaveCount(0);
  await page.getByRole("button", { name: "Ask this of every node" }).click();
  await page.getByRole("button", { name: "Look again" }).click();
  await expect(page.getByText("now nothing, set by")).toBeVisible();
  for (let presses = 1; presses < 27; presses++) await up.press("ArrowRight");
  await expect(up).toHaveAttribute("aria-valuetext", "20.0 Mbps");
  await page.getByRole("button", { name: "Ask this of every node" }).click();
  await expect.poll(async () => (await stage.client.thresholds.get.query()).up).toBe(20 * MBIT);
  // A worker that was told nothing is asked for it by its hub.
  await stage.startNode({ name: "gpu-new", run: "fresh", flags: ["--probe-time", "1s"] });
  await waitUntil("the new node has measured its link", async () => {
    const { rows } = await stage.client.thresholds.starts.query({ over: { of: "nodes", most: 100 }, profileId: null });
    return rows.length === rates.length + 1;
  });

  await page.goto(`${stage.hub.url}/advice`);
  await expect(advice).toHaveCount(2);
  await expectSound(page);
});

test("part size and connections are set in a bucket's form, for Storj by the table of its own documents", async ({
  page,
  stage,
}) => {
  await openSignedIn(page, stage);
  for (const look of ["wide", "narrow"] as const) {
    await showAs(page, look);
    await page.goto(`${stage.hub.url}/buckets?add=1`);
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("combobox", { name: "Provider" }).click();
    await page.getByRole("option", { name: "Storj" }).click();
    const presets = dialog.getByRole("group", { name: "Presets of Storj" });
    await presets.getByRole("button", { name: "good: 40 × 64 MiB, 2.5 GiB" }).click();
    await expect(dialog.getByLabel("Part size")).toHaveValue("64");
    await expect(dialog.getByLabel("Connections")).toHaveValue("40");
    await expectSound(page);
  }
});
