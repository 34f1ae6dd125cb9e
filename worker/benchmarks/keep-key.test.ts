import { expect, test } from "vitest";
import { keepKey } from "./keep-key.ts";

const MINUTE_MS = 60_000;
const keyOf = (name: string, credentialEndsAt: number | null) => ({
  credential: { accessKeyId: name, secretAccessKey: "secret" },
  credentialEndsAt,
});

/** A turn that begins at 0, and what it asked for. */
function turn(endsAt: number | null) {
  const at = { now: 0, asked: 0 };
  const key = keepKey(keyOf("first", endsAt), {
    caseMs: 5 * MINUTE_MS,
    nowByHub: () => at.now,
    ask: () => {
      at.asked++;
      return Promise.resolve(keyOf(`key ${at.asked}`, at.now + 15 * MINUTE_MS));
    },
  });
  return { at, key };
}

test("a key that could end within the next case is replaced before it", async () => {
  const { at, key } = turn(15 * MINUTE_MS);
  at.now = 8 * MINUTE_MS;
  await key.renew();
  expect([key.now()?.accessKeyId, at.asked]).toEqual(["first", 0]);
  at.now = 9.5 * MINUTE_MS;
  await key.renew();
  expect([key.now()?.accessKeyId, at.asked]).toEqual(["key 1", 1]);
  await key.renew();
  expect(at.asked).toBe(1);
});

test("one that does not end by itself is kept", async () => {
  const { at, key } = turn(null);
  at.now = 1e9;
  await key.renew();
  expect([key.now()?.accessKeyId, at.asked]).toEqual(["first", 0]);
});
