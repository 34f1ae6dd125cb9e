import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { isFault } from "#protocol/faults/fault.ts";
import { randomFrom } from "#protocol/base/random-from.ts";
import { boundSource, sourceOfBytes } from "../source.ts";
import { numberAt, openHdf5 } from "./read-scalar.ts";

/** `model.save("model.h5")` of Keras 3.15 after twelve steps of SGD. */
const REAL = gunzipSync(readFileSync(join(import.meta.dirname, "../../../e2e/layouts/keras-older.h5.gz")));
const STEPS = ["optimizer_weights", "sgd", "iteration"];

async function read(bytes: Uint8Array, path: readonly string[] = STEPS): Promise<number | null> {
  const file = await openHdf5(boundSource(sourceOfBytes(bytes)));
  return file === null ? null : numberAt(file, path);
}

/** Returns the outcome of a damaged file. @throws whatever is no Fault of damage or of limits */
async function outcomeOf(bytes: Uint8Array): Promise<number | string | null> {
  try {
    return await read(bytes);
  } catch (error) {
    if (isFault(error) && ["MALFORMED", "TOO_MUCH_INSIDE"].includes(error.code)) return error.code;
    throw error;
  }
}

test("a whole number is read at the end of its path, and nothing else is taken for one", async () => {
  expect(await read(REAL)).toBe(12);
  expect(await read(REAL, ["optimizer_weights", "sgd", "learning_rate"])).toBeNull();
  expect(await read(REAL, ["model_weights", "dense", "sequential", "dense", "bias"])).toBeNull();
  expect(await read(REAL, ["optimizer_weights", "sgd"])).toBeNull();
  expect(await read(REAL, ["optimizer_weights", "adam", "iteration"])).toBeNull();
  expect(await read(Buffer.from("no HDF5".padEnd(200)))).toBeNull();
  expect(await read(REAL.subarray(0, 50))).toBeNull();
});

test("a file that was cut anywhere holds the number, nothing, or is said to be damaged", async () => {
  const found = new Set<number | string | null>();
  for (let bytes = 0; bytes < REAL.length; bytes += 41) found.add(await outcomeOf(REAL.subarray(0, bytes)));
  expect(found.has("MALFORMED")).toBe(true);
  expect([...found].filter((one) => typeof one === "number")).toEqual([12]);
});

test("changed bytes make no other error, and no read without end", async () => {
  const random = randomFrom(7);
  let changed = 0;
  for (let tries = 0; tries < 2_000; tries++) {
    const bytes = Buffer.from(REAL);
    for (let at = 0; at < 8; at++) bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
    if ((await outcomeOf(bytes)) !== 12) changed++;
  }
  expect(changed).toBeGreaterThan(0);
});

test("a group that leads into itself, and a header that continues in itself, end at a limit", async () => {
  const group = Buffer.from(REAL);
  const tree = group.indexOf("TREE");
  // Its first child is the node itself, at a level above the list of names.
  group.writeBigUInt64LE(BigInt(tree), tree + 32);
  expect(await outcomeOf(group)).toBe("TOO_MUCH_INSIDE");
  const header = Buffer.from(REAL);
  const root = Number(header.readBigUInt64LE(64));
  header.writeUInt16LE(0x10, root + 16);
  header.writeUInt16LE(16, root + 18);
  header.writeBigUInt64LE(BigInt(root + 16), root + 24);
  header.writeBigUInt64LE(24n, root + 32);
  expect(await outcomeOf(header)).toBe("TOO_MUCH_INSIDE");
});
