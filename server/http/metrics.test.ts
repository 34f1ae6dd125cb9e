import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { metricRows, readExposition } from "#protocol/base/read-exposition.ts";
import { writeMinute } from "../core/history/write-minute.ts";
import { node, nodeForEach, test } from "../testing/node-for-each.ts";
import { addTestWriter, callAs, report } from "../testing/open-test-hub.ts";
import { refreshTotals } from "./tick.ts";
import { metricsText } from "./metrics.ts";
import { newId } from "../platform/random-id.ts";

const DOCS = join(import.meta.dirname, "../../docs");
const run = runName.parse("llama");

nodeForEach();

const read = async () => readExposition(await metricsText(test.hub));
/** Of the sample with these labels. */
async function valueOf(name: string, labels: Record<string, string> = {}): Promise<number> {
  const family = (await read()).find((one) => one.samples.some((sample) => sample.name === name));
  const found = family?.samples.find(
    (sample) => sample.name === name && Object.entries(labels).every(([key, text]) => sample.labels.get(key) === text),
  );
  return found?.value ?? Number.NaN;
}

const sayAtRisk = () => {
  const now = test.hub.now();
  const unsafe = { unsafeCheckpoints: 1, unsafeFiles: 2, unsafeBytes: 3_000, movedBytes: 1_000 };
  const safe = { safeStep: 400, safeAt: now - 600_000, safeBytes: 5_000, localStep: 500, localAt: now - 60_000 };
  const times = { oldestUnsafeAt: now - 90_000, startedAt: now - 6_000_000, intervalMs: 540_000 };
  const unsaid = { trainedStep: null, trainedAt: null, idleMs: 0, leastIntervalMs: null };
  const backlog = { run, writerEpoch: 1, ...unsafe, ...safe, ...times, ...unsaid };
  return callAs(test.hub, node.caller).node.progress({ ...report(test.hub), rttMs: 40, runs: [backlog] });
};
const end = (changes: object = {}) => {
  const at = test.hub.now();
  const about = { transferId: newId(), direction: "upload" as const, state: "done" as const, checkpointId: newId() };
  const amounts = { run, step: 1, bytes: 10, files: 1, sentBytes: 7, startedAt: at - 5, retries: 0, connections: 1 };
  const event = { type: "transfer-ended" as const, seq: (seq += 1), at, ...about, ...amounts };
  const events = [{ ...event, startedBy: "queue" as const, fault: null, ...changes }];
  return callAs(test.hub, node.caller).node.record({ events });
};
let seq = 0;

