import { connect, isIP, type Socket } from "node:net";
import { createTransport } from "nodemailer";
import type { ChannelSecret } from "#protocol/alerts/channel-kinds.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { network } from "#storage/network/network.ts";
import { openTunnel } from "#storage/network/tunnel.ts";
import { lookupFor, mailEndpoint, refuseEndpoint, type Reach } from "#server/platform/reach.ts";
import type { OutgoingMail } from "./write-mail.ts";

/**
 * Delivers a mail to the SMTP server of a channel. Its address passes the endpoint guard at every try and in the DNS lookup
 * that connects. A mode with TLS sends nothing, and no password, before the connection is encrypted and the certificate matches
 * the host. The whole exchange has a time limit. Faults never quote the server: it may repeat the user and the recipients.
 */
const SEND_MS = 20_000;
const CONNECT_MS = 8_000;

interface Sending {
  secret: ChannelSecret;
  reach: Reach;
  signal: AbortSignal;
  /** Time limit in ms; only tests set it. */
  sendMs?: number;
}

export const mailEndpointOf = ({ host, port, tls }: ChannelSecret): string =>
  mailEndpoint({ host, port, isEncrypted: tls !== "none" });

/** Sends one mail. @throws Fault CHANNEL_REFUSED (permanent), CHANNEL_UNREACHABLE, CANCELLED */
export async function sendMail(
  mail: OutgoingMail,
  { secret, reach, signal, sendMs = SEND_MS }: Sending,
): Promise<void> {
  const { host, port, tls, user, password } = secret;
  const subject = `${host}:${port}`;
  const endpoint = mailEndpointOf(secret);
  try {
    await refuseEndpoint(endpoint, reach);
  } catch (error) {
    const detail = isFault(error) ? (error.context.detail ?? "its address is not allowed") : "it was not checked";
    throw new Fault("CHANNEL_REFUSED", { subject, detail });
  }
  const limit = AbortSignal.timeout(sendMs);
  let socket: Socket | null = null;
  const transport = createTransport({
    host,
    port: Number(port),
    secure: tls === "tls",
    requireTLS: tls === "starttls",
    ignoreTLS: tls === "none",
    ...(user === "" ? {} : { auth: { user, pass: password } }),
    disableFileAccess: true,
    disableUrlAccess: true,
    connectionTimeout: sendMs,
    greetingTimeout: sendMs,
    socketTimeout: sendMs,
    getSocket: (_options, done) => {
      const give = async (): Promise<void> => {
        try {
          socket = await openSocket({ host, port: Number(port) }, lookupFor(endpoint, reach));
        } catch (error) {
          return done(error instanceof Error ? error : new Error("no connection"));
        }
        if (limit.aborted || signal.aborted) socket.destroy();
        done(null, { connection: socket });
      };
      void give();
    },
  });
  const stop = AbortSignal.any([limit, signal]);
  try {
    const { rejected } = await Promise.race([
      transport.sendMail({
        ...mail,
        envelope: { from: mail.from, to: mail.to },
        headers: { "Auto-Submitted": "auto-generated" },
      }),
      whenAborted(stop),
    ]);
    if (rejected.length > 0) {
      const detail = `the mail server refused ${rejected.length} of ${mail.to.length} recipients`;
      throw new Fault("CHANNEL_REFUSED", { subject, detail });
    }
  } catch (error) {
    if (signal.aborted) throw new Fault("CANCELLED", { op: "alert" });
    if (limit.aborted) {
      throw new Fault("CHANNEL_UNREACHABLE", { subject, detail: `no answer within ${sendMs / 1000} s` });
    }
    throw isFault(error) && error.code === "CHANNEL_REFUSED" ? error : mailFault(error, subject);
  } finally {
    transport.close();
    (socket as Socket | null)?.destroy();
  }
}

const whenAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const fail = () => reject(new Error("aborted"));
    if (signal.aborted) fail();
    signal.addEventListener("abort", fail, { once: true });
  });

async function openSocket(to: { host: string; port: number }, lookup: ReturnType<typeof lookupFor>): Promise<Socket> {
  network().authorities.prepare();
  const proxy = network().proxyFor?.({ ...to, isTls: true }) ?? null;
  if (proxy !== null) return openTunnel(proxy, to, CONNECT_MS).open;
  return new Promise((resolve, reject) => {
    const socket = connect({ ...to, lookup, ...(isIP(to.host) === 0 ? {} : { family: isIP(to.host) }) });
    const timer = setTimeout(() => socket.destroy(new Error("no connection")), CONNECT_MS).unref();
    const settle = () => clearTimeout(timer);
    socket.once("error", (error) => {
      settle();
      reject(error);
    });
    socket.once("connect", () => {
      settle();
      socket.removeAllListeners("error");
      resolve(socket);
    });
  });
}

const codeOf = (error: unknown, name: "code" | "responseCode"): unknown =>
  error instanceof Error && name in error ? Reflect.get(error, name) : undefined;

/** Turns an SMTP error into a Fault: 5yz replies are permanent (RFC 5321, 4.2.1), all other errors may pass. */
function mailFault(error: unknown, subject: string): Fault {
  const status = codeOf(error, "responseCode");
  const code = codeOf(error, "code");
  const isForGood = typeof status === "number" && status >= 500;
  const detail =
    code === "EAUTH"
      ? "the mail server refused the user or the password"
      : typeof status === "number"
        ? `SMTP ${status}`
        : typeof code === "string"
          ? code
          : "the connection failed";
  return new Fault(isForGood ? "CHANNEL_REFUSED" : "CHANNEL_UNREACHABLE", { subject, detail });
}
