/**
 * Generates inputs of a JSON schema from a seed: valid in shape with at most one hostile value. They therefore get as far into
 * the hub as possible. Known names are used where their format fits.
 */

export interface JsonSchema {
  type?: string;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly JsonSchema[];
  oneOf?: readonly JsonSchema[];
  allOf?: readonly JsonSchema[];
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  items?: JsonSchema | boolean;
  minItems?: number;
  maxItems?: number;
  additionalProperties?: JsonSchema | boolean;
  propertyNames?: JsonSchema;
  maxProperties?: number;
  pattern?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
}

export type Random = () => number;

/** Returns a seeded random generator: mulberry32. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface Maker {
  random: Random;
  /** Texts known to the hub: ids, runs, paths. */
  known: readonly string[];
  /** Number of elements in arrays. */
  size: "small" | "full";
}

const pick = <T>(random: Random, among: readonly T[]): T | undefined => among[Math.floor(random() * among.length)];

/** One example of each text format that the router accepts. */
const FORMS: readonly string[] = [
  "abcdefgh-1234",
  "llama",
  "llama-*",
  "0badf00d",
  "a".repeat(64),
  "b".repeat(32),
  "abcdefghijkl",
  "us-east-1",
  "07:30",
  "folder/",
  "somebody@example.com",
  "http://127.0.0.1:9/",
  "EUR",
  "1-2",
  ">",
  "arn:aws:iam::1:role/a",
  "A".repeat(43),
  "model.safetensors",
];

function textOf(schema: JsonSchema, { random, known }: Maker): string {
  const pattern = schema.pattern === undefined ? null : new RegExp(schema.pattern, "u");
  const fits = (text: string) =>
    text.length >= (schema.minLength ?? 0) &&
    text.length <= (schema.maxLength ?? Infinity) &&
    (pattern === null || pattern.test(text)) &&
    (schema.format !== "email" || text.includes("@")) &&
    (schema.format !== "uri" || URL.canParse(text));
  const fitting = known.filter(fits);
  if (fitting.length > 0 && random() < 0.7) return pick(random, fitting) ?? "";
  return pick(random, FORMS.filter(fits)) ?? "x".repeat(Math.max(1, schema.minLength ?? 1));
}

function numberOf({ type, minimum = 0, maximum = 1e6 }: JsonSchema, random: Random): number {
  const edge = pick(random, [minimum, maximum, Math.min(maximum, minimum + 1), Math.min(maximum, 1_000)]) ?? 0;
  return type === "integer" ? Math.floor(edge) : edge;
}

/** Returns a random value that conforms to the schema. */
export function makeValid(schema: JsonSchema | boolean, maker: Maker): unknown {
  const { random } = maker;
  if (typeof schema === "boolean") return null;
  if ("const" in schema) return schema.const;
  if (schema.enum !== undefined) return pick(random, schema.enum);
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches !== undefined) {
    const branch = pick(random, branches);
    return branch === undefined ? null : makeValid(branch, maker);
  }
  if (schema.allOf !== undefined) {
    return Object.assign({}, ...schema.allOf.map((part) => makeValid(part, maker))) as object;
  }
  switch (schema.type) {
    case "object":
      return makeObject(schema, maker);
    case "array": {
      const { items = {}, minItems = 0, maxItems = 8 } = schema;
      const length = maker.size === "full" ? maxItems : Math.min(maxItems, minItems + Math.floor(random() * 3));
      return Array.from({ length }, () => makeValid(items, { ...maker, size: "small" }));
    }
    case "string":
      return textOf(schema, maker);
    case "integer":
    case "number":
      return numberOf(schema, random);
    case "boolean":
      return random() < 0.5;
    default:
      return null;
  }
}

function makeObject(schema: JsonSchema, maker: Maker): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    if (schema.required?.includes(name) !== true && maker.random() < 0.4) continue;
    made[name] = makeValid(inner, maker);
  }
  if (schema.maxProperties !== undefined && typeof schema.additionalProperties === "object") {
    const count = maker.size === "full" ? schema.maxProperties : 1;
    for (let index = 0; index < count; index++) made[`k${index}`] = makeValid(schema.additionalProperties, maker);
  }
  return made;
}

const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
};

/** Replacements for one value. None exceeds 2 MB, so that the fuzzer itself stays fast. */
const HOSTILE: readonly (() => unknown)[] = [
  () => null,
  () => "",
  () => "x".repeat(20_000),
  () => "x".repeat(2_000_000),
  () => "\u0000\u001b[2J\u202e\ud800../../etc/passwd",
  () => "__proto__",
  () => "a".repeat(30_000) + "!",
  () => Number.MAX_SAFE_INTEGER,
  () => 1.7e308,
  () => -1.7e308,
  () => -1,
  () => 0.5,
  () => 2 ** 31,
  () => nested(3_000),
  () => Array.from({ length: 200_000 }, () => ({})),
  () => Array.from({ length: 300_000 }, (_, index) => index),
  () => Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, "x"])),
  () => JSON.parse('{"__proto__":{"a":1},"constructor":{"prototype":{"a":1}}}') as unknown,
  () => true,
];

/** Returns the properties below a value with their holders; limited in number, so that the search is cheap. */
function placesIn(value: unknown): { holder: object; name: string }[] {
  const found: { holder: object; name: string }[] = [];
  const walk = (inner: unknown): void => {
    if (typeof inner !== "object" || inner === null || found.length > 500) return;
    for (const name of Object.keys(inner).slice(0, 50)) {
      found.push({ holder: inner, name });
      walk(Reflect.get(inner, name));
    }
  };
  walk(value);
  return found;
}

/** Returns the value with one part replaced by something hostile; sometimes the whole value is replaced. */
export function makeHostile(value: unknown, random: Random): unknown {
  const hostile = pick(random, HOSTILE)?.();
  const place = pick(random, placesIn(value));
  if (place === undefined || random() < 0.05) return hostile;
  Reflect.set(place.holder, place.name, hostile);
  return value;
}
