import type { Operation, SignedRequest } from "#protocol/wire/operations.ts";
import type { StoreAccess, RequestSource } from "./signing.ts";
import { DEFAULT_LIFETIME_MS, isPathAddressed, locateBucket, presignOperation } from "./signing.ts";
import { clockCorrectionMs, measureClock, sayClock, type ClockBounds } from "../answers/clock-skew.ts";
import { errorDocument, faultOfAnswer, namedRegion, type HttpAnswer } from "../answers/faults.ts";
import { endpointInRegion } from "../providers/provider-hosts.ts";
import { fixedCredential, type Credential, type CredentialSource } from "./sigv4.ts";
import { textOf } from "../answers/xml.ts";

/**
 * Direct mode: the keys are here, so signing is a function call. The source learns from every answer it is shown: the
 * store's clock, the region that the store names when it was asked in the wrong one, and that it takes no bucket in the path.
 * A region changes the host only by the provider's own pattern (`s3.REGION.amazonaws.com`), and a bucket stands before the host
 * that was given; a temporary key that the store calls expired is replaced. What an answer says as a location is never followed,
 * so a signature can never go to a stranger.
 */
export interface DirectSource extends RequestSource {
  signNow(operation: Operation): SignedRequest | null;
  /**
   * Shown every answer, with the times of its exchange by `Date.now`. "sign again": what was signed before this moment
   * is worth nothing (the clock was wrong, the region, or the style of addresses), so a refusal is to be tried again at once with new signatures.
   */
  observe(seen: ObservedAnswer): "as before" | "sign again";
  /** The store's time, epoch ms: what signatures are dated by and expire by. */
  now(): number;
  /** How far the store's clock is before this machine's, at most, ms; below 0 where it is behind. 0 where they may be the same. */
  aheadMs(): number;
  /** Where requests go now: `access` with the region, endpoint and style that were found out. */
  readonly access: StoreAccess;
  /** `this machine's clock is 2 h ahead of the store's`, or null. */
  clockSentence(): string | null;
  /** `the bucket is in the region eu-west-1, not in us-east-1`, or null. */
  regionSentence(): string | null;
  /** `the store takes the bucket only before its host, as in training.s3.example.com`, or null. */
  styleSentence(): string | null;
}

export interface ObservedAnswer {
  answer: HttpAnswer;
  sentAtMs: number;
  receivedAtMs: number;
}

/** A correction that moves by less is the noise of measuring. */
const SAME_CLOCK_MS = 30_000;

/** A store that hides its Date says the time in the document of the refusal. */
function dateOf(answer: HttpAnswer): string | undefined {
  const { date } = answer.headers;
  if (date !== undefined || answer.status < 400) return date;
  const element = errorDocument(answer.body);
  return element === null ? undefined : textOf(element, "ServerTime");
}

/** Codes of stores that take a bucket before their host only: Alibaba OSS, Tencent COS, Huawei OBS, Volcengine TOS. */
const PATH_REFUSED: ReadonlySet<string | undefined> = new Set([
  "SecondLevelDomainForbidden",
  "PathStyleDomainForbidden",
  "VirtualHostDomainRequired",
  "InvalidPathAccess",
]);

/** Whether an answer refuses a request because the bucket stood in its path. */
function refusesPath(answer: HttpAnswer): boolean {
  if (answer.status < 400) return false;
  const element = errorDocument(answer.body);
  return element !== null && PATH_REFUSED.has(textOf(element, "Code"));
}

export function createDirectSource(input: {
  access: StoreAccess;
  /** One key, or a source that renews temporary ones. */
  credential: Credential | CredentialSource;
  now?: () => number;
  lifetimeMs?: number;
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
    // An address of digits, and a bucket with dots under TLS, have no other style.
    if (isPathAddressed(asHost)) return false;
    access = asHost;
    return true;
  };
  const signWith = (credential: Credential, operation: Operation): SignedRequest =>
    presignOperation({ access, credential, operation, nowMs: now() + correctionMs, lifetimeMs });
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
