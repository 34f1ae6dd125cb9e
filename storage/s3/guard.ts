import type { S3Client } from "@aws-sdk/client-s3";
import { Fault } from "#protocol/faults/fault.ts";
import { faultOfAnswer, faultOfNetwork, isFromStore, type HttpAnswer } from "../answers/faults.ts";
import { looksLikeHtml, rootOf } from "../answers/xml.ts";

/**
 * Checks every answer before the SDK reads it. The SDK alone would take a captive portal's page for an empty listing. It
 * would also take an S3 error inside a 200, or a PUT without an ETag, for success. An answer passes only with the root
 * element or header that its operation requires. Any other answer becomes a Fault, by the same tables as in data
 * transfers.
 */

/** Requirements on a success of each command. Other commands must only not answer with an HTML page. */
const EXPECTED: Readonly<Record<string, { root: string } | { header: string }>> = {
  ListObjectsV2: { root: "ListBucketResult" },
  ListMultipartUploads: { root: "ListMultipartUploadsResult" },
  ListObjectVersions: { root: "ListVersionsResult" },
  ListParts: { root: "ListPartsResult" },
  CreateMultipartUpload: { root: "InitiateMultipartUploadResult" },
  CompleteMultipartUpload: { root: "CompleteMultipartUploadResult" },
  CopyObject: { root: "CopyObjectResult" },
  UploadPartCopy: { root: "CopyPartResult" },
  DeleteObjects: { root: "DeleteResult" },
  GetBucketCors: { root: "CORSConfiguration" },
  PutObject: { header: "etag" },
  HeadObject: { header: "etag" },
  GetObject: { header: "etag" },
};

interface WireResponse {
  statusCode: number;
  headers: Record<string, string>;
  body: unknown;
}

function isWireResponse(value: unknown): value is WireResponse {
  return typeof value === "object" && value !== null && "statusCode" in value && "headers" in value && "body" in value;
}

const isByteStream = (value: unknown): value is AsyncIterable<Uint8Array> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

/** Collects a body. @throws Fault UNEXPECTED_ANSWER when it has more than `mostBytes` */
async function collect(body: unknown, mostBytes: number): Promise<Buffer> {
  if (body instanceof Uint8Array) return Buffer.from(body);
  if (typeof body === "string") return Buffer.from(body);
  if (!isByteStream(body)) return Buffer.alloc(0);
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    total += chunk.byteLength;
    if (total > mostBytes) {
      throw new Fault("UNEXPECTED_ANSWER", { detail: `the answer is longer than ${mostBytes} bytes` });
    }
  }
  return Buffer.concat(chunks);
}

function lowerCase(headers: Record<string, string>): HttpAnswer["headers"] {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** Checks one answer and returns the body for the SDK. Rejects with a Fault unless it is a valid success. */
async function checkAnswer(op: string, response: WireResponse, mostBytes: number): Promise<unknown> {
  const status = response.statusCode;
  const headers = lowerCase(response.headers);
  const expected = EXPECTED[op];
  const succeeded = status >= 200 && status < 300;
  // An object's own bytes are passed on without collecting them.
  const isObject = !looksLikeHtml(headers["content-type"], Buffer.alloc(0)) || isFromStore(headers);
  if (op === "GetObject" && succeeded && isObject) {
    if (headers["etag"] !== undefined) return response.body;
  }
  const answer: HttpAnswer = { status, headers, body: await collect(response.body, mostBytes) };
  if (!succeeded) throw faultOfAnswer({ op, answer });
  const html = looksLikeHtml(headers["content-type"], answer.body) && !(op === "HeadObject" && isObject);
  const root = rootOf(answer.body);
  const asExpected =
    expected === undefined || ("root" in expected ? root === expected.root : headers[expected.header] !== undefined);
  if (html || root === "Error" || !asExpected) throw faultOfAnswer({ op, answer });
  return answer.body;
}

/**
 * Adds the guard to a client, closest to the network, so that no other part of the SDK reads an answer first. Refuses an
 * answer of more than `mostBytes` unless it is an object's content.
 */
export function guardAnswers(client: S3Client, mostBytes: number): void {
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const op = (context.commandName ?? "").replace(/Command$/, "");
      try {
        const result = await next(args);
        const { response } = result;
        if (isWireResponse(response)) response.body = await checkAnswer(op, response, mostBytes);
        return result;
      } catch (error) {
        throw faultOfNetwork(error, { op });
      }
    },
    { step: "deserialize", priority: "low", name: "tidemarkGuardAnswers" },
  );
}
