import { hash } from "node:crypto";
import type { LookupFunction } from "node:net";
import { S3Client, type S3ClientConfig } from "@aws-sdk/client-s3";
import { PRODUCT_VERSION } from "#protocol/base/version.ts";
import { createAgents } from "../network/agents.ts";
import { guardAnswers } from "./guard.ts";
import { signControlRequest, type ControlSigner } from "../signing/sign-control.ts";
import { isPathAddressed, type StoreAccess } from "../signing/signing.ts";
import { EMPTY_PAYLOAD_HASH, UNSIGNED_PAYLOAD, type Credential } from "../signing/sigv4.ts";
import { MAX_XML_BYTES } from "../answers/xml.ts";

/**
 * The SDK client for control calls: list, small objects, deletion, CORS. Never the byte path. The SDK's own retries are
 * off (its budget is shared by all calls and runs dry; the callers own their retries), nothing is hashed or sent in
 * chunks unless S3 demands it, no redirect is followed, and every answer passes `guardAnswers` before the SDK reads it.
 * Requests are signed by our own signer, here or, for a hub that keeps its keys in another process, over there.
 */

/** The SDK's bookkeeping; of no use to a store, and unsigned it makes some refuse the request. */
const SDK_HEADERS: ReadonlySet<string> = new Set(["x-amz-user-agent", "amz-sdk-invocation-id", "amz-sdk-request"]);

/** A signer for a process that holds the key itself. */
export const createLocalSigner = (input: {
  access: StoreAccess;
  credential: Credential;
  now?: () => number;
}): ControlSigner => ({
  sign: async (request) =>
    signControlRequest(request, {
      credential: input.credential,
      region: input.access.region,
      nowMs: (input.now ?? Date.now)(),
    }),
});

type SdkSigner = Extract<NonNullable<S3ClientConfig["signer"]>, { sign: unknown }>;
type SdkRequest = Parameters<SdkSigner["sign"]>[0];

function payloadHashOf(body: unknown): string {
  if (body === undefined || body === null || body === "") return EMPTY_PAYLOAD_HASH;
  if (typeof body === "string" || body instanceof Uint8Array) return hash("sha256", body);
  return UNSIGNED_PAYLOAD;
}

/** The SDK's request with our signature. What the SDK adds for itself is taken out. */
async function signSdkRequest(request: SdkRequest, signer: ControlSigner): Promise<SdkRequest> {
  const query = { ...request.query };
  delete query["x-id"];
  request.query = query;
  const headers = Object.entries(request.headers).filter(([name]) => !SDK_HEADERS.has(name.toLowerCase()));
  const port = request.port === undefined ? "" : `:${request.port}`;
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value ?? ""]).map(
      (one) => `${encodeURIComponent(name)}=${encodeURIComponent(one)}`,
    ),
  );
  const search = pairs.length === 0 ? "" : `?${pairs.join("&")}`;
  const signed = await signer.sign({
    method: request.method,
    url: `${request.protocol}//${request.hostname}${port}${request.path}${search}`,
    headers: { ...Object.fromEntries(headers), "user-agent": `tidemark/${PRODUCT_VERSION}` },
    payloadHash: payloadHashOf(request.body),
  });
  request.headers = signed.headers;
  return request;
}

/** With a signer of our own the SDK still asks for a key; this one opens nothing. */
const NO_CREDENTIAL = { accessKeyId: "signed-elsewhere", secretAccessKey: "signed-elsewhere" };

const CONNECT_TIMEOUT_MS = 8_000;
const ANSWER_TIMEOUT_MS = 30_000;
const SILENCE_TIMEOUT_MS = 20_000;
const MOST_SOCKETS = 24;

/** Tighter limits, for a store nobody vouched for yet. */
export interface ControlLimits {
  answerMs: number;
  mostAnswerBytes: number;
}

interface Reached {
  access: StoreAccess;
  /** How names become addresses, where that must be checked; see pinned-lookup.ts. */
  lookup?: LookupFunction;
  limits?: ControlLimits;
}

export type ControlClientInput = Reached & ({ credential: Credential; now?: () => number } | { signer: ControlSigner });

/**
 * A client for control calls to one store. Everything its commands throw is a Fault already, or becomes one through
 * `faultOfSdk`. `destroy()` closes its connections.
 */
export function createControlClient(input: ControlClientInput): S3Client {
  const { access } = input;
  const signer = "signer" in input ? input.signer : createLocalSigner(input);
  const { lookup, limits } = input;
  const agents = createAgents(
    { keepAlive: true, maxSockets: MOST_SOCKETS, timeout: ANSWER_TIMEOUT_MS },
    { lookup, trust: access.trust ?? null },
  );
  const client = new S3Client({
    endpoint: access.endpoint,
    region: access.region,
    forcePathStyle: isPathAddressed(access),
    credentials: NO_CREDENTIAL,
    signer: { sign: (request: SdkRequest) => signSdkRequest(request, signer) },
    maxAttempts: 1,
    retryMode: "standard",
    defaultsMode: "standard",
    expectContinueHeader: false,
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    followRegionRedirects: false,
    disableClockSkewCorrection: true,
    disableS3ExpressSessionAuth: true,
    useFipsEndpoint: false,
    useDualstackEndpoint: false,
    // What is not given here the SDK looks for in ~/.aws, and fails where nobody has a home.
    useArnRegion: false,
    sigv4aSigningRegionSet: [],
    authSchemePreference: [],
    userAgentAppId: "",
    requestHandler: {
      connectionTimeout: limits?.answerMs ?? CONNECT_TIMEOUT_MS,
      requestTimeout: limits?.answerMs ?? ANSWER_TIMEOUT_MS,
      throwOnRequestTimeout: true,
      socketTimeout: SILENCE_TIMEOUT_MS,
      ...agents,
    },
  });
  guardAnswers(client, limits?.mostAnswerBytes ?? MAX_XML_BYTES);
  return client;
}
