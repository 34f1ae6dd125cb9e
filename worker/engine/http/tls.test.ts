import { randomBytes } from "node:crypto";
import { TLSSocket } from "node:tls";
import { describe, expect, it, vi } from "vitest";
import { codeOf, collect, faultOf, get, OK, peer, put, slowly, upload, wire } from "./wire-tester.ts";
import { TRIAL_TLS } from "./trial-certificate.ts";

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

describe("over TLS", () => {
  it("moves every byte right both ways, on one connection", async () => {
    const seen = { resumed: [], got: [] as Buffer[] };
    const server = await storing(seen);
    const one = wire({ ca });
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
    const one = wire({ ca });
    await one.send(get(server.url));
    await Promise.all([1, 2, 3].map(() => one.send(get(server.url))));
    expect(resumed).toEqual([false, true, true]);
  });

  it("stops reading for a sink that is busy, and loses nothing that was decrypted already", async () => {
    const server = await storing({ resumed: [], got: [] });
    const sink = collect();
    await wire({ ca }).fetch({ ...get(server.url), sink: slowly(sink) });
    expect(sink.bytesOf().equals(bytes)).toBe(true);
  });

  it("refuses a certificate that nobody vouches for", async () => {
    const server = await storing({ resumed: [], got: [] });
    const one = wire();
    const fault = await faultOf(one.send(get(server.url)));
    expect(fault.code).toBe("TLS_FAILED");
    expect(fault.context).toMatchObject({ op: "GetObject", subject: "key", detail: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    await vi.waitFor(() => expect(server.open).toBe(0), 20_000);
  });

  it("refuses a certificate of another host", async () => {
    const server = await storing({ resumed: [], got: [] });
    const one = wire({ ca });
    const fault = await faultOf(one.send(get(server.url.replace("127.0.0.1", "localhost"))));
    expect(fault.code).toBe("TLS_FAILED");
    expect(fault.context.detail).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
  });

  it("does not take a server without TLS for one", async () => {
    const server = await peer(async (link) => link.write("HTTP/1.1 400 Bad Request\r\n\r\n"));
    const code = await codeOf(wire({ ca }).send(get(server.url.replace("http:", "https:"))));
    expect(["TLS_FAILED", "LINK_DOWN"]).toContain(code);
  });

  it("never takes a body cut short for a whole one", async () => {
    const server = await peer(async (link) => {
      await link.request();
      await link.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes.length}\r\n\r\n`);
      await link.write(bytes.subarray(0, 300_000));
      link.socket.end();
    }, TRIAL_TLS);
    const one = wire({ ca });
    const sink = collect();
    expect(await codeOf(one.fetch({ ...get(server.url), sink }))).toBe("TRUNCATED");
    expect(sink.bytesOf().equals(bytes.subarray(0, 300_000))).toBe(true);
    await vi.waitFor(() => expect(one.buffers.lent).toBe(0), 20_000);
  });
});
