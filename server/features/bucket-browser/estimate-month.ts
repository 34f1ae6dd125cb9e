import { priceOverride } from "#protocol/wire/profiles.ts";
import { provider } from "#protocol/base/provider.ts";
import type { BucketUsage } from "#protocol/buckets/bucket-usage.ts";
import { PRESETS } from "#storage/providers/providers.ts";
import type { Profile } from "#prisma/client/client.ts";

const GB = 1e9;

interface Month {
  storedBytes: number;
  /** That leave the store. */
  downBytes: number;
  writes: number;
  reads: number;
}

/**
 * What a month like this costs, by the prices that stand in the profile and by the provider's list where none stands there.
 * What the list gives away is taken off, because here all of what leaves is known that this hub moved. Null without a price
 * for storage.
 */
export function estimateMonth(profile: Pick<Profile, "provider" | "prices">, month: Month): BucketUsage["cost"] {
  const listed = PRESETS[provider.catch("other").parse(profile.provider)].prices;
  const own = profile.prices === null ? null : priceOverride.parse(JSON.parse(profile.prices));
  const perGbMonth = own?.storagePerGbMonth ?? listed?.storagePerGbMonth ?? null;
  if (perGbMonth === null) return null;
  const perGb = own?.egressPerGb ?? listed?.egressPerGb ?? 0;
  // A price of one's own is what one pays for every byte.
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
