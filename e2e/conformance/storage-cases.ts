import type { Operation } from "#protocol/wire/operations.ts";
import {
  completeBody,
  isSurePut,
  readAbort,
  readComplete,
  readCreate,
  readDelete,
  readHead,
  readListParts,
  readPart,
  readPut,
} from "#storage/s3/answers.ts";
import { checkStore } from "#storage/profile-test/check-store.ts";
import { createControlClient } from "#storage/s3/client.ts";
import { createDirectSource } from "#storage/signing/direct-source.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import type { HttpAnswer } from "#storage/answers/faults.ts";
import { listObjects, listUploads } from "#storage/s3/listing.ts";
import { deleteObject, getObjectText, headObject, putObjectText } from "#storage/s3/objects.ts";
import { afterChecksumAnswer, startChecksumProbe } from "#storage/profile-test/probe-traits.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import { sendSigned } from "#storage/s3/send.ts";
import { S3_NAMES, type StoreAccess } from "#storage/signing/signing.ts";
import { expect } from "vitest";
import { OWN_MARKER_REFUSED, PART_BYTES, sample, WHOLE_KEY_ONLY, type Case, type CaseContext } from "./case.ts";

/** The same store, reached through storage/ as the product does. */
function reach(context: CaseContext) {
  const { server, bucket } = context;
  const credential = { accessKeyId: server.accessKey, secretAccessKey: server.secretKey };
  const access: StoreAccess = {
    endpoint: server.endpoint,
    region: server.region,
    bucket,
    addressing: "path",
    traits: traitsOf("minio"),
  };
  const source = createDirectSource({ access, credential });
  const send = async (operation: Operation, body?: Buffer | string): Promise<HttpAnswer> => {
    const [request] = await source.sign([operation]);
    if (request === undefined) throw new Error("nothing was signed");
    const { op, key } = operation;
    return sendSigned(request, {
      op: S3_NAMES[op],
      subject: key,
      fetch,
      timeoutMs: 30_000,
      ...(body === undefined ? {} : { body }),
    });
  };
  return { access, credential, source, send, client: createControlClient({ access, credential }) };
}

const EMPTY = { sizeBytes: 0, crc32: "00000000" } as const;

async function faultOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => "no fault",
    (error: unknown) => (typeof error === "object" && error !== null && "code" in error ? error.code : error),
  );
}

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

