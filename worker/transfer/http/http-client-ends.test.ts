import { randomBytes } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import {
  answering,
  codeOf,
  collect,
  get,
  OK,
  peer,
  put,
  slowly,
  upload,
  httpClient,
} from "#worker/testing/http-client-tester.ts";
import type { Sink, UploadBody } from "./http-client.ts";

const bytes = randomBytes(900_000);

/** Takes requests and says nothing. */
const silent = () => peer(async (link) => void (await link.request()));
/** Something that never ends by itself. */
const never = () => new Promise<never>(() => undefined);

describe("an abort", () => {
  const reason = new Fault("EPOCH_OVER");

  it("before the start sends nothing", async () => {
    const server = await answering(OK);
    expect(await codeOf(httpClient().send(get(server.url, { signal: AbortSignal.abort(reason) })))).toBe("EPOCH_OVER");
    expect(server.connections).toBe(0);
  });

  it("without a fault as its reason is a cancelled request", async () => {
    const server = await silent();
    const aborting = new AbortController();
    const sending = codeOf(httpClient().send(get(server.url, { signal: aborting.signal })));
    aborting.abort();
    expect(await sending).toBe("CANCELLED");
  });

  it("in an upload drops the connection at once", async () => {
    const broken: Error[] = [];
    const aborting = new AbortController();
    const server = await peer(async (link) => {
      await link.head();
      link.socket.on("error", (error) => broken.push(error));
      aborting.abort(reason);
      link.socket.resume();
    });
    const one = httpClient();
    const body = upload(randomBytes(30_000_000));
    expect(await codeOf(one.send(put(server.url, body, { signal: aborting.signal })))).toBe("EPOCH_OVER");
    expect(one.open).toBe(0);
    // A reset: what lay in the kernel's buffers is not sent to its end.
    await vi.waitFor(() => expect(broken).toMatchObject([{ code: "ECONNRESET" }]), 20_000);
    await vi.waitFor(() => expect(one.buffers.lent).toBe(0), 20_000);
  });

  it("in a download drops the connection at once, the sink's promise or not", async () => {
    const server = await peer(async (link) => {
      await link.request();
      await link.write("HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n");
      await link.write(bytes.subarray(0, 400_000));
      await never();
    });
    const one = httpClient();
    for (const outcome of [undefined, never()]) {
      const aborting = new AbortController();
      const sink: Sink = {
        head: () => undefined,
        bytes: () => {
          queueMicrotask(() => aborting.abort(reason));
          return outcome;
        },
      };
      expect(await codeOf(one.fetch({ ...get(server.url, { signal: aborting.signal }), sink }))).toBe("EPOCH_OVER");
      expect(one.open).toBe(0);
    }
    await vi.waitFor(() => expect(one.buffers.lent).toBe(0), 20_000);
  });

  it("while waiting in line leaves the line and the others alone", async () => {
    let answer: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => (answer = resolve));
    const server = await peer(async (link) => {
      while ((await link.request()) !== null) {
        await asked;
        await link.write(OK);
      }
    });
    const one = httpClient({ connections: 1 });
    const first = one.send(get(server.url));
    const aborting = new AbortController();
    const second = codeOf(one.send(get(server.url, { signal: aborting.signal })));
    const third = one.send(get(server.url));
    aborting.abort(reason);
    expect(await second).toBe("EPOCH_OVER");
    answer();
    expect((await first).status).toBe(200);
    expect((await third).status).toBe(200);
    expect(server.connections).toBe(1);
  });
});

describe("a sink", () => {
  it("that has enough gets no more, and the connection is not used again", async () => {
    const server = await peer(async (link) => {
      await link.request();
      await link.write("HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n");
      await link.write(bytes);
      await never();
    });
    const one = httpClient();
    let got = 0;
    const sink: Sink = {
      head: () => undefined,
      bytes: (chunk) => {
        got += chunk.length;
        return got > 100_000 ? "enough" : undefined;
      },
    };
    expect((await one.fetch({ ...get(server.url), sink })).status).toBe(200);
    const then = got;
    expect(one.open).toBe(0);
    await vi.waitFor(() => expect(one.buffers.lent).toBe(0), 20_000);
    expect(got).toBe(then);
  });

  it("that fails ends the fetch with its fault", async () => {
    const server = await peer(async (link) => {
      await link.request();
      await link.write("HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n");
      await link.write(bytes);
    });
    const one = httpClient();
    for (const fail of [
      () => {
        throw new Fault("NO_SPACE");
      },
      () => Promise.reject(new Fault("NO_SPACE")),
    ]) {
      const sink: Sink = { head: () => undefined, bytes: fail };
      expect(await codeOf(one.fetch({ ...get(server.url), sink }))).toBe("NO_SPACE");
    }
    await vi.waitFor(() => expect(one.buffers.lent).toBe(0), 20_000);
  });

  it("that answers each chunk with a promise gets all of them, in order and one at a time", async () => {
    const server = await peer(async (link) => {
      await link.request();
      await link.write("HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n");
      await link.write(bytes);
    });
    const sink = collect();
    await httpClient().fetch({ ...get(server.url), sink: slowly(sink) });
    expect(sink.bytesOf().equals(bytes)).toBe(true);
  });

  it("whose promise outlives the connection's end still gets everything of a body that the end closes", async () => {
    const server = await peer(async (link) => {
      await link.request();
      await link.write("HTTP/1.1 200 OK\r\n\r\n");
      await link.write(bytes);
      link.socket.end();
    });
    const sink = collect();
    await httpClient().fetch({ ...get(server.url), sink: slowly(sink) });
    expect(sink.bytesOf().equals(bytes)).toBe(true);
  });
});

describe("a body", () => {
  it("whose source fails ends the request with its fault", async () => {
    const server = await silent();
    const one = httpClient();
    for (const fail of [
      () => {
        throw new Fault("SOURCE_CHANGED");
      },
      () => Promise.reject(new Fault("SOURCE_CHANGED")),
    ]) {
      const body: UploadBody = { ...upload(bytes), read: fail };
      expect(await codeOf(one.send(put(server.url, body)))).toBe("SOURCE_CHANGED");
    }
    expect(one.open).toBe(0);
    await vi.waitFor(() => expect(one.buffers.lent).toBe(0), 20_000);
  });

  it.each([0, -1, 1e9])("that claims to have read %i bytes is refused", async (count) => {
    const server = await silent();
    const body: UploadBody = { ...upload(bytes), read: () => count };
    expect(await codeOf(httpClient().send(put(server.url, body)))).toBe("INTERNAL");
  });

  it("may be empty, small or large, in memory or not", async () => {
    const got: Buffer[] = [];
    const server = await peer(async (link) => {
      for (;;) {
        const asked = await link.request();
        if (asked === null) return;
        got.push(asked.body);
        await link.write(OK);
      }
    });
    const one = httpClient();
    const sizes = [0, 1, 65_536, 65_537, 900_000];
    for (const size of sizes) {
      await one.send(put(server.url, bytes.subarray(0, size)));
      await one.send(put(server.url, upload(bytes.subarray(0, size))));
    }
    expect(got.map((body) => body.length)).toEqual(sizes.flatMap((size) => [size, size]));
    expect(got.every((body) => body.equals(bytes.subarray(0, body.length)))).toBe(true);
    expect(server.connections).toBe(1);
    expect(one.buffers.lent).toBe(0);
  });
});
