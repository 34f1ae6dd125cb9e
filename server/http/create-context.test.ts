import { describe, expect, it } from "vitest";
import { addressOf, crossSiteFault, originOf } from "./create-context.ts";

const request = (headers: Record<string, string>, method = "POST") => ({
  method,
  headers,
  socket: { remoteAddress: "192.0.2.7" },
});
const json = { "content-type": "application/json" };
const origin = "https://tidemark.example.com";

describe("a change", () => {
  it.each([
    ["the hub's own page", { ...json, origin, "sec-fetch-site": "same-origin" }],
    ["a program that is no browser", json],
    ["JSON with a charset", { "content-type": "application/json; charset=utf-8" }],
  ])("is taken from %s", (_, headers) => {
    expect(crossSiteFault(request(headers), origin)).toBeNull();
  });

  it.each([
    ["another site", { ...json, origin: "https://evil.example" }],
    ["another port of the same host", { ...json, origin: "https://tidemark.example.com:8443" }],
    ["the same host over plain http", { ...json, origin: "http://tidemark.example.com" }],
    ["a sandboxed frame", { ...json, origin: "null" }],
    ["a sibling site", { ...json, "sec-fetch-site": "same-site" }],
    ["a cross-site script", { ...json, "sec-fetch-site": "cross-site" }],
    ["a form", { "content-type": "application/x-www-form-urlencoded" }],
    ["a form that pretends", { "content-type": "text/plain; application/json" }],
    ["a form with files", { "content-type": "multipart/form-data; boundary=x" }],
    ["something without a type", {}],
  ])("is refused from %s", (_, headers) => {
    expect(crossSiteFault(request(headers), origin)?.code).toBe("CROSS_SITE");
  });
});

describe("where a request comes from", () => {
  it("is the socket's address, unless a proxy is trusted, and then that proxy's own entry", () => {
    const forwarded = request({ "x-forwarded-for": "10.0.0.1, 203.0.113.5" });
    expect(addressOf(forwarded, { trustProxy: false })).toBe("192.0.2.7");
    expect(addressOf(forwarded, { trustProxy: true })).toBe("203.0.113.5");
  });

  it("is compared with the public address, or with the host it was sent to", () => {
    const sent = request({ host: "127.0.0.1:7140", "x-forwarded-proto": "https" });
    expect(originOf(sent, { publicUrl: new URL(origin), trustProxy: false })).toBe(origin);
    expect(originOf(sent, { publicUrl: null, trustProxy: false })).toBe("http://127.0.0.1:7140");
    expect(originOf(sent, { publicUrl: null, trustProxy: true })).toBe("https://127.0.0.1:7140");
  });
});

describe("the address tries are counted by", () => {
  const counted = (from: string) => addressOf(request({ "x-forwarded-for": from }), { trustProxy: true });

  it("is one for a whole IPv6 network, and the IPv4 address inside an IPv6 one", () => {
    expect(counted("2001:db8:1:2:3:4:5:6")).toBe("2001:db8:1:2::/64");
    expect(counted("2001:db8:1:2::6")).toBe(counted("2001:db8:1:2:ffff::"));
    expect(counted("2001:db8::6")).toBe("2001:db8:0:0::/64");
    expect(counted("2001:db8:1:3::6")).not.toBe(counted("2001:db8:1:2::6"));
    expect(counted("::1")).toBe("0:0:0:0::/64");
    expect(counted("::ffff:192.0.2.9")).toBe("192.0.2.9");
    expect(counted("192.0.2.9")).toBe("192.0.2.9");
  });
});
