import { describe, expect, test } from "vitest";
import { checksumMemory, type StoreChecksum } from "#protocol/wire/store-checksum.ts";
import type { HttpAnswer } from "../answers/faults.ts";
import {
  afterChecksumAnswer,
  mayRefuseChecksum,
  rememberedChecksum,
  sayUnchecked,
  startChecksumProbe,
  type ChecksumProbe,
} from "./probe-traits.ts";
import { traitsOf } from "../providers/providers.ts";
import { PORTAL, s3Error } from "../testing/canned-server.ts";

const NOW = Date.UTC(2026, 10, 21, 12);
const CRC32 = "cbf43926";
const ECHO = { "x-amz-checksum-crc32": "y/Q5Jg==" };
const answer = (status: number, body = "", headers: HttpAnswer["headers"] = {}): HttpAnswer => ({
  status,
  headers,
  body: Buffer.from(body),
});
const stored = (headers: HttpAnswer["headers"] = {}) => answer(200, "", { etag: '"abcdef0123"', ...headers });
const refused = (status: number, code: string) =>
  answer(status, String(s3Error(status, code).body), { "content-type": "application/xml" });
const part = (checksum: StoreChecksum) => ({ op: "part", checksum, crc32: CRC32 }) as const;
const unknown = () => startChecksumProbe(traitsOf("other"), { kept: null, nowMs: NOW });
const known = () => startChecksumProbe(traitsOf("aws"), { kept: null, nowMs: NOW });

/** Sends parts with what the state says until one is kept; gives the checksums they went with. */
function sendUntilKept(probe: ChecksumProbe, store: (checksum: StoreChecksum) => HttpAnswer) {
  const sent: StoreChecksum[] = [];
  for (let state = probe; sent.length < 10;) {
    const { checksum } = state;
    sent.push(checksum);
    const step = afterChecksumAnswer(state, part(checksum), store(checksum));
    state = step.probe;
    if (step.verdict !== "again") return { sent, probe: state };
  }
  throw new Error("the probe goes in circles");
}

describe("an answer that may be about the checksum", () => {
  test.each<[string, HttpAnswer, boolean]>([
    ["501 NotImplemented", refused(501, "NotImplemented"), true],
    ["400 NotImplemented", refused(400, "NotImplemented"), true],
    ["400 InvalidArgument, as B2 says", refused(400, "InvalidArgument"), true],
    ["400 InvalidRequest", refused(400, "InvalidRequest"), true],
    ["400 with a code nobody knows", refused(400, "UnsupportedHeader"), true],
    ["501 without a document", answer(501), true],
    ["403 SignatureDoesNotMatch, as Google's says", refused(403, "SignatureDoesNotMatch"), true],
    ["400 BadDigest: other bytes arrived", refused(400, "BadDigest"), false],
    ["400 ExpiredToken", refused(400, "ExpiredToken"), false],
    ["400 IncompleteBody", refused(400, "IncompleteBody"), false],
    ["400 EntityTooLarge", refused(400, "EntityTooLarge"), false],
    ["400 AuthorizationHeaderMalformed", refused(400, "AuthorizationHeaderMalformed"), false],
    ["403 AccessDenied", refused(403, "AccessDenied"), false],
    ["404 NoSuchUpload", refused(404, "NoSuchUpload"), false],
    ["503 SlowDown", refused(503, "SlowDown"), false],
    ["400 without a document: the network speaking", answer(400), false],
    ["501 with a page", answer(501, String(PORTAL.body), { "content-type": "text/html" }), false],
  ])("%s", (_name, given, expected) => {
    expect(mayRefuseChecksum(part("crc32"), given, true)).toBe(expected);
  });

  test("is never one to a request that carried none", () => {
    const given = refused(501, "NotImplemented");
    expect(mayRefuseChecksum(part("none"), given, true)).toBe(false);
    expect(mayRefuseChecksum({ op: "complete", checksum: "crc32" }, given, true)).toBe(false);
  });

  test("is no signature of a store that is known to take checksums, or of one without checksum headers", () => {
    const given = refused(403, "SignatureDoesNotMatch");
    expect(mayRefuseChecksum(part("crc32"), given, false)).toBe(false);
    expect(mayRefuseChecksum(part("md5"), given, true)).toBe(false);
  });
});

