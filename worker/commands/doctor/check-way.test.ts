import { createServer as createTcp, type Server } from "node:net";
import { createServer as createTls } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { readNetwork, setNetwork } from "#storage/network/network.ts";
import { openProxy } from "#storage/testing/open-proxy.ts";
import { originOf } from "#worker/transfer/http/socket/open-socket.ts";
import { TRIAL_TLS } from "#storage/testing/trial-certificate.ts";
import { checkWay, judgeConnection } from "./check-way.ts";

const calm = new AbortController().signal;
let server: Server | null = null;
afterEach(() => void server?.close());

async function listen(made: Server): Promise<number> {
  server = made;
  await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve));
  const address = made.address();
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}

test("a name that nobody has is the end of the way", async () => {
  const found = await checkWay({ what: "store", address: "https://nobody.invalid" }, calm);
  expect(found).toHaveLength(1);
  expect(found[0]).toMatchObject({ check: "store name", outcome: "failed", fault: { code: "NAME_NOT_RESOLVED" } });
  expect(found[0]?.fix).toContain("nobody.invalid");
});

describe("a connection with TLS", () => {
  test("to a certificate that nobody trusts fails and says how to trust it", async () => {
    const port = await listen(createTls(TRIAL_TLS, (socket) => void socket.on("error", () => undefined)));
    const found = await checkWay({ what: "hub", address: `https://127.0.0.1:${port}` }, calm);
    expect(found[1]).toMatchObject({ check: "hub connection", outcome: "failed", fault: { code: "TLS_FAILED" } });
    expect(found[1]?.fix).toContain("NODE_EXTRA_CA_CERTS");
    expect(found[1]?.says).toContain('issued by "Tidemark test"');
  });

  test("to a trusted one says its version and until when it holds", async () => {
    const port = await listen(createTls(TRIAL_TLS, (socket) => void socket.on("error", () => undefined)));
    const way = { what: "hub", address: `https://127.0.0.1:${port}`, ca: TRIAL_TLS.cert };
    const found = await checkWay(way, calm);
    expect(found[1]).toMatchObject({ outcome: "ok" });
    expect(found[1]?.says).toMatch(/TLSv1\.3, its certificate until 2126-10-28/);
    expect(found[1]?.says).toContain('issued by "Tidemark test", which is no public authority');
  });

  test("to a port that speaks something else fails as TLS", async () => {
    const port = await listen(createTcp((socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")));
    const found = await checkWay({ what: "store", address: `https://127.0.0.1:${port}` }, calm);
    expect(found[1]).toMatchObject({ outcome: "failed", fault: { code: "TLS_FAILED" } });
  });
});

test("a certificate that ends within days is doubted", () => {
  const origin = originOf(new URL("https://hub.example.com"));
  const validUntilMs = Date.UTC(2026, 0, 10);
  const judge = (nowMs: number) =>
    judgeConnection("hub connection", { origin, tls: { protocol: "TLSv1.3", validUntilMs } }, nowMs);
  expect(judge(Date.UTC(2026, 0, 7))).toMatchObject({
    outcome: "warn",
    fix: "Renew the certificate: it ends in 3 days.",
  });
  expect(judge(Date.UTC(2025, 11, 7))).toMatchObject({ outcome: "ok" });
});

test("plain http is doubted unless it stays on this machine", () => {
  const judge = (address: string) => judgeConnection("c", { origin: originOf(new URL(address)), tls: null });
  expect(judge("http://store.example.com")).toMatchObject({ outcome: "warn" });
  expect(judge("http://[::1]:9000")).toMatchObject({ outcome: "ok" });
  expect(judge("http://127.0.0.1:9000")).toMatchObject({ outcome: "ok" });
});

describe("through a proxy", () => {
  afterEach(() => setNetwork());

  test("the proxy is named, the certificate is that of the store, and a login that is missing is said", async () => {
    const port = await listen(createTls(TRIAL_TLS, (socket) => void socket.on("error", () => undefined)));
    const proxy = await openProxy({ login: "me:secret" });
    const look = async (login: string) => {
      const url = proxy.url.replace("://", `://${login}`);
      setNetwork(readNetwork({ env: { HTTPS_PROXY: url, NO_PROXY: "<-loopback>" } }));
      return checkWay({ what: "store", address: `https://127.0.0.1:${port}`, ca: TRIAL_TLS.cert }, calm);
    };
    const found = await look("me:secret@");
    expect(found[0]).toMatchObject({ check: "store proxy", says: expect.stringContaining(proxy.url) });
    expect(found[1]).toMatchObject({ check: "store connection", outcome: "ok" });
    const refused = await look("me:wrong@");
    expect(refused[1]).toMatchObject({ outcome: "failed", fault: { code: "PROXY_LOGIN" } });
    expect(JSON.stringify([...found, ...refused])).not.toMatch(/secret|wrong/);
    await proxy.close();
  });
});
