import * as z from "zod";
import type { FaultData } from "../faults/fault.ts";
import { id } from "../base/names.ts";
import { storeChecksum } from "./store-checksum.ts";
import { packing } from "../checkpoint/packing.ts";
import { tuning } from "./tuning.ts";

/** What a bucket profile carries besides its address and its key, and what is read, planned and written for one. */

/** In the currency of the provider's price list. Null: what the provider publishes. */
const price = z.number().min(0, "a price is 0 or more").max(1000, "a price is at most 1,000").nullable();
export const priceOverride = z.object({ egressPerGb: price, storagePerGbMonth: price, per1000Requests: price });

export const profileAbout = z.object({
  /** People's own words; shown as text. */
  notes: z.string().trim().max(2000, "notes have at most 2,000 characters"),
  prices: priceOverride.nullable(),
  /** Left out: as it is, or as by default. */
  packing: packing.optional(),
  /** Left out: as it is, or as by default. */
  tuning: tuning.optional(),
});
export type ProfileAbout = z.infer<typeof profileAbout>;

/** What the last test found out by doing; null where it could not tell. Overrules what is said of the provider. */
export const foundTraits = z.object({
  checksum: storeChecksum.nullable(),
  conditionalWrites: z.boolean().nullable(),
  /** Epoch ms. */
  foundAt: z.number(),
});
export type FoundTraits = z.infer<typeof foundTraits>;

/** What a provider publishes, as data for estimates. GB are 10^9 bytes; money is in `currency`. */
export interface ProviderPrices {
  currency: "USD" | "EUR";
  /** After whatever is free. */
  egressPerGb: number;
  /** This many times the bytes stored may leave each month for nothing. */
  freeEgressPerStored: number;
  /** This much may leave each month for nothing, whatever is stored. */
  freeEgressGb: number;
  storagePerGbMonth: number;
  writesPer1000: number;
  readsPer1000: number;
  /** The price list. */
  source: string;
}

/** A key that lies in the hub since its text was read: names it without showing it. */
export const importedKey = z.object({ handle: id, index: z.number().int().min(0).max(63) });
export type ImportedKey = z.infer<typeof importedKey>;

/** Longest text that is read: a generous rclone.conf. */
export const MOST_IMPORT_CHARACTERS = 128 * 1024;
export const readImportInput = z.object({
  text: z.string().min(1, "paste the text first").max(MOST_IMPORT_CHARACTERS, "this is longer than any such file"),
});

/** One thing about a command or a configuration of rclone that is often got wrong. */
export interface LintFinding {
  /** Where: the flag or option as it was written. */
  what: string;
  why: string;
  /** What to write instead. */
  use: string;
  weight: "wrong" | "doubtful" | "note";
}

/** One rule, in S3's terms. */
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
  /** The rules as they are, and as they would be. Foreign ones are in both. */
  present: CorsRuleView[];
  wanted: CorsRuleView[];
  added: CorsRuleView[];
  removed: CorsRuleView[];
  /** Names `present`: writing is refused when the rules are others by then. */
  digest: string;
  state: "in place" | "to write" | "by hand";
  /** By hand: why, and the lines to paste. */
  says: string | null;
  pastes: { label: string; text: string }[];
}

/** What a browser's preflight would be answered. */
export interface PreflightView {
  method: string;
  isAllowed: boolean;
  says: string;
  fault: FaultData | null;
}

export interface CorsWriteView {
  plan: CorsPlanView;
  /** Read back and the same as was wanted. */
  isWritten: boolean;
  preflights: PreflightView[];
}

export const writeCorsInput = z.object({ id, digest: z.string().regex(/^[0-9a-f]{64}$/) });
