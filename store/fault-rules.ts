/**
 * Fault rules, with which tests script failures: which request, which attempt, which failure. A rule is plain data. An
 * invalid rule is refused with a sentence, and nothing is armed.
 */
import { OPERATIONS, type Operation } from "./route.ts";

/** Whether the store performs the request before the faulty answer. */
type Work = "done" | "skipped";

/** Action on a matched request. Byte counts refer to the body; `request` is the client's body, `response` the store's. */
export type FaultAction =
  /** Answers an S3 error (or a bare status) without performing the request. */
  | {
      readonly kind: "error";
      readonly status: number;
      readonly code: string;
      readonly body: "xml" | "empty" | "text";
      readonly retryAfterSeconds: number | undefined;
    }
  /** Resets the connection: at once, within or after the client's body, or in the answer. Only `response` does the work. */
  | {
      readonly kind: "reset";
      readonly at: "start" | "request" | "after-request" | "response";
      readonly afterBytes: number;
    }
  /** Performs the request, then resets the connection instead of answering. */
  | { readonly kind: "drop-response" }
  /** Stops reading or writing for `ms`, or until released. */
  | {
      readonly kind: "stall";
      readonly side: "request" | "response";
      readonly afterBytes: number;
      readonly ms: number | undefined;
    }
  /** Ends the answer early; `length` announces the full length, `close` none. */
  | { readonly kind: "truncate"; readonly afterBytes: number; readonly framing: "length" | "close" }
  /** Inverts one byte in transit. Stored data stays correct, unless the client's body is the one changed. */
  | { readonly kind: "flip"; readonly side: "request" | "response"; readonly offset: number }
  /** Answers 200 with an error document, with or without a final newline. */
  | { readonly kind: "error-in-200"; readonly code: string; readonly ending: "none" | "newline"; readonly work: Work }
  /** Answers 200 with a web page, as a captive portal does. */
  | { readonly kind: "html"; readonly work: Work }
  /** Answers 200 without a body. */
  | { readonly kind: "empty"; readonly work: Work }
  /** Removes the ETag header from the answer. */
  | { readonly kind: "no-etag" }
  /** Answers a ranged GET with 200 and the whole object. */
  | { readonly kind: "ignore-range" }
  /** Shifts the numbers of Content-Range. */
  | { readonly kind: "wrong-content-range"; readonly shiftBytes: number }
  /** Delays the request's work. */
  | { readonly kind: "delay"; readonly ms: number }
  /** Shifts the answer's Date header; `hide` removes it. */
  | { readonly kind: "date"; readonly shiftMs: number; readonly header: "show" | "hide" }
  /** Refuses requests while more than `above` are in flight. */
  | {
      readonly kind: "throttle";
      readonly above: number;
      readonly status: number;
      readonly code: string;
      readonly retryAfterSeconds: number | undefined;
    }
  /** Removes the upload first, so that the answer is NoSuchUpload. */
  | { readonly kind: "lose-upload" }
  /** Treats the signature or token as expired. */
  | { readonly kind: "expire" }
  /** Limits one direction's speed per connection. */
  | { readonly kind: "rate"; readonly side: "request" | "response"; readonly bytesPerSecond: number };

/** Requests that a rule matches, and its action. Undefined matches any request. */
export type FaultRule = {
  readonly id: string;
  readonly operations: readonly Operation[] | undefined;
  readonly bucket: string | undefined;
  /** Key pattern, where `*` stands for any text. */
  readonly keyPattern: string | undefined;
  readonly partNumber: number | undefined;
  /** Only the nth matching request of the same operation, key and part, counted from 1. */
  readonly attempt: number | undefined;
  /** Most times that the rule fires. */
  readonly times: number | undefined;
  /** 0 to 1; drawn from a generator seeded with `seed`. */
  readonly probability: number;
  readonly seed: number;
  readonly action: FaultAction;
};

/** Thrown for an invalid rule; the message says what to write instead. */
export class RuleProblem extends Error {}

