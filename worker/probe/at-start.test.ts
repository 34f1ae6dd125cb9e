import { afterEach, beforeEach, expect, test } from "vitest";
import { decide } from "#protocol/links/decide-link.ts";
import { Fault } from "#protocol/faults/fault.ts";
import {
  NO_THRESHOLDS,
  type LinkThresholds,
  type MachineMemory,
  type ProbeReport,
  type ProbeTarget,
  type ReallocateAnswer,
} from "#protocol/links/probe.ts";
import { parseRate } from "#protocol/wire/read-units.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { startFakeImds, type FakeImds } from "../testing/fake-imds.ts";
import { createImds } from "../host/imds.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import { probeAtStart } from "./at-start.ts";
import type { ProbeResult } from "./probe.ts";

let imds: FakeImds;
beforeEach(async () => {
  imds = await startFakeImds();
});
afterEach(() => imds.close());

const thresholds = { up: parseRate("20Mbit"), down: parseRate("50Mbit"), rttMs: null };

function resultOf(up: string, thresholds: LinkThresholds): ProbeResult {
  const outcome = (text: string) => ({
    rate: { bytesPerSecond: parseRate(text), isSteady: true, rampMs: 500, movedBytes: 1, connections: 8 },
  });
  const measured = { up: outcome(up), down: outcome("90Mbit"), rttMs: 30, clockSkewMs: 0 };
  return {
    ...measured,
    id: "probe-0001",
    verdict: decide(measured, thresholds),
    attempts: 1,
    tookMs: 20_000,
  };
}

const memory = (verdict: "good" | "bad", up: string): MachineMemory => ({
  verdict,
  at: 0,
  until: 1,
  up: parseRate(up),
  down: parseRate("90Mbit"),
});

interface World {
  up?: string;
  machine?: MachineMemory;
  machineId?: string | null;
  answer?: ReallocateAnswer;
  isAsked?: boolean;
  /** By the fleet; absent where the hub is too old to ask. */
  asks?: LinkThresholds;
  /** Calls that the hub does not answer. */
  silent?: readonly string[];
}

/** A worker that starts; resolves to how it went. */
async function start(world: World) {
  const { up = "30Mbit", machine = null, machineId = "machine-1", silent = [], asks } = world;
  const said: string[] = [];
  const reports: ProbeReport[] = [];
  const questions: unknown[] = [];
  const clock = createFakeClock();
  const hush = (op: string) => {
    if (silent.includes(op)) throw new Fault("HUB_UNREACHABLE", { op });
  };
  const store = {
    profileId: "profile-1",
    profileName: "p",
    bucket: "b",
    endpoint: "e",
    prefix: "",
    traits: traitsOf("aws"),
  };
  const hub = createFakeHub({
    probeTarget: (): ProbeTarget => {
      hush("probeTarget");
      return { nodeId: "node-0001", store, machine, hubTimeMs: 0, ...(asks !== undefined && { thresholds: asks }) };
    },
    probed: (report: ProbeReport) => {
      hush("probed");
      reports.push(report);
      return { ok: true };
    },
    mayReallocate: (question: unknown) => {
      questions.push(question);
      hush("mayReallocate");
      return world.answer ?? { allowed: true, reason: "reallocation 1 of 10 in this hour" };
    },
  });
  let measured = 0;
  const starting = probeAtStart({
    hub,
    imds: createImds(imds.url),
    machineId,
    thresholds: world.isAsked === false ? NO_THRESHOLDS : thresholds,
    clock,
    signal: new AbortController().signal,
    talk: {
      measuring: () => said.push("measuring"),
      measured: ({ verdict }) => said.push(verdict.outcome),
      remembered: ({ outcome }) => said.push(`remembered ${outcome}`),
      notMeasured: () => said.push("not measured"),
      stays: (why) => said.push(`stays: ${why}`),
      trouble: ({ code }) => said.push(code),
    },
    measure: async (_target, wanted) => {
      measured++;
      return resultOf(up, wanted);
    },
  });
  const ended = starting.then(
    () => null,
    (error: unknown) => (error instanceof Fault ? error : new Error(String(error))),
  );
  const state = { isOver: false };
  void ended.then(() => (state.isOver = true));
  await expect
    .poll(async () => {
      await clock.pass(10_000);
      return state.isOver;
    })
    .toBe(true);
  return { fault: await ended, said, reports, questions, measured, asked: hub.asked };
}

const reallocations = () => imds.asked.filter(({ path }) => path === "/v1/reallocate");

test("nothing is measured or said when neither the flags nor the fleet ask for anything", async () => {
  for (const world of [{}, { asks: NO_THRESHOLDS }, { silent: ["probeTarget"] }]) {
    const { fault, asked, said, measured } = await start({ isAsked: false, ...world });
    expect([fault, asked, said, measured]).toEqual([null, ["probeTarget"], [], 0]);
  }
});

test("what the flags leave open the fleet's thresholds count for", async () => {
  const asks = { up: parseRate("40Mbit"), down: null, rttMs: 200 };
  const open = await start({ isAsked: false, asks, answer: { allowed: false, reason: "no" } });
  expect(open.reports).toEqual([expect.objectContaining({ outcome: "reject", thresholds: asks })]);
  const own = await start({ asks });
  expect(own.reports).toEqual([
    expect.objectContaining({ outcome: "accept", thresholds: { ...thresholds, rttMs: 200 } }),
  ]);
});

