import { HeadObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { createHash } from "node:crypto";
import { encodeKey, presign, signHeaders, UNSIGNED_PAYLOAD, type RequestToSign } from "#storage/signing/sigv4.ts";
import { expect } from "vitest";
import { codeIn, refusalOf, type Case, type CaseContext } from "./case.ts";

function requestFor(context: CaseContext, name: string, more: Partial<RequestToSign> = {}): RequestToSign {
  const path = `/${context.bucket}/${encodeKey(context.prefix + name)}`;
  return { method: "PUT", origin: context.server.endpoint, path, query: [], headers: {}, ...more };
}

function scopeFor(context: CaseContext, nowMs = Date.now()) {
  const { accessKey, secretKey, region } = context.server;
  return { credential: { accessKeyId: accessKey, secretAccessKey: secretKey }, region, nowMs };
}

const presigned = (context: CaseContext, request: RequestToSign, given: { nowMs?: number; lifetimeMs?: number } = {}) =>
  presign(request, { ...scopeFor(context, given.nowMs), lifetimeMs: given.lifetimeMs ?? 60_000 });

async function outcome(answer: Response): Promise<{ status: number; code: string }> {
  return { status: answer.status, code: codeIn(await answer.text()) };
}

export const SIGNATURE_CASES: readonly Case[] = [
  {
    name: "a presigned PUT stores, a presigned GET reads, a presigned range reads a range",
    async run(context) {
      const put = await fetch(presigned(context, requestFor(context, "signed ü+1")), {
        method: "PUT",
        body: "0123456789",
      });
      expect(put.status).toBe(200);
      expect(put.headers.get("etag")).toBe(`"${createHash("md5").update("0123456789").digest("hex")}"`);
      const url = presigned(context, requestFor(context, "signed ü+1", { method: "GET" }));
      expect(await (await fetch(url)).text()).toBe("0123456789");
      const range = await fetch(url, { headers: { range: "bytes=2-4" } });
      expect(range.status).toBe(206);
      expect(await range.text()).toBe("234");
    },
  },
  {
    name: "a presigned URL serves its own method, key and query only",
    async run(context) {
      await context.client.send(
        new PutObjectCommand({ Bucket: context.bucket, Key: `${context.prefix}guarded`, Body: "guarded" }),
      );
      const url = presigned(context, requestFor(context, "guarded", { method: "GET" }));
      const attempts: [string, RequestInit][] = [
        [url, { method: "DELETE" }],
        [url.replace("guarded", "guardee"), {}],
        [`${url}&response-content-type=text/html`, {}],
        [url.replace(/X-Amz-Expires=\d+/, "X-Amz-Expires=6000"), {}],
      ];
      for (const [target, init] of attempts) {
        const answer = await outcome(await fetch(target, init));
        expect(answer).toEqual({ status: 403, code: "SignatureDoesNotMatch" });
      }
    },
  },
  {
    name: "an expired presigned URL is refused",
    async run(context) {
      const request = requestFor(context, "late", { method: "GET" });
      const url = presigned(context, request, { nowMs: Date.now() - 120_000, lifetimeMs: 60_000 });
      const answer = await outcome(await fetch(url));
      expect(answer).toEqual({ status: 403, code: "AccessDenied" });
    },
  },
  {
    name: "a signed content-length caps what a presigned PUT may carry",
    async run(context) {
      const request = requestFor(context, "capped", { headers: { "content-length": "5" } });
      const url = presigned(context, request);
      const tooLong = await fetch(url, { method: "PUT", body: "123456" });
      expect(await outcome(tooLong)).toEqual({ status: 403, code: "SignatureDoesNotMatch" });
      expect((await fetch(url, { method: "PUT", body: "12345" })).status).toBe(200);
    },
  },
  {
    name: "metadata that was not signed is refused",
    async run(context) {
      const url = presigned(context, requestFor(context, "unsigned-metadata"));
      const answer = await fetch(url, { method: "PUT", body: "x", headers: { "x-amz-meta-step": "1" } });
      expect([400, 403]).toContain(answer.status);
      const head = new HeadObjectCommand({ Bucket: context.bucket, Key: `${context.prefix}unsigned-metadata` });
      expect((await refusalOf(context.client.send(head))).status).toBe(404);
    },
  },
  {
    name: "a clock that is 20 minutes off is RequestTimeTooSkewed, and the answer carries the right date",
    async run(context) {
      for (const offMs of [-20 * 60_000, 20 * 60_000]) {
        const request = requestFor(context, "skewed", { method: "GET" });
        const scope = { ...scopeFor(context, Date.now() + offMs), payloadHash: UNSIGNED_PAYLOAD };
        const answer = await fetch(request.origin + request.path, { headers: signHeaders(request, scope) });
        const date = Date.parse(answer.headers.get("date") ?? "");
        expect(await outcome(answer)).toEqual({ status: 403, code: "RequestTimeTooSkewed" });
        expect(Math.abs(date - Date.now())).toBeLessThan(60_000);
      }
    },
  },
  {
    name: "a body other than the one that was hashed is refused and not stored",
    async run(context) {
      const request = requestFor(context, "tampered");
      const payloadHash = createHash("sha256").update("the body").digest("hex");
      const headers = signHeaders(request, { ...scopeFor(context), payloadHash });
      const answer = await fetch(request.origin + request.path, { method: "PUT", headers, body: "the b0dy" });
      expect(await outcome(answer)).toEqual({ status: 400, code: "XAmzContentSHA256Mismatch" });
      const head = new HeadObjectCommand({ Bucket: context.bucket, Key: `${context.prefix}tampered` });
      expect((await refusalOf(context.client.send(head))).status).toBe(404);
    },
  },
  {
    name: "an unknown key is InvalidAccessKeyId",
    differs: { versitygw: "answers 404 XAdminUserNotFound" },
    async run(context) {
      const request = requestFor(context, "unknown", { method: "GET" });
      const credential = { accessKeyId: "nobody", secretAccessKey: "nothing" };
      const url = presign(request, { ...scopeFor(context), credential, lifetimeMs: 60_000 });
      expect(await outcome(await fetch(url))).toEqual({ status: 403, code: "InvalidAccessKeyId" });
    },
  },
  {
    name: "a wrong secret and no signature at all are two different refusals",
    async run(context) {
      const request = requestFor(context, "secret", { method: "GET" });
      const scope = scopeFor(context);
      const credential = { ...scope.credential, secretAccessKey: "not-the-secret" };
      const wrong = await fetch(presign(request, { ...scope, credential, lifetimeMs: 60_000 }));
      expect(await outcome(wrong)).toEqual({ status: 403, code: "SignatureDoesNotMatch" });
      expect(await outcome(await fetch(request.origin + request.path))).toEqual({ status: 403, code: "AccessDenied" });
    },
  },
];
