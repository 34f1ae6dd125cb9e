import { connect as connectTcp, isIP, type Socket } from "node:net";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { network } from "./network.ts";
import type { Destination } from "./no-proxy.ts";
import { proxyHandshake } from "./proxy-handshake.ts";
import type { Proxy } from "./proxy.ts";

/** A connection that is being made to a destination, through a proxy. */
export interface Tunnel {
  /** To the proxy. Destroying it ends the attempt. */
  socket: Socket;
  /** The same socket when its bytes reach the destination. Rejects with PROXY_LOGIN, PROXY_REFUSED, PROXY_FAILED. */
  open: Promise<Socket>;
}

/** Opens the connection to a proxy, encrypted where its URL is https. Ready at `connect`, or with TLS at `secureConnect`. */
export function connectProxy({ kind, host, port }: Proxy): Socket {
  if (kind !== "https") {
    return connectTcp({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 });
  }
  const { connect } = process.getBuiltinModule("node:tls");
  network().authorities.prepare();
  return connect({ host, port, servername: isIP(host) === 0 ? host : "", ALPNProtocols: ["http/1.1"] });
}

export const readyEventOf = ({ kind }: Proxy): "connect" | "secureConnect" =>
  kind === "https" ? "secureConnect" : "connect";

/** Why there is no way through a proxy, whatever was thrown. A Fault of the handshake passes through. */
export function tunnelFault(proxy: Proxy, error: unknown): Fault {
  if (isFault(error)) return error;
  const code: unknown = error instanceof Error && "code" in error ? error.code : null;
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : null;
  if (inner !== null && code === null) return tunnelFault(proxy, inner);
  const detail = typeof code === "string" ? `${proxy.shown}: ${code}` : proxy.shown;
  return new Fault("PROXY_FAILED", { detail, cause: error });
}

/** Makes a tunnel. Never waits longer than `mostMs`. */
export function openTunnel(proxy: Proxy, to: Destination, mostMs: number): Tunnel {
  const socket = connectProxy(proxy);
  const handshake = proxyHandshake(proxy, to);
  const open = new Promise<Socket>((resolve, reject) => {
    const late = () => fail(new Fault("PROXY_FAILED", { detail: `${proxy.shown}: no answer for ${mostMs / 1000} s` }));
    const timer = setTimeout(late, mostMs).unref();
    const leave = () => {
      clearTimeout(timer);
      socket.off("data", take).off("error", fail).off("close", closed);
    };
    const fail = (error: unknown) => {
      leave();
      // Errors that follow belong to nobody.
      socket.on("error", () => undefined).destroy();
      reject(tunnelFault(proxy, error));
    };
    const closed = () => fail(new Fault("PROXY_FAILED", { detail: `${proxy.shown} closed the connection` }));
    const take = (bytes: Buffer) => {
      try {
        const next = handshake.take(bytes);
        if (next === "more") return;
        if (next !== "done") return void socket.write(next);
        leave();
        socket.pause();
        resolve(socket);
      } catch (error) {
        fail(error);
      }
    };
    socket.on("error", fail).on("close", closed).on("data", take);
    socket.once(readyEventOf(proxy), () => socket.write(handshake.begin()));
  });
  // Whoever only destroys the socket does not wait for it.
  open.catch(() => undefined);
  return { socket, open };
}
