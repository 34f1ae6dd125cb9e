import type { ChecksumMemory, StoreChecksum } from "#protocol/wire/store-checksum.ts";
import type { Operation, StoreTraits } from "#protocol/wire/operations.ts";
import { crc32FromBase64 } from "../checksums/crc32.ts";
import { errorDocument, faultOfAnswer, type HttpAnswer } from "../answers/faults.ts";
import { CHECKSUM_HEADER, S3_NAMES } from "../signing/signing.ts";
import { looksLikeHtml, textOf } from "../answers/xml.ts";

/**
 * Finds out by trial which upload checksum a store accepts. CRC32 comes first, as it costs next to nothing. When the
 * store refuses it as unknown, the same bytes are sent with MD5, which S3 has always accepted, and then without a
 * checksum. A downgrade becomes final only when a request succeeds with it. When none succeeds, the checksum was not the
 * reason, and the first kind is used again. Message texts are not read. Pure: takes state and answer, returns state and
 * verdict, so parts in flight cannot disturb each other.
 */

/** The result is remembered this long; then the store is probed again, as it may have been upgraded. */
const MEMORY_LASTS_MS = 30 * 86_400_000;

export interface ChecksumProbe {
  /** The checksum of the next request (`operation.checksum`). */
  readonly checksum: StoreChecksum;
  /** The store accepted bytes with this checksum and, where the answer shows it, verified them. */
  readonly isProven: boolean;
  /** The checksum at which a chain of refusals began; null when there is none. */
  readonly doubted: StoreChecksum | null;
  /** Every kind was refused, so the checksum is not the reason and is no longer doubted. */
  readonly isCleared: boolean;
  /** The store is unknown: an answer that does not echo the CRC32 means that the store ignored it. */
  readonly mustEcho: boolean;
}

/** The answered request: the checksum kind it was signed with, and the CRC32 of its bytes. */
export interface SentRequest {
  op: Operation["op"];
  checksum: StoreChecksum;
  crc32?: string;
}

/**
 * Verdict on the request. keep: process the answer normally. again: its checksum was refused; resend it with the new
 * state's checksum. wrong: the store holds other bytes than ours; resend it as after CHECKSUM_MISMATCH.
 */
export type ProbeVerdict = "keep" | "again" | "wrong";

const LADDER: readonly StoreChecksum[] = ["crc32", "md5", "none"];
const rungOf = (checksum: StoreChecksum): number => LADDER.indexOf(checksum);

/** Returns the initial state; `memory` holds the result of an earlier probe (see `rememberedChecksum`), if any. */
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

/** Returns the result to remember; null while it is not proven. */
export const rememberedChecksum = (probe: ChecksumProbe, nowMs: number): ChecksumMemory | null =>
  probe.isProven ? { checksum: probe.checksum, foundAt: nowMs } : null;

const CARRIES: ReadonlySet<Operation["op"]> = new Set(["create", "part", "put"]);

/**
 * Returns whether a refusal may concern the checksum. It may if it is a bare 501. It may also if a store's error document
 * with 400 or 501 has an unspecific code (NotImplemented, InvalidArgument, InvalidRequest, an unknown one). From an
 * unknown store that was sent CRC32, SignatureDoesNotMatch counts too: Google answers so when the header is present.
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

/** Returns whether the store accepted the bytes: 200, an ETag and no body. A captive portal's answer proves nothing. */
function tookBytes({ status, headers, body }: HttpAnswer): boolean {
  const etag = headers["etag"]?.trim() ?? "";
  return status === 200 && etag !== "" && body.byteLength === 0 && !looksLikeHtml(headers["content-type"], body);
}

function afterSuccess(probe: ChecksumProbe, sent: SentRequest, answer: HttpAnswer): Step {
  if (sent.op === "create") {
    // CreateMultipartUpload carries no bytes, but its success shows that the doubted checksum was the reason for the
    // refusal.
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

/** Returns the state after one answer, and the verdict for its request. */
export function afterChecksumAnswer(probe: ChecksumProbe, sent: SentRequest, answer: HttpAnswer): Step {
  if (!CARRIES.has(sent.op)) return { probe, verdict: "keep" };
  if (answer.status >= 200 && answer.status < 300) return afterSuccess(probe, sent, answer);
  // Another request was refused meanwhile and advanced the state, so this request follows the new state.
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
  // Refused again for the store's own reason without the doubted checksum, so the checksum was not the cause.
  const isVerdict =
    errorDocument(answer.body) !== null && faultOfAnswer({ op: S3_NAMES[sent.op], answer }).retry === "never";
  if (probe.doubted === null || !isVerdict) return { probe, verdict: "keep" };
  return { probe: { ...probe, checksum: probe.doubted, doubted: null, isCleared: true }, verdict: "keep" };
}

/** Returns a sentence on what protects the bytes to a store without checksums; null where the store verifies them. */
export function sayUnchecked(probe: ChecksumProbe, endpoint: string): string | null {
  if (probe.checksum !== "none" || !probe.isProven) return null;
  return endpoint.startsWith("https:")
    ? "this store takes no checksums: TLS guards the bytes on their way, and size and our mark are read back"
    : "this store takes no checksums and the connection is plain http: a byte changed on its way would be noticed only when it is read back; use https";
}
