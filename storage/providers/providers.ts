import type { StoreTraits } from "#protocol/wire/operations.ts";
import type { FoundTraits } from "#protocol/wire/profiles.ts";
import type { Provider } from "#protocol/base/provider.ts";
import { PROVIDERS } from "#protocol/base/provider-names.ts";
import type { TemporaryPlace } from "#protocol/benchmarks/bench-key.ts";
import type { PresetView } from "#protocol/wire/profile-views.ts";
import { OWN_SERVERS } from "./own-servers.ts";
import type { ProviderEntries, ProviderEntry } from "./provider-entry.ts";
import { SERVICES } from "./services.ts";

/** What is known of each provider, one entry each: everything else about providers is derived from it. Safe in the browser. */
export const PRESETS: ProviderEntries<Provider> = { ...SERVICES, ...OWN_SERVERS };

/** The entries with their names, in the order of the table. */
export const PROVIDER_ENTRIES = Object.entries(PRESETS) as readonly (readonly [Provider, ProviderEntry])[];

/** Where a store gives out temporary keys: of its provider, or at its own endpoint; null: nowhere that is known. */
export function temporaryPlaceOf(profile: {
  provider: Provider;
  region: string;
  endpoint: string;
}): TemporaryPlace | null {
  const { provider, region, endpoint } = profile;
  const { temporaryKeys } = PRESETS[provider];
  if (temporaryKeys === null) return null;
  // The account is the first word of an endpoint of R2.
  const [account = ""] = new URL(endpoint).hostname.split(".");
  const address =
    temporaryKeys === "same" ? endpoint : temporaryKeys.replace("{region}", region).replace("{account}", account);
  return { call: provider === "r2" ? "r2" : "sts", address };
}

/** What the engine must know of a provider's stores. */
export const traitsOf = (provider: Provider): StoreTraits => PRESETS[provider].traits;

/**
 * What the engine must know of one store: of its provider's, corrected by what a test of this very store found. A store
 * nobody knows need not be probed by every node once that has been done.
 */
export function traitsFound(provider: Provider, found: FoundTraits | null): StoreTraits {
  const traits = traitsOf(provider);
  if (found === null) return traits;
  const { checksum, conditionalWrites } = found;
  return {
    ...traits,
    ...(checksum !== null && { checksum, probeChecksum: false }),
    ...(conditionalWrites !== null && { conditionalWrites }),
  };
}

/** The presets as the profile form shows them, in the order of the list of providers. */
export const presetViews = (): PresetView[] =>
  PROVIDERS.map((provider) => {
    const { traits: _traits, hosts: _hosts, rclone: _rclone, variables: _variables, ...view } = PRESETS[provider];
    return { provider, ...view };
  });
