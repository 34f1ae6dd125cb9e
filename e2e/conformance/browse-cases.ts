import { listPage, uploadsPage, versionsPage } from "#storage/s3/browse.ts";
import { createControlClient } from "#storage/s3/client.ts";
import { copyWithin } from "#storage/s3/copy-within.ts";
import { deleteMany } from "#storage/s3/delete-many.ts";
import { abortUpload, deleteObject, getObjectText, headObject, putObjectText } from "#storage/s3/objects.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import type { StoreAccess } from "#storage/signing/signing.ts";
import { deleteVersion, findVersions } from "#storage/s3/versions.ts";
import { CreateBucketCommand, CreateMultipartUploadCommand, PutBucketVersioningCommand } from "@aws-sdk/client-s3";
import { expect } from "vitest";
import { MIB, PART_BYTES, type Case, type CaseContext } from "./case.ts";

/** What the pages about a bucket rely on. */

function reach({ server, bucket }: CaseContext) {
  const credential = { accessKeyId: server.accessKey, secretAccessKey: server.secretKey };
  const traits = traitsOf("minio");
  const access: StoreAccess = { endpoint: server.endpoint, region: server.region, bucket, addressing: "path", traits };
  return { client: createControlClient({ access, credential }), traits };
}

const NAMES = ["a b+c%2F&d.txt", "<tag>'quoted'.txt", "日本語 😀.txt", "plain.txt", "sub/deep.txt"];
const signal = new AbortController().signal;

