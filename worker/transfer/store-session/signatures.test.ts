import { expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { SIGN_BATCH, type Operation } from "#protocol/wire/operations.ts";
import { createSignatures } from "./signatures.ts";

const part = (partNumber: number): Operation => ({
  op: "part",
  key: "k",
  uploadId: "u",
  partNumber,
  sizeBytes: 1,
  crc32: "00000000",
});

function signer(lifetimeMs = 3_600_000) {
  const state = { now: 1_000_000, batches: [] as number[], away: false };
  const source = {
    sign: async (operations: readonly Operation[]) => {
      if (state.away) throw new Fault("HUB_UNREACHABLE");
      state.batches.push(operations.length);
      return operations.map((operation) => ({
        method: "PUT" as const,
        url: `https://store/${operation.op === "part" ? operation.partNumber : operation.op}`,
        headers: {},
        expiresAt: state.now + lifetimeMs,
      }));
    },
  };
  return { state, signatures: createSignatures(source, () => state.now) };
}

test("what is asked for in the same moment is signed in one call, each gets its own", async () => {
  const { state, signatures } = signer();
  const requests = await Promise.all([1, 2, 3].map((number) => signatures.request(part(number))));
  expect(state.batches).toEqual([3]);
  expect(requests.map(({ url }) => url)).toEqual(["https://store/1", "https://store/2", "https://store/3"]);
});

test("signatures of what was given up do not stay for ever", async () => {
  const { state, signatures } = signer();
  const given = Array.from({ length: 300 }, (_, index) => part(index + 1));
  await signatures.prepare(given);
  expect(signatures.kept).toBe(300);
  state.now += 3_600_000;
  await signatures.prepare([part(1_000)]);
  expect(signatures.kept).toBe(1);
});

test("signed ahead, a thousand parts get through while the signer is away", async () => {
  const { state, signatures } = signer();
  const parts = Array.from({ length: 1000 }, (_, index) => part(index + 1));
  expect(await signatures.prepare(parts)).toBe(1000);
  expect(Math.max(...state.batches)).toBeLessThanOrEqual(SIGN_BATCH);
  state.away = true;
  const requests = await Promise.all(parts.map((operation) => signatures.request(operation)));
  expect(requests).toHaveLength(1000);
});

test("a signature close to its end, or one that the store refused, is not used again", async () => {
  const { state, signatures } = signer(60_000);
  await signatures.prepare([part(1)]);
  state.now += 50_000;
  await signatures.request(part(1));
  expect(state.batches).toEqual([1, 1]);
  await signatures.prepare([part(2)]);
  signatures.forget(part(2));
  state.away = true;
  await expect(signatures.request(part(2))).rejects.toMatchObject({ code: "HUB_UNREACHABLE" });
});

test("where the keys are here nothing is waited for, and a failure is the caller's", async () => {
  const { signatures } = signer();
  expect((await signatures.request(part(1))).url).toBe("https://store/1");
  const signNow = (operation: Operation) => {
    if (operation.op === "head") throw new Fault("HOSTILE_NAME");
    return { method: "PUT" as const, url: "https://here", headers: {}, expiresAt: 2_000_000 };
  };
  const here = createSignatures({ sign: () => Promise.reject(new Error("asked")), signNow }, () => 1_000_000);
  expect((await here.request(part(1))).url).toBe("https://here");
  await expect(here.request({ op: "head", key: "k" })).rejects.toMatchObject({ code: "HOSTILE_NAME" });
});
