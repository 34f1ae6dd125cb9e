import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { PROVIDERS } from "#protocol/base/provider-names.ts";
import { corsPastes, sayByHand } from "./cors-by-hand.ts";
import { ruleFor } from "./cors-rules.ts";

const ORIGIN = "https://hub.example.com";
const place = { endpoint: "https://s3.example.com", bucket: "training", rules: [ruleFor(ORIGIN)] };

describe("what is to be pasted", () => {
  test.each(PROVIDERS.filter((provider) => provider !== "storj"))(
    "for %s names the origin and the bucket",
    (provider) => {
      const pastes = corsPastes(provider, place);
      expect(pastes.length).toBeGreaterThan(0);
      expect(pastes.every(({ text }) => text.includes(ORIGIN))).toBe(true);
      expect(sayByHand(provider, "no call")).toMatch(/\.$/);
    },
  );

  test("is one shell word where it is one, whatever is in it", () => {
    const bucket = "it's;$(touch /tmp/x)";
    const [paste] = corsPastes("gcs", { ...place, bucket });
    const command = paste?.text.split("\n").at(-1) ?? "";
    const script = command.replace("gcloud storage buckets update", "printf '%s|'");
    expect(execFileSync("sh", ["-c", script], { encoding: "utf8" })).toBe(`gs://${bucket}|--cors-file=cors.json|`);
  });

  test("is JSON and XML that can be read", () => {
    const [aws, xml] = corsPastes("other", place);
    const document = /<<'END'\n([\s\S]*)\nEND/.exec(aws?.text ?? "")?.[1] ?? "";
    expect(JSON.parse(document)).toMatchObject({ CORSRules: [{ AllowedOrigins: [ORIGIN] }] });
    expect(xml?.text).toMatch(/^<CORSConfiguration>[\s\S]*<\/CORSConfiguration>$/);
  });
});
