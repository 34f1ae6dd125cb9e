import { connect as connectTcp, isIP, type Socket } from "node:net";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { network } from "./network.ts";
import type { Destination } from "./no-proxy.ts";
import { proxyHandshake } from "./proxy-handshake.ts";
import type { Proxy } from "./proxy.ts";

/** A connection through a proxy that is being opened. */
export interface Tunnel {
  /** The socket to the proxy. Destroying it ends the attempt. */
  socket: Socket;
  /** Resolves with `socket` once its bytes reach the destination. Rejects with PROXY_LOGIN, PROXY_REFUSED or PROXY_FAILED. */
  open: Promise<Socket>;
}

/** Connects to a proxy, with TLS where its URL is https. The socket is ready at `connect`, or at `secureConnect` with TLS. */
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

/** Returns the Fault of any error of a proxy connection. A Fault of the handshake passes through. */
export function tunnelFault(proxy: Proxy, error: unknown): Fault {
  if (isFault(error)) return error;
  const code: unknown = error instanceof Error && "code" in error ? error.code : null;
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : null;
  if (inner !== null && code === null) return tunnelFault(proxy, inner);
  const detail = typeof code === "string" ? `${proxy.shown}: ${code}` : proxy.shown;
  return new Fault("PROXY_FAILED", { detail, cause: error });
}

/** Opens a tunnel, within `mostMs`. */
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
      // Later errors of the destroyed socket have no other listener and would crash the process.
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
  // A caller that only destroys the socket does not handle the rejection.
  open.catch(() => undefined);
  return { socket, open };
}
