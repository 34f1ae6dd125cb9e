import * as z from "zod";
import type { FaultData } from "../faults/fault.ts";
import { id } from "../base/names.ts";
import { storeChecksum } from "./store-checksum.ts";
import { packing } from "../checkpoint/packing.ts";
import { tuning } from "./tuning.ts";

/** Settings of a bucket profile besides its address and key, and data for import, CORS and prices. */

/** In the currency of the provider's price list. Null: the published price. */
const price = z.number().min(0, "a price is 0 or more").max(1000, "a price is at most 1,000").nullable();
export const priceOverride = z.object({ egressPerGb: price, storagePerGbMonth: price, per1000Requests: price });

export const profileAbout = z.object({
  /** A person's notes, shown as plain text. */
  notes: z.string().trim().max(2000, "notes have at most 2,000 characters"),
  prices: priceOverride.nullable(),
  /** Absent: unchanged, or the default. */
  packing: packing.optional(),
  /** Absent: unchanged, or the default. */
  tuning: tuning.optional(),
});
export type ProfileAbout = z.infer<typeof profileAbout>;

/** Traits that the last test found by trying; null when it could not tell. They override the traits of the provider. */
export const foundTraits = z.object({
  checksum: storeChecksum.nullable(),
  conditionalWrites: z.boolean().nullable(),
  /** Epoch ms. */
  foundAt: z.number(),
});
export type FoundTraits = z.infer<typeof foundTraits>;

/** Published prices of a provider, for estimates. GB are 10^9 bytes; money is in `currency`. */
export interface ProviderPrices {
  currency: "USD" | "EUR";
  /** Price beyond the free amount. */
  egressPerGb: number;
  /** Free egress in a month as a multiple of the stored bytes. */
  freeEgressPerStored: number;
  /** Free egress in a month, independent of the stored bytes. */
  freeEgressGb: number;
  storagePerGbMonth: number;
  writesPer1000: number;
  readsPer1000: number;
  /** URL of the price list. */
  source: string;
}

/** Refers to a key that the hub holds since it read the pasted text, without showing the key. */
export const importedKey = z.object({ handle: id, index: z.number().int().min(0).max(63) });
export type ImportedKey = z.infer<typeof importedKey>;

/** Longest text that is accepted: more than any usual rclone.conf. */
export const MOST_IMPORT_CHARACTERS = 128 * 1024;
export const readImportInput = z.object({
  text: z.string().min(1, "paste the text first").max(MOST_IMPORT_CHARACTERS, "this is longer than any such file"),
});

/** A common mistake in a command or a configuration of rclone. */
export interface LintFinding {
  /** The flag or option as it was written. */
  what: string;
  why: string;
  /** The correct form. */
  use: string;
  weight: "wrong" | "doubtful" | "note";
}

/** One CORS rule with the names that S3 uses. */
export interface CorsRuleView {
  id: string | null;
  origins: string[];
  methods: string[];
  headers: string[];
  exposed: string[];
  maxAgeSeconds: number | null;
}

export interface CorsPlanView {
  origin: string;
  /** The rules at present, and the rules after the change. Rules of others are in both. */
  present: CorsRuleView[];
  wanted: CorsRuleView[];
  added: CorsRuleView[];
  removed: CorsRuleView[];
  /** SHA-256 of `present`: the write is refused when the rules have changed since. */
  digest: string;
  state: "in place" | "to write" | "by hand";
  /** For `by hand`: the reason, and the lines to paste. */
  says: string | null;
  pastes: { label: string; text: string }[];
}

/** Result of a simulated browser preflight. */
export interface PreflightView {
  method: string;
  isAllowed: boolean;
  says: string;
  fault: FaultData | null;
}

export interface CorsWriteView {
  plan: CorsPlanView;
  /** Whether the rules were read back and equal the wanted ones. */
  isWritten: boolean;
  preflights: PreflightView[];
}

export const writeCorsInput = z.object({ id, digest: z.string().regex(/^[0-9a-f]{64}$/) });
