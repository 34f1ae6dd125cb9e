import { isIP } from "node:net";
import { Fault } from "#protocol/faults/fault.ts";
import { groupsOf } from "./address-rules.ts";
import type { Destination } from "./no-proxy.ts";
import { authorizationOf, type Proxy } from "./proxy.ts";

/**
 * The exchange with a proxy until its connection reaches the destination: HTTP CONNECT (RFC 9110) or SOCKS5 (RFC 1928,
 * 1929). Does no I/O. The sides take turns, so bytes after the proxy's last answer are an error.
 */
export interface ProxyHandshake {
  /** Returns the first bytes to send. */
  begin(): Buffer;
  /**
   * Takes received bytes. Returns a Buffer to send next, "more" while the answer is incomplete, "done" when the
   * connection is open.
   * @throws Fault PROXY_LOGIN, PROXY_REFUSED, PROXY_FAILED, without any part of the credentials
   */
  take(bytes: Buffer): Buffer | "more" | "done";
}

const MOST_ANSWER_BYTES = 16 * 1024;
const END = "\r\n\r\n";

export const proxyHandshake = (proxy: Proxy, to: Destination): ProxyHandshake =>
  proxy.kind === "socks5" ? socks5(proxy, to) : httpConnect(proxy, to);

const authority = ({ host, port }: Destination): string => `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;

/** Returns the Fault of a failed answer of a proxy to CONNECT or to a forwarded request. */
export function proxyFault(proxy: Proxy, status: number): Fault {
  const detail = `${proxy.shown} answered HTTP ${status}`;
  if (status === 407) return new Fault("PROXY_LOGIN", { status, detail });
  const isRefused = status >= 400 && status < 500 && status !== 408 && status !== 429;
  return new Fault(isRefused ? "PROXY_REFUSED" : "PROXY_FAILED", { status, detail });
}

function httpConnect(proxy: Proxy, to: Destination): ProxyHandshake {
  let held = Buffer.alloc(0);
  return {
    begin: () => {
      const authorization = authorizationOf(proxy);
      const login = authorization === null ? "" : `Proxy-Authorization: ${authorization}\r\n`;
      const head = `CONNECT ${authority(to)} HTTP/1.1\r\nHost: ${authority(to)}\r\n${login}Proxy-Connection: keep-alive`;
      return Buffer.from(`${head}${END}`, "latin1");
    },
    take: (bytes) => {
      held = Buffer.concat([held, bytes]);
      const text = held.toString("latin1");
      const end = text.indexOf(END);
      const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |\r\n)/.exec(text)?.[1]);
      const isWhole = end !== -1;
      if (!isWhole && held.length < MOST_ANSWER_BYTES && "HTTP/1.".startsWith(text.slice(0, 7))) return "more";
      if (Number.isNaN(status)) throw new Fault("PROXY_FAILED", { detail: `${proxy.shown} does not speak HTTP` });
      // The body of a refusal is not needed.
      if (status < 200 || status > 299) throw proxyFault(proxy, status);
      if (!isWhole || end + END.length !== held.length) {
        throw new Fault("PROXY_FAILED", { detail: `${proxy.shown} sent bytes that nobody asked for` });
      }
      return "done";
    },
  };
}

const NO_LOGIN = 0;
const LOGIN = 2;
/** RFC 1928, section 6: the error's text, and whether a rule or limit of the proxy causes it. */
const REPLIES: readonly (readonly [says: string, isRule: boolean])[] = [
  ["succeeded", false],
  ["reports a general failure", false],
  ["does not allow it by its rules", true],
  ["cannot reach the network", false],
  ["cannot reach the host", false],
  ["was refused by the destination", false],
  ["gave up (TTL expired)", false],
  ["does not support the command", true],
  ["does not support this kind of address", true],
];

function socks5(proxy: Proxy, to: Destination): ProxyHandshake {
  const { login, shown } = proxy;
  let state: "greeting" | "login" | "connecting" = "greeting";
  let held = Buffer.alloc(0);
  const failed = (detail: string) => new Fault("PROXY_FAILED", { detail: `${shown} ${detail}` });
  /** Returns whether the answer of this length is complete. Throws when bytes follow it. */
  const whole = (length: number): boolean => {
    if (held.length > length) throw failed("sent bytes that nobody asked for");
    return held.length === length;
  };
  const takeGreeting = (): Buffer | "more" => {
    if (held[0] !== undefined && held[0] !== 5) throw failed("does not speak SOCKS5");
    if (!whole(2)) return "more";
    const method = held[1];
    held = Buffer.alloc(0);
    if (method === LOGIN && login !== null) {
      state = "login";
      const [user, password] = [Buffer.from(login.user), Buffer.from(login.password)];
      if (user.length > 255 || password.length > 255)
        throw new Fault("PROXY_LOGIN", { detail: `${shown}: it is too long` });
      return Buffer.concat([Buffer.of(1, user.length), user, Buffer.of(password.length), password]);
    }
    if (method !== NO_LOGIN) throw new Fault("PROXY_LOGIN", { detail: shown });
    state = "connecting";
    return socksRequest(to);
  };
  const takeLogin = (): Buffer | "more" => {
    if (!whole(2)) return "more";
    if (held[1] !== 0) throw new Fault("PROXY_LOGIN", { detail: shown });
    held = Buffer.alloc(0);
    state = "connecting";
    return socksRequest(to);
  };
  const takeReply = (): "more" | "done" => {
    const [, reply, , kind, first] = held;
    if (reply !== undefined && reply !== 0) {
      const [says, isRule] = REPLIES[reply] ?? [`answered ${reply}`, false];
      throw new Fault(isRule ? "PROXY_REFUSED" : "PROXY_FAILED", { detail: `${shown} ${says}` });
    }
    if (kind === undefined || first === undefined) return "more";
    const addressBytes = kind === 1 ? 4 : kind === 4 ? 16 : first + 1;
    return whole(4 + addressBytes + 2) ? "done" : "more";
  };
  return {
    begin: () => (login === null ? Buffer.of(5, 1, NO_LOGIN) : Buffer.of(5, 2, NO_LOGIN, LOGIN)),
    take: (bytes) => {
      held = Buffer.concat([held, bytes]);
      if (state === "greeting") return takeGreeting();
      return state === "login" ? takeLogin() : takeReply();
    },
  };
}

function socksRequest({ host, port }: Destination): Buffer {
  const family = isIP(host);
  const name = Buffer.from(host, "latin1");
  if (family === 0 && name.length > 255) throw new Fault("NAME_NOT_RESOLVED", { subject: host });
  const address = family === 0 ? Buffer.concat([Buffer.of(3, name.length), name]) : socksAddress(host, family);
  return Buffer.concat([Buffer.of(5, 1, 0), address, Buffer.of(port >> 8, port & 255)]);
}

function socksAddress(host: string, family: number): Buffer {
  if (family === 4) return Buffer.from([1, ...host.split(".").map(Number)]);
  return Buffer.from([4, ...groupsOf(host.split("%", 1)[0] ?? "").flatMap((group) => [group >> 8, group & 255])]);
}
