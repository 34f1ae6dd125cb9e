import { describe, expect, test } from "vitest";
import { traitsOf } from "#storage/providers/providers.ts";
import { createPlanner, type AskObject, type ObjectFacts } from "./facts.ts";

const MIB = 1024 * 1024;
const MD5 = '"0123456789abcdef0123456789abcdef"';
const whole = { crc32: "01020304", partCount: null };
const facts = (rest: Partial<ObjectFacts>): ObjectFacts => ({
  sizeBytes: 20 * MIB,
  etag: MD5,
  modifiedAtMs: 0,
  sum: null,
  isOpaque: false,
  ...rest,
});

function planning(about: { head?: ObjectFacts; partBytes?: number | null } = {}) {
  const asked = { heads: 0, lengths: 0 };
  const ask: AskObject = {
    head: async () => {
      asked.heads++;
      return about.head ?? facts({});
    },
    partBytes: async () => {
      asked.lengths++;
      return about.partBytes ?? null;
    },
    partSums: async () => null,
  };
  return { asked, planner: createPlanner({ traits: traitsOf("minio") }, { ask, partBytes: 5 * MIB }) };
}
const listed = ({ sizeBytes, etag, modifiedAtMs }: ObjectFacts) => ({ sizeBytes, etag, modifiedAtMs });

describe("how an object is fetched and known for right", () => {
  test("a small object of a listing by its MD5, without a question", async () => {
    const { planner, asked } = planning();
    const { expected } = await planner.plan("k", listed(facts({ sizeBytes: 100 })));
    expect(expected).toEqual({ kind: "md5", md5: MD5.slice(1, -1) });
    expect(asked.heads).toBe(0);
  });

  test("one that came in parts by the CRC32 over theirs, its pieces cut where they were", async () => {
    const sum = { crc32: "0a0b0c0d", partCount: 3 };
    const { planner, asked } = planning({ head: facts({ etag: '"x-3"', sum }), partBytes: 8 * MIB });
    const { expected, parts } = await planner.plan("k", listed(facts({ etag: '"x-3"' })));
    expect(expected).toEqual({ kind: "parts", crc32: "0a0b0c0d" });
    expect(parts.map(({ length }) => length)).toEqual([8 * MIB, 8 * MIB, 4 * MIB]);
    expect(asked).toEqual({ heads: 1, lengths: 1 });
  });

  test("nobody is asked for the length of parts that can have only one", async () => {
    const sum = { crc32: "0a0b0c0d", partCount: 20 };
    const { planner, asked } = planning();
    const { parts } = await planner.plan("k", facts({ sum }));
    expect([parts.length, asked.lengths]).toEqual([20, 0]);
  });

  test("a sum over parts of unknown length cannot be compared", async () => {
    const { planner } = planning({ partBytes: null });
    const { expected, parts } = await planner.plan(
      "k",
      facts({ etag: '"x-2"', sum: { crc32: "0a0b0c0d", partCount: 2 } }),
    );
    expect(expected).toEqual({ kind: "nothing" });
    expect(parts.length).toBe(4);
  });

  test("the MD5 over the parts will do where the store keeps no CRC32", async () => {
    const { planner } = planning({ head: facts({ etag: `${MD5.slice(0, -1)}-3"` }), partBytes: 8 * MIB });
    const { expected, parts } = await planner.plan("k", null);
    expect(expected).toEqual({ kind: "md5-parts", md5: MD5.slice(1, -1) });
    expect(parts.length).toBe(3);
  });

  test("the CRC32 of the whole object comes before its MD5", async () => {
    expect((await planning().planner.plan("k", facts({ sum: whole }))).expected).toEqual({
      kind: "whole",
      crc32: "01020304",
    });
  });

  test("the ETag of an encrypted or a large object is no MD5 to compare with", async () => {
    const { planner } = planning();
    expect((await planner.plan("k", facts({ isOpaque: true, etag: `${MD5.slice(0, -1)}-4"` }))).expected).toEqual({
      kind: "nothing",
    });
    expect((await planner.plan("k", facts({ isOpaque: true }))).expected).toEqual({ kind: "nothing" });
    expect((await planner.plan("k", facts({ sizeBytes: 65 * MIB }))).expected).toEqual({ kind: "nothing" });
  });

  test("a store that shows no sums of what it lists is not asked for ever", async () => {
    const { planner, asked } = planning({ head: facts({ etag: '"odd"' }) });
    for (let index = 0; index < 30; index++) await planner.plan(`k${index}`, listed(facts({ etag: '"odd"' })));
    expect(asked.heads).toBe(8);
  });

  test("after an ETag that looked like an MD5 and was none, none is taken for one", async () => {
    const { planner } = planning();
    planner.distrustMd5();
    expect((await planner.plan("k", listed(facts({})))).expected).toEqual({ kind: "nothing" });
  });
});

describe("an object of a listing that can wait for its turn", () => {
  const small = (rest: Partial<ObjectFacts> = {}) => listed(facts({ sizeBytes: 100, ...rest }));

  test("is planned then as it would have been at once, whatever was learned of others meanwhile", async () => {
    for (const one of [small(), small({ sizeBytes: 0 }), small({ sizeBytes: MIB })]) {
      const { planner } = planning();
      expect(planner.isPlain(one)).toBe(true);
      const atOnce = await planner.plan("k", one);
      planner.distrustMd5();
      expect(planner.planPlain(one)).toEqual(atOnce);
    }
  });

  test.each([
    ["large", small({ sizeBytes: MIB + 1 })],
    ["in parts", small({ etag: `${MD5.slice(0, -1)}-2"` })],
    ["of an ETag that is no MD5", small({ etag: '"odd"' })],
    ["known by a sum already", { ...small(), sum: whole }],
  ])("is none that is %s", (_, one) => {
    expect(planning().planner.isPlain(one)).toBe(false);
  });
});
