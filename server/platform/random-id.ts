import { createHash, randomBytes, randomUUID } from "node:crypto";

/** A new id of ours. */
export const newId = (): string => randomUUID();

/** What a secret begins with, so that a leaked one can be recognised for what it is. */
export type SecretKind = "tmj" | "tmn" | "tms" | "tmk" | "tmi" | "tmr";

/**
 * A new 256-bit secret: a join token (`tmj_`), a node's credential (`tmn_`), a session (`tms_`), an API token (`tmk_`), the
 * code of an invitation (`tmi_`) or of a reset (`tmr_`).
 */
export const newSecret = (kind: SecretKind): string => `${kind}_${randomBytes(32).toString("base64url")}`;

/** What of a secret may be stored. It is random and long, so a plain hash is enough. */
export const hashOf = (secret: string): string => createHash("sha256").update(secret).digest("hex");