export const BROWSE_CASES: readonly Case[] = [
  {
    name: "a folder of odd names comes in pages, by prefix, and after a key, as it was written",
    async run(context) {
      const { client } = reach(context);
      const { bucket, prefix } = context;
      for (const name of NAMES) await putObjectText(client, { bucket, key: prefix + name, text: name });
      const at = { bucket, prefix, delimiter: "/" as const, startAfter: null, from: null, limit: 2, signal };
      const found: string[] = [];
      let from: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof listPage>> = await listPage(client, { ...at, from });
        expect(page.folders.length + page.objects.length).toBeLessThanOrEqual(2);
        found.push(...page.folders, ...page.objects.map(({ key }) => key));
        from = page.next;
      } while (from !== null);
      const direct = NAMES.map((name) => prefix + (name.startsWith("sub/") ? "sub/" : name));
      expect(found.toSorted()).toEqual(direct.toSorted());
      const begun = await listPage(client, { ...at, prefix: `${prefix}pla`, limit: 10 });
      expect(begun.objects.map(({ key }) => key)).toEqual([`${prefix}plain.txt`]);
      const after = await listPage(client, { ...at, startAfter: `${prefix}plain.txt`, limit: 10 });
      expect(after.folders).toEqual([`${prefix}sub/`]);
      client.destroy();
    },
  },
  {
    name: "objects are copied whole and in ranges, never over another, and deleted together",
    async run(context) {
      const { client, traits } = reach(context);
      const { bucket, prefix } = context;
      const text = "0123456789".repeat((2 * PART_BYTES + MIB) / 10);
      const [source, odd] = [`${prefix}big`, `${prefix}a b+c%2F&d.txt`];
      await putObjectText(client, { bucket, key: source, text });
      await putObjectText(client, { bucket, key: odd, text: "odd" });
      const { etag, sizeBytes } = await headObject(client, { bucket, key: source });
      const copy = { bucket, source, sizeBytes, etag, nonce: "job", traits, signal };
      await copyWithin(client, { ...copy, target: `${prefix}whole` });
      await copyWithin(client, { ...copy, target: `${prefix}ranges`, largestWholeBytes: PART_BYTES + MIB });
      const ranges = await headObject(client, { bucket, key: `${prefix}ranges` });
      expect(ranges).toMatchObject({ sizeBytes, nonce: "job" });
      const small = await headObject(client, { bucket, key: odd });
      const oddCopy = { ...copy, source: odd, sizeBytes: small.sizeBytes, etag: small.etag };
      await copyWithin(client, { ...oddCopy, target: `${odd}.copy` });
      await expect(copyWithin(client, { ...oddCopy, target: `${prefix}whole` })).rejects.toMatchObject({
        code: "ALREADY_EXISTS",
      });
      const changed = copyWithin(client, { ...copy, etag: '"another"', target: `${prefix}new` });
      await expect(changed).rejects.toMatchObject({ code: "OBJECT_CHANGED" });
      const keys = [source, odd, `${odd}.copy`, `${prefix}whole`, `${prefix}ranges`, `${prefix}not there`];
      expect(await deleteMany(client, bucket, keys)).toEqual(new Map());
      const left = { bucket, prefix, delimiter: "" as const, startAfter: null, from: null, limit: 10, signal };
      expect((await listPage(client, left)).objects).toEqual([]);
      client.destroy();
    },
  },
  {
    name: "unfinished uploads are found by their whole key, and versions are listed or said to be missing",
    async run(context) {
      const { client } = reach(context);
      const { bucket, prefix } = context;
      const key = `${prefix}unfinished`;
      const { UploadId: uploadId = "" } = await client.send(
        new CreateMultipartUploadCommand({ Bucket: bucket, Key: key }),
      );
      const { uploads } = await uploadsPage(client, { bucket, prefix: key, from: null, limit: 10, signal });
      expect(uploads.map((upload) => upload.key)).toEqual([key]);
      await abortUpload(client, { bucket, key, uploadId });
      await putObjectText(client, { bucket, key: `${prefix}one`, text: "one" });
      const at = { bucket, prefix, delimiter: "/" as const, from: null, limit: 10, signal };
      const versions = await versionsPage(client, at).catch((error: unknown) => error);
      expect(versions).toSatisfy(
        (answer: unknown) =>
          JSON.stringify(answer).includes(`${prefix}one`) || Reflect.get(Object(answer), "code") === "UNSUPPORTED",
      );
      client.destroy();
    },
  },
  {
    name: "in a bucket that keeps versions an older one is copied on top, and a deletion is taken back by its mark",
    differs: { versitygw: "keeps versions only where it was given a folder for them" },
    async run(context) {
      const { client, traits } = reach(context);
      const bucket = `${context.bucket}-versions`;
      await client.send(new CreateBucketCommand({ Bucket: bucket }));
      const VersioningConfiguration = { Status: "Enabled" } as const;
      await client.send(new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration }));
      const key = `${context.prefix}a b+c%2F&d.txt`;
      await putObjectText(client, { bucket, key, text: "the first" });
      await putObjectText(client, { bucket, key, text: "second" });
      const at = { bucket, prefix: key, delimiter: "" as const, from: null, limit: 10, signal };
      const sizes = async () => (await versionsPage(client, at)).versions.map(({ sizeBytes }) => sizeBytes);
      const [old] = (await versionsPage(client, at)).versions.filter(({ isLatest }) => !isLatest);
      if (old?.etag == null) throw new Error("the first version is not listed");
      const copy = { bucket, source: key, target: key, sizeBytes: 9, etag: old.etag, nonce: "job", traits, signal };
      await copyWithin(client, { ...copy, version: old.versionId });
      expect(await sizes()).toEqual([9, 6, 9]);
      expect((await getObjectText(client, { bucket, key, maxBytes: 100 })).text).toBe("the first");
      await deleteObject(client, { bucket, key });
      const { versionId } = (await versionsPage(client, at)).versions.find((one) => one.isDeleteMarker) ?? {};
      const found = await findVersions(client, { bucket, key, versionId: versionId ?? "", signal });
      expect(found.newest).toEqual(found.wanted);
      await deleteVersion(client, { bucket, key, versionId: versionId ?? "", signal });
      expect(await headObject(client, { bucket, key })).toMatchObject({ sizeBytes: 9 });
      expect(await sizes()).toEqual([9, 6, 9]);
      client.destroy();
    },
  },
];
