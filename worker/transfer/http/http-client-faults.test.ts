import { randomBytes } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import {
  answering,
  codeOf,
  collect,
  get,
  OK,
  peer,
  put,
  upload,
  httpClient,
} from "#worker/testing/http-client-tester.ts";
import type { Sink, UploadBody } from "./http-client.ts";

const SHORT_MS = 80;
const bytes = randomBytes(900_000);

/** Takes requests and says nothing. */
const silent = () => peer(async (link) => void (await link.request()));
/** Something that never ends by itself. */
const never = () => new Promise<never>(() => undefined);

describe("a connection that the store closed while it was idle", () => {
  it("is replaced unseen, and the body starts over", async () => {
    const server = await peer(async (link) => {
      await link.request();
      await link.write(OK);
      // Closed with the next request already on its way.
      if (link.nth === 1 && (await link.head()) !== null) link.socket.resetAndDestroy();
      else if ((await link.request()) !== null) await link.write(OK);
    });
    const one = httpClient();
    await one.send(get(server.url));
    const body = upload(bytes);
    expect((await one.send(put(server.url, body))).status).toBe(200);
    expect(body).toMatchObject({ sentBytes: bytes.length, starts: 2 });
    expect(server.connections).toBe(2);
    await vi.waitFor(() => expect(one.buffers.lent).toBe(0), 20_000);
  });

  it("is replaced once; a second loss is told", async () => {
    const server = await peer(async (link) => {
      await link.request();
      if (link.nth === 1) await link.write(OK);
      if (link.nth > 1 || (await link.request()) !== null) link.socket.destroy();
    });
    const one = httpClient();
    await one.send(get(server.url));
    expect(await codeOf(one.send(get(server.url)))).toBe("LINK_DOWN");
    expect(server.connections).toBe(2);
  });

  it("is not replaced after the first byte of an answer", async () => {
    const server = await peer(async (link) => {
      await link.request();
      await link.write(OK);
      await link.request();
      await link.write("HTTP/1.1 2");
      link.socket.destroy();
    });
    const one = httpClient();
    await one.send(get(server.url));
    expect(await codeOf(one.send(get(server.url)))).toBe("LINK_DOWN");
    expect(server.connections).toBe(1);
  });

  it("is not used any more once its end was seen", async () => {
    const server = await peer(async (link) => {
      await link.request();
      await link.write(OK);
      link.socket.end();
    });
    const one = httpClient();
    await one.send(get(server.url));
    await vi.waitFor(() => expect(one.open).toBe(0), 20_000);
    expect((await one.send(get(server.url))).status).toBe(200);
  });

  it("waits for a read of the body that is under way before it starts over", async () => {
    const server = await peer(async (link) => {
      await link.request();
      await link.write(OK);
      if (link.nth === 1 && (await link.head()) !== null) link.socket.destroy();
      else if ((await link.request()) !== null) await link.write(OK);
    });
    const one = httpClient();
    await one.send(get(server.url));
    const body = upload(bytes);
    const plain = body.read.bind(body);
    let reads = 0;
    let mostReads = 0;
    body.read = async (into, at) => {
      mostReads = Math.max(mostReads, ++reads);
      // The second read of the first life lasts until the connection is gone.
      if (at > 0 && body.starts === 1) await vi.waitFor(() => expect(server.open).toBe(0), 20_000);
      reads--;
      return plain(into, at, false);
    };
    expect((await one.send(put(server.url, body))).status).toBe(200);
    expect(body).toMatchObject({ sentBytes: bytes.length, starts: 2 });
    expect(mostReads).toBe(1);
    await vi.waitFor(() => expect(one.buffers.lent).toBe(0), 20_000);
  });
});

describe("a new connection", () => {
  it("that dies before the answer is a lost link", async () => {
    const server = await peer(async (link) => {
      await link.request();
      link.socket.destroy();
    });
    expect(await codeOf(httpClient().send(put(server.url, upload(bytes))))).toBe("LINK_DOWN");
    expect(server.connections).toBe(1);
  });

  it("that nobody accepts is a lost link", async () => {
    const server = await answering(OK);
    await server.close();
    const one = httpClient();
    expect(await codeOf(one.send(get(server.url)))).toBe("LINK_DOWN");
    expect(one.open).toBe(0);
  });

  it("that is not made in time is a lost link", async () => {
    // Takes the connection and never says a word of TLS.
    const server = await silent();
    const one = httpClient({ connectMs: SHORT_MS });
    expect(await codeOf(one.send(get(server.url.replace("http:", "https:"))))).toBe("LINK_DOWN");
    expect(one.open).toBe(0);
  });

  it("to a name that does not exist says so", async () => {
    const code = await codeOf(httpClient().send(get("http://tidemark.invalid/")));
    expect(code).toBe("NAME_NOT_RESOLVED");
  });
});

