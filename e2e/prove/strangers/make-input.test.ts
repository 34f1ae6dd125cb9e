import { describe, expect, it } from "vitest";
import { type JsonSchema, makeHostile, makeValid, randomFrom } from "./make-input.ts";

const schema: JsonSchema = {
  type: "object",
  properties: {
    id: { type: "string", pattern: "^[A-Za-z0-9-]{8,64}$" },
    files: { type: "array", items: { type: "integer", minimum: 3, maximum: 9 }, maxItems: 5_000 },
    kind: { anyOf: [{ const: "a" }, { enum: ["b", "c"] }] },
  },
  required: ["id", "files", "kind"],
};

describe("inputs of a schema", () => {
  it("have its shape, with names that the hub knows, and as many elements as there may be", () => {
    const known = ["a-known-id"];
    const made = Array.from({ length: 40 }, (_, seed) =>
      makeValid(schema, { random: randomFrom(seed), known, size: seed === 0 ? "full" : "small" }),
    ) as { id: string; files: number[]; kind: string }[];
    expect(made[0]?.files).toHaveLength(5_000);
    expect(made.some(({ id }) => id === "a-known-id")).toBe(true);
    for (const { id, files, kind } of made) {
      expect(id).toMatch(/^[A-Za-z0-9-]{8,64}$/);
      expect(files.every((one) => one >= 3 && one <= 9)).toBe(true);
      expect(["a", "b", "c"]).toContain(kind);
    }
  });

  it("are made again by the same seed, and differ in one place once they are hostile", () => {
    const valid = (seed: number) => makeValid(schema, { random: randomFrom(seed), known: [], size: "small" });
    expect(valid(7)).toEqual(valid(7));
    const changed = Array.from({ length: 30 }, (_, seed) => {
      const hostile = makeHostile(valid(seed), randomFrom(seed + 1)) as object | null;
      return JSON.stringify(hostile) !== JSON.stringify(valid(seed));
    });
    expect(changed.filter(Boolean).length).toBeGreaterThan(25);
  });
});
