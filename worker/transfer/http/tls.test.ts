import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { TLSSocket } from "node:tls";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  codeOf,
  collect,
  faultOf,
  get,
  OK,
  peer,
  put,
  slowly,
  upload,
  httpClient,
} from "#worker/testing/http-client-tester.ts";
import { setNetwork } from "#storage/network/network.ts";
import { TRIAL_TLS } from "#storage/testing/trial-certificate.ts";

const ca = TRIAL_TLS.cert;
const bytes = randomBytes(2_000_000);

const storing = (seen: { resumed: boolean[]; got: Buffer[] }) =>
  peer(async (link) => {
    if (link.socket instanceof TLSSocket) seen.resumed.push(link.socket.isSessionReused());
    for (;;) {
      const asked = await link.request();
      if (asked === null) return;
      if (asked.head.startsWith("PUT")) {
        seen.got.push(asked.body);
        await link.write(OK);
      } else {
        await link.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes.length}\r\n\r\n`);
        await link.write(bytes);
      }
    }
  }, TRIAL_TLS);

/** Where bytes are encrypted by our own calls, and where Node does it. */
describe.each([
  ["encrypted here", {}],
  ["encrypted by Node", { calls: null }],
] as const)("over TLS, %s", (_, way) => {
  it("moves every byte right both ways, on one connection", async () => {
    const seen = { resumed: [], got: [] as Buffer[] };
    const server = await storing(seen);
    const one = httpClient({ ca, ...way });
    for (let turn = 0; turn < 3; turn++) {
      const sink = collect();
      await one.fetch({ ...get(server.url), sink });
      expect(sink.bytesOf().equals(bytes)).toBe(true);
      const body = upload(bytes);
      await one.send(put(server.url, body));
      expect(body.sentBytes).toBe(bytes.length);
    }
    expect(seen.got.map((body) => body.equals(bytes))).toEqual([true, true, true]);
    expect(server.connections).toBe(1);
    expect(one.buffers.lent).toBe(0);
  });

  it("waits for a server that reads slowly, and tells what has gone out meanwhile", async () => {
    const big = randomBytes(24_000_000);
    const isSeen = Promise.withResolvers<void>();
    let got: Buffer = Buffer.alloc(0);
    const server = await peer(async (link) => {
      await isSeen.promise;
      got = (await link.request())?.body ?? got;
      await link.write(OK);
    }, TRIAL_TLS);
    const body = upload(big);
    const sending = httpClient({ ca, ...way }).send(put(server.url, body));
    await vi.waitFor(() => expect(body.sentBytes).toBeGreaterThan(0), 20_000);
    expect(body.sentBytes).toBeLessThan(big.length);
    isSeen.resolve();
    await sending;
    expect(got.equals(big)).toBe(true);
    expect(body.sentBytes).toBe(big.length);
  });

  it("gives up what a server refuses before it has read it", async () => {
    const server = await peer(async (link) => {
      await link.head();
      await link.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
    }, TRIAL_TLS);
    const one = httpClient({ ca, ...way });
    const answer = await one.send(put(server.url, upload(randomBytes(24_000_000))));
    expect(answer.status).toBe(403);
    await vi.waitFor(() => expect(one.buffers.lent).toBe(0), 20_000);
  });

  it("resumes the session on further connections", async () => {
    const resumed: boolean[] = [];
    const allAreThere = Promise.withResolvers<void>();
    let asked = 0;
    const server = await peer(async (link) => {
      if (link.socket instanceof TLSSocket) resumed.push(link.socket.isSessionReused());
      while ((await link.request()) !== null) {
        // The first alone; then nobody is answered before each of three has a connection.
        if (++asked === 4) allAreThere.resolve();
        if (asked > 1) await allAreThere.promise;
        await link.write(OK);
      }
    }, TRIAL_TLS);
    const one = httpClient({ ca, ...way });
    await one.send(get(server.url));
    await Promise.all([1, 2, 3].map(() => one.send(get(server.url))));
    expect(resumed).toEqual([false, true, true]);
  });

  it("stops reading for a sink that is busy, and loses nothing that was decrypted already", async () => {
    const server = await storing({ resumed: [], got: [] });
    const sink = collect();
    await httpClient({ ca, ...way }).fetch({ ...get(server.url), sink: slowly(sink) });
    expect(sink.bytesOf().equals(bytes)).toBe(true);
  });

  it("refuses a certificate that nobody vouches for", async () => {
    const server = await storing({ resumed: [], got: [] });
    const one = httpClient(way);
    const fault = await faultOf(one.send(get(server.url)));
    expect(fault.code).toBe("TLS_FAILED");
    expect(fault.context).toMatchObject({ op: "GetObject", subject: "key", detail: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    await vi.waitFor(() => expect(server.open).toBe(0), 20_000);
  });

  it("refuses a certificate of another host", async () => {
    const server = await storing({ resumed: [], got: [] });
    const one = httpClient({ ca, ...way });
    const fault = await faultOf(one.send(get(server.url.replace("127.0.0.1", "localhost"))));
    expect(fault.code).toBe("TLS_FAILED");
    expect(fault.context.detail).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
  });

  it("does not take a server without TLS for one", async () => {
    const server = await peer(async (link) => link.write("HTTP/1.1 400 Bad Request\r\n\r\n"));
    const code = await codeOf(httpClient({ ca, ...way }).send(get(server.url.replace("http:", "https:"))));
    expect(["TLS_FAILED", "LINK_DOWN"]).toContain(code);
  });

  it("never takes a body cut short for a whole one", async () => {
    const server = await peer(async (link) => {
      await link.request();
      await link.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes.length}\r\n\r\n`);
      await link.write(bytes.subarray(0, 300_000));
      link.socket.end();
    }, TRIAL_TLS);
    const one = httpClient({ ca, ...way });
    const sink = collect();
    expect(await codeOf(one.fetch({ ...get(server.url), sink }))).toBe("TRUNCATED");
    expect(sink.bytesOf().equals(bytes.subarray(0, 300_000))).toBe(true);
    await vi.waitFor(() => expect(one.buffers.lent).toBe(0), 20_000);
  });
});

