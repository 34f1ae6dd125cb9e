import { describe, expect, it } from "vitest";
import { refuseEndpoint, whyAddressRefused } from "./refuse-endpoint.ts";

const open = { allowPrivate: true };
const closed = { allowPrivate: false };

describe("where a store may be", () => {
  it.each([
    "169.254.169.254",
    "169.254.0.1",
    "100.100.100.200",
    "fd00:ec2::254",
    "fe80::1",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "64:ff9b::a9fe:a9fe",
    "0.0.0.0",
    "::",
    "224.0.0.1",
  ])("is never %s, even where private addresses are allowed", (address) => {
    expect(whyAddressRefused(address, open)).toContain("never allowed");
  });

  it.each(["127.0.0.1", "10.1.2.3", "172.16.0.9", "192.168.1.4", "100.64.0.1", "::1", "fd12::1", "::ffff:10.0.0.1"])(
    "may be %s only where private addresses are allowed",
    (address) => {
      expect(whyAddressRefused(address, open)).toBeNull();
      expect(whyAddressRefused(address, closed)).toContain("TIDEMARK_ALLOW_PRIVATE_ENDPOINTS");
    },
  );

  it.each(["52.95.110.1", "172.32.0.1", "100.128.0.1", "2606:4700::1"])("may be %s", (address) => {
    expect(whyAddressRefused(address, closed)).toBeNull();
  });

  it("looks at every address a name resolves to", async () => {
    const resolve = async () => ["52.95.110.1", "169.254.169.254"];
    await expect(refuseEndpoint("https://s3.example.com", open, resolve)).rejects.toMatchObject({ code: "BAD_INPUT" });
    await expect(
      refuseEndpoint("https://s3.example.com", closed, async () => ["52.95.110.1"]),
    ).resolves.toBeUndefined();
  });

  it("reads an address written in brackets or as one number", async () => {
    await expect(refuseEndpoint("http://[::ffff:169.254.169.254]:80", open)).rejects.toMatchObject({
      code: "BAD_INPUT",
    });
    await expect(refuseEndpoint("http://2852039166", open)).rejects.toMatchObject({ code: "BAD_INPUT" });
  });
});
