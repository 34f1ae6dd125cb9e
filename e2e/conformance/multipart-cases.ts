import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
  type CompletedPart,
  type CreateMultipartUploadCommandInput,
} from "@aws-sdk/client-s3";
import { createHash } from "node:crypto";
import { expect } from "vitest";
import {
  OWN_MARKER_REFUSED,
  WHOLE_KEY_ONLY,
  bytesOf,
  PART_BYTES,
  refusalOf,
  sample,
  type Case,
  type CaseContext,
} from "./case.ts";

type Upload = {
  readonly Bucket: string;
  readonly Key: string;
  readonly UploadId: string;
  /** Whether CRC32s were announced at the start; Complete repeats them only then. */
  readonly checksum: "declared" | "none";
};

async function begin(
  context: CaseContext,
  name: string,
  more: Partial<CreateMultipartUploadCommandInput> = {},
): Promise<Upload> {
  const at = { Bucket: context.bucket, Key: context.prefix + name };
  const created = await context.client.send(new CreateMultipartUploadCommand({ ...at, ...more }));
  if (created.UploadId === undefined) throw new Error("the upload has no id");
  return { ...at, UploadId: created.UploadId, checksum: more.ChecksumAlgorithm === "CRC32" ? "declared" : "none" };
}

async function part(
  context: CaseContext,
  upload: Upload,
  given: { number: number; body: Buffer },
): Promise<CompletedPart> {
  const command = new UploadPartCommand({ ...upload, PartNumber: given.number, Body: given.body });
  const { ETag, ChecksumCRC32 } = await context.client.send(command);
  return upload.checksum === "declared"
    ? { PartNumber: given.number, ETag, ChecksumCRC32 }
    : { PartNumber: given.number, ETag };
}

function complete(context: CaseContext, upload: Upload, parts: readonly CompletedPart[]) {
  return context.client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts: [...parts] } }));
}

function joinedEtag(bodies: readonly Buffer[]): string {
  const joined = createHash("md5");
  for (const body of bodies) joined.update(createHash("md5").update(body).digest());
  return `"${joined.digest("hex")}-${bodies.length}"`;
}

const big = sample(PART_BYTES).bytes;
const other = sample(PART_BYTES).bytes;
const small = sample(12_345).bytes;

