import { describe, expect, test } from "vitest";
import { isFault } from "#protocol/faults/fault.ts";
import { authorizationOf, readProxies, readProxy } from "./proxy.ts";

const to = (url: string) => {
  const { hostname, port, protocol } = new URL(url);
  const isTls = protocol === "https:";
  return { host: hostname, isTls, port: port === "" ? (isTls ? 443 : 80) : Number(port) };
};
const shown = (env: Record<string, string>, url: string) => readProxies({ env })?.(to(url))?.shown ?? null;

describe("the address of a proxy", () => {
  test.each([
    ["http://proxy.example.com:3128", "http", 3128],
    ["proxy.example.com:3128", "http", 3128],
    ["proxy.example.com", "http", 80],
    ["https://proxy.example.com", "https", 443],
    ["socks5://proxy.example.com", "socks5", 1080],
    ["socks5h://proxy.example.com:9050", "socks5", 9050],
    ["http://proxy.example.com:80/", "http", 80],
  ])("%s", (text, kind, port) => {
    expect(readProxy(text, "HTTPS_PROXY")).toMatchObject({ kind, port, host: "proxy.example.com", login: null });
  });

  test("has a login that is percent-decoded and never shown", () => {
    const proxy = readProxy("http://me%40corp:p%3Aa%2Fss@[2001:db8::1]:8080", "HTTPS_PROXY");
    expect(proxy).toMatchObject({ host: "2001:db8::1", login: { user: "me@corp", password: "p:a/ss" } });
    expect(proxy.shown).toBe("http://[2001:db8::1]:8080");
    expect(authorizationOf(proxy)).toBe(`Basic ${Buffer.from("me@corp:p:a/ss").toString("base64")}`);
  });

  test.each(["ftp://me:secret@proxy", "http://me:secret@", "http://me:sec%zzret@proxy"])(
    "%s is refused by the name of its variable, without the password",
    (text) => {
      const fault = (() => {
        try {
          readProxy(text, "HTTPS_PROXY");
        } catch (error) {
          return error;
        }
        return null;
      })();
      expect(isFault(fault) && fault.message).toMatch(/^HTTPS_PROXY: /);
      expect(isFault(fault) && fault.message).not.toMatch(/secret|sec%/);
    },
  );
});

describe("the proxy of a destination", () => {
  const [a, b, c] = ["http://a:1", "http://b:2", "socks5://c:3"];
  test("is that of its scheme, else the one for all", () => {
    expect(shown({ HTTPS_PROXY: a, HTTP_PROXY: b }, "https://s.example")).toBe(a);
    expect(shown({ HTTPS_PROXY: a, HTTP_PROXY: b }, "http://s.example")).toBe(b);
    expect(shown({ HTTPS_PROXY: a }, "http://s.example")).toBe(null);
    expect(shown({ ALL_PROXY: c }, "http://s.example")).toBe(c);
    expect(shown({ ALL_PROXY: c, HTTPS_PROXY: a }, "https://s.example")).toBe(a);
  });
  test("is read from the lower case first, and not from an empty variable", () => {
    expect(shown({ HTTPS_PROXY: a, https_proxy: b }, "https://s.example")).toBe(b);
    expect(shown({ HTTPS_PROXY: a, https_proxy: "" }, "https://s.example")).toBe(a);
    expect(shown({ https_proxy: "" }, "https://s.example")).toBe(null);
  });
  test("is none where NO_PROXY says so; --no-proxy goes before it", () => {
    expect(shown({ HTTPS_PROXY: a, no_proxy: "s.example" }, "https://s.example")).toBe(null);
    const find = readProxies({ env: { HTTPS_PROXY: a, NO_PROXY: "s.example" }, noProxy: "t.example" });
    expect(find?.(to("https://s.example"))?.shown).toBe(a);
    expect(find?.(to("https://t.example"))).toBe(null);
  });
  test("is the given one for both schemes", () => {
    const find = readProxies({ given: { text: c, source: "--proxy" }, env: { HTTPS_PROXY: a } });
    expect([find?.(to("https://s.example"))?.shown, find?.(to("http://s.example"))?.shown]).toEqual([c, c]);
  });
});
