import { priceOverride } from "#protocol/wire/profiles.ts";
import { provider } from "#protocol/base/provider.ts";
import type { RestoreCost } from "#protocol/wire/restoring.ts";
import { PRESETS } from "#storage/providers/providers.ts";
import type { Profile } from "#prisma/client/client.ts";

const GB = 1e9;

/**
 * Returns the cost of one restore by the provider's price list, or by prices set in the profile; null without either. Free
 * traffic is not subtracted, because the hub cannot know how much of it is used up.
 */
export function estimateCost(
  profile: Pick<Profile, "provider" | "prices">,
  { bytes, reads }: { bytes: number; reads: number },
): RestoreCost | null {
  const listed = PRESETS[provider.catch("other").parse(profile.provider)].prices;
  const own = profile.prices === null ? null : priceOverride.parse(JSON.parse(profile.prices));
  const perGb = own?.egressPerGb ?? listed?.egressPerGb ?? null;
  const per1000 = own?.per1000Requests ?? listed?.readsPer1000 ?? null;
  if (perGb === null && per1000 === null) return null;
  const egress = (bytes / GB) * (perGb ?? 0);
  const requests = (reads / 1000) * (per1000 ?? 0);
  const gb = own?.egressPerGb == null ? (listed?.freeEgressGb ?? 0) : 0;
  const timesStored = own?.egressPerGb == null ? (listed?.freeEgressPerStored ?? 0) : 0;
  const free = gb === 0 && timesStored === 0 ? null : { gb, timesStored };
  return { currency: listed?.currency ?? "USD", egress, requests, total: egress + requests, free };
}
