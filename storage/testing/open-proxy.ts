import { once } from "node:events";
import { createServer as createPlain, request as requestPlain, type IncomingMessage } from "node:http";
import { createServer as createOverTls } from "node:https";
import { connect, createServer as createTcp, type AddressInfo, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";

/** For tests: a real proxy on a loopback address that records requests and can misbehave. */
export interface ProxyOptions {
  kind?: "http" | "https" | "socks5";
  /** `user:password` that it requires. */
  login?: string;
  /** Certificate of an https proxy. */
  tls?: { key: string; cert: string };
  /** Status with which every request is refused. */
  refuseWith?: number;
  /** Accepts connections and never answers. */
  hangs?: boolean;
  /** Cuts a connection after this many bytes from the destination; only the first `cuts` connections. */
  cutAfterBytes?: number;
  cuts?: number;
  /** Delay before it connects to the destination, ms. */
  delayMs?: number;
  /** Addresses of host names that no resolver knows. */
  hosts?: Readonly<Record<string, string>>;
  listenOn?: string;
}

export interface TestProxy {
  /** Without credentials. */
  url: string;
  port: number;
  /** Requests in order: `CONNECT host:port`, or `GET http://...` without the query. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

interface Inside {
  options: ProxyOptions;
  asked: string[];
  sockets: Set<Duplex>;
  left: { cuts: number };
}

export async function openProxy(options: ProxyOptions = {}): Promise<TestProxy> {
  const inside: Inside = { options, asked: [], sockets: new Set(), left: { cuts: options.cuts ?? Infinity } };
  const kind = options.kind ?? "http";
  const server = kind === "socks5" ? createTcp((socket) => void serveSocks(inside, socket)) : httpProxy(inside);
  server.on("connection", (socket: Socket) => {
    inside.sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => inside.sockets.delete(socket));
  });
  server.listen(0, options.listenOn ?? "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `${kind}://${options.listenOn ?? "127.0.0.1"}:${port}`,
    port,
    asked: inside.asked,
    close: async () => {
      for (const socket of inside.sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

const isLoggedIn = ({ options }: Inside, header: string | undefined): boolean =>
  options.login === undefined || header === `Basic ${Buffer.from(options.login).toString("base64")}`;

function httpProxy(inside: Inside): Server {
  const { options } = inside;
  const server = options.kind === "https" && options.tls !== undefined ? createOverTls(options.tls) : createPlain();
  server.on("connect", (request: IncomingMessage, socket: Duplex) => {
    socket.on("error", () => undefined);
    inside.asked.push(`CONNECT ${request.url ?? ""}`);
    if (options.hangs === true) return;
    const isIn = isLoggedIn(inside, request.headers["proxy-authorization"]);
    const status = isIn ? options.refuseWith : 407;
    if (status !== undefined) {
      socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 2\r\n\r\nno`);
      return;
    }
    const [, host = "", port = ""] = /^\[?(.*?)\]?:(\d+)$/.exec(request.url ?? "") ?? [];
    join(inside, { socket, host, port: Number(port) }, (isThere) => {
      socket.write(isThere ? "HTTP/1.1 200 Connection established\r\n\r\n" : "HTTP/1.1 502 Bad Gateway\r\n\r\n");
    });
  });
  server.on("request", (request, response) => {
    const url = new URL(request.url ?? "", "http://nowhere.invalid");
    inside.asked.push(`${request.method} ${url.origin}${url.pathname}`);
    if (options.hangs === true) return;
    const isIn = isLoggedIn(inside, request.headers["proxy-authorization"]);
    const status = isIn ? options.refuseWith : 407;
    if (status !== undefined) {
      request.resume();
      response.writeHead(status, { "content-type": "text/html" }).end("<html>no</html>");
      return;
    }
    const { "proxy-authorization": _login, ...headers } = request.headers;
    const target = { host: addressOf(inside, url.hostname), port: url.port === "" ? 80 : Number(url.port) };
    const onward = requestPlain(
      { ...target, method: request.method, path: url.pathname + url.search, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  });
  return server;
}

const addressOf = ({ options }: Inside, host: string): string => options.hosts?.[host] ?? host;

function join(
  inside: Inside,
  to: { socket: Duplex; host: string; port: number },
  say: (isThere: boolean) => void,
): void {
  const { cutAfterBytes, delayMs = 0 } = inside.options;
  const { socket, host, port } = to;
  const go = () => {
    const onward = connect({ host: addressOf(inside, host), port, noDelay: true });
    inside.sockets.add(onward);
    onward.on("close", () => {
      inside.sockets.delete(onward);
      socket.destroy();
    });
    onward.once("connect", () => {
      say(true);
      socket.pipe(onward);
      onward.pipe(socket);
    });
    onward.on("error", () => (onward.connecting || onward.bytesRead === 0 ? say(false) : undefined));
    socket.on("close", () => onward.destroy());
    if (cutAfterBytes === undefined) return;
    let passed = 0;
    onward.on("data", (bytes: Buffer) => {
      passed += bytes.length;
      if (passed < cutAfterBytes || inside.left.cuts <= 0) return;
      inside.left.cuts--;
      passed = -Infinity;
      socket.destroy();
    });
  };
  if (delayMs > 0) setTimeout(go, delayMs);
  else go();
}

async function serveSocks(inside: Inside, socket: Socket): Promise<void> {
  const { options, asked } = inside;
  if (options.hangs === true) return;
  socket.on("error", () => undefined);
  const read = async (): Promise<Buffer> => {
    const [bytes] = (await once(socket, "data")) as [Buffer];
    return bytes;
  };
  try {
    const greeting = await read();
    const method = options.login === undefined ? 0 : 2;
    if (!greeting.subarray(2).includes(method)) return void socket.end(Buffer.of(5, 255));
    socket.write(Buffer.of(5, method));
    if (method === 2) {
      const said = await read();
      const user = said.subarray(2, 2 + (said[1] ?? 0)).toString();
      const password = said.subarray(3 + (said[1] ?? 0)).toString();
      const isIn = `${user}:${password}` === options.login;
      socket.write(Buffer.of(1, isIn ? 0 : 1));
      if (!isIn) return void socket.end();
    }
    const request = await read();
    const kind = request[3];
    const length = request[4] ?? 0;
    const host =
      kind === 3
        ? request.subarray(5, 5 + length).toString()
        : kind === 1
          ? request.subarray(4, 8).join(".")
          : request.subarray(4, 20).toString("hex").match(/.{4}/g)?.join(":");
    const port = request.readUInt16BE(request.length - 2);
    asked.push(`CONNECT ${host}:${port}`);
    const answer = (reply: number) => socket.write(Buffer.of(5, reply, 0, 1, 0, 0, 0, 0, 0, 0));
    if (options.refuseWith !== undefined) return void socket.end(Buffer.of(5, 2, 0, 1, 0, 0, 0, 0, 0, 0));
    join(inside, { socket, host: host ?? "", port }, (isThere) => void answer(isThere ? 0 : 5));
  } catch {
    socket.destroy();
  }
}
