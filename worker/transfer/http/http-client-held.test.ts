import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { TRIAL_TLS } from "#storage/testing/trial-certificate.ts";
import { codeOf, keeping, OK, peer, put, httpClient } from "#worker/testing/http-client-tester.ts";
import { HEAD_ROOM_BYTES, HeldBody } from "./http-client.ts";

const bytes = randomBytes(64 * 1024);

/** `whole` in memory with room for a head. */
function held(whole: Buffer, bytesPerSecond = 100e6) {
  const seen = { sentBytes: 0 };
  const memory = Buffer.concat([Buffer.alloc(HEAD_ROOM_BYTES), whole]);
  const body = new HeldBody(memory, {
    lengthBytes: whole.length,
    sent: (count) => void (seen.sentBytes += count),
    bytesPerSecond: () => bytesPerSecond,
  });
  return { body, seen };
}

describe("a body that is held in memory", () => {
  it("arrives whole, one after the other on one connection", async () => {
    const { server, kept } = await keeping();
    const one = httpClient();
    const parts = [bytes, bytes.subarray(0, 1), bytes.subarray(7, 5_000)];
    for (const part of parts) {
      const { body, seen } = held(part);
      expect((await one.send(put(server.url, body))).status).toBe(200);
      expect(seen.sentBytes).toBe(part.length);
    }
    expect(kept.map((got, index) => got.equals(parts[index] ?? Buffer.alloc(0)))).toEqual([true, true, true]);
    expect(server.connections).toBe(1);
  });

  it("arrives over TLS", async () => {
    const { server, kept } = await keeping(TRIAL_TLS);
    const { body, seen } = held(bytes);
    expect((await httpClient({ ca: TRIAL_TLS.cert }).send(put(server.url, body))).status).toBe(200);
    expect(kept.map((got) => got.equals(bytes))).toEqual([true]);
    expect(seen.sentBytes).toBe(bytes.length);
  });

  it("arrives where its head has no room before it", async () => {
    const { server, kept } = await keeping();
    const { body } = held(bytes);
    const long = { "x-amz-meta-long": "v".repeat(HEAD_ROOM_BYTES) };
    expect((await httpClient().send(put(server.url, body, { headers: long }))).status).toBe(200);
    expect(kept.map((got) => got.equals(bytes))).toEqual([true]);
  });

  it("is waited for where the kernel has no room for all of it", async () => {
    const whole = randomBytes(20_000_000);
    let goOn: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => (goOn = resolve));
    const kept: Buffer[] = [];
    const server = await peer(async (link) => {
      await asked;
      kept.push((await link.request())?.body ?? Buffer.alloc(0));
      await link.write(OK);
    });
    const { body, seen } = held(whole);
    const sending = httpClient().send(put(server.url, body));
    await expect.poll(() => server.open).toBe(1);
    expect(seen.sentBytes).toBe(0);
    goOn();
    expect((await sending).status).toBe(200);
    expect(seen.sentBytes).toBe(whole.length);
    expect(kept.map((got) => got.equals(whole))).toEqual([true]);
  });

  it("is refused before it is gone: the refusal counts, and the rest is not sent", async () => {
    const refusing = (answer: string) =>
      peer(async (link) => {
        await link.head();
        await link.write(answer);
      });
    const whole = randomBytes(20_000_000);
    const refused = await refusing("HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\n\r\n");
    const { body, seen } = held(whole);
    expect((await httpClient().send(put(refused.url, body))).status).toBe(503);
    expect(seen.sentBytes).toBe(0);
    const taken = await refusing("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    expect(await codeOf(httpClient().send(put(taken.url, held(whole).body)))).toBe("UNEXPECTED_ANSWER");
  });

  it("may take its time on a slow link, although nothing shows that it moves", async () => {
    const idleMs = 300;
    const server = await peer(async (link) => {
      await new Promise((resolve) => setTimeout(resolve, 4 * idleMs));
      await link.request();
      await link.write(OK);
    });
    const { body } = held(randomBytes(20_000_000), 1e6);
    expect((await httpClient({ idleMs }).send(put(server.url, body))).status).toBe(200);
  });

  it("goes out again, and is counted once, where the connection had been closed meanwhile", async () => {
    const kept: Buffer[] = [];
    const server = await peer(async (link) => {
      const asked = await link.request();
      if (asked === null) return;
      kept.push(asked.body);
      await link.write(OK);
      // The second request of the first connection is not answered any more.
      if (link.nth > 1) return;
      await link.request();
      link.socket.resetAndDestroy();
    });
    const one = httpClient();
    await one.send(put(server.url, held(bytes).body));
    const { body, seen } = held(bytes);
    expect((await one.send(put(server.url, body))).status).toBe(200);
    expect(server.connections).toBe(2);
    expect(seen.sentBytes).toBe(bytes.length);
    expect(kept.map((got) => got.equals(bytes))).toEqual([true, true]);
  });

  it("may be ended alone, by whoever began it", async () => {
    const server = await peer(async (link) => void (await link.request()));
    const one = httpClient();
    const ends: ((fault: Fault) => void)[] = [];
    const sending = codeOf(one.send(put(server.url, held(bytes).body, { onBegun: (end) => void ends.push(end) })));
    await expect.poll(() => server.open).toBe(1);
    for (const end of ends) end(new Fault("EPOCH_OVER"));
    expect(await sending).toBe("EPOCH_OVER");
    expect(one.open).toBe(0);
  });
});
