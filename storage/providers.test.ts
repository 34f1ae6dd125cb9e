import { describe, expect, test } from "vitest";
import { storeTraits } from "#protocol/operations.ts";
import { profileDraft, PROVIDERS } from "#protocol/requests.ts";
import { PRESETS, presetViews, traitsOf } from "./providers.ts";

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

  test("send checksums only to stores known to take them", () => {
    const taking = PROVIDERS.filter((provider) => traitsOf(provider).checksum === "crc32");
    expect(taking).toEqual(["aws", "r2", "minio", "seaweedfs"]);
  });

  test("ask nothing of an unknown store that some store refuses or ignores", () => {
    expect(traitsOf("other")).toMatchObject({ checksum: "none", conditionalWrites: false, trustEtag: false });
    expect(traitsOf("gcs").conditionalWrites).toBe(false);
  });
});
