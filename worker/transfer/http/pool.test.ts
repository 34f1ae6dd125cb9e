import { describe, expect, it, vi } from "vitest";
import { answering, codeOf, get, OK, peer, httpClient } from "#worker/testing/http-client-tester.ts";

/** Answers a request when told to; knows how many wait for that. */
async function reluctant() {
  const waiting: (() => void)[] = [];
  const order: string[] = [];
  let most = 0;
  const server = await peer(async (link) => {
    for (;;) {
      const asked = await link.request();
      if (asked === null) return;
      order.push(/^GET \/(\S*)/.exec(asked.head)?.[1] ?? "");
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        most = Math.max(most, waiting.length);
      });
      await link.write(OK);
    }
  });
  return {
    server,
    order,
    waiting,
    mostAtOnce: () => most,
    answer: async () => {
      await vi.waitFor(() => expect(waiting.length).toBeGreaterThan(0), 20_000);
      waiting.shift()?.();
    },
  };
}

describe("the connections of a wire", () => {
  it("are never more than allowed; requests wait in line, first come first served", async () => {
    const store = await reluctant();
    const one = httpClient({ connections: 2 });
    const all = ["a", "b", "c", "d", "e"].map((name) => one.send(get(`${store.server.url}/${name}`)));
    for (let turn = 0; turn < all.length; turn++) await store.answer();
    await Promise.all(all);
    expect(store.order.slice(2)).toEqual(["c", "d", "e"]);
    expect(store.mostAtOnce()).toBe(2);
    expect(store.server.connections).toBe(2);
  });

  it("grow and shrink while requests are under way", async () => {
    const store = await reluctant();
    const one = httpClient({ connections: 1 });
    const all = Array.from({ length: 6 }, (_, turn) => one.send(get(`${store.server.url}/${turn}`)));
    await vi.waitFor(() => expect(store.waiting.length).toBe(1), 20_000);
    one.setConnections(4);
    await vi.waitFor(() => expect(store.waiting.length).toBe(4), 20_000);
    one.setConnections(1);
    for (let turn = 0; turn < all.length; turn++) await store.answer();
    await Promise.all(all);
    await vi.waitFor(() => expect(one.open).toBe(1), 20_000);
    expect(store.mostAtOnce()).toBe(4);
    await vi.waitFor(() => expect(store.server.open).toBe(1), 20_000);
  });

  it("are closed when they are idle and above the number", async () => {
    const server = await answering(OK);
    const one = httpClient({ connections: 4 });
    one.warm(server.url, 4);
    await vi.waitFor(() => expect(server.open).toBe(4), 20_000);
    one.setConnections(2);
    await vi.waitFor(() => expect(server.open).toBe(2), 20_000);
  });

  it("are made in advance, as many as asked for and no more than allowed, and then used", async () => {
    const server = await answering(OK);
    const one = httpClient({ connections: 3 });
    one.warm(server.url, 2);
    one.warm(server.url, 2);
    await vi.waitFor(() => expect(server.open).toBe(2), 20_000);
    one.warm(server.url, 10);
    await vi.waitFor(() => expect(server.open).toBe(3), 20_000);
    await Promise.all([1, 2, 3].map(() => one.send(get(server.url))));
    expect(server.connections).toBe(3);
  });

  it("made in advance may fail unseen", async () => {
    const server = await answering(OK);
    await server.close();
    const one = httpClient();
    one.warm(server.url, 2);
    await vi.waitFor(() => expect(one.open).toBe(0), 20_000);
    expect(await codeOf(one.send(get(server.url)))).toBe("LINK_DOWN");
  });

  it("that were used last are used first", async () => {
    const server = await peer(async (link) => {
      while ((await link.request()) !== null) {
        await link.write(`HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${link.nth}`);
      }
    });
    const one = httpClient({ connections: 3 });
    one.warm(server.url, 3);
    await vi.waitFor(() => expect(server.open).toBe(3), 20_000);
    const used = new Set<string>();
    for (let turn = 0; turn < 6; turn++) used.add((await one.send(get(server.url))).body.toString());
    expect(used.size).toBe(1);
  });

  it.each([
    ["Connection: close", 0],
    ["Keep-Alive: timeout=1", 600],
    ["Keep-Alive: timeout=5", 4_100],
    ["X-Nothing: said", 4_100],
  ])("are not used again after %j and %i ms", async (header, idleMs) => {
    let shiftMs = 0;
    const server = await answering(`HTTP/1.1 200 OK\r\n${header}\r\nContent-Length: 0\r\n\r\n`);
    const one = httpClient({ now: () => performance.now() + shiftMs });
    await one.send(get(server.url));
    shiftMs += idleMs;
    await one.send(get(server.url));
    expect(server.connections).toBe(2);
  });

  it("carry a request once, however many idle ones turn out to be too old", async () => {
    let shiftMs = 0;
    const server = await peer(async (link) => {
      const header = link.nth === 3 ? "Keep-Alive: timeout=1" : "X-Nothing: said";
      while ((await link.request()) !== null) {
        requests++;
        await link.write(`HTTP/1.1 200 OK\r\n${header}\r\nContent-Length: 0\r\n\r\n`);
      }
    });
    let requests = 0;
    const one = httpClient({ connections: 3, now: () => performance.now() + shiftMs });
    one.warm(server.url, 3);
    await vi.waitFor(() => expect(server.open).toBe(3), 20_000);
    await Promise.all([1, 2, 3].map(() => one.send(get(server.url))));
    shiftMs = 600;
    await Promise.all([1, 2].map(() => one.send(get(server.url))));
    expect(requests).toBe(5);
    expect(server.connections).toBe(3);
  });

  it("are closed when they were idle for too long", async () => {
    let shiftMs = 0;
    const server = await answering(OK);
    const one = httpClient({ now: () => performance.now() + shiftMs, idleMs: 80 });
    await one.send(get(server.url));
    shiftMs = 10_000;
    await vi.waitFor(() => expect(server.open).toBe(0), 20_000);
    expect(one.open).toBe(0);
  });

  it("on which bytes come that nobody asked for are closed", async () => {
    const server = await peer(async (link) => {
      await link.request();
      await link.write(OK);
      setImmediate(() => void link.write(OK));
    });
    const one = httpClient();
    await one.send(get(server.url));
    await vi.waitFor(() => expect(one.open).toBe(0), 20_000);
  });

  it("make room for another store", async () => {
    const [first, second] = [await answering(OK), await answering(OK)];
    const one = httpClient({ connections: 1 });
    for (const { url } of [first, second, first]) expect((await one.send(get(url))).status).toBe(200);
    expect([first.connections, second.connections]).toEqual([2, 1]);
  });

  it("end with the wire, and so do requests under way and in line", async () => {
    const store = await reluctant();
    const one = httpClient({ connections: 1 });
    const codes = [1, 2].map(() => codeOf(one.send(get(store.server.url))));
    await vi.waitFor(() => expect(store.waiting.length).toBe(1), 20_000);
    await one.close();
    expect(await Promise.all(codes)).toEqual(["CANCELLED", "CANCELLED"]);
    expect(one.open).toBe(0);
    expect(await codeOf(one.send(get(store.server.url)))).toBe("CANCELLED");
  });
});