describe("an answer that comes while the body is still going out", () => {
  const early = (answer: string) =>
    peer(async (link) => {
      await link.head();
      await link.write(answer);
      await never();
    });

  it("ends the upload and is read, and the connection is not used again", async () => {
    const server = await early("HTTP/1.1 403 Forbidden\r\nContent-Length: 7\r\n\r\n<Error>");
    const one = httpClient();
    const body = upload(randomBytes(30_000_000));
    const answer = await one.send(put(server.url, body));
    expect(answer.status).toBe(403);
    expect(answer.body.toString()).toBe("<Error>");
    expect(body.sentBytes).toBeLessThan(body.lengthBytes);
    expect(one.open).toBe(0);
    await vi.waitFor(() => expect(one.buffers.lent).toBe(0), 20_000);
  });

  it("is never believed when it speaks of success", async () => {
    const server = await early(OK);
    expect(await codeOf(httpClient().send(put(server.url, upload(randomBytes(30_000_000)))))).toBe("UNEXPECTED_ANSWER");
  });

  it("may itself not last for ever, even while the body is being read", async () => {
    const server = await early("HTTP/1.1 503 Slow Down\r\nContent-Length: 7\r\n\r\n<E");
    const body: UploadBody = { ...upload(bytes), read: never };
    const one = httpClient({ idleMs: SHORT_MS });
    const sent = upload(bytes);
    let turn = 0;
    body.read = (into, at, arePassed) => (turn++ === 0 ? sent.read(into, at, arePassed) : never());
    expect(await codeOf(one.send(put(server.url, body)))).toBe("STALLED");
  });
});

describe("silence", () => {
  it("instead of an answer is a stall", async () => {
    const server = await silent();
    const one = httpClient({ idleMs: SHORT_MS });
    expect(await codeOf(one.send(get(server.url)))).toBe("STALLED");
    expect(one.open).toBe(0);
  });

  it("in the middle of a body is a stall, and what came before is kept", async () => {
    const server = await peer(async (link) => {
      await link.request();
      await link.write("HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n");
      await link.write(bytes.subarray(0, 400_000));
      await never();
    });
    const one = httpClient({ idleMs: SHORT_MS });
    const sink = collect();
    expect(await codeOf(one.fetch({ ...get(server.url), sink }))).toBe("STALLED");
    expect(sink.bytesOf().equals(bytes.subarray(0, 400_000))).toBe(true);
    await vi.waitFor(() => expect(one.buffers.lent).toBe(0), 20_000);
  });

  it("of a store that stops reading is a stall", async () => {
    const server = await peer(async (link) => {
      await link.head();
      await never();
    });
    const one = httpClient({ idleMs: SHORT_MS });
    expect(await codeOf(one.send(put(server.url, upload(randomBytes(30_000_000)))))).toBe("STALLED");
    await vi.waitFor(() => expect(one.buffers.lent).toBe(0), 20_000);
  });

  it("while the sink is busy is not the network's", async () => {
    const server = await peer(async (link) => {
      await link.request();
      await link.write("HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n");
      await link.write(bytes);
    });
    const dead = await silent();
    const one = httpClient({ idleMs: SHORT_MS });
    // Lasts as long as the watchdog needs to bite somebody else.
    const stalled = codeOf(one.send(get(dead.url)));
    const sink = collect();
    let calls = 0;
    const busy: Sink = {
      head: () => undefined,
      bytes: (chunk) => {
        void sink.bytes(chunk);
        return calls++ === 0 ? stalled.then(() => undefined) : undefined;
      },
    };
    await one.fetch({ ...get(server.url), sink: busy });
    expect(await stalled).toBe("STALLED");
    expect(sink.bytesOf().equals(bytes)).toBe(true);
  });

  it("while the body is being read is not the network's", async () => {
    const server = await answering(OK);
    const dead = await silent();
    const one = httpClient({ idleMs: SHORT_MS });
    const stalled = codeOf(one.send(get(dead.url)));
    const body = upload(bytes);
    const plain = body.read.bind(body);
    body.read = async (into, at) => {
      await stalled;
      return plain(into, at, false);
    };
    expect((await one.send(put(server.url, body))).status).toBe(200);
    expect(body.sentBytes).toBe(bytes.length);
  });

  it("of this process itself is forgiven", async () => {
    let answer: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => (answer = resolve));
    let shiftMs = 0;
    let looks = 0;
    const now = () => {
      looks++;
      return performance.now() + shiftMs;
    };
    const server = await peer(async (link) => {
      await link.request();
      shiftMs = 3_600_000;
      looks = 0;
      await asked;
      await link.write(OK);
    });
    const answered = httpClient({ idleMs: 5_000, now }).send(get(server.url));
    await vi.waitFor(() => expect(looks).toBeGreaterThan(8));
    answer();
    expect((await answered).status).toBe(200);
  });
});
