import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isModelContent } from "./is-model-content.ts";

/** Files that the libraries wrote themselves: clients/python/make_model_fixtures.py. */
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tidemark-models-"));
  const archive = join(import.meta.dirname, "../../e2e/stage/fixtures/real-models.tar.gz");
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
