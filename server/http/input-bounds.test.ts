import * as z from "zod";
import { describe, expect, it } from "vitest";
import { MOST_ISSUES } from "#protocol/base/bounded.ts";
import { inputsOf } from "../core/api/limit-issues.ts";
import { hubRouter } from "../router.ts";
import { BARE_MANIFEST } from "../testing/bare-manifest.ts";

/**
 * Everything that a caller sends has an end: no procedure reads an array, record, text or number of any size. The walk goes
 * through the schemas of the router itself, so a procedure that is added without bounds fails here.
 */

const LONGEST_TEXT = 16_384;
/** Texts that may be longer: an encrypted list of 50,000 sums and names, a pasted configuration, output of a job while somebody looks. */
const LONG_TEXTS =
  /^(node\.(commit|commitCopy)\.manifest\.transform\|2\.inside|node\.progress\.jobLog\.text|profiles\.readImport\.text|profiles\.\w+\.profile\.trustCa)$/;
const MOST_ELEMENTS = 50_000;
const MOST_ENTRIES = 256;

/** Fields whose text goes into the address of a request to a store; that of an advice is a name of the hub's own. */
const OF_ADDRESS = /^(?!advice\.).*\.(key|keys\[\]|uploadId|versionId|etag|prefix|nonce|startAfter|bucket|cursor)$/;
const HALF_A_PAIR = "a\ud800";

/** Whether a text that matches the pattern cannot be long: anchored at both ends, with no quantifier that is open. */
function isShortPattern({ source }: RegExp): boolean {
  const withoutClasses = source.replaceAll(/\[(?:\\.|[^\]\\])*\]/g, "c").replaceAll(/\\./g, "c");
  return source.startsWith("^") && source.endsWith("$") && !/[*+]|\{\d+,\}/.test(withoutClasses);
}

const checksOf = (schema: z.core.$ZodType): z.core.$ZodChecks[] =>
  (schema._zod.def.checks ?? []).map((check) => check as z.core.$ZodChecks);

function mostOf(schema: z.core.$ZodType): number {
  const limits = checksOf(schema).flatMap(({ _zod: { def } }) => {
    if (def.check === "max_length") return [def.maximum];
    return def.check === "length_equals" ? [def.length] : [];
  });
  return Math.min(Infinity, ...limits);
}

function whyTextUnbounded(schema: z.core.$ZodType): string[] {
  const isShort = checksOf(schema).some(({ _zod: { def } }) => {
    const pattern: unknown = Reflect.get(def, "pattern");
    return pattern instanceof RegExp && isShortPattern(pattern);
  });
  return isShort || mostOf(schema) <= LONGEST_TEXT ? [] : ["a text of any length"];
}

function whyNumberUnbounded(schema: z.core.$ZodType): string[] {
  if (!(schema instanceof z.ZodNumber)) return ["a number of any size"];
  const most = schema.format === null ? 1e100 : Number.MAX_SAFE_INTEGER - 1;
  const isBounded = (value: number | null): boolean => value !== null && Math.abs(value) <= most;
  return isBounded(schema.minValue) && isBounded(schema.maxValue) ? [] : ["a number of any size"];
}

/** Where a schema has no end: one line for each place. */
function unboundedIn(schema: z.core.$ZodType, at: string, depth = 0): string[] {
  if (depth > 30) return [`${at}: nested without end`];
  const below = (inner: z.core.$ZodType, name: string) => unboundedIn(inner, `${at}${name}`, depth + 1);
  const here = (reasons: readonly string[]) => reasons.map((reason) => `${at}: ${reason}`);
  const known = schema as z.core.$ZodTypes;
  const { def } = known._zod;
  switch (def.type) {
    case "object":
      return [
        ...Object.entries(def.shape).flatMap(([name, inner]) => below(inner, `.${name}`)),
        ...(def.catchall === undefined || def.catchall._zod.def.type === "never"
          ? []
          : here(["unknown fields are kept"])),
      ];
    case "array": {
      const isBounded = mostOf(schema) <= MOST_ELEMENTS;
      return [...(isBounded ? [] : here(["an array of any length"])), ...below(def.element, "[]")];
    }
    case "tuple":
      return [
        ...(def.rest === null ? [] : here(["a tuple of any length"])),
        ...def.items.flatMap((inner, index) => below(inner, `[${index}]`)),
      ];
    case "record": {
      const most = z.globalRegistry.get(schema)?.["maxProperties"];
      const isBounded = typeof most === "number" && most <= MOST_ENTRIES;
      return [
        ...(isBounded ? [] : here(["a record of any size"])),
        ...below(def.keyType, "{key}"),
        ...below(def.valueType, "{value}"),
      ];
    }
    case "string":
      return [
        ...(LONG_TEXTS.test(at) && mostOf(schema) < Infinity ? [] : here(whyTextUnbounded(schema))),
        ...(OF_ADDRESS.test(at.replaceAll(/\|\d+/g, "")) && z.safeParse(schema, HALF_A_PAIR).success
          ? here(["an address that cannot be written"])
          : []),
      ];
    case "number":
      return here(whyNumberUnbounded(schema));
    case "union":
      return def.options.flatMap((inner, index) => below(inner, `|${index}`));
    case "optional":
    case "nullable":
    case "default":
    case "prefault":
    case "nonoptional":
    case "readonly":
    case "catch":
      return below(def.innerType, "");
    case "pipe":
      return below(def.in, "");
    case "intersection":
      return [...below(def.left, ""), ...below(def.right, "")];
    case "boolean":
    case "literal":
    case "enum":
    case "null":
    case "undefined":
    case "void":
      return [];
    default:
      return here([`a ${def.type}, of which nobody knows how large it is`]);
  }
}

