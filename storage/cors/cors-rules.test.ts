import { describe, expect, test } from "vitest";
import type { CorsRuleView } from "#protocol/wire/profiles.ts";
import { digestOf, letsIn, planCors, ruleFor, sameRules } from "./cors-rules.ts";

const ORIGIN = "https://hub.example.com";
const rule = (changes: Partial<CorsRuleView> = {}): CorsRuleView => ({
  id: null,
  origins: ["https://other.example.com"],
  methods: ["GET"],
  headers: ["*"],
  exposed: ["ETag"],
  maxAgeSeconds: 60,
  ...changes,
});

describe("a plan", () => {
  test("puts our rule first and leaves every other where it is", () => {
    const others = [rule(), rule({ origins: ["*"], exposed: [] })];
    const plan = planCors(others, ORIGIN);
    expect(plan.wanted).toEqual([ruleFor(ORIGIN), ...others]);
    expect([plan.added, plan.removed, plan.isInPlace]).toEqual([[ruleFor(ORIGIN)], [], false]);
    expect(letsIn(others, ORIGIN)).toBe(false);
    expect(letsIn(plan.wanted, ORIGIN)).toBe(true);
  });

  test("changes nothing a second time, also where the store dropped the id and changed the case", () => {
    const { wanted } = planCors([rule()], ORIGIN);
    expect(planCors(wanted, ORIGIN).isInPlace).toBe(true);
    const stored = wanted.map((one) => ({ ...one, id: null, exposed: one.exposed.map((name) => name.toLowerCase()) }));
    expect(planCors(stored, ORIGIN).isInPlace).toBe(true);
  });

  test("replaces an older rule of ours, and not one for our address that allows something else", () => {
    const old = rule({ origins: [ORIGIN], headers: ["range"] });
    const own = rule({ origins: [ORIGIN], headers: ["x-their-header"] });
    const plan = planCors([own, old], ORIGIN);
    expect(plan.removed).toEqual([old]);
    expect(plan.wanted).toEqual([ruleFor(ORIGIN), own]);
  });

  test("names one exact origin and no star", () => {
    const { origins, methods, headers, exposed } = ruleFor(ORIGIN);
    expect(origins).toEqual([ORIGIN]);
    expect([...methods, ...headers, ...exposed].some((one) => one.includes("*"))).toBe(false);
  });

  test("is refused with a sentence where a bucket can take no more", () => {
    const full = Array.from({ length: 100 }, (_, index) => rule({ origins: [`https://${index}.example.com`] }));
    expect(() => planCors(full, ORIGIN)).toThrow(/can have 100; remove one/);
  });
});

describe("whether a page is let in", () => {
  test("goes by the first rule that fits, as stores do", () => {
    const broad = rule({ origins: ["https://*.example.com"], methods: ruleFor(ORIGIN).methods, exposed: [] });
    expect(letsIn([broad, ruleFor(ORIGIN)], ORIGIN)).toBe(false);
    expect(letsIn([ruleFor(ORIGIN), broad], ORIGIN)).toBe(true);
  });

  test("asks for every method and header that transfers send", () => {
    const ours = ruleFor(ORIGIN);
    for (const method of ours.methods) {
      expect(letsIn([{ ...ours, methods: ours.methods.filter((one) => one !== method) }], ORIGIN), method).toBe(false);
    }
    for (const header of ours.headers) {
      expect(letsIn([{ ...ours, headers: ours.headers.filter((one) => one !== header) }], ORIGIN), header).toBe(false);
    }
  });
});

test("rules are told apart by all that they say", () => {
  expect(sameRules([rule()], [rule()])).toBe(true);
  expect(sameRules([rule()], [rule(), rule()])).toBe(false);
  for (const changes of [{ origins: ["*"] }, { methods: ["PUT"] }, { headers: [] }, { maxAgeSeconds: null }]) {
    expect(digestOf([rule(changes)])).not.toBe(digestOf([rule()]));
  }
});
