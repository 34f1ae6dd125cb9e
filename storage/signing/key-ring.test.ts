import { expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import type { Credential } from "./sigv4.ts";
import { createKeyRing } from "./key-ring.ts";

const NOON = Date.UTC(2026, 0, 1, 12);

function rig(lifeMs: number | null) {
  const state = { at: NOON, asked: 0, fault: null as Fault | null, same: false };
  const ask = async (): Promise<Credential> => {
    state.asked++;
    if (state.fault !== null) throw state.fault;
    const name = state.same ? "same" : `key-${state.asked}`;
    return {
      accessKeyId: name,
      secretAccessKey: "s",
      sessionToken: name,
      ...(lifeMs === null ? {} : { endsAt: state.at + lifeMs }),
    };
  };
  return {
    state,
    ring: createKeyRing({
      ask,
      nameOf: ({ accessKeyId }) => accessKeyId,
      aheadMs: 300_000,
      says: "the role of the profile a",
      now: () => state.at,
    }),
  };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));
const away = () => new Fault("KEYS_UNAVAILABLE", { op: "keys", subject: "the role" });

test("a key is asked for once, however many wait for it", async () => {
  const { state, ring } = rig(3_600_000);
  expect(ring.now()).toBeNull();
  const keys = await Promise.all([ring.fresh(), ring.fresh(), ring.fresh()]);
  expect([state.asked, new Set(keys).size, ring.now()?.accessKeyId]).toEqual([1, 1, "key-1"]);
});

test("the next one is asked for ahead of the end, while the last one still signs", async () => {
  const { state, ring } = rig(3_600_000);
  await ring.fresh();
  state.at += 3_600_000 - 4 * 60_000;
  expect(ring.now()?.accessKeyId).toBe("key-1");
  await settle();
  expect(ring.now()?.accessKeyId).toBe("key-2");
});

test("a service that is away costs nothing before the end, is left alone for a while, and is waited for after it", async () => {
  const { state, ring } = rig(3_600_000);
  await ring.fresh();
  state.fault = away();
  state.at += 3_600_000 - 4 * 60_000;
  for (let round = 0; round < 3; round++) {
    expect(ring.now()?.accessKeyId).toBe("key-1");
    await settle();
  }
  expect(state.asked).toBe(2);
  state.at += 4 * 60_000;
  expect(ring.now()).toBeNull();
  await expect(ring.fresh()).rejects.toMatchObject({ code: "KEYS_UNAVAILABLE" });
  state.fault = null;
  expect((await ring.fresh()).accessKeyId).toBe("key-4");
});

test("who has given keys before is away when there are none, not missing", async () => {
  const { state, ring } = rig(60_000);
  state.fault = new Fault("BAD_INPUT", { detail: "they are missing" });
  await expect(ring.fresh()).rejects.toMatchObject({ code: "BAD_INPUT" });
  state.fault = null;
  await ring.fresh();
  state.fault = new Fault("BAD_INPUT", { detail: "they are missing" });
  state.at += 60_000;
  await expect(ring.fresh()).rejects.toMatchObject({ code: "KEYS_UNAVAILABLE" });
});

test("a key that the store no longer takes is replaced, and the same one is refused when it comes again", async () => {
  const { state, ring } = rig(null);
  state.same = true;
  await ring.fresh();
  expect(ring.ended()).toBe(true);
  expect(ring.now()).toBeNull();
  await expect(ring.fresh()).rejects.toMatchObject({ code: "KEYS_REFUSED" });
  state.same = false;
  expect((await ring.fresh()).accessKeyId).toBe("key-3");
});

test("a key that is over by our clock when it comes is used, as clocks differ", async () => {
  const { state, ring } = rig(-7_200_000);
  expect(await ring.fresh()).not.toHaveProperty("endsAt");
  expect(ring.now()?.accessKeyId).toBe("key-1");
  expect(state.asked).toBe(1);
});