/** Passes a connection on to `port`, and keeps what goes there. */
async function listener(port: number) {
  const heard: Buffer[] = [];
  const server = createServer((socket) => {
    const onward = connect(port, "127.0.0.1");
    socket.on("data", (chunk) => void heard.push(chunk));
    socket.pipe(onward).pipe(socket);
    for (const end of [socket, onward]) end.on("error", () => [socket, onward].map((one) => one.destroy()));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { port: (server.address() as AddressInfo).port, heard };
}

const APPLICATION_DATA = 23;

/** Lengths of the records that carry requests. */
function recordsIn(bytes: Buffer): number[] {
  const lengths: number[] = [];
  for (let at = 0; at + 5 <= bytes.length; at += 5 + bytes.readUInt16BE(at + 3)) {
    if (bytes[at] === APPLICATION_DATA) lengths.push(bytes.readUInt16BE(at + 3));
  }
  return lengths;
}

it("the first bytes of each request go in records that fit into what a new connection may send at once", async () => {
  const { port } = new URL((await storing({ resumed: [], got: [] })).url);
  const between = await listener(Number(port));
  const url = `https://127.0.0.1:${between.port}/key`;
  const one = httpClient({ ca });
  for (let turn = 1; turn <= 2; turn++) {
    between.heard.length = 0;
    await one.send(put(url, upload(bytes)));
    const records = recordsIn(Buffer.concat(between.heard)).filter((length) => length > 100);
    // The head, and the first of the body.
    expect(records[0]).toBeLessThan(4_500);
    expect(records[1]).toBeLessThan(4_500);
    // The rest costs as little as before.
    expect(records.length).toBeLessThan(bytes.length / 16_384 + 10);
  }
});

it("the authorities are read while a connection is made", async () => {
  const asked = vi.fn(() => undefined);
  setNetwork({ proxyFor: null, authorities: { prepare: () => undefined, forStore: asked, sources: [] } });
  onTestFinished(() => setNetwork());
  const closed = createServer().listen(0, "127.0.0.1");
  await once(closed, "listening");
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  // Nobody is there to begin a handshake with.
  await faultOf(httpClient().send(get(`https://127.0.0.1:${port}/key`)));
  await vi.waitFor(() => expect(asked).toHaveBeenCalled());
});
