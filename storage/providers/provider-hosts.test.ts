import { describe, expect, test } from "vitest";
import type { Provider } from "#protocol/base/provider.ts";
import { endpointInRegion, providerOfHost, regionOfHost } from "./provider-hosts.ts";
import { PRESETS } from "./providers.ts";
import { PROVIDERS } from "#protocol/base/provider-names.ts";

describe("a host", () => {
  test.each<[string, Provider, string]>([
    ["s3.eu-central-1.amazonaws.com", "aws", "eu-central-1"],
    ["s3-us-west-2.amazonaws.com", "aws", "us-west-2"],
    ["s3.amazonaws.com", "aws", "us-east-1"],
    ["training.s3.us-gov-west-1.amazonaws.com", "aws", "us-gov-west-1"],
    ["s3.dualstack.ap-southeast-2.amazonaws.com", "aws", "ap-southeast-2"],
    ["s3.cn-north-1.amazonaws.com.cn", "aws", "cn-north-1"],
    ["0123abcd.r2.cloudflarestorage.com", "r2", "auto"],
    ["0123abcd.eu.r2.cloudflarestorage.com", "r2", "auto"],
    ["s3.us-west-004.backblazeb2.com", "b2", "us-west-004"],
    ["gateway.storjshare.io", "storj", "us-east-1"],
    ["gateway.eu1.storjshare.io", "storj", "us-east-1"],
    ["s3.eu-central-1.wasabisys.com", "wasabi", "eu-central-1"],
    ["s3.wasabisys.com", "wasabi", "us-east-1"],
    ["storage.googleapis.com", "gcs", "auto"],
    ["fra1.digitaloceanspaces.com", "spaces", "fra1"],
    ["fly.storage.tigris.dev", "tigris", "auto"],
    ["t3.storage.dev", "tigris", "auto"],
    ["s3.fr-par.scw.cloud", "scaleway", "fr-par"],
    ["https://S3.EU-West-1.amazonaws.com:443/", "aws", "eu-west-1"],
  ])("%s is known by its name", (host, provider, region) => {
    expect([providerOfHost(host), regionOfHost(host)]).toEqual([provider, region]);
  });

  test.each([
    "127.0.0.1:9000",
    "minio.example.com",
    "s3.example.com",
    "s3.eu-central-1.amazonaws.com.evil.example",
    "evil-amazonaws.com",
    "fakes3.us-west-004.backblazeb2.com.example",
    "",
    "https://",
  ])("%s is nobody's", (host) => {
    expect([providerOfHost(host), regionOfHost(host)]).toEqual([null, null]);
  });

  test.each(PROVIDERS.filter((provider) => !PRESETS[provider].endpointTemplate.includes("example.com")))(
    "of the template of %s is recognised",
    (provider) => {
      const { endpointTemplate, defaultRegion } = PRESETS[provider];
      const endpoint = endpointTemplate.replace("{region}", defaultRegion).replace("{account}", "0123abcd");
      expect([providerOfHost(endpoint), regionOfHost(endpoint)]).toEqual([provider, defaultRegion]);
    },
  );
});

describe("the endpoint of another region", () => {
  test.each([
    ["https://s3.us-east-1.amazonaws.com", "eu-west-3", "https://s3.eu-west-3.amazonaws.com"],
    ["https://s3.amazonaws.com", "eu-west-3", "https://s3.eu-west-3.amazonaws.com"],
    ["https://s3.dualstack.us-east-1.amazonaws.com", "eu-west-3", "https://s3.dualstack.eu-west-3.amazonaws.com"],
    ["https://s3.wasabisys.com", "eu-central-2", "https://s3.eu-central-2.wasabisys.com"],
    ["https://s3.fr-par.scw.cloud", "nl-ams", "https://s3.nl-ams.scw.cloud"],
  ])("%s in %s", (endpoint, region, expected) => {
    expect(endpointInRegion(endpoint, region)).toBe(expected);
  });

  test("is not guessed for a host without regions, and no answer can lead it elsewhere", () => {
    expect(endpointInRegion("https://storage.googleapis.com", "eu-west-3")).toBeNull();
    expect(endpointInRegion("http://127.0.0.1:9000", "eu-west-3")).toBeNull();
    expect(endpointInRegion("https://s3.us-east-1.amazonaws.com", "evil.example/")).toBeNull();
    expect(endpointInRegion("https://s3.us-east-1.amazonaws.com", "no such region")).toBeNull();
  });
});
