import * as z from "zod";
import { stsWay } from "#protocol/benchmarks/bench-key.ts";
import { faultData } from "#protocol/faults/fault-data.ts";
import { id as anyId } from "#protocol/base/names.ts";
import { operation, SIGN_BATCH, signedRequest, storeAccess, type SignedRequest } from "#protocol/wire/operations.ts";
import { credentialDraft, keyBy } from "#protocol/wire/requests.ts";
import { key32 } from "#protocol/checkpoint/sealing.ts";

/**
 * All messages to the signer, one JSON object per line over a pipe that only its hub holds. No message returns a bucket key or
 * the master key; the key that `askTemporary` leads to opens only the folder of one benchmark. The private half of a wrapping
 * key leaves through `exportSealKey` alone.
 */

/** Longest line either side accepts: a full batch of long keys fits many times. */
export const LONGEST_LINE = 8 * 1024 * 1024;

/** Place of a sealed text: `table|rowId|field`. */
const place = z.string().regex(/^[A-Za-z]{1,32}\|[A-Za-z0-9-]{1,64}\|[A-Za-z]{1,32}$/);
/** A session token alone may have 4 KiB. */
const sealed = z.string().min(1).max(16_384);
const header = z.record(z.string().max(128), z.string().max(4096));

const openInput = z.object({ canary: sealed.nullable() });
/**
 * Places of texts that the hub itself reads again: addresses of alert channels, keys for benchmark engines and secrets of jobs,
 * both of which it hands to nodes, and keys of accounts at providers of groups. The place of a profile's own key does not match.
 */
const textPlace = z
  .string()
  .regex(
    /^(?:AlertChannelSecret|ProfileBenchKey|JobSecret|JobScheduleSecret|GroupAccountSecret)\|[A-Za-z0-9-]{1,64}\|sealed$/,
  );
const sealTextInput = z.object({ place: textPlace, text: z.string().max(8192) });
const openTextInput = z.object({ place: textPlace, sealed });
/** Returns whether a text may be stored in this place. The signer checks it too, for every caller. */
export const isTextPlace = (at: string): boolean => textPlace.safeParse(at).success;
/** Places of the private halves of wrapping keys, and of nothing else: no other message reads them. */
const sealKeyPlace = z.string().regex(/^SealKeySecret\|[A-Za-z0-9-]{1,64}\|sealed$/);
export const isSealKeyPlace = (at: string): boolean => sealKeyPlace.safeParse(at).success;
const makeSealKeyInput = z.object({ place: sealKeyPlace });
const importSealKeyInput = z.object({ place: sealKeyPlace, text: z.string().max(512) });
const exportSealKeyInput = z.object({ place: sealKeyPlace, sealed });
const unwrapInput = z.object({
  place: sealKeyPlace,
  sealed,
  wrapped: z.string().max(256),
  at: z.object({ keyId: anyId, id: anyId, run: z.string().max(64), step: z.number().int() }),
});
/** A credential as it is sealed; that of a session has a token and its end, epoch ms. */
export const heldCredential = credentialDraft.extend({
  sessionToken: z.string().max(8192).optional(),
  endsAt: z.number().int().optional(),
});
const sealInput = z.object({ place, credential: heldCredential });
const rewrapInput = z.object({ place, sealed });
const signInput = z.object({
  place,
  sealed,
  access: storeAccess,
  operations: z.array(operation).max(SIGN_BATCH),
  lifetimeMs: z.number().int().min(1000).max(86_400_000),
});
const signRequestInput = z.object({
  place,
  sealed,
  region: z.string().max(64),
  request: z.object({
    method: z.string().max(16),
    url: z.string().max(8192),
    headers: header,
    payloadHash: z.string().max(128),
  }),
});
const askTemporaryInput = z.object({
  place,
  sealed,
  ask: z.object({
    way: stsWay,
    isAws: z.boolean(),
    region: z.string().max(64),
    bucket: z.string().max(64),
    folder: z.string().max(1024),
    lifetimeMs: z.number().int().min(1000).max(86_400_000),
  }),
});

const askSessionInput = z.object({
  place,
  sealed,
  ask: z.object({ keyBy, region: z.string().max(64), bucket: z.string().max(64) }),
});

