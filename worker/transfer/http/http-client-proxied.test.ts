import { randomBytes, X509Certificate } from "node:crypto";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { readNetwork, setNetwork } from "#storage/network/network.ts";
import { pinOf } from "#storage/network/pin.ts";
import { openProxy, type ProxyOptions } from "#storage/testing/open-proxy.ts";
import { openPeer } from "#worker/testing/scripted-peer.ts";
import { TRIAL_TLS } from "#storage/testing/trial-certificate.ts";
import { collect, faultOf, get, put, upload, httpClient } from "#worker/testing/http-client-tester.ts";

const closers: (() => Promise<void>)[] = [];
const trusted = getCACertificates("default");
afterEach(async () => {
  setNetwork();
  setDefaultCACertificates(trusted);
  for (const close of closers.splice(0)) await close();
});

const ca = TRIAL_TLS.cert;
const bytes = randomBytes(1_500_000);

/** Answers each request with bytes, keeps what it was sent. */
async function store(tls?: typeof TRIAL_TLS) {
  const got: Buffer[] = [];
  const heads: string[] = [];
  const server = await openPeer(async (link) => {
    for (;;) {
      const asked = await link.request();
      if (asked === null) return;
      got.push(asked.body);
      heads.push(asked.head);
      await link.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes.length}\r\n\r\n`);
      await link.write(bytes);
    }
  }, tls);
  closers.push(server.close);
  return { server, got, heads };
}

/** The environment of this process names a proxy, for loopback too. */
async function behind(options: ProxyOptions, login = "") {
  const proxy = await openProxy(options);
  closers.push(proxy.close);
  const url = proxy.url.replace("://", `://${login}`);
  setNetwork(readNetwork({ env: { HTTPS_PROXY: url, HTTP_PROXY: url, NO_PROXY: "<-loopback>" } }));
  return proxy;
}

const WAYS = [
  ["by the kernel's and OpenSSL's calls", {}],
  ["by Node", { calls: null }],
] as const;
const KINDS: readonly [string, ProxyOptions, string][] = [
  ["http", {}, ""],
  ["http with a login", { login: "me@corp:p:w" }, "me%40corp:p%3Aw@"],
  ["socks5", { kind: "socks5" }, ""],
  ["socks5 with a login", { kind: "socks5", login: "me:secret" }, "me:secret@"],
];

describe.each(WAYS)("through a proxy, %s", (_, way) => {
  it.each(KINDS)("%s, bytes go both ways, encrypted and plain", async (_kind, options, login) => {
    for (const tls of [TRIAL_TLS, undefined]) {
      const { server, got, heads } = await store(tls);
      const proxy = await behind(options, login);
      const one = httpClient({ ca, ...way });
      const sink = collect();
      await one.fetch({ ...get(`${server.url}/bucket/key?x=1`), sink });
      expect(sink.bytesOf().equals(bytes)).toBe(true);
      await one.send(put(`${server.url}/bucket/key`, upload(bytes)));
      expect(got[1]?.equals(bytes)).toBe(true);
      const { host } = new URL(server.url);
      const asIs = tls === undefined && options.kind !== "socks5";
      expect(proxy.asked[0]).toBe(asIs ? `GET http://${host}/bucket/key` : `CONNECT ${host}`);
      expect(heads[0]).toMatch(new RegExp(`^GET /bucket/key\\?x=1 HTTP/1.1\r\nhost: ${host}`));
      expect(heads.join()).not.toMatch(/proxy-authorization/i);
      expect(one.buffers.lent).toBe(0);
      await one.close();
    }
  });

  it("tells a login that is missing, a refusal and a dead proxy apart, without a word of the login", async () => {
    const { server } = await store(TRIAL_TLS);
    const said = async (options: ProxyOptions, login = "") => {
      const proxy = await behind(options, login);
      const fault = await faultOf(httpClient({ ca, ...way }).send(get(server.url)));
      expect(fault.message).toContain(proxy.url.replace(/^https?/, "http"));
      expect(fault.message).not.toContain("hunter2");
      return fault.code;
    };
    expect(await said({ login: "me:x" }, "me:hunter2@")).toBe("PROXY_LOGIN");
    expect(await said({ refuseWith: 403 }, "me:hunter2@")).toBe("PROXY_REFUSED");
    expect(await said({ refuseWith: 503 }, "me:hunter2@")).toBe("PROXY_FAILED");
    expect(await said({ kind: "socks5", login: "me:x" }, "me:hunter2@")).toBe("PROXY_LOGIN");
    expect(await said({ kind: "socks5", refuseWith: 1 })).toBe("PROXY_REFUSED");
    const gone = await behind({});
    await gone.close();
    closers.pop();
    expect(await faultOf(httpClient({ ca, ...way }).send(get(server.url)))).toMatchObject({ code: "PROXY_FAILED" });
  });

  it("gives a proxy that says nothing its time, and names it", async () => {
    const { server } = await store(TRIAL_TLS);
    const proxy = await behind({ kind: "socks5", hangs: true });
    const fault = await faultOf(httpClient({ ca, ...way, connectMs: 200 }).send(get(server.url)));
    expect(fault).toMatchObject({ code: "PROXY_FAILED" });
    expect(fault.message).toContain(proxy.url);
  });
});

it("asks an encrypted proxy, whose certificate is checked", async () => {
  const { server, got } = await store(TRIAL_TLS);
  const plain = await store();
  const proxy = await behind({ kind: "https", tls: TRIAL_TLS });
  // The proxy is trusted by the process's own authorities only, not by those of a store.
  const { code } = await faultOf(httpClient({ ca }).send(get(server.url)));
  expect(code).toBe("PROXY_FAILED");
  const file = await writeCa();
  setNetwork(
    readNetwork({
      env: { ALL_PROXY: proxy.url, NO_PROXY: "<-loopback>" },
      authorities: [{ file, source: "--ca" }],
    }),
  );
  for (const url of [server.url, plain.server.url]) {
    const one = httpClient();
    const sink = collect();
    await one.fetch({ ...get(`${url}/bucket/key`), sink });
    expect(sink.bytesOf().equals(bytes)).toBe(true);
    await one.send(put(`${url}/bucket/key`, upload(bytes)));
  }
  expect(got[1]?.equals(bytes)).toBe(true);
  expect(plain.got[1]?.equals(bytes)).toBe(true);
});

async function writeCa(): Promise<string> {
  const { mkdtemp, rm, writeFile } = await import("node:fs/promises");
  const { tmpdir } = await import("node:os");
  const folder = await mkdtemp(`${tmpdir()}/tidemark-ca-`);
  closers.push(() => rm(folder, { recursive: true }));
  await writeFile(`${folder}/ca.pem`, TRIAL_TLS.cert);
  return `${folder}/ca.pem`;
}

describe.each(WAYS)("a store whose key is pinned, %s", (_, way) => {
  it("is reached by that key and by no other", async () => {
    const { server } = await store(TRIAL_TLS);
    const pin = pinOf(new X509Certificate(ca).publicKey.export({ type: "spki", format: "der" }));
    const sink = collect();
    await httpClient({ ca, ...way, trust: { ca: null, pin } }).fetch({ ...get(server.url), sink });
    expect(sink.bytesOf().equals(bytes)).toBe(true);
    const other = `sha256/${"A".repeat(43)}=`;
    const fault = await faultOf(httpClient({ ca, ...way, trust: { ca: null, pin: other } }).send(get(server.url)));
    expect(fault).toMatchObject({ code: "TLS_FAILED" });
    expect(fault.message).toContain(pin);
  });
  it("is trusted by an authority of its own", async () => {
    const { server } = await store(TRIAL_TLS);
    const sink = collect();
    await httpClient({ ...way, trust: { ca, pin: null } }).fetch({ ...get(server.url), sink });
    expect(sink.bytesOf().equals(bytes)).toBe(true);
    expect(await faultOf(httpClient(way).send(get(server.url)))).toMatchObject({ code: "TLS_FAILED" });
  });
});
