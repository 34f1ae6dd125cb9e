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
 * The store as it shows itself while it is used: which checksum it takes along with bytes, what time it has, and in which
 * region it wants to be asked. Every answer is shown to it. What is found out holds for all that is sent afterwards, and
 * is said once where a person should know.
 */
export interface KnownStore {
  /** What the next Create, part or object is sent with. */
  readonly checksum: StoreChecksum;
  /** The store compares the bytes with a sum of this kind, so nobody has to sum them again while they are handed over. */
  compares(checksum: StoreChecksum): boolean;
  /** Goes up when whatever was signed before is worth nothing: by a wrong clock, or for a wrong region. */
  readonly signedFor: number;
  /** Shown every answer. */
  observe(seen: ObservedAnswer): "as before" | "sign again";
  /** Shown what came to a Create, a part or an object. `url`: only its scheme counts. */
  judge(sent: SentRequest, answer: HttpAnswer, url: string): ProbeVerdict;
  /** Whether a refusal for the clock's sake may be a mistake of one server: asked about each of them. */
  doubtsSkew(): boolean;
  /** Whether equal bytes have equal ETags here; null while nobody knows. */
  readonly hasEqualEtags: boolean | null;
  /** True once, where that is to be found out: whoever is told so compares one ETag with the MD5, and says so. */
  wantsEtag(): boolean;
  /** `etag`: as answers give it, with its quotes. */
  seeEtag(etag: string, md5: string): void;
  /** What the next transfer should begin with; null while nothing is certain. */
  found(nowMs: number): ChecksumMemory | null;
  /** Told what a person should know, once each. */
  onSay: ((sentence: string) => void) | null;
}

/** A source that signs here learns from answers; one far away does not. */
export type LearningSource = Partial<
  Pick<DirectSource, "observe" | "clockSentence" | "regionSentence" | "styleSentence">
>;

/** So many refusals in a row for the clock's sake, and it is the clock. */
const MOST_SKEWS = 8;

export function createKnownStore(about: {
  source: LearningSource;
  traits: StoreTraits;
  kept: ChecksumMemory | null;
}): KnownStore {
  const { source, traits, kept } = about;
  let probe = startChecksumProbe(traits, { kept, nowMs: Date.now() });
  // What the profile says, or what was seen lately, needs no further proof.
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