export const signerCall = z.discriminatedUnion("call", [
  z.object({ id: z.number().int(), call: z.literal("open"), input: openInput }),
  z.object({ id: z.number().int(), call: z.literal("seal"), input: sealInput }),
  z.object({ id: z.number().int(), call: z.literal("rewrap"), input: rewrapInput }),
  z.object({ id: z.number().int(), call: z.literal("sign"), input: signInput }),
  z.object({ id: z.number().int(), call: z.literal("sealText"), input: sealTextInput }),
  z.object({ id: z.number().int(), call: z.literal("openText"), input: openTextInput }),
  z.object({ id: z.number().int(), call: z.literal("signRequest"), input: signRequestInput }),
  z.object({ id: z.number().int(), call: z.literal("askTemporary"), input: askTemporaryInput }),
  z.object({ id: z.number().int(), call: z.literal("askSession"), input: askSessionInput }),
  z.object({ id: z.number().int(), call: z.literal("makeSealKey"), input: makeSealKeyInput }),
  z.object({ id: z.number().int(), call: z.literal("importSealKey"), input: importSealKeyInput }),
  z.object({ id: z.number().int(), call: z.literal("exportSealKey"), input: exportSealKeyInput }),
  z.object({ id: z.number().int(), call: z.literal("unwrap"), input: unwrapInput }),
]);
export type SignerCall = z.infer<typeof signerCall>;

/** A sealed text and the version of the master key it was sealed with. */
export const sealOutput = z.object({ sealed, keyVersion: z.number().int() });
export const openOutput = sealOutput.extend({
  /** The database is still sealed with the previous master key: `rewrapSecrets` (rewrap.ts) is due. */
  isRewrapDue: z.boolean(),
});
/** The public half, and the sealed private half. */
export const sealKeyOutput = sealOutput.extend({ publicKey: key32 });
export const unwrapOutput = z.object({ key: key32 });
export const openTextOutput = z.object({ text: z.string() });
export const signOutput = z.object({ requests: z.array(signedRequest) });
export const signRequestOutput = z.object({ headers: header });
export const askTemporaryOutput = z.object({ url: z.string(), headers: header, body: z.string() });

export const signerReply = z.union([
  z.object({ id: z.number().int(), ok: z.unknown(), fault: z.undefined().optional() }),
  z.object({ id: z.number().int(), fault: faultData }),
]);

/** The signer as the hub sees it, whether it runs in another process or, in tests, in this one. */
export interface Signer {
  /**
   * Checks the key against the canary of the database and returns it, or seals a first canary when there is none. Only then, or
   * where a previous key file opens the canary, may a new key file be created.
   * @throws Fault MASTER_KEY_MISSING, MASTER_KEY_WRONG, MASTER_KEY_WEAK
   */
  open(input: z.infer<typeof openInput>): Promise<z.infer<typeof openOutput>>;
  seal(input: z.infer<typeof sealInput>): Promise<z.infer<typeof sealOutput>>;
  /**
   * Returns the same text under the current master key, unchanged if it is under that key already.
   * @throws Fault MASTER_KEY_WRONG when neither the current nor the previous key opens it
   */
  rewrap(input: z.infer<typeof rewrapInput>): Promise<z.infer<typeof sealOutput>>;
  /** Seals a text that the hub has to read again, at a place that no bucket key has. */
  sealText(input: z.infer<typeof sealTextInput>): Promise<z.infer<typeof sealOutput>>;
  /** Opens a text of `sealText`. @throws Fault BAD_INPUT for a place of anything else, MASTER_KEY_WRONG */
  openText(input: z.infer<typeof openTextInput>): Promise<z.infer<typeof openTextOutput>>;
  sign(input: z.infer<typeof signInput>): Promise<{ requests: SignedRequest[] }>;
  signRequest(input: z.infer<typeof signRequestInput>): Promise<z.infer<typeof signRequestOutput>>;
  /**
   * Signs the request for a temporary key that opens one folder of a benchmark.
   * @throws Fault BAD_INPUT for any other folder
   */
  askTemporary(input: z.infer<typeof askTemporaryInput>): Promise<z.infer<typeof askTemporaryOutput>>;
  /** Signs the request for a session of a profile's role, which opens the profile's bucket at most. */
  askSession(input: z.infer<typeof askSessionInput>): Promise<z.infer<typeof askTemporaryOutput>>;
  /** Makes a new wrapping key for the id that the place names. */
  makeSealKey(input: z.infer<typeof makeSealKeyInput>): Promise<z.infer<typeof sealKeyOutput>>;
  /**
   * Imports the wrapping key of an export, for the id that the place names.
   * @throws Fault BAD_INPUT when the text is no export of it
   */
  importSealKey(input: z.infer<typeof importSealKeyInput>): Promise<z.infer<typeof sealKeyOutput>>;
  /** Returns the private half as text, for an admin to keep elsewhere; the hub audits it. */
  exportSealKey(input: z.infer<typeof exportSealKeyInput>): Promise<z.infer<typeof openTextOutput>>;
  /** Returns the key of one checkpoint, base64url. @throws Fault SEAL_BROKEN */
  unwrap(input: z.infer<typeof unwrapInput>): Promise<z.infer<typeof unwrapOutput>>;
}
