import type { ChecksumMemory, StoreChecksum } from "#protocol/wire/store-checksum.ts";
import type { Operation, StoreTraits } from "#protocol/wire/operations.ts";
import { crc32FromBase64 } from "../checksums/crc32.ts";
import { errorDocument, faultOfAnswer, type HttpAnswer } from "../answers/faults.ts";
import { CHECKSUM_HEADER, S3_NAMES } from "../signing/signing.ts";
import { looksLikeHtml, textOf } from "../answers/xml.ts";

/**
 * Finds out by doing which checksum a store takes with the bytes. The best comes first (CRC32, which costs next to
 * nothing); when the store says that it does not know such a request, the next one is tried with the same bytes: MD5,
 * which every S3 has always taken, then nothing. A step down stands only once a request went through with it; when none
 * does, the checksum was not the reason and the first one is used again. No message text is read. Pure: state and answer
 * in, state and what to do out, so that parts in flight side by side cannot disturb each other.
 */

/** A store that was upgraded is asked again after this long. */
const MEMORY_LASTS_MS = 30 * 86_400_000;

export interface ChecksumProbe {
  /** What the next request carries: `operation.checksum`. */
  readonly checksum: StoreChecksum;
  /** The store took bytes with it, and where that can be seen, checked them. */
  readonly isProven: boolean;
  /** Where a chain of refusals began; null when nothing is in doubt. */
  readonly doubted: StoreChecksum | null;
  /** Every kind was refused alike: the checksum is not the reason, so it is not doubted again. */
  readonly isCleared: boolean;
  /** Nothing is known of this store: a CRC32 must come back in the answer, or it is taken for ignored. */
  readonly mustEcho: boolean;
}

/** The request that was answered: the checksum it was signed for, and the sum of its bytes. */
export interface SentRequest {
  op: Operation["op"];
  checksum: StoreChecksum;
  crc32?: string;
}

/**
 * What follows for this request. keep: read the answer as always. again: it was refused for its checksum; send it once
 * more with the checksum of the new state. wrong: stored, but other bytes than ours; CHECKSUM_MISMATCH, send it again.
 */
export type ProbeVerdict = "keep" | "again" | "wrong";

const LADDER: readonly StoreChecksum[] = ["crc32", "md5", "none"];
const rungOf = (checksum: StoreChecksum): number => LADDER.indexOf(checksum);

/** The state to start with; `memory` as it was kept (see `rememberedChecksum`), if at all. */
export function startChecksumProbe(
  traits: Pick<StoreTraits, "checksum" | "probeChecksum">,
  memory: { kept: ChecksumMemory | null; nowMs: number },
): ChecksumProbe {
  const { kept, nowMs } = memory;
  const isFresh = kept !== null && nowMs - kept.foundAt < MEMORY_LASTS_MS;
  const preset = traits.probeChecksum ? "crc32" : traits.checksum;
  return {
    checksum: isFresh ? kept.checksum : preset,
    isProven: false,
    doubted: null,
    isCleared: false,
    mustEcho: traits.probeChecksum,
  };
}

/** What to remember; null while nothing is certain. */
export const rememberedChecksum = (probe: ChecksumProbe, nowMs: number): ChecksumMemory | null =>
  probe.isProven ? { checksum: probe.checksum, foundAt: nowMs } : null;

const CARRIES: ReadonlySet<Operation["op"]> = new Set(["create", "part", "put"]);

/**
 * Whether a refusal may be about the checksum: the store's own document with 400 or 501 and a code that names nothing
 * else (NotImplemented, InvalidArgument, InvalidRequest, a code nobody knows), or a bare 501. A signature that does not
 * match is one too when the store is unknown and got a checksum header: Google's says so when the header is there.
 */
export function mayRefuseChecksum(sent: SentRequest, answer: HttpAnswer, mustEcho: boolean): boolean {
  if (!CARRIES.has(sent.op) || sent.checksum === "none") return false;
  const { status, headers, body } = answer;
  const element = errorDocument(body);
  if (element === null) return status === 501 && !looksLikeHtml(headers["content-type"], body);
  const code = textOf(element, "Code") ?? "";
  if (code === "SignatureDoesNotMatch") return mustEcho && sent.checksum === "crc32";
  if (status !== 400 && status !== 501) return false;
  return faultOfAnswer({ op: S3_NAMES[sent.op], answer }).code === "UNSUPPORTED";
}

