import type { StoreTraits } from "#protocol/wire/operations.ts";
import type { FoundTraits } from "#protocol/wire/profiles.ts";
import type { Provider } from "#protocol/base/provider.ts";
import { PROVIDERS } from "#protocol/base/provider-names.ts";
import type { TemporaryPlace } from "#protocol/benchmarks/bench-key.ts";
import type { PresetView } from "#protocol/wire/profile-views.ts";
import { OWN_SERVERS } from "./own-servers.ts";
import type { ProviderEntries, ProviderEntry } from "./provider-entry.ts";
import { SERVICES } from "./services.ts";

/** All provider presets, one entry each; the other provider data is derived from them. Safe for browsers. */
export const PRESETS: ProviderEntries<Provider> = { ...SERVICES, ...OWN_SERVERS };

/** The presets as [name, entry] pairs, in table order. */
export const PROVIDER_ENTRIES = Object.entries(PRESETS) as readonly (readonly [Provider, ProviderEntry])[];

/** Returns the service that issues temporary keys: the provider's, or the store's own endpoint. Null: none is known. */
export function temporaryPlaceOf(profile: {
  provider: Provider;
  region: string;
  endpoint: string;
}): TemporaryPlace | null {
  const { provider, region, endpoint } = profile;
  const { temporaryKeys } = PRESETS[provider];
  if (temporaryKeys === null) return null;
  // An R2 endpoint begins with the account id.
  const [account = ""] = new URL(endpoint).hostname.split(".");
  const address =
    temporaryKeys === "same" ? endpoint : temporaryKeys.replace("{region}", region).replace("{account}", account);
  return { call: provider === "r2" ? "r2" : "sts", address };
}

/** Returns the traits that the engine assumes for a provider's stores. */
export const traitsOf = (provider: Provider): StoreTraits => PRESETS[provider].traits;

/**
 * Returns the engine's traits for one store: the provider's, corrected by what a test of this store found. After that
 * test, nodes need not probe an unknown store.
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

/** Returns the presets as the profile form shows them, in the order of the provider list. */
export const presetViews = (): PresetView[] =>
  PROVIDERS.map((provider) => {
    const { traits: _traits, hosts: _hosts, rclone: _rclone, variables: _variables, ...view } = PRESETS[provider];
    return { provider, ...view };
  });
