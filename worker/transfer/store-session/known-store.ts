import type { ChecksumMemory, StoreChecksum } from "#protocol/wire/store-checksum.ts";
import type { StoreTraits } from "#protocol/wire/operations.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import type { DirectSource, ObservedAnswer } from "#storage/signing/direct-source.ts";
import {
  afterChecksumAnswer,
  rememberedChecksum,
  sayUnchecked,
  startChecksumProbe,
  type ProbeVerdict,
  type SentRequest,
} from "#storage/profile-test/probe-traits.ts";

/**
 * Learns from every answer which checksum the store accepts, its time, and its region. Findings apply to all later requests.
 * Findings that a person should know are reported once.
 */
export interface KnownStore {
  /** Checksum for the next Create, part or object. */
  readonly checksum: StoreChecksum;
  /** Returns whether the store verifies bytes with this checksum; then they need not be summed again while they are sent. */
  compares(checksum: StoreChecksum): boolean;
  /** Incremented when all earlier signatures are void: made by a wrong clock, or for a wrong region. */
  readonly signedFor: number;
  /** Learns from an answer. Returns whether requests must be signed again. */
  observe(seen: ObservedAnswer): "as before" | "sign again";
  /** Returns what follows from the answer to a Create, a part or an object. `url`: only its scheme counts. */
  judge(sent: SentRequest, answer: HttpAnswer, url: string): ProbeVerdict;
  /** Returns whether a refusal for the clock's sake may be the mistake of one server. Counts the calls: one per refusal. */
  doubtsSkew(): boolean;
  /** Whether equal bytes have equal ETags here; null while unknown. */
  readonly hasEqualEtags: boolean | null;
  /** Returns true once, while `hasEqualEtags` is unknown: that caller compares one ETag with the MD5 and calls `seeEtag`. */
  wantsEtag(): boolean;
  /** Records whether an ETag equals the MD5 of its object. `etag`: as in answers, with its quotes. */
  seeEtag(etag: string, md5: string): void;
  /** Returns the checksum that the next transfer should begin with; null while nothing is certain. */
  found(nowMs: number): ChecksumMemory | null;
  /** Called with each finding that a person should know, once. */
  onSay: ((sentence: string) => void) | null;
}

/** Methods of a request source that signs here and learns from answers; a remote signer has none of them. */
export type LearningSource = Partial<
  Pick<DirectSource, "observe" | "clockSentence" | "regionSentence" | "styleSentence">
>;

/** After this many refusals in a row the local clock is wrong, and not one server. */
const MOST_SKEWS = 8;

export function createKnownStore(about: {
  source: LearningSource;
  traits: StoreTraits;
  kept: ChecksumMemory | null;
}): KnownStore {
  const { source, traits, kept } = about;
  let probe = startChecksumProbe(traits, { kept, nowMs: Date.now() });
  // A checksum that the profile names, or that was proven recently, needs no further proof.
  const trusted = !traits.probeChecksum || probe.checksum === kept?.checksum ? probe.checksum : null;
  let hasEqualEtags = traits.trustEtag ? true : null;
  let hasAskedForEtag = traits.trustEtag;
  let signedFor = 0;
  let skews = 0;
  const said = new Set<string>();
  const say = (sentence: string | null) => {
    if (sentence === null || said.has(sentence)) return;
    said.add(sentence);
    known.onSay?.(sentence);
  };
  const known: KnownStore = {
    get checksum() {
      return probe.checksum;
    },
    compares: (checksum) =>
      checksum === "md5" ||
      (checksum === "crc32" && (checksum === trusted || (probe.isProven && probe.checksum === checksum))),
    get signedFor() {
      return signedFor;
    },
    observe: (seen) => {
      if (seen.answer.status < 300) skews = 0;
      const outcome = source.observe?.(seen) ?? "as before";
      if (outcome === "as before") return outcome;
      signedFor++;
      say(source.clockSentence?.() ?? null);
      say(source.regionSentence?.() ?? null);
      say(source.styleSentence?.() ?? null);
      return outcome;
    },
    judge: (sent, answer, url) => {
      const step = afterChecksumAnswer(probe, sent, answer);
      ({ probe } = step);
      say(sayUnchecked(probe, url));
      return step.verdict;
    },
    get hasEqualEtags() {
      return hasEqualEtags;
    },
    wantsEtag: () => {
      const isFirst = !hasAskedForEtag;
      hasAskedForEtag = true;
      return isFirst;
    },
    seeEtag: (etag, md5) => {
      hasEqualEtags = etag.replace(/^"(.*)"$/, "$1").toLowerCase() === md5;
    },
    doubtsSkew: () => ++skews <= MOST_SKEWS,
    found: (nowMs) => rememberedChecksum(probe, nowMs),
    onSay: null,
  };
  return known;
}
