import { Agent } from "node:http";
import { z } from "zod";
import { nodeSettings } from "#protocol/wire/hello.ts";
import { returnWaitMs } from "#protocol/base/return-wait.ts";
import { credentialOf } from "#e2e/stage/fill-hub.ts";
import { callHub, openStream } from "./talk.ts";
import { createSimulatedNode, type SimulatedNode } from "./simulated-node.ts";

/**
 * Simulates many nodes in one process: each enrolls, says hello, holds its own stream and reports, with the real protocol. All
 * reports share a few connections, so that 10,000 nodes fit into the file descriptors of one machine. Its first argument is
 * JSON with what to simulate; on stdout it reports what its nodes see, one line of JSON each.
 */

const orders = z.object({
  url: z.string(),
  token: z.string(),
  /** Names: `sim-<index>`, from `first` on. */
  first: z.number().int(),
  count: z.number().int(),
  everyMs: z.number().int(),
  /** Average time that a node trains between two uploads. */
  intervalMs: z.number().int(),
  /** Seed of nodes that exist already (e2e/stage/fill-hub) and only report; null: they enroll and hold streams. */
  seed: z.string().nullable().default(null),
});

/** As in the real worker: the end of a stream that was open this long does not count as a failure. */
const GOOD_MS = 15_000;
const ENROL_AT_ONCE = 8;

export type Said =
  | { said: "ready"; nodes: number }
  | { said: "command"; id: string; kind: string; at: number; again: boolean }
  | { said: "hello"; at: number; node: number }
  | { said: "acknowledged"; transfers: string[] }
  | { said: "refused"; what: string }
  | { said: "mark"; node: number; value: number; at: number };

const say = (said: Said): void => {
  process.stdout.write(`${JSON.stringify(said)}\n`);
};

const given = orders.parse(JSON.parse(process.argv[2] ?? "{}"));
const calls = new Agent({ keepAlive: true, maxSockets: 16 });
const hub = { url: given.url, agent: calls };
let refusals = 0;
function refuse(what: string): void {
  // A hub that was killed refuses thousands of calls at once; the first ones suffice.
  if (refusals++ < 20) say({ said: "refused", what });
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const helloAnswer = z.object({ settings: nodeSettings });

/** Says hello and holds the stream, again after each end, as the worker does. */
async function stayConnected(node: SimulatedNode): Promise<never> {
  let withinMs: number | undefined;
  for (let tries = 0; ; tries++) {
    try {
      const answer = await callHub(hub, { path: "node.hello", credential: node.credential, body: node.hello() });
      withinMs = helloAnswer.parse(answer).settings.returnWithinMs;
      say({ said: "hello", at: Date.now(), node: node.index });
      const openedAt = performance.now();
      await openStream(hub, {
        bootId: node.bootId,
        credential: node.credential,
        onOpen: () => {
          node.isOpen = true;
        },
        onMessage: (message) => {
          if (message.type === "settings") withinMs = message.settings.returnWithinMs;
          if (message.type !== "command") return;
          const { id, kind } = message.command;
          const again = node.takeCommand(id);
          say({ said: "command", id, kind, at: Date.now(), again });
        },
      });
      if (performance.now() - openedAt > GOOD_MS) tries = -1;
    } catch (error) {
      refuse(`stream: ${String(error)}`);
    }
    node.isOpen = false;
    await sleep(returnWaitMs(Math.max(0, tries), { withinMs, random: Math.random }));
  }
}

async function keepReporting(node: SimulatedNode): Promise<never> {
  await sleep(Math.random() * given.everyMs);
  // The watched node reports more often, to give enough samples.
  const everyMs = node.index === 0 ? Math.min(1_000, given.everyMs) : given.everyMs;
  let nextAt = performance.now();
  for (;;) {
    try {
      if (given.seed !== null && !node.isOpen)
        await callHub(hub, { path: "node.hello", credential: node.credential, body: node.hello() });
      const report = node.report(Date.now());
      await callHub(hub, { path: "node.progress", credential: node.credential, body: report });
      // Without a stream, one accepted report makes a node part of the fleet.
      if (given.seed !== null) node.isOpen = true;
      if (node.index === 0) say({ said: "mark", node: 0, value: report.rttMs ?? 0, at: report.at });
    } catch (error) {
      refuse(`progress: ${String(error)}`);
    }
    nextAt = Math.max(nextAt + everyMs, performance.now());
    await sleep(Math.max(0, nextAt - performance.now()));
  }
}

const recordAnswer = z.object({ acceptedThrough: z.number() });

async function deliver(node: SimulatedNode): Promise<void> {
  const events = node.waiting();
  if (events.length === 0 || node.isDelivering) return;
  node.isDelivering = true;
  try {
    const body = { events };
    const answer = await callHub(hub, { path: "node.record", credential: node.credential, body });
    const transfers = node.accepted(recordAnswer.parse(answer).acceptedThrough);
    if (transfers.length > 0) say({ said: "acknowledged", transfers });
  } catch (error) {
    refuse(`record: ${String(error)}`);
  }
  node.isDelivering = false;
}

async function enrolAll(): Promise<SimulatedNode[]> {
  const nodes: SimulatedNode[] = [];
  let next = given.first;
  const enrolSome = async (): Promise<void> => {
    while (next < given.first + given.count) {
      const index = next++;
      const credential = given.seed === null ? null : credentialOf(given.seed, index);
      const node = await createSimulatedNode(hub, { ...given, index, credential });
      nodes.push(node);
      if (given.seed === null) void stayConnected(node);
      void keepReporting(node);
    }
  };
  await Promise.all(Array.from({ length: ENROL_AT_ONCE }, enrolSome));
  return nodes;
}

const nodes = await enrolAll();
setInterval(() => {
  for (const node of nodes) void deliver(node);
}, 500);
const opening = setInterval(() => {
  if (nodes.some((node) => !node.isOpen)) return;
  clearInterval(opening);
  say({ said: "ready", nodes: nodes.length });
}, 200);
