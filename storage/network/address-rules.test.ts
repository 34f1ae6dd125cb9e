import { describe, expect, it } from "vitest";
import { classOf } from "./address-rules.ts";

describe("an address", () => {
  it.each([
    "169.254.169.254",
    "169.254.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::1",
    "fe80::1%eth0",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "::169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "0.0.0.0",
    "::",
    "::ffff:0.0.0.0",
    "224.0.0.1",
    "ff02::1",
    "255.255.255.255",
    "metadata.google.internal",
    "",
  ])("is never one of a store: %s", (address) => {
    expect(classOf(address)).toBe("never");
  });

  it.each([
    "127.0.0.1",
    "127.255.255.254",
    "10.1.2.3",
    "172.16.0.9",
    "172.31.255.255",
    "192.168.1.4",
    "100.64.0.1",
    "100.127.255.255",
    "198.18.0.1",
    "203.0.113.1",
    "::1",
    "fd12::1",
    "fec0::1",
    "2001:db8::1",
    "::ffff:10.0.0.1",
    "::ffff:127.0.0.1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
  ])("is private: %s", (address) => {
    expect(classOf(address)).toBe("inside");
  });

  it.each(["52.95.110.1", "172.32.0.1", "172.15.0.1", "100.128.0.1", "169.253.1.1", "2606:4700::1", "::ffff:8.8.8.8"])(
    "is public: %s",
    (address) => {
      expect(classOf(address)).toBe("public");
    },
  );
});
