import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteBucketCorsCommand,
  DeleteObjectCommand,
  GetBucketCorsCommand,
  GetBucketLocationCommand,
  GetBucketVersioningCommand,
  HeadBucketCommand,
  ListBucketsCommand,
  PutBucketCorsCommand,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { encodeKey, presign } from "#storage/signing/sigv4.ts";
import { expect } from "vitest";
import { refusalOf, type Case } from "./case.ts";

const NO_CORS = "has no cross-origin rules per bucket";

export const BUCKET_CASES: readonly Case[] = [
  {
    name: "a bucket can be made, found, listed, and removed once it is empty",
    async run({ client, prefix }) {
      const Bucket = `made-${prefix.replaceAll(/[^a-z0-9]/g, "")}`;
      await client.send(new CreateBucketCommand({ Bucket }));
      await client.send(new HeadBucketCommand({ Bucket }));
      const all = await client.send(new ListBucketsCommand({}));
      expect(all.Buckets?.map((bucket) => bucket.Name)).toContain(Bucket);
      await client.send(new PutObjectCommand({ Bucket, Key: "x", Body: "x" }));
      expect(await refusalOf(client.send(new DeleteBucketCommand({ Bucket })))).toEqual({
        code: "BucketNotEmpty",
        status: 409,
      });
      await client.send(new DeleteObjectCommand({ Bucket, Key: "x" }));
      await client.send(new DeleteBucketCommand({ Bucket }));
      expect((await refusalOf(client.send(new HeadBucketCommand({ Bucket })))).status).toBe(404);
    },
  },
  {
    name: "making a bucket that is already yours says so",
    async run({ client, bucket }) {
      const again = client.send(new CreateBucketCommand({ Bucket: bucket }));
      expect(await refusalOf(again)).toEqual({ code: "BucketAlreadyOwnedByYou", status: 409 });
    },
  },
  {
    name: "a bucket in us-east-1 has no location constraint, and is not versioned",
    async run({ client, bucket }) {
      const location = await client.send(new GetBucketLocationCommand({ Bucket: bucket }));
      expect(location.LocationConstraint ?? "").toBe("");
      const versioning = await client.send(new GetBucketVersioningCommand({ Bucket: bucket }));
      expect(versioning.Status).toBeUndefined();
    },
  },
  {
    name: "cross-origin rules are kept, obeyed in preflights and answers, and removed",
    differs: { minio: NO_CORS },
    async run({ client, bucket, server, prefix }) {
      const rule = {
        AllowedOrigins: ["https://hub.example.com"],
        AllowedMethods: ["GET", "PUT"],
        AllowedHeaders: ["range", "content-*"],
        ExposeHeaders: ["ETag"],
        MaxAgeSeconds: 300,
      };
      const configuration = { Bucket: bucket, CORSConfiguration: { CORSRules: [rule] } };
      await client.send(new PutBucketCorsCommand(configuration));
      const kept = await client.send(new GetBucketCorsCommand({ Bucket: bucket }));
      expect(kept.CORSRules).toEqual([rule]);
      const url = `${server.endpoint}/${bucket}/${encodeKey(prefix)}cors`;
      const ask = (origin: string, method: string) =>
        fetch(url, {
          method: "OPTIONS",
          headers: {
            origin,
            "access-control-request-method": method,
            "access-control-request-headers": "range, content-type",
          },
        });
      const allowed = await ask("https://hub.example.com", "PUT");
      expect(allowed.ok).toBe(true);
      expect(allowed.headers.get("access-control-allow-origin")).toBe("https://hub.example.com");
      expect(allowed.headers.get("access-control-allow-methods")).toContain("PUT");
      expect((await ask("https://elsewhere.example.com", "PUT")).status).toBe(403);
      expect((await ask("https://hub.example.com", "DELETE")).status).toBe(403);
      const signed = presign(
        { method: "PUT", origin: server.endpoint, path: `/${bucket}/${encodeKey(prefix)}cors`, query: [], headers: {} },
        {
          credential: { accessKeyId: server.accessKey, secretAccessKey: server.secretKey },
          region: server.region,
          nowMs: Date.now(),
          lifetimeMs: 60_000,
        },
      );
      const put = await fetch(signed, { method: "PUT", body: "x", headers: { origin: "https://hub.example.com" } });
      expect(put.headers.get("access-control-allow-origin")).toBe("https://hub.example.com");
      expect(put.headers.get("access-control-expose-headers")?.toLowerCase()).toContain("etag");
      await client.send(new DeleteBucketCorsCommand({ Bucket: bucket }));
      const gone = client.send(new GetBucketCorsCommand({ Bucket: bucket }));
      expect(await refusalOf(gone)).toEqual({ code: "NoSuchCORSConfiguration", status: 404 });
    },
  },
];