export const STORAGE_CASES: readonly Case[] = [
  {
    // The bucket has no cross-origin rules, which is the one thing that the profile test may then say.
    name: "the profile test finds nothing wrong",
    async run(context) {
      const { access, source, client } = reach(context);
      try {
        const result = await checkStore({ client, access, source, fetch, prefix: context.prefix });
        expect(result.checks.filter((check) => check.outcome !== "ok" && check.operation !== "GetBucketCors")).toEqual(
          [],
        );
        expect(result.checks.length).toBeGreaterThan(5);
      } finally {
        client.destroy();
      }
    },
  },
  {
    name: "signed operations carry a file through create, parts, list, complete, head and get",
    async run(context) {
      const { send, client } = reach(context);
      client.destroy();
      const key = `${context.prefix}step 100/model.safetensors`;
      const bodies = [sample(PART_BYTES).bytes, sample(999).bytes];
      const { uploadId } = readCreate(await send({ op: "create", key, nonce: "nonce-1" }));
      const parts = [];
      for (const [index, body] of bodies.entries()) {
        const crc32 = crc32Hex(body);
        const partNumber = index + 1;
        const answer = await send({ op: "part", key, uploadId, partNumber, sizeBytes: body.length, crc32 }, body);
        parts.push({ partNumber, etag: readPart(answer).etag, crc32 });
      }
      const listed = readListParts(await send({ op: "parts", key, uploadId, after: 0 }));
      expect(listed.nextAfter).toBeNull();
      expect(listed.parts).toEqual(
        parts.map(({ partNumber, etag, crc32 }, index) => ({
          partNumber,
          etag,
          crc32,
          sizeBytes: bodies[index]?.length,
        })),
      );
      const document = completeBody(parts, traitsOf("minio"));
      const { etag } = readComplete(await send({ op: "complete", key, uploadId }, document));
      const head = readHead(await send({ op: "head", key }));
      expect(head).toMatchObject({ sizeBytes: PART_BYTES + 999, etag, nonce: "nonce-1" });
      const got = await send({ op: "get", key, offset: PART_BYTES - 5, length: 10, etag });
      expect(got.status).toBe(206);
      expect(got.body.equals(Buffer.concat(bodies).subarray(PART_BYTES - 5, PART_BYTES + 5))).toBe(true);
    },
  },
  {
    name: "a signed part refuses other bytes than the ones it was signed for",
    async run(context) {
      const { send, client } = reach(context);
      client.destroy();
      const key = `${context.prefix}fenced`;
      const { uploadId } = readCreate(await send({ op: "create", key, nonce: "n" }));
      const crc32 = crc32Hex(Buffer.from("right"));
      const answer = await send(
        { op: "part", key, uploadId, partNumber: 1, sizeBytes: 5, crc32 },
        Buffer.from("wrong"),
      );
      expect(answer.status).toBe(400);
      const listed = readListParts(await send({ op: "parts", key, uploadId, after: 0 }));
      expect(listed.parts).toEqual([]);
      readAbort(await send({ op: "abort", key, uploadId }));
      readAbort(await send({ op: "abort", key, uploadId }));
    },
  },
  {
    name: "a presigned deletion takes an object away, and is content when it is gone",
    async run(context) {
      const { send, client } = reach(context);
      client.destroy();
      const key = `${context.prefix}to delete`;
      const { bytes } = sample(1_000);
      const put = { op: "put", key, sizeBytes: bytes.length, crc32: crc32Hex(bytes), nonce: "n" } as const;
      readPut(await send(put, bytes));
      readDelete(await send({ op: "delete", key }));
      expect((await send({ op: "head", key })).status).toBe(404);
      readDelete(await send({ op: "delete", key }));
    },
  },
  {
    name: "a part whose checksum is an MD5 is taken, and refused with other bytes",
    async run(context) {
      const { send, client } = reach(context);
      client.destroy();
      const key = `${context.prefix}by md5`;
      const checksum = "md5" as const;
      const { uploadId } = readCreate(await send({ op: "create", key, nonce: "n", checksum }));
      const right = sample(PART_BYTES);
      const wrong = sample(PART_BYTES);
      const sums = { crc32: crc32Hex(right.bytes), md5: right.md5Hex, checksum };
      const part = { op: "part", key, uploadId, partNumber: 1, sizeBytes: PART_BYTES, ...sums } as const;
      const refused = send(part, wrong.bytes).then((answer) => readPart(answer));
      expect(await faultOf(refused)).toBe("CHECKSUM_MISMATCH");
      const { etag } = readPart(await send(part, right.bytes));
      const document = completeBody([{ partNumber: 1, etag, crc32: sums.crc32 }], { checksum });
      readComplete(await send({ op: "complete", key, uploadId }, document));
      expect(readHead(await send({ op: "head", key }))).toMatchObject({ sizeBytes: PART_BYTES, nonce: "n" });
    },
  },
  {
    name: "a store of which nothing is known turns out to check CRC32s, and its answer to a PUT needs no HEAD",
    async run(context) {
      const { send, client } = reach(context);
      client.destroy();
      const { bytes } = sample(1000);
      const key = `${context.prefix}probed`;
      const probe = startChecksumProbe(traitsOf("other"), { kept: null, nowMs: Date.now() });
      const { checksum } = probe;
      const sent = { op: "put", checksum, crc32: crc32Hex(bytes) } as const;
      const answer = await send({ ...sent, key, sizeBytes: bytes.length, nonce: "n" }, bytes);
      const after = afterChecksumAnswer(probe, sent, answer);
      expect(after).toMatchObject({ verdict: "keep", probe: { checksum: "crc32", isProven: true } });
      expect(isSurePut(answer, sent)).toBe(true);
    },
  },
  ...([-2, 2] as const).map((hours): Case => ({
    name: `a clock that is off by ${hours} hours is noticed in the first answer, and the next request is right`,
    async run(context) {
      const { access, credential, client } = reach(context);
      client.destroy();
      const ours = () => Date.now() + hours * 3_600_000;
      const source = createDirectSource({ access, credential, now: ours });
      const ask = async () => {
        const [request] = await source.sign([
          { op: "put", key: `${context.prefix}${source.now()}`, ...EMPTY, nonce: "n" },
        ]);
        if (request === undefined) throw new Error("nothing was signed");
        const sentAtMs = ours();
        const answer = await sendSigned(request, { op: "PutObject", subject: "", fetch, timeoutMs: 30_000, body: "" });
        return { answer, sentAtMs, receivedAtMs: ours() };
      };
      const first = await ask();
      expect(source.observe(first)).toBe("sign again");
      expect(source.clockSentence()).toContain(hours > 0 ? "2 h ahead of" : "2 h behind");
      readPut((await ask()).answer);
    },
  })),
  {
    name: "a region that is wrong is corrected by what the store says",
    differs: { versitygw: "refuses the region without naming its own" },
    async run(context) {
      const { access, credential, client } = reach(context);
      client.destroy();
      const source = createDirectSource({ access: { ...access, region: "eu-west-9" }, credential });
      const ask = async () => {
        const [request] = await source.sign([{ op: "put", key: `${context.prefix}region`, ...EMPTY, nonce: "n" }]);
        if (request === undefined) throw new Error("nothing was signed");
        return sendSigned(request, { op: "PutObject", subject: "", fetch, timeoutMs: 30_000, body: "" });
      };
      const answer = await ask();
      const times = { sentAtMs: Date.now(), receivedAtMs: Date.now() };
      if (answer.status !== 200) expect(source.observe({ answer, ...times })).toBe("sign again");
      readPut(answer.status === 200 ? answer : await ask());
    },
  },
  {
    name: "a signed put takes a key once",
    async run(context) {
      const { send, client } = reach(context);
      client.destroy();
      const body = Buffer.from("manifest");
      const operation: Operation = {
        op: "put",
        key: `${context.prefix}manifest.json`,
        sizeBytes: body.length,
        crc32: crc32Hex(body),
        nonce: "n",
      };
      readPut(await send(operation, body));
      const again = send(operation, body).then((answer) => readPut(answer));
      expect(await faultOf(again)).toBe("ALREADY_EXISTS");
    },
  },
  {
    name: "small texts are written, read, described and deleted through the control client",
    async run(context) {
      const { client } = reach(context);
      const at = { bucket: context.bucket, key: `${context.prefix}claims/ü 1.json` };
      try {
        const { etag } = await putObjectText(client, { ...at, text: '{"a":1}', ifNoneMatch: "*" });
        expect(await getObjectText(client, { ...at, maxBytes: 100 })).toEqual({ text: '{"a":1}', etag });
        expect(await headObject(client, at)).toMatchObject({ sizeBytes: 7, etag });
        expect(await faultOf(putObjectText(client, { ...at, text: "{}", ifNoneMatch: "*" }))).toBe("ALREADY_EXISTS");
        await deleteObject(client, at);
        expect(await faultOf(headObject(client, at))).toBe("NO_SUCH_KEY");
        await deleteObject(client, at);
      } finally {
        client.destroy();
      }
    },
  },
  {
    name: "listings of objects go through all pages",
    async run(context) {
      const { client } = reach(context);
      const { bucket, prefix } = context;
      try {
        const keys = ["a", "b", "c ü", "d", "e"].map((name) => prefix + name);
        for (const key of keys) await putObjectText(client, { bucket, key, text: key });
        const listed = await collect(listObjects(client, { bucket, prefix, pageSize: 2 }));
        expect(listed.map((entry) => entry.key)).toEqual(keys);
        const later = await collect(listObjects(client, { bucket, prefix, startAfter: `${prefix}c ü` }));
        expect(later.map((entry) => entry.key)).toEqual(keys.slice(3));
      } finally {
        client.destroy();
      }
    },
  },
  ...([1000, 2] as const).map((pageSize): Case => ({
    name: `a listing of open uploads is whole with ${pageSize} to a page`,
    differs: pageSize === 2 ? { minio: WHOLE_KEY_ONLY, versitygw: OWN_MARKER_REFUSED } : { minio: WHOLE_KEY_ONLY },
    async run(context) {
      const { client, send } = reach(context);
      const { bucket, prefix } = context;
      try {
        const started: string[] = [];
        for (const name of ["x", "y", "z"]) {
          started.push(readCreate(await send({ op: "create", key: prefix + name, nonce: "n" })).uploadId);
        }
        const listed = await collect(listUploads(client, { bucket, prefix, pageSize }));
        expect(listed.map((entry) => entry.uploadId)).toEqual(started);
        for (const { key, uploadId } of listed) readAbort(await send({ op: "abort", key, uploadId }));
      } finally {
        client.destroy();
      }
    },
  })),
];
