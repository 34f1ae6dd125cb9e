import { priceOverride } from "#protocol/wire/profiles.ts";
import { provider } from "#protocol/base/provider.ts";
import type { BucketUsage } from "#protocol/buckets/bucket-usage.ts";
import { PRESETS } from "#storage/providers/providers.ts";
import type { Profile } from "#prisma/client/client.ts";

const GB = 1e9;

interface Month {
  storedBytes: number;
  /** Bytes that leave the store. */
  downBytes: number;
  writes: number;
  reads: number;
}

/**
 * Estimates the cost of a month by the prices of the profile, and by the provider's list where the profile has none. Subtracts
 * the list's free allowance, because all egress that this hub moved is known. Null without a price for storage.
 */
export function estimateMonth(profile: Pick<Profile, "provider" | "prices">, month: Month): BucketUsage["cost"] {
  const listed = PRESETS[provider.catch("other").parse(profile.provider)].prices;
  const own = profile.prices === null ? null : priceOverride.parse(JSON.parse(profile.prices));
  const perGbMonth = own?.storagePerGbMonth ?? listed?.storagePerGbMonth ?? null;
  if (perGbMonth === null) return null;
  const perGb = own?.egressPerGb ?? listed?.egressPerGb ?? 0;
  // A price of the profile applies to every byte, without a free allowance.
  const isListed = own?.egressPerGb == null && listed !== null;
  const freeBytes = isListed ? listed.freeEgressGb * GB + listed.freeEgressPerStored * month.storedBytes : 0;
  const paidBytes = Math.max(0, month.downBytes - freeBytes);
  const perWrite = (own?.per1000Requests ?? listed?.writesPer1000 ?? 0) / 1000;
  const perRead = (own?.per1000Requests ?? listed?.readsPer1000 ?? 0) / 1000;
  const storage = (month.storedBytes / GB) * perGbMonth;
  const egress = (paidBytes / GB) * perGb;
  const requests = month.writes * perWrite + month.reads * perRead;
  return {
    currency: listed?.currency ?? "USD",
    storage,
    egress,
    requests,
    total: storage + egress + requests,
    perGbMonth,
    freeDownBytes: month.downBytes - paidBytes,
    hasOwnPrices: own !== null,
    source: listed?.source ?? null,
  };
}