test("a good link is told to the hub, and the worker goes on", async () => {
  const { fault, said, reports } = await start({});
  expect(fault).toBeNull();
  expect(said).toEqual(["measuring", "accept"]);
  expect(reports).toEqual([
    expect.objectContaining({ outcome: "accept", machineId: "machine-1", up: 3_750_000, thresholds }),
  ]);
  expect(imds.asked).toEqual([]);
});

test("a slow machine of a platform is given back, once, with the reason, and the worker ends", async () => {
  const { fault, reports, questions } = await start({ up: "9Mbit" });
  expect(fault).toMatchObject({ code: "LINK_TOO_SLOW" });
  expect(reports[0]?.outcome).toBe("reject");
  expect(questions).toEqual([expect.objectContaining({ machineId: "machine-1", probeId: "probe-0001" })]);
  expect(reallocations()).toEqual([
    {
      method: "POST",
      path: "/v1/reallocate",
      metadata: "true",
      body: { reason: "tidemark: 9.0 Mbps up where 20.0 Mbps are asked for" },
    },
  ]);
});

test("when the governor says no, the worker goes on and says why", async () => {
  const { fault, said } = await start({ up: "9Mbit", answer: { allowed: false, reason: "the budget is used up" } });
  expect(fault).toBeNull();
  expect(said.at(-1)).toBe("stays: the budget is used up");
  expect(reallocations()).toEqual([]);
});

test("when the governor cannot be asked, nothing is given back, and it is the same question each time", async () => {
  const { fault, said, questions } = await start({ up: "9Mbit", silent: ["mayReallocate"] });
  expect(fault).toBeNull();
  expect(said.at(-1)).toContain("the hub could not be asked");
  expect(questions).toHaveLength(3);
  expect(new Set(questions.map((one) => JSON.stringify(one))).size).toBe(1);
  expect(reallocations()).toEqual([]);
});

test("when the platform does not do it, the worker goes on", async () => {
  imds.failWith(500);
  const { fault, said } = await start({ up: "9Mbit" });
  expect(fault).toBeNull();
  expect(said.at(-1)).toContain("stays: /v1/reallocate");
});

test("outside a platform that exchanges machines the worker ends, and nobody is asked", async () => {
  imds.failWith(404);
  const { fault, questions } = await start({ up: "9Mbit", machineId: null });
  expect(fault).toMatchObject({
    code: "LINK_TOO_SLOW",
    context: { detail: "9.0 Mbps up where 20.0 Mbps are asked for" },
  });
  expect(questions).toEqual([]);
  expect(reallocations()).toEqual([]);
});

test("a platform is also known by its service alone", async () => {
  const { fault } = await start({ up: "9Mbit", machineId: null });
  expect(fault).toMatchObject({ code: "LINK_TOO_SLOW" });
  expect(reallocations()).toHaveLength(1);
});

test("a machine that is known to be good is not measured", async () => {
  const { fault, said, measured } = await start({ machine: memory("good", "30Mbit") });
  expect([fault, said, measured]).toEqual([null, ["remembered accept"], 0]);
});

test("a machine that is known to be bad is given back before a byte moves", async () => {
  const { fault, measured, questions } = await start({ machine: memory("bad", "9Mbit") });
  expect(fault).toMatchObject({ code: "LINK_TOO_SLOW" });
  expect(measured).toBe(0);
  expect(questions).toEqual([expect.objectContaining({ probeId: null })]);
  expect(reallocations()).toHaveLength(1);
});

test("one that was given back and is here again trains nothing, whatever hub and platform say", async () => {
  const machine = memory("bad", "9Mbit");
  const refused = await start({ machine, answer: { allowed: false, reason: "the budget is used up" } });
  const untold = await start({ machine, silent: ["mayReallocate"] });
  expect(reallocations()).toHaveLength(2);
  imds.failWith(500);
  const kept = await start({ machine });
  const again = { allowed: true, reason: "this machine was given back 4 min ago", isHereAgain: true };
  const measured = await start({ up: "9Mbit", answer: again });
  for (const { fault, said } of [refused, untold, kept, measured]) {
    const detail: unknown = expect.stringContaining("is here again");
    expect(fault).toMatchObject({ code: "LINK_TOO_SLOW", context: { detail } });
    expect(said.some((text) => text.startsWith("stays"))).toBe(false);
  }
});

test("what was remembered by other thresholds does not count", async () => {
  expect(await start({ machine: memory("good", "15Mbit") })).toMatchObject({ fault: null, measured: 1 });
  expect(await start({ machine: memory("bad", "25Mbit") })).toMatchObject({ fault: null, measured: 1 });
});

test("a hub that is away, or too old to know of probes, holds nobody up", async () => {
  expect(await start({ silent: ["probeTarget"] })).toMatchObject({ fault: null, said: ["not measured"], measured: 0 });
  const untold = await start({ silent: ["probed"] });
  expect(untold).toMatchObject({ fault: null, said: ["measuring", "accept", "HUB_UNREACHABLE"] });
});
