import { describe, expect, test } from "vitest";
import { storeTraits } from "#protocol/wire/operations.ts";
import { PROVIDERS } from "#protocol/base/provider-names.ts";
import { profileDraft } from "#protocol/wire/requests.ts";
import { PRESETS, presetViews, PROVIDER_ENTRIES, traitsFound, traitsOf } from "./providers.ts";

describe("presets", () => {
  test.each(PROVIDERS)("of %s make a profile the hub accepts once the blanks are filled", (provider) => {
    const preset = PRESETS[provider];
    const endpoint = preset.endpointTemplate
      .replace("{region}", preset.defaultRegion)
      .replace("{account}", "0123456789abcdef");
    const parsed = profileDraft.safeParse({
      name: preset.label,
      provider,
      bucket: "training-eu",
      region: preset.defaultRegion,
      prefix: "",
      endpoint,
      workerEndpoint: null,
      browserEndpoint: null,
      addressing: preset.addressing,
    });
    expect(parsed.error?.issues ?? []).toEqual([]);
  });

  test.each(PROVIDERS)("of %s have traits that can go to a node", (provider) => {
    expect(storeTraits.parse(traitsOf(provider))).toEqual(traitsOf(provider));
  });

  test("are shown in the order of the list, without their traits", () => {
    expect(presetViews().map(({ provider }) => provider)).toEqual([...PROVIDERS]);
    expect(presetViews()[0]).not.toHaveProperty("traits");
    expect(presetViews()[0]).toMatchObject({ label: "Amazon S3", egress: "metered" });
  });

  test("send checksum headers only to stores known to take them, and the old Content-MD5 to the others", () => {
    const taking = (checksum: string) => PROVIDERS.filter((provider) => traitsOf(provider).checksum === checksum);
    expect(taking("crc32")).toEqual(["aws", "r2", "minio", "seaweedfs"]);
    expect(taking("none")).toEqual(["other"]);
    expect(PROVIDERS.filter((provider) => traitsOf(provider).probeChecksum)).toEqual(["other"]);
  });

  test("start with fewer connections than they may grow to, and let none lie idle for as long as a store keeps it", () => {
    for (const provider of PROVIDERS) {
      const { startConnections, mostConnections, keepAliveMs } = traitsOf(provider);
      expect(startConnections).toBeLessThan(mostConnections);
      expect(mostConnections).toBeLessThanOrEqual(96);
      expect(keepAliveMs).toBeLessThan(60_000);
    }
    expect(traitsOf("other").keepAliveMs).toBeLessThan(5000);
  });

  test("give a node of today what an older hub does not send", () => {
    const { minPartBytes, maxPartBytes, maxParts, preferredPartBytes, ...rest } = traitsOf("aws");
    const { checksum, conditionalWrites, trustEtag } = rest;
    const old = { minPartBytes, maxPartBytes, maxParts, preferredPartBytes, checksum, conditionalWrites, trustEtag };
    expect(storeTraits.parse(old)).toMatchObject({ probeChecksum: false, startConnections: 8, mostConnections: 96 });
  });

  test("ask nothing of an unknown store that some store refuses or ignores", () => {
    expect(traitsOf("other")).toMatchObject({ checksum: "none", conditionalWrites: false, trustEtag: false });
    expect(traitsOf("gcs").conditionalWrites).toBe(false);
  });
});

describe("what a test found of one store", () => {
  const found = { checksum: "md5", conditionalWrites: true, foundAt: 0 } as const;

  test("overrules what is said of its provider", () => {
    expect(traitsFound("other", found)).toMatchObject({
      checksum: "md5",
      probeChecksum: false,
      conditionalWrites: true,
    });
    expect(traitsFound("minio", { ...found, conditionalWrites: false }).conditionalWrites).toBe(false);
  });

  test("leaves alone what it could not tell", () => {
    const nothing = { checksum: null, conditionalWrites: null, foundAt: 0 };
    for (const provider of PROVIDERS) expect(traitsFound(provider, nothing)).toEqual(traitsOf(provider));
    expect(traitsFound("r2", null)).toEqual(traitsOf("r2"));
  });
});

describe("what a provider publishes", () => {
  test.each(PROVIDERS)("for %s fits how its egress is described", (provider) => {
    const { egress, prices } = presetViews().find((view) => view.provider === provider) ?? {};
    if (egress === "own") {
      expect(prices).toBeNull();
      return;
    }
    expect(prices?.source).toMatch(/^https:\/\//);
    if (egress === "none") expect(prices).toMatchObject({ egressPerGb: 0, freeEgressPerStored: 0 });
    if (egress === "fair-use") expect(prices?.freeEgressPerStored).toBeGreaterThanOrEqual(1);
    if (egress === "metered") expect(prices?.egressPerGb).toBeGreaterThan(0);
  });
});

describe("entries", () => {
  test("give a name of rclone or of variables to one provider only", () => {
    const rclone = PROVIDER_ENTRIES.flatMap(([, entry]) => entry.rclone ?? []);
    const variables = PROVIDER_ENTRIES.flatMap(([, entry]) => entry.variables);
    expect(rclone.length).toBeGreaterThan(0);
    expect(new Set(rclone).size).toBe(rclone.length);
    expect(variables.length).toBeGreaterThan(0);
    expect(new Set(variables).size).toBe(variables.length);
  });

  test("leave traits, hosts and names of other tools out of what pages are sent", () => {
    const [view] = presetViews();
    expect(Object.keys(view ?? {}).toSorted()).toEqual([
      "addressing",
      "defaultRegion",
      "egress",
      "endpointTemplate",
      "label",
      "note",
      "prices",
      "provider",
      "regionHint",
      "temporaryKeys",
    ]);
  });
});
