import { once } from "node:events";
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

/** For tests: a peer of the HTTP client that sends exactly the bytes that a test writes. */
export interface Peer {
  url: string;
  /** Connections that were made so far. */
  readonly connections: number;
  /** Number of connections that are open. */
  readonly open: number;
  close(): Promise<void>;
}

export interface Link {
  /** Number of the connection, from 1. */
  nth: number;
  socket: Socket;
  /** Returns the next request with its whole body; null when the connection has ended. */
  request(): Promise<{ head: string; body: Buffer } | null>;
  /** Returns only the head of the next request; its body stays on the socket. */
  head(): Promise<string | null>;
  /** Writes, and waits until the kernel has it. */
  write(bytes: string | Buffer): Promise<void>;
}

/** Serves every connection with `serve`; `tls` makes it an HTTPS server. */
export async function openPeer(
  serve: (link: Link) => Promise<void> | void,
  tls?: { key: string; cert: string },
  host = "127.0.0.1",
): Promise<Peer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const accept = (socket: Socket) => {
    const nth = ++connections;
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    void Promise.resolve(serve(linkOf(socket, nth))).catch(() => socket.destroy());
  };
  const server: Server = tls === undefined ? createTcpServer({ noDelay: true }, accept) : createTlsServer(tls, accept);
  server.on("tlsClientError", () => undefined);
  server.listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`,
    get connections() {
      return connections;
    },
    get open() {
      return sockets.size;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function linkOf(socket: Socket, nth: number): Link {
  let held = Buffer.alloc(0);
  /** Returns the next chunk; null when none will come. */
  const next = async (): Promise<Buffer | null> => {
    for (;;) {
      const chunk: unknown = socket.read();
      if (Buffer.isBuffer(chunk)) return chunk;
      if (socket.destroyed || socket.readableEnded) return null;
      await new Promise<void>((resolve) => {
        const wake = () => {
          for (const event of ["readable", "end", "close"]) socket.off(event, wake);
          resolve();
        };
        for (const event of ["readable", "end", "close"]) socket.on(event, wake);
      });
    }
  };
  const head = async (): Promise<string | null> => {
    for (;;) {
      const end = held.indexOf("\r\n\r\n");
      if (end !== -1) {
        const text = held.toString("latin1", 0, end);
        held = held.subarray(end + 4);
        return text;
      }
      const chunk = await next();
      if (chunk === null) return null;
      held = Buffer.concat([held, chunk]);
    }
  };
  return {
    nth,
    socket,
    head,
    request: async () => {
      const text = await head();
      if (text === null) return null;
      const length = Number(/^content-length: (\d+)$/im.exec(text)?.[1] ?? 0);
      const chunks: Buffer[] = [held];
      for (let missing = length - held.length; missing > 0;) {
        const chunk = await next();
        if (chunk === null) return null;
        chunks.push(chunk);
        missing -= chunk.length;
      }
      const all = Buffer.concat(chunks);
      held = all.subarray(length);
      return { head: text, body: all.subarray(0, length) };
    },
    write: (bytes) =>
      new Promise<void>((resolve, reject) => {
        socket.write(bytes, (error) => (error == null ? resolve() : reject(error)));
      }),
  };
}