describe("metrics", () => {
  it("are text that the strictest reader takes, and have no names", async () => {
    await sayAtRisk();
    await end();
    const text = await metricsText(test.hub);
    expect(readExposition(text).length).toBeGreaterThan(25);
    expect(text).not.toMatch(/gpu-1|llama|training"|us-east/);
  });

  it("say what is at risk, for how long, and how far the stores are", async () => {
    await sayAtRisk();
    expect(await valueOf("tidemark_nodes", { state: "online" })).toBe(1);
    expect(await valueOf("tidemark_nodes", { state: "revoked" })).toBe(0);
    expect(await valueOf("tidemark_at_risk_bytes")).toBe(3_000);
    expect(await valueOf("tidemark_at_risk_seconds")).toBeCloseTo(600, -1);
    expect(await valueOf("tidemark_at_risk_oldest_age_seconds")).toBeCloseTo(90, -1);
    expect(await valueOf("tidemark_store_rtt_seconds", { percentile: "50" })).toBeCloseTo(0.04);
    expect(await valueOf("tidemark_reports_total")).toBe(1);
  });

  it("count what ended and what crossed the network, once", async () => {
    await end();
    await end({ state: "failed", fault: { code: "LINK_DOWN" } });
    const transferId = newId();
    await end({ direction: "download", transferId });
    await end({ direction: "download", transferId });
    expect(await valueOf("tidemark_uploads_total", { outcome: "done" })).toBe(1);
    expect(await valueOf("tidemark_uploads_total", { outcome: "failed" })).toBe(1);
    expect(await valueOf("tidemark_restores_total", { outcome: "done" })).toBe(1);
    expect(await valueOf("tidemark_transfer_bytes_total", { direction: "upload" })).toBe(14);
    const lost = { type: "work-lost" as const, seq: (seq += 1), at: test.hub.now(), lossId: newId(), run };
    const steps = { writerEpoch: 1, fromStep: null, lastStep: 9, lostSteps: 9, lostMs: 1_500 };
    await addTestWriter(test.hub, run, node.nodeId);
    await callAs(test.hub, node.caller).node.record({ events: [{ ...lost, ...steps }] });
    expect(await valueOf("tidemark_losses_total")).toBe(1);
    expect(await valueOf("tidemark_lost_training_seconds_total")).toBe(1.5);
  });

  it("tell how long a command was on its way", async () => {
    await end({ state: "failed", fault: { code: "LINK_DOWN" }, transferId: "transfer-0001" });
    const request = { requestId: newId(), transferId: "transfer-0001", action: "retry" as const };
    await callAs(test.hub, "operator").transfers.act(request);
    await refreshTotals(test.hub);
    expect(await valueOf("tidemark_commands_total", { state: "sent" })).toBe(1);
    expect(await valueOf("tidemark_commands_open", { state: "sent" })).toBe(1);
    test.advance(20_000);
    const [order] = await test.hub.db.command.findMany();
    const commandId = order?.id ?? "";
    const at = test.hub.now();
    const events = [
      { type: "command-accepted" as const, seq: (seq += 1), at, commandId },
      { type: "command-ended" as const, seq: (seq += 1), at, commandId, outcome: "done" as const, fault: null },
    ];
    await callAs(test.hub, node.caller).node.record({ events });
    expect(await valueOf("tidemark_command_delivery_seconds_count")).toBe(1);
    expect(await valueOf("tidemark_command_delivery_seconds_sum")).toBeGreaterThanOrEqual(20);
    expect(await valueOf("tidemark_commands_total", { state: "done" })).toBe(1);
  });

  it("count calls of stores that did not answer, and time every write", async () => {
    const { client } = await test.hub.stores.open(test.hub.live.nodes.get(node.nodeId)?.profileId ?? "");
    const { HeadBucketCommand } = await import("@aws-sdk/client-s3");
    await expect(client.send(new HeadBucketCommand({ Bucket: "training" }))).rejects.toThrow();
    expect(await valueOf("tidemark_store_calls_total", { outcome: "none" })).toBe(1);
    const before = await valueOf("tidemark_db_write_seconds_count");
    await sayAtRisk();
    await writeMinute(test.hub, test.hub.now());
    expect(await valueOf("tidemark_db_write_seconds_count")).toBeGreaterThan(before);
  });

  it("count jobs that wait, and attempts by outcome", async () => {
    const { jobs } = callAs(test.hub, "operator");
    const { jobs: made } = await jobs.submit({ jobs: [{ command: "a" }, { command: "b" }] });
    const id = made[0]?.id ?? "";
    await test.hub.db.job.update({ where: { id }, data: { state: "running" } });
    await refreshTotals(test.hub);
    expect(await valueOf("tidemark_jobs_open", { state: "waiting" })).toBe(1);
    expect(await valueOf("tidemark_jobs_open", { state: "running" })).toBe(1);
    await jobs.cancel({ which: { filter: {} } });
    await refreshTotals(test.hub);
    expect(await valueOf("tidemark_jobs_open", { state: "waiting" })).toBe(0);
    expect(await valueOf("tidemark_job_attempts_total", { outcome: "canceled" })).toBe(1);
  });

  it("are what docs/metrics.md says", async () => {
    const page = readFileSync(join(DOCS, "metrics.md"), "utf8");
    const told = /<!-- hub -->\n\n\|.*\n\|.*\n((?:\|.*\n)+)/.exec(page)?.[1];
    expect(told).toBe(metricRows(await read()));
  });
});

describe("the dashboard", () => {
  const text = readFileSync(join(DOCS, "grafana/tidemark.json"), "utf8");
  const dashboard = JSON.parse(text) as { panels: { title: string; targets?: { expr: string }[] }[] };
  const FUNCTIONS = new Set(["rate", "increase", "sum", "by", "histogram_quantile", "clamp_min", "time", "le"]);

  it("asks only for metrics and labels that there are", async () => {
    const families = await read();
    const samples = families.flatMap((family) => family.samples);
    const names = new Set([...families.map(({ name }) => name), ...samples.map(({ name }) => name)]);
    const labels = new Set(samples.flatMap((sample) => [...sample.labels.keys()]));
    const targets = dashboard.panels.flatMap((panel) => panel.targets ?? []);
    expect(targets.length).toBeGreaterThan(15);
    for (const { expr } of targets) {
      // Without texts, durations and Grafana's own variables.
      const bare = expr
        .replaceAll(/"[^"]*"/g, "")
        .replaceAll(/\[[^\]]*\]/g, "")
        .replaceAll("$job", "");
      for (const word of bare.match(/[a-zA-Z_:][a-zA-Z0-9_:]*/g) ?? []) {
        const isKnown = names.has(word) || labels.has(word) || FUNCTIONS.has(word) || word === "job";
        expect(isKnown, `${word} in ${expr}`).toBe(true);
      }
      expect(names.size > 0 && [...names].some((name) => expr.includes(name)), expr).toBe(true);
    }
  });

  it("shows what is at risk, throughput, round trips, failures and the hub's health", () => {
    const shown = dashboard.panels.flatMap((panel) => (panel.targets ?? []).map(({ expr }) => expr)).join("\n");
    for (const name of [
      "tidemark_at_risk_bytes",
      "tidemark_at_risk_seconds",
      "tidemark_transfer_bytes_per_second",
      "tidemark_store_rtt_seconds",
      "tidemark_uploads_total",
      "tidemark_restores_total",
      "tidemark_db_write_seconds_bucket",
      "nodejs_eventloop_lag_seconds",
    ]) {
      expect(shown).toContain(name);
    }
  });
});