export const MULTIPART_CASES: readonly Case[] = [
  {
    name: "parts sent in any order become one object, readable whole and across part borders",
    async run(context) {
      const upload = await begin(context, "joined", { Metadata: { "tidemark-nonce": "n-1" } });
      const third = await part(context, upload, { number: 3, body: small });
      const first = await part(context, upload, { number: 1, body: big });
      const second = await part(context, upload, { number: 2, body: other });
      const done = await complete(context, upload, [first, second, third]);
      const whole = Buffer.concat([big, other, small]);
      const at = { Bucket: upload.Bucket, Key: upload.Key };
      const head = await context.client.send(new HeadObjectCommand(at));
      expect(done.ETag).toBe(joinedEtag([big, other, small]));
      expect(head.ETag).toBe(done.ETag);
      expect(head.ContentLength).toBe(whole.length);
      expect(head.Metadata).toEqual({ "tidemark-nonce": "n-1" });
      const read = await context.client.send(new GetObjectCommand(at));
      expect((await bytesOf(read.Body)).equals(whole)).toBe(true);
      const range = `bytes=${PART_BYTES - 10}-${2 * PART_BYTES + 9}`;
      const across = await context.client.send(new GetObjectCommand({ ...at, Range: range }));
      expect((await bytesOf(across.Body)).equals(whole.subarray(PART_BYTES - 10, 2 * PART_BYTES + 10))).toBe(true);
    },
  },
  {
    name: "ListParts tells number, size and ETag of what has arrived, page by page",
    async run(context) {
      const upload = await begin(context, "listed");
      for (const number of [1, 2, 5]) await part(context, upload, { number, body: small });
      const first = await context.client.send(new ListPartsCommand({ ...upload, MaxParts: 2 }));
      expect(first.Parts?.map((entry) => entry.PartNumber)).toEqual([1, 2]);
      expect(first.Parts?.[0]?.Size).toBe(small.length);
      expect(first.Parts?.[0]?.ETag).toBe(`"${createHash("md5").update(small).digest("hex")}"`);
      expect(first.IsTruncated).toBe(true);
      const marker = first.NextPartNumberMarker;
      const second = await context.client.send(new ListPartsCommand({ ...upload, PartNumberMarker: marker }));
      expect(second.Parts?.map((entry) => entry.PartNumber)).toEqual([5]);
      expect(second.IsTruncated).toBe(false);
      await context.client.send(new AbortMultipartUploadCommand(upload));
    },
  },
  {
    name: "a part sent again replaces the one before",
    async run(context) {
      const upload = await begin(context, "replaced");
      await part(context, upload, { number: 1, body: small });
      const again = await part(context, upload, { number: 1, body: big });
      await complete(context, upload, [again]);
      const read = await context.client.send(new GetObjectCommand({ Bucket: upload.Bucket, Key: upload.Key }));
      expect((await bytesOf(read.Body)).equals(big)).toBe(true);
    },
  },
  {
    name: "nothing is visible before Complete",
    async run(context) {
      const upload = await begin(context, "hidden");
      await part(context, upload, { number: 1, body: small });
      const at = { Bucket: upload.Bucket, Key: upload.Key };
      expect((await refusalOf(context.client.send(new HeadObjectCommand(at)))).status).toBe(404);
      await context.client.send(new AbortMultipartUploadCommand(upload));
    },
  },
  {
    name: "a Complete that names a part wrongly is refused and can be repeated rightly",
    async run(context) {
      const upload = await begin(context, "repeatable");
      const right = await part(context, upload, { number: 1, body: big });
      const wrongEtag = complete(context, upload, [{ PartNumber: 1, ETag: '"00000000000000000000000000000000"' }]);
      expect((await refusalOf(wrongEtag)).code).toBe("InvalidPart");
      const missing = complete(context, upload, [right, { ...right, PartNumber: 2 }]);
      expect((await refusalOf(missing)).code).toBe("InvalidPart");
      await complete(context, upload, [right]);
    },
  },
  {
    name: "a part below 5 MiB that is not the last is EntityTooSmall",
    async run(context) {
      const upload = await begin(context, "too-small");
      const parts = [
        await part(context, upload, { number: 1, body: small }),
        await part(context, upload, { number: 2, body: small }),
      ];
      expect((await refusalOf(complete(context, upload, parts))).code).toBe("EntityTooSmall");
      await context.client.send(new AbortMultipartUploadCommand(upload));
    },
  },
  {
    name: "parts out of order in Complete are InvalidPartOrder",
    async run(context) {
      const upload = await begin(context, "out-of-order");
      const first = await part(context, upload, { number: 1, body: big });
      const second = await part(context, upload, { number: 2, body: other });
      expect((await refusalOf(complete(context, upload, [second, first]))).code).toBe("InvalidPartOrder");
      await context.client.send(new AbortMultipartUploadCommand(upload));
    },
  },
  {
    name: "an aborted upload is NoSuchUpload for every further call",
    async run(context) {
      const upload = await begin(context, "aborted");
      const sent = await part(context, upload, { number: 1, body: small });
      await context.client.send(new AbortMultipartUploadCommand(upload));
      const calls = [
        () => context.client.send(new ListPartsCommand(upload)),
        () => part(context, upload, { number: 2, body: small }),
        () => complete(context, upload, [sent]),
      ];
      for (const call of calls) expect(await refusalOf(call())).toEqual({ code: "NoSuchUpload", status: 404 });
    },
  },
  {
    name: "a second Complete leaves the object as it was",
    async run(context) {
      const upload = await begin(context, "completed-twice");
      const sent = await part(context, upload, { number: 1, body: small });
      const done = await complete(context, upload, [sent]);
      const again = await complete(context, upload, [sent]).then(
        (answer) => answer.ETag,
        (error: unknown) => (error instanceof Error ? error.name : ""),
      );
      expect([done.ETag, "NoSuchUpload"]).toContain(again);
      const head = await context.client.send(new HeadObjectCommand({ Bucket: upload.Bucket, Key: upload.Key }));
      expect(head.ETag).toBe(done.ETag);
    },
  },
  {
    name: "part numbers end at 10000",
    async run(context) {
      const upload = await begin(context, "numbers");
      await part(context, upload, { number: 10_000, body: small });
      expect((await refusalOf(part(context, upload, { number: 10_001, body: small }))).code).toBe("InvalidArgument");
      await context.client.send(new AbortMultipartUploadCommand(upload));
    },
  },
  {
    name: "ListMultipartUploads finds an upload by its exact key until it ends",
    async run(context) {
      const upload = await begin(context, "in-progress");
      const list = () =>
        context.client.send(new ListMultipartUploadsCommand({ Bucket: context.bucket, Prefix: upload.Key }));
      expect((await list()).Uploads?.map((entry) => entry.UploadId)).toEqual([upload.UploadId]);
      await context.client.send(new AbortMultipartUploadCommand(upload));
      expect((await list()).Uploads ?? []).toEqual([]);
    },
  },
  {
    name: "ListMultipartUploads finds uploads by a shared prefix, page by page",
    differs: { minio: WHOLE_KEY_ONLY, versitygw: OWN_MARKER_REFUSED },
    async run(context) {
      const uploads = [await begin(context, "many/a"), await begin(context, "many/b"), await begin(context, "many/b")];
      const asked = { Bucket: context.bucket, Prefix: `${context.prefix}many/`, MaxUploads: 2 };
      const first = await context.client.send(new ListMultipartUploadsCommand(asked));
      expect(first.IsTruncated).toBe(true);
      const second = await context.client.send(
        new ListMultipartUploadsCommand({
          ...asked,
          KeyMarker: first.NextKeyMarker,
          UploadIdMarker: first.NextUploadIdMarker,
        }),
      );
      const ids = new Set([...(first.Uploads ?? []), ...(second.Uploads ?? [])].map((entry) => entry.UploadId));
      expect(ids).toEqual(new Set(uploads.map((upload) => upload.UploadId)));
      for (const upload of uploads) await context.client.send(new AbortMultipartUploadCommand(upload));
    },
  },
  {
    name: "CRC32s of parts are listed, checked, and become a composite checksum",
    async run(context) {
      const upload = await begin(context, "composite", { ChecksumAlgorithm: "CRC32" });
      const first = await part(context, upload, { number: 1, body: big });
      const second = await part(context, upload, { number: 2, body: small });
      const listed = await context.client.send(new ListPartsCommand(upload));
      expect(listed.Parts?.map((entry) => entry.ChecksumCRC32)).toEqual([first.ChecksumCRC32, second.ChecksumCRC32]);
      const swapped = [{ ...first, ChecksumCRC32: second.ChecksumCRC32 }, second];
      expect((await refusalOf(complete(context, upload, swapped))).status).toBe(400);
      const done = await complete(context, upload, [first, second]);
      expect(done.ChecksumCRC32).toMatch(/^[A-Za-z0-9+/]{6}==-2$/);
      const at = { Bucket: upload.Bucket, Key: upload.Key };
      const head = await context.client.send(new HeadObjectCommand({ ...at, ChecksumMode: "ENABLED" }));
      expect(head.ChecksumCRC32).toBe(done.ChecksumCRC32);
    },
  },
  {
    name: "CRC64NVMEs of parts become the checksum of the whole object",
    async run(context) {
      const upload = await begin(context, "full-object", { ChecksumAlgorithm: "CRC64NVME" });
      const parts: CompletedPart[] = [];
      for (const [index, body] of [big, small].entries()) {
        const sent = await context.client.send(
          new UploadPartCommand({ ...upload, PartNumber: index + 1, Body: body, ChecksumAlgorithm: "CRC64NVME" }),
        );
        parts.push({ PartNumber: index + 1, ETag: sent.ETag, ChecksumCRC64NVME: sent.ChecksumCRC64NVME });
      }
      const done = await complete(context, upload, parts);
      const whole = { Bucket: context.bucket, Key: `${context.prefix}full-object-at-once` };
      const atOnce = await context.client.send(
        new PutObjectCommand({ ...whole, Body: Buffer.concat([big, small]), ChecksumAlgorithm: "CRC64NVME" }),
      );
      expect(done.ChecksumCRC64NVME).toBe(atOnce.ChecksumCRC64NVME);
      const head = await context.client.send(
        new HeadObjectCommand({ Bucket: upload.Bucket, Key: upload.Key, ChecksumMode: "ENABLED" }),
      );
      expect(head.ChecksumCRC64NVME).toBe(atOnce.ChecksumCRC64NVME);
    },
  },
  {
    name: "a Complete with If-None-Match: * never replaces an object",
    async run(context) {
      const upload = await begin(context, "complete-once");
      const sent = await part(context, upload, { number: 1, body: small });
      const at = { Bucket: upload.Bucket, Key: upload.Key };
      await context.client.send(new PutObjectCommand({ ...at, Body: "was here first" }));
      const command = new CompleteMultipartUploadCommand({
        ...upload,
        MultipartUpload: { Parts: [sent] },
        IfNoneMatch: "*",
      });
      expect(await refusalOf(context.client.send(command))).toEqual({ code: "PreconditionFailed", status: 412 });
      const read = await context.client.send(new GetObjectCommand(at));
      expect((await bytesOf(read.Body)).toString()).toBe("was here first");
    },
  },
  {
    name: "a part can be copied out of a range of another object",
    async run(context) {
      const source = { Bucket: context.bucket, Key: `${context.prefix}source` };
      await context.client.send(new PutObjectCommand({ ...source, Body: big }));
      const upload = await begin(context, "copied-parts");
      const copied = await context.client.send(
        new UploadPartCopyCommand({
          ...upload,
          PartNumber: 1,
          CopySource: `${source.Bucket}/${source.Key}`,
          CopySourceRange: "bytes=100-9999",
        }),
      );
      const answer = copied.CopyPartResult;
      await complete(context, upload, [{ PartNumber: 1, ETag: answer?.ETag }]);
      const read = await context.client.send(new GetObjectCommand({ Bucket: upload.Bucket, Key: upload.Key }));
      expect((await bytesOf(read.Body)).equals(big.subarray(100, 10_000))).toBe(true);
    },
  },
];
