import { describe, expect, test } from "vitest";
import { chooseStore, type StoreHints } from "./choose-store.ts";

const choose = (hints: Partial<StoreHints>) => chooseStore({ provider: null, endpoint: null, region: null, ...hints });

describe("a store", () => {
  test("is Amazon's when nothing is said", () => {
    expect(choose({})).toMatchObject({
      provider: "aws",
      endpoint: "https://s3.us-east-1.amazonaws.com",
      region: "us-east-1",
      addressing: "virtual-host",
    });
    expect(choose({ region: "eu-west-3" }).endpoint).toBe("https://s3.eu-west-3.amazonaws.com");
  });

  test("is known by its host, with its region", () => {
    expect(choose({ provider: "auto", endpoint: "https://s3.eu-central-1.wasabisys.com" })).toMatchObject({
      provider: "wasabi",
      region: "eu-central-1",
      traits: { checksum: "md5" },
    });
    expect(choose({ endpoint: "https://0123.r2.cloudflarestorage.com" })).toMatchObject({
      provider: "r2",
      region: "auto",
      addressing: "path",
    });
  });

  test("that nobody knows is found out about", () => {
    expect(choose({ endpoint: "http://10.0.0.7:9000" })).toMatchObject({
      provider: "other",
      region: "us-east-1",
      addressing: "path",
      traits: { probeChecksum: true },
    });
  });

  test.each([
    "https://oss-cn-shanghai.aliyuncs.com",
    "https://cos.ap-beijing.myqcloud.com",
    "https://obs.ap-southeast-1.myhuaweicloud.com",
    "https://tos-s3-cn-beijing.volces.com",
  ])("that takes no bucket in the path is asked before its host: %s", (endpoint) => {
    expect(choose({ endpoint })).toMatchObject({ provider: "other", addressing: "virtual-host" });
    expect(choose({ endpoint: `${endpoint}.evil.example` }).addressing).toBe("path");
  });

  test("is what the person says, whatever its host", () => {
    const said = choose({ provider: "minio", endpoint: "https://s3.us-west-004.backblazeb2.com", region: "here" });
    expect(said).toMatchObject({ provider: "minio", region: "here", traits: { checksum: "crc32" } });
    expect(choose({ provider: "b2", region: "eu-central-003" }).endpoint).toBe(
      "https://s3.eu-central-003.backblazeb2.com",
    );
  });

  test.each<[string, Partial<StoreHints>, string]>([
    ["a provider nobody knows", { provider: "s3" }, "one of auto, aws, r2"],
    ["a provider without an address of its own", { provider: "minio" }, "--endpoint https://minio.example.com"],
    ["an account nobody named", { provider: "r2" }, "--endpoint https://{account}.r2"],
    ["an address without a scheme", { endpoint: "store.example" }, "an endpoint looks like"],
    ["another scheme", { endpoint: "ftp://store.example" }, "an endpoint looks like"],
  ])("is not chosen from %s", (_name, hints, words) => {
    expect(() => choose(hints)).toThrow(expect.objectContaining({ code: "BAD_INPUT" }));
    expect(() => choose(hints)).toThrow(words);
  });
});
