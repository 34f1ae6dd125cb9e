import type { Provider } from "#protocol/base/provider.ts";

/**
 * Which provider an address belongs to, and where its regions live. Only names that a provider owns are recognised: a
 * host called `minio.example.com` may be anything, and guessing wrong would switch on what that store refuses. What is
 * not recognised is "other", whose traits the node finds out by itself.
 */

interface HostRule {
  provider: Provider;
  /** On the lower-case host name without its port. A group `region` is the region; `rest` is kept when it changes. */
  pattern: RegExp;
  /** The region where the name has none; null: ask elsewhere. */
  region: string | null;
  /** The same service in another region. */
  at?: (region: string, groups: Readonly<Record<string, string | undefined>>) => string;
}

const RULES: readonly HostRule[] = [
  {
    provider: "aws",
    pattern:
      /^(?:[a-z0-9.-]+\.)?s3(?<flavour>\.dualstack|-fips)?[.-](?<region>[a-z]{2}(?:-[a-z]+){1,3}-\d)\.amazonaws\.com(?<china>\.cn)?$/,
    region: null,
    at: (region, { flavour = "", china = "" }) => `s3${flavour}.${region}.amazonaws.com${china}`,
  },
  {
    provider: "aws",
    pattern: /^(?:[a-z0-9.-]+\.)?s3(?:-accelerate)?\.amazonaws\.com$/,
    region: "us-east-1",
    at: (region) => `s3.${region}.amazonaws.com`,
  },
  { provider: "r2", pattern: /^(?:[a-z0-9-]+\.)+r2\.cloudflarestorage\.com$/, region: "auto" },
  {
    provider: "b2",
    pattern: /^(?:[a-z0-9.-]+\.)?s3\.(?<region>[a-z]{2}-[a-z]+-\d{3})\.backblazeb2\.com$/,
    region: null,
    at: (region) => `s3.${region}.backblazeb2.com`,
  },
  { provider: "storj", pattern: /^gateway(?:\.[a-z0-9]+)?\.storjshare\.io$/, region: "us-east-1" },
  {
    provider: "wasabi",
    pattern: /^(?:[a-z0-9.-]+\.)?s3\.(?<region>[a-z]{2}-[a-z]+-\d)\.wasabisys\.com$/,
    region: null,
    at: (region) => `s3.${region}.wasabisys.com`,
  },
  {
    provider: "wasabi",
    pattern: /^s3\.wasabisys\.com$/,
    region: "us-east-1",
    at: (region) => `s3.${region}.wasabisys.com`,
  },
  { provider: "gcs", pattern: /^(?:[a-z0-9._-]+\.)?storage\.googleapis\.com$/, region: "auto" },
  {
    provider: "spaces",
    pattern: /^(?:[a-z0-9.-]+\.)?(?<region>[a-z]{3}\d)\.digitaloceanspaces\.com$/,
    region: null,
    at: (region) => `${region}.digitaloceanspaces.com`,
  },
  { provider: "tigris", pattern: /^(?:fly\.storage\.tigris\.dev|t3\.storage\.dev)$/, region: "auto" },
  {
    provider: "scaleway",
    pattern: /^(?:[a-z0-9.-]+\.)?s3\.(?<region>[a-z]{2}-[a-z]{3})\.scw\.cloud$/,
    region: null,
    at: (region) => `s3.${region}.scw.cloud`,
  },
  { provider: "minio", pattern: /^play\.min\.io$/, region: "us-east-1" },
];

const hostNameOf = (endpointOrHost: string): string => {
  const text = endpointOrHost.trim().toLowerCase();
  const url = text.includes("://") ? text : `https://${text}`;
  return URL.canParse(url) ? new URL(url).hostname : "";
};

function find(endpointOrHost: string): { rule: HostRule; groups: Record<string, string | undefined> } | null {
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