type Fields = Readonly<Record<string, unknown>>;

function record(value: unknown, what: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new RuleProblem(`${what} must be a JSON object.`);
  }
  return value as Fields;
}

function onlyKnown(fields: Fields, known: readonly string[], what: string): void {
  const extra = Object.keys(fields).find((name) => !known.includes(name));
  if (extra !== undefined) throw new RuleProblem(`${what} has no field "${extra}"; it has ${known.join(", ")}.`);
}

function integer(fields: Fields, name: string, bounds: { readonly min: number; readonly fallback?: number }): number {
  const value = fields[name] ?? bounds.fallback;
  if (typeof value === "number" && Number.isInteger(value) && value >= bounds.min) return value;
  throw new RuleProblem(`"${name}" must be a whole number of at least ${bounds.min}.`);
}

function optionalInteger(fields: Fields, name: string, min: number): number | undefined {
  return fields[name] === undefined ? undefined : integer(fields, name, { min });
}

function text(fields: Fields, name: string, fallback?: string): string {
  const value = fields[name] ?? fallback;
  if (typeof value === "string" && value !== "") return value;
  throw new RuleProblem(`"${name}" must be a text.`);
}

function choice<T extends string>(fields: Fields, name: string, choices: readonly [T, ...T[]]): T {
  const value = fields[name] ?? choices[0];
  const found = choices.find((candidate) => candidate === value);
  if (found !== undefined) return found;
  throw new RuleProblem(`"${name}" must be one of ${choices.join(", ")}.`);
}

type ActionReader = (fields: Fields) => FaultAction;

const SIDES = ["response", "request"] as const;
const WORK = ["done", "skipped"] as const;

const ACTIONS: Readonly<
  Record<FaultAction["kind"], { readonly fields: readonly string[]; readonly read: ActionReader }>
> = {
  error: {
    fields: ["status", "code", "body", "retryAfterSeconds"],
    read: (fields) => ({
      kind: "error",
      status: integer(fields, "status", { min: 200, fallback: 503 }),
      code: text(fields, "code", "SlowDown"),
      body: choice(fields, "body", ["xml", "empty", "text"]),
      retryAfterSeconds: optionalInteger(fields, "retryAfterSeconds", 0),
    }),
  },
  reset: {
    fields: ["at", "afterBytes"],
    read: (fields) => ({
      kind: "reset",
      at: choice(fields, "at", ["start", "request", "after-request", "response"]),
      afterBytes: integer(fields, "afterBytes", { min: 0, fallback: 0 }),
    }),
  },
  "drop-response": { fields: [], read: () => ({ kind: "drop-response" }) },
  stall: {
    fields: ["side", "afterBytes", "ms"],
    read: (fields) => ({
      kind: "stall",
      side: choice(fields, "side", SIDES),
      afterBytes: integer(fields, "afterBytes", { min: 0, fallback: 0 }),
      ms: optionalInteger(fields, "ms", 0),
    }),
  },
  truncate: {
    fields: ["afterBytes", "framing"],
    read: (fields) => ({
      kind: "truncate",
      afterBytes: integer(fields, "afterBytes", { min: 0 }),
      framing: choice(fields, "framing", ["length", "close"]),
    }),
  },
  flip: {
    fields: ["side", "offset"],
    read: (fields) => ({
      kind: "flip",
      side: choice(fields, "side", SIDES),
      offset: integer(fields, "offset", { min: 0, fallback: 0 }),
    }),
  },
  "error-in-200": {
    fields: ["code", "ending", "work"],
    read: (fields) => ({
      kind: "error-in-200",
      code: text(fields, "code", "InternalError"),
      ending: choice(fields, "ending", ["none", "newline"]),
      work: choice(fields, "work", ["skipped", "done"]),
    }),
  },
  html: { fields: ["work"], read: (fields) => ({ kind: "html", work: choice(fields, "work", ["skipped", "done"]) }) },
  empty: { fields: ["work"], read: (fields) => ({ kind: "empty", work: choice(fields, "work", WORK) }) },
  "no-etag": { fields: [], read: () => ({ kind: "no-etag" }) },
  "ignore-range": { fields: [], read: () => ({ kind: "ignore-range" }) },
  "wrong-content-range": {
    fields: ["shiftBytes"],
    read: (fields) => ({
      kind: "wrong-content-range",
      shiftBytes: integer(fields, "shiftBytes", { min: Number.MIN_SAFE_INTEGER, fallback: 1 }),
    }),
  },
  delay: { fields: ["ms"], read: (fields) => ({ kind: "delay", ms: integer(fields, "ms", { min: 0 }) }) },
  date: {
    fields: ["shiftMs", "header"],
    read: (fields) => ({
      kind: "date",
      shiftMs: integer(fields, "shiftMs", { min: Number.MIN_SAFE_INTEGER, fallback: 0 }),
      header: choice(fields, "header", ["show", "hide"]),
    }),
  },
  throttle: {
    fields: ["above", "status", "code", "retryAfterSeconds"],
    read: (fields) => ({
      kind: "throttle",
      above: integer(fields, "above", { min: 0 }),
      status: integer(fields, "status", { min: 400, fallback: 503 }),
      code: text(fields, "code", "SlowDown"),
      retryAfterSeconds: optionalInteger(fields, "retryAfterSeconds", 0),
    }),
  },
  "lose-upload": { fields: [], read: () => ({ kind: "lose-upload" }) },
  expire: { fields: [], read: () => ({ kind: "expire" }) },
  rate: {
    fields: ["side", "bytesPerSecond"],
    read: (fields) => ({
      kind: "rate",
      side: choice(fields, "side", SIDES),
      bytesPerSecond: integer(fields, "bytesPerSecond", { min: 1 }),
    }),
  },
};

