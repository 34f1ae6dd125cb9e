import * as z from "zod";

const MOST_PEM_CHARACTERS = 64 * 1024;
const PEM = /^(?:\s*-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----)+\s*$/;
const PINS = /^sha256\/[A-Za-z0-9+/]{43}=(?:[\s,]+sha256\/[A-Za-z0-9+/]{43}=){0,7}$/;

/** What is asked of a store's certificate beyond what is asked of every store's. */
export const storeTrust = z.object({
  /** Authorities that are trusted for it beside the others, PEM; null: none. */
  ca: z
    .string()
    .max(MOST_PEM_CHARACTERS, "certificates of at most 64 KiB")
    .regex(PEM, "certificates in PEM form, from BEGIN CERTIFICATE to END CERTIFICATE, and nothing else")
    .nullable(),
  /** Keys of which its certificate must have one; null: any. As curl writes them, separated by commas. */
  pin: z.string().max(500).regex(PINS, "a pin is sha256/ and 44 characters of base64").nullable(),
});
export type StoreTrust = z.infer<typeof storeTrust>;
