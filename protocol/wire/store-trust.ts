import * as z from "zod";

const MOST_PEM_CHARACTERS = 64 * 1024;
const PEM = /^(?:\s*-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----)+\s*$/;
const PINS = /^sha256\/[A-Za-z0-9+/]{43}=(?:[\s,]+sha256\/[A-Za-z0-9+/]{43}=){0,7}$/;

/** Requirements for a store's TLS certificate beyond the usual verification. */
export const storeTrust = z.object({
  /** Additional trusted certificate authorities, PEM; null: none. */
  ca: z
    .string()
    .max(MOST_PEM_CHARACTERS, "certificates of at most 64 KiB")
    .regex(PEM, "certificates in PEM form, from BEGIN CERTIFICATE to END CERTIFICATE, and nothing else")
    .nullable(),
  /** Accepted public keys of the certificate in curl's notation, separated by commas; null: any key. */
  pin: z.string().max(500).regex(PINS, "a pin is sha256/ and 44 characters of base64").nullable(),
});
export type StoreTrust = z.infer<typeof storeTrust>;