function readAction(value: unknown): FaultAction {
  const fields = record(value, "An action");
  const kinds = Object.keys(ACTIONS) as FaultAction["kind"][];
  const kind = kinds.find((candidate) => candidate === fields["kind"]);
  if (kind === undefined) throw new RuleProblem(`"kind" of an action must be one of ${kinds.join(", ")}.`);
  onlyKnown(fields, ["kind", ...ACTIONS[kind].fields], `The action "${kind}"`);
  return ACTIONS[kind].read(fields);
}

function readOperations(value: unknown): readonly Operation[] | undefined {
  if (value === undefined || value === "*") return undefined;
  const names: readonly unknown[] = Array.isArray(value) ? value : [value];
  return names.map((name) => {
    const found = OPERATIONS.find((operation) => operation === name);
    if (found === undefined) throw new RuleProblem(`"op" must be "*" or of ${OPERATIONS.join(", ")}.`);
    return found;
  });
}

const RULE_FIELDS = [
  "id",
  "op",
  "bucket",
  "keyPattern",
  "partNumber",
  "attempt",
  "times",
  "probability",
  "seed",
  "action",
];

/** Parses one rule from JSON; `fallbackId` is the id of a rule without one. Throws RuleProblem. */
export function readFaultRule(value: unknown, fallbackId: string): FaultRule {
  const fields = record(value, "A rule");
  onlyKnown(fields, RULE_FIELDS, "A rule");
  const probability = fields["probability"] ?? 1;
  if (typeof probability !== "number" || probability < 0 || probability > 1) {
    throw new RuleProblem('"probability" must be a number from 0 to 1.');
  }
  return {
    id: text(fields, "id", fallbackId),
    operations: readOperations(fields["op"]),
    bucket: fields["bucket"] === undefined ? undefined : text(fields, "bucket"),
    keyPattern: fields["keyPattern"] === undefined ? undefined : text(fields, "keyPattern"),
    partNumber: optionalInteger(fields, "partNumber", 1),
    attempt: optionalInteger(fields, "attempt", 1),
    times: optionalInteger(fields, "times", 1),
    probability,
    seed: integer(fields, "seed", { min: 0, fallback: 1 }),
    action: readAction(fields["action"]),
  };
}
