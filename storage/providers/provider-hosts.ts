import type { Provider } from "#protocol/base/provider.ts";
import type { HostRule } from "./provider-entry.ts";
import { PROVIDER_ENTRIES } from "./providers.ts";

/**
 * Recognizes providers and regions from host names. Only names that a provider owns are recognized: `minio.example.com`
 * may be any server, and a wrong guess would enable features that the store refuses. Any other host is "other", whose
 * traits the node probes.
 */

interface OwnedRule extends HostRule {
  provider: Provider;
}

const RULES: readonly OwnedRule[] = PROVIDER_ENTRIES.flatMap(([provider, { hosts }]) =>
  hosts.map((rule) => ({ provider, ...rule })),
);

const hostNameOf = (endpointOrHost: string): string => {
  const text = endpointOrHost.trim().toLowerCase();
  const url = text.includes("://") ? text : `https://${text}`;
  return URL.canParse(url) ? new URL(url).hostname : "";
};

function find(endpointOrHost: string): { rule: OwnedRule; groups: Record<string, string | undefined> } | null {
  const host = hostNameOf(endpointOrHost);
  for (const rule of RULES) {
    const match = rule.pattern.exec(host);
    if (match !== null) return { rule, groups: match.groups ?? {} };
  }
  return null;
}

/** Returns the provider that owns a host, given bare or as an endpoint URL (`s3.eu-central-1.wasabisys.com`: wasabi), or null. */
export const providerOfHost = (endpointOrHost: string): Provider | null => find(endpointOrHost)?.rule.provider ?? null;

/** Returns the region of a host, as signatures name it; null when the host name has none. */
export function regionOfHost(endpointOrHost: string): string | null {
  const found = find(endpointOrHost);
  return found === null ? null : (found.groups["region"] ?? found.rule.region);
}

/** Shape of a region that may become part of a host name. */
const REGION = /^[a-z0-9-]{1,32}$/;

/**
 * Returns the same provider's endpoint in another region, built from the provider's own pattern and never from an answer.
 * Null where the provider has no host per region.
 */
export function endpointInRegion(endpoint: string, region: string): string | null {
  const found = find(endpoint);
  if (found?.rule.at === undefined || !REGION.test(region)) return null;
  const url = new URL(endpoint);
  const host = found.rule.at(region, found.groups);
  // An unknown region could produce a host name that another provider owns.
  if (providerOfHost(host) !== found.rule.provider) return null;
  return `${url.protocol}//${host}${url.port === "" ? "" : `:${url.port}`}`;
}

/** Hosts (Alibaba OSS, Tencent COS, Huawei OBS, Volcengine TOS) that refuse path style. A refused HEAD gives no reason. */
const ONLY_VIRTUAL_HOST =
  /^(?:oss-[a-z0-9-]+\.aliyuncs\.com|cos\.[a-z0-9-]+\.myqcloud\.com|obs\.[a-z0-9-]+\.myhuaweicloud\.com|tos-s3-[a-z0-9-]+\.volces\.com)$/;

/** Returns the addressing style for an endpoint: its provider's usual style, unless the host accepts only virtual-host style. */
export const styleAt = (endpoint: string | null, usual: "path" | "virtual-host"): "path" | "virtual-host" =>
  endpoint !== null && ONLY_VIRTUAL_HOST.test(hostNameOf(endpoint)) ? "virtual-host" : usual;
