import { Fault } from "#protocol/faults/fault.ts";
import { provider as providerName, type Provider } from "#protocol/base/provider.ts";
import { providerOfHost, regionOfHost, styleAt } from "../providers/provider-hosts.ts";
import { PRESETS } from "../providers/providers.ts";
import type { StoreAccess } from "./signing.ts";
import { PROVIDERS } from "#protocol/base/provider-names.ts";

/** A store as the user described it with flags or variables; null for each value that was not given. */
export interface StoreHints {
  /** A provider's name; `auto` finds it from the endpoint's host. */
  provider: string | null;
  endpoint: string | null;
  region: string | null;
}

export interface ChosenStore extends Omit<StoreAccess, "bucket"> {
  provider: Provider;
}

const refuse = (subject: string, detail: string): Fault => new Fault("BAD_INPUT", { op: "usage", subject, detail });

function providerFor({ provider, endpoint }: StoreHints): Provider {
  if (provider === null || provider === "auto")
    return endpoint === null ? "aws" : (providerOfHost(endpoint) ?? "other");
  const named = providerName.safeParse(provider);
  if (!named.success) throw refuse(`--provider ${provider}`, `one of auto, ${PROVIDERS.join(", ")}`);
  return named.data;
}

function endpointFor(provider: Provider, region: string): string {
  const { endpointTemplate } = PRESETS[provider];
  if (endpointTemplate.includes("{account}") || new URL(endpointTemplate).hostname.endsWith("example.com")) {
    throw refuse(`--provider ${provider}`, `its address is needed as well: --endpoint ${endpointTemplate}`);
  }
  return endpointTemplate.replace("{region}", region);
}

/**
 * Resolves the hints into a store: the provider by the endpoint's host, the region by the host or the provider's
 * default.
 * Without any hint the store is Amazon S3.
 * @throws Fault BAD_INPUT
 */
export function chooseStore(hints: StoreHints): ChosenStore {
  const { endpoint } = hints;
  if (endpoint !== null && (!/^https?:\/\/[^/]/i.test(endpoint) || !URL.canParse(endpoint))) {
    throw refuse(`--endpoint ${endpoint}`, "an endpoint looks like https://s3.example.com");
  }
  const provider = providerFor(hints);
  const preset = PRESETS[provider];
  const region = hints.region ?? (endpoint === null ? null : regionOfHost(endpoint)) ?? preset.defaultRegion;
  return {
    provider,
    endpoint: endpoint ?? endpointFor(provider, region),
    region,
    addressing: styleAt(endpoint, preset.addressing),
    traits: preset.traits,
  };
}
