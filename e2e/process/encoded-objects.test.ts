import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { encodeObjects, ENCODINGS } from "../stage/encode-objects.ts";
import { putOdd, serveOdd } from "../stage/odd-objects.ts";
import { at, here, MIB, round, start, store, useVerbs } from "./verbs-stage.ts";

/** Stored bytes are the bytes, whatever Content-Encoding they are stored with and whoever reads them. */

useVerbs();

let said = "";
let endpoint: string;
let close: () => Promise<void>;
beforeAll(async () => {
  ({ endpoint, close } = await serveOdd(
    store,
    encodeObjects(() => said),
  ));
});
afterAll(() => close());

const tidemark = async (...args: string[]) => {
  const outcome = await start(args, { ...store, endpoint }).ended;
  expect(outcome.code, outcome.talk).toBe(0);
  return outcome;
};
const local = (name: string) => readFileSync(join(here, name));

/** Reads the object `e/log` in one way. `size`: of what is stored. Returns what came, and what has to come. */
type Reader = (stored: Buffer) => Promise<[came: Buffer, wanted: Buffer]>;
const READERS: Record<string, Reader> = {
  cp: async (stored) => {
    await tidemark("cp", `${at}/e/log`, join(here, "one"));
    return [local("one"), stored];
  },
  "cp of a folder": async (stored) => {
    await tidemark("cp", `${at}/e`, join(here, "folder"));
    return [local("folder/log"), stored];
  },
  "sync, and by another that compares the bytes": async (stored) => {
    await tidemark("sync", `${at}/e`, join(here, "all"));
    const again = await tidemark("sync", "--checksum", `${at}/e`, join(here, "all"));
    expect(again.text).toContain("nothing to do");
    return [local("all/log"), stored];
  },
  cat: async (stored) => [(await tidemark("cat", `${at}/e/log`)).out, stored],
  "cat of a range": async (stored) => {
    const range = ["--offset", "7", "--count", "11"];
    return [(await tidemark("cat", ...range, `${at}/e/log`)).out, stored.subarray(7, 18)];
  },
  "cp and cat in parallel ranges": async () => {
    const large = randomBytes(9 * MIB);
    await putOdd(store, `t${round}/large`, { Body: large });
    await tidemark("cp", "--part-size", "5MiB", `${at}/large`, join(here, "large"));
    expect((await tidemark("cat", "--concurrency", "4", `${at}/large`)).out.equals(large)).toBe(true);
    return [local("large"), large];
  },
  "cp inside the store": async (stored) => {
    await tidemark("cp", `${at}/e/log`, `${at}/copied`);
    said = "";
    return [(await tidemark("cat", `${at}/copied`)).out, stored];
  },
};

describe.each(ENCODINGS)("an object stored as %s", (encoding, encode) => {
  test.each(Object.entries(READERS))("comes as it is stored by %s", async (_name, read) => {
    said = encoding;
    const stored = encode(Buffer.from("hello hello hello ".repeat(100)));
    await putOdd(store, `t${round}/e/log`, { Body: stored });
    const [came, wanted] = await read(stored);
    expect(came.equals(wanted)).toBe(true);
  });

  test("is inspected by the bytes that are stored", async () => {
    said = encoding;
    const header = JSON.stringify({ weight: { dtype: "F32", shape: [2], data_offsets: [0, 8] } });
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    const Body = Buffer.concat([length, Buffer.from(header), Buffer.alloc(8)]);
    await putOdd(store, `t${round}/model.safetensors`, { Body });
    const { text } = await tidemark("inspect", "--json", `${at}/model.safetensors`);
    expect(JSON.parse(text.trim().split("\n").at(-1) ?? "")).toMatchObject({ format: "safetensors", tensors: 1 });
  });
});
