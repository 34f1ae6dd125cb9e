import { expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { parseRate } from "#protocol/wire/read-units.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import type { Engine } from "../transfer/engine.ts";
import type { LinkRate } from "./box.ts";
import { probeLink, type ProbeParts } from "./probe.ts";

const rate = (text: string): LinkRate => ({
  bytesPerSecond: parseRate(text),
  isSteady: true,
  rampMs: 500,
  movedBytes: 1_000,
  connections: 8,
});

/** A link on which each measurement has the next of these results. */
function link(results: { up: (LinkRate | Fault)[]; down: (LinkRate | Fault)[] }, options: Partial<ProbeParts> = {}) {
  const asked: string[] = [];
  const keys = new Set<string>();
  const clock = createFakeClock();
  let made = 0;
  const next = (direction: "up" | "down") => async (_: unknown, about: { key: string }) => {
    asked.push(direction);
    keys.add(about.key);
    const result = results[direction].shift() ?? new Fault("INTERNAL");
    if (result instanceof Fault) throw result;
    return result;
  };
  const engine = {} as Engine;
  const parts: ProbeParts = {
    engines: { up: engine, down: engine },
    newKey: () => `key-${made++}`,
    endpoint: "https://store",
    thresholds: { up: parseRate("20Mbit"), down: parseRate("50Mbit"), rttMs: null },
    boxMs: 10,
    mostAttempts: 3,
    clock,
    signal: new AbortController().signal,
    ways: { rtt: async () => 30, up: next("up"), down: next("down") },
    ...options,
  };
  const run = async () => {
    const result = probeLink(parts);
    result.catch(() => undefined);
    for (let turns = 0; turns < 10; turns++) await clock.pass(5_000);
    return result;
  };
  return { asked, keys, run };
}

test("a link that does is measured once", async () => {
  const { asked, keys, run } = link({ up: [rate("30Mbit")], down: [rate("90Mbit")] });
  expect(await run()).toMatchObject({ verdict: { outcome: "accept" }, attempts: 1, rttMs: 30 });
  expect(asked).toEqual(["up", "down"]);
  expect(keys.size).toBe(2);
});

test("only what was too slow is measured again, and the best counts", async () => {
  const { asked, run } = link({
    up: [rate("12Mbit"), rate("10Mbit"), rate("11Mbit")],
    down: [rate("90Mbit")],
  });
  const result = await run();
  expect(asked).toEqual(["up", "down", "up", "up"]);
  expect(result).toMatchObject({ verdict: { outcome: "reject" }, attempts: 3 });
  expect(result.verdict.reason).toContain("12.0 Mbps up");
});

test("a moment in which a neighbour had the link costs nobody a machine", async () => {
  const { run } = link({ up: [rate("2Mbit"), rate("30Mbit")], down: [rate("90Mbit")] });
  expect(await run()).toMatchObject({ verdict: { outcome: "accept" }, attempts: 2 });
});

test("what fails is tried again, and then only doubted", async () => {
  const down = () => new Fault("LINK_DOWN");
  const once = link({ up: [down(), rate("30Mbit")], down: [rate("90Mbit")] });
  expect(await once.run()).toMatchObject({ verdict: { outcome: "accept" }, attempts: 2 });
  const always = link({ up: [down(), down(), down()], down: [down(), down(), down()] });
  expect(await always.run()).toMatchObject({
    verdict: { outcome: "warn" },
    attempts: 3,
    up: { fault: { code: "LINK_DOWN" } },
  });
});

test("what is stopped says nothing of the link", async () => {
  const stop = new AbortController();
  stop.abort(new Fault("CANCELLED"));
  const { run } = link({ up: [new Fault("CANCELLED")], down: [] }, { signal: stop.signal });
  await expect(run()).rejects.toMatchObject({ code: "CANCELLED" });
});
