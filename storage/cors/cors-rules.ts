import { hash } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";
import type { CorsRuleView } from "#protocol/wire/profiles.ts";
import { CHECKSUM_HEADER, NONCE_HEADER } from "../signing/signing.ts";

/**
 * Plans the CORS rules of a bucket, as data. A store applies the first rule that matches, so ours comes first. Behind a
 * broader rule that exposes fewer headers, a page could send bytes but not read their ETag. Our rule names one exact
 * origin, so it affects no other page. All other rules keep their content and order. Pure.
 */

/** Methods that transfers use. */
const METHODS = ["GET", "HEAD", "PUT", "POST", "DELETE"];

/** Headers of signed requests that a page may have to set. */
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

/** Response headers that a page must read. Listed by name, because S3 accepts no `*` here. */
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
/** Limit of the S3 protocol. */
const MOST_RULES = 100;

/** Returns the rule that allows pages of an origin. */
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

/** Returns whether a page of this origin may use every method and read the needed headers, by the first matching rule each. */
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

/** Returns whether two lists of rules mean the same, ignoring ids and letter case, which stores may change. */
export const sameRules = (one: readonly CorsRuleView[], other: readonly CorsRuleView[]): boolean =>
  one.length === other.length && one.every((rule, index) => canonical(rule) === canonical(other[index] ?? rule));

/**
 * Returns whether a rule is an earlier version of ours: by id or, as some stores drop ids, by content. By content it
 * names only this origin and allows nothing that our new rule does not. Any other rule for this origin belongs to the
 * user and stays.
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
 * Plans the rules that allow pages of `origin` and change nothing for other origins.
 * @throws Fault BAD_INPUT when the bucket already has the maximum number of rules
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

/** Returns a digest of a list of rules. It shows whether the rules changed between planning and writing. */
export const digestOf = (rules: readonly CorsRuleView[]): string =>
  hash("sha256", JSON.stringify(rules.map((rule) => [rule.id, canonical(rule)])));
