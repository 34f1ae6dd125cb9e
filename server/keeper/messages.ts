import * as z from "zod";
import { faultData } from "#protocol/fault-data.ts";
import { operation, SIGN_BATCH, signedRequest, storeTraits, type SignedRequest } from "#protocol/operations.ts";
import { credentialDraft } from "#protocol/requests.ts";

/**
 * The whole of what may be asked of the keeper, one JSON object per line over a pipe that only its hub holds. There is no
 * message that gives a bucket key or the master key out.
 */

/** Longest line either side accepts: a full batch of long keys fits many times. */
export const LONGEST_LINE = 8 * 1024 * 1024;

/** Where a sealed text belongs: `table|rowId|field`. */
const place = z.string().regex(/^[A-Za-z]{1,32}\|[A-Za-z0-9-]{1,64}\|[A-Za-z]{1,32}$/);
const sealed = z.string().min(1).max(4096);
const header = z.record(z.string().max(128), z.string().max(4096));

const access = z.object({
  endpoint: z.string().max(512),
  region: z.string().max(64),
  bucket: z.string().max(255),
  addressing: z.enum(["path", "virtual-host"]),
  traits: storeTraits,
});

const openInput = z.object({ canary: sealed.nullable() });
/** What the hub itself has to read again: addresses of alert channels. No place of a bucket key fits. */
const textPlace = z.string().regex(/^AlertChannelSecret\|[A-Za-z0-9-]{1,64}\|sealed$/);
const sealTextInput = z.object({ place: textPlace, text: z.string().max(2048) });
const openTextInput = z.object({ place: textPlace, sealed });
/** Also asked in the keeper itself, whoever calls it. */
export const isTextPlace = (at: string): boolean => textPlace.safeParse(at).success;
const sealInput = z.object({ place, credential: credentialDraft });
const rewrapInput = z.object({ place, sealed });
const signInput = z.object({
  place,
  sealed,
  access,
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

export const keeperCall = z.discriminatedUnion("call", [
  z.object({ id: z.number().int(), call: z.literal("open"), input: openInput }),
  z.object({ id: z.number().int(), call: z.literal("seal"), input: sealInput }),
  z.object({ id: z.number().int(), call: z.literal("rewrap"), input: rewrapInput }),
  z.object({ id: z.number().int(), call: z.literal("sign"), input: signInput }),
  z.object({ id: z.number().int(), call: z.literal("sealText"), input: sealTextInput }),
  z.object({ id: z.number().int(), call: z.literal("openText"), input: openTextInput }),
  z.object({ id: z.number().int(), call: z.literal("signRequest"), input: signRequestInput }),
]);
export type KeeperCall = z.infer<typeof keeperCall>;

/** A sealed text and the version of the master key it was sealed with. */
export const sealOutput = z.object({ sealed, keyVersion: z.number().int() });
export const openOutput = sealOutput.extend({
  /** The database is still sealed with the previous master key: `rewrapSecrets` (rewrap.ts) is due. */
  isRewrapDue: z.boolean(),
});
export const openTextOutput = z.object({ text: z.string() });
export const signOutput = z.object({ requests: z.array(signedRequest) });
export const signRequestOutput = z.object({ headers: header });

export const keeperReply = z.union([
  z.object({ id: z.number().int(), ok: z.unknown(), fault: z.undefined().optional() }),
  z.object({ id: z.number().int(), fault: faultData }),
]);

/** The keeper as the hub sees it, whether it lives in another process or, in tests, in this one. */
export interface Keeper {
  /**
   * Checks the key against the canary of the database and gives that back, or, when there is none yet, seals a first one;
   * only then, or where a previous key file opens the canary, may a new key file be made.
   * @throws Fault MASTER_KEY_MISSING, MASTER_KEY_WRONG, MASTER_KEY_WEAK
   */
  open(input: z.infer<typeof openInput>): Promise<z.infer<typeof openOutput>>;
  seal(input: z.infer<typeof sealInput>): Promise<z.infer<typeof sealOutput>>;
  /**
   * The same text under the current master key; what is under it already comes back as it is.
   * @throws Fault MASTER_KEY_WRONG when neither the current nor the previous key opens it
   */
  rewrap(input: z.infer<typeof rewrapInput>): Promise<z.infer<typeof sealOutput>>;
  /** Seals a text that the hub has to read again, at a place that no bucket key has. */
  sealText(input: z.infer<typeof sealTextInput>): Promise<z.infer<typeof sealOutput>>;
  /** @throws Fault BAD_INPUT for a place of anything else, MASTER_KEY_WRONG */
  openText(input: z.infer<typeof openTextInput>): Promise<z.infer<typeof openTextOutput>>;
  sign(input: z.infer<typeof signInput>): Promise<{ requests: SignedRequest[] }>;
  signRequest(input: z.infer<typeof signRequestInput>): Promise<z.infer<typeof signRequestOutput>>;
}
