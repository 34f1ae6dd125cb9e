import type { Provider } from "#protocol/base/provider.ts";
import type { HostRule } from "./provider-entry.ts";
import { PROVIDER_ENTRIES } from "./providers.ts";

/**
 * Which provider an address belongs to, and where its regions live. Only names that a provider owns are recognised: a
 * host called `minio.example.com` may be anything, and guessing wrong would switch on what that store refuses. What is
 * not recognised is "other", whose traits the node finds out by itself.
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

/** The provider that owns this host (`s3.eu-central-1.wasabisys.com` is wasabi's), given bare or as an endpoint; null when none is known. */
export const providerOfHost = (endpointOrHost: string): Provider | null => find(endpointOrHost)?.rule.provider ?? null;

/** The region this host belongs to, as signatures name it; null when the host does not say. */
export function regionOfHost(endpointOrHost: string): string | null {
  const found = find(endpointOrHost);
  return found === null ? null : (found.groups["region"] ?? found.rule.region);
}

/** What a region may look like before it becomes part of a host name. */
const REGION = /^[a-z0-9-]{1,32}$/;

/**
 * The same provider's endpoint for another region, made from the provider's own pattern and never from what an answer
 * says; null where the provider has no host per region.
 */
export function endpointInRegion(endpoint: string, region: string): string | null {
  const found = find(endpoint);
  if (found?.rule.at === undefined || !REGION.test(region)) return null;
  const url = new URL(endpoint);
  const host = found.rule.at(region, found.groups);
  // A region nobody has could make the name one of somebody else's.
  if (providerOfHost(host) !== found.rule.provider) return null;
  return `${url.protocol}//${host}${url.port === "" ? "" : `:${url.port}`}`;
}

/** Hosts of Alibaba OSS, Tencent COS, Huawei OBS and Volcengine TOS: they refuse a bucket in the path, and a refused HEAD does not say why. */
const ONLY_VIRTUAL_HOST =
  /^(?:oss-[a-z0-9-]+\.aliyuncs\.com|cos\.[a-z0-9-]+\.myqcloud\.com|obs\.[a-z0-9-]+\.myhuaweicloud\.com|tos-s3-[a-z0-9-]+\.volces\.com)$/;

/** The style in which buckets are asked for at an endpoint: the usual one of its provider, unless its host takes only another. */
export const styleAt = (endpoint: string | null, usual: "path" | "virtual-host"): "path" | "virtual-host" =>
  endpoint !== null && ONLY_VIRTUAL_HOST.test(hostNameOf(endpoint)) ? "virtual-host" : usual;