/** A 200 with an ETag and nothing else: bytes that were taken. What a portal answers proves nothing. */
function tookBytes({ status, headers, body }: HttpAnswer): boolean {
  const etag = headers["etag"]?.trim() ?? "";
  return status === 200 && etag !== "" && body.byteLength === 0 && !looksLikeHtml(headers["content-type"], body);
}

function afterSuccess(probe: ChecksumProbe, sent: SentRequest, answer: HttpAnswer): Step {
  if (sent.op === "create") {
    // No bytes went along, but what was doubted is now known to be refused.
    const isCreated = answer.status === 200 && errorDocument(answer.body) === null && sent.checksum === probe.checksum;
    return { probe: isCreated ? { ...probe, doubted: null } : probe, verdict: "keep" };
  }
  if (!tookBytes(answer)) return { probe, verdict: "keep" };
  if (sent.checksum === "crc32") {
    const echo = answer.headers[CHECKSUM_HEADER];
    const echoed = echo === undefined ? null : crc32FromBase64(echo);
    if (echoed !== null && sent.crc32 !== undefined && echoed !== sent.crc32) return { probe, verdict: "wrong" };
    if (echoed === null && probe.mustEcho) {
      const next = { ...probe, checksum: "md5", isProven: false, doubted: null } as const;
      return { probe: probe.checksum === "crc32" ? next : probe, verdict: "keep" };
    }
  }
  if (sent.checksum !== probe.checksum) return { probe, verdict: "keep" };
  return { probe: { ...probe, isProven: true, doubted: null, isCleared: false }, verdict: "keep" };
}

interface Step {
  probe: ChecksumProbe;
  verdict: ProbeVerdict;
}

/** The state after one answer, and what to do with the request it answers. */
export function afterChecksumAnswer(probe: ChecksumProbe, sent: SentRequest, answer: HttpAnswer): Step {
  if (!CARRIES.has(sent.op)) return { probe, verdict: "keep" };
  if (answer.status >= 200 && answer.status < 300) return afterSuccess(probe, sent, answer);
  // Another request has been refused already and the state moved on: this one goes with the new state.
  const isOvertaken = rungOf(probe.checksum) > rungOf(sent.checksum);
  const mayBe = mayRefuseChecksum(sent, answer, probe.mustEcho);
  if (isOvertaken) return { probe, verdict: mayBe ? "again" : "keep" };
  const isCurrent = probe.checksum === sent.checksum;
  if (!isCurrent || probe.isCleared || (probe.isProven && sent.checksum === probe.checksum)) {
    return { probe, verdict: "keep" };
  }
  const next = mayBe ? LADDER[rungOf(sent.checksum) + 1] : undefined;
  if (next !== undefined) {
    const moved = { ...probe, checksum: next, isProven: false, doubted: probe.doubted ?? sent.checksum };
    return { probe: moved, verdict: "again" };
  }
  // Refused again without what was doubted, and for a reason of the store's own: it was not the checksum.
  const isVerdict =
    errorDocument(answer.body) !== null && faultOfAnswer({ op: S3_NAMES[sent.op], answer }).retry === "never";
  if (probe.doubted === null || !isVerdict) return { probe, verdict: "keep" };
  return { probe: { ...probe, checksum: probe.doubted, doubted: null, isCleared: true }, verdict: "keep" };
}

/** What guards the bytes on their way to a store that takes no checksum; null where the store checks them. */
export function sayUnchecked(probe: ChecksumProbe, endpoint: string): string | null {
  if (probe.checksum !== "none" || !probe.isProven) return null;
  return endpoint.startsWith("https:")
    ? "this store takes no checksums: TLS guards the bytes on their way, and size and our mark are read back"
    : "this store takes no checksums and the connection is plain http: a byte changed on its way would be noticed only when it is read back; use https";
}
