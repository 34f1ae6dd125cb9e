import type { Operation, SignedRequest } from "#protocol/wire/operations.ts";
import type { StoreAccess, RequestSource } from "./signing.ts";
import { DEFAULT_LIFETIME_MS, isPathAddressed, locateBucket, presignOperation } from "./signing.ts";
import { clockCorrectionMs, measureClock, sayClock, type ClockBounds } from "../answers/clock-skew.ts";
import { errorDocument, faultOfAnswer, namedRegion, type HttpAnswer } from "../answers/faults.ts";
import { endpointInRegion } from "../providers/provider-hosts.ts";
import { fixedCredential, type Credential, type CredentialSource } from "./sigv4.ts";
import { textOf } from "../answers/xml.ts";

/**
 * Request source of direct mode: the keys are in this process, so signing is a function call. It corrects itself from the
 * answers that it observes: clock offset, region, addressing style and expired keys. A new region changes the host only
 * by the provider's own pattern (`s3.REGION.amazonaws.com`). A new style only puts the bucket before the given host. It
 * never follows a location from an answer, so no signature reaches a foreign host.
 */
export interface DirectSource extends RequestSource {
  signNow(operation: Operation): SignedRequest | null;
  /**
   * Learns from one answer; call it for every answer. Times of the exchange are those of `Date.now`.
   * Returns "sign again" when earlier signatures are invalid (wrong clock, region or address style, or an expired key).
   * The caller then retries a refused request at once with new signatures.
   */
  observe(seen: ObservedAnswer): "as before" | "sign again";
  /** Returns the store's time, epoch ms, which dates signatures and their expiry. */
  now(): number;
  /** Returns the store's clock minus this machine's, at most, ms; negative when the store is behind. 0 while they may agree. */
  aheadMs(): number;
  /** The store that requests go to now: the given access with the region, endpoint and style learned since. */
  readonly access: StoreAccess;
  /** Returns for example `this machine's clock is 2 h ahead of the store's`, or null. */
  clockSentence(): string | null;
  /** Returns for example `the bucket is in the region eu-west-1, not in us-east-1`, or null. */
  regionSentence(): string | null;
  /** Returns for example `the store takes the bucket only before its host, as in training.s3.example.com`, or null. */
  styleSentence(): string | null;
}

export interface ObservedAnswer {
  answer: HttpAnswer;
  sentAtMs: number;
  receivedAtMs: number;
}

/** Smaller changes of the clock correction are measurement noise and are ignored. */
const SAME_CLOCK_MS = 30_000;

/** Returns an answer's time: its Date header or, where a refusal has none, the ServerTime of its error document. */
function dateOf(answer: HttpAnswer): string | undefined {
  const { date } = answer.headers;
  if (date !== undefined || answer.status < 400) return date;
  const element = errorDocument(answer.body);
  return element === null ? undefined : textOf(element, "ServerTime");
}

/** Error codes of stores that accept only virtual-host addressing: Alibaba OSS, Tencent COS, Huawei OBS, Volcengine TOS. */
const PATH_REFUSED: ReadonlySet<string | undefined> = new Set([
  "SecondLevelDomainForbidden",
  "PathStyleDomainForbidden",
  "VirtualHostDomainRequired",
  "InvalidPathAccess",
]);

/** Returns whether an answer refuses a request because of its path-style address. */
function refusesPath(answer: HttpAnswer): boolean {
  if (answer.status < 400) return false;
  const element = errorDocument(answer.body);
  return element !== null && PATH_REFUSED.has(textOf(element, "Code"));
}

export function createDirectSource(input: {
  access: StoreAccess;
  /** A fixed key, or a source that renews temporary keys. */
  credential: Credential | CredentialSource;
  now?: () => number;
  lifetimeMs?: number;
  /**
   * Whole objects are written only where none lies. It says nothing of parts that are joined: a store may keep to the condition
   * of a PUT and refuse that of a completion.
   */
  putsOnlyIfAbsent?: boolean;
}): DirectSource {
  const { now = Date.now, lifetimeMs = DEFAULT_LIFETIME_MS } = input;
  const keys = "fresh" in input.credential ? input.credential : fixedCredential(input.credential);
  let { access } = input;
  const given = access.region;
  let clock: ClockBounds | null = null;
  let correctionMs = 0;
  const regionsTried = new Set([access.region]);

  const learnClock = (seen: ObservedAnswer): boolean => {
    const { answer, sentAtMs, receivedAtMs } = seen;
    clock = measureClock(clock, { sentAtMs, receivedAtMs, date: dateOf(answer) });
    const wanted = clockCorrectionMs(clock);
    if (Math.abs(wanted - correctionMs) < SAME_CLOCK_MS) return false;
    correctionMs = wanted;
    return true;
  };
  const learnRegion = (answer: HttpAnswer): boolean => {
    const region = namedRegion(answer);
    if (region === null || region === access.region || regionsTried.has(region)) return false;
    regionsTried.add(region);
    access = { ...access, region, endpoint: endpointInRegion(access.endpoint, region) ?? access.endpoint };
    return true;
  };
  const learnStyle = (answer: HttpAnswer): boolean => {
    if (!refusesPath(answer) || !isPathAddressed(access)) return false;
    const asHost: StoreAccess = { ...access, addressing: "virtual-host" };
    // IP addresses, and buckets with dots under TLS, have no virtual-host style.
    if (isPathAddressed(asHost)) return false;
    access = asHost;
    return true;
  };
  const accessFor = ({ op }: Operation): StoreAccess =>
    op === "put" && input.putsOnlyIfAbsent === true
      ? { ...access, traits: { ...access.traits, conditionalWrites: true } }
      : access;
  const signWith = (credential: Credential, operation: Operation): SignedRequest =>
    presignOperation({ access: accessFor(operation), credential, operation, nowMs: now() + correctionMs, lifetimeMs });
  const isKeyOver = (answer: HttpAnswer): boolean =>
    answer.status >= 400 &&
    faultOfAnswer({ op: "sign", subject: "", answer }).code === "CREDENTIALS_EXPIRED" &&
    keys.ended();
  return {
    sign: async (operations) => {
      const credential = keys.now() ?? (await keys.fresh());
      return operations.map((operation) => signWith(credential, operation));
    },
    signNow: (operation) => {
      const credential = keys.now();
      return credential === null ? null : signWith(credential, operation);
    },
    observe: (seen) => {
      const isNewClock = learnClock(seen);
      const isNewRegion = learnRegion(seen.answer);
      const isNewStyle = learnStyle(seen.answer);
      const isNewKey = isKeyOver(seen.answer);
      return isNewClock || isNewRegion || isNewStyle || isNewKey ? "sign again" : "as before";
    },
    now: () => now() + correctionMs,
    aheadMs: () => (clock === null || (clock.leastMs <= 0 && clock.mostMs >= 0) ? 0 : clock.mostMs),
    get access() {
      return access;
    },
    clockSentence: () => sayClock(clock),
    regionSentence: () =>
      access.region === given ? null : `the bucket is in the region ${access.region}, not in ${given}`,
    styleSentence: () =>
      access.addressing === input.access.addressing
        ? null
        : `the store takes the bucket only before its host, as in ${new URL(locateBucket(access).origin).hostname}`,
  };
}
