import { Agent as PlainAgent, type AgentOptions, type ClientRequest } from "node:http";
import { Agent as TlsAgent } from "node:https";
import { isIP, type LookupFunction, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ConnectionOptions } from "node:tls";
import { isFault } from "#protocol/faults/fault.ts";
import type { StoreTrust } from "#protocol/wire/store-trust.ts";
import { network } from "./network.ts";
import type { Destination } from "./no-proxy.ts";
import { connectProxy, openTunnel, readyEventOf, tunnelFault } from "./tunnel.ts";
import { pinnedIdentity } from "./pin.ts";
import { authorizationOf, type Proxy } from "./proxy.ts";

/** How clients of `node:http` connect to one kind of destination. */
export interface Reaching {
  /** Resolves and checks host names. Behind a proxy, a name that the lookup refuses is refused too. */
  lookup?: LookupFunction | undefined;
  /** Trust settings of a store's certificate; null: the usual ones of stores. Left out: the destination is no store. */
  trust?: StoreTrust | null | undefined;
}

const CONNECT_MS = 8_000;

type Done = (error: Error | null, socket: Duplex) => void;
interface Asked {
  host?: string | null | undefined;
  port?: string | number | null | undefined;
}

const destinationOf = ({ host, port }: Asked, usual: number): Destination => ({
  host: host ?? "localhost",
  port: Number(port ?? usual),
});

/** Rejects a host that resolves to a forbidden address. Names that this machine cannot resolve are left to the proxy. */
async function refuseWhere(lookup: LookupFunction | undefined, host: string): Promise<void> {
  if (lookup === undefined || isIP(host) !== 0) return;
  await new Promise<void>((resolve, reject) => {
    lookup(host, { all: true }, (error) => {
      if (error !== null && isFault(error) && error.code === "ENDPOINT_REFUSED") reject(error);
      else resolve();
    });
  });
}

/** Reports the opened connection, or the error, to an agent's callback. */
async function tell(done: Done, open: () => Promise<Duplex>): Promise<void> {
  const opened = await open().then(
    (socket) => ({ socket }),
    (error: unknown) => ({ error }),
  );
  if ("socket" in opened) done(null, opened.socket);
  // The callback's type requires a socket, but the agent ignores it beside an error.
  else (done as (error: unknown) => void)(opened.error);
}

const connectInside = (options: object): Socket =>
  process.getBuiltinModule("node:tls").connect(options as ConnectionOptions);

type Connect = (options: Asked, done: Done) => Duplex | null | undefined;

/** Patches an agent instance instead of subclassing: the bundled worker loads Node's classes only when they are used. */
function routeTls(agent: TlsAgent, { lookup }: Reaching): TlsAgent {
  const direct: Connect = agent.createConnection.bind(agent);
  const connect: Connect = (options, done) => {
    const to = destinationOf(options, 443);
    const proxy = network().proxyFor?.({ ...to, isTls: true }) ?? null;
    if (proxy === null) return direct(options, done);
    void tell(done, async () => {
      await refuseWhere(lookup, to.host);
      return connectInside({ ...options, socket: await openTunnel(proxy, to, CONNECT_MS).open });
    });
    return undefined;
  };
  return Object.assign(agent, { createConnection: connect });
}

/** Routes plain HTTP. An HTTP proxy gets requests with absolute URLs, because most proxies allow CONNECT to port 443 only. */
function routePlain(agent: PlainAgent, { lookup }: Reaching): PlainAgent {
  const direct: Connect = agent.createConnection.bind(agent);
  const connect: Connect = (options, done) => {
    const to = destinationOf(options, 80);
    const proxy = network().proxyFor?.({ ...to, isTls: false }) ?? null;
    if (proxy === null) return direct(options, done);
    void tell(done, async () => {
      await refuseWhere(lookup, to.host);
      return proxy.kind === "socks5" ? openTunnel(proxy, to, CONNECT_MS).open : connected(proxy);
    });
    return undefined;
  };
  // `addRequest` is missing in Node's types. Clients call it before any byte of the request is sent.
  const add = (Reflect.get(agent, "addRequest") as (request: ClientRequest, options: Asked) => void).bind(agent);
  const addRequest = (request: ClientRequest, options: Asked) => {
    const to = destinationOf(options, 80);
    const proxy = wholeRequestProxy(to);
    if (proxy !== null) {
      const authority = `${isIP(to.host) === 6 ? `[${to.host}]` : to.host}${to.port === 80 ? "" : `:${to.port}`}`;
      request.path = `http://${authority}${request.path}`;
      const authorization = authorizationOf(proxy);
      if (authorization !== null) request.setHeader("proxy-authorization", authorization);
    }
    add(request, options);
  };
  return Object.assign(agent, { createConnection: connect, addRequest });
}

const wholeRequestProxy = (to: Destination): Proxy | null => {
  const proxy = network().proxyFor?.({ ...to, isTls: false }) ?? null;
  return proxy === null || proxy.kind === "socks5" ? null : proxy;
};

const connected = (proxy: Proxy): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connectProxy(proxy);
    const failed = (error: unknown) => reject(tunnelFault(proxy, error));
    socket.once("error", failed).once(readyEventOf(proxy), () => resolve(socket.off("error", failed)));
  });

/** Returns the two agents of one client. Direct connections are made with `options`. */
export function createAgents(
  options: AgentOptions,
  reaching: Reaching = {},
): { httpAgent: PlainAgent; httpsAgent: TlsAgent } {
  const { authorities } = network();
  authorities.prepare();
  const { lookup, trust } = reaching;
  const ca = trust === undefined ? undefined : authorities.forStore(trust?.ca ?? null);
  const pin = trust?.pin ?? null;
  const common = { ...options, ...(lookup !== undefined && { lookup }) };
  const trusting = {
    ...common,
    ...(ca !== undefined && { ca }),
    ...(pin !== null && { checkServerIdentity: pinnedIdentity(pin) }),
  };
  return {
    httpAgent: routePlain(new PlainAgent(common), reaching),
    httpsAgent: routeTls(new TlsAgent(trusting), reaching),
  };
}
