import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { deflateSync, gzipSync } from "node:zlib";
import { isEstimator, isModelContent } from "./is-model-content.ts";
import { unpacked } from "./unpacked.ts";

/** Files that the libraries wrote themselves: clients/python/make_model_fixtures.py. */
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tidemark-models-"));
  const archive = join(import.meta.dirname, "../../../../e2e/stage/fixtures/real-models.tar.gz");
  execFileSync("tar", ["xzf", archive, "-C", folder]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("models of scikit-learn, XGBoost, Keras and stable-baselines3 are known by their content, and data in the same formats is none", async () => {
  const models: string[] = [];
  for (const name of readdirSync(folder).toSorted()) if (await isModelContent(join(folder, name))) models.push(name);
  expect(models).toEqual([
    "agent.zip",
    "gzip.joblib",
    "model.joblib",
    "net.h5",
    "protocol-2.pkl",
    "protocol-5.pkl",
    "trees.joblib",
    "trees.json",
    "zlib.joblib",
  ]);
});

test("what is torn, packed beyond all bounds, or not there is no model", async () => {
  const at = (name: string) => join(folder, name);
  writeFileSync(at("torn.joblib"), Buffer.from([0x78, 0x5e, 1, 2, 3]));
  writeFileSync(at("torn.zip"), "PK\u0003\u0004");
  writeFileSync(at("empty.h5"), "");
  for (const name of ["torn.joblib", "torn.zip", "empty.h5", "nothing.pkl", "notes.bin"])
    expect(await isModelContent(at(name)), name).toBe(false);
});

test("the steps at each byte are bounded: a name of a module or of a class that is longer than 200 is none", () => {
  const lines = (module: number, name: number) => `csklearn.${"m".repeat(module)}\n${"N".repeat(name)}\n`;
  expect(isEstimator(lines(200, 200))).toBe(true);
  expect(isEstimator(lines(201, 200))).toBe(false);
  expect(isEstimator(lines(200, 201))).toBe(false);
  const texts = (module: number, name: number) =>
    `\u008c\u0018sklearn.${"m".repeat(module)}\u0094\u008c\u0016${"N".repeat(name)}\u0094\u0093`;
  expect(isEstimator(texts(200, 200))).toBe(true);
  expect(isEstimator(texts(201, 200))).toBe(false);
  expect(isEstimator(texts(200, 201))).toBe(false);
});

test("of a packed file no more than 256 KiB are unpacked, and a model in its beginning is known all the same", async () => {
  const bytes = Buffer.concat([Buffer.from("csklearn.tree\nTree\n"), Buffer.alloc(3_000_000)]);
  for (const pack of [deflateSync, gzipSync]) {
    const packed = pack(bytes);
    expect(packed.length).toBeLessThan(4_096);
    expect((await unpacked(packed)).length).toBe(256 * 1024);
  }
  writeFileSync(join(folder, "zeros.joblib"), deflateSync(bytes));
  expect(await isModelContent(join(folder, "zeros.joblib"))).toBe(true);
});
