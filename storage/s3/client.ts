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
 * The SDK client for control calls: listings, small objects, deletion, CORS. Never for data transfer. The SDK's retries
 * are off, because all calls share its retry budget; callers retry themselves. Bodies are hashed only where S3 requires
 * it and never sent in chunks. No redirect is followed, and `guardAnswers` checks every answer before the SDK reads it.
 * Our own signer signs requests, in this process or in the process that holds the hub's keys.
 */

/** Telemetry headers of the SDK. Some stores refuse a request that carries them unsigned. */
const SDK_HEADERS: ReadonlySet<string> = new Set(["x-amz-user-agent", "amz-sdk-invocation-id", "amz-sdk-request"]);

/** Returns a signer for a process that holds the key itself. */
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

/** Signs the SDK's request with our signer, without the SDK's own headers and `x-id`. */
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

/** The SDK requires a credential even with a custom signer; this one is never used. */
const NO_CREDENTIAL = { accessKeyId: "signed-elsewhere", secretAccessKey: "signed-elsewhere" };

const CONNECT_TIMEOUT_MS = 8_000;
const ANSWER_TIMEOUT_MS = 30_000;
const SILENCE_TIMEOUT_MS = 20_000;
const MOST_SOCKETS = 24;

/** Tighter limits for a store that nobody has verified yet. */
export interface ControlLimits {
  answerMs: number;
  mostAnswerBytes: number;
}

interface Reached {
  access: StoreAccess;
  /** Checks and resolves host names where required; see pinned-lookup.ts. */
  lookup?: LookupFunction;
  limits?: ControlLimits;
}

export type ControlClientInput = Reached & ({ credential: Credential; now?: () => number } | { signer: ControlSigner });

/**
 * Returns a client for control calls to one store. Errors of its commands are Faults, or become Faults through
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
    // The SDK looks for unset options in ~/.aws, and fails where there is no home directory.
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
