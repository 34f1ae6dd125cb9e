import { createHash, randomBytes, randomUUID } from "node:crypto";

/** Returns a new random id. */
export const newId = (): string => randomUUID();

/** Prefix of a secret, which makes a leaked one recognizable. */
export type SecretKind = "tmj" | "tmn" | "tms" | "tmk" | "tmi" | "tmr";

/**
 * Returns a new 256-bit secret: a join token (`tmj_`), a node's credential (`tmn_`), a session (`tms_`) or an API token
 * (`tmk_`). `tmi_` is the code of an invitation, `tmr_` that of a reset.
 */
export const newSecret = (kind: SecretKind): string => `${kind}_${randomBytes(32).toString("base64url")}`;

/** Returns the SHA-256 of a secret, which may be stored. Secrets are long and random, so an unsalted hash is enough. */
export const hashOf = (secret: string): string => createHash("sha256").update(secret).digest("hex");
