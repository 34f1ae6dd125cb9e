import { expect, test } from "vitest";
import { planBenchInput } from "#protocol/benchmarks/plan-input.ts";
import { FIRST_FORM, presetFields, readForm, type StartForm } from "./start-form.ts";

const read = (changes: Partial<StartForm> = {}) =>
  readForm({ ...FIRST_FORM, profileIds: ["profile-one"], ...changes }, ["tidemark", "sdk"]);
const problems = (changes: Partial<StartForm>) => {
  const found = read(changes);
  return "problems" in found ? Object.keys(found.problems) : [];
};

test("what stands there at first is what the guide did, and the hub takes it", () => {
  const found = read();
  if (!("read" in found)) throw new Error(JSON.stringify(found.problems));
  expect(planBenchInput.safeParse(found.read).success).toBe(true);
  expect(found.read.settings).toMatchObject({ sizeBytes: 300_000_000, partBytes: 10_000_000, connections: 10 });
  expect(found.read.targets).toEqual({
    scope: { nodes: null, runs: null, labels: {} },
    sample: null,
    profileIds: ["profile-one"],
  });
});

test("nodes are meant by a pattern, a label, a sample", () => {
  const found = read({ nodes: "gpu-*", label: "region=us=east", sample: "20", directions: "down" });
  expect(found).toMatchObject({
    read: {
      targets: { scope: { nodes: "gpu-*", labels: { region: "us=east" } }, sample: 20 },
      settings: { directions: ["down"] },
    },
  });
});

test.each([
  [{ size: "much" }, "size"],
  [{ size: "1kB" }, "size"],
  [{ part: "0" }, "part"],
  [{ part: "5MB" }, "part"],
  [{ connections: "0" }, "connections"],
  [{ connections: "300" }, "connections"],
  [{ rounds: "1.5" }, "rounds"],
  [{ perBucket: "" }, "perBucket"],
  [{ sample: "some" }, "sample"],
  [{ nodes: "a b" }, "nodes"],
  [{ label: "region" }, "label"],
  [{ profileIds: [] }, "profileIds"],
  [{ engines: [] }, "engines"],
])("%j is refused at its field", (changes, field) => {
  expect(problems(changes)).toEqual([field]);
});

test("a preset fills in what its documents say", () => {
  expect(presetFields("storj-6gb")).toEqual({ size: "6000MB", part: "64MiB", connections: "96" });
  expect(presetFields("guide")).toEqual({ size: "300MB", part: "10MB", connections: "10" });
  expect(presetFields("none")).toBeNull();
});

test("the engines are those that can run until some are chosen", () => {
  expect(read()).toMatchObject({ read: { settings: { engines: ["tidemark", "sdk"] } } });
  expect(read({ engines: ["aria2"] })).toMatchObject({ read: { settings: { engines: ["aria2"] } } });
});
