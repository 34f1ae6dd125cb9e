import { afterEach, beforeEach } from "vitest";
import { ALERT_SETTLE_MS } from "#protocol/alerts/alerts.ts";
import { makeRunBacklog } from "#protocol/testing/make-run-backlog.ts";
import type { RunBacklog } from "#protocol/wire/reports.ts";
import { markSilentNodes } from "#server/http/tick.ts";
import {
  addTestNode,
  addTestProfile,
  callAs,
  openTestHub,
  report,
  type TestHub,
  type TestNode,
} from "./open-test-hub.ts";
import { evaluate } from "#server/features/alerts/evaluate.ts";
import { newId } from "../platform/random-id.ts";
import { openReceiver, type Receiver } from "./open-receiver.ts";

/** For tests of alerts: for every test a hub without rules, and a channel that leads to a local receiver. */

export const MINUTE_MS = 60_000;
export let test: TestHub;
export let receiver: Receiver;
export let profileId: string;
let channelId: string;

/** Registers the hooks that run before and after the tests of a file. */
export function alertsForEach(): void {
  beforeEach(async () => {
    receiver = await openReceiver();
    test = await openTestHub();
    profileId = await addTestProfile(test.hub, "http://127.0.0.1:9");
    for (const { id } of await admin().rules.list()) await admin().rules.remove({ id });
    const secret = { url: `${receiver.url}/hook`, key: "a-signing-key-of-some-length" };
    const channel = { name: "hook", kind: "webhook" as const, perMinute: 60 };
    channelId = (await admin().channels.create({ channel, secret })).id;
  });
  afterEach(async () => {
    await test.close();
    await receiver.close();
  });
}

export const admin = () => callAs(test.hub, "admin").alerts;
export const addRule = async (condition: object, changes: object = {}): Promise<string> => {
  const rule = { name: "the rule", condition, channelIds: [channelId], ...changes };
  return (
    await admin().rules.create({ rule: rule as Parameters<ReturnType<typeof admin>["rules"]["create"]>[0]["rule"] })
  ).id;
};
export const active = async () => (await admin().active({})).rows;
export const history = async () => (await admin().history({})).rows;
/** Evaluates the rules now, and again after the settle time. */
export async function look(): Promise<void> {
  await markSilentNodes(test.hub);
  await evaluate(test.hub);
  test.advance(ALERT_SETTLE_MS);
  await evaluate(test.hub);
}
export const say = (node: TestNode, changes: object = {}) =>
  callAs(test.hub, node.caller).node.progress({ ...report(test.hub), ...changes });
/** Adds nodes gpu-1, gpu-2, ... that have been silent for six minutes. */
export const silence = async (count = 1): Promise<TestNode[]> => {
  const nodes = [];
  for (let at = 1; at <= count; at++) nodes.push(await addTestNode(test.hub, profileId, `gpu-${at}`));
  for (const node of nodes) await say(node);
  test.advance(6 * MINUTE_MS);
  return nodes;
};
/** Returns the backlog of a run with everything safe. */
export const run = (changes: Partial<RunBacklog> = {}): RunBacklog => {
  const now = test.hub.now();
  const safe = { safeStep: 5, safeAt: now, safeBytes: 10, localStep: 5, localAt: now, startedAt: now };
  return makeRunBacklog({ ...safe, ...changes });
};

export async function addCompleteCheckpoint(of: { run: string; nodeId: string; step: number }): Promise<void> {
  const { run, nodeId, step } = of;
  const at = new Date(test.hub.now());
  await test.hub.db.checkpoint.create({
    data: {
      id: newId(),
      run,
      step: BigInt(step),
      writerEpoch: 1,
      attempt: String(step).padStart(8, "0"),
      nodeId,
      profileId,
      bucket: "checkpoints",
      prefix: "",
      state: "complete",
      metrics: "{}",
      fileCount: 1,
      sizeBytes: 10n,
      capturedAt: at,
      announcedAt: at,
      committedAt: at,
    },
  });
}