describe("an unknown store", () => {
  test("that gives the CRC32 back is sent CRC32s from then on", () => {
    const { sent, probe } = sendUntilKept(unknown(), () => stored(ECHO));
    expect(sent).toEqual(["crc32"]);
    expect(rememberedChecksum(probe, NOW)).toEqual({ checksum: "crc32", foundAt: NOW });
  });

  test.each<[string, HttpAnswer]>([
    ["with 400", refused(400, "InvalidArgument")],
    ["with 501", refused(501, "NotImplemented")],
    ["as a wrong signature", refused(403, "SignatureDoesNotMatch")],
  ])("that refuses the header %s is sent MD5s", (_name, refusal) => {
    const { sent, probe } = sendUntilKept(unknown(), (checksum) => (checksum === "crc32" ? refusal : stored()));
    expect(sent).toEqual(["crc32", "md5"]);
    expect(rememberedChecksum(probe, NOW)?.checksum).toBe("md5");
  });

  test("that says nothing of the CRC32 is taken to ignore it: the rest goes with MD5s", () => {
    const first = afterChecksumAnswer(unknown(), part("crc32"), stored());
    expect([first.verdict, first.probe.checksum]).toEqual(["keep", "md5"]);
    expect(rememberedChecksum(first.probe, NOW)).toBeNull();
    const second = afterChecksumAnswer(first.probe, part("md5"), stored());
    expect(rememberedChecksum(second.probe, NOW)?.checksum).toBe("md5");
  });

  test("that takes neither is sent none, and it is said what then guards the bytes", () => {
    const { sent, probe } = sendUntilKept(unknown(), (checksum) =>
      checksum === "none" ? stored() : refused(501, "NotImplemented"),
    );
    expect(sent).toEqual(["crc32", "md5", "none"]);
    expect(sayUnchecked(probe, "https://store.example")).toMatch(/TLS guards/);
    expect(sayUnchecked(probe, "http://store.example")).toMatch(/use https/);
    expect(sayUnchecked(unknown(), "http://store.example")).toBeNull();
  });

  test("that refuses everything had another reason: the first checksum is used again and doubted no more", () => {
    const { sent, probe } = sendUntilKept(unknown(), () => refused(400, "InvalidRequest"));
    expect(sent).toEqual(["crc32", "md5", "none"]);
    expect(probe).toMatchObject({ checksum: "crc32", isCleared: true });
    expect(sendUntilKept(probe, () => refused(400, "InvalidRequest")).sent).toEqual(["crc32"]);
    expect(rememberedChecksum(probe, NOW)).toBeNull();
  });

  test("with a wrong secret is asked twice, not more: some lock a key that is wrong too often", () => {
    const { sent, probe } = sendUntilKept(unknown(), () => refused(403, "SignatureDoesNotMatch"));
    expect(sent).toEqual(["crc32", "md5"]);
    expect(probe.checksum).toBe("crc32");
  });

  test("that is busy while it is asked is not misread", () => {
    const moved = afterChecksumAnswer(unknown(), part("crc32"), refused(400, "InvalidArgument")).probe;
    const busy = afterChecksumAnswer(moved, part("md5"), refused(503, "SlowDown"));
    expect([busy.verdict, busy.probe]).toEqual(["keep", moved]);
  });

  test("refuses parts side by side: each goes once more, and the state moves one step only", () => {
    const refusal = refused(400, "InvalidArgument");
    const first = afterChecksumAnswer(unknown(), part("crc32"), refusal);
    const second = afterChecksumAnswer(first.probe, part("crc32"), refusal);
    expect([first.verdict, second.verdict, second.probe.checksum]).toEqual(["again", "again", "md5"]);
    const late = afterChecksumAnswer(second.probe, part("crc32"), stored(ECHO));
    expect([late.verdict, late.probe.checksum]).toEqual(["keep", "md5"]);
  });

  test("that refuses the declaration at the start of an upload is asked without it", () => {
    const step = afterChecksumAnswer(unknown(), { op: "create", checksum: "crc32" }, refused(400, "InvalidArgument"));
    expect([step.verdict, step.probe.checksum]).toEqual(["again", "md5"]);
    const created = afterChecksumAnswer(step.probe, { op: "create", checksum: "md5" }, answer(200, "<a></a>"));
    expect(created.probe).toMatchObject({ checksum: "md5", doubted: null, isProven: false });
  });

  test("is not judged by a portal's page", () => {
    const page = answer(200, String(PORTAL.body), { "content-type": "text/html", etag: '"abcdef0123"' });
    expect(afterChecksumAnswer(unknown(), part("crc32"), page)).toEqual({ probe: unknown(), verdict: "keep" });
  });
});

describe("a store whose kind is known", () => {
  test("need not give the CRC32 back, but one of other bytes is wrong", () => {
    expect(afterChecksumAnswer(known(), part("crc32"), stored()).probe).toMatchObject({
      checksum: "crc32",
      isProven: true,
    });
    expect(afterChecksumAnswer(known(), part("crc32"), stored({ "x-amz-checksum-crc32": "AAAAAA==" })).verdict).toBe(
      "wrong",
    );
  });

  test("may still be an old version that knows no checksum headers", () => {
    const { sent } = sendUntilKept(known(), (checksum) =>
      checksum === "crc32" ? refused(501, "NotImplemented") : stored(),
    );
    expect(sent).toEqual(["crc32", "md5"]);
  });

  test("that took a checksum once is not doubted again", () => {
    const proven = afterChecksumAnswer(known(), part("crc32"), stored(ECHO)).probe;
    expect(afterChecksumAnswer(proven, part("crc32"), refused(400, "InvalidRequest")).verdict).toBe("keep");
  });
});

describe("what is remembered", () => {
  test("is JSON, starts the next copy, and is asked again after a month", () => {
    const kept = checksumMemory.parse(JSON.parse(JSON.stringify({ checksum: "md5", foundAt: NOW })));
    const startOf = (nowMs: number) => startChecksumProbe(traitsOf("other"), { kept, nowMs }).checksum;
    expect(startOf(NOW + 86_400_000)).toBe("md5");
    expect(startOf(NOW + 40 * 86_400_000)).toBe("crc32");
  });
});
