/**
 * Matches fault rules to requests reproducibly. Matching depends only on the rules, the order of requests and the seeds:
 * every rule has its own random generator.
 */
import type { FaultAction, FaultRule } from "./fault-rules.ts";
import type { Operation } from "./route.ts";

/** Request properties that rules match. */
export type RequestFacts = {
  readonly operation: Operation;
  readonly bucket: string;
  readonly key: string;
  readonly partNumber: number | undefined;
};

/** A rule that fires for a request. */
export type FiredFault = { readonly id: string; readonly action: FaultAction };

/** The armed rules. All rules that match a request fire, in the order in which they were added. */
export type FaultBook = {
  readonly add: (rule: FaultRule) => void;
  readonly remove: (id: string) => "removed" | "unknown";
  readonly clear: () => void;
  readonly list: () => readonly (FaultRule & { readonly fired: number })[];
  readonly match: (facts: RequestFacts) => readonly FiredFault[];
};

/** Returns a deterministic generator of numbers from 0 (inclusive) to 1 (exclusive), mulberry32. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Returns whether a text matches a pattern in which `*` stands for any text. */
export function fitsPattern(pattern: string, text: string): boolean {
  const quoted = pattern.split("*").map((piece) => piece.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${quoted.join("[\\s\\S]*")}$`).test(text);
}

type Armed = {
  readonly rule: FaultRule;
  readonly random: () => number;
  readonly seen: Map<string, number>;
  fired: number;
};

function concerns(rule: FaultRule, facts: RequestFacts): boolean {
  return (
    (rule.operations === undefined || rule.operations.includes(facts.operation)) &&
    (rule.bucket === undefined || rule.bucket === facts.bucket) &&
    (rule.keyPattern === undefined || fitsPattern(rule.keyPattern, facts.key)) &&
    (rule.partNumber === undefined || rule.partNumber === facts.partNumber)
  );
}

function fires(armed: Armed, facts: RequestFacts): boolean {
  const { rule } = armed;
  if (!concerns(rule, facts)) return false;
  const target = JSON.stringify([facts.operation, facts.bucket, facts.key, facts.partNumber]);
  const attempt = (armed.seen.get(target) ?? 0) + 1;
  armed.seen.set(target, attempt);
  if (rule.attempt !== undefined && rule.attempt !== attempt) return false;
  if (rule.times !== undefined && armed.fired >= rule.times) return false;
  return rule.probability >= 1 || armed.random() < rule.probability;
}

/** Returns an empty fault book. */
export function openFaultBook(): FaultBook {
  const armed = new Map<string, Armed>();
  return {
    add: (rule) => {
      armed.set(rule.id, { rule, random: seededRandom(rule.seed), seen: new Map(), fired: 0 });
    },
    remove: (id) => (armed.delete(id) ? "removed" : "unknown"),
    clear: () => armed.clear(),
    list: () => [...armed.values()].map(({ rule, fired }) => ({ ...rule, fired })),
    match: (facts) => {
      const fired: FiredFault[] = [];
      for (const entry of armed.values()) {
        if (!fires(entry, facts)) continue;
        entry.fired += 1;
        fired.push({ id: entry.rule.id, action: entry.rule.action });
      }
      return fired;
    },
  };
}
