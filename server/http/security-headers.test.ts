import { describe, expect, it } from "vitest";
import { addTestProfile, openTestHub } from "../testing/open-test-hub.ts";
import { bucketOrigins, policyWith } from "./security-headers.ts";

describe("the content security policy", () => {
  const directives = new Map(
    policyWith("bm9uY2U=", ["https://s3.example.com"])
      .split("; ")
      .map((directive) => [directive.split(" ")[0], directive.split(" ").slice(1)]),
  );

  it("runs scripts and applies styles with this answer's nonce only", () => {
    expect(directives.get("script-src")).toEqual(["'self'", "'nonce-bm9uY2U='", "'strict-dynamic'"]);
    expect(directives.get("style-src")).toEqual(["'self'", "'nonce-bm9uY2U='"]);
    expect([...directives.values()].flat()).not.toContain("'unsafe-inline'");
    expect([...directives.values()].flat()).not.toContain("'unsafe-eval'");
  });

  it("lets nobody frame the hub, and pages connect to the hub and the buckets", () => {
    expect(directives.get("frame-ancestors")).toEqual(["'none'"]);
    expect(directives.get("connect-src")).toEqual(["'self'", "https://s3.example.com"]);
  });
});

it("names the origins that browsers are signed for, and no other", async () => {
  const test = await openTestHub();
  try {
    const at = "https://s3.example.com";
    await addTestProfile(test.hub, at, { name: "hosted", addressing: "virtual-host", bucket: "training" });
    await addTestProfile(test.hub, at, { name: "dotted", addressing: "virtual-host", bucket: "a.b" });
    const inside = { name: "inside", browserEndpoint: "https://files.example.com:8443" };
    await addTestProfile(test.hub, "https://10.1.2.3", inside);
    expect((await bucketOrigins(test.hub)).toSorted()).toEqual([
      "https://files.example.com:8443",
      "https://s3.example.com",
      "https://training.s3.example.com",
    ]);
  } finally {
    await test.close();
  }
});
