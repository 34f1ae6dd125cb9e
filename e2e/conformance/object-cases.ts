import {
  CopyObjectCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { crc32 } from "node:zlib";
import { expect } from "vitest";
import { bytesOf, refusalOf, sample, type Case, type CaseContext } from "./case.ts";

async function put(
  context: CaseContext,
  name: string,
  body: Buffer | string,
): Promise<{ Bucket: string; Key: string }> {
  const at = { Bucket: context.bucket, Key: context.prefix + name };
  await context.client.send(new PutObjectCommand({ ...at, Body: body }));
  return at;
}

/** A stream as body makes the SDK send chunks with a checksum behind them. */
async function putStreamed({ client, bucket, prefix }: CaseContext) {
  const at = { Bucket: bucket, Key: `${prefix}streamed` };
  const { bytes } = sample(400_000);
  const pieces = [bytes.subarray(0, 70_000), bytes.subarray(70_000, 399_999), bytes.subarray(399_999)];
  await client.send(new PutObjectCommand({ ...at, Body: Readable.from(pieces), ContentLength: bytes.length }));
  return { at, bytes };
}

const HOSTILE_KEYS = [
  "plain name with spaces",
  "plus+percent%25and%",
  "quotes\"'<&>.bin",
  "ünï/ço∂é/文件/🌊.pt",
  "question?query=1&x=2#hash",
  "parens(1)[2]{3}!~*'",
  "step=000100/loss=0.5;rank:3,@$.safetensors",
];

export const OBJECT_CASES: readonly Case[] = [
  {
    name: "an object comes back byte for byte, with its type and metadata",
    async run({ client, bucket, prefix }) {
      const { bytes, md5Hex } = sample(300_000);
      const at = { Bucket: bucket, Key: `${prefix}a/model.bin` };
      const stored = await client.send(
        new PutObjectCommand({ ...at, Body: bytes, ContentType: "application/x-weights", Metadata: { step: "100" } }),
      );
      const read = await client.send(new GetObjectCommand(at));
      expect(stored.ETag).toBe(`"${md5Hex}"`);
      expect((await bytesOf(read.Body)).equals(bytes)).toBe(true);
      expect(read.ContentType).toBe("application/x-weights");
      expect(read.Metadata).toEqual({ step: "100" });
      expect(read.ETag).toBe(stored.ETag);
    },
  },
  {
    name: "HEAD says what GET would, without the bytes",
    async run(context) {
      const { bytes, md5Hex } = sample(1234);
      const at = await put(context, "head.bin", bytes);
      const head = await context.client.send(new HeadObjectCommand(at));
      expect(head.ContentLength).toBe(1234);
      expect(head.ETag).toBe(`"${md5Hex}"`);
      expect(head.AcceptRanges).toBe("bytes");
      expect(Math.abs((head.LastModified?.getTime() ?? 0) - Date.now())).toBeLessThan(60_000);
    },
  },
  {
    name: "an empty object is an object",
    async run(context) {
      const at = await put(context, "empty", "");
      const read = await context.client.send(new GetObjectCommand(at));
      expect(read.ContentLength).toBe(0);
      expect((await bytesOf(read.Body)).length).toBe(0);
    },
  },
  {
    name: "what is not there is NoSuchKey, NoSuchBucket or a bare 404",
    async run({ client, bucket, prefix }) {
      const missing = { Bucket: bucket, Key: `${prefix}missing` };
      expect(await refusalOf(client.send(new GetObjectCommand(missing)))).toEqual({ code: "NoSuchKey", status: 404 });
      expect((await refusalOf(client.send(new HeadObjectCommand(missing)))).status).toBe(404);
      const elsewhere = new GetObjectCommand({ Bucket: "no-such-bucket-here", Key: "x" });
      expect(await refusalOf(client.send(elsewhere))).toEqual({ code: "NoSuchBucket", status: 404 });
      const bucketHead = new HeadBucketCommand({ Bucket: "no-such-bucket-here" });
      expect((await refusalOf(client.send(bucketHead))).status).toBe(404);
    },
  },
  {
    name: "the last write wins",
    async run(context) {
      await put(context, "twice", "first");
      const at = await put(context, "twice", "second, longer");
      const read = await context.client.send(new GetObjectCommand(at));
      expect((await bytesOf(read.Body)).toString()).toBe("second, longer");
    },
  },
  {
    name: "a deleted object is gone, and deleting it again succeeds",
    async run(context) {
      const at = await put(context, "doomed", "x");
      await context.client.send(new DeleteObjectCommand(at));
      expect((await refusalOf(context.client.send(new HeadObjectCommand(at)))).status).toBe(404);
      await context.client.send(new DeleteObjectCommand(at));
    },
  },
  {
    name: "DeleteObjects deletes many keys in one request, missing ones too",
    async run(context) {
      const keys = ["m/1", "m/2", "m/ü&<3>"];
      for (const key of keys) await put(context, key, "x");
      const wanted = [...keys, "m/never-there"].map((key) => ({ Key: context.prefix + key }));
      const result = await context.client.send(
        new DeleteObjectsCommand({ Bucket: context.bucket, Delete: { Objects: wanted } }),
      );
      expect(result.Errors ?? []).toEqual([]);
      expect(result.Deleted?.map((entry) => entry.Key).sort()).toEqual(wanted.map((entry) => entry.Key).sort());
      for (const key of keys) {
        const head = new HeadObjectCommand({ Bucket: context.bucket, Key: context.prefix + key });
        expect((await refusalOf(context.client.send(head))).status).toBe(404);
      }
    },
  },
  ...HOSTILE_KEYS.map((name): Case => ({
    name: `the key ${JSON.stringify(name)} is taken as it is`,
    async run(context) {
      const at = await put(context, name, name);
      const read = await context.client.send(new GetObjectCommand(at));
      expect((await bytesOf(read.Body)).toString()).toBe(name);
    },
  })),
  {
    name: "a copy has the bytes and the metadata of its source",
    async run(context) {
      const { bytes } = sample(70_000);
      const source = { Bucket: context.bucket, Key: `${context.prefix}copy from+ü.bin` };
      await context.client.send(new PutObjectCommand({ ...source, Body: bytes, Metadata: { run: "7" } }));
      const target = { Bucket: context.bucket, Key: `${context.prefix}copy-to.bin` };
      const path = `${context.bucket}/${encodeURIComponent(source.Key)}`;
      await context.client.send(new CopyObjectCommand({ ...target, CopySource: path }));
      const read = await context.client.send(new GetObjectCommand(target));
      expect((await bytesOf(read.Body)).equals(bytes)).toBe(true);
      expect(read.Metadata).toEqual({ run: "7" });
    },
  },
  {
    name: "a range gives exactly its bytes and says which they are",
    async run(context) {
      const { bytes } = sample(1000);
      const at = await put(context, "ranged", bytes);
      const ranges = [
        { header: "bytes=0-0", first: 0, last: 0 },
        { header: "bytes=100-299", first: 100, last: 299 },
        { header: "bytes=900-", first: 900, last: 999 },
        { header: "bytes=-10", first: 990, last: 999 },
        { header: "bytes=990-5000", first: 990, last: 999 },
      ];
      for (const { header, first, last } of ranges) {
        const read = await context.client.send(new GetObjectCommand({ ...at, Range: header }));
        expect(read.$metadata.httpStatusCode).toBe(206);
        expect(read.ContentRange).toBe(`bytes ${first}-${last}/1000`);
        expect((await bytesOf(read.Body)).equals(bytes.subarray(first, last + 1))).toBe(true);
      }
      const beyond = context.client.send(new GetObjectCommand({ ...at, Range: "bytes=1000-1001" }));
      expect(await refusalOf(beyond)).toEqual({ code: "InvalidRange", status: 416 });
    },
  },
  {
    name: "a read can insist on an ETag, or be spared the bytes it has",
    async run(context) {
      const at = await put(context, "conditional", "abc");
      const { ETag } = await context.client.send(new HeadObjectCommand(at));
      const matching = await context.client.send(new GetObjectCommand({ ...at, IfMatch: ETag }));
      expect((await bytesOf(matching.Body)).toString()).toBe("abc");
      const stale = '"00000000000000000000000000000000"';
      const changed = context.client.send(new GetObjectCommand({ ...at, IfMatch: stale, Range: "bytes=0-1" }));
      expect((await refusalOf(changed)).status).toBe(412);
      const unchanged = context.client.send(new GetObjectCommand({ ...at, IfNoneMatch: ETag }));
      expect((await refusalOf(unchanged)).status).toBe(304);
    },
  },
  {
    name: "a write with If-None-Match: * never replaces an object",
    async run(context) {
      const at = { Bucket: context.bucket, Key: `${context.prefix}once` };
      await context.client.send(new PutObjectCommand({ ...at, Body: "first", IfNoneMatch: "*" }));
      const second = context.client.send(new PutObjectCommand({ ...at, Body: "second", IfNoneMatch: "*" }));
      expect(await refusalOf(second)).toEqual({ code: "PreconditionFailed", status: 412 });
      const read = await context.client.send(new GetObjectCommand(at));
      expect((await bytesOf(read.Body)).toString()).toBe("first");
    },
  },
  {
    name: "a write with If-Match replaces only the object it knows",
    async run(context) {
      const at = await put(context, "known", "first");
      const { ETag } = await context.client.send(new HeadObjectCommand(at));
      await context.client.send(new PutObjectCommand({ ...at, Body: "second", IfMatch: ETag }));
      const late = context.client.send(new PutObjectCommand({ ...at, Body: "third", IfMatch: ETag }));
      expect(await refusalOf(late)).toEqual({ code: "PreconditionFailed", status: 412 });
    },
  },
  {
    name: "a wrong Content-MD5 is refused and nothing is stored",
    async run({ client, bucket, prefix }) {
      const at = { Bucket: bucket, Key: `${prefix}bad-md5` };
      const wrong = createHash("md5").update("other").digest("base64");
      expect(
        (await refusalOf(client.send(new PutObjectCommand({ ...at, Body: "body", ContentMD5: wrong })))).code,
      ).toBe("BadDigest");
      expect((await refusalOf(client.send(new HeadObjectCommand(at)))).status).toBe(404);
    },
  },
  {
    name: "a right CRC32 is kept and given back, a wrong one is refused",
    async run({ client, bucket, prefix }) {
      const at = { Bucket: bucket, Key: `${prefix}crc32` };
      const digest = Buffer.alloc(4);
      digest.writeUInt32BE(crc32("body"));
      const right = digest.toString("base64");
      await client.send(new PutObjectCommand({ ...at, Body: "body", ChecksumCRC32: right }));
      const head = await client.send(new HeadObjectCommand({ ...at, ChecksumMode: "ENABLED" }));
      expect(head.ChecksumCRC32).toBe(right);
      const other = { Bucket: bucket, Key: `${prefix}crc32-wrong` };
      const refused = client.send(new PutObjectCommand({ ...other, Body: "boby", ChecksumCRC32: right }));
      expect((await refusalOf(refused)).status).toBe(400);
      expect((await refusalOf(client.send(new HeadObjectCommand(other)))).status).toBe(404);
    },
  },
  ...(["CRC32C", "CRC64NVME", "SHA1", "SHA256"] as const).map((algorithm): Case => ({
    name: `a body with a ${algorithm} checksum is stored and the checksum given back`,
    async run({ client, bucket, prefix }) {
      const at = { Bucket: bucket, Key: `${prefix}${algorithm}` };
      const { bytes } = sample(5000);
      const stored = await client.send(new PutObjectCommand({ ...at, Body: bytes, ChecksumAlgorithm: algorithm }));
      const read = await client.send(new GetObjectCommand({ ...at, ChecksumMode: "ENABLED" }));
      expect((await bytesOf(read.Body)).equals(bytes)).toBe(true);
      expect(read[`Checksum${algorithm}`]).toBeTruthy();
      expect(read[`Checksum${algorithm}`]).toBe(stored[`Checksum${algorithm}`]);
    },
  })),
  {
    name: "a streamed body in aws-chunked framing with a trailing checksum is unwrapped",
    async run(context) {
      const { at, bytes } = await putStreamed(context);
      const read = await context.client.send(new GetObjectCommand(at));
      expect((await bytesOf(read.Body)).equals(bytes)).toBe(true);
    },
  },
  {
    name: "aws-chunked framing leaves no trace in the object's headers",
    differs: { versitygw: "keeps aws-chunked as the content encoding" },
    async run(context) {
      const { at } = await putStreamed(context);
      const head = await context.client.send(new HeadObjectCommand(at));
      expect(head.ContentEncoding ?? "").toBe("");
    },
  },
];
