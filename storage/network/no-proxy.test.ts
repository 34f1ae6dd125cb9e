import { describe, expect, test } from "vitest";
import { readNoProxy } from "./no-proxy.ts";

/** NO_PROXY, the destination, and whether it is direct. The cases of curl (unit1614) and Go (httpproxy) where both agree. */
const CASES: readonly [string, string, boolean][] = [
  ["", "store.example.com:443", false],
  ["*", "store.example.com:443", true],
  ["example.com", "example.com:443", true],
  ["example.com", "a.example.com:443", true],
  ["example.com", "a.b.example.com:443", true],
  ["example.com", "notexample.com:443", false],
  ["example.com", "example.com.evil.net:443", false],
  [".example.com", "a.example.com:443", true],
  [".example.com", "notexample.com:443", false],
  ["*.example.com", "a.example.com:443", true],
  ["EXAMPLE.com", "A.Example.COM:443", true],
  ["example.com.", "example.com:443", true],
  ["example.com", "example.com.:443", true],
  ["foo.com, bar.com", "bar.com:443", true],
  ["foo.com bar.com", "bar.com:443", true],
  [" foo.com ,, bar.com ", "foo.com:443", true],
  ["foo.com,bar.com", "baz.com:443", false],
  ["example.com:8443", "example.com:8443", true],
  ["example.com:8443", "example.com:443", false],
  ["example.com:8443", "a.example.com:8443", true],
  ["192.0.2.1", "192.0.2.1:443", true],
  ["192.0.2.1", "192.0.2.10:443", false],
  ["192.0.2.1:9000", "192.0.2.1:9000", true],
  ["192.0.2.1:9000", "192.0.2.1:443", false],
  ["2.1", "192.0.2.1:443", false],
  ["192.0.2.0/24", "192.0.2.200:443", true],
  ["192.0.2.0/24", "192.0.3.1:443", false],
  ["192.0.2.77/32", "192.0.2.77:443", true],
  ["10.0.0.0/8", "10.255.1.2:9000", true],
  ["0.0.0.0/0", "203.0.113.9:443", true],
  ["10.0.0.0/33", "10.0.0.1:443", false],
  ["10.0.0.0/x", "10.0.0.1:443", false],
  ["10.0.0.0/8", "store.example.com:443", false],
  ["2001:db8::1", "[2001:db8::1]:443", true],
  ["[2001:db8::1]", "[2001:DB8:0::1]:443", true],
  ["[2001:db8::1]:9000", "[2001:db8::1]:9000", true],
  ["[2001:db8::1]:9000", "[2001:db8::1]:443", false],
  ["2001:db8::/32", "[2001:db8:5::9]:443", true],
  ["2001:db8::/32", "[2001:db9::9]:443", false],
  ["192.0.2.0/24", "[::ffff:192.0.2.9]:443", true],
];

const destinationOf = (text: string) => {
  const [, host = "", port = ""] = /^\[?(.*?)\]?:(\d+)$/.exec(text) ?? [];
  return { host, port: Number(port) };
};

describe("a destination is direct where NO_PROXY names it", () => {
  test.each(CASES)("NO_PROXY=%j, %s: %s", (text, destination, isDirect) => {
    expect(readNoProxy(text)(destinationOf(destination))).toBe(isDirect);
  });
});

test.each(["localhost", "a.localhost", "127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])(
  "%s is direct until <-loopback> asks for the proxy",
  (host) => {
    expect(readNoProxy("")({ host, port: 80 })).toBe(true);
    expect(readNoProxy("<-loopback>")({ host, port: 80 })).toBe(false);
    expect(readNoProxy("<-loopback>,*")({ host, port: 80 })).toBe(true);
  },
);

test.each(["169.254.169.254", "fe80::1", "fd00:ec2::254", "100.100.100.200", "metadata.google.internal"])(
  "the metadata service %s is never asked through a proxy",
  (host) => expect(readNoProxy("<-loopback>")({ host, port: 80 })).toBe(true),
);
