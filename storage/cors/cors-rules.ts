import { hash } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";
import type { CorsRuleView } from "#protocol/wire/profiles.ts";
import { CHECKSUM_HEADER, NONCE_HEADER } from "../signing/signing.ts";

/**
 * The cross-origin rules of a bucket, as data. A store answers a browser by the first rule that fits, so ours stands first:
 * behind a broader one that exposes less, a page could send bytes but not read their ETag. Ours names one exact origin, so
 * it takes nothing from anybody else. Foreign rules are kept as they are, in their order. Pure.
 */

/** What the operations of transfers are sent as. */
const METHODS = ["GET", "HEAD", "PUT", "POST", "DELETE"];

/** What signed requests carry and a page may set. */
export const SENT_HEADERS: readonly string[] = [
  "content-type",
  "content-md5",
  "range",
  "if-match",
  "if-none-match",
  CHECKSUM_HEADER,
  "x-amz-checksum-algorithm",
  NONCE_HEADER,
];

const CHECKSUMS = ["crc32", "crc32c", "crc64nvme", "sha1", "sha256", "type"];

/** What a page has to read. By name each: S3 takes no star here. */
const EXPOSED: readonly string[] = [
  "ETag",
  "Content-Range",
  "Content-Length",
  "Accept-Ranges",
  "Date",
  "Retry-After",
  "x-amz-request-id",
  "x-amz-id-2",
  NONCE_HEADER,
  ...CHECKSUMS.map((name) => `x-amz-checksum-${name}`),
];

const MAX_AGE_SECONDS = 3600;
/** By the protocol. */
const MOST_RULES = 100;

/** The rule that lets these pages in. */
export const ruleFor = (origin: string): CorsRuleView => ({
  id: `tidemark-${hash("sha256", origin).slice(0, 12)}`,
  origins: [origin],
  methods: METHODS,
  headers: [...SENT_HEADERS],
  exposed: [...EXPOSED],
  maxAgeSeconds: MAX_AGE_SECONDS,
});

function fits(pattern: string, text: string): boolean {
  const star = pattern.indexOf("*");
  if (star < 0) return pattern === text;
  const [head, tail] = [pattern.slice(0, star), pattern.slice(star + 1)];
  return text.length >= head.length + tail.length && text.startsWith(head) && text.endsWith(tail);
}

const lower = (list: readonly string[]): string[] => list.map((one) => one.toLowerCase());
const includesAll = (list: readonly string[], wanted: readonly string[]): boolean =>
  lower(wanted).every((one) => lower(list).includes(one));

function allows(rule: CorsRuleView, origin: string, method: string): boolean {
  return (
    rule.methods.includes(method) &&
    rule.origins.some((pattern) => fits(pattern, origin)) &&
    SENT_HEADERS.every((header) => lower(rule.headers).some((pattern) => fits(pattern, header)))
  );
}

/** Whether a page of this origin may do every operation and read what it must: by the first rule that fits each. */
export const letsIn = (rules: readonly CorsRuleView[], origin: string): boolean =>
  METHODS.every((method) => {
    const rule = rules.find((one) => allows(one, origin, method));
    return rule !== undefined && includesAll(rule.exposed, ["ETag", "Content-Range", CHECKSUM_HEADER]);
  });

const canonical = (rule: CorsRuleView) =>
  JSON.stringify([
    rule.origins.toSorted(),
    rule.methods.toSorted(),
    lower(rule.headers).toSorted(),
    lower(rule.exposed).toSorted(),
    rule.maxAgeSeconds,
  ]);

/** Whether two lists of rules mean the same, whatever a store makes of their ids and of upper and lower case. */
export const sameRules = (one: readonly CorsRuleView[], other: readonly CorsRuleView[]): boolean =>
  one.length === other.length && one.every((rule, index) => canonical(rule) === canonical(other[index] ?? rule));

/**
 * Ours from before: by its id, or, as some stores drop those, by naming this origin alone and giving nothing that the new
 * one does not give. A rule for this origin that allows anything else is somebody's own and stays.
 */
function isOurs(rule: CorsRuleView, ours: CorsRuleView): boolean {
  if (rule.id !== null && rule.id === ours.id) return true;
  const isAlone = rule.origins.length === 1 && rule.origins[0] === ours.origins[0];
  return (
    isAlone &&
    includesAll(ours.methods, rule.methods) &&
    includesAll(ours.headers, rule.headers) &&
    includesAll(ours.exposed, rule.exposed)
  );
}

export interface CorsPlan {
  present: CorsRuleView[];
  wanted: CorsRuleView[];
  added: CorsRuleView[];
  removed: CorsRuleView[];
  isInPlace: boolean;
}

/**
 * What to write so that the pages of `origin` are let in and everybody else stays as they are.
 * @throws Fault BAD_INPUT when the bucket has as many rules as it can have
 */
export function planCors(present: readonly CorsRuleView[], origin: string): CorsPlan {
  const ours = ruleFor(origin);
  const foreign = present.filter((rule) => !isOurs(rule, ours));
  const wanted = [ours, ...foreign];
  const isInPlace = sameRules(present, wanted);
  if (wanted.length > MOST_RULES) {
    const detail = `the bucket has ${present.length} CORS rules already and can have ${MOST_RULES}; remove one`;
    throw new Fault("BAD_INPUT", { op: "plan CORS", detail });
  }
  return {
    present: [...present],
    wanted: isInPlace ? [...present] : wanted,
    added: isInPlace ? [] : [ours],
    removed: isInPlace ? [] : present.filter((rule) => isOurs(rule, ours)),
    isInPlace,
  };
}

/** Names a list of rules, so that a plan made on one is not carried out on another. */
export const digestOf = (rules: readonly CorsRuleView[]): string =>
  hash("sha256", JSON.stringify(rules.map((rule) => [rule.id, canonical(rule)])));