const inputs = inputsOf(hubRouter)
  .entries()
  .flatMap(([schema, paths]) => paths.map((path) => ({ path, schema })))
  .toArray();

describe("the inputs of all procedures", () => {
  it("are found by the walk", () => {
    expect(inputs.length).toBeGreaterThan(130);
  });

  it.each(inputs)("$path: every array, record, text and number is bounded", ({ path, schema }) => {
    expect(unboundedIn(schema, path)).toEqual([]);
  });

  it.each([
    ["an array", z.object({ all: z.array(z.boolean()) })],
    ["an array of too many", z.object({ all: z.array(z.boolean()).max(1_000_000) })],
    ["a record", z.record(z.string().max(8), z.boolean())],
    ["a text", z.object({ one: z.string().nullable() })],
    ["a key of half a character", z.object({ key: z.string().max(9) })],
    ["a text with an open pattern", z.string().regex(/^[a-z]+$/)],
    ["an integer", z.number().int().min(0)],
    ["a number without a least one", z.number().max(9)],
    ["what is not known", z.unknown()],
    ["fields that are not named", z.looseObject({})],
  ])("would not pass with %s without an end", (_, schema) => {
    expect(unboundedIn(schema, "here")).toHaveLength(1);
  });
});

const schemaOf = (path: string): z.ZodType => {
  const schema = inputs.find((input) => input.path === path)?.schema;
  if (schema === undefined) throw new Error(`no procedure ${path}`);
  return schema;
};

const many = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const FACTS = {
  hostname: "a",
  platform: "linux",
  cpus: 1,
  memoryBytes: 1,
  gpu: null,
  machineId: null,
  workerVersion: "1",
};
const file = (index: number) => ({ path: `f${index}`, sizeBytes: 2, mtimeMs: 0, sha256: null, extents: [] });

describe("of a hostile input", () => {
  it.each([
    ["node.enrol", "labels that are bad", { labels: Object.fromEntries(many(100_000).map((name) => [`l${name}`, 1])) }],
    [
      "node.enrol",
      "a few labels that are bad",
      { labels: Object.fromEntries(many(60).map((name) => [`l${name}`, 1])) },
    ],
  ])("%s makes at most 20 issues of %s", (path, _, facts) => {
    const input = { token: "x".repeat(32), name: "a", protocol: 1, facts: { ...FACTS, ...facts } };
    const { error } = schemaOf(path).safeParse(input);
    expect(error?.issues.length).toBeGreaterThan(0);
    expect(error?.issues.length).toBeLessThanOrEqual(MOST_ISSUES);
  });

  it.each([
    ["files that are no files", { files: many(50_000).map(() => ({})) }],
    ["more files than there may be", { files: many(50_001).map(() => ({})) }],
    ["files of which the extents are missing", { files: many(50_000).map(file) }],
    [
      "files that are frames and the manifest does not say so",
      {
        files: many(1_000).map((index) => ({
          ...file(index),
          extents: [
            { key: "k", offset: 0, length: 2, crc32: "00000000", etag: "e", stored: { length: 1, crc32: "00000000" } },
          ],
        })),
        sizeBytes: 2_000,
      },
    ],
    [
      "metrics that are no numbers",
      { files: [file(0)], metrics: Object.fromEntries(many(200).map((name) => [name, "x"])) },
    ],
    ["metrics without end", { files: [file(0)], metrics: Object.fromEntries(many(100_000).map((name) => [name, 1])) }],
    ["nothing but what is unknown", Object.fromEntries(many(10_000).map((name) => [name, name]))],
  ])("node.commit makes at most 20 issues of %s", (_, changed) => {
    const { error } = schemaOf("node.commit").safeParse({ manifest: { ...BARE_MANIFEST, ...changed } });
    expect(error?.issues.length).toBeGreaterThan(0);
    expect(error?.issues.length).toBeLessThanOrEqual(MOST_ISSUES);
  });

  it("a manifest of 50,000 files that is good still passes", () => {
    const files = many(50_000).map((index) => ({
      ...file(index),
      extents: [{ key: `k${index}`, offset: 0, length: 2, crc32: "00000000", etag: "e" }],
    }));
    const input = { manifest: { ...BARE_MANIFEST, files, sizeBytes: 100_000 } };
    expect(schemaOf("node.commit").safeParse(input).error).toBeUndefined();
  });
});
