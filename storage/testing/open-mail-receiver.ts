import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";

/** For tests: a mail server that keeps received mails. */
export interface MailReceiver {
  host: string;
  port: string;
  got: { from: string; to: string[]; user: string; isEncrypted: boolean; text: string }[];
  close: () => Promise<void>;
}

interface MailRules {
  /** The one account that may sign in; absent: no sign-in is needed. */
  login?: { user: string; password: string };
  /** TLS from the start, or on the client's request; absent: no TLS. */
  tls?: "start" | "asked";
  certificate?: { key: string; cert: string };
  /** Delays the answer to a mail until it resolves. */
  hold?: Promise<void>;
  /** A recipient that the server refuses. */
  unknown?: string;
}

export async function openMailReceiver(rules: MailRules = {}): Promise<MailReceiver> {
  const got: MailReceiver["got"] = [];
  const server = new SMTPServer({
    secure: rules.tls === "start",
    ...rules.certificate,
    authOptional: rules.login === undefined,
    allowInsecureAuth: true,
    disabledCommands: rules.tls === "asked" ? [] : ["STARTTLS"],
    disableReverseLookup: true,
    onAuth: ({ username, password }, _session, done) => {
      const isKnown = username === rules.login?.user && password === rules.login?.password;
      if (isKnown) done(null, { user: username });
      else done(new Error("no such user"));
    },
    onRcptTo: ({ address }, _session, done) => {
      done(address === rules.unknown ? Object.assign(new Error("no such mailbox"), { responseCode: 550 }) : null);
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        got.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          user: typeof session.user === "string" ? session.user : "",
          isEncrypted: session.secure,
          text: Buffer.concat(chunks).toString("utf8"),
        });
        const answer = async (): Promise<void> => {
          await rules.hold;
          done();
        };
        void answer();
      });
    },
  });
  // A client that disconnects early must not fail the test.
  server.on("error", () => undefined);
  const listening = server.listen(0, "127.0.0.1");
  await once(listening, "listening");
  return {
    host: "127.0.0.1",
    port: String((listening.address() as AddressInfo).port),
    got,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
