import { Fault } from "#protocol/faults/fault.ts";

/**
 * Returns the base address of a hub, without a trailing slash. Plain http would expose the node's credential on the
 * network, so it is refused unless the hub is on this machine or a flag allows it.
 * @throws Fault BAD_INPUT, HUB_PLAIN_HTTP
 */
export function readHubAddress(text: string | null, options: { allowHttp: "yes" | "loopback-only" }): string {
  const bad = (detail: string) =>
    new Fault("BAD_INPUT", { op: "usage", subject: text === null ? "--hub" : `--hub ${text}`, detail });
  if (text === null) throw bad("the hub's address is missing: --hub https://hub.example.com");
  if (!URL.canParse(text)) throw bad("an address looks like https://hub.example.com");
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") throw bad("an address starts with https://");
  if (url.username !== "" || url.password !== "") throw bad("an address carries no password");
  if (url.protocol === "http:" && options.allowHttp === "loopback-only" && !isLoopback(url.hostname)) {
    throw new Fault("HUB_PLAIN_HTTP", { op: "connect", subject: text });
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** Tells whether a host, as written in a URL or by a socket, is this machine. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" ||
  host.endsWith(".localhost") ||
  host === "[::1]" ||
  host === "::1" ||
  /^127(\.\d{1,3}){3}$/.test(host);

/** Says for a person which hub is asked and whether it answers. */
export const describeHub = ({ url, isUp }: { url: string; isUp: boolean }): string =>
  `the hub ${isUp ? "answers" : "is away"} (${url})`;
