import { Fault } from "#protocol/faults/fault.ts";
import { readNoProxy, type Destination, type IsDirect } from "./no-proxy.ts";

/** A proxy as requests use it. */
export interface Proxy {
  kind: "http" | "https" | "socks5";
  host: string;
  port: number;
  /** Percent-decoded credentials; null when its URL has none. */
  login: { user: string; password: string } | null;
  /** Scheme, host and port, without credentials, for messages and logs. */
  shown: string;
}

/** Returns the proxy for a destination; null: connect directly. */
export type ProxyFor = (destination: Destination & { isTls: boolean }) => Proxy | null;

const KINDS: Readonly<Record<string, { kind: Proxy["kind"]; port: number }>> = {
  "http:": { kind: "http", port: 80 },
  "https:": { kind: "https", port: 443 },
  // With every SOCKS scheme the proxy resolves names: behind a mandatory proxy, this machine often cannot.
  "socks5:": { kind: "socks5", port: 1080 },
  "socks5h:": { kind: "socks5", port: 1080 },
  "socks:": { kind: "socks5", port: 1080 },
};

/** Parses a proxy URL. @throws Fault BAD_INPUT naming `source` only, because the value may hold a password */
export function readProxy(text: string, source: string): Proxy {
  const refuse = (detail: string): never => {
    throw new Fault("BAD_INPUT", { op: "usage", subject: source, detail });
  };
  const whole = /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  // The URL parser drops the default port of schemes that it knows and keeps every port of the others.
  if (!URL.canParse(whole)) return refuse("it is no address of a proxy, such as http://proxy.example.com:3128");
  const url = new URL(whole);
  const known = KINDS[url.protocol];
  if (known === undefined)
    return refuse(`${url.protocol}// is no kind of proxy; it takes http, https, socks5, socks5h`);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (host === "") return refuse("it names no host");
  const port = url.port === "" ? known.port : Number(url.port);
  return {
    kind: known.kind,
    host,
    port,
    login: loginOf(url, refuse),
    shown: `${url.protocol}//${url.hostname}:${port}`,
  };
}

function loginOf(url: URL, refuse: (detail: string) => never): Proxy["login"] {
  if (url.username === "" && url.password === "") return null;
  try {
    return { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
  } catch {
    return refuse("a % in the user or password is written %25");
  }
}

/** Sources of the proxy settings. */
export interface ProxySettings {
  /** From a flag; overrides all variables, for every destination. */
  given?: { text: string; source: string } | undefined;
  /** Overrides `NO_PROXY`. */
  noProxy?: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
}

/** Reads a variable. Lower case takes precedence, as in curl; an empty variable counts as unset. */
function variable(env: ProxySettings["env"], name: string): { text: string; source: string } | null {
  for (const source of [name.toLowerCase(), name]) {
    const text = env[source]?.trim() ?? "";
    if (text !== "") return { text, source };
  }
  return null;
}

/**
 * Reads the proxy settings once, so that connections need not parse them. Null when no proxy is set.
 * @throws Fault BAD_INPUT naming the flag or variable that cannot be read
 */
export function readProxies({ given, noProxy, env }: ProxySettings): ProxyFor | null {
  const of = (name: string): Proxy | null => {
    const found = given ?? variable(env, name) ?? variable(env, "ALL_PROXY");
    return found === null ? null : readProxy(found.text, found.source);
  };
  const [https, http] = [of("HTTPS_PROXY"), of("HTTP_PROXY")];
  if (https === null && http === null) return null;
  const isDirect: IsDirect = readNoProxy(noProxy ?? variable(env, "NO_PROXY")?.text ?? "");
  return ({ host, port, isTls }) => {
    const proxy = isTls ? https : http;
    return proxy === null || isDirect({ host, port }) ? null : proxy;
  };
}

/** Returns the value of `Proxy-Authorization`, or null. */
export const authorizationOf = ({ login }: Proxy): string | null =>
  login === null ? null : `Basic ${Buffer.from(`${login.user}:${login.password}`).toString("base64")}`;
